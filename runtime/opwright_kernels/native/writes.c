/* Writes into memory of any strides: what may be written to, and the loops over positions and blocks. */

#include "writes.h"

#include <math.h>

/* Up to how many elements a source is read in whatever order. */
#define MOST_TURNED 4096

/* Whether no element of an array lies in the memory of another one, by strides that nest. */
static int is_nested(const Array *array) {
    const int ndim = PyArray_NDIM(array);
    npy_intp behind = PyArray_ITEMSIZE(array); /* of what the smaller steps reach */
    unsigned long long taken = 0;
    for (int round = 0; round < ndim; round++) {
        int next = -1;
        npy_intp least = 0;
        for (int i = 0; i < ndim; i++) {
            const npy_intp step = PyArray_STRIDE(array, i) < 0 ? -PyArray_STRIDE(array, i) : PyArray_STRIDE(array, i);
            if (!(taken >> i & 1) && (next < 0 || step < least)) {
                next = i;
                least = step;
            }
        }
        taken |= 1ULL << next;
        if (PyArray_DIM(array, next) > 1) {
            if (least < behind) {
                return 0;
            }
            behind += (PyArray_DIM(array, next) - 1) * least;
        }
    }
    return 1;
}

/* Return the array that a call writes to, if that is its first operand, with elements that all lie apart: borrowed;
 * NULL for any other. */
Array *written_in_place(const KernelCall *call) {
    Array *target = (Array *)call->out;
    if (target == NULL || call->count == 0 || call->args[0] != call->out || Py_TYPE(target) != &PyArray_Type ||
        !PyArray_ISBEHAVED(target) || PyDataType_REFCHK(PyArray_DESCR(target)) || PyArray_NDIM(target) > 60) {
        return NULL;
    }
    return PyArray_IS_C_CONTIGUOUS(target) || is_nested(target) ? target : NULL;
}

/* Whether what is read, an array or anything else, shares no memory with a target. */
int source_is_apart(PyObject *source, Array *target) {
    return !PyArray_Check(source) || arrays_are_apart(source, (PyObject *)target);
}

/* Define what puts blocks behind some points. STEP writes the element `*from` to `*to`. Returns nothing. */
#define PUTS(NAME, TYPE, STEP)                                                                                         \
    static void NAME##_block(const PutJob *job, char *to, const char *from, int dim) {                                 \
        const npy_intp size = job->block_shape[dim], there = job->block_to[dim], here = job->block_from[dim];          \
        if (dim < job->block_ndim - 1) {                                                                               \
            for (npy_intp i = 0; i < size; i++, to += there, from += here) {                                           \
                NAME##_block(job, to, from, dim + 1);                                                                  \
            }                                                                                                          \
        } else if (there == (npy_intp)sizeof(TYPE) && here == (npy_intp)sizeof(TYPE)) {                                \
            for (npy_intp i = 0; i < size; i++) {                                                                      \
                TYPE *t = (TYPE *)to + i;                                                                              \
                const TYPE *f = (const TYPE *)from + i;                                                                \
                STEP;                                                                                                  \
            }                                                                                                          \
        } else if (there == (npy_intp)sizeof(TYPE) && here == -(npy_intp)sizeof(TYPE)) {                               \
            for (npy_intp i = 0; i < size; i++) {                                                                      \
                TYPE *t = (TYPE *)to + i;                                                                              \
                const TYPE *f = (const TYPE *)from - i;                                                                \
                STEP;                                                                                                  \
            }                                                                                                          \
        } else if (there == (npy_intp)sizeof(TYPE) && here == 0) {                                                     \
            const TYPE number = *(const TYPE *)from, *f = &number;                                                     \
            for (npy_intp i = 0; i < size; i++) {                                                                      \
                TYPE *t = (TYPE *)to + i;                                                                              \
                STEP;                                                                                                  \
            }                                                                                                          \
        } else {                                                                                                       \
            for (npy_intp i = 0; i < size; i++, to += there, from += here) {                                           \
                TYPE *t = (TYPE *)to;                                                                                  \
                const TYPE *f = (const TYPE *)from;                                                                    \
                STEP;                                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME(const PutJob *job, npy_intp first, npy_intp end) {                                                \
        const int last = job->points_ndim - 1;                                                                         \
        const npy_intp row = job->points_shape[last], here = job->points_from[last];                                   \
        for (npy_intp at = first, behind; at < end; at = behind) {                                                     \
            const char *from = job->from + at % row * here;                                                            \
            npy_intp rest = at / row;                                                                                  \
            behind = at - at % row + row < end ? at - at % row + row : end;                                            \
            for (int i = last - 1; i >= 0; rest /= job->points_shape[i--]) {                                           \
                from += rest % job->points_shape[i] * job->points_from[i];                                             \
            }                                                                                                          \
            for (; at < behind && job->block_ndim == 0; at++, from += here) {                                          \
                TYPE *t = (TYPE *)(job->to + job->offsets[at]);                                                        \
                const TYPE *f = (const TYPE *)from;                                                                    \
                STEP;                                                                                                  \
            }                                                                                                          \
            for (; at < behind; at++, from += here) {                                                                  \
                NAME##_block(job, job->to + job->offsets[at], from, 0);                                                \
            }                                                                                                          \
        }                                                                                                              \
    }

typedef struct {
    uint64_t halves[2];
} Wide; /* complex128 */

PUTS(put_1, uint8_t, *t = *f)
PUTS(put_2, uint16_t, *t = *f)
PUTS(put_4, uint32_t, *t = *f)
PUTS(put_8, uint64_t, *t = *f)
PUTS(put_16, Wide, *t = *f)
PUTS(add_f32, float, *t += *f)
PUTS(add_f64, double, *t += *f)
PUTS(add_i64, uint64_t, *t += *f)

/* Find the loops for a target, and begin a job without dimensions, whose one block lies where the target begins.
 * Returns 0 if there are none. */
int find_put(PutJob *job, Array *target, Write write) {
    const int type = PyArray_TYPE(target);
    job->put = type == NPY_FLOAT ? add_f32 : type == NPY_DOUBLE ? add_f64 : type == NPY_INT64 ? add_i64 : NULL;
    if (write == OVERWRITE) {
        const npy_intp size = PyArray_ITEMSIZE(target);
        job->put = size == 1    ? put_1
                   : size == 2  ? put_2
                   : size == 4  ? put_4
                   : size == 8  ? put_8
                   : size == 16 ? put_16
                                : NULL;
    }
    static const npy_intp here = 0;
    job->to = PyArray_BYTES(target);
    job->offsets = &here;
    job->points_ndim = 1;
    job->points = job->points_shape[0] = job->block = 1;
    job->points_from[0] = job->block_ndim = 0;
    return job->put != NULL;
}

/* Add a dimension to each block, inside those that it has: together with the last one, where the two are one. Returns
 * whether it has elements. */
int add_block_dim(PutJob *job, npy_intp size, npy_intp to, npy_intp from) {
    const int last = job->block_ndim - 1;
    job->block *= size;
    if (size == 1) {
        return 1;
    }
    if (last >= 0 && job->block_to[last] == size * to && job->block_from[last] == size * from) {
        job->block_shape[last] *= size;
        job->block_to[last] = to;
        job->block_from[last] = from;
        return size > 0;
    }
    job->block_shape[last + 1] = size;
    job->block_to[last + 1] = to;
    job->block_from[last + 1] = from;
    job->block_ndim++;
    return size > 0;
}

/* Have the block be a whole target, the largest steps first; `from` are the source's. Returns whether it has elements.
 */
int add_block(PutJob *job, Array *target, const npy_intp *from) {
    const int ndim = PyArray_NDIM(target);
    int order[NPY_MAXDIMS], is_full = 1;
    for (int i = 0; i < ndim; i++) {
        int at = i;
        const npy_intp step = PyArray_STRIDE(target, i) < 0 ? -PyArray_STRIDE(target, i) : PyArray_STRIDE(target, i);
        for (; at > 0; at--) {
            const npy_intp former = PyArray_STRIDE(target, order[at - 1]);
            if ((former < 0 ? -former : former) >= step) {
                break;
            }
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    for (int i = 0; i < ndim; i++) {
        is_full &= add_block_dim(job, PyArray_DIM(target, order[i]), PyArray_STRIDE(target, order[i]), from[order[i]]);
    }
    return is_full;
}

/* Put some rows of the one block, those of its first dimension. */
static void work_rows(void *given, int64_t from, int64_t to) {
    PutJob part = *(const PutJob *)given;
    part.to += from * part.block_to[0];
    part.from += from * part.block_from[0];
    part.block_shape[0] = to - from;
    part.put(&part, 0, 1);
}

/* Put the one block, in the threads of the pool if it is long. */
void run_put(PutJob *job) {
    if (job->block_ndim == 0) {
        job->put(job, 0, 1);
    } else {
        do_ranges(work_rows, job, job->block_shape[0], job->block);
    }
}

/* Write a source of the target's dtype, broadcast to its shape, that lies apart from it. Returns 0 if it does not fit.
 */
int put_broadcast(Array *target, Array *source) {
    PutJob job;
    const int ndim = PyArray_NDIM(target), fewer = ndim - PyArray_NDIM(source);
    if (fewer < 0 || PyArray_DESCR(target) != PyArray_DESCR(source) || !PyArray_ISALIGNED(source) ||
        !find_put(&job, target, OVERWRITE) || !source_is_apart((PyObject *)source, target)) {
        return 0;
    }
    npy_intp from[NPY_MAXDIMS];
    job.from = PyArray_BYTES(source);
    for (int i = 0; i < ndim; i++) {
        const npy_intp size = PyArray_DIM(target, i), given = i < fewer ? 1 : PyArray_DIM(source, i - fewer);
        if (given != size && given != 1) {
            return 0;
        }
        from[i] = given == 1 ? 0 : PyArray_STRIDE(source, i - fewer);
    }
    if (!add_block(&job, target, from)) {
        return 0;
    }
    const npy_intp step = job.block_ndim == 0 ? 0 : job.block_from[job.block_ndim - 1];
    if (job.block > MOST_TURNED && step != 0 && step != PyArray_ITEMSIZE(source)) {
        return 0; /* NumPy has the better order */
    }
    run_put(&job);
    return 1;
}

/* Write a Python number as an element of a type (float32, float64, int64, int32, bool). Returns 0 if Python has to: a
 * number of another kind, or one that the type does not hold. */
int read_scalar(PyObject *value, int type, void *element) {
    double number;
    int overflow = 0;
    if (type == NPY_BOOL) {
        *(npy_bool *)element = value == Py_True;
        return PyBool_Check(value);
    }
    if (type == NPY_INT64 || type == NPY_INT32) {
        const int64_t whole = PyLong_CheckExact(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : 0;
        if (!PyLong_CheckExact(value) || overflow || (type == NPY_INT32 && (whole > INT32_MAX || whole < INT32_MIN))) {
            return 0;
        }
        if (type == NPY_INT64) {
            *(int64_t *)element = whole;
        } else {
            *(int32_t *)element = (int32_t)whole;
        }
        return 1;
    }
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || !read_number(value, &number) ||
        (type == NPY_FLOAT && isinf((float)number) && !isinf(number))) {
        return 0;
    }
    if (type == NPY_FLOAT) {
        *(float *)element = (float)number;
    } else {
        *(double *)element = number;
    }
    return 1;
}
