/* Elements by their indices: gather, scatter_add, index_add. An index out of range is left to the Python. */

#include "kernels.h"

#include <stdatomic.h>

/* Arrays are (outer, size, inner), the index (outer, along, inner): its numbers are indices of the middle. */
typedef struct {
    const char *from;
    const int64_t *index;
    char *to;
    npy_intp outer, size, along, inner;
    atomic_int is_out_of_range;
} IndexJob;

/* Whether all of `count` indices are from 0 up to but without `size`. */
static int lie_within(const int64_t *index, npy_intp count, npy_intp size) {
    uint64_t largest = 0;
    for (npy_intp i = 0; i < count; i++) {
        const uint64_t position = (uint64_t)index[i]; /* negative ones are larger than all others */
        largest = position > largest ? position : largest;
    }
    return count == 0 || largest < (uint64_t)size;
}

/* Define a loop over some rows of the index, those of a slice at a time, that copies the elements it names. It stops and
 * sets `is_out_of_range` at a bad index. Returns nothing. */
#define GATHER_LOOP(NAME, TYPE)                                                                                        \
    static void NAME(void *given, int64_t first, int64_t end) {                                                        \
        IndexJob *job = given;                                                                                         \
        const npy_intp inner = job->inner;                                                                             \
        for (npy_intp row = first, rows; row < end; row += rows) {                                                     \
            const npy_intp o = row / job->along, left = job->along - row % job->along;                                 \
            const int64_t *index = job->index + row * inner;                                                           \
            const TYPE *from = (const TYPE *)job->from + o * job->size * inner;                                        \
            TYPE *to = (TYPE *)job->to + row * inner;                                                                  \
            rows = left < end - row ? left : end - row;                                                                \
            if (!lie_within(index, rows * inner, job->size)) {                                                         \
                job->is_out_of_range = 1;                                                                              \
                return;                                                                                                \
            }                                                                                                          \
            for (npy_intp i = 0; inner == 1 && i < rows; i++) {                                                        \
                to[i] = from[index[i]];                                                                                \
            }                                                                                                          \
            for (npy_intp i = 0; inner > 1 && i < rows * inner; i += inner) {                                          \
                for (npy_intp k = 0; k < inner; k++) {                                                                 \
                    to[i + k] = from[(npy_intp)index[i + k] * inner + k];                                              \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

GATHER_LOOP(gather_4, uint32_t)
GATHER_LOOP(gather_8, uint64_t)

/* Define a loop over some slices of the index, each of which stays in the cache, that adds elements where it says. It
 * stops and sets `is_out_of_range` at a bad index. Returns nothing. */
#define SCATTER_LOOP(NAME, TYPE)                                                                                       \
    static void NAME(void *given, int64_t first, int64_t end) {                                                        \
        IndexJob *job = given;                                                                                         \
        const npy_intp inner = job->inner, part = job->along * inner;                                                  \
        for (npy_intp o = first; o < end; o++) {                                                                       \
            const int64_t *index = job->index + o * part;                                                              \
            const TYPE *from = (const TYPE *)job->from + o * part;                                                     \
            TYPE *to = (TYPE *)job->to + o * job->size * inner;                                                        \
            if (!lie_within(index, part, job->size)) {                                                                 \
                job->is_out_of_range = 1;                                                                              \
                return;                                                                                                \
            }                                                                                                          \
            for (npy_intp i = 0; inner == 1 && i < part; i++) {                                                        \
                to[index[i]] += from[i];                                                                               \
            }                                                                                                          \
            for (npy_intp i = 0; inner > 1 && i < part; i += inner) {                                                  \
                for (npy_intp k = 0; k < inner; k++) {                                                                 \
                    to[(npy_intp)index[i + k] * inner + k] += from[i + k];                                             \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

SCATTER_LOOP(add_f32, float)
SCATTER_LOOP(add_f64, double)

/* Whether a dense index has self's shape but for the size along `dim`, both with elements: then their sizes are written
 * to the job. */
static int read_index(const Array *self, PyObject *dim, const Array *index, IndexJob *job) {
    double number;
    int ndim = PyArray_NDIM(self), axis;
    if (ndim == 0 || PyArray_NDIM(index) != ndim || !read_number(dim, &number)) {
        return 0;
    }
    axis = (int)number + (number < 0 ? ndim : 0);
    if (axis < 0 || axis >= ndim || count_of(self) == 0 || count_of(index) == 0) {
        return 0;
    }
    job->outer = job->inner = 1;
    for (int i = 0; i < ndim; i++) {
        if (i != axis && PyArray_DIM(self, i) != PyArray_DIM(index, i)) {
            return 0;
        }
        job->outer *= i < axis ? PyArray_DIM(self, i) : 1;
        job->inner *= i > axis ? PyArray_DIM(self, i) : 1;
    }
    job->size = PyArray_DIM(self, axis);
    job->along = PyArray_DIM(index, axis);
    job->index = (const int64_t *)PyArray_BYTES(index);
    job->is_out_of_range = 0;
    return 1;
}

/* Run the loop over `count` units. Returns the result, which it steals; NULL without an exception, and the result released, if an index
 * was out of range. */
static PyObject *run_indexed(RangeWork work, IndexJob *job, npy_intp count, Array *result) {
    do_ranges(work, job, count, job->outer * job->along * job->inner);
    if (job->is_out_of_range) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

/* gather(self, dim, index, sparse_grad) of elements of 4 or 8 bytes. Returns a new array of the index's shape; NULL
 * without an exception unless both are dense and match, and all indices are in range. */
static PyObject *handle_gather(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    IndexJob job;
    Array *self = call->count == 4 && call->out == NULL ? any_plain_array(call->args[0]) : NULL;
    Array *index = self == NULL ? NULL : plain_array(call->args[2], NPY_INT64);
    if (index == NULL || width_of(self) == 0) {
        return NULL;
    }
    if (!read_index(self, call->args[1], index, &job)) {
        return gather_part(self, call->args[1], index);
    }
    Array *result = new_of(PyArray_DESCR(self), PyArray_NDIM(index), PyArray_DIMS(index));
    if (result == NULL) {
        return NULL;
    }
    job.from = PyArray_BYTES(self);
    job.to = PyArray_BYTES(result);
    return run_indexed(width_of(self) == 4 ? gather_4 : gather_8, &job, job.outer * job.along, result);
}

/* Return a copy of a C-contiguous array of elements of 4 or 8 bytes; NULL with an exception. */
static Array *copy_of(Array *self) {
    Array *copy = new_like(self);
    if (copy != NULL) {
        memcpy(PyArray_BYTES(copy), PyArray_BYTES(self), (size_t)(count_of(self) * width_of(self)));
    }
    return copy;
}

/* scatter_add(self, dim, index, src) of floats, where index and src have one shape. Returns a new array; NULL without
 * an exception unless all are dense and match, and all indices are in range. */
static PyObject *handle_scatter_add(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    IndexJob job;
    int is_of_four = call->count == 4 || (call->count == 5 && call->args[4] == Py_None);
    Array *self = is_of_four && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    Array *index = self == NULL ? NULL : plain_array(call->args[2], NPY_INT64);
    Array *source = index == NULL ? NULL : plain_array(call->args[3], PyArray_TYPE(self));
    if (source == NULL) {
        return NULL;
    }
    if (!read_index(self, call->args[1], index, &job) || PyArray_NDIM(source) != PyArray_NDIM(index) ||
        memcmp(PyArray_DIMS(source), PyArray_DIMS(index), (size_t)PyArray_NDIM(index) * sizeof(npy_intp)) != 0) {
        return scatter_add_part(call);
    }
    Array *result = copy_of(self);
    if (result == NULL) {
        return NULL;
    }
    job.from = PyArray_BYTES(source);
    job.to = PyArray_BYTES(result);
    return run_indexed(PyArray_TYPE(self) == NPY_DOUBLE ? add_f64 : add_f32, &job, job.outer, result);
}

/* Define the loop of `index_add` for one type: it adds slices of `from` to those of `to` that the index names, in some
 * of the outer dimensions. Nothing is added, and `is_out_of_range` set, if one is out of range. Returns nothing. */
#define ADD_SLICES(NAME, TYPE)                                                                                         \
    static void NAME(void *given, int64_t first, int64_t end) {                                                        \
        IndexJob *job = given;                                                                                         \
        const int is_within = lie_within(job->index, job->along, job->size);                                           \
        for (npy_intp o = first; o < end && is_within; o++) {                                                          \
            for (npy_intp i = 0; i < job->along; i++) {                                                                \
                const TYPE *from = (const TYPE *)job->from + (o * job->along + i) * job->inner;                        \
                TYPE *to = (TYPE *)job->to + (o * job->size + (npy_intp)job->index[i]) * job->inner;                   \
                for (npy_intp k = 0; k < job->inner; k++) {                                                            \
                    to[k] += from[k];                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        if (!is_within) {                                                                                              \
            job->is_out_of_range = 1;                                                                                  \
        }                                                                                                              \
    }

ADD_SLICES(add_slices_f32, float)
ADD_SLICES(add_slices_f64, double)

/* index_add(self, dim, index, source, alpha) of floats, for an alpha of 1. Returns a new array; NULL without an
 * exception unless all are dense and match, and all indices are in range. */
static PyObject *handle_index_add(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    IndexJob job = {.outer = 1, .inner = 1};
    double dim;
    int is_of_five = call->count == 5 || (call->count == 6 && call->args[5] == Py_None);
    Array *self = is_of_five && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    Array *index = self == NULL ? NULL : plain_array(call->args[2], NPY_INT64);
    Array *source = index == NULL ? NULL : plain_array(call->args[3], PyArray_TYPE(self));
    if (source == NULL || PyArray_NDIM(index) != 1 || PyArray_NDIM(self) == 0 ||
        PyArray_NDIM(source) != PyArray_NDIM(self) || count_of(source) == 0 || count_of(self) == 0 ||
        !read_number(call->args[1], &dim) || !PyLong_CheckExact(call->args[4]) || PyLong_AsLong(call->args[4]) != 1) {
        PyErr_Clear();
        return NULL;
    }
    int ndim = PyArray_NDIM(self), axis = (int)dim + (dim < 0 ? ndim : 0);
    for (int i = 0; i < ndim; i++) {
        if (PyArray_DIM(source, i) != (i == axis ? PyArray_DIM(index, 0) : PyArray_DIM(self, i))) {
            return NULL;
        }
        job.outer *= i < axis ? PyArray_DIM(self, i) : 1;
        job.inner *= i > axis ? PyArray_DIM(self, i) : 1;
    }
    Array *result = axis < 0 || axis >= ndim ? NULL : copy_of(self);
    if (result == NULL) {
        return NULL;
    }
    job.size = PyArray_DIM(self, axis);
    job.along = PyArray_DIM(index, 0);
    job.index = (const int64_t *)PyArray_BYTES(index);
    job.from = PyArray_BYTES(source);
    job.to = PyArray_BYTES(result);
    return run_indexed(PyArray_TYPE(self) == NPY_DOUBLE ? add_slices_f64 : add_slices_f32, &job, job.outer, result);
}

const CompiledKernel gather_kernels[] = {
    {"gather", handle_gather, NULL, QUIET},
    {"scatter_add", handle_scatter_add, NULL, 0},
    {"index_add", handle_index_add, NULL, 0},
    {NULL, NULL, NULL, 0},
};
