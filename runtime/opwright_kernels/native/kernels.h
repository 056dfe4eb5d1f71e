/* Kernels of ATen in C: what the files of this folder share. Each has the name of a function of `opwright_kernels`, and
 * leaves to it whatever is not common. */

#ifndef OPWRIGHT_KERNELS_H
#define OPWRIGHT_KERNELS_H

#include "fast/kernel.h"
#include "fast/plain_arrays.h"

/* The tables of kernels, each ended by a name that is NULL. */
extern const CompiledKernel activation_kernels[], arithmetic_kernels[], batch_norm_kernels[], joining_kernels[],
    convolution_kernels[], decomposition_kernels[], fill_kernels[], gather_kernels[], im2col_kernels[], loss_kernels[],
    matmul_kernels[], matmul_gradient_kernels[], max_min_kernels[], nonzero_kernels[], norm_gradient_kernels[],
    pooling_kernels[], reduction_kernels[], scan_kernels[], select_kernels[], softmax_kernels[], special_kernels[],
    where_kernels[];

/* matmul.c */
int products_ready(void);
PyObject *product_of_arrays(PyObject *first, PyObject *second);

/* reductions.c */
PyObject *sum_over_first(PyObject *object, int kept);

/* module.c: what the core gives */
PyObject *array_new(PyArray_Descr *dtype, int ndim, const npy_intp *shape);
int fast_path_arrays(PyObject *const *tensors, Py_ssize_t count, PyObject *indices, PyObject **arrays);
PyObject *wrap(PyObject *module, PyObject *array);

#endif
