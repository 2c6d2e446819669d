// The top of a run's page: what it is, what it waits for, how far it is, what can be done.
import { copyButton } from './command.js';
import { append, h, icon, isolated, quantity } from './dom.js';
import { fmtCount, fmtDuration, fmtLoss, fmtNumber, fmtPercent, nameOr, shortId } from './format.js';
import { placeUrl } from './router.js';
import { runActionButtons } from './run_actions.js';
import { session } from './session.js';
import { progressColour, runStatus, stateBadge } from './states.js';
import { troubleWords } from './run_trouble.js';
import { steady } from './steady.js';
import { sinceNode, timeNode, untilNode } from './time.js';

const MOST_EXTENSIONS = 3; // of a round's deadline

function muWords(value) {
    if (value !== null && typeof value === 'object' && value.dynamic)
        return 'dynamic';
    return fmtNumber(value);
}

function durationNode(run) {
    if (!run.started_at)
        return h('span', { class: 'muted' }, '–');
    if (!run.finished_at)
        return sinceNode(run.started_at);
    return quantity(fmtDuration(Date.parse(run.finished_at) - Date.parse(run.started_at)));
}

function strategyWords({ spec, config }) {
    const params = config?.strategy?.params ?? spec.strategy?.params ?? {};
    const name = spec.strategy?.name ?? 'fedprox';
    return name === 'fedprox' && params.proximal_mu !== undefined ? `${name}, mu ${muWords(params.proximal_mu)}` : name;
}

function aboutLine(run) {
    return [
        strategyWords(run), ' · experiment ', isolated(run.spec.experiment ?? run.experiment_id), ' · data ',
        isolated(run.dataset || '–'), ` · seed ${run.seed} · run `, h('code', { title: run.id }, shortId(run.id)),
    ];
}

function devicesNode({ population, spec }) {
    const each = `${fmtCount(spec.selection?.devices_per_round ?? 10)} a round`;
    return h('span', { class: 'num' }, population > 0 ? `${fmtCount(population)}, ` : null, h('span', { class: 'unit' }, each));
}

// Once only, where the server's words begin with what the badge says.
function statusNodes(run) {
    const status = runStatus(run);
    const reason = run.status_reason || '';
    if (!reason.startsWith(status.replaceAll('_', ' ')))
        return [stateBadge(status), reason];
    const badge = stateBadge(status, reason);
    badge.classList.add('wraps');
    return [badge];
}

function factsOf(run) {
    const values = run.metrics?.values ?? {};
    const of = run.metrics ? ` in round ${run.metrics.round}` : '';
    return [
        [`Training loss${of}`, h('span', { class: 'num' }, fmtLoss(values.train_loss))],
        ['Accuracy', quantity(fmtPercent(values.test_accuracy))],
        ['Devices', devicesNode(run)],
        ['Model version', fmtCount(run.model_version)],
        ['Started', timeNode(run.started_at)],
        ['Duration', durationNode(run)],
    ];
}

// Until when the open round waits at most. Not spoken: it changes all the time.
function deadlineNode(run, deadline) {
    if (run.status !== 'running' || deadline?.round !== run.round || !deadline.until)
        return null;
    const isFirm = deadline.isFinal || (run.spec.reporting?.on_too_few ?? 'extend') !== 'extend' || deadline.extensions >= MOST_EXTENSIONS;
    return h('span', { class: 'muted', 'aria-live': 'off' }, deadline.isFinal ? 'It closes ' : 'The round closes ', untilNode(deadline.until), ' at the latest',
        isFirm ? '.' : ', or waits once more if too few updates have come.');
}

// What the state does not say: a run may be completed, and all its tasks have failed.
function troubleNodes(run, trouble, failure) {
    if (!trouble)
        return [];
    return [h('div', { class: 'note warn' }, icon('alert'), h('p', null, troubleWords(trouble, failure), ' See ',
        h('a', { href: placeUrl(['runs', run.id, 'rounds', trouble.firstFailed ?? trouble.first]) },
            `round ${fmtCount(trouble.firstFailed ?? trouble.first)}`), '.'))];
}

function reasonNode(run, deadline) {
    const isBad = run.outcome === 'failed';
    const isWaiting = run.status === 'waiting_for_devices' || run.status === 'paused' || run.status === 'pending';
    const node = h('div', { class: ['note', isBad && 'bad', isWaiting && 'warn'] }, icon(isBad ? 'alert' : 'info'),
        h('p', { class: 'row' }, statusNodes(run), deadlineNode(run, deadline),
            run.status === 'waiting_for_devices' ? h('a', { href: placeUrl('/devices', { dataset: run.dataset }) }, 'Its devices') : null));
    if (run.deterministic === false)
        append(node, h('span'), h('p', { class: 'small muted' },
            `The same spec and seed need not give the same bits: ${run.nondeterminism}.`));
    return node;
}

// Rounds that are done, of those planned; the final evaluation is none of them.
export function roundsDone(run) {
    return run.outcome === 'completed' ? run.num_rounds : Math.min(run.round, run.num_rounds);
}

function progressNodes(run) {
    const done = roundsDone(run);
    return [h('span', { class: 'num' }, `${fmtCount(done)} of ${fmtCount(run.num_rounds)} rounds`),
        h('span', { class: 'bar-track' }, h('span', { class: 'bar-fill',
            vars: { w: `${(100 * done) / run.num_rounds}%`, st: progressColour(run) } }))];
}

function actionNodes(run, onDone) {
    return [runActionButtons(run, onDone),
        session.can('run') ? h('a', { class: 'button', href: placeUrl('/runs/new', { clone: run.id }) }, 'Clone') : null,
        h('a', { class: 'button', href: placeUrl('/compare', { runs: run.id }) }, 'Compare with…')];
}

export function runHead(onDone) {
    const parts = {
        title: h('h1', null), about: h('p', { class: 'small' }), actions: h('div', { class: 'row run-actions' }),
        trouble: h('div'), reason: h('div', { role: 'status' }), progress: h('div', { class: 'run-progress' }), facts: h('dl', { class: 'facts' }),
    };
    const draw = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, steady(part)]));
    let id = '';
    const node = h('div', { class: 'stack' },
        h('div', { class: 'head' }, h('div', null, h('p', { class: 'small' }, h('a', { href: '#/runs' }, 'Runs')), parts.title,
            h('div', { class: 'row run-about' }, parts.about, copyButton(() => id, 'Copy the run\'s id'))), parts.actions),
        parts.trouble, parts.reason, parts.progress, parts.facts);
    return {
        node,
        update({ run, trouble, failure, deadline }) {
            id = run.id;
            draw.title(run.name, () => isolated(nameOr(run.name, `Run ${shortId(run.id)}`)));
            draw.about(JSON.stringify([run.config, run.dataset]), () => aboutLine(run));
            draw.actions(`${run.status} ${session.role}`, () => actionNodes(run, onDone));
            draw.trouble(JSON.stringify([trouble, failure]), () => troubleNodes(run, trouble, failure));
            parts.trouble.hidden = !trouble;
            draw.reason(JSON.stringify([run.status, run.outcome, run.round, run.status_reason, run.nondeterminism, deadline]),
                () => reasonNode(run, deadline));
            draw.progress(`${roundsDone(run)} ${run.num_rounds} ${progressColour(run)}`, () => progressNodes(run));
            draw.facts(JSON.stringify([run.metrics, run.population, run.model_version, run.started_at, run.finished_at]),
                () => factsOf(run).map(([dt, dd]) => h('div', null, h('dt', null, dt), h('dd', null, dd))));
        },
    };
}
