/* Calls that nobody looks at. */

#ifndef OPWRIGHT_UNWATCHED_H
#define OPWRIGHT_UNWATCHED_H

#include "core.h"

PyObject *arrays_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
int unwatched_arrays(PyObject *const *tensors, Py_ssize_t count, PyObject *indices, PyObject **arrays);

#endif
