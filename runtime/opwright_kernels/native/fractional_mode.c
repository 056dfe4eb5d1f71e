/* Maxima of windows at random positions; the most frequent elements of short rows. */

#include "kernels.h"

/* Rows up to this length are compared element by element. */
#define LONGEST_ROW 64

typedef struct {
    const char *from, *samples;
    char *to;
    int64_t *index;
    npy_intp *starts;
    npy_intp planes, sizes[3], kernel[3], wanted[3];
    int dims, is_outside;
} FractionalJob;

typedef struct {
    const char *from;
    char *to;
    int64_t *index;
    npy_intp outer, length, inner;
} ModeJob;

#define REAL float
#define OF(NAME) NAME##_f32
#include "fractional_mode_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "fractional_mode_loops.h"
#undef REAL
#undef OF

/* Read images or volumes, sizes of windows and how many, and numbers of (batch, channels, dims). Returns the images,
 * borrowed; NULL without an exception unless they are dense and match. */
static Array *read_fractional(FractionalJob *job, PyObject *const *args, int dims) {
    Array *self = plain_floats(args[0]), *samples = self == NULL ? NULL : plain_array(args[3], PyArray_TYPE(self));
    int ndim = samples == NULL ? 0 : PyArray_NDIM(self), at = 3 - dims;
    *job = (FractionalJob){.sizes = {1, 1, 1}, .kernel = {1, 1, 1}, .wanted = {1, 1, 1}, .dims = dims};
    if ((ndim != dims + 1 && ndim != dims + 2) || count_of(self) == 0 || !read_ints(args[1], job->kernel + at, dims) ||
        !read_ints(args[2], job->wanted + at, dims) || PyArray_NDIM(samples) != 3 || PyArray_DIM(samples, 2) != dims ||
        PyArray_DIM(samples, 1) != PyArray_DIM(self, ndim - dims - 1)) {
        return NULL;
    }
    job->planes = ndim == dims + 2 ? PyArray_DIM(self, 0) * PyArray_DIM(self, 1) : PyArray_DIM(self, 0);
    for (int i = at; i < 3; i++) {
        job->sizes[i] = PyArray_DIM(self, ndim - 3 + i);
        if (job->kernel[i] < 1 || job->wanted[i] < 1) {
            return NULL;
        }
    }
    job->from = PyArray_BYTES(self);
    job->samples = PyArray_BYTES(samples);
    return count_of(samples) >= job->planes * dims ? self : NULL;
}

/* fractional_max_pool2d(self, kernel_size, output_size, random_samples), and fractional_max_pool3d. Returns the tuple
 * (values, indices); NULL without an exception unless arrays are dense and match, and windows within the image. */
static PyObject *handle_fractional(const CompiledKernel *kernel, const KernelCall *call) {
    FractionalJob job;
    int dims = *(const int *)kernel->how;
    Array *self = call->count == 4 && call->out == NULL ? read_fractional(&job, call->args, dims) : NULL;
    if (self == NULL) {
        return NULL;
    }
    npy_intp shape[5];
    int ndim = PyArray_NDIM(self), type = PyArray_TYPE(self);
    memcpy(shape, PyArray_DIMS(self), (size_t)ndim * sizeof(npy_intp));
    memcpy(shape + ndim - dims, job.wanted + 3 - dims, (size_t)dims * sizeof(npy_intp));
    Array *values = new_array(ndim, shape, type), *index = new_array(ndim, shape, NPY_INT64);
    PyObject *both = NULL;
    job.starts = PyMem_RawMalloc((size_t)(job.wanted[0] + job.wanted[1] + job.wanted[2]) * sizeof(npy_intp));
    if (job.starts == NULL) {
        PyErr_NoMemory();
    } else if (values != NULL && index != NULL) {
        job.to = PyArray_BYTES(values);
        job.index = (int64_t *)PyArray_BYTES(index);
        do_work(type == NPY_DOUBLE ? fractional_pool_f64 : fractional_pool_f32, &job, count_of(self));
        both = job.is_outside ? NULL : PyTuple_Pack(2, values, index);
    }
    PyMem_RawFree(job.starts);
    Py_XDECREF(values);
    Py_XDECREF(index);
    return both;
}

/* mode(self, dim, keepdim). Returns the tuple (values, indices); NULL without an exception unless self is dense float32
 * or float64 with elements, and rows are short. */
static PyObject *handle_mode(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double dim;
    Array *self = call->count == 3 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    int ndim = self == NULL ? 0 : PyArray_NDIM(self);
    if (ndim == 0 || count_of(self) == 0 || !read_number(call->args[1], &dim) || !PyBool_Check(call->args[2])) {
        return NULL;
    }
    int at = (int)dim + (dim < 0 ? ndim : 0), is_kept = call->args[2] == Py_True;
    if (at < 0 || at >= ndim || PyArray_DIM(self, at) > LONGEST_ROW) {
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS];
    int count = 0;
    for (int i = 0; i < ndim; i++) {
        if (i != at || is_kept) {
            shape[count++] = i == at ? 1 : PyArray_DIM(self, i);
        }
    }
    ModeJob job = {.from = PyArray_BYTES(self), .length = PyArray_DIM(self, at), .outer = count_of_first(self, at)};
    job.inner = count_of(self) / job.outer / job.length;
    Array *values = new_array(count, shape, PyArray_TYPE(self)), *index = new_array(count, shape, NPY_INT64);
    PyObject *both = NULL;
    if (values != NULL && index != NULL) {
        job.to = PyArray_BYTES(values);
        job.index = (int64_t *)PyArray_BYTES(index);
        do_work(PyArray_TYPE(self) == NPY_DOUBLE ? most_frequent_f64 : most_frequent_f32, &job,
                count_of(self) * job.length);
        both = PyTuple_Pack(2, values, index);
    }
    Py_XDECREF(values);
    Py_XDECREF(index);
    return both;
}

static const int planes = 2, volumes = 3;

const CompiledKernel fractional_kernels[] = {
    {"fractional_max_pool2d", handle_fractional, &planes, QUIET},
    {"fractional_max_pool3d", handle_fractional, &volumes, QUIET},
    {"mode", handle_mode, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
