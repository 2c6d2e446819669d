// Checks a value before it is sent, and takes out of one what would be there anyway. Pure.

import { couldBe, optionOf } from './schema.js';

function numberProblem(schema, value, isWhole) {
    if (typeof value !== 'number' || !Number.isFinite(value))
        return isWhole ? 'A whole number is needed.' : 'A number is needed.';
    if (isWhole && !Number.isInteger(value))
        return 'A whole number is needed.';
    if (schema.minimum !== undefined && value < schema.minimum)
        return `It must be at least ${schema.minimum}.`;
    if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum)
        return `It must be greater than ${schema.exclusiveMinimum}.`;
    if (schema.maximum !== undefined && value > schema.maximum)
        return `It must be at most ${schema.maximum}.`;
    return null;
}

function textProblem(schema, value) {
    if (typeof value !== 'string')
        return 'A text is needed.';
    if (schema.minLength && value.length < schema.minLength)
        return 'It must not be empty.';
    if (schema.maxLength !== undefined && value.length > schema.maxLength)
        return `It must have at most ${schema.maxLength} characters; it has ${value.length}.`;
    if (schema.pattern && !new RegExp(schema.pattern, 'u').test(value))
        return schema.description ? `It does not have the right form: ${schema.description}` : 'It does not have the right form.';
    return null;
}

function listProblem(schema, value) {
    if (!Array.isArray(value) || !value.every(Number.isInteger))
        return 'Whole numbers are needed, with commas between them.';
    if (schema.minItems && value.length < schema.minItems)
        return `At least ${schema.minItems} number${schema.minItems === 1 ? ' is' : 's are'} needed.`;
    if (schema.maxItems !== undefined && value.length > schema.maxItems)
        return `At most ${schema.maxItems} numbers may stand here.`;
    return value.map((v) => numberProblem(schema.items || {}, v, true)).find(Boolean) || null;
}

function objectProblems(node, value, path) {
    if (!couldBe({ kind: 'map' }, value))
        return [{ field: path, text: 'An object is needed.' }];
    const known = new Set(node.properties.map((p) => p.name));
    const found = Object.keys(value).filter((name) => !node.isOpen && !known.has(name))
        .map((name) => ({ field: [...path, name], text: `There is no field “${name}” here.` }));
    for (const { name, isRequired, node: inner } of node.properties) {
        const at = [...path, name];
        if (value[name] === undefined) {
            if (isRequired)
                found.push({ field: at, text: 'This is needed.' });
        } else {
            found.push(...problemsOf(inner, value[name], at));
        }
    }
    return found;
}

function ownProblem(node, value) {
    switch (node.kind) {
    case 'number': return numberProblem(node.schema, value, false);
    case 'integer': return numberProblem(node.schema, value, true);
    case 'string': return textProblem(node.schema, value);
    case 'integers': return listProblem(node.schema, value);
    case 'boolean': return typeof value === 'boolean' ? null : 'Yes or no is needed.';
    case 'enum': return node.values.includes(value) ? null : `It must be one of ${node.values.join(', ')}.`;
    case 'map': return couldBe(node, value) && Object.values(value).every((v) => typeof v === 'string') ? null : 'Names with texts are needed.';
    default: return null;
    }
}

// [{field: path, text}]. The server has the last word; this only saves asking it.
export function problemsOf(node, value, path = []) {
    if (value === null && node.isNullable)
        return [];
    if (node.kind === 'object')
        return objectProblems(node, value, path);
    if (node.kind === 'choice')
        return problemsOf(node.options[optionOf(node, value)].node, value, path);
    const text = ownProblem(node, value);
    return text ? [{ field: path, text }] : [];
}

function isDefault(node, value) {
    return node.default !== undefined && JSON.stringify(node.default) === JSON.stringify(value);
}

// The value without what the defaults say already; null where it may be left out. undefined: nothing is left.
export function withoutDefaults(node, value) {
    if (value === null && node.isNullable)
        return undefined;
    if (node.kind === 'object' && couldBe({ kind: 'map' }, value)) {
        const kept = Object.entries(value).map(([name, v]) => {
            const property = node.properties.find((p) => p.name === name);
            return [name, !property ? v : property.isRequired && property.node.kind !== 'object' ? v : withoutDefaults(property.node, v)];
        }).filter(([, v]) => v !== undefined);
        return kept.length ? Object.fromEntries(kept) : undefined;
    }
    return isDefault(node, value) ? undefined : value;
}
