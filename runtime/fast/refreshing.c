/* Views that are recorded: `Refreshing`, what serves calls with views, and `mark_view`, which notes how one was made. Note
 * [Histories of views] in `opwright.autograd.recording` says what is found out; what is out of date is found there. */

#include "callable.h"
#include "configure.h"
#include "history.h"
#include "interned.h"
#include "modes.h"
#include "storage.h"

/* A recording kernel for calls with views; `function` is the Python that brings these up to date. */
typedef struct {
    Callable base;
    PyObject *kernel;
    PyObject *below;
    int count;
    signed char places[MOST_ARGUMENTS]; /* of tensors, and lists of them */
} Refreshing;

/* What `configure` is told. */
static PyTypeObject *no_history = NULL;

/* Whether two counts of writes are surely the same. */
static int are_equal(PyObject *first, PyObject *second) {
    int overflow;
    return first != NULL && second != NULL && PyLong_CheckExact(first) && PyLong_CheckExact(second) &&
           PyLong_AsLongLongAndOverflow(first, &overflow) == PyLong_AsLongLongAndOverflow(second, &overflow);
}

/* Whether the history of a Tensor is surely up to date: it is no view, nobody wrote to its memory since it was noted, and
 * it requires grad as its base does. */
static int is_up_to_date(const Tensor *tensor) {
    int overflow;
    if (tensor->keys == NULL || !PyLong_CheckExact(tensor->keys) || tensor->extra == NULL) {
        return 0;
    }
    if (tensor->extra == Py_None || !(PyLong_AsLongLongAndOverflow(tensor->keys, &overflow) & core.view_bits)) {
        return 1;
    }
    if (!Py_IS_TYPE(tensor->extra, storage_slots.extra)) {
        return 0;
    }
    PyObject *base = slot_at(tensor->extra, storage_slots.base), *own = slot_at(tensor->extra, storage_slots.own);
    if (base == Py_None || own == Py_None) {
        return 1;
    }
    if (base == NULL || !PyObject_TypeCheck(base, core.tensor) || own == NULL ||
        !Py_IS_TYPE(own, storage_slots.storage) || Py_IS_TYPE(edge_of((PyObject *)tensor), no_history)) {
        return 0;
    }
    int has_edge = edge_of((PyObject *)tensor) != Py_None, has_base_edge = edge_of(base) != Py_None;
    return has_edge == has_base_edge &&
           (!has_edge || are_equal(slot_at(own, storage_slots.version), slot_at(tensor->extra, storage_slots.seen)));
}

/* Look at a tensor, or None: 1 where it is recorded, 0 where it is not, -1 where the Python has to look. */
static int look_at(PyObject *value) {
    if (value == Py_None) {
        return 0;
    }
    if (Py_TYPE(value) != core.tensor || !is_up_to_date((Tensor *)value)) {
        return -1;
    }
    return edge_of(value) != Py_None;
}

/* Look at all tensors of a call. */
static int look_at_all(const Refreshing *own, PyObject *const *args) {
    int found = 0;
    for (int i = 0; i < own->count; i++) {
        PyObject *value = args[own->places[i]];
        int is_list = PyList_CheckExact(value);
        Py_ssize_t size = is_list ? PyList_GET_SIZE(value) : 1;
        for (Py_ssize_t j = 0; j < size; j++) {
            int each = look_at(is_list ? PyList_GET_ITEM(value, j) : value);
            if (each < 0) {
                return -1;
            }
            found |= each;
        }
    }
    return found;
}

static PyObject *refreshing_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const Refreshing *own = (Refreshing *)self;
    Py_ssize_t count = PyVectorcall_NARGS(flagged);
    int found = names == NULL && (own->count == 0 || own->places[own->count - 1] < count) ? look_at_all(own, args) : -1;
    PyObject *called = found < 0 ? own->base.function : found ? own->kernel : own->below;
    return PyObject_Vectorcall(called, args, flagged, names);
}

/* Say why a recorded call must not write to views made now, borrowed; NULL where it may. Returns -1 with an exception. */
static int creation_of_modes(PyObject **creation) {
    int64_t keys = core.grad_bits;
    int is_on;
    *creation = NULL;
    if (apply_modes(&keys, &is_on) < 0) {
        return -1;
    }
    if (is_on && keys & core.inference_bits) {
        *creation = interned.inference_mode;
    } else if (is_on && !(keys & core.grad_bits)) {
        *creation = interned.no_grad;
    }
    return 0;
}

/* Note on a view why it must not be written to. Whether it is one that this is noted on here. */
static int mark(PyObject *view, PyObject *creation) {
    PyObject *extra = PyObject_TypeCheck(view, core.tensor) ? ((Tensor *)view)->extra : NULL;
    if (extra == Py_None) {
        return 1;
    }
    if (extra == NULL || !Py_IS_TYPE(extra, storage_slots.extra)) {
        return 0;
    }
    if (creation != NULL) {
        replace_slot(extra, storage_slots.creation, Py_NewRef(creation));
    }
    return 1;
}

/* mark_view(view) */
PyObject *mark_view(PyObject *module, PyObject *view) {
    (void)module;
    PyObject *creation;
    if (creation_of_modes(&creation) < 0) {
        return NULL;
    }
    if (!mark(view, creation)) {
        PyErr_SetString(PyExc_TypeError, "a view is a Tensor");
        return NULL;
    }
    return Py_NewRef(view);
}

/* mark_views(list): of one call, which must not be written to alone. */
PyObject *mark_views(PyObject *module, PyObject *views) {
    (void)module;
    PyObject *creation;
    if (creation_of_modes(&creation) < 0) {
        return NULL;
    }
    if (!PyList_CheckExact(views)) {
        PyErr_SetString(PyExc_TypeError, "views are a list");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(views); i++) {
        if (!mark(PyList_GET_ITEM(views, i), creation == NULL ? interned.several : creation)) {
            PyErr_SetString(PyExc_TypeError, "a view is a Tensor");
            return NULL;
        }
    }
    return Py_NewRef(views);
}

const Setting refreshing_settings[] = {
    {"NoHistory", SETTING_CLASS, &no_history, NULL, NULL},
    NO_SETTING,
};

/* Take the places of the tensors, in their order. Returns -1 with an exception. */
static int refreshing_init(PyObject *self, PyObject *const *args) {
    Refreshing *made = (Refreshing *)self;
    PyObject *places = args[3];
    if (PyTuple_GET_SIZE(places) > MOST_ARGUMENTS || no_history == NULL) {
        PyErr_SetString(PyExc_ValueError, "configure comes first, and no kernel takes so many tensors");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(places); i++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(places, i));
        if (place < 0 || place > SCHAR_MAX) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_ValueError, "no argument has place %ld", place);
            }
            return -1;
        }
        made->places[made->count++] = (signed char)place;
    }
    return 0;
}

static const Field refreshing_fields[] = {
    {"kernel", FIELD_OBJECT, offsetof(Refreshing, kernel)},
    {"below", FIELD_OBJECT, offsetof(Refreshing, below)},
    {"places", FIELD_TUPLE, 0},
    {NULL, FIELD_OBJECT, 0},
};

CallableType refreshing_type = {
    .name = "opwright._fast.Refreshing",
    .size = sizeof(Refreshing),
    .call = refreshing_call,
    .fields = refreshing_fields,
    .init = refreshing_init,
};
