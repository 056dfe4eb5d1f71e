/* Casts: between float32 and the reduced dtypes, and those that NumPy does without a warning. */

#ifndef OPWRIGHT_CASTS_H
#define OPWRIGHT_CASTS_H

#include "dense_loops.h"

PyObject *cast_array(PyObject *object, PyArray_Descr *dtype);

/* Half and bfloat16 as float32, and back. */
typedef struct {
    DenseLoop widen, narrow;
} Reduced;

int read_reduced(const PyArray_Descr *dtype, Reduced *reduced);

#endif
