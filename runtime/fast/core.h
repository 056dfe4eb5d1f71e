/* What the files of the compiled core share: the objects they look into, and what Python tells them once. */

#ifndef OPWRIGHT_CORE_H
#define OPWRIGHT_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

#ifdef Py_GIL_DISABLED
#error "opwright._fast relies on the GIL: free-threaded builds run the Python"
#endif

/* The version of what Python code and this extension agree on: `opwright.core.VERSION`. */
#define CORE_VERSION 10

/* The most arguments of a call that is served without Python. */
#define MOST_ARGUMENTS 16
/* The most things that a node keeps which is made without Python. */
#define MOST_SAVED 8
/* The most values that a gradient is computed from and by. */
#define MOST_VALUES 24
/* The most edges that a node has without a tuple of them. */
#define MOST_INLINE_EDGES 3

/* The fields are the slots of the Python class, and as with slots NULL is what was never set. */
typedef struct {
    PyObject_HEAD
    PyObject *array;
    PyObject *keys;
    PyObject *edge;
    PyObject *extra;
    PyObject *weak_references;
} Tensor;

/* A node of the graph, before the slots of its class. */
typedef struct {
    PyObject_HEAD
    PyObject *edges; /* as Python set them or saw them; NULL: as they are in `few` */
    PyObject *shape;
    PyObject *dtype;
    PyObject *extra;
    int64_t sequence;
    PyObject *few[MOST_INLINE_EDGES]; /* up to the first NULL */
} Node;

/* What Python tells at import (`configure`), and never again. All references are held for ever. */
typedef struct {
    PyTypeObject *tensor;    /* the class Tensor itself: instances of subclasses go to the Python */
    PyTypeObject *array;     /* numpy.ndarray, likewise */
    PyTypeObject *node;      /* what all nodes derive from */
    PyObject *modes;         /* the ContextVar of opwright.state */
    PyObject *dense_cpu;     /* the keys of a simple tensor in NumPy's memory */
    int64_t dense_cpu_bits;
    PyObject *dense_cpu_grad; /* those of one that requires grad; `configure_recording` adds them up */
    PyObject *arrays;        /* the entry of tables for plain arrays alone */
} Configuration;

extern Configuration core;

/* spares.c: what is taken is a reference */
void array_give_up(PyObject *object);

/* tensor.c */
PyTypeObject *make_tensor_base(PyObject *module);
int adopt_tensor(PyTypeObject *type);
PyObject *wrap_simple(PyObject *array);
PyObject *wrap_with_keys(PyObject *array, PyObject *keys);

/* node.c */
PyTypeObject *make_node_base(PyObject *module);
PyObject *adopt_node(PyObject *module, PyObject *type);
PyObject *track_nodes(PyObject *module, PyObject *unused);
PyObject *before_collecting(PyObject *module, PyObject *const *args, Py_ssize_t count);
Py_ssize_t slot_offset(PyTypeObject *type, const char *name);

/* slabs.c: the memory of nodes, and which of them the garbage collector does not know */
PyObject *cell_take(size_t size);
void cell_give_back(PyObject *object);
void cell_hide(PyObject *object);
void cell_unhide(PyObject *object);
void cells_track(void);

static inline int is_node(PyObject *object) {
    return PyObject_TypeCheck(object, core.node);
}

/* The edges of a node, held while it runs: Python may give it others meanwhile. */
typedef struct {
    PyObject *const *items;
    Py_ssize_t count;
    PyObject *sequence;
    PyObject *few[MOST_INLINE_EDGES];
} Edges;

int edges_hold(PyObject *node, Edges *edges);
void edges_drop(Edges *edges);

/* Return what a slot has, borrowed; NULL where it was never set. */
static inline PyObject *slot_at(PyObject *object, Py_ssize_t offset) {
    return *(PyObject **)((char *)object + offset);
}

/* Put an object into a slot. Takes the reference. */
static inline void replace_slot(PyObject *object, Py_ssize_t offset, PyObject *value) {
    PyObject **place = (PyObject **)((char *)object + offset), *old = *place;
    *place = value;
    Py_XDECREF(old);
}

/* modes.c */
int apply_modes(int64_t *keys, int *is_on);
PyObject *take_error(void);
void put_error(PyObject *error);
int put_back(PyObject *variable, PyObject *token, PyObject *value);
PyObject *leave_modes(PyObject *token, PyObject *result);

/* form.c */
typedef struct Form Form;
Form *form_new(PyObject *names, Py_ssize_t positional, PyObject *plan);
void form_free(Form *form);
int form_traverse(Form *form, visitproc visit, void *arg);
int form_takes(const Form *form, PyObject *const *args, Py_ssize_t positional, PyObject *names, int64_t *keys);
PyObject *form_call(Form *form, PyObject *const *args, int64_t keys, int is_mode_on, int *is_served);

/* saved.c */
PyObject *save(PyObject *tensor);
PyObject *save_result(PyObject *result);
PyObject *unpack(PyObject *saved);
PyObject *configure_saving(PyObject *module, PyObject *args);

/* caller.c */
PyTypeObject *make_caller_type(PyObject *module);

/* recorder.c */
int array_has_base(PyObject *array);
void number_node(Node *node);
int describe_node(Node *node, PyObject *array);
int note_history(Tensor *result, PyObject *node);
void note_version(const Tensor *view);
PyObject *configure_recording(PyObject *module, PyObject *args);
PyObject *next_sequence(PyObject *module, PyObject *unused);

/* operator.c: an operator that C calls: its table, from keys to kernels, and the Python that serves any call */
typedef struct {
    PyObject *table;
    PyObject *function;
    int64_t known_keys; /* as in a form */
    PyObject *known;
} Operator;

int operator_set(Operator *operator, PyObject *table, PyObject *function);
void operator_clear(Operator *operator);
PyObject *operator_call(Operator *operator, PyObject *const *args, Py_ssize_t count);

/* gradients.c: what nodes compute without Python, and what they free */
PyTypeObject *make_gradients_type(PyObject *module);
int gradients_compute(PyObject *gradients, PyObject *node, PyObject *grad, const Edges *edges, PyObject **results);
int gradients_release(PyObject *gradients, PyObject *node);

/* plan_key.c */
PyObject *configure_keys(PyObject *module, PyObject *classes);

/* writing.c */
PyTypeObject *make_writing_type(PyObject *module);
PyObject *configure_writing(PyObject *module, PyObject *args);

/* refreshing.c */
PyObject *mark_view(PyObject *module, PyObject *view);
PyObject *mark_views(PyObject *module, PyObject *views);
PyObject *configure_refreshing(PyObject *module, PyObject *args);

/* rebasing.c */
PyTypeObject *make_window_type(PyObject *module);
PyObject *rebase_history(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *configure_rebasing(PyObject *module, PyObject *args);

/* facts.c */
int is_size(PyObject *object);
PyTypeObject *make_size_base(PyObject *module);
PyObject *serve_facts(PyObject *module, PyObject *args);
PyObject *serve_elements(PyObject *module, PyObject *args);

/* wrapping.c */
PyObject *wrap_reduced(PyObject *array);
PyObject *wrap(PyObject *module, PyObject *array);
PyObject *view_tensor(PyObject *base, PyObject *array, int is_odd);
PyObject *wrap_view(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *configure_wrapping(PyObject *module, PyObject *args);

/* unwatched.c */
PyObject *arrays_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *configure_unwatched(PyObject *module, PyObject *args);

/* leaf.c, backward.c */
int leaf_accumulate(PyObject *leaf, PyObject *grad);
int leaf_has_hooks(PyObject *leaf);
PyObject *configure_leaves(PyObject *module, PyObject *args);
PyObject *configure_engine(PyObject *module, PyObject *args);
PyObject *run_backward(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
