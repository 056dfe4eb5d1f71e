/* Images of another size, whose elements are weighted sums of a few along each dimension, and the gradients; those of
 * adaptive averages, too. */

#include "resizing.h"

#include "fast/arrays/loops.h"

#include <math.h>
#include <stdatomic.h>

#define MOST_SPACE 3

/* One dimension: its size in the image and in the result, and `taps` rows of `wanted` elements and weights. */
typedef struct {
    npy_intp size, wanted, taps;
    double scale, offset; /* of nearest elements */
    double (*filter)(double distance);
    int reach, align_corners; /* of filters that widen */
    int has_fillers;          /* whether some weights are 0 because an element has fewer than `taps` */
    npy_intp *at;
    void *weight;
} Dimension;

typedef struct {
    const char *from;
    char *to;
    npy_intp images, size, made, between; /* elements of an image that is read, written, or neither yet */
    int space, is_back;
    Dimension dims[MOST_SPACE];
    atomic_int has_failed;
} ResizeJob;

/* Where the elements of a filter begin, and how many there are. */
typedef struct {
    double centre, widened;
    npy_intp first, count;
} Spread;

/* Return where a filter that widens as the image shrinks lies. */
static Spread spread_of(const Dimension *d, npy_intp number) {
    double step = d->scale > 0 ? 1 / d->scale : (double)d->size / (double)d->wanted;
    if (d->align_corners) {
        step = d->wanted > 1 ? (double)(d->size - 1) / (double)(d->wanted - 1) : 0.0;
    }
    Spread spread = {.centre = step * ((double)number + 0.5), .widened = step > 1 ? step : 1};
    const double most = d->reach * spread.widened;
    const double first = spread.centre - most + 0.5;
    spread.first = first > 0 ? whole_until(first, d->size) : 0;
    spread.count = whole_until(spread.centre + most + 0.5, d->size) - spread.first;
    return spread;
}

/* Return the weight of one of its elements, before they are divided by their sum. */
static double spread_weight(const Dimension *d, const Spread *spread, npy_intp tap) {
    const double distance = fabs((double)(tap + spread->first) - spread->centre + 0.5) / spread->widened;
    return tap < spread->count ? d->filter(distance) : 0.0;
}

/* Return the weight of a triangle. */
static double triangle(double distance) {
    return distance < 1 ? 1 - distance : 0.0;
}

/* Return the weight of the cubic whose free coefficient is -1/2. */
static double bump(double distance) {
    if (distance < 1) {
        return (1.5 * distance - 2.5) * distance * distance + 1;
    }
    return distance < 2 ? ((-0.5 * distance + 2.5) * distance - 4) * distance + 2 : 0.0;
}

typedef void (*Taps)(const Dimension *d);

#define REAL float
#define OF(NAME) NAME##_f32
#include "resizing_loops.h"
#undef REAL
#undef OF
#define REAL double
#define OF(NAME) NAME##_f64
#include "resizing_loops.h"
#undef REAL
#undef OF

/* A way to resize. `taps`: how many an element has at most; 0 where sizes say so. */
typedef struct {
    Taps fill[2]; /* of float32, float64 */
    npy_intp taps;
    double offset;
    double (*filter)(double distance);
    int reach, has_corners; /* whether `align_corners` is an argument */
    int dims;               /* of planes or volumes, where no argument says them */
} Way;

/* Return how many elements the sums of a dimension have at most. */
static npy_intp most_taps(const Way *way, const Dimension *d) {
    npy_intp most = way->taps;
    for (npy_intp i = 0; way->taps == 0 && i < d->wanted; i++) {
        const npy_intp end = ((i + 1) * d->size + d->wanted - 1) / d->wanted;
        const npy_intp count = way->filter == NULL ? end - i * d->size / d->wanted : spread_of(d, i).count;
        most = count > most ? count : most;
    }
    return most;
}

/* Read the sizes of images with two dimensions before those of space (`outer` of adaptive averages: any number), and of
 * the result. Returns 0 for what is empty or very large. */
static int read_dimensions(ResizeJob *job, const Way *way, int outer, const npy_intp *sizes, const npy_intp *wanted,
                           const double *scales, int align_corners) {
    npy_intp had = 1, makes = 1;
    job->images = 1;
    for (int i = 0; i < outer; i++) {
        job->images *= sizes[i];
        if (sizes[i] < 1 || job->images > INT32_MAX) {
            return 0;
        }
    }
    for (int i = 0; i < job->space; i++) {
        Dimension *d = &job->dims[i];
        *d = (Dimension){sizes[outer + i], wanted[i], 0, scales[i], way->offset, way->filter, way->reach, align_corners,
                         way->taps == 0, NULL, NULL};
        if (d->size < 1 || d->wanted < 1) {
            return 0;
        }
        had *= d->size;
        makes *= d->wanted;
        if (had > INT32_MAX / job->images || makes > INT32_MAX / job->images || d->size > INT32_MAX / makes) {
            return 0;
        }
        d->taps = most_taps(way, d);
        if (d->taps < 1 || d->taps > INT32_MAX / d->wanted) {
            return 0;
        }
    }
    job->size = job->is_back ? makes : had;
    job->made = job->is_back ? had : makes;
    npy_intp left = job->size;
    for (int i = job->space - 1; i > 0; i--) { /* what the steps but the last write */
        const Dimension *d = &job->dims[i];
        left = job->is_back ? left / d->wanted * d->size : left / d->size * d->wanted;
        job->between = left > job->between ? left : job->between;
    }
    return 1;
}

/* Find the elements and weights of all dimensions, and write the result. Returns it; NULL with an exception if memory
 * runs out. */
static PyObject *resized(ResizeJob *job, const Way *way, const Array *from, int ndim, const npy_intp *shape) {
    const int is_double = PyArray_TYPE(from) == NPY_DOUBLE;
    size_t count = 0;
    for (int i = 0; i < job->space; i++) {
        count += (size_t)(job->dims[i].taps * job->dims[i].wanted);
    }
    char *room = PyMem_RawMalloc(count * (sizeof(npy_intp) + sizeof(double)));
    Array *result = room == NULL ? (Array *)PyErr_NoMemory() : new_array(ndim, shape, PyArray_TYPE(from));
    if (result != NULL) {
        char *next = room;
        for (int i = 0; i < job->space; i++) {
            Dimension *d = &job->dims[i];
            d->at = (npy_intp *)next;
            d->weight = next + (size_t)(d->taps * d->wanted) * sizeof(npy_intp);
            next += (size_t)(d->taps * d->wanted) * (sizeof(npy_intp) + sizeof(double));
            way->fill[is_double](d);
        }
        job->from = PyArray_BYTES(from);
        job->to = PyArray_BYTES(result);
        do_ranges(is_double ? resize_images_f64 : resize_images_f32, job, job->images, count_of(result));
        if (job->has_failed) {
            Py_DECREF(result);
            result = (Array *)PyErr_NoMemory();
        }
    }
    PyMem_RawFree(room);
    return (PyObject *)result;
}

/* Read how much each dimension grows, 0 for None. Returns 0 unless each is None or a number. */
static int read_scales(PyObject *const *given, int count, double *scales) {
    for (int i = 0; i < count; i++) {
        scales[i] = 0;
        if (given[i] != Py_None && !read_number(given[i], &scales[i])) {
            return 0;
        }
    }
    return 1;
}

/* upsample_linear(self, output_size, align_corners, *scales), and the other ways. Returns a new array; NULL without an
 * exception unless self is dense float32 or float64 with elements; with one if memory runs out. */
static PyObject *handle_resize(const CompiledKernel *kernel, const KernelCall *call) {
    const Way *way = kernel->how;
    ResizeJob job = {.space = (int)call->count - 3};
    npy_intp shape[MOST_SPACE + 2];
    double scales[MOST_SPACE];
    Array *self = job.space < 1 || job.space > MOST_SPACE || call->out != NULL ? NULL : plain_floats(call->args[0]);
    if (self == NULL || PyArray_NDIM(self) != job.space + 2 || count_of(self) == 0 ||
        count_of_sequence(call->args[1]) != job.space || !read_ints(call->args[1], shape + 2, job.space) ||
        !PyBool_Check(call->args[2]) || !read_scales(call->args + 3, job.space, scales) ||
        !read_dimensions(&job, way, 2, PyArray_DIMS(self), shape + 2, scales, call->args[2] == Py_True)) {
        return NULL;
    }
    shape[0] = PyArray_DIM(self, 0);
    shape[1] = PyArray_DIM(self, 1);
    return resized(&job, way, self, job.space + 2, shape);
}

/* Return a new tensor of a gradient whose dimensions before those of space are those of `shape`; NULL without an
 * exception where they are not, or for a gradient that is not dense. */
static PyObject *gradient_of(ResizeJob *job, const Way *way, PyObject *tensor, int ndim, const npy_intp *shape,
                             const double *scales, int align_corners) {
    PyObject *arrays[1], *made = NULL;
    if (fast_path_arrays(&tensor, 1, Py_None, arrays) <= 0) {
        return NULL;
    }
    Array *grad = plain_floats(arrays[0]);
    const int outer = ndim - job->space;
    job->is_back = 1;
    if (grad == NULL || PyArray_NDIM(grad) != ndim ||
        memcmp(PyArray_DIMS(grad), shape, (size_t)outer * sizeof(npy_intp)) != 0 ||
        !read_dimensions(job, way, outer, shape, PyArray_DIMS(grad) + outer, scales, align_corners)) {
        return NULL;
    }
    PyObject *array = resized(job, way, grad, ndim, shape);
    if (array != NULL) {
        made = wrap(NULL, array);
        Py_DECREF(array);
    }
    return made;
}

/* resized_linear_backward(grad_output, output_size, input_size, align_corners, *scales), and the other ways. Returns a
 * new tensor; NULL without an exception unless the fast path takes the gradient, and sizes are its own. */
static PyObject *handle_backward(const CompiledKernel *kernel, const KernelCall *call) {
    const Way *way = kernel->how;
    const int before = 3 + way->has_corners;
    ResizeJob job = {.space = (int)call->count - before};
    npy_intp shape[MOST_SPACE + 2], wanted[MOST_SPACE];
    double scales[MOST_SPACE];
    if (job.space < 1 || job.space > MOST_SPACE || call->out != NULL ||
        count_of_sequence(call->args[1]) != job.space || !read_ints(call->args[1], wanted, job.space) ||
        count_of_sequence(call->args[2]) != job.space + 2 || !read_ints(call->args[2], shape, job.space + 2) ||
        (way->has_corners && !PyBool_Check(call->args[3])) || !read_scales(call->args + before, job.space, scales)) {
        return NULL;
    }
    PyObject *made = gradient_of(&job, way, call->args[0], job.space + 2, shape, scales,
                                 way->has_corners && call->args[3] == Py_True);
    for (int i = 0; made != NULL && i < job.space; i++) {
        if (job.dims[i].wanted != wanted[i]) {
            Py_CLEAR(made); /* which the Python tells */
        }
    }
    return made;
}

/* adaptive_avg_pool_backward(grad, shape, dims). Returns a new tensor; NULL without an exception unless the fast path
 * takes the gradient, and its dimensions but the last are those of `shape`. */
static PyObject *handle_adaptive(const CompiledKernel *kernel, const KernelCall *call) {
    ResizeJob job = {0};
    npy_intp shape[MOST_SPACE + 2];
    const double scales[MOST_SPACE] = {0};
    double dims = 2;
    const int ndim = call->count < 2 || call->count > 3 || call->out != NULL ? -1 : count_of_sequence(call->args[1]);
    if ((call->count == 3 && !read_number(call->args[2], &dims)) || (dims != 2 && dims != 3) || ndim <= dims ||
        ndim > dims + 2 || !read_ints(call->args[1], shape, ndim)) {
        return NULL;
    }
    job.space = (int)dims;
    return gradient_of(&job, kernel->how, call->args[0], ndim, shape, scales, 0);
}

/* _adaptive_avg_pool2d_backward(grad_output, self), and of volumes. Returns a new tensor; NULL without an exception
 * unless the fast path takes both, and their dimensions but the last are the same. */
static PyObject *handle_adaptive_backward(const CompiledKernel *kernel, const KernelCall *call) {
    const Way *way = kernel->how;
    ResizeJob job = {.space = way->dims};
    PyObject *arrays[2];
    const double scales[MOST_SPACE] = {0};
    if (call->count != 2 || call->out != NULL || fast_path_arrays(call->args, 2, Py_None, arrays) <= 0 ||
        arrays[1] == Py_None) {
        return NULL;
    }
    const Array *self = (const Array *)arrays[1];
    const int outer = PyArray_NDIM(self) - job.space;
    return outer < 1 || outer > 2
               ? NULL
               : gradient_of(&job, way, call->args[0], PyArray_NDIM(self), PyArray_DIMS(self), scales, 0);
}

static const Way nearest = {{nearest_taps_f32, nearest_taps_f64}, 1, 0, NULL, 0, 0, 0};
static const Way exact = {{nearest_taps_f32, nearest_taps_f64}, 1, 0.5, NULL, 0, 0, 0};
static const Way linear = {{linear_taps_f32, linear_taps_f64}, 2, 0, NULL, 0, 1, 0};
static const Way cubic = {{cubic_taps_f32, cubic_taps_f64}, 4, 0, NULL, 0, 1, 0};
static const Way triangles = {{spread_taps_f32, spread_taps_f64}, 0, 0, triangle, 1, 1, 0};
static const Way bumps = {{spread_taps_f32, spread_taps_f64}, 0, 0, bump, 2, 1, 0};
static const Way adaptive = {{adaptive_taps_f32, adaptive_taps_f64}, 0, 0, NULL, 0, 0, 0};
static const Way planes = {{adaptive_taps_f32, adaptive_taps_f64}, 0, 0, NULL, 0, 0, 2};
static const Way volumes = {{adaptive_taps_f32, adaptive_taps_f64}, 0, 0, NULL, 0, 0, 3};

const CompiledKernel resizing_kernels[] = {
    {"upsample_linear", handle_resize, &linear, 0},
    {"upsample_cubic", handle_resize, &cubic, 0},
    {"upsample_linear_antialiased", handle_resize, &triangles, 0},
    {"upsample_cubic_antialiased", handle_resize, &bumps, 0},
    {"resized_nearest_backward", handle_backward, &nearest, OF_NUMPY},
    {"resized_nearest_exact_backward", handle_backward, &exact, OF_NUMPY},
    {"resized_linear_backward", handle_backward, &linear, OF_NUMPY},
    {"resized_cubic_backward", handle_backward, &cubic, OF_NUMPY},
    {"resized_bilinear_aa_backward", handle_backward, &triangles, OF_NUMPY},
    {"resized_bicubic_aa_backward", handle_backward, &bumps, OF_NUMPY},
    {"_adaptive_avg_pool2d_backward", handle_adaptive_backward, &planes, OF_NUMPY},
    {"_adaptive_avg_pool3d_backward", handle_adaptive_backward, &volumes, OF_NUMPY},
    {"adaptive_avg_pool_backward", handle_adaptive, &adaptive, OF_NUMPY},
    {NULL, NULL, NULL, 0},
};
