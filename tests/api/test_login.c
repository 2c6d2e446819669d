/* Codes of login links: each is worth one token, and only while it lasts. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "server/api/login_code.h"
#include "server/store/records.h"
#include "tests/api/lab.h"

#define MINUTE_MS ((int64_t)60000)
#define HOUR_MS   (60 * MINUTE_MS)

static int64_t now_ms(void)
{
    const struct clock clock = clock_system();
    return clock_now_ms(&clock);
}

static void make(const struct lab *lab, int64_t role, char out[LOGIN_CODE_SIZE])
{
    struct fault fault = FAULT_NONE;
    const struct login_grant grant = {.role = role,
                                      .made_at = now_ms(),
                                      .expires_at = now_ms() + 10 * MINUTE_MS,
                                      .session_ms = 12 * HOUR_MS};
    ck_assert_msg(login_code_make(lab->dir, &grant, out, &fault) == ERR_OK, "%s", fault.detail);
}

static struct http_answer login(const struct lab *lab, const char *code)
{
    return lab_do(lab, NULL, "POST", "/api/v1/login", NULL, path_of("{\"code\":\"%s\"}", code));
}

static int num_codes(const struct lab *lab)
{
    int n = 0;
    DIR *dir = opendir(path_of("%s/login", lab->dir));
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    (void)closedir(dir);
    return n;
}

START_TEST(test_a_code_becomes_a_token)
{
    static const struct {
        int64_t role;
        const char *name;
    } roles[] = {{ROLE_ADMIN, "admin"}, {ROLE_OPERATOR, "operator"}, {ROLE_VIEWER, "viewer"}};
    struct lab lab;
    char code[LOGIN_CODE_SIZE];
    lab_open(&lab);
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        make(&lab, roles[i].role, code);
        int64_t before = now_ms();
        struct http_answer a = login(&lab, code);
        ck_assert_str_eq(http_answer_field(&a, "Cache-Control"), "no-store");
        json_t *got = answer_json(&a, 201);
        ck_assert_uint_eq(json_object_size(got), 4);
        ck_assert_str_eq(text_at(got, "role"), roles[i].name);
        int64_t expires_at;
        ck_assert_int_eq(time_parse(text_at(got, "expires_at"), &expires_at), ERR_OK);
        ck_assert_int_ge(expires_at, before + 12 * HOUR_MS);
        ck_assert_int_le(expires_at, now_ms() + 12 * HOUR_MS);
        json_t *self = lab_ok(&lab, text_at(got, "token"), "GET", "/api/v1/tokens/self", NULL);
        ck_assert_str_eq(text_at(self, "id"), text_at(got, "token_id"));
        ck_assert_str_eq(text_at(self, "role"), roles[i].name);
        ck_assert_str_eq(text_at(self, "name"), "login link, used from 127.0.0.1");
        ck_assert_str_eq(text_at(self, "expires_at"), text_at(got, "expires_at"));
        json_decref(self);
        json_decref(got);
        a = login(&lab, code);
        answer_is_problem(&a, 401, "unauthorized", NULL);
    }
    ck_assert_int_eq(num_codes(&lab), 0);
    lab_close(&lab);
}
END_TEST

START_TEST(test_the_token_ends)
{
    struct lab lab;
    char code[LOGIN_CODE_SIZE];
    lab_open(&lab);
    make(&lab, ROLE_VIEWER, code);
    struct http_answer a = login(&lab, code);
    json_t *got = answer_json(&a, 201);
    lab_clock_add(12 * HOUR_MS + MINUTE_MS);
    lab_refused(&lab, text_at(got, "token"), "GET", "/api/v1/runs", NULL, 401, "token_expired", NULL);
    json_decref(got);
    lab_close(&lab);
}
END_TEST

struct race {
    const struct lab *lab;
    const char *code;
    pthread_barrier_t *start;
    int status;
};

static void *run_race(void *arg)
{
    struct race *r = arg;
    (void)pthread_barrier_wait(r->start);
    struct http_answer a = login(r->lab, r->code);
    r->status = a.status;
    http_answer_release(&a);
    return NULL;
}

START_TEST(test_one_of_several_at_once_wins)
{
    enum { RACERS = 4, RACES = 25 };
    struct lab lab;
    lab_open(&lab);
    for (int i = 0; i < RACES; i++) {
        char code[LOGIN_CODE_SIZE];
        pthread_t threads[RACERS];
        struct race races[RACERS];
        pthread_barrier_t start;
        int won = 0, lost = 0;
        make(&lab, ROLE_VIEWER, code);
        ck_assert_int_eq(pthread_barrier_init(&start, NULL, RACERS), 0);
        for (int k = 0; k < RACERS; k++) {
            races[k] = (struct race){.lab = &lab, .code = code, .start = &start};
            ck_assert_int_eq(pthread_create(&threads[k], NULL, run_race, &races[k]), 0);
        }
        for (int k = 0; k < RACERS; k++) {
            ck_assert_int_eq(pthread_join(threads[k], NULL), 0);
            won += races[k].status == 201;
            lost += races[k].status == 401;
        }
        (void)pthread_barrier_destroy(&start);
        ck_assert_int_eq(won, 1);
        ck_assert_int_eq(lost, RACERS - 1);
    }
    json_t *tokens = lab_ok(&lab, lab.admin, "GET", "/api/v1/tokens?role=viewer", NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(tokens, "items")), RACES + 1);
    json_decref(tokens);
    lab_close(&lab);
}
END_TEST

START_TEST(test_an_expired_code)
{
    struct lab lab;
    char old[LOGIN_CODE_SIZE], fresh[LOGIN_CODE_SIZE];
    struct fault fault = FAULT_NONE;
    lab_open(&lab);
    make(&lab, ROLE_ADMIN, old);
    lab_clock_add(10 * MINUTE_MS);
    struct http_answer a = login(&lab, old);
    answer_is_problem(&a, 401, "unauthorized", NULL);
    /* One that nobody opened goes when the next is made. */
    make(&lab, ROLE_ADMIN, old);
    const struct login_grant grant = {.role = ROLE_ADMIN,
                                      .made_at = now_ms() + 11 * MINUTE_MS,
                                      .expires_at = now_ms() + HOUR_MS,
                                      .session_ms = HOUR_MS};
    ck_assert_int_eq(login_code_make(lab.dir, &grant, fresh, &fault), ERR_OK);
    ck_assert_int_eq(num_codes(&lab), 1);
    a = login(&lab, fresh);
    json_decref(answer_json(&a, 201));
    lab_close(&lab);
}
END_TEST

START_TEST(test_what_is_no_code)
{
    static const char *const codes[] = {"x", "../admin.token",
                                        "0000000000000000000000000000000000000000000000000000000000000000",
                                        "%2e%2e/x", "\\u0000"};
    struct lab lab;
    lab_open(&lab);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct http_answer a = login(&lab, codes[i]);
        if (strcmp(codes[i], "\\u0000") == 0)
            answer_is_problem(&a, 400, "malformed_json", NULL);
        else
            answer_is_problem(&a, 401, "unauthorized", NULL);
    }
    lab_refused(&lab, NULL, "POST", "/api/v1/login", "{}", 400, "missing_field", "code");
    lab_refused(&lab, NULL, "POST", "/api/v1/login", "{\"code\":7}", 400, "invalid_field", "code");
    lab_refused(&lab, NULL, "POST", "/api/v1/login", "{\"code\":\"\"}", 400, "invalid_field", "code");
    lab_refused(&lab, NULL, "POST", "/api/v1/login", "{\"code\":\"a\",\"role\":\"admin\"}", 400,
                "unknown_field", "role");
    /* A stranger's body is kept small. */
    char *big = path_of("{\"code\":\"%4000s\"}", "x");
    lab_refused(&lab, NULL, "POST", "/api/v1/login", big, 400, "invalid_field", "code");
    char body[5000];
    memset(body, ' ', sizeof body);
    struct http_answer a =
        lab_send(&lab, NULL, "POST", "/api/v1/login", NULL, "application/json", body, sizeof body);
    answer_is_problem(&a, 413, "payload_too_large", NULL);
    lab_close(&lab);
}
END_TEST

/* The file of the only code. */
static const char *code_file(const struct lab *lab)
{
    const char *path = NULL;
    DIR *dir = opendir(path_of("%s/login", lab->dir));
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            path = path_of("%s/login/%s", lab->dir, entry->d_name);
    (void)closedir(dir);
    ck_assert_ptr_nonnull(path);
    return path;
}

START_TEST(test_files_are_private_and_hold_no_code)
{
    struct lab lab;
    char code[LOGIN_CODE_SIZE], text[512];
    struct stat st;
    lab_open(&lab);
    make(&lab, ROLE_ADMIN, code);
    const char *path = code_file(&lab);
    ck_assert_int_eq(stat(path_of("%s/login", lab.dir), &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0700);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    FILE *f = fopen(path, "r");
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    (void)fclose(f);
    ck_assert_ptr_null(strstr(text, code));
    ck_assert_ptr_null(strstr(path, code));
    struct http_answer a = login(&lab, code);
    json_decref(answer_json(&a, 201));
    lab_close(&lab);
}
END_TEST

START_TEST(test_a_broken_file_is_the_servers_fault)
{
    struct lab lab;
    char code[LOGIN_CODE_SIZE];
    lab_open(&lab);
    make(&lab, ROLE_ADMIN, code);
    static const char *const broken[] = {
        "{\"role\": \"emperor\", \"made_at\": 1, \"expires_at\": 9000000000000, \"session_ms\": 1}",
        "{\"role\": \"admin\", \"made_at\": -1, \"expires_at\": 9000000000000, \"session_ms\": 1}",
        "{\"role\": \"admin\", \"made_at\": 1, \"expires_at\": 9000000000000, \"session_ms\": -1}",
        "{\"role\": \"admin\", \"made_at\": 1, \"expires_at\": 1, \"session_ms\": 9223372036854775807}",
    };
    const char *path = code_file(&lab);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        FILE *f = fopen(path, "w");
        ck_assert_int_gt(fputs(broken[i], f), 0);
        (void)fclose(f);
        struct http_answer a = login(&lab, code);
        ck_assert_ptr_null(strstr(a.body, lab.dir));
        answer_is_problem(&a, 500, "internal", NULL);
    }
    ck_assert_int_eq(unlink(path), 0);
    lab_close(&lab);
}
END_TEST

static void limit_file_size(const struct rlimit *all, rlim_t most)
{
    const struct rlimit limit = {.rlim_cur = most, .rlim_max = all->rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

START_TEST(test_a_full_disk_leaves_the_link)
{
    struct lab lab;
    struct rlimit before;
    char code[LOGIN_CODE_SIZE];
    lab_open(&lab);
    make(&lab, ROLE_VIEWER, code);
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (int i = 0; i < 2; i++) {
        limit_file_size(&before, 1);
        struct http_answer a = login(&lab, code);
        limit_file_size(&before, before.rlim_cur);
        answer_is_problem(&a, 507, "storage_full", NULL);
    }
    struct http_answer a = login(&lab, code);
    json_decref(answer_json(&a, 201));
    a = login(&lab, code);
    answer_is_problem(&a, 401, "unauthorized", NULL);
    ck_assert_int_eq(num_codes(&lab), 0);
    lab_close(&lab);
}
END_TEST

/* As a server leaves it that was killed between storing the token and removing the file. */
START_TEST(test_a_used_code_whose_file_is_still_there)
{
    struct lab lab;
    char code[LOGIN_CODE_SIZE];
    lab_open(&lab);
    make(&lab, ROLE_ADMIN, code);
    const char *path = code_file(&lab), *kept = path_of("%s/kept", lab.dir);
    ck_assert_int_eq(link(path, kept), 0);
    struct http_answer a = login(&lab, code);
    json_decref(answer_json(&a, 201));
    ck_assert_int_eq(rename(kept, path), 0);
    lab_stop(&lab);
    lab_start(&lab);
    a = login(&lab, code);
    answer_is_problem(&a, 401, "unauthorized", NULL);
    json_t *tokens = lab_ok(&lab, lab.admin, "GET", "/api/v1/tokens?role=admin", NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(tokens, "items")), 2);
    json_decref(tokens);
    ck_assert_int_eq(unlink(path), 0);
    lab_close(&lab);
}
END_TEST

START_TEST(test_no_data_directory)
{
    struct fault fault = FAULT_NONE;
    char code[LOGIN_CODE_SIZE];
    const struct login_grant grant = {.role = ROLE_ADMIN, .expires_at = 1, .session_ms = 1};
    ck_assert_int_eq(login_code_make("/nonexistent/data", &grant, code, &fault), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "/nonexistent/data"));
    ck_assert_ptr_nonnull(strstr(fault.detail, "--data-dir"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_a_code_becomes_a_token,
                                  test_the_token_ends,
                                  test_one_of_several_at_once_wins,
                                  test_an_expired_code,
                                  test_what_is_no_code,
                                  test_files_are_private_and_hold_no_code,
                                  test_a_broken_file_is_the_servers_fault,
                                  test_a_full_disk_leaves_the_link,
                                  test_a_used_code_whose_file_is_still_there,
                                  test_no_data_directory};
    return unit_run("api_login", tests, sizeof tests / sizeof tests[0]);
}
