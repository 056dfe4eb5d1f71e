/* The module opwright_kernels._native: its attribute `kernels` is what the core takes of it (`KernelSet`). */

#define HAS_NUMPY_API
#include "gemm.h"

#define LISTED(TABLE) TABLE,
static const CompiledKernel *const tables[] = {KERNEL_TABLES(LISTED) NULL};

/* What the core gives when it takes the kernels; none runs before. */
static const CoreFunctions *core = NULL;

static const KernelSet kernel_set = {sizeof(KernelSet), CORE_VERSION, tables, sum_over_first, &core};

/* Return a new row-major array of the core's pool, not filled; NULL with an exception. Takes the reference to the
 * dtype. */
PyObject *array_new(PyArray_Descr *dtype, int ndim, const npy_intp *shape) {
    return core->array_new(dtype, ndim, shape);
}

/* Fast-path test of the core. Returns 1 with the operands' arrays written, borrowed; else 0; -1 with an exception. */
int fast_path_arrays(PyObject *const *tensors, Py_ssize_t count, PyObject *indices, PyObject **arrays) {
    return core->fast_path_arrays(tensors, count, indices, arrays);
}

/* Return a new tensor on an array; NULL with an exception. */
PyObject *wrap(PyObject *module, PyObject *array) {
    return core->wrap(module, array);
}

/* Compute units of a job, in the threads of the core's pool where it has many. */
void run_ranges(RangeWork work, void *job, int64_t count, int64_t grain) {
    core->run_ranges(work, job, count, grain);
}

/* Fill in the module: NumPy's functions, the set of kernels, the version. Returns -1 with an exception. */
static int execute(PyObject *module) {
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "opwright_kernels._native works in the main interpreter only");
        return -1;
    }
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0 || products_ready() < 0 || gemm_ready() < 0) {
        return -1;
    }
    PyObject *capsule = PyCapsule_New((void *)&kernel_set, KERNEL_SET_NAME, NULL);
    if (capsule == NULL || PyModule_AddObjectRef(module, "kernels", capsule) < 0) {
        Py_XDECREF(capsule);
        return -1;
    }
    Py_DECREF(capsule);
    return PyModule_AddIntConstant(module, "VERSION", CORE_VERSION);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "opwright_kernels._native",
    .m_doc = "Kernels of ATen in C: runtime/opwright_kernels/native/README.md.",
    .m_size = 0,
    .m_slots = slots,
};

/* Begin the import of the module. Returns its definition. */
PyMODINIT_FUNC PyInit__native(void) {
    return PyModuleDef_Init(&definition);
}
