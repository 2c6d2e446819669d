import test from 'node:test';
import assert from 'node:assert/strict';
import {
    countOf, fmtBytes, fmtCount, fmtDuration, fmtLoss, fmtNumber, fmtPercent, parseNumber, sentence, shortId,
} from '../../../web/js/format.js';

test('what JSON cannot say is read as it is meant', () => {
    assert.equal(parseNumber(1.5), 1.5);
    assert.ok(Number.isNaN(parseNumber('NaN')));
    assert.equal(parseNumber('Infinity'), Infinity);
    assert.equal(parseNumber('-Infinity'), -Infinity);
    for (const unknown of [null, undefined, '', '12', {}, true])
        assert.equal(parseNumber(unknown), null);
});

test('every format says what is not known, not a number and infinite', () => {
    for (const format of [fmtNumber, fmtLoss, fmtPercent, fmtCount, fmtBytes, fmtDuration]) {
        assert.equal(format(null), '–', format.name);
        assert.equal(format(undefined), '–', format.name);
        assert.equal(format('NaN'), 'NaN', format.name);
        assert.equal(format('Infinity'), '∞', format.name);
        assert.equal(format('-Infinity'), '−∞', format.name);
    }
});

test('numbers have so many digits, whatever their size', () => {
    const cases = [[0, '0'], [1, '1'], [-1.5, '−1.5'], [0.1 + 0.2, '0.3'], [1234.5678, '1,235'], [0.00123456, '0.001235'],
        [1e-7, '1e−7'], [-2.5e-9, '−2.5e−9'], [12345678, '12,345,678'], [3.21e12, '3.21e12'], [9.99999e-5, '1e−4']];
    for (const [x, text] of cases)
        assert.equal(fmtNumber(x), text);
    assert.equal(fmtNumber(1.23456, 2), '1.2');
});

test('a loss keeps its zeros', () => {
    const cases = [[0.5, '0.5000'], [0, '0.0000'], [2.3026, '2.303'], [12.3456, '12.35'], [123.456, '123.5'], [99999, '99999'],
        [123456, '123,456'], [0.0004, '0.0004'], [1e12, '1e12'], [-0.25, '−0.2500']];
    for (const [x, text] of cases)
        assert.equal(fmtLoss(x), text);
});

test('shares, counts and bytes', () => {
    assert.equal(fmtPercent(0.8312), '83.1 %');
    assert.equal(fmtPercent(1), '100.0 %');
    assert.equal(fmtPercent(-0.005), '−0.5 %');
    assert.equal(fmtCount(1234567), '1,234,567');
    assert.deepEqual([0, 1, 2000].map((n) => countOf(n, 'device')), ['0 devices', '1 device', '2,000 devices']);
    assert.equal(fmtCount(-1000), '−1,000');
    const bytes = [[0, '0 B'], [999, '999 B'], [1000, '1.0 kB'], [31400, '31.4 kB'], [999499, '999 kB'], [999500, '1.0 MB'],
        [3.2e9, '3.2 GB'], [5e18, '5000 PB'], [-2048, '−2.0 kB']];
    for (const [n, text] of bytes)
        assert.equal(fmtBytes(n), text);
});

test('durations have at most two units and never sixty of one', () => {
    const cases = [[0, '0 ms'], [999.4, '999 ms'], [999.6, '1.0 s'], [59900, '59.9 s'], [59960, '1 min'], [61000, '1 min 1 s'],
        [3599400, '59 min 59 s'], [3599600, '1 h'], [7500000, '2 h 5 min'], [86399000, '1 d'], [273600000, '3 d 4 h'], [-1500, '−1.5 s']];
    for (const [ms, text] of cases)
        assert.equal(fmtDuration(ms), text);
});

test('clauses become sentences, ids short', () => {
    assert.equal(sentence('must be positive'), 'Must be positive.');
    assert.equal(sentence(' Done! '), 'Done!');
    assert.equal(sentence(''), '');
    assert.equal(shortId('01a22c768a9d7c5e84b443d7691fdcbc'), '…691fdcbc');
    assert.equal(shortId('12'), '12');
});
