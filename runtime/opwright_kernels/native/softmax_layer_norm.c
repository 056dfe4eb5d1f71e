/* Kernels of rows: softmax, and normalisation of layers and of groups. */

#include "long_rows.h"

#include "fast/arrays/loops.h"

/* How many neighbouring rows are computed at once. */
#define BESIDE 64

/* (outer, count, inner): softmax goes along the middle. */
typedef struct {
    const char *from;
    char *to;
    npy_intp outer, count, inner;
    int is_log;
} RowsJob;

typedef struct {
    const char *from, *weight, *bias;
    char *to, *mean, *rstd;
    npy_intp rows, count;
    npy_intp inner;  /* how many elements have one weight */
    npy_intp groups; /* rows until weights begin anew; 0: one */
    double eps;
} NormJob;

/* Long rows, and what each gives. */
typedef struct {
    LongRows rows;
    char *to;
    double *most, *total;
} LongSoftmaxJob;

/* Return how many strips of BESIDE rows beside each other there are, the last of fewer; rows of neighbours are one
 * each. */
static npy_intp strips_of(npy_intp inner) {
    return (inner + BESIDE - 1) / BESIDE;
}

FUSED

#define REAL float
#define OF(NAME) NAME##_f32
#include "sums.h"
#include "softmax_layer_norm_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "sums.h"
#include "softmax_layer_norm_loops.h"
#undef REAL
#undef OF

UNFUSED

/* Compute softmax or log_softmax of long rows, in passes over their pieces. Returns 0 with an exception if memory ran
 * out. */
static int softmax_of_long_rows(const RowsJob *how, int type) {
    static const RangeWork powers[] = {powers_of_pieces_f32, powers_of_pieces_f64};
    static const RangeWork shares[] = {shares_of_pieces_f32, shares_of_pieces_f64};
    static const RangeWork logs[] = {logs_of_pieces_f32, logs_of_pieces_f64};
    const int is_double = type == NPY_DOUBLE;
    const npy_intp units = how->outer * pieces_of(how->count), size = how->outer * how->count;
    LongSoftmaxJob job = {{how->from, type, how->outer, how->count}, how->to, PyMem_New(double, (size_t)how->outer),
                          PyMem_New(double, (size_t)how->outer)};
    const LongRows made = {how->to, type, how->outer, how->count};
    int is_done = job.most != NULL && job.total != NULL && reduce_parts(&job.rows, PART_LARGEST, NULL, job.most);
    if (is_done && how->is_log) {
        is_done = reduce_parts(&job.rows, PART_POWERS, job.most, job.total);
        for (npy_intp row = 0; row < how->outer; row++) {
            job.total[row] = log_of(type, job.total[row]);
        }
    } else if (is_done) {
        do_ranges(powers[is_double], &job, units, size);
        is_done = reduce_parts(&made, PART_SUM, NULL, job.total);
    }
    if (is_done) {
        do_ranges((how->is_log ? logs : shares)[is_double], &job, units, size);
    }
    PyMem_Free(job.most);
    PyMem_Free(job.total);
    return is_done || PyErr_NoMemory() != NULL;
}

/* softmax(self, dim, half_to_float=False) and log_softmax of a float32 or float64 array of any strides, with elements.
 * Returns a new C-contiguous array; NULL without an exception for anything else. */
static PyObject *handle_softmax(const CompiledKernel *kernel, const KernelCall *call) {
    double dim;
    if (call->count < 2 || call->count > 3 || call->out != NULL || !read_number(call->args[1], &dim)) {
        return NULL;
    }
    Array *self = dense_floats(call->args[0]);
    if (self == NULL) {
        return NULL;
    }
    int ndim = PyArray_NDIM(self), axis = (int)dim + (dim < 0 ? ndim : 0);
    Array *result = NULL;
    if (axis >= 0 && axis < ndim && count_of(self) > 0 && (result = new_like(self)) != NULL) {
        const npy_intp *shape = PyArray_DIMS(self);
        RowsJob job = {PyArray_BYTES(self), PyArray_BYTES(result), 1, shape[axis], 1, kernel->how != NULL};
        for (int i = 0; i < ndim; i++) {
            job.outer *= i < axis ? shape[i] : 1;
            job.inner *= i > axis ? shape[i] : 1;
        }
        if (job.inner > 1 || job.count <= LONG_ROW) {
            do_ranges(PyArray_TYPE(self) == NPY_DOUBLE ? softmax_f64 : softmax_f32, &job,
                      job.outer * strips_of(job.inner), count_of(self));
        } else if (!softmax_of_long_rows(&job, PyArray_TYPE(self))) {
            Py_CLEAR(result);
        }
    }
    Py_DECREF(self);
    return (PyObject *)result;
}

/* Read a weight or bias of `count` elements, of any strides, or None (`array` and `data` are NULL). Returns 0 for
 * anything else; `array` is a new reference in any case, if not NULL. */
static int take_factors(PyObject *object, int type, npy_intp count, Array **array, const char **data) {
    *array = NULL;
    *data = NULL;
    if (object == Py_None) {
        return 1;
    }
    *array = dense_array(object, type);
    if (*array == NULL || count_of(*array) != count) {
        return 0;
    }
    *data = PyArray_BYTES(*array);
    return 1;
}

/* Normalise the rows of `self`, and scale them by weights and biases of `factors` elements. Returns the tuple (result,
 * mean, rstd), the last two of that shape; NULL without an exception if weights or biases do not match, with one if
 * memory runs out. */
static PyObject *normalized(Array *self, PyObject *weights, PyObject *biases, npy_intp factors, NormJob *job, int ndim,
                            const npy_intp *shape) {
    int type = PyArray_TYPE(self);
    Array *weight = NULL, *bias = NULL, *result = NULL, *mean = NULL, *rstd = NULL;
    PyObject *results = NULL;
    if (take_factors(weights, type, factors, &weight, &job->weight) &&
        take_factors(biases, type, factors, &bias, &job->bias) && (result = new_like(self)) != NULL &&
        (mean = new_array(ndim, shape, type)) != NULL && (rstd = new_array(ndim, shape, type)) != NULL) {
        job->from = PyArray_BYTES(self);
        job->to = PyArray_BYTES(result);
        job->mean = PyArray_BYTES(mean);
        job->rstd = PyArray_BYTES(rstd);
        do_ranges(type == NPY_DOUBLE ? normalize_rows_f64 : normalize_rows_f32, job, job->rows, job->rows * job->count);
        results = PyTuple_Pack(3, result, mean, rstd);
    }
    Py_XDECREF(weight);
    Py_XDECREF(bias);
    Py_XDECREF(result);
    Py_XDECREF(mean);
    Py_XDECREF(rstd);
    return results;
}

/* layer_norm(input, normalized_shape, weight, bias, eps). Returns the tuple (result, mean, rstd), the last two with
 * sizes of 1 in the normalised dimensions; NULL without an exception unless operands are float32 or float64 of one
 * type, and match. */
static PyObject *handle_layer_norm(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    NormJob job = {.inner = 1, .rows = 1, .count = 1};
    if (call->count != 5 || call->out != NULL || !read_number(call->args[4], &job.eps)) {
        return NULL;
    }
    Array *self = dense_floats(call->args[0]);
    if (self == NULL) {
        return NULL;
    }
    PyObject *found = NULL;
    npy_intp shape[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(self), kept = ndim - count_of_sequence(call->args[1]);
    if (kept >= 0 && kept <= ndim && count_of(self) > 0) {
        for (int i = 0; i < ndim; i++) {
            shape[i] = i < kept ? PyArray_DIM(self, i) : 1;
            *(i < kept ? &job.rows : &job.count) *= PyArray_DIM(self, i);
        }
        int has_both = call->args[2] != Py_None && call->args[3] != Py_None;
        job.inner = !has_both && call->args[2] == Py_None && call->args[3] == Py_None ? job.count : 1;
        found = normalized(self, call->args[2], call->args[3], job.count, &job, ndim, shape);
    }
    Py_DECREF(self);
    return found;
}

/* group_norm_of_rows(input, weight, bias, N, C, HxW, group, eps). Returns the tuple (result, mean, rstd), the last two
 * (N, group); NULL without an exception unless operands are float32 or float64 of one type, and match. */
static PyObject *handle_group_norm(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    NormJob job = {.inner = 1};
    double sizes[4];
    if (call->count != 8 || call->out != NULL || !read_number(call->args[7], &job.eps)) {
        return NULL;
    }
    for (int i = 0; i < 4; i++) {
        if (!read_number(call->args[3 + i], &sizes[i]) || sizes[i] < 1) {
            return NULL;
        }
    }
    npy_intp channels = (npy_intp)sizes[1], shape[2] = {(npy_intp)sizes[0], (npy_intp)sizes[3]};
    Array *self = channels % shape[1] == 0 ? dense_floats(call->args[0]) : NULL;
    if (self == NULL) {
        return NULL;
    }
    PyObject *found = NULL;
    job.inner = (npy_intp)sizes[2];
    job.groups = shape[1];
    job.rows = shape[0] * shape[1];
    job.count = channels / shape[1] * job.inner;
    if (count_of(self) == job.rows * job.count) {
        found = normalized(self, call->args[1], call->args[2], channels, &job, 2, shape);
    }
    Py_DECREF(self);
    return found;
}

const CompiledKernel softmax_kernels[] = {
    {"softmax", handle_softmax, NULL, 0},
    {"log_softmax", handle_softmax, "log", 0},
    {"layer_norm", handle_layer_norm, NULL, 0},
    {"group_norm_of_rows", handle_group_norm, NULL, 0},
    {NULL, NULL, NULL, 0},
};
