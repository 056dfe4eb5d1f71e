/* What Python tells the core, each thing by its name and once: each file says in a table what it has to be told. */

#ifndef OPWRIGHT_CONFIGURE_H
#define OPWRIGHT_CONFIGURE_H

#include "core.h"

/* What a setting is, and what it is kept as. */
typedef enum {
    SETTING_OBJECT, /* any object: PyObject * */
    SETTING_CLASS,  /* a class: PyTypeObject * */
    SETTING_DICT,   /* a dictionary */
    SETTING_INT,    /* an int, as the object */
    SETTING_BITS,   /* an int of 64 bits: int64_t */
} SettingKind;

/* A slot of a class that is told, and where its offset is kept. */
typedef struct {
    const char *name;
    Py_ssize_t *offset;
} SettingSlot;

typedef struct {
    const char *name;
    SettingKind kind;
    void *memory;                  /* NULL: `take` keeps it */
    const SettingSlot *slots;      /* of a class, the last has no name; or NULL */
    int (*take)(PyObject *value);  /* does what else is to do: returns -1 with an exception; or NULL */
} Setting;

/* The end of a table. */
#define NO_SETTING {NULL, SETTING_OBJECT, NULL, NULL, NULL}

PyObject *configure(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* The tables, each in the file that goes by it. */
extern const Setting core_settings[], storage_settings[], wrapping_settings[], property_settings[], key_settings[],
    writing_settings[], saving_settings[], recorder_settings[], view_history_settings[], rebase_settings[],
    leaf_settings[], engine_settings[], long_call_settings[];

#endif
