/* Gradients that wait in a pass for others: sums of them, and products of matrices that BLAS adds to one in place of a
 * product by itself and a sum. A product reaches through nodes of views: what waits for the weight of a layer, not for
 * its transpose. Sums are rounded otherwise then, within an error of the product's: BLAS may add each piece of a
 * product. */

#include "fast/arrays/arrays.h"
#include "backward.h"
#include "engine.h"
#include "fast/arrays/float_errors.h"
#include "fast/arrays/storage.h"

/* Of how many elements a product is at least that is added by BLAS. */
#define FEWEST_ADDED 4096

/* Where a product may be added: the node or the leaf that a gradient waits for, and the sizes of the product, a matrix
 * or three dimensions of matrices; whether the gradient lies by columns of them. */
typedef struct {
    PyObject *end;
    int ndim, is_turned;
    Py_ssize_t sizes[3];
} Place;

/* Whether the pass alone has a gradient, and its memory, which is an array of its own. */
static int is_ours_alone(PyObject *grad) {
    const Tensor *tensor = (Tensor *)grad;
    return is_only_reference(grad) && Py_TYPE(grad) == core.tensor && tensor->keys == core.dense_cpu &&
           tensor->extra == Py_None && tensor->weak_references == NULL && tensor->array != NULL &&
           Py_TYPE(tensor->array) == core.array && array_is_small(tensor->array, PY_SSIZE_T_MAX) &&
           array_is_free(tensor->array);
}

/* Whether the pass alone has a gradient that is a view, as of a product, and its memory. */
static int is_view_alone(PyObject *grad) {
    const Tensor *tensor = (Tensor *)grad;
    PyObject *extra = tensor->extra;
    if (!is_only_reference(grad) || Py_TYPE(grad) != core.tensor || tensor->weak_references != NULL || extra == NULL ||
        (tensor->keys != core.dense_cpu && tensor->keys != core.dense_cpu_view) ||
        !Py_IS_TYPE(extra, storage_slots.extra) || !is_only_reference(extra) || tensor->array == NULL ||
        Py_TYPE(tensor->array) != core.array) {
        return 0;
    }
    PyObject *base = slot_at(extra, storage_slots.base), *storage = slot_at(extra, storage_slots.own);
    return base != NULL && Py_TYPE(base) == core.tensor && is_only_reference(base) &&
           ((Tensor *)base)->weak_references == NULL && storage != NULL && Py_REFCNT(storage) == 2 &&
           array_is_alone_with(tensor->array, ((Tensor *)base)->array);
}

/* Return the sum of two gradients, either of which may be NULL or None: a new reference. One that the pass alone has,
 * the first, gets the second added, as PyTorch adds to it. */
PyObject *sum_of(PyObject *first, PyObject *second) {
    if (first == NULL || first == Py_None) {
        return Py_NewRef(second);
    }
    if (second == Py_None) {
        return Py_NewRef(first);
    }
    PyObject *args[3] = {first, second, engine.one}, *kernel = NULL;
    if (!is_ours_alone(first)) {
        return operator_call(&engine.add, args, 3);
    }
    if (operator_find(&engine.add, args, 3, &kernel) < 0) {
        return NULL;
    }
    const int is_done = kernel != NULL && kernel_run_into(kernel, args, 3);
    PyObject *result = is_done ? Py_NewRef(first)
                               : PyObject_Vectorcall(kernel == NULL ? engine.add.function : kernel, args, 3, NULL);
    Py_XDECREF(kernel);
    if (is_done && PyErr_Occurred()) { /* Note [Interrupted loops] */
        Py_CLEAR(result);
    }
    return result;
}

/* Return the only edge of a node, borrowed; NULL without an exception if it has another number of them. */
static PyObject *only_edge(PyObject *node) {
    Edges edges;
    if (edges_hold(node, &edges) < 0) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *edge = edges.count == 1 ? edges.items[0] : NULL;
    edges_drop(&edges);
    return edge != NULL && is_node(edge) ? edge : NULL;
}

/* Return how the gradient of a node's operand lies beside the node's (`gradients_lay`); 0 where it is none of the
 * common views, or anybody sees what flows through the node. */
static int lay_of(const Pass *pass, PyObject *node) {
    if (is_leaf(node) || ((Node *)node)->extra != Py_None ||
        queue_find(&pass->queue, ((Node *)node)->sequence) != NULL) {
        return 0;
    }
    PyObject *gradients = gradients_of(node);
    if (gradients == NULL) {
        PyErr_Clear();
    }
    return gradients == NULL || gradients == Py_None ? 0 : gradients_lay(gradients, node);
}

/* Return what a node passes on to as a view, borrowed; NULL if it is to be run itself. */
static PyObject *behind_view(const Pass *pass, PyObject *node, int *lay) {
    *lay = lay_of(pass, node);
    return *lay == 0 ? NULL : only_edge(node);
}

/* Read the sizes of a product, a matrix or three dimensions of matrices. Returns 0 for other shapes, and small ones. */
static int read_sizes(PyObject *shape, Place *place) {
    const Py_ssize_t ndim = PyTuple_CheckExact(shape) ? PyTuple_GET_SIZE(shape) : 0;
    Py_ssize_t left = FEWEST_ADDED;
    if (ndim != 2 && ndim != 3) {
        return 0;
    }
    for (int dim = 0; dim < ndim; dim++) {
        const Py_ssize_t size = place->sizes[dim] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, dim));
        if (size <= 0) {
            PyErr_Clear(); /* a size that is no number yet */
            return 0;
        }
        left = left / size + (left % size != 0);
    }
    place->ndim = (int)ndim;
    return left == 1;
}

/* Find where a product that flows along an edge may be added. Returns 0 if the edge is of no matrices, or small ones.
 */
static int find_place(const Pass *pass, PyObject *edge, Place *place) {
    PyObject *shape = PyTuple_CheckExact(edge) || !is_node(edge) ? NULL : ((Node *)edge)->shape, *next;
    place->end = edge;
    place->is_turned = 0;
    if (shape == NULL || !read_sizes(shape, place)) {
        return 0;
    }
    int lay, is_reshaped = 0;
    while ((next = behind_view(pass, place->end, &lay)) != NULL && !(lay == STEP_TURNED && is_reshaped)) {
        is_reshaped |= lay == STEP_SAME;
        place->is_turned ^= lay == STEP_TURNED;
        place->end = next;
    }
    return 1;
}

/* Whether nothing else flows to where a product is to be added, in all of the pass. Returns -1 with an exception. */
static int is_only_one(Pass *pass, PyObject *edge, const PyObject *end) {
    int lay, has_hooks;
    if (pass->uses == NULL && (pass->uses = count_uses(PyTuple_GET_ITEM(pass->current, 1), &has_hooks)) == NULL) {
        return -1;
    }
    for (PyObject *node = edge; node != NULL; node = behind_view(pass, node, &lay)) {
        PyObject *count = PyDict_GetItemWithError(pass->uses, node);
        if (count == NULL || PyLong_AsLong(count) != 1) {
            return PyErr_Occurred() ? -1 : 0;
        }
        if (node == end) {
            return 1;
        }
    }
    return 0;
}

/* Return the array of the gradient that waits at the end of a place, if the pass alone has it: borrowed, else NULL. */
static PyObject *waiting_array(const Pass *pass, const Place *place) {
    PyObject *grad;
    if (is_leaf(place->end)) {
        grad = PyDict_GetItemWithError(pass->leaves, place->end);
    } else {
        const QueuedNode *found = queue_find(&pass->queue, ((Node *)place->end)->sequence);
        grad = found == NULL ? NULL : found->grads;
    }
    return grad != NULL && (is_ours_alone(grad) || is_view_alone(grad)) ? ((Tensor *)grad)->array : NULL;
}

/* What a function that adds to an array is given. */
typedef struct {
    const Place *place;
    const Product *product;
} Given;

/* Add a product to an array. Returns whether that was done, or -1. */
static int add_product(PyObject *array, void *given) {
    const Place *place = ((const Given *)given)->place;
    const Product *product = ((const Given *)given)->product;
    PyObject *matrix = array_as_matrices(array, place->ndim, place->sizes, place->is_turned);
    const KernelCall call = {product->args, product->count, matrix};
    PyObject *done = matrix == NULL ? NULL : call_kernel(product->kernel, &call);
    const int is_done = done != NULL;
    Py_XDECREF(matrix);
    Py_XDECREF(done);
    return is_done ? 1 : PyErr_Occurred() ? -1 : 0;
}

/* Add a product to the gradient that waits where an edge leads; or, where nothing else flows there, to the `.grad` of
 * the leaf. Returns whether that was done, or -1. A product that warnings are made errors of is left to who can say so.
 */
int add_to_waiting(Pass *pass, PyObject *edge, const Product *product) {
    Place place;
    if (pass->dependencies != NULL || !find_place(pass, edge, &place) || told_errors(REPORTED_ERRORS) != 0) {
        return 0;
    }
    Given given = {&place, product};
    PyObject *waiting = waiting_array(pass, &place);
    int is_done = 0;
    if (waiting != NULL) {
        is_done = add_product(waiting, &given);
    } else if (is_leaf(place.end) && PyDict_GetItemWithError(pass->leaves, place.end) == NULL && !PyErr_Occurred() &&
               leaf_has_gradient(place.end)) {
        is_done = is_only_one(pass, edge, place.end);
        is_done = is_done > 0 ? leaf_add_by(place.end, add_product, &given) : is_done;
    }
    forget_errors();
    return is_done;
}
