/* AddressKernel: a function at an address, as the kernel of an operator: what Numba compiled, or a function of tvm-ffi.
 * It stands for a shim in Python, which knows what each argument is, and handles whatever is not exactly as the
 * function takes it. The shim finds the function for a dtype, and tells its address. */

#include "fast/arrays/arrays.h"
#include "callable.h"
#include "fast/arrays/numpy_api.h"
#include "fast/arrays/plain_arrays.h"
#include <math.h>

#define MOST_DIMS_TOLD 8 /* of arrays whose shapes are told */
#define TYPES 32         /* of NumPy's numbers of dtypes */
#define WORDS (1 + MOST_ARGUMENTS * 4)

/* How a function is called. */
enum { BY_SLOTS, BY_TVM };
/* What is told of arrays. */
enum { ELEMENTWISE, CONTIGUOUS, STRIDED };

/* What DLPack and tvm-ffi say, whose layouts stay. */
typedef struct {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DlTensor;

typedef struct {
    int32_t type_index;
    uint32_t zero;
    union {
        int64_t integer;
        double number;
        void *pointer;
    } value;
} TvmAny;

enum { TVM_NONE = 0, TVM_INT = 1, TVM_BOOL = 2, TVM_FLOAT = 3, TVM_TENSOR = 7, TVM_OBJECT = 64, DL_CPU = 1 };

typedef int (*SlotFunction)(const int64_t *slots);
typedef int (*TvmFunction)(void *handle, const TvmAny *args, int32_t count, TvmAny *result);
typedef int (*TvmRelease)(void *object);

typedef struct {
    void *function;
    void *handle;
} Entry;

typedef struct {
    Callable base;
    char letters[MOST_ARGUMENTS +
                 1]; /* of arguments and results: a array, w written, f float, i int, b bool, s scalar */
    Py_ssize_t arguments;
    Py_ssize_t like; /* the array that the only result looks like; -1: nobody knows */
    int convention;
    int how;
    PyObject *failed;  /* is called with a status: returns the error */
    TvmRelease release; /* of what a function of tvm-ffi returned */
    Entry entries[TYPES];
} AddressKernel;

/* One call: what was read of its arguments. */
typedef struct {
    Array *arrays[MOST_ARGUMENTS];
    union {
        int64_t integer;
        double number;
        float single;
    } numbers[MOST_ARGUMENTS];
    int64_t shapes[MOST_ARGUMENTS][MOST_DIMS_TOLD];
    int64_t strides[MOST_ARGUMENTS][MOST_DIMS_TOLD];
    int type;
    npy_intp size;
} Call;

/* Read a number that is exactly a Python number, and that the function takes. Returns 0 for any other. */
static int read_value(const AddressKernel *kernel, PyObject *given, Call *call, Py_ssize_t at) {
    char letter = kernel->letters[at];
    int overflow = 0;
    if (letter == 'b') {
        call->numbers[at].integer = given == Py_True;
        return PyBool_Check(given);
    }
    if (letter == 'i') {
        call->numbers[at].integer = PyLong_CheckExact(given) ? PyLong_AsLongLongAndOverflow(given, &overflow) : 0;
        return PyLong_CheckExact(given) && overflow == 0;
    }
    double number = 0;
    if (PyFloat_CheckExact(given)) {
        number = PyFloat_AS_DOUBLE(given);
    } else if (PyLong_CheckExact(given)) {
        int64_t whole = PyLong_AsLongLongAndOverflow(given, &overflow);
        overflow = overflow != 0 || whole <= -(1LL << 53) || whole >= 1LL << 53;
        number = (double)whole;
    } else {
        return 0;
    }
    call->numbers[at].number = number;
    if (letter == 'f' || call->type == NPY_DOUBLE) {
        return overflow == 0;
    }
    if (kernel->how == BY_SLOTS) {
        call->numbers[at].single = (float)number;
    }
    return overflow == 0 && call->type == NPY_FLOAT && (isfinite((float)number) || !isfinite(number));
}

/* Read an array that has the form of the convention. Returns 0 for any other. */
static int read_array(const AddressKernel *kernel, PyObject *given, Call *call, Py_ssize_t at) {
    Array *array = (Array *)given;
    if (!PyArray_CheckExact(given) || PyArray_TYPE(array) != call->type || !PyArray_ISBEHAVED_RO(array)) {
        return 0;
    }
    if (kernel->convention != STRIDED && !PyArray_IS_C_CONTIGUOUS(array)) {
        return 0;
    }
    call->arrays[at] = array;
    if (kernel->convention == ELEMENTWISE && kernel->how == BY_SLOTS) {
        return 1;
    }
    npy_intp size = PyArray_ITEMSIZE(array);
    if (PyArray_NDIM(array) > MOST_DIMS_TOLD) {
        return 0;
    }
    for (int dim = 0; dim < PyArray_NDIM(array); dim++) {
        if (PyArray_STRIDE(array, dim) % size != 0) {
            return 0;
        }
        call->shapes[at][dim] = PyArray_DIM(array, dim);
        call->strides[at][dim] = PyArray_STRIDE(array, dim) / size;
    }
    return 1;
}

/* Whether a written array is apart from all others, and of the shape that all have. */
static int is_target(const AddressKernel *kernel, const Call *call, Py_ssize_t at, Py_ssize_t count) {
    Array *array = call->arrays[at];
    if (!PyArray_ISWRITEABLE(array) || !PyArray_IS_C_CONTIGUOUS(array)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Array *other = call->arrays[i];
        if (other == NULL || i == at) {
            continue;
        }
        if (kernel->convention == ELEMENTWISE && !has_shape_of(other, array)) {
            return 0;
        }
        if (!arrays_are_apart((PyObject *)array, (PyObject *)other)) {
            return 0;
        }
    }
    return 1;
}

/* Write a call into a block of memory, as functions of slots take it. */
static void fill_slots(const AddressKernel *kernel, Call *call, int64_t *slots) {
    Py_ssize_t at = 0;
    if (kernel->convention == ELEMENTWISE) {
        slots[at++] = call->size;
    }
    for (Py_ssize_t i = 0; kernel->letters[i] != 0; i++) {
        Array *array = call->arrays[i];
        if (array == NULL) {
            slots[at++] = call->numbers[i].integer; /* (the bits of any of them) */
            continue;
        }
        slots[at++] = (int64_t)(intptr_t)PyArray_DATA(array);
        if (kernel->convention != ELEMENTWISE) {
            slots[at++] = PyArray_NDIM(array);
            slots[at++] = (int64_t)(intptr_t)call->shapes[i];
        }
        if (kernel->convention == STRIDED) {
            slots[at++] = (int64_t)(intptr_t)call->strides[i];
        }
    }
}

/* Describe an array as DLPack does. */
static void fill_tensor(Call *call, Py_ssize_t at, DlTensor *tensor) {
    Array *array = call->arrays[at];
    memset(tensor, 0, sizeof *tensor);
    tensor->data = PyArray_DATA(array);
    tensor->device_type = DL_CPU;
    tensor->ndim = PyArray_NDIM(array);
    tensor->bits = (uint8_t)(PyArray_ITEMSIZE(array) * 8);
    tensor->lanes = 1;
    char kind = PyArray_DESCR(array)->kind;
    tensor->code = kind == 'i' ? 0 : kind == 'u' ? 1 : kind == 'f' ? 2 : kind == 'c' ? 5 : 6;
    tensor->shape = call->shapes[at];
    tensor->strides = call->strides[at];
}

/* Call a function of tvm-ffi. Returns its status. */
static int call_tvm(const AddressKernel *kernel, const Entry *entry, Call *call) {
    DlTensor tensors[MOST_ARGUMENTS];
    TvmAny args[MOST_ARGUMENTS], result = {0};
    Py_ssize_t count = 0;
    for (; kernel->letters[count] != 0; count++) {
        TvmAny *any = &args[count];
        any->zero = 0;
        any->value.integer = call->numbers[count].integer;
        switch (kernel->letters[count]) {
        case 'i':
            any->type_index = TVM_INT;
            break;
        case 'b':
            any->type_index = TVM_BOOL;
            break;
        case 'f':
        case 's':
            any->type_index = TVM_FLOAT;
            break;
        default:
            fill_tensor(call, count, &tensors[count]);
            any->type_index = TVM_TENSOR;
            any->value.pointer = &tensors[count];
        }
    }
    int status = ((TvmFunction)entry->function)(entry->handle, args, (int32_t)count, &result);
    if (status == 0 && result.type_index >= TVM_OBJECT && kernel->release != NULL) {
        (void)kernel->release(result.value.pointer);
    }
    return status;
}

/* Call the function, without the lock where that takes long. Returns its status. */
static int call_function(const AddressKernel *kernel, const Entry *entry, Call *call) {
    int64_t slots[WORDS];
    if (kernel->how == BY_SLOTS) {
        fill_slots(kernel, call, slots);
    }
    PyThreadState *thread = call->size >= LONG_WORK ? PyEval_SaveThread() : NULL;
    int status = kernel->how == BY_SLOTS ? ((SlotFunction)entry->function)(slots) : call_tvm(kernel, entry, call);
    if (thread != NULL) {
        PyEval_RestoreThread(thread);
    }
    return status;
}

/* Read the arguments of a call, and make the result where that is wanted, to which `made` is set. Returns the function;
 * NULL for what Python handles, with an exception where there is no memory. */
static const Entry *read_call(const AddressKernel *kernel, PyObject *const *args, Py_ssize_t count, Call *call,
                              Array **made) {
    Py_ssize_t first = strchr(kernel->letters, 'a') == NULL ? strchr(kernel->letters, 'w') - kernel->letters
                                                            : strchr(kernel->letters, 'a') - kernel->letters;
    if (first >= count || !PyArray_CheckExact(args[first])) {
        return NULL;
    }
    call->type = PyArray_TYPE((Array *)args[first]);
    const Entry *entry = call->type < TYPES ? &kernel->entries[call->type] : NULL;
    if (entry == NULL || entry->function == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        char letter = kernel->letters[i];
        int is_array = letter == 'a' || letter == 'w';
        if (i == kernel->arguments && args[i] == Py_None && kernel->like >= 0 && count == kernel->arguments + 1) {
            Array *like = call->arrays[kernel->like];
            *made = new_array(PyArray_NDIM(like), PyArray_DIMS(like), call->type);
            if (*made == NULL || !read_array(kernel, (PyObject *)*made, call, i)) {
                return NULL;
            }
            continue;
        }
        if (is_array ? !read_array(kernel, args[i], call, i) : !read_value(kernel, args[i], call, i)) {
            return NULL;
        }
        npy_intp size = is_array ? PyArray_SIZE(call->arrays[i]) : 0;
        call->size = size > call->size ? size : call->size;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (kernel->letters[i] == 'w' && !is_target(kernel, call, i, count)) {
            return NULL;
        }
    }
    return entry;
}

/* Call the function, or else the shim in Python. Returns the first result; None where there is none. */
static PyObject *address_kernel_call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
    const AddressKernel *kernel = (AddressKernel *)self;
    Py_ssize_t count = PyVectorcall_NARGS(flagged);
    Call call;
    Array *made = NULL;
    memset(call.arrays, 0, sizeof call.arrays);
    call.size = 0;
    const Entry *entry = NULL;
    if (names == NULL && count == (Py_ssize_t)strlen(kernel->letters)) {
        entry = read_call(kernel, args, count, &call, &made);
    }
    if (entry == NULL) {
        Py_XDECREF(made);
        return PyErr_Occurred() ? NULL : PyObject_Vectorcall(kernel->base.function, args, flagged, names);
    }
    int status = call_function(kernel, entry, &call);
    if (status != 0) {
        Py_XDECREF(made);
        PyObject *error = PyObject_CallFunction(kernel->failed, "i", status);
        if (error != NULL) {
            PyErr_SetObject((PyObject *)Py_TYPE(error), error);
            Py_DECREF(error);
        }
        return NULL;
    }
    if (made != NULL) {
        return (PyObject *)made;
    }
    return Py_NewRef(count > kernel->arguments ? args[kernel->arguments] : Py_None);
}

/* Take the function for a dtype: NumPy's number of that, an address, what the function is called with, and what frees
 * what it returned. Returns None; NULL with an exception. */
static PyObject *set_function(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    AddressKernel *kernel = (AddressKernel *)self;
    long type = count == 4 ? PyLong_AsLong(args[0]) : -1;
    if (type < 0 || type >= TYPES) {
        PyErr_SetString(PyExc_ValueError, "set_function() takes the number of a dtype, and three addresses");
        return NULL;
    }
    void *function = PyLong_AsVoidPtr(args[1]), *handle = PyLong_AsVoidPtr(args[2]),
         *release = PyLong_AsVoidPtr(args[3]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    kernel->release = (TvmRelease)release;
    kernel->entries[type].handle = handle;
    kernel->entries[type].function = function;
    Py_RETURN_NONE;
}

/* Refuse letters that are none, and positions that there are not. Returns -1 with an exception. */
static int address_kernel_init(PyObject *self, PyObject *const *args) {
    const AddressKernel *kernel = (AddressKernel *)self;
    (void)args;
    Py_ssize_t count = (Py_ssize_t)strlen(kernel->letters);
    int is_good = strspn(kernel->letters, "awfibs") == (size_t)count && strpbrk(kernel->letters, "aw") != NULL &&
                  kernel->arguments <= count && kernel->like < kernel->arguments &&
                  (kernel->like < 0 || kernel->letters[kernel->like] == 'a');
    if (!is_good) {
        PyErr_SetString(PyExc_ValueError, "AddressKernel() takes a letter for each argument and result");
    }
    return is_good ? 0 : -1;
}

static PyMethodDef address_kernel_methods[] = {
    CALLABLE_METHODS,
    {"set_function", (PyCFunction)(void (*)(void))set_function, METH_FASTCALL, "Take the function for a dtype."},
    {NULL, NULL, 0, NULL},
};

static const Field address_kernel_fields[] = {
    {"letters", FIELD_LETTERS, offsetof(AddressKernel, letters)},
    {"arguments", FIELD_SIZE, offsetof(AddressKernel, arguments)},
    {"like", FIELD_SIZE, offsetof(AddressKernel, like)},
    {"convention", FIELD_NUMBER, offsetof(AddressKernel, convention)},
    {"how", FIELD_NUMBER, offsetof(AddressKernel, how)},
    {"failed", FIELD_OBJECT, offsetof(AddressKernel, failed)},
    {NULL, FIELD_OBJECT, 0},
};

CallableType address_kernel_type = {
    .name = "opwright_core._fast.AddressKernel",
    .size = sizeof(AddressKernel),
    .call = address_kernel_call,
    .fields = address_kernel_fields,
    .init = address_kernel_init,
    .methods = address_kernel_methods,
};
