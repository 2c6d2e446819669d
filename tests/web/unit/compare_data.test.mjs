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
            [`/api/v1/runs/${RUN}/work`]: () => ({ next_cursor: null, items: [
                ...rounds.map((round) => ({ round, status: 'closed', bytes_in: 5, duration_ms: 1000, cells: [[0, 'completed', 10, 10]] })),
                { round: api.rounds, status: 'training', bytes_in: api.rounds, cells: [[0, 'open', 3, 10]] }] }),
        };
        if (pathname !== `/api/v1/runs/${RUN}`)
            api.asked.push(`${pathname.split('/').pop()} ${since}`);
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
        assert.deepEqual(askedSince(api), ['metrics 0', 'metrics 3', 'metrics 5'], x);
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
    assert.deepEqual(askedSince(api), ['metrics 0', `metrics ${POINTS_DRAWN}`, `metrics ${2 * POINTS_DRAWN}`]);
    const { now } = performance;
    performance.now = () => now.call(performance) + 31000;
    await data.reload(RUN, settings);
    performance.now = now;
    assert.deepEqual(askedSince(api), ['metrics 0']);
    assert.equal(data.curve(RUN, settings).length, 2 * POINTS_DRAWN);
});

test('a number of each round: closed ones are asked for once', async () => {
    const api = fakeApi({ rounds: 2 });
    const settings = { metric: 'bytes_in', x: 'round' };
    const data = new CompareData([RUN], null);
    await data.load(settings);
    api.rounds = 3;
    await data.reload(RUN, settings);
    assert.deepEqual(askedSince(api), ['work 0', 'work 2']);
    assert.deepEqual(data.curve(RUN, settings).map((p) => [p.round, p.value, p.totalSteps]), [[0, 5, 0], [1, 5, 10], [2, 5, 20], [3, 3, 30]]);
});
