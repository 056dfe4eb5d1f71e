/* Form: a way to call an operator, by the exact types of what is given, for which nothing has to be converted.
 *
 * Python makes it (`opwright.dispatch.forms`) once a call of that form was served. It never changes. */

#include "form.h"
#include "tensor.h"

/* What a form takes for an argument; `opwright.dispatch.forms` has the numbers. */
enum Kind {
    KIND_TENSOR = 0,  /* exactly a Tensor */
    KIND_ARRAY = 1,   /* exactly a NumPy array */
    KIND_INT = 2,     /* exactly an int of 64 bits */
    KIND_FLOAT = 3,   /* exactly a float */
    KIND_BOOL = 4,    /* True or False */
    KIND_SAME = 5,    /* the very object: None, a dtype */
    KIND_INTS = 6,    /* a list of ints of 64 bits; a tuple, or a shape, is made one */
    KIND_TENSORS = 7, /* a list of Tensors */
    KIND_REST = 8,    /* an int of 64 bits, of those by position that make a list at the end */
    KIND_REPEATED = 9, /* an int of 64 bits for a list of one; for a list of n it is KIND_REPEATED + n - 1 */
};

#define MOST_REPEATED 8

struct Form {
    Py_ssize_t positional;               /* how many arguments are given by position */
    PyObject *names;                     /* those of the others, in their order; NULL: there are none */
    Py_ssize_t given;
    unsigned char kinds[MOST_ARGUMENTS]; /* of what is given */
    unsigned char places[MOST_ARGUMENTS]; /* where the operator takes it */
    PyObject *same;                      /* a tuple: the objects of KIND_SAME */
    PyObject *values;                    /* a tuple: what the operator is called with, but for what is given */
    PyObject *table;                     /* the operator's, from keys to kernels */
    PyObject *result;                    /* the class that several results are returned in: a named tuple, or a tuple
                                            in the place of a list; or None */
    Py_ssize_t results_count;            /* of the fields of that class */
    int is_of_arrays;
    int may_copy;                        /* whether the kernel may get lists that are made for a call */
    int64_t known_keys;                  /* the keys looked up last … */
    PyObject *known;                     /* … and the int that they are; NULL at first */
    int is_own_key;                      /* whether that was looked for among the table's */
};

/* Whether a kernel gets a copy of a value, where it is a default or given: a list of its own. */
static int is_copied(PyObject *value) {
    return PyList_CheckExact(value) || PyTuple_CheckExact(value) || is_size(value);
}

static int fill_form(Form *form, PyObject *kinds, PyObject *places) {
    form->given = PyTuple_GET_SIZE(kinds);
    if (form->given > MOST_ARGUMENTS || PyTuple_GET_SIZE(form->values) > MOST_ARGUMENTS) {
        PyErr_SetString(PyExc_ValueError, "a form of so many arguments is the Python's");
        return -1;
    }
    for (Py_ssize_t i = 0; i < form->given; i++) {
        long kind = PyLong_AsLong(PyTuple_GET_ITEM(kinds, i));
        long place = PyLong_AsLong(PyTuple_GET_ITEM(places, i));
        if (PyErr_Occurred()) {
            return -1;
        }
        if (kind < KIND_TENSOR || kind >= KIND_REPEATED + MOST_REPEATED || place < 0 || place >= PyTuple_GET_SIZE(form->values)) {
            PyErr_SetString(PyExc_ValueError, "no such kind, or no such place");
            return -1;
        }
        form->kinds[i] = (unsigned char)kind;
        form->places[i] = (unsigned char)place;
        form->is_of_arrays |= kind == KIND_ARRAY;
        form->may_copy |= kind == KIND_INTS || kind >= KIND_REST || is_copied(PyTuple_GET_ITEM(form->same, i));
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(form->values); i++) {
        form->may_copy |= is_copied(PyTuple_GET_ITEM(form->values, i));
    }
    return 0;
}

static Form *form_refused(const char *why) {
    PyErr_SetString(PyExc_TypeError, why);
    return NULL;
}

/* Make a form from what Python found: `(table, values, kinds, places, same, class of results)`. */
Form *form_new(PyObject *names, Py_ssize_t positional, PyObject *plan) {
    PyObject *table, *values, *kinds, *places, *same, *result;
    if (!PyArg_ParseTuple(
            plan, "O!O!O!O!O!O", &PyDict_Type, &table, &PyTuple_Type, &values, &PyTuple_Type, &kinds, &PyTuple_Type,
            &places, &PyTuple_Type, &same, &result)) {
        return NULL;
    }
    Py_ssize_t given = positional + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    if (PyTuple_GET_SIZE(kinds) != given || PyTuple_GET_SIZE(places) != given || PyTuple_GET_SIZE(same) != given) {
        PyErr_SetString(PyExc_ValueError, "a form says something of every argument that is given");
        return NULL;
    }
    Form *form = PyMem_Calloc(1, sizeof(Form));
    if (form == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    form->positional = positional;
    form->names = Py_XNewRef(names);
    form->same = Py_NewRef(same);
    form->values = Py_NewRef(values);
    form->table = Py_NewRef(table);
    form->result = Py_NewRef(result);
    if (result != Py_None && result != (PyObject *)&PyTuple_Type) {
        PyObject *fields = PyObject_GetAttrString(result, "_fields");
        form->results_count = fields == NULL ? -1 : PyObject_Size(fields);
        Py_XDECREF(fields);
        if (form->results_count < 0 || !PyType_Check(result) ||
            !PyType_IsSubtype((PyTypeObject *)result, &PyTuple_Type)) {
            form_free(form);
            return PyErr_Occurred() ? NULL : form_refused("several results are a named tuple");
        }
    }
    if (fill_form(form, kinds, places) < 0) {
        form_free(form);
        return NULL;
    }
    return form;
}

void form_free(Form *form) {
    Py_XDECREF(form->names);
    Py_XDECREF(form->same);
    Py_XDECREF(form->values);
    Py_XDECREF(form->table);
    Py_XDECREF(form->result);
    Py_XDECREF(form->known);
    PyMem_Free(form);
}

int form_traverse(Form *form, visitproc visit, void *arg) {
    Py_VISIT(form->names);
    Py_VISIT(form->same);
    Py_VISIT(form->values);
    Py_VISIT(form->table);
    Py_VISIT(form->result);
    return 0;
}

/* Add a tensor's keys. Whether it has any of 64 bits. */
static int add_keys(PyObject *tensor, int64_t *keys) {
    PyObject *own = ((Tensor *)tensor)->keys;
    if (own == core.dense_cpu) {
        *keys |= core.dense_cpu_bits;
        return 1;
    }
    if (own == NULL || !PyLong_CheckExact(own)) {
        return 0;
    }
    int overflow;
    *keys |= PyLong_AsLongLongAndOverflow(own, &overflow);
    return !overflow;
}

static int is_short_int(PyObject *value) {
    int overflow;
    if (!PyLong_CheckExact(value)) {
        return 0;
    }
    (void)PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow;
}

static int is_list_of_ints(PyObject *value) {
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value) && !is_size(value)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
        if (!is_short_int(PySequence_Fast_GET_ITEM(value, i))) {
            return 0;
        }
    }
    return 1;
}

static int is_list_of_tensors(PyObject *value, int64_t *keys) {
    if (!PyList_CheckExact(value)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++) {
        PyObject *item = PyList_GET_ITEM(value, i);
        if (Py_TYPE(item) != core.tensor || !add_keys(item, keys)) {
            return 0;
        }
    }
    return 1;
}

static int is_of_kind(const Form *form, Py_ssize_t at, PyObject *value, int64_t *keys) {
    switch (form->kinds[at]) {
    case KIND_TENSOR:
        return Py_TYPE(value) == core.tensor && add_keys(value, keys);
    case KIND_ARRAY:
        return Py_TYPE(value) == core.array;
    case KIND_INT:
        return is_short_int(value);
    case KIND_FLOAT:
        return PyFloat_CheckExact(value);
    case KIND_BOOL:
        return value == Py_True || value == Py_False;
    case KIND_SAME:
        return value == PyTuple_GET_ITEM(form->same, at);
    case KIND_INTS:
        return is_list_of_ints(value);
    case KIND_TENSORS:
        return is_list_of_tensors(value, keys);
    default:
        return is_short_int(value);
    }
}

/* Whether the same arguments are named, in the same order. Names are interned; one that is not goes to the Python. */
static int are_named(PyObject *expected, PyObject *names) {
    if (expected == names) {
        return 1;
    }
    if (expected == NULL || names == NULL || PyTuple_GET_SIZE(expected) != PyTuple_GET_SIZE(names)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        if (PyTuple_GET_ITEM(expected, i) != PyTuple_GET_ITEM(names, i)) {
            return 0;
        }
    }
    return 1;
}

/* Whether a call has this form. Its tensors' keys are then in `keys`. Runs no Python. */
int form_takes(const Form *form, PyObject *const *args, Py_ssize_t positional, PyObject *names, int64_t *keys) {
    if (form->positional != positional || !are_named(form->names, names)) {
        return 0;
    }
    *keys = 0;
    for (Py_ssize_t i = 0; i < form->given; i++) {
        if (!is_of_kind(form, i, args[i], keys)) {
            return 0;
        }
    }
    return 1;
}

/* Know the keys by the int that the table itself has, which is found without comparing. (The second call in a row with
 * the same keys does this.) */
static void take_own_key(Form *form) {
    PyObject *key, *kernel;
    Py_ssize_t at = 0;
    while (PyDict_Next(form->table, &at, &key, &kernel)) {
        int overflow;
        if (PyLong_CheckExact(key) && PyLong_AsLongLongAndOverflow(key, &overflow) == form->known_keys && !overflow) {
            Py_SETREF(form->known, Py_NewRef(key));
            break;
        }
    }
    form->is_own_key = 1;
}

/* Return the kernel that the table has for the keys, a new reference, or NULL: without an exception, there is none. */
static PyObject *look_up(Form *form, int64_t keys) {
    if (form->is_of_arrays) {
        return Py_XNewRef(PyDict_GetItemWithError(form->table, core.arrays));
    }
    if (form->known == NULL || form->known_keys != keys) {
        PyObject *number = PyLong_FromLongLong(keys);
        if (number == NULL) {
            return NULL;
        }
        form->known_keys = keys;
        form->is_own_key = 0;
        Py_XSETREF(form->known, number);
    } else if (!form->is_own_key) {
        take_own_key(form);
    }
    return Py_XNewRef(PyDict_GetItemWithError(form->table, form->known));
}

/* Return the list that ints make which are given without one: those from `at` on to the end, or one so many times. */
static PyObject *list_of_ints(const Form *form, PyObject *const *args, Py_ssize_t at) {
    int is_rest = form->kinds[at] == KIND_REST;
    Py_ssize_t count = is_rest ? form->positional - at : form->kinds[at] - KIND_REPEATED + 1;
    PyObject *made = PyList_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyList_SET_ITEM(made, i, Py_NewRef(args[is_rest ? at + i : at]));
    }
    return made;
}

/* Call the kernel where it may get lists of its own: those among the defaults, of what is given as a tuple, and those that
 * ints make. `values` has the defaults. */
static PyObject *call_with_lists(const Form *form, PyObject *kernel, PyObject *const *args, PyObject **values) {
    PyObject *copies[MOST_ARGUMENTS], *result = NULL;
    Py_ssize_t total = PyTuple_GET_SIZE(form->values), copied = 0;
    for (Py_ssize_t i = 0; i < form->given; i++) {
        PyObject **value = &values[form->places[i]];
        if (form->kinds[i] < KIND_REST) {
            *value = args[i];
            continue;
        }
        *value = copies[copied] = list_of_ints(form, args, i);
        if (*value == NULL) {
            goto done;
        }
        copied++;
        if (form->kinds[i] == KIND_REST) {
            i = form->positional - 1;
        }
    }
    for (Py_ssize_t i = 0; i < total; i++) {
        int is_default = values[i] == PyTuple_GET_ITEM(form->values, i);
        if (PyList_CheckExact(values[i]) ? is_default : is_copied(values[i])) {
            values[i] = PySequence_List(values[i]);
            if (values[i] == NULL) {
                goto done;
            }
            copies[copied++] = values[i];
        }
    }
    result = PyObject_Vectorcall(kernel, values, (size_t)total | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
done:
    for (Py_ssize_t i = 0; i < copied; i++) {
        Py_DECREF(copies[i]);
    }
    return result;
}

/* Call the kernel with every argument of the operator. */
static PyObject *call_kernel(const Form *form, PyObject *kernel, PyObject *const *args) {
    PyObject *stack[MOST_ARGUMENTS + 1];
    PyObject **values = stack + 1; /* the place before is the callee's to use */
    Py_ssize_t total = PyTuple_GET_SIZE(form->values);
    for (Py_ssize_t i = 0; i < total; i++) {
        values[i] = PyTuple_GET_ITEM(form->values, i);
    }
    if (form->may_copy) {
        return call_with_lists(form, kernel, args, values);
    }
    for (Py_ssize_t i = 0; i < form->given; i++) {
        values[form->places[i]] = args[i];
    }
    return PyObject_Vectorcall(kernel, values, (size_t)total | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* Return several results as the form has them. Takes the reference; NULL is the failure of who made them. */
static PyObject *named(const Form *form, PyObject *results) {
    int is_tuple = form->result == (PyObject *)&PyTuple_Type;
    if (results == NULL || form->result == Py_None || (is_tuple && !PyList_CheckExact(results))) {
        return results;
    }
    PyObject *made = NULL, *given = PySequence_Tuple(results);
    Py_DECREF(results);
    if (is_tuple) {
        return given;
    }
    if (given != NULL && PyTuple_GET_SIZE(given) == form->results_count) {
        PyTypeObject *type = (PyTypeObject *)form->result;
        made = type->tp_alloc(type, PyTuple_GET_SIZE(given));
        for (Py_ssize_t i = 0; made != NULL && i < PyTuple_GET_SIZE(given); i++) {
            PyTuple_SET_ITEM(made, i, Py_NewRef(PyTuple_GET_ITEM(given, i)));
        }
    } else if (given != NULL) {
        made = PyObject_CallObject(form->result, given); /* which says what is wrong */
    }
    Py_XDECREF(given);
    return made;
}

/* Call what serves these keys. Where nothing does yet, `is_served` is 0, and the Python has to find it. */
PyObject *form_call(Form *form, PyObject *const *args, int64_t keys, int is_mode_on, int *is_served) {
    *is_served = 1;
    PyObject *kernel = form->is_of_arrays && is_mode_on ? NULL : look_up(form, keys);
    if (kernel == NULL) {
        *is_served = PyErr_Occurred() != NULL;
        return NULL;
    }
    PyObject *result = named(form, call_kernel(form, kernel, args));
    Py_DECREF(kernel);
    return result;
}
