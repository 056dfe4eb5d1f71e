/* Arrays put together, and parts of one put in another order: their bytes are copied, rows of a dimension at a time. */

#include "kernels.h"

/* Parts that a job has room for; more are in memory of their own. */
#define FEW_PARTS 64

/* Bytes to copy, `step` bytes apart from one time to the next. */
typedef struct {
    const char *from;
    npy_intp bytes, step;
} Part;

/* The bytes of each part in turn, `outer` times. */
typedef struct {
    char *to;
    npy_intp outer;
    Py_ssize_t count;
    Part *parts, few[FEW_PARTS];
} JoiningJob;

/* Bytes that a thread is given at once. */
#define BYTES_BLOCK 4096

/* Return the bytes that all parts have together, once. */
static npy_intp bytes_of_row(const JoiningJob *job) {
    npy_intp bytes = 0;
    for (Py_ssize_t i = 0; i < job->count; i++) {
        bytes += job->parts[i].bytes;
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
        for (const Part *part = job->parts; part < job->parts + job->count && here < stop; part++) {
            if (start >= part->bytes) {
                start -= part->bytes;
                continue;
            }
            const npy_intp left = part->bytes - start, some = left < stop - here ? left : stop - here;
            memcpy(job->to + here, part->from + o * part->step + start, (size_t)some);
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

/* Read the arrays of a list, joined along `axis`, into the job. Returns 0 unless all are dense and match the first one.
 */
static int read_parts(PyObject *list, int axis, JoiningJob *job) {
    PyObject **items = PySequence_Fast_ITEMS(list);
    const Array *first = (Array *)items[0];
    job->outer = count_of_first(first, axis);
    for (Py_ssize_t i = 0; job->outer > 0 && i < job->count; i++) {
        Array *each = plain_bytes(items[i]);
        if (each == NULL || !fits(each, first, axis)) {
            return 0;
        }
        const npy_intp bytes = count_of(each) / job->outer * element_size(each);
        job->parts[i] = (Part){PyArray_BYTES(each), bytes, bytes};
    }
    return job->outer > 0;
}

/* Read (arrays, dim) of a call into the job; a negative dim counts from the end of the result, which has `more`
 * dimensions than each array. Returns the axis; -1 unless all arrays are dense and match, and dim is in range.
 * `end_list` follows in any case. */
static int begin_list(const KernelCall *call, int more, JoiningJob *job) {
    double dim;
    job->parts = job->few;
    job->count = call->count == 2 && call->out == NULL ? count_of_sequence(call->args[0]) : 0;
    if (job->count < 1 || !read_number(call->args[1], &dim)) {
        return -1;
    }
    const Array *first = plain_bytes(PySequence_Fast_GET_ITEM(call->args[0], 0));
    const int ndim = first == NULL ? 0 : PyArray_NDIM(first) + more, axis = (int)dim + (dim < 0 ? ndim : 0);
    if (ndim > NPY_MAXDIMS || axis < 0 || axis >= ndim) {
        return -1;
    }
    if (job->count > FEW_PARTS) {
        job->parts = PyMem_Calloc((size_t)job->count, sizeof(Part));
    }
    return job->parts != NULL && read_parts(call->args[0], axis, job) ? axis : -1;
}

/* Free what `begin_list` took. */
static void end_list(JoiningJob *job) {
    if (job->parts != job->few) {
        PyMem_Free(job->parts);
    }
}

/* Return the parts in a new array of this shape. */
static PyObject *joined(JoiningJob *job, const Array *first, int ndim, npy_intp *shape) {
    Array *result = new_of(PyArray_DESCR(first), ndim, shape);
    if (result != NULL) {
        join_into(job, result);
    }
    return (PyObject *)result;
}

/* concatenate(tensors, dim). Returns a new array; NULL without an exception unless all arrays are dense and match. */
static PyObject *handle_concatenate(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    JoiningJob job;
    PyObject *result = NULL;
    const int axis = begin_list(call, 0, &job);
    if (axis >= 0) {
        PyObject **items = PySequence_Fast_ITEMS(call->args[0]);
        npy_intp shape[NPY_MAXDIMS];
        memcpy(shape, PyArray_DIMS((Array *)items[0]), (size_t)PyArray_NDIM((Array *)items[0]) * sizeof(npy_intp));
        for (Py_ssize_t i = 1; i < job.count; i++) {
            shape[axis] += PyArray_DIM((Array *)items[i], axis);
        }
        result = joined(&job, (Array *)items[0], PyArray_NDIM((Array *)items[0]), shape);
    }
    end_list(&job);
    return result;
}

/* stack(tensors, dim). Returns a new array with one dimension more; NULL without an exception unless all arrays are
 * dense, and have one dtype and shape. */
static PyObject *handle_stack(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    JoiningJob job;
    PyObject *result = NULL;
    const int axis = begin_list(call, 1, &job);
    if (axis >= 0) {
        PyObject **items = PySequence_Fast_ITEMS(call->args[0]);
        const Array *first = (Array *)items[0];
        npy_intp shape[NPY_MAXDIMS];
        for (int i = 0; i <= PyArray_NDIM(first); i++) {
            shape[i] = i == axis ? job.count : PyArray_DIM(first, i < axis ? i : i - 1);
        }
        Py_ssize_t i = 1;
        while (i < job.count && is_like((Array *)items[i], first)) {
            i++;
        }
        result = i < job.count ? NULL : joined(&job, first, PyArray_NDIM(first) + 1, shape);
    }
    end_list(&job);
    return result;
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
    job.parts = job.few;
    const npy_intp size = dims == 0 ? count_of(self) : PyArray_DIM(self, dim);
    const npy_intp bytes = count_of(self) / job.outer * element_size(self), start = (size - shift % size) % size;
    Array *result = new_of(PyArray_DESCR(self), ndim, PyArray_DIMS(self));
    if (result != NULL) {
        const npy_intp moved = bytes / size * start;
        job.parts[0] = (Part){PyArray_BYTES(self) + moved, bytes - moved, bytes};
        job.parts[1] = (Part){PyArray_BYTES(self), moved, bytes};
        join_into(&job, result);
    }
    return (PyObject *)result;
}

const CompiledKernel joining_kernels[] = {
    {"concatenate", handle_concatenate, NULL, QUIET | UNPLANNED},
    {"stack", handle_stack, NULL, QUIET | UNPLANNED},
    {"roll", handle_roll, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
