#include "lanes/virtual/summary.h"
#include <stdlib.h>

#define NS_PER_S 1e9

static int smaller_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* (sum x)^2 / (n sum x^2): 1 where all have the same, 1/n where one has all (Jain, Chiu and Hawe 1984). */
struct jain {
    double sum, squares;
    size_t n;
};

static void jain_add(struct jain *j, double x)
{
    j->sum += x;
    j->squares += x * x;
    j->n++;
}

static double jain_index(const struct jain *j)
{
    return j->squares > 0 ? j->sum * j->sum / ((double)j->n * j->squares) : 1;
}

struct virtual_summary summarise(const struct virtual_job *rows, const struct virtual_outcome *outcomes,
                                 size_t n, const struct summary_scratch *scratch)
{
    struct virtual_summary s = {.num_jobs = n};
    struct jain jain = {0};
    int64_t first = 0, last = 0;
    double sum = 0;
    size_t ran = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || rows[i].arrival_ns < first)
            first = rows[i].arrival_ns;
        if (outcomes[i].end_ns < 0) {
            s.num_refused++;
            continue;
        }
        double alone = (double)rows[i].step_ns * (double)rows[i].steps;
        int64_t there = outcomes[i].end_ns - rows[i].arrival_ns;
        last = outcomes[i].end_ns > last ? outcomes[i].end_ns : last;
        scratch->completions[ran++] = there;
        sum += (double)there;
        if (alone <= 0)
            continue; /* its share is nothing of nothing */
        jain_add(&jain, alone / (double)there / rows[i].weight);
        if ((double)there / alone > s.max_slowdown)
            s.max_slowdown = (double)there / alone;
    }
    s.jain = jain_index(&jain);
    if (ran == 0)
        return s;
    qsort(scratch->completions, ran, sizeof *scratch->completions, smaller_first);
    s.average_completion_s = sum / (double)ran / NS_PER_S;
    size_t p95 = (ran * 95 + 99) / 100 - 1;
    s.p95_completion_s = (double)scratch->completions[p95] / NS_PER_S;
    s.makespan_s = (double)(last - first) / NS_PER_S;
    return s;
}
