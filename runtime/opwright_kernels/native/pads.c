/* Images padded with their reflection or their border, and the gradients. */

#include "kernels.h"

/* At most three dimensions of an image are padded. */
#define MOST_PADDED 3

/* What stands at each index of the padded dimensions in the image: `maps[0]` is that of the last dimension. */
typedef struct {
    npy_intp *maps[MOST_PADDED];
    npy_intp sizes[MOST_PADDED], counts[MOST_PADDED]; /* before and after */
    npy_intp planes, inside, first; /* `inside`: where the image begins in a line, and its first element there */
    npy_intp length;
    int dims;
    const char *from;
    char *to;
} PadJob;

/* Read the padding of the last dimensions of an array of that shape, two ints for each, and make the maps, which the
 * caller frees: `maps[0]`. Returns 0 for what is not in range, also with an exception if memory runs out. */
static int read_padding(PadJob *job, PyObject *padding, int ndim, const npy_intp *shape, int is_reflected) {
    npy_intp pads[2 * MOST_PADDED], total = 0;
    int given = count_of_sequence(padding);
    job->dims = given / 2;
    if (given < 2 || given > 2 * MOST_PADDED || given % 2 || job->dims >= ndim || !read_ints(padding, pads, given)) {
        return 0;
    }
    for (int i = 0; i < job->dims; i++) {
        job->sizes[i] = shape[ndim - 1 - i];
        job->counts[i] = job->sizes[i] + pads[2 * i] + pads[2 * i + 1];
        npy_intp most = job->sizes[i] - is_reflected;
        if (job->sizes[i] < 1 || job->counts[i] < 1 ||
            (is_reflected && (pads[2 * i] > most || pads[2 * i + 1] > most))) {
            return 0;
        }
        total += job->counts[i];
    }
    job->inside = pads[0] > 0 ? pads[0] : 0;
    job->first = pads[0] < 0 ? -pads[0] : 0;
    job->length = job->sizes[0] - job->first - (pads[1] < 0 ? -pads[1] : 0);
    if (job->length < 0) {
        job->inside = job->first = job->length = 0;
    }
    job->planes = 1;
    for (int i = 0; i < ndim - job->dims; i++) {
        job->planes *= shape[i];
    }
    npy_intp *map = job->planes < 1 ? NULL : PyMem_RawMalloc((size_t)total * sizeof(npy_intp));
    if (map == NULL) {
        return job->planes < 1 ? 0 : (PyErr_NoMemory(), 0);
    }
    for (int i = 0; i < job->dims; i++, map += job->counts[i - 1]) {
        const npy_intp last = job->sizes[i] - 1;
        job->maps[i] = map;
        for (npy_intp at = 0; at < job->counts[i]; at++) {
            npy_intp place = at - pads[2 * i];
            if (is_reflected) {
                place = place < 0 ? -place : place > last ? 2 * last - place : place;
            }
            map[at] = place < 0 ? 0 : place > last ? last : place;
        }
    }
    return 1;
}

/* Define the copy of some lines of all planes for elements of one type. Returns nothing. */
#define PADDED(NAME, TYPE)                                                                                             \
    static void NAME(void *given, int64_t first, int64_t end) {                                                        \
        const PadJob *job = given;                                                                                     \
        const npy_intp layers = job->dims > 2 ? job->counts[2] : 1, rows = job->dims > 1 ? job->counts[1] : 1;         \
        const npy_intp depth = job->dims > 2 ? job->sizes[2] : 1, height = job->dims > 1 ? job->sizes[1] : 1;          \
        const npy_intp width = job->sizes[0], columns = job->counts[0], *map = job->maps[0];                           \
        TYPE *to = (TYPE *)job->to + first * columns;                                                                  \
        for (npy_intp line = first; line < end; line++, to += columns) {                                               \
            const npy_intp row = line % rows, layer = line / rows % layers, plane = line / (rows * layers);            \
            const npy_intp z = job->dims > 2 ? job->maps[2][layer] : 0, y = job->dims > 1 ? job->maps[1][row] : 0;     \
            const TYPE *from = (const TYPE *)job->from + ((plane * depth + z) * height + y) * width;                   \
            for (npy_intp i = 0; i < job->inside; i++) {                                                               \
                to[i] = from[map[i]];                                                                                  \
            }                                                                                                          \
            memcpy(to + job->inside, from + job->first, (size_t)job->length * sizeof(TYPE));                           \
            for (npy_intp i = job->inside + job->length; i < columns; i++) {                                           \
                to[i] = from[map[i]];                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }

PADDED(padded_4, uint32_t)
PADDED(padded_8, uint64_t)

/* Define the sum of all copies of each element along one dimension, of `inner` elements each. Returns nothing. */
#define ADDED(NAME, REAL)                                                                                              \
    static void NAME(const REAL *from, REAL *to, npy_intp outer, npy_intp size, npy_intp count, npy_intp inner,        \
                     const npy_intp *map) {                                                                            \
        memset(to, 0, (size_t)(outer * size * inner) * sizeof(REAL));                                                  \
        for (npy_intp o = 0; o < outer; o++, to += size * inner) {                                                     \
            for (npy_intp at = 0; at < count; at++, from += inner) {                                                   \
                for (npy_intp i = 0; i < inner; i++) {                                                                 \
                    to[map[at] * inner + i] += from[i];                                                                \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

ADDED(added_f32, float)
ADDED(added_f64, double)

/* reflection_pad(self, padding), and replication_pad. Returns a new array; NULL without an exception unless self is
 * dense, of elements of 4 or 8 bytes, and the padding in range. */
static PyObject *handle_pad(const CompiledKernel *kernel, const KernelCall *call) {
    PadJob job = {.dims = 0};
    Array *self = call->count == 2 && call->out == NULL ? plain_bytes(call->args[0]) : NULL, *result = NULL;
    npy_intp shape[NPY_MAXDIMS];
    int ndim = self == NULL ? 0 : PyArray_NDIM(self);
    if (self == NULL || (element_size(self) != 4 && element_size(self) != 8) ||
        !read_padding(&job, call->args[1], ndim, PyArray_DIMS(self), kernel->how != NULL)) {
        return NULL;
    }
    memcpy(shape, PyArray_DIMS(self), (size_t)ndim * sizeof(npy_intp));
    for (int i = 0; i < job.dims; i++) {
        shape[ndim - 1 - i] = job.counts[i];
    }
    result = new_of(PyArray_DESCR(self), ndim, shape);
    if (result != NULL) {
        job.from = PyArray_BYTES(self);
        job.to = PyArray_BYTES(result);
        do_ranges(element_size(self) == 8 ? padded_8 : padded_4, &job, count_of(result) / job.counts[0],
                  count_of(result));
    }
    PyMem_RawFree(job.maps[0]);
    return (PyObject *)result;
}

/* Return the gradient with its copies added, dimension by dimension from the last, as a new array: NULL with an
 * exception. */
static Array *added(const PadJob *job, Array *grad) {
    npy_intp shape[NPY_MAXDIMS], inner = 1, outer = count_of(grad);
    int ndim = PyArray_NDIM(grad), type = PyArray_TYPE(grad);
    memcpy(shape, PyArray_DIMS(grad), (size_t)ndim * sizeof(npy_intp));
    Array *from = (Array *)Py_NewRef(grad);
    for (int i = 0; i < job->dims && from != NULL; i++) {
        shape[ndim - 1 - i] = job->sizes[i];
        outer /= job->counts[i];
        Array *to = new_array(ndim, shape, type);
        if (to != NULL && type == NPY_DOUBLE) {
            added_f64((const double *)PyArray_BYTES(from), (double *)PyArray_BYTES(to), outer, job->sizes[i],
                      job->counts[i], inner, job->maps[i]);
        } else if (to != NULL) {
            added_f32((const float *)PyArray_BYTES(from), (float *)PyArray_BYTES(to), outer, job->sizes[i],
                      job->counts[i], inner, job->maps[i]);
        }
        inner *= job->sizes[i];
        Py_SETREF(from, to);
    }
    return from;
}

/* reflection_pad_backward(grad_output, self, padding), and replication_pad_backward. Returns a new tensor; NULL without
 * an exception unless the fast path takes both, the gradient is dense, and the shapes match. */
static PyObject *handle_pad_backward(const CompiledKernel *kernel, const KernelCall *call) {
    PadJob job = {.dims = 0};
    PyObject *arrays[2], *tensor = NULL;
    if (call->count != 3 || call->out != NULL || fast_path_arrays(call->args, 2, Py_None, arrays) <= 0 ||
        arrays[1] == Py_None) {
        return NULL;
    }
    Array *grad = plain_floats(arrays[0]), *self = (Array *)arrays[1];
    int ndim = PyArray_NDIM(self);
    if (grad == NULL || PyArray_NDIM(grad) != ndim ||
        !read_padding(&job, call->args[2], ndim, PyArray_DIMS(self), kernel->how != NULL)) {
        return NULL;
    }
    int fits = ndim <= job.dims + 2;
    for (int i = 0; i < ndim; i++) {
        int is_padded = i >= ndim - job.dims;
        fits &= PyArray_DIM(grad, i) == (is_padded ? job.counts[ndim - 1 - i] : PyArray_DIM(self, i));
    }
    Array *result = fits ? added(&job, grad) : NULL;
    if (result != NULL) {
        tensor = wrap(NULL, (PyObject *)result);
        Py_DECREF(result);
    }
    PyMem_RawFree(job.maps[0]);
    return tensor;
}

static const char is_reflected[] = "reflected";

const CompiledKernel pad_kernels[] = {
    {"reflection_pad", handle_pad, is_reflected, QUIET},
    {"replication_pad", handle_pad, NULL, QUIET},
    {"reflection_pad_backward", handle_pad_backward, is_reflected, OF_NUMPY},
    {"replication_pad_backward", handle_pad_backward, NULL, OF_NUMPY},
    {NULL, NULL, NULL, 0},
};
