/* What the core asks of NumPy's arrays, which are exactly of that class. */

#ifndef OPWRIGHT_ARRAYS_H
#define OPWRIGHT_ARRAYS_H

#include "fast/core.h"

PyObject *array_shape(PyObject *array);
PyObject *array_strides(PyObject *array);
PyObject *array_dtype(PyObject *array);
PyObject *array_of_one(PyObject *like);
PyObject *array_copy(PyObject *array);
PyObject *dense_copy(PyObject *object);
int array_fits(PyObject *array, PyObject *dtype, PyObject *shape);
int arrays_are_alike(PyObject *first, PyObject *second);
int array_is_real(PyObject *array);
int array_is_dense(PyObject *array);
int array_is_inexact(PyObject *array);
int array_is_free(PyObject *array);
int array_has_base(PyObject *array);
PyObject *array_whole_base(PyObject *view, PyObject *other);
int array_is_alone_with(PyObject *view, PyObject *other);
PyObject *array_as_matrices(PyObject *array, int ndim, const Py_ssize_t *sizes, int is_turned);
int array_is_small(PyObject *array, Py_ssize_t most);
int array_is_writable(PyObject *array, Py_ssize_t most);
int arrays_share_owner(PyObject *first, PyObject *second);
void array_write(PyObject *to, PyObject *from);

#endif
