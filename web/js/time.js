// Times as people say them, renewed while they stand on the page; the absolute one on hover.

import { clear, h, quantity } from './dom.js';
import { fmtDuration } from './format.js';

const RENEW_MS = 5000;
let skewMs = 0;
let renewing = 0;

// The server's clock as its replies show it: a browser whose clock is wrong still says "3 s ago".
export function noteServerTime(httpDate) {
    const at = Date.parse(httpDate || '');
    if (!Number.isFinite(at))
        return;
    const skew = at + 500 - Date.now();
    skewMs = Math.abs(skew) > 2000 ? skew : 0;
}

export function serverNow() {
    return Date.now() + skewMs;
}

// ms: how long ago; negative: in the future.
export function relativeTime(ms) {
    if (!Number.isFinite(ms))
        return '–';
    if (Math.abs(ms) < 5000)
        return 'just now';
    const units = [['s', 60], ['min', 60], ['h', 24], ['d', Infinity]];
    let n = Math.round(Math.abs(ms) / 1000);
    let i = 0;
    while (n >= units[i][1])
        n = Math.round(n / units[i++][1]);
    const size = `${n} ${units[i][0]}`;
    return ms < 0 ? `in ${size}` : `${size} ago`;
}

function absoluteTime(iso) {
    const at = new Date(iso);
    if (Number.isNaN(at.getTime()))
        return String(iso);
    const two = (n) => String(n).padStart(2, '0');
    const minutes = -at.getTimezoneOffset();
    const zone = `${minutes < 0 ? '−' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
    return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} `
        + `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} UTC${zone}`;
}

function remainingTime(ms) {
    return ms < 1000 ? 'in a moment' : relativeTime(-Math.max(5000, ms));
}

function textOf(node) {
    const at = Date.parse(node.dateTime);
    const passed = serverNow() - at;
    if (node.dataset.renew === 'until')
        return remainingTime(-passed);
    return node.dataset.renew === 'since' ? fmtDuration(Math.max(0, Math.round(passed / 1000) * 1000)) : relativeTime(passed);
}

function renewTimes() {
    if (document.hidden)
        return;
    for (const node of document.querySelectorAll('time[data-renew]')) {
        const text = textOf(node);
        if (node.textContent !== text)
            clear(node).append(quantity(text));
    }
}

function renewed(iso, kind) {
    if (!Number.isFinite(Date.parse(iso || '')))
        return h('span', { class: 'muted' }, '–');
    if (!renewing)
        renewing = setInterval(renewTimes, RENEW_MS);
    const node = h('time', { datetime: iso, title: absoluteTime(iso), 'data-renew': kind, class: 'num' });
    node.append(quantity(textOf(node)));
    return node;
}

export function timeNode(iso) {
    return renewed(iso, 'ago');
}

// When something comes at the latest; it may take a moment longer.
export function untilNode(iso) {
    return renewed(iso, 'until');
}

// How long something has been going on.
export function sinceNode(iso) {
    return renewed(iso, 'since');
}
