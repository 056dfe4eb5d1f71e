/* New row-major arrays, not filled: pooled ones, if there are any. */

#ifndef OPWRIGHT_ARRAY_POOL_H
#define OPWRIGHT_ARRAY_POOL_H

#include "numpy_api.h"

void array_give_up(PyObject *object);
npy_intp array_pool_bytes(PyObject *object);
PyObject *array_new(PyArray_Descr *dtype, int ndim, const npy_intp *shape);
PyObject *use_array_pool(PyObject *module, PyObject *flag);

#endif
