/* Order statistics of short rows along any dimension: the first elements in order, the k-th, the one in the middle. */

#include "kernels.h"

/* Up to how many elements of a row are kept in order, and of an array are done here; the Python does more. */
#define MOST_ORDERED 32
#define MOST_ELEMENTS 16384

/* Which elements of a row are taken, of those in order. */
typedef enum { TAKE_FIRST, TAKE_ONE, TAKE_MIDDLE, TAKE_MIDDLE_NUMBER } Take;

typedef struct {
    const char *from;
    char *to;
    int64_t *indices;
    npy_intp outer, along, inner, taken, place;
    int is_double, is_descending;
    Take take;
} OrderJob;

/* Whether x stands before y: NaN last, or first where the order is descending. */
static inline int stands_before(double x, double y, int is_descending) {
    if (is_descending) {
        return x > y || (x != x && y == y);
    }
    return x < y || (y != y && x == x);
}

/* Write the indices of a row's elements in order, equal ones as they stand. Returns how many are NaN. */
static npy_intp order_row(const OrderJob *job, const char *row, npy_intp *order) {
    double values[MOST_ORDERED];
    npy_intp lost = 0;
    for (npy_intp i = 0; i < job->along; i++) {
        const npy_intp at = i * job->inner;
        const double x = job->is_double ? ((const double *)row)[at] : ((const float *)row)[at];
        npy_intp to = i;
        for (; to > 0 && stands_before(x, values[to - 1], job->is_descending); to--) {
            values[to] = values[to - 1];
            order[to] = order[to - 1];
        }
        values[to] = x;
        order[to] = i;
        lost += x != x;
    }
    return lost;
}

/* Return which of the elements in order is the first that is taken, of a row with some NaN. */
static npy_intp first_place(const OrderJob *job, npy_intp lost) {
    switch (job->take) {
    case TAKE_ONE:
        return job->place;
    case TAKE_MIDDLE: /* the first NaN, if there is one */
        return lost > 0 ? job->along - lost : (job->along - 1) / 2;
    case TAKE_MIDDLE_NUMBER:
        return lost == job->along ? 0 : (job->along - lost - 1) / 2;
    default:
        return 0;
    }
}

/* Take elements of all rows. Needs no GIL. */
static void take_in_order(void *given) {
    const OrderJob *job = given;
    const size_t size = job->is_double ? sizeof(double) : sizeof(float);
    npy_intp order[MOST_ORDERED];
    for (npy_intp o = 0; o < job->outer; o++) {
        for (npy_intp k = 0; k < job->inner; k++) {
            const char *row = job->from + (size_t)(o * job->along * job->inner + k) * size;
            const npy_intp first = first_place(job, order_row(job, row, order));
            for (npy_intp i = 0; i < job->taken; i++) {
                const npy_intp to = (o * job->taken + i) * job->inner + k, from = order[first + i];
                memcpy(job->to + (size_t)to * size, row + (size_t)(from * job->inner) * size, size);
                job->indices[to] = from;
            }
        }
    }
}

/* Return the axis that an object means of an array of dimensions; -1 where it means none. */
static int axis_of(PyObject *object, const Array *self) {
    double dim;
    const int ndim = PyArray_NDIM(self);
    if (!PyLong_CheckExact(object) || !read_number(object, &dim) || dim < -ndim || dim >= ndim) {
        return -1;
    }
    return (int)dim + (dim < 0 ? ndim : 0);
}

/* Take `job->taken` elements along a dimension, which is dropped where it is not `kept`. Returns the tuple (values,
 * indices); NULL without an exception unless self is a dense float array of short rows. */
static PyObject *taken_in_order(Array *self, PyObject *dim, int is_kept, OrderJob *job) {
    const int axis = self == NULL ? -1 : axis_of(dim, self), ndim = axis < 0 ? 0 : PyArray_NDIM(self);
    npy_intp shape[NPY_MAXDIMS];
    int dims = 0;
    if (axis < 0 || count_of(self) == 0 || count_of(self) > MOST_ELEMENTS || PyArray_DIM(self, axis) > MOST_ORDERED ||
        job->taken < 0 || job->taken + job->place > PyArray_DIM(self, axis) || job->place < 0) {
        return NULL;
    }
    job->outer = job->inner = 1;
    for (int i = 0; i < ndim; i++) {
        job->outer *= i < axis ? PyArray_DIM(self, i) : 1;
        job->inner *= i > axis ? PyArray_DIM(self, i) : 1;
        if (i != axis || is_kept) {
            shape[dims++] = i == axis ? job->taken : PyArray_DIM(self, i);
        }
    }
    Array *values = new_array(dims, shape, PyArray_TYPE(self)), *indices = new_array(dims, shape, NPY_INT64);
    PyObject *results = NULL;
    if (values != NULL && indices != NULL) {
        job->from = PyArray_BYTES(self);
        job->to = PyArray_BYTES(values);
        job->indices = (int64_t *)PyArray_DATA(indices);
        job->along = PyArray_DIM(self, axis);
        job->is_double = PyArray_TYPE(self) == NPY_DOUBLE;
        take_in_order(job);
        results = PyTuple_Pack(2, values, indices);
    }
    Py_XDECREF(values);
    Py_XDECREF(indices);
    return results;
}

/* The first `wanted` elements along a dimension, for topk and sort. Returns the tuple (values, indices); NULL without
 * an exception for others than `taken_in_order` takes. */
PyObject *first_in_order(Array *self, PyObject *dim, npy_intp wanted, int is_descending) {
    OrderJob job = {.taken = wanted, .is_descending = is_descending, .take = TAKE_FIRST};
    return taken_in_order(self, dim, 1, &job);
}

/* kthvalue(self, k, dim, keepdim). Returns the tuple (values, indices); NULL without an exception for others than
 * `taken_in_order` takes. */
static PyObject *handle_kthvalue(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double number;
    Array *self = call->count == 4 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    if (self == NULL || !PyLong_CheckExact(call->args[1]) || !read_number(call->args[1], &number) || number < 1 ||
        number > MOST_ORDERED || !PyBool_Check(call->args[3])) {
        return NULL;
    }
    OrderJob job = {.taken = 1, .place = (npy_intp)number - 1, .take = TAKE_ONE};
    return taken_in_order(self, call->args[2], call->args[3] == Py_True, &job);
}

/* median_and_position(self, dim, keepdim), and of those that are no NaN. Returns the tuple (values, indices); NULL
 * without an exception for others than `taken_in_order` takes. */
static PyObject *handle_middle(const CompiledKernel *kernel, const KernelCall *call) {
    Array *self = call->count == 3 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    if (self == NULL || !PyBool_Check(call->args[2])) {
        return NULL;
    }
    OrderJob job = {.taken = 1, .take = kernel->how == NULL ? TAKE_MIDDLE : TAKE_MIDDLE_NUMBER};
    return taken_in_order(self, call->args[1], call->args[2] == Py_True, &job);
}

const CompiledKernel ordered_kernels[] = {
    {"kthvalue", handle_kthvalue, NULL, QUIET},
    {"median_and_position", handle_middle, NULL, QUIET},
    {"nanmedian_and_position", handle_middle, "numbers", QUIET},
    {NULL, NULL, NULL, 0},
};
