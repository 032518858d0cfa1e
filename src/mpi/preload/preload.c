/* preload.c -- reductions of a program that knows nothing of cleave.
 * SPDX-License-Identifier: MIT
 *
 * LD_PRELOAD puts these before those of the MPI library, which stay reachable under their
 * PMPI names. CLEAVE_MPI says what to do; without it, "auto". */
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "mpi/reduce/comm_state.h"
#include "mpi/reduce/mpi_call.h"

/* What CLEAVE_MPI says, read at the first call; a mistake in it is told and ends the
 * program. */
struct preload {
    bool ready, verbose;
    bool hands_on; /* short vectors, at once */
    enum cv_mpi_policy policy;
    double reductions, handed_on; /* calls taken over; left to MPI at once */
};

/* --- what was chosen and gained, told on stderr when it is over -------------------- */

/* Rank 0 of each communicator tells of it, since all its ranks know the same. */

static int by_call(void *sendbuf, void *recvbuf, const MPI_Fint *count,
                   const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *root,
                   const MPI_Fint *comm);
static void tell(MPI_Fint *ierr, int code);
static int by_parts(void *sendbuf, void *recvbuf, const MPI_Fint *counts, bool alike,
                    const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm);
static void begun(MPI_Fint *ierr, MPI_Fint code);

static void tell_size(double bytes, char *text, size_t size)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
    int unit = 0;

    for (; bytes >= 1024 && unit < 3; unit++)
        bytes /= 1024;
    snprintf(text, size, "%g %s", bytes, units[unit]);
}

static void tell_choice(const struct cv_comm_state *state, int sort)
{
    const struct cv_choice *choice = &state->chooser.choices[sort];
    const struct cv_arm *own = &choice->arms[CV_ARM_OWN],
                        *best = &choice->arms[choice->best];
    static const char *const reaches[] = { "reduce", "all-reduce", "reduce-scatter" };
    double gained = 0;
    char from[32];

    if (choice->calls == 0)
        return;
    for (int arm = CV_ARM_OWN + 1; arm < CV_ARMS; arm++)
        if (own->measured > 0 && choice->arms[arm].measured > 0)
            gained += choice->used[arm] * (own->median_s - choice->arms[arm].median_s);
    tell_size(cv_chooser_bytes(sort), from, sizeof from);
    fprintf(stderr, "cleave:   %s from %s%s: %u calls, %s", reaches[sort / CV_SIZES / 2],
            from, sort / CV_SIZES % 2 ? "" : " in order", choice->calls,
            cv_mpi_policy_text(cv_chooser_policy(&state->chooser, sort, choice->best)));
    if (choice->spreads > 0)
        fprintf(stderr, ", arrivals within %.3g ms, result %.3g ms after the last",
                choice->median_spread_s * 1e3, best->median_s * 1e3);
    if (choice->best != CV_ARM_OWN && own->measured > 0)
        fprintf(stderr, " (MPI: %.3g ms)", own->median_s * 1e3);
    fprintf(stderr, ", gained %.3g s\n", gained);
}

/* Tell what was chosen and gained, where CLEAVE_MPI asks for it. */
static void preload_report(const struct cv_comm_state *state)
{
    const int machines = cv_cluster_machines(state->cluster);

    if (state->rank != 0 || (state->chooser.choices == NULL && machines == 0 &&
                             state->ahead == 0 && state->vectors.number == 0))
        return;
    fprintf(stderr, "cleave: communicator of %d ranks", state->size);
    if (machines > 0)
        fprintf(stderr, " on %d machines", machines);
    if (state->ahead > 0)
        fprintf(stderr, ", rank 0 met the next %u times while it combined", state->ahead);
    if (state->vectors.number > 0)
        fprintf(stderr, ", %u reductions in memory that all share",
                state->vectors.number);
    fprintf(stderr, "%s\n", state->chooser.choices != NULL ? ":" : "");
    for (int sort = 0; state->chooser.choices != NULL && sort < CV_SORTS; sort++)
        tell_choice(state, sort);
}

static void preload_sum_up(const struct preload *preload)
{
    int rank = 0;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "cleave: policy %s, %.0f reductions, %.0f left to MPI at once\n",
                cv_mpi_policy_text(preload->policy), preload->reductions,
                preload->handed_on);
}

/* --- reductions of a program that knows nothing of cleave -------------------------- */

/* A library that is put before another has no other place for what it is told at the
 * start. */
static struct preload state;

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
        cv_mpi_process_on_close(preload_report);
}

/* MPI has been initialised, on all ranks. */
static void preload_start(void)
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

/* MPI_Reduce and MPI_Allreduce of the program. */
static int preload_call(const struct cv_mpi_call *call)
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
        preload_start();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = PMPI_Init_thread(argc, argv, required, provided);

    if (code == MPI_SUCCESS)
        preload_start();
    return code;
}

int MPI_Finalize(void)
{
    if (state.verbose)
        preload_sum_up(&state);
    return PMPI_Finalize();
}

int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
               MPI_Op op, int root, MPI_Comm comm)
{
    if (state.hands_on && cv_call_is_short(count, datatype)) {
        state.handed_on++;
        return PMPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
    }
    return preload_call(&(struct cv_mpi_call){ .send = sendbuf,
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
    return preload_call(&(struct cv_mpi_call){ .send = sendbuf,
                                               .recv = recvbuf,
                                               .count = count,
                                               .type = datatype,
                                               .op = op,
                                               .reach = CV_TO_ALL,
                                               .comm = comm });
}

/* MPI_Reduce_scatter, with counts, and MPI_Reduce_scatter_block, without. */
static int preload_parts(struct cv_mpi_call *call, const int *counts, int block)
{
    if (cv_parts_fill(call, counts, block) &&
        !(state.hands_on && cv_call_is_short(call->count, call->type)))
        return preload_call(call);
    state.handed_on++;
    return cv_parts_by_mpi(call);
}

int MPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[],
                       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return preload_parts(
        &(struct cv_mpi_call){
            .send = sendbuf, .recv = recvbuf, .type = datatype, .op = op, .comm = comm },
        recvcounts, 0);
}

int MPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount,
                             MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return preload_parts(
        &(struct cv_mpi_call){
            .send = sendbuf, .recv = recvbuf, .type = datatype, .op = op, .comm = comm },
        NULL, recvcount);
}

/* --- the same for Fortran: mpif.h, `use mpi` and `use mpi_f08`, as gfortran names them --- */

/* The handles of mpi_f08 are types with one integer in them, so that an address of one is
 * what the older faces pass; its last argument may be missing. MPICH's mpi_f08 passes
 * descriptors of arrays, and then calls MPI_Reduce of C, which is ours. */

#define REDUCE(name)                                                                     \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *count, const MPI_Fint *type, \
              const MPI_Fint *op, const MPI_Fint *root, const MPI_Fint *comm,            \
              MPI_Fint *ierr);                                                           \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *count, const MPI_Fint *type, \
              const MPI_Fint *op, const MPI_Fint *root, const MPI_Fint *comm,            \
              MPI_Fint *ierr)                                                            \
    {                                                                                    \
        tell(ierr, by_call(sendbuf, recvbuf, count, type, op, root, comm));              \
    }

#define ALLREDUCE(name)                                                                  \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *count, const MPI_Fint *type, \
              const MPI_Fint *op, const MPI_Fint *comm, MPI_Fint *ierr);                 \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *count, const MPI_Fint *type, \
              const MPI_Fint *op, const MPI_Fint *comm, MPI_Fint *ierr)                  \
    {                                                                                    \
        tell(ierr, by_call(sendbuf, recvbuf, count, type, op, NULL, comm));              \
    }

#define PARTS(name, alike)                                                     \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *counts,            \
              const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm,  \
              MPI_Fint *ierr);                                                 \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *counts,            \
              const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm,  \
              MPI_Fint *ierr)                                                  \
    {                                                                          \
        tell(ierr, by_parts(sendbuf, recvbuf, counts, alike, type, op, comm)); \
    }

/* What MPI does in Fortran's own initialisation is left to it. */
#define INIT(name)                                   \
    void name(MPI_Fint *ierr);                       \
    void name(MPI_Fint *ierr)                        \
    {                                                \
        void (*theirs)(MPI_Fint *);                  \
        MPI_Fint code;                               \
                                                     \
        *(void **)&theirs = dlsym(RTLD_NEXT, #name); \
        theirs(&code);                               \
        begun(ierr, code);                           \
    }

#define INIT_THREAD(name)                                              \
    void name(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr); \
    void name(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr)  \
    {                                                                  \
        void (*theirs)(MPI_Fint *, MPI_Fint *, MPI_Fint *);            \
        MPI_Fint code;                                                 \
                                                                       \
        *(void **)&theirs = dlsym(RTLD_NEXT, #name);                   \
        theirs(required, provided, &code);                             \
        begun(ierr, code);                                             \
    }

/* So that there is a report in the end. */
#define FINALIZE(name)              \
    void name(MPI_Fint *ierr);      \
    void name(MPI_Fint *ierr)       \
    {                               \
        tell(ierr, MPI_Finalize()); \
    }

static void tell(MPI_Fint *ierr, int code)
{
    if (ierr != NULL)
        *ierr = (MPI_Fint)code;
}

static void begun(MPI_Fint *ierr, MPI_Fint code)
{
    if (code == MPI_SUCCESS)
        preload_start();
    tell(ierr, (int)code);
}

/* Without a root all want the result. */
static int by_call(void *sendbuf, void *recvbuf, const MPI_Fint *count,
                   const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *root,
                   const MPI_Fint *comm)
{
    return preload_call(
        &(struct cv_mpi_call){ .send = cv_fortran_address(sendbuf),
                               .recv = cv_fortran_address(recvbuf),
                               .count = (int)*count,
                               .type = PMPI_Type_f2c(*type),
                               .op = PMPI_Op_f2c(*op),
                               .root = root != NULL ? (int)*root : 0,
                               .reach = root != NULL ? CV_TO_ROOT : CV_TO_ALL,
                               .comm = PMPI_Comm_f2c(*comm) });
}

/* An integer of Fortran is an int of C, which is how both MPI libraries are built here. */
static int by_parts(void *sendbuf, void *recvbuf, const MPI_Fint *counts, bool alike,
                    const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm)
{
    _Static_assert(_Generic((MPI_Fint){ 0 }, int
                            : true, default
                            : false),
                   "counts are passed on as they are");

    return preload_parts(&(struct cv_mpi_call){ .send = cv_fortran_address(sendbuf),
                                                .recv = cv_fortran_address(recvbuf),
                                                .type = PMPI_Type_f2c(*type),
                                                .op = PMPI_Op_f2c(*op),
                                                .comm = PMPI_Comm_f2c(*comm) },
                         alike ? NULL : counts, alike ? (int)*counts : 0);
}

REDUCE(mpi_reduce_)
PARTS(mpi_reduce_scatter_, false)
PARTS(mpi_reduce_scatter_block_, true)
ALLREDUCE(mpi_allreduce_)
INIT(mpi_init_)
INIT_THREAD(mpi_init_thread_)
FINALIZE(mpi_finalize_)
INIT(mpi_init_f08_)
INIT_THREAD(mpi_init_thread_f08_)
FINALIZE(mpi_finalize_f08_)
#ifdef OMPI_MAJOR_VERSION
REDUCE(mpi_reduce_f08_)
PARTS(mpi_reduce_scatter_f08_, false)
PARTS(mpi_reduce_scatter_block_f08_, true)
ALLREDUCE(mpi_allreduce_f08_)
#endif
