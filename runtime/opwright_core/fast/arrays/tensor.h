/* Tensors: their fields, and how C makes them of arrays. */

#ifndef OPWRIGHT_TENSOR_H
#define OPWRIGHT_TENSOR_H

#include "fast/core.h"

/* The fields are the slots of the Python class, and as with slots NULL is what was never set. */
typedef struct {
    PyObject_HEAD
    PyObject *array;
    PyObject *keys;
    PyObject *edge;
    PyObject *extra;
    PyObject *weak_references;
    PyObject *attributes; /* what its user gave it, in a dict; NULL for nearly all */
} Tensor;

/* Return what a slot has, borrowed; NULL where it was never set. */
static inline PyObject *slot_at(PyObject *object, Py_ssize_t offset) {
    return *(PyObject **)((char *)object + offset);
}

/* Put an object into a slot. Takes the reference. */
static inline void replace_slot(PyObject *object, Py_ssize_t offset, PyObject *value) {
    PyObject **memory = (PyObject **)((char *)object + offset), *old = *memory;
    *memory = value;
    Py_XDECREF(old);
}

Py_ssize_t slot_offset(PyTypeObject *type, const char *name);

/* tensor.c */
PyTypeObject *make_tensor_base(PyObject *module);
int adopt_tensor(PyObject *type);
PyObject *wrap_dense(PyObject *array);
PyObject *wrap_with_keys(PyObject *array, PyObject *keys);

/* wrapping.c */
PyObject *wrap_reduced(PyObject *array);
PyObject *wrap(PyObject *module, PyObject *array);
PyObject *view_tensor(PyObject *base, PyObject *array, int is_nondense);
PyObject *wrap_view(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* tensor_properties.c */
int is_size(PyObject *object);
PyTypeObject *make_size_base(PyObject *module);
PyObject *install_properties(PyObject *module, PyObject *tensor);
PyObject *install_readers(PyObject *module, PyObject *tensor);

#endif
