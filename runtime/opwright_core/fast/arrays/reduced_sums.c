/* Sums, differences, products, and sums of which one term is a product or a quotient, of half and bfloat16: widened,
 * computed and narrowed in registers, the same to the bit as the kernels of their names compute blocks of float32. */

#include "reduced_blocks.h"

#include "fast/call/callable.h"
#include "float_errors.h"
#include "fast/call/kernel_sets.h"
#include "plain_arrays.h"
#include "ufunc_loops.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include "loops.h"
#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <stdatomic.h>

#define IN_REGISTERS __attribute__((target("avx512f")))
#define INLINE IN_REGISTERS static inline __attribute__((always_inline))
#define WIDTH 16
/* How many elements are computed at once by one thread. */
#define SUMS_BLOCK 4096

/* What is computed of x, y, z and a number n: x + y n, x y, x + (y n) z, x + (y n) / z, from x by n to y, from y back
 * by n to x, from x by z to y. */
typedef enum { SCALED, PRODUCT, ADDCMUL, ADDCDIV, NEAR, FAR, WEIGHTED } Sum;

typedef struct {
    Sum sum;
    int is_brain, operands;
    float number, second; /* n; and y where that is a number */
    int is_number;        /* whether it is */
    char *data[4];
    npy_intp count;
    atomic_int errors;
} SumsJob;

/* Return sixteen elements as float32. */
INLINE __m512 widened(const uint16_t *from, int is_brain) {
    const __m256i narrow = _mm256_loadu_si256((const __m256i *)from);
    return is_brain ? _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(narrow), 16))
                    : _mm512_cvtph_ps(narrow);
}

/* Return sixteen float32 rounded to nearest, as `to_bf16` and the processor do it, without an error. */
INLINE __m256i narrowed(__m512 x, int is_brain) {
    if (!is_brain) {
        return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }
    const __m512i bits = _mm512_castps_si512(x), high = _mm512_srli_epi32(bits, 16);
    const __m512i last = _mm512_and_si512(high, _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), last);
    const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __m512i nan = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
    return _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(is_nan, _mm512_srli_epi32(rounded, 16), nan));
}

/* Return x + y z as `plus_product_f32` does. */
INLINE __m512 plus_product(__m512 x, __m512 y, __m512 z) {
    const __m512 product = _mm512_mul_ps(y, z);
    const __mmask16 is_held = _mm512_cmp_ps_mask(_mm512_abs_ps(product), _mm512_set1_ps(FLT_MAX), _CMP_LE_OQ);
    const __m512 sum = _mm512_add_ps(x, product);
    if (__builtin_expect(is_held == 0xffff, 1)) {
        return sum;
    }
    const __m512 half = _mm512_mul_ps(_mm512_mul_ps(y, _mm512_set1_ps(0.5f)), z);
    return _mm512_mask_blend_ps(is_held, _mm512_add_ps(_mm512_add_ps(x, half), half), sum);
}

/* Return what is computed of sixteen elements. */
INLINE __m512 computed(Sum sum, __m512 x, __m512 y, __m512 z, __m512 n) {
    const __m512 distance = _mm512_sub_ps(y, x);
    switch (sum) {
    case SCALED:
        return plus_product(x, y, n);
    case PRODUCT:
        return _mm512_mul_ps(x, y);
    case ADDCMUL:
        return plus_product(x, _mm512_mul_ps(y, n), z);
    case ADDCDIV:
        return _mm512_add_ps(x, _mm512_div_ps(_mm512_mul_ps(y, n), z));
    case NEAR:
        return plus_product(x, distance, n);
    case FAR:
        return plus_product(y, distance, n);
    default: {
        const __mmask16 is_near = _mm512_cmp_ps_mask(_mm512_abs_ps(z), _mm512_set1_ps(0.5f), _CMP_LT_OQ);
        const __m512 weight = _mm512_mask_blend_ps(is_near, _mm512_sub_ps(z, _mm512_set1_ps(1.0f)), z);
        return plus_product(_mm512_mask_blend_ps(is_near, y, x), distance, weight);
    }
    }
}

/* Compute elements from one up to another: sixteen at a time, the rest as sixteen of which some are one. Returns
 * nothing. */
INLINE void compute_span(const SumsJob *job, Sum sum, int is_brain, int is_number, npy_intp from, npy_intp to) {
    const int operands = sum == SCALED || sum == PRODUCT || sum == NEAR || sum == FAR ? 2 : 3;
    const __m512 n = _mm512_set1_ps(job->number), second = _mm512_set1_ps(job->second);
    uint16_t few[4][WIDTH];
    for (npy_intp i = from; i < to; i += WIDTH) {
        const npy_intp size = to - i < WIDTH ? to - i : WIDTH;
        const uint16_t *at[3];
        uint16_t *out = (uint16_t *)job->data[operands] + i;
        for (int j = 0; j < operands; j++) {
            at[j] = (const uint16_t *)job->data[j] + (is_number && j == 1 ? 0 : i);
            if (size < WIDTH && !(is_number && j == 1)) {
                for (int k = 0; k < WIDTH; k++) {
                    few[j][k] = k < size ? at[j][k] : is_brain ? 0x3f80 : 0x3c00;
                }
                at[j] = few[j];
            }
        }
        const __m512 x = widened(at[0], is_brain), y = is_number ? second : widened(at[1], is_brain);
        const __m256i found = narrowed(computed(sum, x, y, operands > 2 ? widened(at[2], is_brain) : y, n), is_brain);
        _mm256_storeu_si256((__m256i *)(size < WIDTH ? few[3] : out), found);
        if (size < WIDTH) {
            memcpy(out, few[3], (size_t)size * sizeof *out);
        }
    }
}

/* Compute a sum of either dtype, compiled for each. */
#define CASE(SUM, IS_NUMBER)                                                                                           \
    if (job->sum == SUM && job->is_number == IS_NUMBER) {                                                              \
        if (job->is_brain) {                                                                                           \
            compute_span(job, SUM, 1, IS_NUMBER, from, to);                                                            \
        } else {                                                                                                       \
            compute_span(job, SUM, 0, IS_NUMBER, from, to);                                                            \
        }                                                                                                              \
    }

/* Compute elements from one up to another. Returns nothing. */
IN_REGISTERS static void compute_elements(const SumsJob *job, npy_intp from, npy_intp to) {
    CASE(SCALED, 0)
    CASE(SCALED, 1)
    CASE(PRODUCT, 0)
    CASE(PRODUCT, 1)
    CASE(ADDCMUL, 0)
    CASE(ADDCDIV, 0)
    CASE(NEAR, 0)
    CASE(FAR, 0)
    CASE(WEIGHTED, 0)
}

/* Compute some blocks. Needs no GIL. */
static void work_sums(void *given, int64_t from, int64_t to) {
    SumsJob *job = given;
    const npy_intp stop = to * SUMS_BLOCK;
    forget_errors();
    compute_elements(job, from * SUMS_BLOCK, stop < job->count ? stop : job->count);
    atomic_fetch_or(&job->errors, fetestexcept(REPORTED_ERRORS));
    forget_errors();
}

/* Read n, as float32. Returns 0 for anything but an int or a float, and for what would overflow. */
static int read_factor(PyObject *object, SumsJob *job, double *number) {
    if (!read_number(object, number)) {
        return 0;
    }
    job->number = (float)*number;
    return isfinite(*number) == isfinite(job->number);
}

/* Read y, an array or a number, and where that is one n times it as the number. Returns 0 for anything else. */
static int read_second(PyObject *object, SumsJob *job) {
    if (PyArray_Check(object)) {
        return 1;
    }
    double number = PyFloat_Check(object) || PyLong_Check(object) || PyArray_IsScalar(object, Floating)
                        ? PyFloat_AsDouble(object)
                        : NAN;
    PyErr_Clear();
    job->is_number = 1;
    job->second = (float)number;
    if (job->sum == SCALED) {
        job->number *= job->second; /* n y, rounded: then times one */
        job->second = 1.0f;
    }
    return isfinite(job->second) && isfinite(job->number);
}

/* Read which sum a kernel computes of what it gets, from the name of the ufunc or of the kernel in C. Returns the place
 * of x among that, or -1. */
static int read_sum(const BlockedCall *call, SumsJob *job) {
    const char *ufunc = kernel_ufunc(call->kernel);
    const CompiledKernel *kernel = ufunc == NULL ? kernel_with(call->kernel, 0) : NULL;
    double number = 1;
    job->number = 1;
    if (ufunc != NULL && strcmp(ufunc, "multiply") == 0) {
        job->sum = PRODUCT;
        return call->count == 2 && read_second(call->values[1], job) ? 0 : -1;
    }
    if (ufunc != NULL) {
        const int is_difference = strcmp(ufunc, "subtract") == 0;
        job->sum = SCALED;
        if ((!is_difference && strcmp(ufunc, "add") != 0) || call->count < 2 || call->count > 3 ||
            (call->count == 3 && !read_factor(call->values[2], job, &number))) {
            return -1;
        }
        job->number = is_difference ? -job->number : job->number;
        return read_second(call->values[1], job) ? 0 : -1;
    }
    if (kernel == NULL || call->count < 4) {
        return -1;
    }
    const int is_lerp = strcmp(kernel->name, "lerp") == 0, is_product = strcmp(kernel->name, "addcmul") == 0;
    if (is_lerp && call->count == 4 && !PyArray_Check(call->values[3])) {
        const int is_read = read_factor(call->values[3], job, &number);
        job->sum = fabs(number) < 0.5 ? NEAR : FAR;
        job->number = job->sum == FAR ? -(float)(1.0 - number) : job->number;
        return is_read ? 1 : -1;
    }
    if (is_lerp && call->count == 4) {
        job->sum = WEIGHTED;
        job->operands = 3;
        return 1;
    }
    job->sum = is_product ? ADDCMUL : ADDCDIV;
    job->operands = 3;
    return call->count == 5 && (is_product || strcmp(kernel->name, "addcdiv") == 0) &&
                   read_factor(call->values[4], job, &number) ? 1 : -1;
}

/* Whether the operands, from a place on, lie as the result does, in its dtype; where they do is written. */
static int read_arrays(const BlockedCall *call, SumsJob *job, int first) {
    for (int i = 0; i < job->operands; i++) {
        if (i == 1 && job->is_number) {
            job->data[1] = job->data[0];
            continue;
        }
        Array *array = any_plain_array(call->values[first + i]);
        if (array == NULL || (PyObject *)PyArray_DESCR(array) != call->result->dtype ||
            PyArray_NDIM(array) != call->result->ndim ||
            !PyArray_CompareLists(PyArray_DIMS(array), (npy_intp *)call->result->dims, PyArray_NDIM(array))) {
            return 0;
        }
        job->data[i] = PyArray_BYTES(array);
    }
    return 1;
}

/* Compute a call of one of those kernels into the target; a result that is `is_written` over an operand has no errors
 * told of. Returns 1; 0 where blocks of float32 have to be computed. */
int run_reduced_sum(const BlockedCall *call, Array *target, int is_written) {
    SumsJob job = {.operands = 2, .count = count_of(target)};
    job.is_brain = PyArray_TYPE(target) != NPY_HALF;
    const int first = __builtin_cpu_supports("avx512f") ? read_sum(call, &job) : -1;
    if (first < 0 || !read_arrays(call, &job, first)) {
        return 0;
    }
    job.data[job.operands] = PyArray_BYTES(target);
    atomic_init(&job.errors, 0);
    do_ranges(work_sums, &job, (job.count + SUMS_BLOCK - 1) / SUMS_BLOCK, job.count);
    return is_written || told_errors(atomic_load(&job.errors)) == 0;
}
#else
/* Return 0: this processor has no such loops. */
int run_reduced_sum(const BlockedCall *call, Array *target, int is_written) {
    (void)call, (void)target, (void)is_written;
    return 0;
}
#endif
