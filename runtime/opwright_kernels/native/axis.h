/* Windows along one dimension: what pooling, convolution and columns of windows go by. */

#ifndef OPWRIGHT_KERNELS_AXIS_H
#define OPWRIGHT_KERNELS_AXIS_H

#include "kernels.h"

/* How many windows there are, and which indices they have. Adaptive ones (a kernel of 0) divide the axis evenly, and
 * overlap where that leaves a rest. */
typedef struct {
    npy_intp size, kernel, step, pad, gap, count;
} Axis;

/* Write the range of indices of a window that lie within the axis: `first`, the first one at or above 0, and `end`,
 * which they are all below. A dilated window has every `gap`-th of them; adaptive ones (a kernel of 0) divide the axis
 * evenly. */
static inline void indices_within(const Axis *axis, npy_intp window, npy_intp *first, npy_intp *end) {
    if (axis->kernel == 0) {
        *first = window * axis->size / axis->count;
        *end = ((window + 1) * axis->size + axis->count - 1) / axis->count;
        return;
    }
    npy_intp start = window * axis->step - axis->pad, stop = start + (axis->kernel - 1) * axis->gap + 1;
    *first = start < 0 ? start + (-start + axis->gap - 1) / axis->gap * axis->gap : start;
    *end = stop > axis->size ? axis->size : stop;
}

/* Return how many indices of an undilated window lie within the axis and its padding (for count_include_pad). */
static inline npy_intp padded_extent(const Axis *axis, npy_intp window) {
    npy_intp start = window * axis->step - axis->pad, end = axis->size + axis->pad;
    return start + axis->kernel > end ? end - start : axis->kernel;
}

/* Write the range of windows, from `first` up to but without `end`, whose element at `offset` from their start lies
 * within the axis; it is empty unless `first` is below `end`. The offset counts from behind the padding, and may be
 * negative. */
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
