import test from 'node:test';
import assert from 'node:assert/strict';
import { onSessionChange, session } from '../../../web/js/session.js';
import { createFilter, openStream, waitBefore } from '../../../web/js/stream.js';

// What a page has and node has not.
const listeners = {};
globalThis.document = { hidden: false, addEventListener: (type, f) => (listeners[type] = f), removeEventListener: (type) => delete listeners[type] };
globalThis.window = { addEventListener: (type, f) => (listeners[type] = f), removeEventListener: (type) => delete listeners[type] };
globalThis.sessionStorage = { getItem: () => null, setItem() {}, removeItem() {} };
Math.random = () => 0; // the shortest waits

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition) {
    for (let i = 0; i < 500 && !condition(); i++)
        await sleep(10);
    assert.ok(condition(), String(condition));
}

function eventText(id, at = new Date()) {
    return `id: ${id}\nevent: tick\ndata: ${JSON.stringify({ id, type: 'tick', at: at.toISOString(), data: {} })}\n\n`;
}

// A server with numbered events. script: for each connection how many bytes of its answer arrive before it breaks off, or a
// Response to give as it is; after the script's end connections last.
function fakeServer(count, script) {
    const asked = [];
    globalThis.fetch = async (url, { headers, signal }) => {
        const step = script[asked.length];
        asked.push({ url, last: headers['Last-Event-ID'], authorization: headers.Authorization });
        if (step instanceof Error)
            throw step;
        if (step instanceof Response)
            return step;
        // Two events again that were there before: a server may be generous.
        const first = Math.max(1, Number(headers['Last-Event-ID'] || 0) - 1);
        let text = ':\n\n';
        for (let id = first; id <= count; id++)
            text += eventText(id);
        const bytes = new TextEncoder().encode(text);
        const end = step === undefined ? bytes.length : Math.min(step, bytes.length);
        return new Response(new ReadableStream({
            start(controller) {
                signal.addEventListener('abort', () => controller.error(new DOMException('aborted', 'AbortError')));
                for (let at = 0; at < end; at += 37)
                    controller.enqueue(bytes.slice(at, Math.min(end, at + 37)));
                if (step !== undefined)
                    controller.close();
            },
        }), { status: 200, headers: { 'Content-Type': 'text/event-stream', Date: new Date().toUTCString() } });
    };
    return asked;
}

function follow(options = {}) {
    const seen = [];
    const states = [];
    const opened = [];
    const stream = openStream('/api/v1/events', { since: 0, onEvent: (e) => seen.push(e.id), onState: (s, error) => states.push(error ? `${s} ${error.status}` : s),
        onOpen: (isResumed) => opened.push(isResumed), ...options });
    return { seen, states, opened, stream };
}

const oneTo = (n) => Array.from({ length: n }, (_, i) => i + 1);

test('connections break anywhere: no event is missing and none comes twice', async () => {
    session.token = 'secret';
    const asked = fakeServer(40, [1, 150, 300, 301, 1000, new TypeError('network'), 77, 0]);
    const { seen, stream, opened } = follow();
    await until(() => seen.length >= 40);
    await sleep(50);
    stream.close();
    assert.deepEqual(seen, oneTo(40));
    assert.ok(asked.length >= 9);
    assert.ok(asked.every((a) => a.authorization === 'Bearer secret' && !a.url.includes('secret')));
    assert.ok(opened.every((isResumed) => isResumed));
});

test('what is new from now on; a break before the first event says that the state is unknown', async () => {
    const asked = fakeServer(0, [3, 3]);
    const { opened, stream } = follow({ since: 'latest' });
    await until(() => asked.length === 3);
    await sleep(20);
    stream.close();
    assert.deepEqual(opened, [false, false, false]);
    assert.ok(asked.every((a) => a.url === '/api/v1/events?since=latest' && a.last === undefined));
});

test('states: live, behind while old events come, live again, offline', async () => {
    let feed;
    globalThis.fetch = async (url, { signal }) => new Response(new ReadableStream({ start(c) {
        feed = c;
        signal.addEventListener('abort', () => c.error(new DOMException('aborted', 'AbortError')));
    } }), { status: 200, headers: { 'Content-Type': 'text/event-stream' } });
    const { states, stream, seen } = follow();
    const send = (text) => feed.enqueue(new TextEncoder().encode(text));
    await until(() => feed);
    send(eventText(1));
    await until(() => seen.length === 1);
    send(eventText(2, new Date(Date.now() - 60000)));
    await until(() => states.includes('behind'));
    await until(() => states.length === 3);
    assert.deepEqual(states, ['live', 'behind', 'live']);
    feed.close();
    await until(() => states[3] === 'offline');
    stream.close();
});

test('a refusal is final, an overload is not', async () => {
    const problem = (status, code) => new Response(JSON.stringify({ status, code, detail: 'x', title: 'x' }), { status });
    let asked = fakeServer(1, [problem(503, 'too_many_waiters'), problem(429, 'rate_limited'), problem(404, 'not_found')]);
    const { states, stream } = follow();
    await until(() => states.includes('offline 404'));
    await sleep(150);
    assert.equal(asked.length, 3);
    stream.close();
    let ended = 0;
    onSessionChange(() => ended++);
    session.token = 'old';
    asked = fakeServer(1, [problem(401, 'token_expired')]);
    const other = follow();
    await until(() => ended === 1);
    assert.equal(session.token, null);
    assert.equal(session.reason.code, 'token_expired');
    other.stream.close();
});

test('what was there once may come back: it is asked again, and the view told', async () => {
    const problem = (status, field) => new Response(JSON.stringify({ status, code: 'x', field, detail: 'x' }), { status });
    const asked = fakeServer(2, [60, problem(404), problem(400, 'Last-Event-ID')]);
    const gone = [];
    const { stream, seen, states } = follow({ onGone: (error) => gone.push([error.status, error.field]) });
    await until(() => seen.length === 2);
    stream.close();
    assert.equal(asked.length, 4);
    assert.deepEqual(gone, [[404, null], [400, 'Last-Event-ID']]);
    assert.ok(states.includes('offline 404') && states[states.length - 1] === 'live', states);
});

test('a page in the place of a stream is none, and not asked for at once again', async () => {
    const html = () => new Response('<html>id: 1</html>', { status: 200, headers: { 'Content-Type': 'text/html' } });
    const asked = fakeServer(1, [html(), html(), html()]);
    const { stream, seen, states } = follow();
    await until(() => seen.length === 1);
    stream.close();
    assert.equal(asked.length, 4);
    assert.deepEqual(states.slice(0, 4), ['offline 200', 'offline 200', 'offline 200', 'live']);
});

test('who is told to wait waits', async () => {
    const asked = fakeServer(1, [new Response('{}', { status: 503, headers: { 'Retry-After': '1' } })]);
    const { stream, seen } = follow();
    await sleep(600);
    assert.equal(asked.length, 1);
    await until(() => seen.length === 1);
    stream.close();
});

test('what is not JSON is left out, the rest comes', async () => {
    let feed;
    globalThis.fetch = async (url, { signal }) => new Response(new ReadableStream({ start(c) {
        feed = c;
        signal.addEventListener('abort', () => c.error(new DOMException('aborted', 'AbortError')));
    } }), { status: 200, headers: { 'Content-Type': 'text/event-stream' } });
    const { seen, stream } = follow();
    await until(() => feed);
    feed.enqueue(new TextEncoder().encode(`id: 1\ndata: <html>\n\nid: 2\ndata: null\n\nid: 2\ndata: {"type": 7}\n\n${eventText(3)}`));
    await until(() => seen.length === 1);
    assert.deepEqual(seen, [3]);
    stream.close();
});

test('a closed stream is silent and listens to nothing', async () => {
    fakeServer(5, []);
    const { seen, states, stream } = follow();
    stream.close();
    await sleep(50);
    assert.deepEqual(seen, []);
    assert.deepEqual(states, []);
    assert.deepEqual(Object.keys(listeners), []);
});

// Waits of so many ms and more, a thousand times shorter.
async function inShort(from, f) {
    const real = globalThis.setTimeout;
    globalThis.setTimeout = (g, ms, ...rest) => real(g, ms >= from ? ms / 1000 : ms, ...rest);
    try {
        await f();
    } finally {
        globalThis.setTimeout = real;
    }
}

test('a page that nobody looks at gives its connection back, and misses nothing', () => inShort(60000, async () => {
    const asked = fakeServer(3, []);
    const { seen, states, stream } = follow();
    await until(() => seen.length === 3);
    document.hidden = true;
    listeners.visibilitychange();
    await sleep(150);
    assert.deepEqual(states, ['live']);
    const before = asked.length;
    await sleep(100);
    assert.equal(asked.length, before);
    const later = fakeServer(9, []);
    document.hidden = false;
    listeners.visibilitychange();
    await until(() => seen.length === 9);
    stream.close();
    assert.deepEqual(seen, oneTo(9));
    assert.equal(later[0].last, '3');
}));

test('a page that was left gives its connection back at once, and goes on when one comes back to it', async () => {
    const asked = fakeServer(3, []);
    const { seen, states, stream } = follow();
    await until(() => seen.length === 3);
    listeners.pagehide();
    await sleep(100);
    assert.deepEqual([asked.length, states], [1, ['live']]);
    const later = fakeServer(9, []);
    listeners.pageshow();
    await until(() => seen.length === 9);
    stream.close();
    assert.deepEqual(seen, oneTo(9));
    assert.equal(later[0].last, '3');
    assert.deepEqual(Object.keys(listeners), []);
});

test('a connection that has gone silent is doubted, then given up', () => inShort(20000, async () => {
    const asked = fakeServer(2, []);
    const { seen, states, stream } = follow();
    await until(() => asked.length === 2);
    stream.close();
    assert.deepEqual(seen, [1, 2]);
    assert.deepEqual(states.slice(0, 3), ['live', 'behind', 'offline']);
}));

test('the filter keeps one number', () => {
    const filter = createFilter('latest');
    assert.equal(filter.last, null);
    assert.deepEqual(['5', '5', '4', '6', '', '6'].map((id) => filter.isNew(id)), [true, false, false, true, true, false]);
    assert.equal(filter.last, 6);
    assert.equal(createFilter(7).isNew('7'), false);
});

test('waits grow to a limit and are spread', () => {
    assert.equal(waitBefore(0, 0), 100);
    assert.equal(waitBefore(0, 1), 500);
    assert.equal(waitBefore(3, 0.5), 2000);
    assert.equal(waitBefore(50, 1), 20000);
});
