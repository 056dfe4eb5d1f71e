/* The fast-path test: no mode, no autograd, all operands NumPy's. */

#ifndef OPWRIGHT_FAST_PATH_H
#define OPWRIGHT_FAST_PATH_H

#include "fast/core.h"

PyObject *arrays_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
int fast_path_arrays(PyObject *const *tensors, Py_ssize_t count, PyObject *indices, PyObject **arrays);

#endif
