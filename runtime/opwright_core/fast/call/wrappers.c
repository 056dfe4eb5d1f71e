/* What stands around kernels that is no recorder: Below, a composite that is run without recording or counting what it
 * calls; Writing, a kernel that writes to a tensor, if that may be written to. */

#include "callable.h"
#include "modes.h"
#include "fast/arrays/tensor.h"

typedef struct {
    Callable base;
    PyObject *composite;
    PyObject *modes; /* those that it runs in where none are on */
} Below;

typedef struct {
    Callable base;
    PyObject *kernel;
    Py_ssize_t position; /* of the tensor */
} Writing;

/* Run the composite in its modes where none are on, and as it is within another; the Python sees to any others. Returns
 * what it returns. */
static PyObject *below_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const Below *below = (Below *)self;
    PyObject *modes, *token = NULL;
    if (PyContextVar_Get(core.modes, NULL, &modes) < 0) {
        return NULL;
    }
    const int is_on = modes != NULL && modes != Py_None, is_within = modes == below->modes;
    Py_XDECREF(modes);
    if (is_on || names != NULL) {
        return PyObject_Vectorcall(is_within ? below->composite : below->base.function, args, flagged, names);
    }
    token = PyContextVar_Set(core.modes, below->modes);
    if (token == NULL) {
        PyObject *error = take_error();
        (void)put_back(core.modes, NULL, Py_None);
        put_error(error);
        return NULL;
    }
    return leave_modes(token, PyObject_Vectorcall(below->composite, args, flagged, NULL));
}

/* Call the kernel where the tensor is no view and none of inference mode; the Python looks at any other. Returns what
 * that returns. */
static PyObject *writing_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const Writing *writing = (Writing *)self;
    PyObject *called = writing->base.function;
    if (writing->position < PyVectorcall_NARGS(flagged) && Py_TYPE(args[writing->position]) == core.tensor) {
        PyObject *keys = ((Tensor *)args[writing->position])->keys;
        int overflow;
        const int64_t bits =
            keys == NULL || !PyLong_CheckExact(keys) ? 0 : PyLong_AsLongLongAndOverflow(keys, &overflow);
        called = (bits & core.tracked_bits) != 0 && (bits & core.view_bits) == 0 ? writing->kernel : called;
    }
    return PyObject_Vectorcall(called, args, flagged, names);
}

static const Field below_fields[] = {
    {"composite", FIELD_OBJECT, offsetof(Below, composite)},
    {"modes", FIELD_OBJECT, offsetof(Below, modes)},
    {NULL, FIELD_OBJECT, 0},
};

static const Field writing_fields[] = {
    {"kernel", FIELD_OBJECT, offsetof(Writing, kernel)},
    {"position", FIELD_SIZE, offsetof(Writing, position)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType below_type = {
    .name = "opwright_core._fast.Below",
    .size = sizeof(Below),
    .call = below_call,
    .fields = below_fields,
};

CallableType writing_type = {
    .name = "opwright_core._fast.Writing",
    .size = sizeof(Writing),
    .call = writing_call,
    .fields = writing_fields,
};
