/* Factory: a function that makes tensors, as callers have it: with `requires_grad`, of which the Python knows. Selector:
 * the kernel of a factory that goes by its device, of which None is the CPU. */

#include "core.h"

typedef struct {
    Function base;   /* its function takes `requires_grad`, too */
    PyObject *below; /* the operator's */
} Factory;

typedef struct {
    Function base; /* its function selects any backend */
    PyObject *table;
    PyObject *keys; /* those of the CPU */
    Py_ssize_t position;
} Selector;

static PyObject *requires_grad = NULL;

static int factory_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Factory *)self)->below);
    return function_traverse(self, visit, arg);
}

static void factory_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((Factory *)self)->below);
    (void)function_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *factory_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const Factory *factory = (Factory *)self;
    PyObject *called = factory->below;
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), requires_grad) == 0) {
            called = factory->base.function;
        }
    }
    return PyObject_Vectorcall(called, args, flagged, names);
}

/* Factory(function, below) */
static PyObject *factory_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *below;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "Factory() takes its arguments by position");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OO:Factory", &function, &below)) {
        return NULL;
    }
    Factory *made = (Factory *)type->tp_alloc(type, 0);
    if (made != NULL) {
        made->base.call = factory_call;
        made->base.function = Py_NewRef(function);
        made->below = Py_NewRef(below);
    }
    return (PyObject *)made;
}

static int selector_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Selector *)self)->table);
    return function_traverse(self, visit, arg);
}

static void selector_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((Selector *)self)->table);
    Py_CLEAR(((Selector *)self)->keys);
    (void)function_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

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

/* Selector(function, table, keys of the CPU, position) */
static PyObject *selector_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *table, *keys;
    Py_ssize_t position;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "Selector() takes its arguments by position");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OO!O!n:Selector", &function, &PyDict_Type, &table, &PyLong_Type, &keys, &position)) {
        return NULL;
    }
    Selector *made = (Selector *)type->tp_alloc(type, 0);
    if (made != NULL) {
        made->base.call = selector_call;
        made->base.function = Py_NewRef(function);
        made->table = Py_NewRef(table);
        made->keys = Py_NewRef(keys);
        made->position = position;
    }
    return (PyObject *)made;
}

static PyType_Slot factory_slots[] = {
    {Py_tp_new, factory_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, factory_traverse},
    {Py_tp_dealloc, factory_dealloc},
    {Py_tp_getattro, function_getattro},
    {Py_tp_setattro, function_setattro},
    {Py_tp_repr, function_repr},
    {Py_tp_descr_get, function_bind},
    {Py_tp_getset, function_getset},
    {Py_tp_methods, function_methods},
    {Py_tp_members, function_members},
    {0, NULL},
};

static PyType_Slot selector_slots[] = {
    {Py_tp_new, selector_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, selector_traverse},
    {Py_tp_dealloc, selector_dealloc},
    {Py_tp_getattro, function_getattro},
    {Py_tp_setattro, function_setattro},
    {Py_tp_repr, function_repr},
    {Py_tp_getset, function_getset},
    {Py_tp_methods, function_methods},
    {Py_tp_members, function_members},
    {0, NULL},
};

static PyType_Spec factory_spec = {
    .name = "opwright._fast.Factory",
    .basicsize = sizeof(Factory),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = factory_slots,
};

static PyType_Spec selector_spec = {
    .name = "opwright._fast.Selector",
    .basicsize = sizeof(Selector),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = selector_slots,
};

PyTypeObject *make_factory_type(PyObject *module) {
    requires_grad = PyUnicode_InternFromString("requires_grad");
    return requires_grad == NULL ? NULL : (PyTypeObject *)PyType_FromModuleAndSpec(module, &factory_spec, NULL);
}

PyTypeObject *make_selector_type(PyObject *module) {
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &selector_spec, NULL);
}
