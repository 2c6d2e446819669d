#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/api/api.h"
#include "common/base/buf.h"
#include "common/base/file.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"
#include "tests/unit/worker_agent/support.h"
#include "worker/outbox.h"

static const char body[] = "bytes\0with\nall kinds of things\n";
#define BODY_SIZE (sizeof body - 1)

static struct report report_new(const char *task_id)
{
    struct report r = {.route = REPORT_UPDATE,
                       .round = 3,
                       .attempt = 2,
                       .ordinal = 17,
                       .media_type = MEDIA_SAFETENSORS,
                       .size = BODY_SIZE,
                       .body = malloc(BODY_SIZE)};
    ck_assert_ptr_nonnull(r.body);
    memcpy(r.body, body, BODY_SIZE);
    memcpy(r.task_id, task_id, ID_SIZE);
    return r;
}

static char *open_in(const char *dir)
{
    char *outbox = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_msg(outbox_open(dir, &outbox, &fault) == ERR_OK, "%s", fault.detail);
    return outbox;
}

static size_t count_in(const char *outbox)
{
    struct arena arena = ARENA_INIT(MIB);
    struct fault fault = FAULT_NONE;
    char(*ids)[ID_SIZE];
    size_t count = 0;
    ck_assert_int_eq(outbox_list(outbox, &arena, &ids, &count, &fault), ERR_OK);
    arena_release(&arena);
    return count;
}

START_TEST(what_goes_in_comes_out)
{
    char *dir = support_dir_new(), *outbox = open_in(dir);
    struct report in = report_new(SUPPORT_RUN_ID), out;
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(outbox_store(outbox, &in, &fault), ERR_OK);
    free(outbox);
    outbox = open_in(dir); /* as the next process does */
    ck_assert_msg(outbox_load(outbox, SUPPORT_RUN_ID, &out, &fault) == ERR_OK, "%s", fault.detail);
    ck_assert_str_eq(out.task_id, SUPPORT_RUN_ID);
    ck_assert_int_eq(out.route, REPORT_UPDATE);
    ck_assert_int_eq(out.round, 3);
    ck_assert_int_eq(out.attempt, 2);
    ck_assert_int_eq(out.ordinal, 17);
    ck_assert_str_eq(out.media_type, MEDIA_SAFETENSORS);
    ck_assert_str_eq(out.sha256, in.sha256);
    ck_assert_uint_eq(out.size, BODY_SIZE);
    ck_assert_mem_eq(out.body, body, BODY_SIZE);
    report_release(&out);
    outbox_remove(outbox, SUPPORT_RUN_ID);
    ck_assert_int_eq(outbox_load(outbox, SUPPORT_RUN_ID, &out, &fault), ERR_NOT_FOUND);
    outbox_remove(outbox, SUPPORT_RUN_ID); /* twice is no harm */
    report_release(&in);
    free(outbox);
    support_dir_free(dir);
}
END_TEST

START_TEST(a_newer_report_replaces_the_older)
{
    char *dir = support_dir_new(), *outbox = open_in(dir);
    struct report r = report_new(SUPPORT_RUN_ID), out;
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(outbox_store(outbox, &r, &fault), ERR_OK);
    r.attempt = 3;
    r.route = REPORT_FAIL;
    r.media_type = MEDIA_JSON;
    r.size = 5;
    ck_assert_int_eq(outbox_store(outbox, &r, &fault), ERR_OK);
    ck_assert_uint_eq(count_in(outbox), 1);
    ck_assert_int_eq(outbox_load(outbox, SUPPORT_RUN_ID, &out, &fault), ERR_OK);
    ck_assert_int_eq(out.attempt, 3);
    ck_assert_int_eq(out.route, REPORT_FAIL);
    ck_assert_str_eq(out.media_type, MEDIA_JSON);
    ck_assert_uint_eq(out.size, 5);
    report_release(&out);
    report_release(&r);
    free(outbox);
    support_dir_free(dir);
}
END_TEST

START_TEST(reports_are_listed_and_rests_are_swept)
{
    char *dir = support_dir_new(), *outbox = open_in(dir), *rest = NULL;
    static const char *const ids[] = {"ffffffffffffffffffffffffffffffff", "00000000000000000000000000000000",
                                      "0123456789abcdef0123456789abcdef"};
    struct arena arena = ARENA_INIT(MIB);
    struct fault fault = FAULT_NONE;
    char(*listed)[ID_SIZE];
    size_t count = 0;
    ck_assert_uint_eq(count_in(outbox), 0);
    for (size_t i = 0; i < 3; i++) {
        struct report r = report_new(ids[i]);
        ck_assert_int_eq(outbox_store(outbox, &r, &fault), ERR_OK);
        report_release(&r);
    }
    /* What a process that was killed in the midst of writing leaves. */
    ck_assert_int_gt(asprintf(&rest, "%s/%s.tmp", outbox, ids[0]), 0);
    FILE *f = fopen(rest, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_uint_eq(count_in(outbox), 3);
    free(outbox);
    outbox = open_in(dir);
    ck_assert_int_ne(access(rest, F_OK), 0);
    ck_assert_int_eq(outbox_list(outbox, &arena, &listed, &count, &fault), ERR_OK);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(listed[0], ids[1]);
    ck_assert_str_eq(listed[1], ids[2]);
    ck_assert_str_eq(listed[2], ids[0]);
    arena_release(&arena);
    free(rest);
    free(outbox);
    support_dir_free(dir);
}
END_TEST

/* The file cut at each length, and with each byte changed, is refused and named, never sent. */
START_TEST(a_damaged_report_is_refused)
{
    char *dir = support_dir_new(), *outbox = open_in(dir), *path = NULL;
    struct report r = report_new(SUPPORT_RUN_ID), out;
    struct buf file = BUF_INIT(MIB);
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(outbox_store(outbox, &r, &fault), ERR_OK);
    ck_assert_int_gt(asprintf(&path, "%s/%s", outbox, SUPPORT_RUN_ID), 0);
    ck_assert_int_eq(file_read(path, &file, &fault), ERR_OK);
    size_t refused = 0;
    for (size_t i = 0; i < 2 * file.len; i++) {
        size_t at = i % file.len, size = i < file.len ? at : file.len;
        char kept = file.data[at];
        file.data[at] ^= 1;
        FILE *f = fopen(path, "w");
        ck_assert_ptr_nonnull(f);
        ck_assert_uint_eq(fwrite(file.data, 1, size, f), size);
        ck_assert_int_eq(fclose(f), 0);
        file.data[at] = kept;
        enum err e = outbox_load(outbox, SUPPORT_RUN_ID, &out, &fault);
        refused += e == ERR_BAD_FILE;
        if (e ==
            ERR_OK) { /* a changed digit of round, attempt or ordinal, a field's name that is not needed */
            ck_assert_uint_eq(out.size, BODY_SIZE);
            ck_assert_mem_eq(out.body, body, BODY_SIZE);
            report_release(&out);
        } else {
            ck_assert_int_eq(e, ERR_BAD_FILE);
            ck_assert_ptr_nonnull(strstr(fault.detail, path));
        }
    }
    ck_assert_uint_gt(refused, 2 * file.len - 16);
    buf_release(&file);
    report_release(&r);
    free(path);
    free(outbox);
    support_dir_free(dir);
}
END_TEST

START_TEST(no_memory_is_said_and_leaves_nothing)
{
    char *dir = support_dir_new(), *outbox = open_in(dir);
    for (long n = 0;; n++) {
        struct report r = report_new(SUPPORT_RUN_ID), out = {0};
        struct fault fault = FAULT_NONE;
        alloc_fail_at(n);
        enum err stored = outbox_store(outbox, &r, &fault);
        enum err loaded = stored ? stored : outbox_load(outbox, SUPPORT_RUN_ID, &out, &fault);
        bool has_failed = alloc_fail_end();
        report_release(&r);
        report_release(&out);
        ck_assert_int_eq(loaded, has_failed ? ERR_NO_MEMORY : ERR_OK);
        if (!has_failed)
            break;
        outbox_remove(outbox, SUPPORT_RUN_ID);
    }
    free(outbox);
    support_dir_free(dir);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {what_goes_in_comes_out, a_newer_report_replaces_the_older,
                                  reports_are_listed_and_rests_are_swept, a_damaged_report_is_refused,
                                  no_memory_is_said_and_leaves_nothing};
    return unit_run("outbox", tests, sizeof tests / sizeof *tests);
}
