/* Casts: between float32 and the reduced dtypes, half and bfloat16, which are computed in float32; those that NumPy
 * does without a warning. */

#include "casts.h"
#include "fast/call/kernel_sets.h"
#include "loops.h"
#include "plain_arrays.h"

typedef struct {
    char *data[2]; /* from, to */
    npy_intp count;
    DenseLoop cast;
    npy_intp sizes[2]; /* of an element */
} CastJob;

/* Elements of a block; threads are given whole ones. */
#define CAST_BLOCK 4096

/* Define a loop that casts `count` contiguous elements from data[0] to data[1] by FUNCTION. Returns nothing. */
#define CAST(NAME, FROM, TO, FUNCTION)                                                                                 \
    CLONES static void NAME(char *const *data, npy_intp count) {                                                       \
        const FROM *x = (const FROM *)data[0];                                                                         \
        TO *out = (TO *)data[1];                                                                                       \
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {                                                              \
            out[i] = FUNCTION(x[i]);                                                                                   \
        }                                                                                                              \
    }

CAST(widen_half, uint16_t, float, from_f16)
CAST(narrow_half, float, uint16_t, to_f16)
CAST(widen_brain, uint16_t, float, from_bf16)
CAST(narrow_brain, float, uint16_t, to_bf16)

/* Casts that NumPy does without a warning, of the dtypes that are common. */
#define ITSELF(ELEMENT_) (ELEMENT_)
CAST(f64_of_f32, float, double, ITSELF)
CAST(f32_of_b8, npy_bool, float, ITSELF)
CAST(f64_of_b8, npy_bool, double, ITSELF)
CAST(i64_of_b8, npy_bool, int64_t, ITSELF)
CAST(f32_of_u8, uint8_t, float, ITSELF)
CAST(f32_of_i32, int32_t, float, ITSELF)
CAST(f64_of_i32, int32_t, double, ITSELF)
CAST(i64_of_i32, int32_t, int64_t, ITSELF)
CAST(f32_of_i64, int64_t, float, ITSELF)
CAST(f64_of_i64, int64_t, double, ITSELF)

static const struct {
    int from, to;
    DenseLoop cast;
} plain_casts[] = {
    {NPY_FLOAT, NPY_DOUBLE, f64_of_f32}, {NPY_BOOL, NPY_FLOAT, f32_of_b8},    {NPY_BOOL, NPY_DOUBLE, f64_of_b8},
    {NPY_BOOL, NPY_INT64, i64_of_b8},    {NPY_UINT8, NPY_FLOAT, f32_of_u8},   {NPY_INT32, NPY_FLOAT, f32_of_i32},
    {NPY_INT32, NPY_DOUBLE, f64_of_i32}, {NPY_INT32, NPY_INT64, i64_of_i32},  {NPY_INT64, NPY_FLOAT, f32_of_i64},
    {NPY_INT64, NPY_DOUBLE, f64_of_i64},
};

/* Return the loop from one of those dtypes to another, or NULL. */
static DenseLoop plain_cast(int from, int to) {
    for (size_t i = 0; i < sizeof plain_casts / sizeof *plain_casts; i++) {
        if (plain_casts[i].from == from && plain_casts[i].to == to) {
            return plain_casts[i].cast;
        }
    }
    return NULL;
}

/* Half by the processor's own instructions, where it has them. */
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define BY_PROCESSOR __attribute__((target("avx,f16c")))

/* Cast `count` halves to float32, eight at a time with F16C, and the rest by the portable loop. */
BY_PROCESSOR static void widen_half_in_eights(char *const *data, npy_intp count) {
    const npy_intp whole = count - count % 8;
    for (npy_intp i = 0; i < whole; i += 8) {
        const __m128i halves = _mm_loadu_si128((const __m128i *)((const uint16_t *)data[0] + i));
        _mm256_storeu_ps((float *)data[1] + i, _mm256_cvtph_ps(halves));
    }
    char *const rest[2] = {data[0] + 2 * whole, data[1] + 4 * whole};
    widen_half(rest, count - whole);
}

/* Cast `count` float32 to half, eight at a time with F16C, and the rest by the portable loop. */
BY_PROCESSOR static void narrow_half_in_eights(char *const *data, npy_intp count) {
    const npy_intp whole = count - count % 8;
    for (npy_intp i = 0; i < whole; i += 8) {
        const __m256 numbers = _mm256_loadu_ps((const float *)data[0] + i);
        _mm_storeu_si128((__m128i *)((uint16_t *)data[1] + i), _mm256_cvtps_ph(numbers, _MM_FROUND_TO_NEAREST_INT));
    }
    char *const rest[2] = {data[0] + 4 * whole, data[1] + 2 * whole};
    narrow_half(rest, count - whole);
}

#define BY_WIDE_PROCESSOR __attribute__((target("avx512f")))

/* Cast `count` halves to float32, sixteen at a time with AVX-512, and the rest by the portable loop. */
BY_WIDE_PROCESSOR static void widen_half_in_sixteens(char *const *data, npy_intp count) {
    const npy_intp whole = count - count % 16;
    for (npy_intp i = 0; i < whole; i += 16) {
        const __m256i halves = _mm256_loadu_si256((const __m256i *)((const uint16_t *)data[0] + i));
        _mm512_storeu_ps((float *)data[1] + i, _mm512_cvtph_ps(halves));
    }
    char *const rest[2] = {data[0] + 2 * whole, data[1] + 4 * whole};
    widen_half(rest, count - whole);
}

/* Cast `count` float32 to half, sixteen at a time with AVX-512, and the rest by the portable loop. The vectors raise no
 * floating-point errors. */
BY_WIDE_PROCESSOR static void narrow_half_in_sixteens(char *const *data, npy_intp count) {
    const npy_intp whole = count - count % 16;
    for (npy_intp i = 0; i < whole; i += 16) {
        const __m512 numbers = _mm512_loadu_ps((const float *)data[0] + i);
        const __m256i halves = _mm512_cvtps_ph(numbers, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm256_storeu_si256((__m256i *)((uint16_t *)data[1] + i), halves);
    }
    char *const rest[2] = {data[0] + 4 * whole, data[1] + 2 * whole};
    narrow_half(rest, count - whole);
}

/* Return the fastest loop of this processor from half to float32 (`is_widened`), or from float32 to half. */
static DenseLoop half_cast(int is_widened) {
    if (__builtin_cpu_supports("avx512f")) {
        return is_widened ? widen_half_in_sixteens : narrow_half_in_sixteens;
    }
    if (__builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c")) {
        return is_widened ? widen_half_in_eights : narrow_half_in_eights;
    }
    return is_widened ? widen_half : narrow_half;
}
#else
/* Return the portable loop from half to float32 (`is_widened`), or from float32 to half. */
static DenseLoop half_cast(int is_widened) {
    return is_widened ? widen_half : narrow_half;
}
#endif

enum { OTHER, SINGLE, HALF, BRAIN };

/* Return which of float32 (SINGLE), half and bfloat16 a dtype is; OTHER for any other one. */
static int kind_of(const PyArray_Descr *dtype) {
    if (dtype->type_num == NPY_FLOAT || dtype->type_num == NPY_HALF) {
        return dtype->type_num == NPY_HALF ? HALF : SINGLE;
    }
    return is_bfloat16(dtype) ? BRAIN : OTHER;
}

/* Return the loop from one kind of dtype to another, of which one is SINGLE and the other HALF or BRAIN; NULL for other
 * pairs. */
static DenseLoop cast_of(int from, int to) {
    if (from == SINGLE) {
        return to == HALF ? half_cast(0) : to == BRAIN ? narrow_brain : NULL;
    }
    return to != SINGLE ? NULL : from == HALF ? half_cast(1) : from == BRAIN ? widen_brain : NULL;
}

/* Whether a dtype is half or bfloat16: then the loops to and from float32 are written; otherwise both are NULL. */
int read_reduced(const PyArray_Descr *dtype, Reduced *reduced) {
    int kind = kind_of(dtype);
    reduced->widen = cast_of(kind, SINGLE);
    reduced->narrow = cast_of(SINGLE, kind);
    return reduced->widen != NULL;
}

/* Run the loop of a CastJob over some blocks. Needs no GIL. */
static void work_cast(void *given, int64_t from, int64_t to) {
    const CastJob *job = given;
    const npy_intp left = job->count - from * CAST_BLOCK, some = (to - from) * CAST_BLOCK;
    char *data[2] = {job->data[0] + from * CAST_BLOCK * job->sizes[0],
                     job->data[1] + from * CAST_BLOCK * job->sizes[1]};
    job->cast(data, left < some ? left : some);
}

/* Return a new array of that dtype and the shape of a dense array, filled by the loop; NULL with an exception. */
static PyObject *cast_by_loop(Array *array, PyArray_Descr *dtype, DenseLoop cast) {
    Array *result = new_of(dtype, PyArray_NDIM(array), PyArray_DIMS(array));
    if (result != NULL) {
        CastJob job = {{PyArray_BYTES(array), PyArray_BYTES(result)},
                       count_of(array),
                       cast,
                       {element_size(array), element_size(result)}};
        do_ranges(work_cast, &job, (job.count + CAST_BLOCK - 1) / CAST_BLOCK, job.count);
    }
    return (PyObject *)result;
}

/* Return an array in a dtype, a new reference: itself if it has that very dtype, else a new array. NULL without an
 * exception where the Python's `cast_array` has to do it: for subclasses, and casts that may warn. */
PyObject *cast_array(PyObject *object, PyArray_Descr *dtype) {
    if (Py_TYPE(object) != &PyArray_Type) {
        return NULL;
    }
    Array *array = (Array *)object;
    PyArray_Descr *own = PyArray_DESCR(array);
    if (own == dtype) {
        return Py_NewRef(object);
    }
    const int is_plain = any_plain_array(object) != NULL && PyArray_ISNBO(dtype->byteorder);
    DenseLoop cast = is_plain ? cast_of(kind_of(own), kind_of(dtype)) : NULL;
    if (is_plain && cast == NULL) {
        cast = plain_cast(own->type_num, dtype->type_num);
    }
    if (cast != NULL) {
        return cast_by_loop(array, dtype, cast);
    }
    return cast_silently(array, dtype);
}

/* cast_array(array, dtype). Returns as the C function of that name; NULL without an exception, too, if `dtype` is no
 * dtype. */
static PyObject *handle_cast(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    PyArray_Descr *dtype = call->count == 2 && call->out == NULL ? dtype_of(call->args[1]) : NULL;
    return dtype == NULL ? NULL : cast_array(call->args[0], dtype);
}

const CompiledKernel cast_kernels[] = {
    {"cast_array", handle_cast, NULL, OF_NUMPY | QUIET},
    {NULL, NULL, NULL, 0},
};
