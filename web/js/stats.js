// Which of many values stand out.

// Linear between the two nearest ranks, as most tools do it. sorted: ascending, not empty.
export function quantile(sorted, q) {
    const at = q * (sorted.length - 1);
    const low = Math.floor(at);
    const high = Math.min(low + 1, sorted.length - 1);
    return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

export const FEWEST_FOR_OUTLIERS = 5;

// Tukey's fences: 1.5 times the distance of the quartiles beyond them. null where there are too few values, or
// half of them are equal, so that anything else would stand out.
export function fencesOf(values) {
    const sorted = values.filter((v) => Number.isFinite(v)).sort((a, b) => a - b);
    if (sorted.length < FEWEST_FOR_OUTLIERS)
        return null;
    const q1 = quantile(sorted, 0.25);
    const q3 = quantile(sorted, 0.75);
    if (!(q3 > q1))
        return null;
    const reach = 1.5 * (q3 - q1);
    return { low: q1 - reach, high: q3 + reach };
}

// 'high', 'low' or null. What is not finite stands out among values that are.
export function outlierSide(value, fences) {
    if (!fences || value === null || value === undefined)
        return null;
    if (Number.isNaN(value) || value > fences.high)
        return 'high';
    return value < fences.low ? 'low' : null;
}
