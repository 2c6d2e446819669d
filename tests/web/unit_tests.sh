#!/bin/sh
# The unit tests of the dashboard's logic, by node's own test runner; and that each module is one, and the joined file too: no name
# stands twice in it.
set -eu
command -v node >/dev/null || { echo "skipped: no node; install Debian's nodejs"; exit 77; }
[ -z "${ASAN_OPTIONS+x}${TSAN_OPTIONS+x}" ] || { echo "skipped: node runs the same under sanitizers; the other build's test does"; exit 77; }
src=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${top_builddir:-$src/build}

joined=$(mktemp --suffix=.mjs)
trap 'rm -f "$joined"' EXIT
cat "$build/web/assets/app.js" >"$joined"
node --check "$joined"
for module in "$src"/web/js/*.js; do
    node --check "$module"
done
node --test "$src"/tests/web/unit/*.test.mjs
