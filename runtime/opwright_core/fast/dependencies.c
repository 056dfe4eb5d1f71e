/* Dependencies of leaves: how many gradients each leaf of a pass gets. They are counted if a leaf has hooks, which want the
 * whole gradient as soon as it is there. */

#include "backward.h"
#include "engine.h"

typedef struct {
    PyObject *seen, *stack, *dependencies; /* a set and a list of nodes; a dictionary of leaves */
    int has_hooks;
} Walk;

/* Add to the count of a leaf; return what it is then, or -1. */
static Py_ssize_t change_count(PyObject *dependencies, PyObject *leaf, Py_ssize_t change) {
    PyObject *existing = PyDict_GetItemWithError(dependencies, leaf);
    if (existing == NULL && PyErr_Occurred()) {
        return -1;
    }
    Py_ssize_t count = (existing == NULL ? 0 : PyLong_AsSsize_t(existing)) + change;
    PyObject *number = PyLong_FromSsize_t(count);
    int failed = number == NULL || PyDict_SetItem(dependencies, leaf, number) < 0;
    Py_XDECREF(number);
    return failed ? -1 : count;
}

/* Note where an edge leads. Returns -1 with an exception. */
static int follow(Walk *walk, PyObject *edge) {
    PyObject *node = PyTuple_CheckExact(edge) ? PyTuple_GET_ITEM(edge, 0) : edge;
    if (node == Py_None) {
        return 0;
    }
    if (Py_IS_TYPE(node, engine.leaf)) {
        walk->has_hooks |= leaf_has_hooks(node);
        return change_count(walk->dependencies, node, 1) < 0 ? -1 : 0;
    }
    int is_known = PySet_Contains(walk->seen, node);
    if (is_known != 0) {
        return is_known < 0 ? -1 : 0;
    }
    return PySet_Add(walk->seen, node) < 0 ? -1 : PyList_Append(walk->stack, node);
}

/* Take the last node that was noted, and follow its edges. Returns -1 with an exception. */
static int step(Walk *walk) {
    Py_ssize_t last = PyList_GET_SIZE(walk->stack) - 1;
    PyObject *node = PyList_GET_ITEM(walk->stack, last); /* borrowed: `seen` has it, too */
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

/* Count the gradients of the leaves that a root leads to, if any of these has hooks: else `dependencies` is NULL. Returns -1 with
 * an exception. */
int count_dependencies(PyObject *root, PyObject **dependencies) {
    Walk walk = {PySet_New(NULL), PyList_New(0), PyDict_New(), 0};
    int failed = walk.seen == NULL || walk.stack == NULL || walk.dependencies == NULL || follow(&walk, root) < 0;
    while (!failed && PyList_GET_SIZE(walk.stack) > 0) {
        failed = step(&walk) < 0;
    }
    *dependencies = !failed && walk.has_hooks ? Py_NewRef(walk.dependencies) : NULL;
    Py_XDECREF(walk.dependencies);
    Py_XDECREF(walk.stack);
    Py_XDECREF(walk.seen);
    return failed ? -1 : 0;
}

/* Note that a gradient arrived at a leaf. Returns how many are still to come, or -1. */
Py_ssize_t take_dependency(PyObject *dependencies, PyObject *leaf) {
    return change_count(dependencies, leaf, -1);
}
