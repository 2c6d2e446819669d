#include "common/data/partition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"

/* Each device takes two neighbouring labels, BASE examples of each, and then a lognormal share of both. */
#define LABELS_PER_DEVICE 2
#define BASE              5

struct piece {
    size_t start, count; /* in the rows sorted by label */
};

struct paper {
    size_t devices, classes, groups; /* groups = devices / classes */
    uint32_t *sorted;
    size_t *first;        /* [classes + 1], of the labels in sorted */
    size_t *next;         /* [classes]: the first that nobody has taken, in sorted */
    double *growth;       /* [classes][groups][2]: exp(2 z) */
    struct piece *pieces; /* [devices][4]: base of both labels, share of both labels */
};

static void paper_release(struct paper *p)
{
    free(p->sorted);
    free(p->first);
    free(p->next);
    free(p->growth);
    free(p->pieces);
}

static enum err paper_init(struct paper *p, const struct labelled *in, size_t devices, uint64_t seed)
{
    *p = (struct paper){.devices = devices, .classes = (size_t)in->num_classes};
    p->groups = devices / p->classes;
    const size_t num_growth = devices * LABELS_PER_DEVICE;
    p->sorted = malloc(in->num_rows * sizeof *p->sorted);
    p->first = malloc((p->classes + 1) * sizeof *p->first);
    p->next = malloc(p->classes * sizeof *p->next);
    p->growth = malloc(num_growth * sizeof *p->growth);
    p->pieces = calloc(devices * LABELS_PER_DEVICE * 2, sizeof *p->pieces);
    if (!p->sorted || !p->first || !p->next || !p->growth || !p->pieces)
        return ERR_NO_MEMORY;
    rows_by_label(in, p->sorted, p->first);
    memcpy(p->next, p->first, p->classes * sizeof *p->next);
    rng_normals(rng_key(seed, RNG_LABEL_SHARES, 0, 0, 0), p->growth, num_growth);
    for (size_t i = 0; i < num_growth; i++)
        p->growth[i] = exp(2 * p->growth[i]);
    return ERR_OK;
}

static enum err check(const struct paper *p, struct fault *fault)
{
    const size_t needed = p->groups * LABELS_PER_DEVICE * BASE;
    for (size_t l = 0; l < p->classes; l++) {
        const size_t there = p->first[l + 1] - p->first[l];
        if (there < needed)
            return fault_set(
                fault, ERR_INVALID_FIELD, "data.partition.devices",
                "%zu devices take %zu examples of each label to begin with, but label %zu has %zu: give "
                "fewer devices or another partition",
                p->devices, needed, l, there);
    }
    return ERR_OK;
}

static void take_base(struct paper *p)
{
    for (size_t i = 0; i < p->devices; i++)
        for (size_t j = 0; j < LABELS_PER_DEVICE; j++) {
            const size_t l = (i + j) % p->classes;
            p->pieces[4 * i + j] = (struct piece){p->next[l], BASE};
            p->next[l] += BASE;
        }
}

static void take_share(struct paper *p, size_t l, double growth, double total, struct piece *out)
{
    const size_t base = p->groups * LABELS_PER_DEVICE * BASE;
    const double spare = (double)(p->first[l + 1] - p->first[l] - base);
    const size_t count = (size_t)floor(spare * growth / total);
    /* As in the authors' code: the last example of a label stays, and a share too large for the rest is
     * skipped. */
    if (p->next[l] + count >= p->first[l + 1])
        return;
    *out = (struct piece){p->next[l], count};
    p->next[l] += count;
}

static void take_shares(struct paper *p, double *total)
{
    const size_t per_class = p->groups * LABELS_PER_DEVICE;
    for (size_t l = 0; l < p->classes; l++) {
        total[l] = 0;
        for (size_t g = 0; g < per_class; g++)
            total[l] += p->growth[l * per_class + g];
    }
    struct piece *pieces = p->pieces;
    for (size_t g = 0; g < p->groups; g++)
        for (size_t c = 0; c < p->classes; c++, pieces += 2 * LABELS_PER_DEVICE)
            for (size_t j = 0; j < LABELS_PER_DEVICE; j++) {
                const size_t l = (c + j) % p->classes;
                const double growth = p->growth[l * per_class + g * LABELS_PER_DEVICE + j];
                take_share(p, l, growth, total[l], &pieces[LABELS_PER_DEVICE + j]);
            }
}

static void gather_pieces(const struct paper *p, struct shares *out)
{
    size_t end = 0;
    for (size_t i = 0; i < p->devices; i++) {
        for (size_t k = 4 * i; k < 4 * i + 4; k++) {
            memcpy(out->rows + end, p->sorted + p->pieces[k].start, p->pieces[k].count * sizeof *out->rows);
            end += p->pieces[k].count;
        }
        out->first[i + 1] = end;
    }
}

enum err partition_paper_label_shards(const struct labelled *in, const struct partition_params *params,
                                      uint64_t seed, struct shares *out, struct fault *fault)
{
    const size_t devices = (size_t)params->devices;
    if (devices % (size_t)in->num_classes != 0)
        return fault_set(fault, ERR_INVALID_FIELD, "data.partition.devices",
                         "%zu is not a multiple of the %d classes, as this partition needs: give %zu",
                         devices, in->num_classes,
                         (devices / (size_t)in->num_classes + 1) * (size_t)in->num_classes);
    struct paper p;
    double *total = malloc((size_t)in->num_classes * sizeof *total);
    enum err err = paper_init(&p, in, devices, seed);
    if (err != ERR_OK || !total) {
        err = fault_set(fault, ERR_NO_MEMORY, "data.partition", "no memory to share out %zu examples",
                        in->num_rows);
        goto out;
    }
    err = check(&p, fault);
    if (err == ERR_OK)
        err = shares_alloc(out, devices, in->num_rows, fault);
    if (err != ERR_OK)
        goto out;
    take_base(&p);
    take_shares(&p, total);
    gather_pieces(&p, out);
out:
    paper_release(&p);
    free(total);
    return err;
}
