/* Elementwise kernels: operands of one shape and type, numbers behind them, one result. */

#include "kernels.h"

#include "bessel.h"
#include "division.h"
#include "incomplete_gamma.h"
#include "orthogonal.h"
#include "special_f32.h"
#include "special_f64.h"

#include <fenv.h>
#include <float.h>

/* Elements that are computed before those are looked for that need another way. */
#define PART 128

#define REAL float
#define LARGEST FLT_MAX
#define OF(NAME) NAME##_f32
#include "pointwise_elements.h"
#include "orthogonal_elements.h"
#include "pointwise_loops.h"
#undef REAL
#undef LARGEST
#undef OF

#define REAL double
#define LARGEST DBL_MAX
#define OF(NAME) NAME##_f64
#include "pointwise_elements.h"
#include "orthogonal_elements.h"
#include "pointwise_loops.h"
#undef REAL
#undef LARGEST
#undef OF

#define MOST_NUMBERS 3
/* Elements that are computed at once. */
#define BLOCK 8192
/* Elements of the widest registers: loops are called with a multiple of these, so that each goes the same way. */
#define LANES 16

typedef void (*Loop)(char *const *data, npy_intp count, const double *numbers);

/* What is computed of so many arrays and so many numbers: loops for float32 and float64. A number that may be None is
 * NaN then. Where loops choose infinities and NaN, instead of computing them, results are watched for these. */
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

/* Compute the last elements, which fill no register, beside copies of the first of them. */
static void work_rest(const ElementwiseJob *job, char *const *from, npy_intp start, npy_intp rest) {
    double rows[MOST_WALKED + 1][LANES];
    char *data[MOST_WALKED + 1];
    size_t skipped = (size_t)start * job->size, given = (size_t)rest * job->size;
    for (int i = 0; i <= job->arrays; i++) {
        data[i] = (char *)rows[i];
        for (size_t at = given; i < job->arrays && at < LANES * job->size; at += job->size) {
            memcpy(data[i] + at, from[i] + skipped, job->size);
        }
        if (i < job->arrays) {
            memcpy(data[i], from[i] + skipped, given);
        }
    }
    job->loop(data, LANES, job->numbers);
    memcpy(from[job->arrays] + skipped, data[job->arrays], given);
}

/* Report a number that is not finite as a floating-point error. */
static void watch(const ElementwiseJob *job, const char *data, npy_intp count) {
    if (job->size == sizeof(double) ? has_odd_f64((const double *)data, count) : has_odd_f32((const float *)data, count)) {
        (void)feraiseexcept(FE_DIVBYZERO);
    }
}

static void work_block(void *given, char *const *data, npy_intp count) {
    const ElementwiseJob *job = given;
    npy_intp rest = count % LANES, whole = count - rest;
    if (whole > 0) {
        job->loop(data, whole, job->numbers);
    }
    if (rest > 0) {
        work_rest(job, data, whole, rest);
    }
    if (job->is_watched) {
        watch(job, data[job->arrays], count);
    }
}

static void work_elementwise(void *given) {
    const ElementwiseJob *job = given;
    char *data[MOST_WALKED + 1];
    for (npy_intp start = 0; start < job->count; start += BLOCK) {
        for (int i = 0; i <= job->arrays; i++) {
            data[i] = job->data[i] + start * (npy_intp)job->size;
        }
        work_block(given, data, job->count - start < BLOCK ? job->count - start : BLOCK);
    }
}

/* Whether the operands are dense and of one shape: then the job has them. */
static int are_dense(PyObject *const *args, int count, ElementwiseJob *job, int type) {
    Array *first = plain_array(args[0], type);
    for (int i = 0; i < count && first != NULL; i++) {
        Array *array = plain_array(args[i], type);
        if (array == NULL || !is_like(array, first)) {
            return 0;
        }
        job->data[i] = PyArray_BYTES(array);
    }
    return first != NULL;
}

/* Whether a result may be written where `out` is: dense, and an operand's own memory, or apart from all. */
static int is_dense_out(PyObject *out, const Array *first, const ElementwiseJob *job, int type) {
    Array *array = plain_array(out, type);
    if (array == NULL || !PyArray_ISWRITEABLE(array) || !is_like(array, first)) {
        return 0;
    }
    const char *start = PyArray_BYTES(array);
    const npy_intp size = count_of(array) * (npy_intp)job->size;
    for (int i = 0; i < job->arrays; i++) {
        const char *operand = job->data[i];
        if (operand != start && operand < start + size && start < operand + size) {
            return 0;
        }
    }
    return 1;
}

/* Compute, where all operands are arrays of one type. */
static PyObject *run_arrays(const Elementwise *how, PyObject *const *args, PyObject *out, int type, ElementwiseJob *job) {
    job->arrays = how->arrays;
    job->is_watched = how->is_watched;
    job->size = type == NPY_DOUBLE ? sizeof(double) : sizeof(float);
    job->loop = how->loops[type == NPY_DOUBLE];
    Array *first = (Array *)args[0];
    if (!are_dense(args, how->arrays, job, type) || (out != NULL && !is_dense_out(out, first, job, type))) {
        return out == NULL || is_array_of(out, type) ? walk_arrays(args, how->arrays, out, work_block, job) : NULL;
    }
    Array *result = out != NULL ? (Array *)Py_NewRef(out) : new_like(first);
    if (result != NULL) {
        job->data[how->arrays] = PyArray_BYTES(result);
        job->count = count_of(result);
        do_work(work_elementwise, job, job->count);
    }
    return (PyObject *)result;
}

/* Compute, where operands are arrays of one type, or, but for one, elements of it. */
static PyObject *run_elementwise(const Elementwise *how, PyObject *const *args, PyObject *out, ElementwiseJob *job) {
    PyObject *arrays[MOST_WALKED] = {NULL}, *result = NULL;
    int type = NPY_NOTYPE, is_known = 1;
    for (int i = 0; i < how->arrays && type == NPY_NOTYPE; i++) {
        type = is_array_of(args[i], NPY_FLOAT) ? NPY_FLOAT : is_array_of(args[i], NPY_DOUBLE) ? NPY_DOUBLE : NPY_NOTYPE;
    }
    for (int i = 0; i < how->arrays && is_known; i++) {
        if (is_array_of(args[i], type)) {
            arrays[i] = Py_NewRef(args[i]);
        } else {
            arrays[i] = type == NPY_NOTYPE ? NULL : (PyObject *)array_of_scalar(args[i], type);
        }
        is_known = arrays[i] != NULL;
    }
    if (is_known) {
        result = run_arrays(how, arrays, out, type, job);
    }
    for (int i = 0; i < how->arrays; i++) {
        Py_XDECREF(arrays[i]);
    }
    return result;
}

/* Read the numbers of a call. NaN is left to Python where it stands for None. */
static int read_numbers(const Elementwise *how, PyObject *const *args, double *numbers) {
    for (int i = 0; i < how->numbers; i++) {
        if (how->may_be_none && args[i] == Py_None) {
            numbers[i] = NAN;
        } else if (!read_number(args[i], &numbers[i]) || (how->may_be_none && numbers[i] != numbers[i])) {
            return 0;
        }
    }
    return 1;
}

static PyObject *serve_elementwise(const CompiledKernel *kernel, const KernelCall *call) {
    const Elementwise *how = kernel->how;
    int taken = how->arrays + how->numbers;
    PyObject *out = call->out;
    ElementwiseJob job = {0};
    if (call->count == taken + 1 && out == NULL) {
        out = call->args[taken] == Py_None ? NULL : call->args[taken];
    } else if (call->count != taken) {
        return NULL;
    }
    if (!read_numbers(how, call->args + how->arrays, job.numbers)) {
        return NULL;
    }
    return run_elementwise(how, call->args, out, &job);
}

/* zeta(self, other): of many elements NumPy's powers are faster. */
static PyObject *serve_zeta(const CompiledKernel *kernel, const KernelCall *call) {
    for (int i = 0; i < 2 && i < call->count; i++) {
        PyObject *each = call->args[i];
        if ((is_array_of(each, NPY_FLOAT) || is_array_of(each, NPY_DOUBLE)) && count_of((Array *)each) > BLOCK) {
            return NULL;
        }
    }
    return serve_elementwise(kernel, call);
}

/* One kernel in two ways, chosen by the last argument: "none" or "tanh". */
static PyObject *serve_by_word(const CompiledKernel *kernel, const KernelCall *call) {
    const Elementwise *how = kernel->how;
    ElementwiseJob job = {0};
    PyObject *word = call->count == how->arrays + 1 ? call->args[how->arrays] : NULL;
    if (word == NULL || !PyUnicode_CheckExact(word)) {
        return NULL;
    }
    int is_by_tanh = PyUnicode_CompareWithASCIIString(word, "tanh") == 0;
    if (!is_by_tanh && PyUnicode_CompareWithASCIIString(word, "none") != 0) {
        return NULL;
    }
    return run_elementwise(&how[is_by_tanh], call->args, call->out, &job);
}

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

#define BOTH(NAME) {NAME##_loop_f32, NAME##_loop_f64}
#define WATCHED(NAME, ARRAYS) static const Elementwise NAME##_how = {ARRAYS, 0, 0, 1, BOTH(NAME)};
#define OF_ARRAYS(NAME, ARRAYS, NUMBERS) static const Elementwise NAME##_how = {ARRAYS, NUMBERS, 0, 0, BOTH(NAME)};

OF_ARRAYS(erf, 1, 0)
OF_ARRAYS(erfc, 1, 0)
WATCHED(erfinv, 1)
OF_ARRAYS(lgamma, 1, 0)
OF_ARRAYS(digamma, 1, 0)
OF_ARRAYS(erfcx, 1, 0)
OF_ARRAYS(log_ndtr, 1, 0)
OF_ARRAYS(ndtri, 1, 0)
OF_ARRAYS(airy_ai, 1, 0)
OF_ARRAYS(bessel_j0, 1, 0)
OF_ARRAYS(bessel_j1, 1, 0)
OF_ARRAYS(bessel_y0, 1, 0)
OF_ARRAYS(bessel_y1, 1, 0)
OF_ARRAYS(i0, 1, 0)
OF_ARRAYS(i0e, 1, 0)
OF_ARRAYS(i1, 1, 0)
OF_ARRAYS(i1e, 1, 0)
OF_ARRAYS(modified_bessel_k0, 1, 0)
OF_ARRAYS(modified_bessel_k1, 1, 0)
OF_ARRAYS(scaled_modified_bessel_k0, 1, 0)
OF_ARRAYS(scaled_modified_bessel_k1, 1, 0)
OF_ARRAYS(zeta, 2, 0)
OF_ARRAYS(igamma, 2, 0)
OF_ARRAYS(igammac, 2, 0)
#define POLYNOMIALS(EACH) \
    EACH(chebyshev_polynomial_t) EACH(chebyshev_polynomial_u) EACH(chebyshev_polynomial_v) \
    EACH(chebyshev_polynomial_w) EACH(shifted_chebyshev_polynomial_t) EACH(shifted_chebyshev_polynomial_u) \
    EACH(shifted_chebyshev_polynomial_v) EACH(shifted_chebyshev_polynomial_w) EACH(hermite_polynomial_h) \
    EACH(hermite_polynomial_he) EACH(laguerre_polynomial_l) EACH(legendre_polynomial_p)
#define POLYNOMIAL_HOW(NAME) OF_ARRAYS(NAME, 2, 0)
#define POLYNOMIAL_ROW(NAME) {#NAME, serve_elementwise, &NAME##_how, 0},
POLYNOMIALS(POLYNOMIAL_HOW)
OF_ARRAYS(sigmoid, 1, 0)
OF_ARRAYS(silu, 1, 0)
OF_ARRAYS(power_below, 1, 0)
OF_ARRAYS(log_sigmoid, 2, 0)
OF_ARRAYS(cube, 1, 0)
OF_ARRAYS(mish, 1, 0)
OF_ARRAYS(elu, 1, 3)
OF_ARRAYS(leaky_relu, 1, 1)
OF_ARRAYS(softplus, 1, 2)
OF_ARRAYS(hardsigmoid, 1, 0)
OF_ARRAYS(hardswish, 1, 0)
OF_ARRAYS(fraction, 1, 0)
OF_ARRAYS(sign, 1, 0)
OF_ARRAYS(angle, 1, 0)
OF_ARRAYS(clamp, 1, 2)
OF_ARRAYS(fmod, 2, 0)
OF_ARRAYS(remainder, 2, 0)
WATCHED(xlogy, 2)
OF_ARRAYS(logaddexp, 2, 0)
OF_ARRAYS(addcmul, 3, 1)
OF_ARRAYS(addcdiv, 3, 1)
OF_ARRAYS(silu_gradient, 2, 0)
OF_ARRAYS(elu_gradient, 2, 3)
OF_ARRAYS(threshold_backward, 2, 1)
static const Elementwise logit_how = {1, 1, 1, 1, BOTH(logit)};
static const Elementwise nan_to_num_how = {1, 3, 1, 0, BOTH(nan_to_num)};
static const Elementwise gelu_how[] = {{1, 0, 0, 0, BOTH(gelu)}, {1, 0, 0, 0, BOTH(gelu_by_tanh)}};
static const Elementwise gelu_gradient_how[] = {{2, 0, 0, 0, BOTH(gelu_gradient)}, {2, 0, 0, 0, BOTH(gelu_by_tanh_gradient)}};
static const Elementwise lerp_how[] = {{2, 1, 0, 0, BOTH(near_lerp)}, {2, 1, 0, 0, BOTH(far_lerp)}};

/* log_sigmoid(self): the logarithm, and exp(-|self|). */
static PyObject *serve_log_sigmoid(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    ElementwiseJob first = {0}, second = {0};
    if (call->count != 1 || call->out != NULL || plain_floats(call->args[0]) == NULL) {
        return NULL;
    }
    PyObject *power = run_elementwise(&power_below_how, call->args, NULL, &first);
    PyObject *operands[] = {call->args[0], power}, *results = NULL;
    PyObject *logarithm = power == NULL ? NULL : run_elementwise(&log_sigmoid_how, operands, NULL, &second);
    if (logarithm != NULL) {
        results = PyTuple_Pack(2, logarithm, power);
    }
    Py_XDECREF(power);
    Py_XDECREF(logarithm);
    return results;
}

const CompiledKernel pointwise_kernels[] = {
    {"erf", serve_elementwise, &erf_how, 0},
    {"erfc", serve_elementwise, &erfc_how, 0},
    {"erfinv", serve_elementwise, &erfinv_how, 0},
    {"lgamma", serve_elementwise, &lgamma_how, 0},
    {"digamma", serve_elementwise, &digamma_how, 0},
    {"erfcx", serve_elementwise, &erfcx_how, 0},
    {"log_ndtr", serve_elementwise, &log_ndtr_how, 0},
    {"ndtri", serve_elementwise, &ndtri_how, 0},
    {"airy_ai", serve_elementwise, &airy_ai_how, 0},
    {"bessel_j0", serve_elementwise, &bessel_j0_how, 0},
    {"bessel_j1", serve_elementwise, &bessel_j1_how, 0},
    {"bessel_y0", serve_elementwise, &bessel_y0_how, 0},
    {"bessel_y1", serve_elementwise, &bessel_y1_how, 0},
    {"i0", serve_elementwise, &i0_how, 0},
    {"i0e", serve_elementwise, &i0e_how, 0},
    {"i1", serve_elementwise, &i1_how, 0},
    {"i1e", serve_elementwise, &i1e_how, 0},
    {"modified_bessel_k0", serve_elementwise, &modified_bessel_k0_how, 0},
    {"modified_bessel_k1", serve_elementwise, &modified_bessel_k1_how, 0},
    {"scaled_modified_bessel_k0", serve_elementwise, &scaled_modified_bessel_k0_how, 0},
    {"scaled_modified_bessel_k1", serve_elementwise, &scaled_modified_bessel_k1_how, 0},
    {"zeta", serve_zeta, &zeta_how, 0},
    {"igamma", serve_elementwise, &igamma_how, 0},
    {"igammac", serve_elementwise, &igammac_how, 0},
    POLYNOMIALS(POLYNOMIAL_ROW)
    {"sigmoid", serve_elementwise, &sigmoid_how, 0},
    {"logit", serve_elementwise, &logit_how, 0},
    {"log_sigmoid", serve_log_sigmoid, NULL, 0},
    {"cube", serve_elementwise, &cube_how, 0},
    {"silu", serve_elementwise, &silu_how, 0},
    {"mish", serve_elementwise, &mish_how, 0},
    {"elu", serve_elementwise, &elu_how, 0},
    {"leaky_relu", serve_elementwise, &leaky_relu_how, 0},
    {"softplus", serve_elementwise, &softplus_how, 0},
    {"hardsigmoid", serve_elementwise, &hardsigmoid_how, QUIET},
    {"hardswish", serve_elementwise, &hardswish_how, 0},
    {"gelu", serve_by_word, gelu_how, 0},
    {"fractional_part", serve_elementwise, &fraction_how, 0},
    {"sign", serve_elementwise, &sign_how, QUIET},
    {"angle", serve_elementwise, &angle_how, QUIET},
    {"nan_to_num", serve_elementwise, &nan_to_num_how, QUIET},
    {"lerp", serve_lerp, lerp_how, 0},
    {"clamp", serve_clamp, &clamp_how, QUIET},
    {"hardtanh", serve_clamp, &clamp_how, QUIET},
    {"fmod", serve_elementwise, &fmod_how, 0},
    {"remainder", serve_elementwise, &remainder_how, 0},
    {"xlogy", serve_elementwise, &xlogy_how, 0},
    {"logaddexp", serve_elementwise, &logaddexp_how, 0},
    {"addcmul", serve_elementwise, &addcmul_how, 0},
    {"addcdiv", serve_elementwise, &addcdiv_how, 0},
    {"silu_gradient", serve_elementwise, &silu_gradient_how, OF_NUMPY},
    {"gelu_gradient", serve_by_word, gelu_gradient_how, OF_NUMPY},
    {"elu_gradient", serve_elementwise, &elu_gradient_how, OF_NUMPY},
    {"threshold_backward", serve_elementwise, &threshold_backward_how, QUIET},
    {NULL, NULL, NULL, 0},
};
