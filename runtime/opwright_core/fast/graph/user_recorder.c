/* UserRecorder: what records calls of an operator with a user's formula, as the Python does, which it stands for: it
 * runs the kernel below and `setup_context` with nothing recorded, and gives a new tensor its history. */

#include "fast/arrays/arrays.h"
#include "fast/call/callable.h"
#include "history.h"
#include "fast/interned.h"
#include "saved_values.h"
#include "fast/call/modes.h"

typedef struct {
    Callable base;
    PyObject *below;
    PyTypeObject *context;  /* the class of nodes, which `setup_context` gets one of */
    PyObject *setup;        /* or NULL */
    PyObject *keep, *finish; /* what Python does with what is saved, and with results of other kinds */
    PyObject *unrecorded;   /* the modes that the two run within */
    PyObject *device;       /* of results in NumPy's memory */
    Py_ssize_t outputs;     /* the slot */
    Py_ssize_t total;       /* how many arguments there are */
    uint32_t tensors;       /* a bit for each that is a tensor */
} UserRecorder;

/* Whether every tensor is a Tensor, and no mode is on; -1 with an exception. */
static int is_common(const UserRecorder *recorder, PyObject *const *args) {
    for (Py_ssize_t i = 0; i < recorder->total; i++) {
        if (recorder->tensors >> i & 1 && Py_TYPE(args[i]) != core.tensor) {
            return 0;
        }
    }
    PyObject *modes;
    if (PyContextVar_Get(core.modes, NULL, &modes) < 0) {
        return -1;
    }
    Py_XDECREF(modes);
    return modes == NULL || modes == Py_None;
}

/* Return the node of a call, with its edges. */
static PyObject *make_node(const UserRecorder *recorder, PyObject *const *args) {
    PyObject *made = PyBaseObject_Type.tp_new(recorder->context, interned.nothing, NULL);
    if (made == NULL) {
        return NULL;
    }
    PyObject **items = ((Node *)made)->few;
    if (recorder->total > MOST_INLINE_EDGES) {
        PyObject *edges = PyTuple_New(recorder->total);
        if (edges == NULL) {
            Py_DECREF(made);
            return NULL;
        }
        ((Node *)made)->edges = edges;
        items = &PyTuple_GET_ITEM(edges, 0);
    }
    for (Py_ssize_t i = 0; i < recorder->total; i++) {
        items[i] = Py_NewRef(recorder->tensors >> i & 1 ? edge_of(args[i]) : Py_None);
    }
    return made;
}

/* Call `setup_context(node, inputs, result)`. Returns -1 with an exception. */
static int set_up(const UserRecorder *recorder, PyObject *node, PyObject *const *args, PyObject *result) {
    PyObject *inputs = PyTuple_New(recorder->total);
    if (inputs == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < recorder->total; i++) {
        PyTuple_SET_ITEM(inputs, i, Py_NewRef(args[i]));
    }
    PyObject *given[] = {NULL, node, inputs, result};
    PyObject *done = PyObject_Vectorcall(recorder->setup, given + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_DECREF(inputs);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Return what is below gives, once `setup_context` has seen it; both run where nothing is recorded. */
static PyObject *call_below(const UserRecorder *recorder, PyObject *node, PyObject *const *args) {
    PyObject *token = PyContextVar_Set(core.modes, recorder->unrecorded);
    if (token == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(recorder->below, args, (size_t)recorder->total, NULL);
    if (result != NULL && recorder->setup != NULL && set_up(recorder, node, args, result) < 0) {
        Py_CLEAR(result);
    }
    return leave_modes(token, result);
}

/* Keep what `save_for_backward` was given: Tensors here. Returns -1 with an exception. */
static int keep_saved(const UserRecorder *recorder, PyObject *node) {
    PyObject *given = PyObject_GetAttr(node, interned._to_save), *saved = NULL;
    if (given == NULL) {
        return -1;
    }
    const Py_ssize_t count = PyTuple_CheckExact(given) ? PyTuple_GET_SIZE(given) : -1;
    int is_plain = count >= 0, failed = 0;
    for (Py_ssize_t i = 0; is_plain && i < count; i++) {
        PyObject *each = PyTuple_GET_ITEM(given, i);
        is_plain = Py_TYPE(each) == core.tensor && !PyTuple_Check(edge_of(each));
    }
    if (is_plain && count > 0) {
        saved = PyList_New(count);
        for (Py_ssize_t i = 0; saved != NULL && i < count; i++) {
            PyObject *each = save(PyTuple_GET_ITEM(given, i));
            if (each == NULL) {
                Py_CLEAR(saved);
            } else {
                PyList_SET_ITEM(saved, i, each);
            }
        }
        failed = saved == NULL || PyObject_SetAttr(node, interned._saved, saved) < 0 ||
                 PyObject_SetAttr(node, interned._to_save, interned.nothing) < 0;
    } else if (count != 0) {
        PyObject *done = PyObject_CallOneArg(recorder->keep, node);
        Py_XDECREF(done);
        failed = done == NULL;
    }
    Py_DECREF(given);
    Py_XDECREF(saved);
    return failed ? -1 : 0;
}

/* Whether the result is a dense tensor of floats, which `setup_context` has not said to have no gradient; -1 with an
 * exception. */
static int is_dense_result(PyObject *result, PyObject *node) {
    PyObject *array = Py_TYPE(result) == core.tensor ? ((Tensor *)result)->array : NULL;
    if (array == NULL || ((Tensor *)result)->keys != core.dense_cpu || Py_TYPE(array) != core.array ||
        array_is_inexact(array) != 1 || !array_is_real(array)) {
        return 0;
    }
    PyObject *left_out = PyObject_GetAttr(node, interned._non_differentiable);
    int is_none = left_out == NULL ? -1 : PyObject_Not(left_out);
    Py_XDECREF(left_out);
    return is_none;
}

/* Give a dense tensor its history. Returns -1 with an exception. */
static int note_result(const UserRecorder *recorder, PyObject *node, Tensor *result) {
    PyObject *shape = array_shape(result->array), *dtype = array_dtype(result->array);
    PyObject *outputs = shape == NULL ? NULL : Py_BuildValue("((OOO))", shape, dtype, recorder->device);
    PyObject *edge = outputs == NULL ? NULL : Py_BuildValue("(Oi)", node, 0);
    Py_XDECREF(shape);
    Py_DECREF(dtype);
    if (edge == NULL) {
        Py_XDECREF(outputs);
        return -1;
    }
    number_node((Node *)node);
    replace_slot(node, recorder->outputs, outputs);
    Py_XSETREF(result->edge, edge);
    Py_XSETREF(result->keys, Py_NewRef(core.dense_cpu_grad));
    return 0;
}

/* Call the kernel below, and record the call. Returns what the kernel returns, with its history. */
static PyObject *user_recorder_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const UserRecorder *recorder = (UserRecorder *)self;
    int common = names == NULL && PyVectorcall_NARGS(flagged) == recorder->total ? is_common(recorder, args) : 0;
    if (common <= 0) {
        return common < 0 ? NULL : PyObject_Vectorcall(recorder->base.function, args, flagged, names);
    }
    PyObject *node = make_node(recorder, args);
    PyObject *result = node == NULL ? NULL : call_below(recorder, node, args);
    int is_dense = result == NULL ? -1 : is_dense_result(result, node);
    if (is_dense == 0) {
        Py_SETREF(result, PyObject_CallFunctionObjArgs(recorder->finish, node, result, NULL));
    } else if (is_dense < 0 || note_result(recorder, node, (Tensor *)result) < 0 || keep_saved(recorder, node) < 0) {
        Py_CLEAR(result);
    }
    Py_XDECREF(node);
    return result;
}

/* Find the slot of the results, and look at the class of nodes. Returns -1 with an exception. */
static int user_recorder_init(PyObject *self, PyObject *const *args) {
    (void)args;
    UserRecorder *recorder = (UserRecorder *)self;
    recorder->outputs = slot_offset(recorder->context, "outputs");
    if (recorder->outputs < 0) {
        return -1;
    }
    if (!PyType_IsSubtype(recorder->context, core.node) || !saving_is_ready() || recorder->total < 1 ||
        recorder->total > MOST_ARGUMENTS || recorder->tensors >> recorder->total != 0) {
        PyErr_SetString(PyExc_ValueError, "configure comes first, and a node has an edge for each argument");
        return -1;
    }
    return 0;
}

static const Field user_recorder_fields[] = {
    {"below", FIELD_OBJECT, offsetof(UserRecorder, below)},
    {"context", FIELD_CLASS, offsetof(UserRecorder, context)},
    {"setup_context", FIELD_OPTIONAL, offsetof(UserRecorder, setup)},
    {"keep", FIELD_OBJECT, offsetof(UserRecorder, keep)},
    {"finish", FIELD_OBJECT, offsetof(UserRecorder, finish)},
    {"unrecorded", FIELD_OBJECT, offsetof(UserRecorder, unrecorded)},
    {"device", FIELD_OBJECT, offsetof(UserRecorder, device)},
    {"total", FIELD_SIZE, offsetof(UserRecorder, total)},
    {"tensors", FIELD_BITS, offsetof(UserRecorder, tensors)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType user_recorder_type = {
    .name = "opwright_core._fast.UserRecorder",
    .size = sizeof(UserRecorder),
    .call = user_recorder_call,
    .fields = user_recorder_fields,
    .init = user_recorder_init,
};
