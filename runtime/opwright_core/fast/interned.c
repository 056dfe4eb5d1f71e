/* The names by which C asks for attributes, and compares those of arguments. */

#include "interned.h"

Interned interned = {0};

#define ROW(NAME) {&interned.NAME, #NAME},

static const struct {
    PyObject **name;
    const char *text;
} texts[] = {INTERNED_NAMES(ROW)};

/* Intern all names. Returns -1 with an exception. */
int interned_ready(void) {
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *texts[i].name = PyUnicode_InternFromString(texts[i].text);
        if (*texts[i].name == NULL) {
            return -1;
        }
    }
    interned.only_out = PyTuple_Pack(1, interned.out);
    interned.nothing = PyTuple_New(0);
    return interned.only_out == NULL || interned.nothing == NULL ? -1 : 0;
}
