import test from 'node:test';
import assert from 'node:assert/strict';
import { curlLine, shellQuote } from '../../../web/js/command.js';
import { humanName, readIntegers, readMap } from '../../../web/js/fields.js';
import { modelFacts, modelOfFacts, parameterCount } from '../../../web/js/model_helper.js';
import { prettyJson } from '../../../web/js/pretty_json.js';

test('sizes make a model, and the model gives the sizes back', () => {
    const facts = { input: [28, 28], hidden: [128, 64], classes: 10, init: 'he_normal', loss: undefined };
    const model = modelOfFacts(facts);
    assert.deepEqual(model.layers, [{ type: 'dense', units: 128 }, { type: 'relu' }, { type: 'dense', units: 64 }, { type: 'relu' }, { type: 'dense', units: 10 }]);
    assert.deepEqual(modelFacts(model), facts);
    assert.equal(parameterCount({ input: [784], hidden: [], classes: 10 }), 7850);
    assert.equal(parameterCount(facts), 784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10);
});

test('models of another form are left to the JSON', () => {
    for (const model of [null, {}, { tensors: [] }, { input: [1], layers: [] }, { input: [1], layers: [{ type: 'relu' }] },
        { input: [1], layers: [{ type: 'dense', units: 1 }, { type: 'relu' }] }, { input: [1], layers: [{ type: 'dense', units: 1 }, { type: 'dense', units: 2 }] },
        { input: [1], layers: [{ type: 'dense', units: 1 }], more: 1 }, { input: 'x', layers: 'y' }, { input: [1], layers: [null] }])
        assert.equal(modelFacts(model), null);
});

test('texts of fields', () => {
    assert.deepEqual(readIntegers('28, 28'), { value: [28, 28] });
    assert.deepEqual(readIntegers('28x28'), { value: [28, 28] });
    assert.deepEqual(readIntegers(''), { value: [] });
    assert.ok(readIntegers('28.5').error);
    assert.ok(readIntegers('many').error);
    assert.deepEqual(readMap('gpu = yes\n\nsite=a=b'), { value: { gpu: 'yes', site: 'a=b' } });
    assert.ok(readMap('gpu').error);
    assert.ok(readMap('=x').error);
    assert.equal(humanName('deadline_s'), 'Deadline (s)');
    assert.equal(humanName('local_epochs'), 'Local epochs');
    assert.equal(humanName('params'), 'Params');
});

test('the command is what a shell reads back, and holds no token', () => {
    const line = curlLine('POST', '/api/v1/runs', { name: 'it\'s "$HOME" `x`' }, { origin: 'http://h:1' });
    assert.ok(line.includes('"Authorization: Bearer $FEDLANE_TOKEN"'));
    assert.ok(line.includes(String.raw`-d '{"name":"it'\''s \"$HOME\" ` + '`x`"}\''), line);
    assert.ok(line.endsWith(' http://h:1/api/v1/runs'));
    assert.equal(curlLine('GET', '/a?b=1&c', undefined, { origin: 'http://h', output: 'my file', accept: 'text/csv' }),
        'curl -sS --fail-with-body -H "Authorization: Bearer $FEDLANE_TOKEN" -H \'Accept: text/csv\' -o \'my file\' \'http://h/a?b=1&c\'');
    assert.equal(shellQuote(''), '\'\'');
    assert.equal(shellQuote('plain-1.x'), 'plain-1.x');
});

test('JSON for reading says the same', () => {
    const values = [1, null, 'a"b', [], {}, [1, 2, [3]], { a: [], b: {}, c: { d: { e: 'x'.repeat(80), f: [1, 2, 3] } } }, [{ type: 'dense', units: 1 }]];
    for (const value of values)
        assert.deepEqual(JSON.parse(prettyJson(value)), value);
    assert.equal(prettyJson({ model: { input: [784], layers: [{ type: 'dense', units: 10 }] } }),
        '{\n  "model": {\n    "input": [784],\n    "layers": [{ "type": "dense", "units": 10 }]\n  }\n}');
    assert.equal(prettyJson({ a: undefined, b: 1 }), '{\n  "b": 1\n}');
});
