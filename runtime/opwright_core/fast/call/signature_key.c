/* Signature keys: the exact types by which a call gives its arguments, for which nothing has to be converted, and how
 * the kernel is then called.
 *
 * Python makes a key (`opwright_core.dispatch.compiled.signature_keys`) once it handled such a call. The key never
 * changes. */

#include "signature_key.h"
#include "fast/arrays/exchange.h"
#include "fast/arrays/tensor.h"

/* What a key takes for an argument, by the numbers of `opwright_core.dispatch.compiled.signature_keys`: exactly a
 * Tensor, an array, an int of 64 bits, a float, a bool; KIND_SAME the very object; KIND_EXCHANGED an array of a class
 * with DLPack's C exchange API, KIND_WRITTEN one that is written; KIND_INTS a list, or what is made one; KIND_TENSORS
 * and KIND_ARRAYS a list; KIND_PLACES a list of Tensors and None; KIND_FLOATS a list of floats; KIND_REST one of the
 * ints by position that make a list at the end; KIND_REPEATED + n - 1 an int for a list of n. */
#include "numbers.h"

struct SignatureKey {
    Py_ssize_t positional;               /* how many arguments are given by position */
    PyObject *names;                     /* those of the others, in their order; NULL: there are none */
    Py_ssize_t given;
    unsigned char kinds[MOST_ARGUMENTS]; /* of what is given */
    unsigned char positions[MOST_ARGUMENTS]; /* where the operator takes it */
    PyObject *same;                      /* a tuple: the objects of KIND_SAME */
    PyObject *values;                    /* a tuple: what the operator is called with, but for what is given */
    PyObject *table;                     /* the operator's, from keys to kernels */
    PyObject *result;                    /* the class that several results are returned in: a named tuple, or a tuple
                                            for a list; or None */
    Py_ssize_t results_count;            /* of the fields of that class */
    int is_of_arrays;
    int is_mixed;                        /* of Tensors, and arrays that are made Tensors */
    int writes;                          /* arrays of another library */
    int may_copy;                        /* whether the kernel may get lists that are made for a call */
    int64_t cached_keys;                  /* the keys looked up last … */
    PyObject *cached;                     /* … and the int that they are; NULL at first */
    int is_own_key;                      /* whether that was looked for among the table's */
    Exchange exchange;                   /* of the arrays of KIND_EXCHANGED; without an API: there are none */
};

/* Whether a kernel gets a copy of a value, where it is a default or given: a list of its own. */
static int is_copied(PyObject *value) {
    return PyList_CheckExact(value) || PyTuple_CheckExact(value) || is_size(value);
}

/* Whether a kind is one of arrays of another library. */
static int is_exchanged(long kind) {
    return kind == KIND_EXCHANGED || kind == KIND_WRITTEN;
}

/* Take the class of an argument that is an array of another library. Returns -1 with an exception where its exchange is
 * not known, or is another library's, or does not tell how to say that one was written. */
static int take_class(SignatureKey *signature, PyObject *class, int is_written) {
    Exchange *exchange = &signature->exchange;
    const int is_known =
        exchange->api == NULL ? exchange_open(exchange, class) : exchange_api_of(class) == exchange->api;
    if (!is_known || (is_written && exchange->bump_versions == NULL)) {
        PyErr_SetString(PyExc_ValueError, "arrays of one library, whose exchange is known, make a call");
        return -1;
    }
    signature->writes |= is_written;
    return 0;
}

/* Read the kinds of the arguments, and their positions. Returns -1 with an exception. */
static int fill(SignatureKey *signature, PyObject *kinds, PyObject *positions) {
    signature->given = PyTuple_GET_SIZE(kinds);
    if (signature->given > MOST_ARGUMENTS || PyTuple_GET_SIZE(signature->values) > MOST_ARGUMENTS) {
        PyErr_SetString(PyExc_ValueError, "a call of so many arguments is Python's to handle");
        return -1;
    }
    int has_tensors = 0;
    for (Py_ssize_t i = 0; i < signature->given; i++) {
        long kind = PyLong_AsLong(PyTuple_GET_ITEM(kinds, i));
        long position = PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
        if (PyErr_Occurred()) {
            return -1;
        }
        if (kind < KIND_TENSOR || kind >= KIND_REPEATED + KIND_MOST_REPEATED || position < 0 ||
            position >= PyTuple_GET_SIZE(signature->values)) {
            PyErr_SetString(PyExc_ValueError, "no such kind, or no such position");
            return -1;
        }
        signature->kinds[i] = (unsigned char)kind;
        signature->positions[i] = (unsigned char)position;
        has_tensors |= kind == KIND_TENSOR;
        signature->is_of_arrays |= kind == KIND_ARRAY || kind == KIND_ARRAYS || is_exchanged(kind);
        if (is_exchanged(kind) &&
            take_class(signature, PyTuple_GET_ITEM(signature->same, i), kind == KIND_WRITTEN) < 0) {
            return -1;
        }
        signature->may_copy |=
            kind == KIND_INTS || kind >= KIND_REST || is_copied(PyTuple_GET_ITEM(signature->same, i));
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(signature->values); i++) {
        signature->may_copy |= is_copied(PyTuple_GET_ITEM(signature->values, i));
    }
    signature->is_mixed = has_tensors && signature->is_of_arrays;
    signature->is_of_arrays &= !has_tensors;
    return 0;
}

/* Raise TypeError. Returns NULL. */
static SignatureKey *refused(const char *why) {
    PyErr_SetString(PyExc_TypeError, why);
    return NULL;
}

/* Make a key from what Python found: `(table, values, kinds, positions, same, class of results)`. Returns NULL with an
 * exception. */
SignatureKey *signature_key_new(PyObject *names, Py_ssize_t positional, PyObject *plan) {
    PyObject *table, *values, *kinds, *positions, *same, *result;
    if (!PyArg_ParseTuple(
            plan, "O!O!O!O!O!O", &PyDict_Type, &table, &PyTuple_Type, &values, &PyTuple_Type, &kinds, &PyTuple_Type,
            &positions, &PyTuple_Type, &same, &result)) {
        return NULL;
    }
    Py_ssize_t given = positional + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    if (PyTuple_GET_SIZE(kinds) != given || PyTuple_GET_SIZE(positions) != given || PyTuple_GET_SIZE(same) != given) {
        PyErr_SetString(PyExc_ValueError, "a signature key has a kind and a position of every argument that is given");
        return NULL;
    }
    SignatureKey *signature = PyMem_Calloc(1, sizeof(SignatureKey));
    if (signature == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    signature->positional = positional;
    signature->names = Py_XNewRef(names);
    signature->same = Py_NewRef(same);
    signature->values = Py_NewRef(values);
    signature->table = Py_NewRef(table);
    signature->result = Py_NewRef(result);
    if (result != Py_None && result != (PyObject *)&PyTuple_Type) {
        PyObject *fields = PyObject_GetAttrString(result, "_fields");
        signature->results_count = fields == NULL ? -1 : PyObject_Size(fields);
        Py_XDECREF(fields);
        if (signature->results_count < 0 || !PyType_Check(result) ||
            !PyType_IsSubtype((PyTypeObject *)result, &PyTuple_Type)) {
            signature_key_free(signature);
            return PyErr_Occurred() ? NULL : refused("several results are a named tuple");
        }
    }
    if (fill(signature, kinds, positions) < 0) {
        signature_key_free(signature);
        return NULL;
    }
    return signature;
}

/* Free a key. */
void signature_key_free(SignatureKey *signature) {
    Py_XDECREF(signature->names);
    Py_XDECREF(signature->same);
    Py_XDECREF(signature->values);
    Py_XDECREF(signature->table);
    Py_XDECREF(signature->result);
    Py_XDECREF(signature->cached);
    exchange_close(&signature->exchange);
    PyMem_Free(signature);
}

/* Visit what a key holds. Returns what `visit` returns. */
int signature_key_traverse(SignatureKey *signature, visitproc visit, void *arg) {
    Py_VISIT(signature->names);
    Py_VISIT(signature->same);
    Py_VISIT(signature->values);
    Py_VISIT(signature->table);
    Py_VISIT(signature->result);
    return 0;
}

/* Add a tensor's keys. Returns 1, or 0 if it has none of 64 bits. */
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

/* Whether a value is exactly an int of 64 bits; returns 1 or 0. */
static int is_short_int(PyObject *value) {
    int overflow;
    if (!PyLong_CheckExact(value)) {
        return 0;
    }
    (void)PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow;
}

/* Whether a value is a list, a tuple or a shape of such ints; returns 1 or 0. */
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

/* Whether a value is a list of floats; returns 1 or 0. */
static int is_list_of_floats(PyObject *value) {
    for (Py_ssize_t i = 0; PyList_CheckExact(value) && i < PyList_GET_SIZE(value); i++) {
        if (!PyFloat_CheckExact(PyList_GET_ITEM(value, i))) {
            return 0;
        }
    }
    return PyList_CheckExact(value);
}

/* Whether a value is a list of Tensors, whose keys are added, or with `may_lack` of None; returns 1 or 0. */
static int is_list_of_tensors(PyObject *value, int may_lack, int64_t *keys) {
    if (!PyList_CheckExact(value)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++) {
        PyObject *item = PyList_GET_ITEM(value, i);
        if (!(may_lack && item == Py_None) && (Py_TYPE(item) != core.tensor || !add_keys(item, keys))) {
            return 0;
        }
    }
    return 1;
}

/* Whether a value is a list of arrays of NumPy, and not empty; returns 1 or 0. */
static int is_list_of_arrays(PyObject *value) {
    if (!PyList_CheckExact(value)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++) {
        if (Py_TYPE(PyList_GET_ITEM(value, i)) != core.array) {
            return 0;
        }
    }
    return PyList_GET_SIZE(value) > 0;
}

/* Whether an argument is of the kind that the key has at `at`; keys of tensors are added. Returns 1 or 0. */
static int is_of_kind(const SignatureKey *signature, Py_ssize_t at, PyObject *value, int64_t *keys) {
    switch (signature->kinds[at]) {
    case KIND_TENSOR:
        return Py_TYPE(value) == core.tensor && add_keys(value, keys);
    case KIND_ARRAY:
        *keys |= core.dense_cpu_bits; /* which it has where Tensors are among the arguments */
        return Py_TYPE(value) == core.array;
    case KIND_ARRAYS:
        return is_list_of_arrays(value);
    case KIND_INT:
        return is_short_int(value);
    case KIND_FLOAT:
        return PyFloat_CheckExact(value);
    case KIND_BOOL:
        return value == Py_True || value == Py_False;
    case KIND_EXCHANGED:
    case KIND_WRITTEN:
        return (PyObject *)Py_TYPE(value) == PyTuple_GET_ITEM(signature->same, at);
    case KIND_SAME:
        return value == PyTuple_GET_ITEM(signature->same, at);
    case KIND_INTS:
        return is_list_of_ints(value);
    case KIND_FLOATS:
        return is_list_of_floats(value);
    case KIND_TENSORS:
    case KIND_PLACES:
        return is_list_of_tensors(value, signature->kinds[at] == KIND_PLACES, keys);
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

/* Whether a call has this key; its tensors' dispatch keys are then in `keys`. Runs no Python. Returns 1 or 0. */
int signature_key_matches(const SignatureKey *signature, PyObject *const *args, Py_ssize_t positional, PyObject *names,
                          int64_t *keys) {
    if (signature->positional != positional || !are_named(signature->names, names)) {
        return 0;
    }
    *keys = 0;
    for (Py_ssize_t i = 0; i < signature->given; i++) {
        if (!is_of_kind(signature, i, args[i], keys)) {
            return 0;
        }
    }
    return 1;
}

/* Remember the table's own int for these keys: a dict finds an identical key without comparing values. (The second call
 * in a row with the same keys does this.) */
static void take_own_key(SignatureKey *signature) {
    PyObject *key, *kernel;
    Py_ssize_t at = 0;
    while (PyDict_Next(signature->table, &at, &key, &kernel)) {
        int overflow;
        if (PyLong_CheckExact(key) && PyLong_AsLongLongAndOverflow(key, &overflow) == signature->cached_keys &&
            !overflow) {
            Py_SETREF(signature->cached, Py_NewRef(key));
            break;
        }
    }
    signature->is_own_key = 1;
}

/* Return the kernel that the table has for the keys, a new reference, or NULL: without an exception, there is none. */
static PyObject *look_up(SignatureKey *signature, int64_t keys) {
    if (signature->is_of_arrays) {
        return Py_XNewRef(PyDict_GetItemWithError(signature->table, core.arrays));
    }
    if (signature->cached == NULL || signature->cached_keys != keys) {
        PyObject *number = PyLong_FromLongLong(keys);
        if (number == NULL) {
            return NULL;
        }
        signature->cached_keys = keys;
        signature->is_own_key = 0;
        Py_XSETREF(signature->cached, number);
    } else if (!signature->is_own_key) {
        take_own_key(signature);
    }
    return Py_XNewRef(PyDict_GetItemWithError(signature->table, signature->cached));
}

/* Return the list that ints make which are given without one: those from `at` on to the end, or one so many times. */
static PyObject *list_of_ints(const SignatureKey *signature, PyObject *const *args, Py_ssize_t at) {
    int is_rest = signature->kinds[at] == KIND_REST;
    Py_ssize_t count = is_rest ? signature->positional - at : signature->kinds[at] - KIND_REPEATED + 1;
    PyObject *made = PyList_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyList_SET_ITEM(made, i, Py_NewRef(args[is_rest ? at + i : at]));
    }
    return made;
}

/* Call the kernel if it may get lists of its own: those among the defaults, of what is given as a tuple, and those that
 * ints make. `values` has the defaults. Returns what the kernel returns. */
static PyObject *call_with_lists(const SignatureKey *signature, PyObject *kernel, PyObject *const *args,
                                 PyObject **values) {
    PyObject *copies[MOST_ARGUMENTS], *result = NULL;
    Py_ssize_t total = PyTuple_GET_SIZE(signature->values), copied = 0;
    for (Py_ssize_t i = 0; i < signature->given; i++) {
        PyObject **value = &values[signature->positions[i]];
        if (signature->kinds[i] < KIND_REST) {
            *value = args[i];
            continue;
        }
        *value = copies[copied] = list_of_ints(signature, args, i);
        if (*value == NULL) {
            goto done;
        }
        copied++;
        if (signature->kinds[i] == KIND_REST) {
            i = signature->positional - 1;
        }
    }
    for (Py_ssize_t i = 0; i < total; i++) {
        int is_default = values[i] == PyTuple_GET_ITEM(signature->values, i);
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

/* Call the kernel with every argument of the operator. Returns what it returns. */
static PyObject *call_kernel(const SignatureKey *signature, PyObject *kernel, PyObject *const *args) {
    PyObject *stack[MOST_ARGUMENTS + 1];
    PyObject **values = stack + 1; /* the callee may use the one before */
    values[0] = NULL; /* where the operator has no argument */
    Py_ssize_t total = PyTuple_GET_SIZE(signature->values);
    for (Py_ssize_t i = 0; i < total; i++) {
        values[i] = PyTuple_GET_ITEM(signature->values, i);
    }
    if (signature->may_copy) {
        return call_with_lists(signature, kernel, args, values);
    }
    for (Py_ssize_t i = 0; i < signature->given; i++) {
        values[signature->positions[i]] = args[i];
    }
    return PyObject_Vectorcall(kernel, values, (size_t)total | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* Return several results as the operator returns them: a named tuple, or a tuple. Takes the reference; NULL is the
 * failure of who made them. */
static PyObject *named(const SignatureKey *signature, PyObject *results) {
    int is_tuple = signature->result == (PyObject *)&PyTuple_Type;
    if (results == NULL || signature->result == Py_None || (is_tuple && !PyList_CheckExact(results))) {
        return results;
    }
    PyObject *made = NULL, *given = PySequence_Tuple(results);
    Py_DECREF(results);
    if (is_tuple) {
        return given;
    }
    if (given != NULL && PyTuple_GET_SIZE(given) == signature->results_count) {
        PyTypeObject *type = (PyTypeObject *)signature->result;
        made = type->tp_alloc(type, PyTuple_GET_SIZE(given));
        for (Py_ssize_t i = 0; made != NULL && i < PyTuple_GET_SIZE(given); i++) {
            PyTuple_SET_ITEM(made, i, Py_NewRef(PyTuple_GET_ITEM(given, i)));
        }
    } else if (given != NULL) {
        made = PyObject_CallObject(signature->result, given); /* which says what is wrong */
    }
    Py_XDECREF(given);
    return made;
}

/* Return a result for a caller with arrays of another library: the very argument that it is, or as a new array of that
 * library. Takes the reference; NULL is the failure of who made it. */
static PyObject *given_back(const SignatureKey *signature, PyObject *const *args, PyObject *const *taken,
                            PyObject *result) {
    PyObject *like = NULL;
    for (Py_ssize_t i = 0; i < signature->given; i++) {
        if (is_exchanged(signature->kinds[i])) {
            like = args[i];
            if (result == taken[i]) {
                Py_DECREF(result);
                return Py_NewRef(args[i]);
            }
        }
    }
    if (result == NULL || !(PyTuple_Check(result) || PyList_CheckExact(result)) || !is_only_reference(result)) {
        return exchange_give(&signature->exchange, like, result);
    }
    PyObject **items = PySequence_Fast_ITEMS(result); /* a new tuple or list, which nobody else has */
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); i++) {
        PyObject *given = given_back(signature, args, taken, Py_NewRef(items[i]));
        if (given == NULL) {
            Py_DECREF(result);
            return NULL;
        }
        Py_SETREF(items[i], given);
    }
    return result;
}

/* Tell the library of the arrays that were written. Takes the reference to the result; returns it, or NULL with an
 * exception. */
static PyObject *told_of_writes(const SignatureKey *signature, PyObject *const *args, PyObject *result) {
    PyObject *written[MOST_ARGUMENTS];
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; result != NULL && i < signature->given; i++) {
        if (signature->kinds[i] == KIND_WRITTEN) {
            written[count++] = args[i];
        }
    }
    PyObject *values = result == NULL ? NULL : PyTuple_New(count);
    for (Py_ssize_t i = 0; values != NULL && i < count; i++) {
        PyTuple_SET_ITEM(values, i, Py_NewRef(written[i]));
    }
    if (result != NULL && exchange_tell_written(&signature->exchange, values) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

/* Call the kernel with arrays on the memory of those of another library. Returns what it returns, for that library;
 * NULL with `is_handled` 0 if Python has to take them. */
__attribute__((noinline)) static PyObject *call_exchanged(SignatureKey *signature, PyObject *kernel,
                                                          PyObject *const *args, int *is_handled) {
    PyObject *taken[MOST_ARGUMENTS], *result = NULL;
    Py_ssize_t count = 0;
    while (count < signature->given) {
        PyObject *value = args[count];
        taken[count] =
            is_exchanged(signature->kinds[count]) ? exchange_take(&signature->exchange, value) : Py_NewRef(value);
        if (taken[count] == NULL) {
            *is_handled = PyErr_Occurred() != NULL;
            break;
        }
        count++;
    }
    if (count == signature->given) {
        result = call_kernel(signature, kernel, taken);
        result = signature->writes ? told_of_writes(signature, args, result) : result;
        result = given_back(signature, args, taken, named(signature, result));
    }
    while (count-- > 0) {
        if (is_exchanged(signature->kinds[count])) {
            exchange_drop(&signature->exchange, taken[count]);
        } else {
            Py_DECREF(taken[count]);
        }
    }
    return result;
}

/* Call the kernel with Tensors on the arrays that are beside Tensors. Returns what it returns; NULL with `is_handled` 0
 * if Python has to wrap one: it is not dense. */
__attribute__((noinline)) static PyObject *call_mixed(const SignatureKey *signature, PyObject *kernel,
                                                      PyObject *const *args, int *is_handled) {
    PyObject *taken[MOST_ARGUMENTS], *result = NULL;
    Py_ssize_t count = 0;
    while (count < signature->given && *is_handled) {
        int is_array = signature->kinds[count] == KIND_ARRAY;
        taken[count] = is_array ? wrap(NULL, args[count]) : Py_NewRef(args[count]);
        if (taken[count] == NULL) {
            PyErr_Clear(); /* Python words it */
            *is_handled = 0;
            break;
        }
        *is_handled = !is_array || ((Tensor *)taken[count])->keys == core.dense_cpu;
        count++;
    }
    if (*is_handled) {
        result = named(signature, call_kernel(signature, kernel, taken));
    }
    while (count > 0) {
        Py_DECREF(taken[--count]);
    }
    return result;
}

/* Call the kernel for these keys. Returns what it returns; NULL with `is_handled` 0 if the table has none yet, and
 * Python has to find it. */
PyObject *signature_key_call(SignatureKey *signature, PyObject *const *args, int64_t keys, int is_mode_on,
                             int *is_handled) {
    *is_handled = 1;
    PyObject *kernel = signature->is_of_arrays && is_mode_on ? NULL : look_up(signature, keys);
    if (kernel == NULL) {
        *is_handled = PyErr_Occurred() != NULL;
        return NULL;
    }
    PyObject *result = __builtin_expect(signature->exchange.api == NULL && !signature->is_mixed, 1)
                           ? named(signature, call_kernel(signature, kernel, args))
                       : signature->is_mixed ? call_mixed(signature, kernel, args, is_handled)
                                             : call_exchanged(signature, kernel, args, is_handled);
    Py_DECREF(kernel);
    return result;
}
