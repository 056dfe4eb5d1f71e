/* A target of Opwright as a program: a header in C that lists operators.
 *
 * It reads a declared set, as JSON, from standard input, and prints {"files": {PATH: TEXT}} or {"errors": [...]}. Texts
 * are kept as JSON escapes them, and are printed so: the program need not decode them. */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value {
    char kind;           /* one of { [ " 0 (all other values) */
    const char *key;     /* in an object; else NULL */
    const char *text;    /* a string as it is escaped, or the characters of a number or word */
    struct value *items; /* the first one */
    struct value *next;
};

static void fail(const char *why) {
    fprintf(stderr, "c_header: %s\n", why);
    exit(2);
}

static void *allocated(size_t size) {
    void *made = calloc(1, size);
    if (made == NULL) fail("out of memory");
    return made;
}

static char *copied(const char *start, const char *end) {
    char *made = allocated((size_t)(end - start) + 1);
    memcpy(made, start, (size_t)(end - start));
    return made;
}

static char *all_input(void) {
    size_t size = 0, room = 1 << 16;
    char *text = allocated(room + 1);
    for (size_t got; (got = fread(text + size, 1, room - size, stdin)) > 0;) {
        size += got;
        if (size == room) {
            text = realloc(text, (room *= 2) + 1);
            if (text == NULL) fail("out of memory");
        }
    }
    text[size] = '\0';
    return text;
}

static const char *after_spaces(const char *at) {
    while (isspace((unsigned char)*at)) at++;
    return at;
}

static const char *read_text(const char *at, const char **text) {
    const char *start = ++at;
    for (; *at != '"'; at++) {
        if (*at == '\\') at++;
        if (*at == '\0') fail("a string of the declared set does not end");
    }
    *text = copied(start, at);
    return at + 1;
}

static const char *read_value(const char *at, struct value *found) {
    at = after_spaces(at);
    found->kind = *at;
    if (*at == '"') return read_text(at, &found->text);
    if (*at != '{' && *at != '[') {
        const char *start = at;
        while (*at != '\0' && strchr(",]} \t\r\n", *at) == NULL) at++;
        if (at == start) fail("a value of the declared set is missing");
        found->kind = '0';
        found->text = copied(start, at);
        return at;
    }
    char end = *at == '{' ? '}' : ']';
    struct value **place = &found->items;
    for (at = after_spaces(at + 1); *at != end; at = after_spaces(at)) {
        struct value *item = *place = allocated(sizeof *item);
        if (end == '}') {
            if (*at != '"') fail("a key of the declared set is no string");
            at = after_spaces(read_text(at, &item->key));
            if (*at++ != ':') fail("a key of the declared set has no value");
        }
        at = after_spaces(read_value(at, item));
        place = &item->next;
        if (*at == ',') at++;
        else if (*at != end) fail("the declared set ends too early");
    }
    return at + 1;
}

static struct value *get(const struct value *object, const char *key) {
    for (struct value *item = object->items; item != NULL; item = item->next)
        if (item->key != NULL && strcmp(item->key, key) == 0) return item;
    fail("the declared set lacks a field: is it of another format?");
    return NULL;
}

static int count(const struct value *list) {
    int found = 0;
    for (const struct value *item = list->items; item != NULL; item = item->next) found++;
    return found;
}

/* Print the name of an operator as C can spell it: add.Tensor is add_Tensor. */
static void print_name(const struct value *operator) {
    const char *overload = get(operator, "overload")->text;
    printf("%s%s%s", get(operator, "base")->text, *overload ? "_" : "", overload);
}

/* Print an error for each operator whose name is kept for C; return how many there are. */
static int print_errors(const struct value *operators) {
    int errors = 0;
    for (const struct value *each = operators->items; each != NULL; each = each->next) {
        const struct value *place = get(each, "location");
        if (strncmp(get(each, "base")->text, "__", 2) != 0) continue;
        printf("%s{\"message\": \"%s: C keeps names that begin with two underscores\", ", errors++ ? ", " : "{\"errors\": [",
               get(each, "name")->text);
        printf("\"file\": \"%s\", \"line\": %s, \"column\": %s, \"hint\": \"rename the operator\"}",
               get(place, "file")->text, get(place, "line")->text, get(place, "column")->text);
    }
    if (errors) puts("]}");
    return errors;
}

int main(void) {
    struct value declared = {0};
    read_value(all_input(), &declared);
    if (strcmp(get(&declared, "format")->text, "1") != 0) fail("the declared set is of a newer format");
    const char *namespace = get(&declared, "namespace")->text;
    const struct value *operators = get(&declared, "operators");
    if (print_errors(operators)) return 1;
    printf("{\"files\": {\"include/%s_operators.h\": \"", namespace);
    printf("/* Operators of %s: X(name, operator, arguments, results). Made by c_header. */\\n", namespace);
    printf("#pragma once\\n\\n#define %s_OPERATORS(X)", namespace);
    for (const struct value *each = operators->items; each != NULL; each = each->next) {
        printf(" \\\\\\n    X(");
        print_name(each);
        printf(", \\\"%s\\\", %d, %d)", get(each, "name")->text, count(get(each, "arguments")), count(get(each, "returns")));
    }
    printf("\\n\"}}\n");
    return 0;
}
