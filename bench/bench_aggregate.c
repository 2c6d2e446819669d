/* Times for ./dev bench aggregate: the weighted average of many updates on one thread, beside memcpy of as
 * many bytes, taken in turns. One line a case: its name, then gigabytes of updates a second, best and median
 * of the rounds given as argument, for the average and for memcpy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "common/fl/average.h"

enum { MAX_ROUNDS = 1000 };

struct updates {
    size_t count, num_params;
    float **values, **copies;
    int64_t *ordinals;
    double *weights;
    float *out;
};

static void *take(size_t count, size_t size)
{
    void *memory = malloc(count * size);
    if (!memory)
        bug("out of memory");
    return memory;
}

static void make_updates(struct updates *u, size_t count, size_t num_params)
{
    *u = (struct updates){.count = count, .num_params = num_params};
    u->values = take(count, sizeof *u->values);
    u->copies = take(count, sizeof *u->copies);
    u->ordinals = take(count, sizeof *u->ordinals);
    u->weights = take(count, sizeof *u->weights);
    u->out = take(num_params, sizeof *u->out);
    for (size_t k = 0; k < count; k++) {
        u->values[k] = take(num_params, sizeof **u->values);
        u->copies[k] = take(num_params, sizeof **u->copies);
        u->ordinals[k] = (int64_t)k;
        u->weights[k] = (double)(50 + rng_u64(1, k) % 1000);
        for (size_t i = 0; i < num_params; i++)
            u->values[k][i] = (float)((k * 7919 + i * 31) % 1000) / 1000 - 0.5f;
        memcpy(u->copies[k], u->values[k], num_params * sizeof **u->copies);
    }
}

static void free_updates(struct updates *u)
{
    for (size_t k = 0; k < u->count; k++) {
        free(u->values[k]);
        free(u->copies[k]);
    }
    free(u->values);
    free(u->copies);
    free(u->ordinals);
    free(u->weights);
    free(u->out);
}

static double time_average(const struct updates *u)
{
    int64_t start = mono_ns();
    if (average_blocks(u->ordinals, u->weights, (const float *const *)u->values, u->count, u->num_params,
                       u->out))
        bug("no average");
    return (double)(mono_ns() - start);
}

static double time_copy(const struct updates *u)
{
    int64_t start = mono_ns();
    for (size_t k = 0; k < u->count; k++)
        memcpy(u->copies[k], u->values[k], u->num_params * sizeof **u->copies);
    return (double)(mono_ns() - start);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench(const char *name, size_t count, size_t num_params, int rounds)
{
    static double (*const timers[])(const struct updates *u) = {time_average, time_copy};
    static double times[2][MAX_ROUNDS];
    struct updates u;
    make_updates(&u, count, num_params);
    for (int r = 0; r < rounds; r++) {
        for (int t = 0; t < 2; t++)
            times[t][r] = timers[t](&u);
    }
    (void)printf("%s", name);
    double bytes = (double)(count * num_params * sizeof(float));
    for (int t = 0; t < 2; t++) {
        qsort(times[t], (size_t)rounds, sizeof *times[t], compare);
        (void)printf(";%.1f;%.1f", bytes / times[t][0], bytes / times[t][rounds / 2]);
    }
    (void)printf("\n");
    free_updates(&u);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 20;
    if (rounds < 1 || rounds > MAX_ROUNDS)
        bug("1 to %d rounds, not %d", MAX_ROUNDS, rounds);
    bench("50 updates of 10 MB", 50, 2500000, rounds);
    bench("1000 updates of 31 KB", 1000, 7850, rounds * 10 < MAX_ROUNDS ? rounds * 10 : MAX_ROUNDS);
    return 0;
}
