/* Saved values: what nodes save of a call, and what a backward pass unpacks if nobody wrote to it.
 * `opwright.autograd.saved` handles hooks, views and subclasses, and words the errors. */

#include "fast/arrays/arrays.h"
#include "fast/configure.h"
#include "fast/interned.h"
#include "saved_values.h"
#include "fast/arrays/storage.h"

/* What `configure` is told: what Python does, the globals of `save`, which have the count of open blocks with hooks,
 * the class of saved results and where its slots are. */
static struct {
    PyObject *save, *save_result, *globals, *zero;
    PyTypeObject *result;
    Py_ssize_t array, instance, keys, number, storage, tangent, version, write;
} saving = {0};

/* Whether Python told what is needed here. */
int saving_is_ready(void) {
    return saving.save != NULL && saving.result != NULL;
}

/* Whether hooks may want to see what is saved, or the tensor must not be. Returns -1 with an exception. */
static int is_saved_by_python(Tensor *tensor) {
    PyObject *blocks = PyDict_GetItemWithError(saving.globals, interned._blocks);
    if (blocks == NULL || !PyLong_CheckExact(blocks) || tensor->keys == NULL || !PyLong_CheckExact(tensor->keys)) {
        return PyErr_Occurred() ? -1 : 1;
    }
    int overflow;
    int64_t keys = tensor->keys == core.dense_cpu ? core.dense_cpu_bits
                                                  : PyLong_AsLongLongAndOverflow(tensor->keys, &overflow);
    int64_t count = PyLong_AsLongLongAndOverflow(blocks, &overflow);
    return count != 0 || !(keys & core.autograd_bits);
}

/* Whether anybody counts writes to a tensor's memory, which `version_of` has looked at. */
static int has_storage(const Tensor *tensor) {
    return tensor->extra != Py_None && slot_at(tensor->extra, storage_slots.own) != Py_None;
}

/* Return a tensor as a node keeps it: `opwright.autograd.saved.save`. */
PyObject *save(PyObject *tensor) {
    int by_python = is_saved_by_python((Tensor *)tensor);
    if (by_python < 0) {
        return NULL;
    }
    PyObject *version = by_python ? NULL : version_of(tensor);
    if (version == NULL) {
        return PyErr_Occurred() ? NULL : PyObject_CallOneArg(saving.save, tensor);
    }
    if (!has_storage((Tensor *)tensor)) {
        Py_DECREF(version);
        return Py_NewRef(tensor);
    }
    PyObject *saved = PyTuple_New(2);
    if (saved == NULL) {
        Py_DECREF(version);
        return NULL;
    }
    PyTuple_SET_ITEM(saved, 0, Py_NewRef(tensor));
    PyTuple_SET_ITEM(saved, 1, version);
    return saved;
}

/* Return a result as Python's class keeps it. */
static PyObject *make_saved_result(const Tensor *tensor, PyObject *storage) {
    PyObject *number = PyLong_FromLong(0);
    PyObject *made = number == NULL ? NULL : saving.result->tp_alloc(saving.result, 0);
    if (made == NULL) {
        Py_XDECREF(number);
        return NULL;
    }
    replace_slot(made, saving.array, Py_NewRef(tensor->array));
    replace_slot(made, saving.instance, Py_NewRef(Py_None));
    replace_slot(made, saving.keys, Py_NewRef(tensor->keys));
    replace_slot(made, saving.number, number);
    replace_slot(made, saving.storage, Py_NewRef(storage));
    replace_slot(made, saving.tangent, Py_NewRef(Py_None));
    replace_slot(made, saving.version, Py_XNewRef(slot_at(storage, storage_slots.version)));
    replace_slot(made, saving.write, Py_NewRef(Py_None));
    return made;
}

/* Return a result as its own node keeps it: `opwright.autograd.saved.save_result`. */
PyObject *save_result(PyObject *result) {
    Tensor *tensor = (Tensor *)result;
    int by_python = is_saved_by_python(tensor);
    if (by_python < 0) {
        return NULL;
    }
    int is_plain = !by_python && Py_TYPE(result) == core.tensor && tensor->keys == core.dense_cpu_grad;
    PyObject *storage = is_plain ? storage_of(result) : NULL;
    if (storage == NULL) {
        return PyErr_Occurred() ? NULL : PyObject_CallOneArg(saving.save_result, result);
    }
    PyObject *saved = make_saved_result(tensor, storage);
    Py_DECREF(storage);
    return saved;
}

/* Whether two counts of writes are the same. */
static int are_equal(PyObject *first, PyObject *second) {
    int overflow;
    return first == second ||
           (first != NULL && second != NULL && PyLong_CheckExact(first) && PyLong_CheckExact(second) &&
            PyLong_AsLongLongAndOverflow(first, &overflow) == PyLong_AsLongLongAndOverflow(second, &overflow));
}

/* Return a result that was saved as a tensor of its memory. */
static PyObject *unpack_result(PyObject *saved) {
    PyObject *storage = slot_at(saved, saving.storage), *array = slot_at(saved, saving.array);
    int is_plain = slot_at(saved, saving.instance) == Py_None && slot_at(saved, saving.tangent) == Py_None &&
                   slot_at(saved, saving.write) == Py_None && slot_at(saved, saving.keys) == core.dense_cpu_grad;
    if (!is_plain || array == NULL || storage == NULL || !Py_IS_TYPE(storage, storage_slots.storage) ||
        !are_equal(slot_at(storage, storage_slots.version), slot_at(saved, saving.version))) {
        return NULL;
    }
    return wrap_dense(Py_NewRef(array));
}

/* Return the tensor that was saved, to compute with where nothing is recorded: a new reference. NULL without an
 * exception if Python must look. */
PyObject *unpack(PyObject *saved) {
    if (saved == NULL) {
        return NULL;
    }
    if (Py_IS_TYPE(saved, saving.result)) {
        return unpack_result(saved);
    }
    if (Py_TYPE(saved) == core.tensor) {
        PyObject *version = version_of(saved);
        int is_same = version != NULL && are_equal(version, saving.zero);
        Py_XDECREF(version);
        return is_same ? Py_NewRef(saved) : NULL;
    }
    if (!PyTuple_CheckExact(saved) || PyTuple_GET_SIZE(saved) != 2) {
        return NULL;
    }
    PyObject *tensor = PyTuple_GET_ITEM(saved, 0);
    PyObject *version = Py_TYPE(tensor) == core.tensor ? version_of(tensor) : NULL;
    int is_same = version != NULL && are_equal(version, PyTuple_GET_ITEM(saved, 1));
    Py_XDECREF(version);
    return is_same ? Py_NewRef(tensor) : NULL;
}

/* Whether a value is exactly a Tensor with keys. */
static int is_plain(PyObject *value) {
    PyObject *keys = Py_TYPE(value) == core.tensor ? ((Tensor *)value)->keys : NULL;
    return keys != NULL && PyLong_CheckExact(keys);
}

/* Whether the argument that a node saves is one that is saved here; returns 1 or 0. */
int saved_value_takes(const SavedValue *saving, PyObject *const *args) {
    if (is_of_result(saving) || saving->how == SAVE_VALUE) {
        return 1;
    }
    PyObject *value = args[saving->position];
    return is_plain(value) || (saving->how == SAVE_TENSOR && value == Py_None);
}

/* Whether an operand that gets a gradient needs what is saved; returns 1 or 0. */
static int is_needed(const SavedValue *saving, PyObject *const *args) {
    for (int position = 0; saving->needed >> position != 0; position++) {
        if (saving->needed >> position & 1 && edge_of(args[position]) != Py_None) {
            return 1;
        }
    }
    return saving->needed == 0;
}

/* Return a tensor's strides. */
static PyObject *saved_strides(PyObject *tensor) {
    PyObject *array = ((Tensor *)tensor)->array;
    int is_own = array != NULL && Py_TYPE(array) == core.array;
    return is_own ? array_strides(array) : PyObject_CallMethod(tensor, "stride", NULL);
}

/* Return what a node saves of an argument, a new reference. */
static PyObject *saved_argument(const SavedValue *saving, PyObject *const *args) {
    PyObject *value = args[saving->position];
    switch (saving->how) {
    case SAVE_TENSOR:
        if (!is_needed(saving, args)) {
            return Py_NewRef(Py_None);
        }
        return value == Py_None ? PyTuple_New(0) : save(value);
    case SAVE_SHAPE:
        return PyObject_GetAttrString(value, "shape");
    case SAVE_COUNT:
        return PyObject_CallMethod(value, "numel", NULL);
    case SAVE_STRIDES:
        return saved_strides(value);
    default:
        return Py_NewRef(value);
    }
}

/* Put a value into a slot. Takes the reference; NULL is the failure of who made it. Returns -1 with an exception. */
static int keep(const SavedValue *saving, PyObject *node, PyObject *value) {
    if (value != NULL) {
        replace_slot(node, saving->slot, value);
    }
    return value == NULL ? -1 : 0;
}

/* Save an argument. Returns -1 with an exception. */
int save_argument(const SavedValue *saving, PyObject *node, PyObject *const *args) {
    return keep(saving, node, saved_argument(saving, args));
}

/* Save a result. Returns -1 with an exception. */
int save_output(const SavedValue *saving, PyObject *node, PyObject *result) {
    return keep(saving, node, saving->how == SAVE_RESULT ? save_result(result) : save(result));
}

/* Read `(slot, how, position, needed)` of a saved value. Returns -1 with an exception. */
int saved_value_read(SavedValue *saving, PyObject *text, PyTypeObject *node, Py_ssize_t total) {
    const char *name;
    int how, position;
    unsigned int needed;
    if (!PyArg_ParseTuple(text, "siiI", &name, &how, &position, &needed)) {
        return -1;
    }
    Py_ssize_t offset = slot_offset(node, name);
    *saving = (SavedValue){offset, (unsigned char)how, (signed char)position, needed};
    if (how < SAVE_VALUE || how > SAVE_STRIDES || position < 0 || position > SCHAR_MAX || needed >> total != 0 ||
        (position >= total && !is_of_result(saving))) {
        PyErr_SetString(PyExc_ValueError, "the kernel has no such argument");
        return -1;
    }
    return offset < 0 ? -1 : 0;
}

static const SettingSlot result_slots[] = {
    {"array", &saving.array},
    {"instance", &saving.instance},
    {"keys", &saving.keys},
    {"number", &saving.number},
    {"storage", &saving.storage},
    {"tangent", &saving.tangent},
    {"version", &saving.version},
    {"write", &saving.write},
    {NULL, NULL},
};

/* Make the version of memory whose writes are not counted. Returns -1 with an exception. */
static int take_save(PyObject *save) {
    (void)save;
    saving.zero = PyLong_FromLong(0);
    return saving.zero == NULL ? -1 : 0;
}

const Setting saving_settings[] = {
    {"save", SETTING_OBJECT, &saving.save, NULL, take_save},
    {"save_result", SETTING_OBJECT, &saving.save_result, NULL, NULL},
    {"saved_globals", SETTING_DICT, &saving.globals, NULL, NULL},
    {"SavedResult", SETTING_CLASS, &saving.result, result_slots, NULL},
    NO_SETTING,
};
