import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolveSchema, sameJson, specRows } from '../../../web/js/spec_diff.js';

const openapi = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'));
const strategies = [{ name: 'fedprox', params: { properties: { proximal_mu: { default: 1.0 }, accept_partial: { default: true } } } }];
const spec = {
    name: 'x', seed: 6, num_rounds: 100, autostart: true, dataset: 'fashion',
    model: { input: [784], layers: [{ type: 'dense', units: 10 }], loss: 'softmax_cross_entropy', init: 'zeros' },
    strategy: { name: 'fedprox', params: { proximal_mu: 1, accept_partial: false } },
    training: { learning_rate: 0.03, batch_size: 10, local_epochs: 20 },
    selection: { devices_per_round: 10, population: 100, over_selection: 1.0, require_labels: {} },
    a_field_of_a_later_version: 7,
};
const kindOf = (rows) => Object.fromEntries(rows.map((r) => [r.path.join('.'), r.kind]));

test('what differs from the default of the API', () => {
    const kinds = kindOf(specRows(spec, openapi, strategies));
    assert.equal(kinds.num_rounds, 'required');
    assert.equal(kinds['training.learning_rate'], 'required');
    assert.equal(kinds['training.batch_size'], 'default');
    assert.equal(kinds['training.local_epochs'], 'chosen');
    assert.equal(kinds['selection.devices_per_round'], 'default');
    assert.equal(kinds['selection.population'], 'chosen');
    assert.equal(kinds['selection.require_labels'], 'default');
    assert.equal(kinds.autostart, 'default');
    assert.equal(kinds.seed, 'chosen');
    assert.equal(kinds['strategy.name'], 'default');
    assert.equal(kinds['strategy.params.proximal_mu'], 'default');
    assert.equal(kinds['strategy.params.accept_partial'], 'chosen');
    assert.equal(kinds.a_field_of_a_later_version, 'chosen');
});

test('every value of the spec is in one row', () => {
    const rows = specRows(spec, openapi, strategies);
    assert.equal(new Set(rows.map((r) => r.path.join('.'))).size, rows.length);
    const valueOf = (path) => path.reduce((value, key) => value[key], spec);
    assert.ok(rows.every((r) => sameJson(valueOf(r.path), r.value)));
    assert.equal(specRows(spec, {}, []).length, 1, 'without a schema the spec is one value');
});

test('references that go in circles end', () => {
    assert.deepEqual(resolveSchema({ $ref: '#/a/A' }, { A: { $ref: '#/a/A' } }), {});
    assert.ok(sameJson({ a: 1, b: [1] }, { b: [1], a: 1 }));
    assert.ok(!sameJson({ a: 1 }, { a: 1, b: 2 }) && !sameJson([], {}));
});
