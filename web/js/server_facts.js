// What the server view shows, from two looks at /metrics: {at: milliseconds, samples}.
import { bucketGrowth, bucketQuantile, promBuckets, promGrowth, promLabels, promValue } from './prom.js';

const DURATION = 'fedlane_http_request_duration_seconds';
const REQUESTS = 'fedlane_http_requests_total';

// These answer late on purpose: their times say how long they waited, not how quick the server is.
const WAITING_ROUTES = new Set(['worker_claim', 'device_claim', 'run_event_list', 'event_list']);

export function isWaitingRoute(route) {
    return WAITING_ROUTES.has(route);
}

function failuresOf(before, after, route) {
    return promLabels(after, REQUESTS, 'status')
        .filter((status) => status >= '500' || status === '0')
        .reduce((sum, status) => sum + (promGrowth(before, after, REQUESTS, { route, status }) || 0), 0);
}

// A row for each route that was asked between the looks (since the start, where before is null).
export function routeFacts(before, after) {
    const seconds = before ? (after.at - before.at) / 1000 : NaN;
    const then = before?.samples ?? null;
    return promLabels(after.samples, `${DURATION}_count`, 'route').map((route) => {
        const buckets = promBuckets(after.samples, DURATION, { route });
        const since = then ? bucketGrowth(promBuckets(then, DURATION, { route }), buckets) : buckets;
        const count = promGrowth(then, after.samples, `${DURATION}_count`, { route });
        return {
            route, count, total: promValue(after.samples, `${DURATION}_count`, { route }),
            perSecond: count / seconds,
            p50: bucketQuantile(since, 0.5), p99: bucketQuantile(since, 0.99),
            failed: failuresOf(then, after.samples, route),
            isWaiting: isWaitingRoute(route),
        };
    });
}

// The same over all routes that answer at once.
export function quickFacts(before, after) {
    const rows = routeFacts(before, after).filter((row) => !row.isWaiting);
    const sums = new Map();
    for (const { route } of rows) {
        const now = promBuckets(after.samples, DURATION, { route });
        const since = before ? bucketGrowth(promBuckets(before.samples, DURATION, { route }), now) : now;
        since.forEach(([bound, count]) => sums.set(bound, (sums.get(bound) ?? 0) + count));
    }
    const buckets = [...sums].sort((a, b) => a[0] - b[0]);
    return {
        perSecond: rows.reduce((sum, row) => sum + row.perSecond, 0),
        p50: bucketQuantile(buckets, 0.5), p99: bucketQuantile(buckets, 0.99),
    };
}

const GAUGES = {
    memory: 'process_resident_memory_bytes', connections: 'fedlane_http_connections',
    inFlight: 'fedlane_http_requests_in_flight', waiters: 'fedlane_waiters', queue: 'fedlane_store_queue',
    database: 'fedlane_store_bytes', weights: 'fedlane_blob_bytes',
};

const COUNTERS = {
    commits: 'fedlane_store_commits_total', operations: 'fedlane_store_operations_total',
    received: 'fedlane_http_received_bytes_total', sent: 'fedlane_http_sent_bytes_total', rounds: 'fedlane_rounds_total',
};

// Gauges as they are, counters as {total, perSecond}; what the server does not tell is NaN.
export function serverFacts(before, after) {
    const facts = { at: after.at };
    for (const [key, name] of Object.entries(GAUGES))
        facts[key] = promValue(after.samples, name);
    for (const [key, name] of Object.entries(COUNTERS)) {
        const seconds = before ? (after.at - before.at) / 1000 : NaN;
        facts[key] = { total: promValue(after.samples, name),
            perSecond: promGrowth(before?.samples, after.samples, name) / seconds };
    }
    return { ...facts, quick: quickFacts(before, after) };
}

// {version, store, blobs} of the running program.
export function buildFacts(samples) {
    return samples.get('fedlane_build_info')?.[0]?.labels ?? {};
}

// The facts of the last minutes, oldest first; a server that started again begins a new row.
export function keepFacts(history, facts, mostMs) {
    const last = history[history.length - 1];
    const hasRestarted = last && facts.operations.total < last.operations.total;
    return [...(hasRestarted ? [] : history), facts].filter((one) => facts.at - one.at <= mostMs);
}
