/* fedlane data stats: how the data lie on the devices. */
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/commands.h"
#include "cli/data/data_file.h"
#include "cli/data/data_plot.h"
#include "cli/data/data_stats.h"
#include "cli/out_file.h"
#include "cli/plot/gnuplot.h"
#include "cli/print.h"
#include "common/base/limits.h"
#include "common/base/str.h"

#define COUNT(a)    (sizeof(a) / sizeof *(a))
#define SCRIPT_MAX  (256 * MIB)
#define FEW         20 /* rows of a table without --all */
#define BAR_WIDTH   16
#define LABELS_SIZE 80

static const struct table_column summary[] = {
    {"name", "name", CELL_TEXT, 0},
    {"source", "source", CELL_TEXT, 0},
    {"partition", "partition", CELL_TEXT, 0},
    {"seed", "seed", CELL_TEXT, 0},
    {"devices", "devices", CELL_TEXT, 0},
    {"examples", "examples_text", CELL_TEXT, 0},
    {"features", "features_text", CELL_TEXT, 0},
    {"vocabulary", "vocabulary_text", CELL_TEXT, 0},
    {"classes", "classes", CELL_TEXT, 0},
    {"examples per device", "sizes_text", CELL_TEXT, 0},
    {"labels per device", "labels_text", CELL_TEXT, 0},
};
static const struct table_column class_columns[] = {
    {"class", "label", CELL_COUNT, 0},
    {"examples", "examples", CELL_COUNT, 0},
    {"devices", "devices", CELL_COUNT, 0},
    {"", "bar", CELL_TEXT, 0},
};
static const struct table_column device_columns[] = {
    {"device", "ordinal", CELL_COUNT, 0},     {"train", "train", CELL_COUNT, 0},
    {"test", "test", CELL_COUNT, 0},          {"", "bar", CELL_TEXT, BAR_WIDTH},
    {"labels", "label_counts", CELL_TEXT, 0},
};
/* Where the source gives the devices names. */
static const struct table_column named_columns[] = {
    {"device", "ordinal", CELL_COUNT, 0}, {"name", "name", CELL_TEXT, 0},
    {"train", "train", CELL_COUNT, 0},    {"test", "test", CELL_COUNT, 0},
    {"", "bar", CELL_TEXT, BAR_WIDTH},    {"labels", "label_counts", CELL_TEXT, 0},
};

/* -- small texts ----------------------------------------------------------------------------------------- */

static bool has_utf8(void)
{
    (void)setlocale(LC_CTYPE, "");
    return str_eq(nl_langinfo(CODESET), "UTF-8");
}

/* In eighths of a cell where the terminal has them. */
static json_t *bar_of(int64_t n, int64_t most, bool utf8)
{
    char text[BAR_WIDTH * 3 + 4] = "";
    size_t len = 0;
    int eighths = most > 0 ? (int)(8.0 * BAR_WIDTH * (double)n / (double)most + 0.5) : 0;
    if (n > 0 && eighths == 0)
        eighths = 1;
    for (; eighths > 0; eighths -= 8) {
        if (utf8)
            /* U+2588 is a full block, U+2589 to U+258F have an eighth less each. */
            len += (size_t)snprintf(text + len, sizeof text - len, "\xe2\x96%c",
                                    (char)(eighths >= 8 ? 0x88 : 0x90 - eighths));
        else
            text[len++] = eighths >= 4 ? '#' : '.';
    }
    return json_string(text);
}

/* "0:5 3:12", cut where it gets too long for a line. */
static json_t *label_counts_text(const json_t *labels)
{
    char text[LABELS_SIZE + 32] = "";
    size_t len = 0, shown = 0;
    const char *label;
    json_t *count;
    json_object_foreach((json_t *)(uintptr_t)labels, label, count)
    {
        if (len > LABELS_SIZE - 16)
            break;
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s:%lld", len ? " " : "", label,
                                (long long)json_integer_value(count));
        shown++;
    }
    if (shown < json_object_size(labels))
        (void)snprintf(text + len, sizeof text - len, " and %zu more", json_object_size(labels) - shown);
    return json_string(text);
}

static bool set(json_t *object, const char *key, json_t *value)
{
    return value && json_object_set_new(object, key, value) == 0;
}

/* -- the table ------------------------------------------------------------------------------------------- */

struct stats {
    struct cli *cli;
    struct data_file file;
    struct data_stats s;
    json_t *json; /* the summary */
    bool utf8;
};

/* "784", or "25 x 300" where an example has more than one dimension. */
static json_t *features_text(const struct dataset *d)
{
    char text[200] = "";
    size_t len = 0;
    int64_t shape[LIMIT_TENSOR_DIMS];
    const int dims = dataset_input(d, shape);
    for (int i = 0; i < dims && len < sizeof text; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%lld", i ? " x " : "", (long long)shape[i]);
    return json_string(text);
}

static size_t num_characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* As JSON writes it, in one line and to be copied; false: no memory. */
static bool add_vocabulary(json_t *shown, const struct dataset *d)
{
    json_t *vocabulary = json_object_get(shown, "vocabulary");
    char *text = vocabulary ? json_dumps(vocabulary, JSON_ENCODE_ANY) : NULL;
    const bool ok =
        !vocabulary || (text && set(shown, "vocabulary_text",
                                    json_sprintf("%zu: %s", num_characters(dataset_vocabulary(d)), text)));
    free(text);
    return ok;
}

static enum err print_summary(struct stats *t)
{
    const struct data_stats *s = &t->s;
    json_t *shown = json_copy(t->json);
    bool ok =
        shown && set(shown, "features_text", features_text(t->file.set)) &&
        add_vocabulary(shown, t->file.set) &&
        set(shown, "examples_text",
            json_sprintf("%lld: %lld train, %lld test", (long long)(s->train + s->test), (long long)s->train,
                         (long long)s->test)) &&
        set(shown, "sizes_text",
            json_sprintf("mean %.1f, sd %.1f (population), min %lld, median %.10g, max %lld", s->mean, s->sd,
                         (long long)s->min, s->median, (long long)s->max)) &&
        set(shown, "labels_text", json_sprintf("%.2f of %d, on average", s->mean_labels, s->num_classes));
    if (ok)
        table_print_object(stdout, summary, COUNT(summary), shown);
    json_decref(shown);
    return ok ? ERR_OK : ERR_NO_MEMORY;
}

static void print_more(const char *what, size_t shown, size_t all)
{
    if (shown < all)
        (void)printf("... and %zu more %s; --all shows them\n", all - shown, what);
}

static size_t num_shown(const struct stats *t, size_t all)
{
    return t->cli->options.all || all <= FEW ? all : FEW;
}

static enum err print_classes(struct stats *t)
{
    json_t *all = json_object_get(t->json, "per_class"), *shown = json_array();
    const size_t n = num_shown(t, json_array_size(all));
    int64_t most = 0;
    bool ok = shown != NULL;
    for (int c = 0; c < t->s.num_classes; c++)
        most = t->s.class_examples[c] > most ? t->s.class_examples[c] : most;
    for (size_t c = 0; ok && c < n; c++) {
        json_t *row = json_copy(json_array_get(all, c));
        ok = row && set(row, "bar", bar_of(t->s.class_examples[c], most, t->utf8));
        ok = json_array_append_new(shown, row) == 0 && ok;
    }
    if (ok) {
        (void)puts("");
        table_print(stdout, class_columns, COUNT(class_columns), shown);
        print_more("classes", n, json_array_size(all));
    }
    json_decref(shown);
    return ok ? ERR_OK : ERR_NO_MEMORY;
}

static enum err print_devices(struct stats *t)
{
    const struct dataset *d = t->file.set;
    const size_t n = num_shown(t, t->s.num_devices);
    json_t *shown = json_array();
    bool ok = shown != NULL, has_names = false;
    for (size_t k = 0; ok && k < n; k++) {
        json_t *row = data_device_json(d, k);
        has_names = has_names || *dataset_device(d, k)->name;
        ok = row && set(row, "bar", bar_of(t->s.sizes[k], t->s.max, t->utf8)) &&
             set(row, "label_counts", label_counts_text(json_object_get(row, "labels")));
        ok = json_array_append_new(shown, row) == 0 && ok;
    }
    if (ok) {
        (void)puts("");
        if (has_names)
            table_print(stdout, named_columns, COUNT(named_columns), shown);
        else
            table_print(stdout, device_columns, COUNT(device_columns), shown);
        print_more("devices", n, t->s.num_devices);
    }
    json_decref(shown);
    return ok ? ERR_OK : ERR_NO_MEMORY;
}

/* -- JSON ------------------------------------------------------------------------------------------------ */

/* A line per device, then the summary; each says which it is. */
static enum err print_lines(struct stats *t)
{
    enum err e = ERR_OK;
    for (size_t k = 0; k < t->s.num_devices && !e; k++) {
        json_t *row = data_device_json(t->file.set, k);
        e = row && set(row, "type", json_string("device")) ? print_json(t->cli, row) : ERR_NO_MEMORY;
        json_decref(row);
    }
    if (!e && !set(t->json, "type", json_string("summary")))
        e = ERR_NO_MEMORY;
    return e ? e : print_json(t->cli, t->json);
}

static enum err print_document(struct stats *t)
{
    json_t *devices = json_array();
    bool ok = devices != NULL;
    for (size_t k = 0; ok && k < t->s.num_devices; k++)
        ok = json_array_append_new(devices, data_device_json(t->file.set, k)) == 0;
    json_t *all = ok ? json_pack("{s:O, s:O}", "summary", t->json, "devices", devices) : NULL;
    enum err e = all ? print_json(t->cli, all) : ERR_NO_MEMORY;
    json_decref(all);
    json_decref(devices);
    return e;
}

static enum err print_all(struct stats *t)
{
    if (t->cli->format == FORMAT_JSONL)
        return print_lines(t);
    if (t->cli->format == FORMAT_JSON)
        return print_document(t);
    enum err e = print_summary(t);
    if (!e)
        e = print_classes(t);
    return e ? e : print_devices(t);
}

/* -- the command ----------------------------------------------------------------------------------------- */

static enum err draw(struct stats *t, enum picture picture)
{
    struct cli *cli = t->cli;
    struct buf script = BUF_INIT(SCRIPT_MAX);
    struct out_file file = OUT_FILE_INIT;
    enum err e = data_plot_script(picture, t->file.set, &t->s, &script);
    if (!e)
        e = out_file_open(&file, cli->options.plot, &cli->fault);
    if (!e)
        e = gnuplot_run(&script, file.fd, &cli->fault);
    if (!e)
        e = out_file_commit(&file, &cli->fault);
    out_file_release(&file);
    buf_release(&script);
    if (!e && cli->format == FORMAT_TABLE)
        (void)printf("\n%s\n", cli->options.plot);
    return e;
}

/* Also what the file said, as far as it is one word. */
static enum err make_summary(struct stats *t)
{
    json_t *partition = json_object_get(t->file.data, "partition");
    t->json = data_stats_json(&t->s, t->file.set);
    bool ok = t->json && json_object_set(t->json, "source", json_object_get(t->file.data, "source")) == 0 &&
              set(t->json, "seed", json_integer(t->file.seed)) &&
              (!partition || json_object_set(t->json, "partition", partition) == 0);
    return ok ? ERR_OK : ERR_NO_MEMORY;
}

enum err cmd_data_stats(struct cli *cli)
{
    struct stats t = {.cli = cli, .utf8 = has_utf8()};
    enum picture picture = PICTURE_SVG;
    enum err e = cli->options.plot ? picture_of(cli->options.plot, &picture, &cli->fault) : ERR_OK;
    if (!e)
        e = data_file_load(cli, &t.file);
    if (!e)
        e = data_stats_init(&t.s, t.file.set);
    if (!e)
        e = make_summary(&t);
    if (!e)
        e = print_all(&t);
    if (!e && cli->options.plot)
        e = draw(&t, picture);
    json_decref(t.json);
    data_stats_release(&t.s);
    data_file_release(&t.file);
    return cli_fail(cli, e, "data stats");
}
