/* Random numbers of a Mersenne Twister, a few at a time: integers below a bound, random orders, and normal numbers one
 * by one. */

#include "fast/call/kernel_sets.h"
#include "mersenne_twister.h"
#include "plain_arrays.h"

#include <math.h>

/* The most numbers that are drawn at once, into memory of the stack. */
#define MOST 128
/* From how many numbers on an order is drawn by words of 64 bits. */
#define LONG_ORDER ((npy_intp)(UINT32_MAX / 20))

/* What is drawn: integers below `span`, or an order of `span` numbers. */
typedef struct {
    uint32_t *words; /* the generator's state */
    int64_t *to;
    uint64_t span;
    int each; /* words for one number */
} IntegersJob;

/* Draw numbers of `each` words of 32 random bits. */
static void draw_numbers(const IntegersJob *job, uint64_t *numbers, npy_intp count) {
    uint32_t drawn[2 * MOST];
    twister_words(job->words, drawn, job->each * count);
    for (npy_intp i = 0; i < count; i++) {
        numbers[i] = job->each == 1 ? drawn[i] : (uint64_t)drawn[2 * i] << 32 | drawn[2 * i + 1];
    }
}

/* Draw the next integers. Needs no GIL. */
static void work_integers(void *given, int64_t from, int64_t to) {
    const IntegersJob *job = given;
    uint64_t numbers[MOST];
    for (int64_t done = from; done < to; done += MOST) {
        const npy_intp count = to - done < MOST ? to - done : MOST;
        draw_numbers(job, numbers, count);
        for (npy_intp i = 0; i < count; i++) {
            job->to[done + i] = (int64_t)(numbers[i] % job->span);
        }
    }
}

/* Exchange the next positions of an order for random ones from there on. Needs no GIL. */
static void work_order(void *given, int64_t from, int64_t to) {
    const IntegersJob *job = given;
    uint64_t numbers[MOST];
    for (int64_t done = from; done < to; done += MOST) {
        const npy_intp count = to - done < MOST ? to - done : MOST;
        draw_numbers(job, numbers, count);
        for (int64_t i = done; i < done + count; i++) {
            int64_t *other = job->to + i + (int64_t)(numbers[i - done] % (job->span - (uint64_t)i)), kept = *other;
            *other = job->to[i];
            job->to[i] = kept;
        }
    }
}

/* integers_below(bits, memory, count, span) of words of 32 bits, or from 2**28 on of 64. Returns a new int64 array
 * (count,), and advances the state; NULL without an exception for other arguments. The caller lets no other thread
 * draw. */
static PyObject *handle_integers(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    uint32_t *words = call->count == 4 && call->out == NULL ? twister_memory(call->args[1]) : NULL;
    npy_intp size = words != NULL && PyLong_CheckExact(call->args[2]) ? PyLong_AsSsize_t(call->args[2]) : -1;
    int overflow = 1;
    const int64_t span =
        size < 0 || !PyLong_CheckExact(call->args[3]) ? 0 : PyLong_AsLongLongAndOverflow(call->args[3], &overflow);
    if (overflow || span <= 0) {
        PyErr_Clear(); /* of a count of more than 64 bits */
        return NULL;
    }
    Array *result = new_array(1, &size, NPY_INT64);
    if (result != NULL) {
        IntegersJob job = {words, (int64_t *)PyArray_DATA(result), (uint64_t)span, span >= 1 << 28 ? 2 : 1};
        do_in_order(work_integers, &job, size, size);
    }
    return (PyObject *)result;
}

/* random_order(bits, memory, order), of the numbers from 0 on in their order (int64): shuffled in place. Returns
 * `order`, a new reference, and advances the state; NULL without an exception for other arguments. The caller lets no
 * other thread draw. */
static PyObject *handle_order(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    uint32_t *words = call->count == 3 && call->out == NULL ? twister_memory(call->args[1]) : NULL;
    Array *order = words == NULL ? NULL : plain_array(call->args[2], NPY_INT64);
    if (order == NULL || !PyArray_ISWRITEABLE(order)) {
        return NULL;
    }
    const npy_intp size = count_of(order);
    IntegersJob job = {words, (int64_t *)PyArray_DATA(order), (uint64_t)size, size < LONG_ORDER ? 1 : 2};
    do_in_order(work_order, &job, size - 1, size);
    return Py_NewRef(order);
}

/* Return a number from [0, 1) of 53 random bits. */
static double fraction(const uint32_t *pair) {
    return (double)((((uint64_t)pair[0] << 32) | pair[1]) & (((uint64_t)1 << 53) - 1)) * 0x1p-53;
}

/* Normal numbers that are drawn in pairs. */
typedef struct {
    uint32_t *words; /* the generator's state */
    double *to, kept; /* the second number of the last pair, if that `is_kept` */
    int is_kept;
} LoneNormalsJob;

/* Draw the next normal numbers. Needs no GIL. */
static void work_lone_normals(void *given, int64_t from, int64_t to) {
    LoneNormalsJob *job = given;
    uint32_t drawn[4];
    for (int64_t i = from; i < to; i++) {
        if (job->is_kept) {
            job->to[i] = job->kept;
        } else {
            twister_words(job->words, drawn, 4);
            const double radius = sqrt(-2.0 * log1p(-fraction(drawn + 2))), angle = 2.0 * M_PI * fraction(drawn);
            job->kept = radius * sin(angle);
            job->to[i] = radius * cos(angle);
        }
        job->is_kept = !job->is_kept;
    }
}

/* lone_normals(bits, memory, count, kept): the number that was kept comes first, and that one is kept of the last pair
 * which is too many. Returns a new float64 array (count,) and what is kept now, or None, and advances the state; NULL
 * without an exception for other arguments. The caller lets no other thread draw. */
static PyObject *handle_lone_normals(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    uint32_t *words = call->count == 4 && call->out == NULL ? twister_memory(call->args[1]) : NULL;
    npy_intp size = words != NULL && PyLong_CheckExact(call->args[2]) ? PyLong_AsSsize_t(call->args[2]) : -1;
    PyObject *kept = size < 0 ? NULL : call->args[3];
    if (kept == NULL || (kept != Py_None && !PyFloat_CheckExact(kept))) {
        PyErr_Clear(); /* of a count of more than 64 bits */
        return NULL;
    }
    Array *result = new_array(1, &size, NPY_DOUBLE);
    if (result == NULL) {
        return NULL;
    }
    const int is_kept = kept != Py_None;
    LoneNormalsJob job = {words, (double *)PyArray_DATA(result), is_kept ? PyFloat_AS_DOUBLE(kept) : 0, is_kept};
    do_in_order(work_lone_normals, &job, size, size);
    if (PyErr_Occurred()) {
        Py_DECREF(result);
        return NULL;
    }
    return job.is_kept ? Py_BuildValue("(Nd)", result, job.kept) : Py_BuildValue("(NO)", result, Py_None);
}

const CompiledKernel few_draws_kernels[] = {
    {"integers_below", handle_integers, NULL, OF_NUMPY | QUIET},
    {"random_order", handle_order, NULL, OF_NUMPY | QUIET},
    {"lone_normals", handle_lone_normals, NULL, OF_NUMPY | QUIET},
    {NULL, NULL, NULL, 0},
};
