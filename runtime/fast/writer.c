/* Writer: what counts writes of an operator in place to a simple tensor. Any other tensor, which may have to be asked whether
 * it may be written, goes to the generated Python kernel in whose place it stands. */

#include "callable.h"
#include "storage.h"

typedef struct {
    Callable base;
    PyObject *below;
} Writer;

static PyObject *writer_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const Writer *writer = (Writer *)self;
    int is_simple = names == NULL && PyVectorcall_NARGS(flagged) > 0 && Py_TYPE(args[0]) == core.tensor &&
                    ((Tensor *)args[0])->keys == core.dense_cpu && ((Tensor *)args[0])->array != NULL;
    PyObject *storage = is_simple ? storage_of(args[0]) : NULL;
    if (storage == NULL) {
        return PyErr_Occurred() ? NULL : PyObject_Vectorcall(writer->base.function, args, flagged, names);
    }
    Py_DECREF(storage);
    PyObject *result = PyObject_Vectorcall(writer->below, args, flagged, NULL);
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

static const Field writer_fields[] = {
    {"below", FIELD_OBJECT, offsetof(Writer, below)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType writer_type = {
    .name = "opwright._fast.Writer",
    .size = sizeof(Writer),
    .call = writer_call,
    .fields = writer_fields,
};
