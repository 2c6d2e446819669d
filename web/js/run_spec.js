// A run's spec: what was chosen, all of it, and as JSON.
import { api } from './api.js';
import { commandBox, curlLine, copyButton } from './command.js';
import { append, clear, h } from './dom.js';
import { lineJson, plainJson } from './pretty_json.js';
import { sameJson, specRows } from './spec_diff.js';

let schemaLoad = null;

// The same for all runs: asked for once.
function loadSchema() {
    if (!schemaLoad) {
        schemaLoad = Promise.all([api.get('/api/v1/openapi.json'), api.get('/api/v1/strategies')])
            .then(([openapi, strategies]) => ({ openapi, strategies: strategies.items }));
        schemaLoad.catch(() => {
            schemaLoad = null;
        });
    }
    return schemaLoad;
}

function whenSeen(node, f, signal) {
    const observer = new IntersectionObserver((entries) => {
        if (entries.some((e) => e.isIntersecting)) {
            observer.disconnect();
            f();
        }
    }, { rootMargin: '300px' });
    observer.observe(node);
    signal.addEventListener('abort', () => observer.disconnect());
}

const shortJson = (value) => (value === undefined ? '–' : lineJson(value));

function specRow({ path, value, default: usual, kind }) {
    return h('tr', { class: kind === 'default' ? 'as-default' : null },
        h('th', { scope: 'row' }, h('code', { class: 'spec-path' }, path.flatMap((part, i) => (i > 0 ? ['.', h('wbr'), part] : [part])))),
        h('td', null, h('code', { class: 'spec-value' }, h('bdi', null, shortJson(value)))),
        h('td', { class: 'muted small' }, kind === 'required' ? 'required' : usual === null ? 'none' : h('code', null, shortJson(usual))));
}

function fillRows(box, rows, showsAll) {
    const shown = rows.filter((r) => showsAll || r.kind !== 'default');
    append(clear(box), h('table', { class: 'table' }, h('caption', { class: 'unseen' }, 'Fields of the run spec'),
        h('thead', null, h('tr', null, ['Field', 'Value', 'Default'].map((t) => h('th', { scope: 'col' }, h('span', null, t))))),
        h('tbody', null, shown.map(specRow))));
}

// What PATCH changed since: members of the config that differ from the spec.
export function changedSince({ spec, config }) {
    const out = [];
    for (const [key, value] of Object.entries(config ?? {})) {
        const usual = key === 'strategy' ? spec.strategy?.params : spec[key];
        const now = key === 'strategy' ? value.params : value;
        for (const [name, member] of Object.entries(now ?? {})) {
            if (!sameJson(member, usual?.[name]))
                out.push({ path: key === 'strategy' ? ['strategy', 'params', name] : [key, name], from: usual?.[name], to: member });
        }
    }
    return out;
}

function changesNode(run) {
    const changes = changedSince(run);
    if (changes.length === 0)
        return null;
    const texts = changes.map(({ path, from, to }, i) => [
        i > 0 ? ', ' : '', h('code', null, `${path.join('.')}: ${shortJson(from)} → ${shortJson(to)}`)]);
    return h('p', { class: 'note warn' }, h('span', null, 'Changed while it ran, for the rounds after: ', texts));
}

export function runSpec(signal) {
    let run = null;
    let rows = null;
    let known = '';
    const all = h('input', { type: 'checkbox', id: 'spec-all', on: { change: () => rows && fillRows(box, rows, all.checked) } });
    const box = h('div', { class: 'table-box', tabindex: 0, role: 'region', 'aria-label': 'Fields of the run spec' });
    const changes = h('div');
    const problem = h('p', { class: 'error-text', hidden: true });
    const json = h('code');
    const text = () => plainJson(JSON.stringify(run.spec, null, 2));
    const command = commandBox('');
    const node = h('section', { class: 'panel stack', 'aria-labelledby': 'run-spec' },
        h('div', { class: 'row panel-head' }, h('h2', { id: 'run-spec' }, 'Spec'),
            h('label', { class: 'check' }, all, 'Show the defaults, too')),
        changes, problem, box,
        h('details', null, h('summary', null, 'The whole spec as JSON'),
            h('div', { class: 'command' }, h('pre', { tabindex: 0, role: 'group', 'aria-label': 'Spec' }, json), copyButton(text, 'Copy the spec'))),
        h('details', null, h('summary', null, 'Submit the same again with curl'), command));

    async function loadRows() {
        try {
            const { openapi, strategies } = await loadSchema();
            rows = specRows(run.spec, openapi, strategies);
            problem.hidden = true;
        } catch (error) {
            rows = specRows(run.spec, {}, []);
            problem.hidden = false;
            problem.textContent = `What the defaults are could not be read: ${error.message}`;
        }
        if (!signal.aborted)
            fillRows(box, rows, all.checked);
    }

    return {
        node,
        update(next) {
            const key = JSON.stringify([next.spec, next.config]);
            run = next;
            if (key === known)
                return;
            if (known === '')
                whenSeen(node, loadRows, signal);
            known = key;
            json.textContent = text();
            command.update(curlLine('POST', '/api/v1/runs', run.spec));
            append(clear(changes), changesNode(run));
        },
    };
}
