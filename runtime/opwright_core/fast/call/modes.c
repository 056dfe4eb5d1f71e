/* The modes of this thread or task, `opwright_core.state.Modes`: bits that are added to a call's keys, those that may
 * stay; and the exception that waits while modes are put back. */

#include "modes.h"

/* The modes that were read last. They never change once made. */
static PyObject *cached_modes = NULL;
static int64_t cached_include = 0;
static int64_t cached_mask = -1;

/* Read an attribute that is an int of 64 bits. Returns -1 with an exception. */
static int read_bits(PyObject *modes, const char *name, int64_t *bits) {
    PyObject *value = PyObject_GetAttrString(modes, name);
    if (value == NULL) {
        return -1;
    }
    *bits = PyLong_AsLongLong(value);
    Py_DECREF(value);
    return *bits == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Cache what modes include and mask. Returns -1 with an exception. */
static int read_modes(PyObject *modes) {
    int64_t include, mask;
    if (read_bits(modes, "include", &include) < 0 || read_bits(modes, "mask", &mask) < 0) {
        return -1;
    }
    cached_include = include;
    cached_mask = mask;
    Py_XSETREF(cached_modes, Py_NewRef(modes));
    return 0;
}

/* Change a call's keys by this thread's modes, and say if any is on. Returns -1 with an exception. */
int apply_modes(int64_t *keys, int *is_on) {
    PyObject *modes;
    if (PyContextVar_Get(core.modes, NULL, &modes) < 0) {
        return -1;
    }
    *is_on = modes != NULL && modes != Py_None;
    if (*is_on) {
        if (modes != cached_modes && read_modes(modes) < 0) {
            Py_DECREF(modes);
            return -1;
        }
        *keys = (*keys | cached_include) & cached_mask;
    }
    Py_XDECREF(modes);
    return 0;
}

/* Take the exception that is set, if any: what is put back meanwhile may not see it. Returns a new reference, or NULL.
 * */
PyObject *take_error(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (type == NULL) {
        return NULL;
    }
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL) {
        (void)PyException_SetTraceback(value, trace);
    }
    Py_DECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

/* Set an exception again. Takes the reference; NULL sets none. */
void put_error(PyObject *error) {
    if (error == NULL) {
        return;
    }
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(error);
#else
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(error)), error, PyException_GetTraceback(error));
#endif
}

/* Return the value that a variable had before a token, or None, which modes are at first: a new reference, or NULL. */
static PyObject *value_before(PyObject *token) {
    PyObject *value = PyObject_GetAttrString(token, "old_value");
    if (value != NULL && strcmp(Py_TYPE(value)->tp_name, "Token.MISSING") == 0) {
        Py_SETREF(value, Py_NewRef(Py_None));
    }
    return value;
}

/* Give a variable its value again: by the token of what was set, and by the value where that fails or there is none.
 * (CPython may fail to make the token of what it has set.) Without a value it is the one before the token. Where memory
 * is short for a token it is tried once more. Returns -1 with an exception. */
int put_back(PyObject *variable, PyObject *token, PyObject *value) {
    if (token != NULL && PyContextVar_Reset(variable, token) == 0) {
        return 0;
    }
    PyErr_Clear();
    PyObject *before = value == NULL ? value_before(token) : Py_NewRef(value);
    PyObject *again = before == NULL ? NULL : PyContextVar_Set(variable, before);
    Py_XDECREF(before);
    Py_XDECREF(again);
    return again == NULL ? -1 : 0;
}

/* Put back the modes that were on before a token, also where the call between failed. Takes its result, and returns it.
 */
PyObject *leave_modes(PyObject *token, PyObject *result) {
    PyObject *error = result == NULL ? take_error() : NULL;
    if (put_back(core.modes, token, NULL) < 0) {
        Py_CLEAR(result);
        Py_CLEAR(error);
    }
    put_error(error);
    Py_DECREF(token);
    return result;
}
