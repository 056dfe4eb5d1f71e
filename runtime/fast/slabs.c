/* The memory of nodes: cells of one size in slabs of 64 KB, which stay for the next graph when they are empty, up to a
 * bound. A training step then finds the memory of the one before it, and whoever looks for nodes finds all of them.
 *
 * A cell is what the collector keeps of an object, and the object; of a cell that is free the count of references is 0. */

#include "core.h"

#define SLAB_BYTES 65536
#define HEAD_BYTES (2 * sizeof(uintptr_t)) /* what the collector has before an object, zero where it does not track it */
#define MOST_SPARE 256
#define MOST_SIZES 32

typedef struct Slab Slab;

struct Slab {
    Slab *next, *previous;           /* among all slabs that are in use */
    Slab *next_open, *previous_open; /* among those of its size that have room */
    char *free;                      /* cells that were used before, linked by their first word */
    size_t size;                     /* of a cell, in bytes */
    size_t used, touched, room;      /* cells: that are used; that ever were; that there are */
};

#define FIRST_CELL ((sizeof(Slab) + 15) & ~(size_t)15)

static Slab *slabs = NULL;
static Slab *open_slabs[MOST_SIZES]; /* by the size of cells in words */
static Slab *spare = NULL;           /* linked by `next` */
static int spare_count = 0;

static char *cell_at(Slab *slab, size_t number) {
    return (char *)slab + FIRST_CELL + number * slab->size;
}

static PyObject *object_in(char *cell) {
    return (PyObject *)(cell + HEAD_BYTES);
}

static Slab **open_list(const Slab *slab) {
    return &open_slabs[slab->size / sizeof(void *)];
}

static void open_slab(Slab *slab) {
    Slab **list = open_list(slab);
    slab->previous_open = NULL;
    slab->next_open = *list;
    if (*list != NULL) {
        (*list)->previous_open = slab;
    }
    *list = slab;
}

static void close_slab(Slab *slab) {
    if (slab->next_open != NULL) {
        slab->next_open->previous_open = slab->previous_open;
    }
    if (slab->previous_open != NULL) {
        slab->previous_open->next_open = slab->next_open;
    } else {
        *open_list(slab) = slab->next_open;
    }
}

/* Take a slab for cells of a size, one that is spare if there is any. */
static Slab *begin_slab(size_t size) {
    Slab *slab = spare;
    if (slab != NULL) {
        spare = slab->next;
        spare_count--;
    } else if ((slab = aligned_alloc(SLAB_BYTES, SLAB_BYTES)) == NULL) {
        return NULL;
    }
    *slab = (Slab){.next = slabs, .size = size, .room = (SLAB_BYTES - FIRST_CELL) / size};
    if (slabs != NULL) {
        slabs->previous = slab;
    }
    slabs = slab;
    open_slab(slab);
    return slab;
}

/* Put an empty slab aside, or free it where enough are. */
static void end_slab(Slab *slab) {
    close_slab(slab);
    if (slab->next != NULL) {
        slab->next->previous = slab->previous;
    }
    if (slab->previous != NULL) {
        slab->previous->next = slab->next;
    } else {
        slabs = slab->next;
    }
    if (spare_count == MOST_SPARE) {
        free(slab);
        return;
    }
    slab->next = spare;
    spare = slab;
    spare_count++;
}

/* Return memory for an object of a size, all zero; NULL with MemoryError. */
PyObject *cell_take(size_t size) {
    size = (size + HEAD_BYTES + 15) & ~(size_t)15;
    if (size / sizeof(void *) >= MOST_SIZES) {
        return PyErr_NoMemory();
    }
    Slab *slab = open_slabs[size / sizeof(void *)];
    if (slab == NULL && (slab = begin_slab(size)) == NULL) {
        return PyErr_NoMemory();
    }
    char *cell = slab->free;
    if (cell != NULL) {
        slab->free = *(char **)cell;
    } else {
        cell = cell_at(slab, slab->touched++);
    }
    if (++slab->used == slab->room) {
        close_slab(slab);
    }
    memset(cell, 0, size);
    return object_in(cell);
}

/* Take the memory of an object back that `cell_take` gave. The last slab of a size stays: the next call may want it. */
void cell_give_back(PyObject *object) {
    char *cell = (char *)object - HEAD_BYTES;
    Slab *slab = (Slab *)((uintptr_t)cell & ~(uintptr_t)(SLAB_BYTES - 1));
    Py_SET_REFCNT(object, 0);
    *(char **)cell = slab->free;
    slab->free = cell;
    if (slab->used-- == slab->room) {
        open_slab(slab);
    }
    if (slab->used == 0 && (slab->next_open != NULL || slab->previous_open != NULL)) {
        end_slab(slab);
    }
}

/* Show every object to a function, which neither makes nor frees any. */
void cells_visit(CellVisitor visit) {
    for (Slab *slab = slabs; slab != NULL; slab = slab->next) {
        for (size_t i = 0; i < slab->touched; i++) {
            PyObject *object = object_in(cell_at(slab, i));
            if (Py_REFCNT(object) > 0) {
                visit(object);
            }
        }
    }
}
