/* Kernels of ATen in C: what the files of this folder share. Each has the name of a function of `opwright_kernels`, and
 * leaves to it whatever is not common. */

#ifndef OPWRIGHT_KERNELS_H
#define OPWRIGHT_KERNELS_H

#include "../core.h"
#include "../numpy_api.h"

#include "dense.h"

/* From how much work on other threads may run: about 5 microseconds. */
#define LONG_WORK 16384

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

/* Traits of kernels: the function takes no array module, since it is NumPy's anyway; it never warns of numbers. */
#define OF_NUMPY 1
#define QUIET 2

struct CompiledKernel {
    const char *name; /* of the function in opwright_kernels */
    Handler handler;
    const void *how; /* data of the handler: loops, or a choice */
    int traits;
};

/* The tables of kernels, each ended by a name that is NULL. */
extern const CompiledKernel special_kernels[], activation_kernels[], arithmetic_kernels[], row_kernels[],
    channel_kernels[], window_kernels[], convolution_kernels[], column_kernels[], loss_kernels[], cast_kernels[],
    reduction_kernels[], scan_kernels[], place_kernels[], slope_kernels[], position_kernels[], random_kernels[], extreme_kernels[],
    move_kernels[], product_kernels[], joining_kernels[], choice_kernels[], factor_kernels[], fill_kernels[],
    product_gradient_kernels[];

/* compiled.c */
void forget_errors(void);
int has_errors(void);
int kernels_ready(void);

/* products.c */
int products_ready(void);
PyObject *product_of_arrays(PyObject *first, PyObject *second);

/* arrays.c: arrays that kernels take as they are, row-major, aligned, of the machine's byte order. */
typedef PyArrayObject Array;

Array *any_plain_array(PyObject *object);
Array *plain_bytes(PyObject *object);
npy_intp element_size(const Array *array);
Array *plain_array(PyObject *object, int type);
Array *plain_floats(PyObject *object);
Array *dense_array(PyObject *object, int type);
Array *dense_floats(PyObject *object);
int has_shape_of(const Array *array, const Array *other);
int is_like(const Array *array, const Array *other);
Array *new_array(int ndim, const npy_intp *shape, int type);
Array *new_of(PyArray_Descr *dtype, int ndim, const npy_intp *shape);
PyArray_Descr *dtype_of(PyObject *object);
Array *new_like(Array *array);
PyObject *cast_silently(Array *array, PyArray_Descr *dtype);
Array *new_by_columns(npy_intp rows, npy_intp columns, int type);
int width_of(const Array *array);
int is_array_of(PyObject *object, int type);
int read_number(PyObject *object, double *number);
int read_element(PyObject *object, int type, double *number);
Array *array_of_scalar(PyObject *object, int type);
int read_ints(PyObject *object, npy_intp *values, int count);
int count_of_sequence(PyObject *object);
npy_intp count_of(const Array *array);
npy_intp count_of_first(const Array *array, int dims);

/* The most operands that are walked over; what is done with a block of their elements and the result's. */
#define MOST_WALKED 3
typedef void (*WalkBlock)(void *job, char *const *data, npy_intp count);
PyObject *walk_arrays(PyObject *const *operands, int count, PyObject *out, WalkBlock block, void *job);

/* Run a function of long work without the lock. */
typedef void (*Work)(void *job);
void do_work(Work work, void *job, npy_intp size);

#endif
