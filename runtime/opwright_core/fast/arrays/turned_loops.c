/* NumPy's loops for two matrices of which one lies by rows and the other by columns, as x.t() beside y does: a tile of
 * the second is turned at a time, in the nearest cache, where NumPy's own walk goes from line to line of memory. */

#include "array_pool.h"
#include "float_errors.h"
#include "loop_call.h"
#include "plain_arrays.h"

#include <stdatomic.h>

/* Rows of a tile, a line of the cache of the second matrix, and its columns. */
#define ROWS 16
#define COLUMNS 256
/* How many rows of the second matrix are fetched before they are read: no processor guesses such steps. */
#define AHEAD 32
/* Of how many rows and columns matrices are at least: small ones are as fast as they lie. */
#define FEWEST 16

/* A call: the matrices and the result, where the first and the result have `rows` rows one after another, and the
 * second has `columns`. */
typedef struct {
    const Loops *loops;
    Call tile;
    npy_intp rows, columns, size, result_size;
    const char *first, *second;
    char *result;
    atomic_int errors;
} TurnedCall;

/* Define a function that returns nothing and writes the transpose of some neighbouring elements of `columns` rows,
 * which are `step` elements apart; `left` rows may be fetched. */
#define TURN_TILE(NAME, TYPE)                                                                                          \
    static void NAME(const TYPE *from, npy_intp step, TYPE *to, npy_intp rows, npy_intp columns, npy_intp left) {      \
        for (npy_intp column = 0; column < columns; column++, from += step) {                                          \
            const TYPE *next = from + (column + AHEAD < left ? AHEAD * step : 0);                                      \
            __builtin_prefetch(next);                                                                                  \
            __builtin_prefetch(next + rows - 1);                                                                       \
            for (npy_intp row = 0; row < rows; row++) {                                                                \
                to[row * COLUMNS + column] = from[row];                                                                \
            }                                                                                                          \
        }                                                                                                              \
    }

TURN_TILE(turn_words, uint32_t)
TURN_TILE(turn_pairs, uint64_t)

/* Compute some strips of ROWS rows. Needs no GIL. */
static void run_strips(void *given, int64_t from, int64_t to) {
    TurnedCall *job = given;
    uint64_t tile[ROWS * COLUMNS];
    forget_errors();
    for (int64_t strip = from; strip < to; strip++) {
        const npy_intp start = strip * ROWS, rows = job->rows - start < ROWS ? job->rows - start : ROWS;
        for (npy_intp column = 0; column < job->columns; column += COLUMNS) {
            const npy_intp left = job->columns - column, count = left < COLUMNS ? left : COLUMNS;
            const char *second = job->second + (column * job->rows + start) * job->size;
            if (job->size == sizeof(uint32_t)) {
                turn_words((const uint32_t *)second, job->rows, (uint32_t *)tile, rows, count, left);
            } else {
                turn_pairs((const uint64_t *)second, job->rows, tile, rows, count, left);
            }
            for (npy_intp row = 0; row < rows; row++) {
                const npy_intp at = (start + row) * job->columns + column;
                char *data[3] = {(char *)job->first + at * job->size, (char *)tile + row * COLUMNS * job->size,
                                 job->result + at * job->result_size};
                call_loop(job->loops, &job->tile, data, count);
            }
        }
    }
    atomic_fetch_or(&job->errors, fetestexcept(FP_ERRORS));
    forget_errors();
}

/* Whether an array is a matrix that a loop reads, by columns where that is asked. */
static int is_lying(PyArrayObject *array, int by_columns) {
    return PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array) &&
           (by_columns ? PyArray_IS_F_CONTIGUOUS(array) : PyArray_IS_C_CONTIGUOUS(array));
}

/* Whether the operands are such matrices of one type, for a ufunc whose values do not depend on how they lie: then it
 * is written to the job, and whether the first lies by columns. */
static int prepare_turned(const Loops *loops, const Operand *operands, TurnedCall *job, int *by_columns) {
    PyArrayObject *first = (PyArrayObject *)operands[0].array, *second = (PyArrayObject *)operands[1].array;
    if (!loops->is_exact || loops->operands != 2 || first == NULL || second == NULL || PyArray_NDIM(first) != 2 ||
        PyArray_NDIM(second) != 2 || !PyArray_SAMESHAPE(first, second) || PyArray_TYPE(first) != PyArray_TYPE(second) ||
        PyArray_DIM(first, 0) < FEWEST || PyArray_DIM(first, 1) < FEWEST) {
        return 0;
    }
    const int type = PyArray_TYPE(first);
    *by_columns = PyArray_IS_F_CONTIGUOUS(first);
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || loops->at[type] < 0 || !is_lying(first, *by_columns) ||
        !is_lying(second, !*by_columns)) {
        return 0;
    }
    job->loops = loops;
    job->rows = PyArray_DIM(first, *by_columns);
    job->columns = PyArray_DIM(first, !*by_columns);
    job->first = PyArray_BYTES(first);
    job->second = PyArray_BYTES(second);
    job->size = job->tile.steps[0] = job->tile.steps[1] = PyArray_ITEMSIZE(first);
    job->tile.type = type;
    atomic_init(&job->errors, 0);
    return 1;
}

/* Compute for two matrices that lie otherwise. `result` is the new array, which lies as the first does; it stays NULL
 * if the ufunc has to be called. Returns -1 with an exception. */
int loops_run_turned(const Loops *loops, const Operand *operands, PyObject **result) {
    TurnedCall job;
    int by_columns;
    *result = NULL;
    if (!prepare_turned(loops, operands, &job, &by_columns)) {
        return 0;
    }
    const npy_intp shape[2] = {job.rows, job.columns};
    PyObject *made = array_new(PyArray_DescrFromType(loops->results[job.tile.type]), 2, shape);
    if (made == NULL) {
        return -1;
    }
    job.result = PyArray_BYTES((PyArrayObject *)made);
    job.result_size = job.tile.steps[2] = PyArray_ITEMSIZE((PyArrayObject *)made);
    PyObject *held[2] = {Py_NewRef(operands[0].array), Py_NewRef(operands[1].array)};
    run_long(run_strips, &job, (job.rows + ROWS - 1) / ROWS, RANGE_LOOP / (ROWS * job.columns) + 1,
             job.rows * job.columns);
    Py_DECREF(held[0]);
    Py_DECREF(held[1]);
    if (PyErr_Occurred() || told_errors(atomic_load(&job.errors)) != 0) {
        Py_CLEAR(made);
    } else if (by_columns) {
        Py_SETREF(made, PyArray_Transpose((PyArrayObject *)made, NULL));
    }
    *result = made;
    return made == NULL && PyErr_Occurred() ? -1 : 0;
}
