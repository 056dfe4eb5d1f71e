/* How many gradients each node of a pass gets, by the edges that lead to it. They are counted if a leaf has hooks,
 * which want the whole gradient as soon as it is there, and where a product may be added to a `.grad`. */

#include "backward.h"
#include "engine.h"

typedef struct {
    PyObject *stack, *uses; /* a list of nodes whose edges were not followed; a dictionary of nodes and leaves */
    int has_hooks;
} Walk;

/* Add to the count of a node; return what it is then, or -1. */
static Py_ssize_t change_count(PyObject *uses, PyObject *node, Py_ssize_t change) {
    PyObject *existing = PyDict_GetItemWithError(uses, node);
    if (existing == NULL && PyErr_Occurred()) {
        return -1;
    }
    Py_ssize_t count = (existing == NULL ? 0 : PyLong_AsSsize_t(existing)) + change;
    PyObject *number = PyLong_FromSsize_t(count);
    int failed = number == NULL || PyDict_SetItem(uses, node, number) < 0;
    Py_XDECREF(number);
    return failed ? -1 : count;
}

/* Note where an edge leads. Returns -1 with an exception. */
static int follow(Walk *walk, PyObject *edge) {
    PyObject *node = PyTuple_CheckExact(edge) ? PyTuple_GET_ITEM(edge, 0) : edge;
    if (node == Py_None) {
        return 0;
    }
    Py_ssize_t count = change_count(walk->uses, node, 1);
    if (count == 1 && !is_leaf(node)) {
        return PyList_Append(walk->stack, node);
    }
    walk->has_hooks |= is_leaf(node) && leaf_has_hooks(node);
    return count < 0 ? -1 : 0;
}

/* Take the last node that was noted, and follow its edges. Returns -1 with an exception. */
static int step(Walk *walk) {
    Py_ssize_t last = PyList_GET_SIZE(walk->stack) - 1;
    PyObject *node = PyList_GET_ITEM(walk->stack, last); /* borrowed: `uses` has it, too */
    if (PyList_SetSlice(walk->stack, last, last + 1, NULL) < 0) {
        return -1;
    }
    Edges edges;
    if (!is_node(node)) {
        PyErr_Format(PyExc_TypeError, "%.200s is no node of a graph", Py_TYPE(node)->tp_name);
        return -1;
    }
    int failed = edges_hold(node, &edges) < 0;
    for (Py_ssize_t i = 0; !failed && i < edges.count; i++) {
        failed = follow(walk, edges.items[i]) < 0;
    }
    edges_drop(&edges);
    return failed ? -1 : 0;
}

/* Count the edges that lead from a root to each node. Returns a new dictionary, and whether any leaf has hooks; NULL
 * with an exception. */
PyObject *count_uses(PyObject *root, int *has_hooks) {
    Walk walk = {PyList_New(0), PyDict_New(), 0};
    int failed = walk.stack == NULL || walk.uses == NULL || follow(&walk, root) < 0;
    while (!failed && PyList_GET_SIZE(walk.stack) > 0) {
        failed = step(&walk) < 0;
    }
    *has_hooks = walk.has_hooks;
    Py_XDECREF(walk.stack);
    if (failed) {
        Py_CLEAR(walk.uses);
    }
    return walk.uses;
}

/* Count the gradients of the leaves that a root leads to, if any of these has hooks: else `dependencies` is NULL.
 * Returns -1 with an exception. */
int count_dependencies(PyObject *root, PyObject **dependencies) {
    int has_hooks;
    *dependencies = count_uses(root, &has_hooks);
    if (*dependencies == NULL) {
        return -1;
    }
    if (!has_hooks) {
        Py_CLEAR(*dependencies);
    }
    return 0;
}

/* Note that a gradient arrived at a leaf. Returns how many are still to come, or -1. */
Py_ssize_t take_dependency(PyObject *dependencies, PyObject *leaf) {
    return change_count(dependencies, leaf, -1);
}
