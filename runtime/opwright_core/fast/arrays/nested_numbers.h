/* Arrays of Python's numbers. */

#ifndef OPWRIGHT_NESTED_NUMBERS_H
#define OPWRIGHT_NESTED_NUMBERS_H

#include "fast/python_api.h"

PyObject *array_of_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
