/* The engine queue: nodes that wait in a backward pass, with the gradients that arrived; the newest is taken first. */

#ifndef OPWRIGHT_ENGINE_QUEUE_H
#define OPWRIGHT_ENGINE_QUEUE_H

#include "fast/core.h"

/* A node that waits. `grads` is NULL or None while nothing arrived, a gradient, or a list of several outputs'. */
typedef struct {
    int64_t sequence; /* the node's; -1: the entry of the table is empty */
    PyObject *node;
    PyObject *grads;
} QueuedNode;

/* A heap of sequences, and a table with open addressing from these to what arrived. */
typedef struct {
    int64_t *heap;
    Py_ssize_t count, capacity;
    QueuedNode *table;
    size_t mask; /* of the table's size, a power of two; 0: there is no table yet */
} EngineQueue;

QueuedNode *queue_find(const EngineQueue *queue, int64_t sequence);
QueuedNode *queue_add(EngineQueue *queue, int64_t sequence, PyObject *node);
QueuedNode queue_take(EngineQueue *queue);
void queue_free(EngineQueue *queue);

#endif
