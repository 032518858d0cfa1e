/* fuzz_worker.c -- any frames from a master into a worker that serves it.
 * SPDX-License-Identifier: MIT
 *
 * No command is started: scripted slots replace them, and end on request of the bytes.
 * Bytes select the next event: the master sends the expected frame, or any other, or a
 * command ends. The worker may end with a reason; it may not crash, wait for what cannot
 * come, or work on a piece that is not all there. */
#include <stdint.h>

#include <cleave/version.h>
#include "base/fail.h"
#include "run/slot/slot_kind.h"
#include "run/wire/protocol.h"
#include "run/worker/worker_internal.h"
#include "wire_feed.h"
#include "fuzz_target.h"

enum { SEATS = 2 };

static struct writer writer;
static struct bytes bytes;
static struct cv_worker *worker; /* from the time that it is ready */
static uint64_t numbered;        /* pieces that were announced     */
static int step;                 /* hello, job, all else           */
static uint64_t heard;           /* the worker has received pieces up to this number */
static bool lied;  /* with the last message                                       */
static bool lines; /* the job asks for lines as they come                         */
static bool early; /* ... or outputs may be asked for                              */

/* --- slots that start nothing ------------------------------------------------------------- */

static enum cleave_status start_nothing(struct cv_slot *slot, struct cleave_error *err)
{
    const struct cv_task *task = worker->seats[slot->worker].tasks.first;

    require(!slot->busy && task->complete && task->running);
    require(!worker->noticed || task->open); /* it begins nothing new */
    require(task->open || /* it may have been cut, and more have arrived */
            task->end.come == task->bytes[0] + task->bytes[1] + task->bytes[2]);
    CV_TRY(cv_chunk_output_open(slot->outputs, &slot->store, err));
    cv_chunk_output_use_blocks(slot->store);
    slot->busy = true;
    slot->stopping = false;
    return CLEAVE_OK;
}

static uint64_t fed_nothing(const struct cv_slot *slot)
{
    return slot->piece.body.begin;
}

static bool cut_nothing(struct cv_slot *slot, const struct cv_piece *head)
{
    require(head->body.end <= slot->piece.body.end);
    if ((next_byte(&bytes) & 1) == 0)
        return false;
    slot->piece = *head;
    return true;
}

static void stop_nothing(struct cv_slot *slot)
{
    slot->stopping = true;
}

static bool leave_nothing(struct cv_slot *slot)
{
    (void)slot;
    return true;
}

static void done_nothing(struct cv_slot *slot)
{
    if (slot->store != NULL)
        cv_chunk_output_drop(slot->store);
    slot->store = NULL;
    slot->busy = false;
}

static bool is_open_nothing(const struct cv_slot *slot)
{
    return slot->busy;
}

static enum cleave_status extend_nothing(struct cv_slot *slot,
                                         const struct cv_piece *longer,
                                         struct cleave_error *err)
{
    (void)err;
    require(longer->body.end > slot->piece.body.end && slot->open.more);
    slot->piece = *longer;
    slot->open.bound = true;
    return CLEAVE_OK;
}

static void shut_nothing(struct cv_slot *slot)
{
    require(slot->busy && slot->open.on && !slot->open.more);
}

static const struct cv_slot_kind nothing = {
    .start = start_nothing,
    .fed = fed_nothing,
    .cut = cut_nothing,
    .stop = stop_nothing,
    .leave = leave_nothing,
    .done = done_nothing,
    .is_open = is_open_nothing,
    .extend = extend_nothing,
    .shut = shut_nothing,
};

static enum cleave_status ready(void *context, struct cv_worker *ours,
                                struct cleave_error *err)
{
    (void)context;
    (void)err;
    worker = ours;
    for (uint32_t i = 0; i < worker->nseats; i++)
        worker->seats[i].slot.kind = &nothing;
    return CLEAVE_OK;
}

static void over(void *context, struct cv_worker *ours)
{
    (void)context;
    (void)ours;
    worker = NULL;
}

/* A command ends, in some way. */
static void end_command(void)
{
    struct cv_slot *slot;
    const uint8_t how = next_byte(&bytes);
    const uint8_t *output;
    size_t length;

    if (worker == NULL || worker->nseats == 0 || worker->ended)
        return;
    slot = &worker->seats[how % worker->nseats].slot;
    if (!slot->busy)
        return;
    output = next_some(&bytes, how, &length);
    require(cv_chunk_output_write(slot->store, output, length, NULL) == CLEAVE_OK);
    slot->busy = false;
    slot->start_s = cv_clock_s();
    slot->events->ended(slot->context, slot,
                        slot->stopping     ? CV_SLOT_STOPPED
                        : (how & 64) != 0  ? CV_SLOT_FAILED
                        : (how & 128) != 0 ? CV_SLOT_TIMED_OUT
                                           : CV_SLOT_DONE);
}

/* A command writes bytes, possibly with complete lines. */
static void write_some(struct cv_slot *slot, uint8_t how)
{
    size_t length;
    const uint8_t *output = next_some(&bytes, how, &length);

    require(cv_chunk_output_write_lines(slot->store, output, length, NULL) == CLEAVE_OK);
    slot->events->wrote(slot->context, slot);
}

/* The command of an open piece reads, or has read all. */
static void read_some(void)
{
    const uint8_t how = next_byte(&bytes);
    struct cv_slot *slot;

    if (worker == NULL || worker->nseats == 0 || worker->ended)
        return;
    slot = &worker->seats[how % worker->nseats].slot;
    if (how >= 250 && !worker->noticed) {
        cv_worker_notice(worker);
        return;
    }
    if (slot->busy && (lines || early) && (how & 32) != 0) {
        write_some(slot, how);
        return;
    }
    if (!slot->busy || !slot->open.on || !slot->open.bound)
        return;
    if ((how & 64) != 0)
        slot->events->began(slot->context, slot);
    else
        slot->events->drained(slot->context, slot);
}

/* --- what the master says ----------------------------------------------------------------- */

static void say_packed(uint8_t type, uint16_t flags, struct cv_packer *packer)
{
    require(!packer->failed);
    feed_frame(&writer, (struct cv_frame_head){ .type = type, .flags = flags },
               packer->bytes, packer->length);
    cv_pack_done(packer);
}

static void say_job(void)
{
    const char *command[] = { "true", NULL }, *names[] = { "a", "b", NULL };
    const char *environment[] = { "A=1", NULL };
    struct cv_packer packer = { NULL, 0, 0, false };

    cv_pack_job(&packer, &(struct cv_remote_job){ .command = command,
                                                  .names = names,
                                                  .environment = environment,
                                                  .directory = "",
                                                  .lines = lines,
                                                  .early = early,
                                                  .silence_s = 60,
                                                  .memory = 1 << 20 });
    say_packed(CV_FRAME_JOB, CV_FRAME_LAST, &packer);
}

static void say_piece(void)
{
    const uint64_t length = next_byte(&bytes), header = next_byte(&bytes) % 4;
    const uint8_t where = next_byte(&bytes);
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_frame_head head = { .type = CV_FRAME_PIECE,
                                  .peer = where % SEATS,
                                  .chunk = numbered++,
                                  .value = where >= 128 && (length & 1) == 0 };

    cv_pack_piece(&packer, &(struct cv_remote_piece){ .mates = (length & 1) != 0,
                                                      .header = { 0, header },
                                                      .body = { 0, length },
                                                      .mate = { 0, length } });
    feed_frame(&writer, head, packer.bytes, packer.length);
    cv_pack_done(&packer);
}

/* That a piece comes as it lies in a compressed file, in one block or two. */
static void say_compressed(struct cv_frame_head head, uint64_t in, uint64_t out)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_packed_block blocks[2] = { { .in = 0 }, { .in = in / 2, .out = out / 2 } };
    const uint8_t how = next_byte(&bytes);

    head.type = CV_FRAME_PACKED;
    cv_pack_packed(&packer,
                   &(struct cv_remote_packed){ .form = (how & 1) != 0 ? "zstd" : "xz",
                                               .body = { 0, out },
                                               .in = { 0, in },
                                               .out_end = out + (how & 2),
                                               .file = (how & 48) == 48,
                                               .header = (how & 64) != 0,
                                               .blocks = (how & 8) != 0 ? NULL : blocks,
                                               .nblocks = (how & 8) != 0   ? 0
                                                          : (how & 4) != 0 ? 2
                                                                           : 1 });
    feed_frame(&writer, head, packer.bytes, packer.length);
    cv_pack_done(&packer);
}

/* Bytes of a piece that is coming, or a word about one. */
static void say_of_piece(void)
{
    const uint8_t what = next_byte(&bytes);
    struct cv_frame_head head = { .peer = what % SEATS };
    const struct cv_task *task = worker != NULL && head.peer < worker->nseats
                                     ? worker->seats[head.peer].tasks.first
                                     : NULL;
    unsigned char number[8] = { next_byte(&bytes) };
    const uint8_t *some = number;
    size_t length = 0;

    for (uint8_t skip = next_byte(&bytes) % 3; task != NULL && skip > 0; skip--)
        task = task->next;
    if (task == NULL)
        return;
    head.chunk = task->chunk;
    if ((!task->complete || task->open) && what % 8 == 7) {
        say_compressed(head, 1 + what % 32u, 1 + number[0]);
        return;
    }
    if (early && what % 8 == 5) {
        head.type = CV_FRAME_SHOW;
    } else if ((!task->complete || (task->open && !task->shut)) && what < 200) {
        head.type = CV_FRAME_DATA;
        head.flags = (what & 4) != 0 ? CV_FRAME_LAST : 0;
        head.value =
            task->bytes[CV_PART_BODY] == 0 ? (what >> 4) % 2 : 1 + (what >> 4) % 2;
        some = next_some(&bytes, what % 64, &length);
    } else if (what < 100) {
        head.type = CV_FRAME_STOP;
    } else if (what >= 250) {
        head.type = CV_FRAME_LOOK;
    } else {
        head.type = CV_FRAME_CUT;
        head.value = what % 50;
        length = sizeof number;
    }
    feed_frame(&writer, head, some, length);
}

/* Jobs that name files or folders would have them opened. */
static bool is_harmless(const struct cv_frame_head *head, const uint8_t *payload,
                        size_t length)
{
    struct cv_remote_job job;
    struct cv_arena arena;
    bool harmless;

    if (head->type != CV_FRAME_JOB)
        return head->type != CV_FRAME_DRAWN; /* it names a command */
    cv_arena_init(&arena);
    harmless = (head->flags & CV_FRAME_LAST) != 0 && (head->flags & CV_FRAME_ZSTD) == 0 &&
               (!cv_unpack_job(payload, length, &arena, &job) ||
                (job.nfiles == 0 && job.directory[0] == '\0'));
    cv_arena_done(&arena);
    return harmless;
}

static void say_anything(void)
{
    static const unsigned char zeros[CV_FRAME_MOST];
    const uint8_t type = next_byte(&bytes) % 80;
    const struct cv_frame_kind *kind = cv_frame_kind(type);
    const uint8_t how = next_byte(&bytes);
    struct cv_frame_head head = { .flags = next_byte(&bytes) & 3 };
    const uint8_t *payload = zeros;
    size_t length;

    if (kind == NULL)
        return;
    head.type = type;
    if ((how & 1) != 0)
        head.flags &= kind->flags & CV_FRAME_LAST;
    head.peer = next_byte(&bytes) % (SEATS + 1);
    head.chunk = (how & 2) != 0 ? next_byte(&bytes) : next_number(&bytes);
    head.value = (how & 4) != 0 ? next_byte(&bytes) : next_number(&bytes);
    length = kind->min;
    if ((how & 8) != 0)
        payload = next_some(&bytes, next_byte(&bytes), &length);
    if (is_harmless(&head, payload, length))
        feed_frame(&writer, head, payload, length);
}

/* Whether a master cannot say this, by what this test knows of the worker: then it has ended
 * when it is asked for the next message. */
static bool is_lie(const struct cv_frame_head *head)
{
    const struct cv_task *task;

    if (worker == NULL || head->type == CV_FRAME_REFUSED || head->type == CV_FRAME_PING)
        return false;
    if (cv_frame_kind(head->type)->at_worker == 0 || head->type == CV_FRAME_HELLO ||
        head->type == CV_FRAME_JOB || head->type >= CV_FRAME_OTHERS ||
        head->peer >= worker->nseats)
        return true;
    task = worker->seats[head->peer].tasks.first;
    while (task != NULL && task->chunk != head->chunk)
        task = task->next;
    if ((head->type == CV_FRAME_DATA || head->type == CV_FRAME_MORE ||
         head->type == CV_FRAME_PACKED) &&
        task == NULL)
        return worker->seats[head->peer].cut_short != head->chunk + 1;
    if (head->type == CV_FRAME_DATA || head->type == CV_FRAME_MORE ||
        head->type == CV_FRAME_PACKED)
        return task->open ? task->shut : task->complete || head->type == CV_FRAME_MORE;
    if (head->type == CV_FRAME_CUT)
        return task != NULL && !task->complete;
    return head->type == CV_FRAME_PIECE && (task != NULL || head->chunk < heard);
}

/* Check the next frame before it is sent. */
static void weigh(void)
{
    struct cv_frame_head head;

    lied = false;
    if (!writer.waits || worker == NULL || worker->ended ||
        cv_frame_decode(writer.message, &head, NULL) != CLEAVE_OK)
        return;
    lied = is_lie(&head);
    if (head.type == CV_FRAME_PIECE && head.chunk >= heard && head.chunk < UINT64_MAX)
        heard = head.chunk + 1;
}

/* The worker asks for the next message. */
static void next(void *context)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    (void)context;
    require(!lied || worker == NULL || worker->ended);
    while (!writer.waits && !writer.ended) {
        const uint8_t what = bytes.left > 0 ? next_byte(&bytes) : 0;

        if (bytes.left == 0) {
            writer.ended = true;
        } else if (what % 16 == 15) {
            say_anything();
        } else if (step == 0) {
            cv_pack_hello(&packer, &(struct cv_hello){ CLEAVE_VERSION, "fuzz", 1 });
            say_packed(CV_FRAME_HELLO, 0, &packer);
            step++;
        } else if (step == 1) {
            say_job();
            step++;
        } else if (what % 16 < 4) {
            say_piece();
        } else if (what % 16 < 11) {
            say_of_piece();
        } else if (what % 32 == 30) {
            read_some();
        } else {
            end_command();
        }
    }
    weigh();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct cv_worker_options options = {
        .in = -1, .out = -1, .channel = &writer.channel, .ready = ready, .done = over
    };
    struct cleave_error err = { .text = "" };
    enum cleave_status status;

    bytes = (struct bytes){ data, size };
    lines = size > 0 && data[size - 1] == 'L';
    early = size > 0 && data[size - 1] == 'E';
    numbered = 1;
    heard = 0;
    lied = false;
    step = 0;
    feed_open(&writer);
    writer.more = next;
    status = cv_worker_serve(&options, &err);
    require(writer.left && worker == NULL);
    require(status == CLEAVE_OK || err.text[0] != '\0');
    return 0;
}
