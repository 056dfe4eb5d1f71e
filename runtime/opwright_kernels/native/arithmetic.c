/* Arithmetic that is no single ufunc. */

#include "pointwise.h"

#include "division.h"
#include "special_f32.h"
#include "special_f64.h"

#include <float.h>

#define rint_f32 rintf
#define rint_f64 rint

#define REAL float
#define LARGEST FLT_MAX
#define OF(NAME) NAME##_f32
#include "pointwise_elements.h"
#include "arithmetic_loops.h"
#undef REAL
#undef LARGEST
#undef OF

#define REAL double
#define LARGEST DBL_MAX
#define OF(NAME) NAME##_f64
#include "pointwise_elements.h"
#include "arithmetic_loops.h"
#undef REAL
#undef LARGEST
#undef OF

OF_ARRAYS(square, 1, 0)
OF_ARRAYS(root, 1, 0)
OF_ARRAYS(round, 1, 0)
OF_ARRAYS(cube, 1, 0)
OF_ARRAYS(fraction, 1, 0)
OF_ARRAYS(weighted_lerp, 3, 0)
OF_ARRAYS(heaviside, 2, 0)
OF_ARRAYS(sign, 1, 0)
OF_ARRAYS(angle, 1, 0)
OF_ARRAYS(clamp, 1, 2)
OF_ARRAYS(fmod, 2, 0)
OF_ARRAYS(remainder, 2, 0)
OF_ARRAYS(addcmul, 3, 1)
OF_ARRAYS(addcdiv, 3, 1)
static const Elementwise nan_to_num_how = {1, 3, 1, 0, BOTH(nan_to_num)};
static const Elementwise add_scaled_how[] = {{2, 1, 0, 0, BOTH(add_scaled)}, {2, 1, 0, 0, BOTH(add_fraction)}};
static const Elementwise lerp_how[] = {{2, 1, 0, 0, BOTH(near_lerp)}, {2, 1, 0, 0, BOTH(far_lerp)}};
OF_ARRAYS(reciprocal_root, 1, 0)

/* Read a bound of `clamp` into `bound`: NaN for None, since no element compares with NaN. Returns 0 for a NaN that was
 * given and for anything that is not a number, which the Python handles. */
static int read_bound(PyObject *object, int type, double *bound) {
    *bound = NAN;
    return object == Py_None || (read_element(object, type, bound) && *bound == *bound);
}

/* clamp(self, min, max, out=None), and `hardtanh`, which has the same arguments. Returns a new array, or `out`; NULL
 * without an exception if a bound is NaN or an array, and where `run_elementwise` returns NULL. */
static PyObject *handle_clamp(const CompiledKernel *kernel, const KernelCall *call) {
    ElementwiseJob job = {0};
    PyObject *out = call->out;
    if (call->count == 4 && out == NULL) {
        out = call->args[3] == Py_None ? NULL : call->args[3];
    } else if (call->count != 3) {
        return NULL;
    }
    int type = is_array_of(call->args[0], NPY_FLOAT) ? NPY_FLOAT : NPY_DOUBLE;
    if (!read_bound(call->args[1], type, &job.numbers[0]) || !read_bound(call->args[2], type, &job.numbers[1])) {
        return NULL;
    }
    return run_elementwise(kernel->how, call->args, out, &job);
}

/* lerp(self, end, weight) for a Python number or an array as the weight: computed from whichever of self and end is
 * nearer. Returns a new array, or `out`; NULL without an exception for another weight, and where `run_elementwise`
 * returns NULL. */
static PyObject *handle_lerp(const CompiledKernel *kernel, const KernelCall *call) {
    const Elementwise *how = kernel->how;
    ElementwiseJob job = {0};
    if (call->count == 3 && PyArray_CheckExact(call->args[2])) {
        return run_elementwise(&weighted_lerp_how, call->args, call->out, &job);
    }
    if (call->count != 3 || !read_number(call->args[2], &job.numbers[0])) {
        return NULL;
    }
    int is_far = !(fabs(job.numbers[0]) < 0.5);
    job.numbers[0] = is_far ? 1.0 - job.numbers[0] : job.numbers[0];
    return run_elementwise(&how[is_far], call->args, call->out, &job);
}

/* power_scalar(self, exponent) for 2, 3, 0.5 and -0.5. Returns a new array, or `out`; NULL without an exception for
 * another exponent, and where `run_elementwise` returns NULL. */
static PyObject *handle_power(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double exponent;
    ElementwiseJob job = {0};
    const int type = call->count == 2 && is_array_of(call->args[0], NPY_FLOAT) ? NPY_FLOAT : NPY_DOUBLE;
    if (call->count != 2 || !read_element(call->args[1], type, &exponent)) {
        return NULL;
    }
    const Elementwise *how = exponent == 2      ? &square_how
                             : exponent == 3    ? &cube_how
                             : exponent == 0.5  ? &root_how
                             : exponent == -0.5 ? &reciprocal_root_how
                                                : NULL;
    return how == NULL ? NULL : run_elementwise(how, call->args, call->out, &job);
}

/* add_scaled(self, other, alpha, out=None). Returns as `handle_elementwise`: a product with a number of at most 1 is
 * never too large, so nobody looks whether it is. */
static PyObject *handle_add_scaled(const CompiledKernel *kernel, const KernelCall *call) {
    double alpha;
    const int is_fraction = call->count > 2 && read_number(call->args[2], &alpha) && fabs(alpha) <= 1;
    CompiledKernel chosen = *kernel;
    chosen.how = (const Elementwise *)kernel->how + is_fraction;
    return handle_elementwise(&chosen, call);
}

const CompiledKernel arithmetic_kernels[] = {
    {"reciprocal_root", handle_elementwise, &reciprocal_root_how, 0},
    {"cube", handle_elementwise, &cube_how, 0},
    {"round_half_even", handle_elementwise, &round_how, QUIET},
    {"power_scalar", handle_power, NULL, 0},
    {"fractional_part", handle_elementwise, &fraction_how, 0},
    {"sign", handle_elementwise, &sign_how, QUIET},
    {"angle", handle_elementwise, &angle_how, QUIET},
    {"nan_to_num", handle_elementwise, &nan_to_num_how, QUIET},
    {"lerp", handle_lerp, lerp_how, 0},
    {"heaviside", handle_elementwise, &heaviside_how, QUIET},
    {"clamp", handle_clamp, &clamp_how, QUIET},
    {"hardtanh", handle_clamp, &clamp_how, QUIET},
    {"fmod", handle_elementwise, &fmod_how, 0},
    {"remainder", handle_elementwise, &remainder_how, 0},
    {"add_scaled", handle_add_scaled, add_scaled_how, 0},
    {"addcmul", handle_elementwise, &addcmul_how, 0},
    {"addcdiv", handle_elementwise, &addcdiv_how, 0},
    {NULL, NULL, NULL, 0},
};
