/* Arrays put together, and parts of one put in another order: their bytes are copied, rows of a dimension at a time. */

#include "kernels.h"

#define MOST_PARTS 64

/* The bytes of each part in turn, `outer` times. */
typedef struct {
    char *to;
    npy_intp outer;
    int count;
    const char *from[MOST_PARTS];
    npy_intp bytes[MOST_PARTS];
    npy_intp steps[MOST_PARTS]; /* from one time to the next */
} JoiningJob;

/* Bytes that a thread is given at once. */
#define BYTES_BLOCK 4096

/* Return the bytes that all parts have together, once. */
static npy_intp bytes_of_row(const JoiningJob *job) {
    npy_intp bytes = 0;
    for (int i = 0; i < job->count; i++) {
        bytes += job->bytes[i];
    }
    return bytes;
}

/* Copy the bytes of each part in turn, one behind the other, `outer` times: some blocks of the result. Needs no GIL. */
static void join(void *given, int64_t from, int64_t to) {
    const JoiningJob *job = given;
    const npy_intp width = bytes_of_row(job), whole = width * job->outer;
    const npy_intp stop = to * BYTES_BLOCK < whole ? to * BYTES_BLOCK : whole;
    npy_intp here = from * BYTES_BLOCK;
    while (here < stop) {
        const npy_intp o = here / width;
        npy_intp start = here - o * width;
        for (int i = 0; i < job->count && here < stop; i++) {
            if (start >= job->bytes[i]) {
                start -= job->bytes[i];
                continue;
            }
            const npy_intp left = job->bytes[i] - start, some = left < stop - here ? left : stop - here;
            memcpy(job->to + here, job->from[i] + o * job->steps[i] + start, (size_t)some);
            here += some;
            start = 0;
        }
    }
}

/* Write the parts to an array, in the threads of the pool where it is long. */
static void join_into(JoiningJob *job, Array *result) {
    job->to = PyArray_BYTES(result);
    do_ranges(join, job, (PyArray_NBYTES(result) + BYTES_BLOCK - 1) / BYTES_BLOCK, PyArray_NBYTES(result) / 4);
}

/* Whether an array has the very dtype of the first one, and its shape but for the size along `axis`. */
static int fits(const Array *each, const Array *first, int axis) {
    if (PyArray_DESCR(each) != PyArray_DESCR(first) || PyArray_NDIM(each) != PyArray_NDIM(first)) {
        return 0;
    }
    for (int i = 0; i < PyArray_NDIM(first); i++) {
        if (i != axis && PyArray_DIM(each, i) != PyArray_DIM(first, i)) {
            return 0;
        }
    }
    return 1;
}

/* Read the arrays of a list, joined along `axis`, into the job. Returns 0 unless all are dense, have elements and match
 * the first one. */
static int read_parts(PyObject *list, int axis, JoiningJob *job) {
    PyObject **items = PySequence_Fast_ITEMS(list);
    const Array *first = (Array *)items[0];
    for (int i = 0; i < job->count; i++) {
        Array *each = plain_bytes(items[i]);
        if (each == NULL || !fits(each, first, axis) || count_of(each) == 0) {
            return 0;
        }
        job->outer = count_of_first(each, axis);
        job->from[i] = PyArray_BYTES(each);
        job->bytes[i] = job->steps[i] = count_of(each) / job->outer * element_size(each);
    }
    return 1;
}

/* Read (arrays, dim) of a call into the job; a negative dim counts from the end of the result, which has `more`
 * dimensions than each array. Returns the first array, borrowed, and writes `axis`; NULL without an exception unless
 * there are 1 to MOST_PARTS arrays, the first is dense, and dim is in range. */
static Array *read_list(const KernelCall *call, int more, JoiningJob *job, int *axis) {
    double dim;
    job->count = call->count == 2 && call->out == NULL ? count_of_sequence(call->args[0]) : 0;
    if (job->count < 1 || job->count > MOST_PARTS || !read_number(call->args[1], &dim)) {
        return NULL;
    }
    Array *first = plain_bytes(PySequence_Fast_GET_ITEM(call->args[0], 0));
    int ndim = first == NULL ? 0 : PyArray_NDIM(first) + more;
    *axis = (int)dim + (dim < 0 ? ndim : 0);
    return ndim > NPY_MAXDIMS || *axis < 0 || *axis >= ndim ? NULL : first;
}

/* concatenate(tensors, dim). Returns a new array; NULL without an exception unless all arrays are dense, have elements
 * and match. */
static PyObject *handle_concatenate(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    JoiningJob job;
    npy_intp shape[NPY_MAXDIMS];
    int axis;
    const Array *first = read_list(call, 0, &job, &axis);
    if (first == NULL || !read_parts(call->args[0], axis, &job)) {
        return NULL;
    }
    memcpy(shape, PyArray_DIMS(first), (size_t)PyArray_NDIM(first) * sizeof(npy_intp));
    for (int i = 1; i < job.count; i++) {
        shape[axis] += PyArray_DIM((Array *)PySequence_Fast_GET_ITEM(call->args[0], i), axis);
    }
    Array *result = new_of(PyArray_DESCR(first), PyArray_NDIM(first), shape);
    if (result != NULL) {
        join_into(&job, result);
    }
    return (PyObject *)result;
}

/* stack(tensors, dim). Returns a new array with one dimension more; NULL without an exception unless all arrays are
 * dense, have elements, and one dtype and shape. */
static PyObject *handle_stack(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    JoiningJob job;
    npy_intp shape[NPY_MAXDIMS];
    int axis;
    const Array *first = read_list(call, 1, &job, &axis);
    if (first == NULL || !read_parts(call->args[0], axis, &job)) {
        return NULL;
    }
    for (int i = 0; i <= PyArray_NDIM(first); i++) {
        shape[i] = i == axis ? job.count : PyArray_DIM(first, i < axis ? i : i - 1);
    }
    for (int i = 1; i < job.count; i++) {
        if (!is_like((Array *)PySequence_Fast_GET_ITEM(call->args[0], i), first)) {
            return NULL;
        }
    }
    Array *result = new_of(PyArray_DESCR(first), PyArray_NDIM(first) + 1, shape);
    if (result != NULL) {
        join_into(&job, result);
    }
    return (PyObject *)result;
}

/* roll(self, shifts, dims) by one shift: along one dimension, or of all elements in row-major order where `dims` is
 * empty. Returns a new array; NULL without an exception for several shifts, and unless self is dense with elements. */
static PyObject *handle_roll(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    npy_intp shift, dim = 0;
    Array *self = call->count == 3 && call->out == NULL ? plain_bytes(call->args[0]) : NULL;
    int ndim = self == NULL ? 0 : PyArray_NDIM(self), dims = ndim == 0 ? -1 : count_of_sequence(call->args[2]);
    if (dims < 0 || dims > 1 || count_of_sequence(call->args[1]) != 1 || count_of(self) == 0 ||
        !read_ints(call->args[1], &shift, 1) || (dims == 1 && !read_ints(call->args[2], &dim, 1))) {
        return NULL;
    }
    dim += dim < 0 ? ndim : 0;
    if (dim < 0 || dim >= ndim) {
        return NULL;
    }
    JoiningJob job = {.count = 2, .outer = dims == 0 ? 1 : count_of_first(self, (int)dim)};
    const npy_intp size = dims == 0 ? count_of(self) : PyArray_DIM(self, dim);
    const npy_intp bytes = count_of(self) / job.outer * element_size(self), start = (size - shift % size) % size;
    Array *result = new_of(PyArray_DESCR(self), ndim, PyArray_DIMS(self));
    if (result != NULL) {
        job.from[0] = PyArray_BYTES(self) + bytes / size * start;
        job.from[1] = PyArray_BYTES(self);
        job.bytes[1] = bytes / size * start;
        job.bytes[0] = bytes - job.bytes[1];
        job.steps[0] = job.steps[1] = bytes;
        join_into(&job, result);
    }
    return (PyObject *)result;
}

const CompiledKernel joining_kernels[] = {
    {"concatenate", handle_concatenate, NULL, QUIET},
    {"stack", handle_stack, NULL, QUIET},
    {"roll", handle_roll, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
