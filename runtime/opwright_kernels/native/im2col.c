/* Windows of images and of lines as columns of matrices, and the images that columns add up to. */

#include "kernels.h"

#include "axis.h"
#include "fast/arrays/loops.h"

typedef struct {
    const char *from;
    char *to;
    npy_intp images, channels;
    npy_intp image_step, row_step; /* from an image to the next, from a row of the columns to the next, in elements */
    Axis rows, columns;
} ColumnsJob;

#define REAL float
#define OF(NAME) NAME##_f32
#include "im2col_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "im2col_loops.h"
#undef REAL
#undef OF

/* Read kernel size, stride, padding and dilation for one or two dimensions, whose sizes the job has, and count the
 * windows. Returns 0 if they are not lists of ints in range, or if there is no window. */
static int read_options(ColumnsJob *job, PyObject *const *options, int ndim) {
    npy_intp values[4][2];
    for (int i = 0; i < 4; i++) {
        if (!read_ints(options[i], values[i], ndim)) {
            return 0;
        }
    }
    Axis *axes[2] = {ndim == 1 ? &job->columns : &job->rows, &job->columns};
    job->rows = (Axis){.size = job->rows.size, .kernel = 1, .step = 1, .gap = 1, .count = 1};
    for (int i = 0; i < ndim; i++) {
        Axis *axis = axes[i];
        *axis = (Axis){axis->size, values[0][i], values[1][i], values[2][i], values[3][i], 0};
        if (axis->kernel < 1 || axis->step < 1 || axis->pad < 0 || axis->gap < 1) {
            return 0;
        }
        npy_intp left = axis->size + 2 * axis->pad - axis->gap * (axis->kernel - 1) - 1;
        axis->count = left < 0 ? 0 : left / axis->step + 1;
        if (axis->size < 1 || axis->count < 1) {
            return 0;
        }
    }
    return 1;
}

/* columns_of(image, kernel, stride, padding, dilation, beside): im2col of (images, channels, length) or (images,
 * channels, height, width). Returns a new array (images, channels * kernel elements, windows), or with `beside`
 * (channels * kernel elements, images * windows); NULL without an exception for anything but dense floats with
 * elements. */
static PyObject *handle_columns(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *image = call->count == 6 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    int ndim = image == NULL ? 0 : PyArray_NDIM(image) - 2;
    if ((ndim != 1 && ndim != 2) || count_of(image) < 1) {
        return NULL;
    }
    const npy_intp *shape = PyArray_DIMS(image);
    ColumnsJob job = {.images = shape[0], .channels = shape[1], .rows.size = ndim == 1 ? 1 : shape[2]};
    job.columns.size = shape[ndim + 1];
    if (!read_options(&job, call->args + 1, ndim)) {
        return NULL;
    }
    const int is_beside = call->args[5] == Py_True, type = PyArray_TYPE(image);
    const npy_intp height = job.channels * job.rows.kernel * job.columns.kernel;
    const npy_intp count = job.rows.count * job.columns.count;
    const npy_intp sizes[3] = {job.images, height, count}, flat[2] = {height, job.images * count};
    Array *made = is_beside ? new_array(2, flat, type) : new_array(3, sizes, type);
    if (made != NULL) {
        job.from = PyArray_BYTES(image);
        job.to = PyArray_BYTES(made);
        job.image_step = is_beside ? count : height * count;
        job.row_step = is_beside ? job.images * count : count;
        do_ranges(type == NPY_DOUBLE ? take_columns_f64 : take_columns_f32, &job, job.images * job.channels,
                  count_of(made));
    }
    return (PyObject *)made;
}

/* sum_of_windows(columns, sizes, kernel, stride, padding, dilation): col2im, where `columns` is (images, channels,
 * *kernel, *windows). Returns a new array (images, channels, *sizes); NULL without an exception for operands that are
 * not dense or do not match. */
static PyObject *handle_sum(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *columns = call->count == 6 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    int ndim = columns == NULL ? 0 : count_of_sequence(call->args[1]);
    npy_intp shape[4] = {0};
    if ((ndim != 1 && ndim != 2) || PyArray_NDIM(columns) != 2 + 2 * ndim || count_of(columns) < 1 ||
        !read_ints(call->args[1], shape + 2, ndim)) {
        return NULL;
    }
    const npy_intp *given = PyArray_DIMS(columns);
    ColumnsJob job = {.images = given[0], .channels = given[1], .rows.size = ndim == 1 ? 1 : shape[2]};
    job.columns.size = shape[ndim + 1];
    if (!read_options(&job, call->args + 2, ndim)) {
        return NULL;
    }
    /* The windows are those that are there: others of these sizes could be more. */
    const npy_intp found[4] = {job.rows.kernel, job.columns.kernel, given[2 + ndim], given[1 + 2 * ndim]};
    job.rows.count = ndim == 1 ? 1 : found[2];
    job.columns.count = found[3];
    if (found[0] != (ndim == 1 ? 1 : given[2]) || found[1] != given[1 + ndim]) {
        return NULL;
    }
    shape[0] = given[0];
    shape[1] = given[1];
    Array *made = new_array(2 + ndim, shape, PyArray_TYPE(columns));
    if (made != NULL) {
        job.from = PyArray_BYTES(columns);
        job.to = PyArray_BYTES(made);
        do_ranges(PyArray_TYPE(made) == NPY_DOUBLE ? add_columns_f64 : add_columns_f32, &job, job.images * job.channels,
                  count_of(columns));
    }
    return (PyObject *)made;
}

const CompiledKernel im2col_kernels[] = {
    {"columns_of", handle_columns, NULL, QUIET},
    {"sum_of_windows", handle_sum, NULL, 0},
    {NULL, NULL, NULL, 0},
};
