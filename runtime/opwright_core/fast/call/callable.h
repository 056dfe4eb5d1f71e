/* Callables that stand for a Python function: the one maker of their types.
 *
 * A type says what its instances have beyond the function: its fields. The maker's constructor takes the function and
 * the fields by position, in this order; the collector visits what they hold, and deallocation drops it. Python reads
 * them. */

#ifndef OPWRIGHT_CALLABLE_H
#define OPWRIGHT_CALLABLE_H

#include "fast/core.h"

/* What every instance begins with. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function; /* does the same for any arguments, and knows the name, the signature and the docstring */
} Callable;

/* What the constructor takes for a field, and what the field holds. */
typedef enum {
    FIELD_OBJECT,   /* any object: PyObject * */
    FIELD_OPTIONAL, /* any object, or None, for which it is NULL */
    FIELD_CLASS,    /* a class */
    FIELD_DICT,     /* a dictionary */
    FIELD_TUPLE,    /* a tuple */
    FIELD_INT,      /* an int, as the object */
    FIELD_SIZE,     /* an int: Py_ssize_t */
    FIELD_NUMBER,   /* an int: int */
    FIELD_BITS,     /* an int: uint32_t */
    FIELD_TRUTH,    /* anything that is true or false: int */
    FIELD_LETTERS,  /* a string of a letter for each argument: char[MOST_ARGUMENTS + 1] */
} FieldKind;

/* A field. Without an offset only the constructor knows it: the type's `init` reads the argument. */
typedef struct {
    const char *name;
    FieldKind kind;
    Py_ssize_t offset;
} Field;

/* A type, and what the maker cannot know of it; whatever is NULL is not wanted. */
typedef struct CallableType {
    const char *name;     /* with the module's */
    Py_ssize_t size;      /* of an instance */
    unsigned long flags;  /* of the type, beside those that all have. METHOD_DESCRIPTOR: it is bound as functions are */
    vectorcallfunc call;
    const Field *fields;  /* the last has no name */
    /* Fills in what no field says, by the arguments of the constructor, and refuses wrong ones: returns -1 with an
     * exception then. */
    int (*init)(PyObject *self, PyObject *const *args);
    traverseproc traverse; /* visits what no field holds */
    inquiry clear;         /* drops that, and fields that no call needs: a finalizer may call what is being collected */
    PyMethodDef *methods;  /* instead of `callable_methods` */
    PyGetSetDef *getset;   /* instead of `callable_getset` */
    const PyMemberDef *members; /* beside the fields */
    const PyType_Slot *slots;   /* beside those that all have */
    PyTypeObject *type;         /* what was made of it */
    struct CallableType *next;  /* the one that was made before */
} CallableType;

/* The methods of all: for types that have more. */
#define CALLABLE_METHODS \
    {"__reduce__", callable_reduce, METH_NOARGS, NULL}, {"__dir__", callable_dir, METH_NOARGS, NULL}

PyTypeObject *callable_type_make(PyObject *module, CallableType *how);
PyObject *callable_make(const CallableType *how, PyObject *function);
PyObject *callable_reduce(PyObject *self, PyObject *unused);
PyObject *callable_dir(PyObject *self, PyObject *unused);
PyObject *callable_doc(PyObject *self, void *closure);

/* caller.c: the base of Python classes that pass calls on */
PyTypeObject *make_caller_type(PyObject *module);
PyTypeObject *make_operator_base(PyObject *module);

/* The types, each in the file of its name. */
extern CallableType stub_type, factory_type, selector_type, kernel_type, version_bump_type, user_kernel_type,
    user_recorder_type, planned_type, view_cache_type, recorder_type, view_recorder_type, tensor_property_type,
    tensor_method_type, compiled_type, address_kernel_type, indexing_type, index_writing_type, below_type, writing_type;

#endif
