/* NodeBase: what all nodes of the graph have, and the memory of those whose classes are generated.
 *
 * The classes stay Python's. Instances of an adopted class, which has slots and nothing else, are not shown to the
 * garbage collector: it would visit each of a large graph several times while that is made, and references free them
 * all but for what users tie into a cycle. So the collector gets to see them where such a cycle may be (hooks, recorded
 * gradients of leaves), before each of its full runs, and when there are very many. */

#include "node.h"

/* How many nodes the collector does not know of, at most: it looks at everything after about as many new objects. */
#define MOST_UNTRACKED 131072

static Py_ssize_t untracked = 0;

/* The sequence of nodes that are being freed. */
#define COUNTED INT64_MIN

/* Visit what a node holds. Returns what `visit` returns. */
static int node_traverse(PyObject *self, visitproc visit, void *arg) {
    Node *node = (Node *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(node->edges);
    Py_VISIT(node->shape);
    Py_VISIT(node->dtype);
    Py_VISIT(node->extra);
    for (int i = 0; i < MOST_INLINE_EDGES; i++) {
        Py_VISIT(node->few[i]);
    }
    return 0;
}

/* Drop what a node holds. Returns 0. */
static int node_clear(PyObject *self) {
    Node *node = (Node *)self;
    Py_CLEAR(node->edges);
    Py_CLEAR(node->shape);
    Py_CLEAR(node->dtype);
    Py_CLEAR(node->extra);
    for (int i = 0; i < MOST_INLINE_EDGES; i++) {
        Py_CLEAR(node->few[i]);
    }
    return 0;
}

/* Show the garbage collector all nodes that it does not know. */
static void track_all(void) {
    if (untracked > 0) {
        cells_track();
        untracked = 0;
    }
}

/* track_nodes(): show the garbage collector all nodes. Returns None. */
PyObject *track_nodes(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    track_all();
    Py_RETURN_NONE;
}

/* before_collecting(phase, info), for `gc.callbacks`: show it all nodes before a full run. Returns None. (In C, where
 * no signal is looked for: the collector would drop a KeyboardInterrupt.) */
PyObject *before_collecting(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count == 2 && PyDict_Check(args[1]) && PyUnicode_Check(args[0]) &&
        PyUnicode_CompareWithASCIIString(args[0], "start") == 0) {
        PyObject *generation = PyDict_GetItemString(args[1], "generation");
        if (generation != NULL && PyLong_CheckExact(generation) && PyLong_AsLong(generation) == 2) {
            track_all();
        }
    }
    Py_RETURN_NONE;
}

/* Clear the slots that the Python classes of an adopted class define. */
static void clear_slots(PyObject *self, PyTypeObject *adopted) {
    for (Py_ssize_t at = sizeof(Node); at < adopted->tp_basicsize; at += (Py_ssize_t)sizeof(PyObject *)) {
        Py_CLEAR(*(PyObject **)((char *)self + at));
    }
}

/* Free a node of any class: for those that are not adopted Python's own deallocator did its part before. */
static void node_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self), *adopted = type;
    while (adopted->tp_dealloc != node_dealloc) {
        adopted = adopted->tp_base;
    }
    if (type->tp_finalize != NULL && PyObject_CallFinalizerFromDealloc(self) < 0) {
        return; /* the finalizer keeps it alive */
    }
    int is_ours = type == adopted && type != core.node;
    if (is_ours && ((Node *)self)->sequence != COUNTED) {
        if (!PyObject_GC_IsTracked(self)) {
            untracked--;
            cell_unhide(self);
        }
        ((Node *)self)->sequence = COUNTED; /* the trashcan brings it here a second time */
    }
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, node_dealloc);
    (void)node_clear(self);
    clear_slots(self, adopted);
    type->tp_free(self);
    Py_DECREF(type);
    Py_TRASHCAN_END;
}

/* Return memory for a node of an adopted class, which the collector does not know; NULL with MemoryError. */
static PyObject *node_alloc(PyTypeObject *type, Py_ssize_t items) {
    (void)items;
    PyObject *self = cell_take((size_t)type->tp_basicsize);
    if (self == NULL) {
        return NULL;
    }
    if (untracked >= MOST_UNTRACKED) {
        track_all();
    }
    untracked++;
    cell_hide(self);
    return PyObject_Init(self, type);
}

/* Give the memory of a node back. */
static void node_free(void *self) {
    cell_give_back(self);
}

/* Return how many slots a class defines itself. */
static Py_ssize_t own_slots(PyTypeObject *type) {
    PyObject *name, *value;
    Py_ssize_t at = 0, count = 0;
    while (PyDict_Next(type->tp_dict, &at, &name, &value)) {
        count += Py_IS_TYPE(value, &PyMemberDescr_Type) &&
                 ((PyMemberDescrObject *)value)->d_member->type == T_OBJECT_EX;
    }
    return count;
}

/* adopt_node(type): take a new class if its instances are slots and nothing else; others stay as they are. Returns
 * None. */
PyObject *adopt_node(PyObject *module, PyObject *object) {
    (void)module;
    if (!PyType_Check(object) || !PyType_IsSubtype((PyTypeObject *)object, core.node)) {
        PyErr_SetString(PyExc_TypeError, "adopt_node() takes a class of nodes");
        return NULL;
    }
    PyTypeObject *type = (PyTypeObject *)object;
    Py_ssize_t count = 0;
    for (PyTypeObject *base = type; base != core.node; base = base->tp_base) {
        count += own_slots(base);
    }
    int has_more = type->tp_dictoffset != 0 || type->tp_weaklistoffset != 0 || type->tp_itemsize != 0;
    Py_ssize_t bytes = (Py_ssize_t)sizeof(Node) + count * (Py_ssize_t)sizeof(PyObject *);
    if (!has_more && type->tp_basicsize == bytes && count <= MOST_ARGUMENTS) {
        type->tp_alloc = node_alloc;
        type->tp_dealloc = node_dealloc;
        type->tp_free =
            node_free; /* so that `__class__` of a node can become no class whose instances have other memory */
    }
    Py_RETURN_NONE;
}

/* Return the offset of a slot of a class, or -1 with an exception. */
Py_ssize_t slot_offset(PyTypeObject *type, const char *name) {
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

/* Return how many edges a node has without a tuple of them. */
static Py_ssize_t few_count(const Node *node) {
    Py_ssize_t count = 0;
    while (count < MOST_INLINE_EDGES && node->few[count] != NULL) {
        count++;
    }
    return count;
}

/* Hold a node's edges. Returns -1 with an exception. */
int edges_hold(PyObject *object, Edges *edges) {
    Node *node = (Node *)object;
    *edges = (Edges){0};
    if (node->edges != NULL) {
        edges->sequence = PySequence_Tuple(node->edges);
        if (edges->sequence == NULL) {
            return -1;
        }
        edges->items = &PyTuple_GET_ITEM(edges->sequence, 0);
        edges->count = PyTuple_GET_SIZE(edges->sequence);
        return 0;
    }
    edges->count = few_count(node);
    edges->items = edges->few;
    for (Py_ssize_t i = 0; i < edges->count; i++) {
        edges->few[i] = Py_NewRef(node->few[i]);
    }
    if (edges->count == 0) {
        PyErr_SetString(PyExc_AttributeError, "edges");
        return -1;
    }
    return 0;
}

/* Drop the edges that were held. */
void edges_drop(Edges *edges) {
    Py_XDECREF(edges->sequence);
    for (int i = 0; i < MOST_INLINE_EDGES; i++) {
        Py_XDECREF(edges->few[i]);
    }
}

/* Return `Node.edges`, a new reference: the tuple is made when it is first read, and stays. */
static PyObject *get_edges(PyObject *self, void *unused) {
    (void)unused;
    Node *node = (Node *)self;
    Py_ssize_t count = few_count(node);
    if (node->edges == NULL && count == 0) {
        PyErr_SetString(PyExc_AttributeError, "edges");
        return NULL;
    }
    if (node->edges == NULL) {
        PyObject *made = PyTuple_New(count);
        for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
            PyTuple_SET_ITEM(made, i, Py_NewRef(node->few[i]));
        }
        Py_XSETREF(node->edges, made);
    }
    return Py_XNewRef(node->edges);
}

/* Set `Node.edges`, or delete it. Returns 0. */
static int set_edges(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    Node *node = (Node *)self;
    Py_XSETREF(node->edges, Py_XNewRef(value));
    for (int i = 0; i < MOST_INLINE_EDGES; i++) {
        Py_CLEAR(node->few[i]);
    }
    return 0;
}

static PyGetSetDef node_getset[] = {
    {"edges", get_edges, set_edges, "Where the gradients of the operands flow.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef node_members[] = {
    {"shape", T_OBJECT_EX, offsetof(Node, shape), 0, NULL},
    {"dtype", T_OBJECT_EX, offsetof(Node, dtype), 0, NULL},
    {"extra", T_OBJECT_EX, offsetof(Node, extra), 0, NULL},
    {"sequence", T_LONGLONG, offsetof(Node, sequence), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot node_slots[] = {
    {Py_tp_doc, "What all nodes of the graph have."},
    {Py_tp_traverse, node_traverse},
    {Py_tp_clear, node_clear},
    {Py_tp_dealloc, node_dealloc},
    {Py_tp_getset, node_getset},
    {Py_tp_members, node_members},
    {0, NULL},
};

static PyType_Spec node_spec = {
    .name = "opwright_core._fast.NodeBase",
    .basicsize = sizeof(Node),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = node_slots,
};

/* Make the base of nodes. Returns a new reference, or NULL with an exception. */
PyTypeObject *make_node_base(PyObject *module) {
    core.node = (PyTypeObject *)PyType_FromModuleAndSpec(module, &node_spec, NULL);
    return (PyTypeObject *)Py_XNewRef((PyObject *)core.node);
}
