/* preload.c -- reductions of a program that knows nothing of cleave.
 * SPDX-License-Identifier: MIT
 *
 * LD_PRELOAD puts these before those of the MPI library, which stay reachable under their
 * PMPI names. CLEAVE_MPI says what to do; without it, "auto". */
#include "mpi/preload/preload.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "mpi/reduce/mpi_process.h"
#include "mpi/reduce/mpi_parts.h"

/* A library that is put before another has no other place for what it is told at the
 * start. */
static struct cv_preload state;

/* An mpirun that is told to end all ranks may do so before it has read what they said. */
static const struct timespec to_pass_it_on = { .tv_nsec = 200000000 };

static void read_settings(bool together)
{
    const char *text = getenv("CLEAVE_MPI");
    struct cleave_error err;
    int rank = 0;

    state.ready = true;
    state.policy = CV_MPI_AUTO;
    if (text == NULL ||
        cv_mpi_settings_read(text, cv_mpi_process_defaults(), &state.policy,
                             &state.verbose, &err) == CLEAVE_OK)
        return;
    /* At the start the first one speaks, and the others wait to be ended with it. Later it
     * may be that not all come here. */
    if (together)
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        fprintf(stderr, "cleave: CLEAVE_MPI: %s\n", err.text);
        nanosleep(&to_pass_it_on, NULL);
    }
    if (together)
        PMPI_Barrier(MPI_COMM_WORLD);
    PMPI_Abort(MPI_COMM_WORLD, 2);
}

/* Whether more ranks were started on this machine than it has processors; as far as mpirun
 * tells. A rank that is bound to one does not see the others. */
static int is_crowded(void)
{
    static const char *const told[] = { "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS" };
    const char *text = NULL;
    cpu_set_t mine;
    long processors;

    for (size_t i = 0; i < sizeof told / sizeof *told && text == NULL; i++)
        text = getenv(told[i]);
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    processors = CPU_COUNT(&mine) > 1 ? CPU_COUNT(&mine) : sysconf(_SC_NPROCESSORS_ONLN);
    return text != NULL && processors > 0 && strtol(text, NULL, 10) > processors;
}

/* Where ranks share processors, each message of a short reduction waits until its reader is
 * scheduled, and a policy that needs more of them is surely worse. All ranks have to see it
 * alike, wherever they are. */
static void leave_short(void)
{
    struct cv_mpi_settings *defaults = cv_mpi_process_defaults();
    int mine = is_crowded(), any = 0;

    if (state.policy == CV_MPI_AUTO || state.policy == CV_MPI_MPI ||
        cv_mpi_policy_is_fixed(state.policy) || defaults->least_bytes > 0)
        return;
    if (PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS &&
        any)
        defaults->least_bytes = CV_SHORT_BYTES;
}

static void make_ready(bool together)
{
    if (state.ready)
        return;
    read_settings(together);
    if (together)
        leave_short();
    state.hands_on = state.policy == CV_MPI_AUTO;
    if (state.verbose)
        cv_mpi_process_on_close(cv_preload_report);
}

void cv_preload_start(void)
{
    make_ready(true);
}

/* What a program asks for is done in any case: an operator that does not commute gets the
 * policy that can do with it. */
static enum cv_mpi_policy fitting(enum cv_mpi_policy policy, MPI_Op op)
{
    int commutes = 1;

    if ((policy == CV_MPI_TREE_DYN || policy == CV_MPI_TREE_REPLAN) && op != MPI_OP_NULL)
        PMPI_Op_commutative(op, &commutes);
    return commutes ? policy : CV_MPI_ORDERED;
}

int cv_preload_call(const struct cv_mpi_call *call)
{
    enum cv_mpi_policy policy = CV_MPI_MPI;
    bool ours;
    int code;

    /* A session before there is a world: the settings have their time then. */
    if (state.ready || cv_mpi_process_has_world()) {
        make_ready(false);
        policy = fitting(state.policy, call->op);
    }
    code = cv_call_do(call, policy, &ours);
    if (ours)
        state.reductions++;
    else
        state.handed_on++;
    return code;
}

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv);

    if (code == MPI_SUCCESS)
        cv_preload_start();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = PMPI_Init_thread(argc, argv, required, provided);

    if (code == MPI_SUCCESS)
        cv_preload_start();
    return code;
}

int MPI_Finalize(void)
{
    if (state.verbose)
        cv_preload_sum_up(&state);
    return PMPI_Finalize();
}

int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
               MPI_Op op, int root, MPI_Comm comm)
{
    if (state.hands_on && cv_call_is_short(count, datatype)) {
        state.handed_on++;
        return PMPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
    }
    return cv_preload_call(&(struct cv_mpi_call){ .send = sendbuf,
                                                  .recv = recvbuf,
                                                  .count = count,
                                                  .type = datatype,
                                                  .op = op,
                                                  .root = root,
                                                  .comm = comm });
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm)
{
    if (state.hands_on && cv_call_is_short(count, datatype)) {
        state.handed_on++;
        return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
    }
    return cv_preload_call(&(struct cv_mpi_call){ .send = sendbuf,
                                                  .recv = recvbuf,
                                                  .count = count,
                                                  .type = datatype,
                                                  .op = op,
                                                  .reach = CV_TO_ALL,
                                                  .comm = comm });
}

int cv_preload_parts(struct cv_mpi_call *call, const int *counts, int block)
{
    if (cv_parts_fill(call, counts, block) &&
        !(state.hands_on && cv_call_is_short(call->count, call->type)))
        return cv_preload_call(call);
    state.handed_on++;
    return cv_parts_by_mpi(call);
}

int MPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[],
                       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return cv_preload_parts(
        &(struct cv_mpi_call){
            .send = sendbuf, .recv = recvbuf, .type = datatype, .op = op, .comm = comm },
        recvcounts, 0);
}

int MPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount,
                             MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return cv_preload_parts(
        &(struct cv_mpi_call){
            .send = sendbuf, .recv = recvbuf, .type = datatype, .op = op, .comm = comm },
        NULL, recvcount);
}
