// Devices and workers: which of them to show, and what they have in common. Pure.

export const DEVICE_STATUSES = ['online', 'suspect', 'offline', 'revoked'];

// 'serving' is what one looks at by default: all but the revoked.
export function fleetFilter(query) {
    const known = ['serving', 'all', ...DEVICE_STATUSES];
    return {
        status: known.includes(query.status) ? query.status : 'serving',
        dataset: query.dataset ?? '', worker: query.worker ?? '', label: query.label ?? '', text: query.q ?? '',
    };
}

// 'region=eu' of every label of a device; a label's value may be empty.
export function labelTexts(device) {
    return Object.entries(device.labels ?? {}).map(([key, value]) => `${key}=${value}`);
}

function hasStatus(device, status) {
    return status === 'all' || (status === 'serving' ? device.status !== 'revoked' : device.status === status);
}

function hasText(device, text) {
    const wanted = text.trim().toLowerCase();
    return wanted === '' || [device.name, device.id, ...labelTexts(device)].some((t) => String(t).toLowerCase().includes(wanted));
}

export function passesFilter(device, filter) {
    return hasStatus(device, filter.status)
        && (filter.dataset === '' || device.dataset === filter.dataset)
        && (filter.worker === '' || device.worker_id === filter.worker)
        && (filter.label === '' || labelTexts(device).includes(filter.label))
        && hasText(device, filter.text);
}

// {online: 3, ...} of the devices.
export function statusCounts(devices) {
    const counts = Object.fromEntries(DEVICE_STATUSES.map((status) => [status, 0]));
    for (const { status } of devices)
        counts[status] = (counts[status] ?? 0) + 1;
    return counts;
}

// [[text, how many]], the most frequent first, equals by name.
export function countTexts(texts) {
    const counts = new Map();
    for (const text of texts)
        counts.set(text, (counts.get(text) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

export function labelCounts(devices) {
    return countTexts(devices.flatMap(labelTexts));
}

// How many examples of each class, where a device tells it; null where it does not. What is no count is left out.
export function classCounts(device) {
    const told = device.capabilities?.label_counts;
    if (told === null || typeof told !== 'object')
        return null;
    const counts = Object.entries(told).filter(([, n]) => typeof n === 'number' && Number.isFinite(n) && n >= 0);
    return counts.length > 0 ? counts : null;
}

// What a device works on, the training first.
export function currentTask(device) {
    const open = device.open_tasks ?? [];
    return open.find((task) => task.type === 'train') ?? open[0] ?? null;
}

// Devices that can be drawn by speed and size: {x: examples, y: steps a second}.
export function speedPoints(devices) {
    return devices
        .filter((d) => d.num_examples > 0 && Number.isFinite(d.steps_per_second) && d.steps_per_second > 0)
        .map((d) => ({ x: d.num_examples, y: d.steps_per_second, kind: d.status, key: d.id, name: d.name }));
}

// The runs that devices work for.
export function runsOfDevices(devices) {
    return devices.flatMap((device) => (device.open_tasks ?? []).map((task) => task.run_id));
}

// A device's history with its newest page again; isAll: the page has all. Null where it has to be read whole: there may be
// tasks between the two, or one has come to its end that is not on the page. What has not changed stays the same object.
export function renewedHistory(known, newest, isAll) {
    const former = new Map(known.map((task) => [task.id, task]));
    const ids = new Set(newest.map((task) => task.id));
    const older = isAll ? [] : known.filter((task) => !ids.has(task.id));
    const isApart = !isAll && !newest.some((task) => former.has(task.id));
    if (isApart || older.some((task) => task.status === 'ready' || task.status === 'claimed'))
        return null;
    const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);
    return [...newest.map((task) => (isSame(former.get(task.id), task) ? former.get(task.id) : task)), ...older];
}

// Events of the fleet may come many at a time.
export const FLEET_RENEW_MS = 2000;

// How long to wait before asking again: however many pages are open, the server has better things to do.
export function gentlePause(tookMs, least = 5000, most = 300000) {
    return Math.min(most, Math.max(least, tookMs * 600));
}

// The same where an event says that there is something new: sooner.
export function eventPause(pause = 0) {
    return Math.max(FLEET_RENEW_MS, pause / 10);
}
