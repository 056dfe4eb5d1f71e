/* What C reads and makes of Extra and Storage, where they are exactly these classes. NULL without an exception stands
 * for anything else, which the Python looks at. */

#include "fast/configure.h"
#include "storage.h"

StorageSlots storage_slots = {0};

/* Return a tensor's Extra, a new reference, made where there was none. */
PyObject *extra_of(PyObject *object) {
    Tensor *tensor = (Tensor *)object;
    if (tensor->extra == NULL) {
        return NULL;
    }
    if (tensor->extra != Py_None) {
        return Py_IS_TYPE(tensor->extra, storage_slots.extra) ? Py_NewRef(tensor->extra) : NULL;
    }
    PyObject *made = storage_slots.extra->tp_alloc(storage_slots.extra, 0);
    if (made != NULL) {
        replace_slot(made, storage_slots.own, Py_NewRef(Py_None));
        replace_slot(made, storage_slots.base, Py_NewRef(Py_None));
        replace_slot(made, storage_slots.grad, Py_NewRef(Py_None));
        Py_XSETREF(tensor->extra, Py_NewRef(made));
    }
    return made;
}

/* Return a new Storage over an array. */
static PyObject *make_storage(PyObject *array) {
    PyObject *version = PyLong_FromLong(0);
    PyObject *made = version == NULL ? NULL : storage_slots.storage->tp_alloc(storage_slots.storage, 0);
    if (made == NULL) {
        Py_XDECREF(version);
        return NULL;
    }
    replace_slot(made, storage_slots.array, Py_NewRef(array));
    replace_slot(made, storage_slots.version, version);
    replace_slot(made, storage_slots.has_detached, Py_NewRef(Py_False));
    replace_slot(made, storage_slots.has_views, Py_NewRef(Py_False));
    replace_slot(made, storage_slots.resizable, Py_NewRef(Py_True));
    replace_slot(made, storage_slots.flat, Py_NewRef(Py_None));
    replace_slot(made, storage_slots.former, PyTuple_New(0)); /* the one that there is: it cannot fail */
    return made;
}

/* Return a tensor's storage, a new reference, made where there was none. */
PyObject *storage_of(PyObject *tensor) {
    PyObject *extra = extra_of(tensor);
    PyObject *found = extra == NULL ? NULL : Py_XNewRef(slot_at(extra, storage_slots.own));
    if (found == Py_None) {
        Py_SETREF(found, make_storage(((Tensor *)tensor)->array));
        if (found != NULL) {
            replace_slot(extra, storage_slots.own, Py_NewRef(found));
        }
    }
    Py_XDECREF(extra);
    if (found != NULL && !Py_IS_TYPE(found, storage_slots.storage)) {
        Py_CLEAR(found);
    }
    return found;
}

/* Return how often a tensor's memory was written, a new reference to an int; nothing for memory that a tensor left its
 * graph with. */
PyObject *version_of(PyObject *object) {
    PyObject *extra = ((Tensor *)object)->extra;
    if (extra == Py_None) {
        return PyLong_FromLong(0);
    }
    PyObject *own = extra != NULL && Py_IS_TYPE(extra, storage_slots.extra) ? slot_at(extra, storage_slots.own) : NULL;
    if (own == Py_None) {
        return PyLong_FromLong(0);
    }
    if (own == NULL || !Py_IS_TYPE(own, storage_slots.storage) ||
        slot_at(own, storage_slots.has_detached) != Py_False) {
        return NULL;
    }
    return Py_XNewRef(slot_at(own, storage_slots.version));
}

/* Count a write to a tensor. Returns whether that was done, or -1. */
int storage_count_write(PyObject *tensor) {
    PyObject *storage = storage_of(tensor);
    PyObject *version = storage == NULL ? NULL : slot_at(storage, storage_slots.version);
    int result = PyErr_Occurred() ? -1 : 0;
    if (version != NULL && PyLong_CheckExact(version)) {
        int overflow;
        PyObject *next = PyLong_FromLongLong(PyLong_AsLongLongAndOverflow(version, &overflow) + 1);
        result = next == NULL ? -1 : 1;
        if (next != NULL) {
            replace_slot(storage, storage_slots.version, next);
        }
    }
    Py_XDECREF(storage);
    return result;
}

static const SettingSlot extra_slots[] = {
    {"base", &storage_slots.base},
    {"grad", &storage_slots.grad},
    {"storage", &storage_slots.own},
    {"seen", &storage_slots.seen},
    {"creation", &storage_slots.creation},
    {NULL, NULL},
};

static const SettingSlot memory_slots[] = {
    {"array", &storage_slots.array},
    {"version", &storage_slots.version},
    {"has_detached", &storage_slots.has_detached},
    {"has_views", &storage_slots.has_views},
    {"former", &storage_slots.former},
    {"resizable", &storage_slots.resizable},
    {"_flat", &storage_slots.flat},
    {NULL, NULL},
};

const Setting storage_settings[] = {
    {"Extra", SETTING_CLASS, &storage_slots.extra, extra_slots, NULL},
    {"Storage", SETTING_CLASS, &storage_slots.storage, memory_slots, NULL},
    NO_SETTING,
};
