/* The answers of kernels whose results are planned: whether they are as planned, and copies of those that are not. */

#include "loops.h"
#include "numpy_api.h"
#include "plan_key.h"

#define MOST_COPIED 4096 /* elements of an answer that is copied here */

/* Whether an answer is one of the arrays that the kernel got. */
static int is_given(PyObject *answer, PyObject *const *values, int count) {
    for (int i = 0; i < count; i++) {
        if (values[i] == answer) {
            return 1;
        }
        for (Py_ssize_t j = 0; PyList_CheckExact(values[i]) && j < PyList_GET_SIZE(values[i]); j++) {
            if (PyList_GET_ITEM(values[i], j) == answer) {
                return 1;
            }
        }
    }
    return 0;
}

/* Whether an answer has the dtype and the sizes that were planned. */
static int is_alike(const PlannedResult *result, PyObject *answer) {
    PyArrayObject *array = (PyArrayObject *)answer;
    return Py_TYPE(answer) == core.array && (PyObject *)PyArray_DESCR(array) == result->dtype &&
           PyArray_NDIM(array) == result->ndim &&
           (result->ndim == 0 || /* then NumPy has no array of sizes */
            memcmp(PyArray_DIMS(array), result->dims, (size_t)result->ndim * sizeof(npy_intp)) == 0);
}

/* Whether it also has the strides. */
static int is_as_planned(const PlannedResult *result, PyObject *answer) {
    size_t size = (size_t)result->ndim * sizeof(npy_intp);
    return is_alike(result, answer) &&
           (size == 0 || memcmp(PyArray_STRIDES((PyArrayObject *)answer), result->steps, size) == 0);
}

/* Whether an answer shares no memory with the arrays that the kernel got. */
static int is_apart(PyObject *answer, PyObject *const *values, int count) {
    for (int i = 0; i < count; i++) {
        int is_list = PyList_CheckExact(values[i]);
        for (Py_ssize_t j = 0; j < (is_list ? PyList_GET_SIZE(values[i]) : 1); j++) {
            PyObject *each = is_list ? PyList_GET_ITEM(values[i], j) : values[i];
            if (Py_TYPE(each) == core.array && !arrays_are_apart(answer, each)) {
                return 0;
            }
        }
    }
    return 1;
}

/* Whether an answer is as planned, and in memory of its own. */
int answer_is_new(const PlannedResult *result, PyObject *answer, PyObject *const *values, int count) {
    return is_as_planned(result, answer) && !is_given(answer, values, count) &&
           (PyArray_BASE((PyArrayObject *)answer) == NULL || is_apart(answer, values, count));
}

/* Copy a small answer that lies otherwise than planned, or in memory of others. Returns NULL without an exception where
 * the Python has to. */
PyObject *answer_copied(const PlannedResult *result, PyObject *answer) {
    npy_intp count = is_alike(result, answer) ? PyArray_SIZE((PyArrayObject *)answer) : 0;
    if (count == 0 || count > MOST_COPIED) {
        return NULL;
    }
    PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef(result->dtype); /* which the next call takes */
    npy_intp size = PyArray_ITEMSIZE((PyArrayObject *)answer);
    for (int i = result->ndim - 1; i >= 0; size *= result->dims[i--]) {
        if (result->steps[i] != size) { /* memory of other kinds is made in Python */
            Py_DECREF(dtype);
            return NULL;
        }
    }
    PyObject *made = PyArray_NewFromDescr(core.array, dtype, result->ndim, result->dims, NULL, NULL, 0, NULL);
    if (made != NULL && PyArray_CopyInto((PyArrayObject *)made, (PyArrayObject *)answer) < 0) {
        Py_CLEAR(made);
    }
    return made;
}
