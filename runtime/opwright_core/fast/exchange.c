/* Arrays of libraries whose types offer DLPack's C exchange API: taken as arrays of NumPy on the same memory, and results
 * given back as arrays of the library. What is not common is left to Python (`opwright.other_arrays`). */

#include "exchange.h"
#include "interned.h"
#include "numpy_api.h"

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

/* Return the API that a class offers itself, borrowed for ever; NULL without an exception if it has none that is known
 * here, with one if that cannot be found out. */
const ExchangeAPI *exchange_api(PyObject *type) {
    PyObject *capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
    if (capsule == NULL) {
        PyErr_Clear();
        return NULL;
    }
    const ExchangeAPI *api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_DECREF(capsule);
    if (api == NULL || api->version.major != 1 || api->tensor_of == NULL || api->object_of == NULL) {
        PyErr_Clear();
        return NULL;
    }
    return api;
}

/* Return what a method or an attribute of a value is, as a truth: 0 where there is no such attribute, -1 with an
 * exception. */
static int is_true(PyObject *value, PyObject *name, int is_method) {
    PyObject *found = is_method ? PyObject_CallMethodNoArgs(value, name) : PyObject_GetAttr(value, name);
    if (found == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
            return -1;
        }
        PyErr_Clear();
        return 0;
    }
    int result = PyObject_IsTrue(found);
    Py_DECREF(found);
    return result;
}

/* Return a new array on the memory of a value, which it keeps; NULL without an exception where Python has to take it: it
 * is recorded, on another device, or of a dtype that NumPy has not. */
PyObject *exchange_take(const ExchangeAPI *api, PyObject *value) {
    int is_uncommon = is_true(value, interned.requires_grad, 0);
    is_uncommon = is_uncommon ? is_uncommon : is_true(value, interned.is_neg, 1);
    if (is_uncommon) {
        return NULL;
    }
    DLTensor tensor;
    if (api->tensor_of(value, &tensor) != 0) {
        PyErr_Clear(); /* Python words it */
        return NULL;
    }
    int at = 0;
    while (at < DTYPES && (dtypes[at].code != tensor.code || dtypes[at].bits != tensor.bits)) {
        at++;
    }
    if (at == DTYPES || tensor.code == DL_COMPLEX || tensor.lanes != 1 || tensor.device_type != DLPACK_CPU ||
        tensor.ndim > NPY_MAXDIMS || tensor.strides == NULL) {
        return NULL;
    }
    PyArray_Descr *dtype = PyArray_DescrFromType(dtypes[at].type);
    npy_intp strides[NPY_MAXDIMS];
    for (int i = 0; i < tensor.ndim; i++) {
        strides[i] = tensor.strides[i] * (tensor.bits / 8);
    }
    char *data = (char *)tensor.data + tensor.byte_offset;
    if (tensor.data == NULL) { /* of an array without elements */
        return NULL;
    }
    PyObject *array = PyArray_NewFromDescr(
        &PyArray_Type, dtype, tensor.ndim, (const npy_intp *)tensor.shape, strides, data, NPY_ARRAY_WRITEABLE, NULL);
    if (array != NULL && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(value)) < 0) {
        Py_CLEAR(array);
    }
    return array;
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

/* Return a tensor of DLPack on the memory of an array, to which it takes the reference; NULL without an exception if it
 * cannot be told so. */
static ManagedTensor *managed_tensor(PyArrayObject *array) {
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
    made->version = (DLVersion){1, 3};
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
PyObject *exchange_give(const ExchangeAPI *api, PyObject *like, PyObject *result) {
    if (result == NULL || !(PyArray_CheckExact(result) || PyArray_IsScalar(result, Generic))) {
        return result;
    }
    ManagedTensor *managed = PyArray_CheckExact(result) ? managed_tensor((PyArrayObject *)result) : NULL;
    if (managed == NULL) {
        return given_by_python(like, result);
    }
    void *given = NULL;
    if (api->object_of(managed, &given) != 0) {
        managed->deleter(managed);
        return NULL;
    }
    return given;
}
