/* What every file of the compiled core needs: Python, limits, and what Python tells of keys and classes. */

#ifndef OPWRIGHT_CORE_H
#define OPWRIGHT_CORE_H

#include "python_api.h"

/* The most arguments of a call that the core handles. */
#define MOST_ARGUMENTS 16
/* The most values that a node saves which is made in C. */
#define MOST_SAVED 8
/* The most values that a gradient is computed from and by. */
#define MOST_VALUES 24

/* What all files go by. Python tells it once (`configure`); references are held for ever. */
typedef struct {
    PyTypeObject *tensor; /* the class Tensor itself: instances of subclasses go to the Python */
    PyTypeObject *array;  /* numpy.ndarray, likewise */
    PyTypeObject *node;   /* what all nodes derive from: NodeBase */
    PyObject *modes;      /* the ContextVar of opwright_core.state */
    PyObject *arrays;     /* the entry of tables for plain arrays alone */
    /* Keys of tensors in NumPy's memory, as the ints that such tensors have: dense ones; with a history; that lie
     * otherwise; of views, dense and not. All but the first follow from the bits below. */
    PyObject *dense_cpu, *dense_cpu_grad, *dense_cpu_nondense, *dense_cpu_view, *dense_cpu_nondense_view;
    PyObject *grad; /* the key GRAD as an int */
    int64_t dense_cpu_bits;
    int64_t grad_bits, view_bits, nondense_bits, autograd_bits, inference_bits; /* keys, by their names */
    int64_t tracked_bits;   /* those of which tensors with a history have any */
    int64_t cpu_alone_bits; /* those of a call that comes to kernels of NumPy's alone */
} Core;

extern Core core;

#endif
