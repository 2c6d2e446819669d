/* The page and its files: what is served, under which headers, and from where. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/embed.h"
#include "tests/api/lab.h"

extern const struct embedded_file web_files[];
extern const size_t web_files_count;

static const struct {
    const char *path, *file, *media_type;
} served[] = {{"/", "index.html", "text/html; charset=utf-8"},
              {"/assets/app.css", "app.css", "text/css; charset=utf-8"},
              {"/assets/app.js", "app.js", "text/javascript; charset=utf-8"},
              {"/assets/chart.js", "chart.js", "text/javascript; charset=utf-8"}};

static const struct embedded_file *embedded(const char *name)
{
    for (size_t i = 0; i < web_files_count; i++)
        if (strcmp(web_files[i].name, name) == 0)
            return &web_files[i];
    return NULL;
}

static struct http_answer get(const struct lab *lab, const char *path, const char *headers)
{
    return lab_do(lab, NULL, "GET", path, headers, NULL);
}

static void has_field(const struct http_answer *a, const char *name, const char *value)
{
    const char *got = http_answer_field(a, name);
    ck_assert_msg(got && strcmp(got, value) == 0, "%s: %s, not %s", name, got ? got : "(none)", value);
}

/* Of a reply that is no page: errors too. */
static void is_inert(const struct http_answer *a)
{
    has_field(a, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    has_field(a, "X-Content-Type-Options", "nosniff");
    has_field(a, "Referrer-Policy", "no-referrer");
}

static void is_safe(const struct http_answer *a)
{
    has_field(a, "Content-Security-Policy",
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
              "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    has_field(a, "X-Content-Type-Options", "nosniff");
    has_field(a, "Referrer-Policy", "no-referrer");
    has_field(a, "Cache-Control", "no-cache");
}

START_TEST(test_the_page_and_its_files)
{
    struct lab lab;
    lab_open(&lab);
    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++) {
        const struct embedded_file *file = embedded(served[i].file);
        struct http_answer a = get(&lab, served[i].path, NULL);
        if (!file) { /* the build had no Chart.js */
            is_inert(&a);
            ck_assert_str_eq(served[i].file, "chart.js");
            answer_is_problem(&a, 404, "not_found", NULL);
            continue;
        }
        is_safe(&a);
        ck_assert_int_eq(a.status, 200);
        has_field(&a, "Content-Type", served[i].media_type);
        ck_assert_uint_eq(a.body_len, file->size);
        ck_assert_mem_eq(a.body, file->data, file->size);
        http_answer_release(&a);
    }
    lab_close(&lab);
}
END_TEST

START_TEST(test_what_a_browser_has_is_not_sent_again)
{
    struct lab lab;
    lab_open(&lab);
    for (size_t i = 0; i < 3; i++) {
        struct http_answer a = get(&lab, served[i].path, NULL);
        const char *etag = path_of("%s", http_answer_field(&a, "ETag"));
        ck_assert_uint_eq(strlen(etag), 2 + 64);
        http_answer_release(&a);
        a = get(&lab, served[i].path, path_of("If-None-Match: %s\r\n", etag));
        ck_assert_int_eq(a.status, 304);
        ck_assert_uint_eq(a.body_len, 0);
        has_field(&a, "ETag", etag);
        is_safe(&a);
        http_answer_release(&a);
        a = get(&lab, served[i].path, "If-None-Match: \"other\"\r\n");
        ck_assert_int_eq(a.status, 200);
        http_answer_release(&a);
    }
    lab_close(&lab);
}
END_TEST

/* Gives what gunzip makes of the bytes. */
static char *unpacked(const struct http_answer *a, size_t *out_len)
{
    char packed[] = "/tmp/fedlane-packed-XXXXXX";
    int fd = mkstemp(packed);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, a->body, a->body_len), (ssize_t)a->body_len);
    (void)close(fd);
    FILE *f = popen(path_of("gunzip <%s", packed), "r");
    ck_assert_ptr_nonnull(f);
    char *text = malloc(16 * MIB);
    ck_assert_ptr_nonnull(text);
    *out_len = fread(text, 1, 16 * MIB, f);
    ck_assert_int_eq(pclose(f), 0);
    (void)unlink(packed);
    return text;
}

START_TEST(test_browsers_get_it_packed)
{
    struct lab lab;
    lab_open(&lab);
    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++) {
        const struct embedded_file *file = embedded(served[i].file);
        if (!file)
            continue;
        size_t len;
        struct http_answer a = get(&lab, served[i].path, "Accept-Encoding: deflate, gzip;q=0.5\r\n");
        ck_assert_int_eq(a.status, 200);
        is_safe(&a);
        has_field(&a, "Content-Type", served[i].media_type);
        has_field(&a, "Content-Encoding", "gzip");
        has_field(&a, "Vary", "Accept-Encoding");
        char *text = unpacked(&a, &len);
        ck_assert_uint_eq(len, file->size);
        ck_assert_mem_eq(text, file->data, len);
        free(text);
        const char *etag = path_of("%s", http_answer_field(&a, "ETag"));
        http_answer_release(&a);
        a = get(&lab, served[i].path, path_of("Accept-Encoding: gzip\r\nIf-None-Match: %s\r\n", etag));
        ck_assert_int_eq(a.status, 304);
        http_answer_release(&a);
        /* Another form is another thing to a cache. */
        a = get(&lab, served[i].path, path_of("Accept-Encoding: gzip;q=0\r\nIf-None-Match: %s\r\n", etag));
        ck_assert_int_eq(a.status, 200);
        ck_assert_ptr_null(http_answer_field(&a, "Content-Encoding"));
        has_field(&a, "Vary", "Accept-Encoding");
        http_answer_release(&a);
    }
    lab_close(&lab);
}
END_TEST

START_TEST(test_other_paths_hold_nothing)
{
    static const char *const paths[] = {"/assets/", "/assets/index.html", "/assets/js/main.js",
                                        "/assets/..%2Findex.html", "/index.html"};
    struct lab lab;
    lab_open(&lab);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct http_answer a = get(&lab, paths[i], NULL);
        is_inert(&a);
        answer_is_problem(&a, 404, "not_found", NULL);
    }
    struct http_answer post = lab_do(&lab, NULL, "POST", "/assets/app.js", NULL, NULL);
    is_inert(&post);
    answer_is_problem(&post, 405, "method_not_allowed", NULL);
    /* Trackers and chats add such to links. */
    struct http_answer a = get(&lab, "/?utm_source=mail", NULL);
    ck_assert_int_eq(a.status, 200);
    http_answer_release(&a);
    lab_close(&lab);
}
END_TEST

START_TEST(test_api_replies_are_not_sniffed)
{
    struct lab lab;
    lab_open(&lab);
    static const char *const paths[] = {"/api/v1/version", "/api/v1/runs", "/api/v1/nothing", "/metrics"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct http_answer a = lab_do(&lab, lab.viewer, "GET", paths[i], NULL, NULL);
        is_inert(&a);
        http_answer_release(&a);
    }
    lab_close(&lab);
}
END_TEST

static void write_file(const char *dir, const char *name, const char *text)
{
    FILE *f = fopen(path_of("%s/%s", dir, name), "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(test_files_from_a_folder)
{
    struct lab lab;
    char dir[] = "/tmp/fedlane-web-XXXXXX";
    lab_open(&lab);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    lab_stop(&lab);
    lab.web_dir = dir;
    lab_start(&lab);
    write_file(dir, "app.js", "first");
    write_file(dir, "secret", "not the dashboard's");
    struct http_answer a = get(&lab, "/assets/app.js", NULL);
    is_safe(&a);
    has_field(&a, "Content-Type", "text/javascript; charset=utf-8");
    ck_assert_str_eq(a.body, "first");
    http_answer_release(&a);
    write_file(dir, "app.js", "second");
    a = get(&lab, "/assets/app.js", NULL);
    ck_assert_str_eq(a.body, "second");
    http_answer_release(&a);
    write_file(dir, "app.js", "");
    a = get(&lab, "/assets/app.js", NULL);
    ck_assert_int_eq(a.status, 200);
    ck_assert_uint_eq(a.body_len, 0);
    http_answer_release(&a);
    /* What is no file: it neither holds up the server nor tells where the folder is. */
    ck_assert_int_eq(mkfifo(path_of("%s/app.css", dir), 0600), 0);
    a = get(&lab, "/assets/app.css", NULL);
    ck_assert_ptr_null(strstr(a.body, dir));
    answer_is_problem(&a, 404, "not_found", NULL);
    ck_assert_int_eq(unlink(path_of("%s/app.css", dir)), 0);
    a = get(&lab, "/assets/secret", NULL);
    answer_is_problem(&a, 404, "not_found", NULL);
    a = get(&lab, "/", NULL);
    answer_is_problem(&a, 404, "not_found", NULL);
    lab_close(&lab);
    (void)unlink(path_of("%s/app.js", dir));
    (void)unlink(path_of("%s/secret", dir));
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_the_page_and_its_files,      test_what_a_browser_has_is_not_sent_again,
                                  test_browsers_get_it_packed,      test_other_paths_hold_nothing,
                                  test_api_replies_are_not_sniffed, test_files_from_a_folder};
    return unit_run("api_dashboard", tests, sizeof tests / sizeof tests[0]);
}
