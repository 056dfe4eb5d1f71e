/* Planned: a kernel with a plan cache. It finds the plan by the key of a call, calls the kernel on arrays, and wraps
 * the outputs. The general shim, which it stands for, handles new keys and whatever fails. */

#include "fast/arrays/arrays.h"
#include "fast/call/callable.h"
#include "fast/arrays/casts.h"
#include "fast/arrays/float_errors.h"
#include "fast/interned.h"
#include "fast/call/kernel_sets.h"
#include "fast/arrays/numpy_api.h"
#include "plan_key.h"
#include "fast/arrays/reduced_blocks.h"
#include "fast/arrays/tensor.h"

typedef struct {
    Callable base;
    PyObject *kernel;
    PyObject *first; /* what the kernel is given at position -1: the module NumPy */
    PyObject *fill; /* `fill(args)` returns the tensor specs of a call's results and what is cast, or None */
    PyObject *wrap;  /* `wrap(spec, output, *operands)` */
    PyObject *note;  /* `note(error)` adds to an error of the kernel which operator raised it; None: Python words it */
    int by_blocks;   /* whether a pointwise kernel may be called with a block at a time */
    Py_ssize_t total;
    char kinds[MOST_ARGUMENTS + 1];
    int passed_count;
    signed char passed[MOST_PASSED]; /* the positions of what the kernel is given */
    int written; /* the position of the tensor that is written, and returned; -1: a new one is made */
    int is_copy; /* whether the kernel is `numpy.ndarray.__copy__` */
    const CompiledKernel *unplanned; /* which takes calls that no plan can be made for before; or NULL */
    const CompiledKernel *writing;   /* which takes calls that write in place, without a plan; or NULL */
    PlanTable table;
} Planned;

/* Cache the plan that Python made for a call. Returns -1 for an interrupt: after any other error Python handles calls
 * of this key. */
static int fill_cache(Planned *planned, PyObject *const *args, const PlanKey *key, int64_t hash) {
    PyObject *given = PyTuple_New(planned->total), *specs = NULL;
    PlanEntry *entry = NULL;
    if (given != NULL) {
        for (Py_ssize_t i = 0; i < planned->total; i++) {
            PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
        }
        specs = PyObject_CallOneArg(planned->fill, given);
        Py_DECREF(given);
    }
    if (specs != NULL) {
        entry = plan_entry_new(key, hash);
        if (entry != NULL && plan_entry_read(entry, specs, planned->total) < 0) {
            plan_entry_release(entry);
            entry = NULL;
        }
        Py_DECREF(specs);
    }
    if (entry == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return -1;
        }
        PyErr_Clear();
        return 0;
    }
    plan_table_add(&planned->table, entry);
    return 0;
}

/* Return what the kernel gets for an argument, a new reference. */
static PyObject *passed_value(char kind, PyObject *value) {
    if (strchr("TtOo", kind) != NULL && Py_TYPE(value) == core.tensor) {
        return Py_XNewRef(((Tensor *)value)->array);
    }
    if (strchr("LlQ", kind) == NULL || value == Py_None) {
        return Py_NewRef(value);
    }
    Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
    PyObject *arrays = PyList_New(size);
    for (Py_ssize_t i = 0; arrays != NULL && i < size; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(value, i);
        PyList_SET_ITEM(arrays, i, Py_XNewRef(item == Py_None ? item : ((Tensor *)item)->array));
    }
    return arrays;
}

/* Return what the kernel gets for an argument that the plan casts, a new reference: a number as it is cast, or the
 * tensor's array in a dtype. */
static PyObject *cast_value(PyObject *cast, PyObject *value) {
    if (!PyArray_DescrCheck(cast)) {
        return Py_NewRef(cast);
    }
    return ((Tensor *)value)->array == NULL ? NULL : cast_array(((Tensor *)value)->array, (PyArray_Descr *)cast);
}

/* Return what the plan, if there is one, casts what the kernel gets at a place to, borrowed; or None. */
static PyObject *cast_at(const Planned *planned, const PlanEntry *entry, int place) {
    const int position = planned->passed[place];
    return position < 0 || entry == NULL || entry->cast == NULL ? Py_None : PyTuple_GET_ITEM(entry->cast, position);
}

/* Take references to what the kernel gets: arrays and options, as the plan, if there is one, casts them; arrays as they
 * are unless `is_whole`. Returns how many; -1 with an exception, or without one for an operand that Python casts. */
static int pass(const Planned *planned, const PlanEntry *entry, PyObject *const *args, PyObject **values,
                int is_whole) {
    for (int i = 0; i < planned->passed_count; i++) {
        int position = planned->passed[i];
        PyObject *cast = cast_at(planned, entry, i);
        const int is_cast = cast != Py_None && (is_whole || !PyArray_DescrCheck(cast));
        if (position < 0) {
            values[i] = Py_NewRef(planned->first);
        } else {
            values[i] =
                is_cast ? cast_value(cast, args[position]) : passed_value(planned->kinds[position], args[position]);
        }
        if (values[i] == NULL) {
            while (i > 0) {
                Py_DECREF(values[--i]);
            }
            return -1;
        }
    }
    return planned->passed_count;
}

/* Have Python lay out an output that does not match the plan. Returns a new reference. */
static PyObject *lay_out(const Planned *planned, const PlannedResult *result, PyObject *output, PyObject **values,
                         int count) {
    PyObject *given = PyList_New(0), *made = NULL, *args = NULL;
    if (given == NULL || PyList_Append(given, result->spec) < 0 || PyList_Append(given, output) < 0) {
        goto done;
    }
    for (int i = 0; i < count; i++) {
        if (PyList_CheckExact(values[i]) && PyList_GET_SIZE(values[i]) > 0 &&
            Py_TYPE(PyList_GET_ITEM(values[i], 0)) == core.array) {
            if (PyList_SetSlice(given, PyList_GET_SIZE(given), PyList_GET_SIZE(given), values[i]) < 0) {
                goto done;
            }
        } else if (Py_TYPE(values[i]) == core.array && PyList_Append(given, values[i]) < 0) {
            goto done;
        }
    }
    args = PyList_AsTuple(given);
    if (args != NULL) {
        made = PyObject_Call(planned->wrap, args, NULL);
    }
done:
    Py_XDECREF(args);
    Py_XDECREF(given);
    return made;
}

/* Return the tensor of an output, a new reference; NULL with an exception. */
static PyObject *wrap_output(const Planned *planned, const PlannedResult *result, PyObject *output, PyObject **values,
                             int count) {
    PyObject *array = PyArray_CheckScalar(output) && Py_TYPE(output) != core.array ? PyArray_FromScalar(output, NULL)
                                                                                  : Py_NewRef(output);
    if (array == NULL) {
        return NULL;
    }
    if (!output_is_new(result, array, values, count)) {
        PyObject *copy = output_copied(result, array);
        if (copy == NULL) {
            PyObject *made = PyErr_Occurred() ? NULL : lay_out(planned, result, array, values, count);
            Py_DECREF(array);
            return made;
        }
        Py_SETREF(array, copy);
    }
    PyObject *made = wrap_dense(array);
    if (made != NULL && result->keys != core.dense_cpu) {
        Py_SETREF(((Tensor *)made)->keys, Py_NewRef(result->keys));
    }
    return made;
}

/* Return what the operator returns: a tensor, or a tuple of several. */
static PyObject *wrap_outputs(const Planned *planned, const PlanEntry *entry, PyObject *output, PyObject **values,
                              int count) {
    if (entry->results_count == 1) {
        return wrap_output(planned, &entry->results[0], output, values, count);
    }
    if (!PyTuple_CheckExact(output) || PyTuple_GET_SIZE(output) != entry->results_count) {
        PyErr_SetString(PyExc_TypeError, "the outputs do not match the plan");
        return NULL;
    }
    PyObject *made = PyTuple_New(entry->results_count);
    for (int i = 0; made != NULL && i < entry->results_count; i++) {
        PyObject *each = wrap_output(planned, &entry->results[i], PyTuple_GET_ITEM(output, i), values, count);
        if (each == NULL) {
            Py_CLEAR(made);
        } else {
            PyTuple_SET_ITEM(made, i, each);
        }
    }
    return made;
}

/* Have Python note on the error of a kernel which operator raised it; the error stays. */
static void note_error(const Planned *planned) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    PyObject *done = PyObject_CallOneArg(planned->note, error);
    if (done == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(done);
    PyErr_Restore(type, error, traceback);
}

/* Whether the error that is set is one by which a kernel in C refuses operands. */
static int is_refusal(void) {
    return PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
           PyErr_ExceptionMatches(PyExc_OverflowError);
}

/* Have Python handle a call, and word the error that is set, if there is one. Where Python computes a result, a handler
 * of a signal raised that error, and it stays; but a user's kernel in C may refuse operands. Returns what the operator
 * returns. */
static PyObject *call_general(const Planned *planned, PyObject *const *args, size_t flagged) {
    PyObject *type, *error, *traceback;
    if (PyErr_Occurred() && planned->note == Py_None && is_refusal()) {
        PyErr_Clear();
    }
    PyErr_Fetch(&type, &error, &traceback);
    PyObject *result = PyObject_Vectorcall(planned->base.function, args, flagged, NULL);
    if (type != NULL && result != NULL) {
        Py_CLEAR(result);
        PyErr_Restore(type, error, traceback);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return result;
}

/* Whether the error that is set is the last word: an interrupt, or that of a kernel which is not called again. */
static int is_final(const Planned *planned, int by_kernel) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return 1;
    }
    if (!by_kernel || planned->note == Py_None) {
        return 0;
    }
    note_error(planned);
    return 1;
}

/* Call a pointwise kernel of ours on half or bfloat16, into `target` or a new array. Returns what the operator returns;
 * NULL with an exception, or without one where all has to be computed at once. */
static PyObject *call_reduced(const Planned *planned, const PlanEntry *entry, PyObject *const *args, PyObject *target) {
    PyObject *values[MOST_PASSED], *casts[MOST_PASSED], *result = NULL;
    int count = pass(planned, entry, args, values, 0);
    for (int i = 0; i < count; i++) {
        casts[i] = cast_at(planned, entry, i);
    }
    const BlockedCall call = {planned->kernel, values, casts, count, &entry->results[0]};
    PyObject *array = count < 0 ? NULL : call_by_blocks(&call, target);
    if (array != NULL) {
        result = target != NULL ? Py_NewRef(args[planned->written])
                                : wrap_output(planned, call.result, array, values, count);
        Py_DECREF(array);
    }
    for (int i = 0; i < count; i++) {
        Py_DECREF(values[i]);
    }
    return result;
}

/* Call the kernel on arrays, and return what the operator returns; NULL with an exception, `by_kernel` where the kernel
 * raised it. */
static PyObject *call_planned(const Planned *planned, const PlanEntry *entry, PyObject *const *args, int *by_kernel) {
    PyObject *stack[MOST_PASSED + 1], *result = NULL;
    PyObject **values = stack + 1; /* the callee may use the one before */
    if (entry->is_reduced && planned->by_blocks) {
        result = call_reduced(planned, entry, args, NULL);
        *by_kernel = PyErr_Occurred() != NULL;
        if (result != NULL || *by_kernel) {
            return result;
        }
    }
    int count = pass(planned, entry, args, values, 1);
    if (count < 0) {
        *by_kernel = PyErr_Occurred() != NULL; /* (of a cast) */
        return NULL;
    }
    PyObject *output = planned->is_copy ? dense_copy(values[0]) : NULL;
    if (output == NULL && !PyErr_Occurred()) {
        output = call_in_silence(planned->kernel, values, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    if (output == Py_NotImplemented && planned->note == Py_None) {
        Py_DECREF(output); /* a user's kernel in C refuses operands */
    } else if (output != NULL) {
        result = wrap_outputs(planned, entry, output, values, count);
        Py_DECREF(output);
    } else {
        *by_kernel = 1;
    }
    for (int i = 0; i < count; i++) {
        Py_DECREF(values[i]);
    }
    return result;
}

/* Have the kernel write to a tensor, and return that. Returns NULL without an exception if Python has to handle the
 * call. */
static PyObject *call_writing(const Planned *planned, const PlanEntry *entry, PyObject *const *args, int *by_kernel) {
    PyObject *stack[MOST_PASSED + 2], **values = stack + 1; /* the callee may use the one before */
    if (!may_write(&entry->results[0], planned->kinds, args, planned->written)) {
        return NULL;
    }
    if (entry->is_reduced) { /* (a kernel would cast to the target with a warning) */
        PyObject *done =
            !planned->by_blocks ? NULL : call_reduced(planned, entry, args, ((Tensor *)args[planned->written])->array);
        *by_kernel = done == NULL;
        return done;
    }
    int count = pass(planned, entry, args, values, 1), is_done = 0;
    if (count < 0) {
        return NULL;
    }
    PyObject *tensor = args[planned->written], *target = Py_NewRef(((Tensor *)tensor)->array);
    values[count] = target;
    PyObject *output =
        call_in_silence(planned->kernel, values, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, interned.only_out);
    if (output != NULL) {
        is_done = write_output(target, output) == 0;
        Py_DECREF(output);
    } else {
        *by_kernel = 1;
    }
    for (int i = 0; i <= count; i++) {
        Py_DECREF(values[i]);
    }
    return is_done ? Py_NewRef(tensor) : NULL;
}

/* Whether all tensors of a call are in NumPy's memory, dense if that `is_dense`. A list of positions may hold None. */
static int are_arrays(const Planned *planned, PyObject *const *args, int is_dense) {
    for (Py_ssize_t i = 0; i < planned->total; i++) {
        const int is_list = strchr("QL", planned->kinds[i]) != NULL;
        if (strchr("VN.", planned->kinds[i]) != NULL) {
            continue;
        }
        if (is_list ? !PyList_CheckExact(args[i]) : strchr("Tt", planned->kinds[i]) == NULL) {
            return 0;
        }
        for (Py_ssize_t j = 0; j < (is_list ? PyList_GET_SIZE(args[i]) : 1); j++) {
            PyObject *each = is_list ? PyList_GET_ITEM(args[i], j) : args[i];
            PyObject *array = Py_TYPE(each) == core.tensor ? ((Tensor *)each)->array : NULL;
            if (each == Py_None && planned->kinds[i] == 'Q') {
                continue;
            }
            if (array == NULL || Py_TYPE(array) != core.array || (is_dense && !array_is_dense(array))) {
                return 0;
            }
        }
    }
    return 1;
}

/* Call a kernel whose result no plan is made for. Returns what the operator returns; NULL without an exception if
 * Python has to handle the call. */
static PyObject *call_unplanned(const Planned *planned, PyObject *const *args) {
    PyObject *values[MOST_PASSED], *result = NULL;
    int count = are_arrays(planned, args, 1) && planned->passed[0] < 0 ? pass(planned, NULL, args, values, 1) : 0;
    if (count > 0) {
        KernelCall call = {.args = values + 1, .count = count - 1, .out = NULL}; /* behind the array module */
        forget_errors();
        PyObject *output = call_kernel(planned->unplanned, &call);
        const int is_told = (planned->unplanned->traits & QUIET) == 0 && fetestexcept(REPORTED_ERRORS) != 0;
        forget_errors();
        result = output == NULL || is_told ? NULL : wrap(NULL, output);
        Py_XDECREF(output);
    }
    for (int i = 0; i < count; i++) {
        Py_DECREF(values[i]);
    }
    return result;
}

/* Have the kernel write to the first tensor without a plan. Returns that tensor; NULL without an exception, and nothing
 * written, if the call has to be planned. */
static PyObject *call_unplanned_writing(const Planned *planned, PyObject *const *args) {
    PyObject *values[MOST_PASSED];
    int is_done = 0, count = are_arrays(planned, args, 0) ? pass(planned, NULL, args, values, 1) : 0;
    if (count > 1) {
        KernelCall call = {.args = values + 1, .count = count - 1, .out = values[1]}; /* behind the array module */
        PyObject *output = call_kernel(planned->writing, &call);
        is_done = output != NULL;
        Py_XDECREF(output);
    }
    for (int i = 0; i < count; i++) {
        Py_DECREF(values[i]);
    }
    return is_done ? Py_NewRef(args[0]) : NULL;
}

/* Call the kernel by the cached plan, or the general shim, and cache what that planned. Returns what the operator
 * returns. */
static PyObject *planned_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    Planned *planned = (Planned *)self;
    PlanKey key;
    int is_handled = names == NULL && PyVectorcall_NARGS(flagged) == planned->total;
    if (is_handled && planned->writing != NULL) {
        PyObject *written = call_unplanned_writing(planned, args);
        if (written != NULL || PyErr_Occurred()) {
            return written;
        }
    }
    if (!is_handled || !plan_key_read(&key, planned->kinds, args)) {
        PyObject *result = is_handled && planned->unplanned != NULL ? call_unplanned(planned, args) : NULL;
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
        return PyObject_Vectorcall(planned->base.function, args, flagged, names);
    }
    int64_t hash = plan_key_hash(&key);
    PlanEntry *entry = plan_table_find(&planned->table, &key, hash);
    if (entry == NULL) {
        PyObject *result = PyObject_Vectorcall(planned->base.function, args, flagged, names);
        if (result != NULL && planned->table.patience > 0) {
            planned->table.patience--;
            if (plan_key_read(&key, planned->kinds, args) && fill_cache(planned, args, &key, plan_key_hash(&key)) < 0) {
                Py_CLEAR(result);
            }
        }
        return result;
    }
    if (entry->results_count > 0) {
        entry->references++;
        int is_write = planned->written >= 0, by_kernel = 0;
        PyObject *result = (is_write ? call_writing : call_planned)(planned, entry, args, &by_kernel);
        plan_entry_release(entry);
        if (result != NULL || (PyErr_Occurred() && (is_final(planned, by_kernel) || is_write))) {
            return result;
        }
    }
    return call_general(planned, args, flagged);
}

/* Read the positions of what the kernel gets. Returns -1 with an exception. */
static int read_positions(Planned *planned, PyObject *positions) {
    if (PyTuple_GET_SIZE(positions) > MOST_PASSED) {
        PyErr_SetString(PyExc_ValueError, "a kernel of so many arguments is the Python's");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positions); i++) {
        long position = PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
        if (position == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (position < -1 || position >= planned->total) {
            PyErr_SetString(PyExc_ValueError, "the kernel has no such argument");
            return -1;
        }
        planned->passed[planned->passed_count++] = (signed char)position;
    }
    return 0;
}

/* Read the positions of what the kernel gets, and begin with an empty cache. Returns -1 with an exception. */
static int planned_init(PyObject *self, PyObject *const *args) {
    Planned *planned = (Planned *)self;
    planned->total = (Py_ssize_t)strlen(planned->kinds);
    if (planned->written >= planned->total) {
        PyErr_SetString(PyExc_ValueError, "the kernel has no such argument");
        return -1;
    }
    const int is_write = planned->written >= 0, is_inplace = planned->written == 0;
    planned->unplanned = is_write ? NULL : kernel_with(planned->kernel, UNPLANNED);
    planned->table.patience = PATIENCE;
    PyObject *copy = PyObject_GetAttrString((PyObject *)&PyArray_Type, "__copy__");
    planned->is_copy = planned->kernel == copy && PyTuple_GET_SIZE(args[3]) == 1;
    Py_XDECREF(copy);
    PyErr_Clear();
    if (read_positions(planned, args[3]) < 0) {
        return -1;
    }
    const int is_first = planned->passed_count > 1 && planned->passed[0] < 0 && planned->passed[1] == 0;
    planned->writing = is_inplace && is_first ? kernel_with(planned->kernel, WRITES) : NULL;
    return 0;
}

/* Empty the cache. Returns 0. */
static int planned_clear(PyObject *self) {
    plan_table_clear(&((Planned *)self)->table);
    return 0;
}

/* clear(): empty the cache. Returns None. */
static PyObject *planned_forget(PyObject *self, PyObject *unused) {
    (void)unused;
    (void)planned_clear(self);
    Py_RETURN_NONE;
}

static const Field planned_fields[] = {
    {"kinds", FIELD_LETTERS, offsetof(Planned, kinds)},
    {"kernel", FIELD_OBJECT, offsetof(Planned, kernel)},
    {"positions", FIELD_TUPLE, 0},
    {"first", FIELD_OBJECT, offsetof(Planned, first)},
    {"fill", FIELD_OBJECT, offsetof(Planned, fill)},
    {"wrap", FIELD_OBJECT, offsetof(Planned, wrap)},
    {"written", FIELD_NUMBER, offsetof(Planned, written)},
    {"note", FIELD_OBJECT, offsetof(Planned, note)},
    {"by_blocks", FIELD_TRUTH, offsetof(Planned, by_blocks)},
    {NULL, FIELD_OBJECT, 0},
};

static PyMethodDef planned_methods[] = {
    {"clear", planned_forget, METH_NOARGS, "Empty the plan cache."},
    CALLABLE_METHODS,
    {NULL, NULL, 0, NULL},
};

static const PyMemberDef planned_members[] = {
    {"cached", T_INT, offsetof(Planned, table.used), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

CallableType planned_type = {
    .name = "opwright_core._fast.Planned",
    .size = sizeof(Planned),
    .flags = Py_TPFLAGS_METHOD_DESCRIPTOR,
    .call = planned_call,
    .fields = planned_fields,
    .init = planned_init,
    .clear = planned_clear,
    .methods = planned_methods,
    .members = planned_members,
};
