# Builds tmagen (one program, everything inside), libtmagen.a and .so, and runs what holds them.
# No configure step: scripts/setup.sh looks for the packages once, and installs what it may.

VERSION := 0.1.0
SONAME  := libtmagen.so.0
BUILD   ?= build
NVRTC   ?= $(BUILD)/nvrtc
KERNELS ?= $(BUILD)/kernels
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
FUZZ_SECONDS ?= 20
MAKEFLAGS += --no-builtin-rules

WARN     := -Wall -Wextra -Wshadow -Wno-psabi $(WERROR)
CPPFLAGS += -I. -D_GNU_SOURCE -DTMAGEN_VERSION='"$(VERSION)"'
# no code asks errno of a square root, and of vectors they are one instruction then
ROOTS    := -fno-math-errno
COMPILE   = $(CC) -std=c11 $(WARN) $(CFLAGS) $(ROOTS) $(QUICK) -fPIC $(CPPFLAGS) $(LIB_CFLAGS)
SANITIZE := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

lib_src  := $(wildcard runtime/*.c runtime/emu/*.c runtime/emu/*/*.c)
tool_src := $(wildcard gen/*.c gen/cli/*.c measure/*.c)
reference_src := $(wildcard templates/*/reference.c)
unit_src := $(wildcard tests/unit/*/*.c)
user_src := $(wildcard tests/*.c scripts/*.c)
fuzz_src := $(wildcard tests/fuzz/*.c)
fake_src := $(wildcard tests/fixtures/fake/*.c)
vector_src := $(wildcard tests/emu/vectors/*.c)
embed_src := $(wildcard scripts/embed/*.c)
embedded := $(sort $(shell \
    find gen/lua templates -type f ! -name '.*' ! -name '*~' ! -name '*.md' 2>/dev/null))

lib_obj  := $(lib_src:%.c=$(BUILD)/%.o)
tool_obj := $(tool_src:%.c=$(BUILD)/%.o) $(BUILD)/embed.o \
            $(reference_src:%.c=$(BUILD)/%.o) $(BUILD)/references.o
internal := $(filter-out $(BUILD)/gen/cli/main.o,$(lib_obj) $(tool_obj))
unit_bin := $(unit_src:%.c=$(BUILD)/%)
user_bin := $(user_src:%.c=$(BUILD)/%)
fuzz_bin := $(fuzz_src:%.c=$(BUILD)/%)
fake_lib := $(fake_src:%.c=$(BUILD)/%.so)
c_files   = $(lib_src) $(tool_src) $(reference_src) $(unit_src) $(user_src) \
            $(fuzz_src) $(fake_src) $(vector_src) $(embed_src)

# what an H200 can run
blackwell := specs/gemm_sm100_%.yaml specs/blockscaled_sm100_%.yaml
hopper := $(filter-out $(blackwell),$(wildcard specs/*.yaml))
# whose every bit is recorded: not of what is approximate, nor of a table whose kernels in bf16 are
approximate := specs/gemm_fc1_packed.yaml %swiglu.yaml
recorded := $(filter-out specs/gemm_fp16_h200.yaml $(approximate),$(hopper))

find_nvrtc := $(BUILD)/scripts/find_nvrtc $(NVRTC)

static_libs := -Wl,-Bstatic -llua5.4 -lyaml -ljansson -lcrypto -lsqlite3 -Wl,-Bdynamic
system_libs := -lm -ldl -lpthread

.DELETE_ON_ERROR:
$(if $(V),,.SILENT:)                # V=1 shows the commands
.PHONY: all run test test-emu pairwise test-gpu record profile mutate attack nvrtc programs helpers
.PHONY: objects unbuilt-gcc unbuilt-clang check lint format fuzz sanitize install wheel clean FORCE

all: $(BUILD)/tmagen $(BUILD)/libtmagen.a $(BUILD)/libtmagen.so

run: all nvrtc
	echo "$(BUILD)/tmagen specs/gemm_256x128.yaml"
	$(BUILD)/tmagen specs/gemm_256x128.yaml

test: all programs
	BUILD=$(BUILD) KERNELS=$(KERNELS) NVRTC="$$(scripts/nvrtc.sh $(find_nvrtc))" \
	    tests/run_tests.sh $(unit_bin)

nvrtc: $(BUILD)/scripts/find_nvrtc  # finds or fetches the compiler; goes on without where it cannot
	scripts/nvrtc.sh $(find_nvrtc) >/dev/null

test-emu: all programs              # every shipped spec in 20 orders, without a GPU
	SCHEDULES=20 TMAGEN_SEEDS=20 ONLY=emu $(MAKE) --no-print-directory test

pairwise: all nvrtc                 # kernels that no spec ships, with every pair of knobs' values
	nvrtc="$$(scripts/nvrtc.sh $(find_nvrtc))"; [ -z "$$nvrtc" ] || export TMAGEN_NVRTC="$$nvrtc"; \
	    TMAGEN=$(BUILD)/tmagen TMAGEN_CACHE=$(BUILD)/pairwise \
	    tests/pairwise.py --all $(if $(SEED),--seed $(SEED))

test-gpu: all programs              # every shipped spec, ragged and round shapes, on a GPU
	$(BUILD)/tests/example cuda
	$(BUILD)/tests/shapes_in_turn cuda gemm_16x64_split
	$(BUILD)/tmagen bundle $(hopper) -o $(BUILD)/hopper.tmb
	$(BUILD)/tests/deployed cuda $(BUILD)/hopper.tmb gemm_256x128 gemm_bf16_h200
	$(BUILD)/tests/crowd cuda $(BUILD)/hopper.tmb gemm_64x64 gemm_128x128 16 200
	python3 tests/python/test_gpu.py
	$(BUILD)/tmagen verify --device cuda $(hopper)
	$(BUILD)/tmagen verify --device cuda --against tests/emu/results.jsonl $(recorded)

record: all programs                # what a GPU gives, for the emulator and later builds to equal
	$(BUILD)/tmagen verify --device cuda --small --seed 1 --record tests/emu/results.jsonl $(recorded)
	sed -i '/^[^#]/d' tests/emu/unrecorded.txt
	$(BUILD)/vectors --device cuda

profile: all nvrtc                  # accepts what the shipped specs cost now
	nvrtc="$$(scripts/nvrtc.sh $(find_nvrtc))"; [ -z "$$nvrtc" ] || export TMAGEN_NVRTC="$$nvrtc"; \
	    $(BUILD)/tmagen profile --ptx $(filter-out %_h200.yaml,$(wildcard specs/*.yaml)) \
	        >$(BUILD)/profiles.txt && TMAGEN=$(BUILD)/tmagen \
	        scripts/assembled.py tests/emu/assembled.txt $(BUILD)/assembled >$(BUILD)/assembled.txt
	mv $(BUILD)/profiles.txt $(BUILD)/assembled.txt tests/emu

mutate: all programs                # plants the mistakes of tests/mutations.txt; hours
	scripts/mutate.py

attack: all programs                # damaged inputs, damaged cache entries, kills; half an hour
	nvrtc="$$(scripts/nvrtc.sh $(find_nvrtc))"; [ -z "$$nvrtc" ] || export TMAGEN_NVRTC="$$nvrtc"; \
	    BUILD=$(BUILD) TMAGEN=$(BUILD)/tmagen TMPDIR=$(BUILD) tests/attack.py --rounds 2000
	DAMAGES=28000 KILLS=300 ONLY='cache_damage\|cache_kill\|out_pair' $(MAKE) --no-print-directory test

objects: $(c_files:%.c=$(BUILD)/%.o)

programs: $(unit_bin) helpers       # what the tests run, besides all
helpers: $(user_bin) $(fake_lib) $(BUILD)/vectors

check: $(BUILD)/tmagen              # out/ is what the specs and templates of this tree give
	$(BUILD)/tmagen check --out specs/*.yaml

# No finding of ours, no warning of either compiler. What gcc warns of only when it optimises, a
# build with WERROR=-Werror refuses: .ci/run makes all of them so, and with BUILT=1 here only what
# neither gcc's build nor clang's of the fuzz targets holds is asked for.
lint:
	scripts/setup.sh lint
	scripts/lint.sh
	for cc in gcc clang; do \
	    $(MAKE) -s BUILD=$(BUILD)/lint-$$cc CC=$$cc CFLAGS=-fsyntax-only WERROR=-Werror \
	        $(if $(BUILT),unbuilt-$$cc,objects) || exit 1; done

format:
	scripts/setup.sh lint
	git ls-files "*.[ch]" | xargs clang-format -i

.PHONY: fuzz-build sanitize-build
fuzz-build:
	scripts/setup.sh fuzz
	$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz CC=clang \
	    CFLAGS="$(SANITIZE) -fsanitize=fuzzer-no-link" $(fuzz_bin:$(BUILD)/%=$(BUILD)/fuzz/%)

fuzz: fuzz-build
	scripts/fuzz.sh $(BUILD)/fuzz $(FUZZ_SECONDS)

# The suite under AddressSanitizer and UBSan, with the kernels that NVRTC has already compiled.
sanitized = $(MAKE) --no-print-directory BUILD=$(BUILD)/sanitize NVRTC=$(BUILD)/nvrtc \
    KERNELS=$(BUILD)/kernels CFLAGS="$(SANITIZE)" SANITIZED=1
sanitize-build:
	+$(sanitized) all programs

sanitize: sanitize-build
	+ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=print_stacktrace=1 $(sanitized) test

# The library and one test of it under ThreadSanitizer: what tmagen.h says of threads.
.PHONY: threads abi uninstall
threads_test := $(BUILD)/threads/tests/unit/runtime/test_threads
threads:
	$(MAKE) --no-print-directory BUILD=$(BUILD)/threads CFLAGS="-O1 -g -fsanitize=thread" \
	    internal='$(patsubst %.c,$(BUILD)/threads/%.o,$(lib_src) gen/pack.c gen/alloc.c)' \
	    $(threads_test) $(fake_src:%.c=$(BUILD)/threads/%.so)
	TSAN_OPTIONS="halt_on_error=1 $$TSAN_OPTIONS" $(threads_test)

$(BUILD)/manual: $(BUILD)/tmagen $(wildcard runtime/tmagen*.h) scripts/manual.sh
	rm -rf $@ $@.new
	scripts/manual.sh "$$(realpath $<)" runtime $@.new
	mv $@.new $@

install: all $(BUILD)/manual
	DESTDIR="$(DESTDIR)" scripts/install.sh install $(BUILD) "$(PREFIX)" $(VERSION) $(SONAME)

uninstall:                          # what `make install` with this PREFIX put there, and only that
	DESTDIR="$(DESTDIR)" scripts/install.sh uninstall - "$(PREFIX)" - -

abi: all                            # accepts the library's binary interface as it is now
	scripts/abi.py $(BUILD)/libtmagen.so >$(BUILD)/tmagen.abi
	mv $(BUILD)/tmagen.abi runtime/tmagen.abi

wheel: all                          # the Python module and a source archive, into $(BUILD)/wheel
	BUILD=$(BUILD) scripts/wheel.sh $(BUILD)/wheel

clean:
	rm -rf $(BUILD)

without_setup := clean lint format fuzz fuzz-build sanitize sanitize-build threads uninstall
ifneq ($(filter-out $(without_setup),$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/setup.mk
endif
$(BUILD)/setup.mk: scripts/setup.sh
	mkdir -p $(@D)
	scripts/setup.sh build test
	echo "LIB_CFLAGS := $$(pkg-config --cflags lua5.4 yaml-0.1 jansson libcrypto sqlite3)" >$@

$(BUILD)/%.o: %.c Makefile $(BUILD)/setup.mk
	mkdir -p $(@D)
	echo "cc     $<"
	$(COMPILE) -MMD -MP -c -o $@ $<

# The references of the families inside: each a table of functions, named after its family.
$(BUILD)/templates/%.o: CPPFLAGS += -Itemplates/lib -DREFERENCE_EXPORT=reference_$(notdir $(@D))
$(BUILD)/templates/%.o: QUICK := -O2    # under sanitizers too, where elements take longest

# Most of what the suite takes under sanitizers is the emulator's and of networks that learn: there
# it is worth their optimising.
$(BUILD)/runtime/emu/%.o $(BUILD)/runtime/learned.o $(BUILD)/measure/network.o: \
    QUICK := $(if $(SANITIZED),-O2)

# UBSan asks of every lane of every sum whether it overflows: most of what verify takes under it. It
# asks in vectors of four lanes, which are the same source; those of 8 and 16 give the same bits.
$(patsubst %,$(BUILD)/runtime/emu/model/fused_%.o,8 16): \
    QUICK := -fno-sanitize=signed-integer-overflow

$(BUILD)/references.c: $(BUILD)/embed.list
	echo '#include "measure/reference_code.h"' >$@
	for f in $(reference_src:templates/%/reference.c=%); do \
	    echo "extern const struct reference_code reference_$$f;"; done >>$@
	echo 'const struct reference_row references_built[] = {' >>$@
	for f in $(reference_src:templates/%/reference.c=%); do \
	    echo "    {\"$$f\", &reference_$$f},"; done >>$@
	echo '    {0}};' >>$@

$(BUILD)/references.o: $(BUILD)/references.c
	$(COMPILE) -MMD -MP -c -o $@ $<

$(BUILD)/tmagen: $(lib_obj) $(tool_obj)
	echo "link   $@"
	$(CC) $(CFLAGS) -o $@ $^ $(static_libs) $(system_libs)

# The library's own objects, those of jansson and libcrypto's digest become one, in which only
# tmagen_* stays visible: an application's own jansson cannot clash with ours, and -ltmagen is all
# it needs. -d gives libcrypto's common symbol a place, without which it could not be hidden.
$(BUILD)/libtmagen.o: $(lib_obj) $(BUILD)/jansson.a
	$(CC) -r -nostdlib -Wl,-d -o $@ $^ -Wl,-Bstatic -lcrypto
	objcopy --wildcard --keep-global-symbol='tmagen_*' $@

$(BUILD)/jansson.a:                 # runtime/no_stream.c says why
	mkdir -p $(@D)
	objcopy --redefine-sym stdin=tmg_no_stream "$$($(CC) -print-file-name=libjansson.a)" $@

$(BUILD)/libtmagen.a: $(BUILD)/libtmagen.o
	echo "ar     $@"
	rm -f $@ && ar rcs $@ $<

$(BUILD)/libtmagen.so: $(BUILD)/libtmagen.o runtime/tmagen.map
	echo "link   $@"
	$(CC) $(CFLAGS) -shared -Wl,-z,text -Wl,-soname,$(SONAME) \
	    -Wl,--version-script=runtime/tmagen.map -o $@ $< $(system_libs)
	ln -sf libtmagen.so $(BUILD)/$(SONAME)

# The list changes only when a file comes or goes, so that a removed template is noticed too.
$(BUILD)/embed.list: FORCE
	mkdir -p $(@D)
	echo "$(embedded)" | cmp -s - $@ || echo "$(embedded)" >$@

# What Lua would parse in every run is compiled once, here; a mistake in it ends the build.
precompile := $(BUILD)/scripts/embed/precompile
$(precompile): $(patsubst %,$(BUILD)/%.o,scripts/embed/precompile \
        gen/alloc gen/chunk gen/diag gen/expand gen/file gen/lualex)
	$(CC) $(CFLAGS) -o $@ $^ $(static_libs) $(system_libs)

$(BUILD)/embed.S: scripts/embed.sh $(precompile) $(BUILD)/embed.list $(embedded)
	echo "embed  templates gen/lua"
	$(precompile) $(BUILD)/code $(embedded)
	scripts/embed.sh $(BUILD)/code $(embedded) >$@

$(BUILD)/embed.o: $(BUILD)/embed.S
	$(CC) -c -o $@ $<

# Stand-ins for the driver and NVRTC, loaded by the tests as the real ones would be.
$(BUILD)/tests/fixtures/fake/%.so: $(BUILD)/tests/fixtures/fake/%.o
	$(CC) $(CFLAGS) -shared -o $@ $<

# Unit tests see everything; tests/*.c and scripts/*.c are applications and see libtmagen alone.
# A unit test's own code takes a quarter of the time to compile as it stands, and no longer to run.
$(unit_bin:%=%.o): QUICK := -O0
$(BUILD)/internal.a: $(internal)
	rm -f $@ && ar rcs $@ $^

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/internal.a
	$(CC) $(CFLAGS) -o $@ $^ $(static_libs) -lcmocka $(system_libs)

$(BUILD)/vectors: $(vector_src:%.c=$(BUILD)/%.o) $(BUILD)/internal.a
	$(CC) $(CFLAGS) -o $@ $^ $(static_libs) $(system_libs)

# What reads foreign input; what measures and the commands themselves read none.
fuzzed := $(filter-out $(BUILD)/measure/% $(BUILD)/gen/cli/cmd_% %/reference.o %/references.o, \
              $(internal)) $(BUILD)/measure/ledger.o $(BUILD)/measure/numbers.o
$(BUILD)/fuzzed.a: $(fuzzed)
	rm -f $@ && ar rcs $@ $^

unbuilt-gcc: $(fuzz_bin:%=%.o)
unbuilt-clang: $(filter-out $(fuzzed) $(fuzz_bin:%=%.o),$(c_files:%.c=$(BUILD)/%.o))

$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/fuzzed.a
	$(CC) $(CFLAGS) -fsanitize=fuzzer -o $@ $^ $(static_libs) $(system_libs)

$(user_bin:%=%.o): CPPFLAGS += -iquoteruntime
$(user_bin): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libtmagen.a
	$(CC) $(CFLAGS) -o $@ $^ $(system_libs)

.SECONDARY:
-include $(patsubst %.c,$(BUILD)/%.d,$(c_files))
