/* remote_fold.c -- outputs that stay on hosts and are folded there: the master's side.
 * SPDX-License-Identifier: MIT
 *
 * The plan (engine/fold_plan.h) decides the folds; orders and reports are frames of protocol.h.
 * A partial that moves gets a new name at its destination, so that a late part of a cancelled
 * order is not taken for a part of the next one. */
#include "run/master/remote_fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/text.h"
#include "engine/fold_plan.h"
#include "run/wire/frame.h"
#include "run/wire/protocol.h"

/* Names of outputs: the number of the host above these bits, the number of the piece
 * below. Names of folds and moved partials: the highest bit and a number. */
enum { HOST_SHIFT = 40 };
static const uint64_t MADE = (uint64_t)1 << 63;

struct order {
    struct cv_fold_step step;
    uint64_t id;                       /* name of its result */
    uint64_t names[CV_FOLD_STEP_MOST]; /* names of its parts where they are folded */
    double given_s;                    /* when the order was sent */
    struct order *next;
};

/* A cancelled order, which may have been carried out before the host received the
 * cancellation. */
struct cancelled {
    uint64_t id;
    uint32_t at;
};

/* The last report of a worker that has to fold or send something. */
struct progress {
    double headway_s; /* time of the last progress, or of the order */
    uint64_t counter; /* it grows with every step */
    uint64_t awaits;  /* name of the partial it waits for; 0: none */
};

struct cv_remote_fold {
    struct cv_worker_pool *pool; /* borrowed, as the four below */
    struct cv_order_queue *queue;
    const struct cv_attempt_table *table;
    struct cv_ordered_output *outputs;
    struct cv_fold_log *log;
    struct cv_fold_plan *plan; /* owned */
    bool *may, *there;         /* owned: for each worker */
    struct cv_piece *pieces; /* owned: their outputs are on hosts; to redo after a loss */
    size_t npieces, piece_room;
    size_t crowd;     /* partials from which busy workers fold, too */
    uint32_t losing;  /* the worker that is being lost */
    uint32_t retries; /* failed folds are repeated this often */
    struct cv_fold_pace pace;
    struct cv_timer near; /* a fold has at most one transfer to go */

    struct order *orders;      /* owned: outstanding */
    uint32_t *busy;            /* owned: outstanding orders of each worker */
    struct progress *progress; /* owned: for each worker */
    uint64_t numbered;         /* names that were given */
    struct cv_timer timer;     /* to check workers without progress */
    bool grace_used; /* the extra look before a worker counts as stuck was used */
    struct cancelled *cancelled; /* owned */
    size_t ncancelled, cancelled_room;

    struct cv_chunk_output *result; /* owned: the result while it is received */
    uint64_t result_id, result_bytes;
    uint32_t holder;     /* worker that has the result */
    bool fetching, came; /* the result is ordered from its holder; it is complete */
    bool stopped, failed, by_command;
    struct cleave_error err; /* set if `failed` */
    struct cv_fold_counts counts;
};

static void watch(struct cv_remote_fold *kept, double when_s);

/* --- words -------------------------------------------------------------------------------- */

static uint32_t peer_of(const struct cv_remote_fold *kept, uint32_t worker)
{
    return kept->pool->host_of[worker]->peer;
}

static uint64_t output_base(const struct cv_remote_fold *kept, uint32_t worker)
{
    return (uint64_t)peer_of(kept, worker) << HOST_SHIFT;
}

static void say(const struct cv_remote_fold *kept, uint32_t worker,
                enum cv_frame_type type, uint64_t id)
{
    cv_link_send(&kept->pool->host_of[worker]->link,
                 &(struct cv_frame_head){ .type = (uint8_t)type, .chunk = id }, NULL, 0);
}

static enum cleave_status tell_hosts(const struct cv_remote_fold *kept,
                                     const struct cleave_execution *request,
                                     bool *out_there, struct cleave_error *err)
{
    const struct cv_worker_pool *pool = kept->pool;
    struct cv_packer packer = { NULL, 0, 0, false };

    cv_pack_text(&packer, request->reduce.command);
    cv_pack_number(&packer, request->failures.retries);
    cv_pack_real(&packer, request->failures.timeout_s);
    for (uint32_t w = 0; w < pool->nworkers && !packer.failed; w++) {
        out_there[w] = cv_worker_pool_there(pool, w);
        if (out_there[w])
            cv_link_send(&pool->host_of[w]->link,
                         &(struct cv_frame_head){ .type = CV_FRAME_REDUCE,
                                                  .value = output_base(kept, w) },
                         packer.bytes, packer.length);
    }
    cv_pack_done(&packer);
    return packer.failed ? cv_fail_memory(err, "the reduction") : CLEAVE_OK;
}

static void note_progress(struct cv_remote_fold *kept, uint32_t worker)
{
    kept->progress[worker].headway_s = cv_clock_s();
}

/* Let the host that has the part send it to `worker` under the name `name`. */
static void let_give(struct cv_remote_fold *kept, const struct cv_fold_part *part,
                     uint32_t to, uint64_t name, struct cv_packer *packer)
{
    note_progress(kept, part->holder);
    packer->length = 0;
    cv_pack_number(packer, name);
    if (!packer->failed)
        cv_link_send(&kept->pool->host_of[part->holder]->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_GIVE,
                                              .chunk = part->id,
                                              .value = peer_of(kept, to) },
                     packer->bytes, packer->length);
}

/* --- who does not get on ------------------------------------------------------------------ */

/* After this process was suspended, wait this long for messages before a host counts
 * as stuck. */
static const double LISTEN_S = 1;

static double due_s(const struct cv_remote_fold *kept, uint32_t worker)
{
    return kept->progress[worker].headway_s + kept->pool->hosts.terms.silence_s;
}

/* The worker that delays the order: the one that folds, or the one that has not sent a
 * part. */
static uint32_t suspect(const struct cv_remote_fold *kept, const struct order *order)
{
    const uint64_t awaits = kept->progress[order->step.at].awaits;

    for (uint32_t i = 0; i < order->step.count; i++)
        if (order->names[i] == awaits)
            return order->step.parts[i].holder;
    return order->step.at;
}

/* The first worker that is overdue, and when. A sender may be busy with other parts
 * first. CV_FOLD_NOBODY: none is. */
static uint32_t first_due(const struct cv_remote_fold *kept, double *out_s,
                          const struct order **out_order)
{
    uint32_t first = CV_FOLD_NOBODY;

    *out_order = NULL;
    if (kept->fetching && !kept->came && cv_worker_pool_there(kept->pool, kept->holder)) {
        first = kept->holder;
        *out_s = due_s(kept, first);
    }
    for (const struct order *order = kept->orders; order != NULL; order = order->next) {
        const uint32_t who = suspect(kept, order);
        const double when_s = fmax(due_s(kept, who), due_s(kept, order->step.at));

        if (!cv_worker_pool_there(kept->pool, who) ||
            (first != CV_FOLD_NOBODY && when_s >= *out_s))
            continue;
        first = who;
        *out_s = when_s;
        *out_order = order;
    }
    return first;
}

static void lose_host(const struct cv_remote_fold *kept, uint32_t who,
                      const struct order *order)
{
    const struct cv_worker_pool *pool = kept->pool;
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
    struct cv_remote_fold *kept = context;
    const struct order *order;
    const double now_s = cv_clock_s();
    double when_s;
    uint32_t who = first_due(kept, &when_s, &order);

    if (who != CV_FOLD_NOBODY && when_s <= now_s && kept->grace_used) {
        lose_host(kept, who, order);
        who = first_due(kept, &when_s, &order);
    }
    kept->grace_used = who != CV_FOLD_NOBODY && when_s <= now_s;
    if (who != CV_FOLD_NOBODY)
        watch(kept, kept->grace_used ? now_s + LISTEN_S : when_s);
}

static void watch(struct cv_remote_fold *kept, double when_s)
{
    if (!kept->timer.is_set)
        cv_poller_set(kept->pool->hosts.poller, &kept->timer, when_s, look, kept);
}

/* The worker reports progress: what it has done, and what it waits for. A host without
 * progress for the host timeout is lost. */
static void read_progress(struct cv_remote_fold *kept, uint32_t worker, uint64_t counter,
                          uint64_t awaits)
{
    struct progress *progress = &kept->progress[worker];

    if (counter != progress->counter)
        note_progress(kept, worker);
    progress->counter = counter;
    progress->awaits = awaits;
}

/* --- orders ------------------------------------------------------------------------------- */

static uint64_t new_name(struct cv_remote_fold *kept)
{
    return MADE | kept->numbered++;
}

static enum cleave_status move_part(struct cv_remote_fold *kept,
                                    const struct cv_fold_part *part,
                                    struct cleave_error *err)
{
    struct cv_packer give = { NULL, 0, 0, false };
    bool failed;

    let_give(kept, part, part->ahead, part->name, &give);
    failed = give.failed;
    cv_pack_done(&give);
    return failed ? cv_fail_memory(err, "the reduction") : CLEAVE_OK;
}

/* The name of part `i` of an order where it is folded. Its holder is told to send it
 * if it is not there. */
static uint64_t name_part(struct cv_remote_fold *kept, const struct cv_fold_step *step,
                          uint32_t i, struct cv_packer *give)
{
    const struct cv_fold_part *part = &step->parts[i];
    uint64_t name;

    note_progress(kept, part->holder);
    if (part->ahead == step->at)
        return part->name;
    if (part->ahead != CV_FOLD_NOBODY)
        say(kept, part->ahead, CV_FRAME_FORGET, part->name);
    if (part->holder == step->at)
        return part->id;
    name = new_name(kept);
    let_give(kept, part, step->at, name, give);
    return name;
}

static enum cleave_status order_fold(struct cv_remote_fold *kept,
                                     const struct cv_fold_step *step,
                                     struct cleave_error *err)
{
    struct order *order = malloc(sizeof *order);
    struct cv_packer give = { NULL, 0, 0, false }, fold = { NULL, 0, 0, false };

    if (order == NULL)
        return cv_fail_memory(err, "the reduction");
    *order = (struct order){
        .step = *step, .id = new_name(kept), .given_s = cv_clock_s(), .next = kept->orders
    };
    kept->orders = order;
    kept->busy[step->at]++;
    note_progress(kept, step->at);
    kept->progress[step->at].awaits = 0;
    cv_pack_number(&fold, step->count);
    for (uint32_t i = 0; i < step->count; i++) {
        order->names[i] = name_part(kept, step, i, &give);
        cv_pack_number(&fold, order->names[i]);
    }
    if (!give.failed && !fold.failed)
        cv_link_send(&kept->pool->host_of[step->at]->link,
                     &(struct cv_frame_head){ .type = CV_FRAME_FOLD, .chunk = order->id },
                     fold.bytes, fold.length);
    cv_pack_done(&give);
    cv_pack_done(&fold);
    if (give.failed || fold.failed)
        return cv_fail_memory(err, "the reduction");
    watch(kept, due_s(kept, step->at));
    return CLEAVE_OK;
}

static struct order *take(struct cv_remote_fold *kept, struct order **at)
{
    struct order *order = *at;

    if (order == NULL)
        return NULL;
    *at = order->next;
    kept->busy[order->step.at]--;
    return order;
}

static struct order *take_order(struct cv_remote_fold *kept, uint64_t id)
{
    struct order **at = &kept->orders;

    while (*at != NULL && (*at)->id != id)
        at = &(*at)->next;
    return take(kept, at);
}

static struct order *take_order_of(struct cv_remote_fold *kept, uint32_t worker)
{
    struct order **at = &kept->orders;

    while (*at != NULL && !cv_fold_step_has(&(*at)->step, worker))
        at = &(*at)->next;
    return take(kept, at);
}

/* The order was carried out: its parts can be deleted. */
static void forget_parts(const struct cv_remote_fold *kept, struct order *order)
{
    const struct cv_fold_step *step = &order->step;

    for (uint32_t i = 0; i < step->count; i++) {
        say(kept, step->at, CV_FRAME_FORGET, order->names[i]);
        if (step->parts[i].holder != step->at)
            say(kept, step->parts[i].holder, CV_FRAME_FORGET, step->parts[i].id);
    }
    free(order);
}

static void drop_order(struct cv_remote_fold *kept, struct order *order)
{
    if (CV_ROOM(kept->cancelled, &kept->cancelled_room, kept->ncancelled + 1))
        kept->cancelled[kept->ncancelled++] =
            (struct cancelled){ .id = order->id, .at = order->step.at };
    /* a later report would look like a protocol error */
    free(order);
}

static void call_off(struct cv_remote_fold *kept, struct order *order)
{
    const struct cv_fold_step *step = &order->step;

    if (cv_worker_pool_there(kept->pool, step->at)) {
        say(kept, step->at, CV_FRAME_FOLD_OFF, order->id);
        for (uint32_t i = 0; i < step->count; i++)
            if (step->parts[i].holder != step->at)
                say(kept, step->at, CV_FRAME_FORGET, order->names[i]);
    }
    drop_order(kept, order);
}

/* Whether the host was told to make `id`, and whether it still has to. */
static enum cv_stage order_stage(const struct cv_remote_fold *kept,
                                 const struct cv_host *host, uint64_t id)
{
    struct cv_host *const *host_of = kept->pool->host_of;

    for (const struct order *order = kept->orders; order != NULL; order = order->next)
        if (order->id == id)
            return host_of[order->step.at] == host ? CV_STAGE_FOLDING : CV_STAGE_NO_FOLD;
    for (size_t i = 0; i < kept->ncancelled; i++)
        if (kept->cancelled[i].id == id && host_of[kept->cancelled[i].at] == host)
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
                        const struct order *order)
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
    struct order *order = take_order(kept, head->chunk);

    if (order == NULL) { /* cancelled when a sender was lost */
        say(kept, host->first, CV_FRAME_FORGET, head->chunk);
        return;
    }
    count_tries(kept, tries, order);
    cv_fold_pace_saw(&kept->pace, &order->step, cv_clock_s() - order->given_s, -1);
    cv_fold_log_add(kept->log, order->step.at, order->given_s, cv_clock_s(),
                    order->step.count);
    kept->counts.gone += order->step.count - 1;
    cv_fold_plan_done(kept->plan, &order->step, order->id, head->value);
    forget_parts(kept, order);
}

static void fold_failed(struct cv_remote_fold *kept, const struct cv_frame_head *head,
                        uint64_t tries, const char *text)
{
    struct order *order = take_order(kept, head->chunk);
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

    note_progress(kept, kept->holder);
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
}

static enum cv_stage stage_of(const struct cv_remote_fold *kept,
                              const struct cv_host *host,
                              const struct cv_frame_head *head)
{
    if (head->type == CV_FRAME_HEADWAY)
        return kept->there[host->first] ? CV_STAGE_HOLDS : CV_STAGE_NO_FOLD;
    if (head->type != CV_FRAME_PARTIAL)
        return order_stage(kept, host, head->chunk);
    return kept->fetching && !kept->came && kept->result != NULL &&
                   head->chunk == kept->result_id &&
                   kept->pool->host_of[kept->holder] == host
               ? CV_STAGE_FETCHING
               : CV_STAGE_NO_FOLD;
}

static void read_frame(void *context, struct cv_host *host,
                       const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cv_remote_fold *kept = context;

    if (!cv_host_admit(host, stage_of(kept, host, head), head))
        return;
    if (head->type == CV_FRAME_PARTIAL)
        result_came(kept, host, head, payload);
    else if (head->type == CV_FRAME_HEADWAY)
        read_progress(kept, host->first, head->value, head->chunk);
    else
        order_ended(kept, host, head, payload);
}

/* --- partials ----------------------------------------------------------------------------- */

/* Partials per worker from which busy workers fold too: enough for a full call. FILES
 * is the limit in all if each partial has a descriptor, because one worker may have
 * them all. */
enum { CROWD = CV_FOLD_MOST, FILES = 256 };

_Static_assert((int)CV_FOLD_MOST <= (int)CV_FOLD_STEP_MOST,
               "a step has room for a full call");

enum cleave_status cv_remote_fold_add(struct cv_remote_fold *kept,
                                      struct cv_chunk_output *store,
                                      const struct cv_piece *piece,
                                      const struct cv_slot *maker,
                                      struct cleave_error *err)
{
    const struct cv_remote_facts facts = cv_remote_facts(maker);

    cv_chunk_output_drop(store); /* the output is empty */
    if (!CV_ROOM(kept->pieces, &kept->piece_room, kept->npieces + 1))
        return cv_fail_memory(err, "partial results");
    kept->pieces[kept->npieces++] = *piece;
    return cv_fold_plan_add(kept->plan, output_base(kept, maker->worker) + facts.number,
                            piece->begin, piece->end, maker->worker, facts.kept, err);
}

/* A stream cannot be read again, and its memory is needed for new input. */
static bool is_stream(const struct cv_source *source)
{
    return cv_source_input(source, 0).size < 0;
}

/* The output of a piece was lost with its host: redo the piece. */
static enum cleave_status do_again(void *context, uint64_t begin, uint64_t end,
                                   struct cleave_error *err)
{
    struct cv_remote_fold *kept = context;
    struct cv_order_queue *queue = kept->queue;
    const struct cv_chunk chunk = { .owner = kept->losing, .reported = CV_REPORTED_SENT };
    struct cv_piece piece;
    size_t i = 0;

    while (kept->pieces[i].begin != begin)
        i++;
    piece = kept->pieces[i];
    kept->pieces[i] = kept->pieces[--kept->npieces];
    if (!queue->open || is_stream(queue->source))
        return cv_fail(err, CLEAVE_ELOST,
                       "the results of bytes %llu to %llu are lost with their host%s",
                       (unsigned long long)begin, (unsigned long long)end,
                       queue->open ? ", and a stream cannot be read again: a journal "
                                     "(journal.path) keeps results here"
                                   : "");
    queue->done -= (double)(end - begin);
    queue->lost++;
    CV_TRY(cv_input_coverage_lose(&queue->coverage, begin, end, err));
    return cv_order_queue_requeue(queue, &chunk, &piece, err);
}

static enum cleave_status lose(struct cv_remote_fold *kept, uint32_t worker,
                               struct cleave_error *err)
{
    struct order *order;
    struct cv_fold_part part;

    if (kept->came) /* the result is complete */
        return CLEAVE_OK;
    if (kept->fetching && kept->holder == worker) {
        cv_chunk_output_drop(kept->result);
        kept->result = NULL;
        kept->fetching = false;
    }
    while ((order = take_order_of(kept, worker)) != NULL) {
        cv_fold_plan_undo(kept->plan, &order->step);
        call_off(kept, order);
    }
    while (cv_fold_plan_lose_ahead(kept->plan, worker, &part))
        if (kept->there[part.ahead])
            say(kept, part.ahead, CV_FRAME_FORGET, part.name);
    kept->losing = worker;
    return cv_fold_plan_lose(kept->plan, worker, do_again, kept, err);
}

enum cleave_status cv_remote_fold_status(struct cv_remote_fold *kept, bool *out_command,
                                         struct cleave_error *err)
{
    for (uint32_t w = 0; w < kept->pool->nworkers; w++) {
        if (!kept->there[w] || cv_worker_pool_there(kept->pool, w))
            continue;
        kept->there[w] = false;
        CV_TRY(lose(kept, w, err));
    }
    *out_command = kept->by_command;
    if (!kept->failed)
        return CLEAVE_OK;
    if (err != NULL)
        *err = kept->err;
    return kept->err.status;
}

static bool is_idle(const struct cv_remote_fold *kept, uint32_t worker)
{
    return cv_order_queue_next(kept->queue, worker) == NULL &&
           !cv_attempt_table_is_busy(kept->table, worker);
}

/* Whether more partials will be made. */
static bool more_to_come(const struct cv_remote_fold *kept)
{
    return kept->orders != NULL || kept->queue->running > 0 || kept->queue->pending > 0;
}

/* Wakes the poller, which asks for the next step. */
static void look_again(void *context)
{
    (void)context;
}

/* Move partials that cannot be folded now to workers that will soon be free. */
static enum cleave_status send_ahead(struct cv_remote_fold *kept,
                                     struct cleave_error *err)
{
    const double now_s = cv_clock_s();
    double next_s = INFINITY;
    struct cv_fold_part part;

    for (const struct order *order = kept->orders; order != NULL; order = order->next) {
        const double near_s =
            cv_fold_pace_near_s(&kept->pace, &order->step, order->given_s,
                                order->step.parts[0].bytes);

        if (near_s > now_s)
            next_s = fmin(next_s, near_s);
        else if (cv_fold_plan_ahead(kept->plan, &order->step, kept->may, new_name(kept),
                                    &part))
            CV_TRY(move_part(kept, &part, err));
    }
    if (isinf(next_s))
        return CLEAVE_OK;
    cv_poller_set(kept->pool->hosts.poller, &kept->near, next_s, look_again, kept);
    return CLEAVE_OK;
}

static enum cleave_status go_on(struct cv_remote_fold *kept, struct cleave_error *err)
{
    const uint32_t n = kept->pool->nworkers;
    /* Order the first fold at once, to measure it early. */
    const bool unknown = kept->counts.calls == 0 && kept->orders == NULL;
    const bool crowded = unknown || cv_fold_plan_ready(kept->plan) > kept->crowd;
    struct cv_fold_step step;

    if (kept->stopped || kept->failed)
        return CLEAVE_OK;
    for (uint32_t w = 0; w < n; w++)
        kept->may[w] =
            kept->there[w] && kept->busy[w] == 0 && (crowded || is_idle(kept, w));
    while (
        cv_fold_plan_next(kept->plan, kept->may, !unknown && more_to_come(kept), &step)) {
        kept->may[step.at] = false;
        CV_TRY(order_fold(kept, &step, err));
        if (unknown)
            return CLEAVE_OK;
    }
    return send_ahead(kept, err);
}

/* Fetch the last partial. */
static enum cleave_status fetch(struct cv_remote_fold *kept, struct cleave_error *err)
{
    if (!cv_fold_plan_last(kept->plan, &kept->result_id, &kept->holder,
                           &kept->result_bytes))
        return cv_fail(err, CLEAVE_EENGINE,
                       "the partial results do not cover all of the input");
    CV_TRY(cv_chunk_output_open(kept->outputs, &kept->result, err));
    kept->fetching = true;
    say(kept, kept->holder, CV_FRAME_FETCH, kept->result_id);
    note_progress(kept, kept->holder);
    watch(kept, due_s(kept, kept->holder));
    return CLEAVE_OK;
}

/* Whether one partial is left and no other will be made. It is fetched while chunks
 * can still be redone. */
static bool is_last(const struct cv_remote_fold *kept)
{
    return !kept->stopped && !kept->failed && !more_to_come(kept) &&
           !(cv_source_left(kept->queue->source) > 0) &&
           cv_fold_plan_count(kept->plan) == 1;
}

enum cleave_status cv_remote_fold_work(struct cv_remote_fold *kept,
                                       struct cleave_error *err)
{
    CV_TRY(go_on(kept, err));
    return is_last(kept) && !kept->fetching ? fetch(kept, err) : CLEAVE_OK;
}

/* Several partials have to be folded even if none is running; the last one is fetched. */
uint32_t cv_remote_fold_busy(const struct cv_remote_fold *kept)
{
    return kept->orders != NULL ||
           (!kept->stopped && !kept->failed && cv_fold_plan_count(kept->plan) > 1) ||
           (is_last(kept) && !kept->came);
}

void cv_remote_fold_stop(struct cv_remote_fold *kept)
{
    if (kept->stopped)
        return;
    kept->stopped = true;
    for (uint32_t w = 0; w < kept->pool->nworkers; w++)
        if (kept->there[w])
            say(kept, w, CV_FRAME_FOLD_STOP, 0);
    /* Cancel running folds. */
    while (kept->orders != NULL) {
        struct order *order = take_order(kept, kept->orders->id);

        cv_fold_plan_undo(kept->plan, &order->step);
        drop_order(kept, order);
    }
}

enum cleave_status cv_remote_fold_finish(struct cv_remote_fold *kept, bool *out_done,
                                         struct cleave_error *err)
{
    struct cv_chunk_output *result;

    if (!kept->fetching) {
        CV_TRY(go_on(kept, err));
        *out_done = kept->orders == NULL && cv_fold_plan_count(kept->plan) == 0;
        if (kept->orders != NULL || *out_done)
            return CLEAVE_OK;
        CV_TRY(fetch(kept, err));
    }
    *out_done = kept->came;
    if (!kept->came)
        return CLEAVE_OK;
    if (cv_chunk_output_size(kept->result) != kept->result_bytes)
        return cv_fail(err, CLEAVE_EENGINE,
                       "expected a result of %llu bytes, got one of %llu",
                       (unsigned long long)kept->result_bytes,
                       (unsigned long long)cv_chunk_output_size(kept->result));
    result = kept->result;
    kept->result = NULL;
    return cv_ordered_output_finish(kept->outputs, result, 0, 1, err);
}

struct cv_fold_counts cv_remote_fold_counts(const struct cv_remote_fold *kept)
{
    struct cv_fold_counts counts = kept->counts;

    for (const struct order *order = kept->orders; order != NULL; order = order->next)
        counts.waited_s = fmax(counts.waited_s,
                               (cv_clock_s() - order->given_s) / (order->step.count - 1));
    return counts;
}

/* --- opening ------------------------------------------------------------------------------ */

enum cleave_status cv_remote_fold_skip(struct cv_remote_fold *kept, uint64_t begin,
                                       uint64_t end, struct cleave_error *err)
{
    return cv_fold_plan_add(kept->plan, 0, begin, end, CV_FOLD_NOBODY, 0, err);
}

uint64_t cv_remote_fold_covered(const struct cv_remote_fold *kept)
{
    return cv_fold_plan_covered(kept->plan);
}

void cv_remote_fold_free(struct cv_remote_fold *kept)
{
    if (kept == NULL)
        return;
    while (kept->orders != NULL) {
        struct order *order = kept->orders;

        kept->orders = order->next;
        free(order);
    }
    cv_poller_cancel(kept->pool->hosts.poller, &kept->timer);
    cv_poller_cancel(kept->pool->hosts.poller, &kept->near);
    cv_chunk_output_drop(kept->result);
    cv_fold_plan_free(kept->plan);
    free(kept->busy);
    free(kept->progress);
    free(kept->cancelled);
    free(kept->may);
    free(kept->there);
    free(kept->pieces);
    free(kept);
}

/* Set up the empty plan and tell the hosts. */
static enum cleave_status prepare(struct cv_remote_fold *kept,
                                  const struct cleave_execution *request,
                                  struct cleave_error *err)
{
    const uint32_t n = kept->pool->nworkers;
    const bool takes_files = cv_fold_takes_files(request->reduce.command);

    CV_TRY(cv_fold_check_command(request->reduce.command, err));
    kept->crowd = (size_t)CROWD * n;
    if (takes_files && kept->crowd > FILES)
        kept->crowd = FILES;
    kept->may = calloc(n, sizeof *kept->may);
    kept->there = calloc(n, sizeof *kept->there);
    kept->busy = calloc(n, sizeof *kept->busy);
    kept->progress = calloc(n, sizeof *kept->progress);
    if (kept->may == NULL || kept->there == NULL || kept->busy == NULL ||
        kept->progress == NULL)
        return cv_fail_memory(err, "the reduction");
    CV_TRY(cv_fold_plan_new(n, request->reduce.commutative,
                            (uint32_t)cv_fold_most(request->reduce.command), &kept->plan,
                            err));
    return tell_hosts(kept, request, kept->there, err);
}

enum cleave_status cv_remote_fold_new(const struct cv_result_sink_options *options,
                                      struct cv_remote_fold **out,
                                      struct cleave_error *err)
{
    struct cv_remote_fold *kept = calloc(1, sizeof *kept);
    enum cleave_status status;

    if (kept == NULL)
        return cv_fail_memory(err, "the reduction");
    kept->pool = options->pool;
    kept->queue = options->queue;
    kept->table = options->table;
    kept->outputs = options->outputs;
    kept->log = options->log;
    kept->retries = options->request->failures.retries;
    status = prepare(kept, options->request, err);
    if (status != CLEAVE_OK) {
        cv_remote_fold_free(kept);
        return status;
    }
    kept->pool->hosts.keeps = true;
    kept->pool->hosts.other = read_frame;
    kept->pool->hosts.other_context = kept;
    *out = kept;
    return CLEAVE_OK;
}
