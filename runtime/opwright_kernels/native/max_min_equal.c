/* The largest or smallest elements along a dimension, and where each stood first; whether two arrays are equal. */

#include "kernels.h"

#include "fast/arrays/loops.h"

#include <stdatomic.h>

/* Columns of a row that are compared at once. */
#define COLUMNS 64

/* (outer, along, inner) */
typedef struct {
    const char *from;
    char *to;
    int64_t *indices;
    npy_intp outer, along, inner;
} ExtremeJob;

/* Define a loop for dimensions with others behind them (inner > 1): it writes the extreme along the middle of slice
 * `o`, and its first index. NaN comes before all numbers. Returns nothing. */
#define BESIDE(NAME, TYPE, BEFORE)                                                                                     \
    CLONES static void NAME##_beside(const ExtremeJob *job, npy_intp o) {                                              \
        const TYPE *from = (const TYPE *)job->from + o * job->along * job->inner;                                      \
        TYPE *to = (TYPE *)job->to + o * job->inner;                                                                   \
        int64_t *indices = job->indices + o * job->inner;                                                              \
        for (npy_intp k = 0; k < job->inner; k++) {                                                                    \
            to[k] = from[k];                                                                                           \
            indices[k] = 0;                                                                                            \
        }                                                                                                              \
        for (npy_intp i = 1; i < job->along; i++) {                                                                    \
            const TYPE *row = from + i * job->inner;                                                                   \
            EACH_ALONE for (npy_intp k = 0; k < job->inner; k++) {                                                     \
                const TYPE x = row[k], y = to[k];                                                                      \
                const int is_before = (x BEFORE y) | ((x != x) & (y == y));                                            \
                to[k] = is_before ? x : y;                                                                             \
                indices[k] = is_before ? i : indices[k];                                                               \
            }                                                                                                          \
        }                                                                                                              \
    }

/* Define a loop for the last dimension (inner is 1): it finds the extreme of row `o` by vectors of COLUMNS, without
 * indices, then the first element that equals it, or the first NaN. Comparisons with NaN are false. Returns nothing. */
#define WITHIN(NAME, TYPE, BEFORE)                                                                                     \
    CLONES static void NAME##_within(const ExtremeJob *job, npy_intp o) {                                              \
        const TYPE *row = (const TYPE *)job->from + o * job->along;                                                    \
        TYPE columns[COLUMNS], found = row[0];                                                                         \
        const npy_intp whole = job->along - job->along % COLUMNS;                                                      \
        npy_intp index = 0;                                                                                            \
        int is_lost = 0;                                                                                               \
        for (int j = 0; j < COLUMNS; j++) {                                                                            \
            columns[j] = row[0];                                                                                       \
        }                                                                                                              \
        for (npy_intp i = 0; i < whole; i += COLUMNS) {                                                                \
            for (int j = 0; j < COLUMNS; j++) {                                                                        \
                const TYPE x = row[i + j];                                                                             \
                is_lost |= x != x;                                                                                     \
                columns[j] = x BEFORE columns[j] ? x : columns[j];                                                     \
            }                                                                                                          \
        }                                                                                                              \
        for (npy_intp i = whole; i < job->along; i++) {                                                                \
            is_lost |= row[i] != row[i];                                                                               \
            found = row[i] BEFORE found ? row[i] : found;                                                              \
        }                                                                                                              \
        for (int j = 0; j < COLUMNS; j++) {                                                                            \
            found = columns[j] BEFORE found ? columns[j] : found;                                                      \
        }                                                                                                              \
        for (int is_here = 0; !is_here; index += is_here ? 0 : COLUMNS) {                                              \
            const npy_intp size = job->along - index < COLUMNS ? job->along - index : COLUMNS;                         \
            for (npy_intp j = 0; j < size; j++) {                                                                      \
                is_here |= is_lost ? row[index + j] != row[index + j] : row[index + j] == found;                       \
            }                                                                                                          \
        }                                                                                                              \
        while (is_lost ? row[index] == row[index] : row[index] != found) {                                             \
            index++;                                                                                                   \
        }                                                                                                              \
        ((TYPE *)job->to)[o] = row[index];                                                                             \
        job->indices[o] = index;                                                                                       \
    }

/* Define the loop over some slices of an ExtremeJob for one type and comparison. Returns nothing; needs no GIL. */
#define EXTREME(NAME, TYPE, BEFORE)                                                                                    \
    BESIDE(NAME, TYPE, BEFORE)                                                                                         \
    WITHIN(NAME, TYPE, BEFORE)                                                                                         \
    static void NAME(void *given, int64_t from, int64_t to) {                                                          \
        const ExtremeJob *job = given;                                                                                 \
        for (npy_intp o = from; o < to; o++) {                                                                         \
            (job->inner == 1 ? NAME##_within : NAME##_beside)(job, o);                                                 \
        }                                                                                                              \
    }

EXTREME(largest_f32, float, >)
EXTREME(largest_f64, double, >)
EXTREME(largest_i64, int64_t, >)
EXTREME(smallest_f32, float, <)
EXTREME(smallest_f64, double, <)
EXTREME(smallest_i64, int64_t, <)
#undef EXTREME
#undef BESIDE
#undef WITHIN

static const RangeWork largest_how[] = {largest_f32, largest_f64, largest_i64};
static const RangeWork smallest_how[] = {smallest_f32, smallest_f64, smallest_i64};

/* largest_and_position(self, dim, keepdim) and smallest_and_position, of dense float32, float64 or int64. Returns the
 * tuple (values, int64 indices); NULL without an exception for other operands, empty ones, and a dim out of range. */
static PyObject *handle_extreme(const CompiledKernel *kernel, const KernelCall *call) {
    double dim;
    Array *self = call->count == 3 && call->out == NULL ? any_plain_array(call->args[0]) : NULL;
    int ndim = self == NULL ? 0 : PyArray_NDIM(self), type = self == NULL ? NPY_FLOAT : PyArray_TYPE(self);
    if (ndim == 0 || (type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_INT64) || count_of(self) == 0 ||
        !PyLong_CheckExact(call->args[1]) || !read_number(call->args[1], &dim) || !PyBool_Check(call->args[2])) {
        return NULL;
    }
    int axis = (int)dim + (dim < 0 ? ndim : 0), is_kept = call->args[2] == Py_True, kept = 0;
    npy_intp shape[NPY_MAXDIMS];
    ExtremeJob job = {.from = PyArray_BYTES(self), .outer = 1, .inner = 1};
    if (axis < 0 || axis >= ndim) {
        return NULL;
    }
    job.along = PyArray_DIM(self, axis);
    for (int i = 0; i < ndim; i++) {
        job.outer *= i < axis ? PyArray_DIM(self, i) : 1;
        job.inner *= i > axis ? PyArray_DIM(self, i) : 1;
        if (i != axis || is_kept) {
            shape[kept++] = i == axis ? 1 : PyArray_DIM(self, i);
        }
    }
    Array *values = new_array(kept, shape, type), *indices = new_array(kept, shape, NPY_INT64);
    PyObject *results = NULL;
    if (values != NULL && indices != NULL) {
        job.to = PyArray_BYTES(values);
        job.indices = (int64_t *)PyArray_BYTES(indices);
        do_ranges(((const RangeWork *)kernel->how)[type == NPY_FLOAT ? 0 : type == NPY_DOUBLE ? 1 : 2], &job, job.outer,
                  count_of(self));
        results = PyTuple_Pack(2, values, indices);
    }
    Py_XDECREF(values);
    Py_XDECREF(indices);
    return results;
}

typedef struct {
    const char *first, *second;
    npy_intp count;
    atomic_int differ;
} EqualJob;

/* Elements that are compared between two looks at `differ`. */
#define BLOCK 4096

/* Define a loop that sets `differ` if any two elements differ (NaN differs from all), and stops after that block.
 * Returns nothing. */
#define EQUAL(NAME, TYPE)                                                                                              \
    static void NAME(void *given, int64_t from, int64_t to) {                                                          \
        EqualJob *job = given;                                                                                         \
        const TYPE *x = (const TYPE *)job->first, *y = (const TYPE *)job->second;                                      \
        for (npy_intp start = from * BLOCK; start < job->count && from < to && !job->differ; start += BLOCK, from++) { \
            const npy_intp stop = job->count - start < BLOCK ? job->count : start + BLOCK;                             \
            int differ = 0;                                                                                            \
            for (npy_intp i = start; i < stop; i++) {                                                                  \
                differ |= !(x[i] == y[i]);                                                                             \
            }                                                                                                          \
            if (differ) {                                                                                              \
                job->differ = 1;                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }

EQUAL(equal_f32, float)
EQUAL(equal_f64, double)
EQUAL(equal_i64, int64_t)
#undef EQUAL

/* same_elements(self, other) of dense arrays of one shape and type (float32, float64, int64). Returns True or False;
 * NULL without an exception for anything else. */
static PyObject *handle_equal(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *self = call->count == 2 && call->out == NULL ? any_plain_array(call->args[0]) : NULL;
    Array *other = self == NULL ? NULL : any_plain_array(call->args[1]);
    int type = self == NULL ? NPY_FLOAT : PyArray_TYPE(self);
    if (other == NULL || !is_like(self, other) || (type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_INT64)) {
        return NULL;
    }
    EqualJob job = {PyArray_BYTES(self), PyArray_BYTES(other), count_of(self), 0};
    do_ranges(type == NPY_FLOAT ? equal_f32 : type == NPY_DOUBLE ? equal_f64 : equal_i64, &job,
              (job.count + BLOCK - 1) / BLOCK, job.count);
    return PyBool_FromLong(!job.differ);
}

const CompiledKernel max_min_kernels[] = {
    {"largest_and_position", handle_extreme, largest_how, QUIET},
    {"smallest_and_position", handle_extreme, smallest_how, QUIET},
    {"same_elements", handle_equal, NULL, QUIET},
    {NULL, NULL, NULL, 0},
};
