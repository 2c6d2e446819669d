import test from 'node:test';
import assert from 'node:assert/strict';
import { matchRoute, parsePlace, placeUrl } from '../../../web/js/router.js';

const ROUTES = [{ pattern: '/' }, { pattern: '/runs' }, { pattern: '/runs/new' }, { pattern: '/runs/:run' }, { pattern: '/runs/:run/rounds/:round' }];
const matched = (hash) => {
    const { segments } = parsePlace(hash);
    const match = segments && matchRoute(ROUTES, segments);
    return match ? [match.route.pattern, match.params] : null;
};

test('places are found, the first that fits', () => {
    assert.deepEqual(matched(''), ['/', {}]);
    assert.deepEqual(matched('#/'), ['/', {}]);
    assert.deepEqual(matched('#/runs/'), ['/runs', {}]);
    assert.deepEqual(matched('#/runs/new?clone=a'), ['/runs/new', {}]);
    assert.deepEqual(matched('#/runs/abc'), ['/runs/:run', { run: 'abc' }]);
    assert.deepEqual(matched('#/runs/abc/rounds/7'), ['/runs/:run/rounds/:round', { run: 'abc', round: '7' }]);
    assert.equal(matched('#/elsewhere'), null);
    assert.equal(matched('#/runs/a/b'), null);
});

test('a malformed link is no place, and never an exception', () => {
    assert.equal(matched('#/runs/%E0%A4%A'), null);
    assert.equal(matched('#/runs/%'), null);
    assert.deepEqual(parsePlace('#?x=%E0').query, { x: '\uFFFD' });
});

test('what is made is read back', () => {
    const url = placeUrl(['runs', 'a/b?c#d é'], { q: 'x & y', none: null, empty: '', runs: 'a,b' });
    const { segments, query } = parsePlace(url);
    assert.deepEqual(segments, ['runs', 'a/b?c#d é']);
    assert.deepEqual(query, { q: 'x & y', runs: 'a,b' });
    assert.ok(url.includes('runs=a,b'), url);
    assert.equal(placeUrl('/runs'), '#/runs');
    assert.equal(placeUrl([]), '#/');
});
