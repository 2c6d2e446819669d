import test from 'node:test';
import assert from 'node:assert/strict';
import { createSseParser } from '../../../web/js/sse.js';

function parsed(...pieces) {
    const events = [];
    const parser = createSseParser((event) => events.push(event));
    pieces.forEach((piece) => parser.push(piece));
    return events;
}

const TEXT = ': hello\n\nid: 1\nevent: run_created\ndata: {"a":1}\n\n:\n\nid: 2\r\nevent: x\r\ndata: one\r\ndata: two\r\n\r\ndata:no blank\n\nid: 4\ndata\n\n';
const EVENTS = [
    { id: '1', type: 'run_created', data: '{"a":1}' },
    { id: '2', type: 'x', data: 'one\ntwo' },
    { id: '2', type: 'message', data: 'no blank' },
    { id: '4', type: 'message', data: '' },
];

test('events come whole, comments not at all', () => {
    assert.deepEqual(parsed(TEXT), EVENTS);
});

test('it does not matter where the pieces were cut', () => {
    assert.deepEqual(parsed(...TEXT), EVENTS);
    for (let i = 1; i < TEXT.length; i++)
        assert.deepEqual(parsed(TEXT.slice(0, i), '', TEXT.slice(i)), EVENTS, `cut at ${i}`);
});

test('a large event comes whole; one that never ends is given up', () => {
    const text = 'x'.repeat(5 * 1024 * 1024);
    const pieces = `id: 9\ndata: ${text}\n\n`.match(/[^]{1,65536}/g);
    assert.deepEqual(parsed(...pieces), [{ id: '9', type: 'message', data: text }]);
    const endless = Array.from({ length: 8 }, () => text);
    assert.throws(() => parsed('data: ', ...endless), RangeError);
    assert.throws(() => parsed(...endless.map((line) => `data: ${line}\n`)), RangeError);
});

test('an event that does not end is none yet', () => {
    assert.deepEqual(parsed('id: 1\ndata: x\n'), []);
    assert.deepEqual(parsed('id: 1\ndata: x\n', '\n'), [{ id: '1', type: 'message', data: 'x' }]);
});

test('lone carriage returns end lines, a mark of byte order is skipped, fields that nobody knows too', () => {
    assert.deepEqual(parsed('\uFEFFdata: a\r\rretry: 10\nfoo: bar\ndata:  b\n\n'),
        [{ id: '', type: 'message', data: 'a' }, { id: '', type: 'message', data: ' b' }]);
});

test('an id with a NUL is not taken, a type holds for one event only', () => {
    assert.deepEqual(parsed('id: 7\nid: 8\0\nevent: t\ndata: a\n\ndata: b\n\n'),
        [{ id: '7', type: 't', data: 'a' }, { id: '7', type: 'message', data: 'b' }]);
});
