// When each task of a round waited, downloaded, trained and uploaded.

const PHASES = ['wait', 'download', 'queue', 'train', 'upload'];

const ms = (iso) => (iso ? Date.parse(iso) : NaN);

// The last moment before which nothing more is known: of an open task the present, else when it or its round ended.
function endOf(task, now, roundEnd) {
    const isOpen = task.status === 'ready' || task.status === 'claimed';
    const last = [task.uploaded_at, task.trained_at, task.downloaded_at, task.claimed_at, task.created_at]
        .map(ms).find((t) => Number.isFinite(t));
    if (Number.isFinite(ms(task.uploaded_at)))
        return ms(task.uploaded_at);
    const ended = isOpen ? now : roundEnd;
    return Number.isFinite(ended) ? Math.max(ended, last ?? ended) : last;
}

// The server knows when a device claimed and answered; how long it computed the device says itself. What lies
// between download and that is the wait for a free thread of its worker.
function marksOf(task, end) {
    const compute = Number(task.report?.compute_ms);
    const claimed = ms(task.claimed_at);
    const downloaded = ms(task.downloaded_at);
    const trained = ms(task.trained_at);
    const knows = compute > 0 && Number.isFinite(trained) && Number.isFinite(downloaded);
    const trainStart = knows ? Math.max(downloaded, trained - compute) : downloaded;
    return [ms(task.created_at), claimed, downloaded, trainStart, trained, end];
}

// One row: bars {phase, from, to} in order, without gaps, none of negative length. A mark that is missing ends the
// bars: the phase before it runs to the end.
function barsOf(task, end) {
    const marks = marksOf(task, end);
    const bars = [];
    if (!Number.isFinite(marks[0]))
        return bars;
    let from = marks[0];
    for (let i = 0; i < PHASES.length; i++) {
        const known = Number.isFinite(marks[i + 1]);
        const to = Math.max(from, known ? Math.min(marks[i + 1], end) : end);
        if (to > from) {
            // Claimed but not downloaded, as far as the server knows: it may be training already.
            const phase = known ? PHASES[i] : i === 0 ? 'wait' : 'busy';
            bars.push({ phase, from, to });
        }
        if (!known)
            break;
        from = to;
    }
    return bars;
}

// tasks: of the API. now, roundStart, roundEnd: in ms; roundEnd NaN while the round is open.
// Answers {start, end, rows: [{task, bars, from, to}]}, ordered as `order` says: 'ordinal' or 'end'.
export function layoutGantt(tasks, { now = NaN, roundStart = NaN, roundEnd = NaN, order = 'ordinal' } = {}) {
    const rows = tasks.map((task) => {
        const bars = barsOf(task, endOf(task, now, roundEnd));
        return { task, bars, from: bars[0]?.from ?? NaN, to: bars[bars.length - 1]?.to ?? NaN };
    });
    let start = Number.isFinite(roundStart) ? roundStart : Infinity;
    let end = Number.isFinite(roundEnd) ? roundEnd : -Infinity;
    for (const row of rows) {
        start = Math.min(start, Number.isFinite(row.from) ? row.from : start);
        end = Math.max(end, Number.isFinite(row.to) ? row.to : end);
    }
    const late = (row) => (Number.isFinite(row.to) ? row.to : Infinity);
    rows.sort((a, b) => (order === 'end' ? late(a) - late(b) : 0)
        || a.task.ordinal - b.task.ordinal || String(a.task.type).localeCompare(String(b.task.type)));
    if (!Number.isFinite(start))
        return { start: 0, end: 1, rows };
    return { start, end: Math.max(end, start + 1), rows };
}

// Where the time axis has numbers: round numbers of milliseconds since the start.
export function timeTicks(span, count = 6) {
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 15000, 30000, 60000, 120000, 300000,
        600000, 900000, 1800000, 3600000, 7200000, 14400000, 43200000, 86400000];
    const step = steps.find((s) => span / s <= count) ?? 86400000 * Math.ceil(span / 86400000 / count);
    const ticks = [];
    for (let t = 0; t <= span; t += step)
        ticks.push(t);
    return ticks;
}
