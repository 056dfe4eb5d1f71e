/* Recorder: a recording kernel. It calls what is below, makes the node, and gives the result its history, as the
 * generated Python kernel does, which it stands for. That handles whatever is no plain Tensor. */

#include "fast/arrays/arrays.h"
#include "fast/call/callable.h"
#include "fast/configure.h"
#include "history.h"
#include "saved_values.h"
#include "fast/arrays/storage.h"

typedef struct {
    Callable base;
    PyObject *below;
    PyTypeObject *node_type;
    Py_ssize_t total;                  /* how many arguments the kernel takes */
    int edges_count;
    unsigned char edges[MOST_ARGUMENTS]; /* positions of the operands that may get a gradient */
    int savings_count;
    SavedValue savings[MOST_SAVED];
    uint32_t refused; /* a bit for each argument that may have no gradient: the Python says so */
    int output;       /* which of several results gets the history; -1: there is one */
} Recorder;

/* What `configure` is told: what Python does where a result is uncommon. */
static PyObject *record_in_python = NULL;

static int64_t last_sequence = -1;

/* Return the next number of a node, for Python and here. */
PyObject *next_sequence(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromLongLong(++last_sequence);
}

/* Give a node the next number. */
void number_node(Node *node) {
    node->sequence = ++last_sequence;
}

/* Give a new node its edges. Returns -1 with an exception. */
static int set_edges(Node *node, const Recorder *recorder, PyObject *const *args) {
    int count = recorder->edges_count;
    PyObject **items = node->few;
    if (count == 0 || count > MOST_INLINE_EDGES) {
        node->edges = PyTuple_New(count);
        if (node->edges == NULL) {
            return -1;
        }
        items = &PyTuple_GET_ITEM(node->edges, 0);
    }
    for (int i = 0; i < count; i++) {
        items[i] = Py_NewRef(edge_of(args[recorder->edges[i]]));
    }
    return 0;
}

/* Make the node with its edges and what it saves of the arguments. Returns a new reference, or NULL with an exception.
 * */
static PyObject *make_node(const Recorder *recorder, PyObject *const *args) {
    PyObject *node = recorder->node_type->tp_alloc(recorder->node_type, 0);
    if (node == NULL) {
        return NULL;
    }
    int failed = set_edges((Node *)node, recorder, args);
    for (int i = 0; failed == 0 && i < recorder->savings_count; i++) {
        const SavedValue *saving = &recorder->savings[i];
        if (!is_of_result(saving)) {
            failed = save_argument(saving, node, args);
        }
    }
    if (failed) {
        Py_CLEAR(node);
    }
    return node;
}

/* Return a tensor's keys with GRAD. */
static PyObject *keys_with_grad(PyObject *keys) {
    return keys == core.dense_cpu ? Py_NewRef(core.dense_cpu_grad) : PyNumber_Or(keys, core.grad);
}

/* Number a node, and note on it what its output looks like. Returns -1 with an exception. */
int describe_node(Node *node, PyObject *array) {
    PyObject *shape = array_shape(array);
    if (shape == NULL) {
        return -1;
    }
    number_node(node);
    Py_XSETREF(node->extra, Py_NewRef(Py_None));
    Py_XSETREF(node->shape, shape);
    Py_XSETREF(node->dtype, array_dtype(array));
    return 0;
}

/* Give a tensor in NumPy's memory its history. Returns -1 with an exception. */
int note_history(Tensor *result, PyObject *made) {
    PyObject *keys = keys_with_grad(result->keys);
    if (keys == NULL || describe_node((Node *)made, result->array) < 0) {
        Py_XDECREF(keys);
        return -1;
    }
    Py_XSETREF(result->keys, keys);
    Py_XSETREF(result->edge, Py_NewRef(made));
    return 0;
}

/* Note on a view which writes to its memory its history knows of. */
void note_version(const Tensor *view) {
    int overflow;
    if (view->keys == core.dense_cpu_grad || !PyLong_CheckExact(view->keys) ||
        !(PyLong_AsLongLongAndOverflow(view->keys, &overflow) & core.view_bits) ||
        !Py_IS_TYPE(view->extra, storage_slots.extra)) {
        return;
    }
    PyObject *storage = slot_at(view->extra, storage_slots.own);
    if (storage != NULL && Py_IS_TYPE(storage, storage_slots.storage)) {
        replace_slot(view->extra, storage_slots.seen, Py_XNewRef(slot_at(storage, storage_slots.version)));
    }
}

/* Give a new tensor its history, unless its dtype has none. Returns -1 with an exception. */
static int record(Tensor *result, PyObject *node) {
    int is_inexact =
        result->array != NULL && Py_TYPE(result->array) == core.array ? array_is_inexact(result->array) : -1;
    if (is_inexact < 0) {
        PyObject *done = PyObject_CallFunctionObjArgs(record_in_python, (PyObject *)result, node, NULL);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    if (is_inexact && note_history(result, node) < 0) {
        return -1;
    }
    if (is_inexact) {
        note_version(result);
    }
    return 0;
}

/* Return a result, borrowed, or NULL with an exception where it is no Tensor. */
static PyObject *result_at(const Recorder *recorder, PyObject *results, int position) {
    PyObject *found = results;
    if (recorder->output >= 0) {
        int is_there =
            (PyTuple_Check(results) || PyList_Check(results)) && position < PySequence_Fast_GET_SIZE(results);
        found = is_there ? PySequence_Fast_GET_ITEM(results, position) : Py_None;
    }
    if (PyObject_TypeCheck(found, core.tensor)) {
        return found;
    }
    /* as Python says it, which looks for the array */
    PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute 'array'", Py_TYPE(found)->tp_name);
    return NULL;
}

/* Save what the node needs of the results. Returns -1 with an exception. */
static int save_results(const Recorder *recorder, PyObject *results, PyObject *node) {
    for (int i = 0; i < recorder->savings_count; i++) {
        const SavedValue *saving = &recorder->savings[i];
        if (is_of_result(saving)) {
            PyObject *result = result_at(recorder, results, saving->position);
            if (result == NULL || save_output(saving, node, result) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* Whether every operand that may get a gradient, or is saved, is exactly a Tensor with keys, or None, and none has a
 * gradient that may not. Returns 1 or 0. */
static int are_plain(const Recorder *recorder, PyObject *const *args) {
    for (int i = 0; i < recorder->edges_count; i++) {
        PyObject *value = args[recorder->edges[i]];
        if (Py_TYPE(value) != core.tensor && value != Py_None) {
            return 0;
        }
    }
    for (int i = 0; i < recorder->savings_count; i++) {
        if (!saved_value_takes(&recorder->savings[i], args)) {
            return 0;
        }
    }
    for (int position = 0; recorder->refused >> position != 0; position++) {
        PyObject *value = args[position];
        if (recorder->refused >> position & 1 && value != Py_None &&
            (Py_TYPE(value) != core.tensor || edge_of(value) != Py_None)) {
            return 0;
        }
    }
    return 1;
}

/* Whether any operand gets a gradient. */
static int is_recorded(const Recorder *recorder, PyObject *const *args) {
    for (int i = 0; i < recorder->edges_count; i++) {
        if (edge_of(args[recorder->edges[i]]) != Py_None) {
            return 1;
        }
    }
    return 0;
}

/* Call the kernel below, and record the call if an operand gets a gradient. Returns what the kernel returns. */
static PyObject *recorder_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const Recorder *recorder = (Recorder *)self;
    if (names != NULL || PyVectorcall_NARGS(flagged) != recorder->total || !are_plain(recorder, args)) {
        return PyObject_Vectorcall(recorder->base.function, args, flagged, names);
    }
    PyObject *results = PyObject_Vectorcall(recorder->below, args, flagged, NULL);
    if (results == NULL || !is_recorded(recorder, args)) {
        return results;
    }
    PyObject *result = result_at(recorder, results, recorder->output);
    PyObject *node = result == NULL ? NULL : make_node(recorder, args);
    if (node == NULL || record((Tensor *)result, node) < 0 || save_results(recorder, results, node) < 0) {
        Py_CLEAR(results);
    }
    Py_XDECREF(node);
    return results;
}

/* Read what the node saves. Returns -1 with an exception. */
static int read_savings(Recorder *made, PyObject *savings) {
    if (PyTuple_GET_SIZE(savings) > MOST_SAVED) {
        PyErr_SetString(PyExc_ValueError, "a node that saves so much is the Python's");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(savings); i++) {
        SavedValue *saving = &made->savings[made->savings_count++];
        if (saved_value_read(saving, PyTuple_GET_ITEM(savings, i), made->node_type, made->total) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Read the positions of the operands that may get a gradient. Returns -1 with an exception. */
static int read_edges(Recorder *made, PyObject *edges) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(edges); i++) {
        long position = PyLong_AsLong(PyTuple_GET_ITEM(edges, i));
        if (position < 0 || position >= made->total || i >= MOST_ARGUMENTS) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "the kernel has no such argument");
            }
            return -1;
        }
        made->edges[made->edges_count++] = (unsigned char)position;
    }
    return 0;
}

const Setting recorder_settings[] = {
    {"record", SETTING_OBJECT, &record_in_python, NULL, NULL},
    NO_SETTING,
};

/* Read the edges and what the node saves. Returns -1 with an exception. */
static int recorder_init(PyObject *self, PyObject *const *args) {
    Recorder *recorder = (Recorder *)self;
    if (!PyType_IsSubtype(recorder->node_type, core.node)) {
        PyErr_SetString(PyExc_TypeError, "a Recorder takes a class of nodes");
        return -1;
    }
    if (record_in_python == NULL || recorder->total > MOST_ARGUMENTS || recorder->refused >> recorder->total != 0) {
        PyErr_SetString(PyExc_ValueError, "configure comes first, and no kernel takes so many arguments");
        return -1;
    }
    return read_edges(recorder, args[4]) < 0 ? -1 : read_savings(recorder, args[5]);
}

static const Field recorder_fields[] = {
    {"below", FIELD_OBJECT, offsetof(Recorder, below)},
    {"node_type", FIELD_CLASS, offsetof(Recorder, node_type)},
    {"total", FIELD_SIZE, offsetof(Recorder, total)},
    {"edges", FIELD_TUPLE, 0},
    {"savings", FIELD_TUPLE, 0},
    {"refused", FIELD_BITS, offsetof(Recorder, refused)},
    {"output", FIELD_NUMBER, offsetof(Recorder, output)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType recorder_type = {
    .name = "opwright_core._fast.Recorder",
    .size = sizeof(Recorder),
    .call = recorder_call,
    .fields = recorder_fields,
    .init = recorder_init,
};
