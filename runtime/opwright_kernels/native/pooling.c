/* Kernels of windows: pooling of planes and volumes. */

#include "kernels.h"

#include "axis.h"
#include "fast/arrays/loops.h"

/* How many windows of a row are pooled at once. */
#define POOL_BLOCK 256
/* Rows of fewer windows are pooled one by one: what a row takes before it begins is more. */
#define NARROW_POOL 16

typedef struct {
    const char *from;
    char *to;
    int64_t *index;
    npy_intp planes;
    npy_intp divisor; /* 0: the number of elements */
    int counts_padding;
    Axis layers, rows, columns; /* of planes, one layer */
} WindowsJob;

/* Write the range of a window as `indices_within`. Returns how many indices the average divides by: those within the
 * axis, or with `counts_padding` those of the padding, too. */
static inline npy_intp counted_extent(const WindowsJob *job, const Axis *axis, npy_intp window, npy_intp *first,
                                      npy_intp *end) {
    indices_within(axis, window, first, end);
    return job->counts_padding ? padded_extent(axis, window) : *end - *first;
}

FUSED

#define REAL float
#define OF(NAME) NAME##_f32
#include "pooling_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "pooling_loops.h"
#undef REAL
#undef OF

UNFUSED

/* Read kernel size, stride (empty: the kernel size), padding and dilation of the last `ndim` dimensions, and count the
 * windows. Returns 0 if they are not lists of ints in range, or if there is no window. */
static int read_axes(WindowsJob *job, int ndim, PyObject *kernel, PyObject *stride, PyObject *padding,
                     PyObject *dilation, int is_ceiled) {
    npy_intp values[4][3] = {{0}, {0}, {0}, {1, 1, 1}};
    PyObject *lists[4] = {kernel, count_of_sequence(stride) == 0 ? kernel : stride, padding, dilation};
    Axis *axes[3] = {&job->layers, &job->rows, &job->columns};
    for (int i = 0; i < 4; i++) {
        if (lists[i] != NULL && !read_ints(lists[i], values[i], ndim)) {
            return 0;
        }
    }
    for (int i = 0; i < ndim; i++) {
        Axis *axis = axes[3 - ndim + i];
        axis->kernel = values[0][i];
        axis->step = values[1][i];
        axis->pad = values[2][i];
        axis->gap = values[3][i];
        if (axis->kernel < 1 || axis->step < 1 || axis->pad < 0 || axis->gap < 1 || axis->size < 1) {
            return 0;
        }
        npy_intp left = axis->size + 2 * axis->pad - axis->gap * (axis->kernel - 1) - 1;
        axis->count = left < 0 ? 0 : (left + (is_ceiled ? axis->step - 1 : 0)) / axis->step + 1;
        axis->count -= is_ceiled && (axis->count - 1) * axis->step >= axis->size + axis->pad;
        if (axis->count < 1) {
            return 0;
        }
    }
    return 1;
}

/* Read the output sizes of adaptive pooling, into how many windows each of the last `ndim` dimensions is divided.
 * Returns 0 if they are no list of ints from 1 on. */
static int read_counts(WindowsJob *job, int ndim, PyObject *counts) {
    npy_intp values[3];
    Axis *axes[3] = {&job->layers, &job->rows, &job->columns};
    if (!read_ints(counts, values, ndim)) {
        return 0;
    }
    for (int i = 0; i < ndim; i++) {
        Axis *axis = axes[3 - ndim + i];
        *axis = (Axis){axis->size, 0, 1, 0, 1, values[i]};
        if (axis->count < 1 || axis->size < 1) {
            return 0;
        }
    }
    return 1;
}

/* Read a dense float array of planes (`image` is 2) or volumes (3), with or without a batch, into the job. Returns it,
 * borrowed; NULL without an exception for anything else. */
static Array *read_images(PyObject *object, WindowsJob *job, int image) {
    Array *self = plain_floats(object);
    int ndim = self == NULL ? 0 : PyArray_NDIM(self);
    if (ndim != image + 1 && ndim != image + 2) {
        return NULL;
    }
    job->from = PyArray_BYTES(self);
    job->planes = 1;
    for (int i = 0; i < ndim - image; i++) {
        job->planes *= PyArray_DIM(self, i);
    }
    job->layers = (Axis){image == 3 ? PyArray_DIM(self, ndim - 3) : 1, 1, 1, 0, 1, 1};
    job->rows.size = PyArray_DIM(self, ndim - 2);
    job->columns.size = PyArray_DIM(self, ndim - 1);
    return job->planes > 0 ? self : NULL;
}

/* Return a new array with self's shape, but a window's result for each element of a plane or volume; NULL with an
 * exception. */
static Array *new_pooled(const WindowsJob *job, Array *self, int image, int type) {
    npy_intp shape[5];
    int ndim = PyArray_NDIM(self);
    memcpy(shape, PyArray_DIMS(self), (size_t)ndim * sizeof(npy_intp));
    if (image == 3) {
        shape[ndim - 3] = job->layers.count;
    }
    shape[ndim - 2] = job->rows.count;
    shape[ndim - 1] = job->columns.count;
    return new_array(ndim, shape, type);
}

/* Pool maxima. Returns the tuple (values, int64 indices within the plane or volume); NULL with an exception. */
static PyObject *largest_of_windows(WindowsJob *job, Array *self, int image) {
    int type = PyArray_TYPE(self);
    Array *result = new_pooled(job, self, image, type), *index = new_pooled(job, self, image, NPY_INT64);
    PyObject *results = NULL;
    if (result != NULL && index != NULL) {
        job->to = PyArray_BYTES(result);
        job->index = (int64_t *)PyArray_BYTES(index);
        do_ranges(type == NPY_DOUBLE ? max_pool_f64 : max_pool_f32, job, job->planes, count_of(self));
        results = PyTuple_Pack(2, result, index);
    }
    Py_XDECREF(result);
    Py_XDECREF(index);
    return results;
}

/* Pool averages. Returns a new array; NULL with an exception. */
static PyObject *averages_of_windows(WindowsJob *job, Array *self, int image) {
    int type = PyArray_TYPE(self);
    Array *result = new_pooled(job, self, image, type);
    if (result != NULL) {
        job->to = PyArray_BYTES(result);
        do_ranges(type == NPY_DOUBLE ? average_pool_f64 : average_pool_f32, job, job->planes, count_of(self));
    }
    return (PyObject *)result;
}

/* How many dimensions images have: what `how` of a kernel points to. */
static const int planes = 2, volumes = 3;

/* max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode) and max_pool3d. Returns the tuple (values,
 * indices); NULL without an exception unless self is dense float32 or float64, and the options are in range. */
static PyObject *handle_max_pool(const CompiledKernel *kernel, const KernelCall *call) {
    int image = *(const int *)kernel->how;
    WindowsJob job = {0};
    PyObject *const *args = call->args;
    Array *self = call->count == 6 && call->out == NULL ? read_images(args[0], &job, image) : NULL;
    if (self == NULL || !read_axes(&job, image, args[1], args[2], args[3], args[4], args[5] == Py_True)) {
        return NULL;
    }
    return largest_of_windows(&job, self, image);
}

/* avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) and avg_pool3d.
 * Returns a new array; NULL without an exception unless self is dense float32 or float64, and the options are in
 * range. */
static PyObject *handle_average_pool(const CompiledKernel *kernel, const KernelCall *call) {
    int image = *(const int *)kernel->how;
    WindowsJob job = {0};
    double divisor = 0;
    PyObject *const *args = call->args;
    Array *self = call->count == 7 && call->out == NULL ? read_images(args[0], &job, image) : NULL;
    if (self == NULL || !read_axes(&job, image, args[1], args[2], args[3], NULL, args[4] == Py_True)) {
        return NULL;
    }
    if (args[6] != Py_None && (!read_number(args[6], &divisor) || divisor == 0)) {
        return NULL;
    }
    job.divisor = (npy_intp)divisor;
    job.counts_padding = args[5] == Py_True;
    return averages_of_windows(&job, self, image);
}

/* adaptive_max_pool(self, output_size) and adaptive_avg_pool. Returns the tuple (values, indices), or a new array of
 * averages; NULL without an exception unless self is dense float32 or float64, and the sizes are in range. */
static PyObject *handle_adaptive_pool(const CompiledKernel *kernel, const KernelCall *call) {
    WindowsJob job = {0};
    int image = call->count == 2 && call->out == NULL ? count_of_sequence(call->args[1]) : 0;
    Array *self = image == 2 || image == 3 ? read_images(call->args[0], &job, image) : NULL;
    if (self == NULL || !read_counts(&job, image, call->args[1])) {
        return NULL;
    }
    return kernel->how != NULL ? largest_of_windows(&job, self, image) : averages_of_windows(&job, self, image);
}

const CompiledKernel pooling_kernels[] = {
    {"max_pool2d", handle_max_pool, &planes, QUIET},
    {"max_pool3d", handle_max_pool, &volumes, QUIET},
    {"avg_pool2d", handle_average_pool, &planes, 0},
    {"avg_pool3d", handle_average_pool, &volumes, 0},
    {"adaptive_max_pool", handle_adaptive_pool, &planes, QUIET},
    {"adaptive_avg_pool", handle_adaptive_pool, NULL, 0},
    {NULL, NULL, NULL, 0},
};
