/* Nodes of the graph: their fields, their edges, their memory, and what the garbage collector sees of them. */

#ifndef OPWRIGHT_NODE_H
#define OPWRIGHT_NODE_H

#include "fast/arrays/tensor.h"

/* The most edges that a node has without a tuple of them. */
#define MOST_INLINE_EDGES 3

/* A node of the graph, before the slots of its class. */
typedef struct {
    PyObject_HEAD
    PyObject *edges; /* as Python set them or saw them; NULL: as they are in `few` */
    PyObject *shape;
    PyObject *dtype;
    PyObject *extra;
    int64_t sequence;
    PyObject *few[MOST_INLINE_EDGES]; /* up to the first NULL */
} Node;

/* The edges of a node, held while it runs: Python may give it others meanwhile. */
typedef struct {
    PyObject *const *items;
    Py_ssize_t count;
    PyObject *sequence;
    PyObject *few[MOST_INLINE_EDGES];
} Edges;

/* Whether an object is a node. */
static inline int is_node(PyObject *object) {
    return PyObject_TypeCheck(object, core.node);
}

/* Return where the gradient of an operand flows, borrowed: None where it gets none. */
static inline PyObject *edge_of(PyObject *operand) {
    PyObject *edge = operand == Py_None ? NULL : ((Tensor *)operand)->edge;
    return edge == NULL ? Py_None : edge;
}

/* node.c */
PyTypeObject *make_node_base(PyObject *module);
PyObject *adopt_node(PyObject *module, PyObject *type);
PyObject *track_nodes(PyObject *module, PyObject *unused);
PyObject *before_collecting(PyObject *module, PyObject *const *args, Py_ssize_t count);
int edges_hold(PyObject *node, Edges *edges);
void edges_drop(Edges *edges);

/* node_slabs.c: the memory of nodes, and which of them the garbage collector does not know */
PyObject *cell_take(size_t size);
void cell_give_back(PyObject *object);
void cell_hide(PyObject *object);
void cell_unhide(PyObject *object);
void cells_track(void);

#endif
