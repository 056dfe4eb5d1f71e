/* Gradients of products of matrices, for tensors on the fast path. The functions are in
 * `opwright_kernels.gradients`. */

#include "kernels.h"

/* scaled(value, factor) for a factor of 1. Returns the value itself, a new reference; NULL without an exception for
 * other factors. */
static PyObject *handle_scaled(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double factor;
    int is_one = call->count == 2 && call->out == NULL && read_number(call->args[1], &factor) && factor == 1;
    return is_one ? Py_NewRef(call->args[0]) : NULL;
}

/* Whether the strides, in elements, are those of a column-major matrix with that many rows. */
static int are_of_columns(PyObject *strides, npy_intp rows) {
    npy_intp found[2];
    return count_of_sequence(strides) == 2 && read_ints(strides, found, 2) && found[0] == 1 && found[1] == rows;
}

/* Multiply two arrays, row-major, or column-major where `is_by_columns`: the transpose of second.T @ first.T. Returns a
 * new array first @ second; NULL where an operand is NULL (with its exception) or `product_of_arrays` returns NULL.
 * Steals both operands. */
static PyObject *product_lying(PyObject *first, PyObject *second, int is_by_columns) {
    PyObject *made = NULL;
    if (first != NULL && second != NULL && !is_by_columns) {
        made = product_of_arrays(first, second);
    } else if (first != NULL && second != NULL) {
        PyObject *left = PyArray_Transpose((Array *)second, NULL), *right = PyArray_Transpose((Array *)first, NULL);
        PyObject *turned = left == NULL || right == NULL ? NULL : product_of_arrays(left, right);
        made = turned == NULL ? NULL : PyArray_Transpose((Array *)turned, NULL);
        Py_XDECREF(left);
        Py_XDECREF(right);
        Py_XDECREF(turned);
    }
    Py_XDECREF(first);
    Py_XDECREF(second);
    return made;
}

/* first_factor_gradient(grad, other, strides, alpha=1) is grad @ other.T, and second_factor_gradient other.T @ grad;
 * the product is column-major if the factor's strides are. Returns a new tensor; NULL without an exception unless the
 * fast path takes both tensors, both are matrices, and alpha is 1. */
static PyObject *handle_factor(const CompiledKernel *kernel, const KernelCall *call) {
    PyObject *arrays[2];
    double alpha = 1;
    if (call->count < 3 || call->count > 4 || call->out != NULL ||
        (call->count == 4 && (!read_number(call->args[3], &alpha) || alpha != 1)) ||
        fast_path_arrays(call->args, 2, Py_None, arrays) <= 0 ||
        PyArray_NDIM((Array *)arrays[0]) != 2 || PyArray_NDIM((Array *)arrays[1]) != 2) {
        return NULL;
    }
    int is_first = kernel->how != NULL;
    PyObject *grad = Py_NewRef(arrays[0]), *turned = PyArray_Transpose((Array *)arrays[1], NULL), *made;
    if (is_first) {
        made = product_lying(grad, turned, are_of_columns(call->args[2], PyArray_DIM((Array *)grad, 0)));
    } else {
        made = product_lying(turned, grad, turned != NULL && are_of_columns(call->args[2], PyArray_DIM((Array *)turned, 0)));
    }
    PyObject *tensor = made == NULL ? NULL : wrap(NULL, made);
    Py_XDECREF(made);
    return tensor;
}

static const char is_of_first[] = "first";

const CompiledKernel matmul_gradient_kernels[] = {
    {"scaled", handle_scaled, NULL, OF_NUMPY | QUIET},
    {"first_factor_gradient", handle_factor, is_of_first, OF_NUMPY},
    {"second_factor_gradient", handle_factor, NULL, OF_NUMPY},
    {NULL, NULL, NULL, 0},
};
