/* frame.c -- heads of frames, and what tells a whole one from a damaged one.
 * SPDX-License-Identifier: MIT */
#include "run/wire/frame.h"

#include <string.h>
#include <xxhash.h>
#include <cleave/version.h>
#include "base/fail.h"
#include "base/text.h"
#include "engine/fold_plan.h"
#include "engine/mpi_bridge.h"
#include "run/wire/protocol.h"

/* --- what kinds of frames there are ------------------------------------------------ */

/* The states in which they may come are elsewhere: hosts/host_rules.c, worker/worker_rules.c. */

enum {
    NUMBER = 8,                         /* bytes of a packed number                    */
    LINE = sizeof(struct cleave_error), /* of a text for people                        */
    MOST = CV_FRAME_MOST,               /* of things that go in as many as it takes    */
    HELLO_MOST = 3 * NUMBER + 2 * 256,  /* two texts, a number                         */
    PIECE = 11 * NUMBER,                /* exactly: struct cv_remote_piece             */
    END_LEAST = 15 * NUMBER,            /* struct cv_remote_end                        */
    END_MOST = END_LEAST + 256,         /* and what was wrong                          */
    SEEN = 3 * NUMBER,                  /* exactly: struct cv_remote_seen              */
    NAMES_MOST = (1 + CV_FOLD_STEP_MOST) * NUMBER,
    ANY_SIZE = CV_FRAME_ZSTD, /* as a flag: it may be compressed             */
};

#define KIND(name, from, flags, min, max)             \
    {                                                 \
        CV_FRAME_##name, from, flags, min, max, #name \
    }

static const struct cv_frame_kind kinds[] = {
    KIND(PING, CV_FROM_BOTH, 0, 0, 0),
    KIND(HELLO, CV_FROM_BOTH, ANY_SIZE, 3 * NUMBER, HELLO_MOST),
    KIND(REFUSED, CV_FROM_BOTH, ANY_SIZE, 0, LINE),

    KIND(JOB, CV_FROM_MASTER, ANY_SIZE | CV_FRAME_LAST, 0, MOST),
    KIND(PIECE, CV_FROM_MASTER, 0, PIECE, PIECE),
    KIND(DATA, CV_FROM_MASTER, ANY_SIZE | CV_FRAME_LAST, 0, MOST),
    KIND(CUT, CV_FROM_MASTER, 0, NUMBER, NUMBER),
    KIND(STOP, CV_FROM_MASTER, 0, 0, 0),
    KIND(LEAVE, CV_FROM_MASTER, 0, 0, 0),

    KIND(READY, CV_FROM_WORKER, ANY_SIZE, 0, LINE),
    KIND(GOT, CV_FROM_WORKER, CV_FRAME_LAST, 0, 0),
    KIND(COMPUTED, CV_FROM_WORKER, 0, 0, 0),
    KIND(OUTPUT, CV_FROM_WORKER, ANY_SIZE, 1, MOST),
    KIND(LINES, CV_FROM_WORKER, ANY_SIZE, 1, MOST),
    KIND(NOTICE, CV_FROM_WORKER, 0, 0, 0),
    KIND(BACK, CV_FROM_WORKER, 0, 0, 0),
    KIND(END, CV_FROM_WORKER, 0, END_LEAST, END_MOST),
    KIND(CUT_DONE, CV_FROM_WORKER, 0, 0, 0),
    KIND(LEFT, CV_FROM_WORKER, 0, END_LEAST, END_MOST),
    KIND(HAS_LEFT, CV_FROM_WORKER, 0, 0, 0),
    KIND(SILENT, CV_FROM_WORKER, 0, 0, 0),

    KIND(LOOK, CV_FROM_MASTER, 0, 0, 0),
    KIND(SHOW, CV_FROM_MASTER, 0, 0, 0),
    KIND(MORE, CV_FROM_MASTER, CV_FRAME_LAST, PIECE, PIECE),
    KIND(TOLD, CV_FROM_MASTER, ANY_SIZE, NUMBER, MOST),
    KIND(PACKED, CV_FROM_MASTER, ANY_SIZE, 10 * NUMBER, MOST),
    KIND(DRAWN, CV_FROM_MASTER, ANY_SIZE, 6 * NUMBER, MOST),
    KIND(STARTED, CV_FROM_WORKER, 0, 0, 0),
    KIND(FED, CV_FROM_WORKER, 0, 0, 0),
    KIND(DRAINED, CV_FROM_WORKER, 0, 0, 0),
    KIND(SEEN, CV_FROM_WORKER, 0, SEEN, SEEN),

    KIND(REDUCE, CV_FROM_MASTER, ANY_SIZE, 3 * NUMBER, MOST),
    KIND(GIVE, CV_FROM_MASTER, 0, NUMBER, NUMBER),
    KIND(FOLD, CV_FROM_MASTER, 0, 3 * NUMBER, NAMES_MOST),
    KIND(FOLD_OFF, CV_FROM_MASTER, 0, 0, 0),
    KIND(FORGET, CV_FROM_MASTER, 0, 0, 0),
    KIND(FETCH, CV_FROM_MASTER, 0, 0, 0),
    KIND(FOLD_STOP, CV_FROM_MASTER, 0, 0, 0),
    KIND(FOLDED, CV_FROM_WORKER, 0, NUMBER, NUMBER),
    KIND(FOLD_FAILED, CV_FROM_WORKER, ANY_SIZE, 2 * NUMBER, 2 * NUMBER + LINE),
    KIND(HEADWAY, CV_FROM_WORKER, 0, 0, 0),
    KIND(PARTIAL, CV_FROM_WORKER | CV_FROM_PEER, ANY_SIZE | CV_FRAME_LAST, 0, MOST),
};

const struct cv_frame_kind *cv_frame_kind(uint8_t type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == type)
            return &kinds[i];
    return NULL;
}

const char *cv_frame_name(uint8_t type)
{
    const struct cv_frame_kind *kind = cv_frame_kind(type);

    return kind != NULL ? kind->name : "a frame of unknown type";
}

static enum cleave_status check_length(const struct cv_frame_kind *kind, uint32_t min,
                                       uint32_t length, struct cleave_error *err)
{
    if (length > kind->max)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected %s of at most %u bytes, got one of %u", kind->name,
                       kind->max, length);
    if (length < min)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected %s of at least %u bytes, got one of %u", kind->name, min,
                       length);
    return CLEAVE_OK;
}

/* Whether the head can be one of a frame as it goes over the link, compressed or not. */
static enum cleave_status frame_kind_check(const struct cv_frame_head *head,
                                           struct cleave_error *err)
{
    const struct cv_frame_kind *kind = cv_frame_kind(head->type);

    if (kind == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "got a frame of type %d, of which there is none", head->type);
    if ((head->flags & ~kind->flags) != 0)
        return cv_fail(err, CLEAVE_EINPUT, "got %s with flags %#x, which it cannot have",
                       kind->name, head->flags);
    return check_length(kind, (head->flags & CV_FRAME_ZSTD) != 0 ? 1 : kind->min,
                        head->length, err);
}

enum cleave_status cv_frame_plain_check(const struct cv_frame_head *head,
                                        struct cleave_error *err)
{
    const struct cv_frame_kind *kind = cv_frame_kind(head->type);

    return check_length(kind, kind->min, head->length, err);
}

/* --- heads of frames, and what tells a whole one from a damaged one ---------------- */

enum { MAGIC = sizeof CV_FRAME_MAGIC - 1 };

/* Where the parts of a head begin, after the magic. The last one covers all before it. */
enum {
    VERSION_AT = 4,
    TYPE_AT = 5,
    FLAGS_AT = 6,
    LENGTH_AT = 8,
    PEER_AT = 12,
    CHUNK_AT = 16,
    VALUE_AT = 24,
    CHECKSUM_AT = 32,
    HEAD_SUM_AT = 40,
};

/* The bridge between MPI ranks is not linked with this file, and finds its way by these. */
_Static_assert(CV_FRAME_HEAD == HEAD_SUM_AT + 8, "a head ends with its checksum");
_Static_assert((int)CV_BRIDGE_HEAD == CV_FRAME_HEAD, "bytes before the payload");
_Static_assert((int)CV_BRIDGE_LENGTH_AT == LENGTH_AT, "where the length stands");
_Static_assert((int)CV_BRIDGE_PEER_AT == PEER_AT, "where the rank stands");
_Static_assert((int)CV_BRIDGE_MOST == CV_FRAME_MOST, "the longest payload");

static void put(unsigned char *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8)
        out[i] = (unsigned char)(value & 0xFF);
}

static uint64_t get(const unsigned char *in, int bytes)
{
    uint64_t value = 0;

    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | in[i];
    return value;
}

void cv_frame_encode(const struct cv_frame_head *head, unsigned char out[CV_FRAME_HEAD])
{
    memcpy(out, CV_FRAME_MAGIC, MAGIC);
    put(out + VERSION_AT, CV_FRAME_VERSION, 1);
    put(out + TYPE_AT, head->type, 1);
    put(out + FLAGS_AT, head->flags, 2);
    put(out + LENGTH_AT, head->length, 4);
    put(out + PEER_AT, head->peer, 4);
    put(out + CHUNK_AT, head->chunk, 8);
    put(out + VALUE_AT, head->value, 8);
    put(out + CHECKSUM_AT, head->checksum, 8);
    put(out + HEAD_SUM_AT, XXH3_64bits(out, HEAD_SUM_AT), 8);
}

/* --- what comes --------------------------------------------------------------------------- */

static enum cleave_status refuse_damaged(struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EINPUT, "the head of a frame was damaged on its way");
}

static enum cleave_status refuse_version(int version, struct cleave_error *err)
{
    return cv_fail(
        err, CLEAVE_EINPUT,
        "expected frames of version %d, as cleave %s has them, got version %d: "
        "install the same cleave on both sides, or let --push bring it",
        CV_FRAME_VERSION, CLEAVE_VERSION, version);
}

/* Whether all but the last part has the sum that is given there, if its version were ours. */
static bool is_whole(const unsigned char in[CV_FRAME_HEAD])
{
    unsigned char bytes[HEAD_SUM_AT];

    memcpy(bytes, in, sizeof bytes);
    bytes[VERSION_AT] = CV_FRAME_VERSION;
    return XXH3_64bits(bytes, sizeof bytes) == get(in + HEAD_SUM_AT, 8);
}

#define NO_FRAME "expected a frame of cleave, got"

bool cv_is_no_frame(const char *text)
{
    return strstr(text, NO_FRAME) != NULL;
}

enum cleave_status cv_frame_decode(const unsigned char in[CV_FRAME_HEAD],
                                   struct cv_frame_head *out, struct cleave_error *err)
{
    struct cv_frame_head head;
    char shown[2 * CV_FRAME_HEAD];

    if (memcmp(in, CV_FRAME_MAGIC, MAGIC) != 0)
        return cv_fail(err, CLEAVE_EINPUT, NO_FRAME " '%s'",
                       cv_shown((const char *)in, CV_FRAME_HEAD, shown, sizeof shown));
    /* Of another version all but its number may be different; a bit of it may be damaged. */
    if (in[VERSION_AT] != CV_FRAME_VERSION)
        return is_whole(in) ? refuse_damaged(err) : refuse_version(in[VERSION_AT], err);
    if (!is_whole(in))
        return refuse_damaged(err);
    head = (struct cv_frame_head){ .type = in[TYPE_AT],
                                   .flags = (uint16_t)get(in + FLAGS_AT, 2),
                                   .length = (uint32_t)get(in + LENGTH_AT, 4),
                                   .peer = (uint32_t)get(in + PEER_AT, 4),
                                   .chunk = get(in + CHUNK_AT, 8),
                                   .value = get(in + VALUE_AT, 8),
                                   .checksum = get(in + CHECKSUM_AT, 8) };
    CV_TRY(frame_kind_check(&head, err));
    *out = head;
    return CLEAVE_OK;
}

enum cleave_status cv_frame_look(const unsigned char *in, size_t length,
                                 struct cleave_error *err)
{
    char shown[2 * CV_FRAME_HEAD];

    if (length > CV_FRAME_HEAD)
        length = CV_FRAME_HEAD;
    if (memcmp(in, CV_FRAME_MAGIC, length < MAGIC ? length : MAGIC) != 0)
        return cv_fail(err, CLEAVE_EINPUT, NO_FRAME " '%s'",
                       cv_shown((const char *)in, length, shown, sizeof shown));
    if (length > VERSION_AT && in[VERSION_AT] != CV_FRAME_VERSION)
        return refuse_version(in[VERSION_AT], err);
    return CLEAVE_OK;
}

/* --- sums --------------------------------------------------------------------------------- */

uint64_t cv_frame_checksum(const struct cv_frame_head *head, const void *payload)
{
    return head->length > 0 ? XXH3_64bits(payload, head->length) : 0;
}

uint64_t cv_frame_sum(uint64_t sum, const struct cv_frame_head *head)
{
    unsigned char bytes[4 * 8];

    put(bytes, sum, 8);
    put(bytes + 8, head->value, 8);
    put(bytes + 16, head->length, 8);
    put(bytes + 24, head->checksum, 8);
    return XXH3_64bits(bytes, sizeof bytes);
}
