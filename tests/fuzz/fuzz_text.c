/* Texts: running text in windows, and texts with a class, whose words have vectors. Input: how to read it,
 * then the text, and behind a line "---" the file of vectors. */
#include <stdio.h>
#include <string.h>
#include "common/base/str.h"
#include "tests/fuzz/data.h"

/* Windows of all of a text are the text: token by token the characters that the file has. */
static void prove_text(const struct fuzz_input *in, const char *path)
{
    char spec[256];
    size_t characters = 0;
    (void)snprintf(
        spec, sizeof spec,
        "{\"source\":\"text\",\"path\":\"%s\",\"window\":1,\"train_fraction\":1,\"vocabulary\":\"data\"}",
        path);
    const bool is_loaded = fuzz_dataset_text(spec);
    if (in->left >= 2 && in->at[0] == 0x1f && in->at[1] == 0x8b)
        return;
    for (size_t i = 0; i < in->left; i++)
        characters += (in->at[i] & 0xc0) != 0x80 && in->at[i] != '\r';
    characters -= in->left >= 3 && memcmp(in->at, "\xef\xbb\xbf", 3) == 0;
    const bool is_text = utf8_is_valid((const char *)in->at, in->left) && !memchr(in->at, '\0', in->left);
    PROVE(is_loaded == (is_text && characters >= 2));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const windows[] = {
        "", ",\"vocabulary\":\"data\"", ",\"vocabulary\":\"abc \",\"unknown\":\"\"",
        ",\"vocabulary\":[\"a\",\"\\u00e9\"],\"unknown\":\"a\"", ",\"stride\":2"};
    static const char *const texts[] = {"", ",\"tokens\":3", ",\"tokens\":2,\"device\":\"who\"",
                                        ",\"classes\":[\"a\",\"b\"]", ",\"partition\":{\"devices\":2}"};
    struct fuzz_input in = {data, size};
    const uint8_t how = fuzz_byte(&in);
    char spec[400];
    struct fuzz_input text = fuzz_until(&in, "\n---\n");
    const char *path = fuzz_file(0, text.at, text.left), *vectors = fuzz_file(1, in.at, in.left);
    prove_text(&text, path);
    (void)snprintf(spec, sizeof spec,
                   "{\"source\":\"text\",\"path\":\"%s\",\"window\":%d,\"train_fraction\":0.5%s}", path,
                   1 + how % 7, windows[how % 5]);
    (void)fuzz_dataset_text(spec);
    (void)snprintf(spec, sizeof spec, "{\"source\":\"sentiment\",\"path\":\"%s\",\"vectors\":\"%s\"%s}", path,
                   vectors, texts[how % 5]);
    (void)fuzz_dataset_text(spec);
    return 0;
}
