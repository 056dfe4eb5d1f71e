/* `run_backward`, by which Python has a common pass run here, and what it tells of itself before. */

#include "fast/arrays/arrays.h"
#include "backward.h"
#include "fast/configure.h"
#include "engine.h"
#include "fast/interned.h"
#include "fast/call/modes.h"

static int64_t last_pass = 0;

/* Run a pass with its modes and its ContextVar set. Takes the reference to the gradient. Returns -1 with an exception.
 * */
static int run_within(Pass *pass, PyObject *root, PyObject *grad) {
    PyObject *outer;
    if (PyContextVar_Get(engine.current, NULL, &outer) < 0) {
        Py_DECREF(grad);
        return -1;
    }
    PyObject *before = PyContextVar_Set(engine.current, pass->current);
    PyObject *modes = before == NULL ? NULL : PyContextVar_Set(core.modes, engine.unrecorded);
    int failed = 1;
    if (modes != NULL) {
        failed = pass_run(pass, root, grad) < 0;
    } else {
        Py_DECREF(grad);
    }
    PyObject *error = take_error();
    failed |= before != NULL && put_back(core.modes, modes, Py_None) < 0; /* no mode was on: the root is a common one */
    failed |= put_back(engine.current, before, outer) < 0;
    Py_DECREF(outer);
    put_error(error);
    Py_XDECREF(modes);
    Py_XDECREF(before);
    return failed ? -1 : 0;
}

/* Return the gradient that a pass from a tensor begins with, a new reference; NULL without an exception where Python
 * has to look at it. */
static PyObject *first_gradient(Tensor *tensor, PyObject *given) {
    if (given == Py_None) {
        PyObject *one = array_of_one(tensor->array);
        return one == NULL ? NULL : wrap_with_keys(one, core.dense_cpu_nondense);
    }
    int is_plain = Py_TYPE(given) == core.tensor && ((Tensor *)given)->array != NULL &&
                   Py_TYPE(((Tensor *)given)->array) == core.array;
    return is_plain && arrays_are_alike(tensor->array, ((Tensor *)given)->array) ? Py_NewRef(given) : NULL;
}

/* Whether a pass from a tensor is common, but for its gradient. Returns -1 with an exception. */
static int is_common_root(Tensor *tensor) {
    if (Py_TYPE((PyObject *)tensor) != core.tensor || tensor->array == NULL || Py_TYPE(tensor->array) != core.array ||
        tensor->edge == NULL || !PyObject_TypeCheck(tensor->edge, engine.recorded) || tensor->keys == NULL ||
        !PyLong_CheckExact(tensor->keys)) {
        return 0;
    }
    int overflow;
    int64_t keys = PyLong_AsLongLongAndOverflow(tensor->keys, &overflow);
    if (overflow || !(keys & core.grad_bits) ||
        (keys & ~(core.dense_cpu_bits | core.nondense_bits | core.view_bits | core.grad_bits))) {
        return 0;
    }
    PyObject *modes;
    if (PyContextVar_Get(core.modes, NULL, &modes) < 0) {
        return -1;
    }
    Py_XDECREF(modes);
    if (modes != NULL && modes != Py_None) {
        return 0;
    }
    return 1;
}

/* Count the gradients that each leaf of the pass gets, if any leaf that is alive has hooks. Returns -1 with an
 * exception. */
static int look_for_hooks(Pass *pass, PyObject *root) {
    PyObject *with_hooks = PyObject_GetAttr((PyObject *)engine.leaf, interned.watched);
    int is_any = with_hooks == NULL ? -1 : PyObject_IsTrue(with_hooks);
    Py_XDECREF(with_hooks);
    return is_any <= 0 ? is_any : count_dependencies(root, &pass->dependencies);
}

/* run_backward(tensor, gradient, keep_graph): run a pass if it is a common one. Returns True if it did, False if Python
 * has to. */
PyObject *run_backward(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (engine.leaf == NULL || count != 3) {
        PyErr_SetString(PyExc_TypeError, "run_backward() takes three arguments, once Python told of the engine");
        return NULL;
    }
    Tensor *tensor = (Tensor *)args[0];
    int is_common = is_common_root(tensor);
    PyObject *grad = is_common > 0 ? first_gradient(tensor, args[1]) : NULL;
    if (grad == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    }
    PyObject *root = Py_NewRef(tensor->edge);
    Pass pass = {.frees = args[2] == Py_False};
    pass.current = Py_BuildValue("(LO)", (long long)--last_pass, root);
    pass.leaves = pass.current == NULL ? NULL : PyDict_New();
    int failed = 1;
    if (pass.leaves != NULL && look_for_hooks(&pass, root) == 0) {
        failed = run_within(&pass, root, grad) < 0;
    } else {
        Py_DECREF(grad);
    }
    queue_free(&pass.queue);
    Py_XDECREF(pass.leaves);
    Py_XDECREF(pass.dependencies);
    Py_XDECREF(pass.complete);
    Py_XDECREF(pass.uses);
    Py_XDECREF(pass.current);
    Py_DECREF(root);
    return failed ? NULL : Py_NewRef(Py_True);
}

static const SettingSlot leaf_slots[] = {
    {"_variable", &engine.variable},
    {"lock", &engine.lock},
    {"post_hooks", &engine.post_hooks},
    {NULL, NULL},
};

/* Take `(table, function)` of the operator that adds gradients, and make what passes need. Returns -1 with an
 * exception. */
static int take_operator(PyObject *operator) {
    PyObject *table, *function;
    if (!PyArg_ParseTuple(operator, "OO", &table, &function)) {
        return -1;
    }
    engine.one = PyLong_FromLong(1);
    engine.cached_gradients = PyDict_New();
    return engine.one == NULL || engine.cached_gradients == NULL ? -1 : operator_set(&engine.add, table, function);
}

const Setting engine_settings[] = {
    {"add", SETTING_OBJECT, NULL, NULL, take_operator},
    {"Recorded", SETTING_CLASS, &engine.recorded, NULL, NULL},
    {"pass_modes", SETTING_OBJECT, &engine.unrecorded, NULL, NULL},
    {"running_pass", SETTING_OBJECT, &engine.current, NULL, NULL},
    {"fit", SETTING_OBJECT, &engine.fit, NULL, NULL},
    {"run_uncommon", SETTING_OBJECT, &engine.run_uncommon, NULL, NULL},
    {"finish_uncommon", SETTING_OBJECT, &engine.finish_uncommon, NULL, NULL},
    {"gradients_for", SETTING_OBJECT, &engine.gradients_for, NULL, NULL},
    {"error_of_circle", SETTING_OBJECT, &engine.circle, NULL, NULL},
    {"AccumulateGrad", SETTING_CLASS, &engine.leaf, leaf_slots, NULL},
    NO_SETTING,
};
