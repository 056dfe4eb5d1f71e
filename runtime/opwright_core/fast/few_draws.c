/* A few random numbers of a Mersenne Twister at a time: integers below a bound, and normal numbers one by one. */

#include "kernel_sets.h"
#include "mersenne_twister.h"
#include "plain_arrays.h"

#include <math.h>

/* The most numbers that are drawn at once, into memory of the stack. */
#define MOST 128

/* integers_below(bits, memory, count, span) of words of 32 bits, or from 2**28 on of 64. Returns a new int64 array
 * (count,), and advances the state; NULL without an exception for other arguments. The caller lets no other thread draw. */
static PyObject *handle_integers(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    uint32_t *words = call->count == 4 && call->out == NULL ? twister_memory(call->args[1]) : NULL, drawn[2 * MOST];
    npy_intp size = words != NULL && PyLong_CheckExact(call->args[2]) ? PyLong_AsSsize_t(call->args[2]) : -1;
    int overflow = 1;
    const int64_t span = size < 0 || !PyLong_CheckExact(call->args[3]) ? 0 : PyLong_AsLongLongAndOverflow(call->args[3], &overflow);
    if (overflow || span <= 0) {
        PyErr_Clear(); /* of a count of more than 64 bits */
        return NULL;
    }
    Array *result = new_array(1, &size, NPY_INT64);
    const int each = span >= 1 << 28 ? 2 : 1;
    for (npy_intp done = 0; result != NULL && done < size;) {
        const npy_intp count = size - done < MOST ? size - done : MOST;
        int64_t *to = (int64_t *)PyArray_DATA(result) + done;
        twister_words(words, drawn, each * count);
        for (npy_intp i = 0; i < count && each == 1; i++) {
            to[i] = (int64_t)((uint64_t)drawn[i] % (uint64_t)span);
        }
        for (npy_intp i = 0; i < count && each == 2; i++) {
            to[i] = (int64_t)(((uint64_t)drawn[2 * i] << 32 | drawn[2 * i + 1]) % (uint64_t)span);
        }
        done += count;
    }
    return (PyObject *)result;
}

/* Return a number from [0, 1) of 53 random bits. */
static double fraction(const uint32_t *pair) {
    return (double)((((uint64_t)pair[0] << 32) | pair[1]) & (((uint64_t)1 << 53) - 1)) * 0x1p-53;
}

/* lone_normals(bits, memory, count, kept): the number that was kept comes first, and that one is kept of the last pair
 * which is too many. Returns a new float64 array (count,) and what is kept now, or None, and advances the state; NULL
 * without an exception for other arguments. The caller lets no other thread draw. */
static PyObject *handle_lone_normals(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    uint32_t *words = call->count == 4 && call->out == NULL ? twister_memory(call->args[1]) : NULL, drawn[4];
    npy_intp size = words != NULL && PyLong_CheckExact(call->args[2]) ? PyLong_AsSsize_t(call->args[2]) : -1;
    PyObject *kept = size < 0 ? NULL : call->args[3];
    if (kept == NULL || (kept != Py_None && !PyFloat_CheckExact(kept))) {
        PyErr_Clear(); /* of a count of more than 64 bits */
        return NULL;
    }
    Array *result = new_array(1, &size, NPY_DOUBLE);
    int is_kept = kept != Py_None;
    double waiting = is_kept ? PyFloat_AS_DOUBLE(kept) : 0;
    for (npy_intp i = 0; result != NULL && i < size; i++) {
        double *to = (double *)PyArray_DATA(result) + i;
        if (is_kept) {
            *to = waiting;
        } else {
            twister_words(words, drawn, 4);
            const double radius = sqrt(-2.0 * log1p(-fraction(drawn + 2))), angle = 2.0 * M_PI * fraction(drawn);
            waiting = radius * sin(angle);
            *to = radius * cos(angle);
        }
        is_kept = !is_kept;
    }
    if (result == NULL) {
        return NULL;
    }
    return is_kept ? Py_BuildValue("(Nd)", result, waiting) : Py_BuildValue("(NO)", result, Py_None);
}

const CompiledKernel few_draws_kernels[] = {
    {"integers_below", handle_integers, NULL, OF_NUMPY | QUIET},
    {"lone_normals", handle_lone_normals, NULL, OF_NUMPY | QUIET},
    {NULL, NULL, NULL, 0},
};
