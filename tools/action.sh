#!/usr/bin/env bash
# The steps of the GitHub Action, in a file so that they can be run and tested anywhere. Inputs come as environment variables and are
# never part of a command line that a shell reads.
set -uo pipefail
targets=()
while IFS= read -r line; do [ -n "$line" ] && targets+=("$line"); done <<<"${POSENC_TARGET:-}"
report="${POSENC_REPORT:-posenc-report}"
rm -f -- "$report"/{record.jsonl,report.html,junit.xml,summary.md,badge.svg} || exit 2 # of a run before this one
options=(--level "${POSENC_LEVEL:-core}" --jobs "${POSENC_JOBS:-2}" --report "$report")
[ -n "${POSENC_COMMAND:-}" ] && options+=(--command "$POSENC_COMMAND")
[ -n "${POSENC_BASELINE:-}" ] && options+=(--baseline "$POSENC_BASELINE")
[ -n "${POSENC_SHARD:-}" ] && options+=(--shard "$POSENC_SHARD")
"${POSENC_PYTHON:-python}" -P -m posenc check "${options[@]}" -- "${targets[@]}"
status=$?
if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -f "$report/summary.md" ]; then
  cat -- "$report/summary.md" >>"$GITHUB_STEP_SUMMARY"
fi
[ "$status" = 0 ] && [ ! -f "$report/summary.md" ] && status=3 # what ran was not posenc
exit "$status"
