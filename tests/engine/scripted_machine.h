/* scripted_machine.h -- a machine of a scripted world: what goes wrong with it, and
 * the frames on their way to and from it. SPDX-License-Identifier: MIT */
#ifndef SCRIPTED_MACHINE_H
#define SCRIPTED_MACHINE_H
#include "base/random.h"
#include "run/wire/link.h"
#include "run/wire/protocol.h"
#include "scripted_clock.h"

enum { WORLD_HOSTS = 4, WORLD_SEATS = 4 };

/* Faults of a machine; chances are per frame that it sends, or per connection. */
struct script {
    double speed_Bps, latency_s, link_Bps, link_s;
    double lives_s;   /* mean life of a connection; 0: for ever */
    double silent;    /* chance that it ends by falling silent                       */
    uint32_t lives;   /* connections that may be made; 0: any number                 */
    uint32_t deaths;  /* deaths after which it lives for ever; 0: never */
    bool says_why;    /* it announces its death */
    double early;     /* chance that a connection is cut before it is ready          */
    uint32_t earlies; /* its first frames that come early */
    size_t memory;    /* a command with more bytes is killed; 0: none is                */
    uint32_t fails;   /* its first commands that fail */
    bool mute;        /* for pieces it only reports received bytes */
    double
        noticed_s;   /* seconds after the connection at which it gets SIGTERM; 0: never */
    bool all_end;    /* ... and so are its commands                                    */
    double speaks_s; /* seconds between lines of its commands, if requested */
    double twice, late, untrue, dropped; /* chances of frames: sent twice, after the next
                                          * ... */
};

struct task {
    uint64_t number, come, come_sum;
    uint32_t seat;
    unsigned char *bytes; /* owned                                                     */
    size_t length, room;
    bool complete, running, ended, killed;
    bool open;      /* its command does not wait for all of it */
    bool begun;     /* ... and has read something                                       */
    double end_s;   /* end of the work on received bytes */
    uint64_t fed;   /* ... and was said to have been given so much */
    double began_s; /* start of the command */
    size_t lined;   /* bytes of its output that were sent as lines                     */
    bool shown;     /* its output was requested while it runs */
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
    size_t failed_given;   /* bytes that the last command was given that failed        */
    uint32_t heard[256];   /* frames of each kind                                      */
    uint64_t data; /* bytes of pieces that have arrived                           */
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

/* The master notices the broken link. */
static void break_link(void *context)
{
    struct machine *machine = context;
    struct cv_link *link = machine->link;
    const bool silent = machine->silent;
    struct cleave_error err;

    disconnect(machine);
    if (silent)
        cv_fail(&err, CLEAVE_ELOST, "it sent nothing for %g s", link->silence_s);
    else if (machine->script.says_why)
        cv_fail(&err, CLEAVE_EREFUSED, "no room is left there");
    else
        cv_fail(&err, CLEAVE_ECLOSED, "the connection was closed");
    link->broken = true;
    link->broke(link->context, &err);
}

/* The machine dies: noticed at once, or after the silence limit. */
static void die(void *context)
{
    struct machine *machine = context;

    machine->silent = chance(machine) < machine->script.silent;
    if (!machine->silent) {
        break_link(machine);
        return;
    }
    cv_poller_set(world.poller, &machine->dies, world.now_s + machine->link->silence_s,
                  break_link, machine);
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
                  deliver, mail);
}

/* Type of a frame that workers send about pieces. */
static uint8_t any_type(struct cv_random *random)
{
    static const uint8_t types[] = { CV_FRAME_GOT,      CV_FRAME_COMPUTED,
                                     CV_FRAME_OUTPUT,   CV_FRAME_END,
                                     CV_FRAME_CUT_DONE, CV_FRAME_STARTED,
                                     CV_FRAME_DRAINED,  CV_FRAME_FED,
                                     CV_FRAME_SEEN };

    return types[cv_random_bits(random) % sizeof types];
}

/* Frame from the worker, delivered with its faults. */
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

#endif
