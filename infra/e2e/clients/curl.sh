#!/bin/sh
# Uses the API with curl: pages, fields, entity tags, compression, errors, SQL, the live stream. Environment: API, RUN.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
status() { curl -s -o "$work/body" -D "$work/head" -w '%{http_code}' "$@"; }
header() { grep -i "^$1:" "$work/head" | tail -n 1 | cut -d' ' -f2- | tr -d '\r'; }

[ "$(status "$API/healthz")" = 200 ] || fail "healthz: $(cat "$work/body")"
[ "$(status "$API/v1/runs/$RUN/steps?limit=1&fields=step,reward_mean")" = 200 ] || fail "steps: $(cat "$work/body")"
grep -q '^{"items":\[{"step":1,"reward_mean":' "$work/body" || fail "fields: $(cat "$work/body")"
cursor=$(sed 's/.*"next_cursor":"\([^"]*\)".*/\1/' "$work/body")
[ "$(status "$API/v1/runs/$RUN/steps?limit=1&fields=step&cursor=$cursor")" = 200 ] || fail "the next page"
grep -q '"step":2' "$work/body" || fail "the next page: $(cat "$work/body")"
echo "ok pages and fields"

[ "$(status "$API/v1/runs/$RUN/steps/1")" = 200 ] || fail "a step"
tag=$(header etag)
sleep 1
[ "$(status -H "if-none-match: $tag" "$API/v1/runs/$RUN/steps/1")" = 304 ] || fail "no 304 for a step that is done, $tag, $(header etag)"
echo "ok entity tags"

status -H 'accept-encoding: gzip' "$API/v1/runs/$RUN/steps" > "$work/status"
[ "$(header content-encoding)" = gzip ] || fail "no gzip"
curl -s --compressed "$API/v1/runs/$RUN/steps" | grep -q '"items"' || fail "compressed steps"
echo "ok compression"

[ "$(status -H 'x-request-id: mine-1' "$API/v1/runs/$RUN/steps?nope=1")" = 400 ] || fail "a parameter that does not exist"
case "$(header content-type)" in application/problem+json*) ;; *) fail "no problem+json" ;; esac
grep -q '"request_id":"mine-1"' "$work/body" || fail "no request id: $(cat "$work/body")"
[ "$(status "$API/v1/runs/no-such-run")" = 404 ] || fail "a run that does not exist"
echo "ok errors"

sql() { curl -s "$API/v1/sql" -H 'content-type: application/json' -d "$1"; }
[ "$(sql '{"query": "SELECT {a:Int32} + 1", "params": {"a": 41}, "format": "CSV"}')" = 42 ] || fail "sql"
sql '{"query": "DROP TABLE turns"}' | grep -q SQL_REFUSED || fail "a DROP was not refused"
echo "ok sql"

# Reads the first events of the stream, and resumes after one of them: the second response begins with later events.
live() { timeout "${2:-20}" curl -sN "$API/v1/live?run=$RUN&type=TurnRecorded" ${1:+-H "last-event-id: $1"} 2>/dev/null | grep -m 3 '^id: ' | cut -d' ' -f2-; }
first=$(live '' | tail -n 1)
[ -n "$first" ] || fail "nothing came from the live stream (the run has to go on meanwhile)"
again=$(live "$first" | tail -n 1)
[ -n "$again" ] && [ "$again" != "$first" ] || fail "the stream did not go on after $first: $again"
echo "ok the live stream goes on where it was left"
