#include "server/data_dir.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/crypto/random.h"
#include "common/crypto/token.h"
#include "server/core/ops.h"
#include "server/service.h"
#include "tests/support/unit.h"

static char base[] = "/tmp/fedlane-dir-XXXXXX";
static char dir[64];

static const char *in_dir(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static struct service *open_service(void)
{
    struct fault fault = FAULT_NONE;
    struct service *s = NULL;
    struct service_config config = {
        .clock = clock_system(), .entropy = entropy_system(), .heartbeat_ms = 1000};
    ck_assert_msg(data_dir_open(dir, &config.store, &config.blobs, &fault) == ERR_OK, "%s", fault.detail);
    ck_assert_msg(service_open(&config, &s, &fault) == ERR_OK, "%s", fault.detail);
    return s;
}

static void make_tokens(struct service *s)
{
    struct fault fault = FAULT_NONE;
    ck_assert_msg(data_dir_tokens(dir, service_store(s), service_core(s), &fault) == ERR_OK, "%s",
                  fault.detail);
}

static void read_token(const char *name, char out[128])
{
    struct fault fault = FAULT_NONE;
    ck_assert_msg(token_file_read(in_dir(name), out, 128, &fault) == ERR_OK, "%s", fault.detail);
}

struct count {
    int64_t tokens;
};

static enum err count_tokens(struct store_txn *txn, void *arg)
{
    struct count *c = arg;
    return store_count(txn, QUERY_TOKENS, &c->tokens, store_any, store_any);
}

static int64_t num_tokens(struct service *s)
{
    struct count c = {0};
    struct store *store = service_store(s);
    ck_assert_int_eq(store->ops->read(store, count_tokens, &c), ERR_OK);
    return c.tokens;
}

static void begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(base));
    (void)snprintf(dir, sizeof dir, "%s/data", base);
}

static void end(void)
{
    static const char *const files[] = {"admin.token",      "enrollment.token", "fedlane.db",
                                        "fedlane.db-wal",   "fedlane.db-shm",   "fedlane.db.lock",
                                        "blobs.db-journal", "blobs.db",         "blobs.db.lock"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        (void)unlink(in_dir(files[i]));
    (void)rmdir(dir);
    ck_assert_int_eq(rmdir(base), 0);
}

START_TEST(test_the_first_start)
{
    char admin[128], enrollment[128], again[128];
    struct stat st;
    begin();
    struct service *s = open_service();
    ck_assert_int_eq(stat(dir, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0700);
    make_tokens(s);
    ck_assert_int_eq(num_tokens(s), 2);
    ck_assert_int_eq(stat(in_dir("admin.token"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    read_token("admin.token", admin);
    read_token("enrollment.token", enrollment);
    ck_assert_str_ne(admin, enrollment);
    ck_assert(service_stop(s, 0));
    /* The next one makes no more, also where the administrator took the file away. */
    s = open_service();
    make_tokens(s);
    read_token("admin.token", again);
    ck_assert_str_eq(admin, again);
    ck_assert_int_eq(unlink(in_dir("admin.token")), 0);
    make_tokens(s);
    ck_assert_int_ne(access(in_dir("admin.token"), F_OK), 0);
    ck_assert_int_eq(num_tokens(s), 2);
    ck_assert(service_stop(s, 0));
    end();
}
END_TEST

/* A first start that came as far as the first file. */
static struct service *open_cut_short(char token[TOKEN_SIZE], char sha256[SHA256_HEX_SIZE])
{
    struct fault fault = FAULT_NONE;
    begin();
    struct service *s = open_service();
    ck_assert_int_eq(token_new(token, sha256), ERR_OK);
    ck_assert_int_eq(token_file_write(in_dir("enrollment.token"), token, &fault), ERR_OK);
    return s;
}

/* The process died between the file and the row. */
START_TEST(test_a_first_start_that_was_cut_short)
{
    char token[TOKEN_SIZE], sha256[SHA256_HEX_SIZE], kept[128];
    struct service *s = open_cut_short(token, sha256);
    make_tokens(s);
    read_token("enrollment.token", kept);
    ck_assert_str_eq(kept, token);
    ck_assert_int_eq(num_tokens(s), 2);
    ck_assert(service_stop(s, 0));
    end();
}
END_TEST

/* The process died between the two: the first has its row already. */
START_TEST(test_a_first_start_that_was_cut_short_between_its_tokens)
{
    char token[TOKEN_SIZE], sha256[SHA256_HEX_SIZE], kept[128];
    struct service *s = open_cut_short(token, sha256);
    struct arena arena = ARENA_INIT(64 * KIB);
    struct op_token_create op = {.base = {.core = service_core(s), .arena = &arena, .caller = ""},
                                 .name = "enrollment",
                                 .role = ROLE_ENROLLMENT,
                                 .token_sha256 = sha256};
    ck_assert_int_eq(store_write_wait(service_store(s), op_token_create, &op), ERR_OK);
    arena_release(&arena);
    make_tokens(s);
    read_token("enrollment.token", kept);
    ck_assert_str_eq(kept, token);
    read_token("admin.token", kept);
    ck_assert_int_eq(num_tokens(s), 2);
    ck_assert(service_stop(s, 0));
    end();
}
END_TEST

START_TEST(test_places_where_nothing_can_be_kept)
{
    struct store *store = NULL;
    struct blobs *blobs = NULL;
    static const char *const places[] = {"/proc/fedlane", "/dev/null", "/nonexistent/deeper/data"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct fault fault = FAULT_NONE;
        ck_assert_int_ne(data_dir_open(places[i], &store, &blobs, &fault), ERR_OK);
        ck_assert_msg(strstr(fault.detail, places[i]) && strstr(fault.detail, "--data-dir"), "%s",
                      fault.detail);
    }
}
END_TEST

START_TEST(test_a_second_server_on_the_same_data)
{
    struct store *store = NULL;
    struct blobs *blobs = NULL;
    struct fault fault = FAULT_NONE;
    begin();
    struct service *s = open_service();
    ck_assert_int_ne(data_dir_open(dir, &store, &blobs, &fault), ERR_OK);
    ck_assert_msg(strstr(fault.detail, dir) != NULL, "%s", fault.detail);
    ck_assert(service_stop(s, 0));
    end();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_the_first_start, test_a_first_start_that_was_cut_short,
                                  test_a_first_start_that_was_cut_short_between_its_tokens,
                                  test_places_where_nothing_can_be_kept,
                                  test_a_second_server_on_the_same_data};
    return unit_run("data_dir", tests, sizeof tests / sizeof tests[0]);
}
