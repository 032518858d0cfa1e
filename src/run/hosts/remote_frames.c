/* remote_frames.c -- frames of ready hosts about their pieces and slots.
 * SPDX-License-Identifier: MIT */
#include "run/hosts/hosts_internal.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "run/input/source.h"
#include "run/slot/slot.h"

/* END agrees with the bytes that were sent and received. Else the host is lost. */
static bool check_end(struct cv_host *host, const struct cv_slot *slot,
                      const struct cv_remote_end *end)
{
    const struct cv_remote *remote = slot->remote;
    const uint64_t whole =
        cv_is_packed(remote) ? cv_slot_whole(&slot->piece) : cv_remote_whole(slot);
    /* The command of an open piece may end before it has read all of it, and while its last frame,
     * which may have no bytes, is on its way. */
    const bool cut_short = remote->facts.progress == CV_PIECE_CUT_SHORT;

    if (!cv_is_computed(&remote->facts) && (end->flags & CV_END_STOPPED) != 0)
        return true;
    if (!cv_is_computed(&remote->facts))
        cv_host_accuse(host, "END of a command that has not ended");
    else if (!(cut_short && end->come <= remote->sent) &&
             (end->come != remote->sent || end->come_sum != remote->sent_sum))
        cv_host_accuse(host,
                       "%llu bytes of a piece were sent there, and %llu%s have arrived",
                       (unsigned long long)remote->sent, (unsigned long long)end->come,
                       end->come == remote->sent ? " others" : "");
    else if (cut_short ? end->given > whole : end->given != whole)
        cv_host_accuse(host, "a piece has %llu bytes, and its command was given %llu",
                       (unsigned long long)whole, (unsigned long long)end->given);
    else if (end->file != 0 && (host->hosts->terms.job.store == NULL || end->flags != 0 ||
                                end->output == 0 || remote->heard > 0))
        cv_host_accuse(host, "unexpected END with a file");
    else if (host->hosts->reduce == NULL && end->file == 0 &&
             (end->output != remote->heard || end->output_sum != remote->output_sum))
        cv_host_accuse(host, "%llu bytes of an output were sent, and %llu%s have arrived",
                       (unsigned long long)end->output, (unsigned long long)remote->heard,
                       end->output == remote->heard ? " others" : "");
    else
        return true;
    return false;
}

/* The host does not see a file of an item: from now on files are sent. */
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
    cv_remote_drop_store(slot);
    if (slot->stopping) {
        slot->busy = false;
        slot->events->ended(slot->context, slot, CV_SLOT_STOPPED);
    } else if (cv_remote_start(slot, &err) != CLEAVE_OK) {
        slot->events->broke(slot->context, &err);
    }
}

/* Output of a lost piece is dropped, unless some was written: then its complete lines
 * are kept, or all of it if the next attempt compares it. */
static void lose_output(struct cv_slot *slot)
{
    if (cv_slot_passed(slot) == 0)
        cv_remote_drop_store(slot);
    else if (slot->remote->host->hosts->terms.job.lines)
        cv_chunk_output_keep_lines(slot->store);
}

/* Without blame: the piece was not started, or the host was told to end. */
static void give_back(struct cv_slot *slot)
{
    slot->remote->facts.was_running = false;
    slot->remote->facts.given_back = true;
    lose_output(slot);
    slot->fault = "was given back";
    slot->events->ended(slot->context, slot,
                        slot->stopping ? CV_SLOT_STOPPED : CV_SLOT_LOST);
}

static void take_back(struct cv_host *host, struct cv_slot *slot)
{
    if (!host->noticed) {
        cv_host_accuse(host, "BACK of a host that stays");
        return;
    }
    cv_host_owes(host, slot, false, slot->remote->facts.cutting);
    cv_remote_cut_answered(slot, false);
    cv_item_forget(slot);
    slot->busy = false;
    cv_limit_over(slot);
    give_back(slot);
}

/* The rest of the output follows the lines that were written before. */
static enum cleave_status write_rest(struct cv_slot *slot, struct cleave_error *err)
{
    unsigned char room[16 * 1024];
    size_t length = 1;

    while (length > 0) {
        const void *bytes = NULL;

        CV_TRY(
            cv_chunk_output_read(slot->store, room, sizeof room, &bytes, &length, err));
        CV_TRY(cv_line_output_take(slot, bytes, length, err));
    }
    return cv_line_output_end(slot, err);
}

static void apply_end(struct cv_host *host, struct cv_slot *slot,
                      const struct cv_remote_end *end)
{
    const bool stopped = (end->flags & CV_END_STOPPED) != 0;
    struct cv_remote *remote = slot->remote;
    enum cv_slot_end how = CV_SLOT_DONE;
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
    remote->facts.unfit = cv_slot_was_not_run(slot) && cv_item_is_sound(slot);
    cv_item_forget(slot);
    slot->fault = host->fault[0] != '\0' ? host->fault : NULL;
    remote->facts.compute_s = fmin(end->compute_s, cv_clock_s() - slot->start_s);
    remote->facts.kept = host->hosts->reduce != NULL ? end->output : 0;
    remote->facts.hash = end->hash;
    if (end->file != 0 &&
        !cv_chunk_output_put_in_file(slot->store,
                                     cv_stored_output_name(host->hosts->terms.job.store,
                                                           end->file),
                                     end->output, end->output_hash)) {
        cv_fail_memory(&err, "the name of an output");
        slot->events->broke(slot->context, &err);
    }
    remote->facts.retry_s = end->retry_s;
    slot->later_s = (end->flags & CV_END_LATER) != 0 ? end->retry_s : 0;
    /* Less than the whole piece, if the command of an open piece ended early. */
    remote->facts.given = end->given;
    remote->facts.hashed = (host->shares || cv_is_packed(remote)) &&
                           end->given == cv_slot_whole(&slot->piece);
    if (slot->open.on && end->after_s > 0)
        slot->open.read_s = fmax(slot->start_s, remote->facts.computed_s - end->after_s);
    cv_host_owes(host, slot, false, remote->facts.cutting);
    cv_remote_cut_answered(slot, false);
    if (slot->by_lines && !stopped && write_rest(slot, &err) != CLEAVE_OK)
        slot->events->broke(slot->context, &err);
    slot->busy = false;
    if (!cv_has_arrived(&remote->facts)) /* bytes of an open piece may be on their way */
        cv_send_over(slot);
    cv_limit_over(slot);
    if (!stopped)
        host->tries = 0; /* the host is useful */
    if (stopped)
        how = CV_SLOT_STOPPED;
    else if (slot->timed_out)
        how = CV_SLOT_TIMED_OUT;
    else if (end->flags != 0 || (slot->items != NULL && slot->fault != NULL))
        how = CV_SLOT_FAILED;
    if (how == CV_SLOT_FAILED && host->noticed)
        give_back(slot); /* the signal for the host may have ended its command, too */
    else
        slot->events->ended(slot->context, slot, how);
}

/* If the body cannot be decoded here either, the file is damaged, and the run fails.
 * Else the host is lost. Always false. */
static bool judge_spoiled(struct cv_host *host, struct cv_slot *slot,
                          const struct cv_remote_end *end)
{
    char shown[160];
    struct cleave_error err;

    if (cv_source_try(host->hosts->source, &slot->piece, &err) != CLEAVE_OK)
        slot->events->broke(slot->context, &err);
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
         (!cv_is_packed(slot->remote) || slot->remote->packed.source == CV_BODY_FETCHED)))
        cv_host_accuse(host, "END with impossible values");
    else if (check_end(host, slot, &end) &&
             ((end.flags & CV_END_SPOILED) == 0 || slot->stopping ||
              judge_spoiled(host, slot, &end)))
        apply_end(host, slot, &end);
    cv_arena_done(&arena);
}

static bool is_running(const struct cv_slot *slot)
{
    return slot->busy && !cv_is_computed(&slot->remote->facts) &&
           (cv_has_arrived(&slot->remote->facts) ||
            (slot->open.on && cv_is_announced(&slot->remote->facts))) &&
           cv_remote_has_turn(slot);
}

void cv_remote_lose(struct cv_host *host)
{
    for (struct cv_slot *slot = host->first_slot; slot != NULL;
         slot = slot->remote->next_slot)
        slot->remote->facts.was_running =
            !host->leaving && !host->stuck && is_running(slot);
    host->nowed = 0;
    memset(host->seats, 0, host->slots * sizeof *host->seats);
    for (struct cv_slot *slot = host->first_slot; slot != NULL;
         slot = slot->remote->next_slot) {
        cv_limit_over(slot);
        if (!slot->busy)
            continue;
        cv_send_over(slot);
        lose_output(slot);
        cv_remote_cut_answered(slot, false);
        slot->busy = false;
        cv_item_forget(slot);
        slot->fault = "was on a lost host";
        slot->events->ended(slot->context, slot,
                            slot->stopping ? CV_SLOT_STOPPED : CV_SLOT_LOST);
    }
}

static void take_got(struct cv_host *host, struct cv_slot *slot,
                     const struct cv_frame_head *head)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;
    struct cv_remote *remote = slot->remote;

    if (head->value > remote->sent || head->value < remote->acked ||
        (last && (remote->queue != NULL || head->value != remote->sent ||
                  (slot->open.on && !remote->last_sent)))) {
        cv_host_accuse(host, "GOT of %llu bytes where %llu were sent",
                       (unsigned long long)head->value, (unsigned long long)remote->sent);
        return;
    }
    if (last || head->value > remote->acked)
        host->progress_s = cv_clock_s();
    cv_send_got(slot, head->value);
    if (slot->open.on && remote->facts.bound_s <= 0) {
        remote->facts.bound_s = cv_clock_s();
        cv_limit_set(slot);
    }
    if (!last && slot->open.on && remote->queue == NULL && head->value == remote->sent)
        cv_send_over(slot); /* other pieces may use the port until there is more */
    if (!last)
        return;
    remote->facts.progress = CV_PIECE_ARRIVED;
    cv_send_over(slot);
    slot->events->arrived(slot->context, slot);
    remote->facts.arrived_s = cv_clock_s();
    cv_limit_set(slot);
}

static void count_output(struct cv_remote *remote, const struct cv_frame_head *head)
{
    remote->output_sum = cv_frame_sum(remote->output_sum, head);
    remote->heard += head->length;
}

/* Output, or files of an item. Kept until END confirms that this is all. */
static void take_output(struct cv_slot *slot, const struct cv_frame_head *head,
                        const unsigned char *payload)
{
    struct cleave_error err;

    count_output(slot->remote, head);
    if ((head->value != 0 && slot->items != NULL
             ? cv_item_take_back(slot, payload, head->length, &err)
             : cv_chunk_output_write(slot->store, payload, head->length, &err)) !=
        CLEAVE_OK)
        slot->events->broke(slot->context, &err);
}

/* Lines of a running command are written before END can be compared, so each frame has
 * the number of bytes before it. A command without input has no output to show. */
static void take_lines(struct cv_host *host, struct cv_slot *slot,
                       const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cleave_error err;

    if (!(host->hosts->terms.job.lines || slot->remote->wanted) ||
        (slot->open.on && !slot->open.bound)) {
        cv_host_accuse(host, "unexpected LINES");
        return;
    }
    if (head->value != slot->remote->heard) {
        cv_host_accuse(host, "LINES after %llu bytes where %llu have arrived",
                       (unsigned long long)head->value,
                       (unsigned long long)slot->remote->heard);
        return;
    }
    count_output(slot->remote, head);
    slot->remote->facts.early += head->length;
    if ((slot->by_lines ? cv_line_output_take(slot, payload, head->length, &err)
                        : cv_chunk_output_write_lines(slot->store, payload, head->length,
                                                      &err)) != CLEAVE_OK)
        slot->events->broke(slot->context, &err);
}

static struct cv_slot *find_seat(const struct cv_host *host, uint32_t seat)
{
    struct cv_slot *slot = host->first_slot;

    while (slot != NULL && slot->remote->seat != seat)
        slot = slot->remote->next_slot;
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
        cv_host_accuse(host, "LEFT with impossible values");
    } else if (slot != NULL) {
        struct cv_slot shown = *slot; /* the slot may have another piece */

        cv_shown(end.fault, strlen(end.fault), fault, sizeof fault);
        shown.process.exit_code = (int)end.exit_code;
        shown.process.signal = (int)end.signal;
        shown.timed_out = (end.flags & CV_END_TIMED_OUT) != 0;
        shown.fault = fault[0] != '\0' ? fault : NULL;
        slot->events->left(slot->context, &shown);
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
            slot->events->silent(slot->context, slot);
        return;
    }
    seat->command = CV_SEAT_EMPTY;
    for (; slot != NULL; slot = slot->remote->next_slot)
        if (slot->remote->seat == head->peer)
            cv_limit_over(slot);
}

static void take_cut_done(struct cv_slot *slot, const struct cv_frame_head *head)
{
    if (head->value != 0)
        slot->piece = slot->remote->shorter;
    if (head->value != 0 && slot->open.on)
        cv_packed_changed(slot);
    cv_remote_cut_answered(slot, head->value != 0);
    if (slot->busy && slot->open.on && !cv_is_computed(&slot->remote->facts))
        cv_remote_open_cut(slot, head->value != 0);
}

void cv_remote_frame(struct cv_host *host, struct cv_slot *slot,
                     const struct cv_frame_head *head, const unsigned char *payload)
{
    const double now_s = cv_clock_s();

    if (slot != NULL && head->type != CV_FRAME_GOT && head->type != CV_FRAME_BACK &&
        head->type != CV_FRAME_CUT_DONE)
        host->progress_s = now_s;
    if (head->type == CV_FRAME_LEFT) {
        take_left(host, head, payload);
    } else if (head->type == CV_FRAME_SILENT || head->type == CV_FRAME_HAS_LEFT) {
        take_seat_word(host, head);
    } else if (slot == NULL) { /* the piece was given up */
        if (head->type == CV_FRAME_END || head->type == CV_FRAME_BACK)
            host->seats[head->peer].free_s = host->progress_s = now_s;
        cv_host_paid(host, head);
    } else if (head->type == CV_FRAME_GOT) {
        take_got(host, slot, head);
    } else if (head->type == CV_FRAME_COMPUTED) {
        slot->remote->facts.progress =
            cv_has_arrived(&slot->remote->facts) ? CV_PIECE_COMPUTED : CV_PIECE_CUT_SHORT;
        slot->remote->facts.computed_s = host->seats[head->peer].free_s = now_s;
    } else if (head->type == CV_FRAME_OUTPUT) {
        take_output(slot, head, payload);
    } else if (head->type == CV_FRAME_LINES) {
        take_lines(host, slot, head, payload);
    } else if (head->type == CV_FRAME_END) {
        take_end(host, slot, payload, head->length);
    } else if (head->type == CV_FRAME_BACK) {
        take_back(host, slot);
    } else if (head->type == CV_FRAME_CUT_DONE) {
        take_cut_done(slot, head);
    } else {
        cv_remote_open_frame(host, slot, head, payload);
    }
}
