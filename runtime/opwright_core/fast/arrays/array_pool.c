/* The array pool. The array of a tensor that was freed, to which there is no other reference, is pooled and becomes the
 * next one of its dtype and shape: NumPy takes longer to make and free an array than to add a few numbers. Large arrays
 * are pooled, too: their memory would go back to the system, and come again page by page, in each step of a training.
 *
 * A pooled array is whole, and one reference is the pool's. It looks as NumPy makes it: memory of its own, row-major,
 * writable. */

#include "array_pool.h"
#include "fast/core.h"
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

/* Which arrays are large, in bytes; how many of them are pooled at most, of one dtype and shape and of all, and how
 * many bytes together. */
#define LARGE_FROM 65536
#define MOST_ALIKE 8
#define MOST_LARGE 48
#define MOST_LARGE_BYTES (64 << 20)

/* Pooled arrays that are large; the newest is last. */
static struct {
    int count;
    npy_intp bytes;
    PyArrayObject *arrays[MOST_LARGE];
} large;

static int is_off = 0; /* nothing is pooled */

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

/* Return the bytes of an array that is as NumPy makes one, and has elements that hold nothing; 0 for any other. */
static npy_intp bytes_as_new(PyArrayObject *array) {
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int i = PyArray_NDIM(array) - 1; i >= 0; i--) {
        if (PyArray_STRIDE(array, i) != step) {
            return 0;
        }
        step *= PyArray_DIM(array, i);
    }
    int is_whole = PyArray_ISCARRAY(array) && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) &&
                   PyArray_BASE(array) == NULL && !PyDataType_REFCHK(PyArray_DESCR(array));
    return is_whole ? step : 0;
}

/* Whether an array has weak references, which would show that it lives on. Returns 1 or 0. */
static int has_weak_references(PyObject *array) {
    Py_ssize_t offset = Py_TYPE(array)->tp_weaklistoffset;
    return offset <= 0 || *(PyObject **)((char *)array + offset) != NULL;
}

/* Take an array out of the large ones. Returns it, with the pool's reference. */
static PyArrayObject *take_large(int at) {
    PyArrayObject *array = large.arrays[at];
    large.count--;
    large.bytes -= PyArray_NBYTES(array);
    memmove(large.arrays + at, large.arrays + at + 1, (size_t)(large.count - at) * sizeof *large.arrays);
    return array;
}

/* Pool a large array, in the place of the oldest ones where there are too many; one of which there are enough is freed,
 * as those are that NumPy made and nobody takes: its memory, which the cache has, is the next one's. Takes the
 * reference. */
static void pool_large(PyArrayObject *array, npy_intp bytes) {
    int alike = 0;
    for (int at = 0; at < large.count; at++) {
        alike += PyArray_DESCR(large.arrays[at]) == PyArray_DESCR(array) &&
                 has_shape(large.arrays[at], PyArray_NDIM(array), PyArray_DIMS(array));
    }
    if (alike >= MOST_ALIKE) {
        Py_DECREF(array);
        return;
    }
    while (large.count == MOST_LARGE || (large.count > 0 && large.bytes + bytes > MOST_LARGE_BYTES)) {
        Py_DECREF(take_large(0));
    }
    large.arrays[large.count++] = array;
    large.bytes += bytes;
}

/* Pool a small array, in the place of the oldest one of its bucket where that is full. Takes the reference. */
static void pool_small(PyArrayObject *array) {
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

/* Drop all pooled arrays. */
static void drop_all(void) {
    for (int i = 0; i < BUCKETS; i++) {
        while (buckets[i].count > 0) {
            Py_DECREF(buckets[i].arrays[--buckets[i].count]);
        }
    }
    while (large.count > 0) {
        Py_DECREF(take_large(large.count - 1));
    }
}

/* use_array_pool(flag). Whether arrays are pooled from now on: without the pool NumPy allocates each new array, so that
 * whoever set NumPy's allocator sees it. Returns None; NULL with an exception. */
PyObject *use_array_pool(PyObject *module, PyObject *flag) {
    (void)module;
    const int is_on = PyObject_IsTrue(flag);
    if (is_on < 0) {
        return NULL;
    }
    is_off = !is_on;
    drop_all();
    Py_RETURN_NONE;
}

/* Whether an object is an array to which nobody but its one holder can lead. Returns 1 or 0. */
static int is_alone(PyObject *object) {
    return Py_TYPE(object) == core.array && is_only_reference(object) && !has_weak_references(object);
}

/* Return what has the memory of an array that is given up: of a view, as a product of matrices is behind the result
 * that a layer shows, the base that nobody else has. Takes the reference, and returns one. */
static PyObject *memory_of(PyObject *object) {
    PyObject *base = is_alone(object) ? PyArray_BASE((PyArrayObject *)object) : NULL;
    if (base == NULL || !is_alone(base)) {
        return object;
    }
    Py_INCREF(base);
    Py_DECREF(object);
    return base;
}

/* Return the bytes of an array that could be pooled, since it is as NumPy makes one and nobody else has it; 0 for any
 * other. */
npy_intp array_pool_bytes(PyObject *object) {
    return !is_off && is_alone(object) ? bytes_as_new((PyArrayObject *)object) : 0;
}

/* Give up an object that was a tensor's array. Takes the reference. */
void array_give_up(PyObject *object) {
    object = memory_of(object);
    PyArrayObject *array = (PyArrayObject *)object;
    const npy_intp bytes = array_pool_bytes(object);
    if (bytes > 0 && bytes <= MOST_BYTES) {
        pool_small(array);
    } else if (bytes >= LARGE_FROM && bytes <= MOST_LARGE_BYTES / 2) {
        pool_large(array, bytes);
    } else {
        Py_DECREF(object);
    }
}

/* Return a large array of the pool, with its reference; NULL if there is none of that dtype and shape. */
static PyArrayObject *find_large(const PyArray_Descr *dtype, int ndim, const npy_intp *shape) {
    npy_intp bytes = ndim > 0 && large.count > 0 ? PyDataType_ELSIZE(dtype) : 0;
    for (int i = 0; i < ndim && bytes > 0 && bytes < LARGE_FROM; i++) {
        bytes *= shape[i];
    }
    for (int at = large.count - 1; bytes >= LARGE_FROM && at >= 0; at--) {
        if (PyArray_DESCR(large.arrays[at]) == dtype && has_shape(large.arrays[at], ndim, shape)) {
            return take_large(at);
        }
    }
    return NULL;
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
    PyArrayObject *array = find_large(dtype, ndim, shape);
    if (array != NULL) {
        Py_DECREF(dtype);
        return (PyObject *)array;
    }
    return PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, NULL, 0, NULL);
}
