/* Long rows, which are reduced piece by piece: pieces are of one size, whatever number of threads computes them, and are
 * put together in their order. So what comes out does not depend on the threads. */

#ifndef OPWRIGHT_KERNELS_LONG_ROWS_H
#define OPWRIGHT_KERNELS_LONG_ROWS_H

#include "kernels.h"

/* The elements of a piece; rows of more are long. */
#define LONG_ROW 65536

/* What a piece gives: its sum, its largest element, the product, how many elements are not zero, the sum of exp(x - by),
 * the sum of squares of x - by. */
typedef enum { PART_SUM, PART_LARGEST, PART_PRODUCT, PART_NONZERO, PART_POWERS, PART_SPREAD } PartKind;

/* Rows of `count` neighbours each, of float32 or float64. */
typedef struct {
    const char *from;
    int type;
    npy_intp rows, count;
} LongRows;

/* long_rows.c */
int reduce_parts(const LongRows *rows, PartKind kind, const double *by, double *found);
double log_of(int type, double value);

#endif
