/* The array pool. The array of a tensor that was freed, to which there is no other reference, is pooled and becomes the
 * next one of its dtype and shape: NumPy takes longer to make and free an array than to add a few numbers.
 *
 * A pooled array is whole, and one reference is the pool's. It looks as NumPy makes it: memory of its own, row-major,
 * writable. */

#include "array_pool.h"
#include "core.h"
#include "numpy_api.h"

#define BUCKETS 64
/* The most arrays in a bucket, and the most bytes of one. */
#define MOST_KEPT 4
#define MOST_BYTES 4096

/* Pooled arrays of some dtypes and shapes; the newest is last. */
typedef struct {
    int count;
    PyArrayObject *arrays[MOST_KEPT];
} Bucket;

static Bucket buckets[BUCKETS];

/* Return the bucket of a dtype and a shape. */
static Bucket *bucket_of(const PyArray_Descr *dtype, int ndim, const npy_intp *shape) {
    size_t mixed = (size_t)dtype >> 4;
    for (int i = 0; i < ndim; i++) {
        mixed = mixed * 31 + (size_t)shape[i];
    }
    return &buckets[(mixed ^ mixed >> 6) % BUCKETS];
}

/* Whether an array has a shape; returns 1 or 0. */
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

/* Whether an array has weak references, which would show that it lives on. Returns 1 or 0. */
static int has_weak_references(PyObject *array) {
    Py_ssize_t offset = Py_TYPE(array)->tp_weaklistoffset;
    return offset <= 0 || *(PyObject **)((char *)array + offset) != NULL;
}

/* Give up an object that was a tensor's array. Takes the reference. */
void array_give_up(PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (Py_TYPE(object) != core.array || Py_REFCNT(object) != 1 || !is_as_new(array) || has_weak_references(object)) {
        Py_DECREF(object);
        return;
    }
    Bucket *bucket = bucket_of(PyArray_DESCR(array), PyArray_NDIM(array), PyArray_DIMS(array));
    if (bucket->count < MOST_KEPT) {
        bucket->arrays[bucket->count++] = array;
    } else { /* calls ask for other shapes now */
        PyArrayObject *oldest = bucket->arrays[0];
        memmove(bucket->arrays, bucket->arrays + 1, (MOST_KEPT - 1) * sizeof *bucket->arrays);
        bucket->arrays[MOST_KEPT - 1] = array;
        Py_DECREF(oldest);
    }
}

/* Return a new array of rows, not filled. Takes the reference to the dtype. */
PyObject *array_new(PyArray_Descr *dtype, int ndim, const npy_intp *shape) {
    Bucket *bucket = bucket_of(dtype, ndim, shape);
    for (int i = bucket->count - 1; i >= 0; i--) {
        PyArrayObject *array = bucket->arrays[i];
        if (PyArray_DESCR(array) == dtype && has_shape(array, ndim, shape)) {
            bucket->arrays[i] = bucket->arrays[--bucket->count];
            Py_DECREF(dtype);
            return (PyObject *)array;
        }
    }
    return PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, NULL, 0, NULL);
}
