/* An optimizer's step (compute_descent.h) in one pass over the parameters. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_DESCENT_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_DESCENT_H

struct descent {
    const struct compute_descent *d;
    float learning_rate, mu, factor; /* factor: of clipping */
    const float *g, *w0;
    float *w, *m, *v; /* m, v: NULL where the rule has none */
};

/* rule and is_prox are constants. */
INLINE vf descent_direction(const struct compute_descent *d, enum compute_rule rule, vf g, vf *m, vf *v)
{
    if (rule == COMPUTE_RULE_SGD)
        return g;
    *m = FMA(splat(d->take1), g, splat(d->keep1) * *m);
    if (rule == COMPUTE_RULE_MOMENTUM)
        return *m;
    *v = FMA(splat(d->take2) * g, g, splat(d->keep2) * *v);
    return splat(d->unbias1) * *m / FMA(splat(d->unbias2), square_root(*v), splat(d->epsilon));
}

INLINE void descent_vector(const struct descent *s, enum compute_rule rule, bool is_prox, size_t i)
{
    const bool has_m = rule != COMPUTE_RULE_SGD, has_v = rule == COMPUTE_RULE_ADAM;
    vf w = load(s->w + i), pull = splat(s->mu) * (w - load(s->w0 + i));
    vf g = FMA(splat(s->d->weight_decay), w, splat(s->factor) * load(s->g + i));
    vf m = has_m && !s->d->is_first ? load(s->m + i) : splat(0);
    vf v = has_v && !s->d->is_first ? load(s->v + i) : splat(0);
    vf step = descent_direction(s->d, rule, is_prox ? g + pull : g, &m, &v);
    store(s->w + i, FMA(splat(-s->learning_rate), is_prox ? step : step + pull, w));
    if (has_m)
        store(s->m + i, m);
    if (has_v)
        store(s->v + i, v);
}

/* What is left behind the last whole vector. */
INLINE void descent_rest(const struct descent *s, enum compute_rule rule, bool is_prox, size_t i, size_t n)
{
    float g[LANES] = {0}, w[LANES] = {0}, w0[LANES] = {0}, m[LANES] = {0}, v[LANES] = {0};
    const bool has_m = rule != COMPUTE_RULE_SGD, has_v = rule == COMPUTE_RULE_ADAM, is_on = !s->d->is_first;
    const size_t bytes = n * sizeof(float);
    struct descent rest = *s;
    rest.g = g, rest.w = w, rest.w0 = w0, rest.m = m, rest.v = v;
    memcpy(g, s->g + i, bytes);
    memcpy(w, s->w + i, bytes);
    memcpy(w0, s->w0 + i, bytes);
    if (has_m && is_on)
        memcpy(m, s->m + i, bytes);
    if (has_v && is_on)
        memcpy(v, s->v + i, bytes);
    descent_vector(&rest, rule, is_prox, 0);
    memcpy(s->w + i, w, bytes);
    if (has_m)
        memcpy(s->m + i, m, bytes);
    if (has_v)
        memcpy(s->v + i, v, bytes);
}

INLINE void descent_run(const struct descent *s, enum compute_rule rule, bool is_prox, size_t n)
{
    const struct descent here = *s; /* what is stored cannot change it */
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        descent_vector(&here, rule, is_prox, i);
    if (i < n)
        descent_rest(&here, rule, is_prox, i, n - i);
}

KERNEL_TARGET static void descent(const struct compute_op *op)
{
    const struct compute_descent *d = op->descent;
    const size_t states = compute_num_states(d->rule);
    const double *squared_norm = d->clip_norm > 0 ? compute_arg(op, 5) : NULL;
    struct descent s = {.d = d,
                        .learning_rate = op->learning_rate,
                        .mu = op->mu,
                        .factor = squared_norm ? compute_clip_factor(d, *squared_norm) : 1,
                        .g = compute_arg(op, 0),
                        .w = compute_arg(op, 1),
                        .w0 =
                            compute_arg(op, op->mu == 0 ? 1 : 2), /* without a pull one array less is read */
                        .m = states > 0 ? compute_arg(op, 3) : NULL,
                        .v = states > 1 ? compute_arg(op, 4) : NULL};
    if (d->rule == COMPUTE_RULE_SGD)
        descent_run(&s, COMPUTE_RULE_SGD, false, op->rows); /* without a state both are one */
    else if (d->rule == COMPUTE_RULE_MOMENTUM && d->is_prox)
        descent_run(&s, COMPUTE_RULE_MOMENTUM, true, op->rows);
    else if (d->rule == COMPUTE_RULE_MOMENTUM)
        descent_run(&s, COMPUTE_RULE_MOMENTUM, false, op->rows);
    else if (d->is_prox)
        descent_run(&s, COMPUTE_RULE_ADAM, true, op->rows);
    else
        descent_run(&s, COMPUTE_RULE_ADAM, false, op->rows);
}

#endif
