/* scripted_worker.h -- the worker at the other end of a scripted link.
 * SPDX-License-Identifier: MIT */
#ifndef SCRIPTED_WORKER_H
#define SCRIPTED_WORKER_H
#include <cleave/version.h>
#include "run/hosts/hosts.h"
#include "scripted_machine.h"

static void work_next(struct machine *machine, uint32_t seat);

static int end_status(const struct task *task, uint64_t flags)
{
    if (flags == CV_END_FAILED)
        return task->killed ? -1 : 1;
    return flags == 0 ? 0 : -1;
}

/* The next bytes of its output, which equal its input. */
static void say_output(struct machine *machine, struct task *task,
                       struct cv_frame_head head, size_t length)
{
    head.length = (uint32_t)length;
    head.checksum = cv_frame_checksum(&head, task->bytes + task->lined);
    task->output_sum = cv_frame_sum(task->output_sum, &head);
    say(machine, head, task->bytes + task->lined, length);
    task->lined += length;
}

static void end_task(struct machine *machine, struct task *task, uint64_t flags)
{
    const struct cv_frame_head about = { .peer = task->seat, .chunk = task->number };
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_frame_head head = about;
    const size_t output = flags == 0 ? task->length - task->lined : 0;
    struct task **at = &machine->tasks;

    if (flags == CV_END_FAILED)
        machine->failed_given = task->length;
    if (task->running && (flags == 0 || flags == CV_END_FAILED)) {
        head.type = CV_FRAME_COMPUTED;
        say(machine, head, NULL, 0);
    }
    head.type = CV_FRAME_OUTPUT;
    if (output > 0)
        say_output(machine, task, head, output);
    cv_poller_cancel(world.poller, &machine->speaks[task->seat]);
    cv_pack_end(&packer, &(struct cv_remote_end){ .flags = flags,
                                                  .exit_code = end_status(task, flags),
                                                  .signal = task->killed ? SIGKILL : 0,
                                                  .compute_s = task->running ? 0.001 : 0,
                                                  .after_s = task->begun ? 1e-6 : 0,
                                                  .come = task->come,
                                                  .come_sum = task->come_sum,
                                                  .given = task->length,
                                                  .output = task->lined,
                                                  .output_sum = task->output_sum,
                                                  .fault = "" });
    assert_false(packer.failed);
    head.type = CV_FRAME_END;
    say(machine, head, packer.bytes, packer.length);
    cv_pack_done(&packer);
    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    free(task->bytes);
    free(task);
}

struct seat_of {
    struct machine *machine;
    uint32_t seat;
};

static struct seat_of seats[WORLD_HOSTS][WORLD_SEATS];

static struct task *running_at(struct machine *machine, uint32_t seat)
{
    struct task *task = machine->tasks;

    while (task != NULL && (task->seat != seat || !task->running))
        task = task->next;
    return task;
}

static bool holds(const struct task *task, const char *word)
{
    return word != NULL && memmem(task->bytes, task->length, word, strlen(word)) != NULL;
}

static void work_ends(void *context);

/* Lines of the output that its command has computed. */
static void speak(void *context)
{
    const struct seat_of *seat = context;
    struct machine *machine = seat->machine;
    struct task *task = running_at(machine, seat->seat);
    const double unread = fmax(0, task->end_s - world.now_s) * machine->script.speed_Bps;
    const bool reads = !task->open || task->begun;
    const size_t read = reads && (double)task->length > unread
                            ? (size_t)((double)task->length - unread)
                            : 0;
    const unsigned char *end =
        read > task->lined ? memrchr(task->bytes + task->lined, '\n', read - task->lined)
                           : NULL;

    if (end != NULL)
        say_output(machine, task,
                   (struct cv_frame_head){ .type = CV_FRAME_LINES,
                                           .peer = task->seat,
                                           .chunk = task->number,
                                           .value = task->lined },
                   (size_t)(end + 1 - task->bytes) - task->lined);
    cv_poller_set(world.poller, &machine->speaks[seat->seat],
                  world.now_s + machine->script.speaks_s, speak, context);
}

/* The timer of an open piece: its command begins to read, or waits for more. False: it has
 * come to an end. */
static bool wait_for_more(struct machine *machine, struct task *task)
{
    const struct cv_frame_head about = { .peer = task->seat, .chunk = task->number };
    struct cv_frame_head head = about;

    if (!task->begun) {
        task->begun = true;
        head.type = CV_FRAME_STARTED;
        head.value = (uint64_t)(1e6 * (world.now_s - task->began_s));
        say(machine, head, NULL, 0);
        if (machine->failed < machine->script.fails)
            return false;
        cv_poller_set(world.poller, &machine->works[task->seat], task->end_s, work_ends,
                      &seats[machine - machines][task->seat]);
        return true;
    }
    if (task->complete || holds(task, world_poison))
        return false;
    head.type = CV_FRAME_DRAINED;
    head.value = task->fed = task->length;
    say(machine, head, NULL, 0);
    return true;
}

static void work_ends(void *context)
{
    const struct seat_of *seat = context;
    struct task *task = running_at(seat->machine, seat->seat);

    assert_non_null(task);
    if (task->open && wait_for_more(seat->machine, task))
        return;
    if (holds(task, world_poison)) {
        seat->machine->silent = false;
        break_link(seat->machine);
        return;
    }
    if (seat->machine->script.memory > 0 && task->length > seat->machine->script.memory) {
        seat->machine->failed++;
        task->killed = true;
        end_task(seat->machine, task, CV_END_FAILED);
    } else if (seat->machine->failed < seat->machine->script.fails ||
               holds(task, world_bad)) {
        seat->machine->failed++;
        end_task(seat->machine, task, CV_END_FAILED);
    } else {
        end_task(seat->machine, task, 0);
    }
    work_next(seat->machine, seat->seat);
}

/* The command of an open piece reads the received bytes. */
static void read_on(struct machine *machine, struct task *task, size_t length)
{
    const double from_s = fmax(world.now_s, task->began_s + machine->script.latency_s);

    if (task->length == 0)
        return;
    task->end_s = fmax(task->end_s, from_s) + (double)length / machine->script.speed_Bps;
    cv_poller_set(world.poller, &machine->works[task->seat],
                  task->begun ? task->end_s : from_s, work_ends,
                  &seats[machine - machines][task->seat]);
}

/* Pieces that arrived and were not begun. */
static void give_back(struct machine *machine)
{
    struct task **at = &machine->tasks;

    while (*at != NULL) {
        struct task *task = *at;

        if (!task->complete || task->running || task->open) {
            at = &task->next;
            continue;
        }
        *at = task->next;
        machine->given_back++;
        say(machine,
            (struct cv_frame_head){
                .type = CV_FRAME_BACK, .peer = task->seat, .chunk = task->number },
            NULL, 0);
        free(task->bytes);
        free(task);
    }
}

static void give_notice(void *context)
{
    struct machine *machine = context;

    machine->noticed = true;
    say(machine, (struct cv_frame_head){ .type = CV_FRAME_NOTICE }, NULL, 0);
    give_back(machine);
    for (uint32_t seat = 0; machine->script.all_end && seat < WORLD_SEATS; seat++) {
        struct task *task = running_at(machine, seat);

        if (task == NULL)
            continue;
        cv_poller_cancel(world.poller, &machine->works[seat]);
        end_task(machine, task, CV_END_FAILED);
        work_next(machine, seat);
    }
}

static void speak_soon(struct machine *machine, uint32_t seat)
{
    if (machine->script.speaks_s > 0)
        cv_poller_set(world.poller, &machine->speaks[seat],
                      world.now_s + machine->script.speaks_s, speak,
                      &seats[machine - machines][seat]);
}

static void work_next(struct machine *machine, uint32_t seat)
{
    struct task *task;

    if (machine->noticed)
        give_back(machine);
    task = machine->tasks;

    if (!machine->open || running_at(machine, seat) != NULL)
        return;
    while (task != NULL && task->seat != seat)
        task = task->next;
    if (task == NULL || (!task->complete && !task->open))
        return;
    task->running = true;
    task->began_s = world.now_s;
    if (machine->lines || task->shown)
        speak_soon(machine, seat);
    if (task->open) {
        read_on(machine, task, task->length);
        return;
    }
    task->end_s = world.now_s + machine->script.latency_s +
                  (double)task->length / machine->script.speed_Bps;
    cv_poller_set(world.poller, &machine->works[seat], task->end_s, work_ends,
                  &seats[machine - machines][seat]);
}

static struct task *find_task(struct machine *machine, const struct cv_frame_head *head)
{
    struct task *task = machine->tasks;

    while (task != NULL && (task->number != head->chunk || task->seat != head->peer))
        task = task->next;
    return task;
}

static void take_piece(struct machine *machine, const struct cv_frame_head *head,
                       const unsigned char *payload)
{
    struct task *task = calloc(1, sizeof *task), **at = &machine->tasks;
    struct cv_remote_piece piece;

    assert_non_null(task);
    assert_true(cv_unpack_piece(payload, head->length, NULL, &piece) && !piece.shared);
    task->number = head->chunk;
    task->seat = head->peer;
    task->room = (size_t)(piece.header.end - piece.header.begin + piece.body.end -
                          piece.body.begin + 64);
    task->bytes = malloc(task->room);
    assert_non_null(task->bytes);
    while (*at != NULL)
        at = &(*at)->next;
    *at = task;
    task->open = head->value == 1;
    if (task->open)
        work_next(machine, task->seat);
}

static void take_data(struct machine *machine, struct task *task,
                      const struct cv_frame_head *head, const unsigned char *payload)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;

    if (task == NULL)
        return;
    if (task->open && task->length + head->length > task->room) {
        task->room = 2 * (task->length + head->length);
        task->bytes = realloc(task->bytes, task->room);
        assert_non_null(task->bytes);
    }
    assert_true(task->length + head->length <= task->room);
    memcpy(task->bytes + task->length, payload, head->length);
    task->length += head->length;
    task->come += head->length;
    task->come_sum = cv_frame_sum(task->come_sum, head);
    say(machine,
        (struct cv_frame_head){ .type = CV_FRAME_GOT,
                                .flags = last ? CV_FRAME_LAST : 0,
                                .peer = head->peer,
                                .chunk = head->chunk,
                                .value = task->come },
        NULL, 0);
    task->complete = last;
    if (task->open && task->running)
        read_on(machine, task, head->length);
    else
        work_next(machine, head->peer);
}

/* How far it is, and how much of it has been given to its command. */
static void look(struct machine *machine, struct task *task)
{
    const double unread = fmax(0, task->end_s - world.now_s) * machine->script.speed_Bps;
    const uint64_t read =
        task->begun ? (uint64_t)fmax(0, (double)task->length - unread) : 0;
    struct cv_frame_head head = { .peer = task->seat, .chunk = task->number };
    struct cv_packer packer = { NULL, 0, 0, false };

    head.type = CV_FRAME_FED;
    task->fed = read > task->fed ? read : task->fed;
    head.value = task->fed;
    say(machine, head, NULL, 0);
    cv_pack_seen(&packer, &(struct cv_remote_seen){ .read = read, .output = read });
    assert_false(packer.failed);
    head.type = CV_FRAME_SEEN;
    head.value = 0;
    say(machine, head, packer.bytes, packer.length);
    cv_pack_done(&packer);
}

/* Unread bytes can be cut off. */
static void cut(struct machine *machine, struct task *task,
                const struct cv_frame_head *head)
{
    const double read = task != NULL && task->running
                            ? (double)task->length -
                                  (task->end_s - world.now_s) * machine->script.speed_Bps
                            : 0;
    const bool done = task != NULL && (task->complete || task->open) &&
                      head->value < task->length && (double)head->value > read &&
                      head->value >= task->fed;

    if (done) {
        task->end_s -= (double)(task->length - head->value) / machine->script.speed_Bps;
        task->length = (size_t)head->value;
        if (task->running && (!task->open || task->begun))
            cv_poller_set(world.poller, &machine->works[task->seat], task->end_s,
                          work_ends, &seats[machine - machines][task->seat]);
    }
    say(machine,
        (struct cv_frame_head){ .type = CV_FRAME_CUT_DONE,
                                .peer = head->peer,
                                .chunk = head->chunk,
                                .value = done },
        NULL, 0);
}

static void stop(struct machine *machine, struct task *task)
{
    const uint32_t seat = task->seat;

    if (task->running)
        cv_poller_cancel(world.poller, &machine->works[seat]);
    end_task(machine, task, CV_END_STOPPED);
    work_next(machine, seat);
}

static void greet(struct machine *machine)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    cv_pack_hello(&packer, &(struct cv_hello){
                               .version = CLEAVE_VERSION, .host = "there", .cores = 1 });
    assert_false(packer.failed);
    post(machine, true, &(struct cv_frame_head){ .type = CV_FRAME_HELLO }, packer.bytes,
         packer.length, 0);
    cv_pack_done(&packer);
}

/* Jobs of these tests fit into a frame. */
static bool asks_for_lines(const struct cv_frame_head *head, const unsigned char *payload)
{
    struct cv_remote_job job;
    struct cv_arena arena;

    cv_arena_init(&arena);
    assert_true(cv_unpack_job(payload, head->length, &arena, &job));
    cv_arena_done(&arena);
    return job.lines;
}

static void hear(struct machine *machine, const struct cv_frame_head *head,
                 const unsigned char *payload)
{
    struct task *task = find_task(machine, head);

    machine->heard[head->type]++;
    if (head->type == CV_FRAME_DATA)
        machine->data += head->length;
    switch (head->type) {
    case CV_FRAME_HELLO:
        greet(machine);
        break;
    case CV_FRAME_JOB:
        machine->lines = asks_for_lines(head, payload);
        if ((head->flags & CV_FRAME_LAST) != 0)
            post(machine, true, &(struct cv_frame_head){ .type = CV_FRAME_READY }, NULL,
                 0, 0);
        break;
    case CV_FRAME_PIECE:
        take_piece(machine, head, payload);
        break;
    case CV_FRAME_DATA:
        take_data(machine, task, head, payload);
        break;
    case CV_FRAME_CUT:
        cut(machine, task, head);
        break;
    case CV_FRAME_LOOK:
        if (task != NULL)
            look(machine, task);
        break;
    case CV_FRAME_SHOW:
        if (task != NULL)
            task->shown = true;
        if (task != NULL && task->running)
            speak_soon(machine, task->seat);
        break;
    case CV_FRAME_STOP:
        if (task != NULL)
            stop(machine, task);
        break;
    default:
        break;
    }
}

#endif
