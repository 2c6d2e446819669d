import test from 'node:test';
import assert from 'node:assert/strict';
import { dotsPath, layoutScatter, nearestPoint } from '../../../web/js/scatter_layout.js';

const box = { left: 50, right: 450, top: 10, bottom: 210 };

test('points lie within the frame, by their logarithms', () => {
    const { placed, x, y } = layoutScatter([{ x: 1, y: 1 }, { x: 10, y: 10 }, { x: 100, y: 100 }], box);
    for (const { left, top } of placed) {
        assert.ok(left > box.left && left < box.right && top > box.top && top < box.bottom, `${left} ${top}`);
    }
    assert.ok(Math.abs((placed[0].left + placed[2].left) / 2 - placed[1].left) < 1e-6);
    assert.ok(placed[0].top > placed[1].top);
    assert.ok(x.ticks.length >= 2 && y.ticks.length >= 2);
});

test('the numbers at an axis are round and spread over it', () => {
    const { x, y } = layoutScatter([{ x: 45, y: 87700 }, { x: 6048, y: 2280000 }], box);
    assert.deepEqual(x.ticks.map((t) => t.label), ['100', '300', '1 k', '3 k']);
    assert.deepEqual(y.ticks.map((t) => t.label), ['100 k', '200 k', '500 k', '1 M', '2 M']);
});

test('one point, points that are the same, and none', () => {
    for (const points of [[{ x: 3, y: 7 }], Array.from({ length: 5 }, () => ({ x: 3, y: 7 })), []]) {
        const layout = layoutScatter(points, box);
        assert.equal(layout.placed.length, points.length);
        assert.ok(layout.placed.every(({ left, top }) => Number.isFinite(left) && Number.isFinite(top)));
        assert.ok(layout.x.ticks.length > 0 && layout.y.ticks.length > 0);
    }
});

test('ten thousand points are one path', () => {
    const points = Array.from({ length: 10000 }, (_, i) => ({ x: i + 1, y: (i % 97) + 1 }));
    const { placed } = layoutScatter(points, box);
    assert.equal(dotsPath(placed).split('M').length, 10001);
    assert.equal(dotsPath([]), '');
});

test('the nearest point within reach', () => {
    const { placed } = layoutScatter([{ x: 1, y: 1 }, { x: 100, y: 100 }], box);
    assert.equal(nearestPoint(placed, placed[1].left + 3, placed[1].top - 3), placed[1]);
    assert.equal(nearestPoint(placed, (placed[0].left + placed[1].left) / 2, box.bottom), null);
    assert.equal(nearestPoint([], 0, 0), null);
});
