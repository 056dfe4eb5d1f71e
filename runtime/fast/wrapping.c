/* `wrap` and `wrap_view`, by which kernels make tensors of arrays: `opwright.tensors.tensor` has them in Python, for
 * arrays of other kinds, dtypes that no tensor has, and memory without elements. */

#include "loops.h"
#include "numpy_api.h"
#include "storage.h"

/* What `configure_wrapping` is told. */
static struct {
    PyObject *wrap, *wrap_view;
    PyObject *odd, *view, *odd_view; /* keys of tensors in NumPy's memory: not simple; views, simple and not */
    int64_t odd_bits, view_bits, mask, tracked;
    char is_known[MOST_TYPES]; /* whether tensors have the dtype, and compute in it */
} wrapping = {0};

/* Whether an array has NumPy's own dtype of a kind that tensors have. */
static int is_known(PyArrayObject *array) {
    int type = PyArray_TYPE(array);
    return type >= 0 && type < MOST_TYPES && wrapping.is_known[type] && PyArray_ISNOTSWAPPED(array);
}

/* wrap(array) */
PyObject *wrap(PyObject *module, PyObject *object) {
    (void)module;
    if (Py_TYPE(object) == core.array && is_known((PyArrayObject *)object)) {
        PyArrayObject *array = (PyArrayObject *)object;
        if (array_is_simple(object)) {
            return wrap_simple(Py_NewRef(object));
        }
        if (PyArray_NDIM(array) == 0 || !PyArray_IS_C_CONTIGUOUS(array)) {
            return wrap_with_keys(Py_NewRef(object), wrapping.odd);
        }
    }
    return PyObject_CallOneArg(wrapping.wrap, object);
}

/* Return the tensor of a row-major array of a reduced dtype or of bool, which is taken. */
PyObject *wrap_reduced(PyObject *array) {
    return PyArray_TYPE((PyArrayObject *)array) == NPY_BOOL ? wrap_simple(array) : wrap_with_keys(array, wrapping.odd);
}

/* Return the keys of a view: a new reference, or NULL. What is not tracked, an inference tensor, is no view. */
static PyObject *view_keys(PyObject *keys, int is_odd, int *is_tracked) {
    if (keys == core.dense_cpu || keys == core.dense_cpu_grad) {
        *is_tracked = 1;
        return Py_NewRef(is_odd ? wrapping.odd_view : wrapping.view);
    }
    int overflow;
    int64_t bits = PyLong_AsLongLongAndOverflow(keys, &overflow);
    *is_tracked = (bits & wrapping.tracked) != 0;
    int64_t view = *is_tracked ? wrapping.view_bits : 0;
    return PyLong_FromLongLong((bits & wrapping.mask) | view | (is_odd ? wrapping.odd_bits : 0));
}

/* Make what a view says of its storage and base: a new reference, or NULL, without an exception for the Python to do. */
static PyObject *make_extra(PyObject *base, int is_tracked) {
    PyObject *storage = storage_of(base); /* which makes its Extra, too */
    if (storage == NULL) {
        return NULL;
    }
    PyObject *own = ((Tensor *)base)->extra, *root = slot_at(own, storage_slots.base);
    PyObject *version = slot_at(storage, storage_slots.version), *made = NULL;
    if (root != NULL && version != NULL && slot_at(own, storage_slots.creation) == NULL) {
        made = storage_slots.extra->tp_alloc(storage_slots.extra, 0);
    }
    if (made != NULL) {
        replace_slot(made, storage_slots.own, Py_NewRef(storage));
        replace_slot(made, storage_slots.base, Py_NewRef(root == Py_None && is_tracked ? base : root));
        replace_slot(made, storage_slots.grad, Py_NewRef(Py_None));
        replace_slot(made, storage_slots.seen, Py_NewRef(version));
    }
    Py_DECREF(storage);
    return made;
}

/* Make a tensor on a view of a Tensor's array: a new reference, or NULL, without an exception for the Python to do. */
PyObject *view_tensor(PyObject *base, PyObject *array, int is_odd) {
    PyObject *own = ((Tensor *)base)->keys, *made = NULL;
    if (own == NULL || !PyLong_CheckExact(own) || ((Tensor *)base)->array == NULL) {
        return NULL;
    }
    int is_tracked = 0;
    PyObject *keys = view_keys(own, is_odd, &is_tracked), *extra = keys == NULL ? NULL : make_extra(base, is_tracked);
    if (extra != NULL) {
        made = wrap_with_keys(Py_NewRef(array), keys);
    }
    if (made != NULL) {
        Py_SETREF(((Tensor *)made)->extra, Py_NewRef(extra));
    }
    Py_XDECREF(keys);
    Py_XDECREF(extra);
    return made;
}

/* wrap_view(base, array) */
PyObject *wrap_view(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    PyObject *made = NULL;
    if (count == 2 && Py_TYPE(args[0]) == core.tensor && Py_TYPE(args[1]) == core.array &&
        is_known((PyArrayObject *)args[1])) {
        made = view_tensor(args[0], args[1], !array_is_simple(args[1]));
    }
    if (made != NULL || PyErr_Occurred()) {
        return made;
    }
    return PyObject_Vectorcall(wrapping.wrap_view, args, (size_t)count, NULL);
}

/* configure_wrapping(wrap, wrap_view, the dtypes of tensors that compute in themselves, keys of simple tensors, ODD, VIEW,
 * the keys that a view takes over, those of which tensors with a history have any) */
PyObject *configure_wrapping(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *one, *of_view, *dtypes;
    long long simple, odd, view, mask, tracked;
    if (!PyArg_ParseTuple(
            args, "OOOLLLLL:configure_wrapping", &one, &of_view, &dtypes, &simple, &odd, &view, &mask, &tracked)) {
        return NULL;
    }
    for (int type = 0; type < MOST_TYPES; type++) {
        PyObject *dtype = (PyObject *)PyArray_DescrFromType(type);
        int is_one = dtype == NULL ? -1 : PySequence_Contains(dtypes, dtype);
        Py_XDECREF(dtype);
        if (is_one < 0) {
            return NULL;
        }
        wrapping.is_known[type] = (char)is_one;
    }
    wrapping.odd = PyLong_FromLongLong(simple | odd);
    wrapping.view = PyLong_FromLongLong(simple | view);
    wrapping.odd_view = PyLong_FromLongLong(simple | view | odd);
    if (PyErr_Occurred()) {
        return NULL;
    }
    wrapping.odd_bits = odd;
    wrapping.view_bits = view;
    wrapping.mask = mask;
    wrapping.tracked = tracked;
    wrapping.wrap = Py_NewRef(one);
    wrapping.wrap_view = Py_NewRef(of_view);
    Py_RETURN_NONE;
}
