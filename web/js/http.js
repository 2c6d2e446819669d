// One request and its errors, below the session.

import { noteServerTime, serverNow } from './time.js';

const REQUEST_TIMEOUT_MS = 30000;
const LONGEST_RETRY_AFTER_MS = 600000;

// What stands in a header reaches the server as it is: no letter of another alphabet, nothing invisible.
export const TOKEN_CHARACTERS = /^[\x21-\x7e]+$/;

// Where who answers says no more than a number: often that is no server of ours, but something in between.
const STATUS_HINTS = {
    401: 'Something between this page and the server may ask for a sign-in of its own: load the page anew.',
    414: 'The link asks for more than the server takes: it is too long.',
    431: 'The link asks for more than the server takes: it is too long.',
    429: 'Too many requests come from here; wait a little.',
    502: 'The server behind it may be down or starting.',
    503: 'The server may be starting, or has too much to do.',
    504: 'The server behind it may be down or too busy.',
};

export class ApiError extends Error {
    constructor({ status, code, detail, field, requestId, retryAfterMs }) {
        super(detail);
        this.name = 'ApiError';
        this.status = status; // 0: no reply
        this.code = code;
        this.detail = detail;
        this.field = field || null;
        this.requestId = requestId || null;
        this.retryAfterMs = retryAfterMs || 0;
    }

    // Whether the same request may well succeed a little later.
    get isPassing() {
        return this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
    }
}

// How long to wait before the same request: `ms`, or longer where the server said so.
export function pauseBefore(error, ms) {
    return Math.max(ms, (error && error.retryAfterMs) || 0);
}

export function isAbort(error) {
    return Boolean(error) && error.name === 'AbortError';
}

// A mistake of the page itself is for its developers, whatever else is made of it.
export function reportBug(error) {
    if (!(error instanceof ApiError) && !isAbort(error))
        console.error(error);
}

export function withQuery(path, query) {
    const parts = new URLSearchParams();
    for (const [key, value] of Object.entries(query || {}))
        if (value !== null && value !== undefined && value !== '')
            parts.append(key, value);
    const text = parts.toString();
    return text ? `${path}?${text}` : path;
}

// "Retry-After: 120", or a date; 0 where it says nothing.
function retryAfterOf(response) {
    const text = response.headers.get('Retry-After') || '';
    const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - serverNow();
    return Math.max(0, Math.min(LONGEST_RETRY_AFTER_MS, ms || 0));
}

function bareDetail({ status, statusText }) {
    return [`The answer was ${status}${statusText ? ` ${statusText}` : ''}, without saying why.`, STATUS_HINTS[status]].filter(Boolean).join(' ');
}

async function problemOf(response) {
    let problem = null;
    try {
        problem = (await response.json()) ?? {};
    } catch {
        // A proxy's page, or nothing: the status has to say it.
    }
    const text = (key) => (problem && typeof problem[key] === 'string' ? problem[key] : null);
    return new ApiError({
        status: response.status,
        code: text('code') || `http_${response.status}`,
        detail: text('detail') || bareDetail(response),
        field: text('field'),
        requestId: text('request_id') || response.headers.get('X-Request-Id'),
        retryAfterMs: retryAfterOf(response),
    });
}

function unreachable(isLate) {
    return new ApiError({ status: 0, code: isLate ? 'timeout' : 'unreachable',
        detail: isLate ? `The server did not answer within ${REQUEST_TIMEOUT_MS / 1000} s.`
            : 'The server cannot be reached. Is it running, and is the network up?' });
}

export function authorized(token, headers) {
    return token ? { ...headers, Authorization: `Bearer ${token}` } : headers;
}

// A reply whose head is there and whose status is good; throws ApiError, or AbortError when the signal says so.
export async function fetchReply(url, options) {
    let response;
    try {
        response = await fetch(url, { cache: 'no-store', credentials: 'omit', redirect: 'manual', ...options });
    } catch (error) {
        if (isAbort(error))
            throw error;
        throw unreachable(false);
    }
    if (response.type === 'opaqueredirect') {
        throw new ApiError({ status: 302, code: 'redirected', detail: 'The request was sent elsewhere: something between this page and '
            + 'the server may ask for a sign-in of its own. Load the page anew, or ask whoever runs the network.' });
    }
    noteServerTime(response.headers.get('Date'));
    if (!response.ok)
        throw await problemOf(response);
    return response;
}

// read(response): what to make of it, within the same time limit.
export async function request(method, url, { token, body, accept, signal, headers }, read) {
    const controller = new AbortController();
    const abort = () => controller.abort();
    let isLate = false;
    const timer = setTimeout(() => {
        isLate = true;
        abort();
    }, REQUEST_TIMEOUT_MS);
    if (signal) {
        if (signal.aborted)
            abort();
        signal.addEventListener('abort', abort);
    }
    const head = { Accept: accept || 'application/json', ...headers };
    if (body !== undefined)
        head['Content-Type'] = 'application/json';
    try {
        const response = await fetchReply(url, { method, headers: authorized(token, head), signal: controller.signal,
            body: body === undefined ? undefined : JSON.stringify(body) });
        return await read(response);
    } catch (error) {
        if (isAbort(error) && !isLate)
            throw error;
        throw error instanceof ApiError ? error : unreachable(isLate);
    } finally {
        clearTimeout(timer);
        if (signal)
            signal.removeEventListener('abort', abort);
    }
}

// What no server of ours says: a page of something in between, or an answer of another version.
export function unreadable(detail, response) {
    return new ApiError({ status: response ? response.status : 200, code: 'unreadable', detail,
        requestId: response && response.headers.get('X-Request-Id') });
}

// All answers of the API are objects; 204 has none.
export async function readJson(response) {
    if (response.status === 204)
        return null;
    const text = await response.text();
    let value = null;
    try {
        value = JSON.parse(text);
    } catch {
        // Told below.
    }
    if (value === null || typeof value !== 'object' || Array.isArray(value))
        throw unreadable('The server\'s answer is not what it should be. Is there something between this page and the server?', response);
    return value;
}
