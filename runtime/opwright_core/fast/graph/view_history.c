/* The history of views: `ViewRecorder`, a recording kernel for calls with views, and `mark_view`, which notes how a
 * view was made. Note [Histories of views] in `opwright.autograd.recording` says what is found out; Python regenerates
 * an outdated grad_fn. */

#include "fast/call/callable.h"
#include "fast/configure.h"
#include "history.h"
#include "fast/interned.h"
#include "fast/call/modes.h"
#include "fast/arrays/storage.h"

/* A recording kernel for calls with views; `function` is the Python that brings these up to date. */
typedef struct {
    Callable base;
    PyObject *kernel;
    PyObject *below;
    int count;
    signed char positions[MOST_ARGUMENTS]; /* of tensors, and lists of them */
} ViewRecorder;

/* What `configure` is told. */
static PyTypeObject *no_history = NULL;

/* Whether two counts of writes are surely the same. */
static int are_equal(PyObject *first, PyObject *second) {
    int overflow;
    return first != NULL && second != NULL && PyLong_CheckExact(first) && PyLong_CheckExact(second) &&
           PyLong_AsLongLongAndOverflow(first, &overflow) == PyLong_AsLongLongAndOverflow(second, &overflow);
}

/* Whether the history of a Tensor is surely up to date: it is no view, nobody wrote to its memory since it was noted,
 * and it requires grad as its base does. */
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

/* Look at a tensor, or None. Returns 1 if it is recorded, 0 if not, -1 if Python has to look. */
static int look_at(PyObject *value) {
    if (value == Py_None) {
        return 0;
    }
    if (Py_TYPE(value) != core.tensor || !is_up_to_date((Tensor *)value)) {
        return -1;
    }
    return edge_of(value) != Py_None;
}

/* Look at all tensors of a call. Returns 1 if one is recorded, 0 if none is, -1 if Python has to look. */
static int look_at_all(const ViewRecorder *own, PyObject *const *args) {
    int found = 0;
    for (int i = 0; i < own->count; i++) {
        PyObject *value = args[own->positions[i]];
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

/* Call the recording kernel if a tensor is recorded, the kernel below if none is; the Python if a history may be out of
 * date. Returns what that returns. */
static PyObject *view_recorder_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const ViewRecorder *own = (ViewRecorder *)self;
    Py_ssize_t count = PyVectorcall_NARGS(flagged);
    int found =
        names == NULL && (own->count == 0 || own->positions[own->count - 1] < count) ? look_at_all(own, args) : -1;
    PyObject *called = found < 0 ? own->base.function : found ? own->kernel : own->below;
    return PyObject_Vectorcall(called, args, flagged, names);
}

/* Say why a recorded call must not write to views made now, borrowed; NULL where it may. Returns -1 with an exception.
 */
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

/* Note on a view why it must not be written to. Returns 1, or 0 if this is no tensor to note it on. */
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

/* mark_view(view): note how a view was made. Returns the view. */
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

/* mark_views(list): note how the views of one call were made, which must not be written to alone. Returns the list. */
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

const Setting view_history_settings[] = {
    {"NoHistory", SETTING_CLASS, &no_history, NULL, NULL},
    NO_SETTING,
};

/* Read the positions of the tensors, in their order. Returns -1 with an exception. */
static int view_recorder_init(PyObject *self, PyObject *const *args) {
    ViewRecorder *made = (ViewRecorder *)self;
    PyObject *positions = args[3];
    if (PyTuple_GET_SIZE(positions) > MOST_ARGUMENTS || no_history == NULL) {
        PyErr_SetString(PyExc_ValueError, "configure comes first, and no kernel takes so many tensors");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positions); i++) {
        long position = PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
        if (position < 0 || position > SCHAR_MAX) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_ValueError, "no argument has position %ld", position);
            }
            return -1;
        }
        made->positions[made->count++] = (signed char)position;
    }
    return 0;
}

static const Field view_recorder_fields[] = {
    {"kernel", FIELD_OBJECT, offsetof(ViewRecorder, kernel)},
    {"below", FIELD_OBJECT, offsetof(ViewRecorder, below)},
    {"positions", FIELD_TUPLE, 0},
    {NULL, FIELD_OBJECT, 0},
};

CallableType view_recorder_type = {
    .name = "opwright_core._fast.ViewRecorder",
    .size = sizeof(ViewRecorder),
    .call = view_recorder_call,
    .fields = view_recorder_fields,
    .init = view_recorder_init,
};
