/* Arrays as kernels take and make them, row-major, aligned, of the machine's byte order; numbers, and work without the
 * lock. plain_arrays.c is compiled into the core and into each extension of kernels. */

#ifndef OPWRIGHT_PLAIN_ARRAYS_H
#define OPWRIGHT_PLAIN_ARRAYS_H

#include "numpy_api.h"
#include "threads.h"

/* From how much work on other threads may run: about 5 microseconds. */
#define LONG_WORK 16384
/* How many elements are worth a range of their own. */
#define RANGE_WORK 32768

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
int is_bfloat16(const PyArray_Descr *dtype);
int read_number(PyObject *object, double *number);
int read_element(PyObject *object, int type, double *number);
Array *array_of_scalar(PyObject *object, int type);
int arrays_are_apart(PyObject *first, PyObject *second);
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
void do_ranges(RangeWork work, void *job, npy_intp count, npy_intp size);
void do_in_order(RangeWork work, void *job, npy_intp count, npy_intp size);
void run_long(RangeWork work, void *job, npy_intp count, npy_intp grain, npy_intp size);
void copy_bytes(char *to, const char *from, npy_intp bytes);

#endif
