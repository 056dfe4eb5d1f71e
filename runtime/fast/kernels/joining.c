/* Arrays put together, and parts of one put in another order: their bytes are copied, rows of a dimension at a time. */

#include "kernels.h"

#define MOST_PARTS 64

/* `outer` times, so many bytes of each part in turn. */
typedef struct {
    char *to;
    npy_intp outer;
    int count;
    const char *from[MOST_PARTS];
    npy_intp bytes[MOST_PARTS];
    npy_intp steps[MOST_PARTS]; /* from one time to the next */
} JoiningJob;

static void join(void *given) {
    JoiningJob *job = given;
    for (npy_intp o = 0; o < job->outer; o++) {
        for (int i = 0; i < job->count; i++) {
            memcpy(job->to, job->from[i] + o * job->steps[i], (size_t)job->bytes[i]);
            job->to += job->bytes[i];
        }
    }
}

/* Whether an array may stand beside the first one: of its very dtype, and of its shape but along an axis. */
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

/* Read the parts that follow each other along an axis, all with elements. Whether all fit. */
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

/* Return the first of a list of at most so many arrays, and the axis that a number means, of as many as there are with
 * `more` beside the array's own; NULL for anything else, borrowed. */
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

/* concatenate(tensors, dim) */
static PyObject *serve_concatenate(const CompiledKernel *kernel, const KernelCall *call) {
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
        job.to = PyArray_BYTES(result);
        do_work(join, &job, count_of(result));
    }
    return (PyObject *)result;
}

/* stack(tensors, dim) */
static PyObject *serve_stack(const CompiledKernel *kernel, const KernelCall *call) {
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
        job.to = PyArray_BYTES(result);
        do_work(join, &job, count_of(result));
    }
    return (PyObject *)result;
}

/* roll(self, shifts, dims) along one dimension, or along all in row-major order */
static PyObject *serve_roll(const CompiledKernel *kernel, const KernelCall *call) {
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
    const npy_intp bytes = count_of(self) / job.outer * element_size(self), place = (size - shift % size) % size;
    Array *result = new_of(PyArray_DESCR(self), ndim, PyArray_DIMS(self));
    if (result != NULL) {
        job.from[0] = PyArray_BYTES(self) + bytes / size * place;
        job.from[1] = PyArray_BYTES(self);
        job.bytes[1] = bytes / size * place;
        job.bytes[0] = bytes - job.bytes[1];
        job.steps[0] = job.steps[1] = bytes;
        job.to = PyArray_BYTES(result);
        do_work(join, &job, count_of(result));
    }
    return (PyObject *)result;
}

const CompiledKernel joining_kernels[] = {
    {"concatenate", serve_concatenate, NULL, QUIET},
    {"stack", serve_stack, NULL, QUIET},
    {"roll", serve_roll, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
