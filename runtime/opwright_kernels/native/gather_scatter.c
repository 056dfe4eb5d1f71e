/* Elements by their indices in dense arrays: gather, and the loops of scatter and index_add. An index out of range is
 * left to the Python. */

#include "writes.h"

#include <stdatomic.h>

#include "fast/arrays/loops.h"

/* Slices that are written at the positions of an index, in each of the outer dimensions. */
typedef struct {
    PutJob put; /* of the first outer one */
    npy_intp outer, outer_to, outer_from;
} SlicesJob;

/* Arrays are (outer, size, inner), the index (outer, along, inner): its numbers are indices of the middle. */
typedef struct {
    const char *from;
    const int64_t *index;
    char *to;
    npy_intp outer, size, along, inner;
    atomic_int is_out_of_range;
} IndexJob;

/* How many indices are looked at before they are used. */
#define LOOKED_AT 4096

/* Whether all of `count` indices are from 0 up to but without `size`. */
static int lie_within(const int64_t *index, npy_intp count, npy_intp size) {
    uint64_t signs = 0;
    for (npy_intp i = 0; i < count; i++) {
        const uint64_t position = (uint64_t)index[i];
        signs |= position | ((uint64_t)size - 1 - position); /* the first bit says that one is below 0 */
    }
    return signs >> 63 == 0;
}

/* Define a loop over some rows of the index, those of a slice at a time, that copies the elements it names. It stops
 * and sets `is_out_of_range` at a bad index. Returns nothing. */
#define GATHER_LOOP(NAME, TYPE)                                                                                        \
    CLONES static void NAME(void *given, int64_t first, int64_t end) {                                                 \
        IndexJob *job = given;                                                                                         \
        const npy_intp inner = job->inner;                                                                             \
        for (npy_intp row = first, rows; row < end; row += rows) {                                                     \
            const npy_intp o = row / job->along, left = job->along - row % job->along;                                 \
            const int64_t *index = job->index + row * inner;                                                           \
            const TYPE *from = (const TYPE *)job->from + o * job->size * inner;                                        \
            TYPE *to = (TYPE *)job->to + row * inner;                                                                  \
            rows = left < end - row ? left : end - row;                                                                \
            rows = rows * inner > LOOKED_AT ? (LOOKED_AT + inner - 1) / inner : rows; /* which the cache still has */  \
            if (!lie_within(index, rows * inner, job->size)) {                                                         \
                job->is_out_of_range = 1;                                                                              \
                return;                                                                                                \
            }                                                                                                          \
            EACH_ALONE for (npy_intp i = 0; inner == 1 && i < rows; i++) { to[i] = from[index[i]]; }                   \
            for (npy_intp i = 0; inner > 1 && i < rows * inner; i += inner) {                                          \
                for (npy_intp k = 0; k < inner; k++) {                                                                 \
                    to[i + k] = from[(npy_intp)index[i + k] * inner + k];                                              \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

GATHER_LOOP(gather_4, uint32_t)
GATHER_LOOP(gather_8, uint64_t)

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

/* Run the loop over `count` units. Returns the result, which it steals; NULL without an exception, and the result
 * released, if an index was out of range. */
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

/* Define a loop that runs STEP for the elements of some outer slices, or of some inner ones where there is one outer
 * slice alone, so that no two threads write to one place. All indices are in range. Returns nothing. */
#define SCATTER_LOOP(NAME, TYPE, STEP)                                                                                 \
    static void NAME(void *given, int64_t first, int64_t end) {                                                        \
        const ScatterJob *job = given;                                                                                 \
        const npy_intp inner = job->inner, step = job->from_step, along = job->along, from_end = job->from_end;        \
        const int64_t *index = job->index;                                                                             \
        const TYPE *from = (const TYPE *)job->from;                                                                    \
        const npy_intp from_k = job->outer > 1 ? 0 : first, to_k = job->outer > 1 ? inner : end;                       \
        for (npy_intp o = job->outer > 1 ? first : 0; o < (job->outer > 1 ? end : 1); o++) {                           \
            const npy_intp start = o * job->along * inner;                                                             \
            TYPE *slice = (TYPE *)job->to + o * job->size * inner;                                                     \
            for (npy_intp i = 0; i < along && inner == 1; i++) {                                                       \
                const npy_intp position = (npy_intp)index[start + i];                                                  \
                TYPE *there = slice + position + (position < 0 ? from_end : 0);                                        \
                const TYPE given_one = from[(start + i) * step];                                                       \
                STEP;                                                                                                  \
            }                                                                                                          \
            for (npy_intp i = 0; i < along && inner > 1; i++) {                                                        \
                for (npy_intp k = from_k, at = start + i * inner + from_k; k < to_k; k++, at++) {                      \
                    const npy_intp position = (npy_intp)index[at];                                                     \
                    TYPE *there = slice + (position + (position < 0 ? from_end : 0)) * inner + k;                      \
                    const TYPE given_one = from[at * step];                                                            \
                    STEP;                                                                                              \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

SCATTER_LOOP(put_4, uint32_t, *there = given_one)
SCATTER_LOOP(put_8, uint64_t, *there = given_one)
SCATTER_LOOP(add_f32, float, *there += given_one)
SCATTER_LOOP(add_f64, double, *there += given_one)
SCATTER_LOOP(multiply_f32, float, *there *= given_one)
SCATTER_LOOP(multiply_f64, double, *there *= given_one)
SCATTER_LOOP(larger_f32, float, *there = *there >= given_one || *there != *there ? *there : given_one)
SCATTER_LOOP(larger_f64, double, *there = *there >= given_one || *there != *there ? *there : given_one)
SCATTER_LOOP(smaller_f32, float, *there = *there <= given_one || *there != *there ? *there : given_one)
SCATTER_LOOP(smaller_f64, double, *there = *there <= given_one || *there != *there ? *there : given_one)

/* How many elements of one outer slice are written between two looks at signals. */
#define PART_WORK ((npy_intp)1 << 20)

/* Whether the next part of a long write begins: no handler of a signal has raised. */
static int goes_on(npy_intp start, npy_intp along) {
    return start < along && !PyErr_Occurred() && (start == 0 || PyErr_CheckSignals() == 0);
}

/* Scatter elements of 4 or 8 bytes into a dense array, by indices that are all in range. */
void scatter_dense(ScatterJob *job, Step step, npy_intp bytes) {
    static const RangeWork works[][2] = {{put_4, put_8}, {add_f32, add_f64}, {multiply_f32, multiply_f64},
                                         {larger_f32, larger_f64}, {smaller_f32, smaller_f64}};
    const RangeWork work = works[step - PUT][bytes == 8];
    const npy_intp size = job->outer * job->along * job->inner;
    if (job->outer != 1 || size <= PART_WORK) {
        do_ranges(work, job, job->outer != 1 ? job->outer : job->inner, size);
        return;
    }
    const npy_intp most = PART_WORK / (job->inner + 1) + 1;
    for (npy_intp start = 0; goes_on(start, job->along); start += most) {
        ScatterJob part = *job;
        part.along = most < job->along - start ? most : job->along - start;
        part.index += start * job->inner;
        part.from += start * job->inner * job->from_step * bytes;
        do_ranges(work, &part, part.inner, part.along * part.inner);
    }
}

/* Put slices at the positions of an index, in some of the outer dimensions, or in a part of each slice where there is
 * one outer dimension alone. */
static void put_slices(void *given, int64_t first, int64_t end) {
    const SlicesJob *job = given;
    PutJob part = job->put;
    const npy_intp size = part.block_to[0];
    if (job->outer == 1) {
        part.to += first * size;
        part.from += first * part.block_from[0];
        part.block_shape[0] = end - first;
        part.put(&part, 0, part.points);
        return;
    }
    for (npy_intp o = first; o < end; o++) {
        part.to = job->put.to + o * job->outer_to;
        part.from = job->put.from + o * job->outer_from;
        part.put(&part, 0, part.points);
    }
}

/* Put the slices of an index of `along` positions, each of `inner` elements behind each outer one. */
static void run_slices(SlicesJob *job, npy_intp along, npy_intp inner) {
    const npy_intp size = job->outer * along * inner;
    if (job->outer != 1 || size <= PART_WORK) {
        do_ranges(put_slices, job, job->outer != 1 ? job->outer : inner, size);
        return;
    }
    const npy_intp most = PART_WORK / (inner + 1) + 1;
    for (npy_intp start = 0; goes_on(start, along); start += most) {
        SlicesJob part = *job;
        part.put.offsets += start;
        part.put.points = part.put.points_shape[0] = most < along - start ? most : along - start;
        part.put.from += start * part.put.points_from[0];
        do_ranges(put_slices, &part, inner, part.put.points * inner);
    }
}

/* Write slices into a dense array at positions along a dimension: overwritten in their order, or added. `from_step` is
 * 0 where one element stands for all. Returns 0, with nothing written, if a position is out of range, memory runs out,
 * or there is no loop. */
int write_slices(Array *target, int axis, Array *index, const char *from, int from_step, Write write, int counts_back) {
    SlicesJob job = {.outer = 1};
    npy_intp inner = 1;
    const npy_intp bytes = PyArray_ITEMSIZE(target), along = count_of(index), size = PyArray_DIM(target, axis);
    for (int i = 0; i < PyArray_NDIM(target); i++) {
        job.outer *= i < axis ? PyArray_DIM(target, i) : 1;
        inner *= i > axis ? PyArray_DIM(target, i) : 1;
    }
    if (!find_put(&job.put, target, write)) {
        return 0;
    }
    npy_intp *offsets = PyMem_RawMalloc((size_t)along * sizeof(npy_intp) + 1);
    int is_inside = offsets != NULL;
    for (npy_intp i = 0; i < along && is_inside; i++) {
        const int64_t given = ((const int64_t *)PyArray_BYTES(index))[i],
                      position = given + (given < 0 && counts_back ? size : 0);
        is_inside = position >= 0 && position < size;
        offsets[i] = (npy_intp)position * inner * bytes;
    }
    if (is_inside) {
        job.put.from = from;
        job.put.offsets = offsets;
        job.put.points = job.put.points_shape[0] = along;
        job.put.points_from[0] = from_step * inner * bytes;
        job.put.block_ndim = inner > 1;
        job.put.block_shape[0] = inner;
        job.put.block_to[0] = bytes;
        job.put.block_from[0] = from_step * bytes;
        job.outer_to = size * inner * bytes;
        job.outer_from = from_step * along * inner * bytes;
        run_slices(&job, along, inner);
    }
    PyMem_RawFree(offsets);
    return is_inside;
}

const CompiledKernel gather_kernels[] = {
    {"gather", handle_gather, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
