/* host_rules.c -- the stage of the object that a frame of a host is about.
 * SPDX-License-Identifier: MIT
 *
 * A frame that is not allowed in its stage (frame.c) closes the connection, and the
 * pieces of the host go to others. */
#include <stdarg.h>
#include <stdio.h>

#include "run/hosts/hosts_internal.h"

enum { OWED_MOST = 1 << 16 }; /* frames that may be expected */

static struct cv_expected_frame *find_owed(const struct cv_host *host,
                                           const struct cv_frame_head *head)
{
    for (size_t i = 0; i < host->nowed; i++)
        if (host->owed[i].number == head->chunk && host->owed[i].seat == head->peer)
            return &host->owed[i];
    return NULL;
}

static struct cv_slot *find_slot(const struct cv_host *host,
                                 const struct cv_frame_head *head)
{
    struct cv_slot *slot = host->first_slot;

    while (slot != NULL && (!slot->busy || !cv_is_announced(&slot->remote->facts) ||
                            slot->remote->facts.number != head->chunk ||
                            slot->remote->seat != head->peer))
        slot = slot->remote->next_slot;
    return slot;
}

static enum cv_stage piece_stage(const struct cv_host *host,
                                 const struct cv_frame_head *head,
                                 struct cv_slot **out_slot)
{
    const struct cv_expected_frame *owed = find_owed(host, head);
    const struct cv_slot *slot = *out_slot = find_slot(host, head);

    if (head->type == CV_FRAME_CUT_DONE &&
        ((slot != NULL && slot->remote->facts.cutting) || (owed != NULL && owed->cut)))
        return CV_STAGE_CUT_DUE;
    if (slot == NULL)
        return owed != NULL && owed->end ? CV_STAGE_GIVEN_UP : CV_STAGE_NO_PIECE;
    if (slot->open.on && !cv_is_computed(&slot->remote->facts) && !slot->stopping)
        return cv_has_arrived(&slot->remote->facts) ? CV_STAGE_SHUT : CV_STAGE_OPEN;
    if (!cv_has_arrived(&slot->remote->facts) && !slot->open.on)
        return slot->remote->queue != NULL ? CV_STAGE_SENDING : CV_STAGE_SENT;
    if (cv_is_computed(&slot->remote->facts))
        return host->hosts->reduce != NULL ? CV_STAGE_KEEPING : CV_STAGE_COMPUTED;
    return slot->stopping ? CV_STAGE_STOPPING : CV_STAGE_ARRIVED;
}

static enum cv_stage seat_stage(const struct cv_host *host,
                                const struct cv_frame_head *head)
{
    const struct cv_host_seat *seat = &host->seats[head->peer];

    if (head->type == CV_FRAME_HAS_LEFT && seat->command == CV_SEAT_LEAVING)
        return CV_STAGE_LEAVING;
    if (!host->hosts->terms.job.persistent)
        return CV_STAGE_PLAIN;
    if (seat->left >= seat->given)
        return CV_STAGE_IDLE;
    if (seat->silent >= seat->given)
        return CV_STAGE_TOLD;
    return seat->command == CV_SEAT_LEAVING ? CV_STAGE_LEAVING : CV_STAGE_STAYS;
}

enum cv_stage cv_host_stage(const struct cv_host *host, const struct cv_frame_head *head,
                            struct cv_slot **out_slot)
{
    *out_slot = NULL;
    if (host->state == CV_HOST_CONNECTING)
        return CV_STAGE_CONNECTING;
    if (host->state != CV_HOST_READY)
        return CV_STAGE_GREETED;
    if (head->type >= CV_FRAME_OTHERS)
        return CV_STAGE_NO_FOLD;
    if (head->type == CV_FRAME_NOTICE)
        return host->noticed ? CV_STAGE_TOLD : CV_STAGE_SERVES;
    if (head->peer >= host->slots)
        return CV_STAGE_NO_SEAT;
    if (head->type == CV_FRAME_LEFT || head->type == CV_FRAME_HAS_LEFT ||
        head->type == CV_FRAME_SILENT)
        return seat_stage(host, head);
    return piece_stage(host, head, out_slot);
}

void cv_host_owes(struct cv_host *host, const struct cv_slot *slot, bool end, bool cut)
{
    /* Without memory, the host will be lost when the frame arrives. */
    if (host->state != CV_HOST_READY || (!end && !cut) || host->nowed == OWED_MOST ||
        !CV_ROOM(host->owed, &host->owed_room, host->nowed + 1))
        return;
    host->owed[host->nowed++] =
        (struct cv_expected_frame){ .number = slot->remote->facts.number,
                                    .seat = slot->remote->seat,
                                    .end = end,
                                    .cut = cut };
}

void cv_host_paid(struct cv_host *host, const struct cv_frame_head *head)
{
    struct cv_expected_frame *owed = find_owed(host, head);

    if (owed == NULL)
        return;
    if (head->type == CV_FRAME_CUT_DONE)
        owed->cut = false;
    else if (head->type == CV_FRAME_END || head->type == CV_FRAME_BACK)
        owed->end = false;
    if (!owed->cut && !owed->end)
        *owed = host->owed[--host->nowed];
}

void cv_host_accuse(struct cv_host *host, const char *format, ...)
{
    struct cleave_error err;
    char text[300];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cv_fail(&err, CLEAVE_EINPUT, "broke the protocol: %s", text);
    cv_link_break(&host->link, &err);
}

bool cv_host_admit(struct cv_host *host, enum cv_stage stage,
                   const struct cv_frame_head *head)
{
    const char *refused = cv_frame_refused_by_host(stage, head->type);

    if (refused != NULL)
        cv_host_accuse(host, "%s %s", cv_frame_name(head->type), refused);
    return refused == NULL;
}
