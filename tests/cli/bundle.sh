#!/usr/bin/env bash
# Bundles from the command line: the same bytes wherever and in whatever order, each way in which
# one is damaged or cannot be made, and a program that has all of its kernels inside, on the
# emulator.
set -u
# shellcheck source=tests/kernels.sh
. tests/kernels.sh
# shellcheck source=tests/checks.sh
. tests/checks.sh

# gives CODE PATTERN COMMAND... - what it says, on either stream, has the pattern.
gives() {
    exits "$1" "${@:3}"
    says "$2"
}
# shellcheck disable=SC2317    # gives calls it
bundle() { "$TMAGEN" bundle "$@"; }

cp specs/gemm_8x*.yaml specs/gemm_16x64.yaml "$TMPDIR"
printf '%s\n' 'dispatch: gemm' 'gpu: nvidia_h200' 'tmagen: 0.1.0' 'kernels:' '  - gemm_8x64' \
    '  - gemm_16x64' '  - {kernel: gemm_8x16_any, last: true}' >"$TMPDIR/few.yaml"
file=$TMPDIR/k.tmb
gives 0 ': 10 entries, ' bundle "$TMPDIR/few.yaml" --ptx -o "$file"
gives 0 '^gemm_8x64 +cubin +sm_90a +[0-9]+  [0-9a-f]{16}  key [0-9a-f]{16}  nvrtc ' \
    bundle ls "$file"
gives 0 '^few +table  +[0-9]+ ' bundle ls "$file"
gives 0 ': intact$' bundle verify "$file"

# The same entries, from another folder, in another order, each kernel twice, another cache, with
# what a compile gives and not a hit.
mkdir "$TMPDIR/other"
cp "$TMPDIR"/*.yaml "$TMPDIR/other"
(cd "$TMPDIR/other" && TMAGEN_CACHE=$TMPDIR/cache "$TMAGEN" bundle gemm_8x16_any.yaml \
    gemm_16x64.yaml few.yaml --ptx -o again.tmb --for sm_90a --for sm_90a few.yaml) >/dev/null ||
    fail "the second bundle"
cmp "$file" "$TMPDIR/other/again.tmb" || fail "two runs differ"
! grep -aq "$TMPDIR" "$file" || fail "a folder of this machine is in the bundle"

# Extracted, the entries are what the generator and the cache have.
gives 0 'y: extracted' bundle extract "$file" -o "$TMPDIR/x/y"
"$TMAGEN" gen --ptx -o "$TMPDIR/made" "$TMPDIR/few.yaml" || fail "gen"
cmp "$TMPDIR/x/y/few.json" "$TMPDIR/made/few.json" || fail "the table"
for kernel in gemm_8x64 gemm_16x64 gemm_8x16_any; do
    cmp "$TMPDIR/x/y/$kernel.sm_90a.json" "$TMPDIR/made/$kernel.json" || fail "a manifest"
    cmp "$TMPDIR/x/y/$kernel.sm_90a.ptx" "$TMPDIR/made/$kernel.ptx" || fail "PTX"
    readelf -h "$TMPDIR/x/y/$kernel.sm_90a.cubin" | grep -q 'NVIDIA CUDA' || fail "no cubin"
done
[ "$(find "$TMPDIR/x/y" -type f | wc -l)" = 10 ] || fail "not ten files"

# Applications of the library alone: one that is deployed, and many threads and a child at once.
gives 0 'table few opened in' "$BUILD/tests/deployed" emu "$file" gemm_8x64 few
gives 0 '^8 threads, 4 rounds: right' "$BUILD/tests/crowd" emu "$file" gemm_8x64 gemm_16x64
grep -q '^a child: .*forked' "$TMPDIR/said" || fail "a child: $(cat "$TMPDIR/said")"

# What is replaced is replaced as a whole: who has the old file keeps it.
exec 3<"$file"
cp "$file" "$TMPDIR/old"
gives 0 ': 2 entries' bundle "$TMPDIR/gemm_8x64.yaml" -o "$file"
cmp "$TMPDIR/old" /proc/self/fd/3 || fail "the file was written in place"
[ -z "$(find "$TMPDIR" -name '*.tmp')" ] || fail "a temporary is left"
cp "$TMPDIR/old" "$file"

# What is no file is not replaced by one.
mkfifo "$TMPDIR/pipe"
gives 1 'pipe: is no plain file' bundle "$TMPDIR/gemm_8x64.yaml" -o "$TMPDIR/pipe"
[ -p "$TMPDIR/pipe" ] || fail "the pipe was replaced"

# Damage.
size=$(stat -c %s "$file")
for at in 3 9 40 100 5000 $((size / 2)) $((size - 1)); do
    cp "$file" "$TMPDIR/bad"
    printf '\377' | dd of="$TMPDIR/bad" bs=1 seek="$at" conv=notrunc status=none
    gives 1 'tmagen: error: .*/bad: ' bundle verify "$TMPDIR/bad"
    gives 1 '' bundle extract "$TMPDIR/bad" -o "$TMPDIR/never"
done
[ ! -e "$TMPDIR/never" ] || fail "a damaged bundle was extracted"
head -c 5000 "$file" >"$TMPDIR/bad"
gives 1 'it is truncated' bundle ls "$TMPDIR/bad"
gives 1 'it is no bundle' bundle ls "$TMAGEN"
gives 1 'No such file' bundle ls "$TMPDIR/none"

# What cannot be made.
gives 2 '-o FILE is missing' bundle gemm_8x64
gives 2 'takes one FILE' bundle ls
gives 2 'takes one FILE' bundle verify "$file" "$file"
gives 2 '-o DIR is missing' bundle extract "$file"
gives 1 'cannot write .*No such file' bundle "$TMPDIR/gemm_8x64.yaml" -o "$TMPDIR/none/k.tmb"
gives 1 "arch: .*sm_80.*" bundle "$TMPDIR/gemm_8x64.yaml" --for sm_80 -o "$TMPDIR/k80.tmb"
[ ! -e "$TMPDIR/k80.tmb" ] || fail "a bundle without kernels"
TMAGEN_CACHE=$TMPDIR/empty TMAGEN_NVRTC=/none \
    gives 3 'cannot be compiled' bundle "$TMPDIR/gemm_8x64.yaml" -o "$TMPDIR/none.tmb"

# Several architectures, each with its own source: the load takes what the device runs.
cp -r tests/fixtures/own "$TMPDIR/own"
sed -i 's/arch = { "sm_90a" }/arch = { "sm_90a", "sm_80" }/' "$TMPDIR/own/gain/family.lua"
echo 'kernel: gain' >"$TMPDIR/g.yaml"
gives 0 ': 4 entries' bundle --templates "$TMPDIR/own" --for sm_80 --for sm_90a \
    "$TMPDIR/g.yaml" -o "$TMPDIR/gain.tmb"
gives 0 '^g +cubin +sm_80 ' bundle ls "$TMPDIR/gain.tmb"
gives 0 '^g +manifest +sm_90a ' bundle ls "$TMPDIR/gain.tmb"

# One file: the kernels in the program itself, by shape, without cache or compiler.
gives 0 'symbols: tmagen_bundle_my_kernels, tmagen_bundle_my_kernels_bytes' \
    bundle "$TMPDIR/few.yaml" --ptx --object -o "$TMPDIR/my-kernels.o"
cat >"$TMPDIR/app.c" <<'END'
#include <stdio.h>
#include <tmagen.h>
extern const unsigned char tmagen_bundle_my_kernels[];
extern const size_t tmagen_bundle_my_kernels_bytes;
#define CHECK(call) if (call) return puts(tmagen_error_last()), 1
int main(void) {
    enum { M = 24, N = 64, K = 16 };
    static unsigned short ones[N * K], result[M * N];
    tmagen_bundle *bundle;
    tmagen_device *device;
    tmagen_set *set;
    tmagen_address a, b, d;
    for (int i = 0; i < N * K; ++i) ones[i] = 0x3f80;
    CHECK(tmagen_device_open("emu", &device));
    CHECK(tmagen_bundle_from_memory(tmagen_bundle_my_kernels, tmagen_bundle_my_kernels_bytes,
                                    &bundle));
    CHECK(tmagen_bundle_open_set(bundle, device, "few", &set));
    tmagen_bundle_close(bundle);
    CHECK(tmagen_memory_alloc(device, sizeof ones, &a));
    CHECK(tmagen_memory_alloc(device, sizeof ones, &b));
    CHECK(tmagen_memory_alloc(device, sizeof result, &d));
    CHECK(tmagen_memory_upload(device, a, ones, sizeof ones));
    CHECK(tmagen_memory_upload(device, b, ones, sizeof ones));
    const tmagen_tensor tensors[] = {{.name = "a", .data = a, .rank = 2, .dims = {M, K}},
                                     {.name = "b", .data = b, .rank = 2, .dims = {N, K}},
                                     {.name = "d", .data = d, .rank = 2, .dims = {M, N}}};
    const tmagen_launch launch = {.tensors = tensors, .tensor_count = 3};
    CHECK(tmagen_set_launch(set, NULL, &launch));
    CHECK(tmagen_memory_download(device, result, d, sizeof result));
    for (int i = 0; i < M * N; ++i)
        if (result[i] != 0x4180) return puts("not 16"), 1;
    puts("all 16");
    tmagen_set_close(set);
    tmagen_device_close(device);
    return 0;
}
END
flags=${SANITIZED:+-fsanitize=address,undefined}
# shellcheck disable=SC2086
cc $flags -Wl,--fatal-warnings -Iruntime -o "$TMPDIR/app" "$TMPDIR/app.c" "$TMPDIR/my-kernels.o" \
    "$BUILD/libtmagen.a" -lm -ldl -lpthread || fail "the object cannot be linked"
rm "$TMPDIR/my-kernels.o"
cd / && TMAGEN_CACHE=/none TMAGEN_NVRTC=/none gives 0 'all 16' "$TMPDIR/app"
exit $failed
