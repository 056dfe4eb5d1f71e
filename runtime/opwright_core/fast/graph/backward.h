/* Backward passes: what Python runs here, and what ends and begins in leaves. */

#ifndef OPWRIGHT_BACKWARD_H
#define OPWRIGHT_BACKWARD_H

#include "node.h"

/* backward.c */
PyObject *run_backward(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* accumulate_grad.c */
int leaf_accumulate(PyObject *leaf, PyObject *grad);
PyObject *take_gradient(PyObject *gradients, PyObject *leaf);
PyObject *accumulate_from(PyObject *module, PyObject *const *args, Py_ssize_t count);
int leaf_has_hooks(PyObject *leaf);
int leaf_has_gradient(PyObject *leaf);
int leaf_add_by(PyObject *leaf, int (*add)(PyObject *array, void *given), void *given);

/* gradients.c: what nodes free */
PyTypeObject *make_gradients_type(PyObject *module);
int gradients_release(PyObject *gradients, PyObject *node);

#endif
