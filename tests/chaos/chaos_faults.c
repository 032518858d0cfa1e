/* chaos_faults.c -- faults that a job can meet. SPDX-License-Identifier: MIT
 *
 * Each fault draws its details, adapts the job, and sets whether the run has to survive
 * it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "chaos/chaos.h"

/* --- jobs that faults can happen to ------------------------------------------------------- */

/* Enough chunks that something can happen between the first and the last. */
static void with_work(struct trial *trial)
{
    struct job *job = &trial->job;

    if (job->size < 20000)
        job->size += 20000;
    job->sleep_us = 1000 + (uint32_t)chance_below(&trial->chance, 15000);
    if (job->block == 0 || job->block > job->size / 8)
        job->block = chance_one_in(&trial->chance, 3) ? 0 : (uint32_t)(job->size / 12);
}

static void without_mpi(struct trial *trial)
{
    trial->job.flavour = NULL;
}

static void on_this_machine(struct trial *trial)
{
    without_mpi(trial);
    trial->job.nhosts = 0;
}

static void with_hosts(struct trial *trial, uint32_t min)
{
    struct job *job = &trial->job;

    without_mpi(trial);
    if (job->port == NULL)
        job->port = "multi";
    for (; job->nhosts < min; job->nhosts++)
        job->slots[job->nhosts] = 1 + (uint32_t)chance_below(&trial->chance, 2);
}

/* Add another worker that can do the work. */
static void with_others(struct trial *trial)
{
    with_hosts(trial, 1);
    if (chance_one_in(&trial->chance, 2))
        trial->job.place_here = true;
    else
        with_hosts(trial, 2);
}

/* One run can continue where another was stopped. */
static void with_journal(struct trial *trial)
{
    trial->job.journal = true;
    trial->job.from = FROM_FILES;
    trial->resume = true;
}

__attribute__((format(printf, 2, 3))) static void habit(struct trial *trial,
                                                        const char *habit, ...);

static void habit(struct trial *trial, const char *format, ...)
{
    __builtin_va_list list;

    __builtin_va_start(list, format);
    vsnprintf(trial->job.work, sizeof trial->job.work, format, list);
    __builtin_va_end(list);
}

static void strike(struct trial *trial, enum role victim, int sign)
{
    trial->strikes = true;
    trial->victim = victim;
    trial->sign = sign;
    trial->after = 1 + (uint32_t)chance_below(&trial->chance,
                                              chance_one_in(&trial->chance, 4) ? 20 : 8);
    trial->later_s = 1e-3 * (double)chance_below(&trial->chance, 20);
}

/* --- nothing ------------------------------------------------------------------------------ */

static void none(struct trial *trial)
{
    (void)trial;
}

/* --- the master --------------------------------------------------------------------------- */

static void stopped_for_good(struct trial *trial, int sign)
{
    with_work(trial);
    without_mpi(trial);
    strike(trial, THE_MASTER, sign);
    if (!chance_one_in(&trial->chance, 3))
        with_journal(trial);
    if (trial->resume && chance_one_in(&trial->chance, 3))
        trial->more_rounds = 1 + (uint32_t)chance_below(&trial->chance, 2);
    trial->expect = MAY_FAIL;
}

static void kill_master(struct trial *trial)
{
    stopped_for_good(trial, SIGKILL);
}

/* With commands that would run for long. */
static void kill_master_slow(struct trial *trial)
{
    stopped_for_good(trial, SIGKILL);
    on_this_machine(trial);
    trial->resume = false;
    trial->more_rounds = 0;
    trial->after = 1;
    /* A run that is 10 ms old has a guard process for them. */
    trial->later_s = 0.3;
    habit(trial, "habit=hang");
}

static void interrupt_master(struct trial *trial)
{
    stopped_for_good(trial, chance_one_in(&trial->chance, 2) ? SIGINT : SIGTERM);
}

/* Hosts are asked for again; nothing else changes. */
static void hang_up_master(struct trial *trial)
{
    with_work(trial);
    with_hosts(trial, 1);
    strike(trial, THE_MASTER, SIGHUP);
}

static void pause_master(struct trial *trial)
{
    with_work(trial);
    without_mpi(trial);
    strike(trial, THE_MASTER, SIGSTOP);
    trial->wake_s = 1e-3 * (double)(1 + chance_below(&trial->chance, 200));
}

/* --- commands ----------------------------------------------------------------------------- */

static void kill_command(struct trial *trial)
{
    with_work(trial);
    strike(trial, A_COMMAND, chance_one_in(&trial->chance, 2) ? SIGKILL : SIGTERM);
    trial->expect = trial->job.retries > 0 ? MUST_WORK : MAY_FAIL;
}

static void pause_command(struct trial *trial)
{
    with_work(trial);
    strike(trial, A_COMMAND, SIGSTOP);
    trial->wake_s = 1e-3 * (double)(1 + chance_below(&trial->chance, 200));
}

static void poison(struct trial *trial)
{
    struct job *job = &trial->job;

    job->poison = true;
    job->pairs = false;
    job->size += 2000;
    job->keep_failed = !chance_one_in(&trial->chance, 3);
    if (chance_one_in(&trial->chance, 4))
        job->halt = chance_one_in(&trial->chance, 2) ? "soon,fail=1" : "now,fail=1";
    trial->expect = MUST_FAIL;
}

static void fail_once(struct trial *trial)
{
    trial->job.retries = 1 + (int)chance_below(&trial->chance, 3);
    habit(trial, "habit=%s once=%s", chance_one_in(&trial->chance, 2) ? "exit" : "die",
          trial->once);
}

static void hang_once(struct trial *trial)
{
    trial->job.retries = 3;
    trial->job.timeout_s = 2;
    habit(trial, "habit=hang once=%s", trial->once);
}

static void hang_always(struct trial *trial)
{
    struct job *job = &trial->job;

    without_mpi(trial);
    job->retries = 0;
    job->timeout_s = 0.3;
    job->size = 2500;
    job->block = 1200;
    job->header = false;
    habit(trial, "habit=hang");
    trial->expect = MUST_FAIL;
}

static void read_nothing(struct trial *trial)
{
    trial->job.silent = true;
    trial->job.persistent = false;
    trial->job.reduce = NO_REDUCE;
    trial->job.commutative = false;
    habit(trial, "habit=noread");
}

static void late_child(struct trial *trial)
{
    trial->job.persistent = false;
    habit(trial, "habit=late");
}

static void left_child(struct trial *trial)
{
    habit(trial, "habit=leave");
}

/* --- hosts -------------------------------------------------------------------------------- */

static void kill_worker(struct trial *trial)
{
    with_work(trial);
    with_hosts(trial, 1);
    strike(trial, A_WORKER, SIGKILL);
}

static void kill_relay(struct trial *trial)
{
    with_work(trial);
    with_hosts(trial, 1);
    strike(trial, A_RELAY, SIGKILL);
}

static void pause_worker(struct trial *trial)
{
    with_work(trial);
    with_hosts(trial, 1);
    strike(trial, chance_one_in(&trial->chance, 2) ? A_WORKER : A_RELAY, SIGSTOP);
    trial->wake_s = 1e-3 * (double)(1 + chance_below(&trial->chance, 300));
}

/* A fault that ends a machine, or a step of Slurm, may kill the commands first. */
static void host_down(struct trial *trial)
{
    with_work(trial);
    with_hosts(trial, 1);
    strike(trial, A_WORKER, SIGKILL);
    trial->commands_first = true;
}

/* No worker there can keep a file of more than a kilobyte. */
static void full_host(struct trial *trial)
{
    with_work(trial);
    with_others(trial);
    trial->job.small_memory = true;
    snprintf(trial->job.link[0], WORD, "!prlimit --fsize=1024");
}

/* The worker never returns. */
static void freeze_worker(struct trial *trial)
{
    with_work(trial);
    with_others(trial);
    strike(trial, A_WORKER, SIGSTOP);
    trial->job.host_timeout_s = 1;
}

static void bad_host(struct trial *trial)
{
    static const char *const hosts[] = { "!false",
                                         "!echo hello",
                                         "!cat",
                                         "!tail -f /dev/null",
                                         "!no-such-program",
                                         "!head -c 3000 /dev/urandom" };

    with_others(trial);
    snprintf(trial->job.link[0], WORD, "%s", hosts[chance_below(&trial->chance, 6)]);
}

/* --- ranks -------------------------------------------------------------------------------- */

/* mpirun is the started process; it ends the other ranks, or they end without it. */
static void with_mpi(struct trial *trial)
{
    struct job *job = &trial->job;
    const bool mpich =
        setting.mpich && (!setting.openmpi || chance_one_in(&trial->chance, 2));

    job->flavour = mpich ? "mpich" : "openmpi";
    job->nhosts = 0;
    job->workers = 2 + (uint32_t)chance_below(&trial->chance, 2);
    job->to_file = true; /* the mpirun of MPICH complains on standard output */
    if (!chance_one_in(&trial->chance, 3))
        with_journal(trial);
    trial->expect = MAY_FAIL;
}

static void kill_rank(struct trial *trial)
{
    with_work(trial);
    with_mpi(trial);
    strike(trial, A_RANK, SIGKILL);
    if (!chance_one_in(&trial->chance, 3))
        return;
    /* With commands that would run for long. */
    trial->resume = false;
    trial->after = 1;
    habit(trial, "habit=hang");
}

static void kill_mpirun(struct trial *trial)
{
    static const int signs[] = { SIGKILL, SIGKILL, SIGTERM, SIGINT };

    with_work(trial);
    with_mpi(trial);
    strike(trial, THE_MASTER, signs[chance_below(&trial->chance, 4)]);
}

/* --- links -------------------------------------------------------------------------------- */

static void link_fault(struct trial *trial, const char *what)
{
    struct chance *chance = &trial->chance;
    static const uint64_t ranges[] = { 200, 2000, 20000, 100000 };
    const uint64_t at = chance_below(chance, ranges[chance_below(chance, 4)]);
    const bool once = !chance_one_in(chance, 4);

    with_work(trial);
    /* A host that cannot even say hello is left out. */
    if (once && at > 1000)
        with_hosts(trial, 1);
    else
        with_others(trial);
    snprintf(trial->job.link[0], WORD, "do=%s way=%s at=%llu%s%s", what,
             chance_one_in(chance, 2) ? "in" : "out", (unsigned long long)at,
             once ? " once=" : "", once ? trial->once : "");
    trial->job.host_timeout_s = 1;
}

static void link_flip(struct trial *trial)
{
    link_fault(trial, "flip");
}

static void link_cut(struct trial *trial)
{
    link_fault(trial, "cut");
}

static void link_stall(struct trial *trial)
{
    link_fault(trial, "stall");
}

static void link_again(struct trial *trial)
{
    link_fault(trial, "again");
}

static void link_drop(struct trial *trial)
{
    link_fault(trial, "drop");
}

static void link_noise(struct trial *trial)
{
    link_fault(trial, "noise");
}

/* Nothing is wrong with these links, but that they are far or slow. */
static void good_link(struct trial *trial, const char *option)
{
    struct job *job = &trial->job;
    const uint32_t hosts = 1 + (uint32_t)chance_below(&trial->chance, 2);

    with_work(trial);
    with_hosts(trial, hosts);
    for (uint32_t h = 0; h < hosts; h++)
        snprintf(job->link[h], WORD, "!%.390s %s --", setting.relay, option);
}

static void link_far(struct trial *trial)
{
    good_link(trial, chance_one_in(&trial->chance, 3) ? "--delay 80 --rate 1000000"
                                                      : "--delay 80");
}

static void link_slow(struct trial *trial)
{
    trial->job.size += 200000;
    good_link(trial, "--rate 1000000");
}

/* --- files -------------------------------------------------------------------------------- */

/* So much output that it cannot be written where there is no room. */
static void with_output(struct trial *trial)
{
    struct job *job = &trial->job;

    if (job->size < 30000)
        job->size += 30000;
    if (job->reduce == REDUCE_SUM)
        job->reduce = NO_REDUCE;
    job->commutative = false;
    without_mpi(trial);
    trial->expect = MUST_FAIL;
}

static void full_output(struct trial *trial)
{
    with_output(trial);
    trial->job.to_file = false;
    trial->full_output = true;
}

static void full_file(struct trial *trial)
{
    with_output(trial);
    /* Its standard error goes to a file, too, and has to fit. */
    trial->file_size = 8192 + chance_below(&trial->chance, 10000);
}

/* Anything may not fit: output, what waits for its turn, the journal, the job log. */
static void full_disk(struct trial *trial)
{
    with_output(trial);
    trial->job.small_memory = chance_one_in(&trial->chance, 2);
    trial->disk_room = 1 + chance_below(&trial->chance, 2 * trial->job.size);
    trial->expect = MAY_FAIL;
}

static void reader_leaves(struct trial *trial)
{
    with_output(trial);
    trial->job.to_file = false;
    trial->reader_leaves = true;
    trial->expect = MAY_FAIL;
}

static void damaged_journal(struct trial *trial)
{
    with_work(trial);
    if (chance_one_in(&trial->chance, 2))
        strike(trial, THE_MASTER, chance_one_in(&trial->chance, 2) ? SIGKILL : SIGINT);
    with_journal(trial);
    without_mpi(trial);
    trial->expect = MAY_FAIL;
    trial->damage_journal = true;
    trial->cut_journal = chance_one_in(&trial->chance, 4);
}

static void input_changes(struct trial *trial)
{
    with_work(trial);
    on_this_machine(trial);
    trial->job.from = FROM_FILES;
    trial->grow_input = chance_one_in(&trial->chance, 2);
    trial->cut_input = !trial->grow_input;
    strike(trial, THE_MASTER, 0);
    trial->expect = MAY_FAIL;
}

/* Another fault that the run has to survive. */
void fault_add_another(struct trial *trial)
{
    struct job *job = &trial->job;
    static const char *const whats[] = { "flip", "cut", "drop", "noise" };

    /* A worker that is stopped for good, on a link that is cut: no process can reach
     * it. */
    if (!chance_one_in(&trial->chance, 4) || job->nhosts == 0 ||
        job->link[0][0] != '\0' || job->work[0] != '\0' ||
        (trial->sign == SIGSTOP && !(trial->wake_s > 0)))
        return;
    snprintf(job->link[0], WORD, "do=%s way=%s at=%u once=%s",
             whats[chance_below(&trial->chance, 4)],
             chance_one_in(&trial->chance, 2) ? "in" : "out",
             1500 + (uint32_t)chance_below(&trial->chance, 20000), trial->once);
}

const struct fault faults[] = {
    { "none", 10, none },
    { "kill-master", 10, kill_master },
    { "kill-master-slow", 3, kill_master_slow },
    { "interrupt-master", 10, interrupt_master },
    { "hang-up-master", 3, hang_up_master },
    { "pause-master", 4, pause_master },
    { "kill-command", 8, kill_command },
    { "pause-command", 4, pause_command },
    { "poison", 8, poison },
    { "fail-once", 6, fail_once },
    { "hang-once", 2, hang_once },
    { "hang-always", 2, hang_always },
    { "read-nothing", 3, read_nothing },
    { "late-child", 4, late_child },
    { "left-child", 4, left_child },
    { "kill-worker", 10, kill_worker },
    { "kill-relay", 6, kill_relay },
    { "pause-worker", 4, pause_worker },
    { "freeze-worker", 3, freeze_worker },
    { "host-down", 8, host_down },
    { "full-host", 4, full_host },
    { "bad-host", 5, bad_host },
    { "kill-rank", 1, kill_rank },
    { "kill-mpirun", 1, kill_mpirun },
    { "link-flip", 12, link_flip },
    { "link-cut", 8, link_cut },
    { "link-stall", 3, link_stall },
    { "link-again", 5, link_again },
    { "link-drop", 5, link_drop },
    { "link-noise", 5, link_noise },
    { "link-far", 4, link_far },
    { "link-slow", 4, link_slow },
    { "full-output", 4, full_output },
    { "full-file", 4, full_file },
    { "full-disk", 6, full_disk },
    { "reader-leaves", 4, reader_leaves },
    { "damaged-journal", 10, damaged_journal },
    { "input-changes", 4, input_changes },
};
const size_t nfaults = sizeof faults / sizeof *faults;
