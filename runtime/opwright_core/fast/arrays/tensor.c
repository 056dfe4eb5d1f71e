/* TensorBase: the four slots of a Tensor as fields, and the class Tensor made and freed without Python.
 *
 * `Tensor` stays a Python class, whose instances have this layout. Those of the class itself, not of subclasses, come
 * from a free list. */

#include "array_pool.h"
#include "tensor.h"

#define MOST_FREE 64

static Tensor *free_tensors[MOST_FREE];
static int free_count = 0;

/* Visit what a tensor holds. Returns what `visit` returns. */
static int tensor_traverse(PyObject *self, visitproc visit, void *arg) {
    Tensor *tensor = (Tensor *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(tensor->array);
    Py_VISIT(tensor->keys);
    Py_VISIT(tensor->edge);
    Py_VISIT(tensor->extra);
    Py_VISIT(tensor->attributes);
    return 0;
}

/* Drop what a tensor holds. Returns 0. */
static int tensor_clear(PyObject *self) {
    Tensor *tensor = (Tensor *)self;
    PyObject *array = tensor->array;
    tensor->array = NULL;
    Py_CLEAR(tensor->keys);
    Py_CLEAR(tensor->edge);
    Py_CLEAR(tensor->extra);
    Py_CLEAR(tensor->attributes);
    if (array != NULL) {
        array_give_up(array); /* last: its storage, and the base of a view, held it, too */
    }
    return 0;
}

/* Whether freed memory may be used for the next Tensor: no finalizer may have marked it. */
static int may_be_kept(PyTypeObject *type) {
    return type == core.tensor && type->tp_finalize == NULL && free_count < MOST_FREE;
}

/* Free a tensor of any class: for subclasses Python's own deallocator did their part before. */
static void tensor_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (type->tp_finalize != NULL && PyObject_CallFinalizerFromDealloc(self) < 0) {
        return; /* the finalizer keeps it alive */
    }
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, tensor_dealloc);
    if (((Tensor *)self)->weak_references != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    (void)tensor_clear(self);
    if (may_be_kept(type)) {
        free_tensors[free_count++] = (Tensor *)self;
    } else {
        type->tp_free(self);
    }
    Py_DECREF(type);
    Py_TRASHCAN_END;
}

/* Return memory for an instance: every field is NULL. */
static PyObject *tensor_alloc(PyTypeObject *type, Py_ssize_t items) {
    if (type != core.tensor || free_count == 0) {
        return PyType_GenericAlloc(type, items);
    }
    PyObject *self = PyObject_Init((PyObject *)free_tensors[--free_count], type);
    PyObject_GC_Track(self);
    return self;
}

/* Return a new tensor with these keys on an array. Takes the reference to the array, also where it fails. */
PyObject *wrap_with_keys(PyObject *array, PyObject *keys) {
    Tensor *made = (Tensor *)tensor_alloc(core.tensor, 0);
    if (made == NULL) {
        Py_DECREF(array);
        return NULL;
    }
    made->array = array;
    made->keys = Py_NewRef(keys);
    made->edge = Py_NewRef(Py_None);
    made->extra = Py_NewRef(Py_None);
    return (PyObject *)made;
}

/* Return a new dense tensor on an array of NumPy's. Takes the reference to the array, also where it fails. */
PyObject *wrap_dense(PyObject *array) {
    return wrap_with_keys(array, core.dense_cpu);
}

/* Take the class whose instances are made here. Returns -1 with an exception where another was, or where its instances
 * have more than the base's fields. */
int adopt_tensor(PyObject *class) {
    PyTypeObject *type = (PyTypeObject *)class, *base = type->tp_base;
    if (core.tensor != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "opwright_core._fast has one Tensor class, which is set already");
        return -1;
    }
    if (base->tp_dealloc != tensor_dealloc || type->tp_basicsize != base->tp_basicsize ||
        type->tp_dictoffset != base->tp_dictoffset) {
        PyErr_SetString(PyExc_TypeError, "the class is no TensorBase without slots of its own");
        return -1;
    }
    type->tp_alloc = tensor_alloc;
    type->tp_dealloc = tensor_dealloc;
    core.tensor = (PyTypeObject *)Py_NewRef(class);
    return 0;
}

/* Make an instance: with arguments, `Tensor(2, 3)`, by the class's `_of_arguments`. Returns a new reference, or NULL
 * with an exception. */
static PyObject *tensor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    if (PyTuple_GET_SIZE(args) == 0 && (kwargs == NULL || PyDict_GET_SIZE(kwargs) == 0)) {
        return type->tp_alloc(type, 0);
    }
    PyObject *make = PyObject_GetAttrString((PyObject *)type, "_of_arguments");
    if (make == NULL) {
        return NULL;
    }
    PyObject *made = PyObject_Call(make, args, kwargs);
    Py_DECREF(make);
    return made;
}

/* T_OBJECT_EX is what slots are: the interpreter reads and writes them as fast. */
static PyMemberDef tensor_members[] = {
    {"array", T_OBJECT_EX, offsetof(Tensor, array), 0, NULL},
    {"keys", T_OBJECT_EX, offsetof(Tensor, keys), 0, NULL},
    {"edge", T_OBJECT_EX, offsetof(Tensor, edge), 0, NULL},
    {"extra", T_OBJECT_EX, offsetof(Tensor, extra), 0, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Tensor, weak_references), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(Tensor, attributes), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef tensor_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot tensor_slots[] = {
    {Py_tp_doc, "The slots of a Tensor."},
    {Py_tp_traverse, tensor_traverse},
    {Py_tp_clear, tensor_clear},
    {Py_tp_dealloc, tensor_dealloc},
    {Py_tp_new, tensor_new},
    {Py_tp_members, tensor_members},
    {Py_tp_getset, tensor_getset},
    {0, NULL},
};

static PyType_Spec tensor_spec = {
    .name = "opwright_core._fast.TensorBase",
    .basicsize = sizeof(Tensor),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = tensor_slots,
};

/* Make the base of Tensor. Returns a new reference, or NULL with an exception. */
PyTypeObject *make_tensor_base(PyObject *module) {
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &tensor_spec, NULL);
}
