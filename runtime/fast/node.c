/* The memory of nodes: classes of generated nodes have slots and nothing else, so that their instances are freed here,
 * and made again from a free list for each size. The classes stay Python's. */

#include "core.h"

NodeSlots node_slots = {0};

#define MOST_FREE 64
#define MOST_SLOTS 12

/* Nodes that are free, linked by their first slot, by how many slots they have. */
static PyObject *free_nodes[MOST_SLOTS + 1];
static int free_counts[MOST_SLOTS + 1];

static PyObject **slots_of(PyObject *node) {
    return (PyObject **)((char *)node + sizeof(PyObject));
}

static Py_ssize_t slots_count(PyTypeObject *type) {
    return (type->tp_basicsize - (Py_ssize_t)sizeof(PyObject)) / (Py_ssize_t)sizeof(PyObject *);
}

/* Free a node of an adopted class, or of a subclass, for which Python's own deallocator did its part before. */
static void node_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self), *adopted = type;
    while (adopted->tp_dealloc != node_dealloc) {
        adopted = adopted->tp_base;
    }
    if (type->tp_finalize != NULL && PyObject_CallFinalizerFromDealloc(self) < 0) {
        return; /* the finalizer keeps it alive */
    }
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, node_dealloc);
    Py_ssize_t count = slots_count(adopted);
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_CLEAR(slots_of(self)[i]);
    }
    if (type == adopted && type->tp_finalize == NULL && free_counts[count] < MOST_FREE) {
        slots_of(self)[0] = free_nodes[count];
        free_nodes[count] = self;
        free_counts[count]++;
    } else {
        type->tp_free(self);
    }
    Py_DECREF(type);
    Py_TRASHCAN_END;
}

static PyObject *node_alloc(PyTypeObject *type, Py_ssize_t items) {
    Py_ssize_t count = slots_count(type);
    if (type->tp_dealloc != node_dealloc || free_counts[count] == 0) {
        return PyType_GenericAlloc(type, items);
    }
    PyObject *self = free_nodes[count];
    free_nodes[count] = slots_of(self)[0];
    free_counts[count]--;
    slots_of(self)[0] = NULL;
    (void)PyObject_Init(self, type);
    PyObject_GC_Track(self);
    return self;
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

/* Take a class if its instances are slots and nothing else; others stay as they are. */
void adopt_node(PyTypeObject *type) {
    Py_ssize_t count = 0;
    for (PyTypeObject *base = type; base != &PyBaseObject_Type; base = base->tp_base) {
        if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
            return;
        }
        count += own_slots(base);
    }
    int has_more = type->tp_dictoffset != 0 || type->tp_weaklistoffset != 0 || type->tp_itemsize != 0;
    if (has_more || count != slots_count(type) || count < 1 || count > MOST_SLOTS || !PyType_IS_GC(type)) {
        return;
    }
    type->tp_alloc = node_alloc;
    type->tp_dealloc = node_dealloc;
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

/* Take the class of all nodes. */
int find_node_slots(PyTypeObject *type) {
    node_slots = (NodeSlots){
        .edges = slot_offset(type, "edges"),
        .sequence = slot_offset(type, "sequence"),
        .shape = slot_offset(type, "shape"),
        .dtype = slot_offset(type, "dtype"),
        .extra = slot_offset(type, "extra"),
    };
    node_slots.type = PyErr_Occurred() ? NULL : (PyTypeObject *)Py_NewRef((PyObject *)type);
    return node_slots.type == NULL ? -1 : 0;
}
