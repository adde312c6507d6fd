// SHA-256 digests and the key of a compile, by libcrypto: on a CPU with instructions for it
// eight times as fast as libmd.
// Every part goes in after its length, so that no two requests run together to the same bytes.
#include "runtime/key.h"

#include <string.h>

void tmg_key_begin(struct tmg_key *key) { SHA256_Init(&key->context); }

void tmg_key_add(struct tmg_key *key, const void *part, size_t bytes) {
    uint64_t length = bytes;
    SHA256_Update(&key->context, &length, sizeof length);
    SHA256_Update(&key->context, part, bytes);
}

void tmg_key_end(struct tmg_key *key, uint8_t digest[TMG_DIGEST_BYTES]) {
    SHA256_Final(digest, &key->context);
}

static void write_hex(char *text, const uint8_t *bytes, size_t digits) {
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < digits; ++i) text[i] = hex[bytes[i / 2] >> (i % 2 ? 0 : 4) & 15];
    text[digits] = 0;
}

void tmg_hex(const uint8_t *bytes, size_t count, char *text) { write_hex(text, bytes, 2 * count); }

void tmg_digest(const void *data, size_t bytes, uint8_t digest[TMG_DIGEST_BYTES]) {
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, data, bytes);
    SHA256_Final(digest, &context);
}

void tmg_digest_text(const void *data, size_t bytes, char text[TMAGEN_KEY_CHARS]) {
    uint8_t digest[TMG_DIGEST_BYTES];
    tmg_digest(data, bytes, digest);
    tmg_hex(digest, sizeof digest, text);
}

static void add_text(struct tmg_key *key, const char *text) {
    tmg_key_add(key, text, strlen(text));
}

void tmg_request_key(const struct tmg_request *request, const char *compiler, char *text) {
    uint8_t digest[TMG_DIGEST_BYTES];
    char own[TMAGEN_KEY_CHARS];
    const char *source = request->source_sha256;
    struct tmg_key key;
    if (!source) tmg_digest_text(request->source, request->source_bytes, own);
    tmg_key_begin(&key);
    add_text(&key, "tmagen request 2");
    add_text(&key, request->kind);
    add_text(&key, request->arch);
    add_text(&key, request->name);
    add_text(&key, request->options);
    add_text(&key, source ? source : own);
    tmg_key_end(&key, digest);
    write_hex(text, digest, TMG_REQUEST_HEX);
    if (compiler) tmg_compiler_key(compiler, text + TMG_REQUEST_HEX);
}

void tmg_compiler_key(const char *compiler, char *text) {
    uint8_t digest[TMG_DIGEST_BYTES];
    struct tmg_key key;
    tmg_key_begin(&key);
    add_text(&key, "tmagen compiler 1");
    add_text(&key, compiler);
    tmg_key_end(&key, digest);
    write_hex(text, digest, TMG_COMPILER_HEX);
}
