#!/usr/bin/env bash
# The table "for this change, touch these files" of templates/README.md, held to its word: each
# change is made in a scratch copy of the templates, works, and takes the files that it may take.
set -u
bad=0
complain() { echo "$*"; bad=1; }
program=$(realpath "$TMAGEN") root=$PWD
work=$TMPDIR/work
mkdir -p "$work/specs"
export TMAGEN_TEMPLATES=$work/templates

# fresh - the templates as they are.
fresh() {
    rm -rf "$work/templates"
    cp -r "$root/templates" "$work/templates"
}

# touched NUMBER WHAT - that many files of the templates differ from the tree's, or are new.
touched() {
    local count
    count=$(diff -rq "$root/templates" "$work/templates" | wc -l)
    [ "$count" = "$1" ] || complain "$2: touches $count files, may touch $1"
}

# gives TEXT WHAT ARGUMENTS... - the source of the spec has the text.
gives() {
    local text=$1 what=$2
    shift 2
    "$program" gen -o "$work/out" "$@" >"$work/said" 2>&1 || complain "$what: $(cat "$work/said")"
    grep -qF -- "$text" "$work"/out/*.cu || complain "$what: the source has no $text"
    rm -rf "$work/out"
}

# an op of gemm's epilogue is one row
fresh
sed -i '/{ name = "relu",/i\
    { name = "half", doc = "x / 2", cuda = "x * 0.5f", reference = "x / 2", linear = true },' \
    "$work/templates/gemm/epilogue/ops.lua"
gives '* 0.5f' 'an op' --set 'epilogue.ops=[half]' "$root/specs/gemm_64x64.yaml"
touched 1 'an op'

# a knob is one row; the template that reads it, one line
fresh
sed -i '/{ "threads", type = "int"/i\
    { "greeting", type = "int", default = 7, doc = "a number to show" },' \
    "$work/templates/deform_pair/family.lua"
"$program" explain deform_pair | grep -q 'a number to show' ||
    complain 'a knob does not explain itself'
"$program" check --set greeting=x "$root/specs/deform_pair.yaml" 2>"$work/said" &&
    complain 'a knob is not checked'
touched 1 'a knob'
# shellcheck disable=SC2016
echo '// greeting ${greeting}' >>"$work/templates/deform_pair/kernel.cu.in"
gives '// greeting 8' 'a knob in a template' --set greeting=8 "$root/specs/deform_pair.yaml"
touched 2 'a knob and the template that reads it'

# a PTX instruction is one function, in a file of one's own
fresh
printf '%s\n' '' '__device__ __forceinline__ void nanosleep(uint32_t nanoseconds) {' \
    '    asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds));' '}' >"$work/templates/ptx/sleep.cuh"
echo '__device__ void rest() { nanosleep(20); }' >>"$work/templates/deform_pair/kernel.cu.in"
gives 'nanosleep.u32' 'an instruction' "$root/specs/deform_pair.yaml"
touched 2 'an instruction and the template that names it'

# a family is one folder, outside the tree too
fresh
(cd "$work" && "$program" new --templates own scale >/dev/null) || complain 'a family is not made'
TMAGEN_TEMPLATES=$work/own gives '2 * x[i]' 'a family' "$work/specs/scale.yaml"
touched 0 'a family'
[ "$(ls "$work/own")" = scale ] || complain "a family is more than its folder: $(ls "$work/own")"
exit $bad
