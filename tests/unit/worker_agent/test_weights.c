#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "common/tensor/safetensors.h"
#include "tests/support/unit.h"
#include "tests/unit/worker_agent/support.h"
#include "worker/weights.h"

/* A file of weights that are all `value`, and its digest. */
static void file_of(float value, struct buf *file, char sha256[SHA256_HEX_SIZE])
{
    struct weights_cache cache = {0};
    struct weights *w = weights_get(&cache, "0", SUPPORT_MODEL, "/w");
    float params[SUPPORT_NUM_PARAMS];
    for (size_t i = 0; i < SUPPORT_NUM_PARAMS; i++)
        params[i] = value;
    ck_assert_ptr_nonnull(w);
    ck_assert_int_eq(safetensors_encode(&w->arch->tensors, "", params, NULL, NULL, 0, file), ERR_OK);
    ck_assert_int_eq(sha256_hex(file->data, file->len, sha256), ERR_OK);
    weights_put(&cache, w);
    weights_cache_release(&cache);
}

static struct weights *fetched(struct weights_cache *cache, float value)
{
    struct buf file = BUF_INIT(MIB);
    char sha256[SHA256_HEX_SIZE];
    file_of(value, &file, sha256);
    struct weights *w = weights_get(cache, sha256, SUPPORT_MODEL, "/w");
    if (w->state == WEIGHTS_WANTED) {
        ck_assert_int_eq(weights_file_begin(w), ERR_OK);
        for (size_t i = 0; i < file.len; i += 7) /* in pieces */
            ck_assert_int_eq(weights_file_add(w, file.data + i, file.len - i < 7 ? file.len - i : 7), ERR_OK);
        ck_assert_int_eq(weights_file_end(w), ERR_OK);
    }
    buf_release(&file);
    return w;
}

START_TEST(fetched_once_for_all)
{
    struct weights_cache cache = {0};
    struct weights *a = fetched(&cache, 2), *b = fetched(&cache, 2), *c = fetched(&cache, 3);
    const float *params = NULL, *again = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_ptr_eq(a, b);
    ck_assert_ptr_ne(a, c);
    ck_assert_int_eq(a->refs, 2);
    ck_assert_int_eq(a->state, WEIGHTS_READY);
    ck_assert_int_eq(weights_params(a, &params, &fault), ERR_OK);
    ck_assert_float_eq(params[SUPPORT_NUM_PARAMS - 1], 2);
    ck_assert_int_eq(weights_params(b, &again, &fault), ERR_OK);
    ck_assert_ptr_eq(params, again);
    ck_assert_ptr_null(a->file.data); /* the file itself is not kept beside them */
    ck_assert_uint_eq(weights_bytes_in_use(&cache), 2 * SUPPORT_NUM_PARAMS * sizeof(float));
    weights_put(&cache, a);
    weights_put(&cache, b);
    weights_put(&cache, c);
    ck_assert_uint_eq(weights_bytes_in_use(&cache), 0);
    /* The next round may start from the same. */
    ck_assert_ptr_eq(fetched(&cache, 3), c);
    weights_put(&cache, c);
    weights_cache_release(&cache);
}
END_TEST

/* 783,535 parameters: 3 MB. */
#define LARGE_MODEL                                                                                          \
    "{\"input\":[1000],\"layers\":[{\"type\":\"dense\",\"units\":775},{\"type\":\"dense\",\"units\":10}]}"
#define LARGE_NUM_PARAMS (1000 * 775 + 775 + 775 * 10 + 10)

/* A task that is to start from weights of a large model that are all `value`, fetched where that is needed.
 */
static struct weights *large(struct weights_cache *cache, float value, bool *out_was_fetched)
{
    struct weights_cache other = {0};
    struct weights *probe = weights_get(&other, "0", LARGE_MODEL, "/w");
    struct buf file = BUF_INIT(16 * MIB);
    char sha256[SHA256_HEX_SIZE];
    float *params = calloc(LARGE_NUM_PARAMS, sizeof *params);
    ck_assert(probe && params);
    for (size_t i = 0; i < LARGE_NUM_PARAMS; i++)
        params[i] = value;
    ck_assert_int_eq(safetensors_encode(&probe->arch->tensors, "", params, NULL, NULL, 0, &file), ERR_OK);
    ck_assert_int_eq(sha256_hex(file.data, file.len, sha256), ERR_OK);
    struct weights *w = weights_get(cache, sha256, LARGE_MODEL, "/w");
    *out_was_fetched = w->state == WEIGHTS_WANTED;
    if (*out_was_fetched) {
        ck_assert_int_eq(weights_file_begin(w), ERR_OK);
        ck_assert_int_eq(weights_file_add(w, file.data, file.len), ERR_OK);
        ck_assert_int_eq(weights_file_end(w), ERR_OK);
    }
    weights_put(&other, probe);
    weights_cache_release(&other);
    buf_release(&file);
    free(params);
    return w;
}

static void check_large(struct weights *w, float value)
{
    const float *params = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(weights_params(w, &params, &fault), ERR_OK);
    ck_assert_float_eq(params[0], value);
    ck_assert_float_eq(params[LARGE_NUM_PARAMS - 1], value);
}

START_TEST(a_large_model_goes_with_its_last_training)
{
    struct weights_cache cache = {0};
    bool was_fetched;
    struct weights *a = large(&cache, 2, &was_fetched), *b = large(&cache, 2, &was_fetched);
    ck_assert_ptr_eq(a, b);
    ck_assert(!was_fetched);
    check_large(a, 2);
    weights_done(a, true);
    check_large(b, 2); /* the other one still wants them */
    weights_done(b, true);
    ck_assert_uint_eq(weights_bytes_in_use(&cache), 0);
    /* A third task comes while the first ones are trained. */
    struct weights *c = large(&cache, 2, &was_fetched);
    ck_assert_ptr_eq(c, a);
    ck_assert(was_fetched);
    check_large(c, 2);
    weights_done(c, false); /* evaluated only */
    weights_put(&cache, a);
    weights_put(&cache, b);
    weights_put(&cache, c);
    c = large(&cache, 2, &was_fetched); /* and then trained from the same */
    ck_assert(!was_fetched);
    check_large(c, 2);
    weights_done(c, true);
    weights_put(&cache, c);
    ck_assert_ptr_null(cache.first);
    weights_cache_release(&cache);
}
END_TEST

START_TEST(what_is_only_kept_makes_room_unless_it_is_small)
{
    struct weights_cache cache = {0};
    bool was_fetched;
    struct weights *large_one = large(&cache, 1, &was_fetched), *small = fetched(&cache, 1);
    check_large(large_one, 1);
    weights_done(large_one, false);
    weights_make_room(&cache);
    ck_assert_int_eq(large_one->state, WEIGHTS_READY); /* a task has it */
    weights_put(&cache, large_one);
    weights_put(&cache, small);
    weights_make_room(&cache);
    ck_assert_ptr_eq(cache.first, small);
    ck_assert_ptr_null(small->next);
    weights_cache_release(&cache);
}
END_TEST

START_TEST(the_cache_does_not_grow)
{
    struct weights_cache cache = {0};
    struct weights *held = fetched(&cache, -1);
    for (int round = 0; round < 50; round++)
        weights_put(&cache, fetched(&cache, (float)round));
    size_t entries = 0;
    for (const struct weights *w = cache.first; w; w = w->next)
        entries++;
    ck_assert_uint_eq(entries, 3); /* two for later, and the one in use */
    ck_assert_int_eq(held->state, WEIGHTS_READY);
    weights_put(&cache, held);
    weights_cache_release(&cache);
}
END_TEST

START_TEST(a_wrong_file_is_thrown_away)
{
    struct weights_cache cache = {0};
    struct buf file = BUF_INIT(MIB);
    char sha256[SHA256_HEX_SIZE];
    file_of(2, &file, sha256);
    struct weights *w = weights_get(&cache, sha256, SUPPORT_MODEL, "/w");
    ck_assert_int_eq(weights_file_begin(w), ERR_OK);
    ck_assert_int_eq(weights_file_add(w, file.data, file.len - 1), ERR_OK);
    ck_assert_int_eq(weights_file_end(w), ERR_DIGEST_MISMATCH);
    ck_assert_uint_eq(w->file.len, 0);
    /* and then the right one */
    ck_assert_int_eq(weights_file_begin(w), ERR_OK);
    ck_assert_int_eq(weights_file_add(w, file.data, file.len), ERR_OK);
    ck_assert_int_eq(weights_file_end(w), ERR_OK);
    weights_put(&cache, w);
    weights_cache_release(&cache);
    buf_release(&file);
}
END_TEST

START_TEST(more_than_the_model_can_have_is_refused)
{
    struct weights_cache cache = {0};
    struct weights *w = weights_get(&cache, "0", SUPPORT_MODEL, "/w");
    size_t size = 4 * MIB, taken = 0;
    char *zeros = calloc(1, size);
    ck_assert_ptr_nonnull(zeros);
    ck_assert_int_eq(weights_file_begin(w), ERR_OK);
    enum err e = ERR_OK;
    while (!e && taken < GIB) {
        e = weights_file_add(w, zeros, size);
        taken += size;
    }
    ck_assert_int_eq(e, ERR_PAYLOAD_TOO_LARGE);
    ck_assert_uint_le(w->file.cap, LIMIT_SAFETENSORS_HEADER + MIB);
    free(zeros);
    weights_put(&cache, w);
    weights_cache_release(&cache);
}
END_TEST

/* Its digest is right, but it is another model's. */
START_TEST(a_file_that_does_not_fit_the_model)
{
    static const char other[] = "{\"input\":[60],\"layers\":[{\"type\":\"dense\",\"units\":11}]}";
    struct weights_cache cache = {0};
    struct buf file = BUF_INIT(MIB);
    char sha256[SHA256_HEX_SIZE];
    const float *params = NULL;
    struct fault fault = FAULT_NONE;
    file_of(2, &file, sha256);
    struct weights *w = weights_get(&cache, sha256, other, "/w");
    ck_assert_int_eq(weights_file_begin(w), ERR_OK);
    ck_assert_int_eq(weights_file_add(w, file.data, file.len), ERR_OK);
    ck_assert_int_eq(weights_file_end(w), ERR_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(weights_params(w, &params, &fault), ERR_SHAPE_MISMATCH);
        ck_assert_ptr_nonnull(strstr(fault.detail, "0.weight"));
        fault = FAULT_NONE;
    }
    weights_put(&cache, w);
    ck_assert_ptr_null(cache.first); /* not kept for later */
    weights_cache_release(&cache);
    buf_release(&file);
}
END_TEST

START_TEST(a_model_nobody_can_read)
{
    struct weights_cache cache = {0};
    struct weights *w = weights_get(&cache, "0", "{\"input\":[60],\"layers\":[{\"type\":\"lstm\"}]}", "/w");
    ck_assert_int_eq(w->state, WEIGHTS_FAILED);
    ck_assert_str_eq(w->code, "model_unsupported");
    ck_assert_uint_gt(strlen(w->fault.detail), 0);
    weights_put(&cache, w);
    ck_assert_ptr_null(cache.first);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {fetched_once_for_all,
                                  a_large_model_goes_with_its_last_training,
                                  what_is_only_kept_makes_room_unless_it_is_small,
                                  the_cache_does_not_grow,
                                  a_wrong_file_is_thrown_away,
                                  more_than_the_model_can_have_is_refused,
                                  a_file_that_does_not_fit_the_model,
                                  a_model_nobody_can_read};
    return unit_run("weights", tests, sizeof tests / sizeof *tests);
}
