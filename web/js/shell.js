// The frame around the views: shows the place of the link, gives it a context, and ends what it started.

import { api, apiPath } from './api.js';
import { clear, h } from './dom.js';
import { Follower } from './follower.js';
import { plainText } from './format.js';
import { makeHeader } from './header.js';
import { isAbort, reportBug } from './http.js';
import { startRouter } from './router.js';
import { exchange, onSessionChange, session } from './session.js';
import { emptyState, errorState, loading } from './states.js';
import { serverNow } from './time.js';
import { startToasts, toast } from './toast.js';
import { viewSignIn } from './view_sign_in.js';

const TOKEN_CHECK_MS = 60000;
const VERSION_REST_MS = 50000; // a tab in the background gives its connection back after a minute

function unknownPlace() {
    return emptyState({ level: 1, title: 'There is no such page', text: 'The link may be cut short or belong to another version.',
        action: h('a', { class: 'button', href: '#/runs' }, 'All runs') });
}

// After a restart the server may be another version than this page.
function watchVersion() {
    let version = null;
    let askedAt = 0;
    return async (isUrgent) => {
        if (!isUrgent && performance.now() - askedAt < VERSION_REST_MS)
            return;
        askedAt = performance.now();
        try {
            const now = (await api.get('/api/v1/version')).version;
            if (version && now !== version)
                toast(`The server is now version ${now}; reload the page to have its dashboard.`, 'bad');
            version = now;
        } catch {
            // The next time will do.
        }
    };
}

class Shell {
    constructor({ routes, nav }) {
        this.header = makeHeader(nav);
        this.main = h('main', { id: 'main', tabindex: -1 });
        this.leave = null;
        this.isFirst = true;
        this.checkVersion = watchVersion();
        const skip = h('a', { class: 'skip', href: '#main', on: { click: (e) => {
            e.preventDefault();
            this.main.focus();
        } } }, 'Skip to the content');
        document.body.replaceChildren(skip, this.header.node, this.main, startToasts());
        this.router = startRouter(routes, (place) => this.show(place));
        onSessionChange(() => this.onSession());
        this.onSession();
        setTimeout(() => this.checkVersion(true), 5000);
    }

    onSession() {
        this.header.showSession();
        this.watchToken();
        this.router.visit();
    }

    // A page that only listens would not learn that its token has ended: it asks now and then, and when it should expire. The
    // session then ends with the server's own words.
    watchToken() {
        clearTimeout(this.expiry);
        if (!session.token)
            return;
        const left = Date.parse(session.expiresAt || '') - serverNow() + 1000;
        const wait = left > 0 && left < TOKEN_CHECK_MS ? left : TOKEN_CHECK_MS;
        this.expiry = setTimeout(() => api.get('/api/v1/tokens/self').catch(() => {}).finally(() => this.watchToken()), wait);
    }

    setTitle(text) {
        document.title = text ? `${plainText(text)} – Fedlane` : 'Fedlane';
    }

    begin() {
        if (this.leave)
            this.leave.abort();
        this.leave = new AbortController();
        this.header.live.set(null);
        // A question about what is left is no question any more.
        document.querySelectorAll('dialog[open]').forEach((dialog) => dialog.close());
        return clear(this.main);
    }

    show(place) {
        if (place.route && place.route.isLogin) {
            this.login(place.params.code);
            return;
        }
        const host = this.begin();
        if (!session.token) {
            this.header.showPlace(null);
            this.setTitle('Sign in');
            viewSignIn({ host, reason: session.reason });
            return;
        }
        this.header.showPlace(place.route ? place.route.nav : null);
        this.setTitle(place.route ? place.route.title : 'Not found');
        if (!this.isFirst) {
            window.scrollTo(0, 0);
            this.main.focus({ preventScroll: true });
        }
        this.isFirst = false;
        if (place.route)
            this.runView(place, host);
        else
            host.append(unknownPlace());
    }

    async runView(place, host) {
        const ctx = this.context(place, host);
        try {
            await place.route.view(ctx);
        } catch (error) {
            if (ctx.signal.aborted || isAbort(error))
                return;
            reportBug(error);
            ctx.fail(error, () => this.router.visit());
        }
    }

    context({ params, query }, host) {
        const { signal } = this.leave;
        const fail = (error, retry) => {
            if (!signal.aborted)
                host.replaceChildren(errorState(error, retry, 1));
        };
        return {
            place: params,
            query,
            host,
            signal,
            fail,
            setTitle: (text) => signal.aborted || this.setTitle(text),
            follow: ({ load, onEvent, run = params.run }) => new Follower({ load, onEvent, fail, signal,
                onOpen: () => this.checkVersion(), anew: () => this.router.visit(),
                path: run ? apiPath('runs', run, 'events') : '/api/v1/events', live: this.liveOf(signal) }),
        };
    }

    // What a view that was left still says is not shown.
    liveOf(signal) {
        let wasOffline = false;
        return { set: (state) => {
            if (signal.aborted)
                return;
            this.header.live.set(state);
            if (state === 'live' && wasOffline)
                this.checkVersion(true);
            wasOffline = state === 'offline';
        } };
    }

    // The code works once: it leaves the link and the history before it is used. Who is signed in already stays so where it
    // does not work any more.
    async login(code) {
        history.replaceState(null, '', '#/runs');
        this.begin().append(loading('Signing in…'));
        try {
            await exchange(code);
        } catch (error) {
            if (session.token)
                toast(error.message, 'bad');
            else
                session.reason = Object.assign(error, { title: 'The link did not sign you in' });
            this.router.visit();
        }
    }
}

export function startShell(options) {
    return new Shell(options);
}
