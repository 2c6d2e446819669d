// Numbers for people. All give an en dash for what is not known; a unit stands behind a space, for quantity().

const UNKNOWN = '–';

// Numbers, and the API's texts for what JSON cannot say. null: not known.
export function parseNumber(value) {
    if (typeof value === 'number')
        return value;
    if (value === 'NaN')
        return NaN;
    if (value === 'Infinity')
        return Infinity;
    if (value === '-Infinity')
        return -Infinity;
    return null;
}

function special(x) {
    if (x === null || x === undefined)
        return UNKNOWN;
    if (Number.isNaN(x))
        return 'NaN';
    if (x === Infinity)
        return '∞';
    return x === -Infinity ? '−∞' : '';
}

function minus(text) {
    return text.replace(/^-/, '−').replace('e-', 'e−').replace('e+', 'e');
}

function grouped(text) {
    const [whole, rest] = text.split('.');
    const groups = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
    return rest === undefined ? groups : `${groups}.${rest}`;
}

// `digits` significant digits, no trailing zeros; very large and very small ones with an exponent.
export function fmtNumber(value, digits = 4) {
    const x = parseNumber(value);
    const text = special(x);
    if (text)
        return text;
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-4 || size >= 1e9)) {
        const [mantissa, exponent] = x.toExponential(Math.max(0, digits - 1)).split('e');
        return minus(`${Number(mantissa)}e${exponent}`);
    }
    const places = size === 0 ? 0 : Math.max(0, Math.min(12, digits - 1 - Math.floor(Math.log10(size))));
    return minus(grouped(String(Number(x.toFixed(places)))));
}

// A loss keeps its four digits, zeros too: columns of them are compared by eye.
export function fmtLoss(value) {
    const x = parseNumber(value);
    const text = special(x);
    if (text)
        return text;
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-3 || size >= 1e5))
        return fmtNumber(x, 3);
    const places = size < 1 ? 4 : Math.max(0, 3 - Math.floor(Math.log10(size)));
    return minus(x.toFixed(places));
}

export function fmtPercent(value) {
    const x = parseNumber(value);
    return special(x) || `${minus((x * 100).toFixed(1))} %`;
}

export function fmtCount(value) {
    const x = parseNumber(value);
    return special(x) || minus(grouped(String(Math.round(x))));
}

// '1 device', '1,000 devices'.
export function countOf(n, one, many = `${one}s`) {
    return `${fmtCount(n)} ${n === 1 ? one : many}`;
}

export function fmtBytes(value) {
    const x = parseNumber(value);
    const text = special(x);
    if (text)
        return text;
    const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
    let size = Math.abs(x);
    let unit = 0;
    while (size >= 999.5 && unit < units.length - 1) {
        size /= 1000;
        unit++;
    }
    const places = unit === 0 || size >= 99.95 ? 0 : 1;
    return `${x < 0 ? '−' : ''}${size.toFixed(places)} ${units[unit]}`;
}

function pair(large, largeUnit, small, smallUnit) {
    return small ? `${large} ${largeUnit} ${small} ${smallUnit}` : `${large} ${largeUnit}`;
}

// Milliseconds as '850 ms', '12.3 s', '3 min 20 s', '2 h 5 min', '3 d 4 h'.
export function fmtDuration(value) {
    const ms = parseNumber(value);
    const text = special(ms);
    if (text)
        return text;
    if (ms < 0)
        return `−${fmtDuration(-ms)}`;
    if (ms < 999.5)
        return `${Math.round(ms)} ms`;
    if (ms < 59950)
        return `${(ms / 1000).toFixed(1)} s`;
    const s = Math.round(ms / 1000);
    if (s < 3600)
        return pair(Math.floor(s / 60), 'min', s % 60, 's');
    const min = Math.round(s / 60);
    if (min < 1440)
        return pair(Math.floor(min / 60), 'h', min % 60, 'min');
    const hours = Math.round(min / 60);
    return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

// A name as it is; what has to be shown in its place where it has nothing to see: what cannot be seen cannot be clicked.
export function nameOr(name, other) {
    return /[^\p{Z}\p{C}\p{M}\u2800]/u.test(name ?? '') ? name : other;
}

// Without the signs that turn the direction of what follows, for where a text has no element of its own: titles, messages.
export function plainText(text) {
    return String(text).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
}

// A clause as a sentence: 'must be positive' as 'Must be positive.'
export function sentence(text) {
    const trimmed = text.trim();
    return trimmed && `${trimmed[0].toUpperCase()}${trimmed.slice(1)}${/[.!?…:]$/.test(trimmed) ? '' : '.'}`;
}

// The first eight digits of an id differ between runs of one minute only by chance: the last ones tell them apart.
export function shortId(id) {
    return typeof id === 'string' && id.length > 12 ? `…${id.slice(-8)}` : String(id);
}
