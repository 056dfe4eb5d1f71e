/* The engine queue: nodes that wait in a backward pass, by their sequence, which no two have in common. It holds
 * references to what is in it; none of these functions runs Python, but for `queue_free`. */

#include "engine_queue.h"

#define FIRST_SIZE 16

/* Return the index in the table where a sequence is looked for first. */
static size_t index_of(const EngineQueue *queue, int64_t sequence) {
    return (size_t)((uint64_t)sequence * UINT64_C(0x9E3779B97F4A7C15) >> 20) & queue->mask;
}

/* Return the entry of a sequence in the table, or the empty one where it would be. */
static QueuedNode *probe(const EngineQueue *queue, int64_t sequence) {
    size_t index = index_of(queue, sequence);
    while (queue->table[index].sequence != sequence && queue->table[index].sequence != -1) {
        index = (index + 1) & queue->mask;
    }
    return &queue->table[index];
}

/* Return what arrived for a node, or NULL. It is valid until something is added or taken. */
QueuedNode *queue_find(const EngineQueue *queue, int64_t sequence) {
    if (queue->count == 0) {
        return NULL;
    }
    QueuedNode *found = probe(queue, sequence);
    return found->sequence == sequence ? found : NULL;
}

/* Make the table larger: half of it stays empty. Returns -1 with MemoryError. */
static int grow(EngineQueue *queue) {
    QueuedNode *old = queue->table;
    size_t old_size = old == NULL ? 0 : queue->mask + 1, size = old == NULL ? FIRST_SIZE : 2 * old_size;
    QueuedNode *table = PyMem_New(QueuedNode, size);
    int64_t *heap = table == NULL ? NULL : PyMem_Realloc(queue->heap, size / 2 * sizeof(int64_t));
    if (heap == NULL) {
        PyMem_Free(table);
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < size; i++) {
        table[i].sequence = -1;
    }
    queue->heap = heap;
    queue->capacity = (Py_ssize_t)(size / 2);
    queue->table = table;
    queue->mask = size - 1;
    for (size_t i = 0; i < old_size; i++) {
        if (old[i].sequence != -1) {
            *probe(queue, old[i].sequence) = old[i];
        }
    }
    PyMem_Free(old);
    return 0;
}

/* Add a node, for which nothing arrived yet. Returns NULL with MemoryError. */
QueuedNode *queue_add(EngineQueue *queue, int64_t sequence, PyObject *node) {
    if (queue->count == queue->capacity && grow(queue) < 0) {
        return NULL;
    }
    Py_ssize_t index = queue->count++;
    while (index > 0 && queue->heap[(index - 1) / 2] < sequence) {
        queue->heap[index] = queue->heap[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    queue->heap[index] = sequence;
    QueuedNode *found = probe(queue, sequence);
    *found = (QueuedNode){sequence, Py_NewRef(node), NULL};
    return found;
}

/* Take the greatest sequence from the heap, which is not empty, and return it. */
static int64_t take_greatest(EngineQueue *queue) {
    int64_t greatest = queue->heap[0], last = queue->heap[--queue->count];
    Py_ssize_t index = 0, child;
    while ((child = 2 * index + 1) < queue->count) {
        if (child + 1 < queue->count && queue->heap[child + 1] > queue->heap[child]) {
            child++;
        }
        if (queue->heap[child] <= last) {
            break;
        }
        queue->heap[index] = queue->heap[child];
        index = child;
    }
    queue->heap[index] = last;
    return greatest;
}

/* Empty an entry of the table, and move up what was put behind it because its own entry was taken. */
static void empty(EngineQueue *queue, QueuedNode *found) {
    size_t hole = (size_t)(found - queue->table), index = hole;
    for (;;) {
        index = (index + 1) & queue->mask;
        if (queue->table[index].sequence == -1) {
            break;
        }
        size_t wanted = index_of(queue, queue->table[index].sequence);
        if (((index - wanted) & queue->mask) >= ((index - hole) & queue->mask)) {
            queue->table[hole] = queue->table[index];
            hole = index;
        }
    }
    queue->table[hole].sequence = -1;
}

/* Take the newest node, of which there is one, and return it with its references. */
QueuedNode queue_take(EngineQueue *queue) {
    QueuedNode *found = probe(queue, take_greatest(queue));
    QueuedNode taken = *found;
    empty(queue, found);
    return taken;
}

/* Drop all that waits. May run Python. */
void queue_free(EngineQueue *queue) {
    while (queue->count > 0) {
        QueuedNode taken = queue_take(queue);
        Py_DECREF(taken.node);
        Py_XDECREF(taken.grads);
    }
    PyMem_Free(queue->heap);
    PyMem_Free(queue->table);
    *queue = (EngineQueue){0};
}
