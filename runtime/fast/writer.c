/* Writer: what counts writes of an operator in place to a simple tensor. Any other tensor, which may have to be asked whether
 * it may be written, goes to the generated Python kernel in whose place it stands. */

#include "storage.h"

typedef struct {
    Function base;
    PyObject *below;
} Writer;

static PyTypeObject *writer_type = NULL;

static int writer_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Writer *)self)->below);
    return function_traverse(self, visit, arg);
}

static void writer_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((Writer *)self)->below);
    (void)function_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *writer_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const Writer *writer = (Writer *)self;
    int is_simple = names == NULL && PyVectorcall_NARGS(flagged) > 0 && Py_TYPE(args[0]) == core.tensor &&
                    ((Tensor *)args[0])->keys == core.dense_cpu && ((Tensor *)args[0])->array != NULL;
    PyObject *storage = is_simple ? storage_of(args[0]) : NULL;
    if (storage == NULL) {
        return PyErr_Occurred() ? NULL : PyObject_Vectorcall(writer->base.function, args, flagged, names);
    }
    Py_DECREF(storage);
    PyObject *result = PyObject_Vectorcall(writer->below, args, flagged, NULL);
    if (result == NULL) {
        return NULL;
    }
    Py_DECREF(result);
    int is_counted = storage_count_write(args[0]);
    if (is_counted == 0) {
        PyErr_SetString(PyExc_TypeError, "the storage of a tensor counts its writes by an int");
    }
    return is_counted > 0 ? Py_NewRef(args[0]) : NULL;
}

/* Writer(kernel, below) */
static PyObject *writer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *kernel, *below;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "Writer() takes its arguments by position");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OO:Writer", &kernel, &below)) {
        return NULL;
    }
    Writer *made = (Writer *)type->tp_alloc(type, 0);
    if (made != NULL) {
        made->base.call = writer_call;
        made->base.function = Py_NewRef(kernel);
        made->below = Py_NewRef(below);
    }
    return (PyObject *)made;
}

static PyType_Slot writer_slots[] = {
    {Py_tp_new, writer_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, writer_traverse},
    {Py_tp_dealloc, writer_dealloc},
    {Py_tp_getattro, function_getattro},
    {Py_tp_setattro, function_setattro},
    {Py_tp_repr, function_repr},
    {Py_tp_getset, function_getset},
    {Py_tp_methods, function_methods},
    {Py_tp_members, function_members},
    {0, NULL},
};

static PyType_Spec writer_spec = {
    .name = "opwright._fast.Writer",
    .basicsize = sizeof(Writer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = writer_slots,
};

PyTypeObject *make_writer_type(PyObject *module) {
    writer_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &writer_spec, NULL);
    return writer_type;
}
