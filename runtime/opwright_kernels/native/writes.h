/* What kernels write into: the memory of the tensor itself, of any strides, or a new array. */

#ifndef OPWRIGHT_WRITES_H
#define OPWRIGHT_WRITES_H

#include "kernels.h"

/* What is done with an element: it is overwritten, or added to. */
typedef enum { OVERWRITE, ACCUMULATE } Write;

/* Where elements go, and where they come from. Steps are in bytes. The points are positions that an index names, whose
 * `offsets` from `to` are found before; behind each lies a block of the dimensions that no index names. */
typedef struct PutJob PutJob;
typedef void (*PutPoints)(const PutJob *job, npy_intp first, npy_intp end);
struct PutJob {
    PutPoints put;
    char *to;
    const char *from;
    const npy_intp *offsets;
    int points_ndim, block_ndim;
    npy_intp points, block; /* how many there are; how many elements a block has */
    npy_intp points_shape[NPY_MAXDIMS], points_from[NPY_MAXDIMS];
    npy_intp block_shape[NPY_MAXDIMS], block_to[NPY_MAXDIMS], block_from[NPY_MAXDIMS];
};

Array *written_in_place(const KernelCall *call);
int source_is_apart(PyObject *source, Array *target);
int find_put(PutJob *job, Array *target, Write write);
int add_block_dim(PutJob *job, npy_intp size, npy_intp to, npy_intp from);
int add_block(PutJob *job, Array *target, const npy_intp *from);
void run_put(PutJob *job);
int put_broadcast(Array *target, Array *source);
int read_scalar(PyObject *value, int type, void *element);

/* What is done for each element of an index: `there` is the element that it names, `here` the other one. */
typedef enum { TAKE, PUT, ADD, MULTIPLY, LARGER, SMALLER } Step;

/* A dense array (outer, size, inner), and an index (outer, along, inner) of positions along its middle dimension. */
typedef struct {
    const char *from;
    const int64_t *index;
    char *to;
    npy_intp outer, size, along, inner;
    npy_intp from_step, from_end; /* 0 where one element stands for all; what negative positions count from */
} ScatterJob;

/* gather_scatter.c */
void scatter_dense(ScatterJob *job, Step step, npy_intp bytes);
int write_slices(Array *target, int axis, Array *index, const char *from, int from_step, Write write, int counts_back);

/* where.c */
int fill_masked(Array *mask, Array *target, const void *element);

#endif
