/* `wrap` and `wrap_view`, by which kernels make tensors of arrays: `opwright_core.tensors.tensor` has them in Python,
 * for arrays of other kinds, dtypes that no tensor has, and memory without elements. */

#include "arrays.h"
#include "fast/configure.h"
#include "ufunc_loops.h"
#include "numpy_api.h"
#include "storage.h"

/* What `configure` is told. */
static struct {
    PyObject *wrap, *wrap_view;
    int64_t mask; /* the keys that a view takes over */
    char is_known[MOST_TYPES]; /* whether tensors have the dtype, and compute in it */
} wrapping = {0};

/* Whether an array has NumPy's own dtype of a kind that tensors have. */
static int is_known(PyArrayObject *array) {
    int type = PyArray_TYPE(array);
    return type >= 0 && type < MOST_TYPES && wrapping.is_known[type] && PyArray_ISNOTSWAPPED(array);
}

/* wrap(array): return a new tensor on an array. */
PyObject *wrap(PyObject *module, PyObject *object) {
    (void)module;
    if (Py_TYPE(object) == core.array && is_known((PyArrayObject *)object)) {
        PyArrayObject *array = (PyArrayObject *)object;
        if (array_is_dense(object)) {
            return wrap_dense(Py_NewRef(object));
        }
        if (PyArray_NDIM(array) == 0 || !PyArray_IS_C_CONTIGUOUS(array)) {
            return wrap_with_keys(Py_NewRef(object), core.dense_cpu_nondense);
        }
    }
    return PyObject_CallOneArg(wrapping.wrap, object);
}

/* Return the tensor of a row-major array of a reduced dtype or of bool. Takes the reference. */
PyObject *wrap_reduced(PyObject *array) {
    return PyArray_TYPE((PyArrayObject *)array) == NPY_BOOL ? wrap_dense(array)
                                                            : wrap_with_keys(array, core.dense_cpu_nondense);
}

/* Return the keys of a view: a new reference, or NULL. What is not tracked, an inference tensor, is no view. */
static PyObject *view_keys(PyObject *keys, int is_nondense, int *is_tracked) {
    if (keys == core.dense_cpu || keys == core.dense_cpu_grad) {
        *is_tracked = 1;
        return Py_NewRef(is_nondense ? core.dense_cpu_nondense_view : core.dense_cpu_view);
    }
    int overflow;
    int64_t bits = PyLong_AsLongLongAndOverflow(keys, &overflow);
    *is_tracked = (bits & core.tracked_bits) != 0;
    int64_t view = *is_tracked ? core.view_bits : 0;
    return PyLong_FromLongLong((bits & wrapping.mask) | view | (is_nondense ? core.nondense_bits : 0));
}

/* Return what a view says of its storage and base, a new reference; NULL without an exception if Python has to make it.
 * */
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

/* Return a new tensor on a view of a Tensor's array; NULL without an exception if Python has to make it. */
PyObject *view_tensor(PyObject *base, PyObject *array, int is_nondense) {
    PyObject *own = ((Tensor *)base)->keys, *made = NULL;
    if (own == NULL || !PyLong_CheckExact(own) || ((Tensor *)base)->array == NULL) {
        return NULL;
    }
    int is_tracked = 0;
    PyObject *keys = view_keys(own, is_nondense, &is_tracked),
             *extra = keys == NULL ? NULL : make_extra(base, is_tracked);
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

/* wrap_view(base, array): return a new tensor on a view of a tensor's array. */
PyObject *wrap_view(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    PyObject *made = NULL;
    if (count == 2 && Py_TYPE(args[0]) == core.tensor && Py_TYPE(args[1]) == core.array &&
        is_known((PyArrayObject *)args[1])) {
        made = view_tensor(args[0], args[1], !array_is_dense(args[1]));
    }
    if (made != NULL || PyErr_Occurred()) {
        return made;
    }
    return PyObject_Vectorcall(wrapping.wrap_view, args, (size_t)count, NULL);
}

/* Note which dtypes tensors have that compute in themselves. Returns -1 with an exception. */
static int take_dtypes(PyObject *dtypes) {
    for (int type = 0; type < MOST_TYPES; type++) {
        PyObject *dtype = (PyObject *)PyArray_DescrFromType(type);
        int is_one = dtype == NULL ? -1 : PySequence_Contains(dtypes, dtype);
        Py_XDECREF(dtype);
        if (is_one < 0) {
            return -1;
        }
        wrapping.is_known[type] = (char)is_one;
    }
    return 0;
}

const Setting wrapping_settings[] = {
    {"wrap", SETTING_OBJECT, &wrapping.wrap, NULL, NULL},
    {"wrap_view", SETTING_OBJECT, &wrapping.wrap_view, NULL, NULL},
    {"computing_dtypes", SETTING_OBJECT, NULL, NULL, take_dtypes},
    {"KEYS_OF_VIEWS", SETTING_BITS, &wrapping.mask, NULL, NULL},
    NO_SETTING,
};
