/* frame_kinds.c -- what kinds of frames there are. SPDX-License-Identifier: MIT
 *
 * The states in which they may come are elsewhere: hosts/host_rules.c, worker/worker_rules.c. */
#include "run/wire/frame_kinds.h"

#include "base/fail.h"
#include "engine/fold_plan.h"
#include "run/wire/fold_frames.h"

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

enum cleave_status cv_frame_kind_check(const struct cv_frame_head *head,
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
