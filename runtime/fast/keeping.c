/* What nodes keep of a call: arguments, results, and facts about them. */

#include "keeping.h"
#include "arrays.h"

/* Whether a value is exactly a Tensor with keys. */
static int is_plain(PyObject *value) {
    PyObject *keys = Py_TYPE(value) == core.tensor ? ((Tensor *)value)->keys : NULL;
    return keys != NULL && PyLong_CheckExact(keys);
}

/* Whether the argument that a node keeps is as it is kept here. */
int keeping_takes(const Saving *saving, PyObject *const *args) {
    if (is_of_result(saving) || saving->how == KEEP_VALUE) {
        return 1;
    }
    PyObject *value = args[saving->place];
    return is_plain(value) || (saving->how == KEEP_TENSOR && value == Py_None);
}

/* Whether an operand that gets a gradient needs what is kept. */
static int is_needed(const Saving *saving, PyObject *const *args) {
    for (int place = 0; saving->needed >> place != 0; place++) {
        if (saving->needed >> place & 1 && edge_of(args[place]) != Py_None) {
            return 1;
        }
    }
    return saving->needed == 0;
}

/* Return a tensor's strides. */
static PyObject *kept_strides(PyObject *tensor) {
    PyObject *array = ((Tensor *)tensor)->array;
    int is_own = array != NULL && Py_TYPE(array) == core.array;
    return is_own ? array_strides(array) : PyObject_CallMethod(tensor, "stride", NULL);
}

static PyObject *kept_argument(const Saving *saving, PyObject *const *args) {
    PyObject *value = args[saving->place];
    switch (saving->how) {
    case KEEP_TENSOR:
        if (!is_needed(saving, args)) {
            return Py_NewRef(Py_None);
        }
        return value == Py_None ? PyTuple_New(0) : save(value);
    case KEEP_SHAPE:
        return PyObject_GetAttrString(value, "shape");
    case KEEP_COUNT:
        return PyObject_CallMethod(value, "numel", NULL);
    case KEEP_STRIDES:
        return kept_strides(value);
    default:
        return Py_NewRef(value);
    }
}

/* Put a value into a slot. Takes the reference; NULL is the failure of who made it. */
static int keep(const Saving *saving, PyObject *node, PyObject *value) {
    if (value != NULL) {
        replace_slot(node, saving->slot, value);
    }
    return value == NULL ? -1 : 0;
}

/* Keep an argument. Returns -1 with an exception. */
int keep_argument(const Saving *saving, PyObject *node, PyObject *const *args) {
    return keep(saving, node, kept_argument(saving, args));
}

/* Keep a result. Returns -1 with an exception. */
int keep_result(const Saving *saving, PyObject *node, PyObject *result) {
    return keep(saving, node, saving->how == KEEP_RESULT ? save_result(result) : save(result));
}

/* Take `(slot, how, place, needed)` of a thing that is kept. Returns -1 with an exception. */
int keeping_read(Saving *saving, PyObject *text, PyTypeObject *node, Py_ssize_t total) {
    const char *name;
    int how, place;
    unsigned int needed;
    if (!PyArg_ParseTuple(text, "siiI", &name, &how, &place, &needed)) {
        return -1;
    }
    Py_ssize_t offset = slot_offset(node, name);
    *saving = (Saving){offset, (unsigned char)how, (signed char)place, needed};
    if (how < KEEP_VALUE || how > KEEP_STRIDES || place < 0 || place > SCHAR_MAX || needed >> total != 0 ||
        (place >= total && !is_of_result(saving))) {
        PyErr_SetString(PyExc_ValueError, "the kernel has no such argument");
        return -1;
    }
    return offset < 0 ? -1 : 0;
}
