/* Reductions over the last dimension, or over all. */

#include "kernels.h"
#include "long_rows.h"

#include "fast/float_errors.h"
#include "fast/loops.h"

#include <stdatomic.h>

typedef struct {
    const char *from;
    char *to;
    npy_intp rows, count;
} ReductionJob;

/* Columns that are summed together over all rows. */
#define BESIDE 512

typedef struct {
    ReductionJob base;
    double freedom;
    int is_root;
    atomic_int is_lost;
} SpreadJob;

/* A reduction: what computes rows for float32 and float64; what pieces of a long row give, and what is made of it. */
typedef struct {
    RangeWork rows[2];
    PartKind kind;
    enum { AS_IT_IS, MEAN, ROOT, POWERS } finish;
} Reduction;

FUSED

#define REAL float
#define OF(NAME) NAME##_f32
#include "sums.h"
#include "reductions_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "sums.h"
#include "reductions_loops.h"
#undef REAL
#undef OF

UNFUSED

static const Reduction total_how = {{total_f32, total_f64}, PART_SUM, AS_IT_IS};
static const Reduction average_how = {{average_f32, average_f64}, PART_SUM, MEAN};
static const Reduction largest_how = {{largest_f32, largest_f64}, PART_LARGEST, AS_IT_IS};
static const Reduction logsumexp_how = {{logsumexp_f32, logsumexp_f64}, PART_LARGEST, POWERS};
static const Reduction product_how = {{product_f32, product_f64}, PART_PRODUCT, AS_IT_IS};
static const Reduction nonzero_how = {{number_of_nonzero_f32, number_of_nonzero_f64}, PART_NONZERO, AS_IT_IS};
static const Reduction length_how = {{length_f32, length_f64}, PART_SPREAD, ROOT};

/* Return 1 if `dim` is the last dimension, 2 if it is all of them (None, an empty list, or the one of a vector); 0
 * without an exception for others. */
static int read_dims(PyObject *dim, int ndim) {
    npy_intp value;
    if (dim == Py_None || count_of_sequence(dim) == 0) {
        return 2;
    }
    if (PyLong_CheckExact(dim)) {
        value = PyLong_AsSsize_t(dim);
    } else if (count_of_sequence(dim) != 1 || !read_ints(dim, &value, 1)) {
        return 0;
    }
    PyErr_Clear();
    return value == -1 || value == ndim - 1 ? (ndim == 1 ? 2 : 1) : 0;
}

/* Return a new array for a reduction of each row (`which` is 1) or of everything (2) of an array with elements, and
 * fill the job; NULL with an exception. */
static Array *new_reduced(Array *self, int which, int is_kept, int result_type, ReductionJob *job) {
    int ndim = PyArray_NDIM(self);
    npy_intp shape[NPY_MAXDIMS], width = ndim > 0 ? PyArray_DIM(self, ndim - 1) : 1;
    for (int i = 0; i < ndim; i++) {
        shape[i] = which == 2 || i == ndim - 1 ? 1 : PyArray_DIM(self, i);
    }
    Array *result = new_array(is_kept ? ndim : which == 2 ? 0 : ndim - 1, shape, result_type);
    if (result != NULL) {
        job->from = PyArray_BYTES(self);
        job->to = PyArray_BYTES(result);
        job->count = which == 1 ? width : count_of(self);
        job->rows = count_of(self) / job->count;
    }
    return result;
}

/* Write an element of the result: a float32, a float64, or an int64. */
static void write_element(const ReductionJob *job, int result_type, npy_intp row, double value) {
    if (result_type == NPY_FLOAT) {
        ((float *)job->to)[row] = (float)value;
    } else if (result_type == NPY_DOUBLE) {
        ((double *)job->to)[row] = value;
    } else {
        ((int64_t *)job->to)[row] = (int64_t)value;
    }
}

/* Return a number as an element of a type holds it. */
static double rounded_to(int type, double value) {
    return type == NPY_FLOAT ? (double)(float)value : value;
}

/* Reduce long rows, piece by piece. Returns 0 if memory ran out, with an exception. */
static int reduce_long_rows(const Reduction *how, int type, int result_type, const ReductionJob *job) {
    LongRows rows = {job->from, type, job->rows, job->count};
    double *found = PyMem_New(double, (size_t)job->rows), *shifts = PyMem_New(double, (size_t)job->rows);
    int is_done = found != NULL && shifts != NULL;
    for (npy_intp row = 0; is_done && row < job->rows; row++) {
        shifts[row] = 0;
    }
    is_done = is_done && reduce_parts(&rows, how->kind, shifts, found);
    for (npy_intp row = 0; is_done && how->finish == POWERS && row < job->rows; row++) {
        shifts[row] = isfinite(found[row]) ? found[row] : 0;
    }
    is_done = is_done && (how->finish != POWERS || reduce_parts(&rows, PART_POWERS, shifts, found));
    for (npy_intp row = 0; is_done && row < job->rows; row++) {
        double value = found[row];
        if (how->finish == MEAN) {
            value /= (double)job->count;
        } else if (how->finish != AS_IT_IS) {
            value = rounded_to(type, value);
            value = how->finish == ROOT ? sqrt(value) : rounded_to(type, log_of(type, value)) + shifts[row];
        }
        write_element(job, result_type, row, value);
    }
    PyMem_Free(found);
    PyMem_Free(shifts);
    return is_done || PyErr_NoMemory() != NULL;
}

/* Reduce with the loop of the kernel and self's type. Returns a new array; NULL with an exception. */
static PyObject *reduced(const CompiledKernel *kernel, Array *self, int which, int is_kept, int result_type) {
    ReductionJob job;
    const Reduction *how = kernel->how;
    const int type = PyArray_TYPE(self);
    Array *result = new_reduced(self, which, is_kept, result_type, &job);
    if (result != NULL && job.count <= LONG_ROW) {
        do_ranges(how->rows[type == NPY_DOUBLE], &job, job.rows, count_of(self));
    } else if (result != NULL && !reduce_long_rows(how, type, result_type, &job)) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

/* total(self, dim, keepdim, dtype=None), and the other reductions with these arguments. Returns a new array; NULL
 * without an exception unless self is dense float32 or float64 with elements, and dim is the last or all. */
static PyObject *handle_reduction(const CompiledKernel *kernel, const KernelCall *call) {
    if (call->count < 3 || call->count > 4 || call->out != NULL || !PyBool_Check(call->args[2])) {
        return NULL;
    }
    Array *self = plain_floats(call->args[0]);
    int ndim = self == NULL ? 0 : PyArray_NDIM(self), which = ndim == 0 ? 0 : read_dims(call->args[1], ndim);
    if (which == 0 || count_of(self) == 0) {
        return NULL;
    }
    return reduced(kernel, self, which, call->args[2] == Py_True, PyArray_TYPE(self));
}

/* whole_total(self, dtype=None), whole_average and whole_product. Returns a new zero-dimensional array; NULL without an
 * exception unless self is dense float32 or float64 with elements. */
static PyObject *handle_whole(const CompiledKernel *kernel, const KernelCall *call) {
    Array *self = call->count >= 1 && call->count <= 2 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    return self == NULL || count_of(self) == 0 ? NULL : reduced(kernel, self, 2, 0, PyArray_TYPE(self));
}

/* Return the sums over the first dimensions of a dense float array, so that the last `kept` are left: a new array; NULL
 * without an exception if Python must compute it, also if there was a floating-point error, of which it has to
 * warn. */
PyObject *sum_over_first(PyObject *object, int kept) {
    Array *self = plain_floats(object);
    const int ndim = self == NULL ? 0 : PyArray_NDIM(self), missing = ndim - kept;
    if (missing <= 0 || kept == 0 || count_of(self) == 0) {
        return NULL;
    }
    const int type = PyArray_TYPE(self);
    Array *result = new_array(kept, PyArray_DIMS(self) + missing, type);
    if (result == NULL) {
        return NULL;
    }
    ReductionJob job = {PyArray_BYTES(self), PyArray_BYTES(result), 0, count_of(result)};
    job.rows = count_of(self) / job.count;
    forget_errors();
    do_ranges(type == NPY_DOUBLE ? sum_of_rows_f64 : sum_of_rows_f32, &job, (job.count + BESIDE - 1) / BESIDE,
              count_of(self));
    if (has_errors()) {
        forget_errors();
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

/* number_of_nonzero(self, dim). Returns a new int64 array; NULL without an exception as `handle_reduction`. */
static PyObject *handle_count(const CompiledKernel *kernel, const KernelCall *call) {
    Array *self = call->count == 2 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    int ndim = self == NULL ? 0 : PyArray_NDIM(self), which = ndim == 0 ? 0 : read_dims(call->args[1], ndim);
    return which == 0 || count_of(self) == 0 ? NULL : reduced(kernel, self, which, 0, NPY_INT64);
}

/* Compute variances of long rows, as the loops do those of short ones. Returns 0 with an exception. */
static int spread_of_long_rows(int type, SpreadJob *job) {
    LongRows rows = {job->base.from, type, job->base.rows, job->base.count};
    double *means = PyMem_New(double, (size_t)rows.rows), *found = PyMem_New(double, (size_t)rows.rows);
    int is_done = means != NULL && found != NULL && reduce_parts(&rows, PART_SUM, NULL, means);
    for (npy_intp row = 0; is_done && row < rows.rows; row++) {
        means[row] = rounded_to(type, means[row] / (double)rows.count);
        job->is_lost |= !isfinite(means[row]);
    }
    is_done = is_done && reduce_parts(&rows, PART_SPREAD, means, found);
    for (npy_intp row = 0; is_done && row < rows.rows; row++) {
        const double value = rounded_to(type, rounded_to(type, found[row]) / job->freedom);
        write_element(&job->base, type, row, job->is_root ? sqrt(value) : value);
    }
    PyMem_Free(means);
    PyMem_Free(found);
    return is_done || PyErr_NoMemory() != NULL;
}

/* variance(self, dim, correction, keepdim), and `deviation`, its square root. Returns a new array; NULL without an
 * exception as `handle_reduction`, and if a mean is not finite or no degrees of freedom are left. */
static PyObject *handle_variance(const CompiledKernel *kernel, const KernelCall *call) {
    double correction = 1;
    Array *self = call->count == 4 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    int ndim = self == NULL ? 0 : PyArray_NDIM(self), which = ndim == 0 ? 0 : read_dims(call->args[1], ndim);
    if (which == 0 || count_of(self) == 0 || !PyBool_Check(call->args[3]) ||
        (call->args[2] != Py_None && !read_number(call->args[2], &correction))) {
        return NULL;
    }
    int type = PyArray_TYPE(self), is_kept = call->args[3] == Py_True;
    SpreadJob job = {.is_root = kernel->how != NULL};
    Array *result = new_reduced(self, which, is_kept, type, &job.base);
    if (result == NULL) {
        return NULL;
    }
    job.freedom = (double)job.base.count - correction;
    if (job.freedom > 0 && job.base.count <= LONG_ROW) {
        do_ranges(type == NPY_DOUBLE ? variance_f64 : variance_f32, &job, job.base.rows, count_of(self));
    } else if (job.freedom > 0 && !spread_of_long_rows(type, &job)) {
        Py_CLEAR(result);
    }
    if (job.is_lost || !(job.freedom > 0)) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

/* vector_norm(self, ord, dim, keepdim, dtype=None) of order 2. Returns a new array; NULL without an exception for other
 * orders, and as `handle_reduction`. */
static PyObject *handle_norm(const CompiledKernel *kernel, const KernelCall *call) {
    double order = 2;
    int is_of_four = call->count == 4 || call->count == 5;
    Array *self = is_of_four && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    int ndim = self == NULL ? 0 : PyArray_NDIM(self), which = ndim == 0 ? 0 : read_dims(call->args[2], ndim);
    if (which == 0 || count_of(self) == 0 || !PyBool_Check(call->args[3]) ||
        (call->args[1] != Py_None && !read_number(call->args[1], &order)) || order != 2) {
        return NULL;
    }
    return reduced(kernel, self, which, call->args[3] == Py_True, PyArray_TYPE(self));
}

static const char variance_is_root[] = "root";

const CompiledKernel reduction_kernels[] = {
    {"total", handle_reduction, &total_how, 0},
    {"average", handle_reduction, &average_how, 0},
    {"largest", handle_reduction, &largest_how, QUIET},
    {"product", handle_reduction, &product_how, 0},
    {"whole_total", handle_whole, &total_how, 0},
    {"whole_average", handle_whole, &average_how, 0},
    {"whole_product", handle_whole, &product_how, 0},
    {"number_of_nonzero", handle_count, &nonzero_how, QUIET},
    {"logsumexp", handle_reduction, &logsumexp_how, 0},
    {"variance", handle_variance, NULL, 0},
    {"deviation", handle_variance, variance_is_root, 0},
    {"vector_norm", handle_norm, &length_how, 0},
    {NULL, NULL, NULL, 0},
};
