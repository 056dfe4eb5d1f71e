/* The plans of calls that write. */

#ifndef OPWRIGHT_WRITING_H
#define OPWRIGHT_WRITING_H

#include "core.h"

PyTypeObject *make_writing_type(PyObject *module);

#endif
