/* New arrays of rows: one that nobody has any more serves again. Who includes this has included NumPy's types. */

#ifndef OPWRIGHT_SPARES_H
#define OPWRIGHT_SPARES_H

PyObject *array_new(PyArray_Descr *dtype, int ndim, const npy_intp *shape);

#endif
