/* The answers of kernels whose results are planned: whether they are as planned, and copies of those that are not; and
 * which tensors a kernel may write its answer to. */

#include "arrays.h"
#include "numpy_api.h"
#include "plan_key.h"
#include "spares.h"
#include "tensor.h"

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

/* Return memory with these dense strides, as Python's `new_array` makes it: a view into a row. NULL without an exception
 * where strides are not those of memory from its first element on. */
static PyObject *strided_array(const PlannedResult *result) {
    npy_intp size = PyDataType_ELSIZE((PyArray_Descr *)result->dtype), length = 1;
    int is_empty = 0;
    for (int i = 0; i < result->ndim; i++) {
        if (result->steps[i] < 0) {
            return NULL;
        }
        is_empty |= result->dims[i] == 0;
        length += (result->dims[i] - 1) * (result->steps[i] / size);
    }
    length = is_empty ? 1 : length;
    PyArray_Descr *dtype = (PyArray_Descr *)result->dtype;
    Py_INCREF(dtype); /* which the next call takes */
    PyObject *row = array_new(dtype, 1, &length), *made = NULL;
    if (row != NULL) {
        Py_INCREF(dtype);
        made = PyArray_NewFromDescr(
            core.array, dtype, result->ndim, result->dims, result->steps, PyArray_BYTES((PyArrayObject *)row),
            NPY_ARRAY_WRITEABLE, NULL);
    }
    if (made == NULL) {
        Py_XDECREF(row);
    } else if (PyArray_SetBaseObject((PyArrayObject *)made, row) < 0) { /* takes the row */
        Py_CLEAR(made);
    }
    return made;
}

/* Whether the strides are those of rows one behind the other. */
static int is_row_major(const PlannedResult *result) {
    npy_intp size = PyDataType_ELSIZE((PyArray_Descr *)result->dtype);
    for (int i = result->ndim - 1; i >= 0; size *= result->dims[i--]) {
        if (result->steps[i] != size) {
            return 0;
        }
    }
    return 1;
}

/* Copy a small answer that lies otherwise than planned, or in memory of others. Returns NULL without an exception where
 * the Python has to. */
PyObject *answer_copied(const PlannedResult *result, PyObject *answer) {
    if (!is_alike(result, answer) || PyArray_SIZE((PyArrayObject *)answer) > MOST_COPIED) {
        return NULL;
    }
    PyObject *made = NULL;
    if (PyArray_SIZE((PyArrayObject *)answer) > 0 && is_row_major(result)) {
        PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef(result->dtype); /* which the next call takes */
        made = array_new(dtype, result->ndim, result->dims);
    } else {
        made = strided_array(result);
    }
    if (made != NULL && PyArray_CopyInto((PyArrayObject *)made, (PyArrayObject *)answer) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* Whether a tensor that is, or is in, an argument shares no memory with an array. */
static int argument_is_apart(char kind, PyObject *value, PyObject *array) {
    if (strchr("Ll", kind) != NULL && value != Py_None) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
            if (!argument_is_apart('T', PySequence_Fast_GET_ITEM(value, i), array)) {
                return 0;
            }
        }
        return 1;
    }
    if (strchr("TtOo", kind) == NULL || value == Py_None) {
        return 1;
    }
    PyObject *own = ((Tensor *)value)->array;
    return own != NULL && Py_TYPE(own) == core.array && arrays_are_apart(own, array);
}

/* Whether a kernel may write straight to the tensor among the arguments at `place`: it is as planned, and apart from all
 * others. */
int may_write(const PlannedResult *result, const char *kinds, PyObject *const *args, int place) {
    PyObject *target = ((Tensor *)args[place])->array;
    if (target == NULL || !is_alike(result, target) || !PyArray_ISCARRAY((PyArrayObject *)target)) {
        return 0;
    }
    for (int i = 0; kinds[i] != '\0'; i++) {
        if (i != place && !argument_is_apart(kinds[i], args[i], target)) {
            return 0;
        }
    }
    return 1;
}

/* Put an answer that is not the target into it. Returns -1 with an exception. */
int write_answer(PyObject *target, PyObject *answer) {
    if (answer == target) {
        return 0;
    }
    if (Py_TYPE(answer) != core.array || !arrays_are_alike(answer, target)) {
        PyErr_SetString(PyExc_TypeError, "a kernel that writes its answer must return what it wrote");
        return -1;
    }
    return PyArray_CopyInto((PyArrayObject *)target, (PyArrayObject *)answer);
}
