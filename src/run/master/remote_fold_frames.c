/* remote_fold_frames.c -- what hosts say of outputs that stay with them. SPDX-License-Identifier: MIT */
#include "run/master/remote_fold_frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/text.h"
#include "run/wire/frame.h"

/* The reduction fails; the first reason counts. */
static void fail(struct cv_remote_fold *kept, const struct cleave_error *err)
{
    if (!kept->failed)
        kept->err = *err;
    kept->failed = true;
}

/* How often it was tried: as often as it may be. Its time is that until it was heard of,
 * with that of moving its parts. */
static void count_tries(struct cv_remote_fold *kept, uint64_t tries,
                        const struct cv_remote_fold_order *order)
{
    const uint64_t max = (uint64_t)kept->retries + 1;
    const uint64_t counted = tries > max ? max : tries;

    kept->counts.calls += counted;
    kept->counts.retries += counted > 0 ? counted - 1 : 0;
    kept->counts.seconds += cv_clock_s() - order->given_s;
}

static void folded(struct cv_remote_fold *kept, const struct cv_host *host,
                   const struct cv_frame_head *head, uint64_t tries)
{
    struct cv_remote_fold_order *order =
        cv_remote_fold_order_take(&kept->orders, head->chunk);

    if (order == NULL) { /* it was called off when a giver was lost */
        cv_remote_fold_say(&kept->orders, host->first, CV_FRAME_FORGET, head->chunk);
        return;
    }
    count_tries(kept, tries, order);
    cv_fold_pace_saw(&kept->pace, &order->step, cv_clock_s() - order->given_s, -1);
    cv_fold_log_add(kept->log, order->step.at, order->given_s, cv_clock_s(),
                    order->step.count);
    kept->counts.gone += order->step.count - 1;
    cv_fold_plan_done(kept->plan, &order->step, order->id, head->value);
    cv_remote_fold_order_end(&kept->orders, order);
}

static void fold_failed(struct cv_remote_fold *kept, const struct cv_frame_head *head,
                        uint64_t tries, const char *text)
{
    struct cv_remote_fold_order *order =
        cv_remote_fold_order_take(&kept->orders, head->chunk);
    struct cleave_error err;
    char shown[200];

    if (order == NULL)
        return;
    count_tries(kept, tries, order);
    cv_fold_plan_undo(kept->plan, &order->step);
    cv_fail(&err, CLEAVE_EENGINE, "%s on %u partial results%s",
            cv_shown(text, strlen(text), shown, sizeof shown), order->step.count,
            tries > 1 ? ", also when tried again" : "");
    kept->by_command |= !kept->failed;
    fail(kept, &err);
    free(order);
}

/* What it says of an order: how often it was tried, and what was wrong if it failed. */
static void order_ended(struct cv_remote_fold *kept, struct cv_host *host,
                        const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cv_unpacker unpacker = { payload, head->length, false };
    const uint64_t tries = cv_unpack_number(&unpacker);
    struct cv_arena arena;
    const char *text;

    cv_arena_init(&arena);
    text = head->type == CV_FRAME_FOLD_FAILED ? cv_unpack_text(&unpacker, &arena) : "";
    if (!cv_unpack_good(&unpacker))
        cv_host_accuse(host, "%s that says what cannot be", cv_frame_name(head->type));
    else if (head->type == CV_FRAME_FOLDED)
        folded(kept, host, head, tries);
    else
        fold_failed(kept, head, tries, text);
    cv_arena_done(&arena);
}

static void result_came(struct cv_remote_fold *kept, struct cv_host *host,
                        const struct cv_frame_head *head, const unsigned char *payload)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;
    const uint64_t bytes = cv_chunk_output_size(kept->result) + head->length;
    struct cleave_error err;

    cv_remote_fold_got_on(&kept->orders, kept->holder);
    if (head->value != cv_chunk_output_size(kept->result)) {
        cv_host_accuse(host, "%llu bytes of a result were sent before, and %llu came",
                       (unsigned long long)head->value,
                       (unsigned long long)cv_chunk_output_size(kept->result));
        return;
    }
    if (bytes > kept->result_bytes || (last && bytes < kept->result_bytes)) {
        cv_host_accuse(host, "a result has %llu bytes, and %llu have come",
                       (unsigned long long)kept->result_bytes, (unsigned long long)bytes);
        return;
    }
    if (cv_chunk_output_write(kept->result, payload, head->length, &err) != CLEAVE_OK)
        fail(kept, &err);
    kept->came = last;
    if (last)
        kept->orders.fetched = CV_FOLD_NOBODY;
}

static enum cv_stage stage_of(const struct cv_remote_fold *kept,
                              const struct cv_host *host,
                              const struct cv_frame_head *head)
{
    if (head->type == CV_FRAME_HEADWAY)
        return kept->there[host->first] ? CV_STAGE_HOLDS : CV_STAGE_NO_FOLD;
    if (head->type != CV_FRAME_PARTIAL)
        return cv_remote_fold_stage(&kept->orders, host, head->chunk);
    return kept->fetching && !kept->came && kept->result != NULL &&
                   head->chunk == kept->result_id &&
                   kept->pool->host_of[kept->holder] == host
               ? CV_STAGE_FETCHING
               : CV_STAGE_NO_FOLD;
}

void cv_remote_fold_frame(void *context, struct cv_host *host,
                          const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cv_remote_fold *kept = context;

    if (!cv_host_admit(host, stage_of(kept, host, head), head))
        return;
    if (head->type == CV_FRAME_PARTIAL)
        result_came(kept, host, head, payload);
    else if (head->type == CV_FRAME_HEADWAY)
        cv_remote_fold_heard(&kept->orders, host->first, head->value, head->chunk);
    else
        order_ended(kept, host, head, payload);
}
