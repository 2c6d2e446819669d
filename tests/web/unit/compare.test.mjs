import test from 'node:test';
import assert from 'node:assert/strict';
import {
    bestOf, betterWay, comparePoints, compareSettings, curveOfPoints, differingParams, flatSpec, lastValues, metricTitle, runLabels, specInForce, weightOfStride,
} from '../../../web/js/compare.js';

const id = (n) => String(n).padStart(32, '0');

test('settings of a link', () => {
    const settings = compareSettings({ runs: `${id(1)},${id(2)}`, metric: 'gamma', x: 'wall', smooth: '0.6', log: '1' });
    assert.deepEqual(settings, { runs: [id(1), id(2)], metric: 'gamma', x: 'wall', smooth: 0.6, log: true, wrong: [] });
    assert.deepEqual(compareSettings({}), { runs: [], metric: 'train_loss', x: 'round', smooth: 0, log: false, wrong: [] });
});

test('a malformed link is told, and what can be followed is', () => {
    const many = Array.from({ length: 12 }, (_, i) => id(i)).join(',');
    const settings = compareSettings({ runs: `${many},${id(1)},nonsense,`, x: 'moon', smooth: 'much' });
    assert.equal(settings.runs.length, 10);
    assert.deepEqual([settings.x, settings.smooth], ['round', 0]);
    assert.equal(settings.wrong.length, 4);
    assert.match(settings.wrong[0], /nonsense/);
    assert.match(settings.wrong[1], /12 runs/);
    assert.match(settings.wrong[2], /moon/);
    for (const smooth of ['-1', '1', 'NaN', 'Infinity']) {
        assert.equal(compareSettings({ smooth }).wrong.length, 1, smooth);
    }
});

const spec = (mu, more) => ({
    name: `mu ${mu}`, strategy: { name: 'fedprox', params: { proximal_mu: mu } },
    model: { layers: [{ type: 'dense', units: 10 }] }, systems: null, ...more,
});

test('a spec becomes paths', () => {
    assert.deepEqual([...flatSpec(spec(0.1, { data: {} }))], [
        ['name', 'mu 0.1'], ['strategy.name', 'fedprox'], ['strategy.params.proximal_mu', '0.1'],
        ['model.layers', '[{"type":"dense","units":10}]'], ['data', '{}'],
    ]);
    assert.deepEqual([...flatSpec(null)], []);
});

test('only what differs is told, the name aside', () => {
    const dynamic = { dynamic: { start: 0, step: 0.1 } };
    assert.deepEqual(differingParams([spec(0), spec(1)]), [{ path: 'strategy.params.proximal_mu', values: ['0', '1'] }]);
    assert.deepEqual(differingParams([spec(1), spec(dynamic), spec(1, { seed: 6 })]), [
        { path: 'seed', values: [null, null, '6'] },
        { path: 'strategy.params.proximal_mu', values: ['1', null, '1'] },
        { path: 'strategy.params.proximal_mu.dynamic.start', values: [null, '0', null] },
        { path: 'strategy.params.proximal_mu.dynamic.step', values: [null, '0.1', null] },
    ]);
    assert.deepEqual(differingParams([spec(1), spec(1)]), []);
    assert.deepEqual(differingParams([]), []);
});

test('the best is the least loss, the most accuracy, and nothing where that is not known', () => {
    assert.deepEqual(['test_accuracy_p10', 'train_loss', 'gamma', 'update_norm', 'steps'].map(betterWay), [1, -1, -1, 0, 0]);
    assert.equal(bestOf([3, 1, NaN, null], -1), 1);
    assert.equal(bestOf([3, 1, Infinity, 5], 1), 3);
    assert.equal(bestOf([1, 1], 1), -1);
    assert.equal(bestOf([1, NaN], 1), -1);
    assert.equal(bestOf([1, 2], 0), -1);
});

test('last values, also of runs that have none and of what is not finite', () => {
    const runs = [
        { metrics: { round: 3, values: { train_loss: 0.5, test_accuracy: 0.8 } } },
        { metrics: { round: 3, values: { train_loss: 'NaN' } } },
        { metrics: null },
    ];
    assert.deepEqual(lastValues(runs), [
        { metric: 'test_accuracy', values: [0.8, null, null], best: -1 },
        { metric: 'train_loss', values: [0.5, NaN, null], best: -1 },
    ]);
});

test('labels tell runs of the same name apart', () => {
    assert.deepEqual(runLabels([{ id: id(1), name: 'a' }, { id: id(2), name: 'b' }, { id: id(3), name: 'a' }, { id: id(4), name: '' }]),
        ['a …000001', 'b', 'a …000003', 'unnamed']);
    assert.equal(metricTitle('test_accuracy_p90'), 'Test accuracy, 90th percentile');
    assert.equal(metricTitle('gamma'), 'Gamma');
});

test('what was changed on the way counts', () => {
    const run = spec(0, { training: { batch_size: 10, learning_rate: 0.1 } });
    const now = specInForce(run, { training: { learning_rate: 0.2 }, strategy: { params: { proximal_mu: { dynamic: { start: 0 } } } } });
    assert.deepEqual(now.training, { batch_size: 10, learning_rate: 0.2 });
    assert.deepEqual(now.strategy, { name: 'fedprox', params: { proximal_mu: { dynamic: { start: 0 } } } });
    assert.equal(run.training.learning_rate, 0.1);
    assert.deepEqual(specInForce(run, null), run);
});

const plain = { x: 'round', smooth: 0 };

test('a curve lies on each axis', () => {
    const run = { started_at: '2020-01-01T00:00:00Z' };
    const curve = curveOfPoints([
        { round: 0, value: 2, at: '2020-01-01T00:00:05Z', total_steps: 0 }, { round: 1, value: 'NaN', at: '2020-01-01T00:00:07Z', total_steps: 40 },
    ]);
    assert.deepEqual(comparePoints(curve, plain, run), [[0, 2], [1, NaN]]);
    assert.deepEqual(comparePoints(curve, { ...plain, x: 'wall' }, run), [[5, 2], [7, NaN]]);
    assert.deepEqual(comparePoints(curve, { ...plain, x: 'steps' }, run), [[0, 2], [40, NaN]]);
    assert.deepEqual(comparePoints([], { ...plain, x: 'wall', smooth: 0.9 }, run), []);
});

test('smoothing is the same for a thinned curve', () => {
    const every = (n) => Array.from({ length: 100 / n + 1 }, (_, i) => ({ round: i * n, value: i * n < 50 ? 1 : 0 }));
    const last = (curve) => comparePoints(curve, { x: 'round', smooth: 0.9 }, {}).at(-1)[1];
    assert.equal(weightOfStride(0.9, every(1)), 0.9);
    assert.equal(weightOfStride(0.9, every(1).slice(0, 1)), 0.9);
    assert.ok(Math.abs(last(every(1)) - last(every(10))) < 0.01, `${last(every(1))} ${last(every(10))}`);
});
