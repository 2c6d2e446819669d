#include "worker/weights.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "common/json/json_spec.h"
#include "common/tensor/safetensors.h"

/* What is kept for later although no task needs it: the next round may start from the same weights. */
#define IDLE_ENTRIES 2
#define IDLE_BYTES   (256 * MIB)
/* Models up to this size are kept where larger ones give way to what is needed at once. */
#define SMALL_BYTES (1 * MIB)

static void weights_free(struct weights *w)
{
    if (!w)
        return;
    (void)pthread_mutex_destroy(&w->lock);
    buf_release(&w->file);
    sha256_free(w->hash);
    arch_free(w->arch);
    free(w->params);
    free(w->model);
    free(w->url);
    free(w);
}

void weights_cache_release(struct weights_cache *c)
{
    while (c->first) {
        struct weights *w = c->first;
        c->first = w->next;
        weights_free(w);
    }
}

static void read_model(struct weights *w)
{
    json_t *json = NULL;
    enum err e = json_text_parse(w->model, strlen(w->model), &json, &w->fault);
    if (!e)
        e = arch_parse(json, &w->arch, &w->fault);
    json_decref(json);
    if (e) {
        struct fault fault = w->fault;
        weights_fail(w, e == ERR_NO_MEMORY ? "out_of_memory" : "model_unsupported", &fault);
    }
}

static struct weights *weights_new(const char *sha256, const char *model, const char *url)
{
    struct weights *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    if (pthread_mutex_init(&w->lock, NULL) != 0) {
        free(w);
        return NULL;
    }
    w->model = strdup(model);
    w->url = strdup(url);
    w->download_ms = NAN;
    if (!w->model || !w->url || str_copy(w->sha256, sizeof w->sha256, sha256) != ERR_OK) {
        weights_free(w);
        return NULL;
    }
    read_model(w);
    if (w->arch)
        buf_init(&w->file,
                 weights_bytes(w) + (size_t)w->arch->tensors.carried_bytes + LIMIT_SAFETENSORS_HEADER + 8);
    return w;
}

/* Not after a training took the parameters with it. */
static bool is_there(struct weights *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool is = w->params || w->file.data || w->decode_err;
    (void)pthread_mutex_unlock(&w->lock);
    return is;
}

/* Another task wants them. Those that a training took are to be fetched again. */
static void want(struct weights *w)
{
    (void)pthread_mutex_lock(&w->lock);
    w->num_waiting++;
    if (w->state == WEIGHTS_READY && !w->params && !w->file.data && !w->decode_err) {
        w->state = WEIGHTS_WANTED;
        w->tries = 0;
    }
    (void)pthread_mutex_unlock(&w->lock);
}

struct weights *weights_get(struct weights_cache *c, const char *sha256, const char *model, const char *url)
{
    struct weights **link = &c->first;
    while (*link && !(str_eq((*link)->sha256, sha256) && str_eq((*link)->model, model)))
        link = &(*link)->next;
    struct weights *w = *link;
    if (w)
        *link = w->next;
    else
        w = weights_new(sha256, model, url);
    if (!w)
        return NULL;
    w->next = c->first;
    c->first = w;
    w->refs++;
    want(w);
    return w;
}

void weights_ref(struct weights *w)
{
    w->refs++;
}

/* Nobody refers to it, so no other thread looks at it. */
static bool is_worth_keeping(struct weights *w)
{
    return w->state == WEIGHTS_READY && w->decode_err == ERR_OK && is_there(w);
}

/* Of what nobody refers to, `most` bytes stay. */
static void trim(struct weights_cache *c, size_t most)
{
    size_t entries = 0, bytes = 0;
    for (struct weights **link = &c->first; *link;) {
        struct weights *w = *link;
        if (w->refs == 0) {
            entries++;
            bytes += weights_bytes(w);
        }
        if (w->refs == 0 && (!is_worth_keeping(w) || entries > IDLE_ENTRIES || bytes > most)) {
            *link = w->next;
            weights_free(w);
        } else {
            link = &w->next;
        }
    }
}

void weights_put(struct weights_cache *c, struct weights *w)
{
    if (!w)
        return;
    if (--w->refs == 0)
        trim(c, IDLE_BYTES);
}

void weights_make_room(struct weights_cache *c)
{
    trim(c, SMALL_BYTES);
}

void weights_done(struct weights *w, bool was_trained)
{
    (void)pthread_mutex_lock(&w->lock);
    if (--w->num_waiting == 0 && was_trained && weights_bytes(w) > SMALL_BYTES) {
        free(w->params);
        w->params = NULL;
    }
    (void)pthread_mutex_unlock(&w->lock);
}

size_t weights_bytes(const struct weights *w)
{
    return w->arch ? (size_t)w->arch->tensors.num_params * sizeof *w->params : 0;
}

size_t weights_bytes_in_use(const struct weights_cache *c)
{
    size_t sum = 0;
    for (struct weights *w = c->first; w; w = w->next) {
        if (w->state == WEIGHTS_LOADING || (w->state == WEIGHTS_READY && w->refs > 0 && is_there(w)))
            sum += weights_bytes(w);
    }
    return sum;
}

enum err weights_file_begin(struct weights *w)
{
    buf_clear(&w->file);
    sha256_free(w->hash);
    w->hash = NULL;
    return sha256_new(&w->hash);
}

enum err weights_file_add(struct weights *w, const void *bytes, size_t n)
{
    enum err e = buf_append(&w->file, bytes, n);
    return e ? e : sha256_update(w->hash, bytes, n);
}

enum err weights_file_end(struct weights *w)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    enum err e = sha256_final(w->hash, digest);
    sha256_free(w->hash);
    w->hash = NULL;
    if (e)
        return e;
    hex_encode(digest, sizeof digest, hex);
    if (!str_eq(hex, w->sha256)) {
        buf_release(&w->file);
        return ERR_DIGEST_MISMATCH;
    }
    w->state = WEIGHTS_READY;
    return ERR_OK;
}

void weights_fail(struct weights *w, const char *code, const struct fault *fault)
{
    w->state = WEIGHTS_FAILED;
    w->fault = *fault;
    (void)snprintf(w->code, sizeof w->code, "%s", code);
    buf_release(&w->file);
}

/* Into memory of its own: a file in another order or form than ours. */
static enum err decode_apart(struct weights *w, struct arena *arena, struct fault *fault)
{
    size_t carried_bytes = (size_t)w->arch->tensors.carried_bytes;
    float *params = malloc(weights_bytes(w) ? weights_bytes(w) : 1);
    /* Carried tensors must be right, too, although nothing here uses them. */
    uint8_t *carried = carried_bytes ? malloc(carried_bytes) : NULL;
    enum err e;
    if (!params || (carried_bytes && !carried))
        e = fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory for the model's %zu bytes",
                      weights_bytes(w));
    else
        e = safetensors_decode(w->file.data, w->file.len, &w->arch->tensors, "", arena, params, carried, NULL,
                               fault);
    free(carried);
    if (e)
        free(params);
    else
        w->params = params;
    return e;
}

static enum err decode(struct weights *w, struct fault *fault)
{
    struct arena arena = ARENA_INIT(4 * LIMIT_SAFETENSORS_HEADER);
    bool is_done = false;
    enum err e = w->arch->tensors.carried_bytes
                     ? ERR_OK
                     : safetensors_decode_in_place(w->file.data, w->file.len, &w->arch->tensors, &arena,
                                                   &is_done, fault);
    if (is_done) {
        w->params = (float *)(void *)w->file.data;
        buf_init(&w->file, w->file.max);
    } else if (!e) {
        e = decode_apart(w, &arena, fault);
    }
    arena_release(&arena);
    return e;
}

enum err weights_params(struct weights *w, const float **out_params, struct fault *fault)
{
    (void)pthread_mutex_lock(&w->lock);
    if (!w->params && !w->decode_err) {
        struct fault reason = FAULT_NONE;
        w->decode_err = decode(w, &reason);
        if (w->decode_err)
            w->fault = reason;
        buf_release(&w->file);
    }
    enum err e = w->decode_err;
    if (e)
        *fault = w->fault;
    *out_params = w->params;
    (void)pthread_mutex_unlock(&w->lock);
    return e;
}
