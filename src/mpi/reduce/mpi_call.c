/* mpi_call.c -- execution of a call of the public interface. SPDX-License-Identifier: MIT
 *
 * Wrong arguments that MPI_Reduce checks are left to it, with its message and its error
 * handler. */
#include "mpi/reduce/mpi_call.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include "mpi/reduce/comm_state.h"
#include "mpi/reduce/reduction.h"

static bool is_pending(void)
{
    return atomic_load_explicit(&cv_mpi_process.pending, memory_order_relaxed) != 0;
}

/* --- reduce-scatter ----------------------------------------------------------------- */

/* The vector is reduced to rank 0, and its parts are sent from there. MPI libraries
 * reduce every part at its destination, which moves fewer bytes; so this pays if ranks
 * arrive at different times. */

bool cv_parts_fill(struct cv_mpi_call *call, const int *counts, int block)
{
    int64_t total = 0;
    int ranks = 0, inter = 0;

    call->reach = CV_TO_PARTS;
    call->root = 0;
    call->parts = counts;
    call->block = block;
    if (call->comm == MPI_COMM_NULL ||
        PMPI_Comm_test_inter(call->comm, &inter) != MPI_SUCCESS || inter ||
        PMPI_Comm_size(call->comm, &ranks) != MPI_SUCCESS)
        return false;
    for (int i = 0; i < ranks && total >= 0 && total <= INT_MAX; i++) {
        const int count = counts != NULL ? counts[i] : block;

        total = count < 0 ? -1 : total + count;
    }
    call->count = total < 0 || total > INT_MAX ? 0 : (int)total;
    return call->count > 0;
}

int cv_parts_by_mpi(const struct cv_mpi_call *call)
{
    if (call->parts == NULL)
        return PMPI_Reduce_scatter_block(call->send, call->recv, call->block, call->type,
                                         call->op, call->comm);
    return PMPI_Reduce_scatter(call->send, call->recv, call->parts, call->type, call->op,
                               call->comm);
}

/* *out: the buffer for the whole vector at the root, or the own values in place. */
static int vector_for_parts(const struct cv_mpi_call *call, struct cv_comm_state *state,
                            void **out)
{
    struct cv_vector vector;
    char *bytes = NULL;

    if (call->send == MPI_IN_PLACE) {
        *out = call->recv;
        return MPI_SUCCESS;
    }
    if (state->rank == call->root) {
        CV_MPI_TRY(cv_vector_init(&vector, call->count, call->type, call->op));
        CV_MPI_TRY(cv_scratch_vector(&state->parted, &vector, &bytes));
    }
    *out = bytes;
    return MPI_SUCCESS;
}

static int scatter_parts(const struct cv_mpi_call *call, struct cv_comm_state *state,
                         const void *whole)
{
    /* The part of the root is the first one, hence in place. */
    void *recv = call->send == MPI_IN_PLACE && state->rank == call->root ? MPI_IN_PLACE
                                                                         : call->recv;
    int *displacements;
    int code;

    if (call->parts == NULL)
        return PMPI_Scatter(whole, call->block, call->type, recv, call->block, call->type,
                            call->root, state->comm);
    displacements = malloc((size_t)state->size * sizeof *displacements);
    if (displacements == NULL)
        return MPI_ERR_NO_MEM;
    displacements[0] = 0;
    for (int i = 1; i < state->size; i++)
        displacements[i] = displacements[i - 1] + call->parts[i - 1];
    code = PMPI_Scatterv(whole, call->parts, displacements, call->type, recv,
                         call->parts[state->rank], call->type, call->root, state->comm);
    free(displacements);
    return code;
}

/* --- machines ----------------------------------------------------------------------- */

/* A partial that crosses from one machine to another takes longer, and all of them share
 * a link. So the ranks of a machine reduce first, by the dynamic policy of the call
 * (tree-dyn for tree-replan) and in shared memory, and then the first ranks of all
 * machines: one partial per machine crosses. Machines are those of MPI_Comm_split_type,
 * or groups of machine=N ranks. */

static int split(const struct cv_comm_state *state, MPI_Comm *out)
{
    const int ranks = state->settings.machine_ranks;

    if (ranks > 0)
        return PMPI_Comm_split(state->comm, state->rank / ranks, state->rank, out);
    return PMPI_Comm_split_type(state->comm, MPI_COMM_TYPE_SHARED, state->rank,
                                MPI_INFO_NULL, out);
}

/* Tell all ranks the machine of each rank. */
static int gather_machines(struct cv_cluster *cluster, const struct cv_comm_state *state)
{
    int ranks, max, machines = 0, index = 0;
    int rows = 1;

    CV_MPI_TRY(PMPI_Comm_size(cluster->machine, &ranks));
    if (cluster->leaders != MPI_COMM_NULL)
        CV_MPI_TRY(PMPI_Comm_rank(cluster->leaders, &index));
    CV_MPI_TRY(PMPI_Bcast(&index, 1, MPI_INT, 0, cluster->machine));
    CV_MPI_TRY(
        PMPI_Allgather(&index, 1, MPI_INT, cluster->leader, 1, MPI_INT, state->comm));
    CV_MPI_TRY(PMPI_Allreduce(&ranks, &max, 1, MPI_INT, MPI_MAX, state->comm));
    for (int i = 0; i < state->size; i++) {
        machines = cluster->leader[i] >= machines ? cluster->leader[i] + 1 : machines;
        rows += i > 0 && cluster->leader[i] != cluster->leader[i - 1];
    }
    cluster->machines = machines;
    cluster->useful = machines > 1 && max > 1;
    cluster->in_a_row = rows == machines;
    return MPI_SUCCESS;
}

static int make_cluster(struct cv_cluster *cluster, struct cv_comm_state *state)
{
    int here, ranks;

    cluster->machine = cluster->leaders = MPI_COMM_NULL;
    /* Usually one call is enough. With MPICH and more ranks than processors the calls
     * below take as long as a few reductions. */
    if (state->settings.machine_ranks == 0) {
        CV_MPI_TRY(cv_link_costs_look(&state->costs, state->comm));
        if (state->costs.together)
            return MPI_SUCCESS;
    }
    cluster->leader = malloc((size_t)state->size * sizeof *cluster->leader);
    if (cluster->leader == NULL)
        return MPI_ERR_NO_MEM;
    CV_MPI_TRY(split(state, &cluster->machine));
    CV_MPI_TRY(PMPI_Comm_rank(cluster->machine, &here));
    CV_MPI_TRY(PMPI_Comm_size(cluster->machine, &ranks));
    if (ranks == state->size)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Comm_split(state->comm, here == 0 ? 0 : MPI_UNDEFINED, state->rank,
                               &cluster->leaders));
    CV_MPI_TRY(gather_machines(cluster, state));
    if (!cluster->useful)
        return MPI_SUCCESS;
    CV_MPI_TRY(cv_comm_state_new(cluster->machine, &state->settings, &cluster->inside));
    cluster->inside->settings.machine_ranks = 1; /* shares memory */
    cluster->inside->nested = true;
    CV_MPI_TRY(cv_comm_state_open(cluster->inside));
    if (cluster->leaders == MPI_COMM_NULL)
        return MPI_SUCCESS;
    CV_MPI_TRY(cv_comm_state_new(cluster->leaders, &state->settings, &cluster->across));
    cluster->across->nested = true;
    return cv_comm_state_open(cluster->across);
}

/* Whether to reduce by machines: there are several, one of them has several ranks, and
 * the ranks of each are neighbours if order matters. Collective at the first call. */
static int fits_cluster(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                        struct cv_comm_state *state, bool *out)
{
    int commutes = 0;

    *out = false;
    if ((policy != CV_MPI_TREE_DYN && policy != CV_MPI_ORDERED &&
         policy != CV_MPI_TREE_REPLAN) ||
        state->settings.machine_ranks == 1 || state->nested || state->size < 3)
        return MPI_SUCCESS;
    if (state->cluster == NULL) {
        /* Other ranks may wait for this one in an earlier reduction. */
        CV_MPI_TRY(cv_reduction_drain(state));
        state->cluster = calloc(1, sizeof *state->cluster);
        if (state->cluster == NULL)
            return MPI_ERR_NO_MEM;
        CV_MPI_TRY(make_cluster(state->cluster, state));
    }
    CV_MPI_TRY(PMPI_Op_commutative(call->op, &commutes));
    *out = state->cluster->useful &&
           (policy == CV_MPI_ORDERED ? state->cluster->in_a_row : commutes != 0);
    return MPI_SUCCESS;
}

static int run(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
               struct cv_comm_state *state);

/* Send the result from the leader of the root's machine to the root. */
static int send_to_root(const struct cv_mpi_call *call, const struct cv_cluster *cluster,
                        const struct cv_comm_state *state, const void *held)
{
    int from = 0;

    while (cluster->leader[from] != cluster->leader[call->root])
        from++;
    if (from == call->root)
        return MPI_SUCCESS;
    if (state->rank == from)
        return PMPI_Send(held, call->count, call->type, call->root, CV_TAG_RESULT,
                         state->comm);
    if (state->rank == call->root)
        return PMPI_Recv(call->recv, call->count, call->type, from, CV_TAG_RESULT,
                         state->comm, MPI_STATUS_IGNORE);
    return MPI_SUCCESS;
}

static int run_cluster(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                       struct cv_comm_state *state)
{
    struct cv_cluster *cluster = state->cluster;
    struct cv_mpi_call part = *call;
    char *held = NULL;

    CV_MPI_TRY(cv_reduction_drain(state));
    if (call->send == MPI_IN_PLACE)
        part.send = call->recv;
    if (cluster->across != NULL && state->rank == call->root) {
        held = call->recv;
        if (call->send == MPI_IN_PLACE)
            part.send = MPI_IN_PLACE;
    } else if (cluster->across != NULL) {
        struct cv_vector vector;

        CV_MPI_TRY(cv_vector_init(&vector, call->count, call->type, call->op));
        CV_MPI_TRY(cv_scratch_vector(&cluster->held, &vector, &held));
    }
    part.recv = held;
    part.root = 0;
    part.reach = CV_TO_ROOT;
    CV_MPI_TRY(run(&part, policy == CV_MPI_TREE_REPLAN ? CV_MPI_TREE_DYN : policy,
                   cluster->inside));
    if (cluster->across != NULL) {
        part.root = cluster->leader[call->root];
        part.send = cluster->across->rank == part.root ? MPI_IN_PLACE : held;
        CV_MPI_TRY(run(&part, policy, cluster->across));
    }
    return send_to_root(call, cluster, state, held);
}

/* --- calls -------------------------------------------------------------------------- */

enum { FEW_CALLS = 8 }; /* left to the MPI library on a new communicator */

/* Calls of this thread for which auto has chosen the MPI library: the rest of cv_call_do
 * takes as long as a tenth of a short reduction. Only for predefined types and operators:
 * other handles may be freed and used again, on some ranks. */
enum { PASSES = 8 };

static _Thread_local struct pass {
    struct cv_comm_state *state; /* borrowed; NULL: none */
    struct cv_choice *choice;
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op op;
    int count;
    enum cv_mpi_reach reach;
    unsigned closed;
} passes[PASSES];

static unsigned pass_of(const struct cv_mpi_call *call)
{
    const unsigned long where = (unsigned long)call->comm;

    return ((unsigned)(where ^ where >> 6) ^ (unsigned)call->count ^
            (unsigned)call->count >> 4) %
           PASSES;
}

static bool is_passed(const struct cv_mpi_call *call)
{
    const unsigned i = pass_of(call);
    const struct cv_comm_state *state = passes[i].state;

    if (state == NULL || passes[i].comm != call->comm || passes[i].count != call->count ||
        passes[i].type != call->type || passes[i].op != call->op ||
        passes[i].reach != call->reach)
        return false;
    if (passes[i].closed !=
            atomic_load_explicit(&cv_mpi_process.closed, memory_order_acquire) ||
        is_pending() || state->broken != MPI_SUCCESS)
        return false;
    if (call->reach == CV_TO_ROOT &&
        (call->root < 0 || call->root >= state->size || call->send == MPI_IN_PLACE))
        return false;
    return cv_chooser_passes(&state->chooser, passes[i].choice);
}

static bool is_named(MPI_Datatype type)
{
    int integers, addresses, types, combiner;

    return PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) ==
               MPI_SUCCESS &&
           combiner == MPI_COMBINER_NAMED;
}

static bool is_predefined(MPI_Op op)
{
    const MPI_Op known[] = {
        MPI_SUM, MPI_MAX, MPI_MIN,  MPI_PROD, MPI_LAND,   MPI_BAND,
        MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (op == known[i])
            return true;
    return false;
}

static void remember_pass(const struct cv_mpi_call *call, struct cv_comm_state *state,
                          const struct cv_kind *kind)
{
    if (is_predefined(call->op) && is_named(call->type))
        passes[pass_of(call)] = (struct pass){
            state,
            cv_chooser_choice(&state->chooser, kind),
            call->comm,
            call->type,
            call->op,
            call->count,
            call->reach,
            atomic_load_explicit(&cv_mpi_process.closed, memory_order_acquire)
        };
}

static int by_mpi(const struct cv_mpi_call *call)
{
    if (call->reach == CV_TO_PARTS)
        return cv_parts_by_mpi(call);
    if (call->reach == CV_TO_ALL)
        return PMPI_Allreduce(call->send, call->recv, call->count, call->type, call->op,
                              call->comm);
    return PMPI_Reduce(call->send, call->recv, call->count, call->type, call->op,
                       call->root, call->comm);
}

/* Complete earlier reductions first: other ranks may wait for this one in them. */
static int by_mpi_after_ours(const struct cv_mpi_call *call)
{
    struct cv_comm_state *state = is_pending() ? cv_mpi_process_find(call->comm) : NULL;

    if (state != NULL) {
        int code = cv_reduction_drain(state);

        if (code != MPI_SUCCESS)
            return cv_mpi_process_raise(call->comm, code);
    }
    return by_mpi(call);
}

int cv_call_policy(const char *name, enum cv_mpi_policy *out)
{
    struct cleave_error err;

    if (cv_mpi_policy_read(name, out, &err) != CLEAVE_OK)
        return cv_mpi_process_error(err.text);
    return MPI_SUCCESS;
}

/* Wrong arguments that the state of the communicator shows. */
static bool is_wrong(const struct cv_mpi_call *call, struct cv_comm_state *state)
{
    if (call->root < 0 || call->root >= state->size)
        return true;
    if (call->send == MPI_IN_PLACE && state->rank != call->root &&
        call->reach == CV_TO_ROOT)
        return true;
    if (call->op == state->checked_op && call->type == state->checked_type)
        return false;
    if (!cv_mpi_process_allows(call->op, call->type))
        return true;
    state->checked_op = call->op;
    state->checked_type = call->type;
    return false;
}

static bool is_empty(const struct cv_mpi_call *call)
{
    return call->comm == MPI_COMM_NULL || call->op == MPI_OP_NULL ||
           call->type == MPI_DATATYPE_NULL || call->count <= 0;
}

int cv_call_state(const struct cv_mpi_call *call, struct cv_comm_state **out)
{
    struct cv_comm_state *state;
    int inter = 0, size = 0;

    *out = NULL;
    if (is_empty(call))
        return MPI_SUCCESS;
    state = cv_mpi_process_find(call->comm);
    if (state == NULL) {
        if (!cv_mpi_process_has_world() ||
            PMPI_Comm_test_inter(call->comm, &inter) != MPI_SUCCESS || inter ||
            PMPI_Comm_size(call->comm, &size) != MPI_SUCCESS || size < 2)
            return MPI_SUCCESS;
        CV_MPI_TRY(cv_mpi_process_meet(call->comm, &state));
    }
    if (state->size >= 2 && !is_wrong(call, state))
        *out = state;
    return MPI_SUCCESS;
}

static int to_root(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                   struct cv_comm_state *state)
{
    struct cv_reduction r;
    bool by_machines;

    state->broken = fits_cluster(call, policy, state, &by_machines);
    if (state->broken == MPI_SUCCESS && by_machines)
        state->broken = run_cluster(call, policy, state);
    if (state->broken != MPI_SUCCESS || by_machines)
        return state->broken;
    CV_MPI_TRY(cv_reduction_begin(call, policy, state, &r));
    r.blocks = true;
    return cv_reduction_drive(&r, true);
}

/* The only rank of a machine, or of the leaders. */
static int copy_alone(const struct cv_mpi_call *call, const struct cv_comm_state *state)
{
    struct cv_vector vector;

    if (call->send == MPI_IN_PLACE)
        return MPI_SUCCESS;
    CV_MPI_TRY(cv_vector_init(&vector, call->count, call->type, call->op));
    return cv_vector_copy(&vector, call->send, call->recv, call->count, state->comm, 0);
}

/* Reduce, and broadcast or scatter the result if the call asks for it. */
static int run(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
               struct cv_comm_state *state)
{
    struct cv_mpi_call to_one = *call;
    bool shares = false;

    if (state->broken != MPI_SUCCESS)
        return state->broken;
    if (state->size == 1)
        return copy_alone(call, state);
    state->broken = cv_shared_sum_fits(call, policy, state, &shares);
    if (state->broken == MPI_SUCCESS && shares)
        state->broken = cv_shared_sum_run(call, state);
    if (state->broken != MPI_SUCCESS || shares)
        return state->broken;
    if (call->reach == CV_TO_PARTS)
        CV_MPI_TRY(vector_for_parts(call, state, &to_one.recv));
    CV_MPI_TRY(to_root(&to_one, policy, state));
    if (call->reach == CV_TO_ROOT)
        return MPI_SUCCESS;
    if (call->reach == CV_TO_PARTS)
        return scatter_parts(call, state, to_one.recv);
    return PMPI_Bcast(call->recv, call->count, call->type, call->root, state->comm);
}

static int run_auto(const struct cv_mpi_call *call, int size, struct cv_comm_state *state)
{
    struct cv_kind kind = { .bytes = size < 0 ? HUGE_VAL : (double)size * call->count,
                            .reach = call->reach };
    struct cv_pick pick;
    int commutes;

    if (state->broken != MPI_SUCCESS)
        return state->broken;
    CV_MPI_TRY(PMPI_Op_commutative(call->op, &commutes));
    kind.commutes = commutes != 0;
    /* Choosing is collective: other ranks may wait for this one in an earlier
     * reduction. */
    if (state->first != NULL)
        CV_MPI_TRY(cv_reduction_drain(state));
    CV_MPI_TRY(cv_chooser_pick(&state->chooser, state->comm, &kind, &pick));
    CV_MPI_TRY(pick.policy == CV_MPI_MPI ? by_mpi(call) : run(call, pick.policy, state));
    if (pick.policy == CV_MPI_MPI && !pick.measured)
        remember_pass(call, state, &kind);
    if (!pick.measured)
        return MPI_SUCCESS;
    return cv_chooser_note(&state->chooser, state->comm, &pick,
                           call->reach != CV_TO_ROOT || state->rank == call->root);
}

/* Setting up does not pay for a communicator that is used a few times, and two ranks on
 * different machines have no choice. */
static bool is_left_to_mpi(struct cv_comm_state *state)
{
    if (state->comm == MPI_COMM_NULL)
        return state->seen++ < FEW_CALLS;
    return state->size == 2 && state->chooser.apart;
}

/* `size` of an element is negative (MPI_UNDEFINED) if an int cannot hold it. */
static bool is_short(int count, int size)
{
    return size >= 0 && (int64_t)size * count < CV_SHORT_BYTES;
}

/* Below the setting least=SIZE. */
static bool is_less(const struct cv_mpi_call *call, int size,
                    const struct cv_comm_state *state)
{
    return size >= 0 && (double)size * call->count < state->settings.least_bytes;
}

bool cv_call_is_short(int count, MPI_Datatype type)
{
    int size;

    return count > 0 && type != MPI_DATATYPE_NULL && !is_pending() &&
           PMPI_Type_size(type, &size) == MPI_SUCCESS && is_short(count, size);
}

/* How a call is executed. */
enum way { BY_MPI, BY_MPI_AFTER_OURS, BY_US, FAIL };

struct decision {
    struct cv_comm_state *state; /* for BY_US                                  */
    int size;                    /* bytes of an element                        */
    int code;                    /* for FAIL                                   */
    bool ours;                   /* a policy decided, or executes the call     */
    bool lent;                   /* the communicator exists for this call only */
};

/* The order of the cases matters: a case needs facts of the cases before it. */
static enum way decide(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                       struct decision *out)
{
    const bool chooses = policy == CV_MPI_AUTO, fixed = cv_mpi_policy_is_fixed(policy);
    bool may = true;

    /* Known from earlier calls of this thread. */
    if (chooses && is_passed(call)) {
        out->ours = true;
        return BY_MPI;
    }
    /* Arguments. Not every MPI library checks the count. */
    if (call->count < 0 && call->comm != MPI_COMM_NULL) {
        out->code = MPI_ERR_COUNT;
        return FAIL;
    }
    if (is_empty(call))
        return BY_MPI;
    /* Size and policy, the same on all ranks. */
    PMPI_Type_size(call->type, &out->size);
    if (policy == CV_MPI_MPI || (chooses && is_short(call->count, out->size)))
        return BY_MPI_AFTER_OURS;
    /* The communicator. */
    out->code = cv_call_state(call, &out->state);
    if (out->code != MPI_SUCCESS)
        return FAIL;
    if (out->state == NULL)
        return BY_MPI;
    if (!chooses && !fixed && is_less(call, out->size, out->state))
        return BY_MPI_AFTER_OURS;
    out->ours = true;
    if (chooses && is_left_to_mpi(out->state))
        return BY_MPI_AFTER_OURS;
    if (out->state->comm != MPI_COMM_NULL)
        return BY_US;
    /* A copy of it. A fixed tree, which the program relies on, gets one for this call in
     * any case. */
    out->code = cv_mpi_process_place(out->state, &may);
    if (out->code != MPI_SUCCESS)
        return FAIL;
    out->lent = !may;
    if ((out->lent && !fixed) || cv_comm_state_open(out->state) != MPI_SUCCESS)
        return BY_MPI_AFTER_OURS;
    return BY_US;
}

int cv_call_do(const struct cv_mpi_call *call, enum cv_mpi_policy policy, bool *out_ours)
{
    struct decision decision = { .size = 0 };
    const enum way way = decide(call, policy, &decision);
    int code = decision.code;

    if (out_ours != NULL)
        *out_ours = decision.ours;
    if (way == BY_MPI)
        return by_mpi(call);
    if (way == BY_MPI_AFTER_OURS)
        return by_mpi_after_ours(call);
    if (way == BY_US) {
        code = policy == CV_MPI_AUTO ? run_auto(call, decision.size, decision.state)
                                     : run(call, policy, decision.state);
        if (decision.lent)
            cv_comm_state_close(decision.state);
    }
    return cv_mpi_process_raise(call->comm, code);
}
