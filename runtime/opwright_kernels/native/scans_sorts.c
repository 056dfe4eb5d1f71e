/* Running sums and products along the last dimension; the first elements of sorted rows, and all of short ones. */

#include "kernels.h"

#include "fast/arrays/loops.h"

/* Elements that are looked through at once for one that comes before those found. */
#define FIRST_BLOCK 64
/* Up to how many elements of a row are found by keeping them in order; more are sorted by the Python. */
#define MOST_FIRST 32

typedef struct {
    const char *from;
    char *to;
    npy_intp rows, count;
} ScanJob;

typedef struct {
    const char *from;
    char *to;
    int64_t *indices;
    npy_intp rows, count, wanted;
    int is_largest;
} FirstJob;

#define REAL float
#define OF(NAME) NAME##_f32
#include "scans_sorts_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "scans_sorts_loops.h"
#undef REAL
#undef OF

static const RangeWork total_how[] = {running_total_f32, running_total_f64};
static const RangeWork product_how[] = {running_product_f32, running_product_f64};

/* Whether a number is the last of `ndim` dimensions. */
static int is_last(PyObject *object, int ndim) {
    double dim;
    return ndim > 0 && read_number(object, &dim) && (dim == -1 || dim == ndim - 1);
}

/* running_total(self, dim, dtype=None, out=None) (cumsum) and running_product (cumprod) along the last dimension.
 * Returns a new array; NULL without an exception unless self is dense float32 or float64 with elements, and `out`
 * None. */
static PyObject *handle_scan(const CompiledKernel *kernel, const KernelCall *call) {
    if (call->count < 2 || call->count > 4 || call->out != NULL || (call->count == 4 && call->args[3] != Py_None)) {
        return NULL;
    }
    Array *self = plain_floats(call->args[0]);
    if (self == NULL || !is_last(call->args[1], PyArray_NDIM(self)) || count_of(self) == 0) {
        return NULL;
    }
    Array *result = new_like(self);
    if (result != NULL) {
        ScanJob job = {PyArray_BYTES(self), PyArray_BYTES(result), 0, PyArray_DIM(self, PyArray_NDIM(self) - 1)};
        job.rows = count_of(self) / job.count;
        do_ranges(((const RangeWork *)kernel->how)[PyArray_TYPE(self) == NPY_DOUBLE], &job, job.rows, count_of(self));
    }
    return (PyObject *)result;
}

/* Find the `wanted` largest or smallest elements of each row. Returns the tuple (values in order, int64 indices); NULL
 * with an exception. */
static PyObject *first_of(Array *self, npy_intp wanted, int is_largest) {
    int ndim = PyArray_NDIM(self);
    npy_intp shape[NPY_MAXDIMS], count = PyArray_DIM(self, ndim - 1);
    memcpy(shape, PyArray_DIMS(self), (size_t)ndim * sizeof(npy_intp));
    shape[ndim - 1] = wanted;
    Array *values = new_array(ndim, shape, PyArray_TYPE(self)), *indices = new_array(ndim, shape, NPY_INT64);
    PyObject *results = NULL;
    if (values != NULL && indices != NULL) {
        FirstJob job = {
            PyArray_BYTES(self),
            PyArray_BYTES(values),
            (int64_t *)PyArray_BYTES(indices),
            count_of(self) / count,
            count,
            wanted,
            is_largest,
        };
        do_ranges(PyArray_TYPE(self) == NPY_DOUBLE ? first_of_rows_f64 : first_of_rows_f32, &job, job.rows,
                  count_of(self));
        results = PyTuple_Pack(2, values, indices);
    }
    Py_XDECREF(values);
    Py_XDECREF(indices);
    return results;
}

/* topk(self, k, dim, largest, sorted) of 1 to MOST_FIRST elements along the last dimension, or of short rows along
 * another. Returns the tuple (values, indices); NULL without an exception for others, and unless self is dense float32
 * or float64. */
static PyObject *handle_topk(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double number;
    Array *self = call->count == 5 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    if (self == NULL || count_of(self) == 0 || !PyLong_CheckExact(call->args[1]) ||
        !read_number(call->args[1], &number) || !PyBool_Check(call->args[3])) {
        return NULL;
    }
    npy_intp wanted = (npy_intp)number;
    if (!is_last(call->args[2], PyArray_NDIM(self)) || wanted == 0) {
        return first_in_order(self, call->args[2], wanted, call->args[3] == Py_True);
    }
    if (wanted < 1 || wanted > MOST_FIRST || wanted > PyArray_DIM(self, PyArray_NDIM(self) - 1)) {
        return NULL;
    }
    return first_of(self, wanted, call->args[3] == Py_True);
}

/* sort(self, dim, descending) of rows of at most MOST_FIRST elements, stable. Returns the tuple (values, indices); NULL
 * without an exception for others, and unless self is dense float32 or float64. */
static PyObject *handle_sort(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *self = call->count == 3 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    if (self == NULL || count_of(self) == 0 || PyArray_NDIM(self) == 0 || !PyBool_Check(call->args[2])) {
        return NULL;
    }
    if (!is_last(call->args[1], PyArray_NDIM(self))) {
        double dim;
        const int ndim = PyArray_NDIM(self), is_dim = read_number(call->args[1], &dim) && dim >= -ndim && dim < ndim;
        const npy_intp along = is_dim ? PyArray_DIM(self, (int)dim + (dim < 0 ? ndim : 0)) : 0;
        return first_in_order(self, call->args[1], along, call->args[2] == Py_True);
    }
    if (PyArray_DIM(self, PyArray_NDIM(self) - 1) > MOST_FIRST) {
        return NULL;
    }
    return first_of(self, PyArray_DIM(self, PyArray_NDIM(self) - 1), call->args[2] == Py_True);
}

/* median(self) of 1 to MOST_FIRST elements: the lower of the two in the middle, or NaN. Returns a new zero-dimensional
 * array; NULL without an exception for others, and unless self is dense float32 or float64. */
static PyObject *handle_median(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double buffer[MOST_FIRST];
    char *values = (char *)buffer;
    int64_t indices[MOST_FIRST];
    Array *self = call->count == 1 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    npy_intp count = self == NULL ? 0 : count_of(self);
    if (count == 0 || count > MOST_FIRST) {
        return NULL;
    }
    const int type = PyArray_TYPE(self);
    const size_t size = type == NPY_DOUBLE ? sizeof(double) : sizeof(float);
    FirstJob job = {PyArray_BYTES(self), values, indices, 1, count, count, 0};
    (type == NPY_DOUBLE ? first_of_rows_f64 : first_of_rows_f32)(&job, 0, 1);
    const char *last = values + (size_t)(count - 1) * size; /* NaN where there is one */
    int is_lost = type == NPY_DOUBLE ? *(const double *)last != *(const double *)last
                                     : *(const float *)last != *(const float *)last;
    Array *result = new_array(0, NULL, type);
    if (result != NULL) {
        memcpy(PyArray_BYTES(result), is_lost ? last : values + (size_t)((count - 1) / 2) * size, size);
    }
    return (PyObject *)result;
}

const CompiledKernel scan_kernels[] = {
    {"running_total", handle_scan, total_how, 0},
    {"running_product", handle_scan, product_how, 0},
    {"topk", handle_topk, NULL, QUIET},
    {"sort", handle_sort, NULL, QUIET},
    {"median", handle_median, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
