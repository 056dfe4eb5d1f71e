/* `run_backward`, by which Python has a common pass run here, and what it tells of itself before. */

#include "engine.h"
#include "interned.h"
#include "loops.h"

static int64_t last_pass = 0;

/* Run a pass with its modes and its ContextVar set. Takes the reference to the gradient. */
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

/* Return the gradient that a pass from a tensor begins with, a new reference; NULL without an exception where Python has
 * to look at it. */
static PyObject *first_gradient(Tensor *tensor, PyObject *given) {
    if (given == Py_None) {
        PyObject *one = array_of_one(tensor->array);
        return one == NULL ? NULL : wrap_with_keys(one, engine.one_keys);
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
    if (overflow || !(keys & engine.grad_bits) || (keys & ~engine.root_bits)) {
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

/* Count what leaves get, where any leaf that is alive may want to be told that it has all. */
static int look_for_hooks(Pass *pass, PyObject *root) {
    PyObject *watched = PyObject_GetAttr((PyObject *)engine.leaf, interned.watched);
    int is_any = watched == NULL ? -1 : PyObject_IsTrue(watched);
    Py_XDECREF(watched);
    return is_any <= 0 ? is_any : count_uses(root, &pass->uses);
}

/* run_backward(tensor, gradient, whether the graph is kept) returns whether it ran the pass: else Python has to. */
PyObject *run_backward(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (engine.leaf == NULL || count != 3) {
        PyErr_SetString(PyExc_TypeError, "run_backward() takes three arguments, once configure_engine was called");
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
    waiting_free(&pass.waiting);
    Py_XDECREF(pass.leaves);
    Py_XDECREF(pass.uses);
    Py_XDECREF(pass.current);
    Py_DECREF(root);
    return failed ? NULL : Py_NewRef(Py_True);
}

/* configure_engine(AccumulateGrad, Recorded, the modes in a pass, the ContextVar of passes, (table, function) of adding,
 * fit, run_uncommon, finish_uncommon, gradients_for, circle, keys of an array without dimensions, those of roots, GRAD) */
PyObject *configure_engine(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *leaf, *recorded, *modes, *current, *table, *add, *fit, *run, *finish, *find, *circle, *one;
    long long roots, grad;
    if (!PyArg_ParseTuple(
            args, "O!O!OO(OO)OOOOOO!LL:configure_engine", &PyType_Type, &leaf, &PyType_Type, &recorded, &modes,
            &current, &table, &add, &fit, &run, &finish, &find, &circle, &PyLong_Type, &one, &roots, &grad)) {
        return NULL;
    }
    engine.one = PyLong_FromLong(1);
    engine.known_gradients = PyDict_New();
    if (PyErr_Occurred() || operator_set(&engine.add, table, add) < 0) {
        return NULL;
    }
    engine.recorded = (PyTypeObject *)Py_NewRef(recorded);
    engine.unrecorded = Py_NewRef(modes);
    engine.current = Py_NewRef(current);
    engine.fit = Py_NewRef(fit);
    engine.run_uncommon = Py_NewRef(run);
    engine.finish_uncommon = Py_NewRef(finish);
    engine.gradients_for = Py_NewRef(find);
    engine.circle = Py_NewRef(circle);
    engine.one_keys = Py_NewRef(one);
    engine.root_bits = roots;
    engine.grad_bits = grad;
    engine.leaf = (PyTypeObject *)Py_NewRef(leaf);
    Py_RETURN_NONE;
}
