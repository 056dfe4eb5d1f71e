/* Pointwise kernels on half and bfloat16, a block at a time. */

#ifndef OPWRIGHT_REDUCED_BLOCKS_H
#define OPWRIGHT_REDUCED_BLOCKS_H

#include "plain_arrays.h"
#include "fast/plan/plan_key.h"

#define MOST_PASSED (MOST_ARGUMENTS + 1)

/* A call of a kernel: what it gets, arrays not yet cast, and what the plan casts each to (a dtype; anything else says
 * nothing of arrays). All is borrowed. */
typedef struct {
    PyObject *kernel;
    PyObject *const *values, *const *casts;
    int count;
    const PlannedResult *result;
} BlockedCall;

PyObject *call_by_blocks(const BlockedCall *call, PyObject *target);

/* reduced_sums.c */
int run_reduced_sum(const BlockedCall *call, Array *target, int is_written);

/* ufunc_kernel.c */
const char *kernel_ufunc(PyObject *object);

#endif
