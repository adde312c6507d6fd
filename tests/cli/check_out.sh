#!/bin/sh
# `tmagen check --out` must see each way in which out/ is stale: drift, a missing file, an orphan.
# Run on copies of a few specs, in a folder of its own, so that the real out/ stays as it is.
set -u
bad=0
mkdir "$TMPDIR/specs"
cp specs/gemm_phase[12].yaml specs/gemm_64x64.yaml specs/resample_phase0.yaml "$TMPDIR/specs"
cd "$TMPDIR" || exit 1
spec=$(find specs -maxdepth 1 -name 'gemm*.yaml' | sort | head -n 1)
stem=$(basename "$spec" .yaml)
"$TMAGEN" gen -o out specs/*.yaml || exit 1

# fresh CODE WHAT - check --out must exit with CODE.
fresh() {
    "$TMAGEN" check --out specs/*.yaml >said 2>&1
    code=$?
    [ $code = "$1" ] || { echo "$2: exit code $code, not $1"; cat said; bad=1; }
}

fresh 0 "as generated"
cp "out/$stem.cu" kept
echo '// drift' >>"out/$stem.cu"
fresh 1 "a changed source"
rm "out/$stem.cu"
fresh 1 "a missing source"
cp kept "out/$stem.cu"
cp kept out/orphan.cu
fresh 1 "an orphan"
rm out/orphan.cu
mv "out/$stem.json" kept
fresh 1 "a missing manifest"
mv kept "out/$stem.json"
fresh 0 "as it was again"
cp "out/$stem.json" out/orphan.json
fresh 1 "an orphaned manifest"
rm out/orphan.json
for stray in "$stem.ptx" "$stem.cu.bak" note; do
    : >"out/$stray"
    fresh 1 "a stray file, $stray"
    rm "out/$stray"
done
mkdir out/folder
fresh 1 "a stray folder"
rmdir out/folder
: >out/EXPERIMENTS.md
fresh 0 "with a ledger"

# one spec alone: what others made is not its business, but what no spec makes is
"$TMAGEN" check --out "$spec" >said 2>&1 || { echo "one spec alone: $(cat said)"; bad=1; }
rm specs/gemm_phase2.yaml
"$TMAGEN" check --out "$spec" >said 2>&1 && { echo 'a spec that went is not missed'; bad=1; }
grep -q 'out/gemm_phase2.cu: is an orphan' said || { echo "it says: $(cat said)"; bad=1; }
grep -q 'out/gemm_phase2.json: is an orphan' said || { echo "it says: $(cat said)"; bad=1; }
exit $bad
