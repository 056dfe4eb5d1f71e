/* Results of planned kernels: outputs that match the plan, copies of those that do not, and tensors that a kernel may
 * write its output to. */

#include "fast/arrays/arrays.h"
#include "fast/arrays/numpy_api.h"
#include "fast/arrays/plain_arrays.h"
#include "plan_key.h"
#include "fast/arrays/array_pool.h"
#include "fast/arrays/tensor.h"

#define MOST_COPIED 4096 /* elements of an output in any order that is copied here */

/* Whether an output is one of the arrays that the kernel got; returns 1 or 0. */
static int is_given(PyObject *output, PyObject *const *values, int count) {
    for (int i = 0; i < count; i++) {
        if (values[i] == output) {
            return 1;
        }
        for (Py_ssize_t j = 0; PyList_CheckExact(values[i]) && j < PyList_GET_SIZE(values[i]); j++) {
            if (PyList_GET_ITEM(values[i], j) == output) {
                return 1;
            }
        }
    }
    return 0;
}

/* Whether an output has the dtype and the sizes of the plan; returns 1 or 0. */
static int is_alike(const PlannedResult *result, PyObject *output) {
    PyArrayObject *array = (PyArrayObject *)output;
    return Py_TYPE(output) == core.array && (PyObject *)PyArray_DESCR(array) == result->dtype &&
           PyArray_NDIM(array) == result->ndim &&
           (result->ndim == 0 || /* then NumPy has no array of sizes */
            memcmp(PyArray_DIMS(array), result->dims, (size_t)result->ndim * sizeof(npy_intp)) == 0);
}

/* Whether an output also has the strides of the plan; returns 1 or 0. */
static int is_as_planned(const PlannedResult *result, PyObject *output) {
    size_t size = (size_t)result->ndim * sizeof(npy_intp);
    return is_alike(result, output) &&
           (size == 0 || memcmp(PyArray_STRIDES((PyArrayObject *)output), result->steps, size) == 0);
}

/* Whether an output shares no memory with the arrays that the kernel got; returns 1 or 0. */
static int is_apart(PyObject *output, PyObject *const *values, int count) {
    for (int i = 0; i < count; i++) {
        int is_list = PyList_CheckExact(values[i]);
        for (Py_ssize_t j = 0; j < (is_list ? PyList_GET_SIZE(values[i]) : 1); j++) {
            PyObject *each = is_list ? PyList_GET_ITEM(values[i], j) : values[i];
            if (Py_TYPE(each) == core.array && !arrays_are_apart(output, each)) {
                return 0;
            }
        }
    }
    return 1;
}

/* Whether an output matches the plan, in memory of its own; returns 1 or 0. */
int output_is_new(const PlannedResult *result, PyObject *output, PyObject *const *values, int count) {
    return is_as_planned(result, output) && !is_given(output, values, count) &&
           (PyArray_BASE((PyArrayObject *)output) == NULL || is_apart(output, values, count));
}

/* Return memory with these dense strides, as Python's `new_array` makes it: a view into a row. NULL without an
 * exception where strides are not those of memory from its first element on. */
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
int result_is_row_major(const PlannedResult *result) {
    npy_intp size = PyDataType_ELSIZE((PyArray_Descr *)result->dtype);
    for (int i = result->ndim - 1; i >= 0; size *= result->dims[i--]) {
        if (result->steps[i] != size) {
            return 0;
        }
    }
    return 1;
}

/* Copy a small or a row-major output that does not match the plan, or lies in memory of others. Returns a new
 * reference; NULL without an exception if Python has to lay it out. */
PyObject *output_copied(const PlannedResult *result, PyObject *output) {
    PyObject *made = NULL;
    const int is_long = is_alike(result, output) && PyArray_SIZE((PyArrayObject *)output) > MOST_COPIED;
    if (!is_alike(result, output) || (is_long && (!result_is_row_major(result) || plain_bytes(output) == NULL))) {
        return NULL;
    }
    if (PyArray_SIZE((PyArrayObject *)output) > 0 && result_is_row_major(result)) {
        PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef(result->dtype); /* which the next call takes */
        made = array_new(dtype, result->ndim, result->dims);
        if (made != NULL && is_long) {
            Array *target = (Array *)made;
            copy_bytes(PyArray_BYTES(target), PyArray_BYTES((Array *)output), PyArray_NBYTES(target));
            return made;
        }
    } else {
        made = strided_array(result);
    }
    if (made != NULL && PyArray_CopyInto((PyArrayObject *)made, (PyArrayObject *)output) < 0) {
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

/* Whether a kernel may write straight to the tensor at `position`: it matches the plan, and is apart from all other
 * operands. Returns 1 or 0. */
int may_write(const PlannedResult *result, const char *kinds, PyObject *const *args, int position) {
    PyObject *target = ((Tensor *)args[position])->array;
    if (target == NULL || !is_alike(result, target) || !PyArray_ISCARRAY((PyArrayObject *)target)) {
        return 0;
    }
    for (int i = 0; kinds[i] != '\0'; i++) {
        if (i != position && !argument_is_apart(kinds[i], args[i], target)) {
            return 0;
        }
    }
    return 1;
}

/* Copy an output that is not the target into it. Returns -1 with an exception. */
int write_output(PyObject *target, PyObject *output) {
    if (output == target) {
        return 0;
    }
    if (Py_TYPE(output) != core.array || !arrays_are_alike(output, target)) {
        PyErr_SetString(PyExc_TypeError, "a kernel that writes its output must return what it wrote");
        return -1;
    }
    return PyArray_CopyInto((PyArrayObject *)target, (PyArrayObject *)output);
}
