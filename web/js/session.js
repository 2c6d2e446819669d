// Who is signed in: the token lives in session storage and nowhere else.

import { ApiError, readJson, request } from './http.js';

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

function begin(token, self) {
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
        if (stored && typeof stored.token === 'string' && DASHBOARD_ROLES.includes(stored.role))
            Object.assign(session, stored);
    } catch {
        // Nothing there that could be used.
    }
}

export async function signIn(token) {
    begin(token, await request('GET', '/api/v1/tokens/self', { token }, readJson));
}

// The one-time code of a login link.
export async function exchange(code) {
    const reply = await request('POST', '/api/v1/login', { body: { code } }, readJson);
    begin(reply.token, reply);
}

export function endSession(reason) {
    if (!session.token)
        return;
    Object.assign(session, { token: null, role: null, tokenId: null, name: null, expiresAt: null, reason });
    keep();
    onChange();
}

export function signOut() {
    endSession(null);
}
