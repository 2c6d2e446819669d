import test from 'node:test';
import assert from 'node:assert/strict';
import { layoutGantt, timeTicks } from '../../../web/js/gantt_layout.js';

const at = (s) => new Date(1e12 + s * 1000).toISOString();
const T = (s) => 1e12 + s * 1000;
const task = (more) => ({
    ordinal: 0, type: 'train', status: 'completed', report: null, created_at: at(0), claimed_at: at(1),
    downloaded_at: at(2), trained_at: at(7), uploaded_at: at(8), ...more,
});
const phases = (row) => row.bars.map((b) => `${b.phase} ${(b.from - 1e12) / 1000}-${(b.to - 1e12) / 1000}`);

test('a task that is done has its phases in order', () => {
    const { start, end, rows } = layoutGantt([task()], { roundStart: T(0), roundEnd: T(9) });
    assert.deepEqual([start, end], [T(0), T(9)]);
    assert.deepEqual(phases(rows[0]), ['wait 0-1', 'download 1-2', 'train 2-7', 'upload 7-8']);
});

test('what the device did not compute it waited for a thread', () => {
    const { rows } = layoutGantt([task({ report: { compute_ms: 2000 } }), task({ ordinal: 1, report: { compute_ms: 9e9 } })]);
    assert.deepEqual(phases(rows[0]), ['wait 0-1', 'download 1-2', 'queue 2-5', 'train 5-7', 'upload 7-8']);
    assert.deepEqual(phases(rows[1]), ['wait 0-1', 'download 1-2', 'train 2-7', 'upload 7-8']);
});

test('open tasks run to the present', () => {
    const open = { downloaded_at: null, trained_at: null, uploaded_at: null };
    const { rows, end } = layoutGantt([
        task({ status: 'claimed', ...open }),
        task({ ordinal: 1, status: 'ready', claimed_at: null, ...open }),
    ], { now: T(5) });
    assert.deepEqual(phases(rows[0]), ['wait 0-1', 'busy 1-5']);
    assert.deepEqual(phases(rows[1]), ['wait 0-5']);
    assert.equal(end, T(5));
});

test('a late task ends with its round', () => {
    const late = task({ status: 'late', downloaded_at: null, trained_at: null, uploaded_at: null });
    assert.deepEqual(phases(layoutGantt([late], { now: T(99), roundEnd: T(6) }).rows[0]), ['wait 0-1', 'busy 1-6']);
});

test('clocks that went back and times that are missing make no negative bars', () => {
    const { rows } = layoutGantt([
        task({ claimed_at: at(3), downloaded_at: at(2), trained_at: at(2.5) }),
        task({ ordinal: 1, created_at: null, claimed_at: null, downloaded_at: null, trained_at: null, uploaded_at: null }),
    ]);
    for (const bar of rows[0].bars) {
        assert.ok(bar.to > bar.from);
    }
    assert.deepEqual(rows[1].bars, []);
    assert.deepEqual([layoutGantt([]).start, layoutGantt([]).end], [0, 1]);
});

test('rows are by device, or by when they ended', () => {
    const tasks = [task({ ordinal: 2 }), task({ ordinal: 1, uploaded_at: at(9) }), task({ ordinal: 2, type: 'evaluate' })];
    assert.deepEqual(layoutGantt(tasks).rows.map((r) => `${r.task.ordinal}${r.task.type[0]}`), ['1t', '2e', '2t']);
    assert.deepEqual(layoutGantt(tasks, { order: 'end' }).rows.map((r) => r.task.ordinal), [2, 2, 1]);
});

test('time ticks', () => {
    assert.deepEqual(timeTicks(5000), [0, 1000, 2000, 3000, 4000, 5000]);
    assert.ok(timeTicks(1e12).length < 9);
    assert.deepEqual(timeTicks(1), [0, 1]);
});
