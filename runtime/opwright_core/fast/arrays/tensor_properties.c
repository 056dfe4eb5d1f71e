/* Properties and methods of Tensor that read NumPy's array or its elements, and the base of shapes. Python's own handle
 * tensors of subclasses, arrays of other kinds, and calls with other arguments. */

#include "fast/call/callable.h"
#include "fast/configure.h"
#include "fast/call/modes.h"
#include "numpy_api.h"
#include "tensor.h"

typedef PyObject *(*Reader)(PyArrayObject *array);

typedef struct {
    Callable base; /* its function is the property, or the method */
    Reader read;
    int is_of_elements; /* which modes may have to be told of */
} Property;

/* What `configure` is told: the class of shapes, the device of NumPy's memory; the keys of tensors and modes whose
 * elements are the Python's to read. */
static PyTypeObject *size_type = NULL;
static PyObject *cpu = NULL;
static int64_t uncommon_keys = -1;

/* Return the shape, a new reference. */
static PyObject *read_shape(PyArrayObject *array) {
    int ndim = PyArray_NDIM(array);
    PyObject *made = size_type->tp_alloc(size_type, ndim);
    for (int i = 0; made != NULL && i < ndim; i++) {
        PyObject *size = PyLong_FromSsize_t(PyArray_DIM(array, i));
        if (size == NULL) {
            Py_CLEAR(made);
        } else {
            PyTuple_SET_ITEM(made, i, size);
        }
    }
    return made;
}

/* Return the number of dimensions. */
static PyObject *read_ndim(PyArrayObject *array) {
    return PyLong_FromLong(PyArray_NDIM(array));
}

/* Return the dtype, a new reference. */
static PyObject *read_dtype(PyArrayObject *array) {
    return Py_NewRef((PyObject *)PyArray_DESCR(array));
}

/* Return the device, which is the CPU. */
static PyObject *read_device(PyArrayObject *array) {
    (void)array;
    return Py_NewRef(cpu);
}

/* Return the number of elements. */
static PyObject *read_count(PyArrayObject *array) {
    return PyLong_FromSsize_t(PyArray_SIZE(array));
}

/* Return the bytes of an element. */
static PyObject *read_itemsize(PyArrayObject *array) {
    return PyLong_FromSsize_t(PyArray_ITEMSIZE(array));
}

/* Return whether elements lie row by row, as a bool. */
static PyObject *read_is_contiguous(PyArrayObject *array) {
    return PyBool_FromLong(PyArray_IS_C_CONTIGUOUS(array));
}

/* Whether elements have a type of NumPy's own that Python has numbers for. */
static int has_numbers(PyArrayObject *array) {
    int type = PyArray_TYPE(array);
    return type <= NPY_CDOUBLE && type != NPY_LONGDOUBLE;
}

/* Return the only element as a Python number; NULL without an exception if the Python function must run. */
static PyObject *read_item(PyArrayObject *array) {
    return has_numbers(array) && PyArray_SIZE(array) == 1 ? PyArray_GETITEM(array, PyArray_BYTES(array)) : NULL;
}

/* Return the only element as a bool; NULL without an exception if Python has to. */
static PyObject *read_truth(PyArrayObject *array) {
    PyObject *item = read_item(array);
    int truth = item == NULL ? -1 : PyObject_IsTrue(item);
    Py_XDECREF(item);
    return truth < 0 ? NULL : PyBool_FromLong(truth);
}

/* Elements that a list is made of at once; the Python makes longer ones in parts, between which it looks at signals. */
#define MOST_LISTED ((npy_intp)1 << 22)

/* Return nested lists of numbers; NULL without an exception if Python has to. */
static PyObject *read_list(PyArrayObject *array) {
    return has_numbers(array) && PyArray_SIZE(array) <= MOST_LISTED ? PyArray_ToList(array) : NULL;
}

/* Whether an object is exactly a shape. */
int is_size(PyObject *object) {
    return size_type != NULL && Py_IS_TYPE(object, size_type);
}

/* Return the array of exactly a Tensor in NumPy's memory, a new reference; else NULL, without an exception. */
static PyArrayObject *array_of(PyObject *tensor) {
    PyObject *array = Py_TYPE(tensor) == core.tensor ? ((Tensor *)tensor)->array : NULL;
    return array != NULL && Py_TYPE(array) == core.array ? (PyArrayObject *)Py_NewRef(array) : NULL;
}

/* Whether elements of a Tensor may be read without a word to anybody. Returns -1 with an exception. */
static int may_be_read(PyObject *tensor) {
    PyObject *own = Py_TYPE(tensor) == core.tensor ? ((Tensor *)tensor)->keys : NULL;
    int overflow = 0, is_mode_on;
    int64_t keys = own != NULL && PyLong_CheckExact(own) ? PyLong_AsLongLongAndOverflow(own, &overflow) : -1;
    if (overflow || keys < 0) {
        return 0;
    }
    return apply_modes(&keys, &is_mode_on) < 0 ? -1 : !(keys & uncommon_keys);
}

/* Return the property of a tensor, a new reference; itself of the class. */
static PyObject *property_get(PyObject *self, PyObject *tensor, PyObject *type) {
    const Property *property = (Property *)self;
    if (tensor == NULL || tensor == Py_None) {
        return Py_NewRef(self);
    }
    PyArrayObject *array = array_of(tensor);
    if (array == NULL) {
        PyObject *python = property->base.function;
        return Py_TYPE(python)->tp_descr_get(python, tensor, type);
    }
    PyObject *found = property->read(array);
    Py_DECREF(array);
    return found;
}

/* Set the property of a tensor as Python's property does. Returns -1 with an exception. */
static int property_set(PyObject *self, PyObject *tensor, PyObject *value) {
    PyObject *python = ((Property *)self)->base.function;
    return Py_TYPE(python)->tp_descr_set(python, tensor, value);
}

/* Return the size of one dimension; NULL without an exception if Python must look at what is given. */
static PyObject *size_at(PyArrayObject *array, PyObject *dim) {
    if (!PyLong_CheckExact(dim)) {
        return NULL;
    }
    int overflow, ndim = PyArray_NDIM(array);
    long dim_index = PyLong_AsLongAndOverflow(dim, &overflow);
    dim_index += dim_index < 0 ? ndim : 0;
    return overflow || dim_index < 0 || dim_index >= ndim ? NULL
                                                          : PyLong_FromSsize_t(PyArray_DIM(array, (int)dim_index));
}

/* Return what the method reads of the tensor's array, or what the Python method returns. */
static PyObject *method_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const Property *property = (Property *)self;
    Py_ssize_t count = PyVectorcall_NARGS(flagged);
    int is_size_at = count == 2 && property->read == read_shape;
    int is_common = names == NULL && (count == 1 || is_size_at);
    if (is_common && property->is_of_elements && (is_common = may_be_read(args[0])) < 0) {
        return NULL;
    }
    PyArrayObject *array = is_common ? array_of(args[0]) : NULL;
    PyObject *found = NULL;
    if (array != NULL) {
        found = is_size_at ? size_at(array, args[1]) : property->read(array);
        Py_DECREF(array);
    }
    return found != NULL || PyErr_Occurred() ? found
                                             : PyObject_Vectorcall(property->base.function, args, flagged, names);
}

typedef struct {
    const char *name;
    int is_property;
    Reader read;
} Row;

static const Row properties[] = {
    {"shape", 1, read_shape},
    {"ndim", 1, read_ndim},
    {"dtype", 1, read_dtype},
    {"device", 1, read_device},
    {"itemsize", 1, read_itemsize},
    {"size", 0, read_shape},
    {"dim", 0, read_ndim},
    {"ndimension", 0, read_ndim},
    {"numel", 0, read_count},
    {"nelement", 0, read_count},
    {"element_size", 0, read_itemsize},
    {"is_contiguous", 0, read_is_contiguous},
};

static const Row elements[] = {
    {"item", 0, read_item},
    {"tolist", 0, read_list},
    {"__bool__", 0, read_truth},
};

/* Replace the property or method that the class has by that name. Returns -1 with an exception. */
static int install(PyObject *tensor, const Row *row, int is_of_elements) {
    PyObject *function = PyObject_GetAttrString(tensor, row->name);
    const CallableType *how = row->is_property ? &tensor_property_type : &tensor_method_type;
    Property *made = function == NULL ? NULL : (Property *)callable_make(how, function);
    int result = -1;
    if (made != NULL) {
        made->read = row->read;
        made->is_of_elements = is_of_elements;
        result = PyObject_SetAttrString(tensor, row->name, (PyObject *)made);
    }
    Py_XDECREF(made);
    Py_XDECREF(function);
    return result;
}

/* Replace each of a few that a class has by their names. Returns None. */
static PyObject *install_all(PyObject *tensor, const Row *row, size_t count, int is_of_elements) {
    for (size_t i = 0; i < count; i++) {
        if (install(tensor, &row[i], is_of_elements) < 0) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

/* install_properties(Tensor): once Python told of shapes and of the CPU's device. Returns None. */
PyObject *install_properties(PyObject *module, PyObject *tensor) {
    (void)module;
    return install_all(tensor, properties, sizeof properties / sizeof properties[0], 0);
}

/* install_readers(Tensor): once Python told which elements are its own to read. Returns None. */
PyObject *install_readers(PyObject *module, PyObject *tensor) {
    (void)module;
    return install_all(tensor, elements, sizeof elements / sizeof elements[0], 1);
}

/* Look at the class of shapes. Returns -1 with an exception. */
static int take_size(PyObject *size) {
    if (!PyType_IsSubtype((PyTypeObject *)size, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "shapes are tuples");
        return -1;
    }
    return 0;
}

const Setting property_settings[] = {
    {"Size", SETTING_CLASS, &size_type, NULL, take_size},
    {"CPU_DEVICE", SETTING_OBJECT, &cpu, NULL, NULL},
    {"UNCOMMON", SETTING_BITS, &uncommon_keys, NULL, NULL},
    NO_SETTING,
};

/* Return an element of a shape, or a part of it, which is a shape. */
static PyObject *size_subscript(PyObject *self, PyObject *dim_index) {
    PyObject *found = PyTuple_Type.tp_as_mapping->mp_subscript(self, dim_index);
    if (found == NULL || !PySlice_Check(dim_index) || size_type == NULL) {
        return found;
    }
    PyObject *made = size_type->tp_alloc(size_type, PyTuple_GET_SIZE(found));
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_GET_SIZE(found); i++) {
        PyTuple_SET_ITEM(made, i, Py_NewRef(PyTuple_GET_ITEM(found, i)));
    }
    Py_DECREF(found);
    return made;
}

/* Return the class of properties: what asks `isinstance(x, property)` means one that has a getter. */
static PyObject *property_class(PyObject *self, void *closure) {
    (void)self;
    (void)closure;
    return Py_NewRef((PyObject *)&PyProperty_Type);
}

static PyGetSetDef property_getset[] = {
    {"__class__", property_class, NULL, NULL, NULL},
    {"__doc__", callable_doc, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot size_slots[] = {
    {Py_mp_subscript, size_subscript},
    {0, NULL},
};

static PyType_Spec size_spec = {
    .name = "opwright_core._fast.SizeBase",
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = size_slots,
};

/* Make the base of shapes. Returns a new reference, or NULL with an exception. */
PyTypeObject *make_size_base(PyObject *module) {
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &size_spec, (PyObject *)&PyTuple_Type);
}

static const PyType_Slot property_slots[] = {
    {Py_tp_descr_get, property_get},
    {Py_tp_descr_set, property_set},
    {0, NULL},
};

CallableType tensor_property_type = {
    .name = "opwright_core._fast.TensorProperty",
    .size = sizeof(Property),
    .flags = Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .getset = property_getset,
    .slots = property_slots,
};

CallableType tensor_method_type = {
    .name = "opwright_core._fast.TensorMethod",
    .size = sizeof(Property),
    .flags = Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .call = method_call,
};
