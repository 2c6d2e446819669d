/* What a model's tokens stand for: so that no device trains with others under other names. */
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/json/alphabet.h"
#include "common/model/arch_impl.h"

#define FIELD  "model.vocabulary"
#define HASHED "sha256:"

static enum err no_memory(struct fault *fault)
{
    return fault_set(fault, ERR_NO_MEMORY, FIELD, "out of memory for the model's vocabulary");
}

static enum err read_alphabet(const json_t *value, struct alphabet *out, struct fault *fault)
{
    const char *text = json_string_value(value);
    if (str_eq(text, "data"))
        return fault_set(
            fault, ERR_INVALID_FIELD, FIELD,
            "\"data\" is for fedlane simulate, which has the data at hand; a server does not: give "
            "the characters that `fedlane data vocabulary` prints");
    if (text && str_has_prefix(text, HASHED))
        return fault_set(fault, ERR_INVALID_FIELD, FIELD, "\"%s\" wants the 64 digits of a SHA-256 behind it",
                         HASHED);
    enum err err = alphabet_init(out);
    return err ? no_memory(fault) : alphabet_read(value, FIELD, out, fault);
}

enum err arch_count_vocabulary(const json_t *value, size_t *out, struct fault *fault)
{
    struct alphabet alphabet = {0};
    *out = 0;
    if (alphabet_hash(value))
        return ERR_OK;
    enum err err = read_alphabet(value, &alphabet, fault);
    *out = alphabet.count;
    alphabet_release(&alphabet);
    return err;
}

/* Enough room for all of them in the embedding? */
static enum err check_room(const struct arch *a, size_t count, struct fault *fault)
{
    const struct arch_layer *first = &a->layers[0];
    if (a->input_shape.kind != SHAPE_TOKENS)
        return fault_set(fault, ERR_INVALID_FIELD, FIELD,
                         "names characters, but the model reads no tokens: its first layer is no embedding");
    if ((uint64_t)first->vocabulary < count)
        return fault_set(fault, ERR_INVALID_FIELD, FIELD,
                         "has %zu characters, but the embedding has room for %lld: raise "
                         "model.layers[0].vocabulary, or a preset's model.classes",
                         count, (long long)first->vocabulary);
    return ERR_OK;
}

static enum err take_alphabet(struct arch *a, const json_t *value, struct fault *fault)
{
    struct alphabet alphabet = {0};
    enum err err = read_alphabet(value, &alphabet, fault);
    if (!err)
        err = check_room(a, alphabet.count, fault);
    a->vocabulary = err ? NULL : alphabet_text(&alphabet);
    alphabet_release(&alphabet);
    if (err)
        return err;
    if (!a->vocabulary || sha256_hex(a->vocabulary, strlen(a->vocabulary), a->vocabulary_sha256) != ERR_OK)
        return no_memory(fault);
    if (strlen(a->vocabulary) > LIMIT_VOCABULARY_TEXT)
        return fault_set(
            fault, ERR_INVALID_FIELD, FIELD,
            "has %zu bytes, more than the %zu that go along with every task: name it by its hash, "
            "\"" HASHED "%s\"",
            strlen(a->vocabulary), LIMIT_VOCABULARY_TEXT, a->vocabulary_sha256);
    return ERR_OK;
}

enum err arch_read_vocabulary(struct arch *a, const json_t *value, struct fault *fault)
{
    const char *hash = alphabet_hash(value);
    return hash ? str_copy(a->vocabulary_sha256, sizeof a->vocabulary_sha256, hash)
                : take_alphabet(a, value, fault);
}
