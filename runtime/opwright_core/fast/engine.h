/* A backward pass, and what the engine is told of Python's. */

#ifndef OPWRIGHT_ENGINE_H
#define OPWRIGHT_ENGINE_H

#include "node.h"
#include "operator.h"
#include "engine_queue.h"

/* What `configure` is told. */
typedef struct {
    PyTypeObject *leaf;     /* AccumulateGrad */
    PyTypeObject *recorded; /* what nodes derive from whose gradients may be computed in C */
    PyObject *unrecorded;   /* the modes in a pass */
    PyObject *current;      /* the ContextVar of the pass that is running */
    PyObject *fit, *run_uncommon, *finish_uncommon, *gradients_for;
    PyObject *circle;       /* makes the error of a graph whose edges lead in a circle */
    Py_ssize_t variable, lock, post_hooks; /* the slots of AccumulateGrad */
    Operator add;
    PyObject *cached_gradients; /* by class: a Gradients, or None */
    PyObject *one;
} Engine;

extern Engine engine;

typedef struct {
    EngineQueue queue;
    PyObject *leaves;  /* a dictionary: the gradient of each leaf */
    PyObject *current; /* (number, root): what Python is told of the pass */
    PyObject *dependencies;    /* a dictionary: how many gradients each leaf is still to get; NULL: no leaf has hooks */
    PyObject *complete; /* a list: leaves that got all while a node runs; NULL: none */
    int frees;
    unsigned int count; /* of nodes that were run */
} Pass;

/* dependencies.c */
int count_dependencies(PyObject *root, PyObject **dependencies);
Py_ssize_t take_dependency(PyObject *dependencies, PyObject *leaf);

/* fit_gradients.c */
PyObject *fitted(PyObject *result, PyObject *edge, PyObject *node, Py_ssize_t index);

/* ufunc_kernel.c */
int kernel_run_into(PyObject *object, PyObject *const *args, Py_ssize_t count);

int pass_run(Pass *pass, PyObject *root, PyObject *grad);

#endif
