// Snapshot and events as one: what a view shows, and whatever happens after it.

import { isAbort, pauseBefore, reportBug } from './http.js';
import { openStream } from './stream.js';

const STREAM_PATIENCE_MS = 1000;
const EARLY_MOST = 5000;
const RELOAD_MS = 5000;

// load() is called once the stream is open, so whatever happens after it comes as an event; again where the stream had to
// begin anew. Events that come while it works are given to onEvent after it.
export class Follower {
    constructor({ path, load, onEvent, onOpen, live, fail, anew, signal }) {
        Object.assign(this, { load, onEvent: onEvent || (() => {}), fail, signal, early: null, turn: 0, isShown: false,
            isStale: false });
        live.set('connecting');
        const stream = openStream(path, {
            onEvent: (event) => this.take(event),
            onOpen: (isResumed) => {
                onOpen();
                if (isResumed && !this.isStale)
                    return;
                this.isStale = false;
                this.reload();
            },
            onGone: (error) => {
                this.isStale = true;
                if (error.field === 'Last-Event-ID')
                    anew();
                else
                    this.reload();
            },
            onState: (state, error) => this.tell(live, state, error),
        });
        const timer = setTimeout(() => this.turn || this.reload(), STREAM_PATIENCE_MS);
        signal.addEventListener('abort', () => {
            clearTimeout(timer);
            clearTimeout(this.again);
            stream.close();
        });
    }

    tell(live, state, error) {
        // What will never come is not lost: the view says that there is no such thing, and at once.
        live.set(error && error.status >= 400 && error.status < 500 ? null : state);
        if (state === 'offline' && !this.turn)
            this.reload();
    }

    // A mistake with one event takes none of the others away.
    give(event) {
        try {
            this.onEvent(event);
        } catch (error) {
            reportBug(error);
        }
    }

    take(event) {
        if (!this.early)
            this.give(event);
        else if (this.early.length < EARLY_MOST)
            this.early.push(event);
    }

    async reload() {
        const turn = ++this.turn;
        clearTimeout(this.again);
        this.early = [];
        try {
            await this.load();
        } catch (error) {
            if (turn === this.turn && !this.signal.aborted && !isAbort(error))
                this.failed(error);
            return;
        }
        if (turn !== this.turn || this.signal.aborted)
            return;
        this.isShown = true;
        const { early } = this;
        this.early = null;
        if (early.length >= EARLY_MOST)
            this.reload();
        else
            early.forEach((event) => this.give(event));
    }

    // What stands on the page already stays while the server is away for a moment: without a new look at all of it, events
    // would change what is out of date.
    failed(error) {
        reportBug(error);
        this.isStale = true;
        if (this.isShown && error.isPassing)
            this.again = setTimeout(() => this.reload(), pauseBefore(error, RELOAD_MS));
        else
            this.fail(error, () => this.reload());
    }
}
