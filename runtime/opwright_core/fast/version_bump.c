/* VersionBump: what bumps the version of a dense tensor that an operator writes to. The generated Python kernel, which
 * it stands for, handles any other tensor, since it may have to ask whether that may be written. */

#include "callable.h"
#include "storage.h"

typedef struct {
    Callable base;
    PyObject *below;
} VersionBump;

/* Call the kernel below, and bump the version of the dense tensor that it wrote to; the Python kernel for any other
 * tensor. Returns that tensor. */
static PyObject *version_bump_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const VersionBump *bump = (VersionBump *)self;
    int is_dense = names == NULL && PyVectorcall_NARGS(flagged) > 0 && Py_TYPE(args[0]) == core.tensor &&
                    ((Tensor *)args[0])->keys == core.dense_cpu && ((Tensor *)args[0])->array != NULL;
    PyObject *storage = is_dense ? storage_of(args[0]) : NULL;
    if (storage == NULL) {
        return PyErr_Occurred() ? NULL : PyObject_Vectorcall(bump->base.function, args, flagged, names);
    }
    Py_DECREF(storage);
    PyObject *result = PyObject_Vectorcall(bump->below, args, flagged, NULL);
    if (result == NULL) {
        return NULL;
    }
    Py_DECREF(result);
    int is_counted = storage_count_write(args[0]);
    if (is_counted == 0) {
        PyErr_SetString(PyExc_TypeError, "the storage of a tensor counts its writes by an int");
    }
    return is_counted > 0 ? Py_NewRef(args[0]) : NULL;
}

static const Field version_bump_fields[] = {
    {"below", FIELD_OBJECT, offsetof(VersionBump, below)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType version_bump_type = {
    .name = "opwright_core._fast.VersionBump",
    .size = sizeof(VersionBump),
    .call = version_bump_call,
    .fields = version_bump_fields,
};
