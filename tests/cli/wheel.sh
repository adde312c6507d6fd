#!/usr/bin/env bash
# The wheel and the source archive: what is in them, and that a fresh environment can use the wheel
# without the network, the tree or anything beside the C library.
set -u
# shellcheck source=tests/python/run.sh
. tests/python/run.sh
wheels=$TMPDIR/wheels
scripts/wheel.sh "$wheels" >"$TMPDIR/log" 2>&1
case $? in
0) ;;
3) tail -n 1 "$TMPDIR/log"; exit 77 ;;
*) cat "$TMPDIR/log"; exit 1 ;;
esac
cd "$TMPDIR" || exit 1
# its own pip would take longer to install than all else here; an old one knows no other Python
pip=(python3 -m pip --python fresh/bin/python)
if ! python3 -m venv --without-pip fresh || ! "${pip[@]}" --version >/dev/null 2>&1; then
    python3 -m venv --clear fresh || { echo "python3 has no venv"; exit 77; }
    pip=(fresh/bin/python -m pip)
fi
fail() { echo "$*"; exit 1; }
tag='py3-none-manylinux_2_[0-9]*_[a-z0-9_]*'
wheel=$(find "$wheels" -name "tmagen-*-$tag.whl")
[ -n "$wheel" ] || fail "no wheel with the tag $tag: $(ls "$wheels")"
unset PYTHONPATH
"${pip[@]}" install --quiet --no-index --no-deps "$wheel" || fail "pip install"

# The archive is the tree, and nothing that was made from it.
archive=$(find "$wheels" -name 'tmagen-*.tar.gz')
names=$(tar -tzf "$archive" | cut -d / -f 2-)
for name in pyproject.toml Makefile runtime/python/tmagen/_plan.py out/gemm_256x128.cu; do
    grep -qx "$name" <<<"$names" || fail "the archive has no $name"
done
! grep -E '^build/|\.o$|__pycache__' <<<"$names" || fail "the archive has what is made"

export TMAGEN_KERNELS='' TMAGEN_LIBRARY='' BUILD=/nowhere
fresh/bin/python -m tmagen --version | grep -q '^tmagen [0-9]' || fail "python -m tmagen"
[ "$(fresh/bin/tmagen --version)" = "$(fresh/bin/python -m tmagen --version)" ] || fail "tmagen"
fresh/bin/python - <<'PYTHON' || fail "the module"
import importlib.resources as resources, tmagen
package = resources.files("tmagen")
assert (package / "py.typed").is_file() and "site-packages" in str(package)
assert tmagen.load("gemm_256x128").name == "gemm_256x128"
assert tmagen.load("gemm_bf16_h200").name == "gemm_bf16_h200"
assert tmagen.load("gemm", tile={"m": 256, "n": 128}).manifest["block"]
assert tmagen.load("gemm_256x128", stages=3).manifest["tensors"][0]["dtype"] == "bf16"
try:
    tmagen.load("gemm_256x128", device="cuda:99")
except tmagen.Error as error:
    assert error.name in ("no driver", "no device"), error
PYTHON
