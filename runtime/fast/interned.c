/* The names by which C asks for attributes, and compares those of arguments. */

#include "interned.h"

Interned interned = {0};

static const struct {
    PyObject **name;
    const char *text;
} texts[] = {
    {&interned._blocks, "_blocks"},
    {&interned._call_uncommon, "_call_uncommon"},
    {&interned._non_differentiable, "_non_differentiable"},
    {&interned._saved, "_saved"},
    {&interned._to_save, "_to_save"},
    {&interned.acquire, "acquire"},
    {&interned.apply, "apply"},
    {&interned.indices, "indices"},
    {&interned.inference_mode, "inference_mode"},
    {&interned.no_grad, "no_grad"},
    {&interned.out, "out"},
    {&interned.outputs, "outputs"},
    {&interned.release, "release"},
    {&interned.requires_grad, "requires_grad"},
    {&interned.saved, "saved"},
    {&interned.several, "several"},
    {&interned.watched, "watched"},
};

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
