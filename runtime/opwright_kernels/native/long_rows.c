/* Long rows, piece by piece. */

#include "long_rows.h"

#include "fast/arrays/loops.h"

typedef struct {
    const LongRows *rows;
    PartKind kind;
    const double *by;
    double *parts;
} PartsJob;

FUSED

#define REAL float
#define OF(NAME) NAME##_f32
#include "sums.h"
#include "long_rows_loops.h"
#undef REAL
#undef OF

#define REAL double
#define OF(NAME) NAME##_f64
#include "sums.h"
#include "long_rows_loops.h"
#undef REAL
#undef OF

UNFUSED

/* Return what two pieces give together. */
static double joined(PartKind kind, int type, double before, double part) {
    switch (kind) {
    case PART_LARGEST: /* NaN, where there is one */
        return before != before || before > part ? before : part;
    case PART_PRODUCT:
        return type == NPY_FLOAT ? (double)(float)(before * part) : before * part;
    default:
        return before + part;
    }
}

/* Write what each row gives, in the threads of the pool where there is work for several; `by` is subtracted from the
 * elements of a row, NULL is 0. Returns 0 without an exception if memory ran out. */
int reduce_parts(const LongRows *rows, PartKind kind, const double *by, double *found) {
    const npy_intp pieces = pieces_of(rows->count);
    PartsJob job = {rows, kind, by, PyMem_New(double, (size_t)(rows->rows * pieces))};
    if (job.parts == NULL) {
        return 0;
    }
    do_ranges(rows->type == NPY_DOUBLE ? parts_f64 : parts_f32, &job, rows->rows * pieces, rows->rows * rows->count);
    for (npy_intp row = 0; row < rows->rows; row++) {
        found[row] = job.parts[row * pieces];
        for (npy_intp i = 1; i < pieces; i++) {
            found[row] = joined(kind, rows->type, found[row], job.parts[row * pieces + i]);
        }
    }
    PyMem_Free(job.parts);
    return 1;
}

/* Return the logarithm of a number of that type. */
double log_of(int type, double value) {
    return type == NPY_FLOAT ? (double)log_f32((float)value) : log_f64(value);
}
