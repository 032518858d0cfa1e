/* scripted_world.h -- other machines that do what a script says, on a clock of their own.
 * SPDX-License-Identifier: MIT
 *
 * Stands in for the poller, for processes and for links: a program that includes this has
 * the real driver, policies, master and hosts, but time passes at once, no process is
 * started, and behind every link is a worker of this file. What a worker says can be cut
 * off, held back for ever, said twice, in another order, or be untrue.
 *
 * All functions of run/kit/poller.c, run/kit/process.c and run/wire/link*.c that others call
 * are defined here, so that those files stay in the archive: one that is added there, the
 * linker wants here ("multiple definition"). To be included once, after cmocka.h. */
#ifndef SCRIPTED_WORLD_H
#define SCRIPTED_WORLD_H
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cleave/version.h>
#include "base/fail.h"
#include "base/random.h"
#include "run/hosts/remote_host.h"
#include "run/kit/poller.h"
#include "run/kit/process.h"
#include "run/wire/link.h"
#include "run/wire/remote.h"

enum { WORLD_HOSTS = 4, WORLD_SEATS = 4, WORLD_WAITS = 400000, WORLD_HANGUPS = 8 };

/* --- the clock ---------------------------------------------------------------------------- */

struct cv_poller {
    struct cv_timer *timers[4096];
    size_t ntimers;
    struct cv_watch *watches[64];
    size_t nwatches;
    sigset_t mask;
};

static struct {
    double now_s;
    struct cv_poller *poller; /* the one there is */
    uint64_t waits;
    uint32_t number;  /* of the script                                                 */
    const char *said; /* notes of the run: borrowed                                    */
    /* SIGHUP comes at these times. */
    double hangups_s[WORLD_HANGUPS];
    uint32_t nhangups;
    struct cv_timer hangups[WORLD_HANGUPS];
    void (*signalled)(void *context, int signal);
    void *signal_context;
} world;

double cv_cpu_clock_s(void)
{
    return 0;
}

double cv_clock_s(void)
{
    return world.now_s;
}

enum cleave_status cv_poller_new(struct cv_poller **out, struct cleave_error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return cv_fail_memory(err, "a poller");
    world.poller = *out;
    return CLEAVE_OK;
}

void cv_poller_free(struct cv_poller *poller)
{
    world.poller = NULL;
    free(poller);
}

enum cleave_status cv_poller_add(struct cv_poller *poller, struct cv_watch *watch, int fd,
                                 unsigned events,
                                 void (*call)(void *context, unsigned events),
                                 void *context, struct cleave_error *err)
{
    (void)err;
    assert_true(poller->nwatches < 64);
    *watch = (struct cv_watch){
        .fd = fd, .events = events, .call = call, .context = context, .added = true
    };
    poller->watches[poller->nwatches++] = watch;
    return CLEAVE_OK;
}

enum cleave_status cv_poller_modify(struct cv_poller *poller, struct cv_watch *watch,
                                    unsigned events, struct cleave_error *err)
{
    (void)poller;
    (void)err;
    watch->events = events;
    return CLEAVE_OK;
}

void cv_poller_remove(struct cv_poller *poller, struct cv_watch *watch)
{
    for (size_t i = 0; i < poller->nwatches; i++)
        if (poller->watches[i] == watch)
            poller->watches[i] = poller->watches[--poller->nwatches];
    watch->added = false;
}

void cv_poller_cancel(struct cv_poller *poller, struct cv_timer *timer)
{
    if (timer->place == 0)
        return;
    timer->place = 0;
    for (size_t i = 0; i < poller->ntimers; i++)
        if (poller->timers[i] == timer) {
            memmove(&poller->timers[i], &poller->timers[i + 1],
                    (--poller->ntimers - i) * sizeof(struct cv_timer *));
            return;
        }
}

/* Those of one instant are called in the order they were set. */
enum cleave_status cv_poller_set(struct cv_poller *poller, struct cv_timer *timer,
                                 double due_s, void (*call)(void *context), void *context,
                                 struct cleave_error *err)
{
    (void)err;
    cv_poller_cancel(poller, timer);
    assert_true(poller->ntimers < 4096);
    *timer =
        (struct cv_timer){ .due_s = due_s, .call = call, .context = context, .place = 1 };
    poller->timers[poller->ntimers++] = timer;
    return CLEAVE_OK;
}

static void hang_up(void *context)
{
    (void)context;
    world.signalled(world.signal_context, SIGHUP);
}

enum cleave_status cv_poller_signals(struct cv_poller *poller, const int *signals,
                                     size_t count,
                                     void (*call)(void *context, int signal),
                                     void *context, struct cleave_error *err)
{
    (void)signals;
    (void)count;
    world.signalled = call;
    world.signal_context = context;
    for (uint32_t i = 0; i < world.nhangups; i++)
        CV_TRY(cv_poller_set(poller, &world.hangups[i], world.hangups_s[i], hang_up, NULL,
                             err));
    return CLEAVE_OK;
}

void cv_poller_hold_signals(struct cv_poller *poller)
{
    (void)poller;
}

enum cleave_status cv_poller_set_guard(struct cv_poller *poller,
                                       void (*failed)(void *context,
                                                      const struct cleave_error *err),
                                       void *context, struct cleave_error *err)
{
    (void)poller;
    (void)failed;
    (void)context;
    (void)err;
    return CLEAVE_OK;
}

void cv_poller_lend_guard(struct cv_poller *poller, struct cv_guard *guard)
{
    (void)poller;
    (void)guard;
}

struct cv_guard *cv_poller_guard(const struct cv_poller *poller)
{
    (void)poller;
    return NULL;
}

struct cv_starter *cv_poller_starter(struct cv_poller *poller)
{
    (void)poller;
    return NULL;
}

enum cleave_status cv_poller_null(struct cv_poller *poller, int *out,
                                  struct cleave_error *err)
{
    (void)poller;
    (void)err;
    *out = -1;
    return CLEAVE_OK;
}

const sigset_t *cv_poller_old_mask(const struct cv_poller *poller)
{
    return &poller->mask;
}

static bool call_watches(struct cv_poller *poller)
{
    bool any = false;

    for (size_t i = 0; i < poller->nwatches; i++)
        if (poller->watches[i]->events != 0) {
            poller->watches[i]->call(poller->watches[i]->context,
                                     poller->watches[i]->events);
            any = true;
        }
    return any;
}

/* To the next thing that happens, at once. A run that waits for nothing hangs. */
enum cleave_status cv_poller_wait(struct cv_poller *poller, double timeout_s,
                                  struct cleave_error *err)
{
    struct cv_timer *next = NULL;

    (void)err;
    if (++world.waits > WORLD_WAITS)
        fail_msg("script %u\n%s: the run does not end: %g s have passed", world.number,
                 world.said, world.now_s);
    if (call_watches(poller))
        return CLEAVE_OK;
    for (size_t i = 0; i < poller->ntimers; i++)
        if (next == NULL || poller->timers[i]->due_s < next->due_s)
            next = poller->timers[i];
    if (timeout_s >= 0 && (next == NULL || next->due_s > world.now_s + timeout_s)) {
        world.now_s += timeout_s;
        return CLEAVE_OK;
    }
    if (next == NULL)
        fail_msg("script %u\n%s: the run hangs after %g s: nothing will happen any more",
                 world.number, world.said, world.now_s);
    world.now_s = fmax(world.now_s, next->due_s);
    cv_poller_cancel(poller, next);
    next->call(next->context);
    return CLEAVE_OK;
}

/* --- processes: there are none ------------------------------------------------------------ */

void cv_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

enum cleave_status cv_pipe_open(struct cv_pipe *out, struct cleave_error *err)
{
    (void)err;
    *out = (struct cv_pipe){ -1, -1 };
    return CLEAVE_OK;
}

void cv_pipe_close(struct cv_pipe *pipe)
{
    *pipe = (struct cv_pipe){ -1, -1 };
}

void cv_pipe_widen(int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
}

enum cleave_status cv_command_init(struct cv_command *command, const char *const *prefix,
                                   const char *const *argv, struct cleave_error *err)
{
    (void)prefix;
    (void)argv;
    (void)err;
    *command = (struct cv_command){ .path = NULL };
    return CLEAVE_OK;
}

void cv_command_done(struct cv_command *command)
{
    (void)command;
}

enum cleave_status cv_command_set(struct cv_command *command, const char *name,
                                  const char *value, struct cleave_error *err)
{
    (void)command;
    (void)name;
    (void)value;
    (void)err;
    return CLEAVE_OK;
}

enum cleave_status cv_process_start(struct cv_process *process,
                                    const struct cv_command *command,
                                    const struct cv_process_files *files,
                                    const sigset_t *mask, struct cleave_error *err)
{
    (void)command;
    (void)files;
    (void)mask;
    (void)err;
    *process = (struct cv_process){ .pid = 0, .pidfd = -1 };
    return CLEAVE_OK;
}

enum cleave_status cv_process_fail_start(const struct cv_command *command, int error,
                                         struct cleave_error *err)
{
    (void)command;
    (void)error;
    (void)err;
    return CLEAVE_EINPUT;
}

void cv_process_signal(const struct cv_process *process, int signal)
{
    (void)process;
    (void)signal;
}

enum cleave_status cv_process_listen(struct cv_process *process, struct cleave_error *err)
{
    (void)process;
    (void)err;
    return CLEAVE_OK;
}

bool cv_process_is_over(struct cv_process *process)
{
    (void)process;
    return true;
}

bool cv_process_failed(struct cv_process *process)
{
    (void)process;
    return false;
}

bool cv_process_reap(struct cv_process *process)
{
    (void)process;
    return true;
}

void cv_process_kill(struct cv_process *process)
{
    process->pid = 0;
}

/* --- what a host is like ------------------------------------------------------------------ */

/* What goes wrong with it; chances are of a frame that it says, or of a connection. */
struct script {
    double speed_Bps, latency_s, link_Bps, link_s;
    double lives_s;   /* of a connection, on average; 0: for ever                    */
    double silent;    /* chance that it ends by falling silent                       */
    uint32_t lives;   /* connections that may be made; 0: any number                 */
    uint32_t deaths;  /* after so many it lives for ever; 0: never                    */
    bool says_why;    /* it dies by its own word                                      */
    double early;     /* chance that a connection is cut before it is ready          */
    uint32_t earlies; /* so many of the first ones are                                */
    size_t memory;    /* a command with more bytes is killed; 0: none is                */
    uint32_t fails;   /* so many of its first commands fail                             */
    bool mute;        /* of pieces it only says what of them has come                   */
    double
        noticed_s;   /* so long after it was connected it is told to end; 0: never      */
    bool all_end;    /* ... and so are its commands                                    */
    double speaks_s; /* lines of its commands are sent so often, if asked for          */
    double twice, late, untrue, dropped; /* of frames: said twice, behind the next ... */
};

struct task {
    uint64_t number, come, come_sum;
    uint32_t seat;
    unsigned char *bytes; /* owned                                                     */
    size_t length, room;
    bool complete, running, ended, killed;
    bool open;      /* its command does not wait for all of it                          */
    bool begun;     /* ... and has read something                                       */
    double end_s;   /* when it is done with all that has come                           */
    uint64_t fed;   /* ... and was said to have been given so much */
    double began_s; /* it was started                                                  */
    size_t lined;   /* bytes of its output that were sent as lines                     */
    uint64_t output_sum;
    struct task *next;
};

/* A frame on its way. */
struct mail {
    struct cv_timer timer;
    struct machine *machine;
    uint64_t connection;
    bool to_master;
    struct cv_frame_head head;
    unsigned char *payload; /* owned                                                   */
    struct mail *next;
};

struct machine {
    struct script script;
    struct cv_random random;
    struct cv_link *link;
    uint64_t connection; /* number of the one there is                                 */
    bool open, silent;
    bool lines; /* the job asks for them                                               */
    bool noticed;
    uint32_t made, failed; /* connections, commands                                    */
    uint32_t given_back;   /* pieces                                                   */
    uint32_t heard[256];   /* frames of each kind                                      */
    uint64_t data;         /* bytes of pieces that have come                           */
    struct cv_timer dies, pumps, works[WORLD_SEATS], speaks[WORLD_SEATS], notice;
    double free_s[2]; /* when the link is, to and from it                              */
    struct task *tasks; /* owned, the oldest first                                     */
    struct mail *mails; /* owned                                                       */
};

static struct machine machines[WORLD_HOSTS];
static const char *world_poison; /* a piece that holds it kills its machine            */
static const char *world_bad;    /* the command fails on a piece that holds it         */

static double chance(struct machine *machine)
{
    return cv_random_uniform(&machine->random);
}

static void drop_tasks(struct machine *machine)
{
    while (machine->tasks != NULL) {
        struct task *task = machine->tasks;

        machine->tasks = task->next;
        free(task->bytes);
        free(task);
    }
}

static void drop_mail(struct mail *mail)
{
    struct mail **at = &mail->machine->mails;

    while (*at != mail)
        at = &(*at)->next;
    *at = mail->next;
    if (world.poller != NULL)
        cv_poller_cancel(world.poller, &mail->timer);
    free(mail->payload);
    free(mail);
}

static void disconnect(struct machine *machine)
{
    machine->open = false;
    while (machine->mails != NULL)
        drop_mail(machine->mails);
    drop_tasks(machine);
    if (world.poller == NULL)
        return;
    cv_poller_cancel(world.poller, &machine->dies);
    cv_poller_cancel(world.poller, &machine->notice);
    cv_poller_cancel(world.poller, &machine->pumps);
    for (int seat = 0; seat < WORLD_SEATS; seat++) {
        cv_poller_cancel(world.poller, &machine->works[seat]);
        cv_poller_cancel(world.poller, &machine->speaks[seat]);
    }
}

/* The master finds out that it is gone. */
static void break_link(void *context)
{
    struct machine *machine = context;
    struct cv_link *link = machine->link;
    const bool silent = machine->silent;
    struct cleave_error err;

    disconnect(machine);
    if (silent)
        cv_fail(&err, CLEAVE_ELOST, "nothing was heard for %g s", link->silence_s);
    else if (machine->script.says_why)
        cv_fail(&err, CLEAVE_EREFUSED, "no room is left there");
    else
        cv_fail(&err, CLEAVE_ECLOSED, "the connection was closed");
    link->broken = true;
    link->broke(link->context, &err);
}

/* It dies: that is heard at once, or when it has been silent for long enough. */
static void die(void *context)
{
    struct machine *machine = context;

    machine->silent = chance(machine) < machine->script.silent;
    if (!machine->silent) {
        break_link(machine);
        return;
    }
    cv_poller_set(world.poller, &machine->dies, world.now_s + machine->link->silence_s,
                  break_link, machine, NULL);
}

/* --- frames ------------------------------------------------------------------------------- */

static void hear(struct machine *machine, const struct cv_frame_head *head,
                 const unsigned char *payload);

/* A link looks at the head before it passes a frame on. */
static void hand_over(struct machine *machine, const struct cv_frame_head *head,
                      const unsigned char *payload)
{
    struct cv_link *link = machine->link;
    unsigned char raw[CV_FRAME_HEAD];
    struct cv_frame_head seen;
    struct cleave_error err;

    cv_frame_encode(head, raw);
    if (cv_frame_decode(raw, &seen, &err) == CLEAVE_OK) {
        link->frame(link->context, head, payload);
        return;
    }
    disconnect(machine);
    link->broken = true;
    link->broke(link->context, &err);
}

static void deliver(void *context)
{
    struct mail *mail = context;
    struct machine *machine = mail->machine;
    const struct cv_frame_head head = mail->head;
    unsigned char *payload = mail->payload;
    const bool to_master = mail->to_master;
    const bool lost =
        machine->silent || !machine->open || mail->connection != machine->connection;

    mail->payload = NULL;
    drop_mail(mail);
    if (!lost && to_master)
        hand_over(machine, &head, payload);
    else if (!lost)
        hear(machine, &head, payload);
    free(payload);
}

static void post(struct machine *machine, bool to_master,
                 const struct cv_frame_head *head, const void *payload, size_t length,
                 double extra_s)
{
    struct mail *mail = calloc(1, sizeof *mail);
    double *free_s = &machine->free_s[to_master];

    assert_non_null(mail);
    *mail = (struct mail){ .machine = machine,
                           .connection = machine->connection,
                           .to_master = to_master,
                           .head = *head,
                           .payload = malloc(length + 1),
                           .next = machine->mails };
    assert_non_null(mail->payload);
    if (length > 0)
        memcpy(mail->payload, payload, length);
    mail->head.length = (uint32_t)length;
    mail->head.checksum = cv_frame_checksum(&mail->head, payload);
    machine->mails = mail;
    *free_s =
        fmax(*free_s, world.now_s) + (double)(length + 48) / machine->script.link_Bps;
    cv_poller_set(world.poller, &mail->timer, *free_s + machine->script.link_s + extra_s,
                  deliver, mail, NULL);
}

/* Of a frame that workers send about pieces. */
static uint8_t any_type(struct cv_random *random)
{
    static const uint8_t types[] = { CV_FRAME_GOT,      CV_FRAME_COMPUTED,
                                     CV_FRAME_OUTPUT,   CV_FRAME_END,
                                     CV_FRAME_CUT_DONE, CV_FRAME_STARTED,
                                     CV_FRAME_DRAINED,  CV_FRAME_FED,
                                     CV_FRAME_SEEN };

    return types[cv_random_bits(random) % sizeof types];
}

/* What the worker says, as it gets there. */
static void say(struct machine *machine, struct cv_frame_head head, const void *payload,
                size_t length)
{
    const struct script *script = &machine->script;
    const double luck = chance(machine);
    double extra_s = 0;

    if (luck < script->dropped || (script->mute && head.type != CV_FRAME_GOT))
        return;
    if (luck < script->dropped + script->late)
        extra_s = 0.2 * chance(machine);
    else if (luck < script->dropped + script->late + script->untrue) {
        const uint64_t which = cv_random_bits(&machine->random) % 4;

        if (which == 0)
            head.chunk += 1 + cv_random_bits(&machine->random) % 3;
        else if (which == 1)
            head.value = head.value == 0 ? 1 : head.value - 1;
        else if (which == 2)
            head.type = any_type(&machine->random);
        else
            head.peer ^= 1;
    } else if (luck < script->dropped + script->late + script->untrue + script->twice) {
        post(machine, true, &head, payload, length, 0);
    }
    post(machine, true, &head, payload, length, extra_s);
}

/* --- the worker behind the link ------------------------------------------------------------ */

static void work_next(struct machine *machine, uint32_t seat);

static int end_status(const struct task *task, uint64_t flags)
{
    if (flags == CV_END_FAILED)
        return task->killed ? -1 : 1;
    return flags == 0 ? 0 : -1;
}

/* The next bytes of its output, which are those of its input. */
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

/* Lines of what its command has come to by now. */
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
                  world.now_s + machine->script.speaks_s, speak, context, NULL);
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
                      &seats[machine - machines][task->seat], NULL);
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

/* The command of an open piece reads what has come. */
static void read_on(struct machine *machine, struct task *task, size_t length)
{
    const double from_s = fmax(world.now_s, task->began_s + machine->script.latency_s);

    if (task->length == 0)
        return;
    task->end_s = fmax(task->end_s, from_s) + (double)length / machine->script.speed_Bps;
    cv_poller_set(world.poller, &machine->works[task->seat],
                  task->begun ? task->end_s : from_s, work_ends,
                  &seats[machine - machines][task->seat], NULL);
}

/* Pieces that are there and were not begun. */
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
    if (machine->lines && machine->script.speaks_s > 0)
        cv_poller_set(world.poller, &machine->speaks[seat],
                      world.now_s + machine->script.speaks_s, speak,
                      &seats[machine - machines][seat], NULL);
    if (task->open) {
        read_on(machine, task, task->length);
        return;
    }
    task->end_s = world.now_s + machine->script.latency_s +
                  (double)task->length / machine->script.speed_Bps;
    cv_poller_set(world.poller, &machine->works[seat], task->end_s, work_ends,
                  &seats[machine - machines][seat], NULL);
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
    assert_true(cv_unpack_piece(payload, head->length, &piece) && !piece.shared);
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

/* What has not been come to can be cut off. */
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
                          work_ends, &seats[machine - machines][task->seat], NULL);
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
    case CV_FRAME_STOP:
        if (task != NULL)
            stop(machine, task);
        break;
    default:
        break;
    }
}

/* --- links -------------------------------------------------------------------------------- */

static struct machine *machine_of(const struct cv_link *link)
{
    const struct cv_host *host = link->context;

    return &machines[host->name[1] - '0'];
}

enum cleave_status cv_link_open(struct cv_link *link, int in, int out,
                                struct cleave_error *err)
{
    struct machine *machine = machine_of(link);
    const struct script *script = &machine->script;

    (void)in;
    (void)out;
    disconnect(machine);
    if (script->lives > 0 && machine->made >= script->lives)
        return cv_fail(err, CLEAVE_ELOST, "there is no such machine any more");
    machine->made++;
    machine->connection++;
    machine->link = link;
    machine->open = true;
    machine->silent = machine->noticed = false;
    if (script->noticed_s > 0)
        cv_poller_set(world.poller, &machine->notice, world.now_s + script->noticed_s,
                      give_notice, machine, NULL);
    machine->free_s[0] = machine->free_s[1] = 0;
    link->broken = false;
    link->in = link->out = 1000;
    if (chance(machine) < script->early || machine->made <= script->earlies)
        cv_poller_set(world.poller, &machine->dies,
                      world.now_s + 2.5 * script->link_s * chance(machine), break_link,
                      machine, NULL);
    else if (script->lives_s > 0 &&
             (script->deaths == 0 || machine->made <= script->deaths))
        cv_poller_set(world.poller, &machine->dies,
                      world.now_s + 4 * script->link_s -
                          script->lives_s * log(1 - chance(machine)),
                      die, machine, NULL);
    return CLEAVE_OK;
}

enum cleave_status cv_link_open_channel(struct cv_link *link,
                                        struct cleave_channel *channel,
                                        struct cleave_error *err)
{
    (void)link;
    (void)channel;
    return cv_fail(err, CLEAVE_EENGINE, "there are no channels here");
}

void cv_link_close(struct cv_link *link)
{
    if (link->context != NULL && link->in >= 0 && machine_of(link)->link == link)
        disconnect(machine_of(link));
    link->in = link->out = -1;
    link->broken = true;
}

size_t cv_link_fits(const struct cv_link *link)
{
    (void)link;
    return 1 << 16;
}

size_t cv_link_pending(const struct cv_link *link)
{
    (void)link;
    return 0;
}

void cv_link_send(struct cv_link *link, const struct cv_frame_head *head,
                  const void *payload, size_t length)
{
    struct machine *machine = machine_of(link);

    if (machine->open && !link->broken)
        post(machine, false, head, payload, length, 0);
}

void cv_link_send_summed(struct cv_link *link, const struct cv_frame_head *head,
                         const void *payload)
{
    cv_link_send(link, head, payload, head->length);
}

static void pump(void *context)
{
    struct machine *machine = context;

    while (machine->open && machine->link->more(machine->link->context))
        ;
}

void cv_link_wake(struct cv_link *link)
{
    struct machine *machine = machine_of(link);

    if (machine->open && machine->link == link && machine->pumps.place == 0)
        cv_poller_set(world.poller, &machine->pumps, world.now_s, pump, machine, NULL);
}

/* --- a new one ---------------------------------------------------------------------------- */

static void world_reset(uint64_t seed, uint32_t number)
{
    world.now_s = 1;
    world.waits = 0;
    world.nhangups = 0;
    world.number = number;
    world.said = "";
    world_poison = world_bad = NULL;
    for (uint32_t h = 0; h < WORLD_HOSTS; h++) {
        machines[h] = (struct machine){ .made = 0 };
        cv_random_at(&machines[h].random, seed, number, h, 1);
        for (uint32_t seat = 0; seat < WORLD_SEATS; seat++)
            seats[h][seat] = (struct seat_of){ &machines[h], seat };
    }
}

#endif
