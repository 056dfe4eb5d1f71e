/* The fast path: composites and backward functions compute on arrays at once if no mode, no autograd and no other
 * device sees the call. `opwright_kernels.plain` says the same in Python. */

#include "fast/interned.h"
#include "modes.h"
#include "fast/arrays/numpy_api.h"
#include "fast/arrays/tensor.h"
#include "fast_path.h"

/* Add the keys of a Tensor in NumPy's memory. Returns 1, or 0 if it is none. */
static int add_keys(PyObject *object, int64_t *keys) {
    Tensor *tensor = (Tensor *)object;
    int overflow;
    if (Py_TYPE(object) != core.tensor || tensor->array == NULL || Py_TYPE(tensor->array) != core.array ||
        tensor->keys == NULL || !PyLong_CheckExact(tensor->keys)) {
        return 0;
    }
    *keys |= PyLong_AsLongLongAndOverflow(tensor->keys, &overflow);
    return !overflow;
}

/* Whether a call with these keys comes to a kernel of NumPy's alone: no mode, no autograd. Returns -1 with an
 * exception. */
static int takes_fast_path(int64_t keys) {
    int is_on;
    if (apply_modes(&keys, &is_on) < 0) {
        return -1;
    }
    if ((keys & core.grad_bits) && !(keys & core.autograd_bits)) { /* below what records */
        keys &= ~core.grad_bits;
    }
    return core.cpu_alone_bits != 0 && (keys & ~core.cpu_alone_bits) == 0;
}

/* Whether an array has floats, in the machine's byte order. */
static int is_of_floats(PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    return (PyArray_TYPE(array) == NPY_FLOAT || PyArray_TYPE(array) == NPY_DOUBLE) && PyArray_ISNOTSWAPPED(array);
}

/* Fast-path test: no mode, no autograd, all operands NumPy's and of one dtype, float32 or float64, or None but for the
 * first. Returns 1 with the operands' arrays written, borrowed, or None; else 0; -1 with an exception. */
int fast_path_arrays(PyObject *const *tensors, Py_ssize_t count, PyObject *indices, PyObject **arrays) {
    int64_t keys = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (tensors[i] == Py_None && i > 0) {
            arrays[i] = Py_None;
            continue;
        }
        if (!add_keys(tensors[i], &keys)) {
            return 0;
        }
        arrays[i] = ((Tensor *)tensors[i])->array;
        if (!is_of_floats(arrays[i]) ||
            PyArray_TYPE((PyArrayObject *)arrays[i]) != PyArray_TYPE((PyArrayObject *)arrays[0])) {
            return 0;
        }
    }
    if (indices != Py_None) {
        if (!add_keys(indices, &keys)) {
            return 0;
        }
        arrays[count] = ((Tensor *)indices)->array;
        if (!PyTypeNum_ISINTEGER(PyArray_TYPE((PyArrayObject *)arrays[count]))) {
            return 0;
        }
    }
    return takes_fast_path(keys);
}

/* arrays_of(first, *others, indices=None): return the tensors' arrays as a list if the call takes the fast path, else
 * None. */
PyObject *arrays_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    (void)module;
    PyObject *arrays[MOST_ARGUMENTS + 1], *indices = Py_None;
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (named == 1 && PyUnicode_Compare(PyTuple_GET_ITEM(names, 0), interned.indices) == 0) {
        indices = args[count];
    } else if (named != 0) {
        PyErr_SetString(PyExc_TypeError, "arrays_of() takes no such argument");
        return NULL;
    }
    if (count < 1 || count > MOST_ARGUMENTS) {
        PyErr_SetString(PyExc_TypeError, "arrays_of() takes a few tensors");
        return NULL;
    }
    int found = fast_path_arrays(args, count, indices, arrays);
    if (found <= 0) {
        return found < 0 ? NULL : Py_NewRef(Py_None);
    }
    count += indices != Py_None;
    PyObject *made = PyList_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyList_SET_ITEM(made, i, Py_NewRef(arrays[i]));
    }
    return made;
}
