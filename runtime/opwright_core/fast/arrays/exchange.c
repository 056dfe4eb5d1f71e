/* Arrays of libraries whose types offer DLPack's C exchange API: taken as arrays of NumPy on the same memory, and
 * results given back as arrays of the library. What is not common is left to Python (`opwright.other_arrays`). */

#include "exchange.h"
#include "array_pool.h"

enum { DL_INT, DL_UINT, DL_FLOAT, DL_COMPLEX = 5, DL_BOOL };

/* NumPy's dtypes in the words of DLPack, common ones first. */
static const struct {
    int type;
    uint8_t code, bits;
} dtypes[] = {
    {NPY_FLOAT32, DL_FLOAT, 32},  {NPY_FLOAT64, DL_FLOAT, 64},    {NPY_INT64, DL_INT, 64},
    {NPY_BOOL, DL_BOOL, 8},       {NPY_INT8, DL_INT, 8},          {NPY_UINT8, DL_UINT, 8},
    {NPY_INT16, DL_INT, 16},      {NPY_UINT16, DL_UINT, 16},      {NPY_INT32, DL_INT, 32},
    {NPY_UINT32, DL_UINT, 32},    {NPY_UINT64, DL_UINT, 64},      {NPY_HALF, DL_FLOAT, 16},
    {NPY_COMPLEX64, DL_COMPLEX, 64}, {NPY_COMPLEX128, DL_COMPLEX, 128},
};
#define DTYPES (int)(sizeof(dtypes) / sizeof(dtypes[0]))

/* Results of so many bytes are copied: to give their array away takes longer. */
#define SMALL_BYTES 2048
#define ALIGNMENT 64 /* a power of two */

/* Return the number of the dtype that a tensor has, -1 if NumPy has no such dtype. */
static int dtype_of(const DLTensor *tensor) {
    for (int at = 0; tensor->lanes == 1 && at < DTYPES; at++) {
        if (dtypes[at].code == tensor->code && dtypes[at].bits == tensor->bits) {
            return at;
        }
    }
    return -1;
}

/* Return the number of the dtype that an array has, -1 if DLPack has no word for it. */
static int dtype_of_array(PyArrayObject *array) {
    for (int at = 0; at < DTYPES; at++) {
        if (dtypes[at].type == PyArray_TYPE(array)) {
            return at;
        }
    }
    return -1;
}

/* Return a new array on the memory of a tensor of DLPack, which keeps its owner; NULL without an exception where NumPy
 * has no such array. */
PyObject *array_on(const DLTensor *tensor, PyObject *owner, int flags) {
    const int at = dtype_of(tensor);
    if (at < 0 || tensor->device_type != DLPACK_CPU || tensor->ndim > NPY_MAXDIMS ||
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

/* Return a new array of a dtype in the words of DLPack, not filled; NULL without an exception if NumPy has no such
 * dtype. */
PyObject *array_like(const DLTensor *tensor) {
    const int at = dtype_of(tensor);
    return at < 0 ? NULL : PyArray_SimpleNew(tensor->ndim, (const npy_intp *)tensor->shape, dtypes[at].type);
}

/* Flags of an array that `exchange_take` made, but for those of its strides. */
#define SHELL_FLAGS (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED)

/* Have an array that a former call made lie on the memory of a tensor. Returns it, with its reference, or NULL. */
static PyObject *shell_on(Exchange *exchange, const DLTensor *tensor, PyObject *owner) {
    char *data = (char *)tensor->data + tensor->byte_offset;
    const npy_intp size = tensor->bits / 8;
    PyArrayObject_fields *array = (PyArrayObject_fields *)exchange->shells[--exchange->shells_count];
    const int at = dtype_of(tensor);
    if (at < 0 || array->descr->type_num != dtypes[at].type || array->nd != tensor->ndim ||
        tensor->device_type != DLPACK_CPU || (uintptr_t)data % (uintptr_t)size != 0 ||
        !PyArray_ISNBO(array->descr->byteorder)) {
        Py_DECREF((PyObject *)array); /* calls ask for others now */
        return NULL;
    }
    int is_same = 1;
    for (int i = 0; i < tensor->ndim; i++) {
        is_same &= array->dimensions[i] == tensor->shape[i] && array->strides[i] == tensor->strides[i] * size;
        array->dimensions[i] = tensor->shape[i];
        array->strides[i] = tensor->strides[i] * size;
    }
    array->data = data;
    array->base = Py_NewRef(owner);
    if (!is_same) {
        PyArray_UpdateFlags((PyArrayObject *)array, NPY_ARRAY_UPDATE_ALL);
    }
    return (PyObject *)array;
}

/* Return the array that Python makes of a tensor of PyTorch; NULL without an exception if it refuses, and for one
 * without elements. */
static PyObject *taken_by_numpy(const Exchange *exchange, PyObject *value) {
    PyObject *array = PyObject_CallOneArg(exchange->numpy, value);
    if (array != NULL && (!PyArray_CheckExact(array) || !PyArray_ISBEHAVED((PyArrayObject *)array) ||
                          PyArray_SIZE((PyArrayObject *)array) == 0)) {
        Py_CLEAR(array);
    }
    PyErr_Clear();
    return array;
}

/* Return an array on the memory of a value, which it keeps, a new reference; NULL without an exception where Python has
 * to take it: it is recorded, on another device, or of a dtype that NumPy has not. */
PyObject *exchange_take(Exchange *exchange, PyObject *value) {
    DLTensor tensor;
    if (exchange_is_uncommon(exchange, value)) {
        return NULL;
    }
    if (exchange->numpy != NULL) {
        return taken_by_numpy(exchange, value);
    }
    if (exchange->api->tensor_of(value, &tensor) != 0) {
        PyErr_Clear(); /* Python words it */
        return NULL;
    }
    if (tensor.code == DL_COMPLEX || tensor.data == NULL) { /* a conjugate, perhaps; no elements */
        return NULL;
    }
    PyObject *array = exchange->shells_count > 0 && tensor.ndim > 0 && tensor.strides != NULL
                          ? shell_on(exchange, &tensor, value) : NULL;
    return array != NULL ? array : array_on(&tensor, value, NPY_ARRAY_WRITEABLE);
}

/* Drop an array that `exchange_take` made. If nobody else has it, a later call has it lie on other memory: NumPy takes
 * longer to make and free one. Takes the reference. */
void exchange_drop(Exchange *exchange, PyObject *object) {
    PyArrayObject_fields *array = (PyArrayObject_fields *)object;
    if (is_only_reference(object) && exchange->numpy == NULL && PyArray_CheckExact(object) &&
        array->weakreflist == NULL && array->base != NULL && array->nd > 0 && exchange->shells_count < MOST_SHELLS &&
        (array->flags & ~(NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)) == SHELL_FLAGS) {
        array->data = NULL;
        exchange->shells[exchange->shells_count++] = object;
        Py_CLEAR(array->base);
        return;
    }
    Py_DECREF(object);
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

/* Fill in all but who frees it, for the sizes and strides of an array. */
static void fill_managed(ManagedTensor *made, PyArrayObject *array, int at, char *data) {
    const int ndim = PyArray_NDIM(array);
    const Py_ssize_t itemsize = dtypes[at].bits / 8;
    int64_t *sizes = (int64_t *)(made + 1);
    for (int i = 0; i < ndim; i++) {
        sizes[i] = PyArray_DIM(array, i);
        sizes[ndim + i] = PyArray_STRIDE(array, i) / itemsize;
    }
    made->version = DLPACK_VERSION;
    made->flags = 0;
    made->tensor = (DLTensor){
        .data = data, .device_type = DLPACK_CPU, .ndim = ndim, .code = dtypes[at].code,
        .bits = dtypes[at].bits, .lanes = 1, .shape = sizes, .strides = sizes + ndim,
    };
}

/* Return a tensor of DLPack on the memory of an array, to which it takes the reference unless it fails; NULL without an
 * exception if it cannot be told so. */
ManagedTensor *managed_tensor(PyArrayObject *array) {
    const int at = dtype_of_array(array), ndim = PyArray_NDIM(array);
    Py_ssize_t itemsize = PyArray_ITEMSIZE(array);
    if (at < 0 || !PyArray_ISBEHAVED(array)) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        if (PyArray_STRIDE(array, i) < 0 || PyArray_STRIDE(array, i) % itemsize != 0) {
            return NULL;
        }
    }
    ManagedTensor *made = PyMem_RawMalloc(sizeof(ManagedTensor) + 2 * (size_t)ndim * sizeof(int64_t));
    if (made == NULL) {
        return NULL;
    }
    fill_managed(made, array, at, PyArray_DATA(array));
    made->context = array;
    made->deleter = delete_managed;
    return made;
}

/* Free the memory of a tensor that was copied, for which nobody has to wait. */
static void delete_copied(ManagedTensor *self) {
    PyMem_RawFree(self);
}

/* Return a tensor of DLPack on a copy of a small array that nobody else has, as NumPy makes one; NULL without an
 * exception for any other. */
static ManagedTensor *copied_tensor(PyArrayObject *array) {
    const npy_intp bytes = array_pool_bytes((PyObject *)array);
    const int at = bytes > 0 && bytes <= SMALL_BYTES ? dtype_of_array(array) : -1;
    const size_t before = sizeof(ManagedTensor) + 2 * (size_t)PyArray_NDIM(array) * sizeof(int64_t) + ALIGNMENT;
    ManagedTensor *made = at < 0 ? NULL : PyMem_RawMalloc(before + (size_t)bytes);
    if (made == NULL) {
        return NULL;
    }
    char *data = (char *)(((uintptr_t)made + before) & ~(uintptr_t)(ALIGNMENT - 1));
    memcpy(data, PyArray_DATA(array), (size_t)bytes);
    fill_managed(made, array, at, data);
    made->context = NULL;
    made->deleter = delete_copied;
    return made;
}

/* Return a result as Python gives it: one that cannot be told by DLPack. Takes the reference. */
static PyObject *given_by_python(PyObject *like, PyObject *result) {
    PyObject *module = PyImport_ImportModule("opwright_core.inputs.calls");
    PyObject *given = module == NULL ? NULL : PyObject_CallMethod(module, "give", "OO", like, result);
    Py_XDECREF(module);
    Py_DECREF(result);
    return given;
}

/* Return a result as PyTorch makes a tensor of an array. Takes the reference. */
static PyObject *given_by_numpy(const Exchange *exchange, PyObject *like, PyObject *result) {
    PyObject *given =
        PyArray_ISBEHAVED((PyArrayObject *)result) ? PyObject_CallOneArg(exchange->from_numpy, result) : NULL;
    if (given == NULL) { /* it has no such dtype, or strides below 0 */
        PyErr_Clear();
        return given_by_python(like, result);
    }
    Py_DECREF(result);
    return given;
}

/* Return a result for the caller, whose arrays are like `like`: an array of the library for an array. Takes the
 * reference to the result; NULL is the failure of who made it. */
PyObject *exchange_give(const Exchange *exchange, PyObject *like, PyObject *result) {
    if (result != NULL && PyArray_IsScalar(result, Generic)) {
        Py_SETREF(result, PyArray_FromScalar(result, NULL));
    }
    if (result == NULL || !PyArray_CheckExact(result)) {
        return result;
    }
    if (exchange->from_numpy != NULL) {
        return given_by_numpy(exchange, like, result);
    }
    ManagedTensor *managed = copied_tensor((PyArrayObject *)result);
    if (managed != NULL) {
        array_give_up(result);
    } else {
        managed = managed_tensor((PyArrayObject *)result);
    }
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
