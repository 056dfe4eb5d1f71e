/* NumPy's own inner loops, called without what NumPy does before for arrays of any kind. */

#ifndef OPWRIGHT_UFUNC_LOOPS_H
#define OPWRIGHT_UFUNC_LOOPS_H

#include "fast/core.h"

#define MOST_OPERANDS 3
#define MOST_TYPES 16 /* NumPy's numbers of types, up to complex128 */

/* A ufunc, and where the loops are that take every operand in one type. */
typedef struct {
    PyObject *ufunc;
    int operands;
    int is_exact;                    /* whether values are rounded once, so that they do not depend on how arrays lie */
    int rounds_numbers;              /* whether half and bfloat16 have numbers rounded to them */
    signed char at[MOST_TYPES];      /* the number of the loop for a type; -1: there is none */
    signed char results[MOST_TYPES]; /* the type of its result */
    void (*own[MOST_TYPES])(char *const *data, intptr_t count); /* a loop of ours for dense arrays, or NULL */
    void (*halves)(char *const *data, intptr_t count,
                   const float *const *numbers); /* one for half (`HalfLoop`), or NULL */
    void (*bits)(char *const *data, intptr_t count,
                 const float *const *numbers); /* one for bits of half and bfloat16 */
} Loops;

/* An operand: an array, or a number where `array` is NULL. */
typedef struct {
    PyObject *array;
    PyObject *number;
} Operand;

int loops_init(Loops *loops, PyObject *ufunc, int operands, const char *kinds);
int loops_run(const Loops *loops, const Operand *operands, PyObject **result);
int loops_run_into(const Loops *loops, const Operand *operands);
int loops_run_to(const Loops *loops, const Operand *operands, PyObject *target);
int loops_run_over(const Loops *loops, const Operand *operands);
int loops_run_reduced(const Loops *loops, const Operand *operands, PyObject **result);
int loops_run_turned(const Loops *loops, const Operand *operands, PyObject **result);

#endif
