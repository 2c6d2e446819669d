/* The small parsers of what stands in a request's head and in texts: each on the same input. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/clock.h"
#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/crypto/sha256.h"
#include "common/data/decimal.h"
#include "common/http/url.h"
#include "server/core/ops.h"
#include "server/httpd/range.h"
#include "server/httpd/uri.h"
#include "tests/fuzz/fuzz.h"
#include "worker/device_list.h"

static void range(const char *text)
{
    static const uint64_t sizes[] = {0, 1, 10, 3000000000, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t offset = 0, length = sizes[i];
        enum range_result r = range_parse(text, sizes[i], &offset, &length);
        PROVE(r != RANGE_PART || (length >= 1 && offset < sizes[i] && length <= sizes[i] - offset));
        PROVE(r != RANGE_WHOLE || (offset == 0 && length == sizes[i]));
    }
}

static void etag(const char *text)
{
    bool weak = etag_matches(text, "abc", false), strong = etag_matches(text, "abc", true);
    PROVE(weak || !strong); /* the strong comparison takes less */
    PROVE(!weak || strstr(text, "\"abc\"") || strchr(text, '*'));
}

static void digest(const char *text)
{
    char hex[SHA256_HEX_SIZE], again[SHA256_HEX_SIZE], header[CONTENT_DIGEST_SIZE];
    uint8_t bytes[SHA256_SIZE];
    if (content_digest_parse(text, hex))
        return;
    PROVE(!hex_decode(hex, bytes, sizeof bytes));
    content_digest_format(bytes, header);
    PROVE(!content_digest_parse(header, again) && strcmp(hex, again) == 0);
}

static void segment(const char *text)
{
    struct arena arena = ARENA_INIT(MIB);
    struct buf path = BUF_INIT(MIB);
    struct fault fault = FAULT_NONE;
    const char *decoded, *again;
    enum err e = uri_decode(text, strlen(text), "path", &arena, &decoded, &fault);
    fuzz_prove_told(e, &fault);
    if (!e && !url_add_segment(&path, decoded)) {
        PROVE(!uri_decode(path.data + 1, path.len - 1, "path", &arena, &again, &fault));
        PROVE(strcmp(decoded, again) == 0);
    }
    buf_release(&path);
    arena_release(&arena);
}

static void path(const char *text)
{
    struct arena arena = ARENA_INIT(MIB);
    struct fault fault = FAULT_NONE;
    const char *const *segments = NULL;
    size_t n = 0;
    enum err e = uri_split(text, &arena, &segments, &n, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(e || n <= URI_MAX_SEGMENTS);
    for (size_t i = 0; i < n && !e; i++)
        PROVE(utf8_is_valid(segments[i], strlen(segments[i])));
    arena_release(&arena);
}

static void numbers(const char *text)
{
    double d = 0, expected = strtod(text, NULL);
    float f = 0;
    int64_t i;
    uint64_t u;
    long long whole;
    size_t n = strlen(text);
    if (!str_to_double(text, &d))
        PROVE(isfinite(d) && !(d < expected) && !(d > expected));
    if (!str_to_i64(text, &i))
        PROVE(i == strtoll(text, NULL, 10));
    if (!str_to_u64(text, &u))
        PROVE(u == strtoull(text, NULL, 10));
    if (decimal_float(text, n, &f) == DECIMAL_GOOD)
        PROVE(isfinite(f) && !(f < (float)expected) && !(f > (float)expected));
    if (decimal_whole(text, n, &whole) == DECIMAL_GOOD && whole > -(1LL << 53) && whole < 1LL << 53)
        PROVE(!((double)whole < expected) && !((double)whole > expected));
}

static void times(const char *text)
{
    int64_t ms, again;
    char formatted[TIME_TEXT_SIZE];
    if (time_parse(text, &ms))
        return;
    time_format(ms, formatted);
    PROVE(!time_parse(formatted, &again) && ms == again);
}

static void devices(const char *text)
{
    int64_t *ordinals = NULL;
    size_t count = 0;
    struct fault fault = FAULT_NONE;
    enum err e = device_list_parse(text, &ordinals, &count, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(e || (count >= 1 && count <= LIMIT_DEVICES_PER_WORKER));
    for (size_t i = 1; i < count && !e; i++)
        PROVE(ordinals[i - 1] < ordinals[i]);
    free(ordinals);
}

/* name=value&name=value, as an update's metadata. */
static void report(const char *text)
{
    struct arena arena = ARENA_INIT(MIB);
    struct safetensors_pair pairs[32];
    struct task_report r;
    struct fault fault = FAULT_NONE;
    size_t n = 0;
    char *copy = arena_strdup(&arena, text), *rest = copy;
    for (char *pair; n < 32 && (pair = strsep(&rest, "&")); n++) {
        char *value = strchr(pair, '=');
        if (value)
            *value++ = '\0';
        pairs[n] = (struct safetensors_pair){pair, value ? value : ""};
    }
    task_report_init(&r);
    enum err e = task_report_parse(pairs, n, true, &arena, &r, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(e || r.num_metrics <= LIMIT_METRICS_PER_REPORT);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    char *text = fuzz_text(&in);
    range(text);
    etag(text);
    digest(text);
    segment(text);
    path(text);
    numbers(text);
    times(text);
    devices(text);
    report(text);
    (void)id_is_valid(text);
    free(text);
    return 0;
}
