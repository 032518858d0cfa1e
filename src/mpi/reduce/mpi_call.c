/* mpi_call.c -- a call of the public interface, checked and ready to be carried out.
 * SPDX-License-Identifier: MIT
 *
 * Mistakes in the arguments that MPI_Reduce knows are left to it: it says what it always
 * says, through the handler it always uses. */
#include "mpi/reduce/mpi_call.h"

#include <math.h>

#include "mpi/reduce/cluster.h"
#include "mpi/reduce/mpi_process.h"
#include "mpi/reduce/mpi_parts.h"
#include "mpi/reduce/shared_sum.h"
#include "mpi/memory/mpi_try.h"

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
        state->broken = cv_cluster_run(call, policy, state);
    if (state->broken != MPI_SUCCESS || by_machines)
        return state->broken;
    CV_MPI_TRY(cv_call_begin(call, policy, state, &r));
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
        to_one.recv = cv_parts_whole(call, state, &code);
    CV_MPI_TRY(code);
    CV_MPI_TRY(to_root(&to_one, policy, state));
    if (call->reach == CV_TO_ROOT)
        return MPI_SUCCESS;
    if (call->reach == CV_TO_PARTS)
        return cv_parts_share(call, state, to_one.recv);
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
