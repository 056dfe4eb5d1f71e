/* The modes of this thread or task, and the exception that waits while they are put back. */

#ifndef OPWRIGHT_MODES_H
#define OPWRIGHT_MODES_H

#include "fast/core.h"

int apply_modes(int64_t *keys, int *is_on);
PyObject *take_error(void);
void put_error(PyObject *error);
int put_back(PyObject *variable, PyObject *token, PyObject *value);
PyObject *leave_modes(PyObject *token, PyObject *result);

#endif
