#!/usr/bin/env bash
# The generator knows Lua and YAML and no CUDA: what kernels are made of stands in templates/. Words
# of that world in gen/ are counted here, file by file, with the reason why each may stay.
# gen/cli is apart: `emulate` reads launch files, and the summary of a build names what it found.
set -u
bad=0
words='swizzle|sm_[0-9]+[a-z]?|wgmma|tcgen05|tensor_?map|tma|cuda|nvrtc|cubin|ptxas|ctas?|warps?'
words="$words|warpgroups?|smem|shared.memory|mbarrier|barriers?|registers?|occupancy|bf16|fp16|fp32"
words="$words|232448|65536|2048|132|__global__"

# allowed FILE WORD - and why.
allowed() {
    case "$1 $2" in
    'gen/generate.h sm_90a') ;;                    # an example of the text that arch is
    'gen/generate.h CTA') ;;                       # the unit of two figures of the plan,
    'gen/generate.h shared_memory') ;;             # which the summary of a build prints
    'gen/points.c shared_memory') ;;               # and which are taken over from Lua
    'gen/points.c registers') ;;                   # so is a budget
    'gen/lua/generate.lua shared_memory') ;;
    'gen/prelude.c CUDA' | 'gen/lualex.h CUDA') ;;  # the language of the text that is cut or copied
    *) return 1 ;;
    esac
}

while IFS=: read -r file _ word; do
    allowed "$file" "$word" || { echo "$file: the generator says '$word'"; bad=1; }
done < <(grep -noiwE "$words" gen/*.[ch] gen/lua/*.lua | sort -u)

# it can fail: the words are found where they may be
grep -qiwE "$words" templates/lib/archs.lua || { echo 'no word is found anywhere'; bad=1; }
exit $bad
