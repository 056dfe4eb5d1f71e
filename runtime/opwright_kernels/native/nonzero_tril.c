/* Positions of elements: those that are not zero, and the triangles of matrices. */

#include "kernels.h"

/* The elements that are not zero: `to` has a column of `total` indices for each dimension. */
typedef struct {
    const char *from;
    int64_t *to;
    const npy_intp *shape;
    int ndim;
    npy_intp count, width, total, found;
} PositionsJob;

/* Write the indices of a row, in each dimension but the last, for the elements `start` to `stop` of the result. */
static void note_row(const PositionsJob *job, npy_intp row, npy_intp start, npy_intp stop) {
    for (int i = job->ndim - 2; i >= 0 && stop > start; i--) {
        const int64_t index = row % job->shape[i];
        int64_t *column = job->to + i * job->total;
        for (npy_intp k = start; k < stop; k++) {
            column[k] = index;
        }
        row /= job->shape[i];
    }
}

/* Define two loops of `nonzero` for one type, called on one range after another, which return nothing: count_ adds the
 * elements that are not zero to `total`, find_ writes their indices behind the `found` ones of the ranges before. */
#define POSITIONS(END, TYPE)                                                                                           \
    static void count_##END(void *given, int64_t from, int64_t to) {                                                   \
        PositionsJob *job = given;                                                                                     \
        const TYPE *x = (const TYPE *)job->from;                                                                       \
        npy_intp total = 0;                                                                                            \
        for (npy_intp i = from; i < to; i++) {                                                                         \
            total += x[i] != 0;                                                                                        \
        }                                                                                                              \
        job->total += total;                                                                                           \
    }                                                                                                                  \
                                                                                                                       \
    static void find_##END(void *given, int64_t from, int64_t to) {                                                    \
        PositionsJob *job = given;                                                                                     \
        int64_t *last = job->to + (job->ndim - 1) * job->total;                                                        \
        npy_intp found = job->found;                                                                                   \
        while (from < to && found < job->total) {                                                                      \
            const npy_intp row = from / job->width, first = row * job->width;                                          \
            const npy_intp stop = to - first < job->width ? to - first : job->width, start = found;                    \
            const TYPE *x = (const TYPE *)job->from + first;                                                           \
            for (npy_intp i = from - first; i < stop && found < job->total; i++) {                                     \
                last[found] = i; /* written over by the next one, unless this is not zero */                           \
                found += x[i] != 0;                                                                                    \
            }                                                                                                          \
            note_row(job, row, start, found);                                                                          \
            from = first + stop;                                                                                       \
        }                                                                                                              \
        job->found = found;                                                                                            \
    }

POSITIONS(b8, npy_bool)
POSITIONS(i64, int64_t)
POSITIONS(f32, float)
POSITIONS(f64, double)

static const struct {
    int type;
    RangeWork count, find;
} positions_by_type[] = {
    {NPY_BOOL, count_b8, find_b8},
    {NPY_INT64, count_i64, find_i64},
    {NPY_FLOAT, count_f32, find_f32},
    {NPY_DOUBLE, count_f64, find_f64},
};

/* positions(self): the indices of all elements that are not zero. Returns a new int64 array (found, dimensions),
 * column-major; NULL without an exception unless self is dense boolean, int64, float32 or float64, not empty, and has
 * at least two such elements. */
static PyObject *handle_positions(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *self = call->count == 1 && call->out == NULL ? any_plain_array(call->args[0]) : NULL;
    size_t which = 0, types = sizeof positions_by_type / sizeof *positions_by_type;
    while (self != NULL && which < types && positions_by_type[which].type != PyArray_TYPE(self)) {
        which++;
    }
    if (self == NULL || which == types || PyArray_NDIM(self) == 0 || count_of(self) == 0) {
        return NULL;
    }
    PositionsJob job = {.from = PyArray_BYTES(self), .shape = PyArray_DIMS(self), .ndim = PyArray_NDIM(self)};
    job.count = count_of(self);
    job.width = job.shape[job.ndim - 1];
    do_in_order(positions_by_type[which].count, &job, job.count, job.count);
    if (job.total < 2 || PyErr_Occurred()) {
        return NULL;
    }
    Array *result = new_by_columns(job.total, job.ndim, NPY_INT64);
    if (result != NULL) {
        job.to = (int64_t *)PyArray_BYTES(result);
        do_in_order(positions_by_type[which].find, &job, job.count, job.count);
    }
    return (PyObject *)result;
}

/* Matrices of so many rows and columns, of elements of `size` bytes. */
typedef struct {
    const char *from;
    char *to;
    npy_intp rows, columns, diagonal, size;
    int is_upper;
} TriangleJob;

/* Copy some rows of all matrices, with zeros above (or below, where `is_upper`) the diagonal. Needs no GIL. */
static void cut_triangles(void *given, int64_t start, int64_t stop) {
    const TriangleJob *job = given;
    const npy_intp width = job->columns * job->size;
    for (npy_intp row = start; row < stop; row++) {
        /* Below and on the diagonal; the upper triangle begins at it. */
        const npy_intp wanted = row % job->rows + job->diagonal + !job->is_upper;
        const npy_intp split = (wanted < 0 ? 0 : wanted > job->columns ? job->columns : wanted) * job->size;
        const char *from = job->from + row * width;
        char *to = job->to + row * width;
        if (job->is_upper) {
            memset(to, 0, (size_t)split);
            memcpy(to + split, from + split, (size_t)(width - split));
        } else {
            memcpy(to, from, (size_t)split);
            memset(to + split, 0, (size_t)(width - split));
        }
    }
}

/* lower_triangle(self, diagonal) and upper_triangle, of (..., rows, columns) with elements of 4 or 8 bytes. Returns a
 * new array; NULL without an exception for other operands. */
static PyObject *handle_triangle(const CompiledKernel *kernel, const KernelCall *call) {
    npy_intp diagonal;
    Array *self = call->count == 2 && call->out == NULL ? any_plain_array(call->args[0]) : NULL;
    if (self == NULL || PyArray_NDIM(self) < 2 || count_of(self) == 0 || width_of(self) == 0 ||
        !PyLong_CheckExact(call->args[1])) {
        return NULL;
    }
    diagonal = PyLong_AsSsize_t(call->args[1]);
    if ((diagonal == -1 && PyErr_Occurred()) || diagonal > INT32_MAX || diagonal < -INT32_MAX) {
        PyErr_Clear();
        return NULL;
    }
    Array *result = new_of(PyArray_DESCR(self), PyArray_NDIM(self), PyArray_DIMS(self));
    if (result != NULL) {
        const npy_intp *shape = PyArray_DIMS(self) + PyArray_NDIM(self) - 2;
        TriangleJob job = {PyArray_BYTES(self), PyArray_BYTES(result), shape[0], shape[1], diagonal,
                           width_of(self), kernel->how != NULL};
        do_ranges(cut_triangles, &job, count_of(self) / shape[1], count_of(self));
    }
    return (PyObject *)result;
}

const CompiledKernel nonzero_kernels[] = {
    {"positions", handle_positions, NULL, QUIET},
    {"lower_triangle", handle_triangle, NULL, QUIET},
    {"upper_triangle", handle_triangle, "upper", QUIET},
    {NULL, NULL, NULL, 0},
};
