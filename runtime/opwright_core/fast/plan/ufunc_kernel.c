/* Kernel: a kernel that is one ufunc, for dense tensors or for plain arrays. The generated Python kernel, which it
 * stands for, handles any other operands. */

#include "fast/arrays/arrays.h"
#include "fast/call/callable.h"
#include "fast/graph/engine.h"
#include "fast/arrays/float_errors.h"
#include "fast/interned.h"
#include "fast/arrays/numpy_api.h"
#include "fast/arrays/reduced_blocks.h"
#include "fast/arrays/ufunc_loops.h"
#include "fast/arrays/tensor.h"

/* From how many elements on the ufunc writes to the memory itself. */
#define LONG_WRITE 500

typedef struct {
    Callable base;
    Loops loops;
    Py_ssize_t total;                /* how many arguments the kernel takes */
    signed char positions[MOST_OPERANDS]; /* of the operands among them */
    int others;
    signed char other_positions[MOST_ARGUMENTS]; /* of those that have to be the int 1 */
    char takes_number[MOST_OPERANDS];
    char
        takes; /* 't': dense tensors; 'a': arrays; 'r': tensors of half and bfloat16, and matrices that lie otherwise */
    int is_written; /* whether the first operand is written, and returned */
} UfuncKernel;

/* Return the array that an argument is or has, borrowed; NULL where that is no NumPy array. */
static PyObject *array_of(const UfuncKernel *kernel, PyObject *value) {
    PyObject *array = value;
    if (kernel->takes != 'a') {
        if (Py_TYPE(value) != core.tensor) {
            return NULL;
        }
        array = ((Tensor *)value)->array;
    }
    return array != NULL && Py_TYPE(array) == core.array ? array : NULL;
}

/* Whether an argument is an operand of the ufunc; returns 1 or 0. */
static int is_operand(const UfuncKernel *kernel, Py_ssize_t position) {
    for (int i = 0; i < kernel->loops.operands; i++) {
        if (kernel->positions[i] == position) {
            return 1;
        }
    }
    return 0;
}

/* Whether a value is exactly the int 1; returns 1 or 0. */
static int is_one(PyObject *value) {
    int overflow;
    return PyLong_CheckExact(value) && PyLong_AsLongLongAndOverflow(value, &overflow) == 1;
}

/* Whether the operands are arrays and numbers, and every other argument the int 1. */
static int read_operands(const UfuncKernel *kernel, PyObject *const *args, Operand *operands) {
    for (int i = 0; i < kernel->loops.operands; i++) {
        PyObject *value = args[kernel->positions[i]];
        if (kernel->takes_number[i]) {
            operands[i].array = NULL;
            operands[i].number = value;
            if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value)) {
                return 0;
            }
        } else {
            operands[i].array = array_of(kernel, value);
            if (operands[i].array == NULL) {
                return 0;
            }
        }
    }
    for (int i = 0; i < kernel->others; i++) {
        if (!is_one(args[kernel->other_positions[i]])) {
            return 0;
        }
    }
    return 1;
}

/* Whether the first operand may be written once all is computed: it is small, and no other shares some of its memory.
 */
static int may_be_written(const UfuncKernel *kernel, const Operand *operands) {
    for (int i = 1; i < kernel->loops.operands; i++) {
        if (arrays_share_owner(operands[0].array, operands[i].array)) {
            return 0;
        }
    }
    return array_is_writable(operands[0].array, LONG_WRITE);
}

/* Write a new array to a small one alike, which the loop may have read. Takes the reference to the first; returns NULL,
 * where the Python has to do it. */
static PyObject *written(PyObject *array, PyObject *tensor) {
    PyObject *target = ((Tensor *)tensor)->array;
    int is_done = arrays_are_alike(target, array);
    if (is_done) {
        array_write(target, array);
    }
    Py_DECREF(array);
    return is_done ? Py_NewRef(tensor) : NULL;
}

/* Whether the operand that is written is too long to be computed aside and copied. */
static int is_long_write(const UfuncKernel *kernel, const Operand *operands) {
    return kernel->is_written && PyArray_SIZE((PyArrayObject *)operands[0].array) > LONG_WRITE;
}

/* Compute into the array that is given as `out`. Returns it, a new reference; NULL without an exception where Python
 * has to do it. */
static PyObject *computed_to(const UfuncKernel *kernel, PyObject *const *args, PyObject *out) {
    Operand operands[MOST_OPERANDS];
    if (kernel->takes != 'a' || kernel->is_written || Py_TYPE(out) != core.array ||
        !read_operands(kernel, args, operands)) {
        return NULL;
    }
    return loops_run_to(&kernel->loops, operands, out) > 0 ? Py_NewRef(out) : NULL;
}

/* Call the ufunc's loop for matrices that lie otherwise, or the Python kernel. Returns what the kernel returns. */
static PyObject *turned_or_python(const UfuncKernel *kernel, const Operand *operands, PyObject *const *args,
                                  size_t flagged) {
    PyObject *array = NULL;
    if (loops_run_turned(&kernel->loops, operands, &array) < 0) {
        return NULL;
    }
    if (array == NULL) {
        return call_in_silence(kernel->base.function, args, flagged, NULL);
    }
    PyObject *tensor = wrap(NULL, array);
    Py_DECREF(array);
    return tensor;
}

/* Call the ufunc's loop, or the Python kernel if it does not take the operands. Returns what the kernel returns. */
static PyObject *kernel_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    UfuncKernel *kernel = (UfuncKernel *)self;
    Operand operands[MOST_OPERANDS];
    PyObject *array = NULL;
    if (names == interned.only_out && PyVectorcall_NARGS(flagged) == kernel->total) {
        PyObject *out = computed_to(kernel, args, args[kernel->total]);
        return out != NULL || PyErr_Occurred() ? out : call_in_silence(kernel->base.function, args, flagged, names);
    }
    const int is_read =
        names == NULL && PyVectorcall_NARGS(flagged) == kernel->total && read_operands(kernel, args, operands);
    if (is_read && is_long_write(kernel, operands)) {
        const int is_done = loops_run_over(&kernel->loops, operands);
        if (is_done != 0) {
            return is_done < 0 ? NULL : Py_NewRef(args[0]);
        }
    } else if (is_read && (!kernel->is_written || may_be_written(kernel, operands))) {
        int is_reduced = kernel->takes == 'r';
        if ((is_reduced ? loops_run_reduced : loops_run)(&kernel->loops, operands, &array) < 0) {
            return NULL;
        }
        if (array == NULL && is_reduced) {
            return turned_or_python(kernel, operands, args, flagged);
        }
        if (array != NULL && !kernel->is_written) {
            return kernel->takes == 'a' ? array : is_reduced ? wrap_reduced(array) : wrap_dense(array);
        }
        PyObject *tensor = array == NULL ? NULL : written(array, args[0]);
        if (tensor != NULL) {
            return tensor;
        }
    }
    return call_in_silence(kernel->base.function, args, flagged, names);
}

/* Compute what a kernel returns for two dense tensors, into the first one's array. Returns 1; 0 where nothing was
 * written, since the object is no such kernel of theirs. */
int kernel_run_into(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    UfuncKernel *kernel = (UfuncKernel *)object;
    Operand operands[MOST_OPERANDS];
    return Py_IS_TYPE(object, kernel_type.type) && kernel->takes == 't' && !kernel->is_written &&
           kernel->loops.operands == 2 && kernel->positions[0] == 0 && kernel->total == count &&
           read_operands(kernel, args, operands) && operands[0].array != NULL &&
           loops_run_into(&kernel->loops, operands);
}

/* Return the name of the ufunc that a kernel on arrays is of its first two arguments, borrowed; NULL for another
 * object. */
const char *kernel_ufunc(PyObject *object) {
    const UfuncKernel *kernel = (const UfuncKernel *)object;
    const int is_one = Py_IS_TYPE(object, kernel_type.type) && kernel->takes == 'a' && kernel->loops.operands == 2 &&
                       kernel->positions[0] == 0 && kernel->positions[1] == 1 && !kernel->takes_number[0];
    return is_one ? ((PyUFuncObject *)kernel->loops.ufunc)->name : NULL;
}

/* Read the positions of the operands: `-1 - position` is that of a number. Refuses numbers alone. Returns -1 with an
 * exception. */
static int read_positions(UfuncKernel *kernel, PyObject *positions) {
    int arrays = 0;
    for (int i = 0; i < kernel->loops.operands; i++) {
        long position = PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
        if (position == -1 && PyErr_Occurred()) {
            return -1;
        }
        kernel->takes_number[i] = position < 0;
        arrays += position >= 0;
        position = position < 0 ? -1 - position : position;
        if (position >= kernel->total) {
            PyErr_SetString(PyExc_ValueError, "the kernel has no such argument");
            return -1;
        }
        kernel->positions[i] = (signed char)position;
    }
    for (Py_ssize_t position = 0; position < kernel->total; position++) {
        if (!is_operand(kernel, position)) {
            kernel->other_positions[kernel->others++] = (signed char)position;
        }
    }
    if (kernel->is_written && (kernel->takes != 't' || kernel->positions[0] != 0 || kernel->takes_number[0])) {
        PyErr_SetString(PyExc_ValueError, "the first operand is the tensor that is written");
        return -1;
    }
    if (arrays == 0) {
        PyErr_SetString(PyExc_ValueError, "an operand has to be an array");
        return -1;
    }
    return 0;
}

/* Find the loops of the ufunc, and read the positions of its operands. Returns -1 with an exception. */
static int kernel_init(PyObject *self, PyObject *const *args) {
    UfuncKernel *kernel = (UfuncKernel *)self;
    const char *kinds = PyUnicode_AsUTF8(args[4]), *takes = PyUnicode_AsUTF8(args[5]);
    if (kinds == NULL || takes == NULL) {
        return -1;
    }
    if (PyTuple_GET_SIZE(args[2]) > MOST_OPERANDS || kernel->total > MOST_ARGUMENTS) {
        PyErr_SetString(PyExc_ValueError, "a kernel of so many arguments is Python's to handle");
        return -1;
    }
    kernel->takes = takes[0];
    return loops_init(&kernel->loops, args[1], (int)PyTuple_GET_SIZE(args[2]), kinds) < 0
               ? -1
               : read_positions(kernel, args[2]);
}

static const Field kernel_fields[] = {
    {"ufunc", FIELD_OBJECT, offsetof(UfuncKernel, loops.ufunc)},
    {"positions", FIELD_TUPLE, 0},
    {"total", FIELD_SIZE, offsetof(UfuncKernel, total)},
    {"kinds", FIELD_LETTERS, 0},
    {"takes", FIELD_LETTERS, 0},
    {"is_written", FIELD_TRUTH, offsetof(UfuncKernel, is_written)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType kernel_type = {
    .name = "opwright_core._fast.Kernel",
    .size = sizeof(UfuncKernel),
    .flags = Py_TPFLAGS_METHOD_DESCRIPTOR,
    .call = kernel_call,
    .fields = kernel_fields,
    .init = kernel_init,
};
