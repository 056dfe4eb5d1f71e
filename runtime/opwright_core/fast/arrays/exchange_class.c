/* What a class of another library's arrays offers: DLPack's C exchange API, and what says of a value of PyTorch that it
 * is no plain memory. */

#include "exchange.h"
#include "fast/interned.h"

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

/* Return an attribute of a module that is imported, a new reference, or NULL. There may be an exception. */
static PyObject *attribute_of(const char *module, const char *name) {
    PyObject *key = PyUnicode_FromString(module);
    PyObject *found = key == NULL ? NULL : PyImport_GetModule(key);
    PyObject *attribute = found == NULL ? NULL : PyObject_GetAttrString(found, name);
    Py_XDECREF(found);
    Py_XDECREF(key);
    return attribute;
}

/* Find what PyTorch says of all of its tensors: whether it computes forward gradients, whether it records, and how it
 * is told that one was written. Returns 0 where that cannot be asked here. */
static int find_module_questions(Exchange *exchange) {
    exchange->levels = attribute_of("torch.autograd.forward_ad", "__dict__");
    exchange->is_grad_enabled = attribute_of("torch._C", "is_grad_enabled");
    exchange->bump_versions = attribute_of("torch._C", "_increment_version");
    return exchange->levels != NULL && PyDict_CheckExact(exchange->levels) && exchange->is_grad_enabled != NULL &&
           PyDict_GetItemWithError(exchange->levels, interned._current_level) != NULL;
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
    return grad == NULL || find_module_questions(exchange);
}

/* What stands for the API of a PyTorch that has none: Python takes its tensors. */
static const ExchangeAPI by_numpy = {{0, 0}, NULL, NULL, NULL, NULL, NULL, NULL};

/* Fill in how the arrays of a class are exchanged, by the API that it offers. Returns 0 where it has none that is known
 * here. */
int exchange_open(Exchange *exchange, PyObject *type) {
    const ExchangeAPI *api = exchange_api_of(type);
    int is_known = api != NULL && find_questions(exchange, (PyTypeObject *)type);
    if (is_known && api == &by_numpy) {
        PyObject *kinds = PyImport_ImportModule("opwright_core.inputs.kinds");
        exchange->numpy = kinds == NULL ? NULL : PyObject_CallMethod(kinds, "pytorch_taker", NULL);
        Py_XDECREF(kinds);
        exchange->from_numpy = attribute_of("torch", "from_numpy");
        is_known = exchange->numpy != NULL && exchange->from_numpy != NULL;
    }
    PyErr_Clear();
    exchange->api = is_known ? api : NULL;
    return is_known;
}

/* Whether a class is PyTorch's Tensor or one derived from it. */
static int is_of_pytorch(PyObject *type) {
    PyObject *tensor = attribute_of("torch", "Tensor");
    int is_one =
        tensor != NULL && PyType_Check(tensor) && PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)tensor);
    Py_XDECREF(tensor);
    PyErr_Clear();
    return is_one;
}

/* Return the API that a class offers, or what stands for that of an older PyTorch; NULL without an exception where
 * there is none that is known here. */
const ExchangeAPI *exchange_api_of(PyObject *type) {
    PyObject *capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
    const ExchangeAPI *api = capsule == NULL ? NULL : PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_XDECREF(capsule);
    PyErr_Clear();
    if (api == NULL && is_of_pytorch(type)) {
        return &by_numpy;
    }
    int is_known = api != NULL && api->version.major == 1 && api->tensor_of != NULL && api->object_of != NULL;
    return is_known ? api : NULL;
}

/* Drop what is kept for the exchange. */
void exchange_close(Exchange *exchange) {
    Py_CLEAR(exchange->levels);
    Py_CLEAR(exchange->is_grad_enabled);
    Py_CLEAR(exchange->bump_versions);
    Py_CLEAR(exchange->numpy);
    Py_CLEAR(exchange->from_numpy);
    while (exchange->shells_count > 0) {
        Py_DECREF(exchange->shells[--exchange->shells_count]);
    }
    exchange->api = NULL;
}

/* Whether forward gradients are computed, so that a tensor may have a tangent, which only Python sees. */
static int has_tangents(const Exchange *exchange) {
    PyObject *level =
        exchange->levels == NULL ? NULL : PyDict_GetItemWithError(exchange->levels, interned._current_level);
    return level != NULL && !(PyLong_CheckExact(level) && PyLong_AsLong(level) == -1);
}

/* Whether an answer is not False. Takes the reference; NULL is a failure, whose exception stays. */
static int is_not_false(PyObject *answer) {
    Py_XDECREF(answer);
    return answer != Py_False;
}

/* Whether PyTorch records what is called with a value. There may be an exception. */
static int is_recorded(const Exchange *exchange, PyObject *value) {
    const PyGetSetDef *grad = exchange->requires_grad;
    return grad != NULL && is_not_false(grad->get(value, grad->closure)) &&
           is_not_false(PyObject_CallNoArgs(exchange->is_grad_enabled));
}

/* Whether Python has to take a value: it is recorded, has perhaps a tangent, or is negated without having been written
 * so. There may be an exception. */
int exchange_is_uncommon(const Exchange *exchange, PyObject *value) {
    return has_tangents(exchange) || is_recorded(exchange, value) ||
           (exchange->is_neg != NULL && is_not_false(exchange->is_neg(value, NULL)));
}

/* Tell the library that arrays were written. Takes the reference to a tuple of them; returns -1 with an exception. */
int exchange_tell_written(const Exchange *exchange, PyObject *values) {
    PyObject *told = values == NULL ? NULL : PyObject_CallOneArg(exchange->bump_versions, values);
    Py_XDECREF(values);
    Py_XDECREF(told);
    return told == NULL ? -1 : 0;
}
