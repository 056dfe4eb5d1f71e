/* Images sampled at positions (grid_sampler), and the gradients, for tensors on the fast path. The functions are in
 * `opwright_kernels.composites.grids`. */

#include "kernels.h"

#include <math.h>

typedef struct {
    const char *from, *grid, *grad; /* images; positions; gradients of samples, NULL where samples are computed */
    char *to, *to_grid;             /* samples; or gradients of images and of positions, NULL if not wanted */
    npy_intp batches, channels, layers, rows, columns;
    npy_intp places; /* of each batch */
    int ndim, mode, padding, is_aligned;
    void *corners; /* room for those of a batch */
} GridJob;

#define magnitude_f32 fabsf
#define rest_f32 fmodf
#define lower_f32 floorf
#define nearest_f32 rintf
#define magnitude_f64 fabs
#define rest_f64 fmod
#define lower_f64 floor
#define nearest_f64 rint

#define REAL float
#define OF(NAME) NAME##_f32
#include "grids_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "grids_loops.h"
#undef REAL
#undef OF

/* Read an int from 0 to 2. Returns 0 for anything else. */
static int read_choice(PyObject *object, int *choice) {
    double number;
    *choice =
        PyLong_CheckExact(object) && read_number(object, &number) && number >= 0 && number <= 2 ? (int)number : -1;
    return *choice >= 0;
}

/* Read images (N, C, *sizes), positions (N, *places, ndim) and three options. Returns 0 unless both are dense, match,
 * and have elements, and there is a mode for so many dimensions. */
static int read_grid(GridJob *job, PyObject *images, PyObject *positions, PyObject *const *options) {
    Array *input = plain_floats(images), *grid = input == NULL ? NULL : plain_array(positions, PyArray_TYPE(input));
    int ndim = grid == NULL ? 0 : PyArray_NDIM(grid);
    if ((ndim != 4 && ndim != 5) || PyArray_NDIM(input) != ndim || count_of(input) == 0 || count_of(grid) == 0 ||
        PyArray_DIM(grid, ndim - 1) != ndim - 2 || PyArray_DIM(grid, 0) != PyArray_DIM(input, 0) ||
        !read_choice(options[0], &job->mode) || !read_choice(options[1], &job->padding) ||
        !PyBool_Check(options[2]) || (ndim == 5 && job->mode == 2)) {
        return 0;
    }
    job->from = PyArray_BYTES(input);
    job->grid = PyArray_BYTES(grid);
    job->batches = PyArray_DIM(input, 0);
    job->channels = PyArray_DIM(input, 1);
    job->layers = ndim == 5 ? PyArray_DIM(input, 2) : 1;
    job->rows = PyArray_DIM(input, ndim - 2);
    job->columns = PyArray_DIM(input, ndim - 1);
    job->ndim = ndim - 2;
    job->places = count_of(grid) / job->batches / job->ndim;
    job->is_aligned = options[2] == Py_True;
    return 1;
}

/* Return a new array of zeros; NULL with an exception. */
static Array *new_zeros(int ndim, const npy_intp *shape, int type) {
    Array *array = new_array(ndim, shape, type);
    if (array != NULL) {
        memset(PyArray_BYTES(array), 0, (size_t)PyArray_NBYTES(array));
    }
    return array;
}

/* Return a tensor on an array, which is taken; NULL with an exception, also where there is no array. */
static PyObject *wrapped(Array *array) {
    PyObject *tensor = array == NULL ? NULL : wrap(NULL, (PyObject *)array);
    Py_XDECREF(array);
    return tensor;
}

/* Run the loop of a type. Returns -1 with an exception if there is no memory. */
static int run(GridJob *job, int type) {
    const size_t each = job->mode == 1 ? 1 : job->mode == 2 ? 16 : job->ndim == 3 ? 8 : 4;
    const size_t size = type == NPY_DOUBLE ? sizeof(Corner_f64) : sizeof(Corner_f32);
    job->corners = PyMem_RawMalloc((size_t)job->places * each * size);
    if (job->corners == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    do_work(type == NPY_DOUBLE ? walk_grid_f64 : walk_grid_f32, job, job->batches * job->places * job->channels * 4);
    PyMem_RawFree(job->corners);
    return 0;
}

/* Write the shape of samples, (N, C, *places). */
static void write_shape(npy_intp *shape, const GridJob *job, const Array *grid) {
    shape[0] = job->batches;
    shape[1] = job->channels;
    memcpy(shape + 2, PyArray_DIMS(grid) + 1, (size_t)job->ndim * sizeof(npy_intp));
}

/* grid_sampler_2d(input, grid, mode, padding, align_corners) and grid_sampler_3d. Returns a new tensor; NULL without an
 * exception unless the fast path takes both, and they are dense and match. */
static PyObject *handle_sampler(const CompiledKernel *kernel, const KernelCall *call) {
    GridJob job = {0};
    PyObject *arrays[2];
    if (call->count != 5 || call->out != NULL || fast_path_arrays(call->args, 2, Py_None, arrays) <= 0 ||
        arrays[1] == Py_None || !read_grid(&job, arrays[0], arrays[1], call->args + 2) ||
        job.ndim != *(const int *)kernel->how) {
        return NULL;
    }
    npy_intp shape[6];
    write_shape(shape, &job, (Array *)arrays[1]);
    int type = PyArray_TYPE((Array *)arrays[0]);
    Array *result = new_array(job.ndim + 2, shape, type);
    if (result != NULL) {
        job.to = PyArray_BYTES(result);
        if (run(&job, type) < 0) {
            Py_CLEAR(result);
        }
    }
    return wrapped(result);
}

/* Return the gradients that are wanted as a tuple of new tensors, or None; NULL with an exception. */
static PyObject *gradients(GridJob *job, Array *input, Array *grid, int of_input, int of_grid) {
    int type = PyArray_TYPE(input);
    Array *to = of_input ? new_zeros(job->ndim + 2, PyArray_DIMS(input), type) : NULL;
    Array *to_grid = of_grid ? new_array(job->ndim + 2, PyArray_DIMS(grid), type) : NULL;
    job->to = to == NULL ? NULL : PyArray_BYTES(to);
    job->to_grid = to_grid == NULL ? NULL : PyArray_BYTES(to_grid);
    if ((of_input && to == NULL) || (of_grid && to_grid == NULL) || run(job, type) < 0) {
        Py_XDECREF(to);
        Py_XDECREF(to_grid);
        return NULL;
    }
    PyObject *first = to == NULL ? Py_NewRef(Py_None) : wrapped(to);
    PyObject *second = to_grid == NULL ? Py_NewRef(Py_None) : wrapped(to_grid);
    PyObject *both = first == NULL || second == NULL ? NULL : PyTuple_Pack(2, first, second);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return both;
}

/* grid_sampler_backward(grad_output, input, grid, mode, padding, align_corners, mask). Returns a tuple of new tensors,
 * or None where the mask has False; NULL without an exception unless the fast path takes all three, and they are dense
 * and match. */
static PyObject *handle_backward(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    GridJob job = {0};
    PyObject *arrays[3];
    if (call->count != 7 || call->out != NULL || count_of_sequence(call->args[6]) != 2 ||
        fast_path_arrays(call->args, 3, Py_None, arrays) <= 0 || arrays[1] == Py_None || arrays[2] == Py_None ||
        !read_grid(&job, arrays[1], arrays[2], call->args + 3)) {
        return NULL;
    }
    npy_intp shape[6];
    write_shape(shape, &job, (Array *)arrays[2]);
    Array *grad = plain_floats(arrays[0]);
    if (grad == NULL || PyArray_NDIM(grad) != job.ndim + 2 ||
        memcmp(shape, PyArray_DIMS(grad), (size_t)(job.ndim + 2) * sizeof(npy_intp)) != 0) {
        return NULL;
    }
    job.grad = PyArray_BYTES(grad);
    PyObject *const *mask = PySequence_Fast_ITEMS(call->args[6]);
    return gradients(&job, (Array *)arrays[1], (Array *)arrays[2], mask[0] == Py_True, mask[1] == Py_True);
}

static const int planes = 2, volumes = 3;

const CompiledKernel grid_kernels[] = {
    {"grid_sampler_2d", handle_sampler, &planes, OF_NUMPY},
    {"grid_sampler_3d", handle_sampler, &volumes, OF_NUMPY},
    {"grid_sampler_backward", handle_backward, NULL, OF_NUMPY},
    {NULL, NULL, NULL, 0},
};
