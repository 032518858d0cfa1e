/* mpi_api.c -- the calls of <cleave/mpi.h>. SPDX-License-Identifier: MIT */
#include "mpi/reduce/mpi_call.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <cleave/mpi.h>
#include "mpi/reduce/comm_state.h"

struct cleave_mpi_request {
    struct cv_reduction reduction; /* unless the MPI library does it */
    bool is_mpis;
    MPI_Request mpis;
    MPI_Comm comm; /* borrowed */
};

/* Without a call: in short reductions every cache line can be measured. */
static bool is_auto(const char *policy)
{
    return policy == NULL || (policy[0] == 'a' && policy[1] == 'u' && policy[2] == 't' &&
                              policy[3] == 'o' && policy[4] == '\0');
}

static int reduce_by_name(const struct cv_mpi_call *call, const char *policy)
{
    enum cv_mpi_policy known = CV_MPI_AUTO;
    int code = is_auto(policy) ? MPI_SUCCESS : cv_call_policy(policy, &known);

    return code != MPI_SUCCESS ? cv_mpi_process_raise(call->comm, code)
                               : cv_call_do(call, known, NULL);
}

int cleave_mpi_reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                      MPI_Op op, int root, MPI_Comm comm, const char *policy)
{
    if (is_auto(policy) && cv_call_is_short(count, type))
        return PMPI_Reduce(sendbuf, recvbuf, count, type, op, root, comm);
    return reduce_by_name(&(struct cv_mpi_call){ sendbuf, recvbuf, count, type, op, root,
                                                 CV_TO_ROOT, comm, NULL, 0 },
                          policy);
}

int cleave_mpi_allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm, const char *policy)
{
    if (is_auto(policy) && cv_call_is_short(count, type))
        return PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
    return reduce_by_name(&(struct cv_mpi_call){ sendbuf, recvbuf, count, type, op, 0,
                                                 CV_TO_ALL, comm, NULL, 0 },
                          policy);
}

static int reduce_to_parts(struct cv_mpi_call *call, const int *counts, int block,
                           const char *policy)
{
    if (!cv_parts_fill(call, counts, block) ||
        (is_auto(policy) && cv_call_is_short(call->count, call->type)))
        return cv_parts_by_mpi(call);
    return reduce_by_name(call, policy);
}

int cleave_mpi_reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[],
                              MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              const char *policy)
{
    return reduce_to_parts(
        &(struct cv_mpi_call){
            .send = sendbuf, .recv = recvbuf, .type = type, .op = op, .comm = comm },
        recvcounts, 0, policy);
}

int cleave_mpi_reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount,
                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                    const char *policy)
{
    return reduce_to_parts(
        &(struct cv_mpi_call){
            .send = sendbuf, .recv = recvbuf, .type = type, .op = op, .comm = comm },
        NULL, recvcount, policy);
}

static int begin_mpis(const struct cv_mpi_call *call, struct cleave_mpi_request *request)
{
    request->is_mpis = true;
    return PMPI_Ireduce(call->send, call->recv, call->count, call->type, call->op,
                        call->root, call->comm, &request->mpis);
}

static int begin_ours(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                      struct cv_comm_state *state, struct cleave_mpi_request *request)
{
    if (state->broken != MPI_SUCCESS)
        return state->broken;
    if (policy == CV_MPI_AUTO) {
        struct cv_vector vector;
        struct cv_kind kind;

        CV_MPI_TRY(cv_vector_init(&vector, call->count, call->type, call->op));
        kind = (struct cv_kind){ vector.bytes, vector.commutes, CV_TO_ROOT };
        policy = cv_chooser_best(&state->chooser, &kind);
    }
    request->is_mpis = false;
    CV_MPI_TRY(cv_reduction_begin(call, policy, state, &request->reduction));
    return cv_reduction_drive(&request->reduction, false);
}

static int begin(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                 struct cleave_mpi_request *request)
{
    struct cv_comm_state *state;
    int code;
    bool may = true;

    if (call->count < 0 && call->comm != MPI_COMM_NULL)
        return cv_mpi_process_raise(call->comm, MPI_ERR_COUNT);
    code = cv_call_state(call, &state);
    if (code == MPI_SUCCESS && state != NULL && !cv_mpi_policy_is_fixed(policy))
        code = cv_mpi_process_place(state, &may);
    if (code == MPI_SUCCESS &&
        (state == NULL || !may || cv_comm_state_open(state) != MPI_SUCCESS))
        return begin_mpis(call, request);
    if (code == MPI_SUCCESS)
        code = begin_ours(call, policy, state, request);
    return cv_mpi_process_raise(call->comm, code);
}

int cleave_mpi_ireduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                       MPI_Op op, int root, MPI_Comm comm, const char *policy,
                       struct cleave_mpi_request **request)
{
    const struct cv_mpi_call call = { sendbuf, recvbuf,    count, type, op,
                                      root,    CV_TO_ROOT, comm,  NULL, 0 };
    struct cleave_mpi_request *made;
    enum cv_mpi_policy known;
    int code = cv_call_policy(policy, &known);

    if (code != MPI_SUCCESS)
        return cv_mpi_process_raise(comm, code);
    made = malloc(sizeof *made);
    if (made == NULL)
        return cv_mpi_process_raise(comm, MPI_ERR_NO_MEM);
    made->comm = comm;
    code = begin(&call, known, made);
    if (code != MPI_SUCCESS) {
        free(made);
        return code;
    }
    *request = made;
    return MPI_SUCCESS;
}

static int finish(struct cleave_mpi_request **request, bool block, int *flag)
{
    struct cleave_mpi_request *made = *request;
    int code;

    *flag = 1;
    if (made == NULL)
        return MPI_SUCCESS;
    if (made->is_mpis) {
        code = block ? PMPI_Wait(&made->mpis, MPI_STATUS_IGNORE)
                     : PMPI_Test(&made->mpis, flag, MPI_STATUS_IGNORE);
    } else {
        code = cv_reduction_drive(&made->reduction, block);
        *flag = code != MPI_SUCCESS || made->reduction.ended;
        cv_mpi_process_raise(made->comm, code);
    }
    if (*flag) {
        free(made);
        *request = NULL;
    }
    return code;
}

int cleave_mpi_test(struct cleave_mpi_request **request, int *flag)
{
    return finish(request, false, flag);
}

int cleave_mpi_wait(struct cleave_mpi_request **request)
{
    int flag;

    return finish(request, true, &flag);
}

static int state_for(MPI_Comm comm, struct cv_comm_state **out)
{
    int inter = 0;

    *out = NULL;
    CV_MPI_TRY(PMPI_Comm_test_inter(comm, &inter));
    if (inter)
        return MPI_SUCCESS;
    CV_MPI_TRY(cv_mpi_process_meet(comm, out));
    return cv_comm_state_open(*out);
}

int cleave_mpi_prepare(MPI_Comm comm)
{
    struct cv_comm_state *state;
    int code = state_for(comm, &state);

    if (code == MPI_SUCCESS && state != NULL)
        code = cv_reduction_drain(state);
    if (code == MPI_SUCCESS && state != NULL)
        code = cv_comm_state_make_words(state);
    if (code == MPI_SUCCESS && state != NULL)
        code = cv_link_costs_measure(&state->costs, state->comm);
    return cv_mpi_process_raise(comm, code);
}

int cleave_mpi_tune(MPI_Comm comm, const char *settings)
{
    struct cleave_error err;
    struct cv_comm_state *state;
    int code = state_for(comm, &state);

    if (code == MPI_SUCCESS && state != NULL &&
        cv_mpi_settings_read(settings, &state->settings, NULL, NULL, &err) != CLEAVE_OK)
        code = cv_mpi_process_error(err.text);
    return cv_mpi_process_raise(comm, code);
}

const char *cleave_mpi_policy_name(int index)
{
    return index < 0 || index >= CV_MPI_POLICIES
               ? NULL
               : cv_mpi_policy_text((enum cv_mpi_policy)index);
}

/* --- Fortran ------------------------------------------------------------------------ */

/* MPI_IN_PLACE and MPI_BOTTOM of Fortran are variables; only their addresses matter. Open
 * MPI has them under the first names, MPICH has pointers to them under the second, and
 * others for mpi_f08. */

static bool is_constant(const void *address, const char *const *variables,
                        const char *pointer)
{
    void *const *kept = dlsym(RTLD_DEFAULT, pointer);

    for (; *variables != NULL; variables++)
        if (address == dlsym(RTLD_DEFAULT, *variables))
            return true;
    return kept != NULL && address == *kept;
}

void *cv_fortran_address(void *address)
{
    static const char *const in_place[] = { "mpi_fortran_in_place_",
                                            "MPIR_F08_MPI_IN_PLACE", NULL };
    static const char *const bottom[] = { "mpi_fortran_bottom_", "MPIR_F08_MPI_BOTTOM",
                                          NULL };

    if (address == NULL)
        return NULL;
    if (is_constant(address, in_place, "MPIR_F_MPI_IN_PLACE"))
        return MPI_IN_PLACE;
    if (is_constant(address, bottom, "MPIR_F_MPI_BOTTOM"))
        return MPI_BOTTOM;
    return address;
}

/* Declared in cleave_mpi.f90; handles are numbers. */

int cleave_mpi_fortran_reduce(void *sendbuf, void *recvbuf, int count, MPI_Fint type,
                              MPI_Fint op, int root, MPI_Fint comm, const char *policy);
int cleave_mpi_fortran_allreduce(void *sendbuf, void *recvbuf, int count, MPI_Fint type,
                                 MPI_Fint op, MPI_Fint comm, const char *policy);
int cleave_mpi_fortran_prepare(MPI_Fint comm);
int cleave_mpi_fortran_tune(MPI_Fint comm, const char *settings);

int cleave_mpi_fortran_reduce(void *sendbuf, void *recvbuf, int count, MPI_Fint type,
                              MPI_Fint op, int root, MPI_Fint comm, const char *policy)
{
    return cleave_mpi_reduce(cv_fortran_address(sendbuf), cv_fortran_address(recvbuf),
                             count, PMPI_Type_f2c(type), PMPI_Op_f2c(op), root,
                             PMPI_Comm_f2c(comm), policy);
}

int cleave_mpi_fortran_allreduce(void *sendbuf, void *recvbuf, int count, MPI_Fint type,
                                 MPI_Fint op, MPI_Fint comm, const char *policy)
{
    return cleave_mpi_allreduce(cv_fortran_address(sendbuf), cv_fortran_address(recvbuf),
                                count, PMPI_Type_f2c(type), PMPI_Op_f2c(op),
                                PMPI_Comm_f2c(comm), policy);
}

int cleave_mpi_fortran_prepare(MPI_Fint comm)
{
    return cleave_mpi_prepare(PMPI_Comm_f2c(comm));
}

int cleave_mpi_fortran_tune(MPI_Fint comm, const char *settings)
{
    return cleave_mpi_tune(PMPI_Comm_f2c(comm), settings);
}
