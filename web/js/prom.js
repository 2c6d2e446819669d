// Prometheus' text format: reading it, and what happened between two looks at it.

// {name, labels: {key: value}, value} of a line; null for a comment or what is no sample.
function promLine(line) {
    const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})?[ \t]+(\S+)/.exec(line);
    if (!match)
        return null;
    const labels = {};
    for (const [, key, text] of (match[2] ?? '').matchAll(/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g))
        labels[key] = text.replace(/\\(.)/g, (all, c) => (c === 'n' ? '\n' : c));
    return { name: match[1], labels, value: promNumber(match[3]) };
}

function promNumber(text) {
    const named = { '+Inf': Infinity, '-Inf': -Infinity, Inf: Infinity };
    return named[text] ?? Number(text);
}

// The samples of a text, by name: Map of name -> [{labels, value}].
export function parseProm(text) {
    const samples = new Map();
    for (const line of text.split('\n')) {
        const sample = promLine(line);
        if (sample) {
            const list = samples.get(sample.name) ?? [];
            list.push({ labels: sample.labels, value: sample.value });
            samples.set(sample.name, list);
        }
    }
    return samples;
}

function hasLabels(sample, wanted) {
    return Object.entries(wanted).every(([key, value]) => sample.labels[key] === value);
}

// The sum of the samples that have these labels; NaN where there is none.
export function promValue(samples, name, wanted = {}) {
    const found = (samples.get(name) ?? []).filter((sample) => hasLabels(sample, wanted));
    return found.length === 0 ? NaN : found.reduce((sum, sample) => sum + sample.value, 0);
}

// What one label says over all samples of a name.
export function promLabels(samples, name, label) {
    return [...new Set((samples.get(name) ?? []).map((sample) => sample.labels[label]))];
}

// A counter's growth; a counter that fell has begun again at 0. What was not there before was 0.
export function promGrowth(before, after, name, wanted = {}) {
    const now = promValue(after, name, wanted);
    const then = before ? promValue(before, name, wanted) : NaN;
    return Number.isNaN(then) || now < then ? now : now - then;
}

// Buckets of a histogram summed over all that has these labels: [[upper bound, how many up to it]], ascending.
export function promBuckets(samples, name, wanted = {}) {
    const byBound = new Map();
    for (const sample of samples.get(`${name}_bucket`) ?? []) {
        if (hasLabels(sample, wanted)) {
            const bound = promNumber(sample.labels.le);
            byBound.set(bound, (byBound.get(bound) ?? 0) + sample.value);
        }
    }
    return [...byBound].sort((a, b) => a[0] - b[0]);
}

// The buckets of what came between two looks.
export function bucketGrowth(before, after) {
    const then = new Map(before);
    const isNew = after.some(([bound, count]) => count < (then.get(bound) ?? 0));
    return isNew ? after : after.map(([bound, count]) => [bound, count - (then.get(bound) ?? 0)]);
}

// The q-quantile by linear interpolation within its bucket, as Prometheus does. {value, isMore}: isMore says that it lies
// above the last finite bound, which value then is. null where nothing was counted.
export function bucketQuantile(buckets, q) {
    const total = buckets.length > 0 ? buckets[buckets.length - 1][1] : 0;
    if (!(total > 0))
        return null;
    const rank = q * total;
    let low = 0;
    let below = 0;
    for (const [bound, count] of buckets) {
        if (count >= rank && count > below) {
            return bound === Infinity ? { value: low, isMore: true }
                : { value: low + (bound - low) * Math.max(0, (rank - below) / (count - below)), isMore: false };
        }
        low = bound === Infinity ? low : bound;
        below = count;
    }
    return { value: low, isMore: true };
}
