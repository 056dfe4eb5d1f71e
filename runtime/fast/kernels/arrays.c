/* Arrays as kernels take and make them, numbers, and work without the lock. */

#include "kernels.h"
#include "../array_pool.h"

/* Whether an operand is an array of that type, whatever its strides and byte order. */
int is_array_of(PyObject *object, int type) {
    return Py_TYPE(object) == &PyArray_Type && PyArray_TYPE((Array *)object) == type;
}

/* Return an array that lies as kernels want it, borrowed; NULL for anything else. */
Array *any_plain_array(PyObject *object) {
    Array *array = (Array *)object;
    if (Py_TYPE(object) != &PyArray_Type || !PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISALIGNED(array) ||
        !PyArray_ISNOTSWAPPED(array)) {
        return NULL;
    }
    return array;
}

/* The same, of elements that may be copied as bytes: objects may not. */
Array *plain_bytes(PyObject *object) {
    Array *array = any_plain_array(object);
    return array == NULL || PyDataType_REFCHK(PyArray_DESCR(array)) ? NULL : array;
}

npy_intp element_size(const Array *array) {
    return PyArray_ITEMSIZE(array);
}

/* The same as `any_plain_array`, of that type. */
Array *plain_array(PyObject *object, int type) {
    return is_array_of(object, type) ? any_plain_array(object) : NULL;
}

/* Return an array of float32 or float64 that lies as kernels want it, borrowed; NULL for anything else. */
Array *plain_floats(PyObject *object) {
    Array *array = plain_array(object, NPY_FLOAT);
    return array != NULL ? array : plain_array(object, NPY_DOUBLE);
}

/* Return an array of that type that lies as kernels want it: itself, or a copy, a new reference either way. NULL
 * without an exception for anything else. */
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

Array *dense_floats(PyObject *object) {
    return dense_array(object, is_array_of(object, NPY_DOUBLE) ? NPY_DOUBLE : NPY_FLOAT);
}

int has_shape_of(const Array *array, const Array *other) {
    int ndim = PyArray_NDIM(array);
    return ndim == PyArray_NDIM(other) &&
           (ndim == 0 || memcmp(PyArray_DIMS(array), PyArray_DIMS(other), (size_t)ndim * sizeof(npy_intp)) == 0);
}

/* Whether two arrays have one type and shape. */
int is_like(const Array *array, const Array *other) {
    return PyArray_TYPE(array) == PyArray_TYPE(other) && has_shape_of(array, other);
}

/* Return how many places the first dimensions of an array have together. */
npy_intp count_of_first(const Array *array, int dims) {
    return PyArray_MultiplyList(PyArray_DIMS(array), dims);
}

npy_intp count_of(const Array *array) {
    return count_of_first(array, PyArray_NDIM(array));
}

/* Return a new row-major array, not filled. */
Array *new_array(int ndim, const npy_intp *shape, int type) {
    return (Array *)array_new(PyArray_DescrFromType(type), ndim, shape);
}

/* Return a new row-major array of that dtype, not filled. */
Array *new_of(PyArray_Descr *dtype, int ndim, const npy_intp *shape) {
    Py_INCREF(dtype);
    return (Array *)array_new(dtype, ndim, shape);
}

/* Return the dtype that an object is, borrowed; NULL for anything else. */
PyArray_Descr *dtype_of(PyObject *object) {
    return PyArray_DescrCheck(object) ? (PyArray_Descr *)object : NULL;
}

/* Return how many bytes an element has, where that is 4 or 8 and a number of the usual types; else 0. */
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

/* Return a new array with so many rows, not filled, whose columns lie one behind the other. */
Array *new_by_columns(npy_intp rows, npy_intp columns, int type) {
    npy_intp shape[2] = {rows, columns};
    return (Array *)PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DescrFromType(type), 2, shape, NULL, NULL, NPY_ARRAY_F_CONTIGUOUS, NULL);
}

Array *new_like(Array *array) {
    return new_array(PyArray_NDIM(array), PyArray_DIMS(array), PyArray_TYPE(array));
}

/* Whether NumPy finds nothing to warn of: nothing overflows, and no number is none. */
static int is_silent(int from, int to) {
    if (from > NPY_CDOUBLE || to > NPY_CDOUBLE) {
        return 0;
    }
    int is_widened = from <= NPY_ULONGLONG && (to == NPY_FLOAT || to == NPY_DOUBLE || to == NPY_CFLOAT || to == NPY_CDOUBLE);
    return is_widened || PyArray_CanCastSafely(from, to);
}

/* Return a new array in another dtype, laid out alike. NULL without an exception where NumPy might warn. */
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

/* Whether an object is a Python number that a double holds; it is written. */
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

/* Whether an object is an element of float32 or float64, by itself or as an array without dimensions, or a Python
 * number; it is written. */
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

/* Return a NumPy scalar of that type as an array without dimensions; NULL for anything else. */
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

/* Whether an object is a list or tuple of so many ints, or of one that stands for all; they are written. Ints of more
 * than 31 bits are left to the Python, so that sums and products of two are none too large. */
int read_ints(PyObject *object, npy_intp *values, int count) {
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) {
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

/* Go over operands that lie in any way and broadcast, block by block: the blocks are dense. Return the result, a new
 * array or `out`; NULL where NumPy refuses them, which is left to the Python. */
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

/* Return how many things a list or tuple has; -1 for anything else. */
int count_of_sequence(PyObject *object) {
    return PyList_CheckExact(object) || PyTuple_CheckExact(object) ? (int)PySequence_Fast_GET_SIZE(object) : -1;
}

/* Do the work of so many elements; where they are many, other threads run meanwhile. Who calls holds the arrays. */
void do_work(Work work, void *job, npy_intp size) {
    if (size < LONG_WORK) {
        work(job);
        return;
    }
    PyThreadState *thread = PyEval_SaveThread();
    work(job);
    PyEval_RestoreThread(thread);
}
