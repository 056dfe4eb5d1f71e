/* The key of a cached plan: what rules read of arrays, and the numbers and options they are told. Reading it runs no
 * Python and keeps no reference. The cache of plans by their keys. */

#include "fast/configure.h"
#include "fast/arrays/numpy_api.h"
#include "plan_key.h"
#include "fast/arrays/tensor.h"

static PyObject *constants = NULL; /* a tuple of classes: `configure` is told */

/* Words that say of what kind the next are. */
enum Mark { MARK_NONE = 1, MARK_FALSE, MARK_TRUE, MARK_INT, MARK_FLOAT, MARK_OBJECT, MARK_LIST, MARK_SLICE, MARK_REST };

/* Add a word. Returns 1, or 0 if the key is full. */
static int put(PlanKey *key, int64_t word) {
    if (key->count == MOST_WORDS) {
        return 0;
    }
    key->words[key->count++] = word;
    return 1;
}

/* Add what a plan reads of an array. Returns 1, or 0 if the array is not NumPy's own or the key is full. */
static int put_array(PlanKey *key, PyObject *value) {
    if (value == NULL || Py_TYPE(value) != core.array) {
        return 0;
    }
    PyArrayObject *array = (PyArrayObject *)value;
    int ndim = PyArray_NDIM(array), type = PyArray_TYPE(array);
    if (ndim > MOST_DIMS || key->count + 2 * ndim + 1 > MOST_WORDS || PyTypeNum_ISFLEXIBLE(type) ||
        !PyArray_ISNOTSWAPPED(array)) {
        return 0;
    }
    key->words[key->count++] = (int64_t)type << 8 | ndim;
    for (int i = 0; i < ndim; i++) {
        key->words[key->count++] = PyArray_DIM(array, i);
        key->words[key->count++] = PyArray_STRIDE(array, i);
    }
    return 1;
}

/* Add what a plan reads of a tensor. Returns 1, or 0 if Python has to look at it. */
static int put_tensor(PlanKey *key, PyObject *value) {
    return Py_TYPE(value) == core.tensor && put_array(key, ((Tensor *)value)->array);
}

/* Add an int. Returns 1, or 0 if it has more than 64 bits. */
static int put_int(PlanKey *key, PyObject *value) {
    int overflow;
    int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow && put(key, number);
}

/* Whether an object is a device, a memory format or another of which equal ones mean the same for ever. */
static int is_constant(PyObject *value) {
    for (Py_ssize_t i = 0; constants != NULL && i < PyTuple_GET_SIZE(constants); i++) {
        if (Py_IS_TYPE(value, (PyTypeObject *)PyTuple_GET_ITEM(constants, i))) {
            return 1;
        }
    }
    return 0;
}

/* Look at the classes of constants. Returns -1 with an exception. */
static int take_constants(PyObject *classes) {
    if (!PyTuple_CheckExact(classes)) {
        PyErr_SetString(PyExc_TypeError, "classes are a tuple");
        return -1;
    }
    return 0;
}

const Setting key_settings[] = {
    {"constant_classes", SETTING_OBJECT, &constants, NULL, take_constants},
    NO_SETTING,
};

/* Add an option: None, a number, or an object that is only what it is. Returns 1, or 0 for any other. */
static int put_value(PlanKey *key, PyObject *value) {
    if (value == Py_None) {
        return put(key, MARK_NONE);
    }
    if (PyBool_Check(value)) {
        return put(key, value == Py_True ? MARK_TRUE : MARK_FALSE);
    }
    if (PyLong_CheckExact(value)) {
        return put(key, MARK_INT) && put_int(key, value);
    }
    if (PyFloat_CheckExact(value)) {
        double number = PyFloat_AS_DOUBLE(value);
        int64_t bits;
        memcpy(&bits, &number, sizeof bits);
        return put(key, MARK_FLOAT) && put(key, bits);
    }
    if (PyArray_DescrCheck(value) || PyUnicode_CheckExact(value) || is_constant(value)) {
        key->held[key->held_count++] = value;
        return put(key, MARK_OBJECT) && put(key, (int64_t)(intptr_t)value);
    }
    return 0;
}

/* Whether an argument that is not in the key is a Tensor in NumPy's memory; returns 1 or 0. */
static int is_tensor(PyObject *value) {
    PyObject *array = Py_TYPE(value) == core.tensor ? ((Tensor *)value)->array : NULL;
    return array != NULL && Py_TYPE(array) == core.array;
}

/* Whether all items of a list are such Tensors; returns 1 or 0. */
static int are_tensors(PyObject *list) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        if (!is_tensor(PyList_GET_ITEM(list, i))) {
            return 0;
        }
    }
    return 1;
}

/* Add a list of tensors, ints or floats, or None. Returns 1, or 0 for anything else. */
static int put_list(PlanKey *key, PyObject *value, char kind) {
    if (value == Py_None) {
        return put(key, MARK_NONE);
    }
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) {
        return 0;
    }
    Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
    PyObject **items = PySequence_Fast_ITEMS(value);
    if (!put(key, MARK_LIST) || !put(key, size)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        int is_taken = kind == 'L'   ? put_tensor(key, items[i])
                       : kind == 'I' ? PyLong_CheckExact(items[i]) && put_int(key, items[i])
                                     : PyFloat_CheckExact(items[i]) && put_value(key, items[i]);
        if (!is_taken) {
            return 0;
        }
    }
    return 1;
}

/* Add a list of positions along dimensions, int64 tensors or None. Returns 1, or 0 for anything else: what a mask
 * stands for is data. */
static int put_positions(PlanKey *key, PyObject *value) {
    int is_put = PyList_CheckExact(value) && put(key, PyList_GET_SIZE(value));
    for (Py_ssize_t i = 0; is_put && i < PyList_GET_SIZE(value); i++) {
        PyObject *item = PyList_GET_ITEM(value, i);
        is_put = item == Py_None ? put(key, MARK_NONE)
                                 : put_tensor(key, item) &&
                                       PyArray_TYPE((PyArrayObject *)((Tensor *)item)->array) == NPY_INT64;
    }
    return is_put;
}

/* Add an int, or None. Returns 1, or 0 for anything else. */
static int put_bound(PlanKey *key, PyObject *value) {
    return (value == Py_None || PyLong_CheckExact(value)) && put_value(key, value);
}

/* Add an index of one dimension: an int, a slice of ints, None, the ellipsis. Returns 1, or 0 for any other. */
static int put_item(PlanKey *key, PyObject *value) {
    if (value == Py_Ellipsis) {
        return put(key, MARK_REST);
    }
    if (!PySlice_Check(value)) {
        return put_bound(key, value);
    }
    const PySliceObject *slice = (PySliceObject *)value;
    return put(key, MARK_SLICE) && put_bound(key, slice->start) && put_bound(key, slice->stop) &&
           put_bound(key, slice->step);
}

/* Add an index: an item, or a tuple of them. Returns 1, or 0 for any other. */
static int put_index(PlanKey *key, PyObject *value) {
    if (!PyTuple_CheckExact(value)) {
        return put_item(key, value);
    }
    int is_put = put(key, MARK_LIST) && put(key, PyTuple_GET_SIZE(value));
    for (Py_ssize_t i = 0; is_put && i < PyTuple_GET_SIZE(value); i++) {
        is_put = put_item(key, PyTuple_GET_ITEM(value, i));
    }
    return is_put;
}

/* Read the key of a call. `kinds` has a letter for each argument: `T` a tensor, `O` one or None, `L` a list of them,
 * `Q` one of positions along dimensions, `I` a list of ints or None, `F` one of floats, `V` and `N` a value, `X` an
 * index that makes a view; `t`, `o`, `l` tensors that the plan does not depend on, `.` anything of that sort. Returns
 * 1, or 0 if Python has to handle the call. */
int plan_key_read(PlanKey *key, const char *kinds, PyObject *const *args) {
    int is_read = 1;
    key->count = key->held_count = 0;
    for (Py_ssize_t i = 0; kinds[i] != '\0' && is_read; i++) {
        switch (kinds[i]) {
        case 'T':
            is_read = put_tensor(key, args[i]);
            break;
        case 'O':
            is_read = args[i] == Py_None ? put(key, MARK_NONE) : put(key, MARK_OBJECT) && put_tensor(key, args[i]);
            break;
        case 'L':
        case 'I':
        case 'F':
            is_read = put_list(key, args[i], kinds[i]);
            break;
        case 'V':
        case 'N':
            is_read = put_value(key, args[i]);
            break;
        case 'Q':
            is_read = put_positions(key, args[i]);
            break;
        case 'X':
            is_read = put_index(key, args[i]);
            break;
        case 't':
            is_read = is_tensor(args[i]);
            break;
        case 'o':
            is_read = args[i] == Py_None || is_tensor(args[i]);
            break;
        case 'l':
            is_read = PyList_CheckExact(args[i]) && are_tensors(args[i]);
            break;
        default:
            break;
        }
    }
    return is_read;
}

/* Return the hash of a key. */
int64_t plan_key_hash(const PlanKey *key) {
    uint64_t hash = 0x9E3779B97F4A7C15u;
    for (int i = 0; i < key->count; i++) {
        hash = (hash ^ (uint64_t)key->words[i]) * 0xFF51AFD7ED558CCDu;
        hash ^= hash >> 32;
    }
    return (int64_t)hash;
}

/* Read a tuple of ints. Returns how many there are, or -1 with an exception. */
static int read_sizes(PyObject *spec, const char *name, Py_ssize_t *sizes) {
    PyObject *found = PyObject_GetAttrString(spec, name);
    Py_ssize_t count = -1;
    if (found != NULL && PyTuple_CheckExact(found) && PyTuple_GET_SIZE(found) <= MOST_DIMS) {
        count = PyTuple_GET_SIZE(found);
        for (Py_ssize_t i = 0; i < count; i++) {
            sizes[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(found, i));
        }
    } else if (found != NULL) {
        PyErr_SetString(PyExc_TypeError, "a tensor spec of other sizes is Python's to handle");
    }
    Py_XDECREF(found);
    return PyErr_Occurred() ? -1 : (int)count;
}

/* Read a tensor spec, `opwright_core.plans.specs.TensorSpec`. Returns -1 with an exception if it is none for the core.
 */
static int read_spec(PlannedResult *result, PyObject *spec) {
    result->spec = Py_NewRef(spec);
    result->ndim = read_sizes(spec, "shape", result->dims);
    if (result->ndim < 0 || read_sizes(spec, "steps", result->steps) < 0) {
        return -1;
    }
    result->dtype = PyObject_GetAttrString(spec, "dtype");
    PyObject *nondense = PyObject_GetAttrString(spec, "nondense");
    if (result->dtype != NULL && nondense != NULL) {
        result->keys = PyNumber_Or(core.dense_cpu, nondense);
    }
    int is_dense = nondense != NULL && PyLong_CheckExact(nondense) && PyLong_AsLong(nondense) == 0;
    Py_XDECREF(nondense);
    if (result->keys == NULL) {
        return -1;
    }
    if (is_dense) { /* dense tensors have the very int */
        Py_SETREF(result->keys, Py_NewRef(core.dense_cpu));
    }
    return 0;
}

/* Make the entry of a key, without results: Python handles calls of this key. Returns NULL with an exception. */
PlanEntry *plan_entry_new(const PlanKey *key, int64_t hash) {
    size_t size = (size_t)key->count * sizeof(int64_t);
    PlanEntry *entry = PyMem_Calloc(1, sizeof(PlanEntry));
    if (entry == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    entry->references = 1;
    entry->hash = hash;
    entry->count = key->count;
    entry->words = PyMem_Malloc(size > 0 ? size : 1);
    entry->held = PyTuple_New(key->held_count);
    if (entry->words == NULL || entry->held == NULL) {
        plan_entry_release(entry);
        PyErr_NoMemory();
        return NULL;
    }
    memcpy(entry->words, key->words, size);
    for (int i = 0; i < key->held_count; i++) {
        PyTuple_SET_ITEM(entry->held, i, Py_NewRef(key->held[i]));
    }
    return entry;
}

/* Whether a spec is of a pointwise kernel that computes in another dtype than operands are promoted to. Returns -1 with
 * an exception. */
static int is_reduced_spec(PyObject *spec) {
    PyObject *pointwise = PyObject_GetAttrString(spec, "pointwise");
    PyObject *common = pointwise == NULL ? NULL : PyObject_GetAttrString(spec, "common");
    PyObject *compute = common == NULL ? NULL : PyObject_GetAttrString(spec, "compute");
    const int is_reduced = compute == NULL ? -1 : pointwise == Py_True && common != compute;
    Py_XDECREF(pointwise);
    Py_XDECREF(common);
    Py_XDECREF(compute);
    return is_reduced;
}

/* Read `(tensor specs, cast)`, or None. Returns -1 with an exception. */
int plan_entry_read(PlanEntry *entry, PyObject *found, Py_ssize_t total) {
    PyObject *specs, *cast;
    if (found == Py_None) {
        return 0;
    }
    if (!PyArg_ParseTuple(found, "O!O", &PyTuple_Type, &specs, &cast)) {
        return -1;
    }
    int is_tuple = PyTuple_CheckExact(cast) && PyTuple_GET_SIZE(cast) == total;
    if (PyTuple_GET_SIZE(specs) > MOST_RESULTS || (cast != Py_None && !is_tuple)) {
        PyErr_SetString(PyExc_TypeError, "the core takes a tuple of few tensor specs, and casts of all arguments");
        return -1;
    }
    entry->cast = cast == Py_None ? NULL : Py_NewRef(cast);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(specs); i++) {
        entry->results_count++;
        if (read_spec(&entry->results[i], PyTuple_GET_ITEM(specs, i)) < 0) {
            return -1;
        }
    }
    if (entry->cast != NULL && entry->results_count == 1 && result_is_row_major(&entry->results[0])) {
        entry->is_reduced = is_reduced_spec(entry->results[0].spec);
    }
    return entry->is_reduced < 0 ? -1 : 0;
}

/* Drop the results of a new entry: Python handles calls of its key. */
void plan_entry_forget(PlanEntry *entry) {
    while (entry->results_count > 0) {
        PlannedResult *result = &entry->results[--entry->results_count];
        Py_XDECREF(result->spec);
        Py_XDECREF(result->dtype);
        Py_XDECREF(result->keys);
    }
}

/* Drop a use of an entry, and free it with the last one. */
void plan_entry_release(PlanEntry *entry) {
    if (--entry->references > 0) {
        return;
    }
    plan_entry_forget(entry);
    Py_XDECREF(entry->held);
    Py_XDECREF(entry->cast);
    PyMem_Free(entry->words);
    PyMem_Free(entry);
}

/* Return the slot of a key's entry in the table, which is empty if there is none. */
static PlanEntry **slot_of(PlanTable *table, const int64_t *words, int count, int64_t hash) {
    size_t at = (size_t)hash & (PLAN_SLOTS - 1);
    for (;; at = (at + 1) & (PLAN_SLOTS - 1)) {
        const PlanEntry *entry = table->slots[at];
        if (entry == NULL || (entry->hash == hash && entry->count == count &&
                              memcmp(entry->words, words, (size_t)count * sizeof(int64_t)) == 0)) {
            return &table->slots[at];
        }
    }
}

/* Return the entry of a key, borrowed, or NULL. Patience grows with each that is met again. */
PlanEntry *plan_table_find(PlanTable *table, const PlanKey *key, int64_t hash) {
    PlanEntry *entry = *slot_of(table, key->words, key->count, hash);
    table->patience += entry != NULL && table->patience < PATIENCE;
    return entry;
}

/* Add an entry, which is taken. A full table is emptied before. */
void plan_table_add(PlanTable *table, PlanEntry *entry) {
    if (table->used * 2 >= PLAN_SLOTS) {
        plan_table_clear(table);
    }
    PlanEntry **slot = slot_of(table, entry->words, entry->count, entry->hash);
    if (*slot != NULL) { /* another thread's, meanwhile */
        plan_entry_release(entry);
        return;
    }
    *slot = entry;
    table->used++;
}

/* Empty the table. Freeing may run Python, which must not find half a table. */
void plan_table_clear(PlanTable *table) {
    PlanEntry *former[PLAN_SLOTS];
    memcpy(former, table->slots, sizeof former);
    memset(table->slots, 0, sizeof table->slots);
    table->used = 0;
    for (int i = 0; i < PLAN_SLOTS; i++) {
        if (former[i] != NULL) {
            plan_entry_release(former[i]);
        }
    }
}
