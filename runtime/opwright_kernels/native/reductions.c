/* Reductions over the last dimensions, over all, and of small arrays over any. */

#include "kernels.h"
#include "long_rows.h"

#include "fast/arrays/float_errors.h"
#include "fast/arrays/loops.h"

#include <stdatomic.h>

typedef struct {
    const char *from;
    char *to;
    npy_intp rows, count;
} ReductionJob;

/* Columns that are summed together over all rows. */
#define BESIDE 512
/* Elements that a cache holds, more or less. */
#define MOST_CACHED ((npy_intp)4 << 20)

typedef struct {
    ReductionJob base;
    double freedom;
    char *means; /* or NULL */
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

/* Up to how many elements are put in order, so that what is reduced lies together; NumPy reduces more as they lie. */
#define MOST_ORDERED 4096

/* What is reduced: whether each dimension is, how many elements are put together, and whether they lie together, or are
 * rows that lie so. */
typedef struct {
    char is_over[NPY_MAXDIMS];
    npy_intp count;
    int is_behind, is_ahead;
} Over;

/* Read `dim` for an array: None or an empty list, which mean all dimensions, an int, or a list. Returns 1; 0 without an
 * exception for others, and an array without elements or dimensions. */
static int read_dims(Array *self, PyObject *dim, Over *over) {
    const int ndim = self == NULL ? 0 : PyArray_NDIM(self);
    npy_intp dims[NPY_MAXDIMS];
    int count = dim == Py_None ? 0 : PyLong_CheckExact(dim) ? 1 : count_of_sequence(dim);
    if (ndim == 0 || count < 0 || count > ndim || count_of(self) == 0) {
        return 0;
    }
    if (PyLong_CheckExact(dim)) {
        dims[0] = PyLong_AsSsize_t(dim);
    } else if (count > 0 && !read_ints(dim, dims, count)) {
        return 0;
    }
    PyErr_Clear();
    memset(over->is_over, count == 0, (size_t)ndim);
    for (int i = 0; i < count; i++) {
        const npy_intp axis = dims[i] + (dims[i] < 0 ? ndim : 0);
        if (axis < 0 || axis >= ndim || over->is_over[axis]) {
            return 0;
        }
        over->is_over[axis] = 1;
    }
    over->count = over->is_behind = over->is_ahead = 1;
    for (int i = 0, has_begun = 0, has_ended = 0; i < ndim; i++) {
        if (PyArray_DIM(self, i) > 1) {
            over->count *= over->is_over[i] ? PyArray_DIM(self, i) : 1;
            over->is_behind &= over->is_over[i] >= has_begun;
            over->is_ahead &= !over->is_over[i] || !has_ended;
            has_begun = over->is_over[i];
            has_ended |= !over->is_over[i];
        }
    }
    return 1;
}

/* Whether elements that are reduced together lie so, or are few enough to be put in order. */
static int is_together(const Array *self, const Over *over) {
    return over->is_behind || count_of(self) <= MOST_ORDERED;
}

/* Read `dim` as `read_dims` does. Returns 0, too, for a large array whose elements lie apart. */
static int read_over(Array *self, PyObject *dim, Over *over) {
    return read_dims(self, dim, over) && is_together(self, over);
}

/* Copy the elements, so that those which are reduced together lie together. Returns a new array; NULL with an
 * exception. */
static Array *ordered(Array *self, const Over *over) {
    const npy_intp size = count_of(self), width = PyArray_ITEMSIZE(self);
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS], at[NPY_MAXDIMS] = {0};
    const int ndim = PyArray_NDIM(self);
    int dims = 0;
    Array *copy = new_array(1, &size, PyArray_TYPE(self));
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < ndim; i++) {
            if (over->is_over[i] == turn) {
                shape[dims] = PyArray_DIM(self, i);
                strides[dims++] = PyArray_STRIDE(self, i);
            }
        }
    }
    const char *from = PyArray_BYTES(self);
    for (npy_intp i = 0; copy != NULL && i < size; i++) {
        memcpy(PyArray_BYTES(copy) + i * width, from, (size_t)width);
        for (int each = ndim - 1; each >= 0; each--) {
            from += strides[each];
            if (++at[each] < shape[each]) {
                break;
            }
            from -= strides[each] * shape[each];
            at[each] = 0;
        }
    }
    return copy;
}

/* Return a new array of a type for what is reduced of an array; NULL with an exception. */
static Array *new_result(const Array *self, const Over *over, int is_kept, int type) {
    int ndim = 0;
    npy_intp shape[NPY_MAXDIMS];
    for (int i = 0; i < PyArray_NDIM(self); i++) {
        if (is_kept || !over->is_over[i]) {
            shape[ndim++] = over->is_over[i] ? 1 : PyArray_DIM(self, i);
        }
    }
    return new_array(ndim, shape, type);
}

/* Return a new array for what is reduced of an array with elements, and fill the job; NULL with an exception. `rows` is
 * the array, or a copy in order, which the caller releases once the job is done. */
static Array *new_reduced(Array *self, const Over *over, int is_kept, int result_type, ReductionJob *job,
                          Array **rows) {
    *rows = over->is_behind ? (Array *)Py_NewRef(self) : ordered(self, over);
    Array *result = *rows == NULL ? NULL : new_result(self, over, is_kept, result_type);
    if (result == NULL) {
        Py_CLEAR(*rows);
        return NULL;
    }
    job->from = PyArray_BYTES(*rows);
    job->to = PyArray_BYTES(result);
    job->count = over->count;
    job->rows = count_of(self) / job->count;
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
static PyObject *reduced(const CompiledKernel *kernel, Array *self, const Over *over, int is_kept, int result_type) {
    ReductionJob job;
    const Reduction *how = kernel->how;
    const int type = PyArray_TYPE(self);
    Array *rows, *result = new_reduced(self, over, is_kept, result_type, &job, &rows);
    if (result != NULL && job.count <= LONG_ROW) {
        do_ranges(how->rows[type == NPY_DOUBLE], &job, job.rows, count_of(self));
    } else if (result != NULL && !reduce_long_rows(how, type, result_type, &job)) {
        Py_CLEAR(result);
    }
    Py_XDECREF(rows);
    return (PyObject *)result;
}

/* Write sums of `job.rows` rows of `job.count` elements. */
static void sum_rows(const ReductionJob *job, int type) {
    ReductionJob given = *job;
    const npy_intp size = job->rows * job->count;
    /* What no cache holds comes faster in whole rows than in pieces of them: then one thread adds all. */
    const int is_whole = job->count < 16 * BESIDE && size > MOST_CACHED;
    do_ranges(type == NPY_DOUBLE ? sum_of_rows_f64 : sum_of_rows_f32, &given, (job->count + BESIDE - 1) / BESIDE,
              is_whole ? LONG_WORK : size);
}

/* Add rows, or take their mean. Returns a new array; NULL with an exception. */
static PyObject *reduced_rows(Array *self, const Over *over, int is_kept, int is_mean) {
    const int type = PyArray_TYPE(self);
    Array *result = new_result(self, over, is_kept, type);
    if (result != NULL) {
        const ReductionJob job = {PyArray_BYTES(self), PyArray_BYTES(result), over->count, count_of(result)};
        sum_rows(&job, type);
        for (npy_intp i = 0; is_mean && i < job.count; i++) {
            if (type == NPY_DOUBLE) {
                ((double *)job.to)[i] /= (double)job.rows;
            } else {
                ((float *)job.to)[i] /= (float)job.rows;
            }
        }
    }
    return (PyObject *)result;
}

/* total(self, dim, keepdim, dtype=None), and the other reductions with these arguments. Returns a new array; NULL
 * without an exception unless self is dense float32 or float64, and as `read_over` says; sums and means are taken of
 * rows, too. */
static PyObject *handle_reduction(const CompiledKernel *kernel, const KernelCall *call) {
    Over over;
    if (call->count < 3 || call->count > 4 || call->out != NULL || !PyBool_Check(call->args[2])) {
        return NULL;
    }
    Array *self = plain_floats(call->args[0]);
    const int is_kept = call->args[2] == Py_True, is_mean = kernel->how == &average_how;
    if (!read_dims(self, call->args[1], &over)) {
        return NULL;
    }
    if (over.is_ahead && !over.is_behind && (is_mean || kernel->how == &total_how)) {
        return reduced_rows(self, &over, is_kept, is_mean);
    }
    return is_together(self, &over) ? reduced(kernel, self, &over, is_kept, PyArray_TYPE(self)) : NULL;
}

/* whole_total(self, dtype=None), whole_average and whole_product. Returns a new zero-dimensional array; NULL without an
 * exception unless self is dense float32 or float64 with elements. */
static PyObject *handle_whole(const CompiledKernel *kernel, const KernelCall *call) {
    Array *self = call->count >= 1 && call->count <= 2 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    Over over = {.is_behind = 1};
    if (self == NULL || count_of(self) == 0) {
        return NULL;
    }
    memset(over.is_over, 1, (size_t)PyArray_NDIM(self));
    over.count = count_of(self);
    return reduced(kernel, self, &over, 0, PyArray_TYPE(self));
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
    sum_rows(&job, type);
    if (has_errors()) {
        forget_errors();
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

/* number_of_nonzero(self, dim). Returns a new int64 array; NULL without an exception as `handle_reduction`. */
static PyObject *handle_count(const CompiledKernel *kernel, const KernelCall *call) {
    Over over;
    Array *self = call->count == 2 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    return read_over(self, call->args[1], &over) ? reduced(kernel, self, &over, 0, NPY_INT64) : NULL;
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

/* What a spread gives: its square root or not, the means beside it or not. */
typedef struct {
    int is_root, has_means;
} Spread;

/* variance(self, dim, correction, keepdim), `deviation`, its square root, and either with the means. Returns a new
 * array, or a tuple of two; NULL without an exception as `handle_reduction`, if a mean is not finite, no degrees of
 * freedom are left, or rows are long whose means are wanted, too. */
static PyObject *handle_variance(const CompiledKernel *kernel, const KernelCall *call) {
    const Spread *how = kernel->how;
    double correction = 1;
    Over over;
    Array *self = call->count == 4 && call->out == NULL ? plain_floats(call->args[0]) : NULL, *rows, *means = NULL;
    if (!read_over(self, call->args[1], &over) || !PyBool_Check(call->args[3]) ||
        (how->has_means && over.count > LONG_ROW) ||
        (call->args[2] != Py_None && !read_number(call->args[2], &correction))) {
        return NULL;
    }
    const int type = PyArray_TYPE(self);
    SpreadJob job = {.is_root = how->is_root, .freedom = (double)over.count - correction};
    Array *result =
        job.freedom > 0 ? new_reduced(self, &over, call->args[3] == Py_True, type, &job.base, &rows) : NULL;
    if (result == NULL) {
        return NULL;
    }
    if (how->has_means && (means = new_like(result)) != NULL) {
        job.means = PyArray_BYTES(means);
    }
    if (job.base.count <= LONG_ROW) {
        do_ranges(type == NPY_DOUBLE ? variance_f64 : variance_f32, &job, job.base.rows, count_of(self));
    } else if (!spread_of_long_rows(type, &job)) {
        Py_CLEAR(result);
    }
    Py_DECREF(rows);
    if (job.is_lost || result == NULL || (how->has_means && means == NULL)) {
        Py_XDECREF(means);
        Py_XDECREF(result);
        return NULL;
    }
    return how->has_means ? Py_BuildValue("(NN)", result, means) : (PyObject *)result;
}

/* vector_norm(self, ord, dim, keepdim, dtype=None) of order 2. Returns a new array; NULL without an exception for other
 * orders, and as `handle_reduction`. */
static PyObject *handle_norm(const CompiledKernel *kernel, const KernelCall *call) {
    double order = 2;
    Over over;
    int is_of_four = call->count == 4 || call->count == 5;
    Array *self = is_of_four && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    if (!read_over(self, call->args[2], &over) || !PyBool_Check(call->args[3]) ||
        (call->args[1] != Py_None && !read_number(call->args[1], &order)) || order != 2) {
        return NULL;
    }
    return reduced(kernel, self, &over, call->args[3] == Py_True, PyArray_TYPE(self));
}

static const Spread variance_how = {0, 0}, deviation_how = {1, 0};
static const Spread variance_and_mean_how = {0, 1}, deviation_and_mean_how = {1, 1};

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
    {"variance", handle_variance, &variance_how, 0},
    {"deviation", handle_variance, &deviation_how, 0},
    {"variance_and_mean", handle_variance, &variance_and_mean_how, 0},
    {"deviation_and_mean", handle_variance, &deviation_and_mean_how, 0},
    {"vector_norm", handle_norm, &length_how, 0},
    {NULL, NULL, NULL, 0},
};
