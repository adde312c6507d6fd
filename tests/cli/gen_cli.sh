#!/usr/bin/env bash
# The generator's command line where the surroundings are hostile: odd arguments, a full disk, a
# folder that cannot be, a kill at any moment. Whatever happens, out/ holds old files or new ones.
set -u
bad=0
export TMAGEN_TEMPLATES=tests/fixtures/families
work=$TMPDIR/work
mkdir -p "$work"
printf 'kernel: tiny\n' >"$work/a.yaml"
printf 'kernel: tiny\nstages: [2, 3]\n' >"$work/b.yaml"

complain() { echo "$*"; bad=1; }

# exits CODE WHAT COMMAND... - runs it quietly; what it said goes to $work/said.
exits() {
    local wanted=$1 what=$2
    shift 2
    "$@" >"$work/said" 2>&1
    local code=$?
    [ $code = "$wanted" ] ||
        complain "$what: exit code $code, expected $wanted: $(cat "$work/said")"
}

says() { grep -q -- "$1" "$work/said" || complain "'$1' was not said, but: $(cat "$work/said")"; }

exits 2 'no arguments' "$TMAGEN"
exits 0 help "$TMAGEN" --help; says 'tmagen explain'
exits 0 version "$TMAGEN" --version; says '^tmagen [0-9]'
# shellcheck disable=SC2016  # it is the inner shell's
exits 1 'output that is lost' sh -c '"$0" explain tiny >/dev/full' "$TMAGEN"
says 'tmagen: error: standard output: No space left on device'
# shellcheck disable=SC2016
exits 1 'help that is lost' sh -c '"$0" gen --help >/dev/full' "$TMAGEN"
# shellcheck disable=SC2016
exits 1 'output that is closed' sh -c '"$0" --version >&-' "$TMAGEN"
says 'tmagen: error: standard output: Bad file descriptor'
exits 2 'a wrong option' "$TMAGEN" gen --nonsense
exits 2 'no spec' "$TMAGEN" gen
exits 0 "folders of templates in the variable" \
    env TMAGEN_TEMPLATES=tests/nowhere:tests/fixtures/families \
    "$TMAGEN" gen -o "$work/out" "$work/a.yaml"
exits 2 "a folder of templates that is none" \
    "$TMAGEN" gen --templates "$work" --templates tests/nowhere -o "$work/out" "$work/a.yaml"
says 'templates=tests/nowhere: no such folder'
exits 2 'three specs to diff' "$TMAGEN" diff "$work/a.yaml" "$work/a.yaml" "$work/a.yaml"
exits 0 'help of a command' "$TMAGEN" check --help; says 'templates=DIR'
exits 1 'a stem that is nothing' "$TMAGEN" gen nothing_of_this_name
says 'specs/nothing_of_this_name.yaml'

# a stem is found below specs/, and in the header that is the path
mkdir -p "$work/specs"
cp "$work/a.yaml" "$work/specs/stem.yaml"
program=$(realpath "$TMAGEN") families=$(realpath tests/fixtures/families)
exits 0 'a stem' env -C "$work" TMAGEN_TEMPLATES="$families" "$program" gen stem
grep -q 'spec: specs/stem.yaml' "$work/out/stem.cu" ||
    complain 'the header does not name specs/stem.yaml'
exits 0 'the same from within specs' \
    env -C "$work/specs" TMAGEN_TEMPLATES="$families" "$program" gen stem.yaml
cmp "$work/out/stem.cu" "$work/specs/out/stem.cu" ||
    complain 'the source depends on where tmagen was started'

# templates beside the spec that are not those inside: a remark, once, unless it is said which
cp -r "$families" "$work/templates"
cp -r templates/deform_pair templates/lib "$work/templates"
pair() { exits 0 "$1" env -u TMAGEN_TEMPLATES -C "$work" "${@:2}"; }
remarks() {
    [ "$(grep -c ' differs from the one inside' "$work/said")" = "$1" ] ||
        complain "$2: not $1 remark on ./templates, but: $(cat "$work/said")"
}
printf 'kernel: deform_pair\n' | tee "$work/woven.yaml" >"$work/again.yaml"
pair 'templates as inside' "$program" gen woven.yaml; remarks 0 'templates as inside'
echo '-- later' | tee -a "$work"/templates/deform_pair/{manifest,plan}.lua >/dev/null
pair 'other templates' "$program" gen woven.yaml again.yaml; remarks 1 'other templates'
says '^templates/deform_pair/plan.lua: note: .*--templates templates'
pair 'explaining' "$program" explain deform_pair; remarks 1 'explaining'
pair 'a given folder' "$program" gen woven.yaml --templates templates; remarks 0 'a given folder'
pair 'an empty variable' env TMAGEN_TEMPLATES= "$program" gen woven.yaml
remarks 0 'an empty variable'
rm -r "$work/templates/deform_pair"
pair 'no such family there' "$program" gen woven.yaml; remarks 0 'no such family there'
rm -r "$work/templates"

# files that do not change keep their time; those that do are replaced
exits 0 'a first run' "$TMAGEN" gen -o "$work/o/p/q" "$work/b.yaml"
touch -d '2001-01-01' "$work"/o/p/q/*
echo changed >>"$work/o/p/q/b_stages3.cu"
touch -d '2001-01-01' "$work/o/p/q/b_stages3.cu"
exits 0 'a second run' "$TMAGEN" gen -o "$work/o/p/q" "$work/b.yaml"
[ "$(find "$work/o" -type f -newermt 2002-01-01 | wc -l)" = 1 ] ||
    complain 'not exactly the changed file was written'

# places that cannot be written: a clear error, and nothing half written
exits 1 'a folder below a file' "$TMAGEN" gen -o "$work/a.yaml/out" "$work/a.yaml"
says 'cannot make the folder'
exits 1 'a file for a folder' "$TMAGEN" gen -o "$work/a.yaml" "$work/a.yaml"; says 'it is no folder'
mkdir -p "$work/blocked/a.json"
exits 1 'a folder for a file' "$TMAGEN" gen -o "$work/blocked" "$work/a.yaml"; says 'cannot write'
[ -z "$(find "$work/blocked" -type f -name '*.tmp')" ] ||
    complain 'a temporary file was left behind'

# a disk that is full after 1 KiB
(
    trap '' XFSZ
    ulimit -f 1
    "$TMAGEN" gen -o "$work/full" "$work/a.yaml" specs/gemm_phase1.yaml >"$work/said" 2>&1
)
[ $? = 1 ] || complain "a full disk was not noticed"
says "cannot write"
[ -z "$(ls -A "$work/full")" ] || complain "a full disk left $(ls "$work/full")"

# killed at any moment: each file is whole or absent, and the next run repairs all
"$TMAGEN" gen -o "$work/whole" "$work/b.yaml"
for round in $(seq 60); do
    rm -rf "$work/killed"
    "$TMAGEN" gen -o "$work/killed" "$work/b.yaml" 2>/dev/null &
    sleep "0.00$((round % 10))"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    for file in "$work"/killed/*.cu "$work"/killed/*.json; do
        [ ! -e "$file" ] || cmp -s "$file" "$work/whole/${file##*/}" ||
            complain "killed: $file is not whole"
    done
done
exits 0 'a run after kills' "$TMAGEN" gen -o "$work/killed" "$work/b.yaml"

# huge and odd specs
head -c 9000000 /dev/zero | tr '\0' '#' >"$work/huge.yaml"
exits 1 'a huge spec' "$TMAGEN" gen -o "$work/x" "$work/huge.yaml"; says 'too large'
mkfifo "$work/fifo.yaml"
exits 1 'a pipe as a spec' timeout 10 "$TMAGEN" gen -o "$work/x" "$work/fifo.yaml"
says 'no regular file'
head -c 100000 /dev/urandom >"$work/random.yaml"
exits 1 'random bytes' "$TMAGEN" gen -o "$work/x" "$work/random.yaml"
head -c 300000 /dev/zero | tr '\0' '[' >"$work/open.yaml"
exits 1 'three hundred thousand brackets' timeout 10 "$TMAGEN" gen -o "$work/x" "$work/open.yaml"
long=$(head -c 5000 /dev/zero | tr '\0' 'x')
exits 1 'a name too long for a file' "$TMAGEN" gen -o "$work/x" "$long"
[ ! -e "$work/x" ] || complain 'an error left something behind'

# templates in the folder at hand that are not the ones inside are not used without a word
mkdir -p "$work/tree/templates/gemm"
(cd templates/gemm && cp family.lua "$work/tree/templates/gemm/")
printf 'kernel: gemm\nphase: 1\n' >"$work/tree/p.yaml"
# shellcheck disable=SC2317    # called by exits
here() { (cd "$work/tree" && env -u TMAGEN_TEMPLATES "$TMAGEN" gen -o out p.yaml); }
exits 0 'the same templates' here
! grep -q "differs from the one inside" "$work/said" ||
    complain 'the same templates are said to differ'
echo '-- changed' >>"$work/tree/templates/gemm/family.lua"
exits 0 'other templates' here; says 'differs from the one inside tmagen'

# families inside are held to their knobs and rungs where they are explained
for file in templates/*/family.lua; do
    name=${file%/*}
    exits 0 "$file" "$TMAGEN" explain "${name#*/}"
done

# many specs in one call, each as if it were alone
for i in $(seq 50); do
    printf 'kernel: tiny\nname: many%d\nstages: %d\n' "$i" $((2 + i % 3)) >"$work/many$i.yaml"
done
exits 0 'many specs' "$TMAGEN" gen -o "$work/many" "$work"/many*.yaml
exits 0 'one of them' "$TMAGEN" gen -o "$work/alone" "$work/many7.yaml"
cmp "$work/many/many7.cu" "$work/alone/many7.cu" ||
    complain 'a spec among many differs from it alone'
exit $bad
