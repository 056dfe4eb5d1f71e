/* Backward kernels: of softmax, of normalisation, of maxima of windows. */

#include "kernels.h"

#include "fast/loops.h"

#include <stdatomic.h>

typedef struct {
    double along, plain;
} Sums;

typedef struct {
    const char *grad, *result;
    char *to;
    npy_intp rows, count;
} SoftmaxJob;

/* What is not wanted is NULL. */
typedef struct {
    const char *grad, *from, *weight, *mean, *rstd;
    char *to, *of_weight, *of_bias, *scratch;
    npy_intp rows, count;
} LayerNormJob;

typedef struct {
    const char *grad, *from, *weight, *mean, *rstd;
    char *to, *of_weight, *of_bias;
    npy_intp images, channels, size;
    int training;
} BatchNormJob;

typedef struct {
    const char *grad;
    const int64_t *indices;
    char *to;
    npy_intp planes, windows, size;
    atomic_int is_out_of_range;
} PoolJob;

FUSED

#define REAL float
#define OF(NAME) NAME##_f32
#include "sums.h"
#include "norm_gradients_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "sums.h"
#include "norm_gradients_loops.h"
#undef REAL
#undef OF

UNFUSED

static const RangeWork softmax_how[] = {softmax_slope_f32, softmax_slope_f64};
static const RangeWork log_softmax_how[] = {log_softmax_slope_f32, log_softmax_slope_f64};

/* softmax_gradient(grad, result) and log_softmax_gradient, along the last dimension. Returns a new array; NULL without
 * an exception unless both are dense floats, alike and not empty. */
static PyObject *handle_softmax_slope(const CompiledKernel *kernel, const KernelCall *call) {
    Array *grad = call->count == 2 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    Array *result = grad == NULL ? NULL : plain_array(call->args[1], PyArray_TYPE(grad));
    if (result == NULL || PyArray_NDIM(grad) == 0 || !is_like(grad, result) || count_of(grad) == 0) {
        return NULL;
    }
    Array *made = new_like(grad);
    if (made != NULL) {
        SoftmaxJob job = {PyArray_BYTES(grad), PyArray_BYTES(result), PyArray_BYTES(made), 0, 0};
        job.count = PyArray_DIM(grad, PyArray_NDIM(grad) - 1);
        job.rows = count_of(grad) / job.count;
        do_ranges(((const RangeWork *)kernel->how)[PyArray_TYPE(grad) == NPY_DOUBLE], &job, job.rows, count_of(grad));
    }
    return (PyObject *)made;
}

/* Read a list of three bools, which gradients are wanted. Returns 0 for anything else. */
static int read_mask(PyObject *mask, int *wanted) {
    if (count_of_sequence(mask) != 3) {
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        PyObject *value = PySequence_Fast_GET_ITEM(mask, i);
        if (!PyBool_Check(value)) {
            return 0;
        }
        wanted[i] = value == Py_True;
    }
    return 1;
}

/* Read a dense array of `count` elements of that type number, or None where `may_be_none`: then the data is NULL.
 * Returns 0 for anything else. */
static int read_dense(PyObject *object, int type, npy_intp count, int may_be_none, const char **data) {
    Array *array = plain_array(object, type);
    *data = array == NULL ? NULL : PyArray_BYTES(array);
    return array != NULL ? count_of(array) == count : may_be_none && object == Py_None;
}

/* Return a tuple of three results, whose references it steals, with None for what is not wanted; NULL with an
 * exception. */
static PyObject *three(Array **results, const int *wanted) {
    PyObject *made = PyTuple_New(3);
    for (int i = 0; i < 3; i++) {
        PyObject *each = wanted[i] ? (PyObject *)results[i] : Py_NewRef(Py_None);
        if (!wanted[i]) {
            Py_XDECREF(results[i]);
        }
        if (made == NULL) {
            Py_XDECREF(each);
        } else {
            PyTuple_SET_ITEM(made, i, each);
        }
    }
    return made;
}

/* Make the wanted gradients: of self, and of weight and bias with that shape, which begin as zeros. Returns 1; 0 with
 * an exception, and nothing made, if memory runs out. */
static int make_results(Array *self, int ndim, const npy_intp *shape, const int *wanted, Array **results) {
    int type = PyArray_TYPE(self), worked = 1;
    for (int i = 0; i < 3; i++) {
        results[i] = !wanted[i] ? NULL : i == 0 ? new_like(self) : new_array(ndim, shape, type);
        worked = worked && (results[i] != NULL || !wanted[i]);
        if (i > 0 && results[i] != NULL) {
            memset(PyArray_BYTES(results[i]), 0, (size_t)count_of(results[i]) * (type == NPY_DOUBLE ? 8 : 4));
        }
    }
    for (int i = 0; i < 3 && !worked; i++) {
        Py_CLEAR(results[i]);
    }
    return worked;
}

/* Return the data of an array; NULL for NULL. */
static char *data_of(Array *array) {
    return array == NULL ? NULL : PyArray_BYTES(array);
}

/* layer_norm_gradients(grad, x, weight, mean, rstd, shape, mask). Returns the tuple of gradients of input, weight and
 * bias, None for what is not wanted; NULL without an exception unless operands are dense and match. */
static PyObject *handle_layer_norm(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    LayerNormJob job = {.count = 1};
    int wanted[3];
    Array *self = call->count == 7 && call->out == NULL ? plain_floats(call->args[1]) : NULL;
    int ndim = self == NULL ? -1 : count_of_sequence(call->args[5]);
    if (ndim < 1 || ndim > PyArray_NDIM(self) || count_of(self) == 0 || !read_mask(call->args[6], wanted)) {
        return NULL;
    }
    const npy_intp *shape = PyArray_DIMS(self) + PyArray_NDIM(self) - ndim;
    int type = PyArray_TYPE(self);
    for (int i = 0; i < ndim; i++) {
        job.count *= shape[i];
    }
    job.rows = count_of(self) / job.count;
    if (!read_dense(call->args[0], type, count_of(self), 0, &job.grad) ||
        !read_dense(call->args[2], type, job.count, 1, &job.weight) ||
        !read_dense(call->args[3], type, job.rows, 0, &job.mean) ||
        !read_dense(call->args[4], type, job.rows, 0, &job.rstd)) {
        return NULL;
    }
    Array *results[3], *scratch = new_array(1, (npy_intp[]){2 * job.count}, type);
    if (scratch == NULL || !make_results(self, ndim, shape, wanted, results)) {
        Py_XDECREF(scratch);
        return NULL;
    }
    job.from = PyArray_BYTES(self);
    job.to = data_of(results[0]);
    job.of_weight = data_of(results[1]);
    job.of_bias = data_of(results[2]);
    job.scratch = PyArray_BYTES(scratch);
    do_work(type == NPY_DOUBLE ? layer_norm_slopes_f64 : layer_norm_slopes_f32, &job, count_of(self));
    Py_DECREF(scratch);
    return three(results, wanted);
}

/* batch_norm_gradients(grad, x, weight, mean, rstd, training, mask) of (images, channels, ...) with at least three
 * dimensions. Returns the tuple of gradients of input, weight and bias, None for what is not wanted; NULL without an
 * exception unless operands are dense and match. */
static PyObject *handle_batch_norm(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    BatchNormJob job = {0};
    int wanted[3];
    Array *self = call->count == 7 && call->out == NULL ? plain_floats(call->args[1]) : NULL;
    if (self == NULL || PyArray_NDIM(self) < 3 || count_of(self) == 0 || !PyBool_Check(call->args[5]) ||
        !read_mask(call->args[6], wanted)) {
        return NULL;
    }
    int type = PyArray_TYPE(self), has_all[3] = {wanted[0], 1, 1};
    job.images = PyArray_DIM(self, 0);
    job.channels = PyArray_DIM(self, 1);
    job.size = count_of(self) / (job.images * job.channels);
    job.training = call->args[5] == Py_True;
    if (!read_dense(call->args[0], type, count_of(self), 0, &job.grad) ||
        !read_dense(call->args[2], type, job.channels, 1, &job.weight) ||
        !read_dense(call->args[3], type, job.channels, 0, &job.mean) ||
        !read_dense(call->args[4], type, job.channels, 0, &job.rstd)) {
        return NULL;
    }
    Array *results[3];
    if (!make_results(self, 1, &job.channels, has_all, results)) {
        return NULL;
    }
    job.from = PyArray_BYTES(self);
    job.to = data_of(results[0]);
    job.of_weight = data_of(results[1]);
    job.of_bias = data_of(results[2]);
    do_ranges(type == NPY_DOUBLE ? batch_norm_slopes_f64 : batch_norm_slopes_f32, &job, job.channels, count_of(self));
    return three(results, wanted);
}

/* max_pool_gradient(grad, shape, indices, dims), where `dims` is how many dimensions a window has. Returns a new array
 * of that shape; NULL without an exception unless operands are dense and match, and all indices are in range. */
static PyObject *handle_max_pool(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    PoolJob job = {.planes = 1, .size = 1};
    npy_intp shape[NPY_MAXDIMS];
    double dims;
    Array *grad = call->count == 4 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    Array *indices = grad == NULL ? NULL : plain_array(call->args[2], NPY_INT64);
    int ndim = indices == NULL ? -1 : count_of_sequence(call->args[1]);
    if (ndim < 1 || ndim > NPY_MAXDIMS || !read_ints(call->args[1], shape, ndim) ||
        !read_number(call->args[3], &dims) || dims < 1 || dims > ndim || count_of(indices) != count_of(grad)) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        *(i < ndim - (int)dims ? &job.planes : &job.size) *= shape[i];
    }
    if (job.planes <= 0 || job.size <= 0 || count_of(grad) % job.planes != 0) {
        return NULL;
    }
    Array *made = new_array(ndim, shape, PyArray_TYPE(grad));
    if (made == NULL) {
        return NULL;
    }
    job.grad = PyArray_BYTES(grad);
    job.indices = (const int64_t *)PyArray_BYTES(indices);
    job.to = PyArray_BYTES(made);
    job.windows = count_of(grad) / job.planes;
    do_ranges(PyArray_TYPE(grad) == NPY_DOUBLE ? max_pool_slope_f64 : max_pool_slope_f32, &job, job.planes, count_of(made));
    if (job.is_out_of_range) {
        Py_CLEAR(made);
    }
    return (PyObject *)made;
}

const CompiledKernel norm_gradient_kernels[] = {
    {"softmax_gradient", handle_softmax_slope, softmax_how, OF_NUMPY},
    {"log_softmax_gradient", handle_softmax_slope, log_softmax_how, OF_NUMPY},
    {"layer_norm_gradients", handle_layer_norm, NULL, OF_NUMPY},
    {"batch_norm_gradients", handle_batch_norm, NULL, OF_NUMPY},
    {"max_pool_gradient", handle_max_pool, NULL, OF_NUMPY},
    {NULL, NULL, NULL, 0},
};
