/* kept_orders.c -- what hosts have been told to fold. SPDX-License-Identifier: MIT */
#include "run/master/kept_orders.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/fail.h"

/* Names of outputs: the number of the host above these bits, that of the piece below. Of
 * folds and of what has moved: the highest bit, and a number. */
enum { HOST_SHIFT = 40 };
static const uint64_t MADE = (uint64_t)1 << 63;

enum cleave_status cv_kept_orders_init(struct cv_kept_orders *orders,
                                       const struct cv_staff *staff,
                                       struct cleave_error *err)
{
    *orders = (struct cv_kept_orders){ .staff = staff };
    orders->busy = calloc(staff->nworkers, sizeof *orders->busy);
    return orders->busy != NULL ? CLEAVE_OK : cv_fail_memory(err, "the reduction");
}

void cv_kept_orders_done(struct cv_kept_orders *orders)
{
    while (orders->under_way != NULL) {
        struct cv_kept_order *order = orders->under_way;

        orders->under_way = order->next;
        free(order);
    }
    free(orders->busy);
    free(orders->off);
    orders->busy = NULL;
    orders->off = NULL;
}

/* --- words -------------------------------------------------------------------------------- */

/* Hosts know each other as peers 1, 2, ... in the order they were named. */
static uint32_t peer_of(const struct cv_kept_orders *orders, uint32_t worker)
{
    const struct cv_staff *staff = orders->staff;
    uint32_t i = 0;

    while (staff->hosts.items[i] != staff->host_of[worker])
        i++;
    return i + 1;
}

uint64_t cv_kept_base(const struct cv_kept_orders *orders, uint32_t worker)
{
    return (uint64_t)peer_of(orders, worker) << HOST_SHIFT;
}

void cv_kept_say(const struct cv_kept_orders *orders, uint32_t worker,
                 enum cv_fold_frame type, uint64_t id, uint64_t value)
{
    cv_link_send(&orders->staff->host_of[worker]->link,
                 &(struct cv_frame_head){
                     .type = (uint8_t)type, .chunk = id, .value = value },
                 NULL, 0);
}

enum cleave_status cv_kept_tell_hosts(const struct cv_kept_orders *orders,
                                      const struct cleave_execution *asked,
                                      bool *out_there, struct cleave_error *err)
{
    const struct cv_staff *staff = orders->staff;
    struct cv_packer packer = { NULL, 0, 0, false };

    cv_pack_text(&packer, asked->reduce.command);
    cv_pack_number(&packer, asked->failing.retries);
    cv_pack_real(&packer, asked->failing.timeout_s);
    for (uint32_t w = 0; w < staff->nworkers && !packer.failed; w++) {
        out_there[w] = cv_staff_there(staff, w);
        if (out_there[w])
            cv_link_send(&staff->host_of[w]->link,
                         &(struct cv_frame_head){ .type = CV_FRAME_REDUCE,
                                                  .value = cv_kept_base(orders, w) },
                         packer.bytes, packer.length);
    }
    cv_pack_done(&packer);
    return packer.failed ? cv_fail_memory(err, "the reduction") : CLEAVE_OK;
}

/* Tell who has part `i` to send it to the one who folds, if that is another. */
static void let_give(const struct cv_kept_orders *orders,
                     const struct cv_kept_order *order, uint32_t i,
                     struct cv_packer *packer)
{
    const struct cv_fold_part *part = &order->step.parts[i];

    if (part->holder == order->step.at)
        return;
    packer->length = 0;
    cv_pack_number(packer, order->names[i]);
    if (!packer->failed)
        cv_link_send(&orders->staff->host_of[part->holder]->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_GIVE,
                                              .chunk = part->id,
                                              .value = peer_of(orders, order->step.at) },
                     packer->bytes, packer->length);
}

/* --- orders ------------------------------------------------------------------------------- */

enum cleave_status cv_kept_order(struct cv_kept_orders *orders,
                                 const struct cv_fold_step *step,
                                 struct cleave_error *err)
{
    struct cv_kept_order *order = malloc(sizeof *order);
    struct cv_packer give = { NULL, 0, 0, false }, fold = { NULL, 0, 0, false };

    if (order == NULL)
        return cv_fail_memory(err, "the reduction");
    *order = (struct cv_kept_order){ .step = *step,
                                     .id = MADE | orders->numbered++,
                                     .next = orders->under_way };
    orders->under_way = order;
    orders->busy[step->at]++;
    cv_pack_number(&fold, step->count);
    for (uint32_t i = 0; i < step->count; i++) {
        order->names[i] = step->parts[i].holder == step->at ? step->parts[i].id
                                                            : MADE | orders->numbered++;
        cv_pack_number(&fold, order->names[i]);
        let_give(orders, order, i, &give);
    }
    if (!give.failed && !fold.failed)
        cv_link_send(&orders->staff->host_of[step->at]->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_FOLD, .chunk = order->id },
                     fold.bytes, fold.length);
    cv_pack_done(&give);
    cv_pack_done(&fold);
    return give.failed || fold.failed ? cv_fail_memory(err, "the reduction") : CLEAVE_OK;
}

static struct cv_kept_order *take(struct cv_kept_orders *orders,
                                  struct cv_kept_order **at)
{
    struct cv_kept_order *order = *at;

    if (order == NULL)
        return NULL;
    *at = order->next;
    orders->busy[order->step.at]--;
    return order;
}

struct cv_kept_order *cv_kept_order_take(struct cv_kept_orders *orders, uint64_t id)
{
    struct cv_kept_order **at = &orders->under_way;

    while (*at != NULL && (*at)->id != id)
        at = &(*at)->next;
    return take(orders, at);
}

struct cv_kept_order *cv_kept_order_take_of(struct cv_kept_orders *orders,
                                            uint32_t worker)
{
    struct cv_kept_order **at = &orders->under_way;

    while (*at != NULL && !cv_fold_step_has(&(*at)->step, worker))
        at = &(*at)->next;
    return take(orders, at);
}

void cv_kept_order_end(const struct cv_kept_orders *orders, struct cv_kept_order *order)
{
    const struct cv_fold_step *step = &order->step;

    for (uint32_t i = 0; i < step->count; i++) {
        cv_kept_say(orders, step->at, CV_FRAME_FORGET, order->names[i], 0);
        if (step->parts[i].holder != step->at)
            cv_kept_say(orders, step->parts[i].holder, CV_FRAME_FORGET, step->parts[i].id,
                        0);
    }
    free(order);
}

void cv_kept_order_drop(struct cv_kept_orders *orders, struct cv_kept_order *order)
{
    struct cv_kept_off *grown = orders->off;

    if (orders->noff == orders->off_room)
        grown = cv_grow(orders->off, &orders->off_room, orders->noff + 1, sizeof *grown);
    if (grown != NULL) { /* or else its host will be taken for a liar */
        orders->off = grown;
        grown[orders->noff++] =
            (struct cv_kept_off){ .id = order->id, .at = order->step.at };
    }
    free(order);
}

void cv_kept_order_call_off(struct cv_kept_orders *orders, struct cv_kept_order *order)
{
    const struct cv_fold_step *step = &order->step;

    if (cv_staff_there(orders->staff, step->at)) {
        cv_kept_say(orders, step->at, CV_FRAME_FOLD_OFF, order->id, 0);
        for (uint32_t i = 0; i < step->count; i++)
            if (step->parts[i].holder != step->at)
                cv_kept_say(orders, step->at, CV_FRAME_FORGET, order->names[i], 0);
    }
    cv_kept_order_drop(orders, order);
}

enum cv_stage cv_kept_stage(const struct cv_kept_orders *orders,
                            const struct cv_host *host, uint64_t id)
{
    struct cv_host *const *host_of = orders->staff->host_of;

    for (const struct cv_kept_order *order = orders->under_way; order != NULL;
         order = order->next)
        if (order->id == id)
            return host_of[order->step.at] == host ? CV_STAGE_FOLDING : CV_STAGE_NO_FOLD;
    for (size_t i = 0; i < orders->noff; i++)
        if (orders->off[i].id == id && host_of[orders->off[i].at] == host)
            return CV_STAGE_OFF;
    return CV_STAGE_NO_FOLD;
}
