/* e^x and what is made of it. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_EXPONENTIAL_H
#define FEDLANE_COMPUTE_OPENBLAS_TEMPLATE_EXPONENTIAL_H

/* e^x = 2^n e^r, |r| <= ln(2) / 2. */
struct powers {
    vf two_n, less_one; /* 2^n, e^r - 1 */
};

/* For -126 <= x / ln(2) < 128.5, where 2^128 is infinity. e^r by its polynomial (Cephes' expf coefficients),
 * summed by pairs, which waits less than one term after the other. NaN stays NaN. */
INLINE struct powers powers(vf x)
{
    const vf rounding = splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
    const vf shifted = FMA(x, splat(1.44269504088896341f), rounding), n = shifted - rounding;
    vf r = FMA(n, splat(-0.693359375f), x);
    r = FMA(n, splat(2.12194440e-4f), r);
    const vf square = r * r;
    const vf high = FMA(splat(1.9875691500e-4f), r, splat(1.3981999507e-3f)),
             middle = FMA(splat(8.3334519073e-3f), r, splat(4.1665795894e-2f)),
             low = FMA(splat(1.6666665459e-1f), r, splat(5.0000001201e-1f));
    const vi exponent = ((vi)shifted - (vi)rounding + 127) << 23;
    return (struct powers){(vf)exponent, FMA(FMA(FMA(high, square, middle), square, low), square, r)};
}

/* Within 2 units in the last place for -87 <= x <= 88; below, e^-87, which is 1e-38 instead of less. */
INLINE vf exponential(vf x)
{
    const struct powers p = powers(at_least(x, splat(-87.0f)));
    return (p.less_one + splat(1)) * p.two_n;
}

/* 1 / (1 + e^-x); 0 below -88.4, where floats end. */
INLINE vf sigmoid(vf x)
{
    return splat(1) / (splat(1) + exponential(-at_least(x, splat(-89.0f))));
}

/* e / (e + 2) with e = e^-2|x| - 1, which loses nothing near 0, and the sign of x. */
INLINE vf hyperbolic_tangent(vf x)
{
    const vf magnitude = (vf)((vi)x & INT32_MAX);
    const struct powers p = powers(at_least(splat(-2) * magnitude, splat(-40.0f)));
    const vf e = FMA(p.two_n, p.less_one, p.two_n - splat(1)), y = e / (e + splat(2));
    return (vf)(((vi)y & INT32_MAX) | ((vi)x & INT32_MIN));
}

#endif
