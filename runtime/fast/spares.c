/* New arrays of rows, not filled. The array of a tensor that was freed, which nobody else has, is kept and serves as the
 * next one of its dtype and shape: what NumPy does to make and free an array takes longer than to add a few numbers.
 *
 * A kept array is whole, and one reference is ours. It looks as NumPy makes it: memory of its own, row by row, writable. */

#include "numpy_api.h"
#include "spares.h"

#define PLACES 64
/* How many are kept in a place, and the most bytes that one has. */
#define MOST_KEPT 4
#define MOST_BYTES 4096

/* The arrays that are kept, by their dtype and shape; the last one came last. */
typedef struct {
    int count;
    PyArrayObject *arrays[MOST_KEPT];
} Place;

static Place places[PLACES];

static Place *place_of(const PyArray_Descr *dtype, int ndim, const npy_intp *shape) {
    size_t mixed = (size_t)dtype >> 4;
    for (int i = 0; i < ndim; i++) {
        mixed = mixed * 31 + (size_t)shape[i];
    }
    return &places[(mixed ^ mixed >> 6) % PLACES];
}

static int has_shape(PyArrayObject *array, int ndim, const npy_intp *shape) {
    int is_same = PyArray_NDIM(array) == ndim;
    for (int i = 0; is_same && i < ndim; i++) {
        is_same = PyArray_DIM(array, i) == shape[i];
    }
    return is_same;
}

/* Whether an array is as NumPy makes one, small, and has elements that hold nothing. */
static int is_as_new(PyArrayObject *array) {
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int i = PyArray_NDIM(array) - 1; i >= 0; i--) {
        if (PyArray_STRIDE(array, i) != step) {
            return 0;
        }
        step *= PyArray_DIM(array, i);
    }
    return step > 0 && step <= MOST_BYTES && PyArray_ISCARRAY(array) && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) &&
           PyArray_BASE(array) == NULL && !PyDataType_REFCHK(PyArray_DESCR(array));
}

/* Whether somebody would notice that an array lives on. */
static int is_watched(PyObject *array) {
    Py_ssize_t offset = Py_TYPE(array)->tp_weaklistoffset;
    return offset <= 0 || *(PyObject **)((char *)array + offset) != NULL;
}

/* Give up an object that was a tensor's array. Takes the reference. */
void array_give_up(PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (Py_TYPE(object) != core.array || Py_REFCNT(object) != 1 || !is_as_new(array) || is_watched(object)) {
        Py_DECREF(object);
        return;
    }
    Place *place = place_of(PyArray_DESCR(array), PyArray_NDIM(array), PyArray_DIMS(array));
    if (place->count < MOST_KEPT) {
        place->arrays[place->count++] = array;
    } else { /* calls ask for other shapes now */
        PyArrayObject *oldest = place->arrays[0];
        memmove(place->arrays, place->arrays + 1, (MOST_KEPT - 1) * sizeof *place->arrays);
        place->arrays[MOST_KEPT - 1] = array;
        Py_DECREF(oldest);
    }
}

/* Return a new array of rows, not filled. Takes the reference to the dtype. */
PyObject *array_new(PyArray_Descr *dtype, int ndim, const npy_intp *shape) {
    Place *place = place_of(dtype, ndim, shape);
    for (int i = place->count - 1; i >= 0; i--) {
        PyArrayObject *array = place->arrays[i];
        if (PyArray_DESCR(array) == dtype && has_shape(array, ndim, shape)) {
            place->arrays[i] = place->arrays[--place->count];
            Py_DECREF(dtype);
            return (PyObject *)array;
        }
    }
    return PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, NULL, 0, NULL);
}
