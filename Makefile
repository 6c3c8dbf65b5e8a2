# make demo     build, fetch small models into ./models, run the main job on real input
# make test     every test; models are fetched into ./models unless RECINTO_TEST_MODELS names them
# make lint     formatting, clippy, docs, scripts and the lock file of fuzz/, without a warning
# make fuzz     random files, templates, vocabularies, policies and texts, FUZZ_SECONDS in all
# make models   only fetch
#
# make demo MODEL=/path/to/model.gguf uses that file and fetches no model.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.PHONY: help build models demo test lint fuzz

CARGO ?= cargo
FUZZ_SECONDS ?= 30
# Where cargo puts what it builds.
TARGET = $${CARGO_TARGET_DIR:-target}
# A path may hold spaces and quotes, so it reaches the shell as a variable and not as text.
export MODEL FUZZ_SECONDS

help:
	@sed -n 's/^# \{0,1\}//p; /^$$/q' Makefile

build:
	@$(CARGO) build --release --locked -p recinto-cli

models:
	@tools/get-models.sh models test > /dev/null

demo: build
	@model=$${MODEL:-}
	if [ -z "$$model" ]; then model=$$(tools/get-models.sh models demo); fi
	tools/demo.sh "$(TARGET)/release/recinto" "$$model"

test:
	@CARGO="$(CARGO)" tools/test.sh

lint:
	@$(CARGO) fmt --all --check
	# Cargo does not see the modules that a macro declares.
	find crates src tests fuzz/targets -name '*.rs' -not -path '*/target/*' -print0 |
	  xargs -0 rustfmt --edition 2024 --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked --workspace --features recinto-cli/otel --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps
	# Its own workspace, so nothing above would see that its lock file is stale.
	$(CARGO) metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml > /dev/null || {
	  echo 'lint: error: see above; if fuzz/Cargo.lock is stale, renew it:' >&2
	  echo '  cargo metadata --format-version 1 --manifest-path fuzz/Cargo.toml > /dev/null' >&2
	  exit 1
	}
	for script in tools/*.sh .ci/run; do bash -n "$$script"; done
	if command -v shellcheck > /dev/null; then shellcheck tools/*.sh .ci/run
	else echo 'lint: skipped: shellcheck is not installed'; fi

fuzz:
	@tools/fuzz.sh "$$FUZZ_SECONDS"
