/* scripted_world.h -- other machines that follow a script, on a simulated clock.
 * SPDX-License-Identifier: MIT
 *
 * Replaces the poller, processes and links: a program that includes this has the real
 * driver, policies, master and hosts, but time passes at once, no process is started, and
 * each link ends at a worker of scripted_worker.h. Its frames can be cut off, held back
 * for ever, sent twice, reordered, or untrue.
 *
 * All functions of run/common/poller.c (scripted_clock.h), run/common/process.c and
 * run/wire/connect_stderr.c (scripted_process.h) and run/wire/link*.c (here) with callers
 * elsewhere are defined again, so that those files stay in the archive: the linker
 * reports a new function here ("multiple definition"). To be included once, after
 * cmocka.h. */
#ifndef SCRIPTED_WORLD_H
#define SCRIPTED_WORLD_H
#include "scripted_clock.h"
#include "scripted_machine.h"
#include "scripted_process.h"
#include "scripted_worker.h"

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
                      give_notice, machine);
    machine->free_s[0] = machine->free_s[1] = 0;
    link->broken = false;
    link->in = link->out = 1000;
    if (chance(machine) < script->early || machine->made <= script->earlies)
        cv_poller_set(world.poller, &machine->dies,
                      world.now_s + 2.5 * script->link_s * chance(machine), break_link,
                      machine);
    else if (script->lives_s > 0 &&
             (script->deaths == 0 || machine->made <= script->deaths))
        cv_poller_set(world.poller, &machine->dies,
                      world.now_s + 4 * script->link_s -
                          script->lives_s * log(1 - chance(machine)),
                      die, machine);
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

bool cv_link_finish(struct cv_link *link, struct pollfd *wait)
{
    (void)link;
    (void)wait;
    return true;
}

void cv_link_break(struct cv_link *link, const struct cleave_error *err)
{
    if (link->broken)
        return;
    link->broken = true;
    link->broke(link->context, err);
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

bool cv_link_send_packed(struct cv_link *link, const struct cv_frame_head *head,
                         struct cv_packer *packer)
{
    assert_false(packer->failed);
    cv_link_send(link, head, packer->bytes, packer->length);
    cv_pack_done(packer);
    return true;
}

void cv_link_wake(struct cv_link *link)
{
    struct machine *machine = machine_of(link);

    if (machine->open && machine->link == link && !machine->pumps.is_set)
        cv_poller_set(world.poller, &machine->pumps, world.now_s, pump, machine);
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
