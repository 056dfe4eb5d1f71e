/* Saved values: what nodes save of a call. */

#ifndef OPWRIGHT_SAVED_VALUES_H
#define OPWRIGHT_SAVED_VALUES_H

#include "node.h"

/* `opwright.autograd.fields` has the numbers. */
enum SaveKind {
    SAVE_VALUE = 0,  /* an argument as it is */
    SAVE_TENSOR = 1, /* an argument that is a Tensor or None, with the version of its memory */
    SAVE_RESULT = 2, /* a result whose history is the node, without that history */
    SAVE_OTHER = 3,  /* a result without a history, as an argument is saved */
    SAVE_SHAPE = 4,  /* the shape of an argument that is a Tensor */
    SAVE_COUNT = 5,  /* how many elements it has */
    SAVE_STRIDES = 6, /* its strides */
};

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
