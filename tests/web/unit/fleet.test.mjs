import test from 'node:test';
import assert from 'node:assert/strict';
import {
    classCounts, countTexts, currentTask, eventPause, fleetFilter, gentlePause, labelCounts, labelTexts, passesFilter, renewedHistory, speedPoints,
    statusCounts,
} from '../../../web/js/fleet.js';

const device = (more) => ({
    id: 'd1', name: 'pi-7', status: 'online', dataset: 'a', worker_id: 'w1', labels: { region: 'eu', note: '' },
    num_examples: 10, steps_per_second: 5, capabilities: {}, open_tasks: [], ...more,
});
const passes = (more, query) => passesFilter(device(more), fleetFilter(query));

test('by default all but the revoked are shown', () => {
    assert.ok(passes({}, {}));
    assert.ok(passes({ status: 'offline' }, {}));
    assert.ok(!passes({ status: 'revoked' }, {}));
    assert.ok(passes({ status: 'revoked' }, { status: 'all' }));
    assert.ok(passes({ status: 'revoked' }, { status: 'revoked' }));
    assert.ok(!passes({}, { status: 'suspect' }));
    assert.equal(fleetFilter({ status: 'no such' }).status, 'serving');
});

test('data set, worker, label and text narrow it down', () => {
    for (const query of [{ dataset: 'a' }, { worker: 'w1' }, { label: 'region=eu' }, { label: 'note=' }, { q: ' PI' }, { q: 'region=e' }, { q: 'd1' }]) {
        assert.ok(passes({}, query), JSON.stringify(query));
    }
    for (const query of [{ dataset: 'A' }, { worker: 'w2' }, { label: 'region' }, { label: 'region=e' }, { q: 'pi 7' }]) {
        assert.ok(!passes({}, query), JSON.stringify(query));
    }
    assert.ok(passes({ labels: null, worker_id: null }, { q: 'pi' }));
});

test('a label may be named like a property of objects', () => {
    const odd = device({ labels: JSON.parse('{"__proto__": "x", "constructor": "y"}') });
    assert.deepEqual(labelTexts(odd), ['__proto__=x', 'constructor=y']);
    assert.deepEqual(labelCounts([odd, device()]), [['__proto__=x', 1], ['constructor=y', 1], ['note=', 1], ['region=eu', 1]]);
});

test('counts', () => {
    assert.deepEqual(statusCounts([device(), device(), device({ status: 'revoked' })]), { online: 2, suspect: 0, offline: 0, revoked: 1 });
    assert.deepEqual(countTexts(['b', 'a', 'c', 'c']), [['c', 2], ['a', 1], ['b', 1]]);
    assert.deepEqual(statusCounts([]), { online: 0, suspect: 0, offline: 0, revoked: 0 });
});

test('counts by class are shown where they are counts', () => {
    assert.deepEqual(classCounts(device({ capabilities: { label_counts: { 0: 5, 1: 0, x: -1, y: 'many' } } })), [['0', 5], ['1', 0]]);
    for (const capabilities of [null, {}, { label_counts: null }, { label_counts: 'x' }, { label_counts: { a: 'x' } }]) {
        assert.equal(classCounts(device({ capabilities })), null);
    }
});

test('the training is the current task', () => {
    const [evaluate, train] = [{ type: 'evaluate' }, { type: 'train' }];
    assert.equal(currentTask(device({ open_tasks: [evaluate, train] })), train);
    assert.equal(currentTask(device({ open_tasks: [evaluate] })), evaluate);
    assert.equal(currentTask(device()), null);
    assert.equal(currentTask(device({ open_tasks: undefined })), null);
});

test('only what has a speed and a size can be drawn', () => {
    const points = speedPoints([device(), device({ steps_per_second: null }), device({ num_examples: 0 }), device({ steps_per_second: 'NaN' }),
        device({ steps_per_second: 0 })]);
    assert.deepEqual(points, [{ x: 10, y: 5, kind: 'online', key: 'd1', name: 'pi-7' }]);
});

test('asking again costs the server little', () => {
    assert.deepEqual([gentlePause(1), gentlePause(20), gentlePause(60000)], [5000, 12000, 300000]);
    assert.deepEqual([eventPause(), eventPause(gentlePause(20)), eventPause(gentlePause(60000))], [2000, 2000, 30000]);
});

test('a history is renewed by its newest page, where that is enough', () => {
    const task = (id, status = 'completed') => ({ id, status });
    const known = [task(5, 'claimed'), task(4), task(3)];
    const renewed = renewedHistory(known, [task(6, 'ready'), task(5), task(4)], false);
    assert.deepEqual(renewed.map((t) => [t.id, t.status]), [[6, 'ready'], [5, 'completed'], [4, 'completed'], [3, 'completed']]);
    assert.ok(renewed[2] === known[1] && renewed[3] === known[2], 'what is as it was is the same object');
    assert.equal(renewedHistory(known, [task(8), task(7)], false), null, 'some may lie between');
    assert.equal(renewedHistory(known, [task(6), task(4)], false), null, 'it does not say how 5 came out');
    assert.deepEqual(renewedHistory([], [task(1)], true), [task(1)]);
    assert.deepEqual(renewedHistory(known, [], true), [], 'another history altogether');
});
