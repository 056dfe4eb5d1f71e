/* Where elements of images of another size lie. */

#ifndef OPWRIGHT_KERNELS_RESIZING_H
#define OPWRIGHT_KERNELS_RESIZING_H

#include "kernels.h"

#include <math.h>

/* Return the whole number before a place that is above -2^63; `most` for places behind it and for NaN. Tiny scales put
 * places where no integer is, and what a cast gives there depends on the processor. */
static inline npy_intp whole_until(double place, npy_intp most) {
    return place < (double)most ? (npy_intp)floor(place) : most;
}

#endif
