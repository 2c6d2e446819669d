// One field of a form for each kind of schema node. A field: {node, show(value, isAnew), fail(text), focus()}; it tells
// change(value), with undefined for "not set". isAnew: the value comes from elsewhere.

import { append, clear, h } from './dom.js';
import { sentence } from './format.js';
import { optionOf } from './schema.js';

let fieldCount = 0;

const FIELD_NAMES = { num_rounds: 'Rounds', proximal_mu: 'Proximal mu', autostart: 'Start at once', every: 'Every … rounds', on: 'Evaluated on' };

// 'deadline_s' as 'Deadline (s)'.
export function humanName(name) {
    if (FIELD_NAMES[name])
        return FIELD_NAMES[name];
    const [, stem, unit] = name.match(/^(.*?)(?:_(s|ms|bytes))?$/);
    const text = stem.replace(/_/g, ' ');
    return `${text[0].toUpperCase()}${text.slice(1)}${unit ? ` (${unit})` : ''}`;
}

// `names` in backticks as code.
export function hintNodes(text) {
    return text.split('`').map((part, i) => (i % 2 ? h('code', null, part) : part));
}

function fieldFrame(name, node, isRequired, control, below = null) {
    const id = `field-${++fieldCount}`;
    const error = h('p', { class: 'error', id: `${id}-error`, hidden: true });
    const hint = h('p', { class: 'hint', id: `${id}-hint` });
    control.id = id;
    const describe = (hasError) => {
        control.setAttribute('aria-describedby', hasError ? `${error.id} ${hint.id}` : hint.id);
    };
    const setHint = (text) => {
        hint.hidden = !text;
        clear(hint).append(...hintNodes(sentence(text)));
    };
    describe(false);
    setHint(node.description);
    if (isRequired)
        control.setAttribute('aria-required', 'true');
    return {
        node: h('div', { class: 'field' }, h('label', { for: id }, humanName(name)), control, below, hint, error),
        fail(text) {
            error.hidden = !text;
            error.textContent = text ? sentence(text) : '';
            if (text)
                control.setAttribute('aria-invalid', 'true');
            else
                control.removeAttribute('aria-invalid');
            describe(Boolean(text));
        },
        setHint,
        focus: () => control.focus(),
    };
}

function placeholderOf(node) {
    const { default: value } = node;
    if (value === undefined)
        return '';
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

// read(text) → {value} or {error}; text of a value that is not of the kind stands as it is.
const TEXT_KINDS = {
    string: { read: (text) => ({ value: text }), write: (v) => (typeof v === 'string' ? v : JSON.stringify(v)) },
    number: { read: readNumber, write: String, mode: 'decimal' },
    integer: { read: readNumber, write: String, mode: 'numeric' },
    integers: { read: readIntegers, write: (v) => (Array.isArray(v) ? v.join(', ') : JSON.stringify(v)) },
    map: { read: readMap, write: writeMap, rows: 2 },
    json: { read: readAnyJson, write: (v) => JSON.stringify(v, null, 2), rows: 4 },
};

function readNumber(text) {
    const value = Number(text.trim().replace(',', '.'));
    return Number.isFinite(value) ? { value } : { error: `“${text}” is not a number.` };
}

export function readIntegers(text) {
    const parts = text.split(/[\s,;×x*]+/).filter(Boolean).map(Number);
    return parts.every(Number.isInteger) ? { value: parts } : { error: 'Whole numbers are needed, with commas between them.' };
}

export function readMap(text) {
    const entries = text.split('\n').map((line) => line.trim()).filter(Boolean).map((line) => line.split('='));
    if (!entries.every((e) => e.length > 1 && e[0].trim()))
        return { error: 'One name=value a line is needed.' };
    return { value: Object.fromEntries(entries.map(([name, ...rest]) => [name.trim(), rest.join('=').trim()])) };
}

function writeMap(value) {
    return value && typeof value === 'object' ? Object.entries(value).map(([k, v]) => `${k}=${v}`).join('\n') : JSON.stringify(value);
}

function readAnyJson(text) {
    try {
        return { value: JSON.parse(text) };
    } catch (error) {
        return { error: `This is not JSON: ${error.message}` };
    }
}

function textField(name, node, isRequired, change) {
    const kind = TEXT_KINDS[node.kind];
    const control = kind.rows
        ? h('textarea', { class: 'input', rows: kind.rows, placeholder: node.kind === 'map' ? 'name=value' : placeholderOf(node) })
        : h('input', { class: 'input', type: 'text', inputmode: kind.mode, placeholder: placeholderOf(node), autocomplete: 'off',
            spellcheck: 'false' });
    const frame = fieldFrame(name, node, isRequired, control);
    let seen = '';
    let last = '';
    const read = () => (control.value.trim() === '' ? { value: undefined } : kind.read(control.value));
    const take = () => {
        const result = read();
        if (control.value === seen)
            return;
        seen = control.value;
        frame.fail(result.error);
        if (!result.error)
            change(result.value);
    };
    control.addEventListener('input', take);
    control.addEventListener('change', take);
    return {
        ...frame,
        // What stands there but cannot be read, and so is not in the value.
        unread: () => read().error,
        // What a person is typing is not rewritten under their hands, nor what they typed while the value is as it was.
        show(value, isAnew) {
            const text = value === undefined || value === null ? '' : kind.write(value);
            if (document.activeElement !== control && (isAnew || text !== last)) {
                control.value = text;
                seen = text;
            }
            last = text;
        },
    };
}

function selectField(name, node, isRequired, change) {
    const values = node.kind === 'boolean' ? [true, false] : node.values;
    const textOf = (v) => (v === true ? 'Yes' : v === false ? 'No' : String(v).replace(/_/g, ' '));
    const unset = node.default === undefined ? 'not set' : `${textOf(node.default)} (default)`;
    const control = h('select', { class: 'input' }, h('option', { value: '' }, unset),
        values.map((v, i) => h('option', { value: i }, textOf(v))));
    const other = h('option', { value: 'other', disabled: true });
    const frame = fieldFrame(name, node, isRequired, control);
    control.addEventListener('change', () => {
        frame.fail(null);
        change(control.value === '' ? undefined : values[Number(control.value)]);
    });
    return {
        ...frame,
        show(value) {
            const at = values.indexOf(value);
            const isUnset = value === undefined || value === null;
            other.remove();
            if (!isUnset && at < 0) {
                other.textContent = JSON.stringify(value);
                control.append(other);
            }
            control.value = isUnset ? '' : at < 0 ? 'other' : String(at);
        },
    };
}

// A select for the form of the value, and below it the fields of the one that is chosen, which make(label, node) makes.
function choiceField(name, node, isRequired, change, make) {
    const control = h('select', { class: 'input' }, node.options.map((o, i) => h('option', { value: i }, humanName(o.title))));
    const below = h('div', { class: 'field-below' });
    const frame = fieldFrame(name, node, isRequired, control, below);
    let inner = null;
    let shown = -1;
    const open = (i) => {
        if (i === shown)
            return;
        shown = i;
        const option = node.options[i].node;
        inner = make(node.options[i].title, { ...option, description: '', default: option.kind === 'object' ? undefined : node.default });
        control.value = String(i);
        append(clear(below), inner.node);
    };
    control.addEventListener('change', () => {
        frame.fail(null);
        open(Number(control.value));
        change(emptyOf(node.options[shown].node));
    });
    open(0);
    return {
        ...frame,
        show(value, isAnew) {
            if (value !== undefined)
                open(optionOf(node, value));
            inner.show(value, isAnew);
        },
        unread: () => inner.unread && inner.unread(),
        focus: () => (inner.focus ? inner.focus() : control.focus()),
    };
}

// The least value of a kind that is chosen: {dynamic: {}} has to stand, or the choice would be lost.
function emptyOf(node) {
    if (node.kind !== 'object')
        return undefined;
    return Object.fromEntries(node.properties.filter((p) => p.isRequired).map((p) => [p.name, p.node.kind === 'object' ? {} : null]));
}

export function makeField(name, node, isRequired, change, make) {
    if (node.kind === 'choice')
        return choiceField(name, node, isRequired, change, make);
    if (node.kind === 'enum' || node.kind === 'boolean')
        return selectField(name, node, isRequired, change);
    return textField(name, node, isRequired, change);
}
