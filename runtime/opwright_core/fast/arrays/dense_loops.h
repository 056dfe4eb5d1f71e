/* Loops for dense arrays: those of ufuncs whose loops in NumPy are not vectorised. */

#ifndef OPWRIGHT_DENSE_LOOPS_H
#define OPWRIGHT_DENSE_LOOPS_H

#include "numpy_api.h"

/* Compute `count` elements of dense arrays; data has the operands, and behind them the result. */
typedef void (*DenseLoop)(char *const *data, npy_intp count);

DenseLoop dense_loop(const char *ufunc, int type);

#endif
