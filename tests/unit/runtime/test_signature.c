// What a kernel says of itself to a binding, what a launch says of its tensors, and kernels whose
// code the caller has: on the stand-in driver and on the emulator.
#include "tests/unit/runtime/launch_fixture.h"

#include <elf.h>

// y[i] = alpha * x[i], of half as many rows as it could have.
static const char rich[] =
    "{\"tmagen_manifest\": 2, \"name\": \"rich\", \"family\": \"f\", \"entry\": \"copy\","
    " \"arch\": \"sm_80\", \"source\": \"rich.cu\", \"block\": [32, 1, 1],"
    " \"dims\": [{\"name\": \"n\", \"multiple_of\": 4, \"most\": 1024},"
    "   {\"name\": \"half\", \"ceil\": {\"dim\": \"n\", \"by\": 2}}],"
    " \"tensors\": [{\"name\": \"x\", \"dtype\": \"fp32\", \"dims\": [\"n\"], \"access\": "
    "\"read\"},"
    "   {\"name\": \"y\", \"dtype\": \"fp32\", \"dims\": [3, {\"dim\": \"n\", \"times\": 2, "
    "\"plus\": 1, \"by\": 3}], \"access\": \"write\", \"alignment\": 16}],"
    " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"n\", \"by\": 1024}],"
    "   \"splits\": {\"default\": 1, \"most\": 3}},"
    " \"params\": [{\"kind\": \"pointer\", \"tensor\": \"x\"}, {\"kind\": \"pointer\", "
    "\"tensor\": \"y\"},"
    "   {\"kind\": \"scalar\", \"name\": \"beta\", \"type\": \"i32\"},"
    "   {\"kind\": \"splits\", \"type\": \"i32\"},"
    "   {\"kind\": \"scalar\", \"name\": \"alpha\", \"type\": \"f32\", \"default\": 2}],"
    " \"ops\": [{\"op\": \"scale\", \"tensors\": [\"x\"], \"scalars\": [\"alpha\"]}],"
    " \"varies_with\": [\"splits\"],"
    " \"roles\": [{\"name\": \"producer\", \"first_warp\": 0, \"warps\": 1}]}";

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry copy(.param .u64 x, .param .u64 y, .param .u32 b,"
                          " .param .u32 s, .param .f32 a)\n{\n.reg .b32 %r<4>;\n"
                          ".reg .b64 %rd<8>;\nld.param.u64 %rd0, [x];\nld.param.u64 %rd1, [y];\n"
                          "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd2, %r0, 4;\n"
                          "add.u64 %rd0, %rd0, %rd2;\nadd.u64 %rd1, %rd1, %rd2;\n"
                          "ld.global.u32 %r1, [%rd0];\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

static const tmagen_code ptx_code = {.data = ptx, .bytes = sizeof ptx - 1};

// [manifest]'s kernel from [code], loaded on [on].
static int load_code(tmagen_device *on, const char *text, const tmagen_code *code,
                     tmagen_kernel **loaded) {
    const tmagen_load_options options = {.manifest_text = text, .code = code};
    return tmagen_kernel_load(on, "rich", &options, loaded);
}

static tmagen_device *emu;
static tmagen_kernel *copy;

static int open_emu(void **state) {
    (void)state;
    assert_int_equal(tmagen_device_open("emu", &emu), TMAGEN_OK);
    if (load_code(emu, rich, &ptx_code, &copy)) fail_msg("%s", tmagen_error_last());
    return 0;
}

static int close_emu(void **state) {
    (void)state;
    tmagen_kernel_unload(copy);
    tmagen_device_close(emu);
    return 0;
}

static void test_rows(void **state) {
    (void)state;
    const tmagen_signature *it = tmagen_kernel_signature(copy);
    tmagen_signature_info info;
    tmagen_dim_info dim;
    tmagen_tensor_info tensor;
    assert_int_equal(tmagen_signature_get_info(it, &info), TMAGEN_OK);
    assert_string_equal(info.name, "rich");
    assert_string_equal(info.family, "f");
    assert_string_equal(info.arch, "sm_80");
    assert_int_equal(info.dim_count * 10000 + info.tensor_count * 1000 + info.scalar_count * 100 +
                         info.op_count * 10 + info.role_count,
                     22211);
    assert_int_equal(info.splits * 10 + info.max_splits, 13);
    assert_int_equal(info.varies_with_splits * 10 + info.varies_with_sms, 10);
    assert_int_equal(tmagen_signature_get_dim(it, 0, &dim), TMAGEN_OK);
    assert_string_equal(dim.name, "n");
    assert_int_equal(dim.multiple_of, 4);
    assert_int_equal(dim.most, 1024);
    assert_int_equal(dim.value, -1);
    assert_int_equal(tmagen_signature_get_dim(it, 1, &dim), TMAGEN_OK);
    assert_int_equal(dim.derived * 100 + dim.rule.dim * 10 + dim.rule.by, 102);
    assert_int_equal(tmagen_signature_get_tensor(it, 1, &tensor), TMAGEN_OK);
    assert_string_equal(tensor.name, "y");
    assert_string_equal(tensor.dtype, "fp32");
    assert_string_equal(tensor.layout, "rows");
    assert_int_equal(tensor.bits * 100 + tensor.rank * 10 + tensor.writes, 3221);
    assert_int_equal(tensor.reads, 0);
    assert_int_equal(tensor.alignment, 16);
    assert_int_equal(tensor.dims[0].dim, -1);
    assert_int_equal(tensor.dims[0].plus, 3);
    assert_int_equal(tensor.dims[1].times * 100 + tensor.dims[1].plus * 10 + tensor.dims[1].by,
                     213);
}

static void test_other_rows(void **state) {
    (void)state;
    const tmagen_signature *it = tmagen_kernel_signature(copy);
    tmagen_scalar_info scalar;
    tmagen_op_info op;
    tmagen_role_info role;
    assert_int_equal(tmagen_signature_get_scalar(it, 0, &scalar), TMAGEN_OK);
    assert_string_equal(scalar.name, "beta");
    assert_int_equal(scalar.has_default, 0);
    assert_int_equal(tmagen_signature_get_scalar(it, 1, &scalar), TMAGEN_OK);
    assert_string_equal(scalar.name, "alpha");
    assert_string_equal(scalar.type, "f32");
    assert_true(scalar.has_default && scalar.value == 2);
    assert_int_equal(tmagen_signature_get_op(it, 0, &op), TMAGEN_OK);
    assert_string_equal(op.name, "scale");
    assert_string_equal(op.tensors[0], "x");
    assert_string_equal(op.scalars[0], "alpha");
    assert_int_equal(op.tensor_count * 10 + op.scalar_count, 11);
    assert_int_equal(tmagen_signature_get_role(it, 0, &role), TMAGEN_OK);
    assert_string_equal(role.name, "producer");
    assert_int_equal(role.warps, 1);
    assert_int_equal(tmagen_signature_get_role(it, 1, &role), TMAGEN_ERROR_ARGUMENT);
    assert_string_equal(tmagen_error_last(), "rich: role 1; it has 1");
}

// Outputs follow from inputs, as they are to be allocated.
static void test_resolve(void **state) {
    (void)state;
    const tmagen_signature *it = tmagen_kernel_signature(copy);
    tmagen_tensor x = {.name = "x", .data = 4096, .rank = 1, .dims = {8}}, all[2];
    tmagen_launch launch = {.tensors = &x, .tensor_count = 1};
    assert_int_equal(tmagen_signature_resolve(it, &launch, all, 2), TMAGEN_OK);
    assert_int_equal(all[0].data, 4096);
    assert_string_equal(all[1].name, "y");
    assert_string_equal(all[1].dtype, "fp32");
    assert_int_equal(all[1].data, 0);
    assert_int_equal(all[1].rank, 2);
    assert_int_equal(all[1].dims[0] * 10 + all[1].dims[1], 36);
    assert_int_equal(all[1].strides[0] * 10 + all[1].strides[1], 61);
    all[1].rank = -1;
    assert_int_equal(tmagen_signature_resolve(it, &launch, all, 1), TMAGEN_OK);
    assert_int_equal(all[1].rank, -1);
    x.dims[0] = 6;
    assert_int_equal(tmagen_signature_resolve(it, &launch, all, 2), TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "dim 'n' is 6; legal: multiples of 4"));
    x.name = "z";
    assert_int_equal(tmagen_signature_resolve(it, &launch, all, 2), TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "the kernel has none of that name"));
}

// What the caller says of elements is checked at every launch, also of shapes seen before.
static void test_elements(void **state) {
    (void)state;
    struct launch_arguments *it = right();
    it->tensors[0].dtype = "bf16";
    it->tensors[0].layout = "rows";
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_OK);
    it->tensors[0].dtype = "fp16";
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_ERROR_ARGUMENT);
    assert_string_equal(tmagen_error_last(),
                        "gemm: tensor 'a': its dtype is 'fp16'; legal: bf16; a[m, k]");
    it->tensors[0].dtype = NULL;
    it->tensors[0].layout = "columns";
    assert_int_equal(tmagen_kernel_launch(kernel, NULL, &it->launch), TMAGEN_ERROR_ARGUMENT);
    assert_string_equal(tmagen_error_last(),
                        "gemm: tensor 'a': its layout is 'columns'; legal: rows; a[m, k]");
}

static void test_run_given(void **state) {
    (void)state;
    uint32_t values[48] = {0};
    tmagen_address x, y;
    const tmagen_scalar beta = {"beta", 0};
    for (unsigned i = 0; i < 32; ++i) values[i] = i + 1;
    assert_int_equal(tmagen_memory_alloc(emu, 128, &x), TMAGEN_OK);
    assert_int_equal(tmagen_memory_alloc(emu, 4 * 3 * 22, &y), TMAGEN_OK);
    assert_int_equal(tmagen_memory_upload(emu, x, values, 128), TMAGEN_OK);
    const tmagen_tensor tensors[2] = {{.name = "x", .data = x, .rank = 1, .dims = {32}},
                                      {.name = "y", .data = y}};
    const tmagen_launch launch = {
        .tensors = tensors, .tensor_count = 2, .scalars = &beta, .scalar_count = 1};
    if (tmagen_kernel_launch(copy, NULL, &launch)) fail_msg("%s", tmagen_error_last());
    memset(values, 0, sizeof values);
    assert_int_equal(tmagen_memory_download(emu, values, y, 128), TMAGEN_OK);
    assert_int_equal(values[0] * 100 + values[31], 132);
    tmagen_memory_free(emu, x);
    tmagen_memory_free(emu, y);
}

// A cubin is told from PTX, and one that is cut is refused before a driver reads behind its end.
static void test_given_cubin(void **state) {
    (void)state;
    struct {
        Elf64_Ehdr head;
        uint8_t more[64];
    } file = {
        .head = {
            .e_ident = ELFMAG, .e_shoff = sizeof(Elf64_Ehdr), .e_shentsize = 64, .e_shnum = 1}};
    tmagen_code code = {.data = &file, .bytes = sizeof file, .compiler = "nvrtc 13"};
    tmagen_kernel *loaded = NULL;
    tmagen_kernel_info info;
    file.head.e_ident[EI_CLASS] = ELFCLASS64;
    memset(code.key, 'a', sizeof code.key);
    if (load_code(device, manifest, &code, &loaded)) fail_msg("%s", tmagen_error_last());
    assert_int_equal(tmagen_kernel_get_info(loaded, &info), TMAGEN_OK);
    assert_string_equal(info.compiler, "nvrtc 13");
    assert_int_equal(strlen(info.key), 64);
    assert_int_equal(info.hit, 1);
    assert_int_equal(info.resources.registers, 168);
    assert_int_equal(info.resources.spill_load_bytes, -1);
    tmagen_kernel_unload(loaded);
    for (size_t bytes = 5; bytes < sizeof file; bytes += 7) {
        code.bytes = bytes;
        assert_int_equal(load_code(device, manifest, &code, &loaded), TMAGEN_ERROR_ARGUMENT);
        assert_non_null(strstr(tmagen_error_last(), "its code is neither a whole cubin nor PTX"));
    }
    code.bytes = sizeof file;
    assert_int_equal(load_code(emu, rich, &code, &loaded), TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "its code is a cubin; legal on this device: PTX"));
    code.bytes = 0;
    assert_int_equal(load_code(emu, rich, &code, &loaded), TMAGEN_ERROR_ARGUMENT);
}

// PTX of sm_80 runs on a newer GPU, that of sm_90a on its own alone; a manifest must be there too.
static void test_given_ptx(void **state) {
    (void)state;
    tmagen_kernel *loaded = NULL;
    char other[sizeof manifest];
    memcpy(other, manifest, sizeof manifest);
    memcpy(strstr(other, "sm_90a"), "sm_80\"", 6);
    memcpy(strstr(other, "sm_80\"\""), "sm_80\" ", 7);
    if (load_code(device, other, &ptx_code, &loaded)) fail_msg("%s", tmagen_error_last());
    tmagen_kernel_unload(loaded);
    const tmagen_code elf = {.data = ELFMAG "            ", .bytes = 16};
    assert_int_equal(load_code(device, other, &elf, &loaded), TMAGEN_ERROR_NO_DEVICE);
    memcpy(strstr(other, "sm_80"), "sm_91", 5);
    assert_int_equal(load_code(device, other, &ptx_code, &loaded), TMAGEN_ERROR_NO_DEVICE);
    assert_int_equal(load_code(device, NULL, &ptx_code, &loaded), TMAGEN_ERROR_ARGUMENT);
    assert_non_null(strstr(tmagen_error_last(), "needs its manifest there too"));
    const char nul[] = "a\0b";
    const tmagen_code cut = {.data = nul, .bytes = 3};
    assert_int_equal(load_code(emu, rich, &cut, &loaded), TMAGEN_ERROR_ARGUMENT);
}

// Texts with a length need no zero.
static void test_lengths(void **state) {
    (void)state;
    tmagen_kernel *loaded = NULL;
    char text[sizeof manifest + 8], source[] = "#pragma spill;#error";
    memcpy(text, manifest, sizeof manifest - 1);
    memset(text + sizeof manifest - 1, '}', 9);
    tmagen_load_options options = in_memory(text);
    options.source_text = source;
    options.manifest_bytes = sizeof manifest - 1;
    options.source_bytes = 13;
    assert_int_equal(tmagen_kernel_load(device, "gemm", &options, &loaded), TMAGEN_OK);
    tmagen_kernel_unload(loaded);
    options.source_bytes = 0;
    assert_int_equal(tmagen_kernel_load(device, "gemm", &options, &loaded), TMAGEN_ERROR_COMPILE);
}

int main(void) {
    use_fake("TMAGEN_LIBCUDA", "cuda.so");
    use_fake("TMAGEN_NVRTC", "nvrtc.so");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows, open_emu, close_emu),
        cmocka_unit_test_setup_teardown(test_other_rows, open_emu, close_emu),
        cmocka_unit_test_setup_teardown(test_resolve, open_emu, close_emu),
        cmocka_unit_test(test_elements),
        cmocka_unit_test_setup_teardown(test_run_given, open_emu, close_emu),
        cmocka_unit_test_setup_teardown(test_given_cubin, open_emu, close_emu),
        cmocka_unit_test_setup_teardown(test_given_ptx, open_emu, close_emu),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
