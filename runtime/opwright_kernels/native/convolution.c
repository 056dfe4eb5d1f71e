/* Convolution of planes and lines without columns, and the gradient of its weight: of windows one step apart, strip by
 * strip, with sums in registers; of a channel at a time and of small images, kernel element by kernel element. */

#include "kernels.h"

#include "axis.h"
#include "fast/arrays/loops.h"

#include <stdatomic.h>

/* Products up to which the loop over kernel elements is faster than the set-up of other ways. */
#define FEW_PRODUCTS 32768

/* With more channels, or sums over fewer windows, products of matrices are faster. */
#define MOST_CHANNELS 64
#define FEW_WINDOWS 128
/* Channels of the result that one tile has, registers of their sums, and weights of a row. */
#define TILE_KEPT 4
#define TILE_LANES 8
#define TILE_TAPS 3
/* The most elements of a tile, which results are padded to. */
#define TILE_ELEMENTS 64
/* Strips are about as large, which is half of a core's second-level cache. */
#define STRIP_BYTES (1 << 19)

typedef struct {
    const char *from, *weight, *bias; /* the bias may be NULL */
    const char *grad;
    char *to;
    npy_intp images, channels, kept, groups;
    npy_intp each; /* channels of a group */
    Axis rows, columns;
    /* A strip has rows of planes, padded, for `strip_count` rows of results. Its results are rows as wide as the
     * strip. */
    char *strip, *made;
    npy_intp width, strip_count, strip_rows, strip_plane, strip_positions, strip_size, made_plane;
    atomic_int has_failed; /* to make scratch for a range */
} ConvolutionJob;

/* Return how many tiles the channels of a group's results are: of TILE_KEPT, then of one. */
static npy_intp tiles_of(const ConvolutionJob *job) {
    const npy_intp kept = job->kept / job->groups;
    return kept / TILE_KEPT + kept % TILE_KEPT;
}

FUSED

#define REAL float
#define OF(NAME) NAME##_f32
#include "convolution_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "convolution_loops.h"
#undef REAL
#undef OF

UNFUSED

/* Read stride, padding and dilation for `ndim` dimensions (1: a plane of one row) and count the windows; for a
 * transposed convolution those of the plain one that computes it. Returns 0 if they are not lists of ints in range, if
 * there is no window, or if a transposed one has a stride other than 1. */
static int read_windows(PyObject *const *options, ConvolutionJob *job, int ndim, int is_transposed) {
    npy_intp steps[2], pads[2], gaps[2];
    Axis *axes[2] = {ndim == 1 ? &job->columns : &job->rows, &job->columns};
    if (!read_ints(options[0], steps, ndim) || !read_ints(options[1], pads, ndim) ||
        !read_ints(options[2], gaps, ndim)) {
        return 0;
    }
    for (int i = 0; i < ndim; i++) {
        Axis *axis = axes[i];
        if (axis->kernel < 1 || gaps[i] < 1 || pads[i] < 0 || steps[i] < 1 || (is_transposed && steps[i] != 1)) {
            return 0;
        }
        const npy_intp reach = gaps[i] * (axis->kernel - 1);
        axis->step = steps[i];
        axis->gap = gaps[i];
        axis->pad = is_transposed ? reach - pads[i] : pads[i];
        const npy_intp left = axis->size + 2 * axis->pad - reach - 1;
        if (axis->pad < 0 || left < 0) {
            return 0;
        }
        axis->count = left / axis->step + 1;
    }
    return 1;
}

/* Read a dense input, the weight's shape, [stride, padding, dilation] and `given`, the number of groups. Returns 0 if
 * they do not match, or there is no window; a message is the Python's. */
static int read_convolution(ConvolutionJob *job, const Array *self, const npy_intp *weight, PyObject *const *options,
                            PyObject *given, int is_transposed) {
    const int ndim = PyArray_NDIM(self), is_line = ndim == 3;
    double groups;
    if (!read_number(given, &groups) || groups < 1 || count_of(self) < 1) {
        return 0;
    }
    job->from = PyArray_BYTES(self);
    job->groups = (npy_intp)groups;
    job->images = PyArray_DIM(self, 0);
    job->channels = PyArray_DIM(self, 1);
    job->kept = is_transposed ? weight[1] * job->groups : weight[0];
    job->each = job->channels / job->groups;
    job->rows = (Axis){is_line ? 1 : PyArray_DIM(self, 2), is_line ? 1 : weight[2], 1, 0, 1, 1};
    job->columns = (Axis){PyArray_DIM(self, ndim - 1), weight[ndim - 1], 1, 0, 1, 1};
    return job->channels % job->groups == 0 && job->kept % job->groups == 0 && job->kept >= 1 &&
           (is_transposed ? weight[0] == job->channels : weight[1] == job->each) &&
           read_windows(options, job, ndim - 2, is_transposed);
}

/* Whether the strip loops are fastest: stride 1, more than one kernel element, and few channels in a group. */
static int goes_by_strips(const ConvolutionJob *job) {
    return job->rows.step == 1 && job->columns.step == 1 && job->rows.kernel * job->columns.kernel > 1 &&
           job->each <= MOST_CHANNELS;
}

/* Whether the loop over kernel elements is fastest: few products in all, or one channel in each group (depthwise)
 * unless strips do that. */
static int goes_by_elements(const ConvolutionJob *job, npy_intp weights) {
    const double windows = (double)job->images * (double)job->rows.count * (double)job->columns.count;
    return (double)weights * windows <= FEW_PRODUCTS || (job->each == 1 && job->groups > 1 && !goes_by_strips(job));
}

/* Return a new scratch array for a strip, its results and `more` elements, which `rest` points to; NULL with an
 * exception. Sizes of strips are written to the job. */
static Array *make_strips(ConvolutionJob *job, int type, npy_intp more, char **rest) {
    const npy_intp size = type == NPY_DOUBLE ? 8 : 4, reach = (job->rows.kernel - 1) * job->rows.gap;
    const npy_intp padded = job->columns.size + job->columns.pad;
    job->width = padded > job->columns.count ? padded : job->columns.count;
    npy_intp most = STRIP_BYTES / (job->each * job->width * size) - reach;
    most = most < reach + 1 ? reach + 1 : most;
    const npy_intp strips = (job->rows.count + most - 1) / most;
    job->strip_count = (job->rows.count + strips - 1) / strips;
    job->strip_rows = job->strip_count + reach;
    job->strip_plane = job->strip_rows * job->width;
    job->strip_positions = job->strip_count * job->width;
    job->made_plane = (job->strip_positions + TILE_ELEMENTS - 1) / TILE_ELEMENTS * TILE_ELEMENTS;
    job->strip_size = job->each * job->strip_plane + (job->columns.kernel - 1) * job->columns.gap + TILE_ELEMENTS;
    Array *scratch = new_array(1, (npy_intp[]){job->strip_size + TILE_KEPT * job->made_plane + more}, type);
    if (scratch != NULL) {
        job->strip = PyArray_BYTES(scratch);
        job->made = job->strip + job->strip_size * size;
        *rest = job->made + TILE_KEPT * job->made_plane * size;
    }
    return scratch;
}

/* Convolve into `job->to` strip by strip; the weight of a transposed convolution is flipped first. Returns 1; 0 with an
 * exception if memory runs out. */
static int convolve_by_strips(ConvolutionJob *job, int type, npy_intp weights, int is_transposed) {
    char *turned;
    Array *scratch = make_strips(job, type, is_transposed ? weights : 0, &turned);
    if (scratch == NULL) {
        return 0;
    }
    if (is_transposed) {
        (type == NPY_DOUBLE ? turn_weights_f64 : turn_weights_f32)(job, turned);
        job->weight = turned;
    }
    const npy_intp strips = (job->rows.count - 1) / job->strip_count + 1;
    do_ranges(type == NPY_DOUBLE ? convolve_strips_f64 : convolve_strips_f32, job, job->images * job->groups * strips,
              job->images * job->channels * job->rows.count * job->columns.count);
    Py_DECREF(scratch);
    if (job->has_failed) {
        PyErr_NoMemory();
    }
    return !job->has_failed;
}

/* Whether all elements are finite. With others the zeros of the padding, which loops skip or add, would give NaN. */
static int are_finite(const Array *array) {
    const char *data = PyArray_BYTES(array);
    return !(PyArray_TYPE(array) == NPY_DOUBLE ? has_infinities_f64 : has_infinities_f32)(data, count_of(array));
}

/* convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) of one or two
 * dimensions. Returns a new array (images, kept channels, *windows); NULL without an exception unless operands are
 * dense, match, and are of sizes for which these loops are fastest. */
static PyObject *handle_convolution(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    ConvolutionJob job = {0};
    PyObject *const *args = call->args;
    Array *self = call->count == 9 && call->out == NULL ? plain_floats(args[0]) : NULL;
    const int ndim = self == NULL ? 0 : PyArray_NDIM(self), is_transposed = ndim > 0 && args[6] == Py_True;
    Array *weight = ndim == 3 || ndim == 4 ? plain_array(args[1], PyArray_TYPE(self)) : NULL;
    npy_intp rests[2] = {0};
    if (weight == NULL || PyArray_NDIM(weight) != ndim ||
        !read_convolution(&job, self, PyArray_DIMS(weight), args + 3, args[8], is_transposed) ||
        (is_transposed && (!read_ints(args[7], rests, ndim - 2) || rests[0] != 0 || rests[1] != 0))) {
        return NULL;
    }
    const int type = PyArray_TYPE(self), by_elements = !is_transposed && goes_by_elements(&job, count_of(weight));
    if (!(by_elements || goes_by_strips(&job)) || !are_finite(weight)) {
        return NULL;
    }
    if (args[2] != Py_None) {
        Array *bias = plain_array(args[2], type);
        if (bias == NULL || count_of(bias) != job.kept) {
            return NULL;
        }
        job.bias = PyArray_BYTES(bias);
    }
    npy_intp shape[4] = {job.images, job.kept, job.rows.count, job.columns.count};
    shape[2] = ndim == 3 ? job.columns.count : shape[2];
    Array *result = new_array(ndim, shape, type);
    if (result != NULL) {
        job.weight = PyArray_BYTES(weight);
        job.to = PyArray_BYTES(result);
        if (by_elements) {
            do_ranges(type == NPY_DOUBLE ? convolve_f64 : convolve_f32, &job, job.images * job.kept,
                      count_of(weight) * job.images * job.rows.count * job.columns.count);
        } else if (!convolve_by_strips(&job, type, count_of(weight), is_transposed)) {
            Py_CLEAR(result);
        }
    }
    return (PyObject *)result;
}

/* weight_gradient(image, grad, shape, stride, padding, dilation, groups). Returns a new array of the weight's shape;
 * NULL without an exception unless operands are dense, match, are of sizes for which strips are fastest, and the result
 * is finite. */
static PyObject *handle_weight_gradient(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    ConvolutionJob job = {0};
    PyObject *const *args = call->args;
    Array *self = call->count == 7 && call->out == NULL ? plain_floats(args[0]) : NULL;
    const int ndim = self == NULL ? 0 : PyArray_NDIM(self);
    Array *grad = ndim == 3 || ndim == 4 ? plain_array(args[1], PyArray_TYPE(self)) : NULL;
    npy_intp shape[4];
    if (grad == NULL || PyArray_NDIM(grad) != ndim || count_of_sequence(args[2]) != ndim ||
        !read_ints(args[2], shape, ndim) || !read_convolution(&job, self, shape, args + 3, args[6], 0) ||
        !goes_by_strips(&job) || job.rows.count * job.columns.count < FEW_WINDOWS) {
        return NULL;
    }
    const npy_intp second = ndim == 3 ? job.columns.count : job.rows.count;
    const npy_intp wanted[4] = {job.images, job.kept, second, job.columns.count};
    if (memcmp(PyArray_DIMS(grad), wanted, (size_t)ndim * sizeof *wanted) != 0) {
        return NULL;
    }
    char *none;
    const int type = PyArray_TYPE(self);
    Array *result = new_array(ndim, shape, type), *scratch = result == NULL ? NULL : make_strips(&job, type, 0, &none);
    if (scratch == NULL) {
        Py_XDECREF(result);
        return NULL;
    }
    job.grad = PyArray_BYTES(grad);
    job.to = PyArray_BYTES(result);
    memset(job.to, 0, (size_t)(count_of(result) * element_size(result)));
    do_ranges(type == NPY_DOUBLE ? weigh_strips_f64 : weigh_strips_f32, &job, job.groups * tiles_of(&job),
              count_of(self));
    Py_DECREF(scratch);
    if (job.has_failed) {
        Py_DECREF(result);
        return PyErr_NoMemory();
    }
    if (!are_finite(result)) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

const CompiledKernel convolution_kernels[] = {
    {"convolution", handle_convolution, NULL, 0},
    {"weight_gradient", handle_weight_gradient, NULL, OF_NUMPY},
    {NULL, NULL, NULL, 0},
};
