/* Arrays of one number, and copies of arrays alike. NumPy fills by registers of 16 bytes. */

#include "writes.h"

#include "fast/arrays/loops.h"

typedef struct {
    char *to;
    const void *element;
    npy_intp count, size; /* size: 2, 4 or 8 */
} FillJob;

/* Write one element of 2, 4 or 8 bytes to some of `count`. Needs no GIL. */
CLONES static void work_fill(void *given, int64_t from, int64_t to) {
    const FillJob *job = given;
    if (job->size == 2) {
        const uint16_t element = *(const uint16_t *)job->element;
        EACH_ALONE for (npy_intp i = from; i < to; i++) {
            ((uint16_t *)job->to)[i] = element;
        }
    } else if (job->size == 4) {
        const uint32_t element = *(const uint32_t *)job->element;
        EACH_ALONE for (npy_intp i = from; i < to; i++) {
            ((uint32_t *)job->to)[i] = element;
        }
    } else {
        const uint64_t element = *(const uint64_t *)job->element;
        EACH_ALONE for (npy_intp i = from; i < to; i++) {
            ((uint64_t *)job->to)[i] = element;
        }
    }
}

/* Write zero bytes to some elements of a FillJob. Needs no GIL. */
static void work_zero(void *given, int64_t from, int64_t to) {
    const FillJob *job = given;
    memset(job->to + from * job->size, 0, (size_t)((to - from) * job->size));
}

/* Write a Python number as an element of that dtype. Returns 0 if it is no number, if the dtype is none of half,
 * bfloat16, float32 and float64, if a finite number becomes infinite as float32, of which the Python warns, or if half
 * or bfloat16 would round it. */
static int write_element(PyObject *object, const PyArray_Descr *dtype, void *element) {
    double value;
    const int type = dtype->type_num, is_brain = is_bfloat16(dtype);
    if (!PyArray_ISNBO(dtype->byteorder) ||
        (type != NPY_HALF && type != NPY_FLOAT && type != NPY_DOUBLE && !is_brain) || !read_number(object, &value) ||
        (type == NPY_FLOAT && isinf((float)value) && !isinf(value))) {
        return 0;
    }
    if (type == NPY_HALF || is_brain) {
        const uint16_t narrow = is_brain ? to_bf16((float)value) : to_f16((float)value);
        memcpy(element, &narrow, sizeof narrow);
        return (double)(is_brain ? from_bf16(narrow) : from_f16(narrow)) == value;
    }
    if (type == NPY_FLOAT) {
        *(float *)element = (float)value;
    } else {
        *(double *)element = value;
    }
    return 1;
}

/* Fill a dense array with an element. */
static void fill(Array *array, const void *element) {
    FillJob job = {PyArray_BYTES(array), element, count_of(array), element_size(array)};
    do_ranges(work_fill, &job, job.count, job.count);
}

/* Return `out`, borrowed, if it is a dense, writeable array with the shape and the very dtype of `self`; NULL without
 * an exception for anything else. */
static Array *target_like(const Array *self, PyObject *out) {
    Array *target = out == NULL ? NULL : plain_bytes(out);
    int is_writable = target != NULL && PyArray_ISWRITEABLE(target) && is_like(self, target);
    return is_writable && PyArray_DESCR(self) == PyArray_DESCR(target) ? target : NULL;
}

/* Fill an array of any strides that is written in place, `out`, with an element of its type, by the loops of blocks.
 * Returns it; NULL without an exception if Python must do it. */
static PyObject *filled_in_place(const KernelCall *call, Py_ssize_t count, const void *element) {
    PutJob job;
    Array *target = call->count == count ? written_in_place(call) : NULL;
    if (target == NULL || !find_put(&job, target, OVERWRITE)) {
        return NULL;
    }
    job.from = element;
    static const npy_intp same[NPY_MAXDIMS] = {0};
    if (!add_block(&job, target, same)) {
        return NULL;
    }
    run_put(&job);
    return Py_NewRef((PyObject *)target);
}

/* fill_with_zero(self, out=…). Returns `out`, a new reference; NULL without an exception unless both are dense and
 * alike. */
static PyObject *handle_zero(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *self = call->count == 1 ? plain_bytes(call->args[0]) : NULL;
    Array *target = self == NULL ? NULL : target_like(self, call->out);
    if (target == NULL) {
        static const char zero[16] = {0};
        return filled_in_place(call, 1, zero);
    }
    if (target != NULL) {
        FillJob job = {PyArray_BYTES(target), NULL, count_of(target), element_size(target)};
        do_ranges(work_zero, &job, job.count, job.count);
    }
    return Py_XNewRef((PyObject *)target);
}

/* fill_with_number(self, value, out=…) of floats. Returns `out`, a new reference; NULL without an exception unless both
 * are dense and alike, and `value` is a Python number that the dtype holds. */
static PyObject *handle_fill(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double element;
    Array *self = call->count == 2 ? plain_bytes(call->args[0]) : NULL;
    Array *target = self == NULL ? NULL : target_like(self, call->out);
    if (target == NULL || !write_element(call->args[1], PyArray_DESCR(self), &element)) {
        const int type =
            call->count == 2 && Py_TYPE(call->args[0]) == &PyArray_Type ? PyArray_TYPE((Array *)call->args[0]) : -1;
        return type >= 0 && read_scalar(call->args[1], type, &element) ? filled_in_place(call, 2, &element) : NULL;
    }
    fill(target, &element);
    return Py_NewRef((PyObject *)target);
}

/* filled(shape, value, dtype) of floats. Returns a new array; NULL without an exception for another dtype,
 * a negative size, or a value that the dtype does not hold. */
static PyObject *handle_filled(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double element;
    npy_intp shape[NPY_MAXDIMS];
    const int ndim = call->count == 3 && call->out == NULL ? count_of_sequence(call->args[0]) : -1;
    PyArray_Descr *dtype = ndim < 0 ? NULL : dtype_of(call->args[2]);
    if (dtype == NULL || ndim > NPY_MAXDIMS || !read_ints(call->args[0], shape, ndim) ||
        !write_element(call->args[1], dtype, &element)) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) {
            return NULL;
        }
    }
    Array *result = new_of(dtype, ndim, shape);
    if (result != NULL) {
        fill(result, &element);
    }
    return (PyObject *)result;
}

/* copy_from(self, src, non_blocking, out=…), if `src` lies apart. Returns `out`, a new reference; NULL without an
 * exception unless all three are dense and alike. */
static PyObject *handle_copy(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    Array *self = call->count == 3 ? plain_bytes(call->args[0]) : NULL;
    Array *source = self == NULL ? NULL : plain_bytes(call->args[1]);
    Array *target = source == NULL ? NULL : target_like(self, call->out);
    if (target == NULL || !is_like(self, source) || PyArray_DESCR(source) != PyArray_DESCR(target)) {
        target = call->count == 3 && PyArray_Check(call->args[1]) ? written_in_place(call) : NULL;
        const int is_put = target != NULL && put_broadcast(target, (Array *)call->args[1]);
        return is_put ? Py_NewRef((PyObject *)target) : NULL;
    }
    if (!arrays_are_apart((PyObject *)source, (PyObject *)target)) {
        return NULL;
    }
    copy_bytes(PyArray_BYTES(target), PyArray_BYTES(source), PyArray_NBYTES(target));
    return Py_NewRef((PyObject *)target);
}

const CompiledKernel fill_kernels[] = {
    {"fill_with_zero", handle_zero, NULL, QUIET | WRITES},
    {"fill_with_number", handle_fill, NULL, QUIET | WRITES},
    {"filled", handle_filled, NULL, QUIET},
    {"copy_from", handle_copy, NULL, QUIET | WRITES},
    {NULL, NULL, NULL, 0},
};
