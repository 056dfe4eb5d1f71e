/* NumPy's own inner loops. `loops_run` takes what they can take as it is: aligned row-major arrays of one type, with
 * elements, of the same shape, or two that broadcast by rows. Floating-point errors are NumPy's to report: where a loop
 * met one, nothing is returned, and who asked calls the ufunc. */

#include "loop_call.h"

#include "array_pool.h"
#include "float_errors.h"
#include "half_loops.h"
#include "numpy_api.h"
#include "plain_arrays.h"
#include "threads.h"

#include <math.h>

/* From how many elements on other threads may run, as in NumPy. */
#define LONG_LOOP 500
/* Elements of a block, of which whole ones are given to threads: the two ends of a range lie as those of the whole. */
#define BLOCK 4096
/* Rows from so many elements on are worth a call of the loop each, and so are few of any length. */
#define SHORT_ROW 64
#define FEW_ROWS 16
/* Ints up to here are floats without rounding. */
#define EXACT_INT ((int64_t)1 << 53)

/* Return the kind of a type, as dtypes call it; 0 for what no tensor has. */
static char kind_of(int type) {
    if (type == NPY_BOOL) {
        return 'b';
    }
    if (PyTypeNum_ISSIGNED(type)) {
        return 'i';
    }
    if (PyTypeNum_ISUNSIGNED(type)) {
        return 'u';
    }
    if (type == NPY_FLOAT || type == NPY_DOUBLE) {
        return 'f';
    }
    return type == NPY_CFLOAT || type == NPY_CDOUBLE ? 'c' : 0;
}

/* Return the number of the ufunc's loop for operands of one type, or -1. */
static int find_loop(const PyUFuncObject *ufunc, int type) {
    for (int row = 0; row < ufunc->ntypes && row < 127; row++) {
        const char *types = ufunc->types + row * ufunc->nargs;
        int fits = 1;
        for (int i = 0; i < ufunc->nin; i++) {
            fits = fits && types[i] == type;
        }
        if (fits) {
            return ufunc->functions[row] == NULL ? -1 : row;
        }
    }
    return -1;
}

/* Whether a ufunc's values are rounded once, or not at all. */
static int is_exact(const char *name) {
    static const char *const names[] = {"add", "subtract", "multiply", "divide", "maximum", "minimum", "equal",
                                        "not_equal", "less", "less_equal", "greater", "greater_equal"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Find the loops of a ufunc of one result for the types of these kinds. Returns -1 with an exception. */
int loops_init(Loops *loops, PyObject *object, int operands, const char *kinds) {
    PyUFuncObject *ufunc = (PyUFuncObject *)object;
    if (!PyObject_TypeCheck(object, &PyUFunc_Type)) {
        PyErr_SetString(PyExc_TypeError, "a ufunc is expected");
        return -1;
    }
    if (ufunc->nin != operands || ufunc->nout != 1 || operands > MOST_OPERANDS || ufunc->core_enabled) {
        PyErr_SetString(PyExc_ValueError, "the ufunc takes other operands");
        return -1;
    }
    for (int type = 0; type < MOST_TYPES; type++) {
        char kind = kind_of(type);
        int row = kind != 0 && strchr(kinds, kind) != NULL ? find_loop(ufunc, type) : -1;
        int result = row < 0 ? -1 : ufunc->types[row * ufunc->nargs + operands];
        int is_known = row >= 0 && (result == type || result == NPY_BOOL);
        loops->at[type] = (signed char)(is_known ? row : -1);
        loops->results[type] = (signed char)result;
        loops->own[type] = is_known ? dense_loop(ufunc->name, type) : NULL;
    }
    loops->halves = half_loop(ufunc->name);
    loops->bits = bits_loop(ufunc->name);
    loops->is_exact = is_exact(ufunc->name);
    loops->rounds_numbers = strchr(kinds, 'r') != NULL;
    loops->operands = operands;
    loops->ufunc = Py_NewRef(object);
    return 0;
}

/* Whether an array may be read by a loop as it is. */
int is_plain_operand(PyArrayObject *array) {
    return PyArray_NDIM(array) > 0 && PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array) &&
           PyArray_ISNOTSWAPPED(array);
}

/* Whether an array has the type and the shape of the first, and a loop may read it as it is; returns 1 or 0. */
int are_alike(PyArrayObject *array, PyArrayObject *first) {
    return array == first || (PyArray_TYPE(array) == PyArray_TYPE(first) && is_plain_operand(array) &&
                              PyArray_SAMESHAPE(array, first));
}

/* Write a Python number as an element of a floating-point type. Returns 1 if that is exact, or rounded once as NumPy
 * does; else 0. */
int write_number(PyObject *number, int type, void *element) {
    double value;
    if (PyFloat_CheckExact(number)) {
        value = PyFloat_AS_DOUBLE(number);
    } else {
        int overflow;
        int64_t whole = PyLong_AsLongLongAndOverflow(number, &overflow);
        if (overflow || whole > EXACT_INT || whole < -EXACT_INT) {
            return 0;
        }
        value = (double)whole;
    }
    if (type == NPY_DOUBLE) {
        *(double *)element = value;
        return 1;
    }
    float rounded = (float)value;
    *(float *)element = rounded;
    return type == NPY_FLOAT && (isfinite(rounded) || !isfinite(value));
}

/* Write the shape that two arrays broadcast to. Returns 1, or 0 if there is none. */
static int broadcast(const PyArrayObject *const *arrays, Call *call) {
    call->ndim = PyArray_NDIM(arrays[0]) > PyArray_NDIM(arrays[1]) ? PyArray_NDIM(arrays[0]) : PyArray_NDIM(arrays[1]);
    for (int dim = 0; dim < call->ndim; dim++) {
        call->shape[dim] = 1;
        for (int i = 0; i < 2; i++) {
            int own = dim - call->ndim + PyArray_NDIM(arrays[i]);
            npy_intp size = own < 0 ? 1 : PyArray_DIM(arrays[i], own);
            if (size != 1 && call->shape[dim] != 1 && size != call->shape[dim]) {
                return 0;
            }
            call->shape[dim] = size == 1 ? call->shape[dim] : size;
        }
    }
    return 1;
}

/* Return how many elements an array has along some dimensions of the shape: all, or one; -1 for anything else. */
static npy_intp part_of(const PyArrayObject *array, const Call *call, int from, int to) {
    npy_intp whole = 1, own = 1;
    for (int dim = from; dim < to; dim++) {
        int axis = dim - call->ndim + PyArray_NDIM(array);
        whole *= call->shape[dim];
        own *= axis < 0 ? 1 : PyArray_DIM(array, axis);
    }
    return own == whole || own == 1 ? own : -1;
}

/* Whether the loop can go by rows that begin at dimension `split`: in each operand a row is whole or one element, and
 * rows follow each other or are all the same. */
static int split_rows(Call *call, int split, npy_intp width) {
    for (int i = 0; i < 2; i++) {
        const npy_intp outer = part_of(call->arrays[i], call, 0, split);
        const npy_intp inner = part_of(call->arrays[i], call, split, call->ndim), item = PyArray_ITEMSIZE(call->first);
        if (outer < 0 || inner < 0) {
            return 0;
        }
        call->steps[i] = inner == width ? item : 0;
        call->row_steps[i] = outer == call->rows ? inner * item : 0;
        call->data[i] = PyArray_BYTES(call->arrays[i]);
    }
    return 1;
}

/* Whether a loop of two operands can take arrays that broadcast as they are, row by row, without many short rows. */
int prepare_rows(const Loops *loops, const Operand *operands, Call *call) {
    if (loops->operands != 2 || operands[0].array == NULL || operands[1].array == NULL) {
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        call->arrays[i] = (PyArrayObject *)operands[i].array;
        if (!is_plain_operand(call->arrays[i]) || PyArray_TYPE(call->arrays[i]) != call->type) {
            return 0;
        }
    }
    if (!broadcast((const PyArrayObject *const *)call->arrays, call)) {
        return 0;
    }
    npy_intp width = 1;
    call->rows = PyArray_MultiplyList(call->shape, call->ndim);
    for (int split = call->ndim - 1; split > 0 && call->rows > 0; split--) {
        width *= call->shape[split];
        call->rows /= call->shape[split];
        if ((width >= SHORT_ROW || call->rows <= FEW_ROWS) && split_rows(call, split, width)) {
            return 1;
        }
    }
    return 0;
}

/* Whether a loop can take the operands as they are. */
static int prepare(const Loops *loops, const Operand *operands, Call *call) {
    call->first = NULL;
    call->rows = 1;
    for (int i = 0; i < loops->operands && call->first == NULL; i++) {
        call->first = (PyArrayObject *)operands[i].array;
    }
    call->type = PyArray_TYPE(call->first);
    if (call->type >= MOST_TYPES || call->type < 0 || loops->at[call->type] < 0 || !is_plain_operand(call->first)) {
        return 0;
    }
    for (int i = 0; i < loops->operands; i++) {
        call->arrays[i] = (PyArrayObject *)operands[i].array;
        if (call->arrays[i] == NULL) {
            call->data[i] = (char *)&call->numbers[i];
            call->steps[i] = 0;
            if (!write_number(operands[i].number, call->type, call->data[i])) {
                return 0;
            }
        } else if (are_alike(call->arrays[i], call->first)) {
            call->data[i] = PyArray_BYTES(call->arrays[i]);
            call->steps[i] = PyArray_ITEMSIZE(call->arrays[i]);
        } else {
            return prepare_rows(loops, operands, call);
        }
    }
    call->ndim = PyArray_NDIM(call->first);
    memcpy(call->shape, PyArray_DIMS(call->first), (size_t)call->ndim * sizeof *call->shape);
    return 1;
}

/* Call the loop on data: ours where there is one and every operand is an array. */
void call_loop(const Loops *loops, const Call *call, char **data, npy_intp count) {
    const PyUFuncObject *ufunc = (const PyUFuncObject *)loops->ufunc;
    int row = loops->at[call->type], has_number = 0;
    for (int i = 0; i < loops->operands; i++) {
        has_number |= call->steps[i] == 0;
    }
    if (loops->own[call->type] != NULL && !has_number) {
        loops->own[call->type](data, count);
    } else {
        ufunc->functions[row](data, &count, (npy_intp *)call->steps, ufunc->data == NULL ? NULL : ufunc->data[row]);
    }
}

/* A call, and the elements of a row of it: what ranges are taken from. */
typedef struct {
    const Loops *loops;
    const Call *call;
    npy_intp width;
} SplitCall;

/* Call the loop for some rows, or where there is one row for some blocks of it. Needs no GIL. */
static void call_some(void *given, int64_t from, int64_t to) {
    const SplitCall *split = given;
    const Call *call = split->call;
    const npy_intp *steps = call->rows > 1 ? call->row_steps : call->steps;
    const npy_intp unit = call->rows > 1 ? 1 : BLOCK;
    char *data[MOST_OPERANDS + 1];
    for (int i = 0; i <= split->loops->operands; i++) {
        data[i] = call->data[i] + from * unit * steps[i];
    }
    if (call->rows == 1) {
        const npy_intp left = split->width - from * BLOCK, some = (to - from) * BLOCK;
        call_loop(split->loops, call, data, left < some ? left : some);
        return;
    }
    for (npy_intp row = from; row < to; row++) {
        call_loop(split->loops, call, data, split->width);
        for (int i = 0; i <= split->loops->operands; i++) {
            data[i] += steps[i];
        }
    }
}

/* Run the loop for each row; if it is long, in the threads of the pool and without the GIL: arrays are held meanwhile.
 * Returns 1, or 0 after a floating-point error; an interrupt is set. */
static int run(const Loops *loops, Call *call, npy_intp count) {
    SplitCall split = {loops, call, count / call->rows};
    const npy_intp units = call->rows > 1 ? call->rows : (count + BLOCK - 1) / BLOCK;
    const npy_intp grain = call->rows > 1 ? RANGE_LOOP / split.width + 1 : RANGE_LOOP / BLOCK;
    if (count <= LONG_LOOP) {
        call_some(&split, 0, units);
        return fetestexcept(FP_ERRORS) == 0;
    }
    for (int i = 0; i < loops->operands; i++) {
        Py_XINCREF(call->arrays[i]);
    }
    run_long(call_some, &split, units, count < 2 * RANGE_LOOP ? units : grain, count);
    const int errors = fetestexcept(FP_ERRORS);
    for (int i = 0; i < loops->operands; i++) {
        Py_XDECREF(call->arrays[i]);
    }
    return errors == 0;
}

/* Clear the flags. Returns those of its errors of which more than a warning is to be made. */
static int take_errors(void) {
    const int errors = fetestexcept(FP_ERRORS);
    forget_errors();
    return told_errors(errors);
}

/* Compute by a loop. `result` is the new array; it stays NULL if the ufunc has to be called. Returns -1 with an
 * exception. */
int loops_run(const Loops *loops, const Operand *operands, PyObject **result) {
    Call call;
    *result = NULL;
    if (!prepare(loops, operands, &call)) {
        return 0;
    }
    npy_intp count = PyArray_MultiplyList(call.shape, call.ndim);
    if (count == 0) {
        return 0;
    }
    PyArray_Descr *dtype = PyArray_DescrFromType(loops->results[call.type]);
    PyObject *made = array_new(dtype, call.ndim, call.shape);
    if (made == NULL) {
        return -1;
    }
    call.data[loops->operands] = PyArray_BYTES((PyArrayObject *)made);
    call.steps[loops->operands] = PyArray_ITEMSIZE((PyArrayObject *)made);
    call.row_steps[loops->operands] = call.steps[loops->operands] * (count / call.rows);
    forget_errors();
    if (!run(loops, &call, count) && take_errors() != 0) {
        Py_CLEAR(made);
    }
    if (PyErr_Occurred()) { /* Note [Interrupted loops] */
        Py_CLEAR(made);
        return -1;
    }
    *result = made;
    return 0;
}

/* Compute by a loop over dense arrays alike, into the first, which nobody else has. Returns 1; 0 where nothing was
 * written, since the loop takes or gives other arrays. Floating-point errors are not told of, since an operand is gone.
 */
int loops_run_into(const Loops *loops, const Operand *operands) {
    Call call;
    for (int i = 1; i < loops->operands; i++) {
        if (operands[i].array == NULL ||
            !are_alike((PyArrayObject *)operands[i].array, (PyArrayObject *)operands[0].array)) {
            return 0;
        }
    }
    if (!prepare(loops, operands, &call) || loops->results[call.type] != call.type) {
        return 0;
    }
    call.data[loops->operands] = call.data[0];
    call.steps[loops->operands] = call.steps[0];
    if (!run(loops, &call, PyArray_MultiplyList(call.shape, call.ndim))) {
        feclearexcept(FP_ERRORS);
    }
    return 1;
}

/* Run the loop over all of it, and tell of floating-point errors as NumPy does. Returns 1; -1 with an exception. */
static int run_and_tell(const Loops *loops, Call *call) {
    forget_errors();
    if (run(loops, call, PyArray_MultiplyList(call->shape, call->ndim)) || PyErr_Occurred()) {
        return PyErr_Occurred() ? -1 : 1;
    }
    const int errors = take_errors();
    const int told = (errors & FE_DIVBYZERO ? NPY_FPE_DIVIDEBYZERO : 0) |
                     (errors & FE_OVERFLOW ? NPY_FPE_OVERFLOW : 0) | (errors & FE_UNDERFLOW ? NPY_FPE_UNDERFLOW : 0) |
                     (errors & FE_INVALID ? NPY_FPE_INVALID : 0);
    const char *name = ((const PyUFuncObject *)loops->ufunc)->name;
    return told != 0 && PyUFunc_GiveFloatingpointErrors(name, told) < 0 ? -1 : 1;
}

/* Compute by a loop into the first operand. The others are numbers, that array, or arrays alike that lie apart from it.
 * Floating-point errors are told of as NumPy does. Returns 1; 0 where nothing was written; -1 with an exception. */
int loops_run_over(const Loops *loops, const Operand *operands) {
    Call call;
    PyObject *target = operands[0].array;
    for (int i = 1; i < loops->operands; i++) {
        PyObject *each = operands[i].array;
        if (each != NULL && each != target &&
            (!are_alike((PyArrayObject *)each, (PyArrayObject *)target) || !arrays_are_apart(each, target))) {
            return 0;
        }
    }
    if (!PyArray_ISCARRAY((PyArrayObject *)target) || !prepare(loops, operands, &call) ||
        loops->results[call.type] != call.type) {
        return 0;
    }
    call.data[loops->operands] = call.data[0];
    call.steps[loops->operands] = call.steps[0];
    return run_and_tell(loops, &call);
}

/* Compute by a loop into an array of the result's dtype and shape: an operand, or one that lies apart from all. Returns
 * as `loops_run_over`. */
int loops_run_to(const Loops *loops, const Operand *operands, PyObject *target) {
    Call call;
    Array *array = (Array *)target;
    if (!PyArray_ISCARRAY(array) || !prepare(loops, operands, &call) ||
        loops->results[call.type] != PyArray_TYPE(array) || PyArray_NDIM(array) != call.ndim ||
        !PyArray_CompareLists(PyArray_DIMS(array), call.shape, call.ndim)) {
        return 0;
    }
    for (int i = 0; i < loops->operands; i++) {
        PyObject *each = operands[i].array;
        if (each != NULL && each != target && !arrays_are_apart(each, target)) {
            return 0;
        }
    }
    const npy_intp count = PyArray_SIZE(array);
    if (count == 0) {
        return 0;
    }
    call.data[loops->operands] = PyArray_BYTES(array);
    call.steps[loops->operands] = PyArray_ITEMSIZE(array);
    call.row_steps[loops->operands] = PyArray_ITEMSIZE(array) * (count / call.rows);
    return run_and_tell(loops, &call);
}
