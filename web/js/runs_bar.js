// Above the table of runs: what is looked for, and what can be done with those that are selected.

import { h, icon, oneAtATime } from './dom.js';
import { go, placeUrl } from './router.js';
import { actOnRuns, actionTitle, possibleActions } from './run_actions.js';
import { RUN_FILTERS } from './run_row.js';
import { session } from './session.js';

const COMPARE_MOST = 10;

// onChange({q, status}) at each change.
export function runFilter(value, onChange) {
    const text = h('input', { class: 'input', type: 'search', placeholder: 'Find runs', 'aria-label': 'Find runs by name, experiment, data set, strategy or id',
        prop: { value: value.q || '' } });
    const names = Object.keys(RUN_FILTERS);
    const status = h('select', { class: 'input', 'aria-label': 'Status' }, h('option', { value: '' }, 'Any status'),
        names.map((name) => h('option', { value: name, selected: value.status === name }, name[0].toUpperCase() + name.slice(1))));
    const tell = () => onChange({ q: text.value.trim(), status: status.value });
    text.addEventListener('input', tell);
    status.addEventListener('change', tell);
    return {
        node: h('div', { class: 'filter', role: 'search' }, text, status),
        clear() {
            text.value = '';
            status.value = '';
            tell();
            text.focus(); // what was pressed goes with it
        },
    };
}

function button(text, iconName, press, kind) {
    return h('button', { type: 'button', class: ['button', kind], on: { click: press } }, iconName ? icon(iconName) : null, text);
}

function compareButton(ids) {
    const why = ids.length < 2 ? 'Select at least two runs' : ids.length > COMPARE_MOST ? `Select at most ${COMPARE_MOST} runs` : null;
    const node = button('Compare', 'compare', () => go(placeUrl(['compare'], { runs: ids.join(',') })), 'primary');
    node.disabled = Boolean(why);
    if (why)
        node.title = why;
    return node;
}

function actionButtons(rows, onClear, onChanged) {
    const can = session.can('run') ? new Set(rows.flatMap(possibleActions)) : new Set();
    const act = (name) => oneAtATime(async () => {
        const changed = await actOnRuns(rows.filter((row) => possibleActions(row).includes(name)), name);
        if (changed.length)
            onChanged(changed);
    });
    const names = ['start', 'resume', 'pause', 'stop'].filter((name) => can.has(name));
    const clone = session.can('run') && rows.length === 1
        ? [button('Clone', 'copy', () => go(placeUrl(['runs', 'new'], { clone: rows[0].id })))] : [];
    return [compareButton(rows.map((row) => row.id)), ...clone,
        ...names.map((name) => button(actionTitle(name), name === 'resume' || name === 'start' ? 'play' : name, act(name),
            name === 'stop' ? 'danger' : null)),
        button('Clear', null, onClear, 'quiet')];
}

// show(rows): the selected ones, as often as they change. onClear() takes the selection back, onChanged(runs) tells what the
// server made of them.
export function runSelection({ onClear, onChanged }) {
    const count = h('span', { role: 'status' });
    const actions = h('div', { class: 'row' });
    const node = h('div', { class: 'selection', hidden: true, role: 'group', 'aria-label': 'With the selected runs' }, count, actions);
    let shown = '';
    return {
        node,
        show(rows) {
            const state = rows.map((row) => `${row.id} ${row.status}`).join();
            if (state === shown)
                return;
            shown = state;
            const focused = [...actions.children].indexOf(document.activeElement);
            node.hidden = rows.length === 0;
            count.textContent = `${rows.length} selected`;
            actions.replaceChildren(...actionButtons(rows, onClear, onChanged));
            if (focused >= 0 && actions.children.length)
                actions.children[Math.min(focused, actions.children.length - 1)].focus();
        },
    };
}
