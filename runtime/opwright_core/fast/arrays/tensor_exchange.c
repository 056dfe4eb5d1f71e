/* What Tensors offer by DLPack's C exchange API, `Tensor.__dlpack_c_exchange_api__`. What is not plain memory of NumPy
 * goes by `__dlpack__`, which words the errors, and by `opwright_core.tensors.dlpack`. */

#include "arrays.h"
#include "exchange.h"
#include "tensor.h"

#define NAME "dltensor_versioned"

/* Whether a value is exactly a Tensor on an array of NumPy that records nothing; returns 1 or 0. */
static int is_plain(PyObject *value) {
    if (Py_TYPE(value) != core.tensor) {
        return 0;
    }
    const Tensor *tensor = (Tensor *)value;
    return tensor->array != NULL && Py_TYPE(tensor->array) == core.array && tensor->keys != NULL &&
           (tensor->keys == core.dense_cpu || tensor->keys == core.dense_cpu_nondense ||
            tensor->keys == core.dense_cpu_view || tensor->keys == core.dense_cpu_nondense_view);
}

/* Call `opwright_core.tensors.dlpack.NAME(*args)`. Takes the reference to the arguments, of which NULL is a failure.
 * Returns what the function returns. */
static PyObject *call_python(const char *name, PyObject *args) {
    PyObject *module = args == NULL ? NULL : PyImport_ImportModule("opwright_core.tensors.dlpack");
    PyObject *function = module == NULL ? NULL : PyObject_GetAttrString(module, name);
    PyObject *result = function == NULL ? NULL : PyObject_CallObject(function, args);
    Py_XDECREF(function);
    Py_XDECREF(module);
    Py_XDECREF(args);
    return result;
}

/* Give away the memory of a tensor, which is kept alive. Returns -1 with an exception. */
static int managed_of(void *object, ManagedTensor **out) {
    if (is_plain(object)) {
        PyArrayObject *array = (PyArrayObject *)Py_NewRef(((Tensor *)object)->array);
        *out = PyArray_ISWRITEABLE(array) ? managed_tensor(array) : NULL;
        if (*out != NULL) {
            return 0;
        }
        Py_DECREF(array);
    }
    PyObject *capsule = call_python("versioned", Py_BuildValue("(O)", object));
    *out = capsule == NULL ? NULL : PyCapsule_GetPointer(capsule, NAME);
    int is_done = *out != NULL && PyCapsule_SetName(capsule, "used_" NAME) == 0;
    Py_XDECREF(capsule);
    return is_done ? 0 : -1;
}

/* Free what a capsule holds that nobody used. */
static void free_capsule(PyObject *capsule) {
    ManagedTensor *held = PyCapsule_IsValid(capsule, NAME) ? PyCapsule_GetPointer(capsule, NAME) : NULL;
    if (held != NULL && held->deleter != NULL) {
        held->deleter(held);
    }
}

/* Make a Tensor of memory that is given here. Returns -1 with an exception; the memory is then the giver's, as before.
 */
static int tensor_of_managed(ManagedTensor *managed, void **out) {
    *out = NULL;
    if (managed->version.major != DLPACK_VERSION.major) {
        PyErr_Format(PyExc_BufferError, "DLPack %u is not known here", managed->version.major);
        return -1;
    }
    PyObject *owner = PyCapsule_New(managed, NAME, free_capsule);
    if (owner == NULL) {
        return -1;
    }
    int flags = managed->flags & DLPACK_READ_ONLY ? 0 : NPY_ARRAY_WRITEABLE;
    PyObject *array = managed->tensor.data == NULL ? NULL : array_on(&managed->tensor, owner, flags);
    if (array != NULL) {
        *out = wrap(NULL, array);
        Py_DECREF(array);
    } else if (!PyErr_Occurred()) {
        *out = call_python("tensor_of", Py_BuildValue("(Oi)", owner, managed->tensor.device_type));
    }
    if (*out == NULL) { /* what took it may be alive */
        (void)PyCapsule_SetDestructor(owner, NULL);
    }
    Py_DECREF(owner);
    return *out == NULL ? -1 : 0;
}

/* Make memory for a tensor like another. Returns -1 after telling the caller why not. */
static int allocate(DLTensor *like, ManagedTensor **out, void *context, SetError *fail) {
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *array = like->device_type == DLPACK_CPU ? array_like(like) : NULL;
    *out = array == NULL ? NULL : managed_tensor((PyArrayObject *)array);
    if (*out == NULL) {
        Py_XDECREF(array);
        PyErr_Clear();
    }
    PyGILState_Release(state);
    if (*out == NULL && fail != NULL) {
        fail(context, "BufferError", "opwright makes memory of the CPU here, of dtypes that NumPy has");
    }
    return *out == NULL ? -1 : 0;
}

/* Find the stream that work is put into: none on the CPU. Returns -1 with an exception. */
static int current_stream(int32_t device_type, int32_t device_id, void **out) {
    *out = NULL;
    if (device_type == DLPACK_CPU) {
        return 0;
    }
    PyObject *stream = call_python("current_stream", Py_BuildValue("(ii)", device_type, device_id));
    *out = stream == NULL ? NULL : PyLong_AsVoidPtr(stream);
    Py_XDECREF(stream);
    return PyErr_Occurred() ? -1 : 0;
}

/* Tensors have no strides that count elements, which the fast call for borrowed memory would point to: it may be left
 * out. */
static ExchangeAPI offered = {
    .version = {1, 3}, .allocate = allocate, .managed_of = managed_of, .object_of = tensor_of_managed,
    .current_stream = current_stream,
};

/* Return the capsule of the API, a new reference. */
PyObject *make_tensor_exchange(void) {
    return PyCapsule_New(&offered, "dlpack_exchange_api", NULL);
}
