import test from 'node:test';
import assert from 'node:assert/strict';
import {
    bandOf, byRound, byWallTime, curvesOf, drawnText, hasFinite, roundsBetween, smooth, tableOf, thinPoints, toCsv, valuesThere,
} from '../../../web/js/series.js';

const point = (round, value, more) => ({
    round, value, name: 'train_loss', ordinal: null, at: `2020-01-01T00:00:0${round}Z`, ...more,
});

test('curves are those over all devices, by name, by round', () => {
    const curves = curvesOf([
        point(2, 'NaN'), point(0, 1.5), point(1, '-Infinity'),
        point(0, 9, { ordinal: 0 }), point(0, 0.5, { name: 'test_accuracy' }),
    ]);
    assert.deepEqual([...curves.keys()], ['train_loss', 'test_accuracy']);
    assert.deepEqual(byRound(curves.get('train_loss')), [[0, 1.5], [1, -Infinity], [2, NaN]]);
});

test('wall time counts from the start of the run and skips what has no time', () => {
    const curve = [point(1, 1), point(3, 2), point(4, 3, { at: null })];
    assert.deepEqual(byWallTime(curve, '2020-01-01T00:00:01Z'), [[0, 1], [2, 2]]);
    assert.deepEqual(byWallTime(curve, null), []);
});

test('smoothing starts at the first value and passes over what is not finite', () => {
    const points = [[0, 4], [1, NaN], [2, 8]];
    assert.equal(smooth(points, 0), points);
    const smoothed = smooth(points, 0.5);
    assert.deepEqual(smoothed[0], [0, 4]);
    assert.ok(Number.isNaN(smoothed[1][1]));
    assert.ok(Math.abs(smoothed[2][1] - (0.25 * 4 + 0.5 * 8) / 0.75) < 1e-12);
    assert.ok(smooth([[0, 1], [1, 1], [2, 1]], 1).every(([, y]) => Math.abs(y - 1) < 1e-9));
});

test('a band is there where both edges are', () => {
    assert.deepEqual(bandOf([[0, 1], [1, 2]], [[1, 5], [2, 6]]), [[1, 2, 5]]);
});

test('finite', () => {
    assert.equal(hasFinite([[0, NaN], [1, Infinity]]), false);
    assert.equal(hasFinite([[0, NaN], [1, 0]]), true);
});

test('tables have a row for each x, CSV one for each point', () => {
    const series = [
        { name: 'a "b", c', points: [[0, 1], [2, NaN]], band: [[0, 0.5, 2]] },
        { name: '=d', points: [[1, -Infinity]] },
    ];
    assert.deepEqual(tableOf(series), [[0, 1, undefined], [1, undefined, -Infinity], [2, NaN, undefined]]);
    assert.equal(toCsv(series, 'round'),
        'series,round,value\r\n"a ""b"", c",0,1\r\n"a ""b"", c",2,NaN\r\n"a ""b"", c low",0,0.5\r\n"a ""b"", c high",0,2\r\n\'=d,1,-Infinity\r\n');
    assert.equal(toCsv([{ name: 'a', points: [[7, 1], [7, 2]] }], 'steps', '=loss'), 'series,steps,\'=loss\r\na,7,1\r\na,7,2\r\n');
});

test('where fewer points are drawn than there are, it is said', () => {
    const thin = Array.from({ length: 500 }, (_, i) => ({ round: i < 499 ? 10 * i : 5000 }));
    assert.equal(valuesThere(thin, 500), 5001);
    assert.equal(valuesThere(thin, 500, 2), 2501);
    assert.equal(valuesThere(thin, 500, 100), 500);
    assert.equal(valuesThere(thin, 501), 500);
    assert.equal(valuesThere([], 500), 0);
    assert.equal(roundsBetween('test_accuracy_p10', { every: 5 }), 5);
    assert.equal(roundsBetween('gamma', { every: 5 }), 1);
    assert.equal(roundsBetween('train_loss', undefined), 1);
    const points = thin.map(({ round }) => [round, 1]);
    assert.equal(drawnText([{ points, there: 500 }, { points }], 'here'), '');
    assert.match(drawnText([{ points, there: 5001 }], 'here'), /^Drawn: 500 of up to 5,001 values \(peaks kept\).* All values: here\.$/);
    assert.match(drawnText([{ points, there: 600 }, { points, there: 5001 }]), /^Drawn: 500 of up to 5,001 values of a curve [^A]*$/);
});

test('thinning keeps peaks, gaps and the order', () => {
    const points = Array.from({ length: 1000 }, (_, i) => [i, i === 500 ? 99 : i === 700 ? NaN : i === 333 ? -99 : i % 7]);
    const thin = thinPoints(points, 100);
    assert.ok(thin.length <= 101, String(thin.length));
    for (const x of [500, 700, 333])
        assert.ok(thin.some((p) => p[0] === x), String(x));
    assert.ok(thin.every((p, i) => i === 0 || p[0] > thin[i - 1][0]));
    assert.equal(thinPoints(points, 1000), points);
    assert.deepEqual(thinPoints([[0, NaN], [1, NaN], [2, NaN]], 1).map((p) => p[0]), [0]);
});
