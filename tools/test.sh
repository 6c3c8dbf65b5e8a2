#!/usr/bin/env bash
# Every test, and at the end what was skipped and why.
#
#   tools/test.sh
#
# RECINTO_TEST_MODELS   a folder with models as tools/get-models.sh lays it out; without it they
#                       are fetched into ./models. What cannot be fetched is skipped, not failed.
# RECINTO_REQUIRE_ALL=1 a skip is a failure (as in CI), and the largest test model is fetched too.
set -euo pipefail

cd -- "$(dirname -- "$0")/.."
cargo=${CARGO:-cargo}
require_all=${RECINTO_REQUIRE_ALL:-}
[ "$require_all" = 0 ] && require_all=

if [ -n "${RECINTO_TEST_MODELS:-}" ]; then
  # Tests run in their own folders.
  RECINTO_TEST_MODELS=$(cd -- "$RECINTO_TEST_MODELS" && pwd) || {
    echo "test: error: RECINTO_TEST_MODELS names no folder" >&2
    exit 2
  }
  echo "test: models from $RECINTO_TEST_MODELS"
else
  names=(test)
  if [ -n "$require_all" ]; then names+=(qwen15); fi
  mkdir -p models
  tools/get-models.sh models "${names[@]}" > /dev/null ||
    echo 'test: not every model could be fetched; tests that need the others are skipped' >&2
  RECINTO_TEST_MODELS=$PWD/models
fi
export RECINTO_TEST_MODELS

log=$(mktemp)
trap 'rm -f -- "$log"' EXIT
status=0
# --show-output because a test that passes says only there that it skipped something.
"$cargo" test --locked --workspace --no-fail-fast -- --show-output 2>&1 | tee "$log" || status=$?

# Escape sequences of a coloured run are in the way of the patterns.
plain() { sed 's/\x1b\[[0-9;]*m//g' "$log"; }
skipped=$(plain | sed -n 's/^skipped: /  /p; s/^test \(.*\) \.\.\. ignored,* */  \1: ignored; /p' | sort -u)
counts=$(plain | awk '/^test result:/ {
  for (i = 2; i <= NF; i++) {
    if ($i ~ /^passed/) passed += $(i - 1)
    if ($i ~ /^failed/) failed += $(i - 1)
  }
  runs++ } END { printf "%d passed, %d failed, in %d runs", passed, failed, runs }')
echo
echo "test: $counts"
if [ -n "$skipped" ]; then
  echo "test: skipped $(wc -l <<< "$skipped"):"
  printf '%s\n' "$skipped"
  if [ -n "$require_all" ] && [ "$status" = 0 ]; then
    echo 'test: error: a skip is a failure here (RECINTO_REQUIRE_ALL)' >&2
    status=1
  fi
else
  echo 'test: nothing was skipped'
fi
exit "$status"
