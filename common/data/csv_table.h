/* CSV files as examples: which column is what, and the rows into a collector. */
#ifndef FEDLANE_DATA_CSV_TABLE_H
#define FEDLANE_DATA_CSV_TABLE_H

#include <jansson.h>
#include "common/data/classes.h"
#include "common/data/collector.h"
#include "common/data/words.h"
#include "common/json/json_spec.h"

/* The fields of CSV files that sources share. */
struct csv_fields {
    const char *label, *device, *delimiter; /* device NULL: no column names owners */
    const char *text;                       /* the column of texts; NULL: features are numbers */
    json_t *features;                       /* NULL: all columns but label and device */
    struct words *words;                    /* what takes the texts; borrowed; none of the fields */
};

/* Columns: the same in all files of a source. */
struct csv_layout {
    const struct csv_fields *fields;
    char delimiter;
    struct name_table columns;
    const char *first_file; /* whose header is the layout; borrowed; NULL before it was read */
    int32_t *roles;         /* [columns.count]: the feature's number, or one of those in csv_table.c */
    size_t num_features;
};

/* Checks the fields. */
enum err csv_layout_init(const struct csv_fields *fields, struct csv_layout *out,
                         struct fault *fault) MUST_CHECK;
void csv_layout_release(struct csv_layout *l); /* also of a zeroed one */

/* Whose rows a file holds. */
struct csv_target {
    size_t device; /* all of it, or CSV_BY_COLUMN */
    enum data_split split;
};
#define CSV_BY_COLUMN SIZE_MAX

/* All rows of a file into the collector. A device that only test rows have is refused. ERR_BAD_FILE names
 * file, line and column. `path` is borrowed as long as the layout lives. */
enum err csv_read(const char *path, const char *field, const struct csv_target *target,
                  struct csv_layout *layout, struct classes *classes, struct collector *out,
                  struct fault *fault) MUST_CHECK;

#endif
