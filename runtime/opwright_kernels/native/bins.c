/* Positions of values among sorted ones, and how many fall where. */

#include "kernels.h"

#include <math.h>

/* The most dimensions that a grid has here. */
#define MOST_AXES 8

/* Return an element of a float array as a double. */
static inline double real_at(const char *from, npy_intp at, int is_double) {
    return is_double ? ((const double *)from)[at] : (double)((const float *)from)[at];
}

/* Define a loop that returns how many of `count` ascending boundaries are below a value, or (`right`) not above it. */
#define COUNT_BELOW(NAME, TYPE)                                                                                        \
    static npy_intp NAME(const TYPE *edges, npy_intp count, TYPE value, int right) {                                   \
        npy_intp low = 0, high = count;                                                                                \
        while (low < high) {                                                                                           \
            const npy_intp middle = low + (high - low) / 2;                                                            \
            const int is_below = right ? edges[middle] <= value : edges[middle] < value;                               \
            low = is_below ? middle + 1 : low;                                                                         \
            high = is_below ? high : middle;                                                                           \
        }                                                                                                              \
        return low;                                                                                                    \
    }

COUNT_BELOW(below_f32, float)
COUNT_BELOW(below_f64, double)
COUNT_BELOW(below_i64, int64_t)

/* Return how many edges of a float array are below a value, or not above it. */
static npy_intp below(const Array *edges, double value, int right) {
    const npy_intp count = PyArray_DIM(edges, 0);
    return PyArray_TYPE(edges) == NPY_DOUBLE
               ? below_f64((const double *)PyArray_DATA(edges), count, value, right)
               : below_f32((const float *)PyArray_DATA(edges), count, (float)value, right);
}

/* Whether a float array has a NaN. */
static int has_nan(const Array *array) {
    const char *from = PyArray_BYTES(array);
    int found = 0;
    for (npy_intp i = 0; i < count_of(array); i++) {
        const double x = real_at(from, i, PyArray_TYPE(array) == NPY_DOUBLE);
        found |= x != x;
    }
    return found;
}

typedef struct {
    const Array *edges;
    const char *values;
    int64_t *to;
    int type, right;
} BelowJob;

/* Count boundaries below some values; NaN is above all. Needs no GIL. */
static void count_all_below(void *given, int64_t from, int64_t to) {
    const BelowJob *job = given;
    const npy_intp length = PyArray_DIM(job->edges, 0);
    for (int64_t i = from; i < to; i++) {
        if (job->type == NPY_INT64) {
            job->to[i] = below_i64((const int64_t *)PyArray_DATA(job->edges), length, ((const int64_t *)job->values)[i],
                                   job->right);
        } else {
            const double value = real_at(job->values, i, job->type == NPY_DOUBLE);
            job->to[i] = value != value ? length : below(job->edges, value, job->right);
        }
    }
}

/* count_below(boundaries, values, right) of a row of boundaries. Returns a new int64 array; NULL without an exception
 * unless both are dense int64, float32 or float64 of one type, and no boundary is NaN. */
static PyObject *handle_count_below(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *edges = call->count == 3 && call->out == NULL ? any_plain_array(call->args[0]) : NULL;
    Array *values = edges == NULL ? NULL : any_plain_array(call->args[1]);
    const int type = values == NULL ? -1 : PyArray_TYPE(values);
    if (values == NULL || PyArray_NDIM(edges) != 1 || type != PyArray_TYPE(edges) || !PyBool_Check(call->args[2]) ||
        (type != NPY_INT64 && ((type != NPY_FLOAT && type != NPY_DOUBLE) || has_nan(edges)))) {
        return NULL;
    }
    Array *result = new_array(PyArray_NDIM(values), PyArray_DIMS(values), NPY_INT64);
    if (result != NULL) {
        BelowJob job = {edges, PyArray_BYTES(values), (int64_t *)PyArray_DATA(result), type, call->args[2] == Py_True};
        do_ranges(count_all_below, &job, count_of(values), count_of(values) * 8);
    }
    return (PyObject *)result;
}

/* even_edges(low, high, count, dtype): edges of equal parts, as NumPy's linspace has them. Returns a new array; NULL
 * without an exception for other dtypes than float32 and float64, and for parts of no length. */
static PyObject *handle_even_edges(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double low, high, number;
    PyArray_Descr *dtype = call->count == 4 && call->out == NULL ? dtype_of(call->args[3]) : NULL;
    if (dtype == NULL || (dtype->type_num != NPY_FLOAT && dtype->type_num != NPY_DOUBLE) ||
        !PyLong_CheckExact(call->args[2]) || !read_number(call->args[0], &low) || !read_number(call->args[1], &high) ||
        !read_number(call->args[2], &number) || number < 1 || number > 1e6 || (high - low) / number == 0) {
        return NULL;
    }
    npy_intp size = (npy_intp)number + 1;
    const double step = (high - low) / number;
    Array *result = new_array(1, &size, dtype->type_num);
    for (npy_intp i = 0; result != NULL && i < size; i++) {
        const double edge = i == size - 1 ? high : (double)i * step + low;
        if (dtype->type_num == NPY_DOUBLE) {
            ((double *)PyArray_DATA(result))[i] = edge;
        } else {
            ((float *)PyArray_DATA(result))[i] = (float)edge;
        }
    }
    return (PyObject *)result;
}

/* extent(self): the smallest and the largest element. Returns a tuple of floats; NULL without an exception unless self
 * is a float32 or float64 array with elements, of one dimension or dense, and both are finite. */
static PyObject *handle_extent(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    PyObject *given = call->count == 1 && call->out == NULL ? call->args[0] : NULL;
    if (given == NULL || !(is_array_of(given, NPY_FLOAT) || is_array_of(given, NPY_DOUBLE))) {
        return NULL;
    }
    Array *self = (Array *)given;
    const int is_row = PyArray_NDIM(self) == 1 && PyArray_ISALIGNED(self) && PyArray_ISNOTSWAPPED(self);
    if ((!is_row && plain_floats(given) == NULL) || PyArray_SIZE(self) == 0) {
        return NULL;
    }
    const npy_intp step = is_row ? PyArray_STRIDE(self, 0) : PyArray_ITEMSIZE(self);
    const int is_double = PyArray_TYPE(self) == NPY_DOUBLE;
    double low = real_at(PyArray_BYTES(self), 0, is_double), high = low, total = 0;
    for (npy_intp i = 0; i < PyArray_SIZE(self); i++) {
        const double x = real_at(PyArray_BYTES(self) + i * step, 0, is_double);
        low = x < low ? x : low;
        high = x > high ? x : high;
        total += x - x; /* NaN for what is not finite */
    }
    return total == 0 ? Py_BuildValue("(dd)", low, high) : NULL;
}

/* Add one to an element of a float array. */
static void count_one(Array *counts, npy_intp at) {
    if (PyArray_TYPE(counts) == NPY_DOUBLE) {
        ((double *)PyArray_DATA(counts))[at] += 1;
    } else {
        ((float *)PyArray_DATA(counts))[at] += 1;
    }
}

/* Return new counts of the points in the cells of a grid, whose points are rows of as many numbers. */
static Array *counts_of(const Array *points, Array *const *edges, int axes) {
    npy_intp shape[MOST_AXES];
    for (int i = 0; i < axes; i++) {
        shape[i] = PyArray_DIM(edges[i], 0) - 1;
    }
    Array *counts = new_array(axes, shape, PyArray_TYPE(points));
    if (counts == NULL) {
        return NULL;
    }
    const int is_double = PyArray_TYPE(points) == NPY_DOUBLE;
    memset(PyArray_DATA(counts), 0, (size_t)(count_of(counts) * element_size(counts)));
    for (npy_intp row = 0; row < count_of(points) / axes; row++) {
        npy_intp cell = 0;
        int is_inside = 1;
        for (int i = 0; i < axes; i++) {
            const double x = real_at(PyArray_BYTES(points), row * axes + i, is_double);
            const npy_intp found = below(edges[i], x, 1) - 1;
            is_inside &= x >= real_at(PyArray_BYTES(edges[i]), 0, is_double) &&
                         x <= real_at(PyArray_BYTES(edges[i]), shape[i], is_double);
            cell = cell * shape[i] + (found < shape[i] - 1 ? found : shape[i] - 1);
        }
        if (is_inside) {
            count_one(counts, cell);
        }
    }
    return counts;
}

/* Whether edges are a dense row of at least two, of the type of the elements; and few elements are counted, whose
 * number a float holds. */
static int are_edges(const Array *edges, const Array *self) {
    return edges != NULL && PyArray_TYPE(edges) == PyArray_TYPE(self) && PyArray_NDIM(edges) == 1 &&
           PyArray_DIM(edges, 0) > 1 && count_of(self) < 1 << 24;
}

/* counts_between_edges(self, bins, weight, density) without a weight or a density. Returns a new array; NULL without an
 * exception for others, and unless points and edges are dense float32 or float64 of one type. */
static PyObject *handle_grid(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *self = call->count == 4 && call->out == NULL ? plain_floats(call->args[0]) : NULL, *edges[MOST_AXES];
    const int axes = self == NULL ? 0 : count_of_sequence(call->args[1]);
    if (axes < 1 || axes > MOST_AXES || call->args[2] != Py_None || call->args[3] != Py_False ||
        PyArray_NDIM(self) < 1 || PyArray_DIM(self, PyArray_NDIM(self) - 1) != axes) {
        return NULL;
    }
    for (int i = 0; i < axes; i++) {
        edges[i] = plain_floats(PySequence_Fast_GET_ITEM(call->args[1], i));
        if (!are_edges(edges[i], self)) {
            return NULL;
        }
    }
    return (PyObject *)counts_of(self, edges, axes);
}

/* histogram_between(self, bins, weight, density) without a weight or a density. Returns the tuple (counts, bins); NULL
 * without an exception for others, and unless both are dense float32 or float64 of one type. */
static PyObject *handle_histogram(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *self = call->count == 4 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    Array *edges = self == NULL ? NULL : plain_floats(call->args[1]);
    if (self == NULL || call->args[2] != Py_None || call->args[3] != Py_False || !are_edges(edges, self)) {
        return NULL;
    }
    Array *counts = counts_of(self, &edges, 1);
    return counts == NULL ? NULL : Py_BuildValue("(NO)", counts, edges);
}

const CompiledKernel bins_kernels[] = {
    {"count_below", handle_count_below, NULL, QUIET},
    {"even_edges", handle_even_edges, NULL, QUIET},
    {"extent", handle_extent, NULL, QUIET},
    {"counts_between_edges", handle_grid, NULL, QUIET},
    {"histogram_between", handle_histogram, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
