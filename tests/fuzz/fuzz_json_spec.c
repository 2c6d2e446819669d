/* JSON texts and field tables: what is parsed prints to a text that parses to the same; what a table takes is
 * within the table's bounds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/json/json_emit.h"
#include "common/json/json_num.h"
#include "common/json/json_spec.h"
#include "tests/fuzz/fuzz.h"

static const char *const colours[] = {"red", "green", "blue", NULL};

struct fields {
    int64_t count, whole;
    double ratio, any_number;
    bool flag, has_count;
    const char *name, *text;
    int colour;
    json_t *object, *array, *any;
};

static const struct json_field table[] = {
    JSON_FIELD(struct fields, whole, JSON_FIELD_INT, .is_required = true),
    {.name = "count",
     .kind = JSON_FIELD_INT,
     .offset = offsetof(struct fields, count),
     .min = -3,
     .max = 9007199254740993.0,
     .is_set_offset = offsetof(struct fields, has_count)},
    JSON_FIELD(struct fields, ratio, JSON_FIELD_DOUBLE, .min = 0.5, .max = INFINITY),
    JSON_FIELD(struct fields, any_number, JSON_FIELD_DOUBLE),
    JSON_FIELD(struct fields, flag, JSON_FIELD_BOOL, .allow_null = true),
    JSON_FIELD(struct fields, name, JSON_FIELD_TEXT, .min = 2, .max = 10),
    JSON_FIELD(struct fields, text, JSON_FIELD_TEXT),
    JSON_FIELD(struct fields, colour, JSON_FIELD_CHOICE, .choices = colours),
    JSON_FIELD(struct fields, object, JSON_FIELD_OBJECT, .allow_null = true),
    JSON_FIELD(struct fields, array, JSON_FIELD_ARRAY, .min = 1, .max = 3),
    JSON_FIELD(struct fields, any, JSON_FIELD_ANY),
};

static void prove_within(const struct fields *f)
{
    PROVE(!f->has_count || f->count >= -3);
    PROVE(f->ratio >= 0.5 && isfinite(f->any_number) && isfinite(f->ratio));
    PROVE(!f->name || (strlen(f->name) >= 2 && strlen(f->name) <= 10));
    PROVE(!f->text || (strlen(f->text) <= LIMIT_TEXT && utf8_is_valid(f->text, strlen(f->text))));
    PROVE(f->colour >= 0 && f->colour < 3);
    PROVE(!f->object || json_is_object(f->object));
    PROVE(!f->array || (json_array_size(f->array) >= 1 && json_array_size(f->array) <= 3));
}

static void parse_fields(const json_t *doc, enum json_unknown unknown)
{
    struct arena arena = ARENA_INIT(MIB);
    struct fields f = {.ratio = 1};
    struct fault fault = FAULT_NONE;
    enum err e =
        json_spec_parse(doc, table, sizeof table / sizeof *table, unknown, "doc.", &arena, &f, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(e == ERR_OK || e == ERR_INVALID_FIELD || e == ERR_MISSING_FIELD ||
          (e == ERR_UNKNOWN_FIELD && unknown == JSON_REFUSE_UNKNOWN));
    PROVE(e == ERR_OK || str_has_prefix(fault.field, "doc"));
    if (!e)
        prove_within(&f);
    arena_release(&arena);
}

static void prove_same_again(const json_t *doc, const char *text)
{
    json_t *again = NULL;
    char *text_again = NULL;
    struct fault fault = FAULT_NONE;
    PROVE(json_text_parse(text, strlen(text), &again, &fault) == ERR_OK);
    PROVE(json_equal(doc, again));
    PROVE(json_text(again, &text_again) == ERR_OK && strcmp(text, text_again) == 0);
    free(text_again);
    json_decref(again);
}

/* Our own writer gives what Jansson's gives. */
static void prove_same_writer(const json_t *doc, bool is_sorted)
{
    struct buf out = BUF_INIT(16 * MIB);
    char *text = json_dumps(doc, JSON_COMPACT | JSON_ENCODE_ANY | (is_sorted ? JSON_SORT_KEYS : 0));
    PROVE(text && !json_emit(doc, is_sorted, &out));
    PROVE(strcmp(text, out.data) == 0);
    buf_release(&out);
    free(text);
}

static size_t depth_of(json_t *value)
{
    size_t most = 0, i;
    const char *key;
    json_t *member;
    json_object_foreach(value, key, member)
    {
        size_t d = depth_of(member);
        most = d > most ? d : most;
    }
    json_array_foreach(value, i, member)
    {
        size_t d = depth_of(member);
        most = d > most ? d : most;
    }
    return most + (json_is_object(value) || json_is_array(value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *doc = NULL;
    char *text = NULL;
    struct fault fault = FAULT_NONE;
    enum err e = json_text_parse((const char *)data, size, &doc, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(e == ERR_OK || e == ERR_MALFORMED_JSON);
    if (e)
        return 0;
    double number;
    PROVE(depth_of(doc) <= LIMIT_JSON_DEPTH);
    PROVE(json_num_read(doc, &number) == ERR_OK || !json_is_number(doc));
    if (!json_text(doc, &text))
        prove_same_again(doc, text);
    free(text);
    prove_same_writer(doc, true);
    prove_same_writer(doc, false);
    parse_fields(doc, JSON_REFUSE_UNKNOWN);
    parse_fields(doc, JSON_IGNORE_UNKNOWN);
    json_decref(doc);
    return 0;
}
