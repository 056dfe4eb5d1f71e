/* Arrays of Python's numbers: exactly bools, ints of 64 bits and floats, one or in nested lists and tuples. The Python
 * handles any others, and words what is wrong. */

#include "array_pool.h"
#include "fast/core.h"
#include "nested_numbers.h"
#include "numpy_api.h"

#define MOST_NESTED 16

/* What numbers there are; each kind's dtype holds those before it. */
typedef enum { NUMBERS_OTHER = -1, NUMBERS_BOOL, NUMBERS_INT, NUMBERS_FLOAT } Numbers;

/* A number, as both types that arrays are filled from. */
typedef struct {
    int64_t whole;
    double real;
    Numbers kind;
} Number;

/* Where numbers are written. */
typedef struct {
    char *to;
    int type;
    npy_intp shape[MOST_NESTED];
    int ndim;
} Filled;

/* Whether a value is exactly a list or a tuple. */
static int is_nested(PyObject *value) {
    return PyList_CheckExact(value) || PyTuple_CheckExact(value);
}

/* Return a number. Runs no Python; NUMBERS_OTHER is its kind for what the Python handles. */
static Number number_of(PyObject *value) {
    Number found = {0, 0, NUMBERS_OTHER};
    if (PyFloat_CheckExact(value)) {
        found.real = PyFloat_AS_DOUBLE(value);
        found.kind = NUMBERS_FLOAT;
    } else if (PyLong_CheckExact(value)) {
        int overflow;
        found.whole = PyLong_AsLongLongAndOverflow(value, &overflow);
        found.real = (double)found.whole;
        found.kind = overflow ? NUMBERS_OTHER : NUMBERS_INT;
    } else if (PyBool_Check(value)) {
        found.whole = value == Py_True;
        found.real = (double)found.whole;
        found.kind = NUMBERS_BOOL;
    }
    return found;
}

/* Return what numbers there are in a value, which has to have the shape from dimension `dim` on: the widest kind;
 * NUMBERS_OTHER where the Python has to look. */
static Numbers kind_within(const Filled *filled, PyObject *value, int dim) {
    if (dim == filled->ndim) {
        return number_of(value).kind;
    }
    if (!is_nested(value) || PySequence_Fast_GET_SIZE(value) != filled->shape[dim]) {
        return NUMBERS_OTHER;
    }
    Numbers found = NUMBERS_BOOL;
    for (npy_intp i = 0; i < filled->shape[dim] && found != NUMBERS_OTHER; i++) {
        const Numbers each = kind_within(filled, PySequence_Fast_GET_ITEM(value, i), dim + 1);
        found = each == NUMBERS_OTHER || each > found ? each : found;
    }
    return found;
}

/* Write a number that fits. Returns 0 if it does not. */
static int write_number(Filled *filled, const Number *number) {
#define WHOLE(CASE, TYPE, LEAST, MOST)                                                                                 \
    case CASE:                                                                                                         \
        if (number->whole < (LEAST) || number->whole > (MOST)) {                                                       \
            return 0;                                                                                                  \
        }                                                                                                              \
        *(TYPE *)filled->to = (TYPE)number->whole;                                                                     \
        filled->to += sizeof(TYPE);                                                                                    \
        return 1;
    switch (filled->type) {
        WHOLE(NPY_INT64, int64_t, INT64_MIN, INT64_MAX)
        WHOLE(NPY_INT32, int32_t, INT32_MIN, INT32_MAX)
        WHOLE(NPY_INT16, int16_t, INT16_MIN, INT16_MAX)
        WHOLE(NPY_INT8, int8_t, INT8_MIN, INT8_MAX)
        WHOLE(NPY_UINT8, uint8_t, 0, UINT8_MAX)
    case NPY_BOOL:
        *filled->to++ = number->whole != 0;
        return 1;
    case NPY_FLOAT: /* a whole number is rounded once, as NumPy does */
        *(float *)filled->to = number->kind == NUMBERS_FLOAT ? (float)number->real : (float)number->whole;
        filled->to += sizeof(float);
        return 1;
    default:
        *(double *)filled->to = number->real;
        filled->to += sizeof(double);
        return 1;
    }
#undef WHOLE
}

/* Write the numbers of a value of `kind`, which beside floats are rounded to double before. Returns 0 if one does not
 * fit. */
static int fill(Filled *filled, PyObject *value, int dim, Numbers kind) {
    if (dim == filled->ndim) {
        Number number = number_of(value);
        number.kind = kind;
        return write_number(filled, &number);
    }
    int is_filled = 1;
    for (npy_intp i = 0; i < filled->shape[dim] && is_filled; i++) {
        is_filled = fill(filled, PySequence_Fast_GET_ITEM(value, i), dim + 1, kind);
    }
    return is_filled;
}

/* Return the type number of the array for numbers of a kind: that of `dtype`, or where that is None theirs, which for
 * floats is the default; -1 where the Python has to make it. */
static int type_for(Numbers kind, PyObject *dtype, PyObject *default_dtype) {
    const int floats = PyArray_DescrCheck(default_dtype) ? ((PyArray_Descr *)default_dtype)->type_num : -1;
    const int own = kind == NUMBERS_BOOL ? NPY_BOOL : kind == NUMBERS_INT ? NPY_INT64 : floats;
    const int type = dtype == Py_None ? own : PyArray_DescrCheck(dtype) ? ((PyArray_Descr *)dtype)->type_num : -1;
    switch (type) {
    case NPY_FLOAT:
    case NPY_DOUBLE:
        return type;
    case NPY_BOOL:
    case NPY_INT64:
    case NPY_INT32:
    case NPY_INT16:
    case NPY_INT8:
    case NPY_UINT8:
        return kind == NUMBERS_FLOAT ? -1 : type;
    default:
        return -1;
    }
}

/* array_of_numbers(data, dtype, default): return a new array of the numbers; None where the Python has to make it. */
PyObject *array_of_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "array_of_numbers() takes data and two dtypes");
        return NULL;
    }
    Filled filled = {.ndim = 0};
    PyObject *first = args[0];
    while (is_nested(first) && filled.ndim < MOST_NESTED && PySequence_Fast_GET_SIZE(first) > 0) {
        filled.shape[filled.ndim++] = PySequence_Fast_GET_SIZE(first);
        first = PySequence_Fast_GET_ITEM(first, 0);
    }
    const Numbers kind = kind_within(&filled, args[0], 0);
    filled.type = kind == NUMBERS_OTHER ? -1 : type_for(kind, args[1], args[2]);
    if (filled.type < 0) {
        Py_RETURN_NONE;
    }
    PyObject *made = array_new(PyArray_DescrFromType(filled.type), filled.ndim, filled.shape);
    if (made == NULL) {
        return NULL;
    }
    filled.to = PyArray_BYTES((PyArrayObject *)made);
    if (!fill(&filled, args[0], 0, kind)) {
        Py_SETREF(made, Py_NewRef(Py_None));
    }
    return made;
}
