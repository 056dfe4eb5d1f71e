/* Copies of transposed matrices, by strips that stay in the nearest cache. */

#include "kernels.h"

#include "fast/arrays/loops.h"

/* How many rows of the source a strip has: a line of cache. */
#define STRIP 16

/* Write the transpose of a dense matrix (columns, rows) to a dense one (rows, columns), which is apart from it. Needs
 * no GIL. */
CLONES void copy_turned(const float *from, float *to, npy_intp rows, npy_intp columns) {
    npy_intp column = 0;
    for (; column + STRIP <= columns; column += STRIP) {
        const float *strip = from + column * rows;
        for (npy_intp row = 0; row < rows; row++) {
            float *out = to + row * columns + column;
            EACH_ALONE for (int i = 0; i < STRIP; i++) {
                out[i] = strip[i * rows + row];
            }
        }
    }
    for (; column < columns; column++) {
        for (npy_intp row = 0; row < rows; row++) {
            to[row * columns + column] = from[column * rows + row];
        }
    }
}
