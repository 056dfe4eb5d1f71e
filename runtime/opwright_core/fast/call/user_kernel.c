/* UserKernel: a user's function as the kernel of an operator. It calls the function as the Python kernel does, which it
 * stands for: without named arguments that are left at their defaults, and, if it has to, with nothing recorded. */

#include "fast/arrays/arrays.h"
#include "callable.h"
#include "modes.h"
#include "fast/arrays/tensor.h"

typedef struct {
    Callable base;
    PyObject *user;
    PyObject *defaults;   /* a tuple: what the arguments after those by position are, very objects */
    PyObject *check;      /* is called with a result that has to be looked at */
    PyObject *unrecorded; /* the modes that the function runs within; NULL: those that are on */
    Py_ssize_t positional;
} UserKernel;

/* Whether the arguments that are named are all left at their defaults. */
static int are_defaults(const UserKernel *kernel, PyObject *const *named) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kernel->defaults); i++) {
        if (named[i] != PyTuple_GET_ITEM(kernel->defaults, i)) {
            return 0;
        }
    }
    return 1;
}

/* Whether a result is a new tensor of memory of its own. */
static int is_new(PyObject *result, PyObject *const *args, Py_ssize_t count) {
    PyObject *array = Py_TYPE(result) == core.tensor ? ((Tensor *)result)->array : NULL;
    if (array == NULL || Py_TYPE(array) != core.array || array_has_base(array)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyObject_TypeCheck(args[i], core.tensor) && ((Tensor *)args[i])->array == array) {
            return 0;
        }
    }
    return 1;
}

/* Have Python look at a result. Takes the reference. Returns what Python returns. */
static PyObject *checked(const UserKernel *kernel, PyObject *result, PyObject *const *args, Py_ssize_t count) {
    PyObject *given = NULL;
    if (kernel->unrecorded != NULL) {
        given = PyTuple_New(count);
        for (Py_ssize_t i = 0; given != NULL && i < count; i++) {
            PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
        }
        if (given == NULL) {
            Py_DECREF(result);
            return NULL;
        }
    }
    PyObject *found = PyObject_CallFunctionObjArgs(kernel->check, result, given, NULL);
    Py_XDECREF(given);
    Py_DECREF(result);
    return found;
}

/* Call the function with other modes, and put the old ones back, also where it fails. Returns what the function
 * returns. */
static PyObject *call_within(const UserKernel *kernel, PyObject *const *args, Py_ssize_t count) {
    PyObject *token = PyContextVar_Set(core.modes, kernel->unrecorded);
    if (token == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(kernel->user, args, (size_t)count, NULL);
    return leave_modes(token, result);
}

/* Return the result of the function; NULL without an exception if Python must call it. */
static PyObject *call_user(const UserKernel *kernel, PyObject *const *args, Py_ssize_t count) {
    if (kernel->unrecorded == NULL) {
        return PyObject_Vectorcall(kernel->user, args, (size_t)count, NULL);
    }
    PyObject *modes;
    if (PyContextVar_Get(core.modes, NULL, &modes) < 0) {
        return NULL;
    }
    Py_XDECREF(modes); /* the context has it */
    if (modes == kernel->unrecorded) {
        return PyObject_Vectorcall(kernel->user, args, (size_t)count, NULL);
    }
    return modes == NULL || modes == Py_None ? call_within(kernel, args, count) : NULL;
}

/* Call the user's function, or the Python kernel if a named argument is given. Returns what that returns. */
static PyObject *user_kernel_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const UserKernel *kernel = (UserKernel *)self;
    Py_ssize_t total = PyVectorcall_NARGS(flagged), count = kernel->positional;
    PyObject *result = NULL;
    if (names == NULL && total == count + PyTuple_GET_SIZE(kernel->defaults) && kernel->check != NULL &&
        are_defaults(kernel, args + count)) {
        result = call_user(kernel, args, count);
        if (result == NULL && PyErr_Occurred()) {
            return NULL;
        }
    }
    if (result == NULL) {
        return PyObject_Vectorcall(kernel->base.function, args, flagged, names);
    }
    int is_good = kernel->unrecorded == NULL ? PyObject_TypeCheck(result, core.tensor) : is_new(result, args, count);
    return is_good ? result : checked(kernel, result, args, count);
}

/* Drop what no call needs. Returns 0. */
static int user_kernel_clear(PyObject *self) {
    Py_CLEAR(((UserKernel *)self)->check);
    return 0;
}

static const Field user_kernel_fields[] = {
    {"user", FIELD_OBJECT, offsetof(UserKernel, user)},
    {"positional", FIELD_SIZE, offsetof(UserKernel, positional)},
    {"defaults", FIELD_TUPLE, offsetof(UserKernel, defaults)},
    {"check", FIELD_OBJECT, offsetof(UserKernel, check)},
    {"unrecorded", FIELD_OPTIONAL, offsetof(UserKernel, unrecorded)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType user_kernel_type = {
    .name = "opwright_core._fast.UserKernel",
    .size = sizeof(UserKernel),
    .call = user_kernel_call,
    .fields = user_kernel_fields,
    .clear = user_kernel_clear,
};
