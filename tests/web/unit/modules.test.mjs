// Nothing stands in the modules that nobody uses: a name is exported for another module, or for a unit test of what its own uses.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';

const MODULES = new URL('../../../web/js/', import.meta.url);
const TESTS = new URL('./', import.meta.url);

function readAll(folder, ending) {
    const names = readdirSync(folder).filter((name) => name.endsWith(ending));
    return new Map(names.map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]));
}

function importsOf(text) {
    return [...text.matchAll(/^import \{([^}]*)\} from '[./a-z]*\/(\w+\.js)';/gm)]
        .flatMap(([, names, file]) => names.split(',').map((name) => name.trim()).filter(Boolean).map((name) => ({ name, file })));
}

// How often each word stands in it, but for comments and imports.
function wordsOf(text) {
    const counts = new Map();
    const plain = text.replace(/^import [^;]*;/gm, '').replace(/(^|\s)\/\/.*$/gm, '');
    for (const [word] of plain.matchAll(/[\w$]+/g))
        counts.set(word, (counts.get(word) ?? 0) + 1);
    return counts;
}

// What nobody uses, in words.
function unusedIn(modules, tests) {
    const wanted = (texts) => new Set([...texts.values()].flatMap(importsOf).map(({ name, file }) => `${file} ${name}`));
    const [forModules, forTests] = [wanted(modules), wanted(tests)];
    const unused = [];
    for (const [file, text] of modules) {
        const words = wordsOf(text);
        for (const { name } of importsOf(text))
            words.has(name) || unused.push(`${file} imports ${name} for nothing`);
        for (const [, exported, name] of text.matchAll(/^(export )?(?:async )?(?:function|const|let|class) ([\w$]+)/gm)) {
            const isUsedHere = words.get(name) > 1;
            const isFor = forModules.has(`${file} ${name}`) || (forTests.has(`${file} ${name}`) && isUsedHere);
            if (exported ? !isFor : !isUsedHere)
                unused.push(`${file} ${exported ? 'exports' : 'has'} ${name} for nobody`);
        }
    }
    return unused;
}

test('every name of a module is used', () => {
    const modules = readAll(MODULES, '.js');
    assert.ok(modules.size > 50);
    assert.deepEqual(unusedIn(modules, readAll(TESTS, '.mjs')), []);
});

test('what nobody uses is found', () => {
    const modules = new Map([
        ['a.js', "export function used() {}\nexport const tested = 1;\nused(tested);\nexport const onlyTested = 1;\nexport const none = 1;\nconst idle = 1; // idle"],
        ['b.js', "import { used, other } from './a.js';\nused();"],
    ]);
    const tests = new Map([['t.mjs', "import {\n    tested, onlyTested,\n} from '../../../web/js/a.js';"]]);
    assert.deepEqual(unusedIn(modules, tests), ['a.js exports onlyTested for nobody', 'a.js exports none for nobody', 'a.js has idle for nobody',
        'b.js imports other for nothing']);
});
