/* Copies in reverse order, and copies that repeat: blocks of the result, with steps of the source that go back, or
 * stay. */

#include "writes.h"

/* flip(self, dims). Returns a new array; NULL without an exception unless self is dense with elements, and dims are its
 * own, each once. */
static PyObject *handle_flip(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    npy_intp dims[NPY_MAXDIMS], from[NPY_MAXDIMS];
    PutJob job;
    Array *self = call->count == 2 && call->out == NULL ? plain_bytes(call->args[0]) : NULL;
    const int count = self == NULL ? 0 : count_of_sequence(call->args[1]), ndim = count < 1 ? 0 : PyArray_NDIM(self);
    if (count < 1 || count > ndim || !read_ints(call->args[1], dims, count) || count_of(self) == 0) {
        return NULL;
    }
    job.from = PyArray_BYTES(self);
    memcpy(from, PyArray_STRIDES(self), (size_t)ndim * sizeof(npy_intp));
    for (int i = 0; i < count; i++) {
        const npy_intp dim = dims[i] + (dims[i] < 0 ? ndim : 0);
        if (dim < 0 || dim >= ndim || from[dim] < 0) {
            return NULL;
        }
        job.from += (PyArray_DIM(self, dim) - 1) * from[dim];
        from[dim] = -from[dim];
    }
    Array *result = new_of(PyArray_DESCR(self), ndim, PyArray_DIMS(self));
    const char *first = job.from;
    if (result != NULL && find_put(&job, result, OVERWRITE)) {
        job.from = first;
        for (int i = 0; i < ndim; i++) {
            (void)add_block_dim(&job, PyArray_DIM(self, i), PyArray_STRIDE(result, i), from[i]);
        }
        run_put(&job);
    } else {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

/* repeat(self, repeats). Returns a new array; NULL without an exception unless self is dense, and the result has
 * elements. */
static PyObject *handle_repeat(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    npy_intp times[NPY_MAXDIMS], shape[NPY_MAXDIMS], total = 1;
    PutJob job;
    Array *self = call->count == 2 && call->out == NULL ? plain_bytes(call->args[0]) : NULL;
    const int ndim = self == NULL ? 0 : count_of_sequence(call->args[1]),
              fewer = ndim < 1 ? -1 : ndim - PyArray_NDIM(self);
    if (fewer < 0 || 2 * ndim > NPY_MAXDIMS || !read_ints(call->args[1], times, ndim) || count_of(self) == 0) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        shape[i] = times[i] * (i < fewer ? 1 : PyArray_DIM(self, i - fewer));
        if (times[i] < 1 || times[i] > INT32_MAX || shape[i] > INT32_MAX || (total *= shape[i]) > INT32_MAX) {
            return NULL;
        }
    }
    Array *result = new_of(PyArray_DESCR(self), ndim, shape);
    if (result != NULL && find_put(&job, result, OVERWRITE)) {
        job.from = PyArray_BYTES(self);
        for (int i = 0; i < ndim; i++) {
            const npy_intp size = i < fewer ? 1 : PyArray_DIM(self, i - fewer), step = PyArray_STRIDE(result, i);
            (void)add_block_dim(&job, times[i], size * step, 0);
            (void)add_block_dim(&job, size, step, i < fewer ? 0 : PyArray_STRIDE(self, i - fewer));
        }
        run_put(&job);
    } else {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

const CompiledKernel rearranging_kernels[] = {
    {"flip", handle_flip, NULL, QUIET},
    {"repeat", handle_repeat, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
