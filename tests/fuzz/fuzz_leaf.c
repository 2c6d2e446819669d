/* JSON that is too large to hold, token by token, and LEAF files of it. The reader agrees with Jansson about
 * what is JSON, but for what the two promise differently: numbers beyond a double, and depth. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/data/json_reader.h"
#include "tests/fuzz/data.h"

/* The reader's verdict; *out_depth is the deepest container. */
static enum err read_tokens(const char *path, int *out_depth, struct fault *fault)
{
    struct json_reader r;
    enum err e = json_open(path, "data.path", &r, fault);
    fuzz_prove_told(e, fault);
    if (e)
        return e;
    do {
        e = json_next(&r, fault);
        *out_depth = r.depth > *out_depth ? r.depth : *out_depth;
        PROVE(e || r.depth >= 0);
    } while (!e && r.token != JSON_TOKEN_END);
    fuzz_prove_told(e, fault);
    PROVE(!e || e == ERR_BAD_FILE);
    json_close(&r);
    return e;
}

static void prove_agreement(const struct fuzz_input *in)
{
    json_error_t error;
    int depth = 0;
    struct fault fault = FAULT_NONE;
    enum err e = read_tokens(fuzz_file(0, in->at, in->left), &depth, &fault);
    /* Jansson passes over a NUL behind a number. */
    if (!in->left || (in->left >= 2 && in->at[0] == 0x1f && in->at[1] == 0x8b) ||
        memchr(in->at, '\0', in->left))
        return;
    json_t *value = json_loadb((const char *)in->at, in->left, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    bool is_too_large = !value && json_error_code(&error) == json_error_numeric_overflow;
    bool has_mark = in->left >= 3 && memcmp(in->at, "\xef\xbb\xbf", 3) == 0;
    if (value && e && !strstr(fault.detail, "nested"))
        bug("JSON is refused: %s", fault.detail);
    if (!value && !e && !is_too_large && !has_mark)
        bug("what is no JSON is taken: line %d, column %d: %s", error.line, error.column, error.text);
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const more[] = {"",
                                       ",\"classes\":2",
                                       ",\"classes\":[\"a\",\"b\"]",
                                       ",\"standardise\":\"device\"",
                                       ",\"vocabulary\":\"data\"",
                                       ",\"unknown\":\"\"",
                                       ",\"tokens\":2,\"text_index\":1"};
    static const char vectors[] = "good 1 2\nbad 3 4\n";
    struct fuzz_input in = {data, size};
    uint8_t how = fuzz_byte(&in);
    char spec[400];
    prove_agreement(&in);
    const char *path = fuzz_file(0, in.at, in.left);
    (void)snprintf(spec, sizeof spec, "{\"source\":\"leaf\",\"path\":\"%s\"%s}", path, more[how % 7]);
    (void)fuzz_dataset_text(spec);
    (void)snprintf(spec, sizeof spec, "{\"source\":\"leaf\",\"path\":\"%s\",\"vectors\":\"%s\"%s}", path,
                   fuzz_file(1, vectors, sizeof vectors - 1), how % 2 ? more[6] : "");
    (void)fuzz_dataset_text(spec);
    return 0;
}
