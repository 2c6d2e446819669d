import test from 'node:test';
import assert from 'node:assert/strict';
import { chartAxes, gapNote, linearAxis, logAxis, valueText } from '../../../web/js/scales.js';
import { chartSvg, dashOf, piecesOf } from '../../../web/js/chart_svg.js';
import { chartSets } from '../../../web/js/chart_config.js';
import { nearestIndex } from '../../../web/js/charts.js';

const colours = {
    surface: '#ffffff', text: '#000000', muted: '#777777', line: '#dddddd', edge: '#888888', series: ['#0000aa', '#aa0000'],
};
const labels = (axis) => axis.ticks.map((t) => t.label);

test('axes end at round numbers', () => {
    assert.deepEqual(labels(linearAxis(0.13, 0.87)), ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']);
    assert.deepEqual(labels(linearAxis(0, 37, { whole: true, tight: true, count: 6 })), ['0', '10', '20', '30']);
    const rounds = linearAxis(0, 2, { whole: true, tight: true, count: 6 });
    assert.deepEqual(labels(rounds), ['0', '1', '2']);
    // Values that rounding alone tells apart.
    for (const [low, high] of [[0.3, 0.1 + 0.2], [-0.1 - 0.2, -0.3], [1e15, 1e15 + 1]])
        assert.ok(linearAxis(low, high).ticks.length < 10);
    const one = linearAxis(5, 5);
    assert.ok(one.min < 5 && one.max > 5);
    assert.deepEqual([linearAxis(0, 0, { whole: true, tight: true }).min, linearAxis(0, 0, { whole: true, tight: true }).max], [0, 1]);
    assert.equal(new Set(labels(linearAxis(1e-7, 3e-7))).size, labels(linearAxis(1e-7, 3e-7)).length);
    assert.ok(labels(linearAxis(-2, 1)).includes('−1'));
});

test('any two finite numbers have an axis', () => {
    const numbers = [0, 1, -1, 3, 7, 0.1, 0.3, 1e-320, 5e-324, 1.7e308, 1e16, 1e16 + 2, 1e21, 1e-7, 1 + 2e-16, 0.7, 0.7 + 2e-16, 123456789.123];
    const ranges = numbers.flatMap((a) => numbers.map((b) => [Math.min(a, b), Math.max(a, b)]));
    const good = ({ min, max, ticks }) => min < max && Number.isFinite(max) && ticks.length <= 40
        && ticks.every((t) => Number.isFinite(t.value) && t.label !== '');
    for (const [low, high] of ranges) {
        for (const options of [{}, { tight: true }, { whole: true, tight: true }])
            assert.ok(good(linearAxis(low, high, options)), `${low} to ${high}`);
        assert.ok(low <= 0 || good(logAxis(low, high)), `${low} to ${high}, logarithmic`);
    }
});

test('a logarithmic axis has decades', () => {
    assert.deepEqual(labels(logAxis(0.05, 4)), ['0.05', '0.1', '0.2', '0.5', '1', '2']);
    assert.deepEqual(logAxis(1e-6, 1e6).ticks.map((t) => Math.log10(t.value)).filter((d) => !Number.isInteger(Math.round(d * 1e6) / 1e6)), []);
    assert.deepEqual(labels(logAxis(3.1, 3.9)), ['3.2', '3.4', '3.6', '3.8']);
    const one = logAxis(3, 3);
    assert.ok(one.min < 3 && one.max > 3 && one.ticks.length > 0);
});

test('what cannot be shown moves no axis and is told', () => {
    const series = [{ name: 'a', points: [[0, 1], [1, NaN], [2, Infinity], [3, 0], [4, 8]] }];
    const axes = chartAxes({ series });
    assert.deepEqual([axes.y.min, axes.y.max, axes.x.min, axes.x.max], [0, 8, 0, 4]);
    assert.equal(gapNote(series, false), 'Gaps: 2 values are NaN or infinite.');
    assert.match(gapNote(series, true), /1 value is 0 or less/);
    assert.equal(chartAxes({ series, log: true }).y.min, 1);
    assert.equal(gapNote([{ name: 'a', points: [[0, 1]] }], true), '');
    const nothing = chartAxes({ series: [{ name: 'a', points: [[0, NaN]] }], log: true });
    assert.ok(nothing.y.min > 0 && Number.isFinite(nothing.y.max));
    assert.deepEqual([valueText(NaN), valueText(-Infinity), valueText(0.123456)], ['NaN', '-Infinity', '0.1235']);
});

test('gaps break a line; a single point is a piece of its own', () => {
    const points = [[0, 1], [1, 2], [2, NaN], [3, 4], [4, -Infinity]];
    assert.deepEqual(piecesOf(points, false), [[[0, 1], [1, 2]], [[3, 4]]]);
    assert.deepEqual(piecesOf([[0, -1, 2], [1, 1, 2]], true), [[[1, 1, 2]]]);
});

test('the SVG has every finite value, the band, the note, and names as text', () => {
    const name = '<img src=x onerror=alert(1)> & "\u0000"';
    const svg = chartSvg({
        title: 'Loss', x: { title: 'round' }, y: { title: 'loss' },
        series: [
            { name, points: [[0, 0], [1, 10], [2, NaN]], band: [[0, 0, 5], [1, 5, 10]] },
            { name: 'b', points: [[1, 5]] },
        ],
    }, colours, { width: 400, height: 300 });
    assert.ok(!svg.includes('<img') && !svg.includes('\u0000'));
    assert.ok(svg.includes('&lt;img src=x onerror=alert(1)&gt; &amp; &quot;\ufffd&quot;'));
    assert.match(svg, /Gaps: 1 value is NaN or infinite\./);
    assert.equal(svg.match(/stroke-width="1.75"/g).length, 1);
    assert.equal(svg.match(/<circle /g).length, 1);
    assert.equal(svg.match(/fill-opacity="0.16"/g).length, 1);
    // From 0 at the bottom to 10 at the top: 300 - 52, and below two rows of the legend.
    const [, y0, y1] = /d="M[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)"/.exec(svg);
    assert.equal(Number(y0), 248);
    assert.ok(Number(y1) < 100);
});

test('from the ninth series on lines are dashed', () => {
    assert.deepEqual([dashOf({}, 7), dashOf({}, 8), dashOf({ dash: true }, 0)], [[], [6, 4], [6, 4]]);
});

test('datasets for Chart.js keep gaps and hide what is hidden', () => {
    const series = [{ name: 'a', points: [[0, 1], [1, 0]], band: [[0, 0, 2], [1, 1, 3]] }, { name: 'b', points: [] }];
    const sets = chartSets({ series, log: true }, colours, new Set(['b']));
    assert.deepEqual(sets.map((s) => [s.seriesIndex, Boolean(s.isBand), s.hidden]),
        [[0, false, false], [0, true, false], [0, true, false], [1, false, true]]);
    assert.deepEqual(sets[0].data.map((p) => p.y), [1, NaN]);
    assert.deepEqual(sets[1].data.map((p) => p.y), [NaN, 1], 'an edge that cannot be shown hides the other, too');
    assert.equal(sets[2].fill, '-1');
});

test('the nearest x', () => {
    const xs = [0, 1, 5, 6];
    assert.deepEqual([-9, 0.4, 0.6, 3.1, 99].map((x) => xs[nearestIndex(xs, x)]), [0, 0, 1, 5, 6]);
    assert.equal(nearestIndex([4], 100), 0);
});
