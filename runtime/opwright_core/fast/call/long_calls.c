/* Calls of Python functions and ufuncs on long arrays: in a helper thread, for which the main thread waits. A signal
 * ends the wait (Note [Long calls], opwright_core/locks/long_calls.py). */

#include "long_calls.h"
#include "fast/configure.h"

#include "numbers.h"

static PyObject *call_in_thread = NULL, *call_in_parts = NULL;

const Setting long_call_settings[] = {
    {"call_in_thread", SETTING_OBJECT, &call_in_thread, NULL, NULL},
    {"call_in_parts", SETTING_OBJECT, &call_in_parts, NULL, NULL},
    NO_SETTING,
};

/* Whether an array of at least `long_from` elements is among some objects, not too many, or in a list among them. */
int has_long(PyObject *const *objects, Py_ssize_t count, npy_intp long_from) {
    for (Py_ssize_t i = 0; i < count && count <= MOST_GIVEN; i++) {
        if (PyArray_CheckExact(objects[i]) && PyArray_SIZE((PyArrayObject *)objects[i]) >= long_from) {
            return 1;
        }
        if (PyList_CheckExact(objects[i])) {
            for (Py_ssize_t j = 0; j < PyList_GET_SIZE(objects[i]); j++) {
                PyObject *each = PyList_GET_ITEM(objects[i], j);
                if (PyArray_CheckExact(each) && PyArray_SIZE((PyArrayObject *)each) >= long_from) {
                    return 1;
                }
            }
        }
    }
    return 0;
}

/* Return from how many elements on a function takes long (the decorator `long_from`). */
npy_intp long_from_of(PyObject *function) {
    PyObject *found = PyObject_GetAttrString(function, "long_from");
    const Py_ssize_t count = found == NULL ? CALL_LONG : PyLong_AsSsize_t(found);
    Py_XDECREF(found);
    PyErr_Clear();
    return count;
}

/* Have a Python function make a call, `count` arguments. Returns what it returns. */
static PyObject *call_by(PyObject *caller, PyObject *function, PyObject *const *args, Py_ssize_t count) {
    PyObject *given[MOST_GIVEN + 2] = {function};
    memcpy(given + 1, args, (size_t)count * sizeof *args);
    return PyObject_Vectorcall(caller, given, (size_t)count + 1, NULL);
}

/* Call a function that only computes a new result: in a helper thread if an array has at least `long_from` elements.
 * Returns what it returns. */
PyObject *call_numpy(PyObject *function, PyObject *const *args, size_t flagged, npy_intp long_from) {
    const Py_ssize_t count = PyVectorcall_NARGS(flagged);
    if (call_in_thread == NULL || !has_long(args, count, long_from)) {
        return PyObject_Vectorcall(function, args, flagged, NULL);
    }
    return call_by(call_in_thread, function, args, count);
}

/* Call a ufunc: for a new result as `call_numpy` does; to write to a long `out`, the only one of `names`, part by part.
 * Returns what it returns. */
PyObject *call_ufunc(PyObject *ufunc, PyObject *const *args, size_t flagged, PyObject *names) {
    const Py_ssize_t count = PyVectorcall_NARGS(flagged);
    if (names == NULL) {
        return call_numpy(ufunc, args, flagged, CALL_LONG);
    }
    if (call_in_parts == NULL || count >= MOST_GIVEN || !has_long(args + count, 1, CALL_LONG)) {
        return PyObject_Vectorcall(ufunc, args, flagged, names);
    }
    return call_by(call_in_parts, ufunc, args, count + 1);
}
