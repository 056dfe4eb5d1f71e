/* UserKernel: a user's function as the kernel of an operator, as the Python kernel calls it in whose place it stands:
 * without the named arguments that are left at their defaults, and, if it is to be, where nothing is recorded. */

#include "core.h"

typedef struct {
    Function base;
    PyObject *user;
    PyObject *defaults;   /* a tuple: what the arguments after those by position are, very objects */
    PyObject *check;      /* is called with a result that has to be looked at */
    PyObject *unrecorded; /* the modes that the function runs within; NULL: those that are on */
    Py_ssize_t positional;
} UserKernel;

static PyTypeObject *user_kernel_type = NULL;

static int user_kernel_traverse(PyObject *self, visitproc visit, void *arg) {
    UserKernel *kernel = (UserKernel *)self;
    Py_VISIT(kernel->user);
    Py_VISIT(kernel->defaults);
    Py_VISIT(kernel->check);
    return function_traverse(self, visit, arg);
}

static int user_kernel_clear(PyObject *self) {
    UserKernel *kernel = (UserKernel *)self;
    Py_CLEAR(kernel->check);
    return 0; /* a finalizer may still call the rest */
}

static void user_kernel_dealloc(PyObject *self) {
    UserKernel *kernel = (UserKernel *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(kernel->user);
    Py_CLEAR(kernel->defaults);
    Py_CLEAR(kernel->check);
    Py_CLEAR(kernel->unrecorded);
    (void)function_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Whether the arguments that are named are all left at their defaults. */
static int are_defaults(const UserKernel *kernel, PyObject *const *named) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kernel->defaults); i++) {
        if (named[i] != PyTuple_GET_ITEM(kernel->defaults, i)) {
            return 0;
        }
    }
    return 1;
}

/* Whether a result is a new tensor of memory of its own. */
static int is_new(PyObject *result, PyObject *const *args, Py_ssize_t count) {
    PyObject *array = Py_TYPE(result) == core.tensor ? ((Tensor *)result)->array : NULL;
    if (array == NULL || Py_TYPE(array) != core.array || array_has_base(array)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyObject_TypeCheck(args[i], core.tensor) && ((Tensor *)args[i])->array == array) {
            return 0;
        }
    }
    return 1;
}

/* Have Python look at a result. Takes the reference. */
static PyObject *checked(const UserKernel *kernel, PyObject *result, PyObject *const *args, Py_ssize_t count) {
    PyObject *given = NULL;
    if (kernel->unrecorded != NULL) {
        given = PyTuple_New(count);
        for (Py_ssize_t i = 0; given != NULL && i < count; i++) {
            PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
        }
        if (given == NULL) {
            Py_DECREF(result);
            return NULL;
        }
    }
    PyObject *found = PyObject_CallFunctionObjArgs(kernel->check, result, given, NULL);
    Py_XDECREF(given);
    Py_DECREF(result);
    return found;
}

/* Call the function with other modes, and put the old ones back, also where it fails. */
static PyObject *call_within(const UserKernel *kernel, PyObject *const *args, Py_ssize_t count) {
    PyObject *token = PyContextVar_Set(core.modes, kernel->unrecorded);
    if (token == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(kernel->user, args, (size_t)count, NULL);
    return leave_modes(token, result);
}

/* Return the result of the function; NULL without an exception where the Python has to call it. */
static PyObject *call_user(const UserKernel *kernel, PyObject *const *args, Py_ssize_t count) {
    if (kernel->unrecorded == NULL) {
        return PyObject_Vectorcall(kernel->user, args, (size_t)count, NULL);
    }
    PyObject *modes;
    if (PyContextVar_Get(core.modes, NULL, &modes) < 0) {
        return NULL;
    }
    Py_XDECREF(modes); /* the context has it */
    if (modes == kernel->unrecorded) {
        return PyObject_Vectorcall(kernel->user, args, (size_t)count, NULL);
    }
    return modes == NULL || modes == Py_None ? call_within(kernel, args, count) : NULL;
}

static PyObject *user_kernel_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const UserKernel *kernel = (UserKernel *)self;
    Py_ssize_t total = PyVectorcall_NARGS(flagged), count = kernel->positional;
    PyObject *result = NULL;
    if (names == NULL && total == count + PyTuple_GET_SIZE(kernel->defaults) && kernel->check != NULL &&
        are_defaults(kernel, args + count)) {
        result = call_user(kernel, args, count);
        if (result == NULL && PyErr_Occurred()) {
            return NULL;
        }
    }
    if (result == NULL) {
        return PyObject_Vectorcall(kernel->base.function, args, flagged, names);
    }
    int is_good = kernel->unrecorded == NULL ? PyObject_TypeCheck(result, core.tensor) : is_new(result, args, count);
    return is_good ? result : checked(kernel, result, args, count);
}

/* UserKernel(kernel, function, positional, defaults, check, modes or None) */
static PyObject *user_kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *kernel, *user, *defaults, *check, *unrecorded;
    Py_ssize_t positional;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "UserKernel() takes its arguments by position");
        return NULL;
    }
    if (!PyArg_ParseTuple(
            args, "OOnO!OO:UserKernel", &kernel, &user, &positional, &PyTuple_Type, &defaults, &check, &unrecorded)) {
        return NULL;
    }
    UserKernel *made = (UserKernel *)type->tp_alloc(type, 0);
    if (made == NULL) {
        return NULL;
    }
    made->base.call = user_kernel_call;
    made->base.function = Py_NewRef(kernel);
    made->user = Py_NewRef(user);
    made->positional = positional;
    made->defaults = Py_NewRef(defaults);
    made->check = Py_NewRef(check);
    made->unrecorded = unrecorded == Py_None ? NULL : Py_NewRef(unrecorded);
    return (PyObject *)made;
}

static PyType_Slot user_kernel_slots[] = {
    {Py_tp_new, user_kernel_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, user_kernel_traverse},
    {Py_tp_clear, user_kernel_clear},
    {Py_tp_dealloc, user_kernel_dealloc},
    {Py_tp_getattro, function_getattro},
    {Py_tp_setattro, function_setattro},
    {Py_tp_repr, function_repr},
    {Py_tp_getset, function_getset},
    {Py_tp_methods, function_methods},
    {Py_tp_members, function_members},
    {0, NULL},
};

static PyType_Spec user_kernel_spec = {
    .name = "opwright._fast.UserKernel",
    .basicsize = sizeof(UserKernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = user_kernel_slots,
};

PyTypeObject *make_user_kernel_type(PyObject *module) {
    user_kernel_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &user_kernel_spec, NULL);
    return user_kernel_type;
}
