/* plans.c -- trees and settings, without any message. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/reduce/reduce_tree.h"
#include "mpi/reduce/mpi_names.h"
#include "mpi/reduce/tree_algorithm.h"

enum { MOST = 40 };

static long made, failed;

#define CHECK(holds, ...)                                                       \
    do {                                                                        \
        made++;                                                                 \
        if (!(holds) && failed++ < 5) {                                         \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #holds); \
            fprintf(stderr, __VA_ARGS__);                                       \
            fputc('\n', stderr);                                                \
        }                                                                       \
    } while (0)

/* Without a limit it is the shortest tree; with a limit no rank has more senders. */
static void check_narrow(void)
{
    static const double costs[][2] = { { 1, 0 }, { 1, 1 }, { 3, 2 }, { 0.25, 5 } };
    uint32_t parent[MOST], senders[2 * MOST];
    double time[2 * MOST];

    for (uint32_t n = 1; n <= MOST; n++)
        for (int i = 0; i < 4; i++) {
            double d = costs[i][0], c = costs[i][1], best = cv_reduce_length(n, d, c);
            double length = cv_tree_narrow(n, MOST, d, c, parent, time, senders);

            CHECK(fabs(length - best) < 1e-9, "n %u: %g, not %g", n, length, best);
            for (uint32_t max = 1; max <= 3; max++) {
                cv_tree_narrow(n, max, d, c, parent, time, senders);
                for (uint32_t k = 0; k < n; k++)
                    CHECK(senders[k] <= max && (k == 0 || parent[k] < k),
                          "n %u, most %u, node %u", n, max, k);
            }
        }
}

/* The ranks in the order in which a subtree combines them. */
static int walk(const struct cv_tree_plan *plans, int rank, int *order, int count)
{
    order[count++] = rank;
    for (int i = 0; i < plans[rank].nchildren; i++) {
        CHECK(plans[plans[rank].children[i]].parent == rank, "rank %d", rank);
        count = walk(plans, plans[rank].children[i], order, count);
    }
    return count;
}

/* The plans of all ranks fit together; in order if required. */
static void check_plans(const struct cv_tree_request *like)
{
    struct cv_tree_plan plans[MOST];
    int order[MOST], top = like->commutes ? like->root : 0, count;

    memset(plans, 0, sizeof plans);
    for (int rank = 0; rank < like->size; rank++) {
        struct cv_tree_request wish = *like;

        wish.rank = rank;
        CHECK(cv_tree_plan_make(&plans[rank], &wish), "no memory");
        CHECK(plans[rank].segment_bytes == plans[0].segment_bytes, "rank %d", rank);
    }
    CHECK(plans[top].parent == -1, "%d is not the root", top);
    count = walk(plans, top, order, 0);
    CHECK(count == like->size, "%d of %d ranks", count, like->size);
    for (int i = 0; i < count && !like->commutes; i++)
        CHECK(order[i] == i, "rank %d is number %d", order[i], i);
    for (int rank = 0; rank < like->size; rank++)
        cv_tree_plan_free(&plans[rank]);
}

static void check_all_plans(void)
{
    for (int size = 2; size <= MOST; size++)
        for (int p = CV_MPI_GREEDY; p <= CV_MPI_FIBONACCI; p++)
            for (int commutes = 0; commutes < 2; commutes++)
                check_plans(&(struct cv_tree_request){ .policy = (enum cv_mpi_policy)p,
                                                       .size = size,
                                                       .root = size / 3,
                                                       .commutes = commutes != 0,
                                                       .bytes = size % 2 ? 80 : 1e8,
                                                       .latency_s = 1e-6,
                                                       .byte_s = 1e-9,
                                                       .combine_byte_s = 5e-10 });
}

/* Short vectors go at once, long ones in pieces through a chain or nearly one. */
static void check_segments(void)
{
    struct cv_tree_request wish = { .policy = CV_MPI_GREEDY,
                                    .size = 16,
                                    .commutes = true,
                                    .bytes = 1000,
                                    .latency_s = 1e-6,
                                    .byte_s = 1e-9,
                                    .combine_byte_s = 1e-9 };
    struct cv_tree_plan plan = { .parent = 0 };

    CHECK(cv_tree_plan_make(&plan, &wish) && plan.segment_bytes == 1000, "%g bytes",
          plan.segment_bytes);
    CHECK(plan.nchildren > 2, "%d children", plan.nchildren);
    wish.bytes = 1e9;
    CHECK(cv_tree_plan_make(&plan, &wish) && plan.segment_bytes < 5e7, "%g bytes",
          plan.segment_bytes);
    CHECK(plan.nchildren <= 2, "%d children", plan.nchildren);
    /* Where ranks share processors there is no point in it. */
    wish.crowded = true;
    CHECK(cv_tree_plan_make(&plan, &wish) && plan.segment_bytes == 8388608, "%g bytes",
          plan.segment_bytes);
    wish.bytes = 1e6;
    CHECK(cv_tree_plan_make(&plan, &wish) && plan.segment_bytes == 1e6, "%g bytes",
          plan.segment_bytes);
    CHECK(plan.nchildren > 2, "%d children", plan.nchildren);
    cv_tree_plan_free(&plan);
}

static void check_settings(void)
{
    static const char *const wrong[] = { "segment=0", "segment=x",  "transfer=-1ms",
                                         "verbos",    "board=tree", "tree-dyn,greedy",
                                         "segment" };
    struct cv_mpi_settings settings = { 0 };
    enum cv_mpi_policy policy = CV_MPI_AUTO;
    struct cleave_error err;
    bool verbose = false;

    CHECK(cv_mpi_settings_read("greedy,verbose,,transfer=2ms,combine=5us,segment=64KiB,"
                               "board=window",
                               &settings, &policy, &verbose, &err) == CLEAVE_OK,
          "%s", err.text);
    CHECK(policy == CV_MPI_GREEDY && verbose && settings.window, "words");
    CHECK(settings.transfer_s == 2e-3 && settings.combine_s == 5e-6 &&
              settings.segment_bytes == 65536,
          "values");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err.text[0] = '\0';
        CHECK(cv_mpi_settings_read(wrong[i], &settings, &policy, &verbose, &err) ==
                  CLEAVE_EINPUT,
              "%s was taken", wrong[i]);
        CHECK(err.text[0] != '\0' && policy == CV_MPI_GREEDY, "%s", wrong[i]);
    }
    /* A communicator has no policy and says nothing. */
    CHECK(cv_mpi_settings_read("greedy", &settings, NULL, NULL, &err) == CLEAVE_EINPUT,
          "a policy was taken");
}

int main(void)
{
    check_narrow();
    check_all_plans();
    check_segments();
    check_settings();
    printf("plans: %ld checks, %ld failed\n", made, failed);
    return failed > 0 || made == 0;
}
