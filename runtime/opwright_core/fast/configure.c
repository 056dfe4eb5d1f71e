/* `configure`, by which Python tells the core what it goes by: `configure(Tensor=Tensor, GRAD=GRAD, …)`. */

#include "configure.h"
#include "fast/arrays/tensor.h"

Core core = {0};

/* Take the ContextVar of the modes. Returns -1 with an exception. */
static int take_modes(PyObject *modes) {
    if (!PyContextVar_CheckExact(modes)) {
        PyErr_SetString(PyExc_TypeError, "the modes are in a ContextVar");
        return -1;
    }
    core.modes = Py_NewRef(modes);
    return 0;
}

/* Take the bits of dense keys beside the int. Returns -1 with an exception. */
static int take_dense_cpu(PyObject *keys) {
    core.dense_cpu_bits = PyLong_AsLongLong(keys);
    return PyErr_Occurred() ? -1 : 0;
}

/* Take the bit of GRAD beside the int. Returns -1 with an exception. */
static int take_grad(PyObject *grad) {
    core.grad_bits = PyLong_AsLongLong(grad);
    return PyErr_Occurred() ? -1 : 0;
}

const Setting core_settings[] = {
    {"Tensor", SETTING_CLASS, NULL, NULL, adopt_tensor},
    {"ndarray", SETTING_CLASS, &core.array, NULL, NULL},
    {"MODES", SETTING_OBJECT, NULL, NULL, take_modes},
    {"ARRAYS", SETTING_INT, &core.arrays, NULL, NULL},
    {"DENSE_CPU", SETTING_INT, &core.dense_cpu, NULL, take_dense_cpu},
    {"GRAD", SETTING_INT, &core.grad, NULL, take_grad},
    {"VIEW", SETTING_BITS, &core.view_bits, NULL, NULL},
    {"NONDENSE", SETTING_BITS, &core.nondense_bits, NULL, NULL},
    {"AUTOGRAD", SETTING_BITS, &core.autograd_bits, NULL, NULL},
    {"INFERENCE", SETTING_BITS, &core.inference_bits, NULL, NULL},
    {"TRACKED", SETTING_BITS, &core.tracked_bits, NULL, NULL},
    {"CPU_ALONE", SETTING_BITS, &core.cpu_alone_bits, NULL, NULL},
    NO_SETTING,
};

static const Setting *const tables[] = {
    core_settings,    storage_settings,  wrapping_settings,   property_settings, key_settings,  writing_settings,
    saving_settings,  recorder_settings, view_history_settings, rebase_settings, leaf_settings, engine_settings,
    long_call_settings,
};

/* Make the ints of keys that follow from others. Returns -1 with an exception. */
static int derive_keys(void) {
    core.dense_cpu_grad = PyLong_FromLongLong(core.dense_cpu_bits | core.grad_bits);
    core.dense_cpu_nondense = PyLong_FromLongLong(core.dense_cpu_bits | core.nondense_bits);
    core.dense_cpu_view = PyLong_FromLongLong(core.dense_cpu_bits | core.view_bits);
    core.dense_cpu_nondense_view = PyLong_FromLongLong(core.dense_cpu_bits | core.nondense_bits | core.view_bits);
    return PyErr_Occurred() ? -1 : 0;
}

/* Return the setting of a name, or NULL. */
static const Setting *find(PyObject *name) {
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        for (const Setting *setting = tables[i]; setting->name != NULL; setting++) {
            if (PyUnicode_CompareWithASCIIString(name, setting->name) == 0) {
                return setting;
            }
        }
    }
    return NULL;
}

/* Whether a value is of the kind of a setting. */
static int is_of_kind(SettingKind kind, PyObject *value) {
    switch (kind) {
    case SETTING_CLASS:
        return PyType_Check(value);
    case SETTING_DICT:
        return PyDict_Check(value);
    case SETTING_INT:
    case SETTING_BITS:
        return PyLong_Check(value);
    default:
        return 1;
    }
}

/* Keep the offsets of a class's slots. Returns -1 with an exception. */
static int keep_slots(const SettingSlot *slots, PyTypeObject *type) {
    for (; slots != NULL && slots->name != NULL; slots++) {
        *slots->offset = slot_offset(type, slots->name);
        if (*slots->offset < 0) {
            return -1;
        }
    }
    return 0;
}

/* Keep a value. Returns -1 with an exception. */
static int keep(const Setting *setting, PyObject *value) {
    if (!is_of_kind(setting->kind, value)) {
        PyErr_Format(PyExc_TypeError, "configure() takes another `%s`", setting->name);
        return -1;
    }
    if (keep_slots(setting->slots, (PyTypeObject *)value) < 0) {
        return -1;
    }
    if (setting->kind == SETTING_BITS) {
        *(int64_t *)setting->memory = PyLong_AsLongLong(value);
        return PyErr_Occurred() ? -1 : 0;
    }
    if (setting->take != NULL && setting->take(value) < 0) {
        return -1;
    }
    if (setting->memory != NULL) {
        *(PyObject **)setting->memory = Py_NewRef(value);
    }
    return 0;
}

/* configure(**settings): keep what Python tells. Returns None. */
PyObject *configure(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    (void)module;
    if (count != 0) {
        PyErr_SetString(PyExc_TypeError, "configure() takes names");
        return NULL;
    }
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        const Setting *setting = find(PyTuple_GET_ITEM(names, i));
        if (setting == NULL) {
            return PyErr_Format(PyExc_TypeError, "configure() is told of no `%U`", PyTuple_GET_ITEM(names, i));
        }
        if (keep(setting, args[i]) < 0) {
            return NULL;
        }
    }
    if (core.dense_cpu_grad == NULL && core.dense_cpu != NULL && derive_keys() < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}
