#!/usr/bin/env bash
# Every test, and at the end what was skipped and why.
#
#   tools/test.sh
#
# RECINTO_TEST_MODELS   a folder with models as tools/get-models.sh lays it out; without it they
#                       are fetched into ./models. When not all of them could be had, every test
#                       that needs a real model is listed as skipped, and none fails for it.
# RECINTO_REQUIRE_ALL=1 a skip is a failure (as in CI), and the largest test model is fetched too.
set -euo pipefail

cd -- "$(dirname -- "$0")/.."
cargo=${CARGO:-cargo}
require_all=${RECINTO_REQUIRE_ALL:-}
lacking='RECINTO_TEST_MODELS is not set'
[ "$require_all" = 0 ] && require_all=

if [ -n "${RECINTO_TEST_MODELS:-}" ]; then
  # Tests run in their own folders.
  RECINTO_TEST_MODELS=$(cd -- "$RECINTO_TEST_MODELS" && pwd) || {
    echo "test: error: RECINTO_TEST_MODELS names no folder" >&2
    exit 2
  }
  echo "test: models from $RECINTO_TEST_MODELS"
else
  mkdir -p models
  RECINTO_TEST_MODELS=$PWD/models
  if ! tools/get-models.sh models test > /dev/null; then
    # Half a folder would be a failure of each test that looks into the other half.
    unset RECINTO_TEST_MODELS
    lacking='the models could not be fetched'
    echo "test: $lacking; tests that need them are skipped" >&2
  elif [ -n "$require_all" ] && ! tools/get-models.sh models qwen15 > /dev/null; then
    echo 'test: qwen15 could not be fetched; what needs it is skipped' >&2
  fi
fi
if [ -n "${RECINTO_TEST_MODELS:-}" ]; then export RECINTO_TEST_MODELS; fi

log=$(mktemp)
trap 'rm -f -- "$log"' EXIT
status=0
# With the feature that writes spans, which is off by default: what the program says without it is
# tested on `recinto-local`, which is built alone. --show-output because a test that passes says
# only there that it skipped something.
"$cargo" test --locked --workspace --features recinto-cli/otel --no-fail-fast -- --show-output \
  2>&1 | tee "$log" || status=$?

# One answer where there is no network at all: a namespace without interfaces, as an ordinary user.
model=tests/golden/tiny/qwen2-plain.gguf
if unshare -rn true 2> /dev/null; then
  echo 'test: one answer in a network namespace without interfaces'
  offline=(timeout 300 unshare -rn "${CARGO_TARGET_DIR:-target}/debug/recinto" ask - -q
    --no-env-file --no-config)
  if ! "${offline[@]}" -m "$model" --max-tokens 3 <<< '¿Qué tal?' > /dev/null; then
    echo 'test: error: no answer without a network' >&2
    status=1
  fi
  # A repository that is cached: its name leads to its file in less than a second.
  cache=$(mktemp -d)
  mkdir -p "$cache/models--o--n/refs" "$cache/models--o--n/snapshots/c1"
  echo c1 > "$cache/models--o--n/refs/main"
  cp "$model" "$cache/models--o--n/snapshots/c1/m.gguf"
  if ! { HF_HUB_CACHE=$cache timeout 1 unshare -rn "${CARGO_TARGET_DIR:-target}/debug/recinto" \
    inspect o/n --no-env-file > /dev/null &&
    HF_HUB_CACHE=$cache "${offline[@]}" -m o/n --max-tokens 3 <<< '¿Qué tal?' \
      > /dev/null; }; then
    echo 'test: error: a cached repository is not found without a network' >&2
    status=1
  fi
  rm -r "$cache"
else
  echo 'test: not run: an answer in a namespace without a network (unshare -rn is not allowed here)'
fi

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
  printf '%s\n' "${skipped//RECINTO_TEST_MODELS is not set/$lacking}"
  if [ -n "$require_all" ] && [ "$status" = 0 ]; then
    echo 'test: error: a skip is a failure here (RECINTO_REQUIRE_ALL)' >&2
    status=1
  fi
else
  echo 'test: nothing was skipped'
fi
exit "$status"
