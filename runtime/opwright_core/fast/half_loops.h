/* Loops for dense arrays of half. */

#ifndef OPWRIGHT_HALF_LOOPS_H
#define OPWRIGHT_HALF_LOOPS_H

#include "dense_loops.h"

DenseLoop half_loop(const char *ufunc);

#endif
