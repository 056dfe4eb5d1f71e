/* What the core takes of the kernels for ufuncs: loops for dense arrays, sums, and blocks of
 * reduced dtypes. */

#ifndef OPWRIGHT_KERNELS_DENSE_H
#define OPWRIGHT_KERNELS_DENSE_H

#include "../numpy_api.h"

/* Compute `count` elements of dense arrays; data has the operands, and behind them the result. */
typedef void (*DenseLoop)(char *const *data, npy_intp count);

/* ufuncs.c */
DenseLoop dense_loop(const char *ufunc, int type);

/* reductions.c */
PyObject *sum_over_first(PyObject *object, int kept);

/* casts.c */
PyObject *cast_array(PyObject *object, PyArray_Descr *dtype);

/* Half and bfloat16 as float32, and back. */
typedef struct {
    DenseLoop widen, narrow;
} Reduced;

int read_reduced(const PyArray_Descr *dtype, Reduced *reduced);

#endif
