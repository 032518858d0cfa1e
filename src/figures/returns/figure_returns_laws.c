/* figure_returns_laws.c -- theorems about LIFO and FIFO. SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include "figures/common/figure.h"
#include "figures/returns/figure_returns_cluster.h"

/* --- random clusters ---------------------------------------------------------------- */

/* Beaumont and Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters:
 * Theorems 1 to 3 and Propositions 1 to 5, each on random clusters with equal nodes: how
 * many break it. Theorems 4 and 5 and section V-B have separate figures. */

enum { MOST = CV_STAR_MOST };
enum { CHECKED, BROKEN };

/* One random cluster, its workers in a random order, and a lifespan. */
struct trial {
    struct cv_star cluster;
    struct cv_random random;
    struct cv_arena *arena;
    uint32_t order[MOST];
    double lifespan_s;
};

/* Whether one cluster breaks the statement; 0, 1, or -1: it says nothing about it. */
typedef int check_one(struct trial *t);

static struct cv_round_trip fifo(struct trial *t, uint32_t n)
{
    return cv_star_trip(&t->cluster, true, t->order, n, t->lifespan_s, t->arena);
}

static struct cv_round_trip lifo(struct trial *t)
{
    return cv_star_trip(&t->cluster, false, t->order, t->cluster.n, t->lifespan_s,
                        t->arena);
}

static void sort(struct trial *t)
{
    cv_star_sort(&t->cluster);
    for (uint32_t k = 0; k < t->cluster.n; k++)
        t->order[k] = k;
}

/* Theorem 1(a), 1(b): LIFO in closed form. */
static int theorem_1(struct trial *t)
{
    const struct cv_trip *trips = t->cluster.trips;
    double product = 1, work = 0;
    struct cv_round_trip trip;

    trip = lifo(t);
    for (uint32_t k = 0; k < t->cluster.n; k++) {
        const struct cv_trip *own = &trips[t->order[k]];
        const double all = own->compute_s + (1 + t->cluster.delta) * own->send_s;

        work += t->lifespan_s * product / all;
        product *= own->compute_s / all;
    }
    return fabs(trip.work / work - 1) > 1e-9;
}

/* Theorem 1(c): no other LIFO order does more than fastest links first. */
static int theorem_1_order(struct trial *t)
{
    struct cv_round_trip any, sorted;

    any = lifo(t);
    sort(t);
    sorted = lifo(t);
    return any.work > sorted.work * (1 + 1e-12);
}

/* Theorem 2(c): FIFO in closed form. */
static int theorem_2(struct trial *t)
{
    const double d = t->cluster.delta;
    const struct cv_trip *first = &t->cluster.trips[t->order[0]], *before = first;
    double product = 1, work = 1, rows = first->compute_s + (1 + d) * first->send_s;
    struct cv_round_trip trip;

    trip = fifo(t, t->cluster.n);
    for (uint32_t k = 1; k < t->cluster.n; k++) {
        const struct cv_trip *own = &t->cluster.trips[t->order[k]];

        product *=
            (before->compute_s + d * before->send_s) / (own->compute_s + own->send_s);
        work += product;
        rows += d * own->send_s * product;
        before = own;
    }
    return fabs(trip.work / (t->lifespan_s * work / rows) - 1) > 1e-9;
}

/* Section II: one message at a time, in both directions together, is enough for FIFO. */
static int one_message(struct trial *t)
{
    const struct cv_returns returns = { t->cluster.trips, t->cluster.n, true, NULL };
    struct cv_round_trip trip;

    trip = fifo(t, t->cluster.n);
    return cv_returns_port_s(&returns, &trip) > t->lifespan_s * (1 + 1e-12);
}

/* Proposition 1: the last worker helps iff W < limit / (delta tau). */
static int append(struct trial *t, double limit)
{
    const uint32_t n = t->cluster.n;
    struct cv_round_trip with, without;

    with = fifo(t, n);
    without = fifo(t, n - 1);
    return fabs(with.work / without.work - 1) < 1e-10
               ? -1
               : (with.work > without.work) !=
                     (without.work < limit / t->cluster.trips[t->order[n - 1]].back_s);
}

static int proposition_1_printed(struct trial *t)
{
    return append(t, 1);
}

static int proposition_1(struct trial *t)
{
    return append(t, t->lifespan_s);
}

/* Proposition 2, of two neighbours on sorted links: the inequality, and the words. */
static int fairness(struct trial *t, bool words)
{
    struct cv_round_trip by_fifo, by_lifo;
    double f, l, fair;

    sort(t);
    by_fifo = fifo(t, t->cluster.n);
    by_lifo = lifo(t);
    f = by_fifo.units[1] / by_fifo.units[0];
    l = by_lifo.units[1] / by_lifo.units[0];
    fair = t->cluster.trips[0].send_s / t->cluster.trips[1].send_s;
    return words ? fabs(f - fair) > fabs(l - fair) : f <= l;
}

static int proposition_2(struct trial *t)
{
    return fairness(t, false);
}

static int proposition_2_words(struct trial *t)
{
    return fairness(t, true);
}

/* Proposition 3: a faster link means more work, LIFO and FIFO. */
static int proposition_3(struct trial *t)
{
    struct cv_round_trip before[2], after[2];

    if (t->cluster.delta > 0.999)
        cv_star_set_delta(&t->cluster, 0.7);
    before[0] = fifo(t, t->cluster.n);
    before[1] = lifo(t);
    t->cluster.trips[cv_random_bits(&t->random) % t->cluster.n].send_s *=
        cv_random_between(&t->random, 0.1, 0.95);
    cv_star_set_delta(&t->cluster, t->cluster.delta);
    after[0] = fifo(t, t->cluster.n);
    after[1] = lifo(t);
    /* The gain may be less than rounding errors. */
    return after[0].work < before[0].work * (1 - 1e-12) ||
           after[1].work < before[1].work * (1 - 1e-12);
}

/* Theorem 3(a): two workers, the slower link first: FIFO does more than LIFO. */
static int theorem_3(struct trial *t)
{
    struct cv_round_trip by_fifo, by_lifo;

    t->cluster.n = 2;
    sort(t);
    t->order[0] = 1;
    t->order[1] = 0;
    by_fifo = fifo(t, 2);
    by_lifo = lifo(t);
    return by_fifo.work <= by_lifo.work;
}

/* Proposition 4: two workers, FIFO does more with the faster link first. */
static int proposition_4(struct trial *t)
{
    struct cv_round_trip fast, slow;

    t->cluster.n = 2;
    sort(t);
    fast = fifo(t, 2);
    t->order[0] = 1;
    t->order[1] = 0;
    slow = fifo(t, 2);
    return t->cluster.delta > 0.999 ? -1 : fast.work < slow.work;
}

/* Proposition 5: with R 10,000 times all links together, everyone is worth enlisting. */
static int proposition_5(struct trial *t)
{
    struct cv_round_trip all, fewer;
    double links = 0;

    for (uint32_t i = 0; i < t->cluster.n; i++)
        links += t->cluster.trips[i].send_s;
    for (uint32_t i = 0; i < t->cluster.n; i++)
        t->cluster.trips[i].compute_s = 1e4 * links;
    all = fifo(t, t->cluster.n);
    fewer = fifo(t, t->cluster.n - 1);
    return all.work <= fewer.work;
}

static const struct {
    const char *label, *claim, *why;
    check_one *check;
} laws[] = {
    { "Theorem 1(a,b)", "Theorem 1(a,b): LIFO work in closed form", "", theorem_1 },
    { "Theorem 1(c)", "Theorem 1(c): LIFO does most with the fastest links first",
      " (the text prints nondecreasing speeds; nondecreasing tau is meant)",
      theorem_1_order },
    { "Theorem 2", "Theorem 2: FIFO work in closed form", "", theorem_2 },
    { "Section II, FIFO", "Section II: at most one message is in transit, FIFO included",
      "; section III says one in each direction, which the formulas need", one_message },
    { "Proposition 1", "Proposition 1: one more worker helps FIFO iff W < 1/(delta tau)",
      "; L is missing: see below", proposition_1_printed },
    { "Proposition 1 with L", "Proposition 1 with L: iff W < L/(delta tau)", "",
      proposition_1 },
    { "Proposition 2", "Proposition 2: w_k / w_(k-1) is larger under FIFO", "",
      proposition_2 },
    { "Proposition 2, words", "Proposition 2: FIFO is nearer to shares by link speed",
      "; true for nearly equal links only", proposition_2_words },
    { "Proposition 3", "Proposition 3: faster links mean more work", "", proposition_3 },
    { "Theorem 3(a)", "Theorem 3(a): FIFO wins when the slower link is first", "",
      theorem_3 },
    { "Proposition 4", "Proposition 4: FIFO does more with the faster link first",
      " (delta below 1; at 1 it is the same)", proposition_4 },
    { "Proposition 5", "Proposition 5: all are worth enlisting when computing rules", "",
      proposition_5 },
};

enum { LAWS = sizeof laws / sizeof *laws };

static void check_law(int distribution, uint32_t count, double *values)
{
    struct cv_arena arena;
    struct trial t;

    cv_arena_init(&arena);
    values[CHECKED] = values[BROKEN] = 0;
    for (uint32_t i = 0; i < count; i++) {
        int broken;

        cv_arena_reset(&arena);
        t.arena = &arena;
        cv_random_at(&t.random, 10, i, (uint32_t)distribution, 0);
        cv_star_random(&t.cluster, &t.random, 2 + i % (MOST - 1));
        cv_star_order(&t.random, t.cluster.n, t.order);
        t.lifespan_s = cv_random_scale(&t.random, 0.1, 10);
        broken = laws[distribution].check(&t);
        values[CHECKED] += broken >= 0;
        values[BROKEN] += broken > 0;
    }
    cv_arena_done(&arena);
}

static void draw_laws(struct cv_figure_result *result)
{
    struct cv_figure_plot *plot =
        CV_PLOT_ADD(result, .y_label = "clusters that break it (%)", .labels = true,
                    .y_from = -2, .y_to = 100,
                    CV_CURVES({ NULL, BROKEN, CV_LINE_MARKS, 0 }));

    for (int i = 0; i < LAWS; i++)
        plot->series->y[i] =
            100 * result->rows[i].values[BROKEN] / result->rows[i].values[CHECKED];
}

static void make(struct cv_figure_result *result)
{
    const uint32_t count = result->job->quick ? 400 : 10000;

    cv_figure_table(
        result, "statement", "clusters|break it",
        "Random clusters of 2 to 8 workers with equal nodes, one message each "
        "way at a time.");
    for (int i = 0; i < LAWS; i++) {
        double *values = cv_figure_row(result, "%s", laws[i].label);

        check_law(i, count, values);
        cv_figure_claim(result, values[BROKEN] == 0, laws[i].claim,
                        "broken by %.0f of %.0f clusters%s", values[BROKEN],
                        values[CHECKED], laws[i].why);
        cv_figure_progress(result->job, (uint64_t)i + 1, LAWS);
    }
    draw_laws(result);
}

const struct cv_figure cv_figure_returns_laws = {
    .title = "Theorems and propositions on LIFO and FIFO, on random clusters",
    .source =
        "Beaumont and Rosenberg, Link-heterogeneity, Theorems 1 to 3, Propositions 1 "
        "to 5",
    .says = "Closed forms for both; fastest links first is best; whom FIFO should leave "
            "out; FIFO is fairer; faster links mean more work.",
    .make = make,
};

/* --- three workers served LIFO and FIFO --------------------------------------------- */

/* Beaumont and Rosenberg, Link-heterogeneity vs. node-heterogeneity in clusters, Figures
 * 2 and 3, with numbers: tau = 1, 2, 3, rho = 3, pi = 1, delta = 0.5, L = 20. Table I
 * prints the rate of a node as R = pi + rho; unpacking, computing and packing take (1 +
 * delta) pi + rho. */

enum { WORKERS = 3 };
enum { UNITS, SEND, SENT, COMPUTED, RETURNS, RETURNED, PROTOCOLS_COLUMNS };

static const double RHO = 3, PI = 1, DELTA = 0.5, LIFESPAN = 20;
static const uint32_t order[WORKERS] = { 0, 1, 2 };

static void make_cluster(struct cv_star *out, double rate)
{
    out->n = WORKERS;
    for (int i = 0; i < WORKERS; i++)
        out->trips[i] = (struct cv_trip){ .send_s = i + 1, .compute_s = rate };
    cv_star_set_delta(out, DELTA);
}

/* Carry shares out, computing at `rate`: sends one after the other, results in the order
 * of `back`, each as soon as it and the way back are ready. */
static double carry_out(const double *units, const uint32_t *back, double rate,
                        double when[WORKERS][PROTOCOLS_COLUMNS])
{
    double sent = 0, returned = 0;

    for (int i = 0; i < WORKERS; i++) {
        when[i][UNITS] = units[i];
        when[i][SEND] = sent;
        sent += (i + 1) * units[i];
        when[i][SENT] = sent;
        when[i][COMPUTED] = sent + rate * units[i];
    }
    for (int k = 0; k < WORKERS; k++) {
        double *own = when[back[k]];

        own[RETURNS] = fmax(own[COMPUTED], returned);
        returned = own[RETURNED] = own[RETURNS] + DELTA * (back[k] + 1) * own[UNITS];
    }
    return returned;
}

/* The closed forms of Theorems 1 and 2: how far the shares are from them. */
static double off_theorem(bool fifo, const double *units, double rate)
{
    double share, off = 0, sum = rate + (1 + DELTA), product = 1;

    for (int k = 1; k < WORKERS; k++) {
        product *= (rate + DELTA * k) / (rate + k + 1);
        sum += DELTA * (k + 1) * product;
    }
    share = LIFESPAN / (fifo ? sum : rate + 1 + DELTA);
    for (int k = 0; k < WORKERS; k++) {
        if (k > 0)
            share *= fifo ? (rate + DELTA * k) / (rate + k + 1)
                          : rate / (rate + (1 + DELTA) * (k + 1));
        off = fmax(off, fabs(units[k] / share - 1));
    }
    return off;
}

static void draw_protocols(double when[WORKERS][PROTOCOLS_COLUMNS], const char *title,
                           struct cv_figure_result *result)
{
    struct cv_figure_plot *plot =
        CV_PLOT_ADD(result, .kind = CV_PLOT_BARS, .title = title, .x_label = "time (s)",
                    .bar_rows = "C0 sends|C0 receives|C1|C2|C3",
                    .kinds = "work|processing|results");

    for (uint32_t i = 0; i < WORKERS; i++) {
        const double *own = when[i];
        const struct cv_bar bars[] = {
            { 0, 0, own[SEND], own[SENT], plot->y_names[i + 2], NULL },
            { 1, 2, own[RETURNS], own[RETURNED], plot->y_names[i + 2], NULL },
            { i + 2, 0, own[SEND], own[SENT], NULL, NULL },
            { i + 2, 1, own[SENT], own[COMPUTED], NULL, NULL },
            { i + 2, 2, own[RETURNS], own[RETURNED], NULL, NULL },
        };

        for (size_t k = 0; k < sizeof bars / sizeof *bars; k++)
            cv_plot_bar(plot, &bars[k]);
    }
}

static void fill(double when[WORKERS][PROTOCOLS_COLUMNS], struct cv_figure_result *result)
{
    cv_figure_table(
        result, "worker", "units|send from|sent|computed|return|returned",
        "tau 1, 2 and 3 s per unit, rho 3 s, pi 1 s, delta 0.5, lifespan 20 s.");
    for (int i = 0; i < WORKERS; i++)
        memcpy(cv_figure_row(result, "C%d", i + 1), when[i], sizeof when[i]);
}

static void make_protocol(bool fifo, struct cv_figure_result *result)
{
    const double rate = (1 + DELTA) * PI + RHO, printed = PI + RHO;
    double when[WORKERS][PROTOCOLS_COLUMNS], wrong[WORKERS][PROTOCOLS_COLUMNS],
        waits = 0, end, late, first;
    struct cv_round_trip trip, short_trip;
    struct cv_star cluster;

    make_cluster(&cluster, rate);
    trip = cv_star_trip(&cluster, fifo, order, WORKERS, LIFESPAN, &result->arena);
    make_cluster(&cluster, printed);
    short_trip = cv_star_trip(&cluster, fifo, order, WORKERS, LIFESPAN, &result->arena);
    end = carry_out(trip.units, trip.back, rate, when);
    late = carry_out(short_trip.units, short_trip.back, rate, wrong);
    for (int i = 0; i < WORKERS; i++)
        waits = fmax(waits, when[i][RETURNS] - when[i][COMPUTED]);
    first = when[trip.back[0]][RETURNS];
    fill(when, result);
    cv_figure_claim(result, off_theorem(fifo, trip.units, rate) < 1e-12,
                    fifo ? "Theorem 2: shares in closed form"
                         : "Theorem 1: shares in closed form",
                    "%.4f, %.4f and %.4f units, at most %.0e off", trip.units[0],
                    trip.units[1], trip.units[2], off_theorem(fifo, trip.units, rate));
    cv_figure_claim(result, fabs(end - LIFESPAN) < 1e-9 && waits < 1e-9,
                    "carried out without gaps all ends at L",
                    "at %.6g of %g s, %.0e s of waiting", end, LIFESPAN, waits);
    cv_figure_claim(result, first >= when[WORKERS - 1][SENT] - 1e-9,
                    "one message at a time is enough (section II)",
                    "sends end at %.3f s, the first result leaves at %.3f s",
                    when[WORKERS - 1][SENT], first);
    cv_figure_claim(result, late <= LIFESPAN + 1e-9, "Table I: R = pi + rho",
                    "with shares for that R it ends at %.2f s instead of %g; R is "
                    "(1 + delta) pi + rho = %g, as in equation 6",
                    late, LIFESPAN, rate);
    draw_protocols(when,
                   fifo ? "FIFO: results return in the order of sending"
                        : "LIFO: results return in reverse order",
                   result);
}

static void make_lifo(struct cv_figure_result *result)
{
    make_protocol(false, result);
}

static void make_fifo(struct cv_figure_result *result)
{
    make_protocol(true, result);
}

const struct cv_figure cv_figure_returns_lifo = {
    .title = "Three workers served LIFO",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, Figure 2, Table I, Theorem 1",
    .says = "The first to get work is the last to return results; no gaps, all ends with "
            "the lifespan.",
    .make = make_lifo,
};

const struct cv_figure cv_figure_returns_fifo = {
    .title = "Three workers served FIFO",
    .source = "Beaumont and Rosenberg, Link-heterogeneity, Figure 3, Table I, Theorem 2",
    .says =
        "The first to get work is the first to return results; no gaps, all ends with "
        "the lifespan.",
    .make = make_fifo,
};
