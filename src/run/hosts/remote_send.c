/* remote_send.c -- pieces on their way to hosts. SPDX-License-Identifier: MIT
 *
 * A piece waits for the port, if all links share one, and then for its link. A link has no more
 * bytes in flight than it moves in WINDOW_S: it never runs dry, and the rest can be taken back.
 * The rate is measured from acknowledgements. The body of a piece may be sent as bytes of the
 * compressed file; all other numbers, on both sides, count decoded bytes. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/hosts/hosts_internal.h"
#include "run/input/source.h"
#include "run/slot/slot_kind.h"

enum {
    WINDOW_LEAST = 64 * 1024,
    FRAME_LEAST = 16 * 1024,
    FRAME_FIRST = 32 * 1024, /* while the rate is not known */
    FRAME_MOST = 256 * 1024,
    /* Bytes of an open piece that were sent and that its command has not been fed. */
    AHEAD_LEAST = 1 << 20,
    AHEAD_MOST = 64 << 20,
};

/* Time of sending in a window, in a frame, and in a measurement of the rate. */
static const double WINDOW_S = 0.25, FRAME_S = 0.05, MEASURE_S = 0.05;
/* Weight of a new measurement. */
static const double NEW = 0.5;

/* --- frames about a piece ------------------------------------------------------------------- */

static struct cv_frame_head head_of(const struct cv_slot *slot, enum cv_frame_type type)
{
    return (struct cv_frame_head){ .type = (uint8_t)type,
                                   .peer = slot->remote->seat,
                                   .chunk = slot->remote->facts.number };
}

void cv_send_word(struct cv_slot *slot, enum cv_frame_type type)
{
    const struct cv_frame_head head = head_of(slot, type);

    cv_link_send(&slot->remote->host->link, &head, NULL, 0);
}

enum cleave_status cv_send_packed(struct cv_slot *slot, enum cv_frame_type type,
                                  uint64_t value, struct cv_packer *packer,
                                  struct cleave_error *err)
{
    struct cv_frame_head head = head_of(slot, type);

    head.value = value;
    return cv_link_send_packed(&slot->remote->host->link, &head, packer)
               ? CLEAVE_OK
               : cv_fail_memory(err, "a frame");
}

void cv_send_bytes(struct cv_slot *slot, enum cv_remote_part part, bool last,
                   const void *bytes, size_t length)
{
    struct cv_frame_head head = head_of(slot, CV_FRAME_DATA);

    slot->remote->last_sent = last;
    head.flags = last ? CV_FRAME_LAST : 0;
    head.length = (uint32_t)length;
    head.value = part;
    head.checksum = cv_frame_checksum(&head, bytes);
    slot->remote->sent_sum = cv_frame_sum(slot->remote->sent_sum, &head);
    cv_link_send_summed(&slot->remote->host->link, &head, bytes);
}

/* --- bodies that the host decodes or fetches ---------------------------------------------- */

static struct cv_source *source_of(const struct cv_slot *slot)
{
    return slot->remote->host->hosts->source;
}

static uint64_t header_of(const struct cv_slot *slot)
{
    return slot->piece.header.end - slot->piece.header.begin;
}

/* The first byte of the file that was not sent. */
static uint64_t sent_to(const struct cv_slot *slot)
{
    const uint64_t header = header_of(slot), sent = slot->remote->sent;

    return slot->remote->packed.in.begin + (sent > header ? sent - header : 0);
}

/* Bytes of the file that the host needs; if it reads the file, those that it decodes. */
static struct cv_range cover(const struct cv_slot *slot)
{
    return slot->remote->packed.source == CV_BODY_SEEN
               ? cv_source_span(source_of(slot), &slot->piece)
               : cv_source_cover(source_of(slot), &slot->piece);
}

/* A persistent command gets bytes that the master has decoded. A body that compression
 * does not shorten is sent decoded; for an open piece that is not known yet. */
void cv_packed_begin(struct cv_slot *slot)
{
    const struct cv_host *host = slot->remote->host;
    const struct cv_piece *piece = &slot->piece;
    struct cv_remote_packing *packed = &slot->remote->packed;
    const char *name;
    uint64_t size;

    *packed = (struct cv_remote_packing){ .source = CV_BODY_PLAIN };
    if (slot->items != NULL || host->shares || host->hosts->terms.persistent ||
        source_of(slot) == NULL || piece->body.begin == piece->body.end)
        return;
    if (!slot->open.on && cv_source_fetches(source_of(slot), piece, &name, &size) != NULL)
        packed->source = CV_BODY_FETCHED;
    else if ((host->sees ? cv_source_unpacked : cv_source_packs)(source_of(slot), piece))
        packed->source = host->sees ? CV_BODY_SEEN : CV_BODY_PACKED;
    if (packed->source == CV_BODY_PLAIN || packed->source == CV_BODY_FETCHED)
        return;
    packed->in = cover(slot);
    packed->next = cv_source_first_block(source_of(slot), piece);
    if (packed->source == CV_BODY_PACKED && !slot->open.on &&
        packed->in.end - packed->in.begin >= piece->body.end - piece->body.begin)
        packed->source = CV_BODY_PLAIN;
}

void cv_packed_changed(struct cv_slot *slot)
{
    struct cv_remote_packing *packed = &slot->remote->packed;
    const uint64_t sent = sent_to(slot);

    packed->told = false;
    if (packed->source == CV_BODY_PLAIN || packed->source == CV_BODY_FETCHED)
        return;
    packed->in.end = cover(slot).end;
    if (packed->in.end < sent && packed->source == CV_BODY_PACKED)
        packed->in.end = sent;
}

static enum cleave_status tell_drawn(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_remote_drawn told = { .body = slot->piece.body,
                                    .closing = slot->piece.closing };
    struct cv_packer packer = { NULL, 0, 0, false };

    told.line = cv_source_fetches(source_of(slot), &slot->piece, &told.name, &told.size);
    cv_pack_drawn(&packer, &told);
    slot->remote->packed.told = true;
    return cv_send_packed(slot, CV_FRAME_DRAWN, 0, &packer, err);
}

/* The first frames may have only a part of the blocks, and then the end that follows
 * from them. */
enum cleave_status cv_packed_tell(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_remote_packing *packed = &slot->remote->packed;
    const struct cv_piece *piece = &slot->piece;
    const bool seen = packed->source == CV_BODY_SEEN;
    struct cv_packed_block *blocks;
    enum cleave_status status = CLEAVE_OK;

    if (packed->source == CV_BODY_PLAIN || packed->told)
        return CLEAVE_OK;
    if (packed->source == CV_BODY_FETCHED)
        return tell_drawn(slot, err);
    blocks = calloc(CV_PACKED_BLOCKS, sizeof *blocks);
    if (blocks == NULL)
        return cv_fail_memory(err, "a frame");
    while (status == CLEAVE_OK && !packed->told) {
        struct cv_remote_packed told = { .form = cv_source_form(source_of(slot), piece),
                                         .body = piece->body,
                                         .in = packed->in,
                                         .file = seen ? piece->file + 1 : 0,
                                         .header = seen ? header_of(slot) : 0,
                                         .closing = piece->closing,
                                         .blocks = blocks };
        struct cv_packer packer = { NULL, 0, 0, false };

        status =
            cv_source_blocks(source_of(slot), piece, packed->in.end, &packed->next,
                             blocks, CV_PACKED_BLOCKS, &told.nblocks, &told.out_end, err);
        packed->told = told.nblocks < CV_PACKED_BLOCKS;
        if (told.body.end > told.out_end) {
            told.body.end = told.out_end;
            told.closing = CV_CLOSING_NONE;
        }
        if (status == CLEAVE_OK) {
            cv_pack_packed(&packer, &told);
            status = cv_send_packed(slot, CV_FRAME_PACKED, 0, &packer, err);
        }
    }
    free(blocks);
    return status;
}

static uint64_t packed_size(const struct cv_slot *slot)
{
    const struct cv_range in = slot->remote->packed.in;

    return header_of(slot) +
           (slot->remote->packed.source == CV_BODY_SEEN ? 0 : in.end - in.begin);
}

/* As read(2). */
static ssize_t packed_read(const struct cv_slot *slot, void *to, size_t max)
{
    const uint64_t at = sent_to(slot), left = slot->remote->packed.in.end - at;

    if (slot->remote->packed.source == CV_BODY_SEEN ||
        left == 0) /* a fetched body has no file */
        return 0;
    return pread(slot->piece.fd, to, left < max ? (size_t)left : max, (off_t)at);
}

uint64_t cv_packed_there(const struct cv_slot *slot)
{
    const struct cv_range body = slot->piece.body;
    const uint64_t header = header_of(slot);
    uint64_t whole;

    if (slot->remote->sent < header)
        return slot->remote->sent;
    if (slot->remote->sent >= packed_size(slot))
        return cv_slot_whole(&slot->piece);
    whole = cv_source_unpacks(source_of(slot), &slot->piece, sent_to(slot));
    whole = whole < body.begin ? body.begin : whole > body.end ? body.end : whole;
    return header + (whole - body.begin);
}

uint64_t cv_packed_fed(const struct cv_slot *slot)
{
    const struct cv_range body = slot->piece.body;
    uint64_t touched;

    if (slot->remote->packed.source == CV_BODY_SEEN) /* as far as the host knows */
        return slot->open.on && cv_is_announced(&slot->remote->facts) ? body.end
                                                                      : body.begin;
    if (sent_to(slot) <= slot->remote->packed.in.begin)
        return body.begin;
    touched = cv_source_touches(source_of(slot), &slot->piece, sent_to(slot));
    return touched < body.begin ? body.begin : touched < body.end ? touched : body.end;
}

/* Bytes that were sent as bytes of the input. */
static uint64_t packed_units(const struct cv_slot *slot, uint64_t bytes)
{
    const struct cv_range in = slot->remote->packed.in, body = slot->piece.body;
    const double part = (double)bytes / (double)(in.end - in.begin);

    return slot->remote->packed.source == CV_BODY_PACKED
               ? (uint64_t)(part * (double)(body.end - body.begin))
               : bytes;
}

/* --- the port ----------------------------------------------------------------------------- */

static void append(struct cv_slot_queue *queue, struct cv_slot *slot)
{
    slot->remote->queue = queue;
    slot->remote->next_sending = NULL;
    *queue->end = slot;
    queue->end = &slot->remote->next_sending;
}

static void leave_queue(struct cv_slot *slot)
{
    struct cv_slot_queue *queue = slot->remote->queue;
    struct cv_slot **at = queue != NULL ? &queue->first : NULL;

    slot->remote->queue = NULL;
    while (at != NULL && *at != NULL && *at != slot)
        at = &(*at)->remote->next_sending;
    if (at == NULL || *at == NULL)
        return;
    *at = slot->remote->next_sending;
    if (queue->end == &slot->remote->next_sending)
        queue->end = at;
}

static void grant(struct cv_slot *slot)
{
    struct cv_remote *remote = slot->remote;
    struct cv_host *host = remote->host;
    const double now_s = cv_clock_s();

    remote->facts.granted_s = now_s;
    if (host->in_flight == 0 && host->queue.first == NULL)
        host->moved_s = now_s;
    if (remote->burst_s <= 0) {
        remote->burst_s = now_s;
        remote->burst_from = remote->sent;
    }
    append(&host->queue, slot);
    cv_link_wake(&host->link);
}

static void serve_port(struct cv_hosts *hosts)
{
    if (hosts->port != NULL || hosts->waiting.first == NULL)
        return;
    hosts->port = hosts->waiting.first;
    leave_queue(hosts->port);
    grant(hosts->port);
}

static void announce(struct cv_slot *slot);

void cv_send_ask(struct cv_slot *slot)
{
    struct cv_hosts *hosts = slot->remote->host->hosts;

    if (slot->open.on && !cv_is_announced(&slot->remote->facts) &&
        (slot->remote->host->shares || !slot->open.bound)) {
        announce(slot); /* no bytes follow: no port is needed */
        return;
    }
    if (!hosts->one_port || hosts->port == slot) { /* it may hold the port still */
        grant(slot);
        return;
    }
    append(&hosts->waiting, slot);
    serve_port(hosts);
}

void cv_send_pause(struct cv_slot *slot)
{
    struct cv_hosts *hosts = slot->remote->host->hosts;

    leave_queue(slot);
    if (hosts->port == slot) {
        hosts->port = NULL;
        serve_port(hosts);
    }
}

void cv_send_over(struct cv_slot *slot)
{
    struct cv_host *host = slot->remote->host;

    /* These will not be acknowledged. */
    host->in_flight -= slot->remote->sent - slot->remote->acked;
    slot->remote->acked = slot->remote->sent;
    if (host->in_flight == 0)
        host->since_s = 0;
    cv_send_pause(slot);
    cv_link_wake(&host->link);
}

/* --- frames ------------------------------------------------------------------------------- */

static uint64_t window(const struct cv_host *host)
{
    const double bytes = host->rate_Bps * fmax(WINDOW_S, 2 * host->rtt_s);

    return bytes > WINDOW_LEAST ? (uint64_t)bytes : WINDOW_LEAST;
}

static size_t frame_size(const struct cv_host *host)
{
    const double bytes = host->rate_Bps * FRAME_S;

    if (!(host->rate_Bps > 0))
        return FRAME_FIRST;
    return bytes < FRAME_LEAST  ? FRAME_LEAST
           : bytes > FRAME_MOST ? FRAME_MOST
                                : (size_t)bytes;
}

bool cv_send_has_room(const struct cv_slot *slot)
{
    const struct cv_remote *remote = slot->remote;
    const uint64_t ahead = 2 * window(remote->host);
    const uint64_t there =
        cv_is_packed(remote) ? cv_packed_there(slot) : remote->sent - remote->dropped;
    const uint64_t unread = there > remote->fed ? there - remote->fed : 0;
    /* A command reads nothing before some of the body has arrived, however long the
     * header is. */
    const uint64_t header = slot->piece.header.end - slot->piece.header.begin;

    return !slot->open.on || unread < header + (ahead < AHEAD_LEAST  ? AHEAD_LEAST
                                                : ahead > AHEAD_MOST ? AHEAD_MOST
                                                                     : ahead);
}

uint64_t cv_remote_whole(const struct cv_slot *slot)
{
    return slot->items != NULL          ? cv_item_head(slot) + cv_item_body(slot)
           : cv_is_packed(slot->remote) ? packed_size(slot)
                                        : cv_slot_whole(&slot->piece);
}

void cv_send_piece(struct cv_slot *slot, enum cv_frame_type type, uint16_t flags)
{
    struct cv_host *host = slot->remote->host;
    const struct cv_piece *piece = &slot->piece;
    const bool item = slot->items != NULL;
    const struct cv_remote_piece told = {
        .shared = host->shares,
        .mates = piece->mate_fd >= 0,
        .file = item ? 0 : piece->file,
        .mate_file = host->hosts->nfiles > 0 ? host->hosts->nfiles - 1 : 0,
        .header = item ? (struct cv_range){ 0, cv_item_head(slot) } : piece->header,
        .body = item ? (struct cv_range){ 0, cv_item_body(slot) } : piece->body,
        .mate = piece->mate,
        .closing = piece->closing,
    };
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_frame_head head = head_of(slot, type);
    struct cleave_error err;

    head.flags = flags;
    head.value = slot->open.on;
    cv_pack_piece(&packer, &told);
    if (!cv_link_send_packed(&host->link, &head, &packer)) {
        cv_fail_memory(&err, "a frame");
        slot->events->broke(slot->context, &err);
    }
}

/* An item has the variables in its message; a persistent command is the same for all
 * pieces. */
static enum cleave_status send_variables(struct cv_slot *slot, struct cleave_error *err)
{
    const char *texts[CV_TOLD + 1] = { NULL };
    struct cv_packer packer = { NULL, 0, 0, false };

    if (slot->items != NULL || slot->remote->host->hosts->terms.persistent)
        return CLEAVE_OK;
    CV_TRY(cv_slot_tell(slot, err));
    for (size_t i = 0; i < slot->tailored.ntold; i++)
        texts[i] = slot->tailored.told[i];
    cv_pack_list(&packer, texts);
    return cv_send_packed(slot, CV_FRAME_TOLD, 0, &packer, err);
}

void cv_send_want(void *context)
{
    struct cv_slot *slot = context;

    slot->remote->wanted = true;
    if (cv_is_announced(&slot->remote->facts) && !cv_is_computed(&slot->remote->facts))
        cv_send_word(slot, CV_FRAME_SHOW);
}

static void announce(struct cv_slot *slot)
{
    struct cv_host *host = slot->remote->host;
    struct cv_host_seat *seat = &host->seats[slot->remote->seat];
    struct cleave_error err;

    slot->remote->facts.number = host->numbered++;
    if ((slot->items != NULL && cv_item_pack(slot, &err) != CLEAVE_OK) ||
        send_variables(slot, &err) != CLEAVE_OK) {
        slot->events->broke(slot->context, &err);
        leave_queue(slot);
        return;
    }
    cv_send_piece(slot, CV_FRAME_PIECE, 0);
    slot->remote->facts.progress = CV_PIECE_ANNOUNCED;
    if (slot->remote->wanted)
        cv_send_want(slot);
    seat->given++;
    if (seat->command == CV_SEAT_EMPTY)
        seat->command = CV_SEAT_USED;
    if (host->shares)
        leave_queue(slot);
}

/* The part and the offset of the next byte. */
static enum cv_remote_part find_next(const struct cv_slot *slot, struct cv_part *part,
                                     uint64_t *offset)
{
    const struct cv_piece *piece = &slot->piece;
    const uint64_t header = piece->header.end - piece->header.begin;
    const uint64_t body = piece->body.end - piece->body.begin;
    const struct cv_part closing = cv_piece_closing(piece);
    uint64_t at = slot->remote->sent - slot->remote->dropped;

    if (at < header) {
        *part = cv_piece_header(piece);
        *offset = part->begin + at;
        return CV_PART_HEADER;
    }
    at -= header;
    if (cv_is_packed(slot->remote) || at < body ||
        (closing.end == 0 && piece->mate_fd < 0)) {
        *part = cv_piece_body(piece);
        *offset = part->begin + at;
        return CV_PART_BODY;
    }
    at -= body;
    if (at < closing.end ||
        piece->mate_fd < 0) { /* for the host, it is a part of the body */
        *part = closing;
        *offset = at;
        return CV_PART_BODY;
    }
    at -= closing.end;
    *part = cv_piece_mate(piece);
    *offset = part->begin + at;
    return CV_PART_MATE;
}

static void read_failed(struct cv_slot *slot, ssize_t got)
{
    struct cleave_error err;

    if (got < 0)
        cv_fail(&err, CLEAVE_EENGINE, "%s: cannot read: %s", slot->piece.name,
                strerror(errno));
    else
        cv_fail(&err, CLEAVE_EENGINE, "%s: has become shorter while it was read",
                slot->piece.name);
    slot->events->broke(slot->context, &err);
}

/* Read the next bytes of the piece. False: that failed, and was reported. */
static bool read_next(struct cv_slot *slot, unsigned char *bytes, size_t max,
                      size_t *out_got, enum cv_remote_part *out_part)
{
    const uint64_t head = cv_item_head(slot);
    struct cv_part from;
    uint64_t offset;
    bool short_of;
    ssize_t got;

    if (slot->items != NULL) {
        const uint64_t at = slot->remote->sent;

        *out_part = at < head ? CV_PART_HEADER : CV_PART_BODY;
        *out_got = cv_item_read(slot, at, bytes, max);
        return true;
    }
    *out_part = find_next(slot, &from, &offset);
    if (cv_is_packed(slot->remote) && *out_part == CV_PART_BODY) {
        got = packed_read(slot, bytes, max);
        short_of = slot->remote->sent < packed_size(slot);
    } else {
        got = cv_part_read(&from, offset, bytes, max);
        short_of = offset < from.end;
    }
    if (got < 0 || (got == 0 && short_of)) {
        read_failed(slot, got);
        return false;
    }
    *out_got = (size_t)got;
    return true;
}

static bool send_data(struct cv_host *host, struct cv_slot *slot)
{
    unsigned char bytes[FRAME_MOST];
    enum cv_remote_part part;
    size_t got;
    bool all;

    if (!read_next(slot, bytes, frame_size(host), &got, &part))
        return false;
    if (host->in_flight == 0) {
        host->since_s = cv_clock_s();
        host->delivered = 0;
    }
    slot->remote->sent += got;
    host->hosts->sent_bytes += got;
    host->in_flight += got;
    if (host->probe_s <= 0) {
        host->probe_s = cv_clock_s();
        host->probe_chunk = slot->remote->facts.number;
        host->probe_bytes = slot->remote->sent;
    }
    all = slot->remote->sent - slot->remote->dropped == cv_remote_whole(slot);
    if (all)
        leave_queue(slot);
    else if (!cv_send_has_room(slot))
        cv_send_pause(slot); /* until its command has read more */
    cv_send_bytes(slot, part, all && !slot->open.more, bytes, got);
    return true;
}

bool cv_send_more(void *context)
{
    struct cv_host *host = context;
    struct cv_slot *slot = host->queue.first;
    struct cleave_error err;

    if (slot == NULL)
        return false;
    if (!cv_is_announced(&slot->remote->facts)) {
        announce(slot);
        return true;
    }
    if (cv_is_packed(slot->remote) && !slot->remote->packed.told) {
        if (cv_packed_tell(slot, &err) == CLEAVE_OK)
            return true;
        slot->events->broke(slot->context, &err);
        leave_queue(slot);
        return false;
    }
    return host->in_flight < window(host) && send_data(host, slot);
}

/* --- acknowledgements --------------------------------------------------------------------- */

static void measure(struct cv_host *host, double now_s, uint64_t bytes)
{
    const uint64_t plain = host->link.plain_sent - host->plain;
    const uint64_t wire = host->link.wire_sent - host->wire;
    double rate_Bps;

    host->delivered += (double)bytes;
    if (now_s - host->since_s < fmax(MEASURE_S, host->rtt_s))
        return;
    rate_Bps = host->delivered / (now_s - host->since_s);
    host->rate_Bps =
        host->rate_Bps > 0 ? (1 - NEW) * host->rate_Bps + NEW * rate_Bps : rate_Bps;
    /* The link itself moves the compressed bytes. */
    host->link.rate_Bps =
        plain > 0 ? host->rate_Bps * (double)wire / (double)plain : host->rate_Bps;
    host->plain = host->link.plain_sent;
    host->wire = host->link.wire_sent;
    host->since_s = now_s;
    host->delivered = 0;
}

/* All bytes of a burst of an open piece have arrived. */
static void note_burst(struct cv_slot *slot, double now_s)
{
    struct cv_remote *remote = slot->remote;

    if (!slot->open.on || remote->queue != NULL || remote->burst_s <= 0 ||
        remote->acked < remote->sent || slot->events->carried == NULL)
        return;
    slot->events->carried(slot->context, slot,
                          packed_units(slot, remote->sent - remote->burst_from),
                          now_s - remote->burst_s);
    remote->burst_s = 0;
}

void cv_send_got(struct cv_slot *slot, uint64_t bytes)
{
    struct cv_host *host = slot->remote->host;
    const double now_s = cv_clock_s();
    uint64_t events;

    events = bytes - slot->remote->acked;
    slot->remote->acked = bytes;
    if (host->probe_s > 0 &&
        (host->probe_chunk != slot->remote->facts.number || bytes >= host->probe_bytes)) {
        const double sample_s = now_s - host->probe_s;

        if (host->probe_chunk == slot->remote->facts.number)
            host->rtt_s = host->rtt_s < 0 ? sample_s : fmin(host->rtt_s, sample_s);
        host->probe_s = 0;
    }
    if (events > 0) {
        host->moved = true;
        host->moved_s = now_s;
    }
    if (host->since_s > 0)
        measure(host, now_s, events);
    host->in_flight -= events;
    note_burst(slot, now_s);
    cv_link_wake(&host->link);
}

void cv_send_reset(struct cv_host *host)
{
    host->queue = (struct cv_slot_queue){ NULL, &host->queue.first };
    host->in_flight = 0;
    host->rate_Bps = 0;
    host->rtt_s = -1;
    host->since_s = host->delivered = host->probe_s = 0;
    host->plain = host->wire = 0;
    host->based = false;
    cv_poller_cancel(host->hosts->poller, &host->link_timer);
}
