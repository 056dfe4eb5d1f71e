/* Arrays as kernels take and make them, numbers, and work without the lock. */

#include "plain_arrays.h"
#include "array_pool.h"

#include <time.h>

/* Whether a dtype is bfloat16: it is known by its name, since it is one of another package. */
int is_bfloat16(const PyArray_Descr *dtype) {
    if (dtype->type_num < NPY_USERDEF) {
        return 0;
    }
    const char *name = dtype->typeobj->tp_name, *last = strrchr(name, '.');
    return strcmp(last == NULL ? name : last + 1, "bfloat16") == 0;
}

/* Whether an object is exactly an ndarray of that type number, whatever its strides and byte order. */
int is_array_of(PyObject *object, int type) {
    return Py_TYPE(object) == &PyArray_Type && PyArray_TYPE((Array *)object) == type;
}

/* Return an object as an array if it is an ndarray that is C-contiguous, aligned and of native byte order, borrowed;
 * NULL without an exception for anything else. */
Array *any_plain_array(PyObject *object) {
    Array *array = (Array *)object;
    if (Py_TYPE(object) != &PyArray_Type || !PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISALIGNED(array) ||
        !PyArray_ISNOTSWAPPED(array)) {
        return NULL;
    }
    return array;
}

/* Return an array as `any_plain_array` does, borrowed; NULL, too, for a dtype that holds references (object), since its
 * elements must not be copied as bytes. */
Array *plain_bytes(PyObject *object) {
    Array *array = any_plain_array(object);
    return array == NULL || PyDataType_REFCHK(PyArray_DESCR(array)) ? NULL : array;
}

/* Return the bytes of one element. */
npy_intp element_size(const Array *array) {
    return PyArray_ITEMSIZE(array);
}

/* Return an array as `any_plain_array` does, borrowed; NULL, too, if it is of another type number. */
Array *plain_array(PyObject *object, int type) {
    return is_array_of(object, type) ? any_plain_array(object) : NULL;
}

/* Return an array as `any_plain_array` does, borrowed; NULL, too, if it is neither float32 nor float64. */
Array *plain_floats(PyObject *object) {
    Array *array = plain_array(object, NPY_FLOAT);
    return array != NULL ? array : plain_array(object, NPY_DOUBLE);
}

/* Return an array of that type number, C-contiguous, aligned and of native byte order: itself, or a copy, a new
 * reference either way. NULL without an exception for anything else, with one if memory runs out. */
Array *dense_array(PyObject *object, int type) {
    if (plain_array(object, type) != NULL) {
        return (Array *)Py_NewRef(object);
    }
    if (!is_array_of(object, type)) {
        return NULL;
    }
    return (Array *)PyArray_FromArray(
        (Array *)object, PyArray_DescrFromType(type), NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED);
}

/* Return a float32 or float64 array as `dense_array` does: a new reference, or NULL as there. */
Array *dense_floats(PyObject *object) {
    return dense_array(object, is_array_of(object, NPY_DOUBLE) ? NPY_DOUBLE : NPY_FLOAT);
}

/* Whether two arrays have the same number of dimensions and the same sizes. */
int has_shape_of(const Array *array, const Array *other) {
    int ndim = PyArray_NDIM(array);
    return ndim == PyArray_NDIM(other) &&
           (ndim == 0 || memcmp(PyArray_DIMS(array), PyArray_DIMS(other), (size_t)ndim * sizeof(npy_intp)) == 0);
}

/* Whether two arrays have the same type number and shape. */
int is_like(const Array *array, const Array *other) {
    return PyArray_TYPE(array) == PyArray_TYPE(other) && has_shape_of(array, other);
}

/* Return the number of elements that the first `dims` dimensions span: the product of their sizes. */
npy_intp count_of_first(const Array *array, int dims) {
    return PyArray_MultiplyList(PyArray_DIMS(array), dims);
}

/* Return the number of elements of an array. */
npy_intp count_of(const Array *array) {
    return count_of_first(array, PyArray_NDIM(array));
}

/* Return a new C-contiguous array of that type number, not initialised; NULL with an exception. */
Array *new_array(int ndim, const npy_intp *shape, int type) {
    return (Array *)array_new(PyArray_DescrFromType(type), ndim, shape);
}

/* Return a new C-contiguous array of that dtype, not initialised; NULL with an exception. Does not steal the dtype. */
Array *new_of(PyArray_Descr *dtype, int ndim, const npy_intp *shape) {
    Py_INCREF(dtype);
    return (Array *)array_new(dtype, ndim, shape);
}

/* Return an object as a dtype if it is one, borrowed; NULL without an exception for anything else. */
PyArray_Descr *dtype_of(PyObject *object) {
    return PyArray_DescrCheck(object) ? (PyArray_Descr *)object : NULL;
}

/* Return the bytes of an element (4 or 8) of float32, float64, int32 or int64; 0 for any other dtype. */
int width_of(const Array *array) {
    switch (PyArray_TYPE(array)) {
    case NPY_FLOAT:
    case NPY_INT32:
        return 4;
    case NPY_DOUBLE:
    case NPY_INT64:
        return 8;
    default:
        return 0;
    }
}

/* Return a new (rows, columns) array in column-major (Fortran) order, not initialised; NULL with an exception. */
Array *new_by_columns(npy_intp rows, npy_intp columns, int type) {
    npy_intp shape[2] = {rows, columns};
    return (Array *)PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DescrFromType(type), 2, shape, NULL, NULL, NPY_ARRAY_F_CONTIGUOUS, NULL);
}

/* Return a new C-contiguous array with the shape and type number of another, not initialised; NULL with an
 * exception. */
Array *new_like(Array *array) {
    return new_array(PyArray_NDIM(array), PyArray_DIMS(array), PyArray_TYPE(array));
}

/* Whether NumPy casts between two type numbers without a possible warning: a safe cast, or an integer to a float, which
 * can not overflow. */
static int is_silent(int from, int to) {
    if (from > NPY_CDOUBLE || to > NPY_CDOUBLE) {
        return 0;
    }
    int is_widened =
        from <= NPY_ULONGLONG && (to == NPY_FLOAT || to == NPY_DOUBLE || to == NPY_CFLOAT || to == NPY_CDOUBLE);
    return is_widened || PyArray_CanCastSafely(from, to);
}

/* Cast to another dtype with NumPy's loop and keep the memory order. Returns a new array; NULL without an exception if
 * the cast might warn or an operand is byte-swapped, with one if memory runs out. */
PyObject *cast_silently(Array *array, PyArray_Descr *dtype) {
    if (!PyArray_ISNOTSWAPPED(array) || !PyArray_ISNBO(dtype->byteorder) ||
        !is_silent(PyArray_TYPE(array), dtype->type_num)) {
        return NULL;
    }
    Py_INCREF(dtype); /* which the next call takes */
    PyObject *result = PyArray_NewLikeArray(array, NPY_KEEPORDER, dtype, 0);
    if (result != NULL && PyArray_CopyInto((Array *)result, array) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

/* Whether an object is a float, or an int of at most 53 bits (not a bool): its value is written to `number`. */
int read_number(PyObject *object, double *number) {
    if (PyFloat_CheckExact(object)) {
        *number = PyFloat_AS_DOUBLE(object);
        return 1;
    }
    if (!PyLong_CheckExact(object)) {
        return 0;
    }
    int overflow;
    int64_t whole = PyLong_AsLongLongAndOverflow(object, &overflow);
    *number = (double)whole;
    return !overflow && whole <= ((int64_t)1 << 53) && whole >= -((int64_t)1 << 53);
}

/* Whether an object is a NumPy scalar or a zero-dimensional array of that type number (float32 or float64), or a Python
 * number as `read_number` takes it: its value is written to `number`. */
int read_element(PyObject *object, int type, double *number) {
    if (PyArray_IsScalar(object, Float) && type == NPY_FLOAT) {
        *number = (double)PyArrayScalar_VAL(object, Float);
    } else if (PyArray_IsScalar(object, Double) && type == NPY_DOUBLE) {
        *number = PyArrayScalar_VAL(object, Double);
    } else if (is_array_of(object, type) && PyArray_NDIM((Array *)object) == 0 && any_plain_array(object) != NULL) {
        const char *element = PyArray_BYTES((Array *)object);
        *number = type == NPY_DOUBLE ? *(const double *)element : (double)*(const float *)element;
    } else {
        return read_number(object, number);
    }
    return 1;
}

/* Return a NumPy scalar as a new zero-dimensional array of that type number (float32 or float64); NULL without an
 * exception for anything else, with one if memory runs out. */
Array *array_of_scalar(PyObject *object, int type) {
    double number;
    if (!PyArray_CheckScalar(object) || !read_element(object, type, &number)) {
        return NULL;
    }
    Array *array = new_array(0, NULL, type);
    if (array != NULL && type == NPY_DOUBLE) {
        *(double *)PyArray_BYTES(array) = number;
    } else if (array != NULL) {
        *(float *)PyArray_BYTES(array) = (float)number;
    }
    return array;
}

/* Whether an object is a list or tuple of `count` ints, or of one int, which is then repeated: they are written to
 * `values`. Ints of more than 31 bits are refused, so that sums and products of two can not overflow. */
int read_ints(PyObject *object, npy_intp *values, int count) {
    if (!PyList_CheckExact(object) && !PyTuple_Check(object)) {
        return 0;
    }
    Py_ssize_t given = PySequence_Fast_GET_SIZE(object);
    if (given != 1 && given != count) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        PyObject *value = PySequence_Fast_GET_ITEM(object, given == 1 ? 0 : i);
        if (!PyLong_CheckExact(value)) {
            return 0;
        }
        values[i] = PyLong_AsSsize_t(value);
        if (values[i] == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        if (values[i] > INT32_MAX || values[i] < -INT32_MAX) {
            return 0;
        }
    }
    return 1;
}

/* Find the first byte of an array and the one behind its last. */
static void find_bounds(PyArrayObject *array, char **first, char **behind) {
    *first = *behind = PyArray_BYTES(array);
    *behind += PyArray_ITEMSIZE(array);
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        npy_intp way = (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
        *(way < 0 ? first : behind) += way;
    }
}

/* Whether the memory from the first to the last element of one is before that of the other, or behind it. */
int arrays_are_apart(PyObject *first, PyObject *second) {
    PyArrayObject *a = (PyArrayObject *)first, *b = (PyArrayObject *)second;
    char *of_a, *behind_a, *of_b, *behind_b;
    if (PyArray_SIZE(a) == 0 || PyArray_SIZE(b) == 0) {
        return 1;
    }
    find_bounds(a, &of_a, &behind_a);
    find_bounds(b, &of_b, &behind_b);
    return behind_a <= of_b || behind_b <= of_a;
}

/* Run `block` over operands of any strides that broadcast, with NumPy's buffered iterator: each block is contiguous.
 * Returns the result, a new reference to a new array or to `out`; NULL without an exception where NumPy refuses the
 * operands, so that the Python raises, with one if the iteration fails. */
PyObject *walk_arrays(PyObject *const *operands, int count, PyObject *out, WalkBlock block, void *job) {
    Array *arrays[MOST_WALKED + 1];
    npy_uint32 flags[MOST_WALKED + 1];
    npy_uint32 dense = NPY_ITER_NBO | NPY_ITER_ALIGNED | NPY_ITER_CONTIG;
    PyArray_Descr *native = PyArray_DescrFromType(PyArray_TYPE((Array *)operands[0]));
    PyArray_Descr *types[MOST_WALKED + 1] = {native, native, native, native};
    if (native == NULL) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        arrays[i] = (Array *)operands[i];
        flags[i] = dense | NPY_ITER_READONLY | NPY_ITER_OVERLAP_ASSUME_ELEMENTWISE;
    }
    arrays[count] = (Array *)out;
    flags[count] = dense | NPY_ITER_WRITEONLY | NPY_ITER_ALLOCATE | NPY_ITER_NO_SUBTYPE | NPY_ITER_NO_BROADCAST;
    NpyIter *walk = NpyIter_MultiNew(
        count + 1, arrays,
        NPY_ITER_EXTERNAL_LOOP | NPY_ITER_BUFFERED | NPY_ITER_GROWINNER | NPY_ITER_ZEROSIZE_OK |
            NPY_ITER_COPY_IF_OVERLAP,
        NPY_KEEPORDER, NPY_EQUIV_CASTING, flags, types);
    Py_DECREF(native);
    if (walk == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *made = (PyObject *)NpyIter_GetOperandArray(walk)[count];
    PyObject *result = Py_NewRef(out != NULL ? out : made);
    NpyIter_IterNextFunc *next = NpyIter_GetIterNext(walk, NULL);
    if (next != NULL && NpyIter_GetIterSize(walk) > 0) {
        char *const *data = NpyIter_GetDataPtrArray(walk);
        const npy_intp *length = NpyIter_GetInnerLoopSizePtr(walk);
        do {
            block(job, data, *length);
        } while (next(walk));
    }
    if (NpyIter_Deallocate(walk) != NPY_SUCCEED || next == NULL) {
        Py_CLEAR(result);
    }
    return result;
}

/* Return the length of a list or tuple; -1 without an exception for anything else. */
int count_of_sequence(PyObject *object) {
    return PyList_CheckExact(object) || PyTuple_Check(object) ? (int)PySequence_Fast_GET_SIZE(object) : -1;
}

/* The elements of the first slice, and how long the next ones should take, in nanoseconds. */
#define SLICE_WORK ((npy_intp)1 << 20)
#define SLICE_TIME 50000000

/* A part of a long loop, from the unit `from` on. */
typedef struct {
    RangeWork work;
    void *job;
    int64_t from;
} Slice;

/* Compute units of a slice. Needs no GIL. */
static void work_slice(void *given, int64_t from, int64_t to) {
    const Slice *slice = given;
    slice->work(slice->job, slice->from + from, slice->from + to);
}

/* Return the time in nanoseconds. */
static int64_t time_now(void) {
    struct timespec time;
    return timespec_get(&time, TIME_UTC) == 0 ? 0 : (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Compute `count` units, of `size` elements altogether, in ranges of `grain` or more, without the GIL; the caller holds
 * references to the arrays.
 *
 * Note [Interrupted loops]: a handler of a signal runs in the main thread, with the GIL. So a long loop is cut into
 * slices, between which it takes the GIL and looks at signals. What a handler raises stays set: the rest of the loop,
 * and later loops of the call, compute nothing, and `call_kernel` drops the result, which is not complete. */
void run_long(RangeWork work, void *job, npy_intp count, npy_intp grain, npy_intp size) {
    npy_intp units = (npy_intp)((double)count / (double)size * (double)SLICE_WORK) + 1, from = 0;
    while (from < count && !PyErr_Occurred()) {
        Slice slice = {work, job, from};
        const npy_intp some = units < count - from ? units : count - from;
        PyThreadState *thread = PyEval_SaveThread();
        const int64_t begin = some < count ? time_now() : 0;
        run_ranges(work_slice, &slice, some, grain);
        const int64_t taken = some < count ? time_now() - begin : 0;
        PyEval_RestoreThread(thread);
        from += some;
        if (some < count && PyErr_CheckSignals() == 0 && taken > 0) {
            const double wanted = (double)SLICE_TIME / (double)taken;
            units = (npy_intp)((double)units * (wanted < 8 ? wanted : 8)) + 1;
        }
    }
}

/* Run `work(job)`; for `size` elements from LONG_WORK on without the GIL. The caller holds references to the arrays.
 * Work has no ranges: a signal waits for its end. */
void do_work(Work work, void *job, npy_intp size) {
    if (PyErr_Occurred()) {
        return;
    }
    if (size < LONG_WORK) {
        work(job);
        return;
    }
    PyThreadState *thread = PyEval_SaveThread();
    work(job);
    PyEval_RestoreThread(thread);
    if (size > SLICE_WORK) {
        (void)PyErr_CheckSignals();
    }
}

/* Run `work(job, from, to)` for `count` units, of `size` elements altogether, as `run_long` does from LONG_WORK
 * elements on, split over threads where there is work for several. */
void do_ranges(RangeWork work, void *job, npy_intp count, npy_intp size) {
    if (PyErr_Occurred()) {
        return;
    }
    if (size < LONG_WORK) {
        work(job, 0, count);
        return;
    }
    const npy_intp grain = size > RANGE_WORK ? (npy_intp)((double)count / (double)size * RANGE_WORK) : count;
    run_long(work, job, count, grain > 0 ? grain : 1, size);
}

/* Run as `do_ranges` does, one range after another, on this thread alone. */
void do_in_order(RangeWork work, void *job, npy_intp count, npy_intp size) {
    if (PyErr_Occurred()) {
        return;
    }
    if (size < LONG_WORK) {
        work(job, 0, count);
        return;
    }
    run_long(work, job, count, NPY_MAX_INTP, size);
}

/* Bytes that are copied, in blocks. */
#define COPIED_BLOCK 4096
typedef struct {
    char *to;
    const char *from;
    npy_intp bytes;
} CopyJob;

/* Copy some blocks. Needs no GIL. */
static void work_copy(void *given, int64_t from, int64_t to) {
    const CopyJob *job = given;
    const npy_intp start = from * COPIED_BLOCK, stop = to * COPIED_BLOCK < job->bytes ? to * COPIED_BLOCK : job->bytes;
    memcpy(job->to + start, job->from + start, (size_t)(stop - start));
}

/* Copy bytes to memory that is apart, as `do_ranges` does. */
void copy_bytes(char *to, const char *from, npy_intp bytes) {
    CopyJob job = {to, from, bytes};
    do_ranges(work_copy, &job, (bytes + COPIED_BLOCK - 1) / COPIED_BLOCK, bytes / 4);
}
