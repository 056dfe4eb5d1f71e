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

/* What `configure_recording` is told: what Python does where it is uncommon, and the offsets of the slots of nodes. */
static struct {
    PyObject *save, *save_result, *record, *blocks_owner, *blocks_name, *grad, *dense_cpu_grad;
    int64_t autograd_bits;
    Py_ssize_t edges, sequence, shape, dtype, extra;
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

/* Whether hooks may want to see what is saved, or the tensor must not be. Returns -1 with an exception. */
static int is_saved_by_python(Tensor *tensor) {
    PyObject *blocks = PyDict_GetItemWithError(recording.blocks_owner, recording.blocks_name);
    if (blocks == NULL || !PyLong_CheckExact(blocks) || tensor->keys == NULL || !PyLong_CheckExact(tensor->keys)) {
        return PyErr_Occurred() ? -1 : 1;
    }
    int overflow;
    int64_t keys = tensor->keys == core.dense_cpu ? core.dense_cpu_bits
                                                  : PyLong_AsLongLongAndOverflow(tensor->keys, &overflow);
    int64_t count = PyLong_AsLongLongAndOverflow(blocks, &overflow);
    return count != 0 || !(keys & recording.autograd_bits);
}

/* Return a tensor as a node keeps it: `opwright.autograd.saved.save`. */
static PyObject *save(PyObject *tensor) {
    int by_python = is_saved_by_python((Tensor *)tensor);
    if (by_python < 0) {
        return NULL;
    }
    if (by_python || ((Tensor *)tensor)->extra != Py_None) {
        return PyObject_CallOneArg(recording.save, tensor);
    }
    PyObject *zero = PyLong_FromLong(0);
    if (zero == NULL) {
        return NULL;
    }
    PyObject *saved = PyTuple_New(2);
    if (saved == NULL) {
        Py_DECREF(zero);
        return NULL;
    }
    PyTuple_SET_ITEM(saved, 0, Py_NewRef(tensor));
    PyTuple_SET_ITEM(saved, 1, zero);
    return saved;
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
    int failed = set_slot(node, recording.edges, edges_of(recorder, args));
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
    return keys == core.dense_cpu ? Py_NewRef(recording.dense_cpu_grad) : PyNumber_Or(keys, recording.grad);
}

/* Give a new tensor its history. */
static int note_history(Tensor *result, PyObject *node) {
    if (result->array == NULL || Py_TYPE(result->array) != core.array) {
        PyObject *done = PyObject_CallFunctionObjArgs(recording.record, (PyObject *)result, node, NULL);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    if (set_slot(node, recording.sequence, next_sequence(NULL, NULL)) < 0 ||
        set_slot(node, recording.extra, Py_NewRef(Py_None)) < 0 ||
        set_slot(node, recording.shape, array_shape(result->array)) < 0 ||
        set_slot(node, recording.dtype, array_dtype(result->array)) < 0) {
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
            set_slot(node, saving->slot, PyObject_CallOneArg(recording.save_result, result)) < 0) {
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

/* Return the offset of a slot of a class, or -1 with an exception. */
static Py_ssize_t slot_offset(PyTypeObject *type, const char *name) {
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    if (found == NULL) {
        return -1;
    }
    Py_ssize_t offset = -1;
    if (Py_IS_TYPE(found, &PyMemberDescr_Type) && ((PyMemberDescrObject *)found)->d_member->type == T_OBJECT_EX) {
        offset = ((PyMemberDescrObject *)found)->d_member->offset;
    } else {
        PyErr_Format(PyExc_TypeError, "%.200s.%s is no slot", type->tp_name, name);
    }
    Py_DECREF(found);
    return offset;
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
    if (recording.save == NULL || total > MOST_ARGUMENTS) {
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

/* configure_recording(node_class, save, save_result, record, globals of `save`, name of the count, GRAD, AUTOGRAD) */
PyObject *configure_recording(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *node, *save_one, *save_result, *record, *owner, *name, *grad;
    long long autograd;
    if (!PyArg_ParseTuple(
            args, "O!OOOO!UO!L:configure_recording", &PyType_Type, &node, &save_one, &save_result, &record,
            &PyDict_Type, &owner, &name, &PyLong_Type, &grad, &autograd)) {
        return NULL;
    }
    PyTypeObject *type = (PyTypeObject *)node;
    recording.edges = slot_offset(type, "edges");
    recording.sequence = slot_offset(type, "sequence");
    recording.shape = slot_offset(type, "shape");
    recording.dtype = slot_offset(type, "dtype");
    recording.extra = slot_offset(type, "extra");
    if (PyErr_Occurred()) {
        return NULL;
    }
    recording.dense_cpu_grad = PyNumber_Or(core.dense_cpu, grad);
    if (recording.dense_cpu_grad == NULL) {
        return NULL;
    }
    recording.autograd_bits = autograd;
    recording.grad = Py_NewRef(grad);
    recording.blocks_owner = Py_NewRef(owner);
    recording.blocks_name = Py_NewRef(name);
    recording.save_result = Py_NewRef(save_result);
    recording.record = Py_NewRef(record);
    recording.save = Py_NewRef(save_one);
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
