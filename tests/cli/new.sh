#!/usr/bin/env bash
# What `tmagen new` makes works as it is: it generates, explains itself, compiles and computes what
# its own reference says. And it never writes over what is there.
set -u
bad=0
complain() { echo "$*"; bad=1; }
program=$(realpath "$TMAGEN")
work=$TMPDIR/work
mkdir -p "$work"
cd "$work" || exit 1

"$program" new doubled >said || complain "new fails: $(cat said)"
[ "$(cat said)" = 'templates/doubled/family.lua
templates/doubled/kernel.cu.in
templates/doubled/reference.c
specs/doubled.yaml
now: tmagen verify --templates templates specs/doubled.yaml' ] || complain "it says: $(cat said)"
grep -rq FAMILY templates specs && complain 'FAMILY is left'
export TMAGEN_TEMPLATES=templates TMAGEN_CACHE=$TMPDIR/cache
"$program" gen doubled --set 'problem.n=[dynamic, 4096]' || complain 'it does not generate'
"$program" explain doubled | grep -q 'threads of a CTA' || complain 'it does not explain itself'
"$program" check doubled --set problem.n=7 2>said && complain 'its check does not hold'
grep -q 'threads: 256 for 7 elements' said || complain "its check says: $(cat said)"

cp -r . ../before
"$program" new doubled 2>said && complain 'a family is made twice'
"$program" new --templates other doubled 2>said && complain 'its spec is written over'
for name in gemm lib ptx quantise Large 9lives ../up ''; do
    "$program" new "$name" 2>said && complain "'$name' is taken for a family's name"
done
rmdir other/doubled other 2>/dev/null
"$program" new --templates '' tripled 2>said && complain 'a folder without a name is taken'
grep -q 'templates=: no such folder' said || complain "a folder without a name gives: $(cat said)"
"$program" new --templates other --templates nowhere tripled 2>said &&
    complain 'a further folder need not be there'
grep -q 'templates=nowhere: no such folder' said || complain "no second folder: $(cat said)"
diff -r . ../before -x said || complain 'a refused name left something behind'

if "$BUILD/scripts/find_nvrtc" >/dev/null 2>&1; then
    "$program" doubled >said 2>&1 || complain "it does not compile: $(cat said)"
    "$program" gen --ptx -o ptx doubled >said 2>&1 || complain "no PTX: $(cat said)"
    grep -q 'visible .entry doubled' ptx/doubled.ptx || complain 'there is no kernel in the PTX'
    sed -i 's/y\[i\] = .*/asm("bogus.f32 %0;" ::"f"(x[i]));/' templates/doubled/kernel.cu.in
    line=$(grep -n bogus templates/doubled/kernel.cu.in | cut -d: -f1)
    "$program" doubled >said 2>&1 && complain 'an unknown instruction is assembled'
    grep -q "generated from templates/doubled/kernel.cu.in:$line" said ||
        complain "the assembler's message names no template line: $(cat said)"
    cp ../before/templates/doubled/kernel.cu.in templates/doubled
    "$program" verify --device emu doubled >said 2>&1 || complain "it fails: $(cat said)"
    sed -i 's/= 2 \* x/= 3 * x/' templates/doubled/kernel.cu.in
    "$program" verify --device emu doubled >said 2>&1 && complain 'its reference takes 3 x for 2 x'
    grep -q WRONG said || complain "a wrong kernel gives: $(cat said)"
fi
exit $bad
