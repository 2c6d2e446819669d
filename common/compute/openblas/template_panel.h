/* Products of a few rows with a panel of 16 columns, in registers: out[i][0..15] = sum over k of a[i][k]
 * panel[k]. Each sum runs over k in order, so tiles do not show in the bits. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_PANEL_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_PANEL_H

enum { PANEL = 16, PANEL_VECTORS = PANEL / LANES };

INLINE vf pick(vi mask, vf yes, vf no)
{
    return (vf)((mask & (vi)yes) | (~mask & (vi)no));
}

/* All but NaN. */
INLINE vi is_number(vf v)
{
    return v <= splat(INFINITY);
}

/* What a row is, and what is done with its sums. */
struct panel {
    size_t lines, line, run; /* a row is `lines` runs of `run` floats, `line` apart */
    const float *panel;      /* [lines][run][16] */
    const float *bias;       /* 16 that are added, or NULL */
    bool has_relu, adds;     /* max(sum, 0); out += sum */
    size_t out_stride;
};

INLINE void panel_tile(const struct panel *p, const float *const *rows, float *out, int n)
{
    vf sum[PANEL_ROWS][PANEL_VECTORS];
    const float *a[PANEL_ROWS], *panel = p->panel;
    UNROLL for (int i = 0; i < n; i++)
    {
        a[i] = rows[i];
        UNROLL for (int v = 0; v < PANEL_VECTORS; v++)
        {
            sum[i][v] = splat(0);
        }
    }
    for (size_t l = 0; l < p->lines; l++) {
        for (size_t k = 0; k < p->run; k++, panel += PANEL) {
            vf column[PANEL_VECTORS];
            UNROLL for (int v = 0; v < PANEL_VECTORS; v++)
            {
                column[v] = load(panel + v * LANES);
            }
            UNROLL for (int i = 0; i < n; i++)
            {
                const vf factor = splat(a[i][k]);
                UNROLL for (int v = 0; v < PANEL_VECTORS; v++)
                {
                    sum[i][v] = FMA(factor, column[v], sum[i][v]);
                }
            }
        }
        UNROLL for (int i = 0; i < n; i++)
        {
            a[i] += p->line;
        }
    }
    UNROLL for (int i = 0; i < n; i++)
    {
        UNROLL for (int v = 0; v < PANEL_VECTORS; v++)
        {
            float *to = out + (size_t)i * p->out_stride + v * LANES;
            vf s = sum[i][v];
            if (p->bias)
                s += load(p->bias + v * LANES);
            if (p->has_relu)
                s = at_least(s, splat(0));
            if (p->adds)
                s += load(to);
            store(to, s);
        }
    }
}

/* How many of `rows` the next tile takes: none of one or two rows beside a full one, since their sums would
 * wait for each other. */
INLINE size_t panel_take(size_t rows)
{
    return rows <= PANEL_ROWS ? rows : rows < 2 * PANEL_ROWS ? (rows + 1) / 2 : PANEL_ROWS;
}

#define PANEL_CASE(count)                                                                                    \
    case count:                                                                                              \
        panel_tile(p, rows, out, count);                                                                     \
        break

INLINE void panel_run(const struct panel *p, const float *const *rows, float *out, size_t n)
{
    switch (n) {
        PANEL_CASE(1);
        PANEL_CASE(2);
        PANEL_CASE(3);
#if PANEL_ROWS >= 6
        PANEL_CASE(4);
        PANEL_CASE(5);
        PANEL_CASE(6);
#endif
#if PANEL_ROWS >= 12
        PANEL_CASE(7);
        PANEL_CASE(8);
        PANEL_CASE(9);
        PANEL_CASE(10);
        PANEL_CASE(11);
        PANEL_CASE(12);
#endif
    default:
        break;
    }
}

#endif
