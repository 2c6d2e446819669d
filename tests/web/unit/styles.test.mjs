// No view's style reaches into another: what is shared stands in the shared files.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';

const FOLDER = new URL('../../../web/css/', import.meta.url);
const SHARED = ['tokens.css', 'base.css', 'layout.css', 'components.css', 'table.css'];

// The selectors of a style sheet's rules, one by one; at-rules are looked into.
function selectorsOf(text) {
    const plain = text.replace(/\/\*[^]*?\*\//g, '').replace(/@keyframes[^{]*\{([^{}]*\{[^{}]*\})*[^{}]*\}/g, '').replace(/@[^{;]*\{/g, '');
    return [...plain.matchAll(/([^{};]+)\{/g)].flatMap(([, list]) => list.split(/,(?![^(]*\))/)).map((one) => one.trim());
}

function classesOf(selector) {
    return [...selector.matchAll(/\.([a-zA-Z][\w-]*)/g)].map(([, name]) => name);
}

// What is wrong in sheets: Map of file -> text.
function strayRules(sheets) {
    const owners = new Map(SHARED.flatMap((file) => selectorsOf(sheets.get(file) ?? '').flatMap(classesOf)).map((name) => [name, 'all']));
    const stray = [];
    for (const [file, text] of sheets) {
        for (const selector of SHARED.includes(file) ? [] : selectorsOf(text)) {
            const own = classesOf(selector.split(/[\s>+~]/)[0]).filter((name) => (owners.get(name) ?? file) === file);
            own.forEach((name) => owners.set(name, file));
            if (own.length === 0)
                stray.push(`${file}: ${selector}`);
        }
    }
    return stray;
}

test('rules of views begin with a class of their own', () => {
    const files = readdirSync(FOLDER).filter((name) => name.endsWith('.css'));
    const sheets = new Map(files.map((name) => [name, readFileSync(new URL(name, FOLDER), 'utf8')]));
    assert.ok(SHARED.every((name) => sheets.has(name)) && sheets.size > SHARED.length, [...sheets.keys()].join());
    assert.deepEqual(strayRules(sheets), []);
});

test('strays are found', () => {
    const sheets = new Map([
        ['base.css', '.panel { x: y }'],
        ['a.css', '.a, .a b:has(c, d) > e { x: y } @media (width < 9px) { .a2.panel { x: y } } @keyframes k { to { x: y } }'],
        ['b.css', '.panel { x: y } details[open] > .b { x: y } @media print { summary { x: y } } .a b { x: y } .b, p { x: y }'],
    ]);
    assert.deepEqual(strayRules(sheets), ['b.css: .panel', 'b.css: details[open] > .b', 'b.css: summary', 'b.css: .a b', 'b.css: p']);
});
