/* Windows as columns, and their sums, for one type: included with REAL and OF(name). */

/* Write one row of the columns: the element at offset (above, before) of each window of a plane. Those that lie beside
 * the plane are not written. */
ELEMENT void OF(take_lines)(REAL *out, const REAL *plane, const Axis *rows, const Axis *columns, npy_intp above,
                            npy_intp before) {
    npy_intp first, last, top, bottom;
    windows_within(rows, above, &top, &bottom);
    windows_within(columns, before, &first, &last);
    for (npy_intp r = top; r < bottom; r++) {
        const REAL *line = plane + (r * rows->step + above) * columns->size + before;
        REAL *to = out + r * columns->count;
        if (columns->step == 1) {
            EACH_ALONE for (npy_intp c = first; c < last; c++) {
                to[c] = line[c];
            }
        } else {
            for (npy_intp c = first; c < last; c++) {
                to[c] = line[c * columns->step];
            }
        }
    }
}

/* Write the same row for windows one step apart, of which a line has as many as elements: the plane itself, shifted,
 * which is one copy. */
ELEMENT void OF(take_moved)(REAL *out, const REAL *plane, const Axis *rows, const Axis *columns, npy_intp above,
                            npy_intp before) {
    const npy_intp width = columns->size, whole = rows->size * width, moved = above * width + before;
    const npy_intp start = moved < 0 ? -moved : 0, made = rows->count * width;
    const npy_intp stop = whole - moved < made ? whole - moved : made;
    if (start < stop) {
        memcpy(out + start, plane + start + moved, (size_t)(stop - start) * sizeof(REAL));
    }
}

/* Write zeros to one row of the columns where the windows' element at that offset lies beside the plane. */
ELEMENT void OF(clear_sides)(REAL *out, const Axis *rows, const Axis *columns, npy_intp above, npy_intp before) {
    npy_intp first, last, top, bottom;
    windows_within(rows, above, &top, &bottom);
    windows_within(columns, before, &first, &last);
    bottom = bottom < top ? top : bottom;
    last = last < first ? first : last;
    memset(out, 0, (size_t)(top * columns->count) * sizeof(REAL));
    memset(out + bottom * columns->count, 0, (size_t)((rows->count - bottom) * columns->count) * sizeof(REAL));
    for (npy_intp r = top; r < bottom; r++) {
        for (npy_intp c = 0; c < first; c++) {
            out[r * columns->count + c] = 0;
        }
        for (npy_intp c = last; c < columns->count; c++) {
            out[r * columns->count + c] = 0;
        }
    }
}

/* Write the columns of some planes of a ColumnsJob (im2col). Needs no GIL. */
CLONES static void OF(take_columns)(void *given, int64_t from, int64_t to) {
    const ColumnsJob *job = given;
    const Axis *rows = &job->rows, *columns = &job->columns;
    const int is_moved = rows->step == 1 && columns->step == 1 && columns->count == columns->size;
    for (npy_intp at = from; at < to; at++) {
        const npy_intp image = at / job->channels, channel = at % job->channels;
        const REAL *plane = (const REAL *)job->from + at * rows->size * columns->size;
        REAL *out =
            (REAL *)job->to + image * job->image_step + channel * rows->kernel * columns->kernel * job->row_step;
        for (npy_intp i = 0; i < rows->kernel; i++) {
            for (npy_intp j = 0; j < columns->kernel; j++, out += job->row_step) {
                const npy_intp above = i * rows->gap - rows->pad, before = j * columns->gap - columns->pad;
                if (is_moved) {
                    OF(take_moved)(out, plane, rows, columns, above, before);
                } else {
                    OF(take_lines)(out, plane, rows, columns, above, before);
                }
                OF(clear_sides)(out, rows, columns, above, before);
            }
        }
    }
}

/* Add up windows (images, channels, kernel elements, windows) to some planes (col2im). Needs no GIL. */
CLONES static void OF(add_columns)(void *given, int64_t start, int64_t stop) {
    const ColumnsJob *job = given;
    const Axis *rows = &job->rows, *columns = &job->columns;
    const REAL *from = (const REAL *)job->from + start * rows->kernel * columns->kernel * rows->count * columns->count;
    REAL *plane = (REAL *)job->to + start * rows->size * columns->size;
    for (npy_intp at = start; at < stop; at++, plane += rows->size * columns->size) {
        memset(plane, 0, (size_t)(rows->size * columns->size) * sizeof(REAL));
        for (npy_intp i = 0; i < rows->kernel; i++) {
            for (npy_intp j = 0; j < columns->kernel; j++, from += rows->count * columns->count) {
                const npy_intp offset = j * columns->gap - columns->pad;
                npy_intp first, last, top, bottom;
                windows_within(rows, i * rows->gap - rows->pad, &top, &bottom);
                windows_within(columns, offset, &first, &last);
                for (npy_intp r = top; r < bottom; r++) {
                    const REAL *line = from + r * columns->count;
                    REAL *to = plane + (r * rows->step + i * rows->gap - rows->pad) * columns->size + offset;
                    if (columns->step == 1) {
                        EACH_ALONE for (npy_intp c = first; c < last; c++) {
                            to[c] += line[c];
                        }
                    } else {
                        for (npy_intp c = first; c < last; c++) {
                            to[c * columns->step] += line[c];
                        }
                    }
                }
            }
        }
    }
}
