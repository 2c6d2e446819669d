// Parts of pages that stand in several views.
import { commandBox, curlLine } from './command.js';
import { h } from './dom.js';

// A part of the page with a heading of its own. className: 'panel' for one on a surface.
export function titledSection(id, title, nodes, className = 'stack') {
    return h('section', { class: className, 'aria-labelledby': id }, h('h2', { id }, title), nodes);
}

export function pressButton(text, onPress, { kind, icon, label } = {}) {
    return h('button', { type: 'button', class: ['button', kind], 'aria-label': label, on: { click: onPress } }, icon, text);
}

// How the figures of the page are had from a shell.
export function curlDetails(...paths) {
    return h('details', { class: 'panel' }, h('summary', null, 'The same with curl'),
        h('div', { class: 'stack' }, paths.map((path) => commandBox(curlLine('GET', path)))));
}

// [title, ...nodes] each, null left out.
export function factList(facts) {
    return h('dl', { class: 'facts plain' }, facts.filter(Boolean).map(([title, ...value]) => (
        h('div', null, h('dt', null, title), h('dd', null, value)))));
}
