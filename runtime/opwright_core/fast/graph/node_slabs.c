/* The memory of nodes: cells of one size in slabs of 64 KB, which stay for the next graph when they are empty, up to a
 * bound. A training step then finds the memory of the one before it, and whoever looks for nodes finds all of them.
 *
 * A cell is what the collector keeps of an object, and the object; of a cell that is free the count of references is 0.
 */

#include "node.h"

#define SLAB_BYTES 65536
#define HEAD_BYTES                                                                                                     \
    (2 * sizeof(uintptr_t)) /* what the collector has before an object, zero where it does not track it */
#define MOST_SPARE 256
#define MOST_SIZES 32

typedef struct Slab Slab;

struct Slab {
    Slab *next_open, *previous_open; /* among those of its size with free cells */
    Slab *next_hidden, *previous_hidden; /* among those with hidden cells, or some that were */
    int is_listed;                       /* there */
    char *free;                      /* cells that were used before, linked by their first word */
    size_t size;                     /* of a cell, in bytes */
    size_t used, touched, capacity;  /* cells: that are used; that ever were; that there are */
    size_t hidden;                   /* cells whose objects the collector does not know */
};

#define FIRST_CELL ((sizeof(Slab) + 15) & ~(size_t)15)

static Slab *hidden_slabs = NULL;
static Slab *open_slabs[MOST_SIZES]; /* by the size of cells in words */
static Slab *spare = NULL;           /* linked by `next_open` */
static int spare_count = 0;

/* Return the cell of a number. */
static char *cell_at(Slab *slab, size_t number) {
    return (char *)slab + FIRST_CELL + number * slab->size;
}

/* Return the object of a cell. */
static PyObject *object_in(char *cell) {
    return (PyObject *)(cell + HEAD_BYTES);
}

/* Return where the list of open slabs with cells of this size begins. */
static Slab **open_list(const Slab *slab) {
    return &open_slabs[slab->size / sizeof(void *)];
}

/* Put a slab among those with free cells. */
static void open_slab(Slab *slab) {
    Slab **list = open_list(slab);
    slab->previous_open = NULL;
    slab->next_open = *list;
    if (*list != NULL) {
        (*list)->previous_open = slab;
    }
    *list = slab;
}

/* Take a slab from those with free cells. */
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

/* Put a slab among those with hidden cells. */
static void join_list(Slab *slab) {
    slab->is_listed = 1;
    slab->previous_hidden = NULL;
    slab->next_hidden = hidden_slabs;
    if (hidden_slabs != NULL) {
        hidden_slabs->previous_hidden = slab;
    }
    hidden_slabs = slab;
}

/* Take a slab from those with hidden cells. */
static void leave_list(Slab *slab) {
    slab->is_listed = 0;
    if (slab->next_hidden != NULL) {
        slab->next_hidden->previous_hidden = slab->previous_hidden;
    }
    if (slab->previous_hidden != NULL) {
        slab->previous_hidden->next_hidden = slab->next_hidden;
    } else {
        hidden_slabs = slab->next_hidden;
    }
}

/* Return the slab of an object. */
static Slab *slab_of(PyObject *object) {
    return (Slab *)((uintptr_t)object & ~(uintptr_t)(SLAB_BYTES - 1));
}

/* Return a slab for cells of a size, a spare one if there is any; NULL if there is no memory. */
static Slab *begin_slab(size_t size) {
    Slab *slab = spare;
    if (slab != NULL) {
        spare = slab->next_open;
        spare_count--;
    } else if ((slab = aligned_alloc(SLAB_BYTES, SLAB_BYTES)) == NULL) {
        return NULL;
    }
    *slab = (Slab){.size = size, .capacity = (SLAB_BYTES - FIRST_CELL) / size};
    open_slab(slab);
    return slab;
}

/* Put an empty slab aside, or free it where enough are. */
static void end_slab(Slab *slab) {
    close_slab(slab);
    if (slab->is_listed) {
        leave_list(slab);
    }
    if (spare_count == MOST_SPARE) {
        free(slab);
        return;
    }
    slab->next_open = spare;
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
    if (++slab->used == slab->capacity) {
        close_slab(slab);
    }
    memset(cell, 0, size);
    return object_in(cell);
}

/* Take the memory of an object back that `cell_take` gave. The last slab of a size stays: the next call may want it. */
void cell_give_back(PyObject *object) {
    char *cell = (char *)object - HEAD_BYTES;
    Slab *slab = slab_of(object);
    Py_SET_REFCNT(object, 0);
    *(char **)cell = slab->free;
    slab->free = cell;
    if (slab->used-- == slab->capacity) {
        open_slab(slab);
    }
    if (slab->used == 0 && (slab->next_open != NULL || slab->previous_open != NULL)) {
        end_slab(slab);
    }
}

/* Note that the collector does not know an object. */
void cell_hide(PyObject *object) {
    Slab *slab = slab_of(object);
    slab->hidden++;
    if (!slab->is_listed) {
        join_list(slab);
    }
}

/* Note that an object which was hidden goes. */
void cell_unhide(PyObject *object) {
    slab_of(object)->hidden--;
}

/* Have the collector know every object that is hidden. What it takes depends on how many there are, and not on how many
 * objects are known: of a slab the newest cells are looked at first, until all that are hidden are found. */
void cells_track(void) {
    for (Slab *slab; (slab = hidden_slabs) != NULL; leave_list(slab)) {
        for (size_t i = slab->touched; i-- > 0 && slab->hidden > 0;) {
            PyObject *object = object_in(cell_at(slab, i));
            if (Py_REFCNT(object) > 0 && !PyObject_GC_IsTracked(object)) {
                PyObject_GC_Track(object);
                slab->hidden--;
            }
        }
    }
}
