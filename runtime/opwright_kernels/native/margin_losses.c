/* Losses of margins between classes, losses of classes of images, and their gradients. */

#include "kernels.h"

#include "fast/arrays/loops.h"

typedef struct {
    const char *from, *weight, *grad, *marks; /* (`marks` is the total weight, where a class has a loss) */
    const int64_t *target;
    char *to, *to_marks; /* a number for each row, or the gradients of all; which classes are targets */
    npy_intp rows, classes, inner, ignored;
    double margin;
    int is_squared, is_of_rows, is_mean, is_out_of_range;
} MarginJob;

FUSED

#define REAL float
#define OF(NAME) NAME##_f32
#include "margin_losses_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "margin_losses_loops.h"
#undef REAL
#undef OF

UNFUSED

/* Read scores (rows, classes), or of one row, and int64 targets of so many rows, one
 * for each row or a list of them. Returns the scores, borrowed; NULL without an exception unless both are dense, match
 * and have elements. */
static Array *read_scores(MarginJob *job, PyObject *scores, PyObject *classes, int is_listed) {
    Array *self = plain_floats(scores), *target = self == NULL ? NULL : plain_array(classes, NPY_INT64);
    if (target == NULL || PyArray_NDIM(self) < 1 || PyArray_NDIM(self) > 2 || count_of(self) == 0) {
        return NULL;
    }
    job->classes = PyArray_DIM(self, PyArray_NDIM(self) - 1);
    job->rows = count_of(self) / job->classes;
    job->from = PyArray_BYTES(self);
    job->target = (const int64_t *)PyArray_BYTES(target);
    int fits = is_listed ? has_shape_of(target, self) : count_of(target) == job->rows && PyArray_NDIM(target) <= 1;
    return fits ? self : NULL;
}

/* Reduce the losses of rows, which are taken: to their mean (1) or sum, unless the reduction is 0. Returns a new array;
 * NULL with an exception. */
static PyObject *reduced(Array *losses, double reduction) {
    if (reduction == 0) {
        return (PyObject *)losses;
    }
    const npy_intp count = count_of(losses);
    Array *result = new_array(0, NULL, PyArray_TYPE(losses));
    if (result != NULL && PyArray_TYPE(losses) == NPY_DOUBLE) {
        const double total = sum_row_f64((const double *)PyArray_BYTES(losses), count);
        *(double *)PyArray_BYTES(result) = reduction == 1 ? total / (double)count : total;
    } else if (result != NULL) {
        const float total = (float)sum_row_f32((const float *)PyArray_BYTES(losses), count);
        *(float *)PyArray_BYTES(result) = reduction == 1 ? total / (float)count : total;
    }
    Py_DECREF(losses);
    return (PyObject *)result;
}

/* multi_margin_loss(self, target, p, margin, weight, reduction) without weights. Returns a new array; NULL without an
 * exception unless operands are dense and match, and p is 1 or 2. */
static PyObject *handle_multi_margin(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    MarginJob job = {0};
    double p, reduction;
    Array *self = call->count == 6 && call->out == NULL ? read_scores(&job, call->args[0], call->args[1], 0) : NULL;
    if (self == NULL || call->args[4] != Py_None || !read_number(call->args[2], &p) || (p != 1 && p != 2) ||
        !read_number(call->args[3], &job.margin) || !read_number(call->args[5], &reduction)) {
        return NULL;
    }
    job.is_squared = p == 2;
    Array *target = (Array *)call->args[1];
    Array *losses = new_array(PyArray_NDIM(target), PyArray_DIMS(target), PyArray_TYPE(self));
    if (losses == NULL) {
        return NULL;
    }
    job.to = PyArray_BYTES(losses);
    do_work(PyArray_TYPE(self) == NPY_DOUBLE ? margin_f64 : margin_f32, &job, count_of(self));
    if (job.is_out_of_range) {
        Py_DECREF(losses);
        return NULL;
    }
    return reduced(losses, reduction);
}

/* multilabel_margin_loss(self, target, reduction). Returns the tuple (loss, which classes are targets); NULL without an
 * exception unless operands are dense and match. */
static PyObject *handle_multilabel(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    MarginJob job = {0};
    double reduction;
    Array *self = call->count == 3 && call->out == NULL ? read_scores(&job, call->args[0], call->args[1], 1) : NULL;
    if (self == NULL || !read_number(call->args[2], &reduction)) {
        return NULL;
    }
    Array *losses = new_array(PyArray_NDIM(self) - 1, PyArray_DIMS(self), PyArray_TYPE(self)), *marks = new_like(self);
    PyObject *both = NULL, *loss = NULL;
    if (losses != NULL && marks != NULL) {
        job.to = PyArray_BYTES(losses);
        job.to_marks = PyArray_BYTES(marks);
        do_work(PyArray_TYPE(self) == NPY_DOUBLE ? multilabel_f64 : multilabel_f32, &job, count_of(self));
        loss = job.is_out_of_range ? NULL : reduced((Array *)Py_NewRef(losses), reduction);
    }
    if (loss != NULL) {
        both = PyTuple_Pack(2, loss, marks);
        Py_DECREF(loss);
    }
    Py_XDECREF(losses);
    Py_XDECREF(marks);
    return both;
}

/* Run a loop that writes the gradient of scores. Returns a new tensor; NULL with an exception, without one for a target
 * out of range. */
static PyObject *gradient(MarginJob *job, Array *self, Work loop) {
    Array *result = new_like(self);
    if (result != NULL) {
        job->to = PyArray_BYTES(result);
        do_work(loop, job, count_of(self));
    }
    PyObject *tensor = result == NULL || job->is_out_of_range ? NULL : wrap(NULL, (PyObject *)result);
    Py_XDECREF(result);
    return tensor;
}

/* Read the gradient of `count` losses, or of their mean (1) or sum. Returns 0 if it does not match. */
static int read_gradient(MarginJob *job, PyObject *object, npy_intp count, PyObject *reduction) {
    Array *grad = plain_floats(object);
    double number;
    if (grad == NULL || !read_number(reduction, &number)) {
        return 0;
    }
    job->grad = PyArray_BYTES(grad);
    job->is_of_rows = number == 0;
    job->is_mean = number == 1;
    return count_of(grad) == (job->is_of_rows ? count : 1);
}

/* multi_margin_loss_backward(grad, self, target, p, margin, weight, reduction) without weights. Returns a new tensor;
 * NULL without an exception unless the fast path takes the tensors, and they are dense and match. */
static PyObject *handle_margin_gradient(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    MarginJob job = {0};
    PyObject *arrays[3];
    double p;
    if (call->count != 7 || call->out != NULL || call->args[5] != Py_None || !read_number(call->args[3], &p) ||
        (p != 1 && p != 2) || !read_number(call->args[4], &job.margin) ||
        fast_path_arrays(call->args, 2, call->args[2], arrays) <= 0 || arrays[1] == Py_None) {
        return NULL;
    }
    job.is_squared = p == 2;
    Array *self = read_scores(&job, arrays[1], arrays[2], 0);
    if (self == NULL || !read_gradient(&job, arrays[0], job.rows, call->args[6])) {
        return NULL;
    }
    return gradient(&job, self, PyArray_TYPE(self) == NPY_DOUBLE ? margin_gradient_f64 : margin_gradient_f32);
}

/* multilabel_margin_loss_backward(grad, self, target, reduction, is_target). Returns a new tensor; NULL without an
 * exception unless the fast path takes the tensors, and they are dense and match. */
static PyObject *handle_multilabel_gradient(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    MarginJob job = {0};
    PyObject *arrays[4];
    if (call->count != 5 || call->out != NULL) {
        return NULL;
    }
    PyObject *tensors[] = {call->args[0], call->args[1], call->args[4]};
    if (fast_path_arrays(tensors, 3, call->args[2], arrays) <= 0 || arrays[1] == Py_None || arrays[2] == Py_None) {
        return NULL;
    }
    Array *self = read_scores(&job, arrays[1], arrays[3], 1), *marks = self == NULL ? NULL : plain_floats(arrays[2]);
    if (marks == NULL || !has_shape_of(marks, self) || !read_gradient(&job, arrays[0], job.rows, call->args[3])) {
        return NULL;
    }
    job.marks = PyArray_BYTES(marks);
    return gradient(&job, self, PyArray_TYPE(self) == NPY_DOUBLE ? multilabel_gradient_f64 : multilabel_gradient_f32);
}

/* nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight) for scores (rows,
 * classes, *sizes). Returns a new tensor; NULL without an exception unless the fast path takes the tensors, and they
 * are dense and match. */
static PyObject *handle_class_gradient(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    MarginJob job = {0};
    PyObject *arrays[5];
    double ignored;
    if (call->count != 7 || call->out != NULL || !read_number(call->args[5], &ignored)) {
        return NULL;
    }
    PyObject *tensors[] = {call->args[1], call->args[0], call->args[3], call->args[6]};
    if (fast_path_arrays(tensors, 4, call->args[2], arrays) <= 0 || arrays[1] == Py_None || arrays[3] == Py_None) {
        return NULL;
    }
    Array *self = plain_floats(arrays[0]), *target = plain_array(arrays[4], NPY_INT64),
          *total = plain_floats(arrays[3]);
    Array *weight = arrays[2] == Py_None ? NULL : plain_floats(arrays[2]);
    int ndim = self == NULL ? 0 : PyArray_NDIM(self);
    if (ndim < 2 || target == NULL || PyArray_NDIM(target) != ndim - 1 || total == NULL || count_of(total) != 1 ||
        count_of(self) == 0 || PyArray_DIM(target, 0) != PyArray_DIM(self, 0) ||
        memcmp(PyArray_DIMS(target) + 1, PyArray_DIMS(self) + 2, (size_t)(ndim - 2) * sizeof(npy_intp)) != 0 ||
        (arrays[2] != Py_None && (weight == NULL || count_of(weight) != PyArray_DIM(self, 1))) ||
        !read_gradient(&job, arrays[1], count_of(target), call->args[4])) {
        return NULL;
    }
    job.rows = PyArray_DIM(self, 0);
    job.classes = PyArray_DIM(self, 1);
    job.inner = count_of(target) / job.rows;
    job.ignored = (npy_intp)ignored;
    job.target = (const int64_t *)PyArray_BYTES(target);
    job.marks = PyArray_BYTES(total);
    job.weight = weight == NULL ? NULL : PyArray_BYTES(weight);
    return gradient(&job, self, PyArray_TYPE(self) == NPY_DOUBLE ? class_gradient_f64 : class_gradient_f32);
}

const CompiledKernel margin_kernels[] = {
    {"multi_margin_loss", handle_multi_margin, NULL, 0},
    {"multilabel_margin_loss", handle_multilabel, NULL, 0},
    {"multi_margin_loss_backward", handle_margin_gradient, NULL, OF_NUMPY},
    {"multilabel_margin_loss_backward", handle_multilabel_gradient, NULL, OF_NUMPY},
    {"nll_loss_backward", handle_class_gradient, NULL, OF_NUMPY},
    {NULL, NULL, NULL, 0},
};
