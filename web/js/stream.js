// An event stream that outlives its connections: no gap, no event twice.

import { authorized, fetchReply, isAbort, pauseBefore, reportBug, unreadable } from './http.js';
import { endIfRefused, session } from './session.js';
import { createSseParser } from './sse.js';
import { serverNow } from './time.js';

const SILENCE_MS = 40000; // the server sends a comment every 15 s
const QUIET_MS = 20000;
const STEADY_MS = 5000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 20000;
const LATE_MS = 4000;
const CAUGHT_UP_MS = 1500;
const HIDDEN_MS = 60000;

// Full jitter: after a restart of the server not all pages come back in the same instant.
export function waitBefore(attempt, random) {
    return Math.max(100, random * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt));
}

// Drops what has been seen: ids only grow. Keeps one number, however many events come.
export function createFilter(since) {
    let last = typeof since === 'number' ? since : null;
    return {
        get last() {
            return last;
        },
        isNew(id) {
            const n = Number(id);
            if (id === '' || !Number.isSafeInteger(n))
                return true;
            if (last !== null && n <= last)
                return false;
            last = n;
            return true;
        },
    };
}

function isFinal(error) {
    return error.status >= 400 && error.status < 500 && error.status !== 408 && error.status !== 425 && error.status !== 429;
}

function eventOf(message) {
    try {
        const event = JSON.parse(message.data);
        if (!event || typeof event !== 'object' || typeof event.type !== 'string')
            return null;
        return event.data && typeof event.data === 'object' ? event : { ...event, data: {} };
    } catch {
        return null; // a server of another version: what cannot be read is no reason to lose the rest
    }
}

async function readAll(response, onText) {
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done)
                return;
            onText(decoder.decode(value, { stream: true }));
        }
    } finally {
        reader.cancel().catch(() => {});
    }
}

// One connection at a time; an older one that ends late is not listened to any more.
class EventStream {
    constructor(path, { since = 'latest', onEvent, onState = () => {}, onOpen = () => {}, onGone = () => {} }) {
        Object.assign(this, { path, since, onEvent, onState, onOpen, onGone, state: '', attempt: 0, connection: null,
            isClosed: false, isResting: false, wasOpen: false, isQuiet: false, timers: {} });
        this.filter = createFilter(since);
        this.visibility = () => this.onVisibility();
        this.online = () => this.retryNow();
        // A browser keeps pages that were left, ready to come back to, and their connections with them.
        this.leaving = () => this.rest();
        this.returning = () => this.wake();
        document.addEventListener('visibilitychange', this.visibility);
        window.addEventListener('online', this.online);
        window.addEventListener('pagehide', this.leaving);
        window.addEventListener('pageshow', this.returning);
        if (document.hidden)
            this.onVisibility(); // opened in the background, and perhaps not looked at for hours
        this.connect();
    }

    close() {
        this.isClosed = true;
        for (const name of Object.keys(this.timers))
            this.disarm(name);
        this.drop();
        document.removeEventListener('visibilitychange', this.visibility);
        window.removeEventListener('online', this.online);
        window.removeEventListener('pagehide', this.leaving);
        window.removeEventListener('pageshow', this.returning);
    }

    arm(name, ms, f) {
        clearTimeout(this.timers[name]);
        this.timers[name] = setTimeout(f, ms);
    }

    disarm(name) {
        clearTimeout(this.timers[name]);
    }

    drop() {
        const former = this.connection;
        this.connection = null;
        if (former)
            former.abort();
    }

    setState(next, error = null) {
        const isNews = this.state !== next || error;
        this.state = next;
        if (isNews)
            this.onState(next, error);
    }

    async connect() {
        const mine = new AbortController();
        this.drop();
        this.connection = mine;
        const { token } = session;
        let why = null;
        try {
            const response = await this.open(token, mine);
            if (this.connection === mine)
                await this.read(response, mine);
        } catch (error) {
            if (this.connection === mine)
                endIfRefused(error, token);
            why = isAbort(error) ? null : error;
        }
        if (performance.now() - mine.openedAt > STEADY_MS)
            this.attempt = 0;
        this.lost(mine, why);
    }

    open(token, mine) {
        const { last } = this.filter;
        const headers = { Accept: 'text/event-stream' };
        if (last !== null)
            headers['Last-Event-ID'] = String(last);
        this.isResumed = last !== null;
        this.arm('silence', SILENCE_MS, () => mine.abort());
        return fetchReply(last === null ? `${this.path}?since=${this.since}` : this.path,
            { headers: authorized(token, headers), signal: mine.signal });
    }

    read(response, mine) {
        if (!/^text\/event-stream\b/i.test(response.headers.get('Content-Type') || '')) {
            mine.abort();
            throw unreadable('The server\'s answer is no event stream. Is there something between this page and the server?', response);
        }
        const parser = createSseParser((message) => this.take(message));
        this.wasOpen = true;
        mine.openedAt = performance.now();
        this.heard(mine);
        this.setState('live');
        this.onOpen(this.isResumed);
        return readAll(response, (text) => {
            if (this.connection !== mine)
                return;
            this.heard(mine);
            parser.push(text);
        });
    }

    // A server that is silent for longer than between two comments hangs, or the way to it is cut without a word.
    heard(mine) {
        this.arm('silence', SILENCE_MS, () => mine.abort());
        this.arm('quiet', QUIET_MS, () => {
            this.isQuiet = true;
            this.setState('behind');
        });
        if (this.isQuiet)
            this.setState('live');
        this.isQuiet = false;
    }

    take(message) {
        const event = !this.isClosed && this.filter.isNew(message.id) ? eventOf(message) : null;
        if (!event)
            return;
        if (serverNow() - Date.parse(event.at) > LATE_MS) {
            this.setState('behind');
            this.arm('catchUp', CAUGHT_UP_MS, () => this.state === 'behind' && this.setState('live'));
        } else {
            this.setState('live');
        }
        try {
            this.onEvent(event);
        } catch (error) {
            reportBug(error); // of one event: the connection is as good as before
        }
    }

    lost(mine, error) {
        if (this.connection !== mine)
            return;
        this.connection = null;
        this.disarm('silence');
        this.disarm('quiet');
        this.disarm('catchUp');
        this.isQuiet = false;
        const isGone = error && isFinal(error);
        this.setState('offline', error);
        if (isGone && this.wasOpen)
            this.onGone(error);
        if (!this.isClosed && (!isGone || this.wasOpen))
            this.arm('retry', pauseBefore(error, waitBefore(this.attempt++, Math.random())), () => this.connect());
    }

    retryNow() {
        if (this.isClosed || this.isResting || this.connection)
            return;
        this.attempt = 0;
        this.arm('retry', 0, () => this.connect());
    }

    // A browser has six connections to a server for all its tabs: one that nobody looks at gives its own back.
    onVisibility() {
        if (document.hidden) {
            this.arm('hiding', HIDDEN_MS, () => this.rest());
        } else {
            this.disarm('hiding');
            this.wake();
        }
    }

    rest() {
        this.isResting = true;
        this.disarm('retry');
        this.disarm('silence');
        this.disarm('quiet');
        this.drop();
    }

    wake() {
        if (!this.isResting)
            return;
        this.isResting = false;
        this.attempt = 0;
        this.connect();
    }
}

// since: a sequence number, or 'latest' for what comes from now on. onOpen(isResumed) at each connection: false
// where what happened before is unknown. onState('live' | 'behind' | 'offline', error): an error.status of 400 to
// 499 says that there will be no other try, unless onGone(error) comes, too: the server refuses what it gave before, and is
// asked again, for something in between may say 404 while it starts. Of the field Last-Event-ID: it has other data than before.
export function openStream(path, options) {
    const stream = new EventStream(path, options);
    return { close: () => stream.close() };
}
