/* Caller: the base of objects that are called, and pass the call on to a function that may change: custom operators,
 * and the packets of `opwright.ops`. OperatorBase: the base of operators, which pass calls that fit on to their stub.
 */

#include "callable.h"
#include "fast/interned.h"

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

/* Make `Caller`. Returns a new reference, or NULL with an exception. */
PyTypeObject *make_caller_type(PyObject *module) {
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &caller_spec, NULL);
}

/* A call by position fits from `fewest` to `positional` arguments, none before the signature was read (-1). `required`
 * has a bit for each argument without a default. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *straight_stub;
    PyObject *names; /* of all arguments */
    Py_ssize_t fewest, positional;
    uint64_t required;
} OperatorBase;

/* Whether every argument that is given by name exists, none is given twice, and none is missing. */
static int names_fit(const OperatorBase *operator, Py_ssize_t count, PyObject *names) {
    uint64_t given = ((uint64_t)1 << count) - 1;
    Py_ssize_t most = PyTuple_GET_SIZE(operator->names);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        Py_ssize_t at = count;
        while (at < most && PyTuple_GET_ITEM(operator->names, at) != PyTuple_GET_ITEM(names, i)) {
            at++;
        }
        if (at == most) {
            return 0;
        }
        given |= (uint64_t)1 << at;
    }
    return (operator->required & ~given) == 0;
}

/* Call the stub with arguments that fit the signature, else `_call_uncommon`. Returns what that returns. */
static PyObject *operator_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    OperatorBase *operator = (OperatorBase *)self;
    Py_ssize_t count = PyVectorcall_NARGS(flagged);
    int has_stub = operator->straight_stub != NULL && operator->straight_stub != Py_None;
    if (!has_stub || count > operator->positional ||
        (names == NULL ? count < operator->fewest : operator->names == NULL || !names_fit(operator, count, names))) {
        return call_uncommon(self, args, count, names);
    }
    PyObject *stub = Py_NewRef(operator->straight_stub);
    PyObject *result = PyObject_Vectorcall(stub, args, flagged, names);
    Py_DECREF(stub);
    return result;
}

/* Visit what an instance holds. Returns what `visit` returns. */
static int operator_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((OperatorBase *)self)->straight_stub);
    Py_VISIT(((OperatorBase *)self)->names);
    return 0;
}

/* Drop the stub. Returns 0. */
static int operator_clear(PyObject *self) {
    Py_CLEAR(((OperatorBase *)self)->straight_stub);
    return 0;
}

/* Free an instance. */
static void operator_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((OperatorBase *)self)->straight_stub);
    Py_CLEAR(((OperatorBase *)self)->names);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Make an instance whose signature was not read yet. Returns a new reference. */
static PyObject *operator_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)args; /* they are `__init__`'s */
    (void)kwargs;
    OperatorBase *made = (OperatorBase *)type->tp_alloc(type, 0);
    if (made != NULL) {
        made->call = operator_call;
        made->positional = -1;
    }
    return (PyObject *)made;
}

/* _take_signature(fewest, positional, names, required): tell which calls fit. Returns None. */
static PyObject *take_signature(PyObject *self, PyObject *args) {
    OperatorBase *operator = (OperatorBase *)self;
    Py_ssize_t fewest, positional;
    unsigned long long required;
    PyObject *names;
    if (!PyArg_ParseTuple(args, "nnO!K:_take_signature", &fewest, &positional, &PyTuple_Type, &names, &required)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(names) < 64) { /* the bits of `required` */
        operator->fewest = fewest;
        operator->required = required;
        Py_XSETREF(operator->names, Py_NewRef(names));
        operator->positional = positional;
    }
    Py_RETURN_NONE;
}

static PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorBase, call), READONLY, NULL},
    {"straight_stub", T_OBJECT_EX, offsetof(OperatorBase, straight_stub), 0, "The stub, if it has the parameters."},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef operator_methods[] = {
    {"_take_signature", take_signature, METH_VARARGS, "Tell which calls fit: others go to `_call_uncommon`."},
    {"__init_subclass__", (PyCFunction)(void (*)(void))init_subclass, METH_VARARGS | METH_KEYWORDS | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot operator_slots[] = {
    {Py_tp_doc, "What an operator has in C: its stub, and which calls go there."},
    {Py_tp_new, operator_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, operator_traverse},
    {Py_tp_clear, operator_clear},
    {Py_tp_dealloc, operator_dealloc},
    {Py_tp_methods, operator_methods},
    {Py_tp_members, operator_members},
    {0, NULL},
};

static PyType_Spec operator_spec = {
    .name = "opwright_core._fast.OperatorBase",
    .basicsize = sizeof(OperatorBase),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = operator_slots,
};

/* Make `OperatorBase`. Returns a new reference, or NULL with an exception. */
PyTypeObject *make_operator_base(PyObject *module) {
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &operator_spec, NULL);
}
