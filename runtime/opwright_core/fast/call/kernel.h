/* Kernels in C of functions that are marked `@compiled`, and what an extension of kernels and the core give each other.
 * An extension includes this file, and what it includes, and nothing else that says how objects of the core are made.
 */

#ifndef OPWRIGHT_KERNEL_H
#define OPWRIGHT_KERNEL_H

#include "fast/arrays/numpy_api.h"
#include "fast/arrays/threads.h"

#include "numbers.h" /* written by the build: CORE_VERSION, and what else `NUMBERS` in opwright_build.py lists */

typedef struct CompiledKernel CompiledKernel;

/* A call of a kernel: the arguments behind the array module, and the array for the result, or NULL. */
typedef struct {
    PyObject *const *args;
    Py_ssize_t count;
    PyObject *out;
} KernelCall;

/* Handle a call of a function. Returns a new reference to its result; NULL without an exception where the Python
 * function has to handle the call, with one where an array could not be made (MemoryError). */
typedef PyObject *(*Handler)(const CompiledKernel *kernel, const KernelCall *call);

/* Traits of kernels: the function takes no array module, since it is NumPy's anyway; it never warns of numbers; with an
 * `out`, an array, it adds its result to what that holds, and returns it. */
#define OF_NUMPY 1
#define QUIET 2
#define ADDS 4
/* … how many elements its result has is data, so that no plan is of use: where the handler takes the operands, its
 * result is row-major, as planned. */
#define UNPLANNED 8
/* … in place, where `out` is the first operand, the handler looks at all that the rule does, and so needs no plan. */
#define WRITES 16
/* … on long arrays the handler takes long, and looks at no signals meanwhile. */
#define WHOLE 32

struct CompiledKernel {
    const char *name; /* of the function */
    Handler handler;
    const void *how; /* data of the handler: loops, or a choice */
    int traits;
};

/* What the core gives to an extension of kernels. */
typedef struct {
    /* array_pool.c: return a new row-major array, not filled. Takes the reference to the dtype. */
    PyObject *(*array_new)(PyArray_Descr *dtype, int ndim, const npy_intp *shape);
    /* fast_path.c: the fast-path test. Returns 1 with the operands' arrays written, borrowed; else 0, or -1. */
    int (*fast_path_arrays)(PyObject *const *tensors, Py_ssize_t count, PyObject *indices, PyObject **arrays);
    /* wrapping.c: return a new tensor on an array. */
    PyObject *(*wrap)(PyObject *module, PyObject *array);
    /* threads.c: compute units of a job, in the threads of the pool where it has many. */
    void (*run_ranges)(RangeWork work, void *job, int64_t count, int64_t grain);
} CoreFunctions;

/* What an extension of kernels gives to the core: its attribute `kernels`, a capsule of KERNEL_SET_NAME, which
 * `opwright_core._fast.add_kernels` takes. It is there for ever. */
#define KERNEL_SET_NAME "opwright.KernelSet"

typedef struct {
    size_t size; /* of this struct */
    int version; /* CORE_VERSION */
    const CompiledKernel *const *tables; /* each ended by a name that is NULL; the last is NULL */
    /* Return the sums of a dense float array over the dimensions before the last `kept`: a new array; NULL without an
     * exception if Python must compute it. */
    PyObject *(*sum_over_first)(PyObject *array, int kept);
    const CoreFunctions **core; /* where the core puts its functions */
} KernelSet;

#endif
