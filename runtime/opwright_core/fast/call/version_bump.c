/* VersionBump: what bumps the version of a dense tensor that an operator writes to. The generated Python kernel, which
 * it stands for, handles any other tensor, since it may have to ask whether that may be written. */

#include "callable.h"
#include "fast/arrays/storage.h"

typedef struct {
    Callable base;
    PyObject *below;
} VersionBump;

/* Whether a tensor is one that any call may write to which is not recorded: dense or not, no view, or one that nothing
 * was noted of when it was made. */
static int is_writable(const Tensor *tensor) {
    int overflow;
    if (tensor->keys == core.dense_cpu) {
        return 1;
    }
    const int64_t bits = tensor->keys == NULL || !PyLong_CheckExact(tensor->keys)
                             ? -1
                             : PyLong_AsLongLongAndOverflow(tensor->keys, &overflow);
    if (bits < 0 || (bits & ~(core.nondense_bits | core.view_bits)) != core.dense_cpu_bits) {
        return 0; /* one of inference mode has fewer */
    }
    if ((bits & core.view_bits) == 0) {
        return 1;
    }
    if (tensor->extra == NULL || !Py_IS_TYPE(tensor->extra, storage_slots.extra)) {
        return 0;
    }
    const PyObject *creation = slot_at(tensor->extra, storage_slots.creation);
    return creation == NULL || (PyUnicode_CheckExact(creation) && PyUnicode_GET_LENGTH(creation) == 0);
}

/* Call the kernel below, and bump the version of the dense tensor that it wrote to; the Python kernel for any other
 * tensor. Returns that tensor. */
static PyObject *version_bump_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const VersionBump *bump = (VersionBump *)self;
    int is_dense = names == NULL && PyVectorcall_NARGS(flagged) > 0 && Py_TYPE(args[0]) == core.tensor &&
                    ((Tensor *)args[0])->array != NULL && is_writable((Tensor *)args[0]);
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
