#!/usr/bin/env bash
# templates/README.md, the manual for authors of families, is true: its commands work where nothing
# else is, its tables have the words that the generator takes and the files that there are, and its
# two examples are a family. measure/README.md lists every field of a reference.
set -u
bad=0
complain() { echo "$*"; bad=1; }
program=$(realpath "$TMAGEN") root=$PWD manual=$PWD/templates/README.md
work=$TMPDIR/work
mkdir -p "$work"
cd "$work" || exit 1

# section TITLE - the manual's text between that heading and the next.
section() { awk -v title="## $1" '/^## / { on = $0 == title; next } on' "$manual"; }

# quoted - what stands in backticks on stdin.
# shellcheck disable=SC2016
quoted() { grep -o '`[^`]*`' | tr -d '`'; }

# column HEAD - the words in backticks of the first column of the table on stdin that begins so.
column() {
    awk -F '|' -v head="| $1 |" '
        index($0, head) == 1 { on = 1; next }
        !/^\|/ { on = 0 }
        on { print $2 }' | quoted | sort
}

# legal TABLE - the words that the generator calls legal where family.lua has that TABLE of fields.
legal() {
    mkdir -p probe/probe
    echo 'kernel: probe' >probe.yaml
    cat >probe/probe/family.lua <<LUA
local family = { name = "probe", doc = "", arch = { "sm_90a" }, template = "t", knobs = {},
    plan = function() return {} end, manifest = function() return {} end }
for field, value in pairs $1 do family[field] = value end
return family
LUA
    echo >probe/probe/t
    "$program" check --templates probe probe.yaml 2>&1 |
        sed -n 's/^ *legal: //p' | sed 's/ or /, /' | tr -d ' ' | tr ',' '\n' | sort
}

# same WHAT MANUAL PROGRAM - both lists of words are the same, and not empty.
same() {
    [ -n "$3" ] || complain "$1: the program has none"
    diff <(echo "$2") <(echo "$3") >difference ||
        complain "$1: < in the manual, > in truth: $(cat difference)"
}

fields=$(section family.lua)
given() { grep -oE '[a-z_]+ =' | tr -d ' =' | sort; }
same 'fields of a family' "$(column field <<<"$fields")" "$(legal '{ nonsense = 1 }')"
same 'types of knobs' "$(column type <<<"$fields")" \
    "$(legal '{ knobs = { { "a", type = "nonsense", doc = "" } } }')"
same 'fields of a knob' \
    "$({
        sed -n 's/^|[^|]*|[^|]*|\(.*\)|$/\1/p' <<<"${fields#*A knob is}" | quoted
        grep -e '^A knob is' -e 'optional' <<<"$fields" | given
    } | sort -u)" \
    "$(legal '{ knobs = { { "a", type = "int", doc = "", nonsense = 1 } } }')"
same 'fields of a rung' "$(grep 'sets =' <<<"$fields" | given)" \
    "$(legal '{ phases = { [0] = { nonsense = 1 } } }')"
same 'fields of a check' "$(grep 'check =' <<<"$fields" | given)" \
    "$(legal '{ checks = { { "a", check = function() end, nonsense = 1 } } }')"
same 'fields of a reference' \
    "$(sed -n '/^reference = {/,/^}/s/^    \([a-z0-9_]*\) = .*/\1/p' "$root/measure/README.md" |
        sort)" \
    "$(legal '{ reference = { dims = { "m" }, small = {}, full = {}, nonsense = 1 } }')"
same 'files of lib' "$(section 'The plan' | column file)" \
    "$(cd "$root/templates/lib" && find . -mindepth 1 -maxdepth 1 -printf '%P%y\n' |
        sed 's/d$/\//; s/f$//' | sort)"
for path in $(section 'For this change, touch these files' | quoted | grep -x '[a-z]*/[a-z/_.]*')
do
    [ -e "$root/templates/$path" ] || [ -e "$root/$path" ] || complain "there is no $path"
done

# the examples: a manifest and a reference, which are those of one family
block() { awk -v open="^...$1\$" '$0 ~ open { on = 1; next } /^```/ { on = 0 } on' "$manual"; }
mkdir -p own/example
cat >own/example/family.lua <<LUA
local parameters, rows = require "parameters", require "rows"
local function both(s, plan)
$(block lua | sed 's/"FAMILY"/"example"/')
end
return { name = "example", doc = "", arch = { "sm_90a" }, template = "kernel.cu.in",
    manifest = both, knobs = { { "problem.m", type = "dim", default = "dynamic", doc = "rows" } },
    plan = function(s) local plan = {} both(s, plan) return plan end,
    reference = { dims = { "m" }, small = { { 8 } }, full = { { 8 } } } }
LUA
# shellcheck disable=SC2016
printf '%s\n' '$ local parameters = require "parameters"' 'extern "C" __global__ void' \
    '${parameters.signature(name, plan.parameters)}' '}' >own/example/kernel.cu.in
echo 'kernel: example' >example.yaml
"$program" gen --templates own example.yaml 2>said || complain "the example's manifest: $(cat said)"
block c >own/example/reference.c
"${TMAGEN_CC:-cc}" -std=c99 -Wall -Werror -Wno-unused-function -fsyntax-only \
    -I "$root/templates/lib" own/example/reference.c 2>said || complain "its reference: $(cat said)"

# the commands of its first screen, in a folder of their own; verify wants a compiler
mkdir first
cd first || exit 1
"$BUILD/scripts/find_nvrtc" >/dev/null 2>&1 || skipped='; no NVRTC for verify'
ran=0
while read -r _ command; do
    [ -z "${skipped:-}" ] || [ "${command%% *}" != verify ] || continue
    # shellcheck disable=SC2086
    "$program" ${command%%#*} >said 2>&1 || complain "tmagen $command: $(cat said)"
    ran=$((ran + 1))
done < <(grep '^    tmagen ' "$manual")
[ $ran -ge 2 ] || complain "the manual has $ran commands"
[ $bad = 0 ] || exit 1
[ -z "${skipped:-}" ] || { echo "${skipped#; }"; exit 77; }
