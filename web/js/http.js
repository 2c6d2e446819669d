// One request and its errors, below the session.

import { noteServerTime } from './time.js';

const REQUEST_TIMEOUT_MS = 30000;

export class ApiError extends Error {
    constructor({ status, code, detail, field, requestId }) {
        super(detail);
        this.name = 'ApiError';
        this.status = status; // 0: no reply
        this.code = code;
        this.detail = detail;
        this.field = field || null;
        this.requestId = requestId || null;
    }

    // Whether the same request may well succeed a little later.
    get isPassing() {
        return this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
    }
}

export function isAbort(error) {
    return Boolean(error) && error.name === 'AbortError';
}

export function withQuery(path, query) {
    const parts = new URLSearchParams();
    for (const [key, value] of Object.entries(query || {}))
        if (value !== null && value !== undefined && value !== '')
            parts.append(key, value);
    const text = parts.toString();
    return text ? `${path}?${text}` : path;
}

async function problemOf(response) {
    const requestId = response.headers.get('X-Request-Id');
    let problem = {};
    try {
        problem = await response.json();
    } catch {
        // A proxy's page, or nothing: the status has to say it.
    }
    return new ApiError({
        status: response.status,
        code: typeof problem.code === 'string' ? problem.code : `http_${response.status}`,
        detail: typeof problem.detail === 'string' ? problem.detail
            : `The server answered ${response.status} ${response.statusText} without saying why.`,
        field: typeof problem.field === 'string' ? problem.field : null,
        requestId: problem.request_id || requestId,
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
        response = await fetch(url, { cache: 'no-store', credentials: 'omit', redirect: 'error', ...options });
    } catch (error) {
        if (isAbort(error))
            throw error;
        throw unreachable(false);
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

export async function readJson(response) {
    if (response.status === 204)
        return null;
    const text = await response.text();
    try {
        return JSON.parse(text);
    } catch {
        throw new ApiError({ status: response.status, code: 'unreadable',
            detail: 'The server\'s answer is not JSON. Is there something between this page and the server?',
            requestId: response.headers.get('X-Request-Id') });
    }
}
