/* Saved values: what nodes save of a call. */

#ifndef OPWRIGHT_SAVED_VALUES_H
#define OPWRIGHT_SAVED_VALUES_H

#include "node.h"

/* How a value is saved, by the numbers of `opwright_core.gradient_codes`: SAVE_VALUE an argument as it is; SAVE_TENSOR
 * one that is a Tensor or None, with the version of its memory; SAVE_RESULT a result whose history is the node, without
 * that history; SAVE_OTHER a result without one; SAVE_SHAPE, SAVE_COUNT, SAVE_STRIDES of a Tensor: its shape, elements,
 * strides. */
#include "numbers.h"

typedef struct {
    Py_ssize_t slot;   /* the offset in the node */
    unsigned char how;
    signed char position; /* of the argument, or among the results */
    uint32_t needed;   /* a bit for each operand whose gradient needs it; 0: always */
} SavedValue;

int saved_value_takes(const SavedValue *saving, PyObject *const *args);
int save_argument(const SavedValue *saving, PyObject *node, PyObject *const *args);
int save_output(const SavedValue *saving, PyObject *node, PyObject *result);
int saved_value_read(SavedValue *saving, PyObject *text, PyTypeObject *node, Py_ssize_t total);

/* saved_values.c */
PyObject *save(PyObject *tensor);
PyObject *save_result(PyObject *result);
PyObject *unpack(PyObject *saved);
int saving_is_ready(void);

/* Whether a saving is of a result. */
static inline int is_of_result(const SavedValue *saving) {
    return saving->how == SAVE_RESULT || saving->how == SAVE_OTHER;
}

#endif
