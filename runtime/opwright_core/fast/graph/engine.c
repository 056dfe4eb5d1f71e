/* The engine for what is common: one root, leaves that accumulate, nothing recorded, no mode, no leaf with hooks. It
 * does what `opwright.autograd.engine` does, which handles all other passes, and nodes with hooks or several outputs
 * here. */

#include "fast/arrays/arrays.h"
#include "backward.h"
#include "engine.h"
#include "fast/interned.h"
#include "fast/arrays/tensor.h"

Engine engine = {0};

/* Return the sequence of a node, or -1 with an exception. */
static int64_t sequence_of(PyObject *node) {
    if (!is_node(node)) {
        PyErr_Format(PyExc_TypeError, "%.200s is no node of a graph", Py_TYPE(node)->tp_name);
        return -1;
    }
    return ((Node *)node)->sequence;
}

/* Hand a leaf its whole gradient, the reference to which is taken: the leaf keeps one that is held here alone. Python
 * gets it in a dictionary, out of which it takes it. Returns -1 with an exception. */
static int finish_leaf(const Pass *pass, PyObject *leaf, PyObject *grad) {
    if (((Node *)leaf)->extra == Py_None) {
        int failed = leaf_accumulate(leaf, grad);
        Py_DECREF(grad);
        return failed;
    }
    PyObject *leaves = PyDict_New();
    int failed = leaves == NULL || PyDict_SetItem(leaves, leaf, grad) < 0;
    Py_DECREF(grad);
    PyObject *done =
        failed ? NULL : PyObject_CallFunctionObjArgs(engine.finish_uncommon, pass->current, leaf, leaves, NULL);
    Py_XDECREF(leaves);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Note a leaf to which no more is to come. Returns -1 with an exception. */
static int note_if_complete(Pass *pass, PyObject *leaf) {
    Py_ssize_t left = take_dependency(pass->dependencies, leaf);
    if (left != 0) {
        return left < 0 && PyErr_Occurred() ? -1 : 0;
    }
    if (pass->complete == NULL && (pass->complete = PyList_New(0)) == NULL) {
        return -1;
    }
    return PyList_Append(pass->complete, leaf);
}

/* Hand on the gradients of leaves to which no more is to come, once the node that gave the last one holds it no longer.
 * Returns -1 with an exception. */
static int finish_complete(Pass *pass) {
    PyObject *complete = pass->complete;
    pass->complete = NULL;
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(complete); i++) {
        PyObject *leaf = PyList_GET_ITEM(complete, i), *grad = take_gradient(pass->leaves, leaf);
        failed = grad == NULL || finish_leaf(pass, leaf, grad) < 0;
    }
    Py_DECREF(complete);
    return failed ? -1 : 0;
}

/* Add a gradient to a leaf's. Returns -1 with an exception. */
static int deliver_to_leaf(Pass *pass, PyObject *leaf, PyObject *grad) {
    PyObject *existing = PyDict_GetItemWithError(pass->leaves, leaf);
    if (existing == NULL && PyErr_Occurred()) {
        return -1;
    }
    PyObject *sum = sum_of(existing, grad);
    int failed = sum == NULL || PyDict_SetItem(pass->leaves, leaf, sum) < 0;
    Py_XDECREF(sum);
    if (failed || pass->dependencies == NULL) {
        return failed ? -1 : 0;
    }
    return note_if_complete(pass, leaf);
}

/* Return a new list of None for each output of a node of several. */
static PyObject *several_of(PyObject *node) {
    PyObject *outputs = PyObject_GetAttr(node, interned.outputs);
    Py_ssize_t count = outputs == NULL ? -1 : PyObject_Length(outputs);
    Py_XDECREF(outputs);
    PyObject *made = count < 0 ? NULL : PyList_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyList_SET_ITEM(made, i, Py_NewRef(Py_None));
    }
    return made;
}

/* Add a gradient to one of several that wait in a list. Returns -1 with an exception. */
static int deliver_to_list(PyObject *grads, PyObject *number, PyObject *grad) {
    Py_ssize_t index = PyLong_AsSsize_t(number);
    PyObject *existing = index == -1 && PyErr_Occurred() ? NULL : PySequence_GetItem(grads, index);
    PyObject *sum = existing == NULL ? NULL : sum_of(existing, grad);
    Py_XDECREF(existing);
    return sum == NULL ? -1 : PyList_SetItem(grads, index, sum);
}

/* Add a gradient to what waits for a node, or for a leaf; None counts as arrived. Returns -1 with an exception. */
static int deliver(Pass *pass, PyObject *edge, PyObject *grad) {
    if (is_leaf(edge)) {
        return deliver_to_leaf(pass, edge, grad);
    }
    int is_pair = PyTuple_CheckExact(edge);
    PyObject *node = is_pair ? PyTuple_GET_ITEM(edge, 0) : edge;
    int64_t sequence = sequence_of(node);
    if (sequence == -1 && PyErr_Occurred()) {
        return -1;
    }
    QueuedNode *found = queue_find(&pass->queue, sequence);
    if (found == NULL) {
        found = queue_add(&pass->queue, sequence, node);
        if (found == NULL || (is_pair && (found->grads = several_of(node)) == NULL)) {
            return -1;
        }
    }
    if (is_pair) {
        return deliver_to_list(found->grads, PyTuple_GET_ITEM(edge, 1), grad);
    }
    PyObject *sum = sum_of(found->grads, grad);
    if (sum == NULL) {
        return -1;
    }
    Py_XSETREF(found->grads, sum); /* no other thread has the pass: the entry is the same */
    return 0;
}

/* Return what the node's class has cached, borrowed: a Gradients, or None. NULL with an exception. */
PyObject *gradients_of(PyObject *node) {
    PyObject *type = (PyObject *)Py_TYPE(node);
    if (!PyType_IsSubtype(Py_TYPE(node), engine.recorded)) {
        return Py_None;
    }
    PyObject *found = PyDict_GetItemWithError(engine.cached_gradients, type);
    if (found != NULL || PyErr_Occurred()) {
        return found;
    }
    found = PyObject_CallOneArg(engine.gradients_for, type);
    int failed = found == NULL || PyDict_SetItem(engine.cached_gradients, type, found) < 0;
    Py_XDECREF(found); /* the dictionary has it, and forgets nothing */
    return failed ? NULL : found;
}

/* Free what a node saved, if the pass does that. Returns -1 with an exception. */
static int release(const Pass *pass, PyObject *node, PyObject *gradients) {
    if (!pass->frees) {
        return 0;
    }
    if (gradients != Py_None) {
        return gradients_release(gradients, node);
    }
    PyObject *saved = PyObject_GetAttr(node, interned.saved);
    int has_any = saved == NULL ? -1 : PyObject_IsTrue(saved);
    Py_XDECREF(saved);
    if (has_any <= 0) {
        return has_any;
    }
    PyObject *done = PyObject_VectorcallMethod(interned.release, &node, 1, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Hand a node's gradients on, but for those that are NULL: they were added to what waits. What goes to the one node
 * that runs next is put into `next` and `next_grad`. Returns -1 with an exception. */
static int hand_on(
    Pass *pass, PyObject *node, const Edges *edges, PyObject *const *results, PyObject **next, PyObject **next_grad) {
    for (Py_ssize_t i = 0; i < edges->count; i++) {
        PyObject *edge = edges->items[i];
        if (edge == Py_None || results[i] == NULL) {
            continue;
        }
        PyObject *result = fitted(results[i], edge, node, i);
        if (result == NULL) {
            return -1;
        }
        int failed = 0;
        if (next == NULL || result == Py_None || PyTuple_CheckExact(edge) || is_leaf(edge)) {
            failed = deliver(pass, edge, result);
        } else if (*next == NULL) {
            *next = Py_NewRef(edge);
            *next_grad = Py_NewRef(result);
        } else if (*next == edge) {
            PyObject *sum = sum_of(*next_grad, result);
            failed = sum == NULL;
            if (!failed) {
                Py_SETREF(*next_grad, sum);
            }
        } else {
            failed = deliver(pass, edge, result);
        }
        Py_DECREF(result);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

/* Take as many results as are wanted of the sequence that Python returned: new references. `is_short` allows fewer.
 * Returns -1 with an exception. */
static int take_results(PyObject *found, Py_ssize_t count, PyObject **results, int is_short) {
    for (Py_ssize_t i = 0; i < count; i++) {
        results[i] = PySequence_GetItem(found, i);
        if (results[i] == NULL) {
            if (!is_short || !PyErr_ExceptionMatches(PyExc_IndexError)) {
                return -1;
            }
            PyErr_Clear();
            results[i] = Py_NewRef(Py_None);
        }
    }
    return 0;
}

/* Compute a node's gradients from the one of its output: new references in `results`, which held NULL, and still does
 * for what was added to a gradient that waits. Returns -1 with an exception. */
static int compute(Pass *pass, PyObject *node, PyObject *gradients, PyObject *grad, const Edges *edges,
                   PyObject **results) {
    if (gradients != Py_None) {
        int is_done = gradients_compute(pass, gradients, node, grad, edges, results);
        if (is_done != 0) {
            return is_done < 0 ? -1 : 0;
        }
    }
    PyObject *args[2] = {node, grad};
    PyObject *found = PyObject_VectorcallMethod(interned.apply, args, 2, NULL);
    int failed = found == NULL || take_results(found, edges->count, results, 0) < 0;
    Py_XDECREF(found);
    return failed ? -1 : 0;
}

/* Have Python run a node with hooks or several outputs, or one without a gradient: new references in `results`. Returns
 * -1 with an exception. */
static int run_uncommon(Pass *pass, PyObject *node, PyObject *grads, const Edges *edges, PyObject **results) {
    PyObject *found = PyObject_CallFunctionObjArgs(engine.run_uncommon, pass->current, node, grads, NULL);
    int failed = found == NULL || take_results(found, edges->count, results, 1) < 0;
    Py_XDECREF(found);
    return failed ? -1 : 0;
}

/* Run a node and hand its gradients on, but for those that the next node gets. Returns -1 with an exception. */
static int run_node(Pass *pass, PyObject *node, PyObject *grads, PyObject **next, PyObject **next_grad) {
    PyObject *few[MOST_ARGUMENTS] = {NULL}, **results = few;
    Edges edges;
    if (edges_hold(node, &edges) < 0) {
        return -1;
    }
    PyObject *gradients = gradients_of(node);
    int failed = 1;
    if (gradients == NULL) {
        goto done;
    }
    if (edges.count > MOST_ARGUMENTS && (results = PyMem_Calloc((size_t)edges.count, sizeof(PyObject *))) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    int is_common = ((Node *)node)->extra == Py_None && Py_TYPE(grads) == core.tensor;
    failed = is_common ? compute(pass, node, gradients, grads, &edges, results)
                       : run_uncommon(pass, node, grads, &edges, results);
    failed = failed || release(pass, node, gradients) < 0 ||
             hand_on(pass, node, &edges, results, is_common ? next : NULL, next_grad) < 0;
    for (Py_ssize_t i = 0; i < edges.count; i++) {
        Py_XDECREF(results[i]);
    }
    if (results != few) {
        PyMem_Free(results);
    }
done:
    edges_drop(&edges);
    return failed ? -1 : 0;
}

/* Whether a node is older than the one that was run before, as edges lead to older ones: a graph that somebody changed
 * may have a circle, and a pass through it would never end. Returns 0 with an exception. */
static int is_older(PyObject *node, int64_t sequence) {
    if (sequence_of(node) < sequence) {
        return 1;
    }
    PyObject *error = PyErr_Occurred() ? NULL : PyObject_CallFunctionObjArgs(engine.circle, node, NULL);
    if (error != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return 0;
}

/* How many nodes are run between looks for signals. */
#define NODES_BETWEEN_SIGNALS 1024

/* Run a node, and the next one as long as nothing else waits. Takes both references. Returns -1 with an exception. */
static int run_chain(Pass *pass, PyObject *node, PyObject *grads) {
    while (node != NULL) {
        PyObject *next = NULL, *next_grad = NULL;
        int failed = ++pass->count % NODES_BETWEEN_SIGNALS == 0 && PyErr_CheckSignals() < 0;
        failed = failed || run_node(pass, node, grads, &next, &next_grad);
        failed = failed || (next != NULL && !is_older(next, sequence_of(node)));
        Py_DECREF(node);
        Py_DECREF(grads);
        failed = failed || (pass->complete != NULL && finish_complete(pass) < 0);
        if (!failed && next != NULL && pass->queue.count > 0) {
            failed = deliver(pass, next, next_grad);
            Py_CLEAR(next);
            Py_CLEAR(next_grad);
        }
        if (failed) {
            Py_XDECREF(next);
            Py_XDECREF(next_grad);
            return -1;
        }
        node = next;
        grads = next_grad;
    }
    return 0;
}

/* Hand leaves their gradients, in the order in which they arrived. Returns -1 with an exception. */
static int finish_leaves(Pass *pass) {
    PyObject *leaf, *grad;
    Py_ssize_t at = 0;
    PyObject *leaves = pass->leaves; /* no longer in the pass: hooks of leaves cannot add to it */
    pass->leaves = NULL;
    int failed = 0;
    while (!failed && PyDict_Next(leaves, &at, &leaf, &grad)) {
        Py_INCREF(leaf);
        Py_INCREF(grad);
        if (PyDict_SetItem(leaves, leaf, Py_None) < 0) { /* so that `grad` is held here alone */
            Py_DECREF(grad);
            failed = 1;
        }
        failed = failed || finish_leaf(pass, leaf, grad) < 0;
        Py_DECREF(leaf);
    }
    Py_DECREF(leaves);
    return failed ? -1 : 0;
}

/* Run a pass from a root. Takes the reference to the gradient. Returns -1 with an exception. */
int pass_run(Pass *pass, PyObject *root, PyObject *grad) {
    int64_t last = sequence_of(root);
    int failed = run_chain(pass, Py_NewRef(root), grad);
    while (!failed && pass->queue.count > 0) {
        QueuedNode taken = queue_take(&pass->queue);
        PyObject *grads = taken.grads == NULL ? Py_NewRef(Py_None) : taken.grads;
        if (!is_older(taken.node, last)) {
            Py_DECREF(taken.node);
            Py_DECREF(grads);
            return -1;
        }
        last = sequence_of(taken.node);
        failed = run_chain(pass, taken.node, grads);
    }
    return failed ? -1 : finish_leaves(pass);
}
