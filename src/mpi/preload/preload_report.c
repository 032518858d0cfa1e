/* preload_report.c -- what was chosen and gained, told on stderr when it is over.
 * SPDX-License-Identifier: MIT
 *
 * Rank 0 of each communicator tells of it, since all its ranks know the same. */
#include "mpi/preload/preload.h"

#include <stdio.h>

#include "mpi/reduce/cluster.h"

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

void cv_preload_report(const struct cv_comm_state *state)
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

void cv_preload_sum_up(const struct cv_preload *preload)
{
    int rank = 0;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "cleave: policy %s, %.0f reductions, %.0f left to MPI at once\n",
                cv_mpi_policy_text(preload->policy), preload->reductions,
                preload->handed_on);
}
