/* piece_part.c -- the bytes of a piece, and their hash. SPDX-License-Identifier: MIT */
#include "run/common/piece_part.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fail.h"

struct cv_part cv_closing_part(enum cv_closing closing)
{
    static const struct {
        char bytes[2];
        uint64_t length;
    } closings[CV_CLOSINGS] = {
        [CV_CLOSING_LINE] = { { '\n' }, 1 },
        [CV_CLOSING_EMPTY] = { { '\n', '\n' }, 2 },
        [CV_CLOSING_ZERO] = { { '\0' }, 1 },
        [CV_CLOSING_ARRAY] = { { ']', '\n' }, 2 },
    };

    return (struct cv_part){ .bytes = closings[closing].bytes,
                             .fd = -1,
                             .end = closings[closing].length };
}

struct cv_part cv_piece_header(const struct cv_piece *piece)
{
    return (struct cv_part){ .bytes = piece->header_bytes,
                             .fd = piece->fd,
                             .lazy = piece->header_bytes == NULL ? piece->lazy : NULL,
                             .begin = piece->header.begin,
                             .end = piece->header.end,
                             .name = piece->name };
}

struct cv_part cv_piece_body(const struct cv_piece *piece)
{
    return (struct cv_part){ .bytes = piece->body_bytes,
                             .lasting = true,
                             .fd = piece->fd,
                             .lazy = piece->lazy,
                             .begin = piece->body.begin,
                             .end = piece->body.end,
                             .name = piece->name };
}

struct cv_part cv_piece_closing(const struct cv_piece *piece)
{
    if (piece->closing == CV_CLOSING_TEXT)
        return (struct cv_part){ .bytes = piece->closing_text,
                                 .fd = -1,
                                 .end = strlen(piece->closing_text) };
    return cv_closing_part(piece->closing);
}

struct cv_part cv_piece_mate(const struct cv_piece *piece)
{
    return (struct cv_part){ .fd = piece->mate_fd,
                             .lazy = piece->mate_lazy,
                             .begin = piece->mate.begin,
                             .end = piece->mate.end,
                             .name = "the file of the mates" };
}

enum cleave_status cv_part_fail(const struct cv_part *part, uint64_t offset, int error,
                                struct cleave_error *err)
{
    if (error != 0)
        return cv_fail_at(err, CV_FILE(part->name), "cannot read at byte %" PRIu64 ": %s",
                          offset, strerror(error));
    return cv_fail_at(err, CV_FILE(part->name),
                      "expected bytes up to %" PRIu64 ", got only %" PRIu64
                      ": has the file been cut meanwhile?",
                      part->end, offset);
}

enum cleave_status cv_part_read_some(const struct cv_part *part, uint64_t at, void *block,
                                     size_t max, size_t *out, struct cleave_error *err)
{
    ssize_t got;

    if (part->lazy != NULL)
        return part->lazy->read(part->lazy, at, block, max, out, err);
    got = TEMP_FAILURE_RETRY(pread(part->fd, block, max, (off_t)at));
    if (got < 0)
        return cv_part_fail(part, at, errno, err);
    *out = (size_t)got;
    return CLEAVE_OK;
}

ssize_t cv_part_read(const struct cv_part *part, uint64_t offset, void *out, size_t max)
{
    char *to = out;
    size_t done = 0, got = 1;

    if (max > part->end - offset)
        max = (size_t)(part->end - offset);
    if (part->bytes != NULL) {
        memcpy(out, (const char *)part->bytes + (offset - part->begin), max);
        return (ssize_t)max;
    }
    for (; done < max && got > 0; done += got)
        if (cv_part_read_some(part, offset + done, to + done, max - done, &got, NULL) !=
            CLEAVE_OK) {
            errno = part->lazy != NULL ? EBADMSG : errno;
            return done > 0 ? (ssize_t)done : -1;
        }
    return (ssize_t)done;
}

/* --- hashes -------------------------------------------------------------------------- */

/* Small enough to stay in the cache between reading and hashing. */
enum { BLOCK = 256 * 1024 };

struct cv_content_hasher {
    XXH3_state_t *state; /* owned */
    char *block;         /* owned */
};

enum cleave_status cv_content_hasher_new(struct cv_content_hasher **out,
                                         struct cleave_error *err)
{
    struct cv_content_hasher *hasher = calloc(1, sizeof *hasher);

    if (hasher == NULL)
        return cv_fail_memory(err, "a hash");
    hasher->state = XXH3_createState();
    hasher->block = malloc(BLOCK);
    if (hasher->state == NULL || hasher->block == NULL) {
        cv_content_hasher_free(hasher);
        return cv_fail_memory(err, "a hash");
    }
    cv_content_hasher_reset(hasher);
    *out = hasher;
    return CLEAVE_OK;
}

void cv_content_hasher_free(struct cv_content_hasher *hasher)
{
    if (hasher == NULL)
        return;
    XXH3_freeState(hasher->state);
    free(hasher->block);
    free(hasher);
}

void cv_content_hasher_reset(struct cv_content_hasher *hasher)
{
    XXH3_128bits_reset(hasher->state);
}

void cv_content_hasher_add_bytes(struct cv_content_hasher *hasher, const void *bytes,
                                 size_t length)
{
    XXH3_128bits_update(hasher->state, bytes, length);
}

enum cleave_status cv_content_hasher_add_part(struct cv_content_hasher *hasher,
                                              const struct cv_part *part,
                                              struct cleave_error *err)
{
    size_t got;

    if (part->bytes != NULL) {
        cv_content_hasher_add_bytes(hasher, part->bytes,
                                    (size_t)(part->end - part->begin));
        return CLEAVE_OK;
    }
    for (uint64_t at = part->begin; at < part->end; at += got) {
        const uint64_t left = part->end - at;

        CV_TRY(cv_part_read_some(part, at, hasher->block,
                                 left < BLOCK ? (size_t)left : BLOCK, &got, err));
        if (got == 0)
            return cv_part_fail(part, at, 0, err);
        XXH3_128bits_update(hasher->state, hasher->block, got);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_content_hasher_add(struct cv_content_hasher *hasher,
                                         const char *name, int fd, uint64_t begin,
                                         uint64_t end, struct cleave_error *err)
{
    const struct cv_part part = { .fd = fd, .begin = begin, .end = end, .name = name };

    return cv_content_hasher_add_part(hasher, &part, err);
}

struct cv_content_hash cv_content_hasher_finish(struct cv_content_hasher *hasher)
{
    const XXH128_hash_t hash = XXH3_128bits_digest(hasher->state);

    cv_content_hasher_reset(hasher);
    return (struct cv_content_hash){ .high = hash.high64, .low = hash.low64 };
}

bool cv_content_hash_equal(struct cv_content_hash a, struct cv_content_hash b)
{
    return a.high == b.high && a.low == b.low;
}

void cv_content_hash_text(struct cv_content_hash hash, char out[CV_CONTENT_HASH_TEXT])
{
    snprintf(out, CV_CONTENT_HASH_TEXT, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

bool cv_content_hash_parse(const char *text, struct cv_content_hash *out)
{
    char half[17] = "";

    if (strlen(text) != CV_CONTENT_HASH_TEXT - 1 ||
        text[strspn(text, "0123456789abcdef")] != '\0')
        return false;
    memcpy(half, text, 16);
    out->high = strtoull(half, NULL, 16);
    out->low = strtoull(text + 16, NULL, 16);
    return true;
}
