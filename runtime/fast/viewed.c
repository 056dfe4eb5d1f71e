/* Viewed: a view kernel. Where in the memory of its array a view, or each of several, lies depends on what a kept plan
 * depends on. So a call of a known key makes the views at once. Anything else is the general shim's. */

#include "arrays.h"
#include "callable.h"
#include "modes.h"
#include "numpy_api.h"
#include "plan_key.h"
#include "tensor.h"

typedef struct {
    Callable base;
    PyObject *wrap; /* `wrap(base, array, odd)` */
    PyObject *odd;  /* the bit of tensors that are not simple */
    Py_ssize_t total;
    char kinds[MOST_ARGUMENTS + 1];
    int is_list; /* of views */
    int is_method; /* called by users: with tensors of any keys, whatever modes are on */
    PlanTable table;
} Viewed;

/* Whether a view can be made again from where it lies in its array: both have elements, and may be written to alike. (What
 * a composite copied lies apart.) */
static int is_within(PyArrayObject *array, PyArrayObject *view) {
    int flags = PyArray_FLAGS(array) ^ PyArray_FLAGS(view);
    return PyArray_SIZE(array) > 0 && PyArray_SIZE(view) > 0 && PyArray_NDIM(view) <= MOST_DIMS &&
           !(flags & NPY_ARRAY_WRITEABLE) && !PyTypeNum_ISFLEXIBLE(PyArray_TYPE(view)) && view != array &&
           !arrays_are_apart((PyObject *)array, (PyObject *)view);
}

/* Note where a view lies in `array`. Returns 0 where it cannot be made again, -1 with an exception. */
static int note(const Viewed *viewed, PlanEntry *entry, PyArrayObject *array, PyObject *result) {
    PyObject *own = Py_TYPE(result) == core.tensor ? ((Tensor *)result)->array : NULL;
    if (own == NULL || Py_TYPE(own) != core.array || !is_within(array, (PyArrayObject *)own)) {
        return 0;
    }
    PyArrayObject *view = (PyArrayObject *)own;
    PlannedResult *found = &entry->results[entry->results_count++];
    found->ndim = PyArray_NDIM(view);
    if (found->ndim > 0) { /* else NumPy has no array of sizes */
        memcpy(found->dims, PyArray_DIMS(view), (size_t)found->ndim * sizeof(npy_intp));
        memcpy(found->steps, PyArray_STRIDES(view), (size_t)found->ndim * sizeof(npy_intp));
    }
    found->offset = PyArray_BYTES(view) - PyArray_BYTES(array);
    found->dtype = Py_NewRef((PyObject *)PyArray_DESCR(view));
    found->keys = PyNumber_And(((Tensor *)result)->keys, viewed->odd);
    return found->keys == NULL ? -1 : 1;
}

/* Remember where the view, or each of a list of them, lies in `array`. Returns -1 with an exception. */
static int remember(Viewed *viewed, const PlanKey *key, PyArrayObject *array, PyObject *results) {
    PlanEntry *entry = plan_entry_new(key, plan_key_hash(key));
    int is_list = PyList_CheckExact(results), noted = entry == NULL ? -1 : 1;
    Py_ssize_t count = is_list ? PyList_GET_SIZE(results) : 1;
    for (Py_ssize_t i = 0; i < count && noted > 0; i++) {
        PyObject *result = is_list ? PyList_GET_ITEM(results, i) : results;
        noted = i == MOST_RESULTS ? 0 : note(viewed, entry, array, result);
    }
    if (noted < 0) {
        if (entry != NULL) {
            plan_entry_release(entry);
        }
        return -1;
    }
    if (noted == 0) {
        plan_entry_forget(entry);
    }
    plan_table_add(&viewed->table, entry);
    return 0;
}

/* Return the array of a view, a new reference. */
static PyObject *view_of(PyArrayObject *array, PlannedResult *result) {
    PyArray_Descr *dtype = (PyArray_Descr *)Py_NewRef(result->dtype); /* which the next call takes */
    PyObject *made = PyArray_NewFromDescr(
        core.array, dtype, result->ndim, result->dims, result->steps, PyArray_BYTES(array) + result->offset,
        PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
    if (made != NULL && PyArray_SetBaseObject((PyArrayObject *)made, Py_NewRef((PyObject *)array)) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* Return the tensor of a view. */
static PyObject *make_view(const Viewed *viewed, PlannedResult *result, PyObject *base, PyArrayObject *array) {
    PyObject *view = view_of(array, result), *made = NULL;
    if (view != NULL) {
        int overflow;
        made = view_tensor(base, view, PyLong_AsLongLongAndOverflow(result->keys, &overflow) != 0);
    }
    if (made == NULL && view != NULL && !PyErr_Occurred()) {
        PyObject *given[] = {NULL, base, view, result->keys};
        made = PyObject_Vectorcall(viewed->wrap, given + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    Py_XDECREF(view);
    return made;
}

/* Return the tensor of a view, or a list of those of several. */
static PyObject *serve(const Viewed *viewed, PlanEntry *entry, PyObject *base) {
    PyObject *array = Py_NewRef(((Tensor *)base)->array);
    PyObject *made = viewed->is_list ? PyList_New(entry->results_count) : NULL;
    if (!viewed->is_list) {
        made = make_view(viewed, &entry->results[0], base, (PyArrayObject *)array);
    }
    for (int i = 0; viewed->is_list && made != NULL && i < entry->results_count; i++) {
        PyObject *each = make_view(viewed, &entry->results[i], base, (PyArrayObject *)array);
        if (each == NULL) {
            Py_CLEAR(made);
        } else {
            PyList_SET_ITEM(made, i, each);
        }
    }
    Py_DECREF(array);
    return made;
}

/* Whether nobody looks at a call on a tensor: it is simple but for how it lies, and no mode is on. -1 with an
 * exception. */
static int is_unwatched(const Viewed *viewed, PyObject *tensor) {
    PyObject *own = Py_TYPE(tensor) == core.tensor ? ((Tensor *)tensor)->keys : NULL;
    int overflow, is_mode_on;
    if (own == NULL || !PyLong_CheckExact(own)) {
        return 0;
    }
    int64_t keys = PyLong_AsLongLongAndOverflow(own, &overflow);
    if (overflow || (keys & ~(core.dense_cpu_bits | PyLong_AsLongLong(viewed->odd)))) {
        return 0;
    }
    return apply_modes(&keys, &is_mode_on) < 0 ? -1 : !is_mode_on;
}

static PyObject *viewed_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    Viewed *viewed = (Viewed *)self;
    PlanKey key;
    int is_served = names == NULL && PyVectorcall_NARGS(flagged) == viewed->total;
    if (is_served && viewed->is_method && (is_served = is_unwatched(viewed, args[0])) < 0) {
        return NULL;
    }
    if (!is_served || !plan_key_read(&key, viewed->kinds, args)) {
        return PyObject_Vectorcall(viewed->base.function, args, flagged, names);
    }
    PlanEntry *entry = plan_table_find(&viewed->table, &key, plan_key_hash(&key));
    if (entry != NULL && entry->results_count > 0) {
        entry->uses++;
        PyObject *result = serve(viewed, entry, args[0]);
        plan_entry_release(entry);
        return result;
    }
    PyObject *array = Py_NewRef(((Tensor *)args[0])->array);
    PyObject *result = PyObject_Vectorcall(viewed->base.function, args, flagged, names);
    if (result != NULL && entry == NULL && viewed->table.patience > 0) {
        viewed->table.patience--;
        if (remember(viewed, &key, (PyArrayObject *)array, result) < 0) {
            Py_CLEAR(result);
        }
    }
    Py_DECREF(array);
    return result;
}

/* Look at the letters of the arguments. Returns -1 with an exception. */
static int viewed_init(PyObject *self, PyObject *const *args) {
    (void)args;
    Viewed *viewed = (Viewed *)self;
    if (viewed->kinds[0] != 'T') {
        PyErr_SetString(PyExc_ValueError, "a view kernel takes the tensor first");
        return -1;
    }
    viewed->total = (Py_ssize_t)strlen(viewed->kinds);
    viewed->table.patience = PATIENCE;
    return 0;
}

/* Forget what was learned. Returns 0. */
static int viewed_clear(PyObject *self) {
    plan_table_clear(&((Viewed *)self)->table);
    return 0;
}

/* The first argument is the tensor that is viewed. */
static const Field viewed_fields[] = {
    {"kinds", FIELD_LETTERS, offsetof(Viewed, kinds)},
    {"wrap", FIELD_OBJECT, offsetof(Viewed, wrap)},
    {"odd", FIELD_INT, offsetof(Viewed, odd)},
    {"is_list", FIELD_TRUTH, offsetof(Viewed, is_list)},
    {"is_method", FIELD_TRUTH, offsetof(Viewed, is_method)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType viewed_type = {
    .name = "opwright._fast.Viewed",
    .size = sizeof(Viewed),
    .flags = Py_TPFLAGS_METHOD_DESCRIPTOR,
    .call = viewed_call,
    .fields = viewed_fields,
    .init = viewed_init,
    .clear = viewed_clear,
};
