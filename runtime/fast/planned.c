/* Planned: a kernel whose plans are kept. It finds what a call of this key gave, calls the kernel on arrays, and wraps
 * the answer. What it has not met, and whatever fails, is the general shim's, in whose place it stands. */

#include "callable.h"
#include "kernels/dense.h"
#include "interned.h"
#include "numpy_api.h"
#include "plan_key.h"
#include "tensor.h"

#define MOST_PASSED (MOST_ARGUMENTS + 1)

typedef struct {
    Callable base;
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
        PyObject_Vectorcall(planned->kernel, values, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, interned.only_out);
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

/* Take the places of what the kernel gets. Returns -1 with an exception. */
static int planned_init(PyObject *self, PyObject *const *args) {
    Planned *planned = (Planned *)self;
    planned->total = (Py_ssize_t)strlen(planned->kinds);
    if (planned->written >= planned->total) {
        PyErr_SetString(PyExc_ValueError, "the kernel has no such argument");
        return -1;
    }
    planned->table.patience = PATIENCE;
    return read_places(planned, args[3]);
}

/* Forget what was learned. Returns 0. */
static int planned_clear(PyObject *self) {
    plan_table_clear(&((Planned *)self)->table);
    return 0;
}

/* clear() */
static PyObject *planned_forget(PyObject *self, PyObject *unused) {
    (void)unused;
    (void)planned_clear(self);
    Py_RETURN_NONE;
}

static const Field planned_fields[] = {
    {"kinds", FIELD_LETTERS, offsetof(Planned, kinds)},
    {"kernel", FIELD_OBJECT, offsetof(Planned, kernel)},
    {"places", FIELD_TUPLE, 0},
    {"first", FIELD_OBJECT, offsetof(Planned, first)},
    {"learn", FIELD_OBJECT, offsetof(Planned, learn)},
    {"wrap", FIELD_OBJECT, offsetof(Planned, wrap)},
    {"written", FIELD_NUMBER, offsetof(Planned, written)},
    {NULL, FIELD_OBJECT, 0},
};

static PyMethodDef planned_methods[] = {
    {"clear", planned_forget, METH_NOARGS, "Forget what was learned."},
    CALLABLE_METHODS,
    {NULL, NULL, 0, NULL},
};

static const PyMemberDef planned_members[] = {
    {"known", T_INT, offsetof(Planned, table.used), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

CallableType planned_type = {
    .name = "opwright._fast.Planned",
    .size = sizeof(Planned),
    .flags = Py_TPFLAGS_METHOD_DESCRIPTOR,
    .call = planned_call,
    .fields = planned_fields,
    .init = planned_init,
    .clear = planned_clear,
    .methods = planned_methods,
    .members = planned_members,
};
