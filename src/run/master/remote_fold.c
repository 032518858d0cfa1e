/* remote_fold.c -- fold orders for hosts, and the frames about them.
 * SPDX-License-Identifier: MIT */
#include "run/master/remote_fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/text.h"
#include "run/wire/frame.h"

/* Names of outputs: the number of the host above these bits, the number of the piece
 * below. Names of folds and moved partials: the highest bit and a number. */
enum { HOST_SHIFT = 40 };
static const uint64_t MADE = (uint64_t)1 << 63;

static void remote_fold_got_on(struct cv_remote_fold_orders *orders, uint32_t worker);
static void watch(struct cv_remote_fold_orders *orders, double when_s);

enum cleave_status cv_remote_fold_orders_init(struct cv_remote_fold_orders *orders,
                                              const struct cv_worker_pool *pool,
                                              struct cleave_error *err)
{
    *orders = (struct cv_remote_fold_orders){ .pool = pool, .fetched = CV_FOLD_NOBODY };
    orders->busy = calloc(pool->nworkers, sizeof *orders->busy);
    orders->events = calloc(pool->nworkers, sizeof *orders->events);
    return orders->busy != NULL && orders->events != NULL
               ? CLEAVE_OK
               : cv_fail_memory(err, "the reduction");
}

void cv_remote_fold_orders_done(struct cv_remote_fold_orders *orders)
{
    while (orders->under_way != NULL) {
        struct cv_remote_fold_order *order = orders->under_way;

        orders->under_way = order->next;
        free(order);
    }
    if (orders->pool != NULL)
        cv_poller_cancel(orders->pool->hosts.poller, &orders->timer);
    free(orders->busy);
    free(orders->events);
    free(orders->off);
    orders->busy = NULL;
    orders->events = NULL;
    orders->off = NULL;
}

/* --- words -------------------------------------------------------------------------------- */

static uint32_t peer_of(const struct cv_remote_fold_orders *orders, uint32_t worker)
{
    return orders->pool->host_of[worker]->peer;
}

uint64_t cv_remote_fold_base(const struct cv_remote_fold_orders *orders, uint32_t worker)
{
    return (uint64_t)peer_of(orders, worker) << HOST_SHIFT;
}

void cv_remote_fold_say(const struct cv_remote_fold_orders *orders, uint32_t worker,
                        enum cv_frame_type type, uint64_t id)
{
    cv_link_send(&orders->pool->host_of[worker]->link,
                 &(struct cv_frame_head){ .type = (uint8_t)type, .chunk = id }, NULL, 0);
}

enum cleave_status cv_remote_fold_tell_hosts(const struct cv_remote_fold_orders *orders,
                                             const struct cleave_execution *request,
                                             bool *out_there, struct cleave_error *err)
{
    const struct cv_worker_pool *pool = orders->pool;
    struct cv_packer packer = { NULL, 0, 0, false };

    cv_pack_text(&packer, request->reduce.command);
    cv_pack_number(&packer, request->failures.retries);
    cv_pack_real(&packer, request->failures.timeout_s);
    for (uint32_t w = 0; w < pool->nworkers && !packer.failed; w++) {
        out_there[w] = cv_worker_pool_there(pool, w);
        if (out_there[w])
            cv_link_send(&pool->host_of[w]->link,
                         &(struct cv_frame_head){ .type = CV_FRAME_REDUCE,
                                                  .value =
                                                      cv_remote_fold_base(orders, w) },
                         packer.bytes, packer.length);
    }
    cv_pack_done(&packer);
    return packer.failed ? cv_fail_memory(err, "the reduction") : CLEAVE_OK;
}

/* Let the host that has the part send it to `worker` under the name `name`. */
static void let_give(struct cv_remote_fold_orders *orders,
                     const struct cv_fold_part *part, uint32_t to, uint64_t name,
                     struct cv_packer *packer)
{
    remote_fold_got_on(orders, part->holder);
    packer->length = 0;
    cv_pack_number(packer, name);
    if (!packer->failed)
        cv_link_send(&orders->pool->host_of[part->holder]->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_GIVE,
                                              .chunk = part->id,
                                              .value = peer_of(orders, to) },
                     packer->bytes, packer->length);
}

/* --- who does not get on ------------------------------------------------------------------ */

/* After this process was suspended, wait this long for messages before a host counts
 * as stuck. */
static const double LISTEN_S = 1;

static double due_s(const struct cv_remote_fold_orders *orders, uint32_t worker)
{
    return orders->events[worker].headway_s + orders->pool->hosts.terms.silence_s;
}

/* The worker that delays the order: the one that folds, or the one that has not sent a
 * part. */
static uint32_t suspect(const struct cv_remote_fold_orders *orders,
                        const struct cv_remote_fold_order *order)
{
    const uint64_t awaits = orders->events[order->step.at].awaits;

    for (uint32_t i = 0; i < order->step.count; i++)
        if (order->names[i] == awaits)
            return order->step.parts[i].holder;
    return order->step.at;
}

/* The first worker that is overdue, and when. A sender may be busy with other parts
 * first. CV_FOLD_NOBODY: none is. */
static uint32_t first_due(const struct cv_remote_fold_orders *orders, double *out_s,
                          const struct cv_remote_fold_order **out_order)
{
    uint32_t first = CV_FOLD_NOBODY;

    *out_order = NULL;
    if (orders->fetched != CV_FOLD_NOBODY &&
        cv_worker_pool_there(orders->pool, orders->fetched)) {
        first = orders->fetched;
        *out_s = due_s(orders, first);
    }
    for (const struct cv_remote_fold_order *order = orders->under_way; order != NULL;
         order = order->next) {
        const uint32_t who = suspect(orders, order);
        const double when_s = fmax(due_s(orders, who), due_s(orders, order->step.at));

        if (!cv_worker_pool_there(orders->pool, who) ||
            (first != CV_FOLD_NOBODY && when_s >= *out_s))
            continue;
        first = who;
        *out_s = when_s;
        *out_order = order;
    }
    return first;
}

static void lose_host(const struct cv_remote_fold_orders *orders, uint32_t who,
                      const struct cv_remote_fold_order *order)
{
    const struct cv_worker_pool *pool = orders->pool;
    const double silence_s = pool->hosts.terms.silence_s;
    struct cleave_error err;

    if (order == NULL)
        cv_fail(&err, CLEAVE_ELOST, "nothing came of its result for %g s", silence_s);
    else if (order->step.at == who)
        cv_fail(&err, CLEAVE_ELOST,
                "it was told to reduce partial results and did not get on for %g s",
                silence_s);
    else
        cv_fail(&err, CLEAVE_ELOST, "nothing came of a partial result for %s for %g s",
                pool->host_of[order->step.at]->name, silence_s);
    cv_host_fail(pool->host_of[who], &err);
}

static void look(void *context)
{
    struct cv_remote_fold_orders *orders = context;
    const struct cv_remote_fold_order *order;
    const double now_s = cv_clock_s();
    double when_s;
    uint32_t who = first_due(orders, &when_s, &order);

    if (who != CV_FOLD_NOBODY && when_s <= now_s && orders->grace_used) {
        lose_host(orders, who, order);
        who = first_due(orders, &when_s, &order);
    }
    orders->grace_used = who != CV_FOLD_NOBODY && when_s <= now_s;
    if (who != CV_FOLD_NOBODY)
        watch(orders, orders->grace_used ? now_s + LISTEN_S : when_s);
}

static void watch(struct cv_remote_fold_orders *orders, double when_s)
{
    if (!orders->timer.is_set)
        cv_poller_set(orders->pool->hosts.poller, &orders->timer, when_s, look, orders);
}

/* The worker reports progress: what it has done, and what it waits for. A host without
 * progress for the host timeout is lost. */
static void remote_fold_got_on(struct cv_remote_fold_orders *orders, uint32_t worker)
{
    orders->events[worker].headway_s = cv_clock_s();
}

static void remote_fold_heard(struct cv_remote_fold_orders *orders, uint32_t worker,
                              uint64_t livelock, uint64_t awaits)
{
    struct cv_fold_progress *events = &orders->events[worker];

    if (livelock != events->livelock)
        remote_fold_got_on(orders, worker);
    events->livelock = livelock;
    events->awaits = awaits;
}

/* --- orders ------------------------------------------------------------------------------- */

uint64_t cv_remote_fold_name(struct cv_remote_fold_orders *orders)
{
    return MADE | orders->numbered++;
}

enum cleave_status cv_remote_fold_send_ahead(struct cv_remote_fold_orders *orders,
                                             const struct cv_fold_part *part,
                                             struct cleave_error *err)
{
    struct cv_packer give = { NULL, 0, 0, false };
    bool failed;

    let_give(orders, part, part->ahead, part->name, &give);
    failed = give.failed;
    cv_pack_done(&give);
    return failed ? cv_fail_memory(err, "the reduction") : CLEAVE_OK;
}

/* The name of part `i` of an order where it is folded. Its holder is told to send it
 * if it is not there. */
static uint64_t name_part(struct cv_remote_fold_orders *orders,
                          const struct cv_fold_step *step, uint32_t i,
                          struct cv_packer *give)
{
    const struct cv_fold_part *part = &step->parts[i];
    uint64_t name;

    remote_fold_got_on(orders, part->holder);
    if (part->ahead == step->at)
        return part->name;
    if (part->ahead != CV_FOLD_NOBODY)
        cv_remote_fold_say(orders, part->ahead, CV_FRAME_FORGET, part->name);
    if (part->holder == step->at)
        return part->id;
    name = cv_remote_fold_name(orders);
    let_give(orders, part, step->at, name, give);
    return name;
}

enum cleave_status cv_remote_fold_order(struct cv_remote_fold_orders *orders,
                                        const struct cv_fold_step *step,
                                        struct cleave_error *err)
{
    struct cv_remote_fold_order *order = malloc(sizeof *order);
    struct cv_packer give = { NULL, 0, 0, false }, fold = { NULL, 0, 0, false };

    if (order == NULL)
        return cv_fail_memory(err, "the reduction");
    *order = (struct cv_remote_fold_order){ .step = *step,
                                            .id = cv_remote_fold_name(orders),
                                            .given_s = cv_clock_s(),
                                            .next = orders->under_way };
    orders->under_way = order;
    orders->busy[step->at]++;
    remote_fold_got_on(orders, step->at);
    orders->events[step->at].awaits = 0;
    cv_pack_number(&fold, step->count);
    for (uint32_t i = 0; i < step->count; i++) {
        order->names[i] = name_part(orders, step, i, &give);
        cv_pack_number(&fold, order->names[i]);
    }
    if (!give.failed && !fold.failed)
        cv_link_send(&orders->pool->host_of[step->at]->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_FOLD, .chunk = order->id },
                     fold.bytes, fold.length);
    cv_pack_done(&give);
    cv_pack_done(&fold);
    if (give.failed || fold.failed)
        return cv_fail_memory(err, "the reduction");
    watch(orders, due_s(orders, step->at));
    return CLEAVE_OK;
}

void cv_remote_fold_fetch(struct cv_remote_fold_orders *orders, uint32_t worker,
                          uint64_t id)
{
    cv_remote_fold_say(orders, worker, CV_FRAME_FETCH, id);
    remote_fold_got_on(orders, worker);
    orders->fetched = worker;
    watch(orders, due_s(orders, worker));
}

static struct cv_remote_fold_order *take(struct cv_remote_fold_orders *orders,
                                         struct cv_remote_fold_order **at)
{
    struct cv_remote_fold_order *order = *at;

    if (order == NULL)
        return NULL;
    *at = order->next;
    orders->busy[order->step.at]--;
    return order;
}

struct cv_remote_fold_order *
cv_remote_fold_order_take(struct cv_remote_fold_orders *orders, uint64_t id)
{
    struct cv_remote_fold_order **at = &orders->under_way;

    while (*at != NULL && (*at)->id != id)
        at = &(*at)->next;
    return take(orders, at);
}

struct cv_remote_fold_order *
cv_remote_fold_order_take_of(struct cv_remote_fold_orders *orders, uint32_t worker)
{
    struct cv_remote_fold_order **at = &orders->under_way;

    while (*at != NULL && !cv_fold_step_has(&(*at)->step, worker))
        at = &(*at)->next;
    return take(orders, at);
}

/* The order was carried out: its parts can be deleted. */
static void remote_fold_order_end(const struct cv_remote_fold_orders *orders,
                                  struct cv_remote_fold_order *order)
{
    const struct cv_fold_step *step = &order->step;

    for (uint32_t i = 0; i < step->count; i++) {
        cv_remote_fold_say(orders, step->at, CV_FRAME_FORGET, order->names[i]);
        if (step->parts[i].holder != step->at)
            cv_remote_fold_say(orders, step->parts[i].holder, CV_FRAME_FORGET,
                               step->parts[i].id);
    }
    free(order);
}

void cv_remote_fold_order_drop(struct cv_remote_fold_orders *orders,
                               struct cv_remote_fold_order *order)
{
    if (CV_ROOM(orders->off, &orders->off_room, orders->noff + 1))
        orders->off[orders->noff++] =
            (struct cv_cancelled_fold){ .id = order->id, .at = order->step.at };
    /* a later report would look like a protocol error */
    free(order);
}

void cv_remote_fold_order_call_off(struct cv_remote_fold_orders *orders,
                                   struct cv_remote_fold_order *order)
{
    const struct cv_fold_step *step = &order->step;

    if (cv_worker_pool_there(orders->pool, step->at)) {
        cv_remote_fold_say(orders, step->at, CV_FRAME_FOLD_OFF, order->id);
        for (uint32_t i = 0; i < step->count; i++)
            if (step->parts[i].holder != step->at)
                cv_remote_fold_say(orders, step->at, CV_FRAME_FORGET, order->names[i]);
    }
    cv_remote_fold_order_drop(orders, order);
}

/* Whether the host was told to make `id`, and whether it still has to. */
static enum cv_stage remote_fold_stage(const struct cv_remote_fold_orders *orders,
                                       const struct cv_host *host, uint64_t id)
{
    struct cv_host *const *host_of = orders->pool->host_of;

    for (const struct cv_remote_fold_order *order = orders->under_way; order != NULL;
         order = order->next)
        if (order->id == id)
            return host_of[order->step.at] == host ? CV_STAGE_FOLDING : CV_STAGE_NO_FOLD;
    for (size_t i = 0; i < orders->noff; i++)
        if (orders->off[i].id == id && host_of[orders->off[i].at] == host)
            return CV_STAGE_OFF;
    return CV_STAGE_NO_FOLD;
}

/* --- what hosts say of outputs that stay with them --------------------------------- */

/* Fail the reduction; the first error counts. */
static void fail(struct cv_remote_fold *kept, const struct cleave_error *err)
{
    if (!kept->failed)
        kept->err = *err;
    kept->failed = true;
}

/* Count the calls of a fold. Its time includes moving its parts. */
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

    if (order == NULL) { /* cancelled when a sender was lost */
        cv_remote_fold_say(&kept->orders, host->first, CV_FRAME_FORGET, head->chunk);
        return;
    }
    count_tries(kept, tries, order);
    cv_fold_pace_saw(&kept->pace, &order->step, cv_clock_s() - order->given_s, -1);
    cv_fold_log_add(kept->log, order->step.at, order->given_s, cv_clock_s(),
                    order->step.count);
    kept->counts.gone += order->step.count - 1;
    cv_fold_plan_done(kept->plan, &order->step, order->id, head->value);
    remote_fold_order_end(&kept->orders, order);
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

/* The report of a host about an order: number of tries, and the error if it failed. */
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

    remote_fold_got_on(&kept->orders, kept->holder);
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
        return remote_fold_stage(&kept->orders, host, head->chunk);
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
        remote_fold_heard(&kept->orders, host->first, head->value, head->chunk);
    else
        order_ended(kept, host, head, payload);
}
