/* Writes by indices: `index_put`, where the indices are positions or masks, and `masked_scatter`. Positions are all
 * looked at before the first write; what Python has to refuse is left to it. */

#include "writes.h"

/* The most indices. */
#define MOST_INDICES 16

/* An index as offsets in bytes: those that it has along the dimensions of the target that it takes. */
typedef struct {
    Array *array;
    int dim, dims; /* where it begins, and how many dimensions it takes */
    npy_intp found; /* how many elements of a mask are True; -1: these are positions */
} Given;

typedef struct {
    Given items[MOST_INDICES];
    int count, dims, is_apart; /* indices; dimensions taken by them and by None; whether some None stands between */
    int ndim; /* of the shape that the indices broadcast to */
    npy_intp shape[NPY_MAXDIMS];
} Chosen;

/* Broadcast the shape of one index into that of all. Returns 0 if they do not fit. */
static int broadcast_into(Chosen *chosen, int ndim, const npy_intp *shape) {
    if (ndim > NPY_MAXDIMS) {
        return 0;
    }
    if (ndim > chosen->ndim) {
        memmove(chosen->shape + (ndim - chosen->ndim), chosen->shape, (size_t)chosen->ndim * sizeof(npy_intp));
        for (int i = 0; i < ndim - chosen->ndim; i++) {
            chosen->shape[i] = 1;
        }
        chosen->ndim = ndim;
    }
    for (int i = 0; i < ndim; i++) {
        npy_intp *size = &chosen->shape[chosen->ndim - ndim + i];
        if (*size != shape[i] && *size != 1 && shape[i] != 1) {
            return 0;
        }
        *size = *size == 1 ? shape[i] : *size;
    }
    return 1;
}

/* Return how many elements of a dense mask are True. */
static npy_intp count_true(const Array *mask) {
    const npy_bool *each = (const npy_bool *)PyArray_BYTES(mask);
    npy_intp found = 0;
    for (npy_intp i = 0; i < count_of(mask); i++) {
        found += each[i] != 0;
    }
    return found;
}

/* Read the indices: int64 arrays of any strides, dense masks, None. Returns 0 unless they fit the target. */
static int read_indices(Chosen *chosen, PyObject *indices, const Array *target) {
    const int count = count_of_sequence(indices);
    int former = -1;
    chosen->count = chosen->dims = chosen->is_apart = chosen->ndim = 0;
    for (int i = 0; i < count; i++) {
        PyObject *each = PySequence_Fast_GET_ITEM(indices, i);
        if (each == Py_None) {
            chosen->dims++;
            continue;
        }
        const int is_mask = plain_array(each, NPY_BOOL) != NULL;
        Given *given = &chosen->items[chosen->count];
        if (chosen->count == MOST_INDICES || (!is_mask && !is_array_of(each, NPY_INT64)) ||
            !PyArray_ISALIGNED((Array *)each) || !PyArray_ISNOTSWAPPED((Array *)each)) {
            return 0;
        }
        *given = (Given){(Array *)each, chosen->dims, is_mask ? PyArray_NDIM((Array *)each) : 1, -1};
        if (given->dims == 0 || given->dim + given->dims > PyArray_NDIM(target)) {
            return 0;
        }
        for (int j = 0; j < given->dims && is_mask; j++) {
            if (PyArray_DIM(given->array, j) != PyArray_DIM(target, given->dim + j)) {
                return 0;
            }
        }
        chosen->is_apart |= former >= 0 && former != given->dim;
        former = chosen->dims = given->dim + given->dims;
        chosen->count++;
        given->found = is_mask ? count_true(given->array) : -1;
        if (!broadcast_into(chosen, is_mask ? 1 : PyArray_NDIM(given->array),
                            is_mask ? &given->found : PyArray_DIMS(given->array))) {
            return 0;
        }
    }
    return chosen->count > 0 && chosen->dims <= PyArray_NDIM(target);
}

/* The offsets of points in a target, found by one index after another. */
typedef struct {
    const Chosen *chosen;
    const Given *given; /* the index */
    const Array *target;
    const npy_intp *found; /* the offsets where it is True, if it is a mask */
    npy_intp *offsets;     /* of all points; of a mask, where the next one goes */
    int is_outside;        /* whether a position is out of range */
} FindJob;

/* Write the offsets of those of the next elements where a mask is True, in their order. Needs no GIL. */
static void find_true(void *given, int64_t from, int64_t to) {
    FindJob *job = given;
    const Array *array = job->given->array;
    const npy_bool *mask = (const npy_bool *)PyArray_BYTES(array);
    const int last = job->given->dims - 1, dim = job->given->dim;
    const npy_intp row = PyArray_DIM(array, last), step = PyArray_STRIDE(job->target, dim + last);
    npy_intp *offsets = job->offsets, skipped = from % row;
    for (npy_intp start = from, end; start < to; start = end, skipped = 0) {
        npy_intp offset = 0, rest = start / row;
        for (int i = last - 1; i >= 0; rest /= PyArray_DIM(array, i--)) {
            offset += rest % PyArray_DIM(array, i) * PyArray_STRIDE(job->target, dim + i);
        }
        offset += skipped * step;
        end = row - skipped < to - start ? start + row - skipped : to;
        for (npy_intp i = start; i < end; i++, offset += step) {
            if (mask[i]) {
                *offsets++ = offset;
            }
        }
    }
    job->offsets = offsets;
}

/* Add the offsets of one index, broadcast to the shape of all, to those of some points. Needs no GIL. */
static void add_offsets(void *given_job, int64_t from, int64_t to) {
    FindJob *job = given_job;
    const Chosen *chosen = job->chosen;
    const Given *given = job->given;
    const int is_mask = given->found >= 0, ndim = is_mask ? 1 : PyArray_NDIM(given->array), fewer = chosen->ndim - ndim;
    const npy_intp size = PyArray_DIM(job->target, given->dim), width = PyArray_STRIDE(job->target, given->dim);
    const char *base = is_mask ? (const char *)job->found : PyArray_BYTES(given->array);
    npy_intp steps[NPY_MAXDIMS] = {0}, at[NPY_MAXDIMS] = {0};
    for (int i = 0; i < ndim; i++) {
        const npy_intp own = is_mask ? given->found : PyArray_DIM(given->array, i);
        const npy_intp step = is_mask ? (npy_intp)sizeof(npy_intp) : PyArray_STRIDE(given->array, i);
        steps[fewer + i] = own == 1 ? 0 : step;
    }
    const int last = chosen->ndim - 1;
    const npy_intp row = last < 0 ? 1 : chosen->shape[last], step = last < 0 ? 0 : steps[last];
    npy_intp rest = from / row, skipped = from % row;
    for (int i = last - 1; i >= 0; rest /= chosen->shape[i--]) {
        at[i] = rest % chosen->shape[i];
    }
    uint64_t outside = 0;
    for (npy_intp start = from, end; start < to; start = end, skipped = 0) {
        const char *here = base + skipped * step;
        for (int i = 0; i < last; i++) {
            here += at[i] * steps[i];
        }
        end = row - skipped < to - start ? start + row - skipped : to;
        for (npy_intp i = start; i < end; i++, here += step) {
            npy_intp position = *(const npy_intp *)here;
            if (!is_mask) {
                position += position < 0 ? size : 0;
                outside |= (uint64_t)position >= (uint64_t)size;
                position *= width;
            }
            job->offsets[i] += position;
        }
        for (int i = last - 1; i >= 0 && ++at[i] == chosen->shape[i]; i--) {
            at[i] = 0;
        }
    }
    if (outside) {
        job->is_outside = 1;
    }
}

/* Write the offsets where a mask is True. */
static void find_masked(FindJob job, npy_intp *offsets) {
    job.offsets = offsets;
    do_in_order(find_true, &job, count_of(job.given->array), count_of(job.given->array));
}

/* Return the offsets of all points, which the caller frees; NULL without an exception if a position is out of range, or
 * memory runs out. */
static npy_intp *find_offsets(const Chosen *chosen, const Array *target, npy_intp count) {
    npy_intp *offsets = PyMem_RawCalloc((size_t)count, sizeof(npy_intp)), *found = NULL;
    FindJob job = {chosen, chosen->items, target, NULL, offsets, offsets == NULL};
    if (!job.is_outside && chosen->count == 1 && job.given->found >= 0) {
        find_masked(job, offsets);
        return offsets;
    }
    for (; job.given < chosen->items + chosen->count && !job.is_outside; job.given++) {
        if (job.given->found >= 0) {
            job.found = found = PyMem_RawMalloc((size_t)job.given->found * sizeof(npy_intp) + 1);
            if (found == NULL) {
                break;
            }
            find_masked(job, found);
        }
        do_in_order(add_offsets, &job, count, count);
        PyMem_RawFree(found);
        found = NULL;
    }
    if (job.given < chosen->items + chosen->count || job.is_outside) {
        PyMem_RawFree(offsets);
        return NULL;
    }
    return offsets;
}

/* Put at some of the points. Needs no GIL. */
static void work_put(void *given, int64_t from, int64_t to) {
    PutJob *job = given;
    job->put(job, from, to);
}

/* Put at the positions of some indices. Returns 0, with nothing written, if one is out of range, or memory runs out. */
static int put_at_points(PutJob *job, const Chosen *chosen, const Array *target) {
    npy_intp *offsets = find_offsets(chosen, target, job->points);
    if (offsets == NULL) {
        return 0;
    }
    job->offsets = offsets;
    do_in_order(work_put, job, job->points, job->points * job->block);
    PyMem_RawFree(offsets);
    return 1;
}

/* Have a job read the values, broadcast to the shape of the result: that of the target, where the indices' own stands
 * for the dimensions that they take, or before all others where these lie apart. Returns 0 if they do not fit. */
static int read_values(PutJob *job, const Chosen *chosen, const Array *target, const Array *values) {
    const int front = chosen->is_apart ? 0 : chosen->items[0].dim;
    const int ndim = PyArray_NDIM(target);
    int taken[NPY_MAXDIMS] = {0}, dim = 0, count = chosen->ndim, at, points = 0;
    for (int i = 0; i < chosen->count; i++) {
        for (int j = 0; j < chosen->items[i].dims; j++) {
            taken[chosen->items[i].dim + j] = 1;
            count--;
        }
    }
    count += ndim; /* dimensions of the result */
    at = PyArray_NDIM(values) - count; /* of the values, where the result's begin */
    if (at > 0) {
        return 0;
    }
    for (int i = 0; i < count; i++, at++) {
        const int is_point = i >= front && i < front + chosen->ndim;
        while (!is_point && taken[dim]) {
            dim++;
        }
        const npy_intp size = is_point ? chosen->shape[i - front] : PyArray_DIM(target, dim);
        const npy_intp own = at < 0 ? 1 : PyArray_DIM(values, at);
        const npy_intp step = own == 1 ? 0 : PyArray_STRIDE(values, at);
        if ((own != size && own != 1) || (!is_point && !add_block_dim(job, size, PyArray_STRIDE(target, dim), step))) {
            return 0;
        }
        if (is_point && points > 0 && job->points_from[points - 1] == size * step) {
            job->points_shape[points - 1] *= size;
            job->points_from[points - 1] = step;
        } else if (is_point) {
            job->points_shape[points] = size;
            job->points_from[points++] = step;
        }
        dim += !is_point;
    }
    job->points_ndim = points > 0 ? points : 1;
    return 1;
}

/* Put values at positions, in a target that is apart from all that is read. Returns 0, with nothing written, if Python
 * has to handle the call. */
static int put_values(Array *target, PyObject *indices, Array *values, Write write) {
    Chosen chosen;
    PutJob job;
    if (!read_indices(&chosen, indices, target) || PyArray_DESCR(target) != PyArray_DESCR(values) ||
        !PyArray_ISALIGNED(values) || !find_put(&job, target, write)) {
        return 0;
    }
    Array *mask = chosen.items[0].found >= 0 && chosen.count == 1 ? chosen.items[0].array : NULL;
    if (mask != NULL && count_of(values) == 1 && PyArray_NDIM(values) == 0 && write == OVERWRITE &&
        fill_masked(mask, target, PyArray_BYTES(values))) {
        return 1;
    }
    const npy_intp count = PyArray_MultiplyList(chosen.shape, chosen.ndim);
    if (count == 0 || !read_values(&job, &chosen, target, values)) {
        return 0;
    }
    job.from = PyArray_BYTES(values);
    job.points = count;
    return put_at_points(&job, &chosen, target);
}

/* Whether no index shares memory with a target. */
static int indices_are_apart(PyObject *indices, Array *target) {
    for (int i = 0; i < count_of_sequence(indices); i++) {
        if (!source_is_apart(PySequence_Fast_GET_ITEM(indices, i), target)) {
            return 0;
        }
    }
    return 1;
}

/* put_at(self, indices, values, accumulate, out=…). Returns a new array, or `out` where that is self; NULL without an
 * exception if Python has to handle the call. */
static PyObject *handle_put_at(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    if (call->count != 4 || Py_TYPE(call->args[2]) != &PyArray_Type || count_of_sequence(call->args[1]) < 1) {
        return NULL;
    }
    Array *self = call->out == NULL ? plain_bytes(call->args[0]) : written_in_place(call);
    Array *values = (Array *)call->args[2], *target = NULL;
    if (self == NULL || (call->args[3] != Py_False && call->args[3] != Py_True) || count_of(self) == 0) {
        return NULL;
    }
    if (call->out == NULL) {
        target = new_of(PyArray_DESCR(self), PyArray_NDIM(self), PyArray_DIMS(self));
        if (target != NULL) {
            copy_bytes(PyArray_BYTES(target), PyArray_BYTES(self), PyArray_NBYTES(self));
        }
    } else if (source_is_apart((PyObject *)values, self) && indices_are_apart(call->args[1], self)) {
        target = (Array *)Py_NewRef(self);
    }
    if (target != NULL &&
        !put_values(target, call->args[1], values, call->args[3] == Py_True ? ACCUMULATE : OVERWRITE)) {
        Py_CLEAR(target);
    }
    return (PyObject *)target;
}

/* masked_scatter(self, mask, source, out=…) in place, of dense arrays. Returns `out`; NULL without an exception if
 * Python has to handle the call. */
static PyObject *handle_masked_scatter(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *target = call->count == 3 ? written_in_place(call) : NULL;
    Array *mask = target == NULL ? NULL : plain_array(call->args[1], NPY_BOOL);
    Array *source = mask == NULL ? NULL : plain_bytes(call->args[2]);
    if (source == NULL || !has_shape_of(mask, target) || PyArray_NDIM(target) == 0 || PyArray_NDIM(source) == 0 ||
        PyArray_DESCR(source) != PyArray_DESCR(target) || count_true(mask) > count_of(source) ||
        !source_is_apart((PyObject *)mask, target) || !source_is_apart((PyObject *)source, target)) {
        return NULL;
    }
    PutJob job;
    Chosen chosen = {.items = {{mask, 0, PyArray_NDIM(target), count_true(mask)}}, .count = 1};
    npy_intp count = chosen.items[0].found;
    if (count == 0 || !find_put(&job, target, OVERWRITE)) {
        return NULL;
    }
    job.from = PyArray_BYTES(source);
    job.points = job.points_shape[0] = count;
    job.points_from[0] = PyArray_ITEMSIZE(source);
    return put_at_points(&job, &chosen, target) ? Py_NewRef((PyObject *)target) : NULL;
}

const CompiledKernel put_at_kernels[] = {
    {"put_at", handle_put_at, NULL, UNPLANNED | WRITES},
    {"masked_scatter", handle_masked_scatter, NULL, QUIET | WRITES},
    {NULL, NULL, NULL, 0},
};
