/* Connectionist temporal classification, and its gradient. The functions are in `opwright_kernels.layers.alignments`.
 */

#include "kernels.h"

#include <math.h>

typedef struct {
    const char *from, *grad; /* (steps, batch, classes) logarithms of probabilities; (batch,) gradients */
    char *sums, *losses, *to;
    npy_intp steps, batch, classes, width; /* `width` labels of each sequence, with the blanks between */
    npy_intp *labels, *lengths, *ends;     /* (batch, width) labels; how many without blanks, and steps, (batch,) */
    void *room;                            /* for two rows of numbers, of labels and of classes */
    int zeroes_infinity;
} AlignmentJob;

#define log_1p_f32 log1pf
#define power_f32 expf
#define log_1p_f64 log1p
#define power_f64 exp

#define REAL float
#define OF(NAME) NAME##_f32
#include "alignments_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "alignments_loops.h"
#undef REAL
#undef OF

/* Read as many ints of a list or tuple as there are, from 0 to `most`. Returns their largest, or -1. */
static npy_intp read_lengths(PyObject *object, npy_intp *lengths, npy_intp count, npy_intp most) {
    npy_intp largest = 0;
    for (npy_intp i = 0; i < count; i++) {
        double number;
        if (!read_number(PySequence_Fast_GET_ITEM(object, i), &number) || number < 0 || number > (double)most) {
            return -1;
        }
        lengths[i] = (npy_intp)number;
        largest = lengths[i] > largest ? lengths[i] : largest;
    }
    return largest;
}

/* Write the labels of each sequence with blanks between. Returns 0 if one is no class, or there are too few. */
static int write_labels(AlignmentJob *job, Array *targets, npy_intp blank) {
    const int64_t *given = (const int64_t *)PyArray_BYTES(targets);
    const npy_intp count = count_of(targets);
    npy_intp start = 0;
    for (npy_intp row = 0; row < job->batch; row++) {
        npy_intp *labels = job->labels + row * job->width;
        start = PyArray_NDIM(targets) == 2 ? row * PyArray_DIM(targets, 1) : start;
        if (start + job->lengths[row] > count ||
            (PyArray_NDIM(targets) == 2 && job->lengths[row] > PyArray_DIM(targets, 1))) {
            return 0;
        }
        for (npy_intp i = 0; i < job->width; i++) {
            labels[i] = (i & 1) && i < 2 * job->lengths[row] ? (npy_intp)given[start + i / 2] : blank;
            if (labels[i] < 0 || labels[i] >= job->classes) {
                return 0;
            }
        }
        start += job->lengths[row];
    }
    return 1;
}

/* Read what both functions are called with: (steps, batch, classes) numbers, targets, lengths of input and target, the
 * blank; and take memory, which the caller frees: `lengths`. Returns the numbers, borrowed; NULL for what is not dense
 * or in range, also with an exception if memory runs out. */
static Array *read_alignment(AlignmentJob *job, PyObject *const *args, PyObject *blank_given) {
    Array *self = plain_floats(args[0]), *targets = self == NULL ? NULL : plain_array(args[1], NPY_INT64);
    double blank;
    if (targets == NULL || PyArray_NDIM(self) != 3 || count_of(self) == 0 || !read_number(blank_given, &blank) ||
        PyArray_NDIM(targets) < 1 || PyArray_NDIM(targets) > 2 ||
        count_of_sequence(args[2]) != PyArray_DIM(self, 1) || count_of_sequence(args[3]) != PyArray_DIM(self, 1) ||
        (PyArray_NDIM(targets) == 2 && PyArray_DIM(targets, 0) != PyArray_DIM(self, 1))) {
        return NULL;
    }
    job->from = PyArray_BYTES(self);
    job->steps = PyArray_DIM(self, 0);
    job->batch = PyArray_DIM(self, 1);
    job->classes = PyArray_DIM(self, 2);
    npy_intp most = PyArray_NDIM(targets) == 2 ? PyArray_DIM(targets, 1) : count_of(targets);
    size_t width = 2 * (size_t)most + 1; /* at most */
    job->lengths = PyMem_RawMalloc(
        (size_t)job->batch * (2 + width) * sizeof(npy_intp) + (width + (size_t)job->classes) * sizeof(double));
    if (job->lengths == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    job->ends = job->lengths + job->batch;
    job->labels = job->ends + job->batch;
    job->room = job->labels + (size_t)job->batch * width;
    npy_intp longest = read_lengths(args[3], job->lengths, job->batch, most);
    job->width = 2 * longest + 1;
    int is_read = longest >= 0 && read_lengths(args[2], job->ends, job->batch, job->steps) >= 0 &&
                  write_labels(job, targets, (npy_intp)blank);
    return is_read ? self : NULL;
}

/* alignment_losses(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity). Returns the tuple (losses,
 * sums of paths); NULL without an exception unless arrays are dense, and numbers in range. */
static PyObject *handle_losses(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    AlignmentJob job = {0};
    PyObject *both = NULL;
    Array *self = call->count == 6 && call->out == NULL ? read_alignment(&job, call->args, call->args[4]) : NULL;
    if (self != NULL) {
        npy_intp shape[] = {job.batch, job.steps, job.width};
        Array *losses = new_array(1, shape, PyArray_TYPE(self)), *sums = new_array(3, shape, PyArray_TYPE(self));
        if (losses != NULL && sums != NULL) {
            job.losses = PyArray_BYTES(losses);
            job.sums = PyArray_BYTES(sums);
            do_work(PyArray_TYPE(self) == NPY_DOUBLE ? align_f64 : align_f32, &job, count_of(sums) * 8);
            both = PyTuple_Pack(2, losses, sums);
        }
        Py_XDECREF(losses);
        Py_XDECREF(sums);
    }
    PyMem_RawFree(job.lengths);
    return both;
}

/* alignment_gradients(grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank,
 * zero_infinity). Returns a new array; NULL without an exception unless arrays are dense and match, and numbers in
 * range. */
static PyObject *handle_gradients(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    AlignmentJob job = {0};
    PyObject *const *args = call->args;
    Array *result = NULL;
    Array *self = call->count == 9 && call->out == NULL ? read_alignment(&job, args + 1, args[7]) : NULL;
    if (self != NULL) {
        int type = PyArray_TYPE(self);
        Array *grad = plain_array(args[0], type), *losses = plain_array(args[5], type);
        Array *sums = plain_array(args[6], type);
        if (grad != NULL && losses != NULL && sums != NULL && count_of(grad) == job.batch && PyBool_Check(args[8]) &&
            count_of(losses) == job.batch && count_of(sums) == job.batch * job.steps * job.width) {
            job.grad = PyArray_BYTES(grad);
            job.losses = PyArray_BYTES(losses);
            job.sums = PyArray_BYTES(sums);
            job.zeroes_infinity = args[8] == Py_True;
            result = new_like(self);
        }
        if (result != NULL) {
            job.to = PyArray_BYTES(result);
            do_work(type == NPY_DOUBLE ? align_backward_f64 : align_backward_f32, &job, count_of(sums) * 8);
        }
    }
    PyMem_RawFree(job.lengths);
    return (PyObject *)result;
}

const CompiledKernel alignment_kernels[] = {
    {"alignment_losses", handle_losses, NULL, 0},
    {"alignment_gradients", handle_gradients, NULL, 0},
    {NULL, NULL, NULL, 0},
};
