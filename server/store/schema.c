#include "server/store/schema.h"
#include <pthread.h>
#include <string.h>

/* The lists as written, with columns by name; resolved once. */
struct condition_text {
    const char *column;
    enum query_op op;
    bool is_optional;
};
struct order_text {
    const char *column;
    bool is_descending;
};
struct query_text {
    const char *name;
    enum record_kind kind;
    struct condition_text conditions[SCHEMA_MAX_COLUMNS];
    struct order_text order[SCHEMA_MAX_COLUMNS];
};
struct unique_text {
    enum record_kind kind;
    const char *columns[SCHEMA_MAX_COLUMNS];
    const char *where_zero;
};

#define LIST(...)     __VA_ARGS__
#define C(column, op) {#column, QUERY_##op, false},
#define O(column, op) {#column, QUERY_##op, true},
#define ASC(column)   {#column, false},
#define DESC(column)  {#column, true},
static const struct query_text query_texts[QUERY_COUNT] = {
#define Q(name, kind, conditions, order)                                                                     \
    [QUERY_##name] = {#name, RECORD_##kind, {LIST conditions}, {LIST order}},
    /* cppcheck-suppress syntaxError */
    QUERY_TABLE(Q)
#undef Q
};

#define K(column) #column,
#define W(column) #column
#define ALL_ROWS  NULL
static const struct unique_text unique_texts[] = {
#define U(kind, columns, where) {RECORD_##kind, {LIST columns}, where},
    UNIQUE_TABLE(U)
#undef U
};
#define NUM_UNIQUES (sizeof unique_texts / sizeof unique_texts[0])

struct fixed_text {
    enum record_kind kind;
    const char *columns[SCHEMA_MAX_COLUMNS];
};
static const struct fixed_text fixed_texts[] = {
#define F(kind, columns) {RECORD_##kind, {LIST columns}},
    FIXED_TABLE(F)
#undef F
};

#define MAX_RECORD_COLUMNS 64

static bool is_fixed[RECORD_COUNT][MAX_RECORD_COLUMNS];
static struct query_type queries[QUERY_COUNT];
static struct unique_type uniques[NUM_UNIQUES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct record_column *column_named(enum record_kind kind, const char *name)
{
    const struct record_type *t = &record_types[kind];
    for (size_t i = 0; i < t->num_columns; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return &t->columns[i];
    bug("the store's tables name the column %s.%s, which records.h does not have", t->table, name);
}

static bool names_column(const struct query_text *text, const char *name)
{
    for (size_t i = 0; i < SCHEMA_MAX_COLUMNS; i++) {
        const struct condition_text *c = &text->conditions[i];
        if (c->column && c->op == QUERY_EQ && !c->is_optional && strcmp(c->column, name) == 0)
            return true;
        if (text->order[i].column && strcmp(text->order[i].column, name) == 0)
            return true;
    }
    return false;
}

static void add_order(struct query_type *q, const struct record_column *column)
{
    if (q->num_order == SCHEMA_MAX_COLUMNS)
        bug("query %s has too many columns in its order", q->name);
    q->order[q->num_order++] = column;
}

static void resolve_query(const struct query_text *text, struct query_type *q)
{
    *q = (struct query_type){
        .name = text->name, .kind = text->kind, .is_descending = text->order[0].is_descending};
    for (size_t i = 0; i < SCHEMA_MAX_COLUMNS && text->conditions[i].column; i++) {
        const struct condition_text *c = &text->conditions[i];
        const struct record_column *column = column_named(text->kind, c->column);
        q->conditions[q->num_conditions++] = (struct query_condition){column, c->op, c->is_optional};
    }
    for (size_t i = 0; i < SCHEMA_MAX_COLUMNS && text->order[i].column; i++) {
        if (text->order[i].is_descending != q->is_descending)
            bug("query %s orders some columns up and some down", q->name);
        add_order(q, column_named(text->kind, text->order[i].column));
    }
    const struct record_type *t = &record_types[text->kind];
    for (size_t i = 0; i < t->num_keys; i++)
        if (!names_column(text, t->columns[i].name))
            add_order(q, &t->columns[i]);
}

static void resolve_unique(const struct unique_text *text, struct unique_type *u)
{
    *u = (struct unique_type){.kind = text->kind};
    while (u->num_columns < SCHEMA_MAX_COLUMNS && text->columns[u->num_columns]) {
        u->columns[u->num_columns] = column_named(text->kind, text->columns[u->num_columns]);
        u->num_columns++;
    }
    if (text->where_zero)
        u->where_zero = column_named(text->kind, text->where_zero);
    if (u != uniques && u[-1].kind > u->kind)
        bug("UNIQUE_TABLE is not in the order of the records");
}

static void resolve_fixed(const struct fixed_text *text)
{
    for (size_t i = 0; i < SCHEMA_MAX_COLUMNS && text->columns[i]; i++) {
        const struct record_column *c = column_named(text->kind, text->columns[i]);
        size_t place = (size_t)(c - record_types[text->kind].columns);
        if (place >= MAX_RECORD_COLUMNS)
            bug("the record %s has too many columns", record_types[text->kind].table);
        is_fixed[text->kind][place] = true;
    }
}

static void resolve(void)
{
    for (size_t i = 0; i < sizeof fixed_texts / sizeof fixed_texts[0]; i++)
        resolve_fixed(&fixed_texts[i]);
    for (size_t i = 0; i < QUERY_COUNT; i++)
        resolve_query(&query_texts[i], &queries[i]);
    for (size_t i = 0; i < NUM_UNIQUES; i++)
        resolve_unique(&unique_texts[i], &uniques[i]);
}

const struct query_type *schema_query(enum query q)
{
    (void)pthread_once(&once, resolve);
    return &queries[q];
}

const struct unique_type *schema_uniques(enum record_kind kind, size_t *out_count)
{
    (void)pthread_once(&once, resolve);
    size_t first = 0, n = 0;
    while (first < NUM_UNIQUES && uniques[first].kind != kind)
        first++;
    while (first + n < NUM_UNIQUES && uniques[first + n].kind == kind)
        n++;
    *out_count = n;
    return &uniques[first < NUM_UNIQUES ? first : 0];
}

bool schema_is_fixed(enum record_kind kind, size_t column)
{
    (void)pthread_once(&once, resolve);
    return is_fixed[kind][column];
}

bool schema_numbers_rows(enum record_kind kind)
{
    return record_types[kind].num_keys == 1 && record_types[kind].columns[0].type == COLUMN_INT;
}

void schema_check_args(enum query q, const struct store_value *args, size_t num_args)
{
    const struct query_type *type = schema_query(q);
    if (num_args != type->num_conditions)
        bug("query %s takes %zu values, not %zu", type->name, type->num_conditions, num_args);
    for (size_t i = 0; i < num_args; i++) {
        const struct query_condition *c = &type->conditions[i];
        static const int wanted[] = {
            [COLUMN_TEXT] = VALUE_TEXT, [COLUMN_INT] = VALUE_INT, [COLUMN_REAL] = VALUE_REAL};
        bool is_left_out = args[i].type == VALUE_ANY && c->is_optional;
        if (!is_left_out && (int)args[i].type != wanted[c->column->type])
            bug("query %s: value %zu does not fit the column %s", type->name, i, c->column->name);
        if (args[i].type == VALUE_TEXT && !args[i].text)
            bug("query %s: the text for %s is NULL", type->name, c->column->name);
    }
}

void row_has_null(const struct record_column *c)
{
    bug("the text %s of a row is NULL: record_init was not called", c->name);
}
