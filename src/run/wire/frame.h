/* frame.h -- what the master and its remote workers say to each other.
 * SPDX-License-Identifier: MIT
 *
 * A link is a pair of byte streams, whatever carries them: the user's ssh, a pipe, an MPI
 * library. On it go frames: a head of CV_FRAME_HEAD bytes, lowest byte first in all its
 * numbers, then `length` bytes of payload. The head ends with a checksum of its own, so that
 * nobody waits for as many bytes as a damaged length says; the payload, as it goes over the
 * link, has another one. */
#ifndef CV_FRAME_H
#define CV_FRAME_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CV_FRAME_VERSION = 8,
    CV_FRAME_HEAD = 48,
    CV_FRAME_HEAD_LEAST = 40, /* of any version                                         */
    CV_FRAME_MOST =
        1 << 20, /* bytes of payload: longer things go in several frames     */
};

#define CV_FRAME_MAGIC "CLVE" /* what every frame of any version begins with */

enum cv_frame_flag {
    CV_FRAME_ZSTD = 1, /* the payload is one zstd frame                                 */
    CV_FRAME_LAST = 2, /* nothing more of this piece follows                            */
};

/* On the wire: "CLVE", version (1 byte), type (1), flags (2), length (4), peer (4),
 * chunk (8), value (8), checksum of the payload (8: XXH3-64), of all before it (8: XXH3-64). */
struct cv_frame_head {
    uint8_t
        type; /* enum cv_frame_type of protocol.h                                     */
    uint16_t flags;
    uint32_t length;
    uint32_t peer;  /* whom it is for (to a worker: which slot; between workers: rank)  */
    uint64_t chunk; /* what it is about                                                 */
    uint64_t value; /* depends on the type                                              */
    uint64_t checksum; /* of the payload                                               */
};

/* With the checksum of the head. */
void cv_frame_encode(const struct cv_frame_head *head, unsigned char out[CV_FRAME_HEAD]);
/* Fails, with a text for people, when this is no head, of another version, damaged, of a
 * type that there is none of, or longer than such a frame may be. */
enum cleave_status cv_frame_decode(const unsigned char in[CV_FRAME_HEAD],
                                   struct cv_frame_head *out, struct cleave_error *err);
/* Whether a message says of bytes that they are no frame at all. */
bool cv_is_no_frame(const char *text);
/* Fails when what there is of a head, at least a byte, says already that it is none or one of
 * another version. */
enum cleave_status cv_frame_look(const unsigned char *in, size_t length,
                                 struct cleave_error *err);
/* The checksum of the payload that belongs into the head. */
uint64_t cv_frame_checksum(const struct cv_frame_head *head, const void *payload);
/* What a piece or an output was, frame by frame: the sum so far and one more frame of it, by
 * its value, length and checksum. It is 0 at first. Both sides have the same frames, so they
 * come to the same sum. */
uint64_t cv_frame_sum(uint64_t sum, const struct cv_frame_head *head);

/* Who may send it. */
enum cv_frame_sender {
    CV_FROM_MASTER = 1,
    CV_FROM_WORKER = 2,
    CV_FROM_PEER = 4, /* another worker */
    CV_FROM_BOTH = CV_FROM_MASTER | CV_FROM_WORKER,
};

struct cv_frame_kind {
    uint8_t type;
    uint8_t from;   /* enum cv_frame_sender, added up                                   */
    uint16_t flags; /* that it may have                                                 */
    uint32_t min, max; /* bytes of its payload                                        */
    const char *name;
};

/* NULL: there is no such type. */
const struct cv_frame_kind *cv_frame_kind(uint8_t type);
/* "OUTPUT"; "a frame of unknown type". */
const char *cv_frame_name(uint8_t type);
/* The same of a payload that is not compressed, or not any more. */
enum cleave_status cv_frame_plain_check(const struct cv_frame_head *head,
                                        struct cleave_error *err);

#endif
