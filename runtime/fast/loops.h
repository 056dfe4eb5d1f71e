/* NumPy's own inner loops, called without what NumPy does before for arrays of any kind. */

#ifndef OPWRIGHT_LOOPS_H
#define OPWRIGHT_LOOPS_H

#include "core.h"

#define MOST_OPERANDS 3
#define MOST_TYPES 16 /* NumPy's numbers of types, up to complex128 */

/* A ufunc, and where the loops are that take every operand in one type. */
typedef struct {
    PyObject *ufunc;
    int operands;
    signed char at[MOST_TYPES];      /* the number of the loop for a type; -1: there is none */
    signed char results[MOST_TYPES]; /* the type of its result */
    void (*own[MOST_TYPES])(char *const *data, intptr_t count); /* a loop of ours for dense arrays, or NULL */
} Loops;

/* An operand: an array, or a number where `array` is NULL. */
typedef struct {
    PyObject *array;
    PyObject *number;
} Operand;

int loops_init(Loops *loops, PyObject *ufunc, int operands, const char *kinds);
int loops_run(const Loops *loops, const Operand *operands, PyObject **result);
int loops_run_reduced(const Loops *loops, const Operand *operands, PyObject **result);

/* arrays.c: of NumPy arrays */
PyObject *array_shape(PyObject *array);
PyObject *array_strides(PyObject *array);
PyObject *array_dtype(PyObject *array);
PyObject *array_of_one(PyObject *like);
PyObject *array_copy(PyObject *array);
int array_fits(PyObject *array, PyObject *dtype, PyObject *shape);
int arrays_are_apart(PyObject *first, PyObject *second);
int arrays_are_alike(PyObject *first, PyObject *second);
int array_is_real(PyObject *array);
int array_is_simple(PyObject *array);
int array_is_inexact(PyObject *array);
int array_is_free(PyObject *array);
PyObject *array_whole_base(PyObject *view, PyObject *other);
int array_is_small(PyObject *array, Py_ssize_t most);
int array_is_writable(PyObject *array, Py_ssize_t most);
int arrays_share_owner(PyObject *first, PyObject *second);
void array_write(PyObject *to, PyObject *from);

#endif
