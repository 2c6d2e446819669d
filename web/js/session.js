// Who is signed in: the token lives in session storage and nowhere else.

import { ApiError, TOKEN_CHARACTERS, readJson, request, unreadable } from './http.js';

const SESSION_KEY = 'fedlane.session';
const SESSION_RIGHTS = {
    run: ['admin', 'operator'],
    revoke: ['admin'],
    token: ['admin'],
};
const DASHBOARD_ROLES = ['admin', 'operator', 'viewer'];

let onChange = () => {};

export const session = {
    token: null,
    role: null,
    tokenId: null,
    name: null,
    expiresAt: null,
    // Why the last session ended; the sign-in shows it.
    reason: null,
    can(action) {
        return (SESSION_RIGHTS[action] || []).includes(session.role);
    },
};

function keep() {
    const { token, role, tokenId, name, expiresAt } = session;
    try {
        if (token)
            sessionStorage.setItem(SESSION_KEY, JSON.stringify({ token, role, tokenId, name, expiresAt }));
        else
            sessionStorage.removeItem(SESSION_KEY);
    } catch {
        // Storage is switched off: the session ends with the page.
    }
}

const textOrNull = (value) => (typeof value === 'string' ? value : null);

function begin(token, self) {
    if (typeof token !== 'string' || !TOKEN_CHARACTERS.test(token) || typeof self.role !== 'string')
        throw unreadable('The server\'s answer has no token or role. It may be of another version than this page: load the page anew.');
    if (!DASHBOARD_ROLES.includes(self.role)) {
        throw new ApiError({ status: 403, code: 'forbidden',
            detail: `This token's role is ${self.role}; the dashboard needs admin, operator or viewer.` });
    }
    Object.assign(session, { token, role: self.role, tokenId: self.id || self.token_id || null, name: self.name || null,
        expiresAt: self.expires_at || null, reason: null });
    keep();
    onChange();
}

export function onSessionChange(f) {
    onChange = f;
}

export function restoreSession() {
    try {
        const stored = JSON.parse(sessionStorage.getItem(SESSION_KEY) || 'null');
        if (!stored || !TOKEN_CHARACTERS.test(textOrNull(stored.token) || '') || !DASHBOARD_ROLES.includes(stored.role))
            return;
        for (const key of ['token', 'role', 'tokenId', 'name', 'expiresAt'])
            session[key] = textOrNull(stored[key]);
    } catch {
        // Nothing there that could be used.
    }
}

export async function signIn(token) {
    if (!TOKEN_CHARACTERS.test(token)) {
        throw new ApiError({ status: 401, code: 'unauthorized',
            detail: 'It has a space, a line break or a letter that no token has. Copy it again, and nothing else.' });
    }
    begin(token, await request('GET', '/api/v1/tokens/self', { token }, readJson));
}

// The one-time code of a login link.
export async function exchange(code) {
    const reply = await request('POST', '/api/v1/login', { body: { code } }, readJson);
    begin(reply.token, reply);
}

function endSession(reason) {
    if (!session.token)
        return;
    Object.assign(session, { token: null, role: null, tokenId: null, name: null, expiresAt: null, reason });
    keep();
    onChange();
}

// A token that the server does not take any more ends its session, unless another has begun meanwhile.
export function endIfRefused(error, token) {
    if (error.status === 401 && token === session.token)
        endSession(error);
}

export function signOut() {
    endSession(null);
}
