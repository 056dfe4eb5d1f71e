/* Operators that C calls. */

#ifndef OPWRIGHT_OPERATOR_H
#define OPWRIGHT_OPERATOR_H

#include "fast/core.h"

/* An operator: its table, from keys to kernels, and the Python that handles any call. */
typedef struct {
    PyObject *table;
    PyObject *function;
    int64_t cached_keys; /* the keys looked up last … */
    PyObject *cached;    /* … and the int that they are; NULL at first */
} Operator;

int operator_set(Operator *operator, PyObject *table, PyObject *function);
void operator_clear(Operator *operator);
int operator_find(Operator *operator, PyObject *const *args, Py_ssize_t count, PyObject **kernel);
PyObject *operator_call(Operator *operator, PyObject *const *args, Py_ssize_t count);

#endif
