/* The module opwright_core._fast: its types, and `configure`, by which Python tells what they need. */

#define HAS_NUMPY_API
#include "fast/arrays/array_pool.h"
#include "fast/graph/backward.h"
#include "fast/call/callable.h"
#include "configure.h"
#include "fast/arrays/float_errors.h"
#include "fast/arrays/exchange.h"
#include "fast/graph/history.h"
#include "interned.h"
#include "fast/call/kernel_sets.h"
#include "fast/arrays/nested_numbers.h"
#include "fast/graph/node.h"
#include "fast/arrays/tensor.h"
#include "fast/call/fast_path.h"
#include "fast/arrays/threads.h"
#include "fast/plan/write_plan.h"

#include <limits.h>

/* The types of callables; those of which there are most instances last, where they are found first. */
static CallableType *const callable_types[] = {
    &tensor_property_type, &tensor_method_type, &version_bump_type,   &user_recorder_type, &user_kernel_type,
    &selector_type,        &factory_type,       &address_kernel_type, &view_recorder_type, &compiled_type,
    &view_cache_type,      &indexing_type,      &index_writing_type,  &below_type,         &writing_type,
    &kernel_type,          &recorder_type,      &planned_type,        &stub_type,
};

/* Add a type to the module, which is taken. Returns -1 with an exception. */
static int add_type(PyObject *module, const char *name, PyTypeObject *type) {
    if (type == NULL) {
        return -1;
    }
    int result = PyModule_AddObjectRef(module, name, (PyObject *)type);
    Py_DECREF(type); /* the module has it, and the module is never gone */
    return result;
}

/* Add a capsule to the module, which is taken. Returns -1 with an exception. */
static int add_capsule(PyObject *module, const char *name, PyObject *capsule) {
    int result = capsule == NULL ? -1 : PyModule_AddObjectRef(module, name, capsule);
    Py_XDECREF(capsule);
    return result;
}

/* Fill in the module: types, constants. Returns -1 with an exception. */
static int execute(PyObject *module) {
    static int was_executed = 0;
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "opwright_core._fast works in the main interpreter only");
        return -1;
    }
    if (was_executed) {
        PyErr_SetString(PyExc_ImportError, "opwright_core._fast is loaded once in a process");
        return -1;
    }
    was_executed = 1;
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) {
        return -1;
    }
    threads_ready();
    float_errors_ready();
    if (interned_ready() < 0 || compiled_ready() < 0) {
        return -1;
    }
    if (add_type(module, "TensorBase", make_tensor_base(module)) < 0 ||
        add_type(module, "NodeBase", make_node_base(module)) < 0 ||
        add_type(module, "SizeBase", make_size_base(module)) < 0 ||
        add_type(module, "Caller", make_caller_type(module)) < 0 ||
        add_type(module, "OperatorBase", make_operator_base(module)) < 0 ||
        add_type(module, "WritingPlan", make_writing_type(module)) < 0 ||
        add_type(module, "ViewSpec", make_view_spec_type(module)) < 0 ||
        add_type(module, "Gradients", make_gradients_type(module)) < 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof callable_types / sizeof callable_types[0]; i++) {
        CallableType *how = callable_types[i];
        if (add_type(module, strrchr(how->name, '.') + 1, callable_type_make(module, how)) < 0) {
            return -1;
        }
    }
    if (add_capsule(module, "runtime", make_runtime()) < 0 ||
        add_capsule(module, "tensor_exchange", make_tensor_exchange()) < 0) {
        return -1;
    }
    if (PyModule_AddIntConstant(module, "MOST_ARGUMENTS", MOST_ARGUMENTS) < 0 ||
        PyModule_AddIntConstant(module, "MOST_SAVED", MOST_SAVED) < 0 ||
        PyModule_AddIntConstant(module, "MOST_VALUES", MOST_VALUES) < 0) {
        return -1;
    }
    return PyModule_AddIntConstant(module, "VERSION", CORE_VERSION);
}

/* get_num_threads(). Returns a new int. */
static PyObject *get_num_threads(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromLong(opwright_get_num_threads());
}

/* set_num_threads(count). Returns None; NULL with an exception for what is no int from 1 on. */
static PyObject *set_num_threads(PyObject *module, PyObject *count) {
    (void)module;
    const long threads = PyLong_AsLong(count);
    if (threads == -1 && PyErr_Occurred()) {
        return NULL;
    }
    opwright_set_num_threads(threads > INT_MAX ? INT_MAX : (int)threads);
    Py_RETURN_NONE;
}

/* count_splits(). Returns a new int. */
static PyObject *count_splits(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromLong(count_of_regions());
}

static PyMethodDef methods[] = {
    {"configure", (PyCFunction)(void (*)(void))configure, METH_FASTCALL | METH_KEYWORDS,
     "Take what the core goes by, each by its name."},
    {"gufunc", make_gufunc, METH_VARARGS, "Make a generalized ufunc of NumPy that calls a function."},
    {"use_array_pool", use_array_pool, METH_O, "Pool arrays of tensors that were freed, or have NumPy make each."},
    {"add_kernels", add_kernels, METH_O, "Take the kernels of an extension."},
    {"wrap", wrap, METH_O, "Make a new tensor on an array."},
    {"wrap_view", (PyCFunction)(void (*)(void))wrap_view, METH_FASTCALL,
     "Make a tensor on a view of a tensor's array."},
    {"array_of_numbers", (PyCFunction)(void (*)(void))array_of_numbers, METH_FASTCALL,
     "Return an array of numbers in nested lists, or None."},
    {"arrays_of", (PyCFunction)(void (*)(void))arrays_of, METH_FASTCALL | METH_KEYWORDS,
     "Return the arrays of tensors if the call takes the fast path, else None."},
    {"rebase_history", (PyCFunction)(void (*)(void))rebase_history, METH_FASTCALL, "Note a write in place."},
    {"mark_view", mark_view, METH_O, "Note how a view was made."},
    {"mark_views", mark_views, METH_O, "Note how views of one call were made."},
    {"install_properties", install_properties, METH_O, "Give Tensor the properties that read its array in C."},
    {"install_readers", install_readers, METH_O, "Give Tensor the methods that read its elements in C."},
    {"accumulate_from", (PyCFunction)(void (*)(void))accumulate_from, METH_FASTCALL, "Hand a leaf its gradient."},
    {"run_backward", (PyCFunction)(void (*)(void))run_backward, METH_FASTCALL, "Run a pass, if it is a common one."},
    {"adopt_node", adopt_node, METH_O, "Take a new class of nodes, whose instances are then made in C."},
    {"before_collecting", (PyCFunction)(void (*)(void))before_collecting, METH_FASTCALL,
     "Show it them before full runs."},
    {"track_nodes", track_nodes, METH_NOARGS, "Show the garbage collector all nodes that there are."},
    {"get_num_threads", get_num_threads, METH_NOARGS, "Return over how many threads long loops are split."},
    {"count_splits", count_splits, METH_NOARGS, "Return how many loops were split over threads."},
    {"set_num_threads", set_num_threads, METH_O, "Have long loops be split over that many threads."},
    {"next_sequence", next_sequence, METH_NOARGS, "Return the next number of a node."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "opwright_core._fast",
    .m_doc = "The compiled core of opwright: runtime/opwright_core/fast/README.md.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

/* Begin the import of the module. Returns its definition. */
PyMODINIT_FUNC PyInit__fast(void) {
    return PyModuleDef_Init(&definition);
}
