/* Kernel: a kernel that is one ufunc, for simple tensors or for plain arrays. What is not as it wants it goes to the
 * generated Python kernel in whose place it stands. */

#include "loops.h"

/* From how many elements on the ufunc writes to the memory itself. */
#define LONG_WRITE 500

typedef struct {
    Function base;
    Loops loops;
    Py_ssize_t total;                /* how many arguments the kernel takes */
    signed char places[MOST_OPERANDS]; /* of the operands among them */
    int others;
    signed char other_places[MOST_ARGUMENTS]; /* of those that have to be the int 1 */
    char takes_number[MOST_OPERANDS];
    char takes; /* 't': simple tensors; 'a': arrays; 'r': tensors of half and bfloat16 */
    int is_written; /* whether the first operand is written, and returned */
} Kernel;

static PyTypeObject *kernel_type = NULL;

static int kernel_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Kernel *)self)->loops.ufunc);
    return function_traverse(self, visit, arg);
}

static void kernel_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((Kernel *)self)->loops.ufunc);
    (void)function_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Return the array that an argument is or has, borrowed; NULL where that is no NumPy array. */
static PyObject *array_of(const Kernel *kernel, PyObject *value) {
    PyObject *array = value;
    if (kernel->takes != 'a') {
        if (Py_TYPE(value) != core.tensor) {
            return NULL;
        }
        array = ((Tensor *)value)->array;
    }
    return array != NULL && Py_TYPE(array) == core.array ? array : NULL;
}

static int is_operand(const Kernel *kernel, Py_ssize_t place) {
    for (int i = 0; i < kernel->loops.operands; i++) {
        if (kernel->places[i] == place) {
            return 1;
        }
    }
    return 0;
}

static int is_one(PyObject *value) {
    int overflow;
    return PyLong_CheckExact(value) && PyLong_AsLongLongAndOverflow(value, &overflow) == 1;
}

/* Whether the operands are arrays and numbers, and every other argument the int 1. */
static int read_operands(const Kernel *kernel, PyObject *const *args, Operand *operands) {
    for (int i = 0; i < kernel->loops.operands; i++) {
        PyObject *value = args[kernel->places[i]];
        if (kernel->takes_number[i]) {
            operands[i].array = NULL;
            operands[i].number = value;
            if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value)) {
                return 0;
            }
        } else {
            operands[i].array = array_of(kernel, value);
            if (operands[i].array == NULL) {
                return 0;
            }
        }
    }
    for (int i = 0; i < kernel->others; i++) {
        if (!is_one(args[kernel->other_places[i]])) {
            return 0;
        }
    }
    return 1;
}

/* Whether the first operand may be written once all is computed: it is small, and no other shares some of its memory. */
static int may_be_written(const Kernel *kernel, const Operand *operands) {
    for (int i = 1; i < kernel->loops.operands; i++) {
        if (arrays_share_owner(operands[0].array, operands[i].array)) {
            return 0;
        }
    }
    return array_is_writable(operands[0].array, LONG_WRITE);
}

/* Write a new array to a small one alike, which the loop may have read. Takes the reference to the first; returns NULL, where
 * the Python has to do it. */
static PyObject *written(PyObject *array, PyObject *tensor) {
    PyObject *target = ((Tensor *)tensor)->array;
    int is_done = arrays_are_alike(target, array);
    if (is_done) {
        array_write(target, array);
    }
    Py_DECREF(array);
    return is_done ? Py_NewRef(tensor) : NULL;
}

static PyObject *kernel_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    Kernel *kernel = (Kernel *)self;
    Operand operands[MOST_OPERANDS];
    PyObject *array = NULL;
    if (names == NULL && PyVectorcall_NARGS(flagged) == kernel->total && read_operands(kernel, args, operands) &&
        (!kernel->is_written || may_be_written(kernel, operands))) {
        int is_reduced = kernel->takes == 'r';
        if ((is_reduced ? loops_run_reduced : loops_run)(&kernel->loops, operands, &array) < 0) {
            return NULL;
        }
        if (array != NULL && !kernel->is_written) {
            return kernel->takes == 'a' ? array : is_reduced ? wrap_reduced(array) : wrap_simple(array);
        }
        PyObject *tensor = array == NULL ? NULL : written(array, args[0]);
        if (tensor != NULL) {
            return tensor;
        }
    }
    return PyObject_Vectorcall(kernel->base.function, args, flagged, names);
}

/* Take the places of the operands: `-1 - place` is that of a number. Needs an array among them. */
static int read_places(Kernel *kernel, PyObject *places) {
    int arrays = 0;
    for (int i = 0; i < kernel->loops.operands; i++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(places, i));
        if (place == -1 && PyErr_Occurred()) {
            return -1;
        }
        kernel->takes_number[i] = place < 0;
        arrays += place >= 0;
        place = place < 0 ? -1 - place : place;
        if (place >= kernel->total) {
            PyErr_SetString(PyExc_ValueError, "the kernel has no such argument");
            return -1;
        }
        kernel->places[i] = (signed char)place;
    }
    for (Py_ssize_t place = 0; place < kernel->total; place++) {
        if (!is_operand(kernel, place)) {
            kernel->other_places[kernel->others++] = (signed char)place;
        }
    }
    if (kernel->is_written && (kernel->takes != 't' || kernel->places[0] != 0 || kernel->takes_number[0])) {
        PyErr_SetString(PyExc_ValueError, "the first operand is the tensor that is written");
        return -1;
    }
    if (arrays == 0) {
        PyErr_SetString(PyExc_ValueError, "an operand has to be an array");
        return -1;
    }
    return 0;
}

/* Kernel(function, ufunc, places, total, kinds, takes, is_written) */
static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *ufunc, *places;
    Py_ssize_t total;
    const char *kinds, *takes;
    int is_written;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "Kernel() takes its arguments by position");
        return NULL;
    }
    if (!PyArg_ParseTuple(
            args, "OOO!nssp:Kernel", &function, &ufunc, &PyTuple_Type, &places, &total, &kinds, &takes, &is_written)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(places) > MOST_OPERANDS || total > MOST_ARGUMENTS) {
        PyErr_SetString(PyExc_ValueError, "a kernel of so many arguments is the Python's");
        return NULL;
    }
    Kernel *made = (Kernel *)type->tp_alloc(type, 0);
    if (made == NULL) {
        return NULL;
    }
    made->base.call = kernel_call;
    made->base.function = Py_NewRef(function);
    made->total = total;
    made->takes = takes[0];
    made->is_written = is_written;
    if (loops_init(&made->loops, ufunc, (int)PyTuple_GET_SIZE(places), kinds) < 0 || read_places(made, places) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    return (PyObject *)made;
}

static PyType_Slot kernel_slots[] = {
    {Py_tp_new, kernel_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_getattro, function_getattro},
    {Py_tp_setattro, function_setattro},
    {Py_tp_repr, function_repr},
    {Py_tp_descr_get, function_bind},
    {Py_tp_getset, function_getset},
    {Py_tp_methods, function_methods},
    {Py_tp_members, function_members},
    {0, NULL},
};

static PyType_Spec kernel_spec = {
    .name = "opwright._fast.Kernel",
    .basicsize = sizeof(Kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = kernel_slots,
};

PyTypeObject *make_kernel_type(PyObject *module) {
    kernel_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &kernel_spec, NULL);
    return kernel_type;
}
