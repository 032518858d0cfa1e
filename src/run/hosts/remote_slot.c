/* remote_slot.c -- slots of hosts: start, cut, stop, open pieces and time limits.
 * SPDX-License-Identifier: MIT
 *
 * The command of an open piece is started before the whole piece was sent. Bytes that the
 * host has can be taken back only after asking; so no more is sent than the command needs
 * soon: the host reports how much the command was fed. A host that reads the input itself
 * receives the offset up to which it may read. */
#include "run/hosts/hosts_internal.h"

#include <math.h>
#include <stdlib.h>

#include "run/slot/slot.h"
#include "run/slot/slot_kind.h"

/* A command is killed one second after it was asked to end. */
static const double KILLING_S = 2;

/* --- open pieces -------------------------------------------------------------------------- */

/* Bytes of the current piece that the host has or will have. */
static uint64_t position(const struct cv_slot *slot)
{
    return slot->remote->host->shares   ? slot->remote->shown
           : cv_is_packed(slot->remote) ? cv_packed_there(slot)
                                        : slot->remote->sent - slot->remote->dropped;
}

static bool remote_is_open(const struct cv_slot *slot)
{
    return !cv_is_computed(&slot->remote->facts) && !slot->remote->facts.cutting &&
           slot->remote->host->state == CV_HOST_READY;
}

static void set_bound(struct cv_remote *remote)
{
    if (remote->facts.bound_s <= 0)
        remote->facts.bound_s = cv_clock_s();
}

/* Continue to send the piece, or tell the host that this was all. */
static void go_on(struct cv_slot *slot)
{
    struct cv_remote *remote = slot->remote;
    const uint64_t whole = cv_slot_whole(&slot->piece);
    const bool more = position(slot) < whole;
    struct cleave_error err;

    if (remote->queue != NULL || remote->facts.cutting || remote->last_sent ||
        !cv_is_announced(&remote->facts) || !slot->open.bound)
        return;
    /* Also if there is no room for more: the host may be able to feed more of its bytes. */
    if (cv_packed_tell(slot, &err) != CLEAVE_OK) {
        slot->events->broke(slot->context, &err);
        return;
    }
    if (remote->packed.source == CV_BODY_SEEN)
        set_bound(remote);
    if (remote->host->shares) {
        if (!more && slot->open.more)
            return;
        remote->shown = whole;
        remote->last_sent = !slot->open.more;
        set_bound(remote);
        cv_send_piece(slot, CV_FRAME_MORE, slot->open.more ? 0 : CV_FRAME_LAST);
    } else if (more && cv_send_has_room(slot)) {
        cv_send_ask(slot);
    } else if (!more && !slot->open.more) {
        cv_send_bytes(slot, CV_PART_BODY, true, "", 0);
    }
}

static enum cleave_status remote_extend(struct cv_slot *slot,
                                        const struct cv_piece *longer,
                                        struct cleave_error *err)
{
    (void)err;
    slot->piece = *longer;
    if (slot->open.bound)
        cv_packed_changed(slot);
    else
        cv_packed_begin(slot);
    if (!slot->open.bound && !slot->by_lines)
        cv_ordered_output_offer(slot->store, slot->piece.begin, cv_send_want, slot);
    slot->open.bound = true;
    go_on(slot);
    return CLEAVE_OK;
}

static void remote_shut(struct cv_slot *slot)
{
    if (slot->open.bound)
        go_on(slot);
    else
        slot->kind->stop(slot);
}

/* The command waits for more input, and nothing is on its way or left to be sent. */
static void check_dry(struct cv_slot *slot)
{
    const struct cv_remote *remote = slot->remote;

    if (remote->drained == 0 || remote->drained < position(slot) ||
        position(slot) < cv_slot_whole(&slot->piece) || slot->open.dry_s > 0 ||
        !slot->open.more || slot->stopping)
        return;
    slot->open.dry_s = cv_clock_s();
    slot->events->drained(slot->context, slot);
}

void cv_remote_open_cut(struct cv_slot *slot, bool done)
{
    const uint64_t whole = cv_slot_whole(&slot->piece);

    if (done && slot->remote->host->shares)
        slot->remote->shown = whole;
    else if (done && !cv_is_packed(slot->remote) && position(slot) > whole)
        slot->remote->dropped = slot->remote->sent - whole;
    go_on(slot);
}

void cv_remote_look(struct cv_slot *slot)
{
    if (cv_is_announced(&slot->remote->facts)) {
        slot->remote->facts.looks++;
        cv_send_word(slot, CV_FRAME_LOOK);
    } else { /* the host does not know of the piece */
        slot->events->seen(slot->context, slot, &(struct cv_slot_seen){ .read = 0 });
    }
}

static void take_started(struct cv_host *host, struct cv_slot *slot, uint64_t micros)
{
    if (slot->open.spawn_s > 0 || !slot->open.bound) {
        cv_host_accuse(host,
                       "STARTED of a command that had begun, or has nothing to read");
        return;
    }
    slot->open.spawn_s = fmax(slot->start_s, cv_clock_s() - 1e-6 * (double)micros);
    slot->events->began(slot->context, slot);
}

static bool take_fed(struct cv_host *host, struct cv_slot *slot,
                     const struct cv_frame_head *head)
{
    struct cv_remote *remote = slot->remote;

    if (head->value > position(slot) || head->value < remote->fed) {
        cv_host_accuse(host, "%s of %llu bytes where %llu were sent",
                       head->type == CV_FRAME_FED ? "FED" : "DRAINED",
                       (unsigned long long)head->value,
                       (unsigned long long)position(slot));
        return false;
    }
    remote->fed = head->value;
    return true;
}

static void take_drained(struct cv_host *host, struct cv_slot *slot,
                         const struct cv_frame_head *head)
{
    if (slot->open.spawn_s <= 0) {
        cv_host_accuse(host, "DRAINED of a command that has not begun to read");
        return;
    }
    if (!take_fed(host, slot, head))
        return;
    slot->remote->drained = head->value;
    go_on(slot);
    check_dry(slot);
}

static void take_seen(struct cv_host *host, struct cv_slot *slot,
                      const unsigned char *payload, size_t length)
{
    struct cv_remote_seen seen;

    if (!cv_unpack_seen(payload, length, NULL, &seen) || slot->remote->facts.looks == 0 ||
        seen.read > position(slot)) {
        cv_host_accuse(host, "SEEN that is unexpected or impossible");
        return;
    }
    slot->remote->facts.looks--;
    slot->events->seen(slot->context, slot,
                       &(struct cv_slot_seen){ .read = seen.read,
                                               .output = seen.output,
                                               .cpu_s = seen.cpu_s });
}

void cv_remote_open_frame(struct cv_host *host, struct cv_slot *slot,
                          const struct cv_frame_head *head, const unsigned char *payload)
{
    if (!slot->open.on) {
        cv_host_accuse(host, "%s of a piece that was not open",
                       cv_frame_name(head->type));
    } else if (head->type == CV_FRAME_STARTED) {
        take_started(host, slot, head->value);
    } else if (head->type == CV_FRAME_DRAINED) {
        take_drained(host, slot, head);
    } else if (head->type == CV_FRAME_SEEN) {
        take_seen(host, slot, payload, head->length);
    } else if (take_fed(host, slot, head)) {
        go_on(slot);
    }
}

/* --- time limits --------------------------------------------------------------------------
 *
 * The worker stops a command that takes too long. These limits are for a worker that does not: it
 * is lost when a piece is overdue. The time of a piece runs from its turn, or from the last
 * progress of the host. A host that sends PING but receives none of the bytes for it is lost as
 * well, if there are others. */

/* Time for a report. A host that sends nothing at all is lost earlier. */
static double grace_s(const struct cv_host *host)
{
    return host->hosts->terms.silence_s + KILLING_S;
}

static double limit_s(const struct cv_slot *slot)
{
    const struct cv_host *host = slot->remote->host;

    if (slot->busy && slot->stopping)
        return grace_s(host);
    /* A leader has many commands, each with its own limit. */
    return slot->timeout_s > 0 && !host->leads ? slot->timeout_s + grace_s(host)
                                               : (double)INFINITY;
}

bool cv_remote_has_turn(const struct cv_slot *slot)
{
    const struct cv_slot *other = slot->remote->host->first_slot;

    for (; other != NULL; other = other->remote->next_slot)
        if (other->busy && cv_is_announced(&other->remote->facts) &&
            !cv_is_computed(&other->remote->facts) &&
            other->remote->seat == slot->remote->seat &&
            other->remote->facts.number < slot->remote->facts.number)
            return false;
    return true;
}

/* From the first byte of an open piece: until then it may be waiting for the master. */
static double open_since(const struct cv_slot *slot, double now_s)
{
    const struct cv_remote *remote = slot->remote;
    const struct cv_host *host = remote->host;

    if (remote->facts.bound_s > 0)
        return cv_remote_has_turn(slot)
                   ? fmax(remote->facts.bound_s, host->seats[remote->seat].free_s)
                   : now_s;
    return remote->sent > remote->acked ? fmax(remote->facts.granted_s, host->progress_s)
                                        : now_s;
}

static double due_s(const struct cv_slot *slot, double now_s)
{
    const struct cv_remote *remote = slot->remote;
    const struct cv_host *host = remote->host;
    double since_s = now_s; /* other pieces are first */

    if (!slot->busy || slot->stopping)
        since_s = remote->stopped_s;
    else if (slot->open.on && !cv_has_arrived(&remote->facts) &&
             !cv_is_computed(&remote->facts))
        since_s = open_since(slot, now_s);
    else if (cv_is_computed(&remote->facts))
        since_s = fmax(remote->facts.computed_s, host->progress_s);
    else if (cv_has_arrived(&remote->facts) && cv_remote_has_turn(slot))
        since_s = fmax(remote->facts.arrived_s, host->seats[remote->seat].free_s);
    else if (cv_is_announced(&remote->facts) && !cv_has_arrived(&remote->facts))
        since_s = fmax(remote->facts.granted_s, host->progress_s);
    return since_s + limit_s(slot);
}

static void look(void *context)
{
    struct cv_slot *slot = context;
    const double grace = grace_s(slot->remote->host);
    struct cleave_error err;

    if (due_s(slot, cv_clock_s()) > cv_clock_s()) {
        cv_limit_set(slot);
        return;
    }
    if (slot->busy && slot->stopping)
        cv_fail(&err, CLEAVE_ELOST, "a chunk was not stopped within %g s", grace);
    else
        cv_fail(&err, CLEAVE_ELOST,
                "a %s has not ended within %g s (failures.timeout_s) and %g s more",
                slot->busy ? "chunk" : "command that stays", slot->timeout_s, grace);
    cv_link_break(&slot->remote->host->link, &err);
}

void cv_limit_set(struct cv_slot *slot)
{
    struct cv_poller *poller = slot->remote->host->hosts->poller;
    const double when_s = due_s(slot, cv_clock_s());

    cv_poller_cancel(poller, &slot->timer);
    if (isfinite(when_s))
        cv_poller_set(poller, &slot->timer, when_s, look, slot);
}

void cv_limit_over(struct cv_slot *slot)
{
    cv_poller_cancel(slot->remote->host->hosts->poller, &slot->timer);
}

static bool has_pieces(const struct cv_host *host)
{
    const struct cv_slot *slot = host->first_slot;

    while (slot != NULL && !slot->busy)
        slot = slot->remote->next_slot;
    return slot != NULL;
}

static void look_at_link(void *context)
{
    struct cv_host *host = context;
    const bool others = host->hosts->nready > 1 || host->hosts->local_workers;
    const bool waits = host->in_flight > 0 || host->queue.first != NULL;
    const double now_s = cv_clock_s();
    const double due_s = (waits ? host->moved_s : now_s) + grace_s(host);
    struct cleave_error err;

    if (!has_pieces(host))
        return;
    if (due_s > now_s || !others) {
        cv_poller_set(host->hosts->poller, &host->link_timer,
                      due_s > now_s ? due_s : now_s + KILLING_S, look_at_link, host);
        return;
    }
    host->stuck = true;
    cv_fail(&err, CLEAVE_ELOST, "no data arrived there in %g s: its link is too slow",
            grace_s(host));
    cv_link_break(&host->link, &err);
}

/* --- slots -------------------------------------------------------------------------------- */

void cv_remote_drop_store(struct cv_slot *slot)
{
    cv_chunk_output_drop(slot->store);
    slot->store = NULL;
}

enum cleave_status cv_remote_start(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_remote *remote = slot->remote;

    CV_TRY(cv_chunk_output_open(slot->outputs, &slot->store, err));
    cv_chunk_output_use_blocks(slot->store);
    if (slot->by_lines)
        CV_TRY(cv_line_output_begin(slot, err));
    else if (!slot->open.on || slot->open.bound)
        cv_ordered_output_offer(slot->store, slot->piece.begin, cv_send_want, slot);
    slot->busy = true;
    slot->start_s = cv_clock_s();
    slot->stopping = slot->timed_out = false;
    slot->fault = NULL;
    slot->process.exit_code = -1;
    slot->process.signal = 0;
    remote->sent = remote->acked = remote->sent_sum = remote->output_sum = 0;
    remote->heard = remote->facts.early = 0;
    remote->dropped = remote->shown = remote->fed = remote->drained = 0;
    remote->last_sent = false;
    remote->facts.looks = 0;
    remote->facts.bound_s = remote->burst_s = 0;
    remote->facts.progress = CV_PIECE_UNKNOWN;
    remote->facts.cutting = remote->facts.hashed = remote->wanted = false;
    remote->facts.given = 0;
    remote->facts.unfit = remote->facts.given_back = false;
    cv_packed_begin(slot);
    cv_send_ask(slot);
    if (slot->open.on && slot->open.bound && remote->host->shares) {
        remote->shown = cv_slot_whole(&slot->piece);
        set_bound(remote);
    }
    cv_limit_set(slot);
    if (!remote->host->link_timer.is_set)
        cv_poller_set(remote->host->hosts->poller, &remote->host->link_timer,
                      cv_clock_s() + grace_s(remote->host), look_at_link, remote->host);
    return CLEAVE_OK;
}

static uint64_t fed_remote(const struct cv_slot *slot)
{
    const struct cv_piece *piece = &slot->piece;
    const uint64_t header = piece->header.end - piece->header.begin;
    const uint64_t body = piece->body.end - piece->body.begin;
    const struct cv_remote *remote = slot->remote;
    const uint64_t all = remote->sent - remote->dropped;
    const uint64_t sent = all > header ? all - header : 0;

    if (cv_has_arrived(&remote->facts) ||
        (remote->host->shares && cv_is_announced(&remote->facts)))
        return piece->body.end;
    if (cv_is_packed(remote))
        return cv_packed_fed(slot);
    return piece->body.begin + (sent < body ? sent : body);
}

static uint64_t sent_remote(const struct cv_slot *slot)
{
    return cv_is_packed(slot->remote) ? slot->remote->facts.given : slot->remote->sent;
}

/* Only bytes that were not sent are cut off here. */
static bool cut_remote(struct cv_slot *slot, const struct cv_piece *head)
{
    const struct cv_remote *remote = slot->remote;

    if (fed_remote(slot) > head->body.end || cv_has_arrived(&remote->facts) ||
        (cv_is_announced(&remote->facts) && remote->queue == NULL && !slot->open.on) ||
        (cv_is_announced(&remote->facts) && remote->host->shares))
        return false;
    slot->piece = *head;
    cv_packed_changed(slot);
    if (slot->open.on && cv_is_announced(&remote->facts) &&
        position(slot) >= cv_slot_whole(&slot->piece)) {
        cv_send_pause(slot);
        go_on(slot);
        check_dry(slot);
    }
    return true;
}

void cv_remote_forget(struct cv_slot *slot)
{
    cv_limit_over(slot);
    cv_item_forget(slot);
    if (!slot->busy)
        return;
    slot->busy = false;
    cv_remote_drop_store(slot);
    if (slot->remote->host->state != CV_HOST_READY)
        return;
    cv_send_over(slot);
    if (!cv_is_announced(&slot->remote->facts))
        return;
    cv_host_owes(slot->remote->host, slot, true, slot->remote->facts.cutting);
    cv_send_word(slot, CV_FRAME_STOP);
}

void cv_remote_cut_answered(struct cv_slot *slot, bool done)
{
    if (!slot->remote->facts.cutting)
        return;
    slot->remote->facts.cutting = false;
    slot->events->cut_answered(slot->context, slot, done);
}

static void stop_remote(struct cv_slot *slot)
{
    if (!slot->busy || slot->stopping)
        return;
    slot->stopping = true;
    if (cv_has_arrived(&slot->remote->facts)) {
        cv_send_word(slot, CV_FRAME_STOP);
        slot->remote->stopped_s = cv_clock_s();
        cv_limit_set(slot);
        return;
    }
    cv_remote_forget(slot);
    cv_remote_cut_answered(slot, false);
    slot->events->ended(slot->context, slot, CV_SLOT_STOPPED);
}

/* Only a persistent command has to be asked. */
static bool leave_remote(struct cv_slot *slot)
{
    struct cv_remote *remote = slot->remote;
    struct cv_host_seat *seat = &remote->host->seats[remote->seat];

    if (slot->busy)
        return false;
    if (remote->host->state != CV_HOST_READY || seat->command == CV_SEAT_EMPTY ||
        !remote->host->hosts->terms.job.persistent)
        return true;
    if (seat->command != CV_SEAT_LEAVING) {
        cv_send_word(slot, CV_FRAME_LEAVE);
        remote->stopped_s = cv_clock_s();
        seat->command = CV_SEAT_LEAVING;
        cv_limit_set(slot);
    }
    return false;
}

static void free_remote(struct cv_slot *slot)
{
    struct cv_remote *remote = slot->remote;

    if (remote == NULL)
        return;
    *remote->slot_from = remote->next_slot;
    if (remote->next_slot != NULL)
        remote->next_slot->remote->slot_from = remote->slot_from;
    free(remote);
    slot->remote = NULL;
}

static const struct cv_slot_kind remote_kind = {
    .start = cv_remote_start,
    .fed = fed_remote,
    .cut = cut_remote,
    .stop = stop_remote,
    .leave = leave_remote,
    .done = cv_remote_forget,
    .free = free_remote,
    .sent = sent_remote,
    .is_open = remote_is_open,
    .extend = remote_extend,
    .shut = remote_shut,
};

enum cleave_status cv_remote_init(struct cv_slot *slot, struct cv_host *host,
                                  uint32_t seat, struct cleave_error *err)
{
    struct cv_remote *remote = calloc(1, sizeof *remote);

    if (remote == NULL)
        return cv_fail_memory(err, "the slots of a host");
    remote->host = host;
    remote->seat = seat;
    remote->next_slot = host->first_slot;
    remote->slot_from = &host->first_slot;
    if (host->first_slot != NULL)
        host->first_slot->remote->slot_from = &remote->next_slot;
    host->first_slot = slot;
    slot->remote = remote;
    slot->kind = &remote_kind;
    return CLEAVE_OK;
}

bool cv_remote_ask_cut(struct cv_slot *slot, const struct cv_piece *head)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    if (!slot->busy || slot->remote->facts.cutting ||
        cv_is_computed(&slot->remote->facts) ||
        head->closing !=
            CV_CLOSING_NONE || /* a closing follows the bytes to be cut off */
        (!cv_has_arrived(&slot->remote->facts) &&
         (!slot->open.on || !cv_is_announced(&slot->remote->facts))))
        return false;
    cv_pack_number(&packer, head->mate_fd >= 0 ? head->mate.end - head->mate.begin : 0);
    if (packer.failed)
        return false;
    slot->remote->facts.cutting = true;
    slot->remote->shorter = *head;
    if (slot->open.on) /* bytes that are sent meanwhile would follow the cut */
        cv_send_pause(slot);
    return cv_send_packed(slot, CV_FRAME_CUT, head->body.end - head->body.begin, &packer,
                          NULL) == CLEAVE_OK;
}

/* --- answers for the master --------------------------------------------------------------- */

struct cv_host *cv_remote_host(const struct cv_slot *slot)
{
    return slot->remote != NULL ? slot->remote->host : NULL;
}

uint32_t cv_remote_forget_looks(struct cv_slot *slot)
{
    const uint32_t looks = slot->remote != NULL ? slot->remote->facts.looks : 0;

    if (slot->remote != NULL)
        slot->remote->facts.looks = 0;
    return looks;
}

double cv_remote_sending_s(const struct cv_slot *slot)
{
    const struct cv_remote *remote = slot->remote;

    return remote != NULL && (remote->queue == &remote->host->queue ||
                              cv_is_announced(&remote->facts))
               ? cv_clock_s() - remote->facts.granted_s
               : 0;
}

uint64_t cv_remote_cut_from(const struct cv_slot *slot)
{
    const struct cv_range header = slot->piece.header, body = slot->piece.body;
    const uint64_t before = header.end - header.begin;
    const uint64_t fed =
        body.begin + (slot->remote->fed > before ? slot->remote->fed - before : 0);

    if (slot->open.on)
        return fed < body.end ? fed : body.end;
    return cv_has_arrived(&slot->remote->facts) ? body.begin : fed_remote(slot);
}

bool cv_remote_others_ran(const struct cv_slot *slot)
{
    const struct cv_slot *other = slot->remote->host->first_slot;

    while (other != NULL && (other == slot || !other->remote->facts.was_running))
        other = other->remote->next_slot;
    return other != NULL;
}

struct cv_remote_facts cv_remote_facts(const struct cv_slot *slot)
{
    return slot->remote != NULL ? slot->remote->facts : (struct cv_remote_facts){ 0 };
}
