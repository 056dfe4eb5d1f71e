/* Elements that are moved as they are: rows by their numbers, padding. */

#include "writes.h"

#include <math.h>
#include <stdatomic.h>

typedef struct {
    const char *from;
    const int64_t *index;
    char *to;
    npy_intp outer, size, along, bytes; /* of a row */
    atomic_int is_out_of_range;
} RowsJob;

/* Set `is_out_of_range` if one of some indices is; negative ones are. Needs no GIL, as the next. */
static void check_rows(void *given, int64_t from, int64_t to) {
    RowsJob *job = given;
    int is_out = 0;
    for (npy_intp i = from; i < to; i++) {
        is_out |= (uint64_t)job->index[i] >= (uint64_t)job->size; /* negative ones are larger than all */
    }
    if (is_out) {
        job->is_out_of_range = 1;
    }
}

/* Copy some of the slices that the index names, which are all in range. */
static void take_rows(void *given, int64_t from, int64_t to) {
    const RowsJob *job = given;
    char *here = job->to + from * job->bytes;
    npy_intp o = from / job->along, i = from % job->along;
    for (npy_intp at = from; at < to; at++, here += job->bytes) {
        memcpy(here, job->from + (o * job->size + (npy_intp)job->index[i]) * job->bytes, (size_t)job->bytes);
        if (++i == job->along) {
            i = 0;
            o++;
        }
    }
}

/* Return a new array of that shape with the slices along `axis` that an index names; NULL without an exception if an
 * index is out of range, with one if memory runs out. */
static PyObject *taken(Array *self, int axis, const Array *index, int ndim, const npy_intp *shape) {
    RowsJob job = {
        .from = PyArray_BYTES(self), .index = (const int64_t *)PyArray_BYTES(index), .outer = 1,
        .size = PyArray_DIM(self, axis), .along = count_of(index), .bytes = element_size(self),
    };
    for (int i = 0; i < PyArray_NDIM(self); i++) {
        job.outer *= i < axis ? PyArray_DIM(self, i) : 1;
        job.bytes *= i > axis ? PyArray_DIM(self, i) : 1;
    }
    Array *result = new_of(PyArray_DESCR(self), ndim, shape);
    if (result != NULL) {
        job.to = PyArray_BYTES(result);
        do_ranges(check_rows, &job, job.along, job.along);
        if (!job.is_out_of_range && count_of(result) > 0) {
            do_ranges(take_rows, &job, job.outer * job.along, count_of(result));
        }
        if (job.is_out_of_range) {
            Py_CLEAR(result);
        }
    }
    return (PyObject *)result;
}

/* index_select(self, dim, index). Returns a new array; NULL without an exception unless self is dense with elements,
 * and index a dense int64 vector in range. */
static PyObject *handle_index_select(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double dim;
    Array *self = call->count == 3 && call->out == NULL ? plain_bytes(call->args[0]) : NULL;
    Array *index = self == NULL ? NULL : plain_array(call->args[2], NPY_INT64);
    int ndim = self == NULL ? 0 : PyArray_NDIM(self);
    if (index == NULL || ndim == 0 || PyArray_NDIM(index) != 1 || !read_number(call->args[1], &dim)) {
        return NULL;
    }
    int axis = (int)dim + (dim < 0 ? ndim : 0);
    npy_intp shape[NPY_MAXDIMS];
    if (axis < 0 || axis >= ndim || count_of(self) == 0) {
        return NULL;
    }
    memcpy(shape, PyArray_DIMS(self), (size_t)ndim * sizeof(npy_intp));
    shape[axis] = PyArray_DIM(index, 0);
    return taken(self, axis, index, ndim, shape);
}

/* embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse): rows of the weight. Returns a new array of the
 * indices' shape and a row's; NULL without an exception unless weight is dense with elements, and the indices are dense
 * int64 in range. */
static PyObject *handle_embedding(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *weight = call->count == 5 && call->out == NULL ? plain_bytes(call->args[0]) : NULL;
    Array *indices = weight == NULL ? NULL : plain_array(call->args[1], NPY_INT64);
    if (indices == NULL || PyArray_NDIM(weight) == 0 || count_of(weight) == 0 ||
        PyArray_NDIM(indices) + PyArray_NDIM(weight) - 1 > NPY_MAXDIMS) {
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(indices);
    for (int i = 0; i < ndim; i++) {
        shape[i] = PyArray_DIM(indices, i);
    }
    for (int i = 1; i < PyArray_NDIM(weight); i++) {
        shape[ndim++] = PyArray_DIM(weight, i);
    }
    return taken(weight, 0, indices, ndim, shape);
}

/* Rows that a mask chooses. */
typedef struct {
    const char *mask, *from;
    char *to; /* where the next row goes */
    npy_intp count, bytes;
} MaskedJob;

/* Copy the next rows where the mask is True. Needs no GIL. */
static void take_masked(void *given, int64_t first, int64_t end) {
    MaskedJob *job = given;
    char *to = job->to;
    for (int64_t i = first; i < end; i++) {
        if (job->mask[i]) {
            memcpy(to, job->from + i * job->bytes, (size_t)job->bytes);
            to += job->bytes;
        }
    }
    job->to = to;
}

/* take_at(self, [mask]), of the first dimensions. Returns a new array; NULL without an exception unless both are dense,
 * and the mask, whose shape these dimensions have, is True somewhere. */
static PyObject *masked(Array *self, Array *mask) {
    npy_intp shape[NPY_MAXDIMS], found = 0;
    const int dims = PyArray_NDIM(mask), ndim = PyArray_NDIM(self);
    if (dims == 0 || dims > ndim || count_of(self) == 0 ||
        memcmp(PyArray_DIMS(mask), PyArray_DIMS(self), (size_t)dims * sizeof(npy_intp)) != 0) {
        return NULL;
    }
    MaskedJob job = {.mask = PyArray_BYTES(mask), .from = PyArray_BYTES(self), .count = count_of(mask)};
    for (npy_intp i = 0; i < job.count; i++) {
        found += job.mask[i] != 0;
    }
    if (found == 0) {
        return NULL;
    }
    job.bytes = count_of(self) / job.count * element_size(self);
    shape[0] = found;
    for (int i = dims; i < ndim; i++) {
        shape[i - dims + 1] = PyArray_DIM(self, i);
    }
    Array *result = new_of(PyArray_DESCR(self), ndim - dims + 1, shape);
    if (result != NULL) {
        job.to = PyArray_BYTES(result);
        do_in_order(take_masked, &job, job.count, job.count > count_of(result) ? job.count : count_of(result));
    }
    return (PyObject *)result;
}

/* take_at(self, indices), where one dimension has an index and None stands for the others, or one mask stands for the
 * first dimensions. Returns a new array; NULL
 * without an exception unless self is dense with elements, and the index dense int64 in range, without negative ones.
 */
static PyObject *handle_take_at(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *self = call->count == 2 && call->out == NULL ? plain_bytes(call->args[0]) : NULL, *index = NULL;
    const int given = self == NULL ? 0 : count_of_sequence(call->args[1]), ndim = given < 1 ? 0 : PyArray_NDIM(self);
    int axis = -1, dims = 0;
    npy_intp shape[NPY_MAXDIMS];
    Array *mask = given == 1 ? plain_array(PySequence_Fast_GET_ITEM(call->args[1], 0), NPY_BOOL) : NULL;
    if (mask != NULL) {
        return masked(self, mask);
    }
    for (int i = 0; i < given; i++) {
        PyObject *each = PySequence_Fast_GET_ITEM(call->args[1], i);
        if (each != Py_None && (axis >= 0 || (index = plain_array(each, NPY_INT64)) == NULL)) {
            return NULL;
        }
        axis = each == Py_None ? axis : i;
    }
    if (axis < 0 || axis >= ndim || count_of(self) == 0 || ndim + PyArray_NDIM(index) > NPY_MAXDIMS) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        for (int j = 0; i == axis && j < PyArray_NDIM(index); j++) {
            shape[dims++] = PyArray_DIM(index, j);
        }
        if (i != axis) {
            shape[dims++] = PyArray_DIM(self, i);
        }
    }
    return taken(self, axis, index, dims, shape);
}

/* An array among the borders of another, which are of one element. */
typedef struct {
    const char *from, *element;
    char *to;
    int ndim;
    npy_intp size, columns, shape[NPY_MAXDIMS], before[NPY_MAXDIMS], padded[NPY_MAXDIMS];
} PaddingJob;

/* Write `count` elements of a border, of `size` bytes. */
static void fill_border(char *to, const char *element, npy_intp size, npy_intp count) {
    if (size == 4) {
        uint32_t number;
        memcpy(&number, element, sizeof number);
        for (npy_intp i = 0; i < count; i++) {
            ((uint32_t *)to)[i] = number;
        }
        return;
    }
    for (npy_intp i = 0; i < count; i++, to += size) {
        memcpy(to, element, (size_t)size);
    }
}

/* Write some rows of the padded array, those of its last dimension. */
static void pad_rows(void *given, int64_t first, int64_t end) {
    const PaddingJob *job = given;
    const int last = job->ndim - 1;
    const npy_intp inside = job->shape[last], before = job->before[last], bytes = job->columns * job->size;
    for (npy_intp row = first; row < end; row++) {
        npy_intp rest = row, source = 0, rows = 1;
        int is_border = 0;
        for (int i = last - 1; i >= 0; rest /= job->padded[i--]) {
            const npy_intp at = rest % job->padded[i] - job->before[i];
            is_border |= at < 0 || at >= job->shape[i];
            source += at * rows;
            rows *= job->shape[i];
        }
        char *to = job->to + row * bytes;
        if (is_border) {
            fill_border(to, job->element, job->size, job->columns);
            continue;
        }
        fill_border(to, job->element, job->size, before);
        memcpy(to + before * job->size, job->from + source * inside * job->size, (size_t)(inside * job->size));
        fill_border(to + (before + inside) * job->size, job->element, job->size, job->columns - before - inside);
    }
}

/* Read (before, after) pairs, the last dimension first, as `pad` has them, and write the padded shape. Returns whether
 * some border is above 0 and none below it. */
static int read_borders(PyObject *pad, const Array *self, PaddingJob *job, npy_intp *shape) {
    int count = count_of_sequence(pad), ndim = PyArray_NDIM(self);
    npy_intp pairs[2 * NPY_MAXDIMS], grown = 0;
    if (count <= 0 || count % 2 != 0 || count > 2 * ndim || (count > 1 && !read_ints(pad, pairs, count))) {
        return 0;
    }
    job->ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        int at = 2 * (ndim - 1 - i);
        npy_intp before = at < count ? pairs[at] : 0, after = at < count ? pairs[at + 1] : 0;
        if (before < 0 || after < 0) {
            return 0;
        }
        grown += before + after;
        job->before[i] = before;
        job->shape[i] = PyArray_DIM(self, i);
        shape[i] = before + PyArray_DIM(self, i) + after;
    }
    return grown > 0;
}

/* constant_pad(self, pad, value). Returns a new array; NULL without an exception for a value of another type, a
 * negative border, and unless self is dense with elements. */
static PyObject *handle_constant_pad(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    char element[16] = {0};
    double value;
    npy_intp *padded, rows = 1;
    PaddingJob job = {.element = element};
    Array *self = call->count == 3 && call->out == NULL ? plain_bytes(call->args[0]) : NULL;
    if (self == NULL || PyArray_NDIM(self) == 0 || count_of(self) == 0 || element_size(self) > 16) {
        return NULL;
    }
    const int is_zero = read_number(call->args[2], &value) && value == 0 && !signbit(value);
    if (!is_zero && !read_scalar(call->args[2], PyArray_TYPE(self), element)) {
        return NULL;
    }
    padded = job.padded;
    if (!read_borders(call->args[1], self, &job, padded)) {
        return NULL;
    }
    job.columns = padded[job.ndim - 1];
    for (int i = 0; i < job.ndim - 1; i++) {
        if (padded[i] > INT32_MAX || (rows *= padded[i]) > INT32_MAX) {
            return NULL;
        }
    }
    Array *result = job.columns > INT32_MAX ? NULL : new_of(PyArray_DESCR(self), job.ndim, padded);
    if (result != NULL) {
        job.size = element_size(self);
        job.from = PyArray_BYTES(self);
        job.to = PyArray_BYTES(result);
        do_ranges(pad_rows, &job, rows, rows * job.columns);
    }
    return (PyObject *)result;
}

const CompiledKernel select_kernels[] = {
    {"index_select", handle_index_select, NULL, QUIET},
    {"take_at", handle_take_at, NULL, QUIET | UNPLANNED},
    {"embedding", handle_embedding, NULL, QUIET},
    {"constant_pad", handle_constant_pad, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
