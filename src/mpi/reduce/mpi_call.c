/* mpi_call.c -- a call of the public interface, checked and ready to be carried out.
 * SPDX-License-Identifier: MIT
 *
 * Mistakes in the arguments that MPI_Reduce knows are left to it: it says what it always
 * says, through the handler it always uses. */
#include "mpi/reduce/mpi_call.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include "mpi/memory/mpi_try.h"
#include "mpi/reduce/comm_state.h"
#include "mpi/reduce/reduction.h"

/* --- reductions whose result is shared out: MPI_Reduce_scatter --------------------- */

/* The vector is reduced to rank 0, which is where late ranks cost least, and its parts are
 * sent from there. MPI libraries reduce every part at its own place, which moves less; so it
 * pays where ranks come at different times. */

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

/* Where the vector is reduced to: at the root memory of the team or, if all is in place, the
 * buffer it was given. NULL elsewhere, and where memory is short, which *out_code says. */
static void *parts_whole(const struct cv_mpi_call *call, struct cv_comm_state *state,
                         int *out_code)
{
    struct cv_vector vector;
    char *bytes;

    *out_code = MPI_SUCCESS;
    if (state->rank != call->root)
        return call->send == MPI_IN_PLACE ? call->recv : NULL;
    if (call->send == MPI_IN_PLACE)
        return call->recv;
    *out_code = cv_vector_init(&vector, call->count, call->type, call->op);
    if (*out_code != MPI_SUCCESS)
        return NULL;
    bytes = cv_scratch_get(&state->parted, vector.span);
    if (bytes == NULL)
        *out_code = MPI_ERR_NO_MEM;
    return bytes != NULL ? bytes - vector.lower : NULL;
}

/* The root has the vector there: everybody gets its part. */
static int parts_share(const struct cv_mpi_call *call, struct cv_comm_state *state,
                       const void *whole)
{
    /* The root's own part is the first, and so in its place. */
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

/* --- ranks of one machine reduce among themselves first ---------------------------- */

struct cv_cluster {
    int machines;
    bool useful;   /* several machines, one of them with several ranks         */
    bool in_a_row; /* the ranks of each are neighbours                          */
    MPI_Comm machine, fore; /* owned: this machine's ranks; the first ranks of all, or
                               MPI_COMM_NULL                                            */
    struct cv_comm_state *inside,
        *across; /* owned: of these                                  */
    int *
        first; /* owned: for each rank, the first one of its machine, by its number in `fore` */
    struct cv_scratch held;
};

/* Collective, as what it frees. */
static void free_cluster(struct cv_cluster *cluster)
{
    if (cluster->inside != NULL)
        cv_comm_state_free(cluster->inside);
    if (cluster->across != NULL)
        cv_comm_state_free(cluster->across);
    if (cluster->machine != MPI_COMM_NULL)
        PMPI_Comm_free(&cluster->machine);
    if (cluster->fore != MPI_COMM_NULL)
        PMPI_Comm_free(&cluster->fore);
    cv_scratch_free(&cluster->held);
    free(cluster->first);
    free(cluster);
}

static int split(const struct cv_comm_state *state, MPI_Comm *out)
{
    const int ranks = state->settings.machine_ranks;

    if (ranks > 0)
        return PMPI_Comm_split(state->comm, state->rank / ranks, state->rank, out);
    return PMPI_Comm_split_type(state->comm, MPI_COMM_TYPE_SHARED, state->rank,
                                MPI_INFO_NULL, out);
}

/* Who is where: all know the number in `fore` of everybody's machine. */
static int look(struct cv_cluster *cluster, const struct cv_comm_state *state)
{
    int ranks, max, machines = 0, index = 0;
    int rows = 1;

    CV_MPI_TRY(PMPI_Comm_size(cluster->machine, &ranks));
    if (cluster->fore != MPI_COMM_NULL)
        CV_MPI_TRY(PMPI_Comm_rank(cluster->fore, &index));
    CV_MPI_TRY(PMPI_Bcast(&index, 1, MPI_INT, 0, cluster->machine));
    CV_MPI_TRY(
        PMPI_Allgather(&index, 1, MPI_INT, cluster->first, 1, MPI_INT, state->comm));
    CV_MPI_TRY(PMPI_Allreduce(&ranks, &max, 1, MPI_INT, MPI_MAX, state->comm));
    for (int i = 0; i < state->size; i++) {
        machines = cluster->first[i] >= machines ? cluster->first[i] + 1 : machines;
        rows += i > 0 && cluster->first[i] != cluster->first[i - 1];
    }
    cluster->machines = machines;
    cluster->useful = machines > 1 && max > 1;
    cluster->in_a_row = rows == machines;
    return MPI_SUCCESS;
}

static int make(struct cv_cluster *cluster, struct cv_comm_state *state)
{
    int here, ranks;

    cluster->machine = cluster->fore = MPI_COMM_NULL;
    /* One call tells, in general. With MPICH and more ranks than processors what follows
     * takes as long as a few reductions. */
    if (state->settings.machine_ranks == 0) {
        CV_MPI_TRY(cv_link_costs_look(&state->costs, state->comm));
        if (state->costs.together)
            return MPI_SUCCESS;
    }
    cluster->first = malloc((size_t)state->size * sizeof *cluster->first);
    if (cluster->first == NULL)
        return MPI_ERR_NO_MEM;
    CV_MPI_TRY(split(state, &cluster->machine));
    CV_MPI_TRY(PMPI_Comm_rank(cluster->machine, &here));
    CV_MPI_TRY(PMPI_Comm_size(cluster->machine, &ranks));
    if (ranks == state->size)
        return MPI_SUCCESS; /* all are here */
    CV_MPI_TRY(PMPI_Comm_split(state->comm, here == 0 ? 0 : MPI_UNDEFINED, state->rank,
                               &cluster->fore));
    CV_MPI_TRY(look(cluster, state));
    if (!cluster->useful)
        return MPI_SUCCESS;
    CV_MPI_TRY(cv_comm_state_new(cluster->machine, &state->settings, &cluster->inside));
    cluster->inside->settings.machine_ranks = 1; /* there are no machines within one */
    CV_MPI_TRY(cv_comm_state_open(cluster->inside));
    if (cluster->fore == MPI_COMM_NULL)
        return MPI_SUCCESS;
    CV_MPI_TRY(cv_comm_state_new(cluster->fore, &state->settings, &cluster->across));
    return cv_comm_state_open(cluster->across);
}

int cv_cluster_fits(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                    struct cv_comm_state *state, bool *out)
{
    int commutes = 0;

    *out = false;
    if ((policy != CV_MPI_TREE_DYN && policy != CV_MPI_ORDERED &&
         policy != CV_MPI_TREE_REPLAN) ||
        state->settings.machine_ranks == 1 || state->size < 3)
        return MPI_SUCCESS;
    if (state->cluster == NULL) {
        /* Others may be in a reduction that was begun before, and wait for this rank. */
        CV_MPI_TRY(cv_reduction_drain(state));
        state->cluster = calloc(1, sizeof *state->cluster);
        if (state->cluster == NULL)
            return MPI_ERR_NO_MEM;
        state->free_cluster = free_cluster;
        CV_MPI_TRY(make(state->cluster, state));
    }
    CV_MPI_TRY(PMPI_Op_commutative(call->op, &commutes));
    *out = state->cluster->useful &&
           (policy == CV_MPI_ORDERED ? state->cluster->in_a_row : commutes != 0);
    return MPI_SUCCESS;
}

static int reduce(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                  struct cv_comm_state *state)
{
    struct cv_reduction r;
    bool shares;

    if (state->broken != MPI_SUCCESS)
        return state->broken;
    if (state->size == 1) {
        struct cv_vector vector;

        if (call->send == MPI_IN_PLACE)
            return MPI_SUCCESS;
        CV_MPI_TRY(cv_vector_init(&vector, call->count, call->type, call->op));
        return cv_vector_copy(&vector, call->send, call->recv, call->count, state->comm,
                              0);
    }
    CV_MPI_TRY(cv_shared_sum_fits(call, policy, state, &shares));
    if (shares)
        return cv_shared_sum_run(call, state);
    CV_MPI_TRY(cv_reduction_begin(call, policy, state, &r));
    r.blocks = true;
    return cv_reduction_drive(&r, true);
}

/* The result is with the first rank of the root's machine: the root wants it. */
static int hand_over(const struct cv_mpi_call *call, const struct cv_cluster *cluster,
                     const struct cv_comm_state *state, const void *held)
{
    int from = 0;

    while (cluster->first[from] != cluster->first[call->root])
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

/* Carry it out, to the root. */
static int cluster_run(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                       struct cv_comm_state *state)
{
    struct cv_cluster *cluster = state->cluster;
    struct cv_mpi_call part = *call;
    char *held = NULL;

    /* What was begun before comes first: others may wait for it. */
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
        held = cv_scratch_get(&cluster->held, vector.span);
        if (held == NULL)
            return MPI_ERR_NO_MEM;
        held -= vector.lower;
    }
    part.recv = held;
    part.root = 0;
    part.reach = CV_TO_ROOT;
    /* Inside they have memory to meet in. */
    CV_MPI_TRY(reduce(&part, policy == CV_MPI_TREE_REPLAN ? CV_MPI_TREE_DYN : policy,
                      cluster->inside));
    if (cluster->across != NULL) {
        part.root = cluster->first[call->root];
        part.send = cluster->across->rank == part.root ? MPI_IN_PLACE : held;
        CV_MPI_TRY(reduce(&part, policy, cluster->across));
    }
    return hand_over(call, cluster, state, held);
}

int cv_cluster_machines(const struct cv_cluster *cluster)
{
    return cluster != NULL && cluster->useful ? cluster->machines : 0;
}

/* --- a call of the public interface, checked and ready to be carried out ----------- */

/* Vectors so short are not worth a thought in "auto": finding the communicator's team
 * takes as long as a tenth of the reduction. By size alone, which is the same on all
 * ranks. */
enum { FEW_CALLS = 8 };

/* Calls that this thread left to the MPI library, of the kinds in which that proved to be best:
 * for programs whose calls take no longer than a few thoughts.
 * Only of types and operators that are there from the start: the name of one that is made may be
 * that of another one later, on some ranks. */
enum { PASSES = 8 };

static _Thread_local struct {
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
    if (passes[i].closed != cv_mpi_process_closed() || cv_mpi_process_pending() ||
        state->broken != MPI_SUCCESS)
        return false;
    /* Mistakes do not count, as they do not elsewhere. */
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
    const unsigned i = pass_of(call);

    if (!is_predefined(call->op) || !is_named(call->type))
        return;
    passes[i].state = state;
    passes[i].choice = cv_chooser_choice(&state->chooser, kind);
    passes[i].comm = call->comm;
    passes[i].type = call->type;
    passes[i].op = call->op;
    passes[i].count = call->count;
    passes[i].reach = call->reach;
    passes[i].closed = cv_mpi_process_closed();
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

/* Reductions begun before come first, on each rank that still has to do with one: others
 * may wait for it there. */
static int hand_on(const struct cv_mpi_call *call)
{
    struct cv_comm_state *state =
        cv_mpi_process_pending() ? cv_mpi_process_find(call->comm) : NULL;

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

/* Mistakes that are found with the team at hand, and left to MPI_Reduce as well. */
static bool is_mistaken(const struct cv_mpi_call *call, struct cv_comm_state *state)
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

/* Nothing that is to be looked at more closely. */
static bool is_empty(const struct cv_mpi_call *call)
{
    return call->comm == MPI_COMM_NULL || call->op == MPI_OP_NULL ||
           call->type == MPI_DATATYPE_NULL || call->count <= 0;
}

int cv_call_team(const struct cv_mpi_call *call, struct cv_comm_state **out)
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
    if (state->size >= 2 && !is_mistaken(call, state))
        *out = state;
    return MPI_SUCCESS;
}

/* To the end. Where that goes by machines, what is sent from one to another is an error
 * of the team's as any other is. */
static int to_root(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                   struct cv_comm_state *state)
{
    struct cv_reduction r;
    bool by_machines;

    state->broken = cv_cluster_fits(call, policy, state, &by_machines);
    if (state->broken == MPI_SUCCESS && by_machines)
        state->broken = cluster_run(call, policy, state);
    if (state->broken != MPI_SUCCESS || by_machines)
        return state->broken;
    CV_MPI_TRY(cv_reduction_begin(call, policy, state, &r));
    r.blocks = true;
    return cv_reduction_drive(&r, true);
}

/* To the end, and the result, or its parts, sent to all if they want it. */
static int run(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
               struct cv_comm_state *state)
{
    struct cv_mpi_call to_one = *call;
    int code = MPI_SUCCESS;
    bool shares = false;

    if (state->broken != MPI_SUCCESS)
        return state->broken;
    state->broken = cv_shared_sum_fits(call, policy, state, &shares);
    if (state->broken == MPI_SUCCESS && shares)
        state->broken = cv_shared_sum_run(call, state);
    if (state->broken != MPI_SUCCESS || shares)
        return state->broken;
    if (call->reach == CV_TO_PARTS)
        to_one.recv = parts_whole(call, state, &code);
    CV_MPI_TRY(code);
    CV_MPI_TRY(to_root(&to_one, policy, state));
    if (call->reach == CV_TO_ROOT)
        return MPI_SUCCESS;
    if (call->reach == CV_TO_PARTS)
        return parts_share(call, state, to_one.recv);
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
    /* The choice may wait for others, who may wait for what was begun before. */
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

/* A communicator that is used a few times and freed again is not worth the trouble of setting
 * something up. And two ranks have no choice whom to send to, unless they share memory. */
static bool is_to_be_left(struct cv_comm_state *state)
{
    if (state->comm == MPI_COMM_NULL)
        return state->seen++ < FEW_CALLS;
    return state->size == 2 && state->chooser.apart;
}

/* `size`: of an element; MPI_UNDEFINED, which is negative, if an int cannot hold it. */
static bool is_short(int count, int size)
{
    return size >= 0 && (int64_t)size * count < CV_SHORT_BYTES;
}

/* Shorter than what the communicator's settings leave to the MPI library. */
static bool is_less(const struct cv_mpi_call *call, int size,
                    const struct cv_comm_state *state)
{
    return size >= 0 && (double)size * call->count < state->settings.least_bytes;
}

bool cv_call_is_short(int count, MPI_Datatype type)
{
    int size;

    return count > 0 && type != MPI_DATATYPE_NULL && !cv_mpi_process_pending() &&
           PMPI_Type_size(type, &size) == MPI_SUCCESS && is_short(count, size);
}

int cv_call_do(const struct cv_mpi_call *call, enum cv_mpi_policy policy, bool *out_ours)
{
    struct cv_comm_state *state;
    int size = 0, code;
    bool may = true, lent = false;

    if (policy == CV_MPI_AUTO && is_passed(call)) {
        if (out_ours != NULL)
            *out_ours = true;
        return by_mpi(call);
    }
    if (out_ours != NULL)
        *out_ours = false;
    /* Not every MPI library looks at this. */
    if (call->count < 0 && call->comm != MPI_COMM_NULL)
        return cv_mpi_process_raise(call->comm, MPI_ERR_COUNT);
    if (is_empty(call))
        return by_mpi(call);
    PMPI_Type_size(call->type, &size);
    if (policy == CV_MPI_MPI || (policy == CV_MPI_AUTO && is_short(call->count, size)))
        return hand_on(call);
    code = cv_call_team(call, &state);
    if (code != MPI_SUCCESS)
        return cv_mpi_process_raise(call->comm, code);
    if (state == NULL)
        return by_mpi(call);
    if (policy != CV_MPI_AUTO && !cv_mpi_policy_is_fixed(policy) &&
        is_less(call, size, state))
        return hand_on(call);
    if (out_ours != NULL)
        *out_ours = true;
    if (policy == CV_MPI_AUTO && is_to_be_left(state))
        return hand_on(call);
    if (state->comm == MPI_COMM_NULL) {
        code = cv_mpi_process_place(state, &may);
        if (code != MPI_SUCCESS)
            return cv_mpi_process_raise(call->comm, code);
        /* A tree that was promised is worth a communicator for as long as the call takes. */
        lent = !may;
        if ((lent && !cv_mpi_policy_is_fixed(policy)) ||
            cv_comm_state_open(state) != MPI_SUCCESS)
            return hand_on(call);
    }
    code = policy == CV_MPI_AUTO ? run_auto(call, size, state) : run(call, policy, state);
    if (lent)
        cv_comm_state_close(state);
    return code == MPI_SUCCESS ? code : cv_mpi_process_raise(call->comm, code);
}
