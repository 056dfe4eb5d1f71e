/* Planned: a kernel whose plans are kept. It finds what a call of this key gave, calls the kernel on arrays, and wraps
 * the answer. What it has not met, and whatever fails, is the general shim's, in whose place it stands. */

#include "kernels/dense.h"
#include "loops.h"
#include "numpy_api.h"
#include "plan_key.h"

#define MOST_PASSED (MOST_ARGUMENTS + 1)

typedef struct {
    Function base;
    PyObject *kernel;
    PyObject *first; /* what the kernel is given at place -1: the module NumPy */
    PyObject *learn; /* `learn(args)` returns the forms of a call's results and what is cast, or None */
    PyObject *wrap;  /* `wrap(form, answer, *operands)` */
    Py_ssize_t total;
    char kinds[MOST_ARGUMENTS + 1];
    int passed_count;
    signed char passed[MOST_PASSED]; /* the places of what the kernel is given */
    int written;                     /* the place of the tensor that is written, and returned; -1: a new one is made */
    PlanTable table;
} Planned;

static PyTypeObject *planned_type = NULL;
static PyObject *out_names = NULL; /* ("out",) */

static int planned_traverse(PyObject *self, visitproc visit, void *arg) {
    Planned *planned = (Planned *)self;
    Py_VISIT(planned->kernel);
    Py_VISIT(planned->first);
    Py_VISIT(planned->learn);
    Py_VISIT(planned->wrap);
    return function_traverse(self, visit, arg);
}

static void planned_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Planned *planned = (Planned *)self;
    PyObject_GC_UnTrack(self);
    plan_table_clear(&planned->table);
    Py_CLEAR(planned->kernel);
    Py_CLEAR(planned->first);
    Py_CLEAR(planned->learn);
    Py_CLEAR(planned->wrap);
    (void)function_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Remember what Python found out for a call that it served. Returns -1 for an interrupt: other errors mean that calls
 * like it are Python's. */
static int remember(Planned *planned, PyObject *const *args, const PlanKey *key, int64_t hash) {
    PyObject *given = PyTuple_New(planned->total), *forms = NULL;
    PlanEntry *entry = NULL;
    if (given != NULL) {
        for (Py_ssize_t i = 0; i < planned->total; i++) {
            PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
        }
        forms = PyObject_CallOneArg(planned->learn, given);
        Py_DECREF(given);
    }
    if (forms != NULL) {
        entry = plan_entry_new(key, hash);
        if (entry != NULL && plan_entry_read(entry, forms, planned->total) < 0) {
            plan_entry_release(entry);
            entry = NULL;
        }
        Py_DECREF(forms);
    }
    if (entry == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return -1;
        }
        PyErr_Clear();
        return 0;
    }
    plan_table_add(&planned->table, entry);
    return 0;
}

/* Return what the kernel gets for an argument, a new reference. */
static PyObject *passed_value(char kind, PyObject *value) {
    if (strchr("TtOo", kind) != NULL && Py_TYPE(value) == core.tensor) {
        return Py_XNewRef(((Tensor *)value)->array);
    }
    if ((kind != 'L' && kind != 'l') || value == Py_None) {
        return Py_NewRef(value);
    }
    Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
    PyObject *arrays = PyList_New(size);
    for (Py_ssize_t i = 0; arrays != NULL && i < size; i++) {
        PyObject *tensor = PySequence_Fast_GET_ITEM(value, i);
        PyList_SET_ITEM(arrays, i, Py_XNewRef(((Tensor *)tensor)->array));
    }
    return arrays;
}

/* Return what the kernel gets for an argument that the plan casts, a new reference: a number as it is cast, or the
 * tensor's array in a dtype. */
static PyObject *cast_value(PyObject *cast, PyObject *value) {
    if (!PyArray_DescrCheck(cast)) {
        return Py_NewRef(cast);
    }
    return ((Tensor *)value)->array == NULL ? NULL : cast_array(((Tensor *)value)->array, (PyArray_Descr *)cast);
}

/* Take references to what the kernel gets: arrays and options, as the plan casts them. Returns how many, or -1. */
static int pass(const Planned *planned, const PlanEntry *entry, PyObject *const *args, PyObject **values) {
    for (int i = 0; i < planned->passed_count; i++) {
        int place = planned->passed[i];
        PyObject *cast = place < 0 || entry->cast == NULL ? Py_None : PyTuple_GET_ITEM(entry->cast, place);
        if (place < 0) {
            values[i] = Py_NewRef(planned->first);
        } else {
            values[i] = cast != Py_None ? cast_value(cast, args[place]) : passed_value(planned->kinds[place], args[place]);
        }
        if (values[i] == NULL) {
            while (i > 0) {
                Py_DECREF(values[--i]);
            }
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_TypeError, "an operand that the Python casts");
            }
            return -1;
        }
    }
    return planned->passed_count;
}

/* Have Python lay out an answer that is not as planned. */
static PyObject *lay_out(const Planned *planned, const PlannedResult *result, PyObject *answer, PyObject **values, int count) {
    PyObject *given = PyList_New(0), *made = NULL, *args = NULL;
    if (given == NULL || PyList_Append(given, result->form) < 0 || PyList_Append(given, answer) < 0) {
        goto done;
    }
    for (int i = 0; i < count; i++) {
        if (PyList_CheckExact(values[i]) && PyList_GET_SIZE(values[i]) > 0 &&
            Py_TYPE(PyList_GET_ITEM(values[i], 0)) == core.array) {
            if (PyList_SetSlice(given, PyList_GET_SIZE(given), PyList_GET_SIZE(given), values[i]) < 0) {
                goto done;
            }
        } else if (Py_TYPE(values[i]) == core.array && PyList_Append(given, values[i]) < 0) {
            goto done;
        }
    }
    args = PyList_AsTuple(given);
    if (args != NULL) {
        made = PyObject_Call(planned->wrap, args, NULL);
    }
done:
    Py_XDECREF(args);
    Py_XDECREF(given);
    return made;
}

/* Return the tensor of an answer. */
static PyObject *wrap_answer(const Planned *planned, const PlannedResult *result, PyObject *answer, PyObject **values, int count) {
    PyObject *array = PyArray_CheckScalar(answer) && Py_TYPE(answer) != core.array ? PyArray_FromScalar(answer, NULL)
                                                                                  : Py_NewRef(answer);
    if (array == NULL) {
        return NULL;
    }
    if (!answer_is_new(result, array, values, count)) {
        PyObject *copy = answer_copied(result, array);
        if (copy == NULL) {
            PyObject *made = PyErr_Occurred() ? NULL : lay_out(planned, result, array, values, count);
            Py_DECREF(array);
            return made;
        }
        Py_SETREF(array, copy);
    }
    PyObject *made = wrap_simple(array);
    if (made != NULL && result->keys != core.dense_cpu) {
        Py_SETREF(((Tensor *)made)->keys, Py_NewRef(result->keys));
    }
    return made;
}

/* Return what the operator returns: a tensor, or a tuple of several. */
static PyObject *wrap_answers(const Planned *planned, const PlanEntry *entry, PyObject *answer, PyObject **values, int count) {
    if (entry->results_count == 1) {
        return wrap_answer(planned, &entry->results[0], answer, values, count);
    }
    if (!PyTuple_CheckExact(answer) || PyTuple_GET_SIZE(answer) != entry->results_count) {
        PyErr_SetString(PyExc_TypeError, "other results than planned are the Python's");
        return NULL;
    }
    PyObject *made = PyTuple_New(entry->results_count);
    for (int i = 0; made != NULL && i < entry->results_count; i++) {
        PyObject *each = wrap_answer(planned, &entry->results[i], PyTuple_GET_ITEM(answer, i), values, count);
        if (each == NULL) {
            Py_CLEAR(made);
        } else {
            PyTuple_SET_ITEM(made, i, each);
        }
    }
    return made;
}

/* Call the kernel, and return what the operator returns. */
static PyObject *serve(const Planned *planned, const PlanEntry *entry, PyObject *const *args) {
    PyObject *stack[MOST_PASSED + 1], *result = NULL;
    PyObject **values = stack + 1; /* the place before is the callee's to use */
    int count = pass(planned, entry, args, values);
    if (count < 0) {
        return NULL;
    }
    PyObject *answer = PyObject_Vectorcall(planned->kernel, values, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (answer != NULL) {
        result = wrap_answers(planned, entry, answer, values, count);
        Py_DECREF(answer);
    }
    for (int i = 0; i < count; i++) {
        Py_DECREF(values[i]);
    }
    return result;
}

/* Have the kernel write to a tensor, and return that. NULL without an exception where the Python has to. */
static PyObject *serve_write(const Planned *planned, const PlanEntry *entry, PyObject *const *args) {
    PyObject *stack[MOST_PASSED + 2], **values = stack + 1; /* the place before is the callee's to use */
    if (!may_write(&entry->results[0], planned->kinds, args, planned->written)) {
        return NULL;
    }
    int count = pass(planned, entry, args, values), is_done = 0;
    if (count < 0) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *tensor = args[planned->written], *target = Py_NewRef(((Tensor *)tensor)->array);
    values[count] = target;
    PyObject *answer =
        PyObject_Vectorcall(planned->kernel, values, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, out_names);
    if (answer != NULL) {
        is_done = write_answer(target, answer) == 0;
        Py_DECREF(answer);
    }
    for (int i = 0; i <= count; i++) {
        Py_DECREF(values[i]);
    }
    return is_done ? Py_NewRef(tensor) : NULL;
}

static PyObject *planned_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    Planned *planned = (Planned *)self;
    PlanKey key;
    if (names != NULL || PyVectorcall_NARGS(flagged) != planned->total || !plan_key_read(&key, planned->kinds, args)) {
        return PyObject_Vectorcall(planned->base.function, args, flagged, names);
    }
    int64_t hash = plan_key_hash(&key);
    PlanEntry *entry = plan_table_find(&planned->table, &key, hash);
    if (entry == NULL) {
        PyObject *result = PyObject_Vectorcall(planned->base.function, args, flagged, names);
        if (result != NULL && planned->table.patience > 0) {
            planned->table.patience--;
            if (plan_key_read(&key, planned->kinds, args) && remember(planned, args, &key, plan_key_hash(&key)) < 0) {
                Py_CLEAR(result);
            }
        }
        return result;
    }
    if (entry->results_count > 0) {
        entry->uses++;
        int is_write = planned->written >= 0;
        PyObject *result = (is_write ? serve_write : serve)(planned, entry, args);
        plan_entry_release(entry);
        if (result != NULL || (PyErr_Occurred() && (is_write || !PyErr_ExceptionMatches(PyExc_Exception)))) {
            return result;
        }
        PyErr_Clear(); /* the Python words it */
    }
    return PyObject_Vectorcall(planned->base.function, args, flagged, names);
}

/* Take the places of what the kernel gets. */
static int read_places(Planned *planned, PyObject *places) {
    if (PyTuple_GET_SIZE(places) > MOST_PASSED) {
        PyErr_SetString(PyExc_ValueError, "a kernel of so many arguments is the Python's");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(places); i++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(places, i));
        if (place == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (place < -1 || place >= planned->total) {
            PyErr_SetString(PyExc_ValueError, "the kernel has no such argument");
            return -1;
        }
        planned->passed[planned->passed_count++] = (signed char)place;
    }
    return 0;
}

/* Planned(function, kinds, kernel, places, first, learn, wrap, written) */
static PyObject *planned_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *kernel, *places, *first, *learn, *wrap;
    const char *kinds;
    int written;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "Planned() takes its arguments by position");
        return NULL;
    }
    if (!PyArg_ParseTuple(
            args, "OsOO!OOOi:Planned", &function, &kinds, &kernel, &PyTuple_Type, &places, &first, &learn, &wrap,
            &written)) {
        return NULL;
    }
    if (strlen(kinds) > MOST_ARGUMENTS || written >= (int)strlen(kinds)) {
        PyErr_SetString(PyExc_ValueError, "a kernel of so many arguments is the Python's");
        return NULL;
    }
    Planned *made = (Planned *)type->tp_alloc(type, 0);
    if (made == NULL) {
        return NULL;
    }
    made->base.call = planned_call;
    made->base.function = Py_NewRef(function);
    made->kernel = Py_NewRef(kernel);
    made->first = Py_NewRef(first);
    made->learn = Py_NewRef(learn);
    made->wrap = Py_NewRef(wrap);
    made->total = (Py_ssize_t)strlen(kinds);
    made->written = written;
    memcpy(made->kinds, kinds, strlen(kinds) + 1);
    made->table.patience = PATIENCE;
    if (read_places(made, places) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    return (PyObject *)made;
}

static PyObject *planned_clear(PyObject *self, PyObject *unused) {
    (void)unused;
    plan_table_clear(&((Planned *)self)->table);
    Py_RETURN_NONE;
}

static PyMethodDef planned_methods[] = {
    {"clear", planned_clear, METH_NOARGS, "Forget what was learned."},
    {"__reduce__", NULL, METH_NOARGS, NULL},
    {"__dir__", NULL, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef planned_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Planned, base.call), READONLY, NULL},
    {"python", T_OBJECT, offsetof(Planned, base.function), READONLY, NULL},
    {"known", T_INT, offsetof(Planned, table.used), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot planned_slots[] = {
    {Py_tp_new, planned_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, planned_traverse},
    {Py_tp_dealloc, planned_dealloc},
    {Py_tp_getattro, function_getattro},
    {Py_tp_setattro, function_setattro},
    {Py_tp_repr, function_repr},
    {Py_tp_descr_get, function_bind},
    {Py_tp_getset, function_getset},
    {Py_tp_methods, planned_methods},
    {Py_tp_members, planned_members},
    {0, NULL},
};

static PyType_Spec planned_spec = {
    .name = "opwright._fast.Planned",
    .basicsize = sizeof(Planned),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = planned_slots,
};

PyTypeObject *make_planned_type(PyObject *module) {
    planned_methods[1].ml_meth = function_methods[0].ml_meth;
    planned_methods[2].ml_meth = function_methods[1].ml_meth;
    out_names = Py_BuildValue("(N)", PyUnicode_InternFromString("out"));
    if (out_names == NULL) {
        return NULL;
    }
    planned_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &planned_spec, NULL);
    return planned_type;
}
