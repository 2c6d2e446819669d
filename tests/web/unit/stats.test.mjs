import test from 'node:test';
import assert from 'node:assert/strict';
import { fencesOf, outlierSide, quantile } from '../../../web/js/stats.js';

test('quantiles are interpolated', () => {
    assert.equal(quantile([1, 2, 3, 4], 0.25), 1.75);
    assert.equal(quantile([7], 0.9), 7);
});

test('outliers are beyond 1.5 interquartile ranges', () => {
    const fences = fencesOf([1, 2, 3, 4, 5, NaN, Infinity]);
    assert.deepEqual(fences, { low: -1, high: 7 });
    assert.deepEqual([8, 7, -2, NaN, Infinity, null].map((v) => outlierSide(v, fences)),
        ['high', null, 'low', 'high', 'high', null]);
});

test('with few values, or half of them equal, none stands out', () => {
    assert.equal(fencesOf([1, 2, 3, 100]), null);
    assert.equal(fencesOf([1, 1, 1, 1, 9]), null);
    assert.equal(outlierSide(9, null), null);
});
