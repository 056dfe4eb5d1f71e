/* Rows as vectors: their products, and the distances between them; matrices with a row on a diagonal, and the positions
 * of triangles; numbers equally far apart. */

#include "kernels.h"

#include <math.h>

/* How many products are summed here at most; the Python computes more, block by block. */
#define MOST_SUMMED 16384

/* Define what sums up differences: NAME returns the norm of the difference of two rows of `count` elements. */
#define NORM(NAME, TYPE, SQRT, POW)                                                                                    \
    static TYPE NAME(const TYPE *a, const TYPE *b, npy_intp count, double p) {                                         \
        TYPE found = 0;                                                                                                \
        for (npy_intp i = 0; i < count; i++) {                                                                         \
            const TYPE x = a[i] - b[i], size = x < 0 ? -x : x;                                                         \
            if (p == 2) {                                                                                              \
                found += x * x;                                                                                        \
            } else if (p == 1) {                                                                                       \
                found += size;                                                                                         \
            } else if (p == 0) {                                                                                       \
                found += x != x ? x : (TYPE)(x != 0);                                                                  \
            } else if (isinf(p)) {                                                                                     \
                found = size > found || size != size ? size : found;                                                   \
            } else {                                                                                                   \
                found += POW(size, (TYPE)p);                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        return p == 2 ? SQRT(found) : p == 1 || p == 0 || isinf(p) ? found : POW(found, (TYPE)(1 / p));                \
    }

NORM(norm_f32, float, sqrtf, powf)
NORM(norm_f64, double, sqrt, pow)

/* Write the norm of the difference of two rows of an array's type. */
static void put_norm(const Array *first, npy_intp a, const Array *second, npy_intp b, double p, Array *to,
                     npy_intp at) {
    const npy_intp count = PyArray_DIM(first, PyArray_NDIM(first) - 1);
    if (PyArray_TYPE(first) == NPY_DOUBLE) {
        ((double *)PyArray_DATA(to))[at] = norm_f64((const double *)PyArray_DATA(first) + a * count,
                                                    (const double *)PyArray_DATA(second) + b * count, count, p);
    } else {
        ((float *)PyArray_DATA(to))[at] = norm_f32((const float *)PyArray_DATA(first) + a * count,
                                                   (const float *)PyArray_DATA(second) + b * count, count, p);
    }
}

/* Read an order that a norm has here: not below 0, no NaN, and finite in float32 or infinite. Returns whether it is. */
static int read_order(PyObject *object, double *p) {
    return read_number(object, p) && *p >= 0 && (*p <= 3e38 || isinf(*p));
}

/* distances(x1, x2, p, compute_mode) of few rows of one batch. Returns a new array (…, rows of x1, rows of x2); NULL
 * without an exception for others, and unless both are dense float32 or float64 of one type with elements. */
static PyObject *handle_distances(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double p;
    npy_intp shape[NPY_MAXDIMS], batch = 1;
    Array *x1 = call->count == 4 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    Array *x2 = x1 == NULL ? NULL : plain_array(call->args[1], PyArray_TYPE(x1));
    const int ndim = x2 == NULL ? 0 : PyArray_NDIM(x1);
    if (ndim < 2 || PyArray_NDIM(x2) != ndim || count_of(x1) == 0 || count_of(x2) == 0 ||
        PyArray_DIM(x1, ndim - 1) != PyArray_DIM(x2, ndim - 1) || !read_order(call->args[2], &p)) {
        return NULL;
    }
    for (int i = 0; i < ndim - 2; i++) {
        if (PyArray_DIM(x1, i) != PyArray_DIM(x2, i)) {
            return NULL;
        }
        shape[i] = PyArray_DIM(x1, i);
        batch *= shape[i];
    }
    const npy_intp rows = PyArray_DIM(x1, ndim - 2), others = PyArray_DIM(x2, ndim - 2);
    if (count_of(x1) > MOST_SUMMED || count_of(x1) * others > MOST_SUMMED) {
        return NULL;
    }
    shape[ndim - 2] = rows;
    shape[ndim - 1] = others;
    Array *result = new_array(ndim, shape, PyArray_TYPE(x1));
    for (npy_intp row = 0; result != NULL && row < batch * rows; row++) {
        for (npy_intp other = 0; other < others; other++) {
            put_norm(x1, row, x2, row / rows * others + other, p, result, row * others + other);
        }
    }
    return (PyObject *)result;
}

/* pair_distances(self, p) of few rows. Returns a new array; NULL without an exception for others, and unless self is a
 * dense float32 or float64 matrix of two rows or more. */
static PyObject *handle_pairs(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double p;
    Array *self = call->count == 2 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    if (self == NULL || PyArray_NDIM(self) != 2 || count_of(self) == 0 || PyArray_DIM(self, 0) < 2 ||
        count_of(self) > MOST_SUMMED || count_of(self) * PyArray_DIM(self, 0) > MOST_SUMMED ||
        !read_order(call->args[1], &p)) {
        return NULL;
    }
    const npy_intp rows = PyArray_DIM(self, 0);
    npy_intp size = rows * (rows - 1) / 2, at = 0;
    Array *result = new_array(1, &size, PyArray_TYPE(self));
    for (npy_intp row = 0; result != NULL && row < rows; row++) {
        for (npy_intp other = row + 1; other < rows; other++) {
            put_norm(self, row, self, other, p, result, at++);
        }
    }
    return (PyObject *)result;
}

/* Define the vector products of `count` vectors whose elements are `step` apart; NAME returns nothing. */
#define CROSS(NAME, TYPE)                                                                                              \
    static void NAME(const void *first, const void *second, void *result, npy_intp outer, npy_intp step) {             \
        for (npy_intp o = 0; o < outer; o++) {                                                                         \
            const TYPE *a = (const TYPE *)first + o * 3 * step, *b = (const TYPE *)second + o * 3 * step;              \
            TYPE *to = (TYPE *)result + o * 3 * step;                                                                  \
            for (npy_intp k = 0; k < step; k++) {                                                                      \
                to[k] = a[k + step] * b[k + 2 * step] - a[k + 2 * step] * b[k + step];                                 \
                to[k + step] = a[k + 2 * step] * b[k] - a[k] * b[k + 2 * step];                                        \
                to[k + 2 * step] = a[k] * b[k + step] - a[k + step] * b[k];                                            \
            }                                                                                                          \
        }                                                                                                              \
    }

CROSS(cross_f32, float)
CROSS(cross_f64, double)

/* cross_product(self, other, dim). Returns a new array; NULL without an exception unless both are dense float32 or
 * float64 of one type and shape. */
static PyObject *handle_cross(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double dim;
    Array *self = call->count == 3 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    Array *other = self == NULL ? NULL : plain_array(call->args[1], PyArray_TYPE(self));
    const int ndim = other == NULL ? 0 : PyArray_NDIM(self);
    if (ndim == 0 || !has_shape_of(self, other) || !read_number(call->args[2], &dim) || dim < -ndim || dim >= ndim) {
        return NULL;
    }
    const int axis = (int)dim + (dim < 0 ? ndim : 0);
    if (PyArray_DIM(self, axis) != 3) {
        return NULL;
    }
    Array *result = new_like(self);
    if (result != NULL) {
        const npy_intp outer = count_of_first(self, axis), step = outer == 0 ? 0 : count_of(self) / outer / 3;
        (PyArray_TYPE(self) == NPY_DOUBLE ? cross_f64 : cross_f32)(
            PyArray_DATA(self), PyArray_DATA(other), PyArray_DATA(result), outer, step);
    }
    return (PyObject *)result;
}

/* diag_embed(self, offset, dim1, dim2) along the last two dimensions. Returns a new array; NULL without an exception
 * for others, and unless self is dense with elements of a number's bytes. */
static PyObject *handle_diag_embed(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double offset, dim1, dim2;
    Array *self = call->count == 4 && call->out == NULL ? plain_bytes(call->args[0]) : NULL;
    const int ndim = self == NULL ? 0 : PyArray_NDIM(self);
    if (ndim < 1 || ndim + 1 > NPY_MAXDIMS || count_of(self) == 0 || !read_number(call->args[1], &offset) ||
        !read_number(call->args[2], &dim1) || !read_number(call->args[3], &dim2) || offset < -1e6 || offset > 1e6 ||
        (dim1 != -2 && dim1 != ndim - 1) || (dim2 != -1 && dim2 != ndim)) {
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS];
    const npy_intp length = PyArray_DIM(self, ndim - 1), shift = (npy_intp)offset,
                   size = length + (shift < 0 ? -shift : shift);
    for (int i = 0; i < ndim - 1; i++) {
        shape[i] = PyArray_DIM(self, i);
    }
    shape[ndim - 1] = shape[ndim] = size;
    Array *result = new_of(PyArray_DESCR(self), ndim + 1, shape);
    if (result != NULL) {
        const npy_intp bytes = element_size(self), rows = count_of(self) / length;
        memset(PyArray_DATA(result), 0, (size_t)(count_of(result) * bytes));
        for (npy_intp row = 0; row < rows; row++) {
            for (npy_intp i = 0; i < length; i++) {
                const npy_intp y = i + (shift < 0 ? -shift : 0), x = i + (shift > 0 ? shift : 0);
                memcpy(PyArray_BYTES(result) + ((row * size + y) * size + x) * bytes,
                       PyArray_BYTES(self) + (row * length + i) * bytes, (size_t)bytes);
            }
        }
    }
    return (PyObject *)result;
}

/* lower_positions(rows, columns, offset) of the elements on and below a diagonal, and upper_positions. Returns a new
 * int64 array (2, found); NULL without an exception for numbers that are large or below 0. */
static PyObject *handle_triangle_positions(const CompiledKernel *kernel, const KernelCall *call) {
    double numbers[3] = {-1, -1, 0};
    for (int i = 0; i < 3 && call->count == 3 && call->out == NULL; i++) {
        if (!PyLong_CheckExact(call->args[i]) || !read_number(call->args[i], &numbers[i])) {
            return NULL;
        }
    }
    if (numbers[0] < 0 || numbers[1] < 0 || numbers[0] > 1e6 || numbers[1] > 1e6 || fabs(numbers[2]) > 1e7) {
        return NULL;
    }
    const npy_intp rows = (npy_intp)numbers[0], columns = (npy_intp)numbers[1], offset = (npy_intp)numbers[2];
    const int is_upper = kernel->how != NULL;
    npy_intp total = 0, at = 0;
    for (npy_intp row = 0; row < rows; row++) { /* the columns from `edge` on are above the diagonal */
        const npy_intp edge = row + offset + !is_upper, split = edge < 0 ? 0 : edge > columns ? columns : edge;
        total += is_upper ? columns - split : split;
    }
    npy_intp shape[] = {2, total};
    Array *result = new_array(2, shape, NPY_INT64);
    for (npy_intp row = 0; result != NULL && row < rows; row++) {
        const npy_intp edge = row + offset + !is_upper, split = edge < 0 ? 0 : edge > columns ? columns : edge;
        for (npy_intp column = is_upper ? split : 0; column < (is_upper ? columns : split); column++, at++) {
            ((int64_t *)PyArray_DATA(result))[at] = row;
            ((int64_t *)PyArray_DATA(result))[total + at] = column;
        }
    }
    return (PyObject *)result;
}

/* evenly_spaced(start, end, steps, dtype) of two numbers or more, which count down from the end in the second half.
 * Returns a new array; NULL without an exception for other numbers than floats, and for other dtypes than float32 and
 * float64. */
static PyObject *handle_evenly(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double start, end, number;
    PyArray_Descr *dtype = call->count == 4 && call->out == NULL ? dtype_of(call->args[3]) : NULL;
    if (dtype == NULL || (dtype->type_num != NPY_FLOAT && dtype->type_num != NPY_DOUBLE) ||
        !PyLong_CheckExact(call->args[2]) || !PyFloat_CheckExact(call->args[0]) || !PyFloat_CheckExact(call->args[1]) ||
        !read_number(call->args[0], &start) || !read_number(call->args[1], &end) ||
        !read_number(call->args[2], &number) || number < 2 || number > 1e9) {
        return NULL;
    }
    npy_intp steps = (npy_intp)number;
    const double step = (end - start) / (number - 1);
    Array *result = new_array(1, &steps, dtype->type_num);
    for (npy_intp i = 0; result != NULL && i < steps; i++) {
        const double x = i < steps / 2 ? start + step * (double)i : end - step * (number - 1 - (double)i);
        if (dtype->type_num == NPY_DOUBLE) {
            ((double *)PyArray_DATA(result))[i] = x;
        } else {
            ((float *)PyArray_DATA(result))[i] = (float)x;
        }
    }
    return (PyObject *)result;
}

const CompiledKernel vector_kernels[] = {
    {"distances", handle_distances, NULL, 0},
    {"pair_distances", handle_pairs, NULL, 0},
    {"cross_product", handle_cross, NULL, 0},
    {"diag_embed", handle_diag_embed, NULL, QUIET},
    {"lower_positions", handle_triangle_positions, NULL, QUIET},
    {"upper_positions", handle_triangle_positions, "upper", QUIET},
    {"evenly_spaced", handle_evenly, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
