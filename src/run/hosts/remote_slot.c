/* remote_slot.c -- a slot of another machine. SPDX-License-Identifier: MIT */
#include "run/hosts/remote_slot.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/hosts/remote_host.h"
#include "run/hosts/remote_item.h"
#include "run/hosts/remote_open.h"
#include "run/hosts/remote_packed.h"
#include "run/input/source_packed.h"
#include "run/slot/line_output.h"
#include "run/slot/slot_kind.h"

static void send_word(struct cv_slot *slot, enum cv_frame_type type)
{
    cv_link_send(&slot->remote.host->link,
                 &(struct cv_frame_head){ .type = (uint8_t)type,
                                          .peer = slot->remote.seat,
                                          .chunk = slot->remote.number },
                 NULL, 0);
}

static void drop_store(struct cv_slot *slot)
{
    cv_store_drop(slot->store);
    slot->store = NULL;
}

/* --- as a slot ---------------------------------------------------------------------------- */

static enum cleave_status start_remote(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_remote *remote = &slot->remote;

    CV_TRY(cv_store_open(slot->gather, &slot->store, err));
    cv_store_use_blocks(slot->store);
    if (slot->by_lines)
        CV_TRY(cv_line_output_begin(slot, err));
    else if (!slot->open.on || slot->open.bound)
        cv_gather_offer(slot->store, slot->piece.begin);
    slot->busy = true;
    slot->start_s = cv_clock_s();
    slot->stopping = slot->timed_out = false;
    slot->fault = NULL;
    slot->process.exit_code = -1;
    slot->process.signal = 0;
    remote->sent = remote->acked = remote->sent_sum = remote->output_sum = 0;
    remote->heard = remote->early = 0;
    remote->dropped = remote->shown = remote->fed = remote->drained = 0;
    remote->last_sent = false;
    remote->looks = 0;
    remote->bound_s = remote->burst_s = 0;
    remote->announced = remote->arrived = remote->computed = remote->cutting = false;
    remote->has_left = remote->hashed = false;
    remote->given = 0;
    cv_packed_begin(slot);
    cv_send_ask(slot);
    if (slot->open.on && remote->host->shares)
        cv_remote_open_announced(slot);
    cv_limit_set(slot);
    cv_limit_link(slot);
    return CLEAVE_OK;
}

static uint64_t fed_remote(const struct cv_slot *slot)
{
    const struct cv_piece *piece = &slot->piece;
    const uint64_t header = piece->header.end - piece->header.begin;
    const uint64_t body = piece->body.end - piece->body.begin;
    const uint64_t all = slot->remote.sent - slot->remote.dropped;
    const uint64_t sent = all > header ? all - header : 0;

    if (slot->remote.arrived || (slot->remote.host->shares && slot->remote.announced))
        return piece->body.end;
    if (slot->remote.packed.on)
        return cv_packed_fed(slot);
    return piece->body.begin + (sent < body ? sent : body);
}

/* What has not been sent is cut off here. */
static bool cut_remote(struct cv_slot *slot, const struct cv_piece *head)
{
    if (fed_remote(slot) > head->body.end || slot->remote.arrived ||
        (slot->remote.announced && !slot->remote.queued && !slot->open.on) ||
        (slot->remote.announced && slot->remote.host->shares))
        return false;
    slot->piece = *head;
    cv_packed_changed(slot);
    if (slot->open.on)
        cv_remote_open_shorter(slot);
    return true;
}

void cv_remote_forget(struct cv_slot *slot)
{
    cv_limit_over(slot);
    cv_item_forget(slot);
    if (!slot->busy)
        return;
    slot->busy = false;
    drop_store(slot);
    if (slot->remote.host->state != CV_HOST_READY)
        return;
    cv_send_over(slot);
    if (!slot->remote.announced)
        return;
    cv_host_owes(slot->remote.host, slot, true, slot->remote.cutting);
    send_word(slot, CV_FRAME_STOP);
}

static void answer_cut(struct cv_slot *slot, bool done)
{
    if (!slot->remote.cutting)
        return;
    slot->remote.cutting = false;
    slot->cut_answered(slot->context, slot, done);
}

static void stop_remote(struct cv_slot *slot)
{
    if (!slot->busy || slot->stopping)
        return;
    slot->stopping = true;
    if (slot->remote.arrived) {
        send_word(slot, CV_FRAME_STOP);
        slot->remote.stopped_s = cv_clock_s();
        cv_limit_set(slot);
        return;
    }
    cv_remote_forget(slot);
    answer_cut(slot, false);
    slot->ended(slot->context, slot, CV_SLOT_STOPPED);
}

/* Only a command that stays has to be asked. */
static bool leave_remote(struct cv_slot *slot)
{
    struct cv_remote *remote = &slot->remote;
    struct cv_host_seat *seat = &remote->host->seats[remote->seat];

    if (slot->busy)
        return false;
    if (remote->host->state != CV_HOST_READY || remote->has_left || remote->number == 0 ||
        !remote->host->hosts->terms.persistent)
        return true;
    if (!seat->leaving) {
        send_word(slot, CV_FRAME_LEAVE);
        remote->stopped_s = cv_clock_s();
        seat->leaving = true;
        cv_limit_set(slot);
    }
    return false;
}

static const struct cv_slot_kind remote_kind = {
    .start = start_remote,
    .fed = fed_remote,
    .cut = cut_remote,
    .stop = stop_remote,
    .leave = leave_remote,
    .done = cv_remote_forget,
    .is_open = cv_remote_is_open,
    .extend = cv_remote_extend,
    .shut = cv_remote_shut,
    .travels = true,
};

void cv_remote_init(struct cv_slot *slot, struct cv_host *host, uint32_t seat)
{
    slot->kind = &remote_kind;
    slot->remote = (struct cv_remote){ .host = host, .seat = seat };
    slot->remote.next_slot = host->first_slot;
    host->first_slot = slot;
}

bool cv_remote_ask_cut(struct cv_slot *slot, const struct cv_piece *head)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    if (!slot->busy || slot->remote.cutting || slot->remote.computed ||
        head->closing != CV_CLOSING_NONE || /* that is behind what would be cut off */
        (!slot->remote.arrived && (!slot->open.on || !slot->remote.announced)))
        return false;
    cv_pack_number(&packer, head->mate_fd >= 0 ? head->mate.end - head->mate.begin : 0);
    if (packer.failed)
        return false;
    slot->remote.cutting = true;
    slot->remote.shorter = *head;
    if (slot->open.on) /* what is sent meanwhile would come behind the cut */
        cv_send_pause(slot);
    cv_link_send(&slot->remote.host->link,
                 &(struct cv_frame_head){ .type = CV_FRAME_CUT,
                                          .peer = slot->remote.seat,
                                          .chunk = slot->remote.number,
                                          .value = head->body.end - head->body.begin },
                 packer.bytes, packer.length);
    cv_pack_done(&packer);
    return true;
}

/* --- what is heard ------------------------------------------------------------------------ */

/* Whether it is about all that was sent and all that has come, and says what can be; if not,
 * the host is closed for it. */
static bool check_end(struct cv_host *host, const struct cv_slot *slot,
                      const struct cv_remote_end *end)
{
    const struct cv_remote *remote = &slot->remote;
    const uint64_t whole =
        remote->packed.on ? cv_slot_whole(&slot->piece) : cv_remote_whole(slot);
    /* Its command has ended before it had all of it; that is for it to decide. */
    const bool cut_short = slot->open.on && !remote->arrived;

    if (!remote->computed && (end->flags & CV_END_STOPPED) != 0)
        return true;
    if (!remote->computed)
        cv_host_accuse(host, "END of a command that has not ended");
    else if (!(cut_short && end->come < remote->sent) &&
             (end->come != remote->sent || end->come_sum != remote->sent_sum))
        cv_host_accuse(host,
                       "%llu bytes of a piece were sent there, and %llu%s have come",
                       (unsigned long long)remote->sent, (unsigned long long)end->come,
                       end->come == remote->sent ? " others" : "");
    else if (cut_short ? end->given > whole : end->given != whole)
        cv_host_accuse(host, "a piece has %llu bytes, and its command was given %llu",
                       (unsigned long long)whole, (unsigned long long)end->given);
    else if (!host->hosts->keeps &&
             (end->output != remote->heard || end->output_sum != remote->output_sum))
        cv_host_accuse(host, "%llu bytes of an output were sent, and %llu%s have come",
                       (unsigned long long)end->output, (unsigned long long)remote->heard,
                       end->output == remote->heard ? " others" : "");
    else
        return true;
    return false;
}

/* It does not see a file: that one and all after it are sent. */
static void send_again(struct cv_host *host, struct cv_slot *slot)
{
    struct cleave_error err;

    if (!host->blind)
        cv_hosts_note(host->hosts,
                      "%s: does not see the files of items, which are sent: %s",
                      host->name, host->fault);
    host->blind = true;
    host->based = false;
    cv_limit_over(slot);
    cv_item_forget(slot);
    drop_store(slot);
    if (slot->stopping) {
        slot->busy = false;
        slot->ended(slot->context, slot, CV_SLOT_STOPPED);
    } else if (start_remote(slot, &err) != CLEAVE_OK) {
        slot->broke(slot->context, &err);
    }
}

/* How it ended, with its files here. */
static enum cv_slot_end judge_end(struct cv_host *host, struct cv_slot *slot,
                                  uint64_t flags)
{
    if ((flags & CV_END_STOPPED) != 0)
        return CV_SLOT_STOPPED;
    if ((flags & CV_END_TIMED_OUT) != 0)
        return CV_SLOT_TIMED_OUT;
    return flags != 0 || (slot->items != NULL && host->fault[0] != '\0') ? CV_SLOT_FAILED
                                                                         : CV_SLOT_DONE;
}

/* What has come of a piece that is lost: nothing, or, where some has been written, its lines. */
static void lose_output(struct cv_slot *slot)
{
    if (cv_slot_passed(slot) > 0)
        cv_store_keep_lines(slot->store);
    else
        drop_store(slot);
}

/* It goes to others, and nobody is to blame. */
static void give_back(struct cv_slot *slot)
{
    slot->remote.at_work = false;
    lose_output(slot);
    slot->fault = "was given back";
    slot->ended(slot->context, slot, slot->stopping ? CV_SLOT_STOPPED : CV_SLOT_LOST);
}

/* It has not been begun, and will not be. */
static void take_back(struct cv_host *host, struct cv_slot *slot)
{
    if (!host->noticed) {
        cv_host_accuse(host, "BACK of a host that stays");
        return;
    }
    cv_host_owes(host, slot, false, slot->remote.cutting);
    answer_cut(slot, false);
    cv_item_forget(slot);
    slot->busy = false;
    cv_limit_over(slot);
    give_back(slot);
}

/* What came when its command had ended follows the lines that came before. */
static enum cleave_status write_rest(struct cv_slot *slot, struct cleave_error *err)
{
    unsigned char room[16 * 1024];
    size_t length = 1;

    while (length > 0) {
        const void *bytes = NULL;

        CV_TRY(cv_store_read(slot->store, room, sizeof room, &bytes, &length, err));
        CV_TRY(cv_line_output_take(slot, bytes, length, err));
    }
    return cv_line_output_end(slot, err);
}

static void apply_end(struct cv_host *host, struct cv_slot *slot,
                      const struct cv_remote_end *end)
{
    enum cv_slot_end how;
    struct cleave_error err;

    cv_shown(end->fault, strlen(end->fault), host->fault, sizeof host->fault);
    slot->process.exit_code = (int)end->exit_code;
    slot->process.signal = (int)end->signal;
    slot->timed_out = (end->flags & CV_END_TIMED_OUT) != 0;
    if ((end->flags & CV_END_UNSEEN) != 0) {
        send_again(host, slot);
        return;
    }
    if (slot->items != NULL &&
        !cv_item_unpack(slot, end->flags == 0, host->fault, sizeof host->fault)) {
        cv_host_accuse(host, "files that were not asked for, or not all of them");
        return;
    }
    cv_item_forget(slot);
    slot->fault = host->fault[0] != '\0' ? host->fault : NULL;
    slot->remote.compute_s = fmin(end->compute_s, cv_clock_s() - slot->start_s);
    slot->remote.kept = host->hosts->keeps ? end->output : 0;
    slot->remote.hash = end->hash;
    /* A command may end before all of an open piece was there. */
    slot->remote.given = end->given;
    slot->remote.hashed = (host->shares || slot->remote.packed.on) &&
                          end->given == cv_slot_whole(&slot->piece);
    if (slot->open.on && end->after_s > 0)
        slot->open.read_s = fmax(slot->start_s, slot->remote.computed_s - end->after_s);
    cv_host_owes(host, slot, false, slot->remote.cutting);
    answer_cut(slot, false);
    if (slot->by_lines && (end->flags & CV_END_STOPPED) == 0 &&
        write_rest(slot, &err) != CLEAVE_OK)
        slot->broke(slot->context, &err);
    slot->busy = false;
    if (!slot->remote.arrived) /* it was open, and some of it may be on its way */
        cv_send_over(slot);
    cv_limit_over(slot);
    if ((end->flags & CV_END_STOPPED) == 0)
        host->tries = 0; /* it is of use */
    how = judge_end(host, slot, end->flags);
    if (how == CV_SLOT_FAILED && host->noticed)
        give_back(slot); /* what has ended the host may have ended its command, too */
    else
        slot->ended(slot->context, slot, how);
}

/* The file is damaged, if it cannot be decoded here either: that ends the run as if it were a command of
 * this machine. Else it is the host who cannot. False: it has been told. */
static bool judge_spoiled(struct cv_host *host, struct cv_slot *slot,
                          const struct cv_remote_end *end)
{
    char shown[160];
    struct cleave_error err;

    if (cv_source_try(host->hosts->source, &slot->piece, &err) != CLEAVE_OK)
        slot->broke(slot->context, &err);
    else
        cv_host_accuse(host, "a chunk that can be decoded here cannot be there: %s",
                       cv_shown(end->fault, strlen(end->fault), shown, sizeof shown));
    return false;
}

static void take_end(struct cv_host *host, struct cv_slot *slot,
                     const unsigned char *payload, size_t length)
{
    struct cv_arena arena;
    struct cv_remote_end end;

    cv_arena_init(&arena);
    if (!cv_unpack_end(payload, length, &arena, &end) ||
        ((end.flags & CV_END_UNSEEN) != 0 && !cv_item_is_shared(slot)) ||
        ((end.flags & CV_END_SPOILED) != 0 &&
         (!slot->remote.packed.on || slot->remote.packed.drawn)))
        cv_host_accuse(host, "END that says what cannot be");
    else if (check_end(host, slot, &end) &&
             ((end.flags & CV_END_SPOILED) == 0 || slot->stopping ||
              judge_spoiled(host, slot, &end)))
        apply_end(host, slot, &end);
    cv_arena_done(&arena);
}

static void take_got(struct cv_host *host, struct cv_slot *slot,
                     const struct cv_frame_head *head)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;
    const struct cv_remote *remote = &slot->remote;

    if (head->value > remote->sent || head->value < remote->acked ||
        (last && (remote->queued || head->value != remote->sent ||
                  (slot->open.on && !remote->last_sent)))) {
        cv_host_accuse(host, "GOT of %llu bytes where %llu were sent",
                       (unsigned long long)head->value, (unsigned long long)remote->sent);
        return;
    }
    if (last || head->value > remote->acked)
        host->progress_s = cv_clock_s();
    cv_send_got(slot, head->value);
    if (slot->open.on && remote->bound_s <= 0) {
        slot->remote.bound_s = cv_clock_s();
        cv_limit_set(slot);
    }
    if (!last && slot->open.on && !remote->queued && !remote->waiting &&
        head->value == remote->sent)
        cv_send_over(slot); /* others may use the port until there is more */
    if (!last)
        return;
    slot->remote.arrived = true;
    cv_send_over(slot);
    slot->arrived(slot->context, slot);
    slot->remote.arrived_s = cv_clock_s();
    cv_limit_set(slot);
}

/* Bytes of its output, or of what comes behind it. They are kept until its end has said that they
 * are all. */
static void take_output(struct cv_slot *slot, const struct cv_frame_head *head,
                        const unsigned char *payload)
{
    struct cleave_error err;

    slot->remote.output_sum = cv_frame_sum(slot->remote.output_sum, head);
    slot->remote.heard += head->length;
    if ((head->value != 0 && slot->items != NULL
             ? cv_item_take_back(slot, payload, head->length, &err)
             : cv_store_write(slot->store, payload, head->length, &err)) != CLEAVE_OK)
        slot->broke(slot->context, &err);
}

/* While its command runs. They are gone before it is compared what was sent and has come, so
 * each says how many there were before; and one that has been given nothing has nothing to
 * say. */
static void take_lines(struct cv_host *host, struct cv_slot *slot,
                       const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cleave_error err;

    if (!host->hosts->terms.lines || (slot->open.on && !slot->open.bound)) {
        cv_host_accuse(host, "LINES that nobody asked for");
        return;
    }
    if (head->value != slot->remote.heard) {
        cv_host_accuse(host, "LINES behind %llu bytes where %llu have come",
                       (unsigned long long)head->value,
                       (unsigned long long)slot->remote.heard);
        return;
    }
    slot->remote.output_sum = cv_frame_sum(slot->remote.output_sum, head);
    slot->remote.heard += head->length;
    slot->remote.early += head->length;
    if ((slot->by_lines ? cv_line_output_take(slot, payload, head->length, &err)
                        : cv_store_write_lines(slot->store, payload, head->length,
                                               &err)) != CLEAVE_OK)
        slot->broke(slot->context, &err);
}

/* --- of slots rather than pieces ---------------------------------------------------------- */

/* Any slot that stands for the seat. */
static struct cv_slot *find_seat(const struct cv_host *host, uint32_t seat)
{
    struct cv_slot *slot = host->first_slot;

    while (slot != NULL && slot->remote.seat != seat)
        slot = slot->remote.next_slot;
    return slot;
}

static void take_left(struct cv_host *host, const struct cv_frame_head *head,
                      const unsigned char *payload)
{
    struct cv_slot *slot = find_seat(host, head->peer);
    struct cv_remote_end end;
    struct cv_arena arena;
    char fault[200];

    host->seats[head->peer].left++;
    cv_arena_init(&arena);
    if (!cv_unpack_end(payload, head->length, &arena, &end)) {
        cv_host_accuse(host, "LEFT that says what cannot be");
    } else if (slot != NULL) {
        struct cv_slot shown = *slot; /* it may have a piece already */

        cv_shown(end.fault, strlen(end.fault), fault, sizeof fault);
        shown.process.exit_code = (int)end.exit_code;
        shown.process.signal = (int)end.signal;
        shown.timed_out = (end.flags & CV_END_TIMED_OUT) != 0;
        shown.fault = fault[0] != '\0' ? fault : NULL;
        slot->left(slot->context, &shown);
    }
    cv_arena_done(&arena);
}

static void take_seat_word(struct cv_host *host, const struct cv_frame_head *head)
{
    struct cv_host_seat *seat = &host->seats[head->peer];
    struct cv_slot *slot = find_seat(host, head->peer);

    if (head->type == CV_FRAME_SILENT) {
        seat->silent++;
        if (slot != NULL && cv_host_tells(host, CV_NOTE_SILENT))
            slot->silent(slot->context, slot);
        return;
    }
    seat->leaving = false;
    for (; slot != NULL; slot = slot->remote.next_slot)
        if (slot->remote.seat == head->peer) {
            slot->remote.has_left = true;
            cv_limit_over(slot);
        }
}

/* --- all of it ---------------------------------------------------------------------------- */

static void take_cut_done(struct cv_slot *slot, const struct cv_frame_head *head)
{
    if (head->value != 0)
        slot->piece = slot->remote.shorter;
    if (head->value != 0 && slot->open.on)
        cv_packed_changed(slot);
    answer_cut(slot, head->value != 0);
    if (slot->busy && slot->open.on && !slot->remote.computed)
        cv_remote_open_cut(slot, head->value != 0);
}

void cv_remote_frame(struct cv_host *host, struct cv_slot *slot,
                     const struct cv_frame_head *head, const unsigned char *payload)
{
    if (head->type == CV_FRAME_NOTICE) {
        cv_host_notice(host);
    } else if (head->type == CV_FRAME_LEFT) {
        take_left(host, head, payload);
    } else if (head->type == CV_FRAME_SILENT || head->type == CV_FRAME_HAS_LEFT) {
        take_seat_word(host, head);
    } else if (slot == NULL) { /* it was given up, or is over */
        if (head->type == CV_FRAME_END || head->type == CV_FRAME_BACK)
            host->seats[head->peer].free_s = host->progress_s = cv_clock_s();
        cv_host_paid(host, head);
    } else if (head->type == CV_FRAME_GOT) {
        take_got(host, slot, head);
    } else if (head->type == CV_FRAME_COMPUTED) {
        slot->remote.computed = true;
        slot->remote.computed_s = host->seats[head->peer].free_s = cv_clock_s();
        host->progress_s = slot->remote.computed_s;
    } else if (head->type == CV_FRAME_OUTPUT) {
        host->progress_s = cv_clock_s();
        take_output(slot, head, payload);
    } else if (head->type == CV_FRAME_LINES) {
        host->progress_s = cv_clock_s();
        take_lines(host, slot, head, payload);
    } else if (head->type == CV_FRAME_END) {
        host->progress_s = cv_clock_s();
        take_end(host, slot, payload, head->length);
    } else if (head->type == CV_FRAME_BACK) {
        take_back(host, slot);
    } else if (head->type == CV_FRAME_CUT_DONE) {
        take_cut_done(slot, head);
    } else {
        cv_remote_open_frame(host, slot, head, payload);
    }
}

/* Whether its piece has a command, or waits for its turn to have one. */
static bool is_there(const struct cv_slot *slot)
{
    return slot->busy && !slot->remote.computed &&
           (slot->remote.arrived || (slot->open.on && slot->remote.announced));
}

/* Whether the command of its piece is running: there is one for each seat, and the pieces
 * behind it wait for it. */
static bool is_at_work(const struct cv_slot *slot)
{
    const struct cv_slot *other = slot->remote.host->first_slot;

    if (!is_there(slot))
        return false;
    for (; other != NULL; other = other->remote.next_slot)
        if (is_there(other) && other->remote.seat == slot->remote.seat &&
            other->remote.number < slot->remote.number)
            return false;
    return true;
}

void cv_remote_lose(struct cv_host *host)
{
    for (struct cv_slot *slot = host->first_slot; slot != NULL;
         slot = slot->remote.next_slot)
        slot->remote.at_work = !host->leaving && !host->stuck && is_at_work(slot);
    host->nowed = 0;
    memset(host->seats, 0, host->slots * sizeof *host->seats);
    for (struct cv_slot *slot = host->first_slot; slot != NULL;
         slot = slot->remote.next_slot) {
        slot->remote.has_left = false;
        cv_limit_over(slot);
        if (!slot->busy)
            continue;
        cv_send_over(slot);
        lose_output(slot);
        answer_cut(slot, false);
        slot->busy = false;
        cv_item_forget(slot);
        slot->fault = "was on a host that is gone";
        slot->ended(slot->context, slot, slot->stopping ? CV_SLOT_STOPPED : CV_SLOT_LOST);
    }
}
