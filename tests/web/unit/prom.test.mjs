import test from 'node:test';
import assert from 'node:assert/strict';
import {
    bucketGrowth, bucketQuantile, parseProm, promBuckets, promGrowth, promLabels, promValue,
} from '../../../web/js/prom.js';

const TEXT = `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{route="a",status="200"} 10
requests_total{route="a",status="503"} 2
requests_total{route="b, \\"quoted\\" \\\\ and }",status="200"} 5
bare 1.5e3
when 7 1700000000000
odd NaN
up +Inf
down -Inf

nonsense
{x="y"} 3
`;

const histogram = (counts, route = 'a') => parseProm(counts.map(([le, n]) => `d_bucket{route="${route}",le="${le}"} ${n}`).join('\n'));

test('samples have names, labels and values', () => {
    const samples = parseProm(TEXT);
    assert.equal(promValue(samples, 'requests_total', { route: 'a', status: '503' }), 2);
    assert.equal(promValue(samples, 'requests_total', { route: 'a' }), 12);
    assert.equal(promValue(samples, 'requests_total'), 17);
    assert.deepEqual(promLabels(samples, 'requests_total', 'route'), ['a', 'b, "quoted" \\ and }']);
    assert.equal(promValue(samples, 'bare'), 1500);
    assert.equal(promValue(samples, 'when'), 7);
    assert.ok(Number.isNaN(promValue(samples, 'odd')));
    assert.equal(promValue(samples, 'up'), Infinity);
    assert.equal(promValue(samples, 'down'), -Infinity);
    assert.ok(Number.isNaN(promValue(samples, 'nothing')));
    assert.ok(Number.isNaN(promValue(samples, 'requests_total', { route: 'c' })));
    assert.equal(samples.size, 6);
});

test('an empty text, and one that is something else, have no samples', () => {
    assert.equal(parseProm('').size, 0);
    assert.equal(parseProm('<!doctype html>\n<p>hello</p>').size, 0);
});

test('a counter grows, begins again, or is new', () => {
    const [three, five, none] = ['n 3', 'n 5', ''].map(parseProm);
    assert.equal(promGrowth(three, five, 'n'), 2);
    assert.equal(promGrowth(five, three, 'n'), 3);
    assert.equal(promGrowth(none, five, 'n'), 5);
    assert.equal(promGrowth(null, five, 'n'), 5);
    assert.ok(Number.isNaN(promGrowth(five, none, 'n')));
});

test('buckets are summed over what is not asked for, in order', () => {
    const both = new Map([...histogram([['+Inf', 9], ['0.1', 4], ['1', 8]])]);
    both.get('d_bucket').push(...histogram([['0.1', 1], ['1', 1], ['+Inf', 1]], 'b').get('d_bucket'));
    assert.deepEqual(promBuckets(both, 'd'), [[0.1, 5], [1, 9], [Infinity, 10]]);
    assert.deepEqual(promBuckets(both, 'd', { route: 'b' }), [[0.1, 1], [1, 1], [Infinity, 1]]);
    assert.deepEqual(promBuckets(both, 'other'), []);
});

test('growth of buckets, also over a restart', () => {
    const then = [[0.1, 5], [1, 9], [Infinity, 10]];
    assert.deepEqual(bucketGrowth(then, [[0.1, 6], [1, 12], [Infinity, 13]]), [[0.1, 1], [1, 3], [Infinity, 3]]);
    assert.deepEqual(bucketGrowth(then, [[0.1, 1], [1, 2], [Infinity, 20]]), [[0.1, 1], [1, 2], [Infinity, 20]]);
    assert.deepEqual(bucketGrowth([], then), then);
});

test('quantiles lie within their bucket', () => {
    const buckets = [[0.1, 50], [1, 100], [Infinity, 100]];
    assert.deepEqual(bucketQuantile(buckets, 0.5), { value: 0.1, isMore: false });
    assert.deepEqual(bucketQuantile(buckets, 0.25), { value: 0.05, isMore: false });
    assert.equal(bucketQuantile(buckets, 0.75).value.toFixed(4), '0.5500');
    assert.deepEqual(bucketQuantile(buckets, 1), { value: 1, isMore: false });
    assert.deepEqual(bucketQuantile([[0.1, 0], [1, 4], [Infinity, 4]], 0), { value: 0.1, isMore: false });
});

test('beyond the last bound a quantile is more than it; of nothing there is none', () => {
    assert.deepEqual(bucketQuantile([[0.1, 1], [1, 2], [Infinity, 10]], 0.9), { value: 1, isMore: true });
    assert.equal(bucketQuantile([[0.1, 0], [Infinity, 0]], 0.5), null);
    assert.equal(bucketQuantile([], 0.5), null);
});
