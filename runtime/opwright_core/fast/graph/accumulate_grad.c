/* Leaves: a gradient is stored, or added to the one there is, as `opwright.autograd.accumulate` does for what is
 * uncommon: views, hooks, arrays without dimensions, other devices. */

#include "fast/arrays/arrays.h"
#include "backward.h"
#include "fast/configure.h"
#include "engine.h"
#include "fast/interned.h"
#include "fast/arrays/ufunc_loops.h"
#include "fast/arrays/storage.h"

/* From how many elements on the Python adds: it writes where it is, and lets other threads run. */
#define LONG_SUM 500

/* What `configure` is told. */
static struct {
    PyObject *accumulate;
    Loops add;
} leaves = {0};

/* Return the leaf that a node is the end of, a new reference; NULL without an exception where it is gone, or no Tensor.
 */
static PyObject *living(PyObject *leaf) {
    PyObject *reference = slot_at(leaf, engine.variable);
    if (reference == NULL || !PyWeakref_CheckRef(reference)) {
        return NULL;
    }
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *found = NULL;
    (void)PyWeakref_GetRef(reference, &found);
#else
    PyObject *found = Py_XNewRef(PyWeakref_GetObject(reference));
#endif
    if (found != NULL && Py_TYPE(found) != core.tensor) {
        Py_CLEAR(found);
    }
    return found;
}

/* Return a tensor's keys, with the least bit set wrongly for none: -1. */
static int64_t bits_of(PyObject *tensor) {
    PyObject *keys = ((Tensor *)tensor)->keys;
    int overflow;
    return keys == NULL || !PyLong_CheckExact(keys) ? -1 : PyLong_AsLongLongAndOverflow(keys, &overflow);
}

/* Whether a gradient is a Tensor in NumPy's memory without further keys. Returns 1 or 0. */
static int is_plain(PyObject *grad) {
    if (Py_TYPE(grad) != core.tensor) {
        return 0;
    }
    PyObject *array = ((Tensor *)grad)->array;
    int64_t keys = bits_of(grad);
    return array != NULL && Py_TYPE(array) == core.array && keys != -1 &&
           !(keys & ~(core.dense_cpu_bits | core.nondense_bits | core.view_bits | core.grad_bits));
}

/* Return the memory of a gradient that is the only view of an array by columns, turned: borrowed. NULL where somebody
 * else may have it, or the view is not all of it row by row. */
static PyObject *memory_of_view(Tensor *grad) {
    PyObject *extra = grad->extra;
    if (extra == NULL || !Py_IS_TYPE(extra, storage_slots.extra) || !is_only_reference(extra)) {
        return NULL;
    }
    PyObject *base = slot_at(extra, storage_slots.base), *storage = slot_at(extra, storage_slots.own);
    if (base == NULL || Py_TYPE(base) != core.tensor || !is_only_reference(base) ||
        ((Tensor *)base)->weak_references != NULL || storage == NULL || Py_REFCNT(storage) != 2) {
        return NULL; /* the storage is the base's and the view's */
    }
    return array_whole_base(grad->array, ((Tensor *)base)->array);
}

/* Store the first gradient: itself if the caller's reference is the only one, else a copy. Returns whether that was
 * done, or -1. */
static int store(PyObject *extra, PyObject *grad) {
    Tensor *given = (Tensor *)grad;
    int is_ours = is_only_reference(grad) && given->keys == core.dense_cpu && given->extra == Py_None;
    if (is_ours && array_is_free(given->array)) {
        replace_slot(extra, storage_slots.grad, Py_NewRef(grad));
        return 1;
    }
    PyObject *memory = is_only_reference(grad) && given->weak_references == NULL ? memory_of_view(given) : NULL;
    PyObject *copy = memory != NULL ? Py_NewRef(memory) : array_copy(given->array);
    PyObject *made = copy == NULL ? NULL : wrap_dense(copy);
    if (made == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    replace_slot(extra, storage_slots.grad, made);
    return 1;
}

/* Whether the gradient there is may be added to on its array. */
static int takes_sum(Tensor *existing) {
    return Py_TYPE((PyObject *)existing) == core.tensor && existing->keys == core.dense_cpu &&
           existing->array != NULL && Py_TYPE(existing->array) == core.array && existing->extra != NULL;
}

/* Add to the gradient there is, which is small. Returns whether that was done, or -1. */
static int add_to(Tensor *existing, Tensor *grad) {
    if (!takes_sum(existing) || !array_is_small(existing->array, LONG_SUM) ||
        !arrays_are_alike(existing->array, grad->array)) {
        return 0;
    }
    PyObject *rows = array_copy(grad->array); /* which lies as the loop wants it: few elements cost nothing */
    if (rows == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    Operand operands[2] = {{existing->array, NULL}, {rows, NULL}};
    PyObject *sum;
    int failed = loops_run(&leaves.add, operands, &sum) < 0;
    Py_DECREF(rows);
    if (failed) {
        return -1;
    }
    if (sum == NULL) {
        return 0;
    }
    int is_counted = storage_count_write((PyObject *)existing);
    if (is_counted > 0) {
        array_write(existing->array, sum);
    }
    Py_DECREF(sum);
    return is_counted;
}

/* Whether a tensor is still a common leaf, and as it was when the graph was made. */
static int is_common(PyObject *leaf, PyObject *variable) {
    Tensor *tensor = (Tensor *)variable;
    int64_t keys = bits_of(variable);
    return keys != -1 && !(keys & (core.nondense_bits | core.view_bits)) && tensor->edge == leaf &&
           (keys & core.grad_bits) && tensor->array != NULL && Py_TYPE(tensor->array) == core.array &&
           array_fits(tensor->array, ((Node *)leaf)->dtype, ((Node *)leaf)->shape);
}

/* What is done with the lock of a leaf held. */
typedef int (*Held)(PyObject *leaf, PyObject *variable, void *given);

/* Accumulate a gradient in a common case, with the leaf's lock held. Returns whether that was done, or -1. */
static int accumulate_held(PyObject *leaf, PyObject *variable, void *given) {
    PyObject *grad = given;
    if (!is_common(leaf, variable) || !arrays_are_alike(((Tensor *)variable)->array, ((Tensor *)grad)->array)) {
        return 0;
    }
    PyObject *extra = extra_of(variable);
    if (extra == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *existing = Py_XNewRef(slot_at(extra, storage_slots.grad));
    int result = 0;
    if (existing == Py_None) {
        result = store(extra, grad);
    } else if (existing != NULL) {
        result = add_to((Tensor *)existing, (Tensor *)grad);
    }
    Py_XDECREF(existing);
    Py_DECREF(extra);
    return result;
}

/* How a product is added to an array: whether that was done, or -1. */
typedef struct {
    int (*add)(PyObject *array, void *given);
    void *given;
} Adding;

/* Add a product to the gradient that a leaf has, in a common case, with the leaf's lock held. Returns whether that was
 * done, or -1. */
static int add_held(PyObject *leaf, PyObject *variable, void *given) {
    const Adding *adding = given;
    PyObject *extra = is_common(leaf, variable) ? extra_of(variable) : NULL;
    PyObject *existing = extra == NULL ? NULL : Py_XNewRef(slot_at(extra, storage_slots.grad));
    Py_XDECREF(extra);
    int result = PyErr_Occurred() ? -1 : 0;
    if (existing != NULL && takes_sum((Tensor *)existing) &&
        arrays_are_alike(((Tensor *)existing)->array, ((Tensor *)variable)->array)) {
        result = adding->add(((Tensor *)existing)->array, adding->given);
        result = result > 0 ? storage_count_write(existing) : result;
    }
    Py_XDECREF(existing);
    return result;
}

/* Do something with a leaf if no other thread has its lock. Returns whether that was done, or -1. */
static int with_lock(PyObject *leaf, PyObject *variable, Held held, void *given) {
    PyObject *lock = Py_XNewRef(slot_at(leaf, engine.lock));
    if (lock == NULL) {
        return 0;
    }
    PyObject *args[2] = {lock, Py_False};
    PyObject *has_it = PyObject_VectorcallMethod(interned.acquire, args, 2, NULL);
    int result = has_it == NULL ? -1 : 0;
    if (has_it == Py_True) {
        result = held(leaf, variable, given);
        PyObject *released = PyObject_VectorcallMethod(interned.release, args, 1, NULL);
        result = released == NULL ? -1 : result;
        Py_XDECREF(released);
    }
    Py_XDECREF(has_it);
    Py_DECREF(lock);
    return result;
}

/* Whether a leaf ever had hooks. */
int leaf_has_hooks(PyObject *leaf) {
    return ((Node *)leaf)->extra != Py_None || slot_at(leaf, engine.post_hooks) != Py_None;
}

/* Call `accumulate(leaf, grad, is_ours)` of Python, where the caller owns `grad`. Returns -1 with an exception. */
static int accumulate_by(PyObject *accumulate, PyObject *leaf, PyObject *grad) {
    PyObject *array = Py_TYPE(grad) == core.tensor && is_only_reference(grad) ? ((Tensor *)grad)->array : NULL;
    const int is_ours = array != NULL && Py_TYPE(array) == core.array && array_is_free(array);
    PyObject *result = PyObject_CallFunctionObjArgs(accumulate, leaf, grad, is_ours ? Py_True : Py_False, NULL);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Hand the whole gradient, which the caller owns, to a leaf without tensor hooks. Returns -1 with an exception. */
int leaf_accumulate(PyObject *leaf, PyObject *grad) {
    int is_done = 0;
    PyObject *variable = slot_at(leaf, engine.post_hooks) == Py_None && is_plain(grad) ? living(leaf) : NULL;
    if (variable != NULL) {
        is_done = with_lock(leaf, variable, accumulate_held, grad);
        Py_DECREF(variable);
    }
    if (is_done != 0) {
        return is_done < 0 ? -1 : 0;
    }
    return accumulate_by(leaves.accumulate, leaf, grad);
}

/* Take the gradient of a leaf out of a dictionary. Returns a new reference, or NULL with an exception. */
PyObject *take_gradient(PyObject *gradients, PyObject *leaf) {
    PyObject *grad = Py_XNewRef(PyDict_GetItemWithError(gradients, leaf));
    if (grad == NULL && !PyErr_Occurred()) {
        PyErr_SetObject(PyExc_KeyError, leaf);
    }
    if (grad != NULL && PyDict_DelItem(gradients, leaf) < 0) {
        Py_CLEAR(grad);
    }
    return grad;
}

/* accumulate_from(gradients, leaf, accumulate): take the gradient of a leaf out of a dictionary and call
 * `accumulate(leaf, gradient, is_ours)`. Returns the gradient. */
PyObject *accumulate_from(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 3 || !PyDict_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "accumulate_from() takes a dictionary, a leaf and a function");
        return NULL;
    }
    PyObject *grad = take_gradient(args[0], args[1]);
    if (grad != NULL && accumulate_by(args[2], args[1], grad) < 0) {
        Py_CLEAR(grad);
    }
    return grad;
}

/* Whether a leaf that lives has a gradient. */
int leaf_has_gradient(PyObject *leaf) {
    PyObject *variable = living(leaf), *extra = variable == NULL ? NULL : ((Tensor *)variable)->extra;
    const int is_known = extra != NULL && Py_IS_TYPE(extra, storage_slots.extra);
    const PyObject *grad = is_known ? slot_at(extra, storage_slots.grad) : NULL;
    Py_XDECREF(variable);
    return grad != NULL && grad != Py_None;
}

/* Have a function add to the array of the `.grad` of a leaf without hooks. Returns whether that was done, or -1. */
int leaf_add_by(PyObject *leaf, int (*add)(PyObject *array, void *given), void *given) {
    PyObject *variable = leaf_has_hooks(leaf) ? NULL : living(leaf);
    Adding adding = {add, given};
    const int is_done = variable == NULL ? 0 : with_lock(leaf, variable, add_held, &adding);
    Py_XDECREF(variable);
    return is_done;
}

/* Take the loops of `np.add`. Returns -1 with an exception. */
static int take_add(PyObject *ufunc) {
    return loops_init(&leaves.add, ufunc, 2, "fc");
}

const Setting leaf_settings[] = {
    {"accumulate", SETTING_OBJECT, &leaves.accumulate, NULL, NULL},
    {"np_add", SETTING_OBJECT, NULL, NULL, take_add},
    NO_SETTING,
};
