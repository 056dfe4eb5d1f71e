/* A backward pass, and what the engine is told of Python's. */

#ifndef OPWRIGHT_ENGINE_H
#define OPWRIGHT_ENGINE_H

#include "engine_queue.h"
#include "fast/call/kernel_sets.h"
#include "node.h"
#include "numbers.h" /* STEP_GRAD and so on */
#include "fast/call/operator.h"

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
    PyObject *uses;     /* a dictionary: how many edges of the pass lead to each node; NULL: they were not counted */
    int frees;
    unsigned int count; /* of nodes that were run */
} Pass;

/* Whether an edge leads to a leaf; returns 1 or 0. */
static inline int is_leaf(PyObject *edge) {
    return Py_IS_TYPE(edge, engine.leaf);
}

/* A product that a kernel adds to an array, with the arguments that it has. */
typedef struct {
    const CompiledKernel *kernel;
    PyObject *const *args;
    Py_ssize_t count;
} Product;

/* dependencies.c */
int count_dependencies(PyObject *root, PyObject **dependencies);
PyObject *count_uses(PyObject *root, int *has_hooks);
Py_ssize_t take_dependency(PyObject *dependencies, PyObject *leaf);

/* waiting_gradients.c */
PyObject *sum_of(PyObject *first, PyObject *second);
int add_to_waiting(Pass *pass, PyObject *edge, const Product *product);

/* gradients.c: what nodes compute without Python */
int gradients_compute(
    Pass *pass, PyObject *gradients, PyObject *node, PyObject *grad, const Edges *edges, PyObject **results);
int gradients_lay(PyObject *gradients, PyObject *node);

/* fit_gradients.c */
PyObject *fitted(PyObject *result, PyObject *edge, PyObject *node, Py_ssize_t index);

/* ufunc_kernel.c */
int kernel_run_into(PyObject *object, PyObject *const *args, Py_ssize_t count);

/* engine.c */
PyObject *gradients_of(PyObject *node);
int pass_run(Pass *pass, PyObject *root, PyObject *grad);

#endif
