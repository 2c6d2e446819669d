#include "common/data/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include "common/base/limits.h"

static enum err alloc(struct pool *p, size_t num_rows, size_t num_features, size_t value_bytes,
                      const char *field, struct fault *fault)
{
    const size_t row_bytes = num_features > SIZE_MAX / value_bytes - sizeof(int32_t)
                                 ? SIZE_MAX
                                 : num_features * value_bytes + sizeof(int32_t);
    if (num_rows > UINT32_MAX || row_bytes > LIMIT_DATA_POOL || num_rows > LIMIT_DATA_POOL / row_bytes)
        return fault_set(
            fault, ERR_INVALID_FIELD, field,
            "%zu examples of %zu features do not fit into one data set, which holds at most %zu GiB: "
            "use fewer devices or smaller files",
            num_rows, num_features, LIMIT_DATA_POOL / GIB);
    void *values = malloc(num_rows * num_features * value_bytes);
    p->labels = malloc(num_rows * sizeof *p->labels);
    if (!values || !p->labels) {
        free(values);
        return fault_set(fault, ERR_NO_MEMORY, field, "no memory for %zu examples of %zu features (%zu MiB)",
                         num_rows, num_features, num_rows * row_bytes / MIB);
    }
    p->num_rows = num_rows;
    p->num_features = num_features;
    if (value_bytes == sizeof(float))
        p->values = values;
    else
        p->bytes = values;
    return ERR_OK;
}

enum err pool_alloc_floats(struct pool *p, size_t num_rows, size_t num_features, const char *field,
                           struct fault *fault)
{
    return alloc(p, num_rows, num_features, sizeof(float), field, fault);
}

enum err pool_alloc_bytes(struct pool *p, size_t num_rows, size_t num_features, const char *field,
                          struct fault *fault)
{
    return alloc(p, num_rows, num_features, sizeof(uint8_t), field, fault);
}

void pool_release(struct pool *p)
{
    for (size_t i = 0; i < p->num_origins; i++) {
        free(p->origins[i].file);
        free(p->origins[i].user);
    }
    free(p->origins);
    free(p->labels);
    free(p->values);
    free(p->bytes);
    free(p->mean);
    free(p->scale);
    token_list_release(&p->text.tokens);
    free(p->text.vectors);
    *p = (struct pool){0};
}

/* A block of 65536 rows is the largest whose sum of squared bytes fits 32 bits; narrow sums keep the loop
 * vectorised. */
#define ROWS_PER_BLOCK 65536

static void add_block(const struct pool *p, size_t first, size_t end, uint32_t *sum, uint32_t *squares)
{
    const size_t n = p->num_features;
    memset(sum, 0, n * sizeof *sum);
    memset(squares, 0, n * sizeof *squares);
    for (size_t row = first; row < end; row++) {
        const uint8_t *restrict bytes = p->bytes + row * n;
        for (size_t j = 0; j < n; j++) {
            const uint32_t b = bytes[j];
            sum[j] += b;
            squares[j] += b * b;
        }
    }
}

/* Whole-number sums, moved next to the mean before the one subtraction that could cancel: the variance of a
 * nearly constant pixel keeps all its digits. */
static void moments(int64_t sum, int64_t squares, int64_t n, double *out_mean, double *out_std)
{
    const int64_t centre = (sum + n / 2) / n;
    const int64_t moved_sum = sum - n * centre;
    const int64_t moved_squares = squares - 2 * centre * sum + n * centre * centre;
    const double mean_offset = (double)moved_sum / (double)n;
    *out_mean = (double)centre + mean_offset;
    *out_std = sqrt(fmax((double)moved_squares / (double)n - mean_offset * mean_offset, 0));
}

enum err pool_statistics(const struct pool *p, double *out_mean, double *out_std)
{
    const size_t n = p->num_features;
    if (!p->bytes || p->num_rows == 0)
        bug("statistics of a pool without bytes");
    uint32_t *block = calloc(2 * n, sizeof *block);
    int64_t *total = calloc(2 * n, sizeof *total);
    enum err err = block && total ? ERR_OK : ERR_NO_MEMORY;
    if (err != ERR_OK)
        goto out;
    for (size_t first = 0; first < p->num_rows; first += ROWS_PER_BLOCK) {
        const size_t left = p->num_rows - first;
        add_block(p, first, first + (left < ROWS_PER_BLOCK ? left : ROWS_PER_BLOCK), block, block + n);
        for (size_t j = 0; j < 2 * n; j++)
            total[j] += block[j];
    }
    for (size_t j = 0; j < n; j++)
        moments(total[j], total[n + j], (int64_t)p->num_rows, &out_mean[j], &out_std[j]);
out:
    free(block);
    free(total);
    return err;
}

static enum err scale_by_pixels(struct pool *p)
{
    const size_t n = p->num_features;
    double *mean = malloc(n * sizeof *mean);
    double *std = malloc(n * sizeof *std);
    enum err err = mean && std ? pool_statistics(p, mean, std) : ERR_NO_MEMORY;
    for (size_t j = 0; err == ERR_OK && j < n; j++) {
        p->mean[j] = (float)mean[j];
        p->scale[j] = (float)(1 / (std[j] + 0.001));
    }
    free(mean);
    free(std);
    return err;
}

enum err pool_scale(struct pool *p, enum pool_scaling scaling, struct fault *fault)
{
    p->mean = calloc(p->num_features, sizeof *p->mean);
    p->scale = calloc(p->num_features, sizeof *p->scale);
    enum err err = p->mean && p->scale ? ERR_OK : ERR_NO_MEMORY;
    if (err == ERR_OK && scaling == POOL_SCALING_PIXELS)
        err = scale_by_pixels(p);
    else if (err == ERR_OK)
        for (size_t j = 0; j < p->num_features; j++)
            p->scale[j] = scaling == POOL_SCALING_UNIT ? 1.0f / 255 : 1.0f;
    if (err != ERR_OK)
        return fault_set(fault, err, "data", "no memory for the scaling of %zu features", p->num_features);
    return ERR_OK;
}

/* Blocks of a fixed length, because gcc -O2 vectorises only loops whose count it knows. */
#define SCALE_BLOCK 16

static void scale_row_baseline(const uint8_t *restrict bytes, const float *restrict mean,
                               const float *restrict scale, size_t n, float *restrict out)
{
    size_t j = 0;
    for (; j + SCALE_BLOCK <= n; j += SCALE_BLOCK)
        for (size_t k = j; k < j + SCALE_BLOCK; k++)
            out[k] = ((float)bytes[k] - mean[k]) * scale[k];
    for (; j < n; j++)
        out[j] = ((float)bytes[j] - mean[j]) * scale[j];
}

#if defined(__x86_64__)
/* The same bits: one subtraction and one product, each rounded. */
__attribute__((target("avx2"))) static void scale_row_avx2(const uint8_t *restrict bytes,
                                                           const float *restrict mean,
                                                           const float *restrict scale, size_t n,
                                                           float *restrict out)
{
    size_t j = 0;
    for (; j + 8 <= n; j += 8) {
        const __m128i eight = _mm_loadl_epi64((const __m128i *)(const void *)(bytes + j));
        const __m256 x = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(eight));
        const __m256 centred = _mm256_sub_ps(x, _mm256_loadu_ps(mean + j));
        _mm256_storeu_ps(out + j, _mm256_mul_ps(centred, _mm256_loadu_ps(scale + j)));
    }
    for (; j < n; j++)
        out[j] = ((float)bytes[j] - mean[j]) * scale[j];
}
#endif

static void scale_row(const struct pool *p, const uint8_t *bytes, float *out)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        scale_row_avx2(bytes, p->mean, p->scale, p->num_features, out);
        return;
    }
#endif
    scale_row_baseline(bytes, p->mean, p->scale, p->num_features, out);
}

static void read_text(const struct pool_text *t, size_t first, float *out)
{
    for (size_t i = 0; i < t->steps; i++) {
        const uint32_t token = token_at(&t->tokens, first + i);
        if (t->vectors)
            memcpy(out + i * t->width, t->vectors + token * t->width, t->width * sizeof *out);
        else
            out[i] = (float)token;
    }
}

int32_t pool_label(const struct pool *p, uint32_t row)
{
    return p->labels ? p->labels[row]
                     : (int32_t)token_at(&p->text.tokens, row * p->text.apart + p->text.steps);
}

void pool_read(const struct pool *p, uint32_t row, float *out)
{
    const size_t n = p->num_features;
    if (p->text.steps > 0)
        read_text(&p->text, row * p->text.apart, out);
    else if (p->values)
        memcpy(out, p->values + row * n, n * sizeof *out);
    else
        scale_row(p, p->bytes + row * n, out);
}

#define CACHE_LINE 64

void pool_prefetch(const struct pool *p, uint32_t row)
{
    size_t size = p->num_features * (p->values ? sizeof *p->values : sizeof *p->bytes), first = row * size;
    const char *at = p->values ? (const char *)p->values : (const char *)p->bytes;
    if (p->text.steps > 0) {
        at = p->text.tokens.tokens;
        size = p->text.steps * p->text.tokens.width;
        first = row * p->text.apart * p->text.tokens.width;
    }
    at += first;
    for (size_t i = 0; i < size; i += CACHE_LINE)
        __builtin_prefetch(at + i);
}
