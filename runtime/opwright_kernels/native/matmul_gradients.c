/* Gradients of products of matrices, for tensors on the fast path, also added to an array. The functions are in
 * `opwright_kernels.gradients`. */

#include "gemm.h"

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

/* Products that are added to matrices: `count` of them, the arrays of the first with as many dimensions before the last
 * two as there are. */
typedef struct {
    int is_double, is_done;
    npy_intp count, work;
    const Array *first, *second, *out;
} AddedProducts;

/* Return how far the matrices of an array are apart. */
static npy_intp step_of(const Array *array) {
    return PyArray_NDIM(array) == 3 ? PyArray_STRIDE(array, 0) : 0;
}

/* Add products to matrices, none of them if BLAS does not take the first. Needs no GIL. */
static void add_products(void *given) {
    AddedProducts *job = given;
    const npy_intp steps[3] = {step_of(job->first), step_of(job->second), step_of(job->out)};
    for (npy_intp i = 0; i < job->count && (i == 0 || job->is_done); i++) {
        job->is_done = gemm(job->is_double, matrix_at(job->first, i * steps[0]), matrix_at(job->second, i * steps[1]),
                            matrix_at(job->out, i * steps[2]), 1, 1);
    }
}

/* Whether an array is of a type, a matrix or a batch of them as `ndim` says, with elements, and BLAS may read or write
 * it. */
static int is_of_matrices(PyObject *object, int type, int ndim) {
    return is_array_of(object, type) && PyArray_NDIM((Array *)object) == ndim && count_of((Array *)object) > 0 &&
           PyArray_ISALIGNED((Array *)object) && PyArray_ISNOTSWAPPED((Array *)object);
}

/* Whether products of two arrays have the sizes of a third: then the job gets them. */
static int read_products(AddedProducts *job, int ndim) {
    const npy_intp *first = PyArray_DIMS(job->first), *second = PyArray_DIMS(job->second),
                   *out = PyArray_DIMS(job->out);
    const double work = (double)count_of(job->out) * (double)first[ndim - 1];
    job->count = ndim == 3 ? out[0] : 1;
    job->work = work < (double)LONG_WORK ? (npy_intp)work : LONG_WORK;
    return first[ndim - 1] == second[ndim - 2] && first[ndim - 2] == out[ndim - 2] &&
           second[ndim - 1] == out[ndim - 1] && (ndim == 2 || (first[0] == out[0] && second[0] == out[0]));
}

/* Add first @ second to `out`, of matrices or of batches of them. Returns a new reference to it; NULL without an
 * exception, with nothing done, for other sizes, types and strides, and where `out` has memory of an operand, and with
 * the exception of an operand that is NULL. Steals both operands. */
static PyObject *product_added(PyObject *first, PyObject *second, PyObject *out) {
    const int type = first == NULL ? -1 : PyArray_TYPE((Array *)first);
    const int ndim = first == NULL ? 0 : PyArray_NDIM((Array *)first);
    AddedProducts job = {type == NPY_DOUBLE, 0, 0, 0, (Array *)first, (Array *)second, (Array *)out};
    if (first != NULL && second != NULL && is_of_matrices(first, type, ndim) && is_of_matrices(second, type, ndim) &&
        is_of_matrices(out, type, ndim) && PyArray_ISWRITEABLE((Array *)out) && arrays_are_apart(first, out) &&
        arrays_are_apart(second, out) && read_products(&job, ndim)) {
        do_work(add_products, &job, job.work);
    }
    Py_XDECREF(first);
    Py_XDECREF(second);
    return job.is_done ? Py_NewRef(out) : NULL;
}

/* first_factor_gradient(grad, other, strides, alpha=1) is grad @ other.T, and second_factor_gradient other.T @ grad;
 * the product is column-major if the factor's strides are. With an `out`, an array, it is added to that. Returns a new
 * tensor, or a new reference to `out`; NULL without an exception unless the fast path takes both tensors, both are
 * matrices, and alpha is 1. */
static PyObject *handle_factor(const CompiledKernel *kernel, const KernelCall *call) {
    PyObject *arrays[2];
    double alpha = 1;
    if (call->count < 3 || call->count > 4 ||
        (call->count == 4 && (!read_number(call->args[3], &alpha) || alpha != 1)) ||
        fast_path_arrays(call->args, 2, Py_None, arrays) <= 0 ||
        PyArray_NDIM((Array *)arrays[0]) != 2 || PyArray_NDIM((Array *)arrays[1]) != 2) {
        return NULL;
    }
    int is_first = kernel->how != NULL;
    PyObject *grad = Py_NewRef(arrays[0]), *turned = PyArray_Transpose((Array *)arrays[1], NULL), *made;
    if (call->out != NULL) {
        return is_first ? product_added(grad, turned, call->out) : product_added(turned, grad, call->out);
    }
    if (is_first) {
        made = product_lying(grad, turned, are_of_columns(call->args[2], PyArray_DIM((Array *)grad, 0)));
    } else {
        made = product_lying(turned, grad,
                             turned != NULL && are_of_columns(call->args[2], PyArray_DIM((Array *)turned, 0)));
    }
    PyObject *tensor = made == NULL ? NULL : wrap(NULL, made);
    Py_XDECREF(made);
    return tensor;
}

/* first_batch_gradient(grad, other, alpha=1) is grad @ other.mT, and second_batch_gradient other.mT @ grad, of batches
 * of matrices; with an `out` as above. Returns a new tensor, or a new reference to `out`; NULL without an exception
 * unless the fast path takes both tensors, both have three dimensions, and alpha is 1. */
static PyObject *handle_batch(const CompiledKernel *kernel, const KernelCall *call) {
    PyObject *arrays[2];
    double alpha = 1;
    if (call->count < 2 || call->count > 3 ||
        (call->count == 3 && (!read_number(call->args[2], &alpha) || alpha != 1)) ||
        fast_path_arrays(call->args, 2, Py_None, arrays) <= 0 || PyArray_NDIM((Array *)arrays[0]) != 3 ||
        PyArray_NDIM((Array *)arrays[1]) != 3) {
        return NULL;
    }
    const int is_first = kernel->how != NULL;
    PyObject *grad = Py_NewRef(arrays[0]), *turned = PyArray_SwapAxes((Array *)arrays[1], 1, 2);
    PyObject *first = is_first ? grad : turned, *second = is_first ? turned : grad;
    if (call->out != NULL) {
        return product_added(first, second, call->out);
    }
    PyObject *made = product_lying(first, second, 0), *tensor = made == NULL ? NULL : wrap(NULL, made);
    Py_XDECREF(made);
    return tensor;
}

static const char is_of_first[] = "first";

const CompiledKernel matmul_gradient_kernels[] = {
    {"scaled", handle_scaled, NULL, OF_NUMPY | QUIET},
    {"first_factor_gradient", handle_factor, is_of_first, OF_NUMPY | ADDS},
    {"second_factor_gradient", handle_factor, NULL, OF_NUMPY | ADDS},
    {"first_batch_gradient", handle_batch, is_of_first, OF_NUMPY | ADDS},
    {"second_batch_gradient", handle_batch, NULL, OF_NUMPY | ADDS},
    {NULL, NULL, NULL, 0},
};
