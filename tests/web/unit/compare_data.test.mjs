import test from 'node:test';
import assert from 'node:assert/strict';
import { CompareData, POINTS_DRAWN } from '../../../web/js/compare_data.js';

const RUN = '0'.repeat(31) + '1';

// A server with one run that has closed so many rounds. It keeps what it was asked.
function fakeApi(api) {
    api.asked = [];
    globalThis.fetch = async (url) => {
        const { pathname, searchParams: query } = new URL(url, 'http://here');
        const since = Number(query.get('since_round') ?? 0);
        const rounds = Array.from({ length: Math.max(0, api.rounds - since) }, (_, i) => since + i);
        const bodies = {
            [`/api/v1/runs/${RUN}`]: () => ({ id: RUN, round: api.rounds }),
            [`/api/v1/runs/${RUN}/metrics`]: () => ({ items: rounds.map((round) => ({ round, value: round / 10, at: null, total_steps: 10 * round })) }),
        };
        if (pathname !== `/api/v1/runs/${RUN}`)
            api.asked.push(`${query.get('number') ?? query.get('name')} ${since}`);
        return new Response(JSON.stringify(bodies[pathname]()), { headers: { 'Content-Type': 'application/json' } });
    };
    return api;
}

function askedSince(api) {
    return api.asked.splice(0);
}

test('a curve that grows is asked for once, then for what has come', async () => {
    const api = fakeApi({ rounds: 3 });
    for (const x of ['round', 'steps']) {
        const settings = { metric: 'train_loss', x };
        const data = new CompareData([RUN], null);
        api.rounds = 3;
        await data.load(settings);
        api.rounds = 5;
        await data.reload(RUN, settings);
        await data.reload(RUN, settings);
        assert.deepEqual(askedSince(api), ['train_loss 0', 'train_loss 3', 'train_loss 5'], x);
        assert.deepEqual(data.curve(RUN, settings).map((p) => [p.round, p.totalSteps]), [0, 1, 2, 3, 4].map((n) => [n, 10 * n]));
    }
});

test('two looks at once do not add a round twice', async () => {
    const api = fakeApi({ rounds: 2 });
    const settings = { metric: 'train_loss', x: 'round' };
    const data = new CompareData([RUN], null);
    await data.load(settings);
    api.rounds = 4;
    await Promise.all([data.reload(RUN, settings), data.reload(RUN, settings)]);
    assert.deepEqual(data.curve(RUN, settings).map((p) => p.round), [0, 1, 2, 3]);
});

test('where much has come the server thins it anew, but not at once', async () => {
    const api = fakeApi({ rounds: POINTS_DRAWN });
    const settings = { metric: 'train_loss', x: 'round' };
    const data = new CompareData([RUN], null);
    await data.load(settings);
    api.rounds *= 2;
    await data.reload(RUN, settings);
    await data.reload(RUN, settings);
    assert.deepEqual(askedSince(api), ['train_loss 0', `train_loss ${POINTS_DRAWN}`, `train_loss ${2 * POINTS_DRAWN}`]);
    const { now } = performance;
    const setNow = (value) => Object.defineProperty(performance, 'now', { value, configurable: true, writable: true });
    setNow(() => now.call(performance) + 31000);
    await data.reload(RUN, settings);
    setNow(now);
    assert.deepEqual(askedSince(api), ['train_loss 0']);
    assert.equal(data.curve(RUN, settings).length, 2 * POINTS_DRAWN);
});

test('a number that rounds have is asked for as a metric is', async () => {
    const api = fakeApi({ rounds: 2 });
    const settings = { metric: 'bytes_in', x: 'round' };
    const data = new CompareData([RUN], null);
    await data.load(settings);
    api.rounds = 3;
    await data.reload(RUN, settings);
    assert.deepEqual(askedSince(api), ['bytes_in 0', 'bytes_in 2']);
    assert.deepEqual(data.curve(RUN, settings).map((p) => p.round), [0, 1, 2]);
});
