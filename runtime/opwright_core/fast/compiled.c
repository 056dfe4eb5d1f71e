/* Compiled: a function with a kernel in C, which handles the common calls. */

#include "callable.h"
#include "float_errors.h"
#include "interned.h"
#include "kernel_sets.h"

typedef struct {
    Callable base;
    const CompiledKernel *kernel;
} Compiled;

static PyObject *numpy = NULL;

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
        if ((kernel->traits & ADDS) != 0 || PyTuple_GET_SIZE(names) != 1 || PyUnicode_Compare(PyTuple_GET_ITEM(names, 0), interned.out) != 0) {
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

/* Call the kernel; where it refuses the call, and for errors to report, call the Python function. Returns a new
 * reference; NULL with an exception. */
static PyObject *compiled_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    Compiled *compiled = (Compiled *)self;
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
    return PyObject_Vectorcall(compiled->base.function, args, flagged, names);
}

/* Take the Python function and find the kernel of its name. Returns 0; -1 with a TypeError if it is no function, or a
 * ValueError if it has no kernel. */
static int compiled_init(PyObject *self, PyObject *const *args) {
    if (!PyFunction_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "Compiled() takes a function");
        return -1;
    }
    const char *name = PyUnicode_AsUTF8(((PyFunctionObject *)args[0])->func_name);
    ((Compiled *)self)->kernel = name == NULL ? NULL : find_kernel(name);
    if (name != NULL && ((Compiled *)self)->kernel == NULL) {
        PyErr_Format(PyExc_ValueError, "no kernel in C is called %s", name);
    }
    return ((Compiled *)self)->kernel == NULL ? -1 : 0;
}

CallableType compiled_type = {
    .name = "opwright_core._fast.Compiled",
    .size = sizeof(Compiled),
    .call = compiled_call,
    .init = compiled_init,
};

/* Import NumPy. Returns -1 with an exception. */
int compiled_ready(void) {
    numpy = PyImport_ImportModule("numpy");
    return numpy == NULL ? -1 : 0;
}

/* Return the kernel of a function, if it has a trait (0: any kernel): borrowed, else NULL. */
const CompiledKernel *kernel_with(PyObject *function, int trait) {
    if (!Py_IS_TYPE(function, compiled_type.type)) {
        return NULL;
    }
    const CompiledKernel *kernel = ((Compiled *)function)->kernel;
    return kernel != NULL && (kernel->traits & trait) == trait ? kernel : NULL;
}
