#!/usr/bin/env bash
# The demo behind ./dev demo: one server, two worker processes with 100 non-IID devices of Fashion-MNIST between them, and two
# runs with 90 % stragglers: FedAvg, which drops what is unfinished, and FedProx, which counts it.
# usage: demo.sh [--exit]    On a terminal it keeps serving until Ctrl-C, unless --exit is given.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/build/bin

keep=no
[ -t 1 ] && keep=yes
case "${1:-}" in
"") ;;
--exit) keep=no ;;
*) printf 'demo: unknown option %s; there is --exit\n' "$1" >&2; exit 4 ;;
esac

dir=build/demo
rm -rf "$dir"
mkdir -p "$dir"
pids=()
cleanup() {
    trap - EXIT INT TERM
    [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
}
trap cleanup EXIT
trap 'exit 130' INT TERM

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "Server"
"$bin/fedlane-server" --data-dir "$dir/data" --listen 127.0.0.1:0 >"$dir/server.log" 2>&1 &
pids+=($!)
for _ in $(seq 200); do
    url=$(sed -n 's/.*listening on \(http:[^ ]*\).*/\1/p' "$dir/server.log" | head -n 1)
    [ -z "$url" ] || break
    kill -0 "${pids[0]}" 2>/dev/null || { cat "$dir/server.log" >&2; exit 1; }
    sleep 0.05
done
[ -n "$url" ] || { cat "$dir/server.log" >&2; exit 1; }
echo "$url, data in $dir/data"
export FEDLANE_SERVER=$url
FEDLANE_TOKEN=$(cat "$dir/data/admin.token")
export FEDLANE_TOKEN

say "Two workers, 50 devices each, two kinds of clothing a device"
for range in 0-49 50-99; do
    "$bin/fedlane-worker" --server "$url" --enroll-token-file "$dir/data/enrollment.token" \
        --data examples/data/fashion-100.json --devices "$range" --threads 1 --state-dir "$dir/worker-$range" \
        --name "worker-$range" >"$dir/worker-$range.log" 2>&1 &
    pids+=($!)
    echo "devices $range: log in $dir/worker-$range.log"
done

say "Two runs: the same devices, the same 90 % stragglers, the same seed"
fedavg=$("$bin/fedlane" run submit examples/demo-fedavg.json --format json | sed -n 's/^ *"id": *"\([0-9a-f]*\)".*/\1/p' | head -n 1)
fedprox=$("$bin/fedlane" run submit examples/demo-fedprox.json --format json | sed -n 's/^ *"id": *"\([0-9a-f]*\)".*/\1/p' | head -n 1)
"$bin/fedlane" run watch "$fedavg" "$fedprox"

say "Result"
"$bin/fedlane" run compare "$fedavg" "$fedprox"
"$bin/fedlane" metrics plot "$fedavg" "$fedprox" -o "$dir/demo.svg" >/dev/null
echo "plot:   $dir/demo.svg"
echo "server: $url   (token in $dir/data/admin.token)"
if [ "$keep" = yes ]; then
    echo
    echo "Still serving; Ctrl-C ends it. Try:"
    echo "  build/bin/fedlane-server login-link --data-dir $dir/data     # a link to the dashboard"
    echo "  curl -H \"Authorization: Bearer \$(cat $dir/data/admin.token)\" $url/api/v1/runs"
    wait "${pids[0]}"
fi
