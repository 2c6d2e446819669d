// What events have made stale is asked for again: not too often, one at a time, and until it has come.

import { coalesce } from './dom.js';
import { isAbort, pauseBefore, reportBug } from './http.js';

const RENEWAL_AGAIN_MS = 4000;

// → ask(): f() at most once in `ms`; where the server is away for a moment, again a little later, for the next event may never
// come. onError(error): what will not pass.
export function renewal(f, ms, signal, onError = () => {}) {
    let timer = 0;
    const ask = coalesce(async () => {
        clearTimeout(timer);
        try {
            await f();
        } catch (error) {
            if (signal.aborted || isAbort(error))
                return;
            reportBug(error);
            if (error.isPassing)
                timer = setTimeout(ask, pauseBefore(error, RENEWAL_AGAIN_MS));
            else
                onError(error);
        }
    }, ms, signal);
    signal.addEventListener('abort', () => clearTimeout(timer));
    return ask;
}
