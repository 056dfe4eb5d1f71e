/* NumPy's loops of float32 for half and bfloat16: operands are widened, computed and narrowed a block at a time, which
 * stays in the cache. `loops_run_reduced` takes arrays of one of the two as `loops_run` takes its own: alike, or two
 * that broadcast by rows, or with a number, which is one of float32. */

#include "array_pool.h"
#include "casts.h"
#include "float_errors.h"
#include "half_loops.h"
#include "loop_call.h"
#include "plain_arrays.h"

#include <math.h>
#include <stdatomic.h>

/* How many elements are computed at once. */
#define REDUCED_BLOCK 1024

/* A call: as operands lie, and as a block of them does. */
typedef struct {
    const Loops *loops;
    Reduced reduced;
    Call call, block;
    int is_truth;
    HalfLoop by_halves; /* the loop for halves or for bits that takes the operands, or NULL */
    npy_intp width;
    atomic_int errors; /* floating-point errors of the loop: those of casts say nothing */
} ReducedCall;

/* Write a Python number as float32, where the loop has it so rounded to the reduced dtype. One that half rounds is cut
 * to float32 with the last bit set, by which the second rounding comes out as one from double. Returns 0 where NumPy
 * would not do so. */
static int write_reduced_number(const ReducedCall *job, PyObject *number, void *element) {
    double value;
    if (!write_number(number, NPY_FLOAT, element)) {
        return 0;
    }
    if (!job->loops->rounds_numbers) {
        return 1;
    }
    (void)write_number(number, NPY_DOUBLE, &value);
    float *rounded = element;
    if (job->call.type == NPY_HALF && (double)*rounded != value && isfinite(value)) {
        uint32_t bits;
        *rounded = fabs((double)*rounded) > fabs(value) ? nextafterf(*rounded, 0) : *rounded;
        memcpy(&bits, rounded, sizeof bits);
        bits |= 1;
        memcpy(rounded, &bits, sizeof bits);
    }
    uint16_t narrow;
    char *cast[2] = {element, (char *)&narrow}, *back[2] = {(char *)&narrow, element};
    job->reduced.narrow(cast, 1);
    job->reduced.widen(back, 1);
    return 1;
}

/* Whether a loop can take the operands of one reduced dtype block by block: where they lie is written to the call. */
static int read_reduced_operands(ReducedCall *job, const Operand *operands) {
    Call *call = &job->call;
    const Loops *loops = job->loops;
    for (int i = 0; i < loops->operands; i++) {
        PyArrayObject *array = call->arrays[i] = (PyArrayObject *)operands[i].array;
        call->data[i] = array == NULL ? (char *)&call->numbers[i] : PyArray_BYTES(array);
        call->steps[i] = array == NULL ? 0 : PyArray_ITEMSIZE(array);
        if (array == NULL && !write_reduced_number(job, operands[i].number, call->data[i])) {
            return 0;
        }
        if (array != NULL && !are_alike(array, call->first)) {
            return prepare_rows(loops, operands, call);
        }
    }
    call->rows = 1;
    call->ndim = PyArray_NDIM(call->first);
    memcpy(call->shape, PyArray_DIMS(call->first), (size_t)call->ndim * sizeof *call->shape);
    return 1;
}

/* Whether the operands are arrays of one reduced dtype, and a number perhaps, that a loop can take. */
static int prepare_reduced(const Loops *loops, const Operand *operands, ReducedCall *job) {
    Call *call = &job->call;
    call->first = NULL;
    for (int i = 0; i < loops->operands && call->first == NULL; i++) {
        call->first = (PyArrayObject *)operands[i].array;
    }
    if (loops->at[NPY_FLOAT] < 0 || !is_plain_operand(call->first) ||
        PyArray_SIZE(call->first) == 0 || /* whose strides the plan decides */
        !read_reduced(PyArray_DESCR(call->first), &job->reduced)) {
        return 0;
    }
    call->type = PyArray_TYPE(call->first);
    job->loops = loops;
    if (!read_reduced_operands(job, operands)) {
        return 0;
    }
    job->is_truth = loops->results[NPY_FLOAT] == NPY_BOOL;
    const int is_array = call->steps[0] != 0, is_other = loops->operands == 1 || call->steps[1] != 0;
    job->by_halves = is_array && is_other && loops->bits != NULL                          ? loops->bits
                     : loops->operands == 2 && call->type == NPY_HALF && (is_array || is_other) ? loops->halves
                                                                                          : NULL;
    job->block.type = NPY_FLOAT;
    for (int i = 0; i < loops->operands; i++) {
        job->block.steps[i] = call->steps[i] == 0 ? 0 : sizeof(float);
    }
    job->block.steps[loops->operands] = job->is_truth ? 1 : sizeof(float);
    return 1;
}

/* Compute a block. Returns the floating-point errors of the loop. */
static int run_block(const ReducedCall *job, char *const *from, npy_intp size) {
    float rows[MOST_OPERANDS + 1][REDUCED_BLOCK];
    char *data[MOST_OPERANDS + 1];
    const int operands = job->loops->operands;
    for (int i = 0; i < operands; i++) {
        char *cast[2] = {from[i], (char *)rows[i]};
        data[i] = job->call.arrays[i] == NULL ? from[i] : cast[1];
        if (job->call.arrays[i] != NULL) {
            job->reduced.widen(cast, job->call.steps[i] == 0 ? 1 : size);
        }
    }
    data[operands] = job->is_truth ? from[operands] : (char *)rows[operands];
    forget_errors();
    call_loop(job->loops, &job->block, data, size);
    const int errors = fetestexcept(FP_ERRORS);
    if (!job->is_truth) {
        char *cast[2] = {(char *)rows[operands], from[operands]};
        job->reduced.narrow(cast, size);
    }
    return errors;
}

/* Compute elements by the loop for halves. Returns its floating-point errors. */
static int run_halves(const ReducedCall *job, char *const *from, npy_intp size) {
    float numbers[2];
    const float *given[2] = {NULL, NULL};
    for (int i = 0; i < job->loops->operands; i++) {
        char *cast[2] = {from[i], (char *)&numbers[i]};
        if (job->call.arrays[i] == NULL) {
            given[i] = (const float *)from[i];
        } else if (job->call.steps[i] == 0) {
            job->reduced.widen(cast, 1);
            given[i] = &numbers[i];
        }
    }
    forget_errors();
    job->by_halves(from, size, given);
    return fetestexcept(FP_ERRORS);
}

/* Compute elements of a row, from one up to another. Returns the floating-point errors of the loop. */
static int run_span(const ReducedCall *job, npy_intp row, npy_intp start, npy_intp stop) {
    char *data[MOST_OPERANDS + 1];
    const Call *call = &job->call;
    int errors = 0;
    const npy_intp most = job->by_halves != NULL ? stop - start : REDUCED_BLOCK;
    for (; start < stop; start += most) {
        const npy_intp size = stop - start < most ? stop - start : most;
        for (int i = 0; i <= job->loops->operands; i++) {
            data[i] = call->data[i] + (call->rows > 1 ? row * call->row_steps[i] : 0) + start * call->steps[i];
        }
        errors |= job->by_halves != NULL ? run_halves(job, data, size) : run_block(job, data, size);
    }
    return errors;
}

/* Compute some rows, or where there is one row some blocks of it. Needs no GIL. */
static void run_reduced(void *given, int64_t from, int64_t to) {
    ReducedCall *job = given;
    int errors = 0;
    if (job->call.rows == 1) {
        const npy_intp stop = to * REDUCED_BLOCK;
        errors = run_span(job, 0, from * REDUCED_BLOCK, stop < job->width ? stop : job->width);
    } else {
        for (npy_intp row = from; row < to; row++) {
            errors |= run_span(job, row, 0, job->width);
        }
    }
    forget_errors();
    atomic_fetch_or(&job->errors, errors);
}

/* Compute into the new array, in the threads of the pool where there is work for several. */
static void run_all(ReducedCall *job) {
    const npy_intp rows = job->call.rows;
    for (int i = 0; i < job->loops->operands; i++) {
        Py_XINCREF(job->call.arrays[i]);
    }
    run_long(run_reduced, job, rows > 1 ? rows : (job->width + REDUCED_BLOCK - 1) / REDUCED_BLOCK,
             rows > 1 ? RANGE_LOOP / job->width + 1 : RANGE_LOOP / REDUCED_BLOCK, rows * job->width);
    for (int i = 0; i < job->loops->operands; i++) {
        Py_XDECREF(job->call.arrays[i]);
    }
}

/* Compute for arrays of half or bfloat16 as `loops_run` does. Returns -1 with an exception. */
int loops_run_reduced(const Loops *loops, const Operand *operands, PyObject **result) {
    ReducedCall job;
    *result = NULL;
    if (!prepare_reduced(loops, operands, &job)) {
        return 0;
    }
    const npy_intp count = PyArray_MultiplyList(job.call.shape, job.call.ndim);
    if (count == 0) {
        return 0;
    }
    PyArray_Descr *dtype = job.is_truth ? PyArray_DescrFromType(NPY_BOOL)
                                        : (PyArray_Descr *)Py_NewRef(PyArray_DESCR(job.call.first));
    PyObject *made = array_new(dtype, job.call.ndim, job.call.shape);
    if (made == NULL) {
        return -1;
    }
    job.width = count / job.call.rows;
    job.call.data[loops->operands] = PyArray_BYTES((PyArrayObject *)made);
    job.call.steps[loops->operands] = PyArray_ITEMSIZE((PyArrayObject *)made);
    job.call.row_steps[loops->operands] = job.width * job.call.steps[loops->operands];
    atomic_init(&job.errors, 0);
    run_all(&job);
    const int is_interrupted = PyErr_Occurred() != NULL;
    if (is_interrupted || told_errors(atomic_load(&job.errors)) != 0) {
        Py_CLEAR(made);
    }
    *result = made;
    return is_interrupted ? -1 : 0;
}
