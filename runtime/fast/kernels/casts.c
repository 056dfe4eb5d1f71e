/* Casts between float32 and the reduced dtypes, half and bfloat16, which are computed in float32. */

#include "kernels.h"

#include "loops.h"

typedef struct {
    const char *from;
    char *to;
    npy_intp count;
} CastJob;

#define CAST(NAME, FROM, TO, FUNCTION)                                                                                 \
    CLONES static void NAME(void *given) {                                                                             \
        const CastJob *job = given;                                                                                    \
        const FROM *x = (const FROM *)job->from;                                                                       \
        TO *out = (TO *)job->to;                                                                                       \
        EACH_ALONE for (npy_intp i = 0; i < job->count; i++) {                                                         \
            out[i] = FUNCTION(x[i]);                                                                                   \
        }                                                                                                              \
    }

CAST(widen_half, uint16_t, float, from_f16)
CAST(narrow_half, float, uint16_t, to_f16)
CAST(widen_brain, uint16_t, float, from_bf16)
CAST(narrow_brain, float, uint16_t, to_bf16)

enum { OTHER, SINGLE, HALF, BRAIN };

/* Return which of the dtypes one is. */
static int kind_of(const PyArray_Descr *dtype) {
    if (dtype->type_num == NPY_FLOAT || dtype->type_num == NPY_HALF) {
        return dtype->type_num == NPY_HALF ? HALF : SINGLE;
    }
    if (dtype->type_num < NPY_USERDEF) {
        return OTHER;
    }
    const char *name = dtype->typeobj->tp_name, *last = strrchr(name, '.');
    return strcmp(last == NULL ? name : last + 1, "bfloat16") == 0 ? BRAIN : OTHER;
}

static Work cast_of(int from, int to) {
    if (from == SINGLE) {
        return to == HALF ? narrow_half : to == BRAIN ? narrow_brain : NULL;
    }
    return to != SINGLE ? NULL : from == HALF ? widen_half : from == BRAIN ? widen_brain : NULL;
}

/* cast_array(array, dtype) */
static PyObject *serve_cast(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    PyArray_Descr *dtype = call->count == 2 && call->out == NULL ? dtype_of(call->args[1]) : NULL;
    Array *array = dtype == NULL ? NULL : any_plain_array(call->args[0]);
    Work cast = array == NULL ? NULL : cast_of(kind_of(PyArray_DESCR(array)), kind_of(dtype));
    if (cast == NULL) {
        return NULL;
    }
    Array *result = new_of(dtype, PyArray_NDIM(array), PyArray_DIMS(array));
    if (result != NULL) {
        CastJob job = {PyArray_BYTES(array), PyArray_BYTES(result), count_of(array)};
        do_work(cast, &job, job.count);
    }
    return (PyObject *)result;
}

const CompiledKernel cast_kernels[] = {
    {"cast_array", serve_cast, NULL, 1},
    {NULL, NULL, NULL, 0},
};
