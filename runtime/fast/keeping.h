/* What nodes keep of a call: arguments, results, and facts about them. */

#ifndef OPWRIGHT_KEEPING_H
#define OPWRIGHT_KEEPING_H

#include "node.h"

/* `opwright.autograd.recorders` has the numbers. */
enum Keeping {
    KEEP_VALUE = 0,  /* an argument as it is */
    KEEP_TENSOR = 1, /* an argument that is a Tensor or None, with the version of its memory */
    KEEP_RESULT = 2, /* a result that has the node for its history, without that */
    KEEP_OTHER = 3,  /* a result that has none, as an argument is kept */
    KEEP_SHAPE = 4,  /* the shape of an argument that is a Tensor */
    KEEP_COUNT = 5,  /* how many elements it has */
    KEEP_STRIDES = 6, /* its strides */
};

typedef struct {
    Py_ssize_t slot;   /* the offset in the node */
    unsigned char how;
    signed char place; /* of the argument, or among the results */
    uint32_t needed;   /* a bit for each operand whose gradient needs it; 0: always */
} Saving;

int keeping_takes(const Saving *saving, PyObject *const *args);
int keep_argument(const Saving *saving, PyObject *node, PyObject *const *args);
int keep_result(const Saving *saving, PyObject *node, PyObject *result);
int keeping_read(Saving *saving, PyObject *text, PyTypeObject *node, Py_ssize_t total);

/* saved.c */
PyObject *save(PyObject *tensor);
PyObject *save_result(PyObject *result);
PyObject *unpack(PyObject *saved);
int saving_is_ready(void);

/* Whether a saving is of a result. */
static inline int is_of_result(const Saving *saving) {
    return saving->how == KEEP_RESULT || saving->how == KEEP_OTHER;
}

#endif
