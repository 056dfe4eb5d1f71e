/* What Stub and Kernel share: a Python function stands behind each, and everything but the call is the function's. */

#include "core.h"

int function_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Function *)self)->function);
    return 0;
}

int function_clear(PyObject *self) {
    Py_CLEAR(((Function *)self)->function);
    return 0;
}

/* Return an attribute of the function's, unless the type has it. */
PyObject *function_getattro(PyObject *self, PyObject *name) {
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return found;
    }
    PyErr_Clear();
    return PyObject_GetAttr(((Function *)self)->function, name);
}

int function_setattro(PyObject *self, PyObject *name, PyObject *value) {
    return PyObject_SetAttr(((Function *)self)->function, name, value);
}

PyObject *function_repr(PyObject *self) {
    return PyObject_Repr(((Function *)self)->function);
}

/* Bind, as functions in classes do. */
PyObject *function_bind(PyObject *self, PyObject *instance, PyObject *type) {
    (void)type;
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

/* What asks `isinstance(x, FunctionType)` means one that is called, documented and pickled so. */
static PyObject *function_class(PyObject *self, void *closure) {
    (void)self;
    (void)closure;
    return Py_NewRef((PyObject *)&PyFunction_Type);
}

static PyObject *function_doc(PyObject *self, void *closure) {
    (void)closure;
    return PyObject_GetAttrString(((Function *)self)->function, "__doc__");
}

static PyObject *function_module(PyObject *self, void *closure) {
    (void)closure;
    return PyObject_GetAttrString(((Function *)self)->function, "__module__");
}

/* Pickle by name, and copy as functions are copied. */
static PyObject *function_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyObject_GetAttrString(((Function *)self)->function, "__qualname__");
}

static PyObject *function_dir(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyObject_Dir(((Function *)self)->function);
}

PyGetSetDef function_getset[] = {
    {"__class__", function_class, NULL, NULL, NULL},
    {"__doc__", function_doc, NULL, NULL, NULL},
    {"__module__", function_module, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyMethodDef function_methods[] = {
    {"__reduce__", function_reduce, METH_NOARGS, NULL},
    {"__dir__", function_dir, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, call), READONLY, NULL},
    {"python", T_OBJECT, offsetof(Function, function), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
