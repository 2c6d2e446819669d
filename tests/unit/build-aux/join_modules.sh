#!/bin/sh
# What build-aux/join-modules joins and what it refuses, and that what it made of web/ is one valid module.
set -eu
join=${top_srcdir:?}/build-aux/join-modules
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

fail() { printf 'FAIL: %s\n' "$1"; failed=1; }

# refused NAME TEXT COMPLAINT: a module of this text is not joined, and the complaint says where and why.
refused() {
    printf '%s\n' "$2" >"$dir/bad.js"
    if "$join" "$dir/good.js" "$dir/bad.js" >"$dir/out" 2>"$dir/err"; then
        fail "$1: joined"
    elif ! grep -q "bad\.js:[0-9]*: .*$3" "$dir/err"; then
        fail "$1: says $(cat "$dir/err")"
    fi
}

cat >"$dir/good.js" <<'JS'
export const limit = 3;
export function f() { return 'export const in a text'; }
export async function g() { return await f(); }
export class C {}
export let n = 0;
JS
cat >"$dir/user.js" <<'JS'
import { f } from './good.js';
import {
    g, limit,
} from "./good.js";
// import { x } from './nowhere.js';
const important = f() + limit;
    import('./chart.js');
g(important);
JS
cat >"$dir/want.js" <<'JS'
const limit = 3;
function f() { return 'export const in a text'; }
async function g() { return await f(); }
class C {}
let n = 0;
// import { x } from './nowhere.js';
const important = f() + limit;
    import('./chart.js');
g(important);
JS
"$join" "$dir/good.js" "$dir/user.js" >"$dir/got.js" || fail "two modules are not joined"
cmp "$dir/got.js" "$dir/want.js" || fail "two modules are joined otherwise"

refused "default import" "import f from './good.js';" "only"
refused "import of all" "import * as good from './good.js';" "only"
refused "renaming import" "import { f as other } from './good.js';" "only"
refused "import of what is not joined" "import { f } from './missing.js';" "missing.js"
refused "import of a package" "import { f } from 'chart.js';" "beside this one"
refused "import that never ends" "import { f" "does not end"
refused "import without a semicolon" "import { f } from './good.js'" "does not end"
refused "default export" "export default function f() {}" "only"
refused "list of exports" "export { f };" "only"
refused "export of another's" "export * from './good.js';" "only"
if "$join" "$dir/none.js" >"$dir/out" 2>&1; then fail "a file that is not there is joined"; fi

# Names at the top are unique over all modules: in one module, a second one is a syntax error.
if command -v node >/dev/null; then
    cp "${top_builddir:?}/web/assets/app.js" "$dir/app.mjs"
    node --check "$dir/app.mjs" || fail "web/assets/app.js is no valid module"
else
    echo "no node: the joined web/assets/app.js is not checked"
fi
exit $failed
