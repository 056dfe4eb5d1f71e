/* Caller: the base of objects that are called, and pass the call on to a function that may change: custom operators, and
 * the packets of `opwright.ops`. */

#include "callable.h"
#include "interned.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *called;   /* NULL: `_call_uncommon` handles every call */
    int takes_names;    /* whether it takes arguments by name */
} Caller;

/* Call `self._call_uncommon`. Returns what it returns. */
static PyObject *call_uncommon(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    PyObject *method = PyObject_GetAttr(self, interned._call_uncommon);
    if (method == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(method, args, (size_t)count, names);
    Py_DECREF(method);
    return result;
}

/* Call the function, or `_call_uncommon` where there is none, or it takes no names. Returns what that returns. */
static PyObject *caller_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    Caller *caller = (Caller *)self;
    if (caller->called == NULL || (names != NULL && !caller->takes_names)) {
        return call_uncommon(self, args, PyVectorcall_NARGS(flagged), names);
    }
    PyObject *called = Py_NewRef(caller->called);
    PyObject *result = PyObject_Vectorcall(called, args, flagged, names);
    Py_DECREF(called);
    return result;
}

/* Visit what an instance holds. Returns what `visit` returns. */
static int caller_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Caller *)self)->called);
    return 0;
}

/* Drop the function. Returns 0. */
static int caller_clear(PyObject *self) {
    Py_CLEAR(((Caller *)self)->called);
    return 0;
}

/* Free an instance. */
static void caller_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    (void)caller_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Make an instance that has no function yet: the arguments are `__init__`'s. Returns a new reference. */
static PyObject *caller_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)args; /* they are `__init__`'s */
    (void)kwargs;
    Caller *made = (Caller *)type->tp_alloc(type, 0);
    if (made != NULL) {
        made->call = caller_call;
    }
    return (PyObject *)made;
}

/* _pass_calls_to(function or None, takes_names): have a function handle calls. Returns None. */
static PyObject *pass_calls_to(PyObject *self, PyObject *args) {
    PyObject *function;
    int takes_names = 1;
    if (!PyArg_ParseTuple(args, "O|p:_pass_calls_to", &function, &takes_names)) {
        return NULL;
    }
    ((Caller *)self)->takes_names = takes_names;
    Py_XSETREF(((Caller *)self)->called, function == Py_None ? NULL : Py_NewRef(function));
    Py_RETURN_NONE;
}

/* Have a Python class called by vectorcall, which classes in Python do not inherit (3.11). Returns None. */
static PyObject *init_subclass(PyObject *object, PyObject *args, PyObject *kwargs) {
    (void)args;
    (void)kwargs;
    PyTypeObject *type = (PyTypeObject *)object;
    if (type->tp_call == PyVectorcall_Call) {
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    }
    Py_RETURN_NONE;
}

static PyMemberDef caller_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Caller, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef caller_methods[] = {
    {"_pass_calls_to", pass_calls_to, METH_VARARGS, "Have a function handle calls; None for `_call_uncommon`."},
    {"__init_subclass__", (PyCFunction)(void (*)(void))init_subclass, METH_VARARGS | METH_KEYWORDS | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot caller_slots[] = {
    {Py_tp_doc, "What passes calls on to a function."},
    {Py_tp_new, caller_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, caller_traverse},
    {Py_tp_clear, caller_clear},
    {Py_tp_dealloc, caller_dealloc},
    {Py_tp_methods, caller_methods},
    {Py_tp_members, caller_members},
    {0, NULL},
};

static PyType_Spec caller_spec = {
    .name = "opwright_core._fast.Caller",
    .basicsize = sizeof(Caller),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = caller_slots,
};

/* Make the type. Returns a new reference, or NULL with an exception. */
PyTypeObject *make_caller_type(PyObject *module) {
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &caller_spec, NULL);
}
