/* What the other files ask of NumPy's arrays, which are exactly of that class. */

#include "arrays.h"
#include "array_pool.h"
#include "numpy_api.h"
#include "plain_arrays.h"

/* The shape that was asked for last: calls that follow each other often have the same. */
static PyObject *cached_shape = NULL;
static int cached_ndim = -1;
static npy_intp cached_dims[4];

/* Return the shape, a new reference to a tuple. */
PyObject *array_shape(PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    int ndim = PyArray_NDIM(array);
    size_t size = (size_t)ndim * sizeof(npy_intp);
    if (ndim == cached_ndim && memcmp(cached_dims, PyArray_DIMS(array), size) == 0) {
        return Py_NewRef(cached_shape);
    }
    PyObject *shape = PyArray_IntTupleFromIntp(ndim, PyArray_DIMS(array));
    if (shape != NULL && ndim > 0 && ndim <= 4) {
        memcpy(cached_dims, PyArray_DIMS(array), size);
        cached_ndim = ndim;
        Py_XSETREF(cached_shape, Py_NewRef(shape));
    }
    return shape;
}

/* Return the strides in elements, a new tuple. */
PyObject *array_strides(PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    PyObject *made = PyTuple_New(PyArray_NDIM(array));
    for (int i = 0; made != NULL && i < PyArray_NDIM(array); i++) {
        const npy_intp step = PyArray_STRIDE(array, i), size = PyArray_ITEMSIZE(array);
        PyObject *value = PyLong_FromSsize_t(step / size - (step % size < 0));
        if (value == NULL) {
            Py_CLEAR(made);
        } else {
            PyTuple_SET_ITEM(made, i, value);
        }
    }
    return made;
}

/* Return the dtype, a new reference. */
PyObject *array_dtype(PyObject *array) {
    return Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)array));
}

/* Whether an array has this very dtype, and the sizes that a tuple says. */
int array_fits(PyObject *object, PyObject *dtype, PyObject *shape) {
    PyArrayObject *array = (PyArrayObject *)object;
    if ((PyObject *)PyArray_DESCR(array) != dtype) {
        return 0;
    }
    if (shape == cached_shape && PyArray_NDIM(array) == cached_ndim &&
        memcmp(cached_dims, PyArray_DIMS(array), (size_t)cached_ndim * sizeof(npy_intp)) == 0) {
        return 1;
    }
    if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) != PyArray_NDIM(array)) {
        return 0;
    }
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        PyObject *size = PyTuple_GET_ITEM(shape, i);
        int overflow;
        if (!PyLong_CheckExact(size) || PyLong_AsLongLongAndOverflow(size, &overflow) != PyArray_DIM(array, i)) {
            return 0;
        }
    }
    return 1;
}

/* Whether the dtype is not complex; returns 1 or 0. */
int array_is_real(PyObject *array) {
    return !PyArray_ISCOMPLEX((PyArrayObject *)array);
}

/* Whether elements are floating-point or complex numbers; -1 for types that NumPy did not bring, of which Python knows.
 */
int array_is_inexact(PyObject *object) {
    int type = PyArray_TYPE((PyArrayObject *)object);
    return PyTypeNum_ISUSERDEF(type) ? -1 : PyTypeNum_ISFLOAT(type) || PyTypeNum_ISCOMPLEX(type);
}

/* Whether two arrays have the very same dtype and the same shape; returns 1 or 0. */
int arrays_are_alike(PyObject *first, PyObject *second) {
    PyArrayObject *a = (PyArrayObject *)first, *b = (PyArrayObject *)second;
    return PyArray_DESCR(a) == PyArray_DESCR(b) && PyArray_SAMESHAPE(a, b);
}

/* Whether an array has dimensions, elements, and exactly row-major strides. */
int array_is_dense(PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int i = PyArray_NDIM(array) - 1; i >= 0; i--) {
        if (PyArray_STRIDE(array, i) != step || PyArray_DIM(array, i) == 0) {
            return 0;
        }
        step *= PyArray_DIM(array, i);
    }
    return PyArray_NDIM(array) > 0;
}

/* Whether an array uses memory of another object. */
int array_has_base(PyObject *array) {
    return PyArray_BASE((PyArrayObject *)array) != NULL;
}

/* Whether no other reference to the array or its memory exists. */
int array_is_free(PyObject *array) {
    return is_only_reference(array) && PyArray_BASE((PyArrayObject *)array) == NULL;
}

/* Return the array whose memory a view is all of, row by row, and which but for it and another view nobody has:
 * borrowed, or NULL. */
PyObject *array_whole_base(PyObject *view, PyObject *other) {
    PyArrayObject *array = (PyArrayObject *)view;
    PyObject *base = PyArray_BASE(array);
    if (base == NULL || Py_TYPE(base) != core.array || Py_REFCNT(base) != 2 || !is_only_reference(view) ||
        other == NULL || Py_TYPE(other) != core.array || PyArray_BASE((PyArrayObject *)other) != base ||
        Py_REFCNT(other) != 2) {
        return NULL; /* the other view is the base's and its storage's */
    }
    PyArrayObject *whole = (PyArrayObject *)base;
    int is_all = PyArray_BASE(whole) == NULL && PyArray_BYTES(whole) == PyArray_BYTES(array) &&
                 arrays_are_alike(base, view) && PyArray_ISCARRAY(whole) && PyArray_IS_C_CONTIGUOUS(array);
    return is_all ? base : NULL;
}

/* Whether nobody but a tensor has a view, nobody but another tensor and its storage the array that it is a view of, or
 * another view of the same memory, and nobody the memory. */
int array_is_alone_with(PyObject *view, PyObject *other) {
    PyObject *base = PyArray_BASE((PyArrayObject *)view);
    if (base == NULL || other == NULL || Py_TYPE(base) != core.array || Py_TYPE(other) != core.array ||
        !is_only_reference(view) || PyArray_BASE((PyArrayObject *)base) != NULL) {
        return 0;
    }
    return base == other
               ? Py_REFCNT(base) == 3
               : PyArray_BASE((PyArrayObject *)other) == base && Py_REFCNT(base) == 2 && Py_REFCNT(other) == 2;
}

/* Return the elements of a row-major array as a matrix, or three dimensions of matrices, which are turned then where
 * that is wanted: a new view of these sizes. NULL without an exception for other arrays, and other numbers of elements.
 */
PyObject *array_as_matrices(PyObject *object, int ndim, const Py_ssize_t *sizes, int is_turned) {
    PyArrayObject *array = (PyArrayObject *)object;
    npy_intp shape[3] = {0};
    memcpy(shape, sizes, (size_t)ndim * sizeof *shape);
    if (is_turned) {
        shape[ndim - 2] = sizes[ndim - 1];
        shape[ndim - 1] = sizes[ndim - 2];
    }
    PyArray_Dims dims = {shape, ndim};
    if (!PyArray_ISCARRAY(array) || PyArray_SIZE(array) != PyArray_MultiplyList(shape, ndim)) {
        return NULL;
    }
    PyObject *found = PyArray_Newshape(array, &dims, NPY_CORDER);
    if (found != NULL && is_turned) {
        Py_SETREF(found, PyArray_SwapAxes((PyArrayObject *)found, ndim - 2, ndim - 1));
    }
    return found;
}

/* Return the only number of an array of floats without dimensions as an array of ones; NULL for another array, without
 * an exception, and where there is no memory, with it. */
PyObject *array_of_one(PyObject *like) {
    PyArrayObject *array = (PyArrayObject *)like;
    int type = PyArray_TYPE(array);
    if (PyArray_NDIM(array) != 0 || (type != NPY_FLOAT && type != NPY_DOUBLE) || !PyArray_ISNOTSWAPPED(array)) {
        return NULL;
    }
    PyObject *made = PyArray_SimpleNew(0, NULL, type);
    if (made != NULL && type == NPY_FLOAT) {
        *(float *)PyArray_DATA((PyArrayObject *)made) = 1;
    } else if (made != NULL) {
        *(double *)PyArray_DATA((PyArrayObject *)made) = 1;
    }
    return made;
}

/* Return a row-major copy of an array that has elements; NULL without an exception where it has none. */
PyObject *array_copy(PyObject *array) {
    PyObject *copy = dense_copy(array);
    if (copy != NULL || PyErr_Occurred() || PyArray_SIZE((PyArrayObject *)array) == 0) {
        return copy;
    }
    return PyArray_NewCopy((PyArrayObject *)array, NPY_CORDER);
}

/* Return a copy of a row-major array with elements; NULL without an exception for another object. */
PyObject *dense_copy(PyObject *object) {
    Array *array = plain_bytes(object);
    if (array == NULL || PyArray_NDIM(array) == 0 || PyArray_SIZE(array) == 0) {
        return NULL;
    }
    PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef(PyArray_DESCR(array)); /* which the next call takes */
    PyObject *copy = array_new(dtype, PyArray_NDIM(array), PyArray_DIMS(array));
    if (copy != NULL) {
        copy_bytes(PyArray_BYTES((Array *)copy), PyArray_BYTES(array), PyArray_NBYTES(array));
    }
    return copy;
}

/* Whether an array has its own memory, row by row, and few enough elements to be written to without a word. */
int array_is_small(PyObject *object, Py_ssize_t most) {
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_ISCARRAY(array) && PyArray_BASE(array) == NULL && PyArray_SIZE(array) <= most;
}

/* Whether an array of rows may be written to, and has few enough elements for that to be done in a copy. */
int array_is_writable(PyObject *object, Py_ssize_t most) {
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_ISCARRAY(array) && PyArray_SIZE(array) <= most;
}

/* Whether two arrays, one of which may be no array but NULL, lie in memory that one object has, and are not one array.
 */
int arrays_share_owner(PyObject *first, PyObject *second) {
    if (first == NULL || second == NULL || first == second) {
        return 0;
    }
    PyObject *of_first = PyArray_BASE((PyArrayObject *)first), *of_second = PyArray_BASE((PyArrayObject *)second);
    return of_first == second || of_second == first || (of_first != NULL && of_first == of_second);
}

/* Write the elements of an array to another one alike; both are row-major. */
void array_write(PyObject *to, PyObject *from) {
    memcpy(PyArray_DATA((PyArrayObject *)to), PyArray_DATA((PyArrayObject *)from), PyArray_NBYTES((PyArrayObject *)to));
}
