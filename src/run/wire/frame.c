/* frame.c -- encode and check heads of frames; the table of frame types and their rules.
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

enum {
    NUMBER = 8,                         /* bytes of a packed number                    */
    LINE = sizeof(struct cleave_error), /* bytes of a message                          */
    MOST = CV_FRAME_MOST,               /* bytes of data that may take several frames  */
    HELLO_MOST = 3 * NUMBER + 2 * 256,  /* two texts, a number                         */
    PIECE = 11 * NUMBER,                /* exactly: struct cv_remote_piece             */
    END_LEAST = 19 * NUMBER,            /* struct cv_remote_end                        */
    END_MOST = END_LEAST + 256,         /* and its fault                               */
    SEEN = 3 * NUMBER,                  /* exactly: struct cv_remote_seen              */
    NAMES_MOST = (1 + CV_FOLD_STEP_MOST) * NUMBER,
    ANY_SIZE = CV_FRAME_ZSTD, /* as a flag: the payload may be compressed    */
    LAST = CV_FRAME_LAST,
};

_Static_assert(CV_STAGES <= 32 && CV_WORKER_STAGES <= 32, "a stage is a bit");

#define H(stage) (1u << CV_STAGE_##stage)
#define W(stage) (1u << CV_WORKER_##stage)
#define ALWAYS (~0u)
/* The command of the piece runs, or the master does not want the piece any longer. */
#define RUNNING (H(OPEN) | H(SHUT) | H(STOPPING) | H(GIVEN_UP))
/* The worker has received the announcement of the piece. */
#define KNOWN (W(OPEN) | W(COMPLETE) | W(OVER) | W(CUT_SHORT))

#define KIND(name, flags, min, max, at_host, at_worker) \
    [CV_FRAME_##name] = { #name, flags, min, max, at_host, at_worker }

/* A frame that neither side may receive by these rules is handled elsewhere: PING by the link,
 * PARTIAL of another worker by worker_fold.c. */
static const struct cv_frame_kind kinds[] = {
    KIND(PING, 0, 0, 0, 0, 0),
    KIND(HELLO, ANY_SIZE, 3 * NUMBER, HELLO_MOST, H(CONNECTING), W(NEW)),
    KIND(REFUSED, ANY_SIZE, 0, LINE, ALWAYS, ALWAYS),

    KIND(JOB, ANY_SIZE | LAST, 0, MOST, 0, W(GREETED)),
    KIND(PIECE, 0, PIECE, PIECE, 0, W(UNHEARD)),
    KIND(DATA, ANY_SIZE | LAST, 0, MOST, 0, W(COMING) | W(OPEN) | W(CUT_SHORT)),
    KIND(CUT, 0, NUMBER, NUMBER, 0, KNOWN),
    KIND(STOP, 0, 0, 0, 0, W(COMING) | KNOWN),
    KIND(LEAVE, 0, 0, 0, 0, W(SEAT)),

    KIND(READY, ANY_SIZE, 0, LINE, H(GREETED), 0),
    KIND(GOT, LAST, 0, 0, H(SENDING) | H(SENT) | H(OPEN) | H(GIVEN_UP), 0),
    KIND(COMPUTED, 0, 0, 0, H(ARRIVED) | RUNNING, 0),
    KIND(OUTPUT, ANY_SIZE, 1, MOST, H(COMPUTED) | H(GIVEN_UP), 0),
    KIND(LINES, ANY_SIZE, 1, MOST, H(ARRIVED) | RUNNING, 0),
    KIND(NOTICE, 0, 0, 0, H(SERVES), 0),
    KIND(BACK, 0, 0, 0, H(ARRIVED) | H(STOPPING) | H(GIVEN_UP), 0),
    KIND(END, 0, END_LEAST, END_MOST,
         H(COMPUTED) | H(KEEPING) | H(STOPPING) | H(GIVEN_UP), 0),
    KIND(CUT_DONE, 0, 0, 0, H(CUT_DUE), 0),
    KIND(LEFT, 0, END_LEAST, END_MOST, H(STAYS) | H(TOLD) | H(LEAVING), 0),
    KIND(HAS_LEFT, 0, 0, 0, H(LEAVING), 0),
    KIND(SILENT, 0, 0, 0, H(STAYS) | H(LEAVING), 0),

    KIND(LOOK, 0, 0, 0, 0, KNOWN),
    KIND(SHOW, 0, 0, 0, 0, W(COMING) | KNOWN),
    KIND(MORE, LAST, PIECE, PIECE, 0, W(OPEN) | W(CUT_SHORT)),
    KIND(TOLD, ANY_SIZE, NUMBER, MOST, 0, W(UNHEARD)),
    KIND(PACKED, ANY_SIZE, 10 * NUMBER, MOST, 0, W(COMING) | W(OPEN) | W(CUT_SHORT)),
    KIND(DRAWN, ANY_SIZE, 6 * NUMBER, MOST, 0, W(COMING)),
    KIND(STARTED, 0, 0, 0, RUNNING, 0),
    KIND(FED, 0, 0, 0, RUNNING, 0),
    KIND(DRAINED, 0, 0, 0, H(OPEN) | H(GIVEN_UP), 0),
    KIND(SEEN, 0, SEEN, SEEN, RUNNING, 0),

    KIND(REDUCE, ANY_SIZE, 3 * NUMBER, MOST, 0, W(NO_FOLD)),
    KIND(GIVE, 0, NUMBER, NUMBER, 0, W(FOLDS)),
    KIND(FOLD, 0, 3 * NUMBER, NAMES_MOST, 0, W(FOLDS)),
    KIND(FOLD_OFF, 0, 0, 0, 0, W(FOLDS)),
    KIND(FORGET, 0, 0, 0, 0, W(FOLDS)),
    KIND(FETCH, 0, 0, 0, 0, W(FOLDS)),
    KIND(FOLD_STOP, 0, 0, 0, 0, W(FOLDS)),
    KIND(FOLDED, 0, NUMBER, NUMBER, H(FOLDING) | H(OFF), 0),
    KIND(FOLD_FAILED, ANY_SIZE, 2 * NUMBER, 2 * NUMBER + LINE, H(FOLDING) | H(OFF), 0),
    KIND(HEADWAY, 0, 0, 0, H(HOLDS), 0),
    KIND(PARTIAL, ANY_SIZE | LAST, 0, MOST, H(FETCHING), 0),
};

const struct cv_frame_kind *cv_frame_kind(uint8_t type)
{
    return type < sizeof kinds / sizeof *kinds && kinds[type].name != NULL ? &kinds[type]
                                                                           : NULL;
}

const char *cv_frame_name(uint8_t type)
{
    const struct cv_frame_kind *kind = cv_frame_kind(type);

    return kind != NULL ? kind->name : "a frame of unknown type";
}

const char *cv_frame_refused_by_host(enum cv_stage stage, uint8_t type)
{
#define X(name, text) text,
    static const char *const texts[] = { CV_HOST_STAGE_MAP(X) };
#undef X
    const struct cv_frame_kind *kind = cv_frame_kind(type);

    return kind != NULL && (kind->at_host >> stage & 1) != 0 ? NULL : texts[stage];
}

const char *cv_frame_refused_by_worker(enum cv_worker_stage stage, uint8_t type)
{
#define X(name, text) text,
    static const char *const texts[] = { CV_WORKER_STAGE_MAP(X) };
#undef X
    const struct cv_frame_kind *kind = cv_frame_kind(type);

    return kind != NULL && (kind->at_worker >> stage & 1) != 0 ? NULL : texts[stage];
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

static enum cleave_status frame_kind_check(const struct cv_frame_head *head,
                                           struct cleave_error *err)
{
    const struct cv_frame_kind *kind = cv_frame_kind(head->type);

    if (kind == NULL)
        return cv_fail(err, CLEAVE_EINPUT, "got a frame of unknown type %d", head->type);
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

enum { MAGIC = sizeof CV_FRAME_MAGIC - 1 };

/* Offsets in a head, after the magic. */
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

/* The bridge between MPI ranks is not linked with this file and has its own constants. */
_Static_assert(CV_FRAME_HEAD == HEAD_SUM_AT + 8, "a head ends with its checksum");
_Static_assert((int)CV_BRIDGE_HEAD == CV_FRAME_HEAD, "bytes before the payload");
_Static_assert((int)CV_BRIDGE_LENGTH_AT == LENGTH_AT, "offset of the length");
_Static_assert((int)CV_BRIDGE_PEER_AT == PEER_AT, "offset of the rank");
_Static_assert((int)CV_BRIDGE_MOST == CV_FRAME_MOST, "the longest payload");

void cv_frame_encode(const struct cv_frame_head *head, unsigned char out[CV_FRAME_HEAD])
{
    memcpy(out, CV_FRAME_MAGIC, MAGIC);
    cv_put_little_endian(out + VERSION_AT, CV_FRAME_VERSION, 1);
    cv_put_little_endian(out + TYPE_AT, head->type, 1);
    cv_put_little_endian(out + FLAGS_AT, head->flags, 2);
    cv_put_little_endian(out + LENGTH_AT, head->length, 4);
    cv_put_little_endian(out + PEER_AT, head->peer, 4);
    cv_put_little_endian(out + CHUNK_AT, head->chunk, 8);
    cv_put_little_endian(out + VALUE_AT, head->value, 8);
    cv_put_little_endian(out + CHECKSUM_AT, head->checksum, 8);
    cv_put_little_endian(out + HEAD_SUM_AT, XXH3_64bits(out, HEAD_SUM_AT), 8);
}

/* The checksum is right, or would be if the version were ours. */
static bool is_whole(const unsigned char in[CV_FRAME_HEAD])
{
    unsigned char bytes[HEAD_SUM_AT];

    memcpy(bytes, in, sizeof bytes);
    bytes[VERSION_AT] = CV_FRAME_VERSION;
    return XXH3_64bits(bytes, sizeof bytes) == cv_little_endian(in + HEAD_SUM_AT, 8);
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
    const bool ours = in[VERSION_AT] == CV_FRAME_VERSION, whole = is_whole(in);

    /* Another version may differ in everything but its number; or that byte is damaged. */
    if (memcmp(in, CV_FRAME_MAGIC, MAGIC) != 0 || (!ours && !whole))
        return cv_frame_look(in, CV_FRAME_HEAD, err);
    if (!ours || !whole)
        return cv_fail(err, CLEAVE_EINPUT, "the head of a frame was damaged on its way");
    head =
        (struct cv_frame_head){ .type = in[TYPE_AT],
                                .flags = (uint16_t)cv_little_endian(in + FLAGS_AT, 2),
                                .length = (uint32_t)cv_little_endian(in + LENGTH_AT, 4),
                                .peer = (uint32_t)cv_little_endian(in + PEER_AT, 4),
                                .chunk = cv_little_endian(in + CHUNK_AT, 8),
                                .value = cv_little_endian(in + VALUE_AT, 8),
                                .checksum = cv_little_endian(in + CHECKSUM_AT, 8) };
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
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected frames of version %d, as cleave %s has them, got version %d: "
            "install the same cleave on both sides, or use hosts.push",
            CV_FRAME_VERSION, CLEAVE_VERSION, in[VERSION_AT]);
    return CLEAVE_OK;
}

uint64_t cv_frame_checksum(const struct cv_frame_head *head, const void *payload)
{
    return head->length > 0 ? XXH3_64bits(payload, head->length) : 0;
}

uint64_t cv_frame_sum(uint64_t sum, const struct cv_frame_head *head)
{
    unsigned char bytes[4 * 8];

    cv_put_little_endian(bytes, sum, 8);
    cv_put_little_endian(bytes + 8, head->value, 8);
    cv_put_little_endian(bytes + 16, head->length, 8);
    cv_put_little_endian(bytes + 24, head->checksum, 8);
    return XXH3_64bits(bytes, sizeof bytes);
}
