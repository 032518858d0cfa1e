/* frame_kinds.h -- what kinds of frames there are. SPDX-License-Identifier: MIT */
#ifndef CV_FRAME_KINDS_H
#define CV_FRAME_KINDS_H
#include "run/wire/frame.h"

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
/* Whether the head can be one of a frame as it goes over the link, compressed or not. */
enum cleave_status cv_frame_kind_check(const struct cv_frame_head *head,
                                       struct cleave_error *err);
/* The same of a payload that is not compressed, or not any more. */
enum cleave_status cv_frame_plain_check(const struct cv_frame_head *head,
                                        struct cleave_error *err);

#endif
