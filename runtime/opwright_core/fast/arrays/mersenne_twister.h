/* The words of a Mersenne Twister. */

#ifndef OPWRIGHT_MERSENNE_TWISTER_H
#define OPWRIGHT_MERSENNE_TWISTER_H

#include "fast/python_api.h"

uint32_t *twister_memory(PyObject *object);
void twister_words(uint32_t *memory, uint32_t *words, Py_ssize_t count);

#endif
