import test from 'node:test';
import assert from 'node:assert/strict';
import { CELL_STATES, countCells, createWork, fractionOf, orderCells } from '../../../web/js/work.js';
import {
    deviceColumn, laneColumn, layoutStrip, placeAt, placedCells, roundsOfPixel, roundTicks, rowTop, stackColumn,
    visibleRounds,
} from '../../../web/js/strip_layout.js';
import { historyWords } from '../../../web/js/strip_words.js';

const state = (name) => CELL_STATES.indexOf(name);
const item = (round, cells, more) => ({
    round, type: 'train', status: 'closed', outcome: 'completed', cells, ...more,
});
const columnOf = (out) => {
    const names = [];
    for (let p = 0; p < out.length / 2; p++) {
        names.push(out[2 * p] === 255 ? '-' : CELL_STATES[out[2 * p]][0] + out[2 * p + 1]);
    }
    return names.join(' ');
};

test('the store keeps cells, counts them once and knows the fullest round', () => {
    const work = createWork();
    work.put(item(3, [[7, 'completed', 10, 10], [2, 'partial', 4, 10]]));
    work.put(item(3, [[7, 'completed', 10, 10], [2, 'partial', 5, 10], [9, 'dropped', 0, 10]]));
    assert.deepEqual([work.last, work.most, work.cells], [3, 3, 3]);
    const cells = work.get(3).cells;
    assert.deepEqual(orderCells(cells, 'device').map((i) => cells.ordinals[i]), [2, 7, 9]);
    assert.deepEqual(orderCells(cells, 'outcome').map((i) => cells.ordinals[i]), [7, 2, 9]);
    const { counts, done, assigned } = countCells([cells]);
    assert.deepEqual([counts[state('completed')], counts[state('partial')], done, assigned], [1, 1, 15, 30]);
});

test('a share of the work is between 0 and 1, also where nothing was assigned', () => {
    const work = createWork();
    work.put(item(0, [[0, 'completed', 12, 10], [1, 'failed', 0, 0], [2, 'a state of a later version', 1, 4]]));
    const cells = work.get(0).cells;
    assert.deepEqual([0, 1, 2].map((i) => fractionOf(cells, i)), [1, 0, 0.25]);
    assert.equal(cells.states[2], state('open'));
});

test('events fill cells of an open round; what they do not tell is asked for', () => {
    const work = createWork();
    const accepted = (round, ordinal, partial) => ({
        type: 'update_accepted', data: { round, ordinal, partial, steps_done: 5, steps_assigned: 10 },
    });
    assert.equal(work.apply({ type: 'round_opened', data: { round: 0 } }), 0);
    assert.equal(work.apply(accepted(0, 4, true)), 0, 'a round that is not known yet');
    work.put(item(0, [[4, 'open', 0, 10]], { status: 'training', outcome: null }));
    assert.equal(work.apply(accepted(0, 4, true)), null);
    assert.equal(work.apply(accepted(0, 6, false)), null);
    const drop = { type: 'task_dropped', data: { round: 0, ordinal: 8, type: 'train', steps_done: 1, steps_assigned: 9 } };
    assert.equal(work.apply(drop), null);
    assert.equal(work.apply({ ...drop, type: 'task_failed', data: { ...drop.data, ordinal: 9, type: 'evaluate' } }), null);
    const { cells } = work.get(0);
    assert.deepEqual([...cells.ordinals], [4, 6, 8]);
    assert.deepEqual([...cells.states], [state('partial'), state('completed'), state('dropped')]);
    assert.deepEqual([work.cells, work.most], [3, 3]);
    assert.equal(work.apply({ type: 'round_closed', data: { round: 0 } }), 0);
    assert.equal(work.apply({ type: 'run_finished', data: {} }), null);
});

test('few rounds are wide, many fit or scroll', () => {
    const few = layoutStrip({ rounds: 10, rows: 10, width: 1000, height: 200 });
    assert.equal(few.pitch, 24);
    assert.equal(few.rowPitch, 20);
    assert.equal(few.dense, false);
    const fit = layoutStrip({ rounds: 1000, rows: 10, width: 1000, height: 200 });
    assert.equal(fit.pitch, 1);
    assert.ok(fit.dense && fit.fits);
    const wide = layoutStrip({ rounds: 1000, rows: 10, width: 1000, height: 200, zoom: 8 });
    assert.deepEqual([wide.contentWidth, wide.cellW, wide.fits, wide.dense], [8000, 6, false, false]);
    const none = layoutStrip({ rounds: 0, rows: 0, width: 1000, height: 200 });
    assert.ok(Number.isFinite(none.pitch) && none.contentHeight > 0);
});

test('cells too low to be filled are shaded', () => {
    const shaded = (rows) => layoutStrip({ rounds: 100, rows, width: 1000, height: 200 });
    assert.deepEqual([10, 50, 51, 100, 101].map((rows) => [shaded(rows).shaded, shaded(rows).dense]),
        [[false, false], [false, false], [true, false], [true, false], [true, true]]);
});

test('lanes of a thousand devices fit, or scroll when zoomed in', () => {
    const fit = layoutStrip({ rounds: 100, rows: 1000, width: 1000, height: 300, lanes: true });
    assert.equal(fit.contentHeight, 300);
    assert.ok(fit.dense);
    const near = layoutStrip({ rounds: 100, rows: 1000, width: 1000, height: 300, lanes: true, zoom: 16 });
    assert.equal(near.contentHeight, 10000);
    assert.equal(near.dense, false);
});

test('points and cells agree', () => {
    for (const lanes of [false, true]) {
        const layout = layoutStrip({ rounds: 50, rows: 10, width: 1000, height: 200, lanes });
        for (const [round, row] of [[0, 0], [49, 9], [7, 3]]) {
            const place = placeAt(layout, (round + 0.5) * layout.pitch, rowTop(layout, row) + 1);
            assert.deepEqual(place, { round, row });
        }
        assert.equal(placeAt(layout, -1, 5), null);
        assert.equal(placeAt(layout, 50 * layout.pitch + 1, 5), null);
    }
});

test('what is visible', () => {
    const layout = layoutStrip({ rounds: 100, rows: 10, width: 240, height: 200, zoom: 24 });
    assert.deepEqual(visibleRounds(layout, 30, 240), { from: 1, to: 12 });
    assert.deepEqual(visibleRounds(layout, 2300, 240), { from: 95, to: 100 });
    const fit = layoutStrip({ rounds: 5000, rows: 10, width: 1000, height: 200 });
    assert.deepEqual(roundsOfPixel(fit, 10), { from: 50, to: 55 });
    assert.deepEqual(roundsOfPixel(layoutStrip({ rounds: 600, rows: 1, width: 1000, height: 9 }), 999), { from: 599, to: 600 });
    assert.deepEqual(roundTicks(layout, 0, 12), [0, 5, 10]);
});

test('a run in words', () => {
    const work = createWork();
    work.put(item(0, [[0, 'dropped', 5, 10], [1, 'completed', 10, 10]]));
    work.put(item(1, [[0, 'partial', 5, 20], [1, 'completed', 10, 10]]));
    work.put({ ...item(2, []), type: 'final' });
    assert.equal(historyWords(work), '2 rounds: 2 completed, 1 partial, 1 dropped; 60.0 % of the steps');
    assert.equal(historyWords(createWork()), '0 rounds: no device was to train');
});

test('a dense stack shows shares, work first', () => {
    const work = createWork();
    work.put(item(0, [[0, 'dropped', 0, 10], [1, 'completed', 10, 10]]));
    work.put(item(1, [[0, 'partial', 10, 20], [1, 'partial', 0, 20]]));
    const list = [work.get(0).cells, work.get(1).cells];
    assert.equal(columnOf(stackColumn(list, 8, 2, new Uint8Array(16))), 'c255 c255 p128 p128 p0 p0 d0 d0');
    assert.equal(columnOf(stackColumn(list.slice(0, 1), 4, 4, new Uint8Array(8))), 'c255 d0 - -');
    assert.equal(columnOf(stackColumn([], 2, 4, new Uint8Array(4))), '- -');
    assert.equal(columnOf(deviceColumn(list[0], 4, 2, new Uint8Array(8))), 'd0 d0 c255 c255');
});

test('dense lanes show what most did', () => {
    const work = createWork();
    work.put(item(0, [[0, 'dropped', 5, 10], [1, 'completed', 10, 10], [2, 'completed', 10, 10], [9, 'late', 0, 1]]));
    const out = laneColumn([work.get(0).cells], 2, 10, new Uint8Array(4));
    assert.equal(columnOf(out), 'c255 l0');
});

test('dense lanes are as high as there is room', () => {
    const work = createWork();
    work.put(item(0, [[0, 'dropped', 5, 10], [2, 'completed', 10, 10]]));
    const column = (pixels) => columnOf(laneColumn([work.get(0).cells], pixels, 3, new Uint8Array(2 * pixels)));
    assert.equal(column(6), 'd128 d128 - - c255 c255');
    assert.equal(column(9), 'd128 d128 - - - - c255 c255 -');
});

test('cells stand in the row of their device, or stacked', () => {
    const work = createWork();
    work.put(item(0, [[5, 'dropped', 0, 10], [3, 'completed', 10, 10]]));
    const { cells } = work.get(0);
    const lanes = layoutStrip({ rounds: 1, rows: 10, width: 100, height: 100, lanes: true });
    assert.deepEqual(placedCells(cells, lanes, 'outcome'), [[5, 0], [3, 1]]);
    const stack = layoutStrip({ rounds: 1, rows: 2, width: 100, height: 100 });
    assert.deepEqual(placedCells(cells, stack, 'outcome'), [[0, 1], [1, 0]]);
});

test('what is no longer kept is not counted and does not come back', () => {
    const work = createWork();
    for (let n = 0; n < 4; n++)
        work.put(item(n, [[0, 'completed', 1, 1]]));
    work.dropBefore(2);
    work.put(item(1, [[0, 'completed', 1, 1]]));
    assert.deepEqual([work.first, work.cells, work.has(1), work.has(2)], [2, 2, false, true]);
});
