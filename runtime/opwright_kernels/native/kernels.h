/* Kernels of ATen in C: what the files of this folder share. Each has the name of a function of `opwright_kernels`, and
 * leaves to it whatever is not common. */

#ifndef OPWRIGHT_KERNELS_H
#define OPWRIGHT_KERNELS_H

#include "fast/call/kernel.h"
#include "fast/arrays/plain_arrays.h"

/* The tables of kernels, each in the file of its subject and ended by a name that is NULL: calls X for each. */
#define KERNEL_TABLES(X)                                                                                               \
    X(activation_kernels) X(alignment_kernels) X(arithmetic_kernels) X(attention_kernels) X(average_gradient_kernels)  \
    X(batch_norm_kernels) X(bins_kernels) X(like_kernels) X(vector_kernels) X(convolution_kernels)                     \
    X(decomposition_kernels) X(fill_kernels) X(fractional_kernels) X(gather_kernels) X(grid_kernels)                   \
    X(im2col_kernels) X(joining_kernels) X(loss_kernels) X(margin_kernels) X(matmul_gradient_kernels)                  \
    X(matmul_kernels) X(max_min_kernels) X(nonzero_kernels) X(norm_gradient_kernels) X(ordered_kernels)                \
    X(pad_kernels) X(pooling_kernels) X(put_at_kernels) X(rearranging_kernels) X(reduction_kernels) X(scan_kernels)    \
    X(scatter_kernels) X(select_kernels) X(resizing_kernels) X(softmax_kernels) X(special_kernels)                     \
    X(upsample_kernels) X(where_kernels)

#define DECLARED(TABLE) extern const CompiledKernel TABLE[];
KERNEL_TABLES(DECLARED)

/* matmul.c */
int products_ready(void);
PyObject *product_of_arrays(PyObject *first, PyObject *second);

/* copy_turned.c */
void copy_turned(const float *from, float *to, npy_intp rows, npy_intp columns);

/* scatter.c */
PyObject *gather_part(Array *self, PyObject *dim, Array *index);

/* ordered.c */
PyObject *first_in_order(Array *self, PyObject *dim, npy_intp wanted, int is_descending);

/* reductions.c */
PyObject *sum_over_first(PyObject *object, int kept);

/* module.c: what the core gives */
PyObject *array_new(PyArray_Descr *dtype, int ndim, const npy_intp *shape);
int fast_path_arrays(PyObject *const *tensors, Py_ssize_t count, PyObject *indices, PyObject **arrays);
PyObject *wrap(PyObject *module, PyObject *array);
void run_ranges(RangeWork work, void *job, int64_t count, int64_t grain);

#endif
