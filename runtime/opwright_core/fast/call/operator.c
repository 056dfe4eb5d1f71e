/* Operator: how C calls an operator, with every argument, on Tensors and what else it takes.
 *
 * The kernel is looked up in the operator's own table for each call, as a stub does: C never keeps one. */

#include "modes.h"
#include "operator.h"
#include "fast/arrays/tensor.h"

/* Fill in an operator. Returns -1 with TypeError where that is no table. */
int operator_set(Operator *operator, PyObject *table, PyObject *function) {
    if (!PyDict_Check(table) || !PyCallable_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "an operator is a table and a function");
        return -1;
    }
    *operator = (Operator){Py_NewRef(table), Py_NewRef(function), 0, NULL};
    return 0;
}

/* Drop what an operator holds. */
void operator_clear(Operator *operator) {
    Py_CLEAR(operator->table);
    Py_CLEAR(operator->function);
    Py_CLEAR(operator->cached);
}

/* Add up the keys of Tensors. Returns 1, or 0 if one is of a subclass or has no keys of 64 bits. */
static int add_up(PyObject *const *args, Py_ssize_t count, int64_t *keys) {
    for (Py_ssize_t i = 0; i < count; i++) {
        if (Py_TYPE(args[i]) == core.tensor) {
            PyObject *own = ((Tensor *)args[i])->keys;
            int overflow;
            if (own == NULL || !PyLong_CheckExact(own)) {
                return 0;
            }
            *keys |= own == core.dense_cpu ? core.dense_cpu_bits : PyLong_AsLongLongAndOverflow(own, &overflow);
        } else if (PyObject_TypeCheck(args[i], core.tensor)) {
            return 0;
        }
    }
    return 1;
}

/* Return the kernel that the table has, a new reference; NULL without an exception where it has none. */
static PyObject *look_up(Operator *operator, int64_t keys) {
    if (operator->cached == NULL || operator->cached_keys != keys) {
        PyObject *number = PyLong_FromLongLong(keys);
        if (number == NULL) {
            return NULL;
        }
        operator->cached_keys = keys;
        Py_XSETREF(operator->cached, number);
    }
    return Py_XNewRef(PyDict_GetItemWithError(operator->table, operator->cached));
}

/* Find the kernel for a call with every argument, some of which are Tensors: a new reference, NULL where the Python has
 * to look. Returns -1 with an exception. */
int operator_find(Operator *operator, PyObject *const *args, Py_ssize_t count, PyObject **kernel) {
    int64_t keys = 0;
    int is_mode_on;
    *kernel = NULL;
    if (!add_up(args, count, &keys)) {
        return 0;
    }
    if (apply_modes(&keys, &is_mode_on) < 0) {
        return -1;
    }
    *kernel = look_up(operator, keys);
    return *kernel == NULL && PyErr_Occurred() ? -1 : 0;
}

/* Call it with every argument, some of which are Tensors. Returns a new reference. */
PyObject *operator_call(Operator *operator, PyObject *const *args, Py_ssize_t count) {
    PyObject *kernel;
    if (operator_find(operator, args, count, &kernel) < 0) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(kernel == NULL ? operator->function : kernel, args, (size_t)count, NULL);
    Py_XDECREF(kernel);
    return result;
}
