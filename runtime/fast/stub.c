/* Stub: what users call for an overload or a name. A call of a form that is known goes to its kernel at once.
 *
 * Anything else goes to the generated Python function, which converts, words errors and finds kernels. Once that served
 * a call, `plan` is asked for its form, a few times at most. */

#include "callable.h"
#include "form.h"
#include "modes.h"

#define MOST_FORMS 6
#define MOST_PLANS 16

typedef struct {
    Callable base;
    PyObject *plan; /* `plan(args, kwargs)` returns what `form_new` takes, or None */
    int forms_count;
    int plans_left;
    Form *forms[MOST_FORMS];
} Stub;

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

/* Visit what the forms hold. Returns what `visit` returns. */
static int stub_traverse(PyObject *self, visitproc visit, void *arg) {
    Stub *stub = (Stub *)self;
    for (int i = 0; i < stub->forms_count; i++) {
        int result = form_traverse(stub->forms[i], visit, arg);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

/* Forget the forms, and learn no more. Returns 0. */
static int stub_clear(PyObject *self) {
    Stub *stub = (Stub *)self;
    Py_CLEAR(stub->plan);
    stub->plans_left = 0;
    while (stub->forms_count > 0) {
        Form *form = stub->forms[--stub->forms_count];
        form_free(form);
    }
    return 0;
}

/* Allow a new stub its plans. Returns 0. */
static int stub_init(PyObject *self, PyObject *const *args) {
    (void)args;
    ((Stub *)self)->plans_left = MOST_PLANS;
    return 0;
}

static const Field stub_fields[] = {
    {"plan", FIELD_OBJECT, offsetof(Stub, plan)},
    {NULL, FIELD_OBJECT, 0},
};

static const PyMemberDef stub_members[] = {
    {"forms", T_INT, offsetof(Stub, forms_count), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

CallableType stub_type = {
    .name = "opwright._fast.Stub",
    .size = sizeof(Stub),
    .flags = Py_TPFLAGS_METHOD_DESCRIPTOR,
    .call = stub_call,
    .fields = stub_fields,
    .init = stub_init,
    .traverse = stub_traverse,
    .clear = stub_clear,
    .members = stub_members,
};
