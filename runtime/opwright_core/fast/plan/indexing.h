/* What reading and writing by `tensor[...]` share. */

#ifndef OPWRIGHT_INDEXING_H
#define OPWRIGHT_INDEXING_H

#include "fast/arrays/numpy_api.h"
#include "fast/arrays/tensor.h"

/* The most indices that are looked at here. */
#define MOST_INDICES 16

/* An index of positions, or a mask. */
typedef struct {
    PyObject *given; /* borrowed */
    int dim;         /* of the view: where it begins … */
    int is_behind;   /* … before what the ellipsis takes is added */
    int consumed;    /* how many dimensions it takes; 0: it is one of those that make the view */
} Index;

/* What is found out of several indices. */
typedef struct {
    Index items[MOST_INDICES];
    Py_ssize_t count;
    int left;     /* how many dimensions the ellipsis takes */
    int consumed; /* by indices of positions */
    int is_whole; /* whether the others take their dimensions whole */
} Indices;

PyArrayObject *array_in(PyObject *value);
int read_indices(PyObject *items, int ndim, Indices *found);
PyObject *list_of_indices(const Indices *found);
PyObject *view_by_others(PyObject *tensor, const Indices *found);
int is_plain(PyObject *tensor);

#endif
