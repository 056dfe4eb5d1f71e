/* Pointwise kernels on half and bfloat16, a block at a time: operands are widened to float32, the kernel is called on
 * the block, and what it returns is narrowed to where the result lies. Blocks stay in the cache, and their memory is
 * not asked of the system anew for each call. */

#include "reduced_blocks.h"

#include "array_pool.h"
#include "casts.h"
#include "float_errors.h"
#include "threads.h"

/* Elements of a block for each thread: the kernel splits it. */
#define WIDENED_BLOCK 8192

/* What the kernel gets at a position: a block of an array, which may be widened, or the same object each time. */
typedef struct {
    Array *array; /* borrowed; NULL: the object as it is */
    DenseLoop widen; /* NULL: a view of the array */
} Operand;

typedef struct {
    const BlockedCall *call;
    Operand operands[MOST_PASSED];
    PyObject *values[MOST_PASSED + 1]; /* references; the first is the callee's */
    DenseLoop narrow;
    npy_intp size, width; /* bytes of an element of the result; elements of the blocks that are held */
} Blocks;

/* Read how the kernel gets an operand. Returns 1; 0 where blocks of it are not what lies in the result's block; -1 with
 * an exception. */
static int read_operand(Blocks *blocks, int at) {
    PyObject *value = blocks->call->values[at], *cast = blocks->call->casts[at];
    Operand *operand = &blocks->operands[at];
    Reduced reduced;
    if (!PyArray_Check(value)) {
        blocks->values[at + 1] = Py_NewRef(value);
        return !PyList_CheckExact(value) && !PyTuple_CheckExact(value);
    }
    Array *array = any_plain_array(value);
    const int is_cast = cast != NULL && PyArray_DescrCheck(cast);
    if (array == NULL || (is_cast && (((PyArray_Descr *)cast)->type_num != NPY_FLOAT ||
                                      !read_reduced(PyArray_DESCR(array), &reduced)))) {
        return 0;
    }
    if (PyArray_NDIM(array) == 0 && blocks->call->result->ndim > 0) {
        blocks->values[at + 1] = is_cast ? cast_array(value, (PyArray_Descr *)cast) : Py_NewRef(value);
        return blocks->values[at + 1] != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    operand->array = array;
    operand->widen = is_cast ? reduced.widen : NULL;
    return PyArray_NDIM(array) == blocks->call->result->ndim &&
           PyArray_CompareLists(PyArray_DIMS(array), (npy_intp *)blocks->call->result->dims, PyArray_NDIM(array));
}

/* Put a block of an array, `width` elements from one on, among the values. Returns -1 with an exception. */
static int put_block(Blocks *blocks, int at, npy_intp start, npy_intp width) {
    const Operand *operand = &blocks->operands[at];
    PyObject **block = &blocks->values[at + 1];
    char *from = PyArray_BYTES(operand->array) + start * element_size(operand->array);
    if (operand->widen == NULL) {
        PyArray_Descr *dtype =
            (PyArray_Descr *)Py_NewRef(PyArray_DESCR(operand->array)); /* which the next call takes */
        PyObject *view = PyArray_NewFromDescr(&PyArray_Type, dtype, 1, &width, NULL, from, 0, NULL);
        if (view != NULL && PyArray_SetBaseObject((Array *)view, Py_NewRef(operand->array)) < 0) { /* takes the array */
            Py_CLEAR(view);
        }
        Py_XSETREF(*block, view);
        return view == NULL ? -1 : 0;
    }
    if (*block == NULL || width != blocks->width || !is_only_reference(*block)) {
        Py_XSETREF(*block, (PyObject *)new_array(1, &width, NPY_FLOAT));
    }
    if (*block == NULL) {
        return -1;
    }
    char *const data[2] = {from, PyArray_BYTES((Array *)*block)};
    operand->widen(data, width);
    return 0;
}

/* Write what the kernel returned for a block. Returns 0 if it is none of the planned dtype. */
static int take_block(const Blocks *blocks, PyObject *output, char *to, npy_intp width) {
    Array *array = any_plain_array(output);
    if (array == NULL || PyArray_NDIM(array) != 1 || count_of(array) != width) {
        return 0;
    }
    char *const data[2] = {PyArray_BYTES(array), to};
    if ((PyObject *)PyArray_DESCR(array) == blocks->call->result->dtype) {
        memcpy(to, data[0], (size_t)(width * blocks->size));
    } else if (blocks->narrow != NULL && PyArray_TYPE(array) == NPY_FLOAT) {
        blocks->narrow(data, width);
    } else {
        return 0;
    }
    return 1;
}

/* Compute the blocks into the memory of the target. Returns 1; 0 where the kernel returned something else; -1 with an
 * exception. */
static int run_blocks(Blocks *blocks, Array *target) {
    const npy_intp count = count_of(target), most = WIDENED_BLOCK * (npy_intp)opwright_get_num_threads();
    for (npy_intp start = 0; start < count; start += most) {
        const npy_intp width = count - start < most ? count - start : most;
        for (int i = 0; i < blocks->call->count; i++) {
            if (blocks->operands[i].array != NULL && put_block(blocks, i, start, width) < 0) {
                return -1;
            }
        }
        blocks->width = width;
        PyObject *output = call_in_silence(blocks->call->kernel, blocks->values + 1,
                                           (size_t)blocks->call->count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        const int is_taken =
            output == NULL ? -1 : take_block(blocks, output, PyArray_BYTES(target) + start * blocks->size, width);
        Py_XDECREF(output);
        if (is_taken <= 0) {
            return is_taken;
        }
    }
    return 1;
}

/* Call a pointwise kernel block by block, for operands that are row-major and alike, or of no dimension, into `target`
 * or a new array. Returns a new reference to it; NULL with an exception, or without one where the whole has to be
 * computed at once. */
PyObject *call_by_blocks(const BlockedCall *call, PyObject *target) {
    Blocks blocks = {.call = call, .size = PyDataType_ELSIZE((PyArray_Descr *)call->result->dtype)};
    Reduced reduced;
    blocks.narrow = read_reduced((PyArray_Descr *)call->result->dtype, &reduced) ? reduced.narrow : NULL;
    int is_done = 1, arrays = 0;
    for (int i = 0; i < call->count && is_done > 0; i++) {
        is_done = read_operand(&blocks, i);
        arrays += blocks.operands[i].array != NULL;
    }
    PyObject *made = NULL;
    if (is_done > 0 && arrays > 0) {
        PyArray_Descr *dtype = (PyArray_Descr *)call->result->dtype;
        made = target != NULL ? Py_NewRef(target)
                              : array_new((PyArray_Descr *)Py_NewRef(dtype), call->result->ndim, call->result->dims);
        const int is_sum =
            made != NULL && blocks.narrow != NULL && run_reduced_sum(call, (Array *)made, target != NULL);
        if (made != NULL && !is_sum && run_blocks(&blocks, (Array *)made) <= 0) {
            Py_CLEAR(made);
        }
    }
    for (int i = 0; i <= call->count; i++) {
        Py_XDECREF(blocks.values[i]);
    }
    return made;
}
