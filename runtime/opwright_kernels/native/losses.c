/* Losses: those of classes, and of distances. */

#include "kernels.h"

#include "fast/arrays/loops.h"

typedef struct {
    const char *from, *weight;
    const int64_t *target;
    char *losses; /* NULL where they are added up */
    npy_intp rows, classes, inner, ignored; /* scores are (rows / inner, classes, inner) */
    double loss, total;
    int is_out_of_range;
} LossJob;

/* Define the loop of `nll_loss` over rows: it adds up losses and weights, and writes each loss unless `losses` is NULL.
 * It stops and sets `is_out_of_range` at a target that is no class. Returns nothing. */
#define CLASS_LOSS(NAME, REAL)                                                                                         \
    static void NAME(void *given) {                                                                                    \
        LossJob *job = given;                                                                                          \
        const REAL *x = (const REAL *)job->from, *weights = (const REAL *)job->weight;                                 \
        const npy_intp inner = job->inner;                                                                             \
        for (npy_intp row = 0; row < job->rows; row++) {                                                               \
            const int64_t target = job->target[row];                                                                   \
            const int is_kept = target != job->ignored;                                                                \
            if (is_kept && (target < 0 || target >= job->classes)) {                                                   \
                job->is_out_of_range = 1;                                                                              \
                return;                                                                                                \
            }                                                                                                          \
            const REAL weight = !is_kept ? 0 : weights == NULL ? 1 : weights[target];                                  \
            const REAL loss = is_kept ? -x[(row / inner * job->classes + target) * inner + row % inner] * weight : 0;  \
            job->loss += (double)loss;                                                                                 \
            job->total += (double)weight;                                                                              \
            if (job->losses != NULL) {                                                                                 \
                ((REAL *)job->losses)[row] = loss;                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }

CLASS_LOSS(class_loss_f32, float)
CLASS_LOSS(class_loss_f64, double)

/* Return a new zero-dimensional float32 or float64 array of a value; NULL with an exception. */
static Array *new_number(int type, double value) {
    Array *array = new_array(0, NULL, type);
    if (array != NULL && type == NPY_DOUBLE) {
        *(double *)PyArray_BYTES(array) = value;
    } else if (array != NULL) {
        *(float *)PyArray_BYTES(array) = (float)value;
    }
    return array;
}

/* nll_loss(self, target, weight, reduction, ignore_index) of (rows, classes, *sizes) scores. Returns the tuple (loss,
 * total weight): the loss is (rows, *sizes) for reduction 0, else zero-dimensional, and the weight 0 for reduction 0.
 * NULL without an exception unless operands are dense and match, and all targets are classes. */
static PyObject *handle_nll_loss(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    LossJob job = {0};
    double reduction, ignored;
    Array *self = call->count == 5 && call->out == NULL ? plain_floats(call->args[0]) : NULL;
    Array *target = self == NULL ? NULL : plain_array(call->args[1], NPY_INT64);
    int ndim = target == NULL ? 0 : PyArray_NDIM(self);
    if (ndim < 2 || PyArray_NDIM(target) != ndim - 1 || count_of(self) == 0 ||
        memcmp(PyArray_DIMS(target) + 1, PyArray_DIMS(self) + 2, (size_t)(ndim - 2) * sizeof(npy_intp)) != 0 ||
        !read_number(call->args[3], &reduction) || !read_number(call->args[4], &ignored)) {
        return NULL;
    }
    int type = PyArray_TYPE(self);
    job.rows = count_of(target);
    job.classes = PyArray_DIM(self, 1);
    job.inner = job.rows / PyArray_DIM(self, 0);
    job.ignored = (npy_intp)ignored;
    if (call->args[2] != Py_None) {
        Array *weight = plain_array(call->args[2], type);
        if (weight == NULL || count_of(weight) != job.classes) {
            return NULL;
        }
        job.weight = PyArray_BYTES(weight);
    }
    Array *losses = NULL;
    if (PyArray_DIM(target, 0) != PyArray_DIM(self, 0) ||
        (reduction == 0 && (losses = new_array(ndim - 1, PyArray_DIMS(target), type)) == NULL)) {
        return NULL;
    }
    job.from = PyArray_BYTES(self);
    job.target = (const int64_t *)PyArray_BYTES(target);
    job.losses = losses == NULL ? NULL : PyArray_BYTES(losses);
    do_work(type == NPY_DOUBLE ? class_loss_f64 : class_loss_f32, &job, job.rows);
    Array *total = NULL;
    PyObject *results = NULL;
    if (!job.is_out_of_range) {
        losses = losses != NULL ? losses : new_number(type, reduction == 1 ? job.loss / job.total : job.loss);
        total = new_number(type, reduction == 0 ? 0 : job.total);
        results = losses == NULL || total == NULL ? NULL : PyTuple_Pack(2, losses, total);
    }
    Py_XDECREF(losses);
    Py_XDECREF(total);
    return results;
}

/* Losses of two arrays, written or added up: `at` is the number behind them. */
typedef struct {
    const char *from, *target;
    char *losses; /* NULL where they are added up */
    npy_intp count;
    double at, *totals; /* of each block */
} DistanceJob;

#define REAL float
#define OF(NAME) NAME##_f32
#include "losses_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "losses_loops.h"
#undef REAL
#undef OF

static const RangeWork squared_how[] = {squared_f32, squared_f64};
static const RangeWork smooth_how[] = {smooth_f32, smooth_f64};
static const RangeWork huber_how[] = {huber_f32, huber_f64};

/* Compute the losses of a job. Returns their total, if it is wanted, added up block by block: it does not depend on the
 * threads. -1 with an exception if memory runs out. */
static double total_of_losses(RangeWork work, DistanceJob *job) {
    double of_one_block = 0, total = 0;
    const npy_intp blocks = (job->count + SUM_BLOCK - 1) / SUM_BLOCK;
    job->totals = job->losses != NULL || blocks == 1 ? &of_one_block : PyMem_New(double, (size_t)blocks);
    if (job->totals == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    do_ranges(work, job, blocks, job->count);
    for (npy_intp i = 0; job->losses == NULL && i < blocks; i++) {
        total += job->totals[i];
    }
    if (job->totals != &of_one_block) {
        PyMem_Free(job->totals);
    }
    return total;
}

/* mse_loss(self, target, reduction); with a beta or delta above 0 as a fourth argument smooth_l1_loss and huber_loss.
 * Returns a new array: of self's shape for reduction 0, else zero-dimensional; NULL without an exception unless both
 * are dense, alike and not empty. */
static PyObject *handle_distance(const CompiledKernel *kernel, const KernelCall *call) {
    DistanceJob job = {0};
    double reduction;
    int has_number = kernel->how != squared_how;
    if (call->count != 3 + has_number || call->out != NULL || !read_number(call->args[2], &reduction) ||
        (has_number && (!read_number(call->args[3], &job.at) || !(job.at > 0)))) {
        return NULL;
    }
    Array *self = plain_floats(call->args[0]);
    Array *target = self == NULL ? NULL : plain_array(call->args[1], PyArray_TYPE(self));
    if (target == NULL || !is_like(self, target) || count_of(self) == 0) {
        return NULL;
    }
    int type = PyArray_TYPE(self);
    Array *losses = reduction == 0 ? new_like(self) : NULL;
    if (losses == NULL && PyErr_Occurred()) {
        return NULL;
    }
    job.from = PyArray_BYTES(self);
    job.target = PyArray_BYTES(target);
    job.losses = losses == NULL ? NULL : PyArray_BYTES(losses);
    job.count = count_of(self);
    const double total = total_of_losses(((const RangeWork *)kernel->how)[type == NPY_DOUBLE], &job);
    if (losses != NULL || PyErr_Occurred()) {
        return (PyObject *)losses;
    }
    return (PyObject *)new_number(type, reduction == 1 ? total / (double)job.count : total);
}

const CompiledKernel loss_kernels[] = {
    {"mse_loss", handle_distance, squared_how, 0},
    {"smooth_l1_loss", handle_distance, smooth_how, 0},
    {"huber_loss", handle_distance, huber_how, 0},
    {"nll_loss", handle_nll_loss, NULL, 0},
    {NULL, NULL, NULL, 0},
};
