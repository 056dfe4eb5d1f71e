/* Factory: a function that makes tensors, as callers have it: with `requires_grad`, of which the Python knows.
 * Selector: the kernel of a factory that goes by its device, of which None is the CPU. */

#include "callable.h"
#include "fast/interned.h"

typedef struct {
    Callable base;   /* its function takes `requires_grad`, too */
    PyObject *below; /* the operator's */
} Factory;

typedef struct {
    Callable base; /* its function selects any backend */
    PyObject *table;
    PyObject *keys; /* those of the CPU */
    Py_ssize_t position;
} Selector;

/* Call the operator; the Python if `requires_grad` is named. Returns what that returns. */
static PyObject *factory_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const Factory *factory = (Factory *)self;
    PyObject *called = factory->below;
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), interned.requires_grad) == 0) {
            called = factory->base.function;
        }
    }
    return PyObject_Vectorcall(called, args, flagged, names);
}

/* Call the kernel of the CPU if the device is None and there is one, else the Python. Returns what that returns. */
static PyObject *selector_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const Selector *selector = (Selector *)self;
    PyObject *kernel = NULL;
    if (names == NULL && selector->position < PyVectorcall_NARGS(flagged) && args[selector->position] == Py_None) {
        kernel = Py_XNewRef(PyDict_GetItemWithError(selector->table, selector->keys));
    }
    if (kernel == NULL) {
        return PyErr_Occurred() ? NULL : PyObject_Vectorcall(selector->base.function, args, flagged, names);
    }
    PyObject *result = PyObject_Vectorcall(kernel, args, flagged, NULL);
    Py_DECREF(kernel);
    return result;
}

static const Field factory_fields[] = {
    {"below", FIELD_OBJECT, offsetof(Factory, below)},
    {NULL, FIELD_OBJECT, 0},
};

static const Field selector_fields[] = {
    {"table", FIELD_DICT, offsetof(Selector, table)},
    {"keys", FIELD_INT, offsetof(Selector, keys)},
    {"position", FIELD_SIZE, offsetof(Selector, position)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType factory_type = {
    .name = "opwright_core._fast.Factory",
    .size = sizeof(Factory),
    .flags = Py_TPFLAGS_METHOD_DESCRIPTOR,
    .call = factory_call,
    .fields = factory_fields,
};

CallableType selector_type = {
    .name = "opwright_core._fast.Selector",
    .size = sizeof(Selector),
    .call = selector_call,
    .fields = selector_fields,
};
