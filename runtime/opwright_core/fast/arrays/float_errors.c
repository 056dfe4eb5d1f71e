/* Which floating-point errors NumPy has to tell of: those that `np.errstate` has raised, called, printed or logged.
 * What it only warns of is said to nobody, since the filter of warnings (`opwright_core/__init__.py`) hides it for
 * kernels. */

#include "float_errors.h"

#include "fast/call/long_calls.h"
#include "numpy_api.h"

#include <string.h>

static PyObject *settings = NULL;      /* NumPy's ContextVar, whose values never change; NULL where there is none */
static PyObject *read_settings = NULL; /* returns the dict of what is set */
static PyObject *silence = NULL;       /* a value by which NumPy tells of nothing; NULL where there is none */
static PyObject *last = NULL;          /* the value that was read last, */
static int told_by_last = FP_ERRORS;   /* and the errors to be told of with it */

/* Return a flag if a word of the settings has its errors told of, else 0. */
static int flag_if_told(PyObject *words, const char *name, int flag) {
    PyObject *word = PyDict_GetItemString(words, name);
    const char *said = word != NULL && PyUnicode_Check(word) ? PyUnicode_AsUTF8(word) : NULL;
    return said != NULL && (strcmp(said, "ignore") == 0 || strcmp(said, "warn") == 0) ? 0 : flag;
}

/* Read what is set. Returns the flags of errors to be told of; all where that cannot be read. */
static int read_told(void) {
    PyObject *words = PyObject_CallNoArgs(read_settings);
    if (words == NULL || !PyDict_Check(words)) {
        Py_XDECREF(words);
        PyErr_Clear();
        return FP_ERRORS;
    }
    const int told = flag_if_told(words, "divide", FE_DIVBYZERO) | flag_if_told(words, "over", FE_OVERFLOW) |
                     flag_if_told(words, "under", FE_UNDERFLOW) | flag_if_told(words, "invalid", FE_INVALID);
    Py_DECREF(words);
    return told;
}

/* Return those of the errors, flags of <fenv.h>, of which more than a warning is to be made. */
int told_errors(int errors) {
    PyObject *now = NULL;
    if (errors == 0 || settings == NULL) {
        return errors;
    }
    if (PyContextVar_Get(settings, NULL, &now) < 0 || now == NULL) {
        PyErr_Clear();
        return errors;
    }
    if (now != last) {
        const int told = read_told();
        Py_XSETREF(last, Py_NewRef(now));
        told_by_last = told;
    }
    Py_DECREF(now);
    return errors & told_by_last;
}

/* Call a kernel, which may be one of NumPy's ufuncs: the warnings of these would be of the caller's frame, where no
 * filter hides them, since C has none. Returns what a vectorcall does. */
PyObject *call_in_silence(PyObject *function, PyObject *const *args, size_t flagged, PyObject *names) {
    if (!Py_IS_TYPE(function, &PyUFunc_Type)) {
        return PyObject_Vectorcall(function, args, flagged, names);
    }
    if (silence == NULL || told_errors(FP_ERRORS) != 0) {
        return call_ufunc(function, args, flagged, names);
    }
    PyObject *before = PyContextVar_Set(settings, silence);
    PyObject *result = before == NULL ? NULL : call_ufunc(function, args, flagged, names);
    if (before != NULL) {
        PyObject *type, *error, *traceback;
        PyErr_Fetch(&type, &error, &traceback);
        PyContextVar_Reset(settings, before);
        PyErr_Restore(type, error, traceback);
    }
    Py_XDECREF(before);
    return result;
}

/* Return the value of the settings by which errors are ignored, a new reference; NULL with an exception. */
static PyObject *ignoring(PyObject *umath) {
    PyObject *make = PyObject_GetAttrString(umath, "_make_extobj"), *none = PyTuple_New(0);
    PyObject *words = Py_BuildValue("{s:s}", "all", "ignore");
    PyObject *made = make == NULL || none == NULL || words == NULL ? NULL : PyObject_Call(make, none, words);
    Py_XDECREF(make);
    Py_XDECREF(none);
    Py_XDECREF(words);
    return made;
}

/* Find NumPy's settings; without them all errors are told of. Returns nothing. */
void float_errors_ready(void) {
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    PyObject *found = umath == NULL ? NULL : PyObject_GetAttrString(umath, "_extobj_contextvar");
    read_settings = found == NULL ? NULL : PyObject_GetAttrString(umath, "_get_extobj_dict");
    if (read_settings != NULL && PyContextVar_CheckExact(found)) {
        settings = Py_NewRef(found);
        silence = ignoring(umath);
    }
    Py_XDECREF(found);
    Py_XDECREF(umath);
    PyErr_Clear();
}
