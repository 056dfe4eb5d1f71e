/* Indexing: `tensor[...]` where some of the indices are arrays of positions or masks. The others make a view first, by
 * `tensor[...]` itself; then the operator `index` is called, as the Python calls it, which handles any other index. */

#include "fast/arrays/arrays.h"
#include "fast/call/callable.h"
#include "indexing.h"
#include "fast/arrays/numpy_api.h"
#include "fast/arrays/tensor.h"

/* The most items of a list that is made an array. */
#define MOST_LISTED 64

typedef struct {
    Callable base;
    PyObject *operators; /* what has the operator by its name */
    PyObject *name;
    PyObject *called; /* the operator, when it was first needed */
} Indexing;

/* Return the array of a Tensor in NumPy's memory, or that array itself, borrowed; NULL for anything else. */
PyArrayObject *array_in(PyObject *value) {
    PyObject *array = Py_TYPE(value) == core.tensor ? ((Tensor *)value)->array : value;
    return array != NULL && Py_TYPE(array) == core.array ? (PyArrayObject *)array : NULL;
}

/* Return how many dimensions an index of positions or a mask takes; 0 if it is none of those handled here, of at least
 * one dimension. */
static int dims_consumed(PyObject *value) {
    if (PyList_CheckExact(value)) {
        Py_ssize_t count = PyList_GET_SIZE(value);
        for (Py_ssize_t i = 0; i < count && count <= MOST_LISTED; i++) {
            int overflow;
            PyObject *item = PyList_GET_ITEM(value, i);
            if (!PyLong_CheckExact(item) || ((void)PyLong_AsLongLongAndOverflow(item, &overflow), overflow)) {
                return 0;
            }
        }
        return count > 0 && count <= MOST_LISTED;
    }
    PyArrayObject *array = array_in(value);
    if (array == NULL || PyArray_NDIM(array) == 0 || !PyArray_ISNOTSWAPPED(array)) {
        return 0;
    }
    return PyArray_TYPE(array) == NPY_BOOL ? PyArray_NDIM(array) : PyArray_TYPE(array) == NPY_INT64;
}

/* Whether a slice takes its dimension whole, whatever its size. */
static int is_whole_slice(PyObject *value) {
    const PySliceObject *slice = (PySliceObject *)value;
    return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None;
}

/* Read a tuple of indices. Returns 0 unless they are ints, slices, None, at most one ellipsis, positions and masks. */
int read_indices(PyObject *items, int ndim, Indices *found) {
    int dims = 0, named = 0, ellipses = 0; /* of the view so far; of the tensor */
    found->count = PyTuple_GET_SIZE(items);
    found->consumed = 0;
    found->is_whole = 1;
    for (Py_ssize_t i = 0; i < found->count; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        Index *index = &found->items[i];
        *index = (Index){item, dims, ellipses, 0};
        if (item == Py_None || PyLong_CheckExact(item)) {
            dims += item == Py_None;
            named += item != Py_None;
            found->is_whole = 0;
        } else if (PySlice_Check(item)) {
            dims++;
            named++;
            found->is_whole &= is_whole_slice(item);
        } else if (item == Py_Ellipsis) {
            ellipses++;
        } else {
            index->consumed = dims_consumed(item);
            if (index->consumed == 0) {
                return 0;
            }
            dims += index->consumed;
            named += index->consumed;
            found->consumed += index->consumed;
        }
    }
    found->left = ndim - named;
    return found->left >= 0 && ellipses <= 1;
}

/* Return a new tensor of the numbers of a list. */
static PyObject *tensor_of_list(PyObject *list) {
    npy_intp count = PyList_GET_SIZE(list);
    PyObject *array = PyArray_SimpleNew(1, &count, NPY_INT64), *made = NULL;
    for (Py_ssize_t i = 0; array != NULL && i < count; i++) {
        ((int64_t *)PyArray_DATA((PyArrayObject *)array))[i] = PyLong_AsLongLong(PyList_GET_ITEM(list, i));
    }
    if (array != NULL) {
        made = wrap(NULL, array);
        Py_DECREF(array);
    }
    return made;
}

/* Return an index of positions as a tensor, a new reference. */
static PyObject *as_tensor(PyObject *given) {
    if (PyList_CheckExact(given)) {
        return tensor_of_list(given);
    }
    return Py_TYPE(given) == core.tensor ? Py_NewRef(given) : wrap(NULL, given);
}

/* Return the list for `index`: None for each dimension before an index of positions, and this as a tensor. */
PyObject *list_of_indices(const Indices *found) {
    PyObject *made = PyList_New(0);
    int dim = 0, failed = made == NULL;
    for (Py_ssize_t i = 0; i < found->count && !failed; i++) {
        const Index *index = &found->items[i];
        if (index->consumed == 0) {
            continue;
        }
        const int start = index->dim + (index->is_behind ? found->left : 0);
        for (; dim < start && !failed; dim++) {
            failed = PyList_Append(made, Py_None) < 0;
        }
        PyObject *tensor = failed ? NULL : as_tensor(index->given);
        failed = tensor == NULL || PyList_Append(made, tensor) < 0;
        Py_XDECREF(tensor);
        dim += index->consumed;
    }
    if (failed) {
        Py_CLEAR(made);
    }
    return made;
}

/* Return the view that the other indices make: the tensor itself where these take their dimensions whole. */
PyObject *view_by_others(PyObject *tensor, const Indices *found) {
    if (found->is_whole) {
        return Py_NewRef(tensor);
    }
    PyObject *others = PyList_New(0), *whole = PySlice_New(NULL, NULL, NULL), *items = NULL, *view = NULL;
    int failed = others == NULL || whole == NULL;
    for (Py_ssize_t i = 0; i < found->count && !failed; i++) {
        const Index *index = &found->items[i];
        for (int j = 0; j < (index->consumed == 0 ? 1 : index->consumed) && !failed; j++) {
            failed = PyList_Append(others, index->consumed == 0 ? index->given : whole) < 0;
        }
    }
    if (!failed && (items = PyList_AsTuple(others)) != NULL) {
        view = PyObject_GetItem(tensor, items);
    }
    Py_XDECREF(items);
    Py_XDECREF(others);
    Py_XDECREF(whole);
    return view;
}

/* Call `index`. Returns what it returns. */
static PyObject *call_index(Indexing *indexing, PyObject *view, PyObject *list) {
    if (indexing->called == NULL) {
        PyObject *called = PyObject_GetItem(indexing->operators, indexing->name);
        if (called == NULL) {
            return NULL;
        }
        Py_XSETREF(indexing->called, called);
    }
    PyObject *given[] = {NULL, view, list}, *called = Py_NewRef(indexing->called);
    PyObject *result = PyObject_Vectorcall(called, given + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_DECREF(called);
    return result;
}

/* Whether a tensor has data in NumPy's memory, and is none of a level: what stands beside it is wrapped as it is. */
int is_plain(PyObject *tensor) {
    PyObject *keys = ((Tensor *)tensor)->keys;
    int overflow;
    int64_t bits = keys == NULL || !PyLong_CheckExact(keys) ? 0 : PyLong_AsLongLongAndOverflow(keys, &overflow);
    const int64_t known =
        core.dense_cpu_bits | core.nondense_bits | core.view_bits | core.grad_bits | core.autograd_bits;
    return bits != 0 && (bits & ~known) == 0;
}

/* Return `tensor[index]`; NULL without an exception if the Python has to handle it. */
static PyObject *indexed(Indexing *indexing, PyObject *tensor, PyObject *index) {
    PyArrayObject *array = Py_TYPE(tensor) == core.tensor ? array_in(tensor) : NULL;
    if (array == NULL || !is_plain(tensor)) {
        return NULL;
    }
    PyObject *items = PyTuple_CheckExact(index) ? Py_NewRef(index) : PyTuple_Pack(1, index);
    Indices found;
    PyObject *result = NULL, *view = NULL, *list = NULL;
    if (items != NULL && PyTuple_GET_SIZE(items) <= MOST_INDICES && read_indices(items, PyArray_NDIM(array), &found) &&
        found.consumed > 0) {
        list = list_of_indices(&found);
        view = list == NULL ? NULL : view_by_others(tensor, &found);
        if (view == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
            PyErr_Clear(); /* Python words it */
        }
    }
    if (view != NULL) {
        result = call_index(indexing, view, list);
    }
    Py_XDECREF(items);
    Py_XDECREF(list);
    Py_XDECREF(view);
    return result;
}

/* Index a tensor, or have the Python do it. Returns what that returns. */
static PyObject *indexing_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    Indexing *indexing = (Indexing *)self;
    if (names == NULL && PyVectorcall_NARGS(flagged) == 2) {
        PyObject *result = indexed(indexing, args[0], args[1]);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    return PyObject_Vectorcall(indexing->base.function, args, flagged, names);
}

/* Visit the operator. Returns what `visit` returns. */
static int indexing_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Indexing *)self)->called);
    return 0;
}

/* Drop the operator, which is found again. Returns 0. */
static int indexing_clear(PyObject *self) {
    Py_CLEAR(((Indexing *)self)->called);
    return 0;
}

static const Field indexing_fields[] = {
    {"operators", FIELD_OBJECT, offsetof(Indexing, operators)},
    {"name", FIELD_OBJECT, offsetof(Indexing, name)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType indexing_type = {
    .name = "opwright_core._fast.Indexing",
    .size = sizeof(Indexing),
    .flags = Py_TPFLAGS_METHOD_DESCRIPTOR,
    .call = indexing_call,
    .fields = indexing_fields,
    .traverse = indexing_traverse,
    .clear = indexing_clear,
};
