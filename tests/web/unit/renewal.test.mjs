import test from 'node:test';
import assert from 'node:assert/strict';
import { coalesce, oneAtATime } from '../../../web/js/dom.js';
import { Follower } from '../../../web/js/follower.js';
import { ApiError } from '../../../web/js/http.js';
import { lookAgain, renewal } from '../../../web/js/renewal.js';
import { openStream } from '../../../web/js/stream.js';

const listeners = {};
const page = { hidden: false, addEventListener: (type, f) => (listeners[type] = f), removeEventListener: (type) => delete listeners[type] };
Object.assign(globalThis, { document: page, window: page });

// The pauses after which what failed is tried again are short here.
const realTimeout = globalThis.setTimeout;
const PAUSES = [4000, 5000, 60000];
globalThis.setTimeout = (f, ms) => realTimeout(f, PAUSES.includes(ms) ? 5 : ms);

const sleep = (ms) => new Promise((resolve) => realTimeout(resolve, ms));

async function until(condition) {
    for (let i = 0; i < 500 && !condition(); i++)
        await sleep(4);
    assert.ok(condition(), String(condition));
}

const away = () => new ApiError({ status: 503, code: 'unavailable', detail: 'later' });

test('what is asked for often is asked for once at a time, and the last call is not lost', async () => {
    let [running, most, calls] = [0, 0, 0];
    const ask = coalesce(async () => {
        most = Math.max(most, ++running);
        calls += 1;
        await sleep(20);
        running -= 1;
    }, 1);
    for (let i = 0; i < 10; i++) {
        ask();
        await sleep(3);
    }
    await sleep(80);
    assert.equal(most, 1);
    assert.ok(calls >= 2 && calls < 6, `${calls} calls`);
    const before = calls;
    ask();
    await until(() => calls === before + 1);
});

test('after the end nothing is called, not even what was wanted meanwhile', async () => {
    const end = new AbortController();
    let calls = 0;
    const ask = coalesce(async () => {
        calls += 1;
        await sleep(10);
    }, 1, end.signal);
    ask();
    await until(() => calls === 1);
    ask();
    end.abort();
    await sleep(30);
    assert.equal(calls, 1);
});

test('a second press does nothing while the first is at work, and works after it has failed', async () => {
    let calls = 0;
    const press = oneAtATime(async () => {
        calls += 1;
        await sleep(5);
        throw away();
    });
    const first = press();
    await press();
    assert.equal(calls, 1);
    await assert.rejects(first);
    await assert.rejects(press());
    assert.equal(calls, 2);
});

test('a renewal comes, though no other event follows the one that asked for it', async () => {
    const end = new AbortController();
    const answers = [away(), away(), null];
    let calls = 0;
    const ask = renewal(async () => {
        const answer = answers[calls++];
        if (answer)
            throw answer;
    }, 1, end.signal);
    ask();
    await until(() => calls === 3);
    await sleep(20);
    assert.equal(calls, 3);
    end.abort();
});

test('what will not pass is told, once', async () => {
    const end = new AbortController();
    const told = [];
    const ask = renewal(async () => {
        throw new ApiError({ status: 404, code: 'not_found', detail: 'gone' });
    }, 1, end.signal, (error) => told.push(error.status));
    ask();
    await sleep(40);
    assert.deepEqual(told, [404]);
    end.abort();
});

test('what has no events is looked at again while the page is, also after it failed, and at once when one comes back', async (t) => {
    const end = new AbortController();
    t.after(() => end.abort());
    let looks = 0;
    const again = lookAgain(async () => {
        looks += 1;
        if (looks === 2)
            throw away();
        again(5);
    }, end.signal);
    again(0);
    await until(() => looks >= 4);
    page.hidden = true;
    await sleep(30);
    const before = looks;
    await sleep(30);
    assert.equal(looks, before);
    page.hidden = false;
    listeners.visibilitychange();
    await until(() => looks > before);
    end.abort();
    const last = looks;
    await sleep(30);
    assert.equal(looks, last);
});

// Connections that give these events, the first of them when told to.
function fakeStream() {
    const connections = [];
    globalThis.fetch = async (url, { signal }) => {
        let give;
        const body = new ReadableStream({ start: (controller) => (give = controller) });
        signal.addEventListener('abort', () => give.error(new DOMException('aborted', 'AbortError')));
        connections.push({
            send: (id) => give.enqueue(new TextEncoder().encode(`id: ${id}\ndata: ${JSON.stringify({ id, type: 'tick', at: new Date().toISOString() })}\n\n`)),
            end: () => give.close(),
        });
        return new Response(body, { status: 200, headers: { 'Content-Type': 'text/event-stream' } });
    };
    return connections;
}

function follow(t, loads) {
    const end = new AbortController();
    t.after(() => end.abort());
    const told = { events: [], failures: [], loads: 0 };
    const load = async () => {
        const error = loads[told.loads++];
        if (error)
            throw error;
    };
    new Follower({ path: '/api/v1/events', load, onEvent: (event) => told.events.push(event.id),
        onOpen() {}, live: { set() {} },
        fail: (error, retry) => told.failures.push({ error, retry }), signal: end.signal });
    return told;
}

test('a page that stands and cannot be loaded anew for a moment gets its events afterwards', async (t) => {
    const connections = fakeStream();
    const told = follow(t, [null, away(), away(), null]);
    await until(() => told.loads === 1);
    connections[0].end(); // before any event: what happened meanwhile is not known
    await until(() => connections.length === 2 && told.loads >= 2);
    await until(() => told.loads === 4);
    await sleep(10);
    connections[1].send(8);
    await until(() => told.events.length === 1);
    assert.deepEqual(told.events, [8]);
    assert.deepEqual(told.failures, []);
});

test('a page that does not stand yet says what is wrong, and a retry brings it', async (t) => {
    const connections = fakeStream();
    const told = follow(t, [away(), null]);
    await until(() => told.failures.length === 1);
    connections[0].send(3);
    await sleep(10);
    assert.deepEqual(told.events, []);
    told.failures[0].retry();
    await until(() => told.loads === 2);
    await sleep(10);
    connections[0].send(4);
    await until(() => told.events.length === 1);
    assert.deepEqual(told.events, [4]);
});

test('an event that the page cannot take does not cost the connection', async (t) => {
    const connections = fakeStream();
    const wrong = new TypeError('a mistake of the page');
    const log = t.mock.method(console, 'error', () => {});
    const seen = [];
    const stream = openStream('/api/v1/events', { since: 0, onEvent: ({ id }) => {
        seen.push(id);
        if (id === 1)
            throw wrong;
    } });
    await until(() => connections.length === 1);
    connections[0].send(1);
    connections[0].send(2);
    await until(() => seen.length === 2);
    assert.equal(connections.length, 1);
    assert.deepEqual(log.mock.calls.map((call) => call.arguments), [[wrong]]);
    stream.close();
});

test('a page that is opened in the background gives its connection back, and has one again once it is looked at', async () => {
    const connections = fakeStream();
    page.hidden = true;
    const states = [];
    const stream = openStream('/api/v1/events', { since: 5, onEvent: () => {}, onState: (state) => states.push(state) });
    await sleep(40);
    assert.equal(connections.length, 1);
    assert.throws(() => connections[0].send(6), 'the connection is given back');
    page.hidden = false;
    listeners.visibilitychange();
    await until(() => connections.length === 2);
    stream.close();
});
