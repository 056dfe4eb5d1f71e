/* Calls of Python functions and ufuncs on long arrays, which a signal ends. */

#ifndef OPWRIGHT_LONG_CALLS_H
#define OPWRIGHT_LONG_CALLS_H

#include "fast/arrays/numpy_api.h"

/* The most arguments of such a call, the function's own. */
#define MOST_GIVEN 24

int has_long(PyObject *const *objects, Py_ssize_t count, npy_intp long_from);
PyObject *call_numpy(PyObject *function, PyObject *const *args, size_t flagged, npy_intp long_from);
PyObject *call_ufunc(PyObject *ufunc, PyObject *const *args, size_t flagged, PyObject *names);
npy_intp long_from_of(PyObject *function);

#endif
