// What happened in a run, one line for each event: pure. Events of a later version show what they carry.
import { countOf, fmtCount, fmtLoss, fmtNumber } from './format.js';

const steps = (d) => `${fmtCount(d.steps_done)} of ${fmtCount(d.steps_assigned)} steps`;
const known = (name, value, fmt = fmtNumber) => (value === null || value === undefined ? '' : `, ${name} ${fmt(value)}`);

function closedWords(d) {
    if (d.received === undefined)
        return `Round ${d.round} ended: ${d.outcome}${d.reason ? `, ${d.reason}` : ''}`;
    if (d.type === 'final')
        return `Final evaluation done${known('loss', d.metrics?.train_loss, fmtLoss)}`;
    const lost = ['dropped', 'failed', 'late'].filter((name) => d[name] > 0).map((name) => `, ${d[name]} ${name}`).join('');
    return `Round ${d.round} closed, ${d.outcome}: ${d.received} of ${d.selected} received (${d.partial} partial)${lost}`
        + `${known('loss', d.metrics?.train_loss, fmtLoss)}${d.reason ? `. ${d.reason}` : ''}`;
}

const WORDS = {
    __proto__: null, // no type of a later version is called like what all objects have
    run_created: () => 'Run submitted',
    run_started: () => 'Run started',
    run_waiting: (d) => d.reason[0].toUpperCase() + d.reason.slice(1),
    devices_frozen: (d) => `${countOf(d.population, 'device')} of ${d.dataset} ${d.population === 1 ? 'takes' : 'take'} part`,
    initial_weights: () => 'Initial weights put',
    round_opened: (d) => (d.type === 'final' ? `Final evaluation opened: the last model is measured on ${countOf(d.evaluators, 'device')}`
        : `Round ${d.round} opened: ${countOf(d.selected, 'device')} to train${d.evaluators > 0 ? `, ${fmtCount(d.evaluators)} to evaluate` : ''}`),
    training_started: (d) => `Round ${d.round} trains${known('mu', d.proximal_mu)}`,
    update_accepted: (d) => `Device ${d.ordinal}: ${d.partial ? 'partial update' : 'update'}, ${steps(d)}`
        + `${known('loss', d.train_loss_end, fmtLoss)}${known('gamma', d.gamma)}`,
    task_dropped: (d) => `Device ${d.ordinal} dropped after ${steps(d)}${d.detail ? `: ${d.detail}` : ''}`,
    task_failed: (d) => `Device ${d.ordinal} failed (${d.code})${d.detail ? `: ${d.detail}` : ''}`,
    round_aggregating: (d, isFinal) => (isFinal ? 'Final evaluation: its measurements are averaged' : d.received > 0 ? `Round ${d.round} averages ${countOf(d.received, 'update')}` : `Round ${d.round} has no updates to average`),
    round_extended: (d) => `Round ${d.round}: deadline extended (${d.extensions}), ${countOf(d.received, 'update')} so far`,
    round_closed: closedWords,
    config_changed: (d) => `Settings changed from round ${d.from_round} on: ${JSON.stringify(d.patch)}`,
    run_paused: (d) => `Paused; round ${d.round} is the next`,
    run_resumed: (d) => `Resumed at round ${d.round}`,
    run_finished: (d) => `Run ${d.outcome}: ${d.reason}`,
    warning: (d) => d.detail,
};

// How it is to be seen, as the states are coloured; null: plain.
const TONES = { __proto__: null, task_dropped: 'dropped', task_failed: 'failed', warning: 'late', round_extended: 'late', run_waiting: 'late' };

export function eventTone({ type, data }) {
    if (type === 'update_accepted')
        return data.partial ? 'partial' : 'completed';
    if (type === 'round_closed' || type === 'run_finished')
        return data.outcome;
    return TONES[type] ?? null;
}

const WORDS_MOST = 2000; // a change of settings may have megabytes

// numRounds: of the run; the round after them is the final evaluation, which some events do not say.
export function eventWords(event, numRounds = Infinity) {
    const text = telling(event, numRounds);
    return text.length > WORDS_MOST ? `${text.slice(0, WORDS_MOST)}… (${fmtCount(text.length)} characters in all)` : text;
}

function telling(event, numRounds) {
    const words = WORDS[event.type];
    try {
        if (words)
            return String(words(event.data, event.data.round >= numRounds) ?? '');
    } catch {
        // A server of another version: as it came.
    }
    const data = JSON.stringify(event.data ?? {});
    return `${String(event.type).replaceAll('_', ' ')}${data === '{}' ? '' : ` ${data}`}`;
}
