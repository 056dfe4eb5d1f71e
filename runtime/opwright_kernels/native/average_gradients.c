/* The gradient of averages of windows (avg_pool): each element gets a share of every window that holds it. */

#include "kernels.h"

#include "axis.h"

typedef struct {
    const char *from;
    char *to;
    void *room; /* for the shares of a plane's windows */
    npy_intp planes, divisor; /* 0: the number of elements */
    int counts_padding;
    Axis axes[3];
} AverageJob;

/* Return how many elements the average of a window divides by in one dimension. */
static npy_intp extent_of(const AverageJob *job, const Axis *axis, npy_intp window) {
    npy_intp first, end;
    indices_within(axis, window, &first, &end);
    return job->counts_padding ? padded_extent(axis, window) : end - first;
}

/* Define the loop for one type: it writes the shares of a plane's windows, then adds them, by the places in a window.
 * Returns nothing. */
#define SPREAD(NAME, REAL)                                                                                             \
    static void NAME(void *given) {                                                                                    \
        const AverageJob *job = given;                                                                                 \
        const Axis *z = &job->axes[0], *y = &job->axes[1], *x = &job->axes[2];                                         \
        const npy_intp windows = z->count * y->count * x->count, size = z->size * y->size * x->size;                   \
        const npy_intp places = z->kernel * y->kernel * x->kernel;                                                     \
        REAL *share = job->room, *to = (REAL *)job->to;                                                                \
        memset(to, 0, (size_t)(job->planes * size) * sizeof(REAL));                                                    \
        for (npy_intp plane = 0; plane < job->planes; plane++, to += size) {                                           \
            const REAL *grad = (const REAL *)job->from + plane * windows;                                              \
            for (npy_intp i = 0; i < windows; i++) {                                                                   \
                npy_intp divisor = job->divisor;                                                                       \
                if (divisor == 0) {                                                                                    \
                    divisor = extent_of(job, z, i / (y->count * x->count)) *                                           \
                              extent_of(job, y, i / x->count % y->count) * extent_of(job, x, i % x->count);            \
                }                                                                                                      \
                share[i] = grad[i] / (REAL)divisor;                                                                    \
            }                                                                                                          \
            for (npy_intp place = 0; place < places; place++) {                                                        \
                const npy_intp dz = place / (y->kernel * x->kernel) - z->pad, dx = place % x->kernel - x->pad;         \
                const npy_intp dy = place / x->kernel % y->kernel - y->pad;                                            \
                npy_intp first[3], end[3];                                                                             \
                windows_within(z, dz, &first[0], &end[0]);                                                             \
                windows_within(y, dy, &first[1], &end[1]);                                                             \
                windows_within(x, dx, &first[2], &end[2]);                                                             \
                for (npy_intp d = first[0]; d < end[0]; d++) {                                                         \
                    for (npy_intp i = first[1]; i < end[1]; i++) {                                                     \
                        REAL *row = to + ((d * z->step + dz) * y->size + i * y->step + dy) * x->size + dx;             \
                        const REAL *shares = share + (d * y->count + i) * x->count;                                    \
                        for (npy_intp j = first[2]; j < end[2]; j++) {                                                 \
                            row[j * x->step] += shares[j];                                                             \
                        }                                                                                              \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

SPREAD(spread_f32, float)
SPREAD(spread_f64, double)

/* Read the windows of the last dimensions: sizes of kernels, steps and padding. Returns 0 for what is not in range, or
 * if the gradient has not the shape of the images but for these. */
static int read_windows(AverageJob *job, const Array *grad, const npy_intp *shape, PyObject *const *lists, int dims) {
    npy_intp values[3][3];
    int ndim = PyArray_NDIM(grad);
    for (int i = 0; i < 3; i++) {
        job->axes[i] = (Axis){1, 1, 1, 0, 1, 1};
        if (!read_ints(lists[i], values[i], dims)) {
            return 0;
        }
    }
    job->planes = 1;
    for (int i = 0; i < ndim - dims; i++) {
        job->planes *= shape[i];
        if (PyArray_DIM(grad, i) != shape[i]) {
            return 0;
        }
    }
    for (int i = 0; i < dims; i++) {
        Axis *axis = &job->axes[3 - dims + i];
        *axis = (Axis){shape[ndim - dims + i], values[0][i], values[1][i], values[2][i], 1,
                       PyArray_DIM(grad, ndim - dims + i)};
        if (axis->size < 1 || axis->kernel < 1 || axis->step < 1 || axis->pad < 0 ||
            (axis->count - 1) * axis->step - axis->pad >= axis->size) {
            return 0;
        }
    }
    return 1;
}

/* avg_pool_gradient(grad, shape, kernel, stride, padding, includes_pad, divisor). Returns a new array; NULL without an
 * exception unless the gradient is dense float32 or float64 with elements, and the windows in range. */
static PyObject *handle_gradient(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    AverageJob job = {0};
    double divisor = 0;
    npy_intp shape[5];
    PyObject *const *args = call->args;
    Array *grad = call->count == 7 && call->out == NULL ? plain_floats(args[0]) : NULL, *result = NULL;
    int ndim = grad == NULL ? 0 : PyArray_NDIM(grad), dims = grad == NULL ? 0 : count_of_sequence(args[2]);
    if (ndim < 2 || ndim > 5 || dims < 1 || dims > 3 || dims >= ndim || count_of(grad) == 0 ||
        count_of_sequence(args[1]) != ndim || !read_ints(args[1], shape, ndim) || !PyBool_Check(args[5]) ||
        !read_windows(&job, grad, shape, args + 2, dims) ||
        (args[6] != Py_None && (!read_number(args[6], &divisor) || divisor == 0))) {
        return NULL;
    }
    job.divisor = (npy_intp)divisor;
    job.counts_padding = args[5] == Py_True;
    job.from = PyArray_BYTES(grad);
    job.room = PyMem_RawMalloc((size_t)(count_of(grad) / job.planes) * sizeof(double));
    result = job.room == NULL ? (Array *)PyErr_NoMemory() : new_array(ndim, shape, PyArray_TYPE(grad));
    if (result != NULL) {
        job.to = PyArray_BYTES(result);
        do_work(PyArray_TYPE(grad) == NPY_DOUBLE ? spread_f64 : spread_f32, &job, count_of(result));
    }
    PyMem_RawFree(job.room);
    return (PyObject *)result;
}

const CompiledKernel average_gradient_kernels[] = {
    {"avg_pool_gradient", handle_gradient, NULL, OF_NUMPY},
    {NULL, NULL, NULL, 0},
};
