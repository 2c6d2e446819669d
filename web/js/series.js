// Curves: from the API's metric points to what a chart draws, and back to text.
import { parseNumber } from './format.js';

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

// One row for each x, one column for each series (and two more for its band); NaN and the infinities as such.
export function toCsv(series, xName = 'x') {
    const columns = [];
    for (const one of series) {
        columns.push({ name: one.name, points: one.points });
        if (one.band && one.band.length > 0) {
            columns.push({ name: `${one.name} low`, points: one.band.map(([x, low]) => [x, low]) });
            columns.push({ name: `${one.name} high`, points: one.band.map(([x, , high]) => [x, high]) });
        }
    }
    const head = [xName, ...columns.map((c) => c.name)];
    return [head, ...tableOf(columns)].map((row) => `${row.map(csvField).join(',')}\r\n`).join('');
}
