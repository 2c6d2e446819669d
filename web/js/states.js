// What something is (badges), and what a view shows while it has nothing, not yet or not any more.

import { commandBox } from './command.js';
import { append, h, icon, svgEl } from './dom.js';
import { fmtDuration } from './format.js';
import { ApiError, pauseBefore } from './http.js';

// Colour and shape of each state. A shape says the same as its colour.
const STATE_LOOKS = {
    __proto__: null,
    pending: ['open', 'ring', 'pending'],
    waiting_for_devices: ['late', 'dots', 'waiting for devices'],
    running: ['completed', 'play', 'running'],
    paused: ['open', 'pause', 'paused'],
    finished: ['completed', 'disc', 'finished'],
    completed: ['completed', 'disc', 'completed'],
    stopped: ['dropped', 'square', 'stopped'],
    failed: ['failed', 'cross', 'failed'],
    skipped: ['dropped', 'minus', 'skipped'],
    selecting: ['open', 'ring', 'selecting'],
    training: ['completed', 'play', 'training'],
    aggregating: ['completed', 'play', 'aggregating'],
    closed: ['completed', 'disc', 'closed'],
    partial: ['partial', 'half', 'partial'],
    late: ['late', 'clock', 'late'],
    dropped: ['dropped', 'minus', 'dropped'],
    waiting: ['open', 'ring', 'waiting'],
    offered: ['open', 'ring', 'offered'],
    claimed: ['open', 'play', 'claimed'],
    cancelled: ['dropped', 'square', 'cancelled'],
    online: ['completed', 'disc', 'online'],
    suspect: ['late', 'clock', 'suspect'],
    offline: ['dropped', 'ring', 'offline'],
    revoked: ['failed', 'cross', 'revoked'],
};

const STATE_SHAPES = {
    disc: { d: 'M6 1a5 5 0 110 10A5 5 0 016 1z', fill: true },
    ring: { d: 'M6 2a4 4 0 100 8 4 4 0 000-8z' },
    half: { d: 'M6 1a5 5 0 110 10A5 5 0 016 1zM6 2.5v7a3.5 3.5 0 000-7z', fill: true },
    play: { d: 'M3 1.5v9L10.5 6z', fill: true },
    pause: { d: 'M4 2v8M8 2v8' },
    square: { d: 'M2 2h8v8H2z', fill: true },
    cross: { d: 'M2.5 2.5l7 7M9.5 2.5l-7 7' },
    minus: { d: 'M2 6h8' },
    dots: { d: 'M2 6h.01M6 6h.01M10 6h.01' },
    clock: { d: 'M6 2a4 4 0 100 8 4 4 0 000-8zM6 3.8V6l1.6 1' },
};

// Of the bar that says how far a run is.
export function progressColour({ status, outcome }) {
    const state = outcome === 'failed' ? 'failed' : outcome === 'stopped' || status === 'paused' ? 'dropped' : 'completed';
    return `var(--st-${state})`;
}

// The mark alone, for legends.
export function stateMark(status) {
    const [colour, shape] = STATE_LOOKS[status] || ['open', 'ring'];
    const { d, fill } = STATE_SHAPES[shape];
    const mark = svgEl('svg', { viewBox: '0 0 12 12', width: 12, height: 12, 'aria-hidden': 'true', class: 'state-mark',
        vars: { st: `var(--st-${colour})` } });
    return append(mark, svgEl('path', { d, fill: fill ? 'currentColor' : 'none', 'fill-rule': 'evenodd',
        stroke: fill ? 'none' : 'currentColor', 'stroke-width': 2, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' }));
}

export function stateBadge(status, text) {
    const known = STATE_LOOKS[status];
    return h('span', { class: 'badge', 'data-status': status }, stateMark(status),
        text || (known ? known[2] : String(status).replace(/_/g, ' ')));
}

// A finished run is what came of it.
export function runStatus(run) {
    return run.status === 'finished' && run.outcome ? run.outcome : run.status;
}

// What to do next stands in `command`, ready to copy.
export function emptyState({ title, text, command, action, level = 2 }) {
    return h('div', { class: 'empty' }, icon('lanes'), h(`h${level}`, null, title), text ? h('p', null, text) : null,
        action || null, command ? commandBox(command) : null);
}

const ERROR_ADVICE = {
    __proto__: null,
    not_found: 'It may have been deleted, or the link is not complete.',
    forbidden: 'Your token\'s role may not see this. Sign in with another token.',
};

const ERROR_RETRY_MS = 4000;

function pauseWords(error) {
    return error.retryAfterMs > ERROR_RETRY_MS ? `, in ${fmtDuration(error.retryAfterMs)} as it was told` : '';
}

// What stumbles over an answer is this page.
function misunderstood(error, again, level) {
    return h('div', { class: 'empty', role: 'alert' }, icon('alert'), h(`h${level}`, null, 'This could not be shown'),
        h('p', null, 'The page does not understand what the server sent. They may be of different versions: reload the page.'),
        again, h('p', { class: 'small' }, h('code', null, error.message)));
}

function errorNode(error, retry, level) {
    const detail = error && error.message;
    const advice = ERROR_ADVICE[error && error.code];
    const again = retry ? h('button', { class: 'button', type: 'button', on: { click: retry } }, 'Try again') : null;
    const id = error && error.requestId;
    if (error instanceof Error && !(error instanceof ApiError))
        return misunderstood(error, again, level);
    return h('div', { class: 'empty', role: 'alert' }, icon(error && error.status === 0 ? 'offline' : 'alert'),
        h(`h${level}`, null, error && error.status === 404 ? 'Not found' : 'This could not be shown'),
        h('p', null, detail || 'Something unexpected happened.', advice ? ` ${advice}` : null,
            again && error.isPassing ? ` The page tries again by itself${pauseWords(error)}.` : null),
        again, id ? h('p', { class: 'small' }, 'Request ', h('code', null, id)) : null);
}

// What passes by itself is tried again by itself, as long as this stands on the page.
export function errorState(error, retry, level = 2) {
    const node = errorNode(error, retry, level);
    if (retry && error && error.isPassing) {
        setTimeout(() => {
            if (node.isConnected)
                retry();
        }, pauseBefore(error, ERROR_RETRY_MS));
    }
    return node;
}

const PATIENCE_MS = 20000;

export function loading(text = 'Loading…', retry = null) {
    const node = h('div', { class: 'loading', role: 'status' }, h('div', { class: 'loading-bar' }), h('p', null, text));
    setTimeout(() => {
        if (node.isConnected) {
            node.replaceWith(errorState({ message: 'The server has not answered for 20 seconds. Check that it is running, then reload this page.' },
                retry || (() => location.reload())));
        }
    }, PATIENCE_MS);
    return node;
}
