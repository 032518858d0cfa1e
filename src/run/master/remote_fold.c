/* remote_fold.c -- outputs that stay on hosts and are folded there: the master's side.
 * SPDX-License-Identifier: MIT
 *
 * The plan (engine/fold_plan.h) decides the folds; orders and reports are frames of protocol.h.
 * A partial that moves gets a new name at its destination, so that a late part of a cancelled
 * order is not taken for a part of the next one.
 *
 * Hosts that reach each other (MPI) make one partial of all, which is fetched. Other hosts (ssh)
 * fold only what they made; what is left is fetched and folded here, with the outputs of this
 * machine. A host keeps its partials as long as its folds make them smaller and more may come;
 * in order, as long as the input next to them is not done. If its folds do not help, or the
 * command fails there, each partial is fetched at once. In all of this a host stands for its
 * slots: its number is that of its first worker. */
#include "run/master/remote_fold.h"

#include <assert.h>
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
static const uint64_t MADE = (uint64_t)1 << 63;

struct order {
    struct cv_fold_step step;
    uint64_t id;                       /* name of its result */
    uint64_t names[CV_FOLD_STEP_MOST]; /* names of its parts where they are folded */
    double given_s;                    /* when the order was sent */
    bool wanted;                       /* the result will come here */
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

/* A partial that was ordered from its host. */
struct fetch {
    struct cv_fold_leaver partial;
    struct cv_chunk_output *store; /* owned: what has arrived */
    struct fetch *next;
};

/* A chunk whose output is on a host. */
struct kept_chunk {
    uint64_t number;
    uint32_t owner;
    struct cv_piece piece;
};

struct cv_remote_fold {
    struct cv_worker_pool *pool; /* borrowed, as the five below */
    struct cv_order_queue *queue;
    const struct cv_attempt_table *table;
    struct cv_ordered_output *outputs;
    struct cv_fold_log *log;
    struct cv_fold *home;      /* folds what was fetched */
    struct cv_fold_plan *plan; /* owned */
    struct cv_packer reduce;   /* owned: the payload of REDUCE */
    bool apart, commutative;   /* hosts do not reach each other; the order is not kept */
    bool trusts; /* false: a named sort, which hosts may have done in another locale */
    bool *may, *there;         /* owned: for each host */
    bool *unfit;               /* owned: for each host: the command failed there */
    struct kept_chunk *chunks; /* owned: to redo after a loss */
    size_t nchunks, chunk_room;
    size_t crowd;     /* partials from which busy workers fold, too */
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

    struct fetch *fetches; /* owned */
    /* Bytes of all parts of folds but the largest of each, and how many of them are in results. */
    double added, left;
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

static uint32_t seat_of(const struct cv_remote_fold *kept, uint32_t worker)
{
    return kept->pool->host_of[worker]->first;
}

/* Whether the worker stands for a host that can be reached. */
static bool is_there(const struct cv_remote_fold *kept, uint32_t worker)
{
    const struct cv_host *host = kept->pool->host_of[worker];

    return host != NULL && host->first == worker && host->state == CV_HOST_READY;
}

static void say(const struct cv_remote_fold *kept, uint32_t worker,
                enum cv_frame_type type, uint64_t id)
{
    cv_link_send(&kept->pool->host_of[worker]->link,
                 &(struct cv_frame_head){ .type = (uint8_t)type, .chunk = id }, NULL, 0);
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
    for (const struct fetch *fetch = kept->fetches; fetch != NULL; fetch = fetch->next) {
        const uint32_t who = fetch->partial.holder;

        if (!is_there(kept, who) ||
            (first != CV_FOLD_NOBODY && due_s(kept, who) >= *out_s))
            continue;
        first = who;
        *out_s = due_s(kept, who);
    }
    for (const struct order *order = kept->orders; order != NULL; order = order->next) {
        const uint32_t who = suspect(kept, order);
        const double when_s = fmax(due_s(kept, who), due_s(kept, order->step.at));

        if (!is_there(kept, who) || (first != CV_FOLD_NOBODY && when_s >= *out_s))
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
    name = new_name(kept) | (part->id & CV_FOLD_RESULT);
    let_give(kept, part, step->at, name, give);
    return name;
}

static enum cleave_status order_fold(struct cv_remote_fold *kept,
                                     const struct cv_fold_step *step, bool wanted,
                                     struct cleave_error *err)
{
    struct order *order = malloc(sizeof *order);
    struct cv_packer give = { NULL, 0, 0, false }, fold = { NULL, 0, 0, false };

    if (order == NULL)
        return cv_fail_memory(err, "the reduction");
    *order = (struct order){ .step = *step,
                             .id = new_name(kept) | CV_FOLD_RESULT,
                             .given_s = cv_clock_s(),
                             .wanted = wanted,
                             .next = kept->orders };
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
                     &(struct cv_frame_head){
                         .type = CV_FRAME_FOLD, .chunk = order->id, .value = wanted },
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

    if (is_there(kept, step->at)) {
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

/* What a fold adds to the largest of its parts. */
static void note_growth(struct cv_remote_fold *kept, const struct cv_fold_step *step,
                        double bytes)
{
    double sum = 0, largest = 0;

    for (uint32_t i = 0; i < step->count; i++) {
        sum += (double)step->parts[i].bytes;
        largest = fmax(largest, (double)step->parts[i].bytes);
    }
    kept->added += sum - largest;
    kept->left += fmax(0, bytes - largest);
}

/* Most of what would be sent disappears in folds. */
static bool helps(const struct cv_remote_fold *kept)
{
    return 2 * kept->left <= kept->added;
}

static bool has_id(void *context, const struct cv_fold_leaver *partial)
{
    const uint64_t *id = context;

    return partial->id == *id;
}

/* The picked partial will come. */
static enum cleave_status begin_fetch(struct cv_remote_fold *kept,
                                      const struct cv_fold_leaver *partial,
                                      struct cleave_error *err)
{
    struct fetch *fetch = malloc(sizeof *fetch);

    if (fetch == NULL)
        return cv_fail_memory(err, "the reduction");
    *fetch = (struct fetch){ .partial = *partial, .next = kept->fetches };
    kept->fetches = fetch;
    note_progress(kept, partial->holder);
    watch(kept, due_s(kept, partial->holder));
    return cv_chunk_output_open(kept->outputs, &fetch->store, err);
}

static void folded(struct cv_remote_fold *kept, const struct cv_host *host,
                   const struct cv_frame_head *head, uint64_t tries)
{
    struct order *order = take_order(kept, head->chunk);
    struct cv_fold_leaver result;
    struct cleave_error err;

    if (order == NULL) { /* cancelled when a sender was lost */
        say(kept, host->first, CV_FRAME_FORGET, head->chunk);
        return;
    }
    count_tries(kept, tries, order);
    cv_fold_pace_saw(&kept->pace, &order->step, cv_clock_s() - order->given_s, -1);
    cv_fold_log_add(kept->log, order->step.at, order->given_s, cv_clock_s(),
                    order->step.count);
    kept->counts.gone += order->step.count - 1;
    note_growth(kept, &order->step, (double)head->value);
    cv_fold_plan_done(kept->plan, &order->step, order->id, head->value);
    if (order->wanted && cv_fold_plan_pick(kept->plan, has_id, &order->id, &result) &&
        begin_fetch(kept, &result, &err) != CLEAVE_OK)
        fail(kept, &err);
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
    cv_shown(text, strlen(text), shown, sizeof shown);
    if (kept->apart) {
        if (!kept->unfit[order->step.at])
            cv_hosts_note(&kept->pool->hosts, "%s: %s: its results are reduced here",
                          kept->pool->host_of[order->step.at]->name, shown);
        kept->unfit[order->step.at] = true;
    } else {
        cv_fail(&err, CLEAVE_EENGINE, "%s on %u partial results%s", shown,
                order->step.count, tries > 1 ? ", also when tried again" : "");
        kept->by_command |= !kept->failed;
        fail(kept, &err);
    }
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
        cv_host_accuse(host, "%s with impossible values", cv_frame_name(head->type));
    else if (head->type == CV_FRAME_FOLDED)
        folded(kept, host, head, tries);
    else
        fold_failed(kept, head, tries, text);
    cv_arena_done(&arena);
}

static struct fetch **find_fetch(struct cv_remote_fold *kept, const struct cv_host *host,
                                 uint64_t id)
{
    struct fetch **at = &kept->fetches;

    while (*at != NULL && ((*at)->partial.id != id ||
                           kept->pool->host_of[(*at)->partial.holder] != host))
        at = &(*at)->next;
    return at;
}

/* The host still has the partial. */
static void drop_fetch(struct cv_remote_fold *kept, struct fetch **at)
{
    struct fetch *fetch = *at;

    *at = fetch->next;
    cv_fold_plan_stay(kept->plan, fetch->partial.id);
    cv_chunk_output_drop(fetch->store);
    free(fetch);
}

/* All of a partial has arrived. */
static void take_home(struct cv_remote_fold *kept, struct fetch **at)
{
    struct fetch *fetch = *at;
    const struct cv_fold_leaver *partial = &fetch->partial;
    struct cleave_error err;

    say(kept, partial->holder, CV_FRAME_FORGET, partial->id);
    cv_fold_plan_leave(kept->plan, partial->id);
    if (cv_fold_add(kept->home,
                    (struct cv_partial){ .begin = partial->begin,
                                         .end = partial->end,
                                         .covers = partial->covers,
                                         .folded = kept->trusts &&
                                                   (partial->id & CV_FOLD_RESULT) != 0,
                                         .store = fetch->store },
                    &err) != CLEAVE_OK)
        fail(kept, &err);
    *at = fetch->next;
    free(fetch);
}

static void partial_came(struct cv_remote_fold *kept, struct cv_host *host,
                         const struct cv_frame_head *head, const unsigned char *payload)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;
    struct fetch **at = find_fetch(kept, host, head->chunk);
    struct cleave_error err;
    uint64_t before, bytes, all;

    assert(*at != NULL); /* stage_of */
    before = cv_chunk_output_size((*at)->store);
    bytes = before + head->length;
    all = (*at)->partial.bytes;
    note_progress(kept, host->first);
    if (head->value != before)
        cv_host_accuse(host, "%llu bytes of a result were sent before, and %llu came",
                       (unsigned long long)head->value, (unsigned long long)before);
    else if (bytes > all || (last && bytes < all))
        cv_host_accuse(host, "a result has %llu bytes, and %llu have arrived",
                       (unsigned long long)all, (unsigned long long)bytes);
    else if (cv_chunk_output_write((*at)->store, payload, head->length, &err) !=
             CLEAVE_OK)
        fail(kept, &err);
    else if (last)
        take_home(kept, at);
}

static enum cv_stage stage_of(struct cv_remote_fold *kept, const struct cv_host *host,
                              const struct cv_frame_head *head)
{
    if (host->first == CV_HOST_NOWHERE)
        return CV_STAGE_NO_FOLD;
    if (head->type == CV_FRAME_HEADWAY)
        return kept->there[host->first] ? CV_STAGE_HOLDS : CV_STAGE_NO_FOLD;
    if (head->type != CV_FRAME_PARTIAL)
        return order_stage(kept, host, head->chunk);
    return *find_fetch(kept, host, head->chunk) != NULL ? CV_STAGE_FETCHING
                                                        : CV_STAGE_NO_FOLD;
}

static void read_frame(void *context, struct cv_host *host,
                       const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cv_remote_fold *kept = context;

    if (!cv_host_admit(host, stage_of(kept, host, head), head))
        return;
    if (head->type == CV_FRAME_PARTIAL)
        partial_came(kept, host, head, payload);
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
                                      const struct cv_piece *piece, struct cv_slot *maker,
                                      struct cleave_error *err)
{
    const struct cv_remote_facts facts = cv_remote_facts(maker);
    const struct cv_chunk *chunk = &cv_attempt_of(maker)->chunk;

    cv_chunk_output_drop(store); /* the output is empty */
    if (!CV_ROOM(kept->chunks, &kept->chunk_room, kept->nchunks + 1))
        return cv_fail_memory(err, "partial results");
    kept->chunks[kept->nchunks++] =
        (struct kept_chunk){ chunk->number, chunk->owner, *piece };
    return cv_fold_plan_add(kept->plan,
                            cv_host_output_base(cv_remote_host(maker)) + facts.number,
                            piece->begin, piece->end, seat_of(kept, maker->worker),
                            facts.kept, err);
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
    struct cv_chunk chunk = { .reported = CV_REPORTED_SENT };
    struct cv_piece piece;
    size_t i = 0;

    while (kept->chunks[i].piece.begin != begin)
        i++;
    chunk.number = kept->chunks[i].number;
    chunk.owner = kept->chunks[i].owner;
    piece = kept->chunks[i].piece;
    kept->chunks[i] = kept->chunks[--kept->nchunks];
    if (!queue->gets_losses) /* the policy has its end, and must not get it twice */
        chunk.reported = CV_UNREPORTED;
    if (!queue->open || is_stream(queue->source))
        return cv_fail(err, CLEAVE_ELOST,
                       "the results of bytes %llu to %llu are lost with their host%s",
                       (unsigned long long)begin, (unsigned long long)end,
                       queue->open ? ", and a stream cannot be read again: a journal "
                                     "(journal.path) keeps results here"
                                   : "");
    queue->done -= (double)(end - begin);
    queue->done_units -= piece.units;
    queue->lost++;
    cv_source_use_again(queue->source, &piece);
    CV_TRY(cv_input_coverage_lose(&queue->coverage, begin, end, err));
    return cv_order_queue_requeue(queue, &chunk, &piece, err);
}

static enum cleave_status lose(struct cv_remote_fold *kept, uint32_t worker,
                               struct cleave_error *err)
{
    struct fetch **at = &kept->fetches;
    struct order *order;
    struct cv_fold_part part;

    while (*at != NULL)
        if ((*at)->partial.holder == worker)
            drop_fetch(kept, at);
        else
            at = &(*at)->next;
    while ((order = take_order_of(kept, worker)) != NULL) {
        cv_fold_plan_undo(kept->plan, &order->step);
        call_off(kept, order);
    }
    while (cv_fold_plan_lose_ahead(kept->plan, worker, &part))
        if (kept->there[part.ahead])
            say(kept, part.ahead, CV_FRAME_FORGET, part.name);
    return cv_fold_plan_lose(kept->plan, worker, do_again, kept, err);
}

enum cleave_status cv_remote_fold_status(struct cv_remote_fold *kept, bool *out_command,
                                         struct cleave_error *err)
{
    for (uint32_t w = 0; w < kept->pool->nworkers; w++) {
        const bool was_there = kept->there[w];

        kept->there[w] = is_there(kept, w);
        if (!was_there || kept->there[w])
            continue;
        kept->unfit[w] = false; /* another worker may come */
        CV_TRY(lose(kept, w, err));
    }
    *out_command = kept->by_command;
    if (!kept->failed)
        return CLEAVE_OK;
    if (err != NULL)
        *err = kept->err;
    return kept->err.status;
}

static bool is_idle(const struct cv_remote_fold *kept, uint32_t host)
{
    for (uint32_t w = host; w < host + kept->pool->host_of[host]->slots; w++)
        if (cv_order_queue_next(kept->queue, w) != NULL ||
            cv_attempt_table_is_busy(kept->table, w))
            return false;
    return true;
}

static bool no_input_left(const struct cv_remote_fold *kept)
{
    return !(cv_source_left(kept->queue->source) > 0);
}

/* Nothing more is to be expected of the host. */
static bool is_at_end(const struct cv_remote_fold *kept, uint32_t host)
{
    return no_input_left(kept) && is_idle(kept, host);
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

/* Whether a host at its end will have nothing but the result of the step. */
static bool is_last(const struct cv_remote_fold *kept, const struct cv_fold_step *step)
{
    return kept->apart && is_at_end(kept, step->at) &&
           cv_fold_plan_holds(kept->plan, step->at) == step->count;
}

/* Order the folds of hosts with may[host]. */
static enum cleave_status order_folds(struct cv_remote_fold *kept, bool patient,
                                      struct cleave_error *err)
{
    /* Order the first fold at once, to measure it early. */
    const bool unknown = kept->counts.calls == 0 && kept->orders == NULL;
    struct cv_fold_step step;

    while (cv_fold_plan_next(kept->plan, kept->may, !unknown && patient, &step)) {
        kept->may[step.at] = false;
        CV_TRY(order_fold(kept, &step, !patient && is_last(kept, &step), err));
        if (unknown)
            return CLEAVE_OK;
    }
    return CLEAVE_OK;
}

/* Hosts that reach each other. */
static enum cleave_status fold_together(struct cv_remote_fold *kept,
                                        struct cleave_error *err)
{
    const bool unknown = kept->counts.calls == 0 && kept->orders == NULL;
    const bool crowded = unknown || cv_fold_plan_ready(kept->plan) > kept->crowd;

    for (uint32_t w = 0; w < kept->pool->nworkers; w++)
        kept->may[w] =
            kept->there[w] && kept->busy[w] == 0 && (crowded || is_idle(kept, w));
    CV_TRY(order_folds(kept, more_to_come(kept), err));
    return send_ahead(kept, err);
}

/* A host that computes folds only full calls; one at its end folds all it has. */
static enum cleave_status fold_apart(struct cv_remote_fold *kept,
                                     struct cleave_error *err)
{
    if (!helps(kept))
        return CLEAVE_OK;
    for (int computes = 0; computes < 2; computes++) {
        for (uint32_t w = 0; w < kept->pool->nworkers; w++)
            kept->may[w] = kept->there[w] && kept->busy[w] == 0 && !kept->unfit[w] &&
                           is_at_end(kept, w) == (computes == 0);
        CV_TRY(order_folds(kept, computes, err));
    }
    return CLEAVE_OK;
}

/* Whether the byte of the input is done. */
static bool is_done(const struct cv_remote_fold *kept, uint64_t at)
{
    struct cv_range range;

    return cv_range_set_find(&kept->queue->coverage.settled, at, &range) &&
           range.begin <= at;
}

static bool leaves(void *context, const struct cv_fold_leaver *partial)
{
    const struct cv_remote_fold *kept = context;
    const uint32_t host = partial->holder;

    if (!kept->there[host])
        return false;
    if (!kept->apart)
        return kept->orders == NULL && !more_to_come(kept) && no_input_left(kept);
    if (!helps(kept) || kept->unfit[host] || kept->pool->host_of[host]->leaving ||
        (kept->busy[host] == 0 && is_at_end(kept, host)))
        return true;
    return !kept->commutative && !partial->grows &&
           (partial->begin == 0 || is_done(kept, partial->begin - 1)) &&
           ((double)partial->end >= cv_source_total(kept->queue->source) ||
            is_done(kept, partial->end));
}

/* Fetch partials that have nothing to wait for, while chunks can still be redone. */
static enum cleave_status fetch_some(struct cv_remote_fold *kept,
                                     struct cleave_error *err)
{
    struct cv_fold_leaver partial;

    while (cv_fold_plan_pick(kept->plan, leaves, kept, &partial)) {
        CV_TRY(begin_fetch(kept, &partial, err));
        say(kept, partial.holder, CV_FRAME_FETCH, partial.id);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_remote_fold_work(struct cv_remote_fold *kept,
                                       struct cleave_error *err)
{
    if (kept->stopped || kept->failed)
        return CLEAVE_OK;
    CV_TRY(kept->apart ? fold_apart(kept, err) : fold_together(kept, err));
    return fetch_some(kept, err);
}

/* Partials that are left are fetched, even if nothing runs. */
uint32_t cv_remote_fold_busy(const struct cv_remote_fold *kept)
{
    return kept->orders != NULL ||
           (!kept->stopped && !kept->failed && cv_fold_plan_count(kept->plan) > 0);
}

bool cv_remote_fold_is_together(const struct cv_remote_fold *kept)
{
    return !kept->apart;
}

bool cv_remote_fold_holds(const struct cv_remote_fold *kept, const struct cv_host *host)
{
    return cv_fold_plan_holds(kept->plan, host->first) > 0;
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

struct cv_fold_counts cv_remote_fold_counts(const struct cv_remote_fold *kept)
{
    struct cv_fold_counts counts = kept->counts;

    for (const struct order *order = kept->orders; order != NULL; order = order->next)
        counts.waited_s = fmax(counts.waited_s,
                               (cv_clock_s() - order->given_s) / (order->step.count - 1));
    return counts;
}

/* --- opening ------------------------------------------------------------------------------ */

void cv_remote_fold_free(struct cv_remote_fold *kept)
{
    if (kept == NULL)
        return;
    while (kept->orders != NULL) {
        struct order *order = kept->orders;

        kept->orders = order->next;
        free(order);
    }
    kept->pool->hosts.reduce = NULL;
    kept->pool->hosts.other = NULL;
    cv_poller_cancel(kept->pool->hosts.poller, &kept->timer);
    cv_poller_cancel(kept->pool->hosts.poller, &kept->near);
    while (kept->fetches != NULL)
        drop_fetch(kept, &kept->fetches);
    cv_fold_plan_free(kept->plan);
    cv_pack_done(&kept->reduce);
    free(kept->unfit);
    free(kept->busy);
    free(kept->progress);
    free(kept->cancelled);
    free(kept->may);
    free(kept->there);
    free(kept->chunks);
    free(kept);
}

/* Set up the empty plan, and tell the hosts that are ready. Others are told when they are. */
static enum cleave_status prepare(struct cv_remote_fold *kept,
                                  const struct cleave_execution *request,
                                  struct cleave_error *err)
{
    const uint32_t n = kept->pool->nworkers;
    const char *command = request->reduce.command;
    struct cv_hosts *hosts = &kept->pool->hosts;

    kept->crowd = (size_t)CROWD * n;
    if (cv_fold_takes_files(command) && kept->crowd > FILES)
        kept->crowd = FILES;
    kept->may = calloc(n, sizeof *kept->may);
    kept->there = calloc(n, sizeof *kept->there);
    kept->unfit = calloc(n, sizeof *kept->unfit);
    kept->busy = calloc(n, sizeof *kept->busy);
    kept->progress = calloc(n, sizeof *kept->progress);
    cv_pack_text(&kept->reduce, command);
    cv_pack_number(&kept->reduce, kept->apart ? 0 : kept->retries);
    cv_pack_real(&kept->reduce, request->failures.timeout_s);
    if (kept->may == NULL || kept->there == NULL || kept->unfit == NULL ||
        kept->busy == NULL || kept->progress == NULL || kept->reduce.failed)
        return cv_fail_memory(err, "the reduction");
    kept->trusts = !cv_fold_is_named(command) || !cv_fold_takes_files(command);
    kept->commutative = cv_fold_is_commutative(command, request->reduce.commutative);
    CV_TRY(cv_fold_plan_new(n, kept->commutative, kept->apart,
                            (uint32_t)cv_fold_most(command), &kept->plan, err));
    hosts->reduce = &kept->reduce;
    for (size_t i = 0; i < hosts->count; i++)
        if (hosts->items[i]->state == CV_HOST_READY)
            cv_host_tell_reduce(hosts->items[i]);
    for (uint32_t w = 0; w < n; w++)
        kept->there[w] = is_there(kept, w);
    return CLEAVE_OK;
}

enum cleave_status cv_remote_fold_new(const struct cv_result_sink_options *options,
                                      struct cv_fold *home, struct cv_remote_fold **out,
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
    kept->home = home;
    kept->apart = !options->request->hosts.fold;
    kept->retries = options->request->failures.retries;
    status = prepare(kept, options->request, err);
    if (status != CLEAVE_OK) {
        cv_remote_fold_free(kept);
        return status;
    }
    kept->pool->hosts.other = read_frame;
    kept->pool->hosts.other_context = kept;
    *out = kept;
    return CLEAVE_OK;
}
