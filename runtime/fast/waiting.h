/* What waits in a backward pass: nodes with what arrived for them, of which the newest is taken first. */

#ifndef OPWRIGHT_WAITING_H
#define OPWRIGHT_WAITING_H

#include "core.h"

/* A node that waits. `grads` is NULL or None while nothing arrived, a gradient, or a list of several outputs'. */
typedef struct {
    int64_t sequence; /* the node's; -1 where the place in the table is empty */
    PyObject *node;
    PyObject *grads;
} Arrived;

/* A heap of sequences, and a table with open addressing from these to what arrived. */
typedef struct {
    int64_t *heap;
    Py_ssize_t count, room;
    Arrived *table;
    size_t mask; /* of the table's size, a power of two; 0: there is no table yet */
} Waiting;

Arrived *waiting_find(const Waiting *waiting, int64_t sequence);
Arrived *waiting_add(Waiting *waiting, int64_t sequence, PyObject *node);
Arrived waiting_take(Waiting *waiting);
void waiting_free(Waiting *waiting);

#endif
