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

// What changes without an event is looked at again after a while, as long as somebody looks at the page. → again(ms): load() once
// more after so long; load calls it when it is done. A load that fails is tried again: the badge says that the server is away.
export function lookAgain(load, signal) {
    let timer = 0;
    let pause = 5000;
    let isDue = false;
    const arm = () => {
        clearTimeout(timer);
        if (!signal.aborted)
            timer = setTimeout(look, pause);
    };
    const look = async () => {
        isDue = document.hidden;
        if (isDue)
            return;
        try {
            await load();
        } catch (error) {
            reportBug(error);
            arm();
        }
    };
    const onVisibility = () => isDue && look();
    document.addEventListener('visibilitychange', onVisibility);
    signal.addEventListener('abort', () => {
        clearTimeout(timer);
        document.removeEventListener('visibilitychange', onVisibility);
    });
    return (ms) => {
        pause = ms;
        arm();
    };
}
