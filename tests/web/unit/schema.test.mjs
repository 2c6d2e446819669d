import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { inOrder, optionOf, readSchema, valueAt, withValueAt } from '../../../web/js/schema.js';
import { problemsOf, withoutDefaults } from '../../../web/js/schema_check.js';

const openapi = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url)));
const runSpec = readSchema(openapi.components.schemas.RunSpec, openapi);
const at = (...path) => path.reduce((node, name) => node.properties.find((p) => p.name === name).node, runSpec);
const minimal = { num_rounds: 3, model: { input: [4], layers: [{ type: 'dense', units: 2 }] }, training: { learning_rate: 0.1 } };

test('references are followed, "or null" is taken out, defaults are kept', () => {
    assert.equal(at('num_rounds').kind, 'integer');
    assert.equal(at('training').kind, 'object');
    assert.equal(at('selection').kind, 'object');
    assert.equal(at('selection').isNullable, true);
    assert.equal(at('selection', 'population').kind, 'integer');
    assert.equal(at('selection', 'require_labels').kind, 'map');
    assert.equal(at('evaluation', 'on').kind, 'enum');
    assert.equal(at('evaluation', 'on').default, 'selected');
    assert.equal(at('strategy').isNullable, true);
    assert.equal(at('dataset').kind, 'string');
    assert.equal(at('data').kind, 'json');
    assert.match(at('training', 'local_epochs').description, /local_steps/);
    assert.equal(at('model').kind, 'choice');
    assert.deepEqual(runSpec.properties.filter((p) => p.isRequired).map((p) => p.name), ['num_rounds', 'model', 'training']);
});

test('a choice knows which of its forms a value has', () => {
    const mu = at('strategy', 'params', 'proximal_mu');
    assert.deepEqual(mu.options.map((o) => o.title), ['number', 'dynamic']);
    assert.equal(optionOf(mu, 0.5), 0);
    assert.equal(optionOf(mu, { dynamic: {} }), 1);
    assert.equal(optionOf(mu, 'nonsense'), 0);
    assert.equal(optionOf(at('model'), { layers: [] }), 0);
    assert.equal(optionOf(at('model'), { preset: 'cnn' }), 1);
    assert.equal(optionOf(at('model'), { tensors: [] }), 2);
});

test('odd schemas make a field, never an exception', () => {
    for (const schema of [{}, { $ref: '#/nowhere' }, { oneOf: [] }, { type: ['string', 'integer'] }, { oneOf: [{ type: 'null' }] }, { $ref: '#/self' }])
        assert.equal(readSchema(schema, { self: { $ref: '#/self' } }).kind, 'json');
    assert.deepEqual(readSchema({ const: 'x' }, {}).values, ['x']);
    assert.deepEqual(readSchema({ enum: ['a', null] }, {}).values, ['a']);
    assert.equal(readSchema({ type: 'array', items: { type: 'integer' } }, {}).kind, 'integers');
});

test('a good spec has no problem', () => {
    assert.deepEqual(problemsOf(runSpec, minimal), []);
    assert.deepEqual(problemsOf(runSpec, { ...minimal, strategy: null, selection: { population: null, require_labels: { gpu: 'yes' } },
        reporting: null, data: { anything: 1 } }), []);
});

test('each problem names its field', () => {
    const found = (changes) => problemsOf(runSpec, { ...minimal, ...changes }).map((p) => p.field.join('.'));
    assert.deepEqual(problemsOf(runSpec, {}).map((p) => p.field.join('.')), ['num_rounds', 'model', 'training']);
    assert.deepEqual(found({ num_rounds: 1.5 }), ['num_rounds']);
    assert.deepEqual(found({ num_rounds: 0 }), ['num_rounds']);
    assert.deepEqual(found({ num_rounds: '3' }), ['num_rounds']);
    assert.deepEqual(found({ num_rounds: null }), ['num_rounds']);
    assert.deepEqual(found({ training: { learning_rate: 'NaN', epochs: 3 } }), ['training.epochs', 'training.learning_rate']);
    assert.deepEqual(found({ strategy: { name: 'fedsomething' } }), ['strategy.name']);
    assert.deepEqual(found({ strategy: { params: { proximal_mu: { dynamic: { patience: 0 } } } } }), ['strategy.params.proximal_mu.dynamic.patience']);
    assert.deepEqual(found({ selection: { require_labels: { a: 1 } } }), ['selection.require_labels']);
    assert.deepEqual(found({ retention: { keep_models: 'some' } }), ['retention.keep_models']);
    assert.deepEqual(found({ model: { input: [], layers: [] } }), ['model.input']);
    assert.deepEqual(found({ training: [] }), ['training']);
    assert.deepEqual(found({ autostart: 'yes' }), ['autostart']);
    assert.deepEqual(found({ proximal_mu: 1 }), ['proximal_mu']);
});

test('what the defaults say is left out of a clone, what differs stays', () => {
    const full = { ...minimal, autostart: true, seed: 6, name: '', strategy: { name: 'fedprox', params: { proximal_mu: 0.5, accept_partial: true } },
        reporting: { deadline_s: 600, grace_s: 5 }, selection: { devices_per_round: 10, population: null }, dataset: null, extra: 1 };
    assert.deepEqual(withoutDefaults(runSpec, full), { ...minimal, seed: 6, name: '', strategy: { params: { proximal_mu: 0.5 } }, extra: 1 });
});

test('values are set and taken out by path', () => {
    const value = { a: { b: { c: 1 } }, d: 2 };
    assert.deepEqual(withValueAt(value, ['a', 'b', 'c'], 5), { a: { b: { c: 5 } }, d: 2 });
    assert.deepEqual(value, { a: { b: { c: 1 } }, d: 2 });
    assert.deepEqual(withValueAt(value, ['a', 'b', 'c'], undefined), { d: 2 });
    assert.deepEqual(withValueAt(value, ['a', 'b', 'c'], undefined, (path) => path.join('.') !== 'a'), { a: {}, d: 2 });
    assert.deepEqual(withValueAt({}, ['x', 'y'], false), { x: { y: false } });
    assert.deepEqual(withValueAt({ x: 1 }, ['x', 'y'], 2), { x: { y: 2 } });
    assert.equal(withValueAt({ x: 1 }, ['x'], undefined), undefined);
    assert.equal(valueAt(value, ['a', 'b', 'c']), 1);
    assert.equal(valueAt(value, ['d', 'e']), undefined);
    assert.equal(valueAt({ a: null }, ['a', 'b']), undefined);
});

test('fields stand in the order of the schema', () => {
    const ordered = inOrder(runSpec, { zzz: 1, training: { learning_rate: 1, batch_size: 2 }, num_rounds: 3, name: 'n' });
    assert.deepEqual(Object.keys(ordered), ['name', 'num_rounds', 'training', 'zzz']);
    assert.deepEqual(Object.keys(ordered.training), ['batch_size', 'learning_rate']);
});
