/* Backward passes: what Python runs here, and what ends and begins in leaves. */

#ifndef OPWRIGHT_BACKWARD_H
#define OPWRIGHT_BACKWARD_H

#include "node.h"

/* backward.c */
PyObject *run_backward(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* accumulate_grad.c */
int leaf_accumulate(PyObject *leaf, PyObject *grad);
int leaf_has_hooks(PyObject *leaf);

/* gradients.c: what nodes compute without Python, and what they free */
PyTypeObject *make_gradients_type(PyObject *module);
int gradients_compute(PyObject *gradients, PyObject *node, PyObject *grad, const Edges *edges, PyObject **results);
int gradients_release(PyObject *gradients, PyObject *node);

#endif
