/* Attention and its gradients: the weights of some rows at a time, which stay in the cache, and are made again for the
 * gradients. */

#include "gemm.h"

#include "fast/arrays/loops.h"

#include <stdatomic.h>

/* How many weights are made at once, and of how many rows at least. */
#define WEIGHTS_AT_ONCE 32768
#define FEWEST_ROWS 64
/* For fewer rows of a query than these, keys and values are multiplied as they lie. */
#define FEW_ROWS 8
/* Rows that are turned at once. */
#define TURNED_ROWS 16
/* The operands and results of both directions. */
#define MOST_ARRAYS 9

/* A call: the first query and key, for their sizes, and the arrays. */
typedef struct {
    Matrix query, key;
    Array *arrays[MOST_ARRAYS]; /* by the numbers below; NULL for what there is not */
    char *logs;                 /* of all rows, one after another */
    double scale;
    int is_causal;
    atomic_int is_lost; /* whether memory ran out */
} AttentionJob;

enum { QUERY, KEY, VALUE, BIAS, RESULT, GRAD, OF_QUERY, OF_KEY, OF_VALUE };

/* One pair of matrices. `bias.data` is NULL where nothing is added; `logs` are one for each row. */
typedef struct {
    Matrix query, key, value, bias, result, grad, of_query, of_key, of_value;
    char *logs;
} Pair;

/* Return how many rows are computed at once. */
static npy_intp rows_at_once(const AttentionJob *job) {
    const npy_intp rows = WEIGHTS_AT_ONCE / job->key.rows, wanted = rows < FEWEST_ROWS ? FEWEST_ROWS : rows;
    return wanted < job->query.rows ? wanted : job->query.rows;
}

/* Return some rows of a matrix. */
static Matrix rows_of(Matrix matrix, npy_intp start, npy_intp rows) {
    matrix.data += start * matrix.row_step;
    matrix.rows = rows;
    return matrix;
}

/* Return the first columns of a matrix. */
static Matrix columns_of(Matrix matrix, npy_intp columns) {
    matrix.columns = columns;
    return matrix;
}

/* Set a matrix to 0, whose elements are side by side. */
static void clear_rows(const Matrix *matrix) {
    const size_t bytes = (size_t)(matrix->columns * matrix->column_step);
    for (npy_intp row = 0; row < matrix->rows; row++) {
        memset(matrix->data + row * matrix->row_step, 0, bytes);
    }
}

/* Return the matrix that an array has for a pair, by its number; no data where there is no array. */
static Matrix matrix_of(const Array *array, int64_t number) {
    npy_intp offset = 0;
    for (int dim = array == NULL ? -1 : PyArray_NDIM(array) - 3; dim >= 0; dim--) {
        offset += number % PyArray_DIM(array, dim) * PyArray_STRIDE(array, dim);
        number /= PyArray_DIM(array, dim);
    }
    return array == NULL ? (Matrix){NULL, 0, 0, 0, 0} : matrix_at(array, offset);
}

/* Return a pair by its number. */
static Pair pair_at(const AttentionJob *job, int64_t number) {
    Matrix found[MOST_ARRAYS];
    for (int i = 0; i < MOST_ARRAYS; i++) {
        found[i] = matrix_of(job->arrays[i], number);
    }
    return (Pair){found[QUERY], found[KEY], found[VALUE], found[BIAS], found[RESULT], found[GRAD], found[OF_QUERY],
                  found[OF_KEY], found[OF_VALUE],
                  job->logs + number * job->query.rows * PyArray_ITEMSIZE(job->arrays[QUERY])};
}

FUSED

#define REAL float
#define OF(NAME) NAME##_f32
#include "sums.h"
#include "attention_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "sums.h"
#include "attention_loops.h"
#undef REAL
#undef OF

UNFUSED

/* Return an operand as BLAS takes its matrices: itself, or a row-major copy; a new reference. NULL without an exception
 * for anything but an array of that type with the dimensions of the batch and two more. */
static Array *operand(PyObject *object, int type, int ndim) {
    if (!is_array_of(object, type) || !PyArray_ISALIGNED((Array *)object) || !PyArray_ISNOTSWAPPED((Array *)object) ||
        PyArray_NDIM((Array *)object) != ndim || count_of((Array *)object) == 0) {
        return NULL;
    }
    const Matrix matrix = matrix_at((Array *)object, 0);
    const int is_taken = is_gemm_matrix(type == NPY_DOUBLE, &matrix);
    return (Array *)(is_taken ? Py_NewRef(object) : PyArray_NewCopy((Array *)object, NPY_CORDER));
}

/* Whether an array has the batch of another, and a matrix of that size. */
static int has_sizes(const Array *array, const Array *like, npy_intp rows, npy_intp columns) {
    const int ndim = PyArray_NDIM(like);
    return PyArray_NDIM(array) == ndim && PyArray_DIM(array, ndim - 2) == rows &&
           PyArray_DIM(array, ndim - 1) == columns &&
           memcmp(PyArray_DIMS(array), PyArray_DIMS(like), (size_t)(ndim - 2) * sizeof(npy_intp)) == 0;
}

/* Return a new array like an operand: row-major, or with the rows of each matrix beside those of the next, as heads lie
 * in what they are the parts of. NULL with an exception. */
static Array *new_lying(PyObject *object) {
    Array *like = (Array *)object;
    npy_intp shape[NPY_MAXDIMS];
    const int ndim = PyArray_NDIM(like);
    memcpy(shape, PyArray_DIMS(like), (size_t)ndim * sizeof *shape);
    if (ndim == 2 || PyArray_STRIDE(like, ndim - 3) >= PyArray_STRIDE(like, ndim - 2)) {
        return new_array(ndim, shape, PyArray_TYPE(like));
    }
    shape[ndim - 3] = PyArray_DIM(like, ndim - 2);
    shape[ndim - 2] = PyArray_DIM(like, ndim - 3);
    Array *made = new_array(ndim, shape, PyArray_TYPE(like));
    PyObject *turned = made == NULL ? NULL : PyArray_SwapAxes(made, ndim - 3, ndim - 2);
    Py_XDECREF(made);
    return (Array *)turned;
}

/* Drop what a job holds. */
static void drop(AttentionJob *job) {
    for (int i = 0; i < MOST_ARRAYS; i++) {
        Py_XDECREF(job->arrays[i]);
    }
}

/* Read query, key, value and bias. Returns 0, perhaps with an exception, for what the Python has to handle. */
static int read_attention(AttentionJob *job, PyObject *const *args, PyObject *bias, PyObject *causal, PyObject *scale) {
    const int type = Py_TYPE(args[0]) == &PyArray_Type ? PyArray_TYPE((Array *)args[0]) : -1;
    const int ndim = type < 0 ? 0 : PyArray_NDIM((Array *)args[0]);
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || ndim < 2 || !read_number(scale, &job->scale) ||
        !PyBool_Check(causal)) {
        return 0;
    }
    job->is_causal = causal == Py_True;
    for (int i = QUERY; i <= VALUE; i++) {
        if ((job->arrays[i] = operand(args[i], type, ndim)) == NULL) {
            return 0;
        }
    }
    job->query = matrix_at(job->arrays[QUERY], 0);
    job->key = matrix_at(job->arrays[KEY], 0);
    if (!has_sizes(job->arrays[KEY], job->arrays[QUERY], job->key.rows, job->query.columns) ||
        !has_sizes(job->arrays[VALUE], job->arrays[QUERY], job->key.rows, PyArray_DIM(job->arrays[VALUE], ndim - 1))) {
        return 0;
    }
    if (bias != Py_None) {
        if (!is_array_of(bias, type) || !PyArray_ISALIGNED((Array *)bias) || !PyArray_ISNOTSWAPPED((Array *)bias) ||
            !has_sizes((Array *)bias, job->arrays[QUERY], job->query.rows, job->key.rows)) {
            return 0;
        }
        job->arrays[BIAS] = (Array *)Py_NewRef(bias);
    }
    return 1;
}

/* Compute all pairs. Returns 0 where memory ran out. */
static int run_pairs(AttentionJob *job, RangeWork work) {
    const npy_intp pairs = count_of_first(job->arrays[QUERY], PyArray_NDIM(job->arrays[QUERY]) - 2);
    do_ranges(work, job, pairs, pairs * job->query.rows * job->key.rows);
    return !atomic_load(&job->is_lost);
}

/* attention(query, key, value, bias, is_causal, scale). Returns a new tuple of two arrays; NULL without an exception
 * for what `read_attention` refuses, and where there is no BLAS. */
static PyObject *handle_attention(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    AttentionJob job = {.logs = NULL};
    PyObject *made = NULL;
    if (call->count == 6 && call->out == NULL &&
        read_attention(&job, call->args, call->args[3], call->args[4], call->args[5])) {
        const Array *query = job.arrays[QUERY], *value = job.arrays[VALUE];
        const int type = PyArray_TYPE(query), ndim = PyArray_NDIM(query);
        npy_intp shape[NPY_MAXDIMS];
        memcpy(shape, PyArray_DIMS(query), (size_t)ndim * sizeof *shape);
        shape[ndim - 1] = PyArray_DIM(value, ndim - 1);
        job.arrays[RESULT] = new_array(ndim, shape, type);
        Array *logs = job.arrays[RESULT] == NULL ? NULL : new_array(ndim - 1, PyArray_DIMS(query), type);
        if (logs != NULL) {
            job.logs = PyArray_BYTES(logs);
            if (run_pairs(&job, type == NPY_DOUBLE ? attend_f64 : attend_f32)) {
                made = PyTuple_Pack(2, job.arrays[RESULT], logs);
            }
            Py_DECREF(logs);
        }
    }
    drop(&job);
    return made;
}

/* attention_gradients(grad, query, key, value, result, logarithms, bias, is_causal, scale). Returns a new tuple of
 * three arrays; NULL without an exception as `attention` does. */
static PyObject *handle_gradients(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    AttentionJob job = {.logs = NULL};
    PyObject *made = NULL;
    if (call->count != 9 || call->out != NULL ||
        !read_attention(&job, call->args + 1, call->args[6], call->args[7], call->args[8])) {
        drop(&job);
        return NULL;
    }
    const Array *query = job.arrays[QUERY], *value = job.arrays[VALUE];
    const int type = PyArray_TYPE(query), ndim = PyArray_NDIM(query);
    const npy_intp width = PyArray_DIM(value, ndim - 1);
    const Array *logs = plain_array(call->args[5], type);
    job.arrays[GRAD] = operand(call->args[0], type, ndim);
    job.arrays[RESULT] = operand(call->args[4], type, ndim);
    if (logs != NULL && count_of(logs) * job.query.columns == count_of(query) && job.arrays[GRAD] != NULL &&
        job.arrays[RESULT] != NULL && has_sizes(job.arrays[GRAD], query, job.query.rows, width) &&
        has_sizes(job.arrays[RESULT], query, job.query.rows, width)) {
        job.logs = PyArray_BYTES(logs);
        for (int i = 0; i < 3; i++) {
            job.arrays[OF_QUERY + i] = new_lying(call->args[1 + i]);
        }
        if (job.arrays[OF_QUERY] != NULL && job.arrays[OF_KEY] != NULL && job.arrays[OF_VALUE] != NULL &&
            run_pairs(&job, type == NPY_DOUBLE ? attend_back_f64 : attend_back_f32)) {
            made = PyTuple_Pack(3, job.arrays[OF_QUERY], job.arrays[OF_KEY], job.arrays[OF_VALUE]);
        }
    }
    drop(&job);
    return made;
}

const CompiledKernel attention_kernels[] = {
    {"attention", handle_attention, NULL, OF_NUMPY | QUIET},
    {"attention_gradients", handle_gradients, NULL, OF_NUMPY | QUIET},
    {NULL, NULL, NULL, 0},
};
