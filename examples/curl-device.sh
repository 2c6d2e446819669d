#!/usr/bin/env bash
# A device of federated learning in curl and a few lines of shell: it registers, claims a task, downloads the model, "trains"
# (adds 0.5 to every weight), uploads a valid safetensors file and sees its update counted. No Python, no jq.
# usage: curl-device.sh URL ADMIN_TOKEN_FILE ENROLLMENT_TOKEN_FILE
#   e.g. curl-device.sh http://127.0.0.1:8080 fedlane-data/admin.token fedlane-data/enrollment.token
set -euo pipefail
[ $# -eq 3 ] || { sed -n 's/^# \(usage.*\|  e\.g\..*\)/\1/p' "$0" >&2; exit 4; }
url=${1%/} here=$(cd "$(dirname "$0")" && pwd)
umask 077
work=$(mktemp -d)
device=
# The device leaves, so that its place is free for the next walk.
leave() {
    [ -z "$device" ] || curl -sS --noproxy '*' -o /dev/null -H @admin -X DELETE "$url/api/v1/devices/$device" || true
    rm -rf "$work"
}
trap leave EXIT

# A token on a command line is seen by everybody on the machine, so curl reads it from a file.
auth() { printf 'Authorization: Bearer %s\n' "$(head -n 1 "$1")" >"$work/$2"; }
auth "$2" admin
auth "$3" enroll
cd "$work"

say() { printf '\n# %s\n' "$*"; }
# Shows the command, runs it, keeps the answer and shows it, but no token.
call() {
    local word status=0
    printf '$ curl'
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9@:/._=-]*) printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    curl -sS --fail-with-body --noproxy '*' "$@" >answer || status=$?
    [ ! -s answer ] || sed 's/"token": *"[^"]*"/"token":"..."/' answer
    printf '\n'
    return "$status"
}
# The value of a member of the last answer: a text or a number.
member() { grep -o "\"$1\": *\"\?[^\",}]*" answer | head -n 1 | sed 's/^[^:]*: *"\?//'; }

say "An operator submits a run that wants one device of the dataset \"curl\""
call -H @admin -H 'Content-Type: application/json' --data-binary @"$here/curl-run.json" "$url/api/v1/runs"
run=$(member id)

say "The device registers with the enrollment token, and gets a token of its own"
call -H @enroll -H 'Content-Type: application/json' \
    -d '{"name": "curl", "dataset": "curl", "ordinal": 0, "num_examples": 10}' "$url/api/v1/devices"
device=$(member device_id)
printf 'Authorization: Bearer %s\n' "$(member token)" >device

say "It asks for work; the server holds the answer back for up to 30 s until there is some"
call -H @device -X POST "$url/api/v1/devices/$device/tasks:claim?wait=30"
task=$(member task_id) attempt=$(member attempt) steps=$(member max_steps)
weights=$(member weights_url) sha256=$(member weights_sha256)

say "It downloads the model, and checks it"
call -H @device -o model "$url$weights"
printf '%s  model\n' "$sha256" | sha256sum -c -

say "It trains: a safetensors file is 8 bytes with the header's length, a JSON header, and the numbers"
length=$(od -An -tu8 -N8 model | tr -d ' ')
head -c $((8 + length)) model | tail -c +9 >header
tail -c +$((9 + length)) model >numbers
cat header
printf '\n'
od -An -v -w4 -tf4 numbers | awk '
    # x + 0.5 as the four bytes of a float32, little end first, in octal for printf
    function escape(x, e, m, s) {
        if (x == 0) return "\\000\\000\\000\\000"
        s = x < 0; if (s) x = -x
        for (e = 127; x >= 2; e++) x /= 2
        for (; x < 1; e--) x *= 2
        m = int((x - 1) * 8388608 + 0.5)
        if (m == 8388608) { m = 0; e++ }
        return sprintf("\\%03o\\%03o\\%03o\\%03o", m % 256, int(m / 256) % 256, int(m / 65536) + 128 * (e % 2), 128 * s + int(e / 2))
    }
    { printf "%s", escape($1 + 0.5) }' >escaped
# shellcheck disable=SC2059 # the escapes are the format
printf "$(cat escaped)" >numbers

# What the update says about itself stands in the header: how often the task was tried, and how much work was done.
metadata="\"attempt\":\"$attempt\",\"num_examples\":\"10\",\"steps_done\":\"$steps\""
printf '{"__metadata__":{%s},%s' "$metadata" "$(sed 's/^{//; s/^"__metadata__":{[^}]*},//' header)" >header.new
cat header.new
printf '\n'
length=$(wc -c <header.new)
{
    for shift in 0 8 16 24 32 40 48 56; do
        # shellcheck disable=SC2059 # likewise
        printf "\\$(printf '%03o' $((length >> shift & 255)))"
    done
    cat header.new numbers
} >update

say "It uploads; the answer is the receipt"
call -H @device -H 'Content-Type: application/vnd.safetensors' -X PUT --data-binary @update "$url/api/v1/tasks/$task/update"
[ "$(member accepted)" = true ] || { echo "the update was not accepted" >&2; exit 1; }

say "The same again is the same receipt, counted once"
call -H @device -H 'Content-Type: application/vnd.safetensors' -X PUT --data-binary @update "$url/api/v1/tasks/$task/update"
[ "$(member duplicate)" = true ] || { echo "the repeat was not seen as one" >&2; exit 1; }

say "The round counts it, and makes the next model"
for _ in $(seq 100); do
    call -H @admin "$url/api/v1/runs/$run/rounds/0"
    [ "$(member status)" != closed ] || break
    sleep 0.1
done
[ "$(member status)/$(member received)" = closed/1 ] || { echo "the update was not counted" >&2; exit 1; }
call -H @admin -o model "$url/api/v1/runs/$run/models/1/weights"
length=$(od -An -tu8 -N8 model | tr -d ' ')
tail -c +$((9 + length)) model | od -An -v -w24 -tf4
