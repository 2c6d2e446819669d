// A form out of a JSON Schema. What is not set is not in the value: the defaults stand in the fields as placeholders.

import { clear, h } from './dom.js';
import { hintNodes, humanName, makeField } from './fields.js';
import { sentence } from './format.js';
import { inOrder, valueAt, withValueAt } from './schema.js';

const pathText = (path) => path.join('.');

function countSet(value) {
    if (value === undefined || value === null)
        return 0;
    if (typeof value !== 'object' || Array.isArray(value))
        return 1;
    return Object.values(value).reduce((sum, v) => sum + countSet(v), 0);
}

class SchemaForm {
    // node: of readSchema, an object. custom: {'model': (change) => field} for paths whose field is made elsewhere. open: sections
    // that stand open from the start, as required ones do.
    constructor(node, value, { onChange = () => {}, custom = {}, open = [] } = {}) {
        Object.assign(this, { root: node, isOpened: (name) => open.includes(name), current: value, onChange, custom,
            fields: new Map(), groups: new Map(), sections: new Map() });
        this.keep = new Set(['']);
        this.errors = h('div', { class: 'note bad', role: 'alert', tabindex: -1, hidden: true });
        this.node = h('div', { class: 'stack' });
        const isSection = (p) => p.node.kind === 'object' || custom[p.name];
        const plain = node.properties.filter((p) => !isSection(p));
        this.node.append(this.errors, h('div', { class: 'panel' }, this.group([], plain)));
        this.node.append(h('div', { class: 'form-sections' }, node.properties.filter(isSection).map((p) => this.section(p))));
        this.show();
    }

    change(path, next) {
        this.current = inOrder(this.root, withValueAt(this.current, path, next, (p) => !this.keep.has(pathText(p))));
        this.errors.hidden = true;
        this.show();
        this.onChange(this.current, path);
    }

    section({ name, node, isRequired }) {
        const sum = h('span', { class: 'muted small' });
        const box = h('details', { class: 'form-section', open: isRequired || this.isOpened(name) || valueAt(this.current, [name]) !== undefined },
            h('summary', null, h('h2', null, humanName(name)), sum),
            node.description ? h('p', { class: 'hint' }, hintNodes(sentence(node.description))) : null,
            this.custom[name] ? this.addField([name], node, isRequired) : this.group([name], node.properties));
        if (isRequired)
            this.keep.add(name);
        this.sections.set(name, { box, sum });
        return box;
    }

    group(path, properties) {
        const box = h('div', { class: 'fields' });
        this.groups.set(pathText(path), box);
        this.fill(box, path, properties);
        return box;
    }

    fill(box, path, properties) {
        for (const { name, node, isRequired } of properties) {
            const at = [...path, name];
            if (node.kind === 'object' && !this.custom[pathText(at)])
                box.append(this.group(at, node.properties));
            else if (node.kind !== 'json' || this.custom[pathText(at)])
                box.append(this.addField(at, node, isRequired));
        }
    }

    addField(path, node, isRequired) {
        const make = this.custom[pathText(path)];
        const change = (value) => this.change(path, value);
        const field = make ? make(change) : makeField(path[path.length - 1], node, isRequired, change,
            (label, inner) => this.innerField(path, label, inner));
        this.fields.set(pathText(path), field);
        return field.node;
    }

    // The fields of one option of a choice: they stand in the choice, and in the value at the same path.
    innerField(path, label, node) {
        this.forget(path);
        this.keep.delete(pathText(path));
        if (node.kind !== 'object')
            return makeField(label, node, true, (value) => this.change(path, value));
        this.keepAll(path, node);
        return { node: this.group(path, node.properties), show: () => {} };
    }

    keepAll(path, node) {
        this.keep.add(pathText(path));
        for (const p of node.properties.filter((q) => q.node.kind === 'object'))
            this.keepAll([...path, p.name], p.node);
    }

    forget(path) {
        const start = `${pathText(path)}.`;
        for (const key of [...this.fields.keys(), ...this.groups.keys()]) {
            if (key.startsWith(start)) {
                this.fields.delete(key);
                this.groups.delete(key);
            }
        }
    }

    // Other fields below `path`: what a strategy wants depends on its name.
    replace(path, node) {
        const box = this.groups.get(pathText(path));
        this.forget(path);
        this.fill(clear(box), path, node.properties);
        this.show();
    }

    set(value) {
        this.current = value;
        for (const { box, name } of [...this.sections].map(([n, s]) => ({ box: s.box, name: n })))
            if (valueAt(value, [name]) !== undefined)
                box.open = true;
        this.clearErrors();
        this.show(true);
    }

    // What was typed but cannot be read.
    unread() {
        return [...this.fields].map(([key, field]) => ({ field: key.split('.'), text: field.unread && field.unread() })).filter((p) => p.text);
    }

    show(isAnew = false) {
        for (const [key, field] of [...this.fields])
            field.show(valueAt(this.current, key.split('.')), isAnew);
        for (const [name, { sum }] of this.sections) {
            const count = countSet(valueAt(this.current, [name]));
            sum.textContent = count ? `${count} set` : 'defaults';
        }
    }

    clearErrors() {
        clear(this.errors).hidden = true;
        for (const field of this.fields.values())
            field.fail(null);
    }

    // At the field, or at the nearest one above it; else on top of the form.
    showError(path, text) {
        let at = path;
        while (at.length && !this.fields.has(pathText(at)))
            at = at.slice(0, -1);
        const field = this.fields.get(pathText(at));
        const section = this.sections.get(path[0]);
        if (section)
            section.box.open = true;
        if (!field) {
            this.errors.hidden = false;
            this.errors.append(h('p', null, path.length ? [h('code', null, pathText(path)), ': '] : null, text));
            return null;
        }
        const rest = path.slice(at.length);
        field.fail(rest.length ? `${pathText(rest)}: ${text}` : text, rest);
        return field;
    }

    // problems: [{field: path, text}]; of each field the first. The first of all gets the focus.
    showErrors(problems) {
        this.clearErrors();
        const seen = new Set();
        const firsts = problems.filter(({ field }) => !seen.has(pathText(field)) && seen.add(pathText(field)));
        const places = firsts.map(({ field, text }) => this.showError(field, text));
        const first = places.find(Boolean);
        if (!this.errors.hidden)
            this.errors.focus();
        else if (first)
            first.focus();
    }
}

// → {node, value(), set(value), unread(), showErrors([{field, text}]), replace(path, node), setHint(path, text)}
export function schemaForm(node, value, options) {
    const form = new SchemaForm(node, value, options);
    return {
        node: form.node,
        value: () => form.current,
        set: (next) => form.set(next),
        showErrors: (problems) => form.showErrors(problems),
        clearErrors: () => form.clearErrors(),
        replace: (path, inner) => form.replace(path, inner),
        setHint: (path, text) => form.fields.get(pathText(path)).setHint(text),
        unread: () => form.unread(),
    };
}
