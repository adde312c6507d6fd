#!/usr/bin/env bash
# tmagen SPEC: generate, compile, cache, summary; and what it says where a step cannot be done.
# The compiler's message must name the template's line, since that is where the mistake is.
set -u
"$BUILD/scripts/find_nvrtc" || exit 77
bad=0
here=$PWD work=$TMPDIR/work
mkdir -p "$work"
cp -r tests/fixtures/families "$work/families"
cd "$work" || exit 1
export TMAGEN_TEMPLATES=families
printf 'kernel: tiny\nops: [gelu]\n' >a.yaml
printf 'kernel: tiny\nphase: 0\nbudget: {registers: 1, spill_bytes: 0}\n' >tight.yaml

complain() { echo "$*"; bad=1; }

# exits CODE WHAT COMMAND... - runs it; what it said goes to the files out and err.
exits() {
    local wanted=$1 what=$2
    shift 2
    "$@" >out.txt 2>err.txt
    local code=$?
    [ $code = "$wanted" ] ||
        complain "$what: exit code $code, expected $wanted: $(cat out.txt err.txt)"
}

says() { grep -Eq -- "$2" "$1.txt" || complain "'$2' was not said, but: $(cat "$1.txt")"; }

exits 0 'a first compile' "$TMAGEN" a.yaml
says out '^  source +out/a.cu, [0-9]+ lines$'
says out '^  key +[0-9a-f]{64}$'
says out '^  cache +miss; compiled in [0-9]+ ms by nvrtc'
says out '^  registers +[0-9]+ a thread$'
says out '^  spills +0 bytes a thread$'
says out '^  shared memory +16384 bytes dynamic, 16384 static$'
says out '^  occupancy +2 x 1024 threads an SM, limited by (registers|threads)$'
key=$(grep key out.txt)
exits 0 'the same again' "$TMAGEN" a.yaml
says out '^  cache +hit in [0-9.]+ ms$'
[ "$key" = "$(grep key out.txt)" ] || complain 'the key changed'

exits 1 'a budget that is too small' "$TMAGEN" tight.yaml
says err 'tight: uses [0-9]+ registers a thread; budget.registers is 1$'

exits 1 'a wrong spec beside a right one' "$TMAGEN" -o none a.yaml tight.yaml --set stages=99
[ ! -e none ] || complain 'an error left output'

# a mistake in a wrapper, one in a template, one in a partial
sed -i 's/return value;/return valu;/' families/ptx/tiny.cuh
sed -i 's/float ring/float rings/' families/tiny/staged.cu.in
sed -i 's/out\[i\] =/uot[i] =/' families/tiny/finish.cu.in
exits 1 'a source that does not compile' "$TMAGEN" a.yaml
grep -A 1 '"valu"' err.txt | grep -q 'generated from families/ptx/tiny.cuh:7$' ||
    complain 'the wrapper is not named'
grep -A 1 '"ring"' err.txt | grep -q 'generated from families/tiny/staged.cu.in:10$' ||
    complain 'the template is not named'
grep -A 1 '"uot"' err.txt | grep -q 'generated from families/tiny/finish.cu.in:4$' ||
    complain 'the partial is not named'
[ -e out/a.cu ] || complain 'the source is not there to be read'

# the assembler's message: the wrapper and both calls that brought it there
cp -r "$here/tests/fixtures/families/." families
sed -i 's/return value;/asm volatile("mov.u64 %0, 1;" : "+f"(value)); return value;/' \
    families/ptx/tiny.cuh
exits 1 'PTX that does not assemble' "$TMAGEN" a.yaml
says err '^ptxas .*ptx input, line [0-9]+'
tr '\n' ' ' <err.txt | grep -Eq "$(printf '  %s ' 'generated from families/ptx/tiny.cuh:7' \
    'called at families/ptx/tiny.cuh:11' 'called at families/tiny/staged.cu.in:10')" ||
    complain "the wrapper and its callers are not named: $(cat err.txt)"

exits 3 'no compiler' env TMAGEN_NVRTC=/nonexistent TMAGEN_CACHE="$work/fresh" "$TMAGEN" a.yaml
says err 'error: .*NVRTC'
says err 'note: the source is in out/a.cu'
exit $bad
