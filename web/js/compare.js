// What the compare view is asked to show, and how runs differ. Pure.
import { nameOr, parseNumber } from './format.js';
import { byRound, byWallTime, smooth } from './series.js';

export const MOST_COMPARED = 10;
export const COMPARE_AXES = ['round', 'wall', 'steps'];
const DEFAULT_METRIC = 'train_loss';

// Settings from the fragment's query. `wrong` says what of it cannot be followed, in words.
export function compareSettings(query) {
    const wrong = [];
    const asked = String(query.runs ?? '').split(',').map((id) => id.trim()).filter(Boolean);
    const isId = (id) => /^[0-9a-f]{32}$/.test(id);
    const bad = asked.filter((id) => !isId(id));
    if (bad.length > 0) {
        const which = bad.length === 1 ? 'One of the runs in the link is no id' : `${bad.length} of the runs in the link are no ids`;
        wrong.push(`${which}: ${bad.join(', ')}`);
    }
    const unique = [...new Set(asked.filter(isId))];
    if (unique.length > MOST_COMPARED)
        wrong.push(`The link names ${unique.length} runs; the first ${MOST_COMPARED} are shown`);
    const x = COMPARE_AXES.includes(query.x) ? query.x : 'round';
    if (query.x !== undefined && query.x !== x)
        wrong.push(`There is no axis “${query.x}”; it is ${COMPARE_AXES.join(', ')}`);
    const smooth = Number(query.smooth ?? 0);
    const isSmooth = smooth >= 0 && smooth < 1;
    if (!isSmooth)
        wrong.push('Smoothing goes from 0 to 0.99');
    return {
        runs: unique.slice(0, MOST_COMPARED),
        metric: query.metric || DEFAULT_METRIC,
        x, smooth: isSmooth ? smooth : 0, log: query.log === '1', wrong,
    };
}

function putValues(into, path, value) {
    const isNode = value !== null && typeof value === 'object' && !Array.isArray(value);
    if (isNode && Object.keys(value).length > 0) {
        for (const [key, below] of Object.entries(value))
            putValues(into, path ? `${path}.${key}` : key, below);
    } else if (value !== null && value !== undefined) {
        into.set(path, typeof value === 'string' ? value : JSON.stringify(value));
    }
}

// A spec as a list of paths: Map of 'training.batch_size' -> '10'. Arrays stand as JSON.
export function flatSpec(spec) {
    const flat = new Map();
    putValues(flat, '', spec ?? {});
    flat.delete('');
    return flat;
}

// A spec with what was changed on the way laid over it.
export function specInForce(spec, config) {
    const isNode = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
    const merged = { ...spec };
    for (const [key, value] of Object.entries(config ?? {}))
        merged[key] = isNode(value) && isNode(merged[key]) ? specInForce(merged[key], value) : value;
    return merged;
}

// [{path, values: [text or null for each run]}] of what is not the same in all of them, by path.
export function differingParams(specs) {
    const flats = specs.map(flatSpec);
    const paths = [...new Set(flats.flatMap((flat) => [...flat.keys()]))].sort();
    return paths
        .map((path) => ({ path, values: flats.map((flat) => flat.get(path) ?? null) }))
        .filter(({ path, values }) => path !== 'name' && new Set(values).size > 1);
}

// Which way is better: -1 less, 1 more, 0 not known: that a model moved little is neither good nor bad.
export function betterWay(metric) {
    if (/accuracy|auc|f1|precision|recall/.test(metric))
        return 1;
    return /loss|error|gamma/.test(metric) ? -1 : 0;
}

// The place of the best of the values; -1 where there is none, or all that can be compared are the same.
export function bestOf(values, way) {
    const finite = values.filter((v) => Number.isFinite(v));
    if (way === 0 || finite.length < 2 || finite.every((v) => v === finite[0]))
        return -1;
    return values.indexOf(way > 0 ? Math.max(...finite) : Math.min(...finite));
}

// The last values of all metrics of the runs: [{metric, values, best}], by name.
export function lastValues(runs) {
    const valuesOf = runs.map((run) => run.metrics?.values ?? {});
    const names = [...new Set(valuesOf.flatMap((values) => Object.keys(values)))].sort();
    return names.map((metric) => {
        const values = valuesOf.map((of) => (metric in of ? parseNumber(of[metric]) : null));
        return { metric, values, best: bestOf(values, betterWay(metric)) };
    });
}

// Names that tell the runs apart: their own, with the end of the id where that is not enough.
export function runLabels(runs) {
    const names = runs.map((run) => nameOr(run.name, 'unnamed'));
    return runs.map((run, i) => (names.filter((name) => name === names[i]).length > 1
        ? `${names[i]} …${run.id.slice(-6)}` : names[i]));
}

// What a round has besides its metrics.
export const ROUND_METRICS = new Map([
    ['proximal_mu', 'Proximal mu'], ['dissimilarity_b', 'Dissimilarity B'],
    ['grad_variance_weighted', 'Gradient variance, weighted'], ['grad_variance_uniform', 'Gradient variance, uniform'], ['duration_ms', 'Duration of the round, ms'],
    ['bytes_in', 'Bytes received'], ['bytes_out', 'Bytes sent'],
]);

// 'train_loss' as people write it.
export function metricTitle(name) {
    if (ROUND_METRICS.has(name))
        return ROUND_METRICS.get(name);
    const words = name.replace(/_/g, ' ').replace(/ p(\d+)$/, ', $1th percentile');
    return words.charAt(0).toUpperCase() + words.slice(1);
}

// A curve is [{round, value, at, totalSteps}]. Time and steps are those before the round, as its metrics are of the model it starts from.
export function curveOfPoints(items) {
    return items.map((p) => ({ round: p.round, value: parseNumber(p.value), at: p.at, totalSteps: p.total_steps }));
}

// Smoothing means the same whether a curve has all its points or every tenth: the weight is for one round.
export function weightOfStride(weight, curve) {
    if (curve.length < 2)
        return weight;
    const stride = (curve[curve.length - 1].round - curve[0].round) / (curve.length - 1);
    return weight ** Math.max(1, stride);
}

function onAxis(curve, x, run) {
    if (x === 'wall')
        return byWallTime(curve, run.started_at);
    return x === 'steps' ? curve.map((p) => [p.totalSteps, p.value]) : byRound(curve);
}

// The points that the settings ask for: [[x, y]], x a round, seconds since the start, or steps that all devices had done.
export function comparePoints(curve, { x, smooth: weight }, run) {
    return smooth(onAxis(curve, x, run), weightOfStride(weight, curve));
}
