// SHA-256 digests and the key of a compile: what identifies a cached kernel.
// A key is content only (source, options, architecture, compiler), so it cannot go stale and is the
// same on every machine.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Of libcrypto the bare digest, which the rest of it would pull in whole through EVP.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "runtime/tmagen.h"

enum { TMG_DIGEST_BYTES = SHA256_DIGEST_LENGTH };

// A digest over several parts, each with its length before it, so that no two lists of parts run
// together to the same bytes.
struct tmg_key {
    SHA256_CTX context;
};

void tmg_key_begin(struct tmg_key *key);
void tmg_key_add(struct tmg_key *key, const void *part, size_t bytes);
void tmg_key_end(struct tmg_key *key, uint8_t digest[TMG_DIGEST_BYTES]);

// The SHA-256 of [bytes] bytes at [data].
void tmg_digest(const void *data, size_t bytes, uint8_t digest[TMG_DIGEST_BYTES]);

// Writes [count] bytes as twice as many hexadecimal digits and a zero.
void tmg_hex(const uint8_t *bytes, size_t count, char *text);

// Writes the SHA-256 of [bytes] bytes at [data] to [text], as 64 hexadecimal digits and a zero.
void tmg_digest_text(const void *data, size_t bytes, char text[TMAGEN_KEY_CHARS]);

// What a compile is asked for: the parts of a key, all but the compiler's identity.
struct tmg_request {
    const char *kind;     // "cubin" or "ptx"
    const char *arch;     // "sm_90a"
    const char *name;     // the source's file name: it is in the line information
    const char *options;  // the compiler's options that shape its output, separated by spaces
    const char *source;
    size_t source_bytes;
    const char *source_sha256;  // in hexadecimal; NULL: to be computed where it is needed
};

enum {
    TMG_REQUEST_HEX = 40,  // the leading part of a key, that of the request
    TMG_COMPILER_HEX = 24  // the rest, that of the compiler
};

// Writes the key of [request] compiled by [compiler] to [key], TMAGEN_KEY_CHARS long: 64
// hexadecimal digits. The first TMG_REQUEST_HEX depend on the request alone, so that what any
// compiler made of it can be found on a machine without one. With [compiler] NULL only those are
// written.
void tmg_request_key(const struct tmg_request *request, const char *compiler, char *key);

// The last TMG_COMPILER_HEX digits of a key, by themselves.
void tmg_compiler_key(const char *compiler, char *key);
