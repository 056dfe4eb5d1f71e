/* Recorded writes in place: `rebase_history`, and `ViewSpec`, where in its base a view lies that was written to.
 * `opwright.autograd.recording` and its `views` handle hooks, and views that are laid out in another way. */

#include "fast/arrays/arrays.h"
#include "fast/configure.h"
#include "history.h"
#include "fast/arrays/numpy_api.h"
#include "fast/arrays/storage.h"

/* A view whose elements do not meet, of a base that is its memory row by row. */
typedef struct {
    PyObject_VAR_HEAD
    int ndim, view_ndim;
    npy_intp offset;  /* of the view's first element, in elements */
    npy_intp sizes[]; /* the base's shape, the view's shape, the view's strides in elements */
} ViewSpec;

static PyTypeObject *view_spec_type = NULL;

/* What `configure` is told. */
static struct {
    PyObject *rebase;
    PyTypeObject *write, *after;
    Py_ssize_t write_fn, write_spec, after_spec;
} told = {0};

/* Return the view's shape. */
static const npy_intp *view_shape(const ViewSpec *spec) {
    return spec->sizes + spec->ndim;
}

/* Return the view's strides in elements. */
static const npy_intp *view_strides(const ViewSpec *spec) {
    return spec->sizes + spec->ndim + spec->view_ndim;
}

/* Free an instance. */
static void view_spec_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Whether two indices of a view surely reach two elements: each dimension steps over what those of smaller steps take.
 */
static int are_apart(const ViewSpec *spec) {
    const npy_intp *shape = view_shape(spec), *strides = view_strides(spec);
    npy_intp reach = 0;
    int left = 0;
    for (int i = 0; i < spec->view_ndim; i++) {
        left += shape[i] > 1;
    }
    for (; left > 0; left--) {
        int next = -1; /* of the steps beyond what was reached, the smallest */
        for (int i = 0; i < spec->view_ndim; i++) {
            if (shape[i] > 1 && strides[i] > reach && (next < 0 || strides[i] < strides[next])) {
                next = i;
            }
        }
        if (next < 0) {
            return 0;
        }
        reach += (shape[next] - 1) * strides[next];
    }
    return 1;
}

/* Return the spec of a view in a base, a new reference; NULL without an exception if it has none. */
static PyObject *view_spec_of(PyArrayObject *base, PyArrayObject *view) {
    const npy_intp size = PyArray_ITEMSIZE(base), way = PyArray_BYTES(view) - PyArray_BYTES(base);
    const int ndim = PyArray_NDIM(base), view_ndim = PyArray_NDIM(view);
    if (PyArray_DESCR(base) != PyArray_DESCR(view) || !array_is_dense((PyObject *)base) || PyArray_SIZE(view) == 0 ||
        way < 0 || way % size != 0) {
        return NULL;
    }
    ViewSpec *made = (ViewSpec *)view_spec_type->tp_alloc(view_spec_type, ndim + 2 * view_ndim);
    if (made == NULL) {
        return NULL;
    }
    made->ndim = ndim;
    made->view_ndim = view_ndim;
    made->offset = way / size;
    memcpy(made->sizes, PyArray_DIMS(base), (size_t)ndim * sizeof(npy_intp));
    npy_intp last = made->offset, is_within = 1;
    for (int i = 0; i < view_ndim; i++) {
        npy_intp stride = PyArray_STRIDE(view, i);
        is_within = is_within && stride >= 0 && stride % size == 0;
        made->sizes[ndim + i] = PyArray_DIM(view, i);
        made->sizes[ndim + view_ndim + i] = stride / size;
        last += (PyArray_DIM(view, i) - 1) * (stride / size);
    }
    if (!is_within || last >= PyArray_SIZE(base) || !are_apart(made)) {
        Py_CLEAR(made);
    }
    return (PyObject *)made;
}

/* ViewSpec.part(array): return the view's elements of an array laid out as the base. */
static PyObject *view_spec_part(PyObject *self, PyObject *object) {
    const ViewSpec *spec = (ViewSpec *)self;
    PyArrayObject *array = (PyArrayObject *)object;
    if (Py_TYPE(object) != core.array || PyArray_NDIM(array) != spec->ndim || !array_is_dense(object) ||
        memcmp(PyArray_DIMS(array), spec->sizes, (size_t)spec->ndim * sizeof(npy_intp)) != 0) {
        PyErr_SetString(PyExc_ValueError, "the array is not laid out as the base");
        return NULL;
    }
    npy_intp strides[NPY_MAXDIMS], size = PyArray_ITEMSIZE(array);
    for (int i = 0; i < spec->view_ndim; i++) {
        strides[i] = view_strides(spec)[i] * size;
    }
    PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR(array)); /* which the next call takes */
    PyObject *made = PyArray_NewFromDescr(
        core.array, dtype, spec->view_ndim, view_shape(spec), strides,
        PyArray_BYTES(array) + spec->offset * size, PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
    if (made != NULL && PyArray_SetBaseObject((PyArrayObject *)made, Py_NewRef(object)) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* ViewSpec.described(): return the base's shape, and the view's shape, strides and offset. */
static PyObject *view_spec_described(PyObject *self, PyObject *unused) {
    (void)unused;
    const ViewSpec *spec = (ViewSpec *)self;
    return Py_BuildValue(
        "NNNn", PyArray_IntTupleFromIntp(spec->ndim, spec->sizes),
        PyArray_IntTupleFromIntp(spec->view_ndim, view_shape(spec)),
        PyArray_IntTupleFromIntp(spec->view_ndim, view_strides(spec)), spec->offset);
}

/* Whether nothing but the graph depends on the node at an edge: it has neither hooks nor `retain_grad`. Returns 1 or 0.
 * */
static int is_quiet(PyObject *edge) {
    if (edge == NULL || edge == Py_None) {
        return edge != NULL;
    }
    PyObject *node = PyTuple_CheckExact(edge) && PyTuple_GET_SIZE(edge) == 2 ? PyTuple_GET_ITEM(edge, 0) : edge;
    return is_node(node) && ((Node *)node)->extra == Py_None;
}

/* Return the base of a tensor, borrowed: None where it is no view; NULL if Python must look. */
static PyObject *base_of(const Tensor *tensor) {
    if (tensor->extra == Py_None) {
        return Py_None;
    }
    return tensor->extra != NULL && Py_IS_TYPE(tensor->extra, storage_slots.extra)
               ? slot_at(tensor->extra, storage_slots.base)
               : NULL;
}

/* Whether a tensor may get another history here. */
static int is_common(PyObject *object) {
    const Tensor *tensor = (Tensor *)object;
    return Py_TYPE(object) == core.tensor && tensor->array != NULL && Py_TYPE(tensor->array) == core.array &&
           array_is_inexact(tensor->array) == 1 && tensor->keys != NULL && PyLong_CheckExact(tensor->keys) &&
           is_quiet(tensor->edge);
}

/* Whether a base is no view itself, and has the storage of its view. */
static int is_base_of(PyObject *object, const Tensor *view) {
    PyObject *extra = ((Tensor *)object)->extra;
    int overflow;
    if (extra == NULL || !Py_IS_TYPE(extra, storage_slots.extra)) {
        return 0;
    }
    PyObject *storage = slot_at(extra, storage_slots.own);
    return storage != NULL && storage != Py_None && storage == slot_at(view->extra, storage_slots.own) &&
           !(PyLong_AsLongLongAndOverflow(((Tensor *)object)->keys, &overflow) & core.view_bits) && !overflow;
}

/* Return the node of a base that a view was written to: its edges are the base's, and those of the write but the first.
 */
static PyObject *make_write(const Tensor *base, PyObject *fn, PyObject *spec) {
    Edges edges;
    if (edges_hold(fn, &edges) < 0) {
        return NULL;
    }
    PyObject *made = told.write->tp_alloc(told.write, 0);
    if (made != NULL) {
        const Py_ssize_t count = edges.count > 0 ? edges.count : 1;
        PyObject **items = ((Node *)made)->few;
        if (count > MOST_INLINE_EDGES) {
            ((Node *)made)->edges = PyTuple_New(count);
            items = ((Node *)made)->edges == NULL ? NULL : &PyTuple_GET_ITEM(((Node *)made)->edges, 0);
        }
        for (Py_ssize_t i = 0; items != NULL && i < count; i++) {
            items[i] = Py_NewRef(i == 0 ? base->edge : edges.items[i]);
        }
        replace_slot(made, told.write_fn, Py_NewRef(fn));
        replace_slot(made, told.write_spec, Py_NewRef(spec));
        if (items == NULL) {
            Py_CLEAR(made);
        }
    }
    edges_drop(&edges);
    return made;
}

/* Return the node of a view after a write to it. */
static PyObject *make_after(PyObject *write, PyObject *spec) {
    PyObject *made = told.after->tp_alloc(told.after, 0);
    if (made != NULL) {
        ((Node *)made)->few[0] = Py_NewRef(write);
        replace_slot(made, told.after_spec, Py_NewRef(spec));
    }
    return made;
}

/* Give a base and its view their histories after a write to the view. Returns 0 if Python must do it, -1 with an
 * exception. */
static int rebase_view(Tensor *view, Tensor *base, PyObject *fn) {
    PyObject *spec = view_spec_of((PyArrayObject *)base->array, (PyArrayObject *)view->array);
    PyObject *write = spec == NULL ? NULL : make_write(base, fn, spec);
    PyObject *after = write == NULL ? NULL : make_after(write, spec);
    int result = PyErr_Occurred() ? -1 : 0;
    if (after != NULL) {
        int failed = describe_node((Node *)fn, view->array) < 0 || note_history(base, write) < 0 ||
                     note_history(view, after) < 0;
        note_version(view);
        result = failed ? -1 : 1;
    }
    Py_XDECREF(spec);
    Py_XDECREF(write);
    Py_XDECREF(after);
    return result;
}

/* rebase_history(tensor, node): note a write in place on the tensor and its base. Returns the tensor. */
PyObject *rebase_history(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    int done = 0;
    if (count == 2 && is_common(args[0]) && is_node(args[1])) {
        Tensor *tensor = (Tensor *)args[0];
        PyObject *base = base_of(tensor);
        if (base == Py_None) {
            done = note_history(tensor, args[1]) < 0 ? -1 : 1;
        } else if (base != NULL && is_common(base) && is_base_of(base, tensor)) {
            Py_INCREF(base); /* which the view alone may hold */
            done = rebase_view(tensor, (Tensor *)base, args[1]);
            Py_DECREF(base);
        }
    }
    if (done < 0) {
        return NULL;
    }
    return done ? Py_NewRef(args[0]) : PyObject_Vectorcall(told.rebase, args, (size_t)count, NULL);
}

static const SettingSlot write_slots[] = {
    {"fn", &told.write_fn},
    {"spec", &told.write_spec},
    {NULL, NULL},
};

static const SettingSlot after_slots[] = {
    {"spec", &told.after_spec},
    {NULL, NULL},
};

const Setting rebase_settings[] = {
    {"rebase_history", SETTING_OBJECT, &told.rebase, NULL, NULL},
    {"WriteToView", SETTING_CLASS, &told.write, write_slots, NULL},
    {"ViewOfBase", SETTING_CLASS, &told.after, after_slots, NULL},
    NO_SETTING,
};

static PyMethodDef view_spec_methods[] = {
    {"part", view_spec_part, METH_O, "Return the view's elements of an array laid out as the base."},
    {"described", view_spec_described, METH_NOARGS, "Return the base's shape, and the view's shape, strides, offset."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot view_spec_slots[] = {
    {Py_tp_doc, "Where in its base a view lies."},
    {Py_tp_dealloc, view_spec_dealloc},
    {Py_tp_methods, view_spec_methods},
    {0, NULL},
};

static PyType_Spec view_spec_spec = {
    .name = "opwright_core._fast.ViewSpec",
    .basicsize = sizeof(ViewSpec),
    .itemsize = sizeof(npy_intp),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = view_spec_slots,
};

/* Make the type. Returns a new reference, or NULL with an exception. */
PyTypeObject *make_view_spec_type(PyObject *module) {
    view_spec_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &view_spec_spec, NULL);
    return view_spec_type;
}
