/* The history of tensors: what recorded calls, writes in place and views note on them. */

#ifndef OPWRIGHT_HISTORY_H
#define OPWRIGHT_HISTORY_H

#include "node.h"

/* recorder.c */
void number_node(Node *node);
int describe_node(Node *node, PyObject *array);
int note_history(Tensor *result, PyObject *node);
void note_version(const Tensor *view);
PyObject *next_sequence(PyObject *module, PyObject *unused);

/* view_history.c */
PyObject *mark_view(PyObject *module, PyObject *view);
PyObject *mark_views(PyObject *module, PyObject *views);

/* rebase_history.c */
PyTypeObject *make_view_spec_type(PyObject *module);
PyObject *rebase_history(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
