/* preload.c -- reductions of programs that do not use cleave.
 * SPDX-License-Identifier: MIT
 *
 * LD_PRELOAD puts these functions before those of the MPI library, whose names with PMPI
 * remain. The variable CLEAVE_MPI has the settings; the default is "auto". */
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

/* From CLEAVE_MPI, read at the first call. The library has no other place for it than a
 * global variable. */
static struct {
    bool ready, verbose;
    bool hands_on; /* leave short vectors to the MPI library */
    enum cv_mpi_policy policy;
    double reductions, handed_on; /* calls: by a policy; left to MPI at once */
} state;

/* --- the report, by rank 0 of each communicator ------------------------------------- */

static void format_size(double bytes, char *text, size_t size)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
    int unit = 0;

    for (; bytes >= 1024 && unit < 3; unit++)
        bytes /= 1024;
    snprintf(text, size, "%g %s", bytes, units[unit]);
}

static void report_class(const struct cv_comm_state *of, int class)
{
    const struct cv_choice *choice = &of->chooser.choices[class];
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
    format_size(cv_chooser_bytes(class), from, sizeof from);
    fprintf(stderr, "cleave:   %s from %s%s: %u calls, %s", reaches[class / CV_SIZES / 2],
            from, class / CV_SIZES % 2 ? "" : " in order", choice->calls,
            cv_mpi_policy_text(cv_chooser_policy(&of->chooser, class, choice->best)));
    if (choice->spreads > 0)
        fprintf(stderr, ", arrivals within %.3g ms, result %.3g ms after the last",
                choice->median_spread_s * 1e3, best->median_s * 1e3);
    if (choice->best != CV_ARM_OWN && own->measured > 0)
        fprintf(stderr, " (MPI: %.3g ms)", own->median_s * 1e3);
    fprintf(stderr, ", gained %.3g s\n", gained);
}

static void report_comm(const struct cv_comm_state *of)
{
    const int machines =
        of->cluster != NULL && of->cluster->useful ? of->cluster->machines : 0;

    if (of->rank != 0 || (of->chooser.choices == NULL && machines == 0 &&
                          of->ahead == 0 && of->vectors.number == 0))
        return;
    fprintf(stderr, "cleave: communicator of %d ranks", of->size);
    if (machines > 0)
        fprintf(stderr, " on %d machines", machines);
    if (of->ahead > 0)
        fprintf(stderr, ", rank 0 met the next %u times while it combined", of->ahead);
    if (of->vectors.number > 0)
        fprintf(stderr, ", %u reductions in memory that all share", of->vectors.number);
    fprintf(stderr, "%s\n", of->chooser.choices != NULL ? ":" : "");
    for (int class = 0; of->chooser.choices != NULL && class < CV_CLASSES; class ++)
        report_class(of, class);
}

static void report_sum(void)
{
    int rank = 0;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "cleave: policy %s, %.0f reductions, %.0f left to MPI at once\n",
                cv_mpi_policy_text(state.policy), state.reductions, state.handed_on);
}

/* --- calls -------------------------------------------------------------------------- */

/* mpirun may end all ranks before it has read their messages. */
static const struct timespec to_pass_it_on = { .tv_nsec = 200000000 };

static void read_settings(bool together)
{
    const char *text = getenv("CLEAVE_MPI");
    struct cleave_error err;
    int rank = 0;

    state.ready = true;
    state.policy = CV_MPI_AUTO;
    if (text == NULL ||
        cv_mpi_settings_read(text, &cv_mpi_process.defaults, &state.policy,
                             &state.verbose, &err) == CLEAVE_OK)
        return;
    /* At the start rank 0 prints the error, and other ranks wait to be ended. Later, not
     * all ranks may get here. */
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

/* Whether mpirun has started more ranks on this machine than it has processors. A rank
 * that is bound to one processor does not see others. */
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

/* If ranks share processors, each message of a short reduction waits until its receiver
 * is scheduled, and policies with more messages are slower. All ranks must agree. */
static void leave_short(void)
{
    struct cv_mpi_settings *defaults = &cv_mpi_process.defaults;
    int mine = is_crowded(), any = 0;

    if (state.policy == CV_MPI_AUTO || state.policy == CV_MPI_MPI ||
        cv_mpi_policy_is_fixed(state.policy) || defaults->least_bytes > 0)
        return;
    if (PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS &&
        any)
        defaults->least_bytes = CV_SHORT_BYTES;
}

/* `together`: MPI has been initialised, on all ranks. */
static void make_ready(bool together)
{
    if (state.ready)
        return;
    read_settings(together);
    if (together)
        leave_short();
    state.hands_on = state.policy == CV_MPI_AUTO;
    if (state.verbose)
        cv_mpi_process.report = report_comm;
}

/* An operator that does not commute gets a policy that keeps the order. */
static enum cv_mpi_policy fitting(enum cv_mpi_policy policy, MPI_Op op)
{
    int commutes = 1;

    if ((policy == CV_MPI_TREE_DYN || policy == CV_MPI_TREE_REPLAN) && op != MPI_OP_NULL)
        PMPI_Op_commutative(op, &commutes);
    return commutes ? policy : CV_MPI_ORDERED;
}

/* MPI_Reduce and MPI_Allreduce of the program. */
static int execute(const struct cv_mpi_call *call)
{
    enum cv_mpi_policy policy = CV_MPI_MPI;
    bool ours;
    int code;

    /* In a session before MPI_Init, settings are not read yet. */
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
        make_ready(true);
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = PMPI_Init_thread(argc, argv, required, provided);

    if (code == MPI_SUCCESS)
        make_ready(true);
    return code;
}

int MPI_Finalize(void)
{
    if (state.verbose)
        report_sum();
    return PMPI_Finalize();
}

int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
               MPI_Op op, int root, MPI_Comm comm)
{
    if (state.hands_on && cv_call_is_short(count, datatype)) {
        state.handed_on++;
        return PMPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
    }
    return execute(&(struct cv_mpi_call){ sendbuf, recvbuf, count, datatype, op, root,
                                          CV_TO_ROOT, comm, NULL, 0 });
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm)
{
    if (state.hands_on && cv_call_is_short(count, datatype)) {
        state.handed_on++;
        return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
    }
    return execute(&(struct cv_mpi_call){ sendbuf, recvbuf, count, datatype, op, 0,
                                          CV_TO_ALL, comm, NULL, 0 });
}

/* MPI_Reduce_scatter, with counts, and MPI_Reduce_scatter_block, without. */
static int execute_parts(struct cv_mpi_call *call, const int *counts, int block)
{
    if (cv_parts_fill(call, counts, block) &&
        !(state.hands_on && cv_call_is_short(call->count, call->type)))
        return execute(call);
    state.handed_on++;
    return cv_parts_by_mpi(call);
}

int MPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[],
                       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return execute_parts(
        &(struct cv_mpi_call){
            .send = sendbuf, .recv = recvbuf, .type = datatype, .op = op, .comm = comm },
        recvcounts, 0);
}

int MPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount,
                             MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return execute_parts(
        &(struct cv_mpi_call){
            .send = sendbuf, .recv = recvbuf, .type = datatype, .op = op, .comm = comm },
        NULL, recvcount);
}

/* --- Fortran: mpif.h, `use mpi` and `use mpi_f08`, as gfortran names them ----------- */

/* Handles of mpi_f08 are types with one integer, so their addresses are those of the
 * older interfaces; the last argument may be missing. MPICH's mpi_f08 passes array
 * descriptors and calls MPI_Reduce of C. */

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define REDUCE(name)                                                                     \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *count, const MPI_Fint *type, \
              const MPI_Fint *op, const MPI_Fint *root, const MPI_Fint *comm,            \
              MPI_Fint *ierr)                                                            \
    {                                                                                    \
        tell(ierr, by_call(sendbuf, recvbuf, count, type, op, root, comm));              \
    }

#define ALLREDUCE(name)                                                                  \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *count, const MPI_Fint *type, \
              const MPI_Fint *op, const MPI_Fint *comm, MPI_Fint *ierr)                  \
    {                                                                                    \
        tell(ierr, by_call(sendbuf, recvbuf, count, type, op, NULL, comm));              \
    }

#define PARTS(name, alike)                                                     \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *counts,            \
              const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm,  \
              MPI_Fint *ierr)                                                  \
    {                                                                          \
        tell(ierr, by_parts(sendbuf, recvbuf, counts, alike, type, op, comm)); \
    }

/* The initialisation of Fortran does more than MPI_Init. */
#define INIT(name)                                   \
    void name(MPI_Fint *ierr)                        \
    {                                                \
        void (*theirs)(MPI_Fint *);                  \
        MPI_Fint code;                               \
                                                     \
        *(void **)&theirs = dlsym(RTLD_NEXT, #name); \
        theirs(&code);                               \
        begun(ierr, code);                           \
    }

#define INIT_THREAD(name)                                             \
    void name(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr) \
    {                                                                 \
        void (*theirs)(MPI_Fint *, MPI_Fint *, MPI_Fint *);           \
        MPI_Fint code;                                                \
                                                                      \
        *(void **)&theirs = dlsym(RTLD_NEXT, #name);                  \
        theirs(required, provided, &code);                            \
        begun(ierr, code);                                            \
    }

#define FINALIZE(name)              \
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
        make_ready(true);
    tell(ierr, (int)code);
}

/* Without a root, all ranks get the result. */
static int by_call(void *sendbuf, void *recvbuf, const MPI_Fint *count,
                   const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *root,
                   const MPI_Fint *comm)
{
    return execute(&(struct cv_mpi_call){
        cv_fortran_address(sendbuf), cv_fortran_address(recvbuf), (int)*count,
        PMPI_Type_f2c(*type), PMPI_Op_f2c(*op), root != NULL ? (int)*root : 0,
        root != NULL ? CV_TO_ROOT : CV_TO_ALL, PMPI_Comm_f2c(*comm), NULL, 0 });
}

/* Both MPI libraries are built with an integer of Fortran that is an int of C. */
static int by_parts(void *sendbuf, void *recvbuf, const MPI_Fint *counts, bool alike,
                    const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm)
{
    _Static_assert(_Generic((MPI_Fint){ 0 }, int
                            : true, default
                            : false),
                   "counts are passed on unchanged");

    return execute_parts(&(struct cv_mpi_call){ .send = cv_fortran_address(sendbuf),
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
