/* Compiled: a function of `opwright_kernels` with a kernel in C, which serves the calls that it can. */

#include "kernels.h"

#include "../callable.h"
#include "../interned.h"

#include <fenv.h>

/* What is reported. Underflow is not: NumPy ignores it unless told, and powers underflow all the time. */
#define ERRORS (FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID)

typedef struct {
    Callable base;
    const CompiledKernel *kernel;
} Compiled;

static PyObject *numpy = NULL;

static const CompiledKernel *const tables[] = {
    special_kernels, activation_kernels, arithmetic_kernels, row_kernels, channel_kernels, window_kernels,
    convolution_kernels, column_kernels, loss_kernels, cast_kernels, reduction_kernels, scan_kernels, place_kernels, slope_kernels,
    position_kernels, random_kernels, extreme_kernels, move_kernels, product_kernels, joining_kernels, choice_kernels,
    factor_kernels, fill_kernels, product_gradient_kernels, NULL,
};

static const CompiledKernel *find_kernel(const char *name) {
    for (const CompiledKernel *const *table = tables; *table != NULL; table++) {
        for (const CompiledKernel *kernel = *table; kernel->name != NULL; kernel++) {
            if (strcmp(kernel->name, name) == 0) {
                return kernel;
            }
        }
    }
    return NULL;
}

/* Whether the arguments are those of a call on NumPy's arrays, by position, and at most `out` by name. */
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
        if (PyTuple_GET_SIZE(names) != 1 || PyUnicode_Compare(PyTuple_GET_ITEM(names, 0), interned.out) != 0) {
            return 0;
        }
        call->out = args[count] == Py_None ? NULL : args[count];
    }
    return 1;
}

/* Forget floating-point errors, which takes longer than to ask for them. */
void forget_errors(void) {
    if (fetestexcept(ERRORS | FE_UNDERFLOW)) {
        feclearexcept(ERRORS | FE_UNDERFLOW);
    }
}

/* Whether a loop met an error that is reported. */
int has_errors(void) {
    return fetestexcept(ERRORS) != 0;
}

/* Whether a result is an operand that was written to, or a result behind the operands. */
static int is_given(const KernelCall *call, const PyObject *result) {
    for (Py_ssize_t i = 0; i < call->count; i++) {
        if (call->args[i] == result) {
            return 1;
        }
    }
    return 0;
}

/* Have the function warn or raise, as `np.errstate` says, where a loop met an error: polynomials meet some that nobody
 * asked for. Its values are dropped, so that an element's does not depend on others. What was written over an operand
 * cannot be computed anew, and is not told. Takes the result. */
static PyObject *told(const Compiled *compiled, PyObject *result, PyObject *const *args, size_t flagged) {
    PyObject *again = PyObject_Vectorcall(compiled->base.function, args, (size_t)PyVectorcall_NARGS(flagged), NULL);
    if (again == NULL) {
        Py_DECREF(result);
        return NULL;
    }
    Py_DECREF(again);
    return result;
}

static PyObject *compiled_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    Compiled *compiled = (Compiled *)self;
    KernelCall call;
    if (read_call(compiled->kernel, args, PyVectorcall_NARGS(flagged), names, &call)) {
        forget_errors();
        PyObject *result = compiled->kernel->serve(compiled->kernel, &call);
        int errors = has_errors();
        forget_errors();
        if (result != NULL && errors && (compiled->kernel->traits & QUIET) == 0 && !is_given(&call, result)) {
            return told(compiled, result, args, flagged);
        }
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    return PyObject_Vectorcall(compiled->base.function, args, flagged, names);
}

/* Find the kernel by the function's name. Returns -1 with an exception. */
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
    .name = "opwright._fast.Compiled",
    .size = sizeof(Compiled),
    .call = compiled_call,
    .init = compiled_init,
};

/* Get what kernels go by. Returns -1 with an exception. */
int kernels_ready(void) {
    numpy = PyImport_ImportModule("numpy");
    return numpy == NULL ? -1 : products_ready();
}
