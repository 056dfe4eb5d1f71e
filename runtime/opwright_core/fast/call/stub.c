/* Stub: what users call for an overload or a name. It caches signature keys: a call of one that is cached goes to its
 * kernel at once.
 *
 * The generated Python function handles any other call: it converts, words errors and finds kernels. Then `plan` is
 * asked for the call's signature, a few times at most, and for calls with the same types that have none fewer times:
 * what one user calls with arrays that Python takes does not make another's calls slow. */

#include "callable.h"
#include "signature_key.h"
#include "modes.h"

#define MOST_SIGNATURES 6
#define MOST_FILLS 64
#define MOST_REFUSALS 8 /* of calls with the same types */
#define KEPT_REFUSALS 4

/* How often calls with the same types had no signature. */
typedef struct {
    uintptr_t types; /* 0: none */
    int count;
} Refusals;

typedef struct {
    Callable base;
    PyObject *plan; /* `plan(args, kwargs)` returns what `signature_key_new` takes, or None */
    int signatures_count;
    int fills_left;
    int oldest_refusals;
    Refusals refusals[KEPT_REFUSALS];
    SignatureKey *signatures[MOST_SIGNATURES];
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

/* Return the arguments by position as a tuple, a new reference. */
static PyObject *positional_arguments(PyObject *const *values, Py_ssize_t count) {
    PyObject *found = PyTuple_New(count);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        PyTuple_SET_ITEM(found, i, Py_NewRef(values[i]));
    }
    return found;
}

/* Ask Python for the signature of a call that it handled. Returns None if it has none, NULL with an exception. */
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

/* Return the refusals of calls with the types of these arguments: the oldest are forgotten for new ones. */
static Refusals *refusals_of(Stub *stub, PyObject *const *args, Py_ssize_t positional, PyObject *names) {
    uintptr_t types = 1;
    const Py_ssize_t count = positional + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    for (Py_ssize_t i = 0; i < count; i++) {
        types = types * 31 + ((uintptr_t)Py_TYPE(args[i]) >> 4);
    }
    for (int i = 0; i < KEPT_REFUSALS; i++) {
        if (stub->refusals[i].types == types) {
            return &stub->refusals[i];
        }
    }
    Refusals *found = &stub->refusals[stub->oldest_refusals++ % KEPT_REFUSALS];
    *found = (Refusals){types, 0};
    return found;
}

/* Cache the signature of a call that Python handled. Returns -1 for an interrupt: after any other error the call has
 * none. */
static int fill_cache(Stub *stub, PyObject *const *args, Py_ssize_t positional, PyObject *names) {
    if (stub->signatures_count == MOST_SIGNATURES || stub->fills_left == 0) {
        return 0;
    }
    Refusals *refusals = refusals_of(stub, args, positional, names);
    if (refusals->count == MOST_REFUSALS) {
        return 0;
    }
    refusals->count++;
    stub->fills_left--;
    SignatureKey *signature = NULL;
    PyObject *plan = ask_for_plan(stub, args, positional, names);
    if (plan != NULL && plan != Py_None) {
        signature = signature_key_new(names, positional, plan);
    }
    Py_XDECREF(plan);
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return -1;
        }
        PyErr_Clear();
    }
    if (signature == NULL) {
        return 0;
    }
    if (stub->signatures_count == MOST_SIGNATURES) { /* another thread, meanwhile */
        signature_key_free(signature);
    } else {
        stub->signatures[stub->signatures_count++] = signature;
    }
    return 0;
}

/* Return the number of the cached signature that a call has, or -1. */
static int find_signature(const Stub *stub, PyObject *const *args, Py_ssize_t positional, PyObject *names,
                          int64_t *keys) {
    for (int i = 0; i < stub->signatures_count; i++) {
        if (signature_key_matches(stub->signatures[i], args, positional, names, keys)) {
            return i;
        }
    }
    return -1;
}

/* Call the kernel by the cached signature, or the generated function, and cache the signature of that call. Returns
 * what that returns. */
static PyObject *stub_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    Stub *stub = (Stub *)self;
    Py_ssize_t positional = PyVectorcall_NARGS(flagged);
    int64_t keys = 0;
    int at = find_signature(stub, args, positional, names, &keys);
    if (at >= 0) {
        int is_mode_on, is_handled;
        if (apply_modes(&keys, &is_mode_on) < 0) {
            return NULL;
        }
        PyObject *result = signature_key_call(stub->signatures[at], args, keys, is_mode_on, &is_handled);
        if (is_handled) {
            return result;
        }
    }
    PyObject *result = PyObject_Vectorcall(stub->base.function, args, flagged, names);
    if (result != NULL && at < 0 && fill_cache(stub, args, positional, names) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

/* Visit what the signatures hold. Returns what `visit` returns. */
static int stub_traverse(PyObject *self, visitproc visit, void *arg) {
    Stub *stub = (Stub *)self;
    for (int i = 0; i < stub->signatures_count; i++) {
        int result = signature_key_traverse(stub->signatures[i], visit, arg);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

/* Empty the cache, and fill it no more. Returns 0. */
static int stub_clear(PyObject *self) {
    Stub *stub = (Stub *)self;
    Py_CLEAR(stub->plan);
    stub->fills_left = 0;
    while (stub->signatures_count > 0) {
        SignatureKey *signature = stub->signatures[--stub->signatures_count];
        signature_key_free(signature);
    }
    return 0;
}

/* Allow a new stub to fill its cache. Returns 0. */
static int stub_init(PyObject *self, PyObject *const *args) {
    (void)args;
    ((Stub *)self)->fills_left = MOST_FILLS;
    return 0;
}

static const Field stub_fields[] = {
    {"plan", FIELD_OBJECT, offsetof(Stub, plan)},
    {NULL, FIELD_OBJECT, 0},
};

static const PyMemberDef stub_members[] = {
    {"signatures", T_INT, offsetof(Stub, signatures_count), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

CallableType stub_type = {
    .name = "opwright_core._fast.Stub",
    .size = sizeof(Stub),
    .flags = Py_TPFLAGS_METHOD_DESCRIPTOR,
    .call = stub_call,
    .fields = stub_fields,
    .init = stub_init,
    .traverse = stub_traverse,
    .clear = stub_clear,
    .members = stub_members,
};
