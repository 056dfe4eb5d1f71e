/* Gradients made to fit where they flow, where that takes nothing, or a sum over dimensions before those that are
 * wanted: `opwright.autograd.gradients.fit` does the rest. */

#include "fast/arrays/arrays.h"
#include "engine.h"
#include "fast/call/fast_path.h"
#include "fast/call/kernel_sets.h"
#include "fast/arrays/numpy_api.h"

/* Whether a gradient is what an edge to a node of one result wants. */
static int fits(PyObject *result, PyObject *edge) {
    if (PyTuple_CheckExact(edge) || Py_TYPE(result) != core.tensor || !is_node(edge)) {
        return 0;
    }
    PyObject *array = ((Tensor *)result)->array, *shape = ((Node *)edge)->shape;
    return array != NULL && Py_TYPE(array) == core.array && shape != NULL &&
           array_fits(array, ((Node *)edge)->dtype, shape);
}

/* Return the sum of a gradient over the first dimensions, which its edge's node has not: a new reference. NULL without
 * an exception if the Python function must run. */
static PyObject *summed(PyObject *result, PyObject *edge) {
    PyObject *array, *shape = PyTuple_CheckExact(edge) || !is_node(edge) ? NULL : ((Node *)edge)->shape;
    if (shape == NULL || !PyTuple_CheckExact(shape) || fast_path_arrays(&result, 1, Py_None, &array) <= 0 ||
        PyArray_NDIM((PyArrayObject *)array) <= PyTuple_GET_SIZE(shape)) {
        return NULL;
    }
    PyObject *sum = sum_over_first(array, (int)PyTuple_GET_SIZE(shape));
    int is_it = sum != NULL && array_fits(sum, ((Node *)edge)->dtype, shape);
    PyObject *made = is_it ? wrap_dense(Py_NewRef(sum)) : NULL;
    Py_XDECREF(sum);
    return made;
}

/* Return a node's gradient with the shape and dtype of what it belongs to, or None: a new reference. */
PyObject *fitted(PyObject *result, PyObject *edge, PyObject *node, Py_ssize_t index) {
    if (result == Py_None || fits(result, edge)) {
        return Py_NewRef(result);
    }
    PyObject *found = summed(result, edge);
    if (found != NULL || PyErr_Occurred()) {
        return found;
    }
    PyObject *number = PyLong_FromSsize_t(index);
    if (number == NULL) {
        return NULL;
    }
    found = PyObject_CallFunctionObjArgs(engine.fit, result, edge, node, number, NULL);
    Py_DECREF(number);
    return found;
}
