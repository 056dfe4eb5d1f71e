/* Signature keys: how a call that needs no conversion gives its arguments. */

#ifndef OPWRIGHT_SIGNATURE_KEY_H
#define OPWRIGHT_SIGNATURE_KEY_H

#include "fast/core.h"

typedef struct SignatureKey SignatureKey;

SignatureKey *signature_key_new(PyObject *names, Py_ssize_t positional, PyObject *plan);
void signature_key_free(SignatureKey *signature);
int signature_key_traverse(SignatureKey *signature, visitproc visit, void *arg);
int signature_key_matches(const SignatureKey *signature, PyObject *const *args, Py_ssize_t positional, PyObject *names,
                          int64_t *keys);
PyObject *signature_key_call(SignatureKey *signature, PyObject *const *args, int64_t keys, int is_mode_on,
                             int *is_handled);

#endif
