/* replan.c -- plans that are made as ranks come, without any message.
 * SPDX-License-Identifier: MIT
 *
 * Ranks come at random times and follow their orders, one partial received and combined
 * at a time; messages take no time. Checked: all is combined at the root, no rank gets an
 * impossible order, and the duration. */
#include <math.h>
#include "model/ready/ready_tree.h"
#include "mpi/plan/replan_plan.h"
#include "mpi_check.h"

enum { MOST = 40, CASES = 3000 };

struct actor {
    double comes_s, until_s; /* arrival; end of its current work */
    int expect[MOST], expected, done;
    int to;     /* -1: not told              */
    int values; /* that are in its partial   */
    bool there, works, sent;
};

struct stage {
    struct check check;
    struct actor actors[MOST];
    int n, root;
    double d, c, now_s;
    struct cv_replan *plan;
};

static void open_stage(struct stage *stage, uint64_t number)
{
    const double spread = (double)(mixed(number, 1, 1) % 5) * 3;

    stage->n = 2 + (int)(mixed(number, 1, 2) % (MOST - 1));
    stage->root = (int)(mixed(number, 1, 3) % (uint64_t)stage->n);
    stage->d = 1;
    stage->c = (double)(mixed(number, 1, 4) % 5) / 2;
    stage->now_s = 0;
    for (int i = 0; i < stage->n; i++)
        stage->actors[i] = (struct actor){
            .comes_s = spread * (double)(mixed(number, 2, (uint64_t)i) % 1000) / 1000,
            .to = -1,
            .values = 1
        };
}

/* Decisions reach their ranks at once. */
static void obey(struct stage *stage)
{
    CHECK(&stage->check, cv_replan_decide(stage->plan, stage->now_s), "memory");
    for (int i = 0; i < stage->plan->ntouched; i++) {
        const int rank = stage->plan->touched[i];
        struct actor *actor = &stage->actors[rank];

        CHECK(&stage->check, actor->there && actor->to < 0, "rank %d is told again",
              rank);
        for (int from = stage->plan->ranks[rank].first; from >= 0;
             from = stage->plan->ranks[from].next)
            actor->expect[actor->expected++] = from;
        CHECK(&stage->check, !actor->works || actor->expected - actor->done <= 2,
              "rank %d is at work, and %d more are sent to it", rank,
              actor->expected - actor->done - 1);
        actor->to = stage->plan->ranks[rank].sends_to;
        CHECK(&stage->check, actor->to < 0 || (!actor->works && rank != stage->root),
              "rank %d cannot send", rank);
    }
}

static bool is_through(const struct actor *actor)
{
    return !actor->works && actor->done == actor->expected;
}

/* Receivers begin whose senders are through with their own. */
static void begin_work(struct stage *stage)
{
    for (int i = 0; i < stage->n; i++) {
        struct actor *actor = &stage->actors[i], *from;

        if (actor->works || is_through(actor))
            continue;
        from = &stage->actors[actor->expect[actor->done]];
        if (!is_through(from))
            continue;
        CHECK(&stage->check, from->to == i && !from->sent, "rank %d sends to %d, not %d",
              actor->expect[actor->done], from->to, i);
        from->sent = true;
        actor->works = true;
        actor->until_s = stage->now_s + stage->d + stage->c;
    }
}

/* The next rank to arrive or to finish a combination; -1: none. */
static int next_actor(struct stage *stage)
{
    double min = INFINITY;
    int who = -1;

    for (int i = 0; i < stage->n; i++) {
        const struct actor *actor = &stage->actors[i];
        const double at = !actor->there  ? actor->comes_s
                          : actor->works ? actor->until_s
                                         : INFINITY;

        if (at < min) {
            min = at;
            who = i;
        }
    }
    if (who >= 0)
        stage->now_s = min;
    return who;
}

static void happen(struct stage *stage, int who)
{
    struct actor *actor = &stage->actors[who];

    if (actor->works) {
        actor->works = false;
        actor->values += stage->actors[actor->expect[actor->done++]].values;
    }
    actor->there = true;
    if (!stage->actors[stage->root].there)
        return;
    /* Ranks that came before the root are known at its arrival. */
    for (int i = 0; i < stage->n; i++)
        if (stage->actors[i].there && stage->actors[i].to < 0 &&
            (i == stage->root || is_through(&stage->actors[i])))
            cv_replan_hear(stage->plan, i, stage->actors[i].done, stage->now_s);
    obey(stage);
    begin_work(stage);
}

/* The least time of all trees for these arrivals, one thing at a time; nothing is sent
 * before the root has arrived. */
static double optimum(const struct stage *stage)
{
    double ready_s[MOST];
    uint32_t parent[MOST];
    struct cv_ready_job job = { (uint32_t)stage->n, ready_s, stage->d, stage->c,
                                CLEAVE_READY_MERGE };
    struct cv_arena arena;
    double length;

    for (int i = 0; i < stage->n; i++)
        ready_s[i] = fmax(stage->actors[i].comes_s, stage->actors[stage->root].comes_s);
    cv_arena_init(&arena);
    length = cv_ready_tree(cv_ready_planner_new(&arena, MOST, true), &job,
                           (uint32_t)stage->root, parent);
    cv_arena_done(&arena);
    return length;
}

/* Returns by how many transfers and combinations it is longer than the optimum. */
static double play(struct stage *stage, uint64_t number)
{
    double min;
    int who;

    cv_replan_begin(stage->plan, stage->root, stage->d, stage->c, NULL);
    min = optimum(stage);
    while ((who = next_actor(stage)) >= 0)
        happen(stage, who);
    CHECK(&stage->check, stage->actors[stage->root].values == stage->n,
          "case %d: %d of %d values", (int)number, stage->actors[stage->root].values,
          stage->n);
    CHECK(&stage->check, stage->plan->gone == stage->plan->size - 1, "case %d",
          (int)number);
    CHECK(&stage->check, stage->now_s > min - 1e-9, "case %d: %g, less than %g",
          (int)number, stage->now_s, min);
    return (stage->now_s - min) / (stage->d + stage->c);
}

/* Among idle ranks, the slow ones send and do not receive. */
static void check_pace(struct check *check)
{
    const double pace[8] = { 1, 1, 9, 1, 1, 5, 1, 1 };
    struct cv_replan *plan = cv_replan_new(8);
    int senders = 0;

    CHECK(check, plan != NULL, "memory");
    cv_replan_begin(plan, 0, 1, 0.1, pace);
    for (int i = 0; i < 8; i++)
        cv_replan_hear(plan, i, 0, 3);
    CHECK(check, cv_replan_decide(plan, 3), "memory");
    for (int i = 0; i < plan->ntouched; i++) {
        const int rank = plan->touched[i];
        const bool receives = plan->ranks[rank].first >= 0;

        senders += plan->ranks[rank].sends_to >= 0;
        CHECK(check, !receives || (rank != 2 && rank != 5), "rank %d receives", rank);
    }
    CHECK(check, senders >= 4, "%d send", senders);
    cv_replan_free(plan);
}

/* Calls of 64 ranks, which come within `spread`; own and planned are what MPI_Reduce and a
 * plan take, a transfer takes 1. How many of 1,000 calls are planned. */
static int planned_calls(double spread, double own_s, double planned_s)
{
    struct cv_replan_history habit = { 0 };
    double came_s[64];
    int planned = 0;

    for (uint64_t call = 0; call < 1000; call++) {
        struct cv_replan_history_call seen = {
            came_s, 7, 7, { .n = 64, .d = 1, .c = 0.1, .port_s = 0.9 }
        };
        const bool was_hopeless = habit.hopeless;

        if (habit.unasked > 0) {
            habit.unasked--;
            continue;
        }
        for (uint64_t i = 0; i < 64; i++) {
            came_s[i] = 7 + spread * (double)(mixed(call, i, 3) % 1000) / 1000;
            seen.last_s = fmax(seen.last_s, came_s[i]);
        }
        cv_replan_history_see(&habit, &seen);
        if (habit.own_s == 0 || was_hopeless || !habit.apart) {
            cv_replan_history_rest(&habit, was_hopeless, false);
            cv_replan_history_own(&habit, own_s);
        } else {
            planned++;
            cv_replan_history_planned(&habit, planned_s, false);
        }
    }
    return planned;
}

static void check_habit(struct check *check)
{
    CHECK(check,
          cv_replan_history_of(0) == 0 && cv_replan_history_of(4) == 1 &&
              cv_replan_history_of(65536) == 8 &&
              cv_replan_history_of(1e300) == CV_HABITS - 1,
          "sizes");
    /* Far apart, and quicker: nearly always. */
    CHECK(check, planned_calls(100, 8, 4) > 990, "%d", planned_calls(100, 8, 4));
    /* Not quicker: ever more seldom; at once, when MPI_Reduce is quicker than any tree. */
    CHECK(check, planned_calls(100, 8, 9) < 40 && planned_calls(100, 8, 9) > 5, "%d",
          planned_calls(100, 8, 9));
    CHECK(check, planned_calls(100, 8, 20) < planned_calls(100, 8, 9), "%d",
          planned_calls(100, 8, 20));
    CHECK(check, planned_calls(100, 1.05, 1) <= 1, "%d", planned_calls(100, 1.05, 1));
    /* All together. */
    CHECK(check, planned_calls(0.5, 100, 50) == 0, "%d", planned_calls(0.5, 100, 50));
}

/* Slices: as many as keep up with the arrivals, kept by quick ranks that have arrived. */
static void check_slices(struct check *check)
{
    struct cv_slice_job job = {
        .n = 256, .d = 1, .c = 0.1, .port_s = 0.9, .spread_s = 60, .max = 16
    };
    const double pace[8] = { 9, 1, 1, 5, 1.01, 1, 1, 1 };
    const bool there[8] = { true, true, true, true, true, true, false, true };
    int keepers[8], count;

    CHECK(check,
          cv_slice_most(8, 8192, 65536) == 0 && cv_slice_most(256, 8192, 65536) == 16 &&
              cv_slice_most(256, 8192, 6000) == 5 && cv_slice_most(256, 3, 65536) == 0 &&
              cv_slice_most(20, 8192, 65536) == 5,
          "slices at most");
    CHECK(check, cv_slice_count(&job, 0) == 8 && cv_slice_count(&job, 128) == 16, "%d %d",
          cv_slice_count(&job, 0), cv_slice_count(&job, 128));
    CHECK(check,
          fabs(cv_slice_time(&job) - 2.1) < 1e-9 && cv_slice_backlog(&job, 0) == 0 &&
              fabs(cv_slice_backlog(&job, 256) - 256 * 0.9 / 16) < 1e-9,
          "%g %g", cv_slice_time(&job), cv_slice_backlog(&job, 256));
    count = cv_slice_owners(8, 3, there, pace, 4, keepers);
    CHECK(check, count == 4 && keepers[0] == 3, "%d keepers", count);
    for (int i = 1; i < count; i++)
        CHECK(check,
              there[keepers[i]] && pace[keepers[i]] < 2 &&
                  (i == 1 || keepers[i] > keepers[i - 1]),
              "%d keeps slice %d", keepers[i], i);
    CHECK(check, cv_slice_owners(8, 3, there, NULL, 8, keepers) == 7, "who is not there");
}

/* No rank keeps two slices, for any number of slices. */
static void check_keepers(struct check *check)
{
    bool there[MOST];
    int keepers[MOST];

    for (int i = 0; i < MOST; i++)
        there[i] = true;
    for (int n = 2; n <= MOST; n++)
        for (int count = 1; count <= n; count++) {
            CHECK(check, cv_slice_owners(n, 0, there, NULL, count, keepers) == count,
                  "not %d of %d", count, n);
            for (int i = 1; i < count; i++)
                CHECK(check, keepers[i] > keepers[i - 1] && keepers[i] < n,
                      "%d of %d: rank %d twice", count, n, keepers[i]);
        }
}

/* 256 ranks come within 60 transfers: so many that a tree is no quicker than MPI_Reduce, and
 * slices are. How many of 200 calls go to slices; the root comes after `before` of the
 * others. A tree takes 6. */
static int sliced_calls(int before, double slices_s, int *out_asked)
{
    struct cv_replan_history habit = { 0 };
    double came_s[256];
    int sliced = 0, request = 0;

    for (uint64_t call = 0; call < 200; call++) {
        struct cv_replan_history_call seen = { came_s,
                                               7,
                                               7,
                                               { .n = 256,
                                                 .d = 1,
                                                 .c = 0.1,
                                                 .port_s = 0.9,
                                                 .spread_s =
                                                     cv_replan_history_spread(&habit),
                                                 .max = 16 } };
        const bool was_hopeless = habit.hopeless;
        enum cv_plan_kind kind = cv_replan_history_choose(&habit, &seen.job, before + 1);

        if (habit.unasked > 0) {
            habit.unasked--;
            continue;
        }
        for (int i = 0; i < 256; i++) {
            const double late = i <= before ? 0 : (i - before) * 60.0 / 256;

            came_s[i] = 7 + late;
            seen.last_s = fmax(seen.last_s, came_s[i]);
        }
        cv_replan_history_see(&habit, &seen);
        if (habit.own_s == 0 || was_hopeless || kind == CV_BY_MPI) {
            request++;
            cv_replan_history_rest(&habit, was_hopeless, kind == CV_BY_MPI);
            cv_replan_history_own(&habit, 3.5);
        } else {
            sliced += kind == CV_BY_SLICES;
            cv_replan_history_planned(&habit, kind == CV_BY_SLICES ? slices_s : 6,
                                      kind == CV_BY_SLICES);
        }
    }
    *out_asked = request;
    return sliced;
}

static void check_sliced_calls(struct check *check)
{
    int request, sliced;

    sliced = sliced_calls(0, 1.9, &request);
    CHECK(check, sliced > 190, "%d", sliced);
    /* They are slower than expected. */
    sliced = sliced_calls(0, 5, &request);
    CHECK(check, sliced < 20, "%d", sliced);
    /* Most begin at once, and later ranks have no time: the root asks ever more seldom
     * for arrivals. */
    sliced = sliced_calls(220, 1.9, &request);
    CHECK(check, sliced <= 1 && request < 20, "%d, %d", sliced, request);
}

int main(void)
{
    struct stage stage = { .n = 0 };
    double sum = 0, max = 0;

    for (uint64_t number = 0; number < CASES; number++) {
        double longer;

        open_stage(&stage, number);
        stage.plan = cv_replan_new(stage.n);
        if (stage.plan == NULL)
            return 1;
        longer = play(&stage, number);
        sum += longer;
        max = fmax(max, longer);
        cv_replan_free(stage.plan);
    }
    check_pace(&stage.check);
    check_habit(&stage.check);
    check_slices(&stage.check);
    check_keepers(&stage.check);
    check_sliced_calls(&stage.check);
    CHECK(&stage.check, sum / CASES < 1.2 && max < 4, "too long");
    printf("replan: %ld checks, %ld failed; longer than with times known by %.3f "
           "combinations, "
           "%.3f at most\n",
           stage.check.made, stage.check.failed, sum / CASES, max);
    return stage.check.failed > 0 || stage.check.made == 0;
}
