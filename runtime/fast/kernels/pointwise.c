/* Elementwise kernels: operands of one shape and type, numbers behind them, one result. */

#include "kernels.h"

#include "gamma.h"
#include "special_f32.h"
#include "special_f64.h"

#include <float.h>

#define REAL float
#define LARGEST FLT_MAX
#define OF(NAME) NAME##_f32
#include "pointwise_elements.h"
#include "pointwise_loops.h"
#undef REAL
#undef LARGEST
#undef OF

#define REAL double
#define LARGEST DBL_MAX
#define OF(NAME) NAME##_f64
#include "pointwise_elements.h"
#include "pointwise_loops.h"
#undef REAL
#undef LARGEST
#undef OF

#define MOST_NUMBERS 3
/* Elements of the widest registers: loops are called with a multiple of these, so that each goes the same way. */
#define LANES 16

typedef void (*Loop)(char *const *data, npy_intp count, const double *numbers);

/* What is computed of so many arrays and so many numbers: loops for float32 and float64. A number that may be None is
 * NaN then. */
typedef struct {
    int arrays;
    int numbers;
    int may_be_none;
    Loop loops[2];
} Elementwise;

typedef struct {
    Loop loop;
    int arrays;
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

static void work_block(void *given, char *const *data, npy_intp count) {
    const ElementwiseJob *job = given;
    npy_intp rest = count % LANES, whole = count - rest;
    if (whole > 0) {
        job->loop(data, whole, job->numbers);
    }
    if (rest > 0) {
        work_rest(job, data, whole, rest);
    }
}

static void work_elementwise(void *given) {
    ElementwiseJob *job = given;
    work_block(job, job->data, job->count);
}

/* Whether the operands are dense and of one shape, and nothing is to be written to: then the job has them. */
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

/* Compute, where all operands are arrays of one type. */
static PyObject *run_elementwise(const Elementwise *how, PyObject *const *args, PyObject *out, ElementwiseJob *job) {
    int type = is_array_of(args[0], NPY_FLOAT) ? NPY_FLOAT : NPY_DOUBLE;
    for (int i = 0; i < how->arrays; i++) {
        if (!is_array_of(args[i], type)) {
            return NULL;
        }
    }
    job->arrays = how->arrays;
    job->size = type == NPY_DOUBLE ? sizeof(double) : sizeof(float);
    job->loop = how->loops[type == NPY_DOUBLE];
    if (out != NULL || !are_dense(args, how->arrays, job, type)) {
        return out == NULL || is_array_of(out, type) ? walk_arrays(args, how->arrays, out, work_block, job) : NULL;
    }
    Array *result = new_like((Array *)args[0]);
    if (result != NULL) {
        job->data[how->arrays] = PyArray_BYTES(result);
        job->count = count_of(result);
        do_work(work_elementwise, job, job->count);
    }
    return (PyObject *)result;
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
    ElementwiseJob job;
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

/* One kernel in two ways, chosen by the last argument: "none" or "tanh". */
static PyObject *serve_by_word(const CompiledKernel *kernel, const KernelCall *call) {
    const Elementwise *how = kernel->how;
    ElementwiseJob job;
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

/* lerp(self, end, weight), from the nearer of the two. */
static PyObject *serve_lerp(const CompiledKernel *kernel, const KernelCall *call) {
    const Elementwise *how = kernel->how;
    ElementwiseJob job;
    if (call->count != 3 || !read_number(call->args[2], &job.numbers[0])) {
        return NULL;
    }
    int is_far = !(fabs(job.numbers[0]) < 0.5);
    job.numbers[0] = is_far ? 1.0 - job.numbers[0] : job.numbers[0];
    return run_elementwise(&how[is_far], call->args, call->out, &job);
}

#define BOTH(NAME) {NAME##_loop_f32, NAME##_loop_f64}
#define OF_ARRAYS(NAME, ARRAYS, NUMBERS) static const Elementwise NAME##_how = {ARRAYS, NUMBERS, 0, BOTH(NAME)};

OF_ARRAYS(erf, 1, 0)
OF_ARRAYS(erfc, 1, 0)
OF_ARRAYS(erfinv, 1, 0)
OF_ARRAYS(lgamma, 1, 0)
OF_ARRAYS(digamma, 1, 0)
OF_ARRAYS(sigmoid, 1, 0)
OF_ARRAYS(silu, 1, 0)
OF_ARRAYS(mish, 1, 0)
OF_ARRAYS(elu, 1, 3)
OF_ARRAYS(leaky_relu, 1, 1)
OF_ARRAYS(softplus, 1, 2)
OF_ARRAYS(hardsigmoid, 1, 0)
OF_ARRAYS(hardswish, 1, 0)
OF_ARRAYS(fraction, 1, 0)
OF_ARRAYS(sign, 1, 0)
OF_ARRAYS(angle, 1, 0)
OF_ARRAYS(xlogy, 2, 0)
OF_ARRAYS(logaddexp, 2, 0)
OF_ARRAYS(addcmul, 3, 1)
OF_ARRAYS(addcdiv, 3, 1)
OF_ARRAYS(silu_gradient, 2, 0)
OF_ARRAYS(elu_gradient, 2, 3)
static const Elementwise logit_how = {1, 1, 1, BOTH(logit)};
static const Elementwise nan_to_num_how = {1, 3, 1, BOTH(nan_to_num)};
static const Elementwise gelu_how[] = {{1, 0, 0, BOTH(gelu)}, {1, 0, 0, BOTH(gelu_by_tanh)}};
static const Elementwise gelu_gradient_how[] = {{2, 0, 0, BOTH(gelu_gradient)}, {2, 0, 0, BOTH(gelu_by_tanh_gradient)}};
static const Elementwise lerp_how[] = {{2, 1, 0, BOTH(near_lerp)}, {2, 1, 0, BOTH(far_lerp)}};

const CompiledKernel pointwise_kernels[] = {
    {"erf", serve_elementwise, &erf_how, 0},
    {"erfc", serve_elementwise, &erfc_how, 0},
    {"erfinv", serve_elementwise, &erfinv_how, 0},
    {"lgamma", serve_elementwise, &lgamma_how, 0},
    {"digamma", serve_elementwise, &digamma_how, 0},
    {"sigmoid", serve_elementwise, &sigmoid_how, 0},
    {"logit", serve_elementwise, &logit_how, 0},
    {"silu", serve_elementwise, &silu_how, 0},
    {"mish", serve_elementwise, &mish_how, 0},
    {"elu", serve_elementwise, &elu_how, 0},
    {"leaky_relu", serve_elementwise, &leaky_relu_how, 0},
    {"softplus", serve_elementwise, &softplus_how, 0},
    {"hardsigmoid", serve_elementwise, &hardsigmoid_how, 0},
    {"hardswish", serve_elementwise, &hardswish_how, 0},
    {"gelu", serve_by_word, gelu_how, 0},
    {"fractional_part", serve_elementwise, &fraction_how, 0},
    {"sign", serve_elementwise, &sign_how, 0},
    {"angle", serve_elementwise, &angle_how, 0},
    {"nan_to_num", serve_elementwise, &nan_to_num_how, 0},
    {"lerp", serve_lerp, lerp_how, 0},
    {"xlogy", serve_elementwise, &xlogy_how, 0},
    {"logaddexp", serve_elementwise, &logaddexp_how, 0},
    {"addcmul", serve_elementwise, &addcmul_how, 0},
    {"addcdiv", serve_elementwise, &addcdiv_how, 0},
    {"silu_gradient", serve_elementwise, &silu_gradient_how, 1},
    {"gelu_gradient", serve_by_word, gelu_gradient_how, 1},
    {"elu_gradient", serve_elementwise, &elu_gradient_how, 1},
    {NULL, NULL, NULL, 0},
};
