/* Stub: what users call for an overload or a name. A call of a form that is known goes to its kernel at once.
 *
 * Anything else goes to the generated Python function, which converts, words errors and finds kernels. Once that served
 * a call, `plan` is asked for its form, a few times at most. */

#include "core.h"

#define MOST_FORMS 6
#define MOST_PLANS 16

typedef struct {
    Function base;
    PyObject *plan; /* `plan(args, kwargs)` returns what `form_new` takes, or None */
    int forms_count;
    int plans_left;
    Form *forms[MOST_FORMS];
} Stub;

static PyTypeObject *stub_type = NULL;

static int stub_traverse(PyObject *self, visitproc visit, void *arg) {
    Stub *stub = (Stub *)self;
    Py_VISIT(stub->plan);
    for (int i = 0; i < stub->forms_count; i++) {
        int result = form_traverse(stub->forms[i], visit, arg);
        if (result != 0) {
            return result;
        }
    }
    return function_traverse(self, visit, arg);
}

/* Forget the forms. (Only the collector does, where nobody can call any more.) */
static void drop_forms(Stub *stub) {
    while (stub->forms_count > 0) {
        Form *form = stub->forms[--stub->forms_count];
        form_free(form);
    }
}

static int stub_clear(PyObject *self) {
    Stub *stub = (Stub *)self;
    Py_CLEAR(stub->plan);
    stub->plans_left = 0;
    drop_forms(stub);
    return 0; /* the function stays: a finalizer may still call */
}

static void stub_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    (void)stub_clear(self);
    (void)function_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Return the arguments that are named as a dictionary. */
static PyObject *named_arguments(PyObject *const *values, PyObject *names) {
    PyObject *found = PyDict_New();
    Py_ssize_t count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        if (PyDict_SetItem(found, PyTuple_GET_ITEM(names, i), values[i]) < 0) {
            Py_CLEAR(found);
        }
    }
    return found;
}

static PyObject *positional_arguments(PyObject *const *values, Py_ssize_t count) {
    PyObject *found = PyTuple_New(count);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        PyTuple_SET_ITEM(found, i, Py_NewRef(values[i]));
    }
    return found;
}

/* Ask for the form of a call that was served. Returns None where it has none. */
static PyObject *ask_for_plan(Stub *stub, PyObject *const *args, Py_ssize_t positional, PyObject *names) {
    PyObject *plan = Py_NewRef(stub->plan);
    PyObject *given = positional_arguments(args, positional);
    PyObject *named = named_arguments(args + positional, names);
    PyObject *found = NULL;
    if (given != NULL && named != NULL) {
        found = PyObject_CallFunctionObjArgs(plan, given, named, NULL);
    }
    Py_XDECREF(given);
    Py_XDECREF(named);
    Py_DECREF(plan);
    return found;
}

/* Learn the form of a call that was served. Returns -1 for an interrupt: other errors mean that it has none. */
static int learn(Stub *stub, PyObject *const *args, Py_ssize_t positional, PyObject *names) {
    if (stub->forms_count == MOST_FORMS || stub->plans_left == 0) {
        return 0;
    }
    stub->plans_left--;
    Form *form = NULL;
    PyObject *plan = ask_for_plan(stub, args, positional, names);
    if (plan != NULL && plan != Py_None) {
        form = form_new(names, positional, plan);
    }
    Py_XDECREF(plan);
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return -1;
        }
        PyErr_Clear();
    }
    if (form == NULL) {
        return 0;
    }
    if (stub->forms_count == MOST_FORMS) { /* another thread, meanwhile */
        form_free(form);
    } else {
        stub->forms[stub->forms_count++] = form;
    }
    return 0;
}

/* Return the number of the form that a call has, or -1. */
static int find_form(const Stub *stub, PyObject *const *args, Py_ssize_t positional, PyObject *names, int64_t *keys) {
    for (int i = 0; i < stub->forms_count; i++) {
        if (form_takes(stub->forms[i], args, positional, names, keys)) {
            return i;
        }
    }
    return -1;
}

static PyObject *stub_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    Stub *stub = (Stub *)self;
    Py_ssize_t positional = PyVectorcall_NARGS(flagged);
    int64_t keys = 0;
    int at = find_form(stub, args, positional, names, &keys);
    if (at >= 0) {
        int is_mode_on, is_served;
        if (apply_modes(&keys, &is_mode_on) < 0) {
            return NULL;
        }
        PyObject *result = form_call(stub->forms[at], args, keys, is_mode_on, &is_served);
        if (is_served) {
            return result;
        }
    }
    PyObject *result = PyObject_Vectorcall(stub->base.function, args, flagged, names);
    if (result != NULL && at < 0 && learn(stub, args, positional, names) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

/* Stub(function, plan) */
static PyObject *stub_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *plan;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "Stub() takes its arguments by position");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OO:Stub", &function, &plan)) {
        return NULL;
    }
    Stub *made = (Stub *)type->tp_alloc(type, 0);
    if (made == NULL) {
        return NULL;
    }
    made->base.call = stub_call;
    made->base.function = Py_NewRef(function);
    made->plan = Py_NewRef(plan);
    made->plans_left = MOST_PLANS;
    return (PyObject *)made;
}

static PyMemberDef stub_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Stub, base.call), READONLY, NULL},
    {"python", T_OBJECT, offsetof(Stub, base.function), READONLY, NULL},
    {"plan", T_OBJECT, offsetof(Stub, plan), READONLY, NULL},
    {"forms", T_INT, offsetof(Stub, forms_count), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot stub_slots[] = {
    {Py_tp_new, stub_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, stub_traverse},
    {Py_tp_clear, stub_clear},
    {Py_tp_dealloc, stub_dealloc},
    {Py_tp_getattro, function_getattro},
    {Py_tp_setattro, function_setattro},
    {Py_tp_repr, function_repr},
    {Py_tp_descr_get, function_bind},
    {Py_tp_getset, function_getset},
    {Py_tp_methods, function_methods},
    {Py_tp_members, stub_members},
    {0, NULL},
};

static PyType_Spec stub_spec = {
    .name = "opwright._fast.Stub",
    .basicsize = sizeof(Stub),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = stub_slots,
};

PyTypeObject *make_stub_type(PyObject *module) {
    stub_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &stub_spec, NULL);
    return stub_type;
}
