/* Between Python and the loops: what every expression's shim does. It gets arrays, numbers, and the array of the result
 * or None, and returns NotImplemented for what a loop does not take: the expression then runs in NumPy. */
#ifndef OPWRIGHT_LOOP_SHIMS_H
#define OPWRIGHT_LOOP_SHIMS_H

#include <fenv.h>
#include <numpy/ufuncobject.h>
#include <stdlib.h>

#include <opwright/strided.h>

static int loop_bfloat16 = -1; /* NumPy's number of the dtype that `ml_dtypes` adds */

static int find_bfloat16(void)
{
    PyObject *const module = PyImport_ImportModule("ml_dtypes");
    PyObject *const kind = module ? PyObject_GetAttrString(module, "bfloat16") : NULL;
    PyArray_Descr *descr = NULL;
    if (kind && PyArray_DescrConverter(kind, &descr))
        loop_bfloat16 = descr->type_num;
    Py_XDECREF((PyObject *)descr);
    Py_XDECREF(kind);
    Py_XDECREF(module);
    PyErr_Clear(); /* without that package there is no such array */
    return 0;
}

static inline int loop_code_of(int type)
{
    switch (type) {
    case NPY_BOOL: return LOOP_B8;
    case NPY_INT8: return LOOP_I8;
    case NPY_UINT8: return LOOP_U8;
    case NPY_INT16: return LOOP_I16;
    case NPY_UINT16: return LOOP_U16;
    case NPY_INT32: return LOOP_I32;
    case NPY_UINT32: return LOOP_U32;
    case NPY_INT64: return LOOP_I64;
    case NPY_UINT64: return LOOP_U64;
    case NPY_HALF: return LOOP_F16;
    case NPY_FLOAT32: return LOOP_F32;
    case NPY_FLOAT64: return LOOP_F64;
    case NPY_COMPLEX64: return LOOP_C64;
    case NPY_COMPLEX128: return LOOP_C128;
    default: return type == loop_bfloat16 ? LOOP_BF16 : LOOP_CODES;
    }
}

/* Whether Python's number is one of the dtype; floats take integers, bools take none. */
static inline int to_loop_number(PyObject *object, int code, union loop_number *number)
{
    if (code >= LOOP_F16) {
        number->parts[1] = 0;
        if (code >= LOOP_C64 && PyComplex_CheckExact(object)) {
            number->parts[0] = PyComplex_RealAsDouble(object);
            number->parts[1] = PyComplex_ImagAsDouble(object);
            return 1;
        }
        if (PyBool_Check(object)) {
            number->real = object == Py_True;
            return 1;
        }
        return to_double(object, &number->real);
    }
    if (PyBool_Check(object)) {
        number->whole = object == Py_True;
        return 1;
    }
    if (code == LOOP_B8 || !PyLong_CheckExact(object))
        return 0;
    const int64_t bits = 8 * loop_bytes((enum loop_code)code);
    const int is_unsigned = code == LOOP_U8 || code == LOOP_U16 || code == LOOP_U32 || code == LOOP_U64;
    if (code == LOOP_U64) {
        const unsigned long long large = PyLong_AsUnsignedLongLong(object);
        number->whole = (int64_t)large;
        if (large != (unsigned long long)-1 || !PyErr_Occurred())
            return 1;
        PyErr_Clear();
        return 0;
    }
    if (!to_int64(object, &number->whole))
        return 0;
    if (bits == 64)
        return 1;
    const int64_t low = is_unsigned ? 0 : -((int64_t)1 << (bits - 1));
    return low <= number->whole && number->whole < low + ((int64_t)1 << bits);
}

/* Find the shape that the operands broadcast to. False where they do not. */
static inline int broadcast_shape(PyObject *const *args, int count, struct loop_arrays *arrays)
{
    arrays->dims = 0;
    for (int a = 0; a < count; a++) {
        const int dims = PyArray_NDIM((PyArrayObject *)args[a]);
        arrays->dims = dims > arrays->dims ? dims : arrays->dims;
    }
    for (int d = 0; d < arrays->dims; d++) {
        int64_t size = 1;
        for (int a = 0; a < count; a++) {
            PyArrayObject *const array = (PyArrayObject *)args[a];
            const int at = d - (arrays->dims - PyArray_NDIM(array));
            const int64_t own = at < 0 ? 1 : PyArray_DIM(array, at);
            if (own != 1 && size != 1 && own != size)
                return 0;
            size = own != 1 ? own : size;
        }
        arrays->shape[d] = size;
    }
    return 1;
}

static inline void add_array(struct loop_arrays *arrays, int a, PyArrayObject *array)
{
    const int missing = arrays->dims - PyArray_NDIM(array);
    arrays->data[a] = PyArray_BYTES(array);
    for (int d = 0; d < arrays->dims; d++) {
        const int at = d - missing;
        arrays->strides[a][d] = at < 0 || PyArray_DIM(array, at) == 1 ? 0 : PyArray_STRIDE(array, at);
    }
}

/* Whether no two elements of a result are one: its dimensions lie in each other, in whatever order. */
static inline int is_apart_from_itself(const struct loop_arrays *arrays, int out, int64_t bytes)
{
    uint8_t done[LOOP_DIMS] = {0};
    int64_t reach = bytes;
    for (int d = 0; d < arrays->dims; d++) {
        int next = -1;
        for (int e = 0; e < arrays->dims; e++)
            if (!done[e] && (next < 0 || loop_size(arrays->strides[out][e]) < loop_size(arrays->strides[out][next])))
                next = e;
        done[next] = 1;
        if (arrays->shape[next] < 2)
            continue;
        if (loop_size(arrays->strides[out][next]) < reach)
            return 0;
        reach = loop_size(arrays->strides[out][next]) * arrays->shape[next];
    }
    return 1;
}

/* Whether a result may be written while an operand is read: they share nothing, or each element lies on its own. */
static inline int may_be_written(const struct loop_arrays *arrays, int a, int out, PyObject *operand, PyObject *result)
{
    PyArrayObject *const read = (PyArrayObject *)operand, *const written = (PyArrayObject *)result;
    if (are_apart(read, written))
        return 1;
    if (arrays->data[a] != arrays->data[out] || PyArray_ITEMSIZE(read) != PyArray_ITEMSIZE(written))
        return 0;
    for (int d = 0; d < arrays->dims; d++)
        if (arrays->shape[d] > 1 && arrays->strides[a][d] != arrays->strides[out][d])
            return 0;
    return 1;
}

/* Run a loop over arrays, in the threads of Opwright's pool where that has any. Not 0 where it refuses an element. */
static inline int split_over(const struct loop *loop, enum loop_code code, struct loop_arrays *arrays,
                             const union loop_number *numbers)
{
    struct loop_walk walk;
    if (!loop_prepare(&walk, loop, code, arrays, numbers))
        return 0;
    run_ranges(loop_pieces, &walk, walk.rows * walk.pieces, LARGE / walk.width);
    return walk.refused;
}

/* A loop over arrays that lie as it takes them. */
struct dense_loop {
    const struct loop *loop;
    int code;
    int64_t size;
    PyObject *const *args;
    char *to;
    const union loop_number *numbers;
    int refused;
};

/* Run a loop over the blocks of LOOP_PIECE elements from one number up to another. */
static inline void run_dense_blocks(void *given, int64_t block, int64_t behind)
{
    struct dense_loop *const job = given;
    const int64_t start = block * LOOP_PIECE, left = job->size - start, some = (behind - block) * LOOP_PIECE;
    const int64_t bytes = loop_bytes((enum loop_code)job->code);
    const void *from[LOOP_ARRAYS];
    for (int a = 0; a < job->loop->arrays; a++)
        from[a] = PyArray_BYTES((PyArrayObject *)job->args[a]) + start * bytes;
    char *const to = job->to + start * (job->loop->is_truth ? 1 : bytes);
    if (job->loop->run[job->code](left < some ? left : some, from, to, job->numbers))
        __atomic_store_n(&job->refused, 1, __ATOMIC_RELAXED);
}

static PyObject *serve_loop(const struct loop *loop, PyObject *const *args, Py_ssize_t count)
{
    const int operands = loop->arrays, out = operands;
    struct loop_arrays arrays;
    union loop_number numbers[16];
    if (count != operands + loop->numbers + 1)
        return unserved();
    PyObject *result = args[count - 1], *target = NULL;
    int is_dense = 1, is_same = 1;
    for (int a = 0; a < operands; a++) {
        PyArrayObject *const array = (PyArrayObject *)args[a];
        if (!PyArray_CheckExact(args[a]) || !PyArray_ISNOTSWAPPED(array))
            return unserved();
        is_dense &= PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array);
        is_same &= a == 0 || have_same_shape(array, (PyArrayObject *)args[0]);
    }
    PyArrayObject *const first = (PyArrayObject *)args[0];
    const int type = PyArray_TYPE(first), code = loop_code_of(type);
    if (code == LOOP_CODES || !loop->run[code])
        return unserved();
    for (int a = 1; a < operands; a++)
        if (PyArray_TYPE((PyArrayObject *)args[a]) != type)
            return unserved();
    for (int k = 0; k < loop->numbers; k++)
        if (!to_loop_number(args[operands + k], code, &numbers[k]))
            return unserved();
    const int result_type = loop->is_truth ? NPY_BOOL : type;
    if (result == Py_None) {
        if (!is_dense)
            return unserved(); /* the plan knows how such a result lies */
        if (!is_same && !broadcast_shape(args, operands, &arrays))
            return unserved();
        npy_intp *const shape = is_same ? PyArray_DIMS(first) : (npy_intp *)arrays.shape;
        result = new_array(result_type, is_same ? PyArray_NDIM(first) : arrays.dims, shape);
        if (!result)
            return NULL;
    } else {
        PyArrayObject *const given = (PyArrayObject *)result;
        if (!PyArray_CheckExact(result) || !PyArray_ISNOTSWAPPED(given) || !PyArray_ISWRITEABLE(given) ||
            PyArray_TYPE(given) != result_type)
            return unserved();
        is_dense = 0;
        if (!broadcast_shape(args, operands, &arrays) || PyArray_NDIM(given) != arrays.dims)
            return unserved();
        for (int d = 0; d < arrays.dims; d++)
            if (PyArray_DIM(given, d) != arrays.shape[d])
                return unserved();
        add_array(&arrays, out, given);
        if (!is_apart_from_itself(&arrays, out, PyArray_ITEMSIZE(given)))
            return unserved();
        if (loop->may_refuse && code < LOOP_F16) { /* nothing is written where an element is refused */
            target = result;
            result = new_array(result_type, arrays.dims, (npy_intp *)arrays.shape);
            if (!result)
                return NULL;
        } else {
            Py_INCREF(result);
        }
    }
    int refused = 0;
    if (is_dense && is_same && !loop_is_half((enum loop_code)code)) {
        struct dense_loop job = {
            loop, code, elements_of(first), args, PyArray_BYTES((PyArrayObject *)result), numbers, 0,
        };
        const int64_t blocks = (job.size + LOOP_PIECE - 1) / LOOP_PIECE;
        if (job.size < LARGE) {
            run_dense_blocks(&job, 0, blocks);
        } else {
            PyThreadState *const thread = PyEval_SaveThread();
            run_ranges(run_dense_blocks, &job, blocks, LARGE / LOOP_PIECE);
            PyEval_RestoreThread(thread);
        }
        refused = job.refused;
    } else {
        if (is_same && args[count - 1] == Py_None)
            broadcast_shape(args, operands, &arrays);
        for (int a = 0; a < operands; a++)
            add_array(&arrays, a, (PyArrayObject *)args[a]);
        add_array(&arrays, out, (PyArrayObject *)result);
        int is_wrong = 0;
        for (int a = 0; a < operands && args[count - 1] != Py_None; a++)
            is_wrong |= !may_be_written(&arrays, a, out, args[a], result);
        if (is_wrong) {
            Py_DECREF(result);
            return unserved();
        }
        PyThreadState *const thread = elements_of((PyArrayObject *)result) >= LARGE ? PyEval_SaveThread() : NULL;
        refused = split_over(loop, (enum loop_code)code, &arrays, numbers);
        if (thread)
            PyEval_RestoreThread(thread);
    }
    if (refused) {
        Py_DECREF(result);
        return unserved();
    }
    if (!target)
        return result;
    const int failed = PyArray_CopyInto((PyArrayObject *)target, (PyArrayObject *)result);
    Py_DECREF(result);
    return failed ? NULL : Py_NewRef(target);
}

/* The loop of a ufunc for one dtype: the loop of an operator, with its numbers. Some are operands of the ufunc, behind
 * the arrays: `places` says which, or -1 for one that is always the same. */
struct ufunc_loop {
    const struct loop *loop;
    enum loop_code code;
    int inputs;
    int8_t places[16];
    union loop_number numbers[16];
};

struct named_loop {
    const char *name;
    const struct loop *loop;
};

static inline void read_loop_number(enum loop_code code, const char *from, union loop_number *number)
{
    union {
        int8_t i1;
        uint8_t u1;
        int16_t i2;
        uint16_t u2;
        int32_t i4;
        uint32_t u4;
        float f4;
        float c8[2];
    } own;
    memcpy(&own, from, (size_t)(loop_bytes(code) < 8 ? loop_bytes(code) : code == LOOP_C64 ? 8 : 0));
    number->parts[1] = 0;
    switch (code) {
    case LOOP_B8: number->whole = own.u1 != 0; break;
    case LOOP_I8: number->whole = own.i1; break;
    case LOOP_U8: number->whole = own.u1; break;
    case LOOP_I16: number->whole = own.i2; break;
    case LOOP_U16: number->whole = own.u2; break;
    case LOOP_I32: number->whole = own.i4; break;
    case LOOP_U32: number->whole = own.u4; break;
    case LOOP_F16: number->real = from_f16(own.u2); break;
    case LOOP_BF16: number->real = from_bf16(own.u2); break;
    case LOOP_F32: number->real = own.f4; break;
    case LOOP_C64: number->parts[0] = own.c8[0], number->parts[1] = own.c8[1]; break;
    default: memcpy(number, from, (size_t)loop_bytes(code)); /* of 64 bits, or two doubles */
    }
}

/* Whether the elements of an operand may be read in blocks while those of the result are written: they lie apart, or
 * each on its own. */
static inline int may_be_blocked(const char *read, int64_t step, int64_t bytes, const char *written, int64_t out_step,
                                 int64_t out_bytes, int64_t size)
{
    if (read == written && step == out_step && bytes == out_bytes && loop_size(step) >= bytes)
        return 1;
    const char *const low = read + (step < 0 ? step * (size - 1) : 0);
    const char *const high = read + (step > 0 ? step * (size - 1) : 0) + bytes;
    const char *const out_low = written + (out_step < 0 ? out_step * (size - 1) : 0);
    const char *const out_high = written + (out_step > 0 ? out_step * (size - 1) : 0) + out_bytes;
    return high <= out_low || out_high <= low;
}

/* The inner loop of a ufunc. Where a result is an operand of the next element (`reduce`, `accumulate`), or numbers
 * change, elements are computed one by one. */
static void run_ufunc(char **args, const npy_intp *dimensions, const npy_intp *steps, void *given)
{
    const struct ufunc_loop *const own = given;
    const struct loop *const loop = own->loop;
    const int operands = loop->arrays, out = own->inputs;
    const int64_t size = dimensions[0], bytes = loop_bytes(own->code), out_bytes = loop->is_truth ? 1 : bytes;
    union loop_number numbers[16];
    struct loop_arrays arrays;
    int is_blocked = 1, refused = 0;
    memcpy(numbers, own->numbers, sizeof numbers);
    for (int a = 0; a < operands; a++)
        is_blocked &= may_be_blocked(args[a], steps[a], bytes, args[out], steps[out], out_bytes, size);
    for (int a = operands; a < out; a++)
        is_blocked &= steps[a] == 0;
    const int64_t some = is_blocked ? size : 1;
    for (int64_t i = 0; i < size && !refused; i += some) {
        for (int k = 0; k < loop->numbers; k++)
            if (own->places[k] >= 0)
                read_loop_number(own->code, args[own->places[k]] + i * steps[own->places[k]], &numbers[k]);
        for (int a = 0; a <= operands; a++) {
            const int at = a < operands ? a : out;
            arrays.data[a] = args[at] + i * steps[at];
            arrays.strides[a][0] = steps[at];
        }
        arrays.shape[0] = some;
        arrays.dims = is_blocked;
        refused = split_over(loop, own->code, &arrays, numbers);
    }
    if (refused) {
        const PyGILState_STATE state = PyGILState_Ensure();
        PyErr_SetString(PyExc_ValueError, "Integers to negative integer powers are not allowed.");
        PyGILState_Release(state);
    }
    feclearexcept(FE_ALL_EXCEPT); /* nobody reads the processor's flags behind a loop */
}

static const int loop_types[LOOP_CODES] = {
    /* clang-format off */
    NPY_BOOL, NPY_INT8, NPY_UINT8, NPY_INT16, NPY_UINT16, NPY_INT32, NPY_UINT32, NPY_INT64, NPY_UINT64,
    NPY_HALF, -1, NPY_FLOAT32, NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128,
    /* clang-format on */
};

/* Write the numbers of a ufunc's loop. False where one is none of the dtype. */
static inline int set_ufunc_numbers(struct ufunc_loop *own, PyObject *constants)
{
    own->inputs = own->loop->arrays;
    for (int k = 0; k < own->loop->numbers; k++) {
        PyObject *const number = PyTuple_GetItem(constants, k);
        own->places[k] = -1;
        if (number == Py_None)
            own->places[k] = (int8_t)own->inputs++;
        else if (!to_loop_number(number, own->code, &own->numbers[k]))
            return 0;
    }
    return 1;
}

/* Return a ufunc of a loop, which is there for ever: its name, what it says, and its numbers, None for an operand. */
static PyObject *ufunc_of_loop(const struct loop *loop, PyObject *name, PyObject *doc, PyObject *constants)
{
    if (PyTuple_Size(constants) != loop->numbers || (!PyUFunc_API && _import_umath() < 0))
        return PyErr_Occurred() ? NULL : unserved();
    struct ufunc_loop *const loops = calloc(LOOP_CODES, sizeof *loops);
    PyUFuncGenericFunction *const run = calloc(LOOP_CODES, sizeof *run);
    void **const data = calloc(LOOP_CODES, sizeof *data);
    char *const types = calloc(LOOP_CODES, 2 * LOOP_ARRAYS);
    const char *const texts[2] = {PyUnicode_AsUTF8AndSize(name, NULL), PyUnicode_AsUTF8AndSize(doc, NULL)};
    char *const kept = texts[0] && texts[1] ? malloc(strlen(texts[0]) + strlen(texts[1]) + 2) : NULL;
    if (!loops || !run || !data || !types || !kept)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    char *const told = kept + strlen(texts[0]) + 1;
    strcpy(kept, texts[0]);
    strcpy(told, texts[1]);
    int count = 0, inputs = loop->arrays;
    struct ufunc_loop *bfloat16 = NULL;
    for (int code = 0; code < LOOP_CODES; code++) {
        struct ufunc_loop *const own = &loops[code];
        own->loop = loop;
        own->code = (enum loop_code)code;
        if (!loop->run[code] || !set_ufunc_numbers(own, constants))
            continue;
        inputs = own->inputs;
        if (code == LOOP_BF16) {
            bfloat16 = loop_bfloat16 < 0 ? NULL : own;
            continue;
        }
        for (int a = 0; a <= inputs; a++)
            types[count * (inputs + 1) + a] = (char)(a == inputs && loop->is_truth ? NPY_BOOL : loop_types[code]);
        run[count] = run_ufunc;
        data[count++] = own;
    }
    PyObject *const made = PyUFunc_FromFuncAndData(run, data, types, count, inputs, 1, PyUFunc_None, kept, told, 0);
    if (made && bfloat16) {
        int own[2 * LOOP_ARRAYS + 1];
        for (int a = 0; a <= inputs; a++)
            own[a] = a == inputs && loop->is_truth ? NPY_BOOL : loop_bfloat16;
        if (PyUFunc_RegisterLoopForType((PyUFuncObject *)made, loop_bfloat16, run_ufunc, own, bfloat16) < 0) {
            Py_DECREF(made);
            return NULL;
        }
    }
    return made;
}

#endif
