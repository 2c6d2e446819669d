/* The header of a .npy file: magic, version, length, and a Python dictionary as text, like
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } */
#include "common/data/npy.h"

#include <stdio.h>
#include <string.h>
#include "common/base/str.h"
#include "common/data/npy_impl.h"

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [NPY_BOOL] = {"|b1", 1}, [NPY_U8] = {"|u1", 1},  [NPY_U16] = {"<u2", 2}, [NPY_U32] = {"<u4", 4},
    [NPY_U64] = {"<u8", 8},  [NPY_I8] = {"|i1", 1},  [NPY_I16] = {"<i2", 2}, [NPY_I32] = {"<i4", 4},
    [NPY_I64] = {"<i8", 8},  [NPY_F16] = {"<f2", 2}, [NPY_F32] = {"<f4", 4}, [NPY_F64] = {"<f8", 8},
};

const char *npy_type_name(enum npy_type type)
{
    return types[type].name;
}

size_t npy_type_bytes(enum npy_type type)
{
    return types[type].bytes;
}

bool npy_type_is_float(enum npy_type type)
{
    return type == NPY_F16 || type == NPY_F32 || type == NPY_F64;
}

size_t npy_header(enum npy_type type, int num_dims, const size_t *dims, char out[NPY_HEADER_MAX])
{
    static const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
    char *text = out + sizeof magic + 2;
    size_t len = 0, room = NPY_HEADER_MAX - sizeof magic - 2;
    memcpy(out, magic, sizeof magic);
    len +=
        (size_t)snprintf(text, room, "{'descr': '%s', 'fortran_order': False, 'shape': (", types[type].name);
    for (int i = 0; i < num_dims; i++)
        len += (size_t)snprintf(text + len, room - len, i + 1 < num_dims ? "%zu, " : "%zu%s", dims[i],
                                num_dims == 1 ? "," : "");
    len += (size_t)snprintf(text + len, room - len, "), }");
    while ((sizeof magic + 2 + len + 1) % 64 != 0)
        text[len++] = ' ';
    text[len++] = '\n';
    out[sizeof magic] = (char)(len & 0xff);
    out[sizeof magic + 1] = (char)(len >> 8);
    return sizeof magic + 2 + len;
}

/* -- reading the dictionary ------------------------------------------------------------------------------ */

struct cursor {
    const struct npy *file; /* what faults name */
    const char *start, *at; /* a text with a NUL at its end */
    uint64_t offset;        /* of start in the file */
    struct fault *fault;
};

static enum err refuse(const struct cursor *c, const char *what)
{
    return npy_fault(c->file, c->offset + (uint64_t)(c->at - c->start), c->fault, "%s", what);
}

static enum err broken(const struct cursor *c)
{
    return refuse(c, "the header is no description of an array, such as {'descr': '<f4', "
                     "'fortran_order': False, 'shape': (3, 4), }");
}

static void skip_blanks(struct cursor *c)
{
    while (*c->at == ' ' || *c->at == '\n')
        c->at++;
}

static bool take(struct cursor *c, const char *word)
{
    skip_blanks(c);
    if (!str_has_prefix(c->at, word))
        return false;
    c->at += strlen(word);
    return true;
}

static bool take_text(struct cursor *c, char *out, size_t room)
{
    skip_blanks(c);
    const char quote = *c->at;
    if (quote != '\'' && quote != '"')
        return false;
    const char *first = c->at + 1, *last = strchr(first, quote);
    if (!last || (size_t)(last - first) >= room)
        return false;
    memcpy(out, first, (size_t)(last - first));
    out[last - first] = '\0';
    c->at = last + 1;
    return true;
}

static enum err take_type(struct cursor *c, struct npy *out)
{
    char name[16];
    skip_blanks(c);
    if (*c->at == '[')
        return refuse(c, "records with named fields are not read; save the numbers as one array, such as "
                         "numpy.column_stack(...)");
    if (!take_text(c, name, sizeof name))
        return broken(c);
    for (int type = 0; type < NPY_TYPE_COUNT; type++)
        if (strcmp(name, types[type].name) == 0 ||
            (name[0] == '|' && strcmp(name + 1, types[type].name + 1) == 0) ||
            (name[0] == '<' && types[type].bytes == 1 && strcmp(name + 1, types[type].name + 1) == 0)) {
            out->type = (enum npy_type)type;
            return ERR_OK;
        }
    char text[200];
    const char *why = "elements of this type are not read; convert them with .astype(\"<f4\") before saving";
    if (name[0] && name[1] == 'O')
        why = "Python objects are never read, because they are programs; convert the array with "
              ".astype(\"<f4\") before saving";
    else if (name[0] == '>')
        why = "big-endian numbers are not read; convert them with .astype(\"<f4\") before saving, labels "
              "with .astype(\"<i8\")";
    (void)snprintf(text, sizeof text, "type '%s': %s", name, why);
    return refuse(c, text);
}

static bool take_size(struct cursor *c, size_t *out)
{
    size_t value = 0;
    skip_blanks(c);
    if (*c->at < '0' || *c->at > '9')
        return false;
    for (; *c->at >= '0' && *c->at <= '9'; c->at++) {
        const size_t digit = (size_t)(*c->at - '0');
        value = value > (SIZE_MAX - digit) / 10 ? SIZE_MAX : value * 10 + digit;
    }
    *out = value;
    return true;
}

static enum err take_shape(struct cursor *c, struct npy *out)
{
    out->num_dims = 0;
    out->num_items = 1;
    if (!take(c, "("))
        return broken(c);
    while (!take(c, ")")) {
        size_t size;
        if (out->num_dims == LIMIT_TENSOR_DIMS)
            return refuse(c, "an array of more than 8 dimensions");
        if (!take_size(c, &size))
            return broken(c);
        if (size == 0)
            return refuse(c, "a size of the array is 0, so the file holds nothing");
        out->num_items = out->num_items > SIZE_MAX / size ? SIZE_MAX : out->num_items * size;
        out->dims[out->num_dims++] = size;
        if (!take(c, ",") && *c->at != ')')
            return broken(c);
    }
    return ERR_OK;
}

enum err npy_parse_header(const char *text, uint64_t offset, struct npy *out, struct fault *fault)
{
    struct cursor c = {.file = out, .start = text, .at = text, .offset = offset, .fault = fault};
    bool has_type = false, has_order = false, has_shape = false;
    enum err err = take(&c, "{") ? ERR_OK : broken(&c);
    while (err == ERR_OK && !take(&c, "}")) {
        char key[32];
        if (!take_text(&c, key, sizeof key) || !take(&c, ":"))
            return broken(&c);
        if (str_eq(key, "descr") && !has_type) {
            has_type = true;
            err = take_type(&c, out);
        } else if (str_eq(key, "fortran_order") && !has_order) {
            has_order = true;
            out->is_fortran = take(&c, "True");
            if (!out->is_fortran && !take(&c, "False"))
                return broken(&c);
        } else if (str_eq(key, "shape") && !has_shape) {
            has_shape = true;
            err = take_shape(&c, out);
        } else {
            return broken(&c);
        }
        if (err == ERR_OK && !take(&c, ",") && *c.at != '}')
            return broken(&c);
    }
    if (err != ERR_OK)
        return err;
    skip_blanks(&c);
    return *c.at == '\0' && has_type && has_order && has_shape ? ERR_OK : broken(&c);
}
