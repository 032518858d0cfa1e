/* host_rules.h -- what a host may say, and when. SPDX-License-Identifier: MIT
 *
 * A host is believed to do the work it was given, and nothing else: a frame that cannot come
 * now closes its connection, and what it had goes elsewhere. */
#ifndef CV_HOST_RULES_H
#define CV_HOST_RULES_H
#include <stdbool.h>
#include <stdint.h>
#include "run/wire/frame.h"

struct cv_host;
struct cv_slot;

/* Where things stand with what a frame is about. */
enum cv_stage {
    CV_STAGE_CONNECTING, /* the host                                                    */
    CV_STAGE_GREETED,
    CV_STAGE_SERVES,   /* it is ready, and has not said that it has to go               */
    CV_STAGE_NO_PIECE, /* the piece: never announced to this host, or over              */
    CV_STAGE_SENDING,
    CV_STAGE_SENT, /* not acknowledged                                                  */
    CV_STAGE_ARRIVED,
    CV_STAGE_OPEN,     /* at work, and more of it may be sent                           */
    CV_STAGE_SHUT,     /* it was open, and all of it has arrived                        */
    CV_STAGE_STOPPING, /* arrived, and told to stop                                     */
    CV_STAGE_COMPUTED,
    CV_STAGE_KEEPING,  /* computed, and its output stays there                         */
    CV_STAGE_GIVEN_UP, /* told to stop; nobody waits for it                            */
    CV_STAGE_CUT_DUE,  /* asked whether it was cut                                     */
    CV_STAGE_NO_SEAT,  /* the slot: there is none of that number                       */
    CV_STAGE_PLAIN,    /* its commands do not stay                                     */
    CV_STAGE_STAYS,    /* its command stays, and was given pieces                      */
    CV_STAGE_TOLD, /* that it is silent, as often as it has pieces; that it has to go */
    CV_STAGE_IDLE, /* as many commands have ended as it was given pieces            */
    CV_STAGE_LEAVING,  /* asked to let its command go                                  */
    CV_STAGE_NO_FOLD,  /* the partial result: not asked of this host                   */
    CV_STAGE_FOLDING,  /* asked for                                                    */
    CV_STAGE_OFF,      /* asked for and called off                                     */
    CV_STAGE_FETCHING, /* the result of all                                            */
    CV_STAGE_HOLDS,    /* the host: it keeps its outputs                               */
    CV_STAGES,
};

bool cv_host_may(enum cv_stage stage, uint8_t type);
/* "while its output is coming". */
const char *cv_stage_text(enum cv_stage stage);

/* Where things stand with what the frame is about, but for partial results. *out_slot: the one
 * whose piece that is, NULL if nobody waits for it. */
enum cv_stage cv_host_stage(const struct cv_host *host, const struct cv_frame_head *head,
                            struct cv_slot **out_slot);
/* --- what a host still owes ----------------------------------------------------------------- */

/* Something will be heard of a piece that no slot knows any more: its end, or the answer to a
 * cut. */
void cv_host_owes(struct cv_host *host, const struct cv_slot *slot, bool end, bool cut);
/* It has been heard: the head says what. */
void cv_host_paid(struct cv_host *host, const struct cv_frame_head *head);

#endif
