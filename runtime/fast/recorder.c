/* Recorder: a recording kernel. It calls what is below, makes the node, and gives the result its history, as the
 * generated Python kernel does in whose place it stands, which takes whatever is no plain Tensor. */

#include "loops.h"

/* What a node keeps; `opwright.autograd.recorders` has the numbers. */
enum Keeping {
    KEEP_VALUE = 0,  /* an argument as it is */
    KEEP_TENSOR = 1, /* an argument that is a Tensor, with the version of its memory */
    KEEP_RESULT = 2, /* the result, without its history */
};

typedef struct {
    Py_ssize_t slot;    /* the offset in the node */
    unsigned char how;
    signed char place;  /* of the argument */
    signed char needed; /* the place of the tensor whose gradient needs it; -1: always */
} Saving;

typedef struct {
    Function base;
    PyObject *below;
    PyTypeObject *node_type;
    Py_ssize_t total;                  /* how many arguments the kernel takes */
    int edges_count;
    unsigned char edges[MOST_ARGUMENTS]; /* the places of the operands that may get a gradient */
    int savings_count;
    Saving savings[MOST_SAVED];
} Recorder;

/* What `configure_recording` is told: what Python does where it is uncommon. */
static struct {
    PyObject *record, *grad;
} recording = {0};

static int64_t last_sequence = -1;

static PyTypeObject *recorder_type = NULL;

/* Return the next number of a node, for Python and here. */
PyObject *next_sequence(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromLongLong(++last_sequence);
}

static int recorder_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Recorder *)self)->below);
    Py_VISIT(((Recorder *)self)->node_type);
    return function_traverse(self, visit, arg);
}

static void recorder_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((Recorder *)self)->below);
    Py_CLEAR(((Recorder *)self)->node_type);
    (void)function_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Set a slot of a new node. Takes the reference; NULL is the failure of who made it. */
static int set_slot(PyObject *node, Py_ssize_t offset, PyObject *value) {
    if (value == NULL) {
        return -1;
    }
    *(PyObject **)((char *)node + offset) = value;
    return 0;
}

static PyObject *edge_of(PyObject *tensor) {
    PyObject *edge = ((Tensor *)tensor)->edge;
    return edge == NULL ? Py_None : edge;
}

static PyObject *saved_argument(const Saving *saving, PyObject *const *args) {
    PyObject *value = args[saving->place];
    if (saving->how == KEEP_VALUE) {
        return Py_NewRef(value);
    }
    if (saving->needed >= 0 && edge_of(args[saving->needed]) == Py_None) {
        return Py_NewRef(Py_None);
    }
    return save(value);
}

static PyObject *edges_of(const Recorder *recorder, PyObject *const *args) {
    PyObject *edges = PyTuple_New(recorder->edges_count);
    for (int i = 0; edges != NULL && i < recorder->edges_count; i++) {
        PyTuple_SET_ITEM(edges, i, Py_NewRef(edge_of(args[recorder->edges[i]])));
    }
    return edges;
}

/* Make the node with its edges and what it saves of the arguments. */
static PyObject *make_node(const Recorder *recorder, PyObject *const *args) {
    PyObject *node = recorder->node_type->tp_alloc(recorder->node_type, 0);
    if (node == NULL) {
        return NULL;
    }
    int failed = set_slot(node, node_slots.edges, edges_of(recorder, args));
    for (int i = 0; failed == 0 && i < recorder->savings_count; i++) {
        const Saving *saving = &recorder->savings[i];
        if (saving->how != KEEP_RESULT) {
            failed = set_slot(node, saving->slot, saved_argument(saving, args));
        }
    }
    if (failed) {
        Py_CLEAR(node);
    }
    return node;
}

/* Return a tensor's keys with GRAD. */
static PyObject *keys_with_grad(PyObject *keys) {
    return keys == core.dense_cpu ? Py_NewRef(core.dense_cpu_grad) : PyNumber_Or(keys, recording.grad);
}

/* Give a new tensor its history. */
static int note_history(Tensor *result, PyObject *node) {
    if (result->array == NULL || Py_TYPE(result->array) != core.array) {
        PyObject *done = PyObject_CallFunctionObjArgs(recording.record, (PyObject *)result, node, NULL);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    if (set_slot(node, node_slots.sequence, next_sequence(NULL, NULL)) < 0 ||
        set_slot(node, node_slots.extra, Py_NewRef(Py_None)) < 0 ||
        set_slot(node, node_slots.shape, array_shape(result->array)) < 0 ||
        set_slot(node, node_slots.dtype, array_dtype(result->array)) < 0) {
        return -1;
    }
    PyObject *keys = keys_with_grad(result->keys);
    if (keys == NULL) {
        return -1;
    }
    Py_XSETREF(result->keys, keys);
    Py_XSETREF(result->edge, Py_NewRef(node));
    return 0;
}

static int save_results(const Recorder *recorder, PyObject *result, PyObject *node) {
    for (int i = 0; i < recorder->savings_count; i++) {
        const Saving *saving = &recorder->savings[i];
        if (saving->how == KEEP_RESULT &&
            set_slot(node, saving->slot, save_result(result)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Whether every operand that may get a gradient, or is saved, is exactly a Tensor with keys. */
static int are_plain(const Recorder *recorder, PyObject *const *args) {
    for (int i = 0; i < recorder->edges_count; i++) {
        PyObject *value = args[recorder->edges[i]];
        if (Py_TYPE(value) != core.tensor) {
            return 0;
        }
    }
    for (int i = 0; i < recorder->savings_count; i++) {
        const Saving *saving = &recorder->savings[i];
        if (saving->how == KEEP_TENSOR) {
            Tensor *tensor = (Tensor *)args[saving->place];
            if (Py_TYPE(tensor) != core.tensor || tensor->keys == NULL || !PyLong_CheckExact(tensor->keys)) {
                return 0;
            }
        }
    }
    return 1;
}

static PyObject *recorder_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const Recorder *recorder = (Recorder *)self;
    if (names != NULL || PyVectorcall_NARGS(flagged) != recorder->total || !are_plain(recorder, args)) {
        return PyObject_Vectorcall(recorder->base.function, args, flagged, names);
    }
    PyObject *result = PyObject_Vectorcall(recorder->below, args, flagged, NULL);
    if (result == NULL) {
        return NULL;
    }
    if (!PyObject_TypeCheck(result, core.tensor)) { /* as Python says it, which looks for the array */
        PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute 'array'", Py_TYPE(result)->tp_name);
        Py_DECREF(result);
        return NULL;
    }
    PyObject *node = make_node(recorder, args);
    if (node == NULL || note_history((Tensor *)result, node) < 0 || save_results(recorder, result, node) < 0) {
        Py_CLEAR(result);
    }
    Py_XDECREF(node);
    return result;
}

/* Take `(slot, how, place, needed)` of each thing that is saved. */
static int read_savings(Recorder *made, PyObject *savings) {
    if (PyTuple_GET_SIZE(savings) > MOST_SAVED) {
        PyErr_SetString(PyExc_ValueError, "a node that saves so much is the Python's");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(savings); i++) {
        const char *name;
        int how, place, needed;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(savings, i), "siii", &name, &how, &place, &needed)) {
            return -1;
        }
        if (how < KEEP_VALUE || how > KEEP_RESULT || place < 0 || place >= made->total || needed < -1 ||
            needed >= made->total) {
            PyErr_SetString(PyExc_ValueError, "the kernel has no such argument");
            return -1;
        }
        Py_ssize_t offset = slot_offset(made->node_type, name);
        if (offset < 0) {
            return -1;
        }
        made->savings[i] = (Saving){offset, (unsigned char)how, (signed char)place, (signed char)needed};
        made->savings_count++;
    }
    return 0;
}

static int read_edges(Recorder *made, PyObject *edges) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(edges); i++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(edges, i));
        if (place < 0 || place >= made->total || i >= MOST_ARGUMENTS) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "the kernel has no such argument");
            }
            return -1;
        }
        made->edges[made->edges_count++] = (unsigned char)place;
    }
    return 0;
}

/* Recorder(function, below, node_class, total, edges, savings) */
static PyObject *recorder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *below, *node_class, *edges, *savings;
    Py_ssize_t total;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "Recorder() takes its arguments by position");
        return NULL;
    }
    if (!PyArg_ParseTuple(
            args, "OOO!nO!O!:Recorder", &function, &below, &PyType_Type, &node_class, &total, &PyTuple_Type, &edges,
            &PyTuple_Type, &savings)) {
        return NULL;
    }
    if (recording.record == NULL || total > MOST_ARGUMENTS) {
        PyErr_SetString(PyExc_ValueError, "configure_recording comes first, and no kernel takes so many arguments");
        return NULL;
    }
    Recorder *made = (Recorder *)type->tp_alloc(type, 0);
    if (made == NULL) {
        return NULL;
    }
    made->base.call = recorder_call;
    made->base.function = Py_NewRef(function);
    made->below = Py_NewRef(below);
    made->node_type = (PyTypeObject *)Py_NewRef(node_class);
    made->total = total;
    adopt_node(made->node_type);
    if (read_edges(made, edges) < 0 || read_savings(made, savings) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    return (PyObject *)made;
}

/* configure_recording(Node, record, GRAD) */
PyObject *configure_recording(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *node, *record, *grad;
    if (!PyArg_ParseTuple(args, "O!OO!:configure_recording", &PyType_Type, &node, &record, &PyLong_Type, &grad)) {
        return NULL;
    }
    if (find_node_slots((PyTypeObject *)node) < 0) {
        return NULL;
    }
    core.dense_cpu_grad = PyNumber_Or(core.dense_cpu, grad);
    if (core.dense_cpu_grad == NULL) {
        return NULL;
    }
    recording.grad = Py_NewRef(grad);
    recording.record = Py_NewRef(record);
    Py_RETURN_NONE;
}

static PyType_Slot recorder_slots[] = {
    {Py_tp_new, recorder_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, recorder_traverse},
    {Py_tp_dealloc, recorder_dealloc},
    {Py_tp_getattro, function_getattro},
    {Py_tp_setattro, function_setattro},
    {Py_tp_repr, function_repr},
    {Py_tp_getset, function_getset},
    {Py_tp_methods, function_methods},
    {Py_tp_members, function_members},
    {0, NULL},
};

static PyType_Spec recorder_spec = {
    .name = "opwright._fast.Recorder",
    .basicsize = sizeof(Recorder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = recorder_slots,
};

PyTypeObject *make_recorder_type(PyObject *module) {
    recorder_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &recorder_spec, NULL);
    return recorder_type;
}
