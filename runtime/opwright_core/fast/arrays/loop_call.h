/* What calls of NumPy's loops are made of: for operands of one type (`ufunc_loops.c`), and for half and bfloat16, which
 * are computed in float32 (`reduced_loops.c`). */

#ifndef OPWRIGHT_LOOP_CALL_H
#define OPWRIGHT_LOOP_CALL_H

#include "numpy_api.h"
#include "ufunc_loops.h"

/* How many elements are worth a range of their own. */
#define RANGE_LOOP 32768

/* Arguments of a loop: the operands, and the result last. Where operands broadcast, the loop is called
 * for each row. */
typedef struct {
    char *data[MOST_OPERANDS + 1];
    npy_intp steps[MOST_OPERANDS + 1];
    npy_intp row_steps[MOST_OPERANDS + 1];
    npy_intp rows, shape[NPY_MAXDIMS];
    int ndim;
    double numbers[MOST_OPERANDS]; /* elements that operands without an array are */
    PyArrayObject *arrays[MOST_OPERANDS];
    PyArrayObject *first;
    int type;
} Call;

int is_plain_operand(PyArrayObject *array);
int are_alike(PyArrayObject *array, PyArrayObject *first);
int write_number(PyObject *number, int type, void *element);
int prepare_rows(const Loops *loops, const Operand *operands, Call *call);
void call_loop(const Loops *loops, const Call *call, char **data, npy_intp count);

#endif
