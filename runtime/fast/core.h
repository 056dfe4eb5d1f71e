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
#define CORE_VERSION 5

/* The most arguments of a call that is served without Python. */
#define MOST_ARGUMENTS 16
/* The most things that a node keeps which is made without Python. */
#define MOST_SAVED 4
/* The most values that a gradient is computed from and by. */
#define MOST_VALUES 24

/* The fields are the slots of the Python class, and as with slots NULL is what was never set. */
typedef struct {
    PyObject_HEAD
    PyObject *array;
    PyObject *keys;
    PyObject *edge;
    PyObject *extra;
    PyObject *weak_references;
} Tensor;

/* A callable in the place of a Python function, which does the same for more arguments and knows its name and all. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function;
} Function;

/* What Python tells at import (`configure`), and never again. All references are held for ever. */
typedef struct {
    PyTypeObject *tensor;    /* the class Tensor itself: instances of subclasses go to the Python */
    PyTypeObject *array;     /* numpy.ndarray, likewise */
    PyObject *modes;         /* the ContextVar of opwright.state */
    PyObject *dense_cpu;     /* the keys of a simple tensor in NumPy's memory */
    int64_t dense_cpu_bits;
    PyObject *dense_cpu_grad; /* those of one that requires grad; `configure_recording` adds them up */
    PyObject *arrays;        /* the entry of tables for plain arrays alone */
} Configuration;

extern Configuration core;

/* tensor.c */
PyTypeObject *make_tensor_base(PyObject *module);
int adopt_tensor(PyTypeObject *type);
PyObject *wrap_simple(PyObject *array);
PyObject *wrap_with_keys(PyObject *array, PyObject *keys);

/* node.c: where the slots of a node are; `configure_recording` fills it */
typedef struct {
    PyTypeObject *type;
    Py_ssize_t edges, sequence, shape, dtype, extra;
} NodeSlots;

extern NodeSlots node_slots;
int find_node_slots(PyTypeObject *type);
Py_ssize_t slot_offset(PyTypeObject *type, const char *name);
void adopt_node(PyTypeObject *type);

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

/* function.c: what Stub and Kernel share */
int function_traverse(PyObject *self, visitproc visit, void *arg);
int function_clear(PyObject *self);
PyObject *function_getattro(PyObject *self, PyObject *name);
int function_setattro(PyObject *self, PyObject *name, PyObject *value);
PyObject *function_repr(PyObject *self);
PyObject *function_bind(PyObject *self, PyObject *instance, PyObject *type);
extern PyGetSetDef function_getset[];
extern PyMethodDef function_methods[];
extern PyMemberDef function_members[];

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

/* stub.c, kernel.c, recorder.c, planned.c, viewed.c */
PyTypeObject *make_stub_type(PyObject *module);
PyTypeObject *make_kernel_type(PyObject *module);
PyTypeObject *make_recorder_type(PyObject *module);
PyTypeObject *make_planned_type(PyObject *module);
PyTypeObject *make_viewed_type(PyObject *module);
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
int gradients_compute(PyObject *gradients, PyObject *node, PyObject *grad, PyObject *edges, PyObject **results);
int gradients_release(PyObject *gradients, PyObject *node);

/* wrapping.c */
PyObject *wrap(PyObject *module, PyObject *array);
PyObject *wrap_view(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *configure_wrapping(PyObject *module, PyObject *args);

/* leaf.c, backward.c */
int leaf_accumulate(PyObject *leaf, PyObject *grad);
PyObject *configure_leaves(PyObject *module, PyObject *args);
PyObject *configure_engine(PyObject *module, PyObject *args);
PyObject *run_backward(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
