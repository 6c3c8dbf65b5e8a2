#!/bin/sh
# Feeds random bytes to the readers of GGUF files, checkpoints, arch files, templates, answers,
# vocabularies, lock files, policies, files of settings and texts.
#
#   tools/fuzz.sh SECONDS [TARGET...]
#
# Builds the targets of fuzz/Cargo.toml once, with the stable toolchain (cargo and a C++ compiler,
# nothing else), and runs them one after another, from the seeds in fuzz/seeds/TARGET and what
# earlier runs found in fuzz/corpus/TARGET. SECONDS are for all of them together, shared evenly, but
# each runs for at least 7. Ends with 1 when an input made a target crash, hang or take too much
# memory; the input is then in fuzz/artifacts/TARGET. Ends with 2 when nothing could be run.
set -eu

seconds=${1:-}
case $seconds in
'' | *[!0-9]* | 0) echo "usage: tools/fuzz.sh SECONDS [TARGET...]" >&2; exit 2 ;;
esac
shift

cd "$(dirname "$0")/../fuzz"
command -v cargo >/dev/null || { echo "fuzz: cargo is missing" >&2; exit 2; }
command -v "${CXX:-c++}" >/dev/null || { echo "fuzz: a C++ compiler is missing" >&2; exit 2; }

if [ $# -eq 0 ]; then
    # Every [[bin]] of the manifest, in its order.
    # shellcheck disable=SC2046  # the names are split on purpose
    set -- $(awk '/^\[/ { bin = ($0 == "[[bin]]") }
        bin && $1 == "name" { gsub(/"/, "", $3); print $3 }' Cargo.toml)
fi

# What cargo-fuzz passes, without its nightly parts. A target triple is given so that the flags
# reach the targets and not the build scripts, which have no fuzzer to link with.
triple=$(rustc -vV | sed -n 's/^host: //p')
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags="$flags -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags="$flags -Cllvm-args=-sanitizer-coverage-pc-table"
flags="$flags -Cllvm-args=-sanitizer-coverage-trace-compares"
RUSTFLAGS="${RUSTFLAGS:-} $flags" cargo build --release --locked --target "$triple" || exit 2

each=$((seconds / $#))
[ "$each" -ge 7 ] || each=7

# Good texts that stand elsewhere in the house.
seeds() {
    echo "seeds/$1"
    case $1 in
    arch) echo ../crates/arch/archs ../crates/arch/tests/ok ;;
    template | go_template) echo ../crates/chat/tests/templates ;;
    tokenizer_json) echo ../crates/tokenizer/tests/golden/json ;;
    esac
}

folder=${CARGO_TARGET_DIR:-target}/$triple/release
failed=0
for target in "$@"; do
    if [ ! -x "$folder/$target" ]; then
        echo "fuzz: no target called $target" >&2
        exit 2
    fi
    mkdir -p "corpus/$target" "artifacts/$target" "seeds/$target"
    echo "fuzz: $target for $each s"
    # shellcheck disable=SC2046  # the folders are split on purpose
    "$folder/$target" "corpus/$target" $(seeds "$target") \
        -max_total_time="$each" -artifact_prefix="artifacts/$target/" \
        -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256 -max_len=65536 \
        -print_final_stats=1 || failed=1
done
if [ "$failed" -ne 0 ]; then
    echo "fuzz: failed; the inputs are in fuzz/artifacts" >&2
    exit 1
fi
