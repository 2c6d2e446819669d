// The model's field in the form of a run: sizes for dense layers; any other model is written as JSON.

import { clear, h } from './dom.js';
import { readIntegers } from './fields.js';
import { fmtCount, sentence } from './format.js';
import { modelFacts, modelOfFacts, parameterCount } from './model_helper.js';

const MODEL_INITS = ['zeros', 'glorot_uniform', 'he_normal'];

function sizeField(id, label, hint, placeholder) {
    const input = h('input', { class: 'input', id, type: 'text', inputmode: 'numeric', autocomplete: 'off', placeholder, 'aria-describedby': `${id}-hint` });
    return { input, node: h('div', { class: 'field' }, h('label', { for: id }, label), input, h('p', { class: 'hint', id: `${id}-hint` }, hint)) };
}

function makeParts() {
    const input = sizeField('model-input', 'Input size', 'Shape of one example, as 784 or 28, 28', '784');
    const hidden = sizeField('model-hidden', 'Hidden layers', 'Their units, as 128, 64; none for a linear model', 'none');
    const classes = sizeField('model-classes', 'Classes', 'Units of the last layer', '10');
    const init = h('select', { class: 'input', id: 'model-init' }, h('option', { value: '' }, 'glorot uniform (default)'),
        MODEL_INITS.map((name) => h('option', { value: name }, name.replace('_', ' '))));
    const error = h('p', { class: 'error-text', id: 'model-error', role: 'alert', hidden: true });
    const count = h('p', { class: 'muted small' });
    const fields = h('div', { class: 'fields' }, input.node, hidden.node, classes.node,
        h('div', { class: 'field' }, h('label', { for: 'model-init' }, 'Initial weights'), init));
    return { input: input.input, hidden: hidden.input, classes: classes.input, init, error, count, fields };
}

function readParts(parts, facts) {
    const sizes = {};
    for (const name of ['input', 'hidden', 'classes']) {
        const { value, error } = readIntegers(parts[name].value);
        if (error)
            return { error, name };
        sizes[name] = value;
    }
    return { facts: { ...facts, ...sizes, classes: sizes.classes[0], init: parts.init.value || undefined } };
}

// → a field as those of fields.js.
export function modelField(change) {
    const parts = makeParts();
    const { error, count, fields } = parts;
    const other = h('p', { class: 'muted', hidden: true });
    let current = null;
    // rest: which part of the model it is about.
    const fail = (text, rest = []) => {
        error.hidden = !text;
        error.textContent = text ? sentence(text) : '';
        const wrong = rest[0] === 'input' ? [parts.input] : rest[0] === 'layers' ? [parts.hidden, parts.classes] : [parts.input, parts.hidden, parts.classes];
        for (const input of [parts.input, parts.hidden, parts.classes]) {
            const isWrong = Boolean(text) && wrong.includes(input);
            input.setAttribute('aria-invalid', String(isWrong));
            input.setAttribute('aria-describedby', isWrong ? `${input.id}-hint ${error.id}` : `${input.id}-hint`);
        }
    };
    const read = () => {
        const { facts, error: text, name } = readParts(parts, current);
        fail(text, name === 'input' ? ['input'] : ['layers']);
        if (facts)
            change(modelOfFacts(facts));
    };
    fields.addEventListener('input', read);
    const write = (node, text) => {
        if (document.activeElement !== node && node.value !== text)
            node.value = text;
    };
    return {
        node: h('div', { class: 'stack' }, fields, other, count, error),
        show(model) {
            current = modelFacts(model) || (model === undefined || !model.layers || !model.layers.length ? { input: (model && model.input) || [], hidden: [] } : null);
            fields.hidden = !current;
            other.hidden = Boolean(current);
            clear(other).append('This model is more than dense layers with ReLU between them; it is written in the JSON.');
            if (!current) {
                count.textContent = '';
                return;
            }
            write(parts.input, Array.isArray(current.input) ? current.input.join(', ') : '');
            write(parts.hidden, current.hidden.join(', '));
            write(parts.classes, current.classes === undefined ? '' : String(current.classes));
            write(parts.init, (model && model.init) || '');
            const isWhole = current.input.length && current.classes;
            count.textContent = isWhole ? `${fmtCount(parameterCount(current))} parameters` : '';
        },
        fail,
        focus: () => parts.input.focus(),
    };
}
