/* Callables that stand for a Python function: all but the call is the function's. */

#include "callable.h"

/* The most fields of a type, and members that it has beside them. */
#define MOST_FIELDS 16
#define MOST_MEMBERS 4

/* The types that were made. They are few: looking through them takes less than a word in each instance is worth. */
static CallableType *made_types = NULL;

/* Return what a type was made of. */
static const CallableType *how_of(const PyTypeObject *type) {
    const CallableType *how = made_types;
    while (how->type != type) {
        how = how->next;
    }
    return how;
}

/* Return where the field of an instance is, if it holds an object; else NULL. */
static PyObject **object_at(PyObject *self, const Field *field) {
    return field->kind <= FIELD_INT && field->offset != 0 ? (PyObject **)((char *)self + field->offset) : NULL;
}

/* Visit what an instance holds. Returns what `visit` returns. */
static int callable_traverse(PyObject *self, visitproc visit, void *arg) {
    const CallableType *how = how_of(Py_TYPE(self));
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Callable *)self)->function);
    for (const Field *field = how->fields; field != NULL && field->name != NULL; field++) {
        PyObject **object = object_at(self, field);
        if (object != NULL) {
            Py_VISIT(*object);
        }
    }
    return how->traverse == NULL ? 0 : how->traverse(self, visit, arg);
}

/* Drop what no call needs: the rest stays until deallocation, since a finalizer may still call. Returns 0. */
static int callable_clear(PyObject *self) {
    const CallableType *how = how_of(Py_TYPE(self));
    return how->clear == NULL ? 0 : how->clear(self);
}

/* Free an instance. */
static void callable_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    (void)callable_clear(self);
    for (const Field *field = how_of(type)->fields; field != NULL && field->name != NULL; field++) {
        PyObject **object = object_at(self, field);
        if (object != NULL) {
            Py_CLEAR(*object);
        }
    }
    Py_CLEAR(((Callable *)self)->function);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Whether a value is of the kind that a field of objects takes. */
static int is_of_kind(FieldKind kind, PyObject *value) {
    switch (kind) {
    case FIELD_CLASS:
        return PyType_Check(value);
    case FIELD_DICT:
        return PyDict_Check(value);
    case FIELD_TUPLE:
        return PyTuple_Check(value);
    case FIELD_INT:
        return PyLong_Check(value);
    case FIELD_LETTERS:
        return PyUnicode_Check(value);
    default:
        return 1;
    }
}

/* Read an int between two bounds. Returns -1 with an exception. */
static int read_int(PyObject *value, long long least, long long most, long long *found) {
    *found = PyLong_AsLongLong(value);
    if (*found == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (*found < least || *found > most) {
        PyErr_Format(PyExc_OverflowError, "%lld is not between %lld and %lld", *found, least, most);
        return -1;
    }
    return 0;
}

/* Read a letter for each argument. Returns -1 with an exception. */
static int read_letters(PyObject *value, char *letters) {
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == NULL) {
        return -1;
    }
    if (size > MOST_ARGUMENTS) {
        PyErr_SetString(PyExc_ValueError, "a kernel of so many arguments is Python's to handle");
        return -1;
    }
    memcpy(letters, text, (size_t)size + 1);
    return 0;
}

/* Put the value of an argument into the memory of its field. Returns -1 with an exception. */
static int store(void *memory, FieldKind kind, PyObject *value) {
    long long number;
    switch (kind) {
    case FIELD_OPTIONAL:
        *(PyObject **)memory = value == Py_None ? NULL : Py_NewRef(value);
        return 0;
    case FIELD_SIZE:
        *(Py_ssize_t *)memory = PyLong_AsSsize_t(value);
        return PyErr_Occurred() ? -1 : 0;
    case FIELD_NUMBER:
        if (read_int(value, INT_MIN, INT_MAX, &number) < 0) {
            return -1;
        }
        *(int *)memory = (int)number;
        return 0;
    case FIELD_BITS:
        if (read_int(value, 0, UINT32_MAX, &number) < 0) {
            return -1;
        }
        *(uint32_t *)memory = (uint32_t)number;
        return 0;
    case FIELD_TRUTH:
        *(int *)memory = PyObject_IsTrue(value);
        return *(int *)memory < 0 ? -1 : 0;
    case FIELD_LETTERS:
        return read_letters(value, memory);
    default:
        *(PyObject **)memory = Py_NewRef(value);
        return 0;
    }
}

/* Fill in the fields of a new instance. Returns -1 with an exception. */
static int fill(PyObject *self, const CallableType *how, PyObject *args) {
    Py_ssize_t at = 1;
    for (const Field *field = how->fields; field != NULL && field->name != NULL; field++, at++) {
        PyObject *value = at < PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, at) : NULL;
        if (value == NULL || !is_of_kind(field->kind, value)) {
            PyErr_Format(PyExc_TypeError, "%s() takes another `%s` as argument %zd", how->name, field->name, at + 1);
            return -1;
        }
        if (field->offset != 0 && store((char *)self + field->offset, field->kind, value) < 0) {
            return -1;
        }
    }
    if (at != PyTuple_GET_SIZE(args)) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments", how->name, at);
        return -1;
    }
    return how->init == NULL ? 0 : how->init(self, &PyTuple_GET_ITEM(args, 0));
}

/* Return a new instance whose fields are all 0. */
PyObject *callable_make(const CallableType *how, PyObject *function) {
    Callable *made = (Callable *)how->type->tp_alloc(how->type, 0);
    if (made != NULL) {
        made->call = how->call;
        made->function = Py_NewRef(function);
    }
    return (PyObject *)made;
}

/* Make an instance: `Type(function, *fields)`. Returns a new reference. */
static PyObject *callable_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const CallableType *how = how_of(type);
    if ((kwargs != NULL && PyDict_GET_SIZE(kwargs) != 0) || PyTuple_GET_SIZE(args) == 0) {
        return PyErr_Format(PyExc_TypeError, "%s() takes its arguments by position", how->name);
    }
    PyObject *made = callable_make(how, PyTuple_GET_ITEM(args, 0));
    if (made != NULL && fill(made, how, args) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* Return an attribute of the function's, unless the type has it: a new reference. */
static PyObject *callable_getattro(PyObject *self, PyObject *name) {
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return found;
    }
    PyErr_Clear();
    return PyObject_GetAttr(((Callable *)self)->function, name);
}

/* Set an attribute of the function, or delete it. Returns -1 with an exception. */
static int callable_setattro(PyObject *self, PyObject *name, PyObject *value) {
    return PyObject_SetAttr(((Callable *)self)->function, name, value);
}

/* Return the function's text. */
static PyObject *callable_repr(PyObject *self) {
    return PyObject_Repr(((Callable *)self)->function);
}

/* Bind to an instance, as functions in classes do. Returns a new reference. */
static PyObject *callable_bind(PyObject *self, PyObject *instance, PyObject *type) {
    (void)type;
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

/* Return the class of functions: what asks `isinstance(x, FunctionType)` means one that is called, documented and
 * pickled so. */
static PyObject *callable_class(PyObject *self, void *closure) {
    (void)self;
    (void)closure;
    return Py_NewRef((PyObject *)&PyFunction_Type);
}

/* Return the function's docstring, or that of the operators that it is `of`. */
PyObject *callable_doc(PyObject *self, void *closure) {
    PyObject *function = ((Callable *)self)->function;
    (void)closure;
    PyObject *doc = PyObject_GetAttrString(function, "__doc__");
    PyObject *operators = doc == Py_None ? PyObject_GetAttrString(function, "of") : NULL;
    if (operators != NULL)
        Py_SETREF(doc, PyObject_GetAttrString(operators, "__doc__"));
    else if (doc != NULL)
        PyErr_Clear();
    Py_XDECREF(operators);
    return doc;
}

/* Return the signature of the operators that the function is `of`. Raises AttributeError where there are none, and
 * `inspect` looks at the function. */
static PyObject *callable_signature(PyObject *self, void *closure) {
    (void)closure;
    PyObject *operators = PyObject_GetAttrString(((Callable *)self)->function, "of");
    PyObject *signature = operators == NULL ? NULL : PyObject_GetAttrString(operators, "__signature__");
    Py_XDECREF(operators);
    return signature;
}

/* Return the name of the function's module. */
static PyObject *callable_module(PyObject *self, void *closure) {
    (void)closure;
    return PyObject_GetAttrString(((Callable *)self)->function, "__module__");
}

/* Return the name to pickle by: copies are as those of functions, the function itself. */
PyObject *callable_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyObject_GetAttrString(((Callable *)self)->function, "__qualname__");
}

/* Return the names of the function's attributes. */
PyObject *callable_dir(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyObject_Dir(((Callable *)self)->function);
}

static PyGetSetDef callable_getset[] = {
    {"__class__", callable_class, NULL, NULL, NULL},
    {"__doc__", callable_doc, NULL, NULL, NULL},
    {"__module__", callable_module, NULL, NULL, NULL},
    {"__signature__", callable_signature, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef callable_methods[] = {
    CALLABLE_METHODS,
    {NULL, NULL, 0, NULL},
};

/* Write the members of a type: the function, the fields that hold objects, and the type's own. */
static void write_members(const CallableType *how, PyMemberDef *members) {
    *members++ = (PyMemberDef){"__vectorcalloffset__", T_PYSSIZET, offsetof(Callable, call), READONLY, NULL};
    *members++ = (PyMemberDef){"python", T_OBJECT, offsetof(Callable, function), READONLY, NULL};
    for (const Field *field = how->fields; field != NULL && field->name != NULL; field++) {
        if (field->kind <= FIELD_INT && field->offset != 0) {
            *members++ = (PyMemberDef){field->name, T_OBJECT, field->offset, READONLY, NULL};
        }
    }
    for (const PyMemberDef *own = how->members; own != NULL && own->name != NULL; own++) {
        *members++ = *own;
    }
    *members = (PyMemberDef){NULL, 0, 0, 0, NULL};
}

/* Make a type. Returns a new reference, or NULL with an exception. */
PyTypeObject *callable_type_make(PyObject *module, CallableType *how) {
    PyMemberDef members[MOST_FIELDS + MOST_MEMBERS + 3];
    write_members(how, members);
    PyType_Slot slots[16] = {
        {Py_tp_traverse, callable_traverse},
        {Py_tp_clear, callable_clear},
        {Py_tp_dealloc, callable_dealloc},
        {Py_tp_getattro, callable_getattro},
        {Py_tp_setattro, callable_setattro},
        {Py_tp_repr, callable_repr},
        {Py_tp_getset, how->getset == NULL ? callable_getset : how->getset},
        {Py_tp_methods, how->methods == NULL ? callable_methods : how->methods},
        {Py_tp_members, members},
    };
    PyType_Slot *slot = slots + 9;
    if (how->call != NULL) {
        *slot++ = (PyType_Slot){Py_tp_call, PyVectorcall_Call};
    }
    if (!(how->flags & Py_TPFLAGS_DISALLOW_INSTANTIATION)) {
        *slot++ = (PyType_Slot){Py_tp_new, callable_new};
    }
    if (how->flags & Py_TPFLAGS_METHOD_DESCRIPTOR) {
        *slot++ = (PyType_Slot){Py_tp_descr_get, callable_bind};
    }
    for (const PyType_Slot *own = how->slots; own != NULL && own->slot != 0; own++) {
        *slot++ = *own;
    }
    unsigned long flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | how->flags;
    PyType_Spec spec = {
        .name = how->name,
        .basicsize = (int)how->size,
        .flags = (unsigned int)(flags | (how->call == NULL ? 0 : Py_TPFLAGS_HAVE_VECTORCALL)),
        .slots = slots,
    };
    how->type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    how->next = made_types;
    made_types = how;
    return (PyTypeObject *)Py_XNewRef((PyObject *)how->type);
}
