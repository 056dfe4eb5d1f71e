/* Loops for dense arrays of half, one of which may be a number, and for their bits. */

#ifndef OPWRIGHT_HALF_LOOPS_H
#define OPWRIGHT_HALF_LOOPS_H

#include "dense_loops.h"

typedef void (*HalfLoop)(char *const *data, npy_intp count, const float *const *numbers);

HalfLoop half_loop(const char *ufunc);
HalfLoop bits_loop(const char *ufunc);

#endif
