// Where the axes of a chart begin and end and which numbers stand beside them; for the canvas and the SVG alike.
import { fmtNumber } from './format.js';

const NICE = [1, 2, 5, 10];
// Numbers beyond these have no room for a step around them.
const MOST = 1e300;
const LEAST = 1e-300;

function niceStep(span, count) {
    const rough = span / Math.max(1, count);
    const decade = 10 ** Math.floor(Math.log10(rough));
    return decade * NICE.find((n) => n * decade >= rough * (1 - 1e-9));
}

function decimalsOf(step) {
    return Math.max(0, Math.min(15, -Math.floor(Math.log10(step) + 1e-9)));
}

// An axis with round numbers at both ends. whole: no tick between integers.
export function linearAxis(low, high, { count = 5, whole = false, tight = false, fmt = null } = {}) {
    let [min, max] = [low, high].map((v) => Math.max(-MOST, Math.min(v, MOST)));
    const size = Math.max(Math.abs(min), Math.abs(max));
    // What differs by rounding only is one value: between such there are no round numbers.
    if (max - min <= size * 1e-9 || size < LEAST) {
        const room = size < LEAST ? 0 : size * 0.1;
        [min, max] = whole || room === 0 ? [min, min + Math.max(1, Math.ceil(size * 1e-6))] : [min - room, max + room];
    }
    const step = whole ? Math.max(1, niceStep(max - min, count)) : niceStep(max - min, count);
    const first = Math.ceil(min / step - 1e-9);
    const last = Math.floor(max / step + 1e-9);
    const from = tight ? first : Math.floor(min / step + 1e-9);
    const to = tight ? last : Math.ceil(max / step - 1e-9);
    const ticks = [];
    for (let i = from; i <= to; i++)
        ticks.push(Number((i * step).toPrecision(12)) + 0);
    const label = fmt ?? ((v) => tickLabel(v, step));
    return {
        min: tight ? min : ticks[0],
        max: tight ? max : ticks[ticks.length - 1],
        ticks: ticks.map((value) => ({ value, label: label(value) })),
        log: false,
    };
}

// Short, and as many digits as tell the ticks apart.
function tickLabel(value, step) {
    const size = Math.abs(value);
    if (value !== 0 && (size >= 1e6 || step < 1e-4)) {
        const digits = Math.max(0, Math.floor(Math.log10(size) + 1e-9) - Math.floor(Math.log10(step) + 1e-9));
        const [mantissa, exponent] = value.toExponential(Math.min(6, digits)).split('e');
        return `${Number(mantissa)}e${Number(exponent)}`.replaceAll('-', '\u2212');
    }
    const digits = decimalsOf(step);
    return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace('-', '\u2212');
}

// A logarithmic axis for low > 0: decades, and numbers between them where there are few.
export function logAxis(low, high, { fmt = null } = {}) {
    const [from0, to0] = [low, high].map((v) => Math.max(LEAST, Math.min(v, MOST)));
    const isOne = to0 <= from0 * (1 + 1e-9);
    const [min, max] = isOne ? [from0 / 2, to0 * 2] : [from0, to0];
    const from = Math.floor(Math.log10(min) + 1e-9);
    const to = Math.ceil(Math.log10(max) - 1e-9);
    const stride = Math.max(1, Math.ceil((to - from) / 8));
    const decades = Math.log10(max / min);
    const parts = decades <= 2 ? [1, 2, 5] : decades <= 3.5 ? [1, 3] : [1];
    const ticks = [];
    for (let d = from; d <= to; d += stride) {
        for (const part of parts) {
            const value = Number(`${part}e${d}`);
            if (value >= min * (1 - 1e-9) && value <= max * (1 + 1e-9))
                ticks.push(value);
        }
    }
    // Within less than a decade the numbers of a linear axis tell more.
    if (ticks.length < 3 && decades < 1)
        return { ...linearAxis(min, max, { tight: true, fmt }), log: true };
    const label = fmt ?? ((v) => tickLabel(v, v));
    return { min, max, ticks: ticks.map((value) => ({ value, label: label(value) })), log: true };
}

function extent(values) {
    let low = Infinity;
    let high = -Infinity;
    for (const v of values) {
        low = Math.min(low, v);
        high = Math.max(high, v);
    }
    return [low, high];
}

export function isShown(y, log) {
    return Number.isFinite(y) && (!log || y > 0);
}

// Both axes of lineChart's options. Without a point to show they go from 0 to 1.
export function chartAxes({ x = {}, y = {}, series, log = false }) {
    const xs = [...(x.include ?? [])];
    const ys = [];
    for (const one of series) {
        for (const [px, py] of one.points) {
            xs.push(px);
            if (isShown(py, log))
                ys.push(py);
        }
        for (const [, lo, hi] of one.band ?? [])
            ys.push(...[lo, hi].filter((v) => isShown(v, log)));
    }
    const [x0, x1] = xs.length > 0 ? extent(xs) : [0, 1];
    const [y0, y1] = ys.length > 0 ? extent([...ys, ...(log ? [] : y.include ?? [])]) : log ? [0.1, 1] : [0, 1];
    const wholeX = xs.every((v) => Number.isInteger(v));
    return {
        x: linearAxis(x0, x1, { count: 6, whole: wholeX, tight: true, fmt: x.tick ?? x.fmt }),
        y: log ? logAxis(y0, y1, { fmt: y.tick }) : linearAxis(y0, y1, { count: 5, whole: y.whole, fmt: y.tick }),
    };
}

// What a chart has to leave out, in words; '' for nothing.
export function gapNote(series, log) {
    let notFinite = 0;
    let notPositive = 0;
    for (const one of series) {
        for (const [, y] of one.points) {
            notFinite += Number.isFinite(y) ? 0 : 1;
            notPositive += log && Number.isFinite(y) && y <= 0 ? 1 : 0;
        }
    }
    const parts = [];
    if (notFinite > 0)
        parts.push(`${notFinite} ${notFinite === 1 ? 'value is' : 'values are'} NaN or infinite`);
    if (notPositive > 0) {
        parts.push(`${notPositive} ${notPositive === 1 ? 'value is' : 'values are'} 0 or less, `
            + 'which a logarithmic scale cannot show');
    }
    return parts.length > 0 ? `Gaps: ${parts.join('; ')}.` : '';
}

export function valueText(y, fmt) {
    return Number.isFinite(y) ? (fmt ?? ((v) => fmtNumber(v, 4)))(y) : String(y ?? '–');
}
