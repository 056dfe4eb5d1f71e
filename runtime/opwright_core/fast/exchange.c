/* Arrays of libraries whose types offer DLPack's C exchange API: taken as arrays of NumPy on the same memory, and results
 * given back as arrays of the library. What is not common is left to Python (`opwright.other_arrays`). */

#include "exchange.h"
#include "interned.h"

enum { DL_INT, DL_UINT, DL_FLOAT, DL_COMPLEX = 5, DL_BOOL };

/* NumPy's dtypes in the words of DLPack. */
static const struct {
    int type;
    uint8_t code, bits;
} dtypes[] = {
    {NPY_BOOL, DL_BOOL, 8},       {NPY_INT8, DL_INT, 8},          {NPY_UINT8, DL_UINT, 8},
    {NPY_INT16, DL_INT, 16},      {NPY_UINT16, DL_UINT, 16},      {NPY_INT32, DL_INT, 32},
    {NPY_UINT32, DL_UINT, 32},    {NPY_INT64, DL_INT, 64},        {NPY_UINT64, DL_UINT, 64},
    {NPY_HALF, DL_FLOAT, 16},     {NPY_FLOAT32, DL_FLOAT, 32},    {NPY_FLOAT64, DL_FLOAT, 64},
    {NPY_COMPLEX64, DL_COMPLEX, 64}, {NPY_COMPLEX128, DL_COMPLEX, 128},
};
#define DTYPES (int)(sizeof(dtypes) / sizeof(dtypes[0]))

/* Return what a class has for a name, borrowed, if that is of a type of descriptors; NULL with `*is_other` for anything
 * else. */
static PyObject *descriptor_of(PyTypeObject *type, PyObject *name, const PyTypeObject *kind, int *is_other) {
    PyObject *found = _PyType_Lookup(type, name);
    if (found != NULL && Py_TYPE(found) != kind) {
        *is_other = 1;
        return NULL;
    }
    return found;
}

/* Find what says of PyTorch's tensors that they are no plain memory. Returns 0 where that cannot be asked here. */
static int find_questions(Exchange *exchange, PyTypeObject *type) {
    int is_other = 0;
    PyObject *grad = descriptor_of(type, interned.requires_grad, &PyGetSetDescr_Type, &is_other);
    PyObject *neg = descriptor_of(type, interned.is_neg, &PyMethodDescr_Type, &is_other);
    if (is_other || (neg != NULL && ((PyMethodDescrObject *)neg)->d_method->ml_flags != METH_NOARGS)) {
        return 0;
    }
    exchange->requires_grad = grad == NULL ? NULL : ((PyGetSetDescrObject *)grad)->d_getset;
    exchange->is_neg = neg == NULL ? NULL : ((PyMethodDescrObject *)neg)->d_method->ml_meth;
    if (grad == NULL) {
        return 1;
    }
    PyObject *name = PyUnicode_FromString("torch.autograd.forward_ad");
    PyObject *module = name == NULL ? NULL : PyImport_GetModule(name);
    exchange->levels = module == NULL ? NULL : PyModule_GetDict(module);
    Py_XDECREF(name);
    Py_XDECREF(module); /* which `sys.modules` has */
    Py_XINCREF(exchange->levels);
    return exchange->levels != NULL && PyDict_GetItemWithError(exchange->levels, interned._current_level) != NULL;
}

/* Fill in how the arrays of a class are exchanged, by the API that it offers. Returns 0 where it has none that is known
 * here. */
int exchange_open(Exchange *exchange, PyObject *type) {
    PyObject *capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
    const ExchangeAPI *api = capsule == NULL ? NULL : PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_XDECREF(capsule);
    int is_known = api != NULL && api->version.major == 1 && api->tensor_of != NULL && api->object_of != NULL &&
                   find_questions(exchange, (PyTypeObject *)type);
    PyErr_Clear();
    exchange->api = is_known ? api : NULL;
    return is_known;
}

/* Drop what is kept for the exchange. */
void exchange_close(Exchange *exchange) {
    Py_CLEAR(exchange->levels);
    exchange->api = NULL;
}

/* Whether forward gradients are computed, so that a tensor may have a tangent, which only Python sees. */
int exchange_has_tangents(const Exchange *exchange) {
    PyObject *level = exchange->levels == NULL ? NULL : PyDict_GetItemWithError(exchange->levels, interned._current_level);
    return level != NULL && !(PyLong_CheckExact(level) && PyLong_AsLong(level) == -1);
}

/* Whether an answer is not False. Takes the reference; NULL is a failure, whose exception stays. */
static int is_not_false(PyObject *answer) {
    Py_XDECREF(answer);
    return answer != Py_False;
}

/* Whether Python has to take a value: it is recorded, or negated without having been written so. There may be an
 * exception. */
static int is_uncommon(const Exchange *exchange, PyObject *value) {
    const PyGetSetDef *grad = exchange->requires_grad;
    return (grad != NULL && is_not_false(grad->get(value, grad->closure))) ||
           (exchange->is_neg != NULL && is_not_false(exchange->is_neg(value, NULL)));
}

/* Return a new array on the memory of a tensor of DLPack, which keeps its owner; NULL without an exception where NumPy has
 * no such array. */
PyObject *array_on(const DLTensor *tensor, PyObject *owner, int flags) {
    int at = 0;
    while (at < DTYPES && (dtypes[at].code != tensor->code || dtypes[at].bits != tensor->bits)) {
        at++;
    }
    if (at == DTYPES || tensor->lanes != 1 || tensor->device_type != DLPACK_CPU || tensor->ndim > NPY_MAXDIMS ||
        (tensor->strides == NULL && tensor->ndim > 0)) {
        return NULL;
    }
    PyArray_Descr *dtype = PyArray_DescrFromType(dtypes[at].type);
    npy_intp strides[NPY_MAXDIMS];
    for (int i = 0; i < tensor->ndim; i++) {
        strides[i] = tensor->strides[i] * (tensor->bits / 8);
    }
    char *data = (char *)tensor->data + tensor->byte_offset;
    PyObject *array = PyArray_NewFromDescr(
        &PyArray_Type, dtype, tensor->ndim, (const npy_intp *)tensor->shape, strides, data, flags, NULL);
    if (array != NULL && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(owner)) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

/* Return a new array of a dtype in the words of DLPack, not filled; NULL without an exception if NumPy has no such dtype. */
PyObject *array_like(const DLTensor *tensor) {
    for (int at = 0; at < DTYPES; at++) {
        if (dtypes[at].code == tensor->code && dtypes[at].bits == tensor->bits && tensor->lanes == 1) {
            return PyArray_SimpleNew(tensor->ndim, (const npy_intp *)tensor->shape, dtypes[at].type);
        }
    }
    return NULL;
}

/* Return a new array on the memory of a value, which it keeps; NULL without an exception where Python has to take it: it
 * is recorded, on another device, or of a dtype that NumPy has not. */
PyObject *exchange_take(const Exchange *exchange, PyObject *value) {
    if (is_uncommon(exchange, value)) {
        return NULL;
    }
    DLTensor tensor;
    if (exchange->api->tensor_of(value, &tensor) != 0) {
        PyErr_Clear(); /* Python words it */
        return NULL;
    }
    if (tensor.code == DL_COMPLEX || tensor.data == NULL) { /* a conjugate, perhaps; an array without elements */
        return NULL;
    }
    return array_on(&tensor, value, NPY_ARRAY_WRITEABLE);
}

/* Drop the array of a tensor that was given away. */
static void delete_managed(ManagedTensor *self) {
    if (Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF((PyObject *)self->context);
        PyGILState_Release(state);
    }
    PyMem_RawFree(self);
}

/* Return a tensor of DLPack on the memory of an array, to which it takes the reference unless it fails; NULL without an
 * exception if it cannot be told so. */
ManagedTensor *managed_tensor(PyArrayObject *array) {
    int at = 0, ndim = PyArray_NDIM(array);
    Py_ssize_t itemsize = PyArray_ITEMSIZE(array);
    while (at < DTYPES && dtypes[at].type != PyArray_TYPE(array)) {
        at++;
    }
    if (at == DTYPES || !PyArray_ISBEHAVED(array)) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        if (PyArray_STRIDE(array, i) < 0 || PyArray_STRIDE(array, i) % itemsize != 0) {
            return NULL;
        }
    }
    ManagedTensor *made = PyMem_RawCalloc(1, sizeof(ManagedTensor) + 2 * (size_t)ndim * sizeof(int64_t));
    if (made == NULL) {
        return NULL;
    }
    int64_t *sizes = (int64_t *)(made + 1);
    for (int i = 0; i < ndim; i++) {
        sizes[i] = PyArray_DIM(array, i);
        sizes[ndim + i] = PyArray_STRIDE(array, i) / itemsize;
    }
    made->version = DLPACK_VERSION;
    made->context = array;
    made->deleter = delete_managed;
    made->tensor = (DLTensor){
        .data = PyArray_DATA(array), .device_type = DLPACK_CPU, .ndim = ndim, .code = dtypes[at].code,
        .bits = dtypes[at].bits, .lanes = 1, .shape = sizes, .strides = sizes + ndim,
    };
    return made;
}

/* Return a result as Python gives it: one that cannot be told by DLPack. Takes the reference. */
static PyObject *given_by_python(PyObject *like, PyObject *result) {
    PyObject *module = PyImport_ImportModule("opwright.other_arrays.calls");
    PyObject *given = module == NULL ? NULL : PyObject_CallMethod(module, "give", "OO", like, result);
    Py_XDECREF(module);
    Py_DECREF(result);
    return given;
}

/* Return a result for the caller, whose arrays are like `like`: an array of the library for an array. Takes the reference
 * to the result; NULL is the failure of who made it. */
PyObject *exchange_give(const Exchange *exchange, PyObject *like, PyObject *result) {
    if (result == NULL || !(PyArray_CheckExact(result) || PyArray_IsScalar(result, Generic))) {
        return result;
    }
    ManagedTensor *managed = PyArray_CheckExact(result) ? managed_tensor((PyArrayObject *)result) : NULL;
    if (managed == NULL) {
        return given_by_python(like, result);
    }
    void *given = NULL;
    if (exchange->api->object_of(managed, &given) != 0) {
        managed->deleter(managed);
        return NULL;
    }
    return given;
}
