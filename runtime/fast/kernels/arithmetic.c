/* Arithmetic that is no single ufunc. */

#include "pointwise.h"

#include "division.h"
#include "special_f32.h"
#include "special_f64.h"

#include <float.h>

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

OF_ARRAYS(cube, 1, 0)
OF_ARRAYS(fraction, 1, 0)
OF_ARRAYS(sign, 1, 0)
OF_ARRAYS(angle, 1, 0)
OF_ARRAYS(clamp, 1, 2)
OF_ARRAYS(fmod, 2, 0)
OF_ARRAYS(remainder, 2, 0)
OF_ARRAYS(add_scaled, 2, 1)
OF_ARRAYS(addcmul, 3, 1)
OF_ARRAYS(addcdiv, 3, 1)
static const Elementwise nan_to_num_how = {1, 3, 1, 0, BOTH(nan_to_num)};
static const Elementwise lerp_how[] = {{2, 1, 0, 0, BOTH(near_lerp)}, {2, 1, 0, 0, BOTH(far_lerp)}};
OF_ARRAYS(reciprocal_root, 1, 0)

/* Read a bound: None is NaN, which holds nothing. */
static int read_bound(PyObject *object, int type, double *bound) {
    *bound = NAN;
    return object == Py_None || (read_element(object, type, bound) && *bound == *bound);
}

/* clamp(self, min, max, out=None) */
static PyObject *serve_clamp(const CompiledKernel *kernel, const KernelCall *call) {
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

/* lerp(self, end, weight), from the nearer of the two. */
static PyObject *serve_lerp(const CompiledKernel *kernel, const KernelCall *call) {
    const Elementwise *how = kernel->how;
    ElementwiseJob job = {0};
    if (call->count != 3 || !read_number(call->args[2], &job.numbers[0])) {
        return NULL;
    }
    int is_far = !(fabs(job.numbers[0]) < 0.5);
    job.numbers[0] = is_far ? 1.0 - job.numbers[0] : job.numbers[0];
    return run_elementwise(&how[is_far], call->args, call->out, &job);
}

const CompiledKernel arithmetic_kernels[] = {
    {"reciprocal_root", serve_elementwise, &reciprocal_root_how, 0},
    {"cube", serve_elementwise, &cube_how, 0},
    {"fractional_part", serve_elementwise, &fraction_how, 0},
    {"sign", serve_elementwise, &sign_how, QUIET},
    {"angle", serve_elementwise, &angle_how, QUIET},
    {"nan_to_num", serve_elementwise, &nan_to_num_how, QUIET},
    {"lerp", serve_lerp, lerp_how, 0},
    {"clamp", serve_clamp, &clamp_how, QUIET},
    {"hardtanh", serve_clamp, &clamp_how, QUIET},
    {"fmod", serve_elementwise, &fmod_how, 0},
    {"remainder", serve_elementwise, &remainder_how, 0},
    {"add_scaled", serve_elementwise, &add_scaled_how, 0},
    {"addcmul", serve_elementwise, &addcmul_how, 0},
    {"addcdiv", serve_elementwise, &addcdiv_how, 0},
    {NULL, NULL, NULL, 0},
};
