/* link_costs.c -- costs of transfers and combinations, measured and agreed on.
 * SPDX-License-Identifier: MIT
 *
 * The cost of combining is measured with a sum of doubles; latency and bandwidth, unless
 * ranks share processors, with a few messages to a few other ranks. The cost of the
 * operator in use is noted in reductions 1, 2, 4, 8, ... and agreed on by an
 * MPI_Iallreduce that the next reduction waits for, so that all ranks use it in the same
 * call. */

#include <sched.h>
#include <stdlib.h>

#include "mpi/reduce/comm_state.h"
#include "mpi/memory/shared_memory.h"

enum { SMALL = 8, LARGE = 65536, TIMES = 4, LARGE_TIMES = 2, PARTNERS = 3 };

/* If ranks share processors, a message takes as long as scheduling its receiver; round
 * trips would show ten times that. Its bytes are copied in memory, at about the speed of
 * a sum. */
static const double crowded_latency = 20e-6;

/* Mean time of a message of `bytes` in one direction. `anew`: do not count the first
 * message, which opens the connection or registers the buffer. */
static int ping(MPI_Comm comm, int rank, int peer, char *buffer, int bytes, int times,
                bool anew, double *out_s)
{
    double since = PMPI_Wtime();

    for (int i = anew ? 0 : 1; i <= times; i++) {
        if (i == 1)
            since = PMPI_Wtime();
        if (rank < peer) {
            CV_MPI_TRY(PMPI_Send(buffer, bytes, MPI_BYTE, peer, CV_TAG_PING, comm));
            CV_MPI_TRY(PMPI_Recv(buffer, bytes, MPI_BYTE, peer, CV_TAG_PING, comm,
                                 MPI_STATUS_IGNORE));
        } else {
            CV_MPI_TRY(PMPI_Recv(buffer, bytes, MPI_BYTE, peer, CV_TAG_PING, comm,
                                 MPI_STATUS_IGNORE));
            CV_MPI_TRY(PMPI_Send(buffer, bytes, MPI_BYTE, peer, CV_TAG_PING, comm));
        }
    }
    *out_s = (PMPI_Wtime() - since) / (2 * times);
    return MPI_SUCCESS;
}

static double combine_time(void)
{
    enum { DOUBLES = LARGE / 2 / sizeof(double) };
    double from[DOUBLES] = { 0 }, to[DOUBLES] = { 0 }, best = 0;

    for (int i = 0; i < TIMES; i++) {
        double since = PMPI_Wtime(), took;

        PMPI_Reduce_local(from, to, DOUBLES, MPI_DOUBLE, MPI_SUM);
        took = PMPI_Wtime() - since;
        if (i == 0 || took < best)
            best = took;
    }
    return best / (DOUBLES * sizeof(double));
}

/* The description of a rank. */
struct sight {
    uint64_t machine; /* hash of its name                       */
    double combine_byte_s;
    cpu_set_t processors; /* allowed for the rank                   */
};

static int look(struct sight *out)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;

    *out = (struct sight){ .machine = 0xcbf29ce484222325u };
    CV_MPI_TRY(PMPI_Get_processor_name(name, &length));
    for (int i = 0; i < length; i++)
        out->machine = (out->machine ^ (unsigned char)name[i]) * 0x100000001b3u;
    CPU_ZERO(&out->processors);
    sched_getaffinity(0, sizeof out->processors, &out->processors);
    return MPI_SUCCESS;
}

/* Whether some machine has more ranks than processors that they may run on. */
static bool is_crowded(const struct sight *all, int size)
{
    for (int first = 0; first < size; first++) {
        cpu_set_t processors = all[first].processors;
        int ranks = 1, before = 0;

        while (before < first && all[before].machine != all[first].machine)
            before++;
        if (before < first)
            continue; /* counted already */
        for (int i = first + 1; i < size; i++)
            if (all[i].machine == all[first].machine) {
                CPU_OR(&processors, &processors, &all[i].processors);
                ranks++;
            }
        if (CPU_COUNT(&processors) > 0 && CPU_COUNT(&processors) < ranks)
            return true;
    }
    return false;
}

/* Few ranks may share a processor and must not spin; with many ranks, nonblocking calls
 * would send all to all. */
static int exchange(const struct sight *mine, struct sight *all, MPI_Comm comm, int size)
{
    enum { FEW = 64 };
    const int bytes = (int)sizeof *mine;
    MPI_Request request;

    if (size > FEW)
        return PMPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm);
    CV_MPI_TRY(
        PMPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm, &request));
    return cv_mpi_wait(&request, true);
}

/* One call for everything: if ranks share processors, a collective call takes as long as
 * a reduction. */
int cv_link_costs_look(struct cv_link_costs *costs, MPI_Comm comm)
{
    struct sight mine, *all;
    int code, size;

    if (costs->looked)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Comm_size(comm, &size));
    all = malloc((size_t)size * sizeof *all);
    if (all == NULL)
        return MPI_ERR_NO_MEM;
    code = look(&mine);
    mine.combine_byte_s = combine_time();
    if (code == MPI_SUCCESS)
        code = exchange(&mine, all, comm, size);
    if (code == MPI_SUCCESS) {
        costs->looked = costs->together = true;
        costs->crowded = is_crowded(all, size);
        for (int i = 0; i < size; i++) {
            costs->together = costs->together && all[i].machine == all[0].machine;
            if (all[i].combine_byte_s > costs->combine_byte_s)
                costs->combine_byte_s = all[i].combine_byte_s;
        }
    }
    free(all);
    return code;
}

/* The slowest rank determines the costs of fixed trees. */
static void summarize(struct cv_link_costs *costs, const double *all, int size)
{
    double small = 0, large = 0;

    for (size_t i = 0; i < (size_t)size; i++) {
        costs->rank_s[i] = all[2 * i + 1];
        small = all[2 * i] > small ? all[2 * i] : small;
        large = all[2 * i + 1] > large ? all[2 * i + 1] : large;
    }
    costs->latency_s = small;
    costs->byte_s = large > small ? (large - small) / (LARGE - SMALL) : 0;
}

/* Round trips with a few other ranks. The time with the fastest of them is probably the
 * time of the rank itself. */
static int measure_links(struct cv_link_costs *costs, MPI_Comm comm, int size)
{
    char buffer[LARGE] = { 0 };
    double mine[2] = { 0, 0 }, *all;
    int rank, code;

    CV_MPI_TRY(PMPI_Comm_rank(comm, &rank));
    for (int step = 1; step < 1 << PARTNERS; step *= 2) {
        double small, large;

        if ((rank ^ step) >= size)
            continue;
        CV_MPI_TRY(ping(comm, rank, rank ^ step, buffer, SMALL, TIMES, true, &small));
        CV_MPI_TRY(
            ping(comm, rank, rank ^ step, buffer, LARGE, LARGE_TIMES, step == 1, &large));
        if (mine[1] == 0 || large < mine[1]) {
            mine[0] = small;
            mine[1] = large;
        }
    }
    all = malloc(2 * (size_t)size * sizeof *all);
    costs->rank_s = malloc((size_t)size * sizeof *costs->rank_s);
    if (all == NULL || costs->rank_s == NULL) {
        free(all);
        return MPI_ERR_NO_MEM;
    }
    code = PMPI_Allgather(mine, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, comm);
    if (code == MPI_SUCCESS)
        summarize(costs, all, size);
    free(all);
    return code;
}

int cv_link_costs_measure(struct cv_link_costs *costs, MPI_Comm comm)
{
    int size;

    if (costs->known)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Comm_size(comm, &size));
    CV_MPI_TRY(cv_link_costs_look(costs, comm));
    if (costs->crowded) {
        costs->latency_s = crowded_latency;
        costs->byte_s = costs->combine_byte_s;
        costs->known = true;
        return MPI_SUCCESS;
    }
    CV_MPI_TRY(measure_links(costs, comm, size));
    costs->known = true;
    return MPI_SUCCESS;
}

void cv_link_costs_hop(const struct cv_comm_state *state, double bytes, double *out_d,
                       double *out_c)
{
    const struct cv_link_costs *costs = &state->costs;
    const struct cv_mpi_settings *settings = &state->settings;

    *out_d = settings->transfer_s > 0 ? settings->transfer_s
                                      : costs->latency_s + bytes * costs->byte_s;
    *out_c =
        settings->combine_s > 0 ? settings->combine_s : bytes * costs->combine_byte_s;
    if (*out_d < 1e-9)
        *out_d = 1e-9; /* a clock that did not move */
}

int cv_link_costs_note(struct cv_link_costs *costs, MPI_Comm comm, double seconds,
                       double bytes)
{
    costs->calls++;
    if ((costs->calls & (costs->calls - 1)) != 0)
        return MPI_SUCCESS;
    costs->mine[0] = seconds;
    costs->mine[1] = bytes;
    return PMPI_Iallreduce(costs->mine, costs->all, 2, MPI_DOUBLE, MPI_SUM, comm,
                           &costs->agreeing);
}

void cv_link_costs_settle(struct cv_link_costs *costs)
{
    if (costs->all[1] > 0)
        costs->combine_byte_s = costs->all[0] / costs->all[1];
}
