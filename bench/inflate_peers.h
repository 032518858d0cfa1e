/* inflate_peers.h -- zlib and ISA-L, if they are installed. SPDX-License-Identifier: MIT
 *
 * They are looked for when the program runs; only their headers are wanted before, and where these are not
 * there the library is left out. */
#ifndef INFLATE_PEERS_H
#define INFLATE_PEERS_H
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A function of a library, by the type of a pointer to it. */
static inline bool peer_find(void *library, const char *name, void *out)
{
    void *found = library != NULL ? dlsym(library, name) : NULL;

    memcpy(out, &found, sizeof found);
    return found != NULL;
}

enum { PEER_OUT = 128 * 1024 }; /* bytes that are given out at a time, as ours does */

#if __has_include(<zlib.h>)
#define ZLIB_CONST
#include <zlib.h>

struct peer_zlib {
    int (*inflate_init)(z_stream *, int, const char *, int);
    int (*inflate)(z_stream *, int);
    int (*inflate_end)(z_stream *);
    int (*deflate_init)(z_stream *, int, int, int, int, int, const char *, int);
    int (*deflate)(z_stream *, int);
    int (*deflate_end)(z_stream *);
};

static inline bool peer_zlib_open(struct peer_zlib *zlib)
{
    void *library = dlopen("libz.so.1", RTLD_NOW);

    return peer_find(library, "inflateInit2_", &zlib->inflate_init) &&
           peer_find(library, "inflate", &zlib->inflate) &&
           peer_find(library, "inflateEnd", &zlib->inflate_end) &&
           peer_find(library, "deflateInit2_", &zlib->deflate_init) &&
           peer_find(library, "deflate", &zlib->deflate) &&
           peer_find(library, "deflateEnd", &zlib->deflate_end);
}

/* How many bytes there are of one member of gzip. */
static inline size_t peer_zlib_run(const struct peer_zlib *zlib, const uint8_t *in,
                                   size_t length)
{
    static uint8_t out[PEER_OUT];
    z_stream stream = { .next_in = in, .avail_in = (unsigned)length };
    size_t made;

    if (zlib->inflate_init(&stream, 31, ZLIB_VERSION, (int)sizeof stream) != Z_OK)
        return 0;
    do {
        stream.next_out = out;
        stream.avail_out = sizeof out;
    } while (zlib->inflate(&stream, Z_NO_FLUSH) == Z_OK);
    made = stream.total_out;
    zlib->inflate_end(&stream);
    return made;
}

/* As `gzip -LEVEL` does it; *out is owned by the caller. 0: not available. */
static inline size_t peer_zlib_pack(const struct peer_zlib *zlib, const uint8_t *in,
                                    size_t length, int level, uint8_t **out)
{
    const size_t max = length + length / 8 + 1024;
    z_stream stream = { .next_in = in, .avail_in = (unsigned)length };
    int state;

    *out = malloc(max);
    if (*out == NULL || zlib->deflate_init(&stream, level, Z_DEFLATED, 31, 8, 0,
                                           ZLIB_VERSION, (int)sizeof stream) != Z_OK)
        return 0;
    stream.next_out = *out;
    stream.avail_out = (unsigned)max;
    state = zlib->deflate(&stream, Z_FINISH);
    zlib->deflate_end(&stream);
    return state == Z_STREAM_END ? stream.total_out : 0;
}

#else

struct peer_zlib {
    bool none;
};

static inline bool peer_zlib_open(struct peer_zlib *zlib)
{
    return !(zlib->none = true);
}

static inline size_t peer_zlib_run(const struct peer_zlib *zlib, const uint8_t *in,
                                   size_t length)
{
    (void)zlib, (void)in, (void)length;
    return 0;
}

static inline size_t peer_zlib_pack(const struct peer_zlib *zlib, const uint8_t *in,
                                    size_t length, int level, uint8_t **out)
{
    (void)zlib, (void)in, (void)length, (void)level;
    *out = NULL;
    return 0;
}
#endif

#if __has_include(<isa-l/igzip_lib.h>)
#include <isa-l/igzip_lib.h>

struct peer_isal {
    void (*init)(struct inflate_state *);
    int (*inflate)(struct inflate_state *);
};

static inline bool peer_isal_open(struct peer_isal *isal)
{
    void *library = dlopen("libisal.so.2", RTLD_NOW);

    return peer_find(library, "isal_inflate_init", &isal->init) &&
           peer_find(library, "isal_inflate", &isal->inflate);
}

static inline size_t peer_isal_run(const struct peer_isal *isal, uint8_t *in,
                                   size_t length)
{
    static uint8_t out[PEER_OUT];
    static struct inflate_state state;
    size_t made = 0;

    isal->init(&state);
    state.crc_flag = ISAL_GZIP;
    state.next_in = in;
    state.avail_in = (uint32_t)length;
    do {
        state.next_out = out;
        state.avail_out = sizeof out;
        if (isal->inflate(&state) != ISAL_DECOMP_OK)
            return 0;
        made += sizeof out - state.avail_out;
    } while (state.block_state != ISAL_BLOCK_FINISH && state.avail_out < sizeof out);
    return made;
}

#else

struct peer_isal {
    bool none;
};

static inline bool peer_isal_open(struct peer_isal *isal)
{
    return !(isal->none = true);
}

static inline size_t peer_isal_run(const struct peer_isal *isal, uint8_t *in,
                                   size_t length)
{
    (void)isal, (void)in, (void)length;
    return 0;
}
#endif

#endif
