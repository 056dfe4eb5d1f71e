/* Normalisation of batches: statistics of each channel. */

#include "kernels.h"

#include "fast/arrays/loops.h"

/* How many neighbouring channels are computed at once. */
#define BESIDE 64

typedef struct {
    const char *from, *weight, *bias, *running_mean, *running_variance;
    char *to, *mean, *variance, *rstd, *factor, *new_mean, *new_variance;
    npy_intp batch, channels, size;
    double momentum, eps;
    int is_training;
} ChannelsJob;

FUSED

#define REAL float
#define OF(NAME) NAME##_f32
#include "sums.h"
#include "batch_norm_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "sums.h"
#include "batch_norm_loops.h"
#undef REAL
#undef OF

UNFUSED

/* Read a dense float array (batch, channels, ...) with elements into the job. Returns it, borrowed; NULL without an
 * exception for anything else. */
static Array *read_input(PyObject *object, ChannelsJob *job) {
    Array *self = plain_floats(object);
    if (self == NULL || PyArray_NDIM(self) < 2 || count_of(self) == 0) {
        return NULL;
    }
    job->from = PyArray_BYTES(self);
    job->batch = PyArray_DIM(self, 0);
    job->channels = PyArray_DIM(self, 1);
    job->size = count_of(self) / job->batch / job->channels;
    return self;
}

/* Read a dense array of one number for each channel into `data`; None leaves `data` as it is. Returns 1, or 0 for
 * anything else. */
static int read_channels(PyObject *object, const ChannelsJob *job, int type, const char **data) {
    if (object == Py_None) {
        return 1;
    }
    Array *array = plain_array(object, type);
    if (array == NULL || count_of(array) != job->channels) {
        return 0;
    }
    *data = PyArray_BYTES(array);
    return 1;
}

enum { RESULT, MEAN, RSTD, VARIANCE, FACTOR, NEW_MEAN, NEW_VARIANCE, MADE };

/* Make the result, of the shape of `self`, and the arrays (channels,) that normalisation fills. Returns 1; 0 with an
 * exception, and nothing made, if memory runs out. */
static int make_arrays(Array *self, ChannelsJob *job, Array **made) {
    char **data[MADE] = {&job->to, &job->mean, &job->rstd, &job->variance, &job->factor, &job->new_mean,
                         &job->new_variance};
    for (int i = 0; i < MADE; i++) {
        made[i] = i == RESULT ? new_like(self) : new_array(1, &job->channels, PyArray_TYPE(self));
        if (made[i] == NULL) {
            while (i-- > 0) {
                Py_DECREF(made[i]);
            }
            return 0;
        }
        *data[i] = PyArray_BYTES(made[i]);
    }
    return 1;
}

/* Normalise all channels of the job, in the type of `self`. */
static void normalize(Array *self, ChannelsJob *job) {
    (PyArray_TYPE(self) == NPY_DOUBLE ? normalize_channels_f64 : normalize_channels_f32)(job);
}

/* batch_norm_of_input(input, weight, bias, training, momentum, eps), by the statistics of the batch. Returns the tuple
 * (result, mean, rstd), the last two (channels,); NULL without an exception unless the input is dense float32 or
 * float64 with elements, and the others match it. */
static PyObject *handle_batch_norm(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    ChannelsJob job = {.is_training = 1};
    Array *self = call->count == 6 && call->out == NULL ? read_input(call->args[0], &job) : NULL, *made[MADE];
    if (self == NULL || !read_number(call->args[5], &job.eps) ||
        !read_channels(call->args[1], &job, PyArray_TYPE(self), &job.weight) ||
        !read_channels(call->args[2], &job, PyArray_TYPE(self), &job.bias) || !make_arrays(self, &job, made)) {
        return NULL;
    }
    normalize(self, &job);
    PyObject *results = PyTuple_Pack(3, made[RESULT], made[MEAN], made[RSTD]);
    for (int i = 0; i < MADE; i++) {
        Py_DECREF(made[i]);
    }
    return results;
}

/* batch_norm_with_running(input, weight, bias, running_mean, running_var, training, momentum, eps). Returns the tuple
 * (result, mean, rstd, new running mean, new running variance); in evaluation mean and rstd are empty, and the running
 * statistics those that were given. NULL without an exception for operands that are not dense or do not match. */
static PyObject *handle_running_batch_norm(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    ChannelsJob job = {0};
    PyObject *const *args = call->args;
    Array *self = call->count == 8 && call->out == NULL ? read_input(args[0], &job) : NULL, *made[MADE];
    if (self == NULL || !PyBool_Check(args[5]) || !read_number(args[6], &job.momentum) ||
        !read_number(args[7], &job.eps)) {
        return NULL;
    }
    int type = PyArray_TYPE(self);
    const char **data[] = {&job.weight, &job.bias, &job.running_mean, &job.running_variance};
    for (int i = 0; i < 4; i++) {
        if (!read_channels(args[1 + i], &job, type, data[i])) {
            return NULL;
        }
    }
    if (job.running_mean == NULL || job.running_variance == NULL || !make_arrays(self, &job, made)) {
        return NULL;
    }
    job.is_training = args[5] == Py_True;
    PyObject *results = NULL, *none = NULL;
    npy_intp empty = 0;
    if (job.is_training) {
        normalize(self, &job);
        results = PyTuple_Pack(5, made[RESULT], made[MEAN], made[RSTD], made[NEW_MEAN], made[NEW_VARIANCE]);
    } else if ((none = (PyObject *)new_array(1, &empty, type)) != NULL) {
        job.mean = (char *)job.running_mean;
        job.variance = (char *)job.running_variance;
        job.running_mean = NULL;
        normalize(self, &job);
        results = PyTuple_Pack(5, made[RESULT], none, none, args[3], args[4]);
    }
    Py_XDECREF(none);
    for (int i = 0; i < MADE; i++) {
        Py_DECREF(made[i]);
    }
    return results;
}

const CompiledKernel batch_norm_kernels[] = {
    {"batch_norm_of_input", handle_batch_norm, NULL, 0},
    {"batch_norm_with_running", handle_running_batch_norm, NULL, 0},
    {NULL, NULL, NULL, 0},
};
