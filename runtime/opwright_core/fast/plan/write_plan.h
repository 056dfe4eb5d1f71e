/* The plans of calls that write. */

#ifndef OPWRIGHT_WRITE_PLAN_H
#define OPWRIGHT_WRITE_PLAN_H

#include "fast/core.h"

PyTypeObject *make_writing_type(PyObject *module);

#endif
