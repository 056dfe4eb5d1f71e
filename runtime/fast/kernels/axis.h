/* Windows along one dimension: what pooling, convolution and columns of windows go by. */

#ifndef OPWRIGHT_KERNELS_AXIS_H
#define OPWRIGHT_KERNELS_AXIS_H

#include "kernels.h"

/* How many windows there are, and where their places are. Adaptive ones (a kernel of 0) divide the dimension evenly, and
 * overlap where that leaves a rest. */
typedef struct {
    npy_intp size, kernel, step, pad, gap, count;
} Axis;

/* The places of a window that lie within the plane: the first, and what they are all below. */
static inline void places_within(const Axis *axis, npy_intp window, npy_intp *first, npy_intp *end) {
    if (axis->kernel == 0) {
        *first = window * axis->size / axis->count;
        *end = ((window + 1) * axis->size + axis->count - 1) / axis->count;
        return;
    }
    npy_intp start = window * axis->step - axis->pad, stop = start + (axis->kernel - 1) * axis->gap + 1;
    *first = start < 0 ? start + (-start + axis->gap - 1) / axis->gap * axis->gap : start;
    *end = stop > axis->size ? axis->size : stop;
}

/* How many places a window has up to the end of the padding. */
static inline npy_intp padded_extent(const Axis *axis, npy_intp window) {
    npy_intp start = window * axis->step - axis->pad, end = axis->size + axis->pad;
    return start + axis->kernel > end ? end - start : axis->kernel;
}

/* Which windows have a place `offset` behind their start within the plane. */
static inline void windows_within(const Axis *axis, npy_intp offset, npy_intp *first, npy_intp *end) {
    npy_intp left = axis->size - offset;
    if (offset >= 0 && (axis->count - 1) * axis->step < left) { /* all, which takes no division */
        *first = 0;
        *end = axis->count;
        return;
    }
    *first = offset < 0 ? (-offset + axis->step - 1) / axis->step : 0;
    *first = *first > axis->count ? axis->count : *first;
    *end = left <= 0 ? 0 : (left + axis->step - 1) / axis->step;
    *end = *end > axis->count ? axis->count : *end;
}

#endif
