import test from 'node:test';
import assert from 'node:assert/strict';
import { possibleActions } from '../../../web/js/run_actions.js';
import { RUN_FILTERS, addToSpark, matchesText, newerRow, rowAfter, rowOfRun } from '../../../web/js/run_row.js';
import { sparkPoints } from '../../../web/js/sparkline.js';
import { compareValues, sortRows } from '../../../web/js/table.js';
import { relativeTime } from '../../../web/js/time.js';

const RUN = { id: 'a'.repeat(32), experiment_id: '1', name: 'Mu One', dataset: 'fashion', status: 'running', outcome: null, status_reason: '', round: 4,
    num_rounds: 10, population: 100, metrics: { round: 3, values: { train_loss: 'NaN', test_accuracy: 0.5 } }, last_event: 20,
    spec: { experiment: 'demo', strategy: { name: 'fedprox', params: { proximal_mu: 1 } }, selection: { devices_per_round: 10 } },
    config: { strategy: { params: { proximal_mu: 0.5 } } }, created_at: 'c', started_at: 's', finished_at: null,
    sparklines: { train_loss: [3, 2], test_accuracy: [0.1, 0.5] } };
const event = (type, data, seq = 21) => ({ type, data, seq, at: '2030-01-01T00:00:00Z', run_id: RUN.id });

test('a row is what is shown of a run', () => {
    const row = rowOfRun(RUN);
    assert.equal(row.mu, 0.5);
    assert.equal(row.loss, 'NaN');
    assert.equal(row.perRound, 10);
    assert.deepEqual(row.losses, [3, 2]);
    assert.equal(rowOfRun({ id: 'x', spec: {}, metrics: null }).accuracy, null);
    assert.equal(rowOfRun({ id: 'x', spec: null, experiment_id: '0' }).experiment, '0');
});

test('events change the row, and only what they are about', () => {
    const row = rowOfRun(RUN);
    const closed = rowAfter(row, event('round_closed', { round: 4, type: 'train', metrics: { train_loss: 1 } }));
    assert.equal(closed.round, 5);
    assert.equal(closed.loss, 1);
    assert.deepEqual(closed.losses, [3, 2, 1]);
    assert.equal(closed.accuracy, 0.5);
    assert.deepEqual(row.losses, [3, 2]);
    assert.equal(rowAfter(row, event('round_closed', { round: 10, type: 'final', metrics: {} })).round, 4);
    assert.equal(rowAfter(row, event('round_closed', { round: 4, type: 'train' })).round, 5);
    const finished = rowAfter(row, event('run_finished', { outcome: 'failed', reason: 'why' }));
    assert.deepEqual([finished.status, finished.outcome, finished.reason, finished.finishedAt], ['finished', 'failed', 'why', '2030-01-01T00:00:00Z']);
    assert.equal(rowAfter(row, event('run_paused', {})).status, 'paused');
    assert.equal(rowAfter(row, event('run_waiting', { reason: 'r' })).status, 'waiting_for_devices');
    assert.equal(rowAfter(row, event('devices_frozen', { population: 7 })).population, 7);
});

test('what was known already, and what is not shown, changes nothing', () => {
    const row = rowOfRun(RUN);
    assert.equal(rowAfter(row, event('run_paused', {}, 20)), row);
    assert.equal(rowAfter(row, event('update_accepted', {})), row);
    assert.equal(rowAfter(row, event('something_new', {})), row);
    const started = rowAfter(row, event('run_started', {}));
    assert.deepEqual([started.startedAt, started.lastEvent], ['2030-01-01T00:00:00Z', 21]);
    assert.equal(rowAfter(started, event('run_paused', {}, 21)), started);
    assert.equal(rowAfter(row, event('config_changed', { patch: { strategy: { params: { proximal_mu: 7 } } } })).mu, 7);
    assert.equal(rowAfter(row, event('config_changed', { patch: { training: {} } })).mu, 0.5);
});

test('a reply that comes late does not undo what events have told', () => {
    const row = rowOfRun(RUN);
    const paused = rowAfter(row, event('run_paused', {}, 25));
    assert.equal(newerRow(paused, rowOfRun({ ...RUN, last_event: 24 })), paused);
    assert.equal(newerRow(paused, rowOfRun({ ...RUN, last_event: 26 })).status, 'running');
    assert.equal(newerRow(undefined, row), row);
    const plain = newerRow(paused, rowOfRun({ ...RUN, last_event: 26, sparklines: undefined }));
    assert.deepEqual(plain.losses, [3, 2]);
});

test('a sparkline stays short and keeps its ends', () => {
    let values = [];
    for (let i = 1; i <= 5000; i++)
        values = addToSpark(values, i);
    assert.ok(values.length <= 60, String(values.length));
    assert.equal(values[values.length - 1], 5000);
    assert.ok(values.every((v, i) => i === 0 || v > values[i - 1]));
    assert.equal(addToSpark(values, null), values);
});

test('points of a sparkline: gaps, one value, nothing', () => {
    assert.deepEqual(sparkPoints([]), []);
    assert.deepEqual(sparkPoints(['NaN', null, 'Infinity']), []);
    assert.deepEqual(sparkPoints([5], 10, 10, 1), [[[1, 5]]]);
    assert.deepEqual(sparkPoints([0, 1, 'NaN', 1], 14, 12, 1), [[[1, 11], [5, 1]], [[13, 1]]]);
});

test('runs are found by their words and their state', () => {
    const row = rowOfRun(RUN);
    assert.ok(matchesText(row, 'MU demo'));
    assert.ok(matchesText(row, 'fashion'));
    assert.ok(!matchesText(row, 'mu two'));
    assert.ok(RUN_FILTERS.active(row));
    assert.ok(!RUN_FILTERS.completed(row));
});

test('what can be done depends on the state', () => {
    const can = (status) => possibleActions({ status }).join(' ');
    assert.equal(can('pending'), 'start stop');
    assert.equal(can('running'), 'pause stop');
    assert.equal(can('paused'), 'resume stop');
    assert.equal(can('waiting_for_devices'), 'stop');
    assert.equal(can('finished'), '');
    assert.equal(can('something new'), '');
});

test('missing values come last in both directions, equal ones keep their order', () => {
    const columns = [{ id: 'x', sortValue: (r) => r.x }];
    const rows = [{ x: null, k: 1 }, { x: 2, k: 2 }, { x: NaN, k: 3 }, { x: 10, k: 4 }, { x: 2, k: 5 }];
    const order = (dir) => sortRows(rows, columns, { id: 'x', dir }).map((r) => r.k).join('');
    assert.equal(order('asc'), '25413');
    assert.equal(order('desc'), '42513');
    assert.equal(sortRows(rows, columns, { id: 'unknown', dir: 'asc' }), rows);
    assert.ok(compareValues('run 2', 'run 10', 'asc') < 0);
    assert.ok(compareValues(Infinity, 5, 'desc') < 0);
});

test('how long ago', () => {
    assert.equal(relativeTime(0), 'just now');
    assert.equal(relativeTime(-3000), 'just now');
    assert.equal(relativeTime(42000), '42 s ago');
    assert.equal(relativeTime(59.6 * 60000), '1 h ago');
    assert.equal(relativeTime(-120000), 'in 2 min');
    assert.equal(relativeTime(NaN), '–');
});
