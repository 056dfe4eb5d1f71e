/* New arrays of rows: one that nobody has any more serves again. */

#ifndef OPWRIGHT_SPARES_H
#define OPWRIGHT_SPARES_H

#include "numpy_api.h"

void array_give_up(PyObject *object);
PyObject *array_new(PyArray_Descr *dtype, int ndim, const npy_intp *shape);

#endif
