/* Images of another size, whose elements are the nearest ones of the image, or those below. */

#include "resizing.h"

#define MOST_SPACE 3

/* Images of up to three dimensions of space; those that are not there have size 1. `at`: which element of the image
 * each one of the result is, for each dimension. */
typedef struct {
    const char *from;
    char *to;
    npy_intp images, bytes; /* of an element */
    npy_intp sizes[MOST_SPACE], wanted[MOST_SPACE];
    npy_intp *at[MOST_SPACE];
} ResizeJob;

/* Define a loop that returns nothing and copies the named elements of a row. */
#define TAKE_ROW(NAME, TYPE)                                                                                           \
    static void NAME(const void *from, void *to, const npy_intp *at, npy_intp count) {                                 \
        for (npy_intp i = 0; i < count; i++) {                                                                         \
            ((TYPE *)to)[i] = ((const TYPE *)from)[at[i]];                                                             \
        }                                                                                                              \
    }

TAKE_ROW(take_1, uint8_t)
TAKE_ROW(take_2, uint16_t)
TAKE_ROW(take_4, uint32_t)
TAKE_ROW(take_8, uint64_t)

/* Write all images. A row that is the same as the one before is copied. Needs no GIL. */
static void resize(void *given) {
    const ResizeJob *job = given;
    const npy_intp *sizes = job->sizes, *wanted = job->wanted, row = wanted[2] * job->bytes;
    void (*take)(const void *, void *, const npy_intp *, npy_intp) =
        job->bytes == 1 ? take_1 : job->bytes == 2 ? take_2 : job->bytes == 4 ? take_4 : take_8;
    char *to = job->to;
    for (npy_intp image = 0; image < job->images; image++) {
        const char *planes = job->from + image * sizes[0] * sizes[1] * sizes[2] * job->bytes;
        for (npy_intp d = 0; d < wanted[0]; d++) {
            const char *rows = planes + job->at[0][d] * sizes[1] * sizes[2] * job->bytes;
            for (npy_intp h = 0; h < wanted[1]; h++, to += row) {
                if (h > 0 && job->at[1][h] == job->at[1][h - 1]) {
                    memcpy(to, to - row, (size_t)row);
                } else {
                    take(rows + job->at[1][h] * sizes[2] * job->bytes, to, job->at[2], wanted[2]);
                }
            }
        }
    }
}

/* Write which element each one of the result is: steps of float64 for images of these, else of float32, as the Python
 * computes them. */
static void find_elements(npy_intp *at, npy_intp size, npy_intp wanted, double scale, double offset, int is_double) {
    const double step = scale > 0 ? 1.0 / scale : (double)size / (double)wanted;
    const float narrow = scale > 0 ? (float)step : (float)size / (float)wanted;
    for (npy_intp i = 0; i < wanted; i++) {
        at[i] = whole_until(is_double ? ((double)i + offset) * step : ((float)i + (float)offset) * narrow, size - 1);
    }
}

/* Read the sizes of images and of the result, whose shape is written. Returns the number of dimensions of space; 0 for
 * images that are empty or very large, and other arguments. */
static int read_sizes(ResizeJob *job, const Array *self, PyObject *given, npy_intp *shape) {
    const int space = count_of_sequence(given), ndim = PyArray_NDIM(self);
    npy_intp values[MOST_SPACE], count = PyArray_DIM(self, 0);
    if (space < 1 || space > MOST_SPACE || ndim != space + 2 || !read_ints(given, values, space) ||
        count_of(self) == 0) {
        return 0;
    }
    job->images = (shape[0] = PyArray_DIM(self, 0)) * (shape[1] = PyArray_DIM(self, 1));
    count = job->images;
    for (int i = 0; i < MOST_SPACE; i++) {
        const int dim = i - (MOST_SPACE - space);
        job->sizes[i] = dim < 0 ? 1 : PyArray_DIM(self, dim + 2);
        job->wanted[i] = dim < 0 ? 1 : (shape[dim + 2] = values[dim]);
        if (job->wanted[i] < 1 || job->wanted[i] > INT32_MAX / count) {
            return 0;
        }
        count *= job->wanted[i];
    }
    return space;
}

/* upsample_nearest(self, output_size, *scales) and upsample_nearest_exact. Returns a new array; NULL without an
 * exception unless self is dense, with elements of at most 8 bytes, and each scale is None or a number; with one if
 * memory runs out. */
static PyObject *handle_upsample(const CompiledKernel *kernel, const KernelCall *call) {
    ResizeJob job;
    npy_intp shape[MOST_SPACE + 2];
    Array *self = call->count > 2 && call->out == NULL ? plain_bytes(call->args[0]) : NULL;
    const int space = self == NULL || PyArray_NDIM(self) < 3 ? 0 : read_sizes(&job, self, call->args[1], shape);
    double scales[MOST_SPACE] = {0};
    if (space == 0 || call->count != 2 + space) {
        return NULL;
    }
    for (int i = 0; i < space; i++) {
        if (call->args[2 + i] != Py_None && !read_number(call->args[2 + i], &scales[MOST_SPACE - space + i])) {
            return NULL;
        }
    }
    job.bytes = element_size(self);
    if (job.bytes != 1 && job.bytes != 2 && job.bytes != 4 && job.bytes != 8) {
        return NULL;
    }
    npy_intp *room = PyMem_Malloc((size_t)(job.wanted[0] + job.wanted[1] + job.wanted[2]) * sizeof *room);
    Array *result = room == NULL ? NULL : new_of(PyArray_DESCR(self), space + 2, shape);
    if (result != NULL) {
        npy_intp *at = room;
        for (int i = 0; i < MOST_SPACE; at += job.wanted[i++]) {
            job.at[i] = at;
            find_elements(at, job.sizes[i], job.wanted[i], scales[i], kernel->how != NULL ? 0.5 : 0,
                          PyArray_TYPE(self) == NPY_DOUBLE);
        }
        job.from = PyArray_BYTES(self);
        job.to = PyArray_BYTES(result);
        do_work(resize, &job, count_of(result));
    }
    PyMem_Free(room);
    return room == NULL ? PyErr_NoMemory() : (PyObject *)result;
}

static const char is_exact[] = "exact";

const CompiledKernel upsample_kernels[] = {
    {"upsample_nearest", handle_upsample, NULL, QUIET},
    {"upsample_nearest_exact", handle_upsample, is_exact, QUIET},
    {NULL, NULL, NULL, 0},
};
