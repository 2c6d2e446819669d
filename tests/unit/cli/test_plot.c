#include <string.h>
#include "cli/plot/gnuplot.h"
#include "cli/plot/script.h"
#include "common/base/limits.h"
#include "tests/support/unit.h"

static void ck_quoted(const char *text, const char *expected)
{
    struct buf b = BUF_INIT(1 * KIB);
    ck_assert_int_eq(gnuplot_quote(&b, text), ERR_OK);
    ck_assert_str_eq(b.data, expected);
    buf_release(&b);
}

/* In single quotes gnuplot runs no commands and knows no escapes; a quote is doubled. */
START_TEST(test_quote)
{
    ck_quoted("plain", "'plain'");
    ck_quoted("", "''");
    ck_quoted("it's", "'it''s'");
    ck_quoted("'; system 'rm x", "'''; system ''rm x'");
    ck_quoted("`date` \\n \"x\" @y $z", "'`date` \\n \"x\" @y $z'");
    ck_quoted("two\nlines\r\t", "'two lines  '");
}
END_TEST

static struct arena arena;

static struct series series(const char *json, const char *name, const char *metric)
{
    struct series s;
    json_t *rounds = json_loads(json, 0, NULL);
    ck_assert_ptr_nonnull(rounds);
    ck_assert_int_eq(series_of_rounds(rounds, name, metric, &arena, &s), ERR_OK);
    json_decref(rounds);
    return s;
}

static const char rounds[] =
    "[{\"round\": 0, \"type\": \"train\", \"steps_done\": 5, \"metrics\": {\"train_loss\": 2.5}},"
    " {\"round\": 1, \"type\": \"train\", \"steps_done\": 6, \"metrics\": {}},"
    " {\"round\": 2, \"type\": \"train\", \"steps_done\": 7, \"metrics\": {\"train_loss\": \"NaN\"}},"
    " {\"round\": 3, \"type\": \"final\", \"steps_done\": 0, \"metrics\": {\"train_loss\": 1.25}}]";

START_TEST(test_series_of_rounds)
{
    arena_init(&arena, 1 * MIB);
    struct series loss = series(rounds, "a", "train_loss"), steps = series(rounds, "a", "steps_done");
    ck_assert_uint_eq(loss.num_points, 2);
    ck_assert_int_eq(loss.points[1].round, 3);
    ck_assert(loss.points[1].value > 1.2 && loss.points[1].value < 1.3);
    ck_assert_uint_eq(steps.num_points, 3);
    ck_assert_int_eq(steps.points[2].round, 2);
    arena_release(&arena);
}
END_TEST

static enum err from_csv(const char *text, const char *metric, struct series *out, struct fault *fault)
{
    struct csv csv;
    char *copy = arena_strdup(&arena, text);
    ck_assert_int_eq(csv_parse(copy, &arena, &csv, fault), ERR_OK);
    return series_of_csv(&csv, "file", metric, &arena, out, fault);
}

START_TEST(test_series_of_csv)
{
    static const char wide[] = "round,type,train_loss,steps_done\n0,train,2.5,5\n1,train,,6\n2,final,1.5,0\n";
    static const char points[] = "round,name,ordinal,device_id,value,weight,at\n"
                                 "0,train_loss,,,2.5,10,x\n0,train_loss,3,ab,9,1,x\n0,other,,,7,1,x\n"
                                 "1,train_loss,-1,,1.5,10,x\n";
    struct fault fault = FAULT_NONE;
    struct series s;
    arena_init(&arena, 1 * MIB);
    ck_assert_int_eq(from_csv(wide, "train_loss", &s, &fault), ERR_OK);
    ck_assert_uint_eq(s.num_points, 2);
    ck_assert_int_eq(s.points[1].round, 2);
    ck_assert_int_eq(from_csv(wide, "steps_done", &s, &fault), ERR_OK);
    ck_assert_uint_eq(s.num_points, 2);
    ck_assert_int_eq(from_csv(points, "train_loss", &s, &fault), ERR_OK);
    ck_assert_uint_eq(s.num_points, 2);
    ck_assert(s.points[0].value > 2.4 && s.points[1].value < 1.6);
    ck_assert_int_eq(from_csv(wide, "nothing", &s, &fault), ERR_BAD_FILE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "round, type, train_loss"));
    ck_assert_int_eq(from_csv("a,b\n1,2\n", "b", &s, &fault), ERR_BAD_FILE);
    arena_release(&arena);
}
END_TEST

START_TEST(test_script)
{
    struct buf script = BUF_INIT(1 * MIB);
    arena_init(&arena, 1 * MIB);
    const struct series curves[] = {series(rounds, "it's", "train_loss"), series("[]", "none", "train_loss")};
    const struct series accuracy[] = {
        series("[{\"round\": 4, \"type\": \"train\", \"metrics\": {\"test_accuracy\": 0.5}}]", "x",
               "test_accuracy")};
    const struct panel panels[] = {
        {"train_loss", curves, 2}, {"test_accuracy", accuracy, 1}, {"own'metric", curves + 1, 1}};
    ck_assert_int_eq(plot_script(PICTURE_SVG, panels, 3, &script), ERR_OK);
    ck_assert_ptr_nonnull(strstr(script.data, "set terminal svg"));
    ck_assert_ptr_nonnull(strstr(script.data, "$d0_0 << EOD\n0 2.5\n3 1.25\nEOD\n"));
    ck_assert_ptr_nonnull(strstr(script.data, "title 'it''s' noenhanced"));
    ck_assert_ptr_nonnull(strstr(script.data, "set ylabel 'test accuracy (%)' noenhanced"));
    ck_assert_ptr_nonnull(strstr(script.data, "\n4 50\n"));
    ck_assert_ptr_nonnull(strstr(script.data, "set ylabel 'own''metric' noenhanced"));
    ck_assert_ptr_null(strstr(script.data, "plot $d0_1"));
    ck_assert_ptr_nonnull(strstr(script.data, "set xrange [0:4]\nset xtics 1\n"));
    ck_assert_ptr_nonnull(strstr(script.data, "size 900,960 "));
    ck_assert_ptr_nonnull(strstr(script.data, "set key outside right top\n"));
    buf_clear(&script);
    const struct series long_name[] = {curves[0],
                                       series(rounds, "proximal_mu=0,learning_rate=0.01,seed=1", "x")};
    const struct panel below[] = {{"train_loss", long_name, 2}};
    ck_assert_int_eq(plot_script(PICTURE_SVG, below, 1, &script), ERR_OK);
    ck_assert_ptr_nonnull(strstr(script.data, "size 900,360 "));
    ck_assert_ptr_nonnull(strstr(script.data, "set key outside below left"));
    buf_clear(&script);
    ck_assert_int_eq(plot_script(PICTURE_PNG, panels, 1, &script), ERR_OK);
    ck_assert_ptr_nonnull(strstr(script.data, "set terminal pngcairo"));
    buf_release(&script);
    arena_release(&arena);
}
END_TEST

START_TEST(test_endings)
{
    enum picture p;
    struct fault fault = FAULT_NONE;
    ck_assert(picture_of("a.b/plot.svg", &p, &fault) == ERR_OK && p == PICTURE_SVG);
    ck_assert(picture_of("plot.png", &p, &fault) == ERR_OK && p == PICTURE_PNG);
    ck_assert_int_eq(picture_of("plot.pdf", &p, &fault), ERR_USAGE);
    ck_assert_int_eq(picture_of("plot", &p, &fault), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fault.detail, ".svg or .png"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_quote, test_series_of_rounds, test_series_of_csv, test_script,
                                  test_endings};
    return unit_run("cli plot", tests, sizeof tests / sizeof *tests);
}
