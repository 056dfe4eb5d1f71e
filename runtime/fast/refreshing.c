/* Views that are recorded: `Refreshing`, what serves calls with views, and `mark_view`, which notes how one was made. Note
 * [Histories of views] in `opwright.autograd.recording` says what is found out; what is out of date is found there. */

#include "keeping.h"
#include "storage.h"

/* A recording kernel for calls with views; `function` is the Python that brings these up to date. */
typedef struct {
    Function base;
    PyObject *kernel;
    PyObject *below;
    int count;
    signed char places[MOST_ARGUMENTS]; /* of tensors, and lists of them */
} Refreshing;

/* What `configure_refreshing` is told. */
static struct {
    PyTypeObject *no_history;
    PyObject *no_grad, *inference_mode, *several;
    int64_t view_bit, grad_bit, inference_bit;
} refreshing = {0};

static int refreshing_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Refreshing *)self)->kernel);
    Py_VISIT(((Refreshing *)self)->below);
    return function_traverse(self, visit, arg);
}

static void refreshing_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((Refreshing *)self)->kernel);
    Py_CLEAR(((Refreshing *)self)->below);
    (void)function_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

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
    if (tensor->extra == Py_None || !(PyLong_AsLongLongAndOverflow(tensor->keys, &overflow) & refreshing.view_bit)) {
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
        !Py_IS_TYPE(own, storage_slots.storage) || Py_IS_TYPE(edge_of((PyObject *)tensor), refreshing.no_history)) {
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

/* Refreshing(function, kernel, below, places of tensors in their order) */
static PyObject *refreshing_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *kernel, *below, *places;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "Refreshing() takes its arguments by position");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OOOO!:Refreshing", &function, &kernel, &below, &PyTuple_Type, &places)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(places) > MOST_ARGUMENTS || refreshing.no_history == NULL) {
        PyErr_SetString(PyExc_ValueError, "configure_refreshing comes first, and no kernel takes so many tensors");
        return NULL;
    }
    Refreshing *made = (Refreshing *)type->tp_alloc(type, 0);
    if (made == NULL) {
        return NULL;
    }
    made->base.call = refreshing_call;
    made->base.function = Py_NewRef(function);
    made->kernel = Py_NewRef(kernel);
    made->below = Py_NewRef(below);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(places); i++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(places, i));
        if (place < 0 || place > SCHAR_MAX) {
            Py_DECREF(made);
            return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "no argument has place %ld", place);
        }
        made->places[made->count++] = (signed char)place;
    }
    return (PyObject *)made;
}

/* Say why a recorded call must not write to views made now, borrowed; NULL where it may. Returns -1 with an exception. */
static int creation_of_modes(PyObject **creation) {
    int64_t keys = refreshing.grad_bit;
    int is_on;
    *creation = NULL;
    if (apply_modes(&keys, &is_on) < 0) {
        return -1;
    }
    if (is_on && keys & refreshing.inference_bit) {
        *creation = refreshing.inference_mode;
    } else if (is_on && !(keys & refreshing.grad_bit)) {
        *creation = refreshing.no_grad;
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
        if (!mark(PyList_GET_ITEM(views, i), creation == NULL ? refreshing.several : creation)) {
            PyErr_SetString(PyExc_TypeError, "a view is a Tensor");
            return NULL;
        }
    }
    return Py_NewRef(views);
}

/* configure_refreshing(NoHistory, VIEW, GRAD, INFERENCE, what views say that were made without records, in inference
 * mode, several by one call) */
PyObject *configure_refreshing(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *no_history, *no_grad, *inference_mode, *several;
    long long view, grad, inference;
    if (!PyArg_ParseTuple(
            args, "O!LLLUUU:configure_refreshing", &PyType_Type, &no_history, &view, &grad, &inference, &no_grad,
            &inference_mode, &several)) {
        return NULL;
    }
    refreshing.no_grad = Py_NewRef(no_grad);
    refreshing.inference_mode = Py_NewRef(inference_mode);
    refreshing.several = Py_NewRef(several);
    refreshing.view_bit = view;
    refreshing.grad_bit = grad;
    refreshing.inference_bit = inference;
    refreshing.no_history = (PyTypeObject *)Py_NewRef(no_history);
    Py_RETURN_NONE;
}

static PyType_Slot refreshing_slots[] = {
    {Py_tp_new, refreshing_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, refreshing_traverse},
    {Py_tp_dealloc, refreshing_dealloc},
    {Py_tp_getattro, function_getattro},
    {Py_tp_setattro, function_setattro},
    {Py_tp_repr, function_repr},
    {Py_tp_getset, function_getset},
    {Py_tp_methods, function_methods},
    {Py_tp_members, function_members},
    {0, NULL},
};

static PyType_Spec refreshing_spec = {
    .name = "opwright._fast.Refreshing",
    .basicsize = sizeof(Refreshing),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = refreshing_slots,
};

PyTypeObject *make_refreshing_type(PyObject *module) {
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &refreshing_spec, NULL);
}
