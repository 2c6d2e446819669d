/* The step of an optimizer over all parameters (compute_descent.h). A work-item has one of them. */

enum { RULE_SGD, RULE_MOMENTUM, RULE_ADAM };

struct descent { /* as opencl_descent.c fills it in */
    int rule, is_first, is_prox;
    float learning_rate, mu, weight_decay, clip_norm;
    float keep1, take1, keep2, take2, unbias1, unbias2, epsilon;
};

/* squared_norm is a double, which only devices that have them look at. */
float clip_factor(const struct descent *d, __global const char *squared_norm)
{
#ifdef HAS_DOUBLE
    if (d->clip_norm > 0) {
        const double factor = d->clip_norm / (sqrt(*(__global const double *)squared_norm) + 1e-6);
        return factor >= 1 ? 1 : (float)factor;
    }
#endif
    return 1;
}

__kernel void descent(ulong n, const struct descent d, __global const float *g, ulong g_at, __global float *w, ulong w_at,
                      __global const float *w0, ulong w0_at, __global float *m, ulong m_at, __global float *v, ulong v_at,
                      __global const char *squared_norm, ulong squared_norm_at)
{
    const size_t i = get_global_id(0);
    if (i >= n)
        return;
    const float old = w[w_at + i], pull = d.mu * (old - w0[w0_at + i]);
    float x = clip_factor(&d, squared_norm + squared_norm_at) * g[g_at + i] + d.weight_decay * old;
    if (d.is_prox)
        x += pull;
    if (d.rule != RULE_SGD) {
        const float first = d.keep1 * (d.is_first ? 0 : m[m_at + i]) + d.take1 * x;
        m[m_at + i] = first;
        if (d.rule == RULE_ADAM) {
            const float second = d.keep2 * (d.is_first ? 0 : v[v_at + i]) + d.take2 * x * x;
            v[v_at + i] = second;
            x = d.unbias1 * first / (d.unbias2 * sqrt(second) + d.epsilon);
        } else {
            x = first;
        }
    }
    w[w_at + i] = old - d.learning_rate * (d.is_prox ? x : x + pull);
}
