// Instruction vectors: each instruction on 32 lanes of random and special operands, on any device.
// "record" on a GPU writes what it computes; "check" on the emulator compares, in bits or ulps.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tmagen.h"

enum { LANES = 32, OPERANDS = 3 };

// [signature]: result, then operands. r 32 bits, l 64, h 16, f f32, d f64, p predicate.
// [ulps]: how far an approximate result may lie from the GPU's; 0 is bit for bit.
static const struct vector {
    const char *op, *signature;
    int ulps;
} vectors[] = {
#define INT3(op) \
    {op ".u32", "rrr", 0}, {op ".s32", "rrr", 0}, {op ".u64", "lll", 0}, { op ".s64", "lll", 0 }
    INT3("add"),
    INT3("sub"),
    INT3("mul.lo"),
    INT3("mul.hi"),
    INT3("div"),
    INT3("rem"),
    INT3("min"),
    INT3("max"),
    {"add.u16", "hhh", 0},
    {"sub.s16", "hhh", 0},
    {"mul.lo.u16", "hhh", 0},
    {"mul.hi.s16", "hhh", 0},
    {"min.s16", "hhh", 0},
    {"max.u16", "hhh", 0},
    {"div.s16", "hhh", 0},
    {"rem.u16", "hhh", 0},
    {"mul.wide.u32", "lrr", 0},
    {"mul.wide.s32", "lrr", 0},
    {"mul.wide.u16", "rhh", 0},
    {"mul.wide.s16", "rhh", 0},
    {"mad.lo.s32", "rrrr", 0},
    {"mad.hi.u32", "rrrr", 0},
    {"mad.hi.s32", "rrrr", 0},
    {"mad.wide.u32", "lrrl", 0},
    {"mad.wide.s32", "lrrl", 0},
    {"mad.lo.u64", "llll", 0},
    {"mad.hi.s64", "llll", 0},
    {"mul24.lo.s32", "rrr", 0},
    {"mul24.lo.u32", "rrr", 0},
    {"sad.s32", "rrrr", 0},
    {"sad.u32", "rrrr", 0},
    {"add.sat.s32", "rrr", 0},
    {"sub.sat.s32", "rrr", 0},
    {"abs.s32", "rr", 0},
    {"abs.s64", "ll", 0},
    {"neg.s32", "rr", 0},
    {"dp4a.s32.u32", "rrrr", 0},
    {"dp4a.u32.u32", "rrrr", 0},
    {"dp2a.lo.s32.s32", "rrrr", 0},
    {"dp2a.hi.u32.s32", "rrrr", 0},
    {"min.s16x2", "rrr", 0},
    {"max.u16x2", "rrr", 0},
    {"add.u16x2", "rrr", 0},
    {"and.b32", "rrr", 0},
    {"or.b64", "lll", 0},
    {"xor.b32", "rrr", 0},
    {"not.b64", "ll", 0},
    {"cnot.b32", "rr", 0},
    {"shl.b32", "rrr", 0},
    {"shl.b64", "llr", 0},
    {"shr.u32", "rrr", 0},
    {"shr.s32", "rrr", 0},
    {"shr.s64", "llr", 0},
    {"shr.u64", "llr", 0},
    {"shf.l.wrap.b32", "rrrr", 0},
    {"shf.r.wrap.b32", "rrrr", 0},
    {"shf.l.clamp.b32", "rrrr", 0},
    {"shf.r.clamp.b32", "rrrr", 0},
    {"popc.b32", "rr", 0},
    {"popc.b64", "rl", 0},
    {"clz.b32", "rr", 0},
    {"clz.b64", "rl", 0},
    {"brev.b32", "rr", 0},
    {"brev.b64", "ll", 0},
    {"bfind.u32", "rr", 0},
    {"bfind.s32", "rr", 0},
    {"bfind.shiftamt.s64", "rl", 0},
    {"bfe.u32", "rrrr", 0},
    {"bfe.s32", "rrrr", 0},
    {"bfe.s64", "llrr", 0},
    {"bfe.u64", "llrr", 0},
    {"prmt.b32", "rrrr", 0},
    {"prmt.b32.f4e", "rrrr", 0},
    {"prmt.b32.b4e", "rrrr", 0},
    {"prmt.b32.rc8", "rrrr", 0},
    {"prmt.b32.ecl", "rrrr", 0},
    {"prmt.b32.ecr", "rrrr", 0},
    {"prmt.b32.rc16", "rrrr", 0},
    {"bmsk.clamp.b32", "rrr", 0},
    {"bmsk.wrap.b32", "rrr", 0},
    {"szext.clamp.s32", "rrr", 0},
    {"szext.wrap.u32", "rrr", 0},
    {"slct.b32.s32", "rrrr", 0},
    {"slct.b32.f32", "rrrf", 0},
#define ROUNDED(op, sig)                                                    \
    {op ".rn.f32", sig, 0}, {op ".rz.f32", sig, 0}, {op ".rm.f32", sig, 0}, \
        {op ".rp.f32", sig, 0}, {                                           \
        op ".rn.ftz.f32", sig, 0                                            \
    }
    ROUNDED("add", "fff"),
    ROUNDED("sub", "fff"),
    ROUNDED("mul", "fff"),
    ROUNDED("fma", "ffff"),
    ROUNDED("div", "fff"),
    ROUNDED("rcp", "ff"),
    ROUNDED("sqrt", "ff"),
    {"add.sat.f32", "fff", 0},
    {"fma.rn.sat.f32", "ffff", 0},
    {"mul.ftz.sat.f32", "fff", 0},
    {"min.f32", "fff", 0},
    {"max.f32", "fff", 0},
    {"min.NaN.f32", "fff", 0},
    {"max.ftz.f32", "fff", 0},
    {"max.xorsign.abs.f32", "fff", 0},
    {"abs.f32", "ff", 0},
    {"neg.ftz.f32", "ff", 0},
    {"copysign.f32", "fff", 0},
#define DOUBLES(op, sig) \
    {op ".rn.f64", sig, 0}, {op ".rz.f64", sig, 0}, {op ".rp.f64", sig, 0}, { op ".rm.f64", sig, 0 }
    DOUBLES("add", "ddd"),
    DOUBLES("mul", "ddd"),
    DOUBLES("fma", "dddd"),
    DOUBLES("div", "ddd"),
    DOUBLES("rcp", "dd"),
    DOUBLES("sqrt", "dd"),
    {"min.f64", "ddd", 0},
    {"max.f64", "ddd", 0},
    {"rcp.approx.f32", "ff", 2},
    {"rsqrt.approx.f32", "ff", 4},
    {"sqrt.approx.f32", "ff", 4},
    {"ex2.approx.f32", "ff", 4},
    {"ex2.approx.ftz.f32", "ff", 4},
    {"lg2.approx.f32", "ff", 64},
    {"tanh.approx.f32", "ff", 8192},
    {"div.full.f32", "fff", 4},
    {"div.approx.f32", "fff", 4},
#define HALVES(op, sig) \
    {op ".f16", sig, 0}, { op ".bf16", sig, 0 }
    HALVES("add.rn", "hhh"),
    HALVES("sub.rn", "hhh"),
    HALVES("mul.rn", "hhh"),
    HALVES("fma.rn", "hhhh"),
    HALVES("min", "hhh"),
    HALVES("max.NaN", "hhh"),
    HALVES("neg", "hh"),
    HALVES("abs", "hh"),
    {"add.rn.f16x2", "rrr", 0},
    {"fma.rn.f16x2", "rrrr", 0},
    {"fma.rn.bf16x2", "rrrr", 0},
    {"fma.rn.relu.f16x2", "rrrr", 0},
    {"fma.rn.ftz.f16", "hhhh", 0},
    {"max.bf16x2", "rrr", 0},
    {"ex2.approx.f16", "hh", 2},
    {"tanh.approx.f16", "hh", 4},
    {"tanh.approx.bf16", "hh", 2},
#define INTO(type, reg)                                                         \
    {"cvt.rni." type ".f32", reg "f", 0}, {"cvt.rzi." type ".f32", reg "f", 0}, \
        {"cvt.rmi." type ".f32", reg "f", 0}, {                                 \
        "cvt.rpi." type ".f64", reg "d", 0                                      \
    }
    INTO("s32", "r"),
    INTO("u32", "r"),
    INTO("s64", "l"),
    INTO("u64", "l"),
    INTO("s16", "h"),
    INTO("u16", "h"),
    {"cvt.rn.f32.s32", "fr", 0},
    {"cvt.rz.f32.u32", "fr", 0},
    {"cvt.rp.f32.s64", "fl", 0},
    {"cvt.rn.f64.u64", "dl", 0},
    {"cvt.rm.f32.f64", "fd", 0},
    {"cvt.rn.f32.f64", "fd", 0},
    {"cvt.f64.f32", "df", 0},
    {"cvt.rni.f32.f32", "ff", 0},
    {"cvt.rzi.ftz.f32.f32", "ff", 0},
    {"cvt.sat.f32.f32", "ff", 0},
    {"cvt.rn.f16.f32", "hf", 0},
    {"cvt.rz.f16.f32", "hf", 0},
    {"cvt.rn.bf16.f32", "hf", 0},
    {"cvt.rz.bf16.f32", "hf", 0},
    {"cvt.f32.f16", "fh", 0},
    {"cvt.f32.bf16", "fh", 0},
    {"cvt.rn.f16x2.f32", "rff", 0},
    {"cvt.rz.bf16x2.f32", "rff", 0},
    {"cvt.rn.relu.bf16x2.f32", "rff", 0},
    {"cvt.rna.tf32.f32", "rf", 0},
    {"cvt.rn.f16.s32", "hr", 0},
    {"cvt.rzi.s32.f16", "rh", 0},
    {"cvt.sat.s8.s32", "rr", 0},
    {"cvt.sat.u16.s64", "hl", 0},
    {"cvt.rn.satfinite.e4m3x2.f32", "hff", 0},
    {"cvt.rn.satfinite.e5m2x2.f32", "hff", 0},
    {"cvt.rn.satfinite.relu.e4m3x2.f32", "hff", 0},
    {"cvt.rn.satfinite.e4m3x2.f16x2", "hr", 0},
    {"cvt.rn.f16x2.e4m3x2", "rh", 0},
    {"cvt.rn.f16x2.e5m2x2", "rh", 0},
#define COMPARED(cmp) \
    {"setp." cmp ".f32", "pff", 0}, {"setp." cmp ".f64", "pdd", 0}, { "setp." cmp ".f16", "phh", 0 }
    COMPARED("lt"),
    COMPARED("le"),
    COMPARED("gt"),
    COMPARED("ge"),
    COMPARED("eq"),
    COMPARED("ne"),
    COMPARED("ltu"),
    COMPARED("neu"),
    COMPARED("num"),
    COMPARED("nan"),
    {"setp.lt.s32", "prr", 0},
    {"setp.lo.u32", "prr", 0},
    {"setp.ge.s64", "pll", 0},
    {"setp.hs.u64", "pll", 0},
    {"testp.subnormal.f32", "pf", 0},
    {"testp.normal.f64", "pd", 0},
    {"redux.sync.add.s32", "rr*", 0},
    {"redux.sync.min.u32", "rr*", 0},
    {"redux.sync.xor.b32", "rr*", 0},
    {"match.any.sync.b32", "rr*", 0},
};

enum { COUNT = sizeof vectors / sizeof *vectors };

// ---- Operands: a third special values, the rest random bits

static const uint64_t specials[] = {
    0,
    1,
    UINT64_MAX,
    0x80000000,
    0x7fffffff,
    0x8000000000000000,
    0x3f8000003f800000,
    0x7f800000,
    0xff800000,
    0x7fc00000,
    0x00000001,
    0x007fffff,
    0x80000001,
    0x33800000,
    0x4f000000,
    0x3ff0000000000000,
    0x7ff0000000000000,
    0x3c00,
    0x7c00,
    0x7e00,
    0x0001,
    0x8000,
    0x3f80,
    31,
    32,
    33,
    64,
};

static uint64_t random_bits(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

// Floats of moderate size are as likely as arbitrary bits, or little would be finite.
static uint64_t operand(char type, uint64_t *state) {
    uint64_t bits = random_bits(state), kind = random_bits(state) % 3;
    if (!kind) return specials[bits % (sizeof specials / sizeof *specials)];
    if (kind == 2 && type == 'f') return (bits & 0x83ffffff) | 0x3c000000;
    if (kind == 2 && type == 'd') return (bits & 0x803fffffffffffff) | 0x3fc0000000000000;
    return kind == 2 && type == 'r' ? bits % 40 : bits;
}

// ---- The kernel: a block of inline assembly for each instruction

struct text {
    char *at;
    size_t used, capacity;
};

static void put(struct text *text, const char *format, const char *a, const char *b, int n) {
    int length = snprintf(NULL, 0, format, a, b, n);
    while (text->used + (size_t)length + 1 > text->capacity)
        text->at = realloc(text->at, text->capacity = 2 * text->capacity + 65536);
    text->used += (size_t)snprintf(text->at + text->used, (size_t)length + 1, format, a, b, n);
}

static const char *declared(char type) {
    switch (type) {
    case 'l': return "b64";
    case 'h': return "b16";
    case 'f': return "f32";
    case 'd': return "f64";
    case 'p': return "pred";
    default: return "b32";
    }
}

static void put_case(struct text *text, int index) {
    const struct vector *v = &vectors[index];
    const char *s = v->signature;
    char name[2] = "a";
    put(text, "    asm volatile(\"{ .reg .%s vd; .reg .b32 t;%s\"\n", declared(s[0]), "", 0);
    for (int i = 1; s[i] && s[i] != '*'; ++i) {
        name[0] = (char)('a' + i - 1);
        put(text, "        \".reg .%s v%s;", declared(s[i]), name, 0);
        if (s[i] == 'h')
            put(text, " cvt.u16.u64 v%s, %%%s%d;\"\n", name, "", i);
        else if (s[i] == 'r')
            put(text, " cvt.u32.u64 v%s, %%%s%d;\"\n", name, "", i);
        else if (s[i] == 'f')
            put(text, " cvt.u32.u64 t, %%%s%s%d;", "", "", i),
                put(text, " mov.b32 v%s, t;\"\n%s", name, "", 0);
        else
            put(text, " mov.b64 v%s, %%%s%d;\"\n", name, "", i);
    }
    put(text, "        \"%s vd%s", v->op, "", 0);
    for (int i = 1; s[i] && s[i] != '*'; ++i) {
        name[0] = (char)('a' + i - 1);
        put(text, ", v%s%s", name, "", 0);
    }
    if (strchr(s, '*')) put(text, ", -1%s%s", "", "", 0);
    put(text, ";%s%s",
        s[0] == 'p'   ? " selp.u64 %0, 1, 0, vd; }\"\n"
        : s[0] == 'h' ? " cvt.u64.u16 %0, vd; }\"\n"
        : s[0] == 'r' ? " cvt.u64.u32 %0, vd; }\"\n"
        : s[0] == 'f' ? " mov.b32 t, vd; cvt.u64.u32 %0, t; }\"\n"
                      : " mov.b64 %0, vd; }\"\n",
        "", 0);
    put(text, "        : \"=l\"(d) : \"l\"(in[%s%s%d * 32 + lane]),", "", "", index * OPERANDS);
    put(text, " \"l\"(in[%s%s%d * 32 + lane]),", "", "", index * OPERANDS + 1);
    put(text, " \"l\"(in[%s%s%d * 32 + lane]));\n", "", "", index * OPERANDS + 2);
    put(text, "    out[%s%s%d * 32 + lane] = d;\n", "", "", index);
}

static char *make_source(void) {
    struct text text = {0};
    put(&text,
        "extern \"C\" __global__ void vectors(const unsigned long long *in, unsigned long long "
        "*out) {\n"
        "    const int lane = threadIdx.x;\n    unsigned long long d;\n%s%s",
        "", "", 0);
    for (int i = 0; i < COUNT; ++i) put_case(&text, i);
    put(&text, "}\n%s%s", "", "", 0);
    return text.at;
}

static char *make_manifest(void) {
    struct text text = {0};
    put(&text,
        "{\"tmagen_manifest\": 2, \"name\": \"vectors\", \"family\": \"vectors\", \"entry\": "
        "\"vectors\","
        " \"arch\": \"sm_90a\", \"source\": \"vectors.cu\", \"block\": [32,1,1], \"cluster\": "
        "[1,1,1],"
        " \"shared_memory\": 0, \"dims\": [{\"name\": \"n\", \"value\": 32}], \"tensors\": [%s%s",
        "", "", 0);
    put(&text, "{\"name\": \"in\", \"dtype\": \"u64\", \"dims\": [%s%s%d], \"access\": \"read\"},",
        "", "", COUNT * OPERANDS * LANES);
    put(&text,
        "{\"name\": \"out\", \"dtype\": \"u64\", \"dims\": [%s%s%d], \"access\": \"write\"}],", "",
        "", COUNT * LANES);
    put(&text,
        "\"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"n\", \"by\": 32}]}, \"params\": "
        "[{\"kind\": \"pointer\", \"tensor\": \"in\"},"
        "{\"kind\": \"pointer\", \"tensor\": \"out\"}]}%s%s",
        "", "", 0);
    return text.at;
}

// ---- Running

static void need(int status, const char *what) {
    if (!status) return;
    fprintf(stderr, "%s: %s\n", what, tmagen_error_last());
    exit(3);
}

static void run(const char *device_name, const uint64_t *in, uint64_t *out) {
    tmagen_device *device;
    tmagen_kernel *kernel;
    tmagen_tensor tensors[2] = {{.name = "in"}, {.name = "out"}};
    size_t in_bytes = sizeof *in * COUNT * OPERANDS * LANES,
           out_bytes = sizeof *out * COUNT * LANES;
    char *source = make_source(), *manifest = make_manifest();
    tmagen_load_options options = {.manifest_text = manifest, .source_text = source};
    need(tmagen_device_open(device_name, &device), device_name);
    need(tmagen_kernel_load(device, "vectors", &options, &kernel), "load");
    need(tmagen_memory_alloc(device, in_bytes, &tensors[0].data), "alloc");
    need(tmagen_memory_alloc(device, out_bytes, &tensors[1].data), "alloc");
    need(tmagen_memory_upload(device, tensors[0].data, in, in_bytes), "upload");
    tmagen_launch launch = {.tensors = tensors, .tensor_count = 2};
    need(tmagen_kernel_launch(kernel, NULL, &launch), "launch");
    need(tmagen_device_synchronize(device), "run");
    need(tmagen_memory_download(device, out, tensors[1].data, out_bytes), "download");
    tmagen_kernel_unload(kernel);
    tmagen_device_close(device);
    free(source);
    free(manifest);
}

// ---- Files: a line an instruction, its name and 32 results

static int write_file(const char *path, const uint64_t *out) {
    FILE *file = fopen(path, "w");
    if (!file) return perror(path), 3;
    for (int i = 0; i < COUNT; ++i) {
        fprintf(file, "%s", vectors[i].op);
        for (int lane = 0; lane < LANES; ++lane)
            fprintf(file, " %llx", (unsigned long long)out[i * LANES + lane]);
        fprintf(file, "\n");
    }
    return fclose(file) ? 3 : 0;
}

// The distance of two floats of the result's width in units of the last place.
static double distance(char type, uint64_t a, uint64_t b) {
    int64_t sign = type == 'h' ? 0x8000 : INT64_C(0x80000000),
            infinity = type == 'h' ? 0x7c00 : 0x7f800000;
    int64_t x = (int64_t)a & (sign - 1), y = (int64_t)b & (sign - 1);
    if (x > infinity || y > infinity) return x > infinity && y > infinity ? 0 : 1e30;
    if ((int64_t)a & sign) x = -x;
    if ((int64_t)b & sign) y = -y;
    return x > y ? (double)(x - y) : (double)(y - x);
}

static int check_file(const char *path, const uint64_t *in, const uint64_t *out) {
    FILE *file = fopen(path, "r");
    char name[100];
    int passed = 0, failed = 0;
    if (!file) return perror(path), 3;
    for (int i = 0; i < COUNT; ++i) {
        int wrong = 0, first = 0;
        unsigned long long recorded, shown = 0;
        if (fscanf(file, "%99s", name) != 1 || strcmp(name, vectors[i].op)) {
            fprintf(stderr, "%s: not a recording of these vectors (at %s)\n", path, vectors[i].op);
            return 3;
        }
        for (int lane = 0; lane < LANES; ++lane) {
            if (fscanf(file, "%llx", &recorded) != 1) return 3;
            uint64_t got = out[i * LANES + lane];
            int good = vectors[i].ulps
                           ? distance(vectors[i].signature[0], got, recorded) <= vectors[i].ulps
                           : got == recorded;
            if (!good && !wrong++) first = lane, shown = recorded;
        }
        if (wrong)
            printf("%s: %d lanes differ; lane %d: %llx %llx %llx gives %llx, recorded %llx\n",
                   vectors[i].op, wrong, first,
                   (unsigned long long)in[(i * OPERANDS) * LANES + first],
                   (unsigned long long)in[(i * OPERANDS + 1) * LANES + first],
                   (unsigned long long)in[(i * OPERANDS + 2) * LANES + first],
                   (unsigned long long)out[i * LANES + first], shown);
        wrong ? ++failed : ++passed;
    }
    fclose(file);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

int main(int argc, char **argv) {
    static uint64_t in[COUNT * OPERANDS * LANES], out[COUNT * LANES];
    uint64_t state = 1;
    if (argc != 4 || (strcmp(argv[1], "record") && strcmp(argv[1], "check"))) {
        fprintf(stderr, "usage: vectors record|check FILE DEVICE\n");
        return 2;
    }
    for (int i = 0; i < COUNT; ++i)
        for (int k = 0; k < OPERANDS; ++k)
            for (int lane = 0; lane < LANES; ++lane) {
                size_t last = strlen(vectors[i].signature) - 1;
                char type = vectors[i].signature[(size_t)k + 1 > last ? last : (size_t)k + 1];
                in[(i * OPERANDS + k) * LANES + lane] = operand(type, &state);
            }
    run(argv[3], in, out);
    return strcmp(argv[1], "record") ? check_file(argv[2], in, out) : write_file(argv[2], out);
}
