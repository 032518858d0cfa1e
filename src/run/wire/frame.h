/* frame.h -- frames of the protocol between the master and its workers.
 * SPDX-License-Identifier: MIT
 *
 * A link is a pair of byte streams (ssh, a pipe, MPI). A frame is a head of CV_FRAME_HEAD
 * bytes, its numbers in little-endian order, and `length` bytes of payload. The head ends with
 * its own checksum, so that a damaged length is never used; the payload, as it goes over the
 * link, has a second one. protocol.h lists the types and payloads. */
#ifndef CV_FRAME_H
#define CV_FRAME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

enum {
    CV_FRAME_VERSION = 9,
    CV_FRAME_HEAD = 48,
    CV_FRAME_HEAD_LEAST = 40, /* shortest head of any version                           */
    CV_FRAME_MOST = 1 << 20,  /* bytes of payload; longer data takes several frames     */
};

#define CV_FRAME_MAGIC "CLVE" /* first bytes of a frame of any version */

enum cv_frame_flag {
    CV_FRAME_ZSTD = 1, /* the payload is one zstd frame                                 */
    CV_FRAME_LAST = 2, /* the last frame of this piece, job or partial result           */
};

/* On the wire: "CLVE", version (1 byte), type (1), flags (2), length (4), peer (4), chunk (8),
 * value (8), XXH3-64 of the payload (8), XXH3-64 of all bytes before it (8). */
struct cv_frame_head {
    uint8_t type; /* enum cv_frame_type                                                 */
    uint16_t flags;
    uint32_t length;
    uint32_t peer;     /* slot of the worker; between workers: rank of the receiver     */
    uint64_t chunk;    /* piece or partial result that the frame is about               */
    uint64_t value;    /* depends on the type                                           */
    uint64_t checksum; /* checksum of the payload                                       */
};

/* Computes the checksum of the head. */
void cv_frame_encode(const struct cv_frame_head *head, unsigned char out[CV_FRAME_HEAD]);
/* EINPUT: not a head, another version, damaged, an unknown type, or a length or flags that the
 * type does not allow. */
enum cleave_status cv_frame_decode(const unsigned char in[CV_FRAME_HEAD],
                                   struct cv_frame_head *out, struct cleave_error *err);
/* EINPUT: the first `length` bytes, at least one, cannot begin a frame of this version. */
enum cleave_status cv_frame_look(const unsigned char *in, size_t length,
                                 struct cleave_error *err);
/* The message is that of cv_frame_decode or cv_frame_look for bytes without the magic. */
bool cv_is_no_frame(const char *text);
/* The checksum of a payload of head->length bytes. */
uint64_t cv_frame_checksum(const struct cv_frame_head *head, const void *payload);
/* Running sum over the frames of a piece or an output: value, length and checksum of each.
 * Starts with 0; both sides compute it and compare. */
uint64_t cv_frame_sum(uint64_t sum, const struct cv_frame_head *head);

/* --- rules ---------------------------------------------------------------------------------
 *
 * Every frame that the master receives from a host, and a worker from its master, is checked
 * against the stage of the object that the frame is about. Stages have a text that completes
 * "READY ...", for the message about a frame that is not allowed. */

#define CV_HOST_STAGE_MAP(X)                                                \
    /* the host */                                                          \
    X(CONNECTING, "before its hello")                                       \
    X(GREETED, "before it was ready")                                       \
    X(SERVES, "while it serves")                                            \
    X(HOLDS, "while it keeps its outputs")                                  \
    /* a piece */                                                           \
    X(NO_PIECE, "while it has no such piece")                               \
    X(SENDING, "while the piece is being sent")                             \
    X(SENT, "while the piece is on its way")                                \
    X(ARRIVED, "while its command is running")                              \
    X(OPEN, "while the piece is open")                                      \
    X(SHUT, "while the piece has been closed")                              \
    X(STOPPING, "while its command is being stopped")                       \
    X(COMPUTED, "while its output is coming")                               \
    X(KEEPING, "while it keeps its output")                                 \
    X(GIVEN_UP, "while the piece has been given up")                        \
    X(CUT_DUE, "while it was asked for a cut")                              \
    /* a slot, and its persistent command */                                \
    X(NO_SEAT, "while it has no such slot")                                 \
    X(PLAIN, "while its commands do not stay")                              \
    X(STAYS, "while its command stays")                                     \
    X(TOLD, "after it was reported") /* also of the host: it gave notice */ \
    X(IDLE, "while its slot has no command")                                \
    X(LEAVING, "while its command is leaving")                              \
    /* a partial result */                                                  \
    X(NO_FOLD, "while nothing of the kind was asked of it")                 \
    X(FOLDING, "while it reduces")                                          \
    X(OFF, "while the reduction was called off")                            \
    X(FETCHING, "while its result is coming")

#define CV_WORKER_STAGE_MAP(X)                                     \
    X(NEW, "before its hello")                                     \
    X(GREETED, "before the job")                                   \
    /* a slot */                                                   \
    X(NO_SEAT, "while there is no such slot")                      \
    X(SEAT, "while it does not concern a slot")                    \
    /* a piece */                                                  \
    X(UNHEARD, "while there is no such piece")                     \
    X(COMING, "while the piece is coming")                         \
    X(OPEN, "while the piece is open")                             \
    X(COMPLETE, "while all of the piece is here")                  \
    X(OVER, "after the end of that piece")                         \
    X(CUT_SHORT, "while the command of that open piece has ended") \
    /* partial results */                                          \
    X(ALONE, "while this worker reduces nothing")                  \
    X(NO_FOLD, "while nothing is reduced here")                    \
    X(FOLDS, "while it is known what reduces")

#define X(name, text) CV_STAGE_##name,
enum cv_stage { CV_HOST_STAGE_MAP(X) CV_STAGES };
#undef X
#define X(name, text) CV_WORKER_##name,
enum cv_worker_stage { CV_WORKER_STAGE_MAP(X) CV_WORKER_STAGES };
#undef X

struct cv_frame_kind {
    const char *name;
    uint16_t flags;    /* that it may have                                              */
    uint32_t min, max; /* bytes of its payload                                          */
    uint32_t at_host, at_worker; /* stages in which the master, a worker may receive it,
                                    as bits                                             */
};

/* NULL: there is no such type. */
const struct cv_frame_kind *cv_frame_kind(uint8_t type);
/* "OUTPUT"; "a frame of unknown type". */
const char *cv_frame_name(uint8_t type);
/* EINPUT: the length of a payload that is not compressed does not fit its type. */
enum cleave_status cv_frame_plain_check(const struct cv_frame_head *head,
                                        struct cleave_error *err);
/* NULL if the master may receive the frame in this stage; else the text of the stage. */
const char *cv_frame_refused_by_host(enum cv_stage stage, uint8_t type);
/* NULL if a worker may receive the frame in this stage; else the text of the stage. */
const char *cv_frame_refused_by_worker(enum cv_worker_stage stage, uint8_t type);

#endif
