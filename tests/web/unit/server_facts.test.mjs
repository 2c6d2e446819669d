import test from 'node:test';
import assert from 'node:assert/strict';
import { parseProm } from '../../../web/js/prom.js';
import {
    buildFacts, isWaitingRoute, keepFacts, quickFacts, routeFacts, serverFacts,
} from '../../../web/js/server_facts.js';

function look(at, { fast, slow, claims, failed = 0, operations = 100, memory = 1 }) {
    const histogram = (route, a, b, c) => `fedlane_http_request_duration_seconds_bucket{route="${route}",le="0.01"} ${a}
fedlane_http_request_duration_seconds_bucket{route="${route}",le="1"} ${b}
fedlane_http_request_duration_seconds_bucket{route="${route}",le="+Inf"} ${c}
fedlane_http_request_duration_seconds_count{route="${route}"} ${c}`;
    return { at, samples: parseProm(`${histogram('run_list', fast, fast + slow, fast + slow)}
${histogram('worker_claim', 0, 0, claims)}
fedlane_http_requests_total{route="run_list",status="200"} ${fast + slow - failed}
fedlane_http_requests_total{route="run_list",status="500"} ${failed}
fedlane_http_requests_total{route="worker_claim",status="200"} ${claims}
process_resident_memory_bytes ${memory}
fedlane_store_operations_total ${operations}
fedlane_build_info{version="1.2.3",store="sqlite",blobs="sqlite"} 1`) };
}

const before = look(1000, { fast: 100, slow: 0, claims: 5 });
const after = look(3000, { fast: 110, slow: 10, claims: 6, failed: 3, operations: 140, memory: 7 });

test('routes have rates and times since the look before', () => {
    const [runs, claims] = routeFacts(before, after);
    assert.equal(runs.route, 'run_list');
    assert.deepEqual([runs.count, runs.total, runs.perSecond, runs.failed], [20, 120, 10, 3]);
    assert.deepEqual(runs.p50, { value: 0.01, isMore: false });
    assert.equal(runs.p99.value.toFixed(3), '0.980');
    assert.ok(!runs.isWaiting && claims.isWaiting && isWaitingRoute('event_list'));
});

test('the first look tells what was since the start, without rates', () => {
    const [runs] = routeFacts(null, after);
    assert.deepEqual([runs.count, runs.failed], [120, 3]);
    assert.ok(Number.isNaN(runs.perSecond));
    assert.equal(runs.p50.value < 0.01, true);
});

test('all quick routes together leave out those that wait', () => {
    const quick = quickFacts(before, after);
    assert.equal(quick.perSecond, 10);
    assert.deepEqual(quick.p50, { value: 0.01, isMore: false });
    assert.equal(quickFacts(before, look(2000, { fast: 100, slow: 0, claims: 5 })).p50, null);
});

test('gauges, counters, and what the server does not tell', () => {
    const facts = serverFacts(before, after);
    assert.equal(facts.memory, 7);
    assert.deepEqual(facts.operations, { total: 140, perSecond: 20 });
    assert.ok(Number.isNaN(facts.queue) && Number.isNaN(facts.commits.total));
    assert.deepEqual(buildFacts(after.samples), { version: '1.2.3', store: 'sqlite', blobs: 'sqlite' });
    assert.deepEqual(buildFacts(new Map()), {});
});

test('facts are kept for a while, and a server that started again begins anew', () => {
    const [first, second] = [serverFacts(null, before), serverFacts(before, after)];
    const third = serverFacts(after, look(4000, { fast: 120, slow: 10, claims: 6, operations: 150 }));
    assert.deepEqual(keepFacts([first, second], third, 60000), [first, second, third]);
    assert.deepEqual(keepFacts([first, second], third, 1000), [second, third]);
    const again = serverFacts(null, look(4000, { fast: 1, slow: 0, claims: 0, operations: 2 }));
    assert.deepEqual(keepFacts([first, second], again, 60000), [again]);
    assert.deepEqual(keepFacts([], first, 60000), [first]);
});
