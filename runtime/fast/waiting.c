/* Waiting: nodes of a backward pass by their sequence, which no two have in common. Holds references to what is in it;
 * none of these functions runs Python, but for `waiting_free`. */

#include "waiting.h"

#define FIRST_SIZE 16

static size_t place_of(const Waiting *waiting, int64_t sequence) {
    return (size_t)((uint64_t)sequence * UINT64_C(0x9E3779B97F4A7C15) >> 20) & waiting->mask;
}

/* Return the place of a sequence in the table, or the empty one where it would be. */
static Arrived *probe(const Waiting *waiting, int64_t sequence) {
    size_t place = place_of(waiting, sequence);
    while (waiting->table[place].sequence != sequence && waiting->table[place].sequence != -1) {
        place = (place + 1) & waiting->mask;
    }
    return &waiting->table[place];
}

/* Return what arrived for a node, or NULL. It is valid until something is added or taken. */
Arrived *waiting_find(const Waiting *waiting, int64_t sequence) {
    if (waiting->count == 0) {
        return NULL;
    }
    Arrived *found = probe(waiting, sequence);
    return found->sequence == sequence ? found : NULL;
}

/* Make the table larger: half of it stays empty. Returns -1 with MemoryError. */
static int grow(Waiting *waiting) {
    Arrived *old = waiting->table;
    size_t old_size = old == NULL ? 0 : waiting->mask + 1, size = old == NULL ? FIRST_SIZE : 2 * old_size;
    Arrived *table = PyMem_New(Arrived, size);
    int64_t *heap = table == NULL ? NULL : PyMem_Realloc(waiting->heap, size / 2 * sizeof(int64_t));
    if (heap == NULL) {
        PyMem_Free(table);
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < size; i++) {
        table[i].sequence = -1;
    }
    waiting->heap = heap;
    waiting->room = (Py_ssize_t)(size / 2);
    waiting->table = table;
    waiting->mask = size - 1;
    for (size_t i = 0; i < old_size; i++) {
        if (old[i].sequence != -1) {
            *probe(waiting, old[i].sequence) = old[i];
        }
    }
    PyMem_Free(old);
    return 0;
}

/* Add a node, for which nothing arrived yet. Returns NULL with MemoryError. */
Arrived *waiting_add(Waiting *waiting, int64_t sequence, PyObject *node) {
    if (waiting->count == waiting->room && grow(waiting) < 0) {
        return NULL;
    }
    Py_ssize_t place = waiting->count++;
    while (place > 0 && waiting->heap[(place - 1) / 2] < sequence) {
        waiting->heap[place] = waiting->heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    waiting->heap[place] = sequence;
    Arrived *found = probe(waiting, sequence);
    *found = (Arrived){sequence, Py_NewRef(node), NULL};
    return found;
}

/* Take the greatest sequence from the heap, which is not empty. */
static int64_t take_greatest(Waiting *waiting) {
    int64_t greatest = waiting->heap[0], last = waiting->heap[--waiting->count];
    Py_ssize_t place = 0, child;
    while ((child = 2 * place + 1) < waiting->count) {
        if (child + 1 < waiting->count && waiting->heap[child + 1] > waiting->heap[child]) {
            child++;
        }
        if (waiting->heap[child] <= last) {
            break;
        }
        waiting->heap[place] = waiting->heap[child];
        place = child;
    }
    waiting->heap[place] = last;
    return greatest;
}

/* Empty a place of the table, and move up what was put behind it for want of room. */
static void empty(Waiting *waiting, Arrived *found) {
    size_t hole = (size_t)(found - waiting->table), place = hole;
    for (;;) {
        place = (place + 1) & waiting->mask;
        if (waiting->table[place].sequence == -1) {
            break;
        }
        size_t wanted = place_of(waiting, waiting->table[place].sequence);
        if (((place - wanted) & waiting->mask) >= ((place - hole) & waiting->mask)) {
            waiting->table[hole] = waiting->table[place];
            hole = place;
        }
    }
    waiting->table[hole].sequence = -1;
}

/* Take the newest node, of which there is one. Its references are the caller's. */
Arrived waiting_take(Waiting *waiting) {
    Arrived *found = probe(waiting, take_greatest(waiting));
    Arrived taken = *found;
    empty(waiting, found);
    return taken;
}

void waiting_free(Waiting *waiting) {
    while (waiting->count > 0) {
        Arrived taken = waiting_take(waiting);
        Py_DECREF(taken.node);
        Py_XDECREF(taken.grads);
    }
    PyMem_Free(waiting->heap);
    PyMem_Free(waiting->table);
    *waiting = (Waiting){0};
}
