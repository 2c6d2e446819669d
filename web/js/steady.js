// Drawing anew only what has changed, with the focus where it was.

import { FOCUSABLE } from './dom.js';

// → draw(key, make): make() gives the nodes; while the key stays the same, what stands there stays.
export function steady(host) {
    let last = null;
    return (key, make) => {
        if (key === last)
            return;
        last = key;
        const active = document.activeElement;
        const index = active && host.contains(active) ? [...host.querySelectorAll(FOCUSABLE)].indexOf(active) : -1;
        const text = index >= 0 ? active.textContent : '';
        host.replaceChildren(...[make()].flat(Infinity).filter(Boolean));
        if (index >= 0) {
            const now = [...host.querySelectorAll(FOCUSABLE)];
            const same = now.find((node) => node.textContent === text) ?? now[Math.min(index, now.length - 1)];
            same?.focus({ preventScroll: true });
        }
    };
}

// A field that offers choices: {node, fill([[value, text]], chosen)}. What is open under somebody's hand is not changed.
export function pickerField({ id, title, choices, value, onChange, hint }) {
    const select = document.createElement('select');
    const label = document.createElement('label');
    const node = document.createElement('div');
    let last = '';
    select.id = id;
    select.className = 'input';
    label.htmlFor = id;
    label.textContent = title;
    node.className = 'field';
    node.append(label, select);
    if (hint)
        select.title = hint;
    select.addEventListener('change', () => onChange(select.value));
    const fill = (list, chosen) => {
        const all = list.some(([v]) => v === chosen) ? list : [...list, [chosen, chosen]];
        const key = JSON.stringify(all);
        if (key !== last && document.activeElement !== select) {
            last = key;
            select.replaceChildren(...all.map(([v, text]) => new Option(text, v)));
        }
        select.value = chosen;
    };
    fill(choices, value);
    return { node, fill };
}
