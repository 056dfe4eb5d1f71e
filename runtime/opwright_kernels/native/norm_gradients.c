/* Backward kernels: of softmax, of normalisation, of maxima of windows. */

#include "kernels.h"

#include "fast/arrays/loops.h"

#include <math.h>
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
    char *to, *of_weight, *of_bias, *scratch; /* of each piece: two rows, its sums for weight and for bias */
    npy_intp rows, count, pieces, rows_each;
} LayerNormJob;

/* Rows are added up in pieces, so many at most, whatever threads there are. */
#define PIECE 65536
#define MOST_PIECES 16

/* `channels` of a group; sums of each channel of each image. */
typedef struct {
    const char *grad, *from, *weight, *mean, *rstd;
    char *to, *of_weight, *of_bias;
    npy_intp images, groups, channels, size;
    Sums *sums;
} GroupNormJob;

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
    const npy_intp least = PIECE / job.count > 0 ? PIECE / job.count : 1;
    job.rows_each = (job.rows - 1) / MOST_PIECES + 1 > least ? (job.rows - 1) / MOST_PIECES + 1 : least;
    job.pieces = (job.rows - 1) / job.rows_each + 1;
    Array *results[3], *scratch = new_array(1, (npy_intp[]){4 * job.count * job.pieces}, type);
    if (scratch == NULL || !make_results(self, ndim, shape, wanted, results)) {
        Py_XDECREF(scratch);
        return NULL;
    }
    job.from = PyArray_BYTES(self);
    job.to = data_of(results[0]);
    job.of_weight = data_of(results[1]);
    job.of_bias = data_of(results[2]);
    job.scratch = PyArray_BYTES(scratch);
    do_ranges(type == NPY_DOUBLE ? layer_norm_slopes_f64 : layer_norm_slopes_f32, &job, job.pieces, count_of(self));
    (type == NPY_DOUBLE ? add_pieces_f64 : add_pieces_f32)(&job);
    Py_DECREF(scratch);
    return three(results, wanted);
}

/* Read images, groups, channels of a group and elements of a channel. Returns 0 unless there are `count` elements. */
static int read_groups(PyObject *sizes, npy_intp count, GroupNormJob *job) {
    npy_intp values[4];
    if (count_of_sequence(sizes) != 4 || !read_ints(sizes, values, 4)) {
        return 0;
    }
    job->images = values[0];
    job->groups = values[1];
    job->channels = values[2];
    job->size = values[3];
    for (int i = 0; i < 4; i++) {
        if (values[i] < 1 || count % values[i] != 0) {
            return 0;
        }
        count /= values[i];
    }
    return count == 1;
}

/* Whether all of some numbers are finite; so are none at all. */
static int are_finite(const char *data, int is_double, npy_intp count) {
    int found = 1;
    for (npy_intp i = 0; data != NULL && i < count; i++) {
        found &= isfinite(is_double ? ((const double *)data)[i] : (double)((const float *)data)[i]) != 0;
    }
    return found;
}

/* group_norm_gradients(grad, x, weight, mean, rstd, sizes, mask). Returns the tuple of gradients of input, weight and
 * bias, None for what is not wanted; NULL without an exception unless operands are dense and match, and weights, which
 * sums are multiplied by, are finite. */
static PyObject *handle_group_norm(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    GroupNormJob job = {0};
    int wanted[3];
    Array *self = call->count == 7 && call->out == NULL ? plain_floats(call->args[1]) : NULL, *results[3];
    if (self == NULL || count_of(self) == 0 || !read_mask(call->args[6], wanted) ||
        !read_groups(call->args[5], count_of(self), &job)) {
        return NULL;
    }
    const int type = PyArray_TYPE(self), is_double = type == NPY_DOUBLE;
    const npy_intp channels = job.groups * job.channels, groups = job.images * job.groups;
    if (!read_dense(call->args[0], type, count_of(self), 0, &job.grad) ||
        !read_dense(call->args[2], type, channels, 1, &job.weight) ||
        !read_dense(call->args[3], type, groups, 0, &job.mean) ||
        !read_dense(call->args[4], type, groups, 0, &job.rstd) || !are_finite(job.weight, is_double, channels)) {
        return NULL;
    }
    Array *sums = new_array(1, (npy_intp[]){2 * job.images * channels}, NPY_DOUBLE);
    if (sums == NULL || !make_results(self, 1, &channels, wanted, results)) {
        Py_XDECREF(sums);
        return NULL;
    }
    job.from = PyArray_BYTES(self);
    job.to = data_of(results[0]);
    job.of_weight = data_of(results[1]);
    job.of_bias = data_of(results[2]);
    job.sums = (Sums *)PyArray_BYTES(sums);
    do_ranges(is_double ? group_norm_sums_f64 : group_norm_sums_f32, &job, job.images * channels, count_of(self));
    if (job.to != NULL) {
        do_ranges(is_double ? group_norm_slopes_f64 : group_norm_slopes_f32, &job, groups, count_of(self));
    }
    (is_double ? add_images_f64 : add_images_f32)(&job);
    Py_DECREF(sums);
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

/* Compute the gradients of planes. Returns a new array; NULL without an exception if an index is out of range. */
static PyObject *gradient_of_maxima(PoolJob *job, Array *grad, Array *indices, int ndim, const npy_intp *shape) {
    Array *made = new_array(ndim, shape, PyArray_TYPE(grad));
    if (made == NULL) {
        return NULL;
    }
    job->grad = PyArray_BYTES(grad);
    job->indices = (const int64_t *)PyArray_BYTES(indices);
    job->to = PyArray_BYTES(made);
    job->windows = count_of(grad) / job->planes;
    do_ranges(PyArray_TYPE(grad) == NPY_DOUBLE ? max_pool_slope_f64 : max_pool_slope_f32, job, job->planes,
              count_of(made));
    if (job->is_out_of_range) {
        Py_CLEAR(made);
    }
    return (PyObject *)made;
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
    return gradient_of_maxima(&job, grad, indices, ndim, shape);
}

/* The dimensions of windows, and which argument the indices are. */
typedef struct {
    int dims, indices;
} MaximaWay;
static const MaximaWay of_planes = {2, 2}, of_volumes = {3, 2}, of_random_planes = {2, 4}, of_random_volumes = {3, 4};

/* adaptive_max_pool2d_backward(grad_output, self, indices), and the others. Returns a new tensor; NULL without an
 * exception unless the fast path takes all, operands are dense and match, and all indices are in range. */
static PyObject *handle_maxima(const CompiledKernel *kernel, const KernelCall *call) {
    const MaximaWay *way = kernel->how;
    PoolJob job = {.planes = 1, .size = 1};
    PyObject *arrays[3], *tensor = NULL;
    if (call->count != way->indices + 1 || call->out != NULL ||
        fast_path_arrays(call->args, 2, call->args[way->indices], arrays) <= 0 || arrays[1] == Py_None) {
        return NULL;
    }
    Array *grad = plain_floats(arrays[0]), *self = (Array *)arrays[1], *indices = plain_array(arrays[2], NPY_INT64);
    const int ndim = PyArray_NDIM(self), outer = ndim - way->dims;
    if (grad == NULL || indices == NULL || outer < 1 || outer > 2 || PyArray_NDIM(grad) != ndim ||
        !has_shape_of(indices, grad) || count_of(grad) == 0 || count_of(self) == 0) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        *(i < outer ? &job.planes : &job.size) *= PyArray_DIM(self, i);
        if (i < outer && PyArray_DIM(grad, i) != PyArray_DIM(self, i)) {
            return NULL;
        }
    }
    PyObject *made = gradient_of_maxima(&job, grad, indices, ndim, PyArray_DIMS(self));
    if (made != NULL) {
        tensor = wrap(NULL, made);
        Py_DECREF(made);
    }
    return tensor;
}

const CompiledKernel norm_gradient_kernels[] = {
    {"softmax_gradient", handle_softmax_slope, softmax_how, OF_NUMPY},
    {"log_softmax_gradient", handle_softmax_slope, log_softmax_how, OF_NUMPY},
    {"layer_norm_gradients", handle_layer_norm, NULL, OF_NUMPY},
    {"group_norm_gradients", handle_group_norm, NULL, OF_NUMPY},
    {"batch_norm_gradients", handle_batch_norm, NULL, OF_NUMPY},
    {"max_pool_gradient", handle_max_pool, NULL, OF_NUMPY},
    {"adaptive_max_pool2d_backward", handle_maxima, &of_planes, OF_NUMPY},
    {"adaptive_max_pool3d_backward", handle_maxima, &of_volumes, OF_NUMPY},
    {"fractional_max_pool2d_backward", handle_maxima, &of_random_planes, OF_NUMPY},
    {"fractional_max_pool3d_backward", handle_maxima, &of_random_volumes, OF_NUMPY},
    {NULL, NULL, NULL, 0},
};
