/* Elements at positions of an index that may be smaller than the arrays: gather, scatter, index_copy, index_fill, put
 * and take, and sums and products at positions. Indices out of range are left to the Python. */

#include "writes.h"

#include <math.h>

/* A walk over an index in row-major order. `there` is of an array whose dimension `axis` the index names positions of;
 * strides are in bytes, 0 where the array is the same all along. */
typedef struct {
    Step step;
    int type, ndim, axis; /* the dimension that the index names positions of */
    npy_intp shape[NPY_MAXDIMS], index_strides[NPY_MAXDIMS], there_strides[NPY_MAXDIMS], here_strides[NPY_MAXDIMS];
    npy_intp size, width; /* of the dimension, and from one position of it to the next */
    npy_intp from_end;    /* what negative positions count from: the size, or 0 where they are refused */
    const char *index;
    char *there, *here;
    union {
        float f32;
        double f64;
        int64_t i64;
    } number; /* what `here` is where a number is given */
    npy_intp at[NPY_MAXDIMS]; /* the place in the index where the walk goes on */
    int is_out_of_range;
} Walk;

/* Define a walk on to the next elements that runs STEP for each, with the pointers `there` and `here`. It stops and
 * sets `is_out_of_range` at a bad index. Returns nothing. */
#define WALK(NAME, STEP)                                                                                               \
    static void NAME(void *given, int64_t first, int64_t end) {                                                        \
        Walk *job = given;                                                                                             \
        npy_intp *at = job->at;                                                                                        \
        const char *index = job->index;                                                                                \
        char *base = job->there, *here = job->here;                                                                    \
        for (int64_t i = first; i < end && !job->is_out_of_range; i++) {                                               \
            int64_t position = *(const int64_t *)index;                                                                \
            position += position < 0 ? job->from_end : 0;                                                              \
            if (position < 0 || position >= job->size) {                                                               \
                job->is_out_of_range = 1;                                                                              \
                return;                                                                                                \
            }                                                                                                          \
            char *there = base + (npy_intp)position * job->width;                                                      \
            STEP;                                                                                                      \
            int dim = job->ndim - 1;                                                                                   \
            for (; dim >= 0; dim--) {                                                                                  \
                index += job->index_strides[dim];                                                                      \
                base += job->there_strides[dim];                                                                       \
                here += job->here_strides[dim];                                                                        \
                if (++at[dim] < job->shape[dim]) {                                                                     \
                    break;                                                                                             \
                }                                                                                                      \
                index -= job->index_strides[dim] * at[dim];                                                            \
                base -= job->there_strides[dim] * at[dim];                                                             \
                here -= job->here_strides[dim] * at[dim];                                                              \
                at[dim] = 0;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        job->index = index;                                                                                            \
        job->there = base;                                                                                             \
        job->here = here;                                                                                              \
    }

WALK(take_4, *(uint32_t *)here = *(const uint32_t *)there)
WALK(take_8, *(uint64_t *)here = *(const uint64_t *)there)
WALK(put_4, *(uint32_t *)there = *(const uint32_t *)here)
WALK(put_8, *(uint64_t *)there = *(const uint64_t *)here)
WALK(add_to_f32, *(float *)there += *(const float *)here)
WALK(add_to_f64, *(double *)there += *(const double *)here)
WALK(multiply_f32, *(float *)there *= *(const float *)here)
WALK(multiply_f64, *(double *)there *= *(const double *)here)

/* Keep the larger or the smaller of two: NaN, if one is, of which the first stays. */
#define KEEP(TYPE, IS_BEYOND)                                                                                          \
    const TYPE old = *(const TYPE *)there, given = *(const TYPE *)here;                                                \
    *(TYPE *)there = old IS_BEYOND given || old != old ? old : given

WALK(larger_f32, KEEP(float, >=))
WALK(larger_f64, KEEP(double, >=))
WALK(smaller_f32, KEEP(float, <=))
WALK(smaller_f64, KEEP(double, <=))

/* Return the walk of a step for elements of some bytes; sums and products are of floats alone. */
static RangeWork work_of(Step step, npy_intp bytes) {
    static const RangeWork works[][2] = {
        {take_4, take_8}, {put_4, put_8}, {add_to_f32, add_to_f64},
        {multiply_f32, multiply_f64}, {larger_f32, larger_f64}, {smaller_f32, smaller_f64}};
    return works[step][bytes == 8];
}

/* Walk over the whole index, in its order. */
static void run_walk(Walk *job, RangeWork work) {
    const npy_intp count = PyArray_MultiplyList(job->shape, job->ndim);
    memset(job->at, 0, (size_t)job->ndim * sizeof *job->at);
    do_in_order(work, job, count, count);
}

/* Read a dimension of an array. Returns it, counted from the front; -1 if there is none. */
static int read_axis(const Array *array, PyObject *dim) {
    const int ndim = PyArray_NDIM(array);
    const long given = PyLong_CheckExact(dim) ? PyLong_AsLong(dim) : ndim, axis = given + (given < 0 ? ndim : 0);
    return PyErr_Occurred() || axis < 0 || axis >= ndim ? -1 : (int)axis;
}

/* Begin the walk over an index of a shape, whose numbers are positions along `axis` of an array. Returns 0 if a
 * dimension of the array is smaller, or the index has no elements. */
static int begin(Walk *job, Array *array, int axis, const Array *index, int ndim, const npy_intp *shape) {
    job->ndim = ndim;
    job->axis = axis;
    job->size = PyArray_DIM(array, axis);
    job->width = PyArray_STRIDE(array, axis);
    job->index = PyArray_BYTES(index);
    job->there = PyArray_BYTES(array);
    job->is_out_of_range = 0;
    job->from_end = 0;
    for (int i = 0; i < ndim; i++) {
        if ((i != axis && shape[i] > PyArray_DIM(array, i)) || shape[i] == 0) {
            return 0;
        }
        job->shape[i] = shape[i];
        job->there_strides[i] = i == axis ? 0 : PyArray_STRIDE(array, i);
        job->here_strides[i] = 0;
        /* an index of one dimension holds for all of the others */
        job->index_strides[i] = PyArray_NDIM(index) == ndim ? PyArray_STRIDE(index, i)
                                : i == axis                 ? PyArray_STRIDE(index, 0)
                                                            : 0;
    }
    return 1;
}

/* Have the walk read a source: an array of the type that is as large as the index or larger, one without dimensions, or
 * a number that the type holds. Returns 0 for any other. */
static int read_source(Walk *job, PyObject *source, int type) {
    double number;
    Array *array = plain_array(source, type);
    job->here = (char *)&job->number;
    if (array != NULL) {
        job->here = PyArray_BYTES(array);
        for (int i = 0; i < job->ndim && PyArray_NDIM(array) != 0; i++) {
            if (PyArray_NDIM(array) != job->ndim || PyArray_DIM(array, i) < job->shape[i]) {
                return 0;
            }
            job->here_strides[i] = PyArray_STRIDE(array, i);
        }
        return 1;
    }
    if (type == NPY_INT64 && PyLong_CheckExact(source)) {
        job->number.i64 = PyLong_AsLongLong(source);
        return !PyErr_Occurred();
    }
    const Array *whole = plain_array(source, NPY_INT64);
    if (whole != NULL && PyArray_NDIM(whole) == 0) {
        const int64_t element = *(const int64_t *)PyArray_BYTES(whole);
        if (element > INT64_C(1) << 24 || element < -(INT64_C(1) << 24)) {
            return 0; /* which a float may have to round */
        }
        number = (double)element;
    } else if (!read_number(source, &number)) {
        return 0;
    }
    if (type != NPY_FLOAT && type != NPY_DOUBLE) {
        return 0;
    }
    if (type == NPY_DOUBLE) {
        job->number.f64 = number;
        return 1;
    }
    job->number.f32 = (float)number;
    return isfinite(job->number.f32) || !isfinite(number);
}

/* Return what a call that writes begins with: the array itself where it is written in place, of any strides, else one
 * that is dense; borrowed, or NULL. */
static Array *start_of(const KernelCall *call) {
    return call->out == NULL ? any_plain_array(call->args[0]) : written_in_place(call);
}

/* Whether all positions of a dense index are in range: negative ones too, where they count from the end. */
static int are_inside(const Walk *job, const Array *index) {
    const int64_t *position = (const int64_t *)PyArray_BYTES(index);
    const uint64_t from_end = (uint64_t)job->from_end, range = (uint64_t)job->size + from_end;
    const npy_intp count = count_of(index);
    uint64_t signs = 0;
    for (npy_intp i = 0; i < count; i++) {
        const uint64_t each = (uint64_t)position[i] + from_end;
        signs |= each | (range - 1 - each); /* the first bit says that one is below 0 */
    }
    return signs >> 63 == 0;
}

/* Do what a walk does by the loops of dense arrays, or of slices. Returns 0, with nothing written, unless the arrays
 * and the index have the shapes for it. */
static int walked_dense(const Walk *job, Step step, Array *target, Array *index, PyObject *source) {
    const int is_sliced = PyArray_NDIM(index) == 1 && job->ndim > 1;
    ScatterJob dense = {.from = job->here, .to = job->there, .outer = 1, .inner = 1, .from_end = job->from_end};
    int from_step = 0;
    if (!PyArray_IS_C_CONTIGUOUS(target)) {
        return 0;
    }
    if (PyArray_Check(source) && PyArray_NDIM((Array *)source) > 0) { /* else one element stands for all */
        const Array *given = (const Array *)source;
        from_step = 1;
        for (int i = 0; i < job->ndim && PyArray_NDIM(given) == job->ndim; i++) {
            if (PyArray_DIM(given, i) != job->shape[i]) {
                return 0;
            }
        }
    }
    if (is_sliced) {
        return (step == PUT || step == ADD) && write_slices(target, job->axis, index, job->here, from_step,
                                                            step == PUT ? OVERWRITE : ACCUMULATE, job->from_end != 0);
    }
    for (int i = 0; i < job->ndim; i++) {
        if (job->ndim == PyArray_NDIM(target) && i != job->axis && PyArray_DIM(target, i) != job->shape[i]) {
            return 0;
        }
        dense.outer *= i < job->axis ? job->shape[i] : 1;
        dense.inner *= i > job->axis ? job->shape[i] : 1;
    }
    dense.index = (const int64_t *)PyArray_BYTES(index);
    dense.size = job->size;
    dense.along = job->shape[job->axis];
    dense.from_step = from_step;
    scatter_dense(&dense, step, PyArray_ITEMSIZE(target));
    return 1;
}

/* Walk with what is there in a copy of an array, or in the array that the call writes to. Returns it; NULL without an
 * exception, and nothing written, if an index was out of range or memory is shared, with one where there is no memory.
 */
static PyObject *walked_copy(Walk *job, Step step, Array *self, const KernelCall *call, Array *index,
                             PyObject *source) {
    if (!are_inside(job, index)) {
        return NULL;
    }
    if (call->out != NULL) {
        if (!source_is_apart((PyObject *)index, self) || !source_is_apart(source, self)) {
            return NULL;
        }
        if (walked_dense(job, step, self, index, source)) {
            return Py_NewRef((PyObject *)self);
        }
        run_walk(job, work_of(step, PyArray_ITEMSIZE(self)));
        return Py_NewRef((PyObject *)self);
    }
    Array *copy = new_like(self);
    if (copy == NULL) {
        return NULL;
    }
    copy_bytes(PyArray_BYTES(copy), PyArray_BYTES(self), PyArray_NBYTES(self));
    job->there = PyArray_BYTES(copy);
    if (walked_dense(job, step, copy, index, source)) {
        return (PyObject *)copy;
    }
    run_walk(job, work_of(step, PyArray_ITEMSIZE(self)));
    if (job->is_out_of_range) {
        Py_CLEAR(copy);
    }
    return (PyObject *)copy;
}

/* Whether an array has as many dimensions as are needed, and that shape if one is given; one for all has none. */
static int has_source_shape(const Array *source, int ndim, const npy_intp *shape) {
    const int given = PyArray_NDIM(source);
    if (given != ndim) {
        return given == 0 && shape != NULL;
    }
    return shape == NULL || memcmp(PyArray_DIMS(source), shape, (size_t)ndim * sizeof(npy_intp)) == 0;
}

/* Put, add or multiply at positions: of an index alike in dimensions, or of one of one dimension for slices where
 * `is_sliced`; negative ones count from the end if it `counts_back`. Returns a new array; NULL without an exception if
 * Python must compute it. */
static PyObject *scattered(const KernelCall *call, Step step, int is_sliced, int counts_back) {
    Walk job;
    Array *self = start_of(call);
    Array *index = self == NULL ? NULL : plain_array(call->args[2], NPY_INT64);
    const int is_float = self != NULL && (PyArray_TYPE(self) == NPY_FLOAT || PyArray_TYPE(self) == NPY_DOUBLE);
    if (index == NULL || width_of(self) == 0 || PyArray_NDIM(self) == 0 || (step != PUT && !is_float)) {
        return NULL;
    }
    const int ndim = PyArray_NDIM(self), axis = read_axis(self, call->args[1]);
    npy_intp shape[NPY_MAXDIMS];
    if (axis < 0 || PyArray_NDIM(index) != (is_sliced ? 1 : ndim)) {
        PyErr_Clear();
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        shape[i] = is_sliced ? (i == axis ? PyArray_DIM(index, 0) : PyArray_DIM(self, i)) : PyArray_DIM(index, i);
    }
    if (PyArray_Check(call->args[3]) && !has_source_shape((Array *)call->args[3], ndim, is_sliced ? shape : NULL)) {
        return NULL;
    }
    if (!begin(&job, self, axis, index, ndim, shape) || !read_source(&job, call->args[3], PyArray_TYPE(self))) {
        PyErr_Clear();
        return NULL;
    }
    job.from_end = counts_back ? job.size : 0;
    return walked_copy(&job, step, self, call, index, call->args[3]);
}

/* scatter(self, dim, index, src). Returns as `scattered`. */
static PyObject *handle_scatter(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    return call->count == 4 ? scattered(call, PUT, 0, 0) : NULL;
}

static const char fills[] = "fills";

/* index_copy(self, dim, index, source), and index_fill(self, dim, index, value). Returns as `scattered`. */
static PyObject *handle_slices(const CompiledKernel *kernel, const KernelCall *call) {
    const int is_fill = kernel->how != NULL, is_of_four = call->count == 4;
    const int is_array = is_of_four && PyArray_Check(call->args[3]) && PyArray_NDIM((Array *)call->args[3]) > 0;
    return is_of_four && is_array != is_fill ? scattered(call, PUT, 1, is_fill) : NULL;
}

/* scatter_reduced(self, dim, index, src, reduce), and scatter_reduce with what stands in self: sums, products and
 * extremes. Returns as `scattered`. */
static PyObject *handle_reduced(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    const char *word = call->count >= 5 && PyUnicode_Check(call->args[4]) ? PyUnicode_AsUTF8(call->args[4]) : NULL;
    if (word == NULL || call->count > 6 || (call->count == 6 && call->args[5] != Py_True)) {
        PyErr_Clear();
        return NULL;
    }
    const int is_sum = strcmp(word, "sum") == 0 || strcmp(word, "add") == 0;
    const int is_product = strcmp(word, "prod") == 0 || strcmp(word, "multiply") == 0;
    const int is_largest = strcmp(word, "amax") == 0, is_least = strcmp(word, "amin") == 0;
    const Step step = is_sum ? ADD : is_product ? MULTIPLY : is_largest ? LARGER : SMALLER;
    return is_sum || is_product || is_largest || is_least ? scattered(call, step, 0, 0) : NULL;
}

/* Have a walk see an array with elements as one dimension, and an index as another. Returns 0 without elements. */
static int begin_flat(Walk *job, Array *self, const Array *index) {
    *job = (Walk){.ndim = 1, .size = count_of(self), .from_end = count_of(self)};
    job->width = PyArray_ITEMSIZE(self);
    job->index = PyArray_BYTES(index);
    job->shape[0] = count_of(index);
    job->index_strides[0] = sizeof(int64_t);
    job->there = PyArray_BYTES(self);
    return job->shape[0] > 0;
}

/* put(self, index, source, accumulated). Returns a new array; NULL without an exception if Python must compute it. */
static PyObject *handle_put(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Walk job;
    Array *self = call->count == 4 ? start_of(call) : NULL;
    Array *index = self == NULL || !PyArray_IS_C_CONTIGUOUS(self) ? NULL : plain_array(call->args[1], NPY_INT64);
    Array *source = index == NULL ? NULL : plain_array(call->args[2], PyArray_TYPE(self));
    const int is_sum = call->count == 4 && call->args[3] == Py_True;
    if (source == NULL || width_of(self) == 0 || (is_sum && plain_floats((PyObject *)self) == NULL) ||
        count_of(source) != count_of(index) || !begin_flat(&job, self, index)) {
        return NULL;
    }
    job.here = PyArray_BYTES(source);
    job.here_strides[0] = PyArray_ITEMSIZE(self);
    return walked_copy(&job, is_sum ? ADD : PUT, self, call, index, call->args[2]);
}

/* Take what an index names into a new array of its shape. Returns it; NULL as `walked_copy`. */
static PyObject *taken(Walk *job, Array *self, const Array *index) {
    Array *result = new_of(PyArray_DESCR(self), PyArray_NDIM(index), PyArray_DIMS(index));
    if (result == NULL) {
        return NULL;
    }
    job->here = PyArray_BYTES(result);
    for (int i = 0; i < job->ndim; i++) {
        job->here_strides[i] = job->ndim == PyArray_NDIM(index) ? PyArray_STRIDE(result, i) : PyArray_ITEMSIZE(self);
    }
    run_walk(job, work_of(TAKE, PyArray_ITEMSIZE(self)));
    if (job->is_out_of_range) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

/* take(self, index). Returns a new array of the index's shape; NULL without an exception if Python must compute it. */
static PyObject *handle_take(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Walk job;
    Array *self = call->count == 2 && call->out == NULL ? any_plain_array(call->args[0]) : NULL;
    Array *index = self == NULL ? NULL : plain_array(call->args[1], NPY_INT64);
    return index == NULL || width_of(self) == 0 || !begin_flat(&job, self, index) ? NULL : taken(&job, self, index);
}

/* Gather by an index that is smaller than `self` along other dimensions. Returns as `handle_take`. */
PyObject *gather_part(Array *self, PyObject *dim, Array *index) {
    Walk job;
    const int axis = PyArray_NDIM(index) != PyArray_NDIM(self) ? -1 : read_axis(self, dim);
    if (axis < 0 || !begin(&job, self, axis, index, PyArray_NDIM(index), PyArray_DIMS(index))) {
        PyErr_Clear();
        return NULL;
    }
    return taken(&job, self, index);
}

/* scatter_add(self, dim, index, src). Returns as `scattered`. */
static PyObject *handle_scatter_add(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    const int is_of_four = call->count == 4 || (call->count == 5 && call->args[4] == Py_None);
    return is_of_four ? scattered(call, ADD, 0, 0) : NULL;
}

/* index_add(self, dim, index, source, alpha), for an alpha of 1. Returns as `scattered`. */
static PyObject *handle_index_add(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    const int is_of_five = call->count == 5 || (call->count == 6 && call->args[5] == Py_None);
    const int is_array = is_of_five && PyArray_Check(call->args[3]) && PyArray_NDIM((Array *)call->args[3]) > 0;
    const int is_plain = is_array && PyLong_CheckExact(call->args[4]) && PyLong_AsLong(call->args[4]) == 1;
    PyErr_Clear();
    return is_plain ? scattered(call, ADD, 1, 0) : NULL;
}

const CompiledKernel scatter_kernels[] = {
    {"scatter", handle_scatter, NULL, QUIET | WRITES},
    {"scatter_reduced", handle_reduced, NULL, WRITES},
    {"scatter_reduce", handle_reduced, NULL, WRITES},
    {"scatter_add", handle_scatter_add, NULL, WRITES},
    {"index_add", handle_index_add, NULL, WRITES},
    {"index_copy", handle_slices, NULL, QUIET | WRITES},
    {"index_fill", handle_slices, fills, QUIET | WRITES},
    {"put", handle_put, NULL, WRITES},
    {"take", handle_take, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
