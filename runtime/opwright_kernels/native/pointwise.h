/* Elementwise kernels: operands of one shape and type, numbers behind them, one result. What their tables share. */

#ifndef OPWRIGHT_KERNELS_POINTWISE_H
#define OPWRIGHT_KERNELS_POINTWISE_H

#include "kernels.h"

#include "pointwise_loops.h"

#define MOST_NUMBERS 3
/* Elements of dense arrays that one call of a loop computes at most. */
#define BLOCK 8192

typedef void (*Loop)(char *const *data, npy_intp count, const double *numbers);

/* An elementwise kernel of that many arrays and numbers: loops for float32 and float64. A None among the numbers is
 * NaN, if it may be None. Where loops select infinities and NaN, instead of computing them, results are watched for
 * these. */
typedef struct {
    int arrays;
    int numbers;
    int may_be_none;
    int is_watched;
    Loop loops[2];
} Elementwise;

typedef struct {
    Loop loop;
    int arrays, is_watched;
    size_t size; /* of an element */
    double numbers[MOST_NUMBERS];
    char *data[MOST_WALKED + 1]; /* of dense arrays */
    npy_intp count;
} ElementwiseJob;

/* pointwise.c; all return as a `Handler`. */
PyObject *run_elementwise(const Elementwise *how, PyObject *const *args, PyObject *out, ElementwiseJob *job);
PyObject *handle_elementwise(const CompiledKernel *kernel, const KernelCall *call);
PyObject *handle_variant(const CompiledKernel *kernel, const KernelCall *call);

/* The kernel NAME_how of that many arrays and numbers, with the loops NAME_loop. */
#define BOTH(NAME) {NAME##_loop_f32, NAME##_loop_f64}
#define WATCHED(NAME, ARRAYS) static const Elementwise NAME##_how = {ARRAYS, 0, 0, 1, BOTH(NAME)};
#define OF_ARRAYS(NAME, ARRAYS, NUMBERS) static const Elementwise NAME##_how = {ARRAYS, NUMBERS, 0, 0, BOTH(NAME)};

#endif
