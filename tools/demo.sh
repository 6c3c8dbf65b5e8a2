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
[ -x "$recinto" ] || { echo "demo: error: no program at $recinto; run make build" >&2; exit 2; }
[ -f "$RECINTO_MODEL" ] || { echo "demo: error: no model at $RECINTO_MODEL" >&2; exit 2; }

title() { printf '\n== %s\n\n' "$1"; }

# Prompts go in by stdin: other users of the machine can see arguments. -q and --no-env-file keep
# the run the same wherever it starts.
ask() { "$recinto" ask - --no-env-file -q --temperature 0 "$@"; }

trimmed() {
  local text=$1
  text=${text#"${text%%[![:space:]]*}"}
  printf '%s' "${text%"${text##*[![:space:]]}"}"
}

title "Question ($demo/question.txt)"
cat -- "$demo/question.txt"
printf '\n'
ask --system-file "$demo/prompts/answer.txt" --max-tokens 120 < "$demo/question.txt"

title "Messages to route ($demo/messages.tsv, $demo/labels.txt)"
mapfile -t labels < <(tr -d '\r' < "$demo/labels.txt" | sed 's/^[[:space:]]*//; s/[[:space:]]*$//; /^$/d')
[ ${#labels[@]} -gt 0 ] || { echo "demo: error: no label in $demo/labels.txt" >&2; exit 2; }
list=$(printf '%s, ' "${labels[@]}")
rules=$(< "$demo/prompts/route.txt")
rules=${rules//'{labels}'/"${list%, }"}

is_label() {
  local label
  for label in "${labels[@]}"; do [ "$1" = "$label" ] && return 0; done
  return 1
}

total=0 right=0 wrong=0 refused=0
printf '%-8s %-12s %-12s %s\n' verdict answered label message
while IFS=$'\t' read -r label message || [ -n "$label" ]; do
  case $label in '' | '#'*) continue ;; esac
  message=${message%$'\r'}
  is_label "$label" || {
    echo "demo: error: '$label' in $demo/messages.tsv is no label of $demo/labels.txt" >&2
    exit 2
  }
  answer=$(printf '%s' "$message" | ask -s "$rules" --max-tokens 8)
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
  printf '%-8s %-12s %-12s %s\n' "$verdict" "${answer//$'\n'/ }" "$label" "$message"
done < "$demo/messages.tsv"
printf '\n%d of %d right, %d wrong, %d refused (no label)\n' "$right" "$total" "$wrong" "$refused"

for language in es en; do
  title "Summary ($demo/$language.txt)"
  prompt=$(< "$demo/prompts/summary-$language.txt")
  text=$(tr -d '\r' < "$demo/$language.txt")
  prompt=${prompt//"{text}"/"$text"}
  printf "%s" "$prompt" | ask --max-tokens 120
done

title 'What ran (recinto status)'
status=$("$recinto" status --no-env-file)
printf '%s\n' "$status" | grep -E '^(model|level|engine|weights|arch text|engine code)  *'
