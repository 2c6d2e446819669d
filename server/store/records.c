#include "server/store/records.h"
#include <math.h>
#include <string.h>

/* A column list does not know its struct, so the struct's name is set around each. */
#define COLUMN_T(field) {#field, COLUMN_TEXT, offsetof(struct THIS_ROW, field)},
#define COLUMN_I(field) {#field, COLUMN_INT, offsetof(struct THIS_ROW, field)},
#define COLUMN_R(field) {#field, COLUMN_REAL, offsetof(struct THIS_ROW, field)},

#define THIS_ROW experiment_row
static const struct record_column experiment_row_list[] = {EXPERIMENT_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW run_row
static const struct record_column run_row_list[] = {RUN_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW run_device_row
static const struct record_column run_device_row_list[] = {RUN_DEVICE_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW round_row
static const struct record_column round_row_list[] = {ROUND_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW task_row
static const struct record_column task_row_list[] = {TASK_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW update_row
static const struct record_column update_row_list[] = {UPDATE_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW update_report_row
static const struct record_column update_report_row_list[] = {
    UPDATE_REPORT_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW upload_row
static const struct record_column upload_row_list[] = {UPLOAD_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW model_row
static const struct record_column model_row_list[] = {MODEL_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW device_row
static const struct record_column device_row_list[] = {DEVICE_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW device_label_row
static const struct record_column device_label_row_list[] = {
    DEVICE_LABEL_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW worker_row
static const struct record_column worker_row_list[] = {WORKER_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW token_row
static const struct record_column token_row_list[] = {TOKEN_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW idempotency_row
static const struct record_column idempotency_row_list[] = {
    IDEMPOTENCY_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW event_row
static const struct record_column event_row_list[] = {EVENT_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW metric_row
static const struct record_column metric_row_list[] = {METRIC_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW
#define THIS_ROW audit_row
static const struct record_column audit_row_list[] = {AUDIT_COLUMNS(COLUMN_T, COLUMN_I, COLUMN_R)};
#undef THIS_ROW

const struct record_type record_types[RECORD_COUNT] = {
#define X(kind, row, table, columns, keys)                                                                   \
    [RECORD_##kind] = {table, sizeof(struct row), keys, row##_list, sizeof row##_list / sizeof row##_list[0]},
    RECORD_TABLE(X)
#undef X
};

void record_init(enum record_kind kind, void *row)
{
    const struct record_type *t = &record_types[kind];
    memset(row, 0, t->row_size);
    for (size_t i = 0; i < t->num_columns; i++) {
        void *field = (char *)row + t->columns[i].offset;
        if (t->columns[i].type == COLUMN_TEXT)
            *(const char **)field = "";
        else if (t->columns[i].type == COLUMN_REAL)
            *(double *)field = NAN;
    }
}
