/* Generalized ufuncs of NumPy that call an operator: `gufunc(name, doc, signature, inputs, types, call)`. NumPy
 * broadcasts, casts and lays out; each of its inner loops is one call on arrays of the operands and of the result, over
 * its memory. */

#include "fast/arrays/numpy_api.h"
#include "fast/arrays/tensor.h"
#include "fast/arrays/float_errors.h"

#define MOST_CORE 32 /* operands, and dimensions of each */

/* What a loop is told: which ufunc it is of, and which dtypes it has. Nothing of it is ever freed, as ufuncs are not.
 */
typedef struct {
    const PyUFuncObject *ufunc;
    PyObject *call;
    const char *types;
} CoreLoop;

/* Return the array of an operand in an inner loop, new: the elements of the loop, each of the core dimensions. */
static PyObject *operand_array(const CoreLoop *loop, int at, char *data, const npy_intp *dimensions,
                               const npy_intp *steps) {
    const PyUFuncObject *ufunc = loop->ufunc;
    int offset = ufunc->core_offsets[at], ndim = 1 + ufunc->core_num_dims[at];
    npy_intp dims[MOST_CORE + 1], strides[MOST_CORE + 1];
    dims[0] = dimensions[0];
    strides[0] = steps[at];
    for (int i = 1; i < ndim; i++) {
        dims[i] = dimensions[1 + ufunc->core_dim_ixs[offset + i - 1]];
        strides[i] = steps[ufunc->nargs + offset + i - 1];
    }
    return PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DescrFromType(loop->types[at]), ndim, dims, strides, data,
        at < ufunc->nin ? 0 : NPY_ARRAY_WRITEABLE, NULL);
}

/* The inner loop: NumPy calls it without the lock. */
static void run_core_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *given) {
    const CoreLoop *loop = given;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *arrays[MOST_CORE];
    int count = 0, total = loop->ufunc->nargs;
    while (count < total && !PyErr_Occurred()) {
        arrays[count] = operand_array(loop, count, args[count], dimensions, steps);
        count += arrays[count] != NULL;
    }
    if (count == total) {
        Py_XDECREF(PyObject_Vectorcall(loop->call, arrays, (size_t)count, NULL));
    }
    while (count > 0) {
        Py_DECREF(arrays[--count]);
    }
    feclearexcept(FP_ERRORS); /* nobody reads the processor's flags behind a loop */
    PyGILState_Release(state);
}

/* gufunc(name, doc, signature, inputs, types, call): return a new ufunc with one result. `types` has NumPy's numbers of
 * the types of each loop, one loop behind the other; `call(*operands, result)` fills an array. */
PyObject *make_gufunc(PyObject *module, PyObject *args) {
    const char *name, *doc, *signature, *types;
    PyObject *call, *kept = PyTuple_GetSlice(args, 0, PyTuple_GET_SIZE(args)); /* whose texts the ufunc points to */
    int inputs;
    Py_ssize_t size;
    (void)module;
    if (kept == NULL || !PyArg_ParseTuple(args, "sssiy#O", &name, &doc, &signature, &inputs, &types, &size, &call)) {
        Py_XDECREF(kept);
        return NULL;
    }
    Py_ssize_t count = inputs < 1 || inputs >= MOST_CORE || size % (inputs + 1) != 0 ? 0 : size / (inputs + 1);
    CoreLoop *loops = PyMem_RawCalloc((size_t)count + 1, sizeof *loops);
    void **data = PyMem_RawCalloc((size_t)count + 1, sizeof *data);
    PyUFuncGenericFunction *run = PyMem_RawCalloc((size_t)count + 1, sizeof *run);
    PyObject *made = NULL;
    if (count == 0) {
        PyErr_SetString(PyExc_ValueError, "a ufunc has loops, each with the types of its operands and its result");
    } else if (loops == NULL || data == NULL || run == NULL) {
        PyErr_NoMemory();
    } else {
        for (Py_ssize_t i = 0; i < count; i++) {
            loops[i] = (CoreLoop){.call = call, .types = types + i * (inputs + 1)};
            data[i] = &loops[i];
            run[i] = run_core_loop;
        }
        made = PyUFunc_FromFuncAndDataAndSignature(
            run, data, types, (int)count, inputs, 1, PyUFunc_None, name, doc, 0, signature);
    }
    if (made == NULL) {
        PyMem_RawFree(loops);
        PyMem_RawFree(data);
        PyMem_RawFree(run);
        Py_DECREF(kept);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        loops[i].ufunc = (PyUFuncObject *)made;
    }
    return made;
}
