/* Long rows, which are reduced piece by piece: pieces are of one size, whatever number of threads computes them, and
 * are put together in their order. So what comes out does not depend on the threads. */

#ifndef OPWRIGHT_KERNELS_LONG_ROWS_H
#define OPWRIGHT_KERNELS_LONG_ROWS_H

#include "kernels.h"

/* The elements of a piece; rows of more are long. */
#define LONG_ROW 65536

/* What a piece gives: its sum, its largest element, the product, how many elements are not zero, the sum of exp(x -
 * by), the sum of squares of x - by. */
typedef enum { PART_SUM, PART_LARGEST, PART_PRODUCT, PART_NONZERO, PART_POWERS, PART_SPREAD } PartKind;

/* Rows of `count` neighbours each, of float32 or float64. */
typedef struct {
    const char *from;
    int type;
    npy_intp rows, count;
} LongRows;

/* A piece: the number of its row, the first element, counted from the first of all rows, how many it has. */
typedef struct {
    npy_intp row, start, count;
} Piece;

/* Return how many pieces a row has. */
static inline npy_intp pieces_of(npy_intp count) {
    return (count + LONG_ROW - 1) / LONG_ROW;
}

/* Return the piece of a number, of all rows' pieces one behind the other. */
static inline Piece piece_of(const LongRows *rows, npy_intp at) {
    const npy_intp pieces = pieces_of(rows->count), row = at / pieces, start = at % pieces * LONG_ROW;
    const npy_intp left = rows->count - start;
    return (Piece){row, row * rows->count + start, left < LONG_ROW ? left : LONG_ROW};
}

/* long_rows.c */
int reduce_parts(const LongRows *rows, PartKind kind, const double *by, double *found);
double log_of(int type, double value);

#endif
