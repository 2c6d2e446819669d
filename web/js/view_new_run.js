// A new run: the form, its JSON beside it, and the command that does the same.

import { api, apiPath } from './api.js';
import { commandBox, curlLine } from './command.js';
import { h, icon, isolated } from './dom.js';
import { schemaForm } from './form.js';
import { countOf } from './format.js';
import { ApiError, reportBug } from './http.js';
import { modelField } from './model_field.js';
import { modelOfFacts } from './model_helper.js';
import { prettyJson } from './pretty_json.js';
import { go, placeUrl } from './router.js';
import { readSchema, valueAt, withValueAt } from './schema.js';
import { problemsOf, withoutDefaults } from './schema_check.js';
import { session } from './session.js';
import { emptyState, loading } from './states.js';
import { toast } from './toast.js';

const DRAFT_KEY = 'fedlane.draft';

function readDraft() {
    try {
        return JSON.parse(sessionStorage.getItem(DRAFT_KEY) || 'null');
    } catch {
        return null;
    }
}

function keepDraft(spec) {
    try {
        if (spec)
            sessionStorage.setItem(DRAFT_KEY, JSON.stringify(spec));
        else
            sessionStorage.removeItem(DRAFT_KEY);
    } catch {
        // Without storage a draft lasts as long as the page.
    }
}

// [{name, input, classes, count}]: what the devices that are there have.
function dataSetsOf(devices) {
    const sets = new Map();
    for (const device of devices.filter((d) => d.status !== 'revoked')) {
        const set = sets.get(device.dataset) || { name: device.dataset, input: device.input || [], classes: device.classes, count: 0 };
        set.count++;
        sets.set(device.dataset, set);
    }
    return [...sets.values()];
}

function specFor(set, spec) {
    const model = set.input.length && set.classes ? modelOfFacts({ input: set.input, hidden: [], classes: set.classes, init: 'zeros' }) : spec.model;
    return { ...spec, dataset: set.name, model };
}

function firstSpec(sets) {
    const spec = { name: '', num_rounds: 20, model: { input: [], layers: [] }, training: { local_epochs: 5, learning_rate: 0.03 } };
    delete spec.name;
    return sets.length === 1 ? specFor(sets[0], spec) : spec;
}

// The schema of a run, with the strategies that this server has.
function runSchema(openapi, strategies, name) {
    const root = readSchema(openapi.components.schemas.RunSpec, openapi);
    const strategy = root.properties.find((p) => p.name === 'strategy').node;
    const chosen = strategies.find((s) => s.name === name) || strategies[0];
    strategy.properties = strategy.properties.map((p) => {
        if (p.name === 'name')
            return { ...p, node: { ...p.node, values: strategies.map((s) => s.name), description: chosen ? chosen.description : '' } };
        return p.name === 'params' && chosen ? { ...p, node: readSchema(chosen.params, chosen.params) } : p;
    });
    return root;
}

class NewRun {
    constructor(ctx, { openapi, strategies, sets, spec, isDraft }) {
        Object.assign(this, { ctx, openapi, strategies, sets, isDraft });
        this.strategyName = this.nameOfStrategy(spec);
        this.schema = runSchema(openapi, strategies, this.strategyName);
        this.form = schemaForm(this.schema, spec, { onChange: (value, path) => this.changed(value, path), custom: { model: modelField },
            open: ['strategy'] });
        this.json = h('textarea', { class: 'input', id: 'spec-json', spellcheck: 'false', 'aria-describedby': 'spec-json-error',
            on: { input: () => this.readJson() } });
        this.jsonError = h('p', { class: 'error-text', id: 'spec-json-error', role: 'alert', hidden: true });
        this.command = commandBox('');
        this.submitButton = h('button', { class: 'button primary', type: 'submit' }, icon('play'), h('span', null, 'Start the run'));
        this.draw();
        this.showSpec(spec);
    }

    nameOfStrategy(spec) {
        return valueAt(spec, ['strategy', 'name']) || 'fedprox';
    }

    draw() {
        const suggestions = this.sets.length ? h('div', { class: 'row' }, h('span', { class: 'muted small' }, 'Data on the devices:'),
            this.sets.slice(0, 8).map((set) => h('button', { type: 'button', class: 'button', on: { click: () => this.use(set) } },
                isolated(set.name), h('span', { class: 'unit small' }, countOf(set.count, 'device'))))) : null;
        const draft = this.isDraft ? h('div', { class: 'note' }, icon('info'), h('div', { class: 'row' }, 'This is your draft. ',
            h('button', { type: 'button', class: 'button quiet', on: { click: () => this.startOver() } }, 'Start over'))) : null;
        const form = h('form', { class: 'new-run', novalidate: true, on: { submit: (event) => {
            event.preventDefault();
            this.submit();
        } } },
        h('div', { class: 'stack' }, draft, suggestions, this.form.node),
        h('div', { class: 'new-run-side stack' },
            h('section', { class: 'panel stack' }, h('h2', null, h('label', { for: 'spec-json' }, 'Run spec')), this.json, this.jsonError, this.submitButton),
            h('section', { class: 'stack' }, h('h2', null, 'The same from a shell'), this.command)));
        this.ctx.host.replaceChildren(h('div', { class: 'head' }, h('div', null, h('h1', null, 'New run'),
            h('p', null, 'What is left empty takes its default.'))), form);
    }

    use(set) {
        const spec = specFor(set, this.form.value());
        this.form.set(spec);
        this.changed(spec, ['dataset']);
    }

    startOver() {
        keepDraft(null);
        go('#/runs/new');
    }

    changed(spec, path) {
        keepDraft(spec);
        if (path[0] === 'strategy' && this.nameOfStrategy(spec) !== this.strategyName)
            this.switchStrategy();
        else
            this.showSpec(spec);
    }

    // Another strategy knows other parameters: those that it has not go.
    switchStrategy() {
        let spec = this.form.value();
        this.strategyName = this.nameOfStrategy(spec);
        this.schema = runSchema(this.openapi, this.strategies, this.strategyName);
        const strategy = this.schema.properties.find((p) => p.name === 'strategy').node;
        const params = strategy.properties.find((p) => p.name === 'params').node;
        const known = new Set((params.properties || []).map((p) => p.name));
        for (const name of Object.keys(valueAt(spec, ['strategy', 'params']) || {}))
            if (!known.has(name))
                spec = withValueAt(spec, ['strategy', 'params', name], undefined);
        this.form.set(spec);
        this.form.replace(['strategy', 'params'], params);
        this.form.setHint(['strategy', 'name'], this.strategies.find((s) => s.name === this.strategyName)?.description || '');
        keepDraft(spec);
        this.showSpec(spec);
    }

    showSpec(spec) {
        if (document.activeElement !== this.json)
            this.writeJson(spec);
        this.setJsonError(null);
        this.command.update(curlLine('POST', '/api/v1/runs', spec));
        this.submitButton.lastChild.textContent = spec.autostart === false ? 'Create the run' : 'Start the run';
    }

    writeJson(spec) {
        this.json.value = prettyJson(spec);
        this.json.rows = Math.max(12, Math.min(26, this.json.value.split('\n').length + 1));
    }

    setJsonError(text) {
        this.jsonError.hidden = !text;
        this.jsonError.textContent = text || '';
        this.json.toggleAttribute('aria-invalid', Boolean(text));
    }

    readJson() {
        let spec;
        try {
            spec = JSON.parse(this.json.value);
        } catch (error) {
            this.setJsonError(`This is not JSON yet: ${error.message}`);
            return;
        }
        if (spec === null || typeof spec !== 'object' || Array.isArray(spec)) {
            this.setJsonError('A run spec is an object: { … }');
            return;
        }
        this.form.set(spec);
        this.changed(spec, ['strategy']);
    }

    async submit() {
        if (!this.jsonError.hidden) {
            this.json.focus();
            return;
        }
        const spec = this.form.value();
        const problems = [...this.form.unread(), ...problemsOf(this.schema, spec)];
        this.form.showErrors(problems);
        if (problems.length)
            return;
        this.submitButton.disabled = true;
        try {
            const run = await api.post('/api/v1/runs', spec);
            keepDraft(null);
            toast(run.status === 'pending' ? 'The run is made; start it when you like.' : 'The run is submitted.');
            if (!this.ctx.signal.aborted)
                go(placeUrl(['runs', run.id]));
        } catch (error) {
            this.submitButton.disabled = false;
            this.showRefusal(error);
        }
    }

    showRefusal(error) {
        reportBug(error);
        const field = error instanceof ApiError && error.field ? error.field.split('.') : [];
        this.form.showErrors([{ field, text: error.message }]);
    }
}

async function specOf(ctx, schema, sets) {
    if (ctx.query.clone) {
        const run = await api.get(apiPath('runs', ctx.query.clone), { signal: ctx.signal });
        const spec = withoutDefaults(schema, run.spec) || {};
        return { spec: { ...spec, name: run.name ? `${run.name} copy` : undefined }, isDraft: false };
    }
    const draft = readDraft();
    return draft ? { spec: draft, isDraft: true } : { spec: firstSpec(sets), isDraft: false };
}

export async function viewNewRun(ctx) {
    if (!session.can('run')) {
        ctx.host.append(emptyState({ level: 1, title: 'Your token only reads', text: 'Starting runs needs a token of role operator or admin.',
            action: h('a', { class: 'button', href: '#/runs' }, 'All runs') }));
        return;
    }
    ctx.host.append(loading());
    const { signal } = ctx;
    const [openapi, strategies, devices] = await Promise.all([
        api.get('/api/v1/openapi.json', { signal }),
        api.get('/api/v1/strategies', { signal }),
        api.all('/api/v1/devices', { max: 10000, signal }),
    ]);
    const sets = dataSetsOf(devices);
    const { spec, isDraft } = await specOf(ctx, runSchema(openapi, strategies.items), sets);
    new NewRun(ctx, { openapi, strategies: strategies.items, sets, spec: JSON.parse(JSON.stringify(spec)), isDraft });
}
