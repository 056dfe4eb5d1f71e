/* Forms of calls that need no conversion. */

#ifndef OPWRIGHT_FORM_H
#define OPWRIGHT_FORM_H

#include "core.h"

typedef struct Form Form;

Form *form_new(PyObject *names, Py_ssize_t positional, PyObject *plan);
void form_free(Form *form);
int form_traverse(Form *form, visitproc visit, void *arg);
int form_takes(const Form *form, PyObject *const *args, Py_ssize_t positional, PyObject *names, int64_t *keys);
PyObject *form_call(Form *form, PyObject *const *args, int64_t keys, int is_mode_on, int *is_served);

#endif
