/* Writing by an index: `tensor[...] = value`. Ints, slices and None make a view first, by `tensor[...]` itself; then an
 * operator writes there, as the Python calls it: `fill_`, `copy_`, or `index_put_` at positions and masks. */

#include "fast/call/callable.h"
#include "indexing.h"
#include "fast/arrays/plain_arrays.h"

#include <math.h>

/* The operators that write. */
enum { FILL, COPY, PUT, OPERATORS };

typedef struct {
    Callable base;
    PyObject *operators; /* what has the operators by their names */
    PyObject *names;     /* a tuple of these */
    PyObject *called[OPERATORS]; /* the operators, when they were first needed */
} IndexWriting;

/* Whether a value is a Python number that may be written as it is. */
static int is_number(PyObject *value) {
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyBool_Check(value);
}

/* Whether all slices go forwards, so that a view is made of them. */
static int are_forward(const Indices *found) {
    for (Py_ssize_t i = 0; i < found->count; i++) {
        if (PySlice_Check(found->items[i].given)) {
            PyObject *step = ((PySliceObject *)found->items[i].given)->step;
            if (step != Py_None && (!PyLong_CheckExact(step) || PyLong_AsLong(step) < 1)) {
                PyErr_Clear();
                return 0;
            }
        }
    }
    return 1;
}

/* Return a number as a new tensor without dimensions, of the dtype that it is written to; NULL without an exception if
 * Python has to make it. */
static PyObject *tensor_of_number(PyObject *value, int type) {
    double number;
    int overflow = 0;
    const int is_float = type == NPY_FLOAT || type == NPY_DOUBLE;
    const int64_t whole =
        type == NPY_INT64 && PyLong_CheckExact(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : 0;
    const int fits = is_float
                         ? read_number(value, &number) && (type == NPY_DOUBLE || isinf(number) || !isinf((float)number))
                     : type == NPY_INT64 ? PyLong_CheckExact(value) && !overflow
                                         : type == NPY_BOOL && PyBool_Check(value);
    Array *array = fits ? new_array(0, NULL, type) : NULL;
    if (array == NULL) {
        return NULL;
    }
    if (type == NPY_FLOAT) {
        *(float *)PyArray_DATA(array) = (float)number;
    } else if (type == NPY_DOUBLE) {
        *(double *)PyArray_DATA(array) = number;
    } else if (type == NPY_INT64) {
        *(int64_t *)PyArray_DATA(array) = whole;
    } else {
        *(npy_bool *)PyArray_DATA(array) = value == Py_True;
    }
    PyObject *made = wrap_dense((PyObject *)array);
    return made;
}

/* Call an operator. Returns what it returns. */
static PyObject *call_operator(IndexWriting *writing, int which, PyObject *view, PyObject *second, PyObject *third) {
    if (writing->called[which] == NULL) {
        PyObject *called = PyObject_GetItem(writing->operators, PyTuple_GET_ITEM(writing->names, which));
        if (called == NULL) {
            return NULL;
        }
        Py_XSETREF(writing->called[which], called);
    }
    PyObject *given[] = {NULL, view, second, third}, *called = Py_NewRef(writing->called[which]);
    const size_t count = third == NULL ? 2 : 3;
    PyObject *result = PyObject_Vectorcall(called, given + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_DECREF(called);
    return result;
}

/* Return the view to write to, a new reference: the tensor itself where the view would be all of it. */
static PyObject *view_to_write(PyObject *tensor, const Indices *found) {
    PyObject *view = view_by_others(tensor, found);
    if (view == NULL || view == tensor) {
        return view;
    }
    PyArrayObject *whole = array_in(tensor), *part = array_in(view);
    if (part == NULL) {
        Py_DECREF(view);
        return NULL;
    }
    const size_t size = (size_t)PyArray_NDIM(whole) * sizeof(npy_intp);
    if (PyArray_NDIM(whole) == PyArray_NDIM(part) && size > 0 &&
        memcmp(PyArray_DIMS(whole), PyArray_DIMS(part), size) == 0 &&
        memcmp(PyArray_STRIDES(whole), PyArray_STRIDES(part), size) == 0) {
        Py_SETREF(view, Py_NewRef(tensor));
    }
    return view;
}

/* Write a value at positions and masks of a view. Returns what the operator returns; NULL without an exception if
 * Python has to do it. */
static PyObject *put(IndexWriting *writing, PyObject *view, const Indices *found, PyObject *value) {
    PyArrayObject *to = array_in(view), *from = array_in(value);
    PyObject *source = NULL, *list = NULL, *result = NULL;
    if (is_number(value)) {
        source = tensor_of_number(value, PyArray_TYPE(to));
    } else if (PyArray_DESCR(from) == PyArray_DESCR(to) && (PyArray_NDIM(from) == 0 || PyArray_DIM(from, 0) != 1)) {
        source = Py_NewRef(value);
    }
    if (source != NULL && (list = list_of_indices(found)) != NULL) {
        result = call_operator(writing, PUT, view, list, source);
    }
    Py_XDECREF(source);
    Py_XDECREF(list);
    return result;
}

/* Write `tensor[index] = value`. Returns what the operator returns; NULL without an exception if Python has to do it.
 */
static PyObject *written(IndexWriting *writing, PyObject *tensor, PyObject *index, PyObject *value) {
    PyArrayObject *array = Py_TYPE(tensor) == core.tensor ? array_in(tensor) : NULL;
    const int is_scalar = is_number(value);
    if (array == NULL || !is_plain(tensor) ||
        (!is_scalar && (Py_TYPE(value) != core.tensor || array_in(value) == NULL || !is_plain(value)))) {
        return NULL;
    }
    PyObject *items = PyTuple_CheckExact(index) ? Py_NewRef(index) : PyTuple_Pack(1, index), *view = NULL,
             *result = NULL;
    Indices found;
    if (items != NULL && PyTuple_GET_SIZE(items) <= MOST_INDICES && read_indices(items, PyArray_NDIM(array), &found) &&
        are_forward(&found)) {
        view = view_to_write(tensor, &found);
        if (view == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
            PyErr_Clear(); /* Python words it */
        }
    }
    if (view != NULL && found.consumed > 0) {
        result = put(writing, view, &found, value);
    } else if (view != NULL && is_scalar) {
        result = call_operator(writing, FILL, view, value, NULL);
    } else if (view != NULL && PyArray_NDIM(array_in(value)) <= PyArray_NDIM(array_in(view))) {
        result = call_operator(writing, COPY, view, value, NULL);
    }
    Py_XDECREF(items);
    Py_XDECREF(view);
    return result;
}

/* Write by an index, or have the Python do it. Returns None. */
static PyObject *index_writing_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    IndexWriting *writing = (IndexWriting *)self;
    if (names == NULL && PyVectorcall_NARGS(flagged) == 3) {
        PyObject *result = written(writing, args[0], args[1], args[2]);
        if (result != NULL) {
            Py_DECREF(result);
            Py_RETURN_NONE;
        }
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    return PyObject_Vectorcall(writing->base.function, args, flagged, names);
}

/* Take the names of three operators. Returns -1 with a ValueError for another number of them. */
static int index_writing_init(PyObject *self, PyObject *const *args) {
    (void)args;
    if (PyTuple_GET_SIZE(((IndexWriting *)self)->names) != OPERATORS) {
        PyErr_SetString(PyExc_ValueError, "IndexWriting() takes the names of three operators");
        return -1;
    }
    return 0;
}

/* Visit the operators. Returns what `visit` returns. */
static int index_writing_traverse(PyObject *self, visitproc visit, void *arg) {
    for (int i = 0; i < OPERATORS; i++) {
        Py_VISIT(((IndexWriting *)self)->called[i]);
    }
    return 0;
}

/* Drop the operators, which are found again. Returns 0. */
static int index_writing_clear(PyObject *self) {
    for (int i = 0; i < OPERATORS; i++) {
        Py_CLEAR(((IndexWriting *)self)->called[i]);
    }
    return 0;
}

static const Field index_writing_fields[] = {
    {"operators", FIELD_OBJECT, offsetof(IndexWriting, operators)},
    {"names", FIELD_TUPLE, offsetof(IndexWriting, names)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType index_writing_type = {
    .name = "opwright_core._fast.IndexWriting",
    .size = sizeof(IndexWriting),
    .flags = Py_TPFLAGS_METHOD_DESCRIPTOR,
    .call = index_writing_call,
    .fields = index_writing_fields,
    .init = index_writing_init,
    .traverse = index_writing_traverse,
    .clear = index_writing_clear,
};
