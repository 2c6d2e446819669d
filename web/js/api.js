// The REST API with the session's token. A 401 ends the session: the sign-in says why, and comes back here.

import { ApiError, readJson, request, unreadable, withQuery } from './http.js';
import { endIfRefused, session } from './session.js';

const PAGE_OF_ALL = 500;

async function call(method, path, options, read = readJson) {
    const { token } = session;
    try {
        return await request(method, withQuery(path, options.query), { ...options, token }, read);
    } catch (error) {
        endIfRefused(error, token);
        throw error;
    }
}

// One press, one effect: a reply that was lost is asked for again under the same key.
async function callOnce(method, path, body, options) {
    const headers = { 'Idempotency-Key': crypto.getRandomValues(new Uint32Array(4)).join('-') };
    try {
        return await call(method, path, { ...options, body, headers });
    } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 0)
            throw error;
        return call(method, path, { ...options, body, headers });
    }
}

export const api = {
    get: (path, options = {}) => call('GET', path, options),
    post: (path, body, options = {}) => callOnce('POST', path, body, options),
    del: (path, options = {}) => call('DELETE', path, options),
    text: (path, accept, options = {}) => call('GET', path, { ...options, accept }, (r) => r.text()),

    // The items of all pages, `max` at most; isMore says whether there are others.
    async all(path, { query, max = 1000, signal } = {}) {
        const items = [];
        let cursor = null;
        do {
            const limit = Math.min(PAGE_OF_ALL, max - items.length);
            const page = await api.get(path, { query: { ...query, limit, cursor }, signal });
            if (!Array.isArray(page.items))
                throw unreadable('The server\'s answer is no list. It may be of another version than this page: load the page anew.');
            items.push(...page.items);
            cursor = page.items.length > 0 ? page.next_cursor : null;
        } while (cursor && items.length < max);
        items.isMore = Boolean(cursor);
        return items;
    },
};

// A path of the API, its parts encoded: an id comes from a link that anybody may have written. A browser takes "." and ".." out
// of a path, encoded or not, and would ask for something else.
export function apiPath(...segments) {
    const dots = segments.find((s) => /^\.\.?$/.test(s));
    if (dots)
        throw new ApiError({ status: 404, code: 'not_found', detail: `“${dots}” is no id.` });
    return `/api/v1/${segments.map((s) => encodeURIComponent(s)).join('/')}`;
}
