/* Compiled: a function with a kernel in C, which handles the common calls. */

#include "callable.h"
#include "fast/arrays/float_errors.h"
#include "fast/interned.h"
#include "kernel_sets.h"
#include "long_calls.h"

typedef struct {
    Callable base;
    const CompiledKernel *kernel;
    Py_ssize_t out;     /* the position of `out` among the function's parameters; -1: it has none */
    npy_intp long_from; /* from how many elements on the function runs in a helper thread */
} Compiled;

static PyObject *numpy = NULL, *call_here = NULL;

/* Read a call into `call`. Returns 0 unless the array module is NumPy, all arguments are positional, and at most `out`
 * is given by name; the Python handles any other call. */
static int read_call(const CompiledKernel *kernel, PyObject *const *args, Py_ssize_t count, PyObject *names,
                     KernelCall *call) {
    int behind = (kernel->traits & OF_NUMPY) == 0;
    if (behind && (count < 1 || args[0] != numpy)) {
        return 0;
    }
    call->args = args + behind;
    call->count = count - behind;
    call->out = NULL;
    if (names != NULL) {
        if ((kernel->traits & ADDS) != 0 || PyTuple_GET_SIZE(names) != 1 ||
            PyUnicode_Compare(PyTuple_GET_ITEM(names, 0), interned.out) != 0) {
            return 0;
        }
        call->out = args[count] == Py_None ? NULL : args[count];
    }
    return 1;
}

/* Whether a kernel returned one of its arguments: an operand that it wrote to, or a positional `out`. */
static int is_given(const KernelCall *call, const PyObject *result) {
    for (Py_ssize_t i = 0; i < call->count; i++) {
        if (call->args[i] == result) {
            return 1;
        }
    }
    return 0;
}

/* Run the Python function for its floating-point error, as `np.errstate` says, and drop its values, so that
 * an element does not depend on the others. Returns the kernel's result, which it steals; NULL with an exception if the
 * function raises. */
static PyObject *report_errors(const Compiled *compiled, PyObject *result, PyObject *const *args, size_t flagged) {
    PyObject *again = PyObject_Vectorcall(compiled->base.function, args, (size_t)PyVectorcall_NARGS(flagged), NULL);
    if (again == NULL) {
        Py_DECREF(result);
        return NULL;
    }
    Py_DECREF(again);
    return result;
}

/* Call a kernel. Returns what it returns; NULL where a loop of it was interrupted, too (Note [Interrupted loops]). */
PyObject *call_kernel(const CompiledKernel *kernel, const KernelCall *call) {
    PyObject *result = kernel->handler(kernel, call);
    if (result != NULL && PyErr_Occurred()) {
        Py_CLEAR(result);
    }
    return result;
}

/* Whether a call only computes a new result, of arrays that the function takes behind the array module. */
static int is_functional(const Compiled *compiled, PyObject *const *args, size_t flagged, PyObject *names) {
    const int writes =
        compiled->out >= 0 && PyVectorcall_NARGS(flagged) > compiled->out && args[compiled->out] != Py_None;
    return names == NULL && !writes && (compiled->kernel->traits & OF_NUMPY) == 0;
}

/* Call the Python function: in a helper thread where it only computes a new result of long arrays. Returns what it
 * returns. */
static PyObject *call_python(const Compiled *compiled, PyObject *const *args, size_t flagged, PyObject *names) {
    if (is_functional(compiled, args, flagged, names)) {
        return call_numpy(compiled->base.function, args, flagged, compiled->long_from);
    }
    return PyObject_Vectorcall(compiled->base.function, args, flagged, names);
}

/* Call the kernel; where it refuses the call, and for errors to report, call the Python function. Returns a new
 * reference; NULL with an exception. */
static PyObject *call_kernel_or_python(const Compiled *compiled, PyObject *const *args, size_t flagged,
                                       PyObject *names) {
    KernelCall call;
    if (read_call(compiled->kernel, args, PyVectorcall_NARGS(flagged), names, &call)) {
        forget_errors();
        PyObject *result = call_kernel(compiled->kernel, &call);
        const int errors = (compiled->kernel->traits & QUIET) != 0 ? 0 : fetestexcept(REPORTED_ERRORS);
        forget_errors();
        if (result != NULL && errors != 0 && told_errors(errors) != 0 && !is_given(&call, result)) {
            return report_errors(compiled, result, args, flagged);
        }
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    return call_python(compiled, args, flagged, names);
}

/* Call a `Compiled`, the first argument, with the others, in this thread. Returns what it returns. */
static PyObject *compiled_call_here(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    return call_kernel_or_python((const Compiled *)args[0], args + 1, (size_t)(count - 1), NULL);
}

/* Call the kernel or the Python function: where that takes long, in a helper thread. Returns what they return. */
static PyObject *compiled_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const Compiled *compiled = (const Compiled *)self;
    const Py_ssize_t count = PyVectorcall_NARGS(flagged);
    if ((compiled->kernel->traits & WHOLE) != 0 && has_long(args, count, compiled->long_from) &&
        is_functional(compiled, args, flagged, names)) {
        PyObject *given[MOST_GIVEN + 1] = {self};
        memcpy(given + 1, args, (size_t)count * sizeof *args);
        return call_numpy(call_here, given, (size_t)count + 1, compiled->long_from);
    }
    return call_kernel_or_python(compiled, args, flagged, names);
}

/* Return the position of a parameter of a Python function; -1 if it has none of the name. */
static Py_ssize_t find_parameter(PyObject *function, PyObject *name) {
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    PyObject *names = PyObject_GetAttrString((PyObject *)code, "co_varnames");
    Py_ssize_t position = names == NULL ? -1 : PySequence_Index(names, name);
    PyErr_Clear();
    Py_XDECREF(names);
    return position < code->co_argcount ? position : -1;
}

/* Take the Python function and find the kernel of its name. Returns 0; -1 with a TypeError if it is no function, or a
 * ValueError if it has no kernel. */
static int compiled_init(PyObject *self, PyObject *const *args) {
    if (!PyFunction_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "Compiled() takes a function");
        return -1;
    }
    Compiled *compiled = (Compiled *)self;
    const char *name = PyUnicode_AsUTF8(((PyFunctionObject *)args[0])->func_name);
    compiled->kernel = name == NULL ? NULL : find_kernel(name);
    if (name != NULL && compiled->kernel == NULL) {
        PyErr_Format(PyExc_ValueError, "no kernel in C is called %s", name);
        return -1;
    }
    compiled->out = find_parameter(args[0], interned.out);
    compiled->long_from = long_from_of(args[0]);
    return compiled->kernel == NULL ? -1 : 0;
}

CallableType compiled_type = {
    .name = "opwright_core._fast.Compiled",
    .size = sizeof(Compiled),
    .call = compiled_call,
    .init = compiled_init,
};

/* Import NumPy, and make the function that helper threads call. Returns -1 with an exception. */
int compiled_ready(void) {
    static PyMethodDef here = {"call_here", (PyCFunction)(void (*)(void))compiled_call_here, METH_FASTCALL, NULL};
    numpy = PyImport_ImportModule("numpy");
    call_here = PyCFunction_New(&here, NULL);
    return numpy == NULL || call_here == NULL ? -1 : 0;
}

/* Return the kernel of a function, if it has a trait (0: any kernel): borrowed, else NULL. */
const CompiledKernel *kernel_with(PyObject *function, int trait) {
    if (!Py_IS_TYPE(function, compiled_type.type)) {
        return NULL;
    }
    const CompiledKernel *kernel = ((Compiled *)function)->kernel;
    return kernel != NULL && (kernel->traits & trait) == trait ? kernel : NULL;
}
