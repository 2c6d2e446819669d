// The top of a round's page: which it is, how it ended or what it waits for, its figures, its neighbours.
import { copyButton } from './command.js';
import { h, icon, isolated, quantity } from './dom.js';
import { countOf, fmtBytes, fmtCount, fmtDuration, fmtNumber, fmtPercent, nameOr } from './format.js';
import { placeUrl } from './router.js';
import { stateBadge, stateMark } from './states.js';
import { steady } from './steady.js';
import { sinceNode, timeNode } from './time.js';

const roundState = (round) => (round.status === 'closed' ? round.outcome : round.status);

function neighbour(run, n, text, iconName, isThere) {
    const label = `${text} round`;
    const content = iconName === 'left' ? [icon('left'), text] : [text, icon('right')];
    if (!isThere)
        return h('span', { class: 'button', 'aria-disabled': 'true' }, content);
    return h('a', { class: 'button', href: placeUrl(['runs', run.id, 'rounds', n]), 'aria-label': label,
        rel: iconName === 'left' ? 'prev' : 'next' }, content);
}

function countFact(round, name) {
    return h('span', { class: 'badge' }, stateMark(name), h('span', { class: 'num' }, `${fmtCount(round[name])} ${name}`));
}

function outcomeFacts(round) {
    const complete = { ...round, completed: round.received - round.partial };
    return h('div', { class: 'row round-counts' }, h('span', { class: 'num' }, `${fmtCount(round.selected)} selected: `),
        ['completed', 'partial', 'late', 'failed', 'dropped'].filter((name) => complete[name] > 0 || name === 'completed')
            .map((name) => countFact(complete, name)));
}

function figureList(round) {
    const share = round.steps_assigned > 0 ? fmtPercent(round.steps_done / round.steps_assigned) : '–';
    const facts = [
        ['Duration', round.closed_at ? quantity(fmtDuration(round.duration_ms)) : sinceNode(round.opened_at)],
        ['Opened', timeNode(round.opened_at)],
        ['From devices', quantity(fmtBytes(round.bytes_in))],
        ['To devices', quantity(fmtBytes(round.bytes_out))],
    ];
    if (round.type === 'train') {
        facts.unshift(['Steps done', [quantity(share), h('span', { class: 'unit' }, ` of ${fmtCount(round.steps_assigned)}`)]],
            ['Proximal mu', fmtNumber(round.proximal_mu)]);
    }
    if (round.evaluators > 0)
        facts.push(['Evaluated', h('span', { class: 'num' }, `${fmtCount(round.evaluated)} of ${fmtCount(round.evaluators)} devices`)]);
    for (const [name, title] of [['mean_gamma', 'Mean gamma'], ['dissimilarity_b', 'Dissimilarity B'],
        ['grad_variance_weighted', 'Gradient variance, weighted'], ['grad_variance_uniform', 'Gradient variance, uniform']]) {
        if (round[name] !== null)
            facts.push([title, h('span', { class: 'num' }, fmtNumber(round[name]))]);
    }
    return facts.map(([dt, dd]) => h('div', null, h('dt', null, dt), h('dd', null, dd)));
}

// What a person has to know first: why it ended so, or until when it waits.
function noteOf(round) {
    const words = [];
    if (round.reason)
        words.push(round.reason);
    if (round.status !== 'closed' && round.deadline_at)
        words.push('The deadline is ', timeNode(round.deadline_at), '; what is not there then is asked for as far as it is.');
    if (round.extensions > 0)
        words.push(` The deadline was extended ${countOf(round.extensions, 'time')}: too few updates had come.`);
    if (round.status === 'closed' && round.type === 'train' && round.received === 0)
        words.push(' No update came, so the weights stayed as they were.');
    return words;
}

function noteNode(round) {
    const words = noteOf(round);
    const kind = round.outcome === 'failed' ? 'bad' : round.outcome === 'completed' ? null : 'warn';
    return words.length > 0 ? h('div', { class: ['note', kind] }, icon('info'), h('p', null, words)) : null;
}

function modelLine(round) {
    const made = round.model_version_out;
    const line = round.type === 'final' ? `Measures model version ${round.model_version_in}.`
        : `Starts from model version ${round.model_version_in}${made === null ? '.' : ` and makes version ${made}.`}`;
    const hash = round.aggregate_sha256;
    return h('p', { class: 'small muted' }, line, hash ? [' Aggregate SHA-256 ', h('code', { class: 'hash' }, hash)] : null);
}

export function roundHead() {
    const node = h('div', { class: 'stack' });
    const draw = steady(node);
    let current = null;
    const copy = copyButton(() => current.aggregate_sha256, 'Copy the SHA-256');
    return {
        node,
        update(run, round, hasNext) {
            current = round;
            draw(JSON.stringify([run.name, hasNext, round]), () => [
                h('div', { class: 'head' },
                    h('div', null, h('p', { class: 'small' }, h('a', { href: '#/runs' }, 'Runs'), ' / ',
                        h('a', { href: placeUrl(['runs', run.id]) }, isolated(nameOr(run.name, run.id)))),
                    h('h1', null, round.type === 'final' ? 'Final evaluation' : `Round ${round.round}`), ' '),
                    h('nav', { class: 'row', 'aria-label': 'Rounds' }, neighbour(run, round.round - 1, 'Previous', 'left', round.round > 0),
                        neighbour(run, round.round + 1, 'Next', 'right', hasNext))),
                h('div', { class: 'row', role: 'status' }, stateBadge(roundState(round)), round.type === 'train' ? outcomeFacts(round) : null),
                noteNode(round),
                h('dl', { class: 'facts plain' }, figureList(round)),
                h('div', { class: 'row round-model' }, modelLine(round), round.aggregate_sha256 ? copy : null),
            ]);
        },
    };
}
