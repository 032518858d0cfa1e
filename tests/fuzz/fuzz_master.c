/* fuzz_master.c -- any frames from a host into the master's side of it.
 * SPDX-License-Identifier: MIT
 *
 * The host has two slots, served by three of the master's. Bytes select the next event:
 * the master starts, cuts, stops or forgets a piece; the host sends the expected frame,
 * or any other. None of its frames may abort the master, end a piece twice, answer a
 * missing request, or leave a piece behind when the host is lost. */
#include <fcntl.h>
#include <stdint.h>

#include <cleave/execute.h>
#include <cleave/version.h>
#include "run/hosts/hosts_internal.h"
#include "run/slot/slot.h"
#include "run/wire/protocol.h"
#include "wire_feed.h"
#include "fuzz_target.h"

enum { SLOTS = 3, SEATS = 2, LONGEST = 200000, MANY = 4096 };

struct place {
    struct cv_slot slot;
    bool busy;    /* as this test sees it                                           */
    bool request; /* for a cut                                                      */
    bool arrived;
    bool open;      /* it was opened, so that it may grow */
    bool begun;     /* its command reads */
    uint32_t looks; /* questions how far it is                                          */
    uint64_t shorter; /* if it is cut                                                   */
    uint64_t length;  /* length of the piece after cuts */
    uint64_t output;  /* bytes that were sent for it                                    */
    uint64_t sum;     /* checksum of their frames */
};

static struct cv_poller *poller;
/* Outputs are kept; written by lines, of the first chunk; or of all. */
enum { KEPT, IN_FRONT, BY_LINES, WAYS };
static struct cv_ordered_output *gathers[WAYS];
static int way;
static struct writer writer;
static struct place places[SLOTS];
static uint64_t given, silents, lefts;
static bool opens; /* pieces may be open                                               */
static bool pending[MANY]; /* by number: frames may arrive for an ended piece */

/* --- what the slots tell ------------------------------------------------------------------ */

static struct place *place_of(struct cv_slot *slot)
{
    return (struct place *)slot; /* it is its first member */
}

static void ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct place *place = place_of(slot);

    (void)context;
    require(place->busy && !slot->busy);
    require(!place->request);
    place->busy = false;
    if (end == CV_SLOT_DONE) {
        require(slot->piece.body.end == place->length);
        require((place->arrived || place->open) && cv_is_computed(&slot->remote->facts));
        require(slot->remote->sent >= cv_slot_whole(&slot->piece) || /* it may be cut */
                !place->arrived);
        require(cv_slot_came(slot) == place->output);
    }
    require(end != CV_SLOT_LOST || slot->store == NULL || cv_slot_passed(slot) > 0);
    require(way != KEPT || cv_slot_passed(slot) == 0);
    if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
}

static void arrived(void *context, struct cv_slot *slot)
{
    struct place *place = place_of(slot);

    (void)context;
    require(place->busy && !place->arrived);
    require(slot->remote->sent - slot->remote->dropped == cv_slot_whole(&slot->piece));
    require(!place->open || !slot->open.more);
    place->arrived = true;
}

static void began(void *context, struct cv_slot *slot)
{
    struct place *place = place_of(slot);

    (void)context;
    require(place->busy && place->open && !place->begun && place->length > 0);
    place->begun = true;
}

static void drained(void *context, struct cv_slot *slot)
{
    const struct place *place = place_of(slot);

    (void)context;
    require(place->busy && place->begun && slot->open.more);
    require(slot->remote->drained == cv_slot_whole(&slot->piece));
}

static void seen(void *context, struct cv_slot *slot, const struct cv_slot_seen *how)
{
    struct place *place = place_of(slot);

    (void)context;
    require(place->busy && place->looks > 0 && how->read <= slot->remote->sent);
    place->looks--;
}

static void cut_answered(void *context, struct cv_slot *slot, bool done)
{
    struct place *place = place_of(slot);

    (void)context;
    require(place->busy && place->request);
    place->request = false;
    if (done)
        place->length = place->shorter;
    pending[slot->remote->facts.number % MANY] |=
        !done; /* it may have ended before the answer */
}

static void left(void *context, struct cv_slot *slot)
{
    (void)context;
    (void)slot;
    require(++lefts <= given);
}

static void silent(void *context, struct cv_slot *slot)
{
    (void)context;
    (void)slot;
    require(++silents <= given);
}

static void broke(void *context, const struct cleave_error *err)
{
    (void)context;
    (void)err;
    abort();
}

static void changed(void *context, struct cv_host *host)
{
    (void)context;
    if (host->state == CV_HOST_READY)
        return;
    for (int i = 0; i < SLOTS; i++)
        require(!places[i].busy && !places[i].slot.busy);
    require(host->in_flight == 0 && host->queue.first == NULL);
    require(host->reason[0] != '\0');
}

/* --- what the master does ----------------------------------------------------------------- */

static struct cv_piece piece_of(size_t length)
{
    static char input[LONGEST];

    return (struct cv_piece){ .end = length,
                              .name = "fuzz",
                              .fd = -1,
                              .body_bytes = input,
                              .body = { 0, length },
                              .mate_fd = -1 };
}

static void start(struct place *place, size_t length, bool open)
{
    const struct cv_piece piece = piece_of(length);

    place->busy = true;
    place->request = place->arrived = place->begun = false;
    place->open = open;
    place->looks = 0;
    place->output = place->sum = 0;
    place->length = length;
    given++;
    require((open ? cv_slot_open : cv_slot_start)(&place->slot, &piece, NULL) ==
            CLEAVE_OK);
}

/* More of an open piece, or its end, or a question. */
static void change(struct place *place, struct bytes *bytes)
{
    const uint8_t what = next_byte(bytes) % 8;
    const struct cv_piece longer =
        piece_of((size_t)place->length + 1 + (size_t)next_byte(bytes) * 16);

    if (what < 4 && cv_slot_is_open(&place->slot) && longer.end <= LONGEST) {
        place->length = longer.end;
        require(cv_slot_extend(&place->slot, &longer, NULL) == CLEAVE_OK);
    } else if (what < 6) {
        pending[place->slot.remote->facts.number % MANY] |= place->length == 0;
        cv_slot_close_input(&place->slot);
    } else if (!cv_is_computed(&place->slot.remote->facts)) {
        place->looks++;
        cv_remote_look(&place->slot);
    }
}

static void cut(struct place *place, uint64_t at)
{
    struct cv_piece head = place->slot.piece;

    if (place->open && place->length == 0)
        return;
    head.body.end = head.end = at % (head.body.end + 1);
    if (place->open && head.end == 0)
        return;
    place->shorter = place->request ? place->shorter : head.body.end;
    if ((cv_has_arrived(&place->slot.remote->facts) ||
         (place->open && head.end < cv_slot_fed(&place->slot))) &&
        cv_remote_ask_cut(&place->slot, &head))
        place->request = true;
    else if (!cv_has_arrived(&place->slot.remote->facts) && !place->request &&
             cv_slot_cut(&place->slot, &head))
        place->length = head.body.end;
}

static void act(struct cv_host *host, struct bytes *bytes)
{
    struct place *place = &places[next_byte(bytes) % SLOTS];
    const uint8_t what = next_byte(bytes) % 8;

    if (host->state != CV_HOST_READY)
        return;
    if (!place->busy && what < 4 && opens && what < 2) {
        start(place, (size_t)next_byte(bytes) * 3, true);
    } else if (!place->busy && what < 4) {
        start(place, 1 + (size_t)next_byte(bytes) * next_byte(bytes) * 3, false);
    } else if (!place->busy) {
        (void)cv_slot_release_command(&place->slot);
    } else if (what < 3 && place->open) {
        change(place, bytes);
    } else if (what < 4) {
        cut(place, (uint64_t)next_byte(bytes) << 8 | next_byte(bytes));
    } else if (what < 6) {
        pending[place->slot.remote->facts.number % MANY] |=
            !cv_has_arrived(&place->slot.remote->facts);
        cv_slot_stop(&place->slot);
    } else if (what == 6) {
        pending[place->slot.remote->facts.number % MANY] = true;
        place->busy = place->request = false;
        cv_remote_forget(&place->slot);
    }
    if (!host->link.broken)
        cv_link_can_write(&host->link, 0);
}

/* --- what the host says ------------------------------------------------------------------- */

static bool is_open_lie(const struct place *place, const struct cv_frame_head *head)
{
    const struct cv_remote *remote = place->slot.remote;
    const uint64_t there = remote->sent - remote->dropped;

    if (!place->open || cv_is_computed(&remote->facts))
        return true;
    if (head->type == CV_FRAME_STARTED)
        return place->begun || place->length == 0;
    if (head->type == CV_FRAME_SEEN)
        return place->looks == 0;
    return head->value > there || head->value < remote->fed ||
           (head->type == CV_FRAME_DRAINED && (place->arrived || !place->begun));
}

/* Whether the host cannot say this of a piece, by what this test knows of it. */
static bool is_lie(const struct cv_host *host, const struct cv_frame_head *head)
{
    const struct place *place = NULL;

    if (head->type == CV_FRAME_LINES && host->state == CV_HOST_READY && way == KEPT)
        return !pending[head->chunk % MANY];
    if (head->type == CV_FRAME_NOTICE && host->state == CV_HOST_READY)
        return host->noticed;
    if (host->state != CV_HOST_READY ||
        ((head->type < CV_FRAME_GOT || head->type > CV_FRAME_CUT_DONE) &&
         (head->type < CV_FRAME_STARTED || head->type > CV_FRAME_SEEN) &&
         head->type != CV_FRAME_LINES && head->type != CV_FRAME_BACK))
        return false;
    for (int i = 0; i < SLOTS; i++)
        if (places[i].busy && cv_is_announced(&places[i].slot.remote->facts) &&
            places[i].slot.remote->facts.number == head->chunk &&
            places[i].slot.remote->seat == head->peer)
            place = &places[i];
    if (place == NULL)
        return !pending[head->chunk % MANY];
    if (head->type == CV_FRAME_BACK)
        return !host->noticed || !place->arrived ||
               cv_is_computed(&place->slot.remote->facts) ||
               (place->open && !place->slot.stopping);
    if (head->type == CV_FRAME_LINES)
        return cv_is_computed(&place->slot.remote->facts) ||
               (!place->arrived && !place->open) ||
               (place->open && !place->slot.open.bound) || head->value != place->output;
    if (head->type == CV_FRAME_CUT_DONE)
        return !place->request && !pending[head->chunk % MANY];
    if (head->type == CV_FRAME_GOT)
        return place->arrived || head->value > place->slot.remote->sent;
    if (head->type == CV_FRAME_COMPUTED)
        return (!place->arrived && !place->open) ||
               cv_is_computed(&place->slot.remote->facts);
    if (head->type >= CV_FRAME_STARTED)
        return is_open_lie(place, head);
    return !cv_is_computed(&place->slot.remote->facts) &&
           (head->type == CV_FRAME_OUTPUT || !place->slot.stopping);
}

static void hear(struct cv_host *host, struct cv_frame_head head, const void *payload,
                 size_t length)
{
    const bool lie = is_lie(host, &head);

    if (host->link.broken)
        return;
    head.length = (uint32_t)length;
    head.checksum = cv_frame_checksum(&head, payload);
    for (int i = 0; i < SLOTS && (head.type == CV_FRAME_OUTPUT ||
                                  (head.type == CV_FRAME_LINES && !lie));
         i++)
        if (places[i].busy && places[i].slot.remote->facts.number == head.chunk &&
            places[i].slot.remote->seat == head.peer) {
            places[i].output += length;
            places[i].sum = cv_frame_sum(places[i].sum, &head);
        }
    feed_frame(&writer, head, payload, length);
    cv_link_receive(&host->link, 0);
    require(!lie || host->state != CV_HOST_READY);
    if (way != KEPT)
        require(cv_ordered_output_pump(gathers[way], 1 << 20,
                                       &(enum cv_ordered_output_state){ 0 },
                                       NULL) == CLEAVE_OK);
    if (!host->link.broken)
        cv_link_can_write(&host->link, 0);
}

static void say_hello(struct cv_host *host)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    cv_pack_hello(&packer, &(struct cv_hello){ CLEAVE_VERSION, "fuzz", 1 });
    hear(host, (struct cv_frame_head){ .type = CV_FRAME_HELLO }, packer.bytes,
         packer.length);
    cv_pack_done(&packer);
}

static void say_end(struct cv_host *host, const struct place *place, struct bytes *bytes)
{
    const struct cv_slot *slot = &place->slot;
    const uint8_t bend = next_byte(bytes);
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_remote_end end = { .flags = bend & 7,
                                 .come = slot->remote->sent,
                                 .come_sum = slot->remote->sent_sum,
                                 .given = cv_slot_whole(&slot->piece),
                                 .output = place->output,
                                 .output_sum = place->sum,
                                 .fault = "" };

    cv_pack_end(&packer, &end);
    if (bend >= 200 && packer.length > 0) /* one of its bytes is another */
        packer.bytes[next_byte(bytes) % packer.length] ^= (unsigned char)(bend | 1);
    hear(host,
         (struct cv_frame_head){ .type = CV_FRAME_END,
                                 .peer = slot->remote->seat,
                                 .chunk = slot->remote->facts.number },
         packer.bytes, packer.length);
    cv_pack_done(&packer);
}

/* Frame about a piece whose command has not ended. */
static void say_of_open(struct cv_host *host, const struct place *place,
                        struct bytes *bytes)
{
    const struct cv_remote *remote = place->slot.remote;
    struct cv_frame_head head = { .peer = remote->seat, .chunk = remote->facts.number };
    struct cv_packer packer = { NULL, 0, 0, false };
    const uint64_t there = remote->sent - remote->dropped;

    if (place->request && (next_byte(bytes) & 1) != 0) {
        head.type = CV_FRAME_CUT_DONE;
        head.value = place->shorter >= remote->fed && (next_byte(bytes) & 1) != 0;
    } else if (place->looks > 0) {
        cv_pack_seen(&packer, &(struct cv_remote_seen){ .read = remote->fed });
        head.type = CV_FRAME_SEEN;
    } else if (!place->begun) {
        head.type = CV_FRAME_STARTED;
    } else if (!place->arrived && (next_byte(bytes) & 1) != 0) {
        head.type = CV_FRAME_DRAINED;
        head.value = there;
    } else {
        head.type = CV_FRAME_FED;
        head.value = there;
    }
    hear(host, head, packer.bytes, packer.length);
    cv_pack_done(&packer);
}

/* The next frame of an honest host. */
static void say_next(struct cv_host *host, struct bytes *bytes)
{
    const struct place *place = &places[next_byte(bytes) % SLOTS];
    const struct cv_remote *remote = place->slot.remote;
    struct cv_frame_head head = { .peer = remote->seat, .chunk = remote->facts.number };
    const uint8_t *some = NULL;
    size_t length = 0;

    if (host->state == CV_HOST_CONNECTING) {
        say_hello(host);
        return;
    }
    if (host->state == CV_HOST_GREETED) {
        head = (struct cv_frame_head){ .type = CV_FRAME_READY };
    } else if (!place->slot.busy || !cv_is_announced(&remote->facts)) {
        return;
    } else if (way != KEPT && !cv_is_computed(&remote->facts) &&
               (place->open ? place->slot.open.bound : place->arrived) &&
               (next_byte(bytes) & 1) != 0) {
        head.type = CV_FRAME_LINES;
        head.value = place->output;
        some = next_some(bytes, 1 + next_byte(bytes), &length);
        if (length == 0)
            return;
    } else if (place->open && !cv_is_computed(&remote->facts) &&
               (next_byte(bytes) & 3) != 0) {
        say_of_open(host, place, bytes);
        return;
    } else if (!cv_has_arrived(&remote->facts) && place->open) {
        head.type = CV_FRAME_GOT;
        head.value = remote->sent;
        head.flags = remote->last_sent && remote->queue == NULL ? CV_FRAME_LAST : 0;
    } else if (!cv_has_arrived(&remote->facts)) {
        head.type = CV_FRAME_GOT;
        head.value = remote->sent;
        head.flags = remote->queue != NULL ? 0 : CV_FRAME_LAST;
    } else if (place->request && (next_byte(bytes) & 1) != 0) {
        head.type = CV_FRAME_CUT_DONE;
        head.value = next_byte(bytes) & 1;
    } else if (!cv_is_computed(&remote->facts) && !place->open &&
               next_byte(bytes) >= 240) {
        head.type = host->noticed ? CV_FRAME_BACK : CV_FRAME_NOTICE;
    } else if (!cv_is_computed(&remote->facts)) {
        head.type = CV_FRAME_COMPUTED;
    } else if ((next_byte(bytes) & 1) != 0 && bytes->left > 0) {
        head.type = CV_FRAME_OUTPUT;
        some = next_some(bytes, 1 + next_byte(bytes), &length);
        if (length == 0)
            return;
    } else {
        say_end(host, place, bytes);
        return;
    }
    hear(host, head, some, length);
}

/* Any frame, about an existing piece or not. */
static void say_anything(struct cv_host *host, struct bytes *bytes)
{
    static const unsigned char zeros[CV_FRAME_MOST];
    const struct cv_remote *remote = places[next_byte(bytes) % SLOTS].slot.remote;
    const uint8_t type = next_byte(bytes) % 80;
    const struct cv_frame_kind *kind = cv_frame_kind(type);
    const uint8_t how = next_byte(bytes);
    struct cv_frame_head head = { .flags = next_byte(bytes) & 3 };
    const uint8_t *payload = zeros;
    size_t length;

    if (kind == NULL)
        return;
    head.type = type;
    if ((how & 1) != 0)
        head.flags &= kind->flags & CV_FRAME_LAST;
    head.peer = (how & 2) != 0 ? remote->seat : next_byte(bytes) % 4;
    head.chunk = (how & 4) != 0 ? remote->facts.number : next_byte(bytes);
    head.value = (how & 8) != 0    ? remote->sent
                 : (how & 16) != 0 ? next_byte(bytes)
                                   : next_number(bytes);
    length = kind->min;
    if ((how & 32) != 0)
        payload = next_some(bytes, next_byte(bytes), &length);
    hear(host, head, payload, length);
}

/* --- all of it ---------------------------------------------------------------------------- */

static struct cv_host *open_host(struct cv_hosts *hosts, const char *const *names,
                                 bool persistent)
{
    static const char *const command[] = { "cat", NULL };
    struct cv_host *host;

    memset(hosts, 0, sizeof *hosts);
    hosts->poller = poller;
    hosts->names = names;
    hosts->changed = changed;
    hosts->terms = (struct cv_host_terms){ .job = { .command = command,
                                                    .persistent = persistent,
                                                    .lines = way != KEPT,
                                                    .timeout_s = 60 },
                                           .connect_timeout_s = 60,
                                           .silence_s = 60 };
    cv_hosts_init(hosts);
    require(cv_hosts_add(hosts,
                         &(struct cleave_host){
                             .name = "fuzz", .channel = &writer.channel, .slots = SEATS },
                         0, &host, NULL) == CLEAVE_OK);
    return host;
}

static void open_slots(struct cv_host *host)
{
    static const struct cv_slot_events slot_events = {
        .ended = ended,
        .broke = broke,
        .left = left,
        .silent = silent,
        .began = began,
        .drained = drained,
        .arrived = arrived,
        .cut_answered = cut_answered,
        .seen = seen,
    };

    memset(places, 0, sizeof places);
    memset(pending, 0, sizeof pending);
    given = silents = lefts = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct cv_slot *slot = &places[i].slot;

        cv_slot_init(slot);
        slot->poller = poller;
        slot->outputs = gathers[way];
        slot->by_lines = way == BY_LINES;
        slot->timeout_s = 60;
        slot->events = &slot_events;
        require(cv_remote_init(slot, host, i % SEATS, NULL) == CLEAVE_OK);
    }
}

static void open_gathers(void)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    require(nowhere >= 0 && cv_poller_new(&poller, NULL) == CLEAVE_OK);
    for (int i = 0; i < WAYS; i++)
        require(cv_ordered_output_new(
                    &(struct cv_ordered_output_options){ .sink = i == KEPT ? -1 : nowhere,
                                                         .sink_name = "nowhere",
                                                         .memory = 1 << 20,
                                                         .lines = i == IN_FRONT,
                                                         .unordered = i == BY_LINES },
                    &gathers[i], NULL) == CLEAVE_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "a", "b", NULL };
    struct bytes bytes = { data, size };
    const uint8_t mode = next_byte(&bytes);
    struct cv_hosts hosts;
    struct cv_host *host;

    if (poller == NULL)
        open_gathers();
    feed_open(&writer);
    way = (mode & 1) != 0 || mode % 11 < 3 ? KEPT
          : mode % 11 > 7                  ? BY_LINES
          : mode % 11 < 6                  ? IN_FRONT
                                           : KEPT;
    host = open_host(&hosts, names, (mode & 1) != 0);
    hosts.one_port = (mode & 2) != 0;
    opens = (mode & 8) != 0 && (mode & 1) == 0;
    open_slots(host);
    cv_host_connect(host);
    if ((mode & 4) == 0) {
        say_hello(host);
        hear(host, (struct cv_frame_head){ .type = CV_FRAME_READY }, NULL, 0);
    }
    while (bytes.left > 0 && host->state != CV_HOST_OUT) {
        const uint8_t what = next_byte(&bytes) % 8;

        if (what < 3)
            act(host, &bytes);
        else if (what < 7)
            say_next(host, &bytes);
        else
            say_anything(host, &bytes);
    }
    for (int i = 0; i < SLOTS; i++) {
        places[i].busy = false;
        cv_slot_free(&places[i].slot);
    }
    cv_hosts_done(&hosts);
    return 0;
}
