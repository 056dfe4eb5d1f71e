/* ViewCache: a view kernel with a cache. Where in its array a view lies depends on what a plan depends on, so a call of
 * a cached key makes its views at once. The general shim handles any other. */

#include "fast/arrays/arrays.h"
#include "fast/call/callable.h"
#include "fast/call/modes.h"
#include "fast/arrays/numpy_api.h"
#include "fast/arrays/plain_arrays.h"
#include "plan_key.h"
#include "fast/arrays/tensor.h"

typedef struct {
    Callable base;
    PyObject *wrap; /* `wrap(base, array, nondense)` */
    PyObject *nondense;  /* the key NONDENSE, of tensors that are not dense */
    Py_ssize_t total;
    char kinds[MOST_ARGUMENTS + 1];
    int is_list; /* of views */
    int is_method; /* called by users: with tensors of any keys, whatever modes are on */
    PlanTable table;
} ViewCache;

/* Whether a view can be made again from where it lies in its array: both have elements, and may be written to alike.
 * (What a composite copied lies apart.) */
static int is_within(PyArrayObject *array, PyArrayObject *view) {
    int flags = PyArray_FLAGS(array) ^ PyArray_FLAGS(view);
    return PyArray_SIZE(array) > 0 && PyArray_SIZE(view) > 0 && PyArray_NDIM(view) <= MOST_DIMS &&
           !(flags & NPY_ARRAY_WRITEABLE) && !PyTypeNum_ISFLEXIBLE(PyArray_TYPE(view)) && view != array &&
           !arrays_are_apart((PyObject *)array, (PyObject *)view);
}

/* Note where a view lies in `array`. Returns 1; 0 if it cannot be made again, -1 with an exception. */
static int note(const ViewCache *cache, PlanEntry *entry, PyArrayObject *array, PyObject *result) {
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
    found->keys = PyNumber_And(((Tensor *)result)->keys, cache->nondense);
    return found->keys == NULL ? -1 : 1;
}

/* Cache where the view, or each of a list of them, lies in `array`. Returns -1 with an exception. */
static int remember(ViewCache *cache, const PlanKey *key, PyArrayObject *array, PyObject *results) {
    PlanEntry *entry = plan_entry_new(key, plan_key_hash(key));
    int is_list = PyList_CheckExact(results), noted = entry == NULL ? -1 : 1;
    Py_ssize_t count = is_list ? PyList_GET_SIZE(results) : 1;
    for (Py_ssize_t i = 0; i < count && noted > 0; i++) {
        PyObject *result = is_list ? PyList_GET_ITEM(results, i) : results;
        noted = i == MOST_RESULTS ? 0 : note(cache, entry, array, result);
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
    plan_table_add(&cache->table, entry);
    return 0;
}

/* Return the array of a view, a new reference. */
static PyObject *view_of(PyArrayObject *array, PlannedResult *result) {
    /* An array that was unpickled has a dtype of its own, equal to those of others: a view has that of its array. */
    PyArray_Descr *dtype = PyArray_DESCR(array);
    if (dtype->type_num != ((PyArray_Descr *)result->dtype)->type_num) {
        dtype = (PyArray_Descr *)result->dtype;
    }
    Py_INCREF(dtype); /* which the next call takes */
    PyObject *made = PyArray_NewFromDescr(
        core.array, dtype, result->ndim, result->dims, result->steps, PyArray_BYTES(array) + result->offset,
        PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
    if (made != NULL && PyArray_SetBaseObject((PyArrayObject *)made, Py_NewRef((PyObject *)array)) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* Return the tensor of a view. */
static PyObject *make_view(const ViewCache *cache, PlannedResult *result, PyObject *base, PyArrayObject *array) {
    PyObject *view = view_of(array, result), *made = NULL;
    if (view != NULL) {
        int overflow;
        made = view_tensor(base, view, PyLong_AsLongLongAndOverflow(result->keys, &overflow) != 0);
    }
    if (made == NULL && view != NULL && !PyErr_Occurred()) {
        PyObject *given[] = {NULL, base, view, result->keys};
        made = PyObject_Vectorcall(cache->wrap, given + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    Py_XDECREF(view);
    return made;
}

/* Return the tensor of a view, or a list of those of several. */
static PyObject *make_views(const ViewCache *cache, PlanEntry *entry, PyObject *base) {
    PyObject *array = Py_NewRef(((Tensor *)base)->array);
    PyObject *made = cache->is_list ? PyList_New(entry->results_count) : NULL;
    if (!cache->is_list) {
        made = make_view(cache, &entry->results[0], base, (PyArrayObject *)array);
    }
    for (int i = 0; cache->is_list && made != NULL && i < entry->results_count; i++) {
        PyObject *each = make_view(cache, &entry->results[i], base, (PyArrayObject *)array);
        if (each == NULL) {
            Py_CLEAR(made);
        } else {
            PyList_SET_ITEM(made, i, each);
        }
    }
    Py_DECREF(array);
    return made;
}

/* Whether a method's call takes the fast path: the tensor is dense but for its strides, and no mode is on. Returns -1
 * with an exception. */
static int takes_fast_path(const ViewCache *cache, PyObject *tensor) {
    PyObject *own = Py_TYPE(tensor) == core.tensor ? ((Tensor *)tensor)->keys : NULL;
    int overflow, is_mode_on;
    if (own == NULL || !PyLong_CheckExact(own)) {
        return 0;
    }
    int64_t keys = PyLong_AsLongLongAndOverflow(own, &overflow);
    if (overflow || (keys & ~(core.dense_cpu_bits | PyLong_AsLongLong(cache->nondense)))) {
        return 0;
    }
    return apply_modes(&keys, &is_mode_on) < 0 ? -1 : !is_mode_on;
}

/* Make the views that the cache has for this key, or call the general kernel and cache where its views lie. Returns the
 * tensor, or a list of them. */
static PyObject *view_cache_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    ViewCache *cache = (ViewCache *)self;
    PlanKey key;
    int is_handled = names == NULL && PyVectorcall_NARGS(flagged) == cache->total;
    if (is_handled && cache->is_method && (is_handled = takes_fast_path(cache, args[0])) < 0) {
        return NULL;
    }
    if (!is_handled || !plan_key_read(&key, cache->kinds, args)) {
        return PyObject_Vectorcall(cache->base.function, args, flagged, names);
    }
    PlanEntry *entry = plan_table_find(&cache->table, &key, plan_key_hash(&key));
    if (entry != NULL && entry->results_count > 0) {
        entry->references++;
        PyObject *result = make_views(cache, entry, args[0]);
        plan_entry_release(entry);
        return result;
    }
    PyObject *array = Py_NewRef(((Tensor *)args[0])->array);
    PyObject *result = PyObject_Vectorcall(cache->base.function, args, flagged, names);
    if (result != NULL && entry == NULL && cache->table.patience > 0) {
        cache->table.patience--;
        if (remember(cache, &key, (PyArrayObject *)array, result) < 0) {
            Py_CLEAR(result);
        }
    }
    Py_DECREF(array);
    return result;
}

/* Look at the letters of the arguments. Returns -1 with an exception. */
static int view_cache_init(PyObject *self, PyObject *const *args) {
    (void)args;
    ViewCache *cache = (ViewCache *)self;
    if (cache->kinds[0] != 'T') {
        PyErr_SetString(PyExc_ValueError, "a view kernel takes the tensor first");
        return -1;
    }
    cache->total = (Py_ssize_t)strlen(cache->kinds);
    cache->table.patience = PATIENCE;
    return 0;
}

/* Empty the cache. Returns 0. */
static int view_cache_clear(PyObject *self) {
    plan_table_clear(&((ViewCache *)self)->table);
    return 0;
}

/* The first argument is the tensor that is viewed. */
static const Field view_cache_fields[] = {
    {"kinds", FIELD_LETTERS, offsetof(ViewCache, kinds)},
    {"wrap", FIELD_OBJECT, offsetof(ViewCache, wrap)},
    {"nondense", FIELD_INT, offsetof(ViewCache, nondense)},
    {"is_list", FIELD_TRUTH, offsetof(ViewCache, is_list)},
    {"is_method", FIELD_TRUTH, offsetof(ViewCache, is_method)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType view_cache_type = {
    .name = "opwright_core._fast.ViewCache",
    .size = sizeof(ViewCache),
    .flags = Py_TPFLAGS_METHOD_DESCRIPTOR,
    .call = view_cache_call,
    .fields = view_cache_fields,
    .init = view_cache_init,
    .clear = view_cache_clear,
};
