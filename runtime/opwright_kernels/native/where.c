/* Elements chosen by a condition: `where`, `masked_fill`. */

#include "writes.h"

#include <math.h>

#include "fast/arrays/loops.h"

/* What is chosen where the mask is true, and where it is not: steps are 0 for one element that stands for all. */
typedef struct {
    const npy_bool *mask;
    const char *first, *second;
    int first_step, second_step;
    char *to;
    npy_intp count;
} ChoiceJob;

/* Elements of a block; threads are given whole ones. */
#define BLOCK 4096

/* Define a loop of `where` for elements of one size: the result gets elements of `first` where the mask is true, else
 * of `second`. Returns nothing. */
#define CHOOSE(NAME, TYPE)                                                                                             \
    CLONES static void NAME(void *given, int64_t from, int64_t to) {                                                   \
        const ChoiceJob *job = given;                                                                                  \
        const npy_intp start = from * BLOCK, stop = to * BLOCK < job->count ? to * BLOCK : job->count;                 \
        const npy_bool *mask = job->mask + start;                                                                      \
        const TYPE *xs = (const TYPE *)job->first + start * job->first_step;                                           \
        const TYPE *ys = (const TYPE *)job->second + start * job->second_step;                                         \
        const TYPE x = xs[0], y = ys[0];                                                                               \
        TYPE *out = (TYPE *)job->to + start;                                                                           \
        const npy_intp count = stop - start;                                                                           \
        if (job->first_step && job->second_step) {                                                                     \
            EACH_ALONE for (npy_intp i = 0; i < count; i++) out[i] = mask[i] ? xs[i] : ys[i];                          \
        } else if (job->second_step) {                                                                                 \
            EACH_ALONE for (npy_intp i = 0; i < count; i++) out[i] = mask[i] ? x : ys[i];                              \
        } else if (job->first_step) {                                                                                  \
            EACH_ALONE for (npy_intp i = 0; i < count; i++) out[i] = mask[i] ? xs[i] : y;                              \
        } else {                                                                                                       \
            EACH_ALONE for (npy_intp i = 0; i < count; i++) out[i] = mask[i] ? x : y;                                  \
        }                                                                                                              \
    }

CHOOSE(choose_1, uint8_t)
CHOOSE(choose_2, uint16_t)
CHOOSE(choose_4, uint32_t)
CHOOSE(choose_8, uint64_t)

/* Return the loop for elements of 1, 2, 4 or 8 bytes; NULL for other sizes. */
static RangeWork loop_of(npy_intp size) {
    return size == 1 ? choose_1 : size == 2 ? choose_2 : size == 4 ? choose_4 : size == 8 ? choose_8 : NULL;
}

/* Return an object as a dense array that has the mask's shape (`step` is 1) or one element (`step` is 0), borrowed;
 * NULL without an exception for anything else. */
static Array *operand_of(PyObject *object, const Array *mask, int *step) {
    Array *array = plain_bytes(object);
    if (array == NULL) {
        return NULL;
    }
    *step = has_shape_of(array, mask);
    return *step || (count_of(array) == 1 && PyArray_NDIM(array) <= PyArray_NDIM(mask)) ? array : NULL;
}

/* Choose into a new array of the mask's shape and the dtype of `like`. Returns it; NULL without an exception for
 * elements of another size than `loop_of` has, with one if memory runs out. */
static PyObject *chosen(Array *mask, Array *like, ChoiceJob *job) {
    RangeWork loop = loop_of(element_size(like));
    Array *result = loop == NULL ? NULL : new_of(PyArray_DESCR(like), PyArray_NDIM(mask), PyArray_DIMS(mask));
    if (result != NULL) {
        job->mask = (const npy_bool *)PyArray_BYTES(mask);
        job->to = PyArray_BYTES(result);
        job->count = count_of(mask);
        do_ranges(loop, job, (job->count + BLOCK - 1) / BLOCK, job->count);
    }
    return (PyObject *)result;
}

/* choose(condition, self, other) for a dense boolean mask, and operands of one dtype that have its shape or one
 * element. Returns a new array; NULL without an exception for anything else. */
static PyObject *handle_choose(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    ChoiceJob job;
    Array *mask = call->count == 3 && call->out == NULL ? plain_array(call->args[0], NPY_BOOL) : NULL;
    if (mask == NULL || count_of(mask) == 0) {
        return NULL;
    }
    Array *first = operand_of(call->args[1], mask, &job.first_step);
    Array *second = operand_of(call->args[2], mask, &job.second_step);
    if (first == NULL || second == NULL || PyArray_DESCR(first) != PyArray_DESCR(second)) {
        return NULL;
    }
    job.first = PyArray_BYTES(first);
    job.second = PyArray_BYTES(second);
    return chosen(mask, first, &job);
}

/* Write a number as an element of that type number (float32 or float64). Returns 0 if it is no number, or if a finite
 * one becomes infinite as float32, of which the Python warns. */
static int write_element(PyObject *value, int type, double *element) {
    double number;
    if (!read_element(value, type, &number)) {
        return 0;
    }
    const float rounded = (float)number;
    if (type == NPY_FLOAT) {
        memcpy(element, &rounded, sizeof rounded);
        return isfinite(rounded) || !isfinite(number);
    }
    *element = number;
    return 1;
}

/* Fill a dense array with an element where a dense mask of its shape is True. Returns 0 for anything else. */
int fill_masked(Array *mask, Array *target, const void *element) {
    RangeWork loop = loop_of(element_size(target));
    ChoiceJob job = {.mask = (const npy_bool *)PyArray_BYTES(mask), .first = element, .second_step = 1};
    if (loop == NULL || !has_shape_of(mask, target) || !PyArray_IS_C_CONTIGUOUS(target)) {
        return 0;
    }
    job.second = job.to = PyArray_BYTES(target);
    job.count = count_of(target);
    if (job.count > 0) {
        do_ranges(loop, &job, (job.count + BLOCK - 1) / BLOCK, job.count);
    }
    return 1;
}

/* fill_where(self, mask, value, out=self) of dense arrays. Returns `out`; NULL without an exception if Python must do
 * it. */
static PyObject *filled_in_place(const KernelCall *call) {
    char element[16];
    Array *target = call->count == 3 ? written_in_place(call) : NULL;
    Array *mask = target == NULL ? NULL : plain_array(call->args[1], NPY_BOOL);
    if (mask == NULL || !source_is_apart((PyObject *)mask, target)) {
        return NULL;
    }
    Array *value = PyArray_Check(call->args[2]) ? any_plain_array(call->args[2]) : NULL;
    if (value != NULL && PyArray_NDIM(value) == 0 && PyArray_DESCR(value) == PyArray_DESCR(target) &&
        PyArray_ITEMSIZE(value) <= 16 && source_is_apart((PyObject *)value, target)) {
        memcpy(element, PyArray_BYTES(value), (size_t)PyArray_ITEMSIZE(value));
    } else if (!read_scalar(call->args[2], PyArray_TYPE(target), element)) {
        return NULL;
    }
    return fill_masked(mask, target, element) ? Py_NewRef((PyObject *)target) : NULL;
}

/* fill_where(self, mask, value) for a dense float array and a boolean mask of its shape. Returns a new array; NULL
 * without an exception for anything else. */
static PyObject *handle_fill(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double element;
    ChoiceJob job = {.first = (const char *)&element, .second_step = 1};
    if (call->out != NULL) {
        return filled_in_place(call);
    }
    Array *self = call->count == 3 ? plain_floats(call->args[0]) : NULL;
    Array *mask = self == NULL ? NULL : plain_array(call->args[1], NPY_BOOL);
    int step;
    if (mask == NULL || count_of(mask) == 0 || operand_of(call->args[0], mask, &step) == NULL || !step ||
        !write_element(call->args[2], PyArray_TYPE(self), &element)) {
        return NULL;
    }
    job.second = PyArray_BYTES(self);
    return chosen(mask, self, &job);
}

const CompiledKernel where_kernels[] = {
    {"choose", handle_choose, NULL, QUIET},
    {"fill_where", handle_fill, NULL, QUIET | WRITES},
    {NULL, NULL, NULL, 0},
};
