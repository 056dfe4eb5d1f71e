/* Calls of elementwise kernels: operands, numbers and `out` are read, and the loops run block by block. */

#include "pointwise.h"

#include <fenv.h>
#include <float.h>

/* Elements of the widest registers: loops are called with a multiple of these, so that each goes the same way. */
#define LANES 16

/* Define a function that returns whether any of `count` elements is infinite or NaN. */
#define HAS_NONFINITE(NAME, REAL, SIZE_OF, LARGEST)                                                                    \
    CLONES static int NAME(const REAL *x, npy_intp count) {                                                            \
        int found = 0;                                                                                                 \
        for (npy_intp i = 0; i < count; i++) {                                                                         \
            found |= !(SIZE_OF(x[i]) <= LARGEST);                                                                      \
        }                                                                                                              \
        return found;                                                                                                  \
    }

HAS_NONFINITE(has_nonfinite_f32, float, abs_f32, FLT_MAX)
HAS_NONFINITE(has_nonfinite_f64, double, abs_f64, DBL_MAX)

/* Compute the last `rest` elements, fewer than LANES, from `start` on: in buffers of LANES that copies of the first of
 * them fill up, so that they go through the same vector code as all others. */
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

/* Raise a floating-point flag if an element of the result is infinite or NaN: such loops select these, which raises
 * none. */
static void watch(const ElementwiseJob *job, const char *data, npy_intp count) {
    if (job->size == sizeof(double) ? has_nonfinite_f64((const double *)data, count)
                                    : has_nonfinite_f32((const float *)data, count)) {
        (void)feraiseexcept(FE_DIVBYZERO);
    }
}

/* Run the loop over `count` contiguous elements of operands and result, a multiple of LANES at once, then the rest. */
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

/* Run the loop over blocks of BLOCK elements of dense arrays. Needs no GIL. */
static void work_elementwise(void *given, int64_t from, int64_t to) {
    const ElementwiseJob *job = given;
    char *data[MOST_WALKED + 1];
    for (npy_intp start = from * BLOCK; start < job->count && start < to * BLOCK; start += BLOCK) {
        for (int i = 0; i <= job->arrays; i++) {
            data[i] = job->data[i] + start * (npy_intp)job->size;
        }
        work_block(given, data, job->count - start < BLOCK ? job->count - start : BLOCK);
    }
}

/* Whether all operands are dense arrays of that type number and one shape: then the job gets their data. */
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

/* Whether `out` is dense, writeable, like the first operand, and either an operand's own memory or apart from all of
 * them: partly overlapping memory would be overwritten before it is read. */
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

/* Compute operands that are all ndarrays of one type number, dense ones directly and others by `walk_arrays`. Returns a
 * new reference to a new array or to `out`; NULL without an exception if they do not broadcast, or if `out` is no array
 * of that type. */
static PyObject *run_arrays(const Elementwise *how, PyObject *const *args, PyObject *out, int type,
                            ElementwiseJob *job) {
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
        do_ranges(work_elementwise, job, (job->count + BLOCK - 1) / BLOCK, job->count);
    }
    return (PyObject *)result;
}

/* Compute operands of which at least one is a float32 or float64 array, and the others arrays or NumPy scalars of the
 * same type. Returns a new reference to a new array or to `out`; NULL without an exception for other operands, with one
 * if memory runs out. */
PyObject *run_elementwise(const Elementwise *how, PyObject *const *args, PyObject *out, ElementwiseJob *job) {
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

/* Read the numbers behind the operands of a call; None is NaN where `may_be_none`. Returns 0 for anything but Python
 * numbers, and for NaN where `may_be_none`, which the Python handles. */
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

/* Compute a call of (arrays, numbers), with `out` by name or behind them. Returns a new reference to a new array or to
 * `out`; NULL without an exception for other arguments, and where `run_elementwise` returns NULL. */
PyObject *handle_elementwise(const CompiledKernel *kernel, const KernelCall *call) {
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

/* Compute a call whose last argument, "none" or "tanh", selects one of two loops (`approximate` of gelu). Returns as
 * `handle_elementwise`; NULL without an exception for another word. */
PyObject *handle_variant(const CompiledKernel *kernel, const KernelCall *call) {
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
