// Curves: from the API's metric points to what a chart draws, and back to text.
import { fmtCount, parseNumber } from './format.js';

const byFirst = (a, b) => a[0] - b[0];

// The curves over all devices (ordinal null) by name: Map of name -> [{round, value, at}], by round.
export function curvesOf(items) {
    const curves = new Map();
    for (const item of items) {
        if (item.ordinal !== null && item.ordinal !== undefined)
            continue;
        if (!curves.has(item.name))
            curves.set(item.name, []);
        curves.get(item.name).push({ round: item.round, value: parseNumber(item.value), at: item.at });
    }
    for (const curve of curves.values())
        curve.sort((a, b) => a.round - b.round);
    return curves;
}

export function byRound(curve) {
    return curve.map((p) => [p.round, p.value]);
}

// x in seconds since the start of the run.
export function byWallTime(curve, startedAt) {
    const start = Date.parse(startedAt);
    return curve
        .filter((p) => p.at !== null && Number.isFinite(Date.parse(p.at)) && Number.isFinite(start))
        .map((p) => [(Date.parse(p.at) - start) / 1000, p.value])
        .sort(byFirst);
}

// An exponential average that does not lean towards its start; weight 0 changes nothing, 0.99 is very smooth.
// What is not finite stays as it is and counts for nothing.
export function smooth(points, weight) {
    if (!(weight > 0))
        return points;
    const keep = Math.min(weight, 0.9999);
    let sum = 0;
    let share = 0;
    return points.map(([x, y]) => {
        if (!Number.isFinite(y))
            return [x, y];
        sum = keep * sum + (1 - keep) * y;
        share = keep * share + (1 - keep);
        return [x, sum / share];
    });
}

// Two curves as one band: [[x, low, high]] where both have a point.
export function bandOf(low, high) {
    const top = new Map(high);
    return low.filter(([x]) => top.has(x)).map(([x, y]) => [x, y, top.get(x)]);
}

// At most about `most` points: of each stretch its lowest and its highest, so that no peak is lost, and a gap where it
// has one.
export function thinPoints(points, most) {
    if (points.length <= most)
        return points;
    const size = Math.ceil((2 * points.length) / most);
    const kept = [];
    for (let from = 0; from < points.length; from += size) {
        const stretch = points.slice(from, from + size);
        const finite = stretch.filter(([, y]) => Number.isFinite(y));
        const gap = stretch.find(([, y]) => !Number.isFinite(y));
        const low = finite.reduce((a, b) => (b[1] < a[1] ? b : a), finite[0]);
        const high = finite.reduce((a, b) => (b[1] > a[1] ? b : a), finite[0]);
        const chosen = new Set([low, high, gap].filter(Boolean));
        kept.push(...[...chosen].sort(byFirst));
    }
    return kept;
}

export function hasFinite(points) {
    return points.some(([, y]) => Number.isFinite(y));
}

// All x of all series, ascending.
export function unionOfX(series) {
    const xs = new Set();
    for (const one of series) {
        for (const [x] of one.points)
            xs.add(x);
    }
    return [...xs].sort((a, b) => a - b);
}

// Rows of a table: [x, y of series 0, y of series 1, ...]; undefined where a series has no such x.
export function tableOf(series) {
    const maps = series.map((one) => new Map(one.points));
    return unionOfX(series).map((x) => [x, ...maps.map((m) => m.get(x))]);
}

function csvField(value) {
    if (value === undefined || value === null)
        return '';
    // A spreadsheet would take such a name for a formula.
    const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// A row for each point: series may have no x in common, and a series several points at one. A band is two series more. NaN and the
// infinities as such.
export function toCsv(series, xName = 'x', yName = 'value') {
    const rows = series.flatMap(({ name, points, band = [] }) => [
        ...points.map(([x, y]) => [name, x, y]),
        ...band.map(([x, low]) => [`${name} low`, x, low]),
        ...band.map(([x, , high]) => [`${name} high`, x, high]),
    ]);
    return [['series', xName, yName], ...rows].map((row) => `${row.map(csvField).join(',')}\r\n`).join('');
}

// How many values a curve has of which the server has sent no more than `most`: one in `every` rounds, from its first to its last.
export function valuesThere(curve, most, every = 1) {
    if (curve.length < most)
        return curve.length;
    const last = curve[curve.length - 1].round;
    return Math.max(curve.length, Math.ceil((last - curve[0].round) / Math.max(1, every)) + 1);
}

// In how many rounds a metric is measured once; evaluation: of the run's spec.
export function roundsBetween(metric, evaluation) {
    return /^(train_loss|test_|dissimilarity_b|grad_variance_)/.test(metric) ? evaluation?.every ?? 1 : 1;
}

// Where fewer points are drawn than there are (`there` of a series), of the longest curve; else empty. where: all values are.
export function drawnText(series, where) {
    const [longest] = series.filter((one) => one.there > one.points.length).sort((a, b) => b.there - a.there);
    if (!longest)
        return '';
    const all = where ? ` All values: ${where}.` : '';
    return `Drawn: ${fmtCount(longest.points.length)} of up to ${fmtCount(longest.there)} values`
        + `${series.length > 1 ? ' of a curve' : ''} (peaks kept); files hold what is drawn.${all}`;
}
