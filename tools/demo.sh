#!/usr/bin/env bash
# The main job on real input: one question, ten messages to route, two paragraphs to summarise,
# and the digests of what ran. The texts are the files in demo/; edit them and run it again.
#
#   tools/demo.sh RECINTO MODEL [DEMO-FOLDER]
set -euo pipefail

[ $# -ge 2 ] || { echo 'usage: tools/demo.sh RECINTO MODEL [DEMO-FOLDER]' >&2; exit 2; }
recinto=$1
export RECINTO_MODEL=$2 RECINTO_PROVIDER=local
demo=${3:-$(cd -- "$(dirname -- "$0")/.." && pwd)/demo}
table=$demo/messages.tsv
# Widths count characters; in a locale without UTF-8 they would count bytes, and cut within one.
if [ "$(locale charmap 2> /dev/null)" != UTF-8 ]; then { export LC_ALL=C.UTF-8; } 2> /dev/null; fi

fail() { printf 'demo: error: %s\n' "$1" >&2; exit 2; }
[ -x "$recinto" ] || fail "no program at $recinto; run make build"
[ -f "$RECINTO_MODEL" ] || fail "no model at $RECINTO_MODEL"
for file in question.txt labels.txt messages.tsv es.txt en.txt \
  prompts/{answer,route,summary-es,summary-en}.txt; do
  [ -r "$demo/$file" ] || fail "$demo/$file is missing or cannot be read"
done

trimmed() {
  local text=$1
  text=${text#"${text%%[![:space:]]*}"}
  printf '%s' "${text%"${text##*[![:space:]]}"}"
}

# What people edit is checked before anything is computed.
mapfile -t labels < <(tr -d '\r' < "$demo/labels.txt" |
  sed 's/^[[:space:]]*//; s/[[:space:]]*$//; /^$/d')
[ ${#labels[@]} -gt 0 ] || fail "no label in $demo/labels.txt"
list=$(printf '%s, ' "${labels[@]}")
list=${list%, }

is_label() {
  local label
  for label in "${labels[@]}"; do [ "$1" = "$label" ] && return 0; done
  return 1
}

rights=() messages=() number=0
while IFS= read -r line || [ -n "$line" ]; do
  number=$((number + 1)) line=${line%$'\r'}
  # A byte order mark, which some editors put first.
  if [ "$number" -eq 1 ]; then line=${line#$'\xef\xbb\xbf'}; fi
  case $line in '#'*) continue ;; esac
  [ -n "$(trimmed "$line")" ] || continue
  at="$table, line $number"
  case $line in
    *$'\t'*) label=$(trimmed "${line%%$'\t'*}") message=$(trimmed "${line#*$'\t'}") ;;
    *) fail "$at: no TAB; a line is LABEL, one TAB, MESSAGE" ;;
  esac
  is_label "$label" || fail "$at: '$label' is no label of $demo/labels.txt ($list)"
  [ -n "$message" ] || fail "$at: no message after the TAB"
  rights+=("$label") messages+=("$message")
done < "$table"
[ ${#messages[@]} -gt 0 ] || fail "no message in $table; a line is LABEL, one TAB, MESSAGE"

title() { printf '\n== %s\n\n' "$1"; }

notes=$(mktemp)
trap 'rm -f -- "$notes"' EXIT

# Prompts go in by stdin: other users of the machine can see arguments. Without files of settings
# the run is the same wherever it starts.
ask() { "$recinto" ask - --no-env-file --no-config --temperature 0 "$@"; }

# ask_long TOKENS [OPTION...] : the same, and a line where the answer did not come to its end
ask_long() {
  local code=0
  ask --max-tokens "$@" 2> "$notes" || code=$?
  if [ "$code" -ne 0 ]; then
    cat -- "$notes" >&2
    return "$code"
  elif grep -q 'reached max_tokens' "$notes"; then
    printf '(cut at %d tokens)\n' "$1"
  else
    cat -- "$notes" >&2
  fi
}

title "Question ($demo/question.txt)"
cat -- "$demo/question.txt"
printf '\n'
ask_long 120 --system-file "$demo/prompts/answer.txt" < "$demo/question.txt"

title "Messages to route ($table, $demo/labels.txt)"
rules=$(< "$demo/prompts/route.txt")
rules=${rules//'{labels}'/"$list"}

# short TEXT WIDTH : at most WIDTH characters of it on one line, the last one … where it was cut
short() {
  local text=${1//$'\n'/ }
  if [ ${#text} -gt "$2" ]; then text=${text:0:$2 - 1}…; fi
  printf '%s' "$text"
}

# cell TEXT WIDTH : the same, with blanks up to the next column; printf would count bytes
cell() {
  local text
  text=$(short "$1" "$2")
  printf '%s%*s' "$text" $(($2 - ${#text} + 1)) ''
}

line() { cell "$1" 8; cell "$2" 12; cell "$3" 12; short "$4" 66; printf '\n'; }

total=0 right=0 wrong=0 refused=0
line verdict answered label message
for i in "${!messages[@]}"; do
  label=${rights[i]} message=${messages[i]}
  answer=$(printf '%s' "$message" | ask -q -s "$rules" --max-tokens 8)
  answer=$(trimmed "$answer")
  total=$((total + 1))
  # Only an exact label counts as an answer; anything near one is refused, not guessed at.
  if ! is_label "$answer"; then
    verdict=refused refused=$((refused + 1))
  elif [ "$answer" = "$label" ]; then
    verdict=right right=$((right + 1))
  else
    verdict=wrong wrong=$((wrong + 1))
  fi
  line "$verdict" "$answer" "$label" "$message"
  # What went wrong can be read in full.
  if [ "$verdict" != right ]; then
    if [ "$(short "$answer" 12)" != "$answer" ]; then
      printf '         answered: %s\n' "${answer//$'\n'/ }"
    fi
    if [ "$(short "$message" 66)" != "$message" ]; then
      printf '         message: %s\n' "$message"
    fi
  fi
done
printf '\n%d of %d right, %d wrong, %d refused (no label)\n' "$right" "$total" "$wrong" "$refused"

for language in es en; do
  title "Summary ($demo/$language.txt)"
  prompt=$(< "$demo/prompts/summary-$language.txt")
  text=$(tr -d '\r' < "$demo/$language.txt")
  prompt=${prompt//"{text}"/"$text"}
  printf '%s' "$prompt" | ask_long 120
done

title 'What ran (recinto status)'
status=$("$recinto" status --no-env-file --no-config)
printf '%s\n' "$status" | grep -E '^(model|level|engine|weights|arch text|engine code)  *'
