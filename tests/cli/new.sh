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

"$program" new quantise >said || complain "new fails: $(cat said)"
[ "$(cat said)" = 'templates/quantise/family.lua
templates/quantise/kernel.cu.in
templates/quantise/reference.c
specs/quantise.yaml
now: tmagen verify --templates templates specs/quantise.yaml' ] || complain "it says: $(cat said)"
grep -rq FAMILY templates specs && complain 'FAMILY is left'
export TMAGEN_TEMPLATES=templates
"$program" gen quantise --set 'problem.n=[dynamic, 4096]' || complain 'it does not generate'
"$program" explain quantise | grep -q 'threads of a CTA' || complain 'it does not explain itself'
"$program" check quantise --set problem.n=7 2>said && complain 'its check does not hold'
grep -q 'threads: 256 for 7 elements' said || complain "its check says: $(cat said)"

cp -r . ../before
"$program" new quantise 2>said && complain 'a family is made twice'
"$program" new --templates other quantise 2>said && complain 'its spec is written over'
for name in gemm lib ptx Large 9lives ../up ''; do
    "$program" new "$name" 2>said && complain "'$name' is taken for a family's name"
done
rmdir other/quantise other 2>/dev/null
diff -r . ../before -x said || complain 'a refused name left something behind'

if "$BUILD/scripts/find_nvrtc" >/dev/null 2>&1; then
    "$program" quantise >said 2>&1 || complain "it does not compile: $(cat said)"
    "$program" gen --ptx -o ptx quantise >said 2>&1 || complain "no PTX: $(cat said)"
    grep -q 'visible .entry quantise' ptx/quantise.ptx || complain 'there is no kernel in the PTX'
    sed -i 's/y\[i\] = .*/asm("bogus.f32 %0;" ::"f"(x[i]));/' templates/quantise/kernel.cu.in
    line=$(grep -n bogus templates/quantise/kernel.cu.in | cut -d: -f1)
    "$program" quantise >said 2>&1 && complain 'an unknown instruction is assembled'
    grep -q "generated from templates/quantise/kernel.cu.in:$line" said ||
        complain "the assembler's message names no template line: $(cat said)"
    cp ../before/templates/quantise/kernel.cu.in templates/quantise
    if "$program" verify --help | grep -q check-only; then
        "$program" verify --device emu quantise >said 2>&1 || complain "it fails: $(cat said)"
    fi
fi
exit $bad
