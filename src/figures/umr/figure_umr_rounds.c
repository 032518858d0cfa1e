/* figure_umr_rounds.c -- R of applications, rounds of UMR, and UMR on unequal workers.
 * SPDX-License-Identifier: MIT
 *
 * Yang and Casanova, multi-round algorithms, Table 1 and Figures 5 to 7. */
#include <math.h>
#include "figures/common/figure.h"
#include "model/platform/generate.h"
#include "policy/common/setup.h"
#include "policy/static/umr.h"
#include "policy/static/umr_plus.h"
#include "policy/static/one_round.h"

static const double LOAD = 2000;
enum { FEW = 5, WORKERS = 10, MOST_ROUNDS = 60 };

/* --- Table 1: R of four applications ------------------------------------------------ */

/* R is the time to compute over the time to send the input over a "100 Mb" network. Sizes
 * and times are printed; the rate that they were divided by can be checked. */

enum { APPLICATIONS = 4 };
enum { SIZE, TIME, PRINTED, TEN, TWELVE };

static const struct {
    const char *name;
    double size_mb, time_s, ratio;
} applications[APPLICATIONS] = {
    { "HMMER", 802, 534, 6.7 },
    { "MPEG", 716.8, 2494, 34.8 },
    { "VFleet", 87.5, 600, 68 },
    { "Data Mining", 400, 3150, 78 },
};

static void make_table1(struct cv_figure_result *result)
{
    double off = 0, min = INFINITY;

    cv_figure_table(result, "application",
                    "input MB|time s|R, paper|R, 10 MB/s|R, 12.5 MB/s", NULL);
    for (int i = 0; i < APPLICATIONS; i++) {
        double *values = cv_figure_row(result, "%s", applications[i].name);

        values[SIZE] = applications[i].size_mb;
        values[TIME] = applications[i].time_s;
        values[PRINTED] = applications[i].ratio;
        values[TEN] = 10 * applications[i].time_s / applications[i].size_mb;
        values[TWELVE] = 12.5 * applications[i].time_s / applications[i].size_mb;
        off = fmax(off, fabs(values[TEN] - values[PRINTED]));
        min = fmin(min, values[TWELVE] / values[PRINTED]);
    }
    cv_figure_claim(result, off < 1, "R is the time to compute over the time to send",
                    "within %.2f of every printed value at 10 MB/s", off);
    cv_figure_claim(result, min < 1.05, "the network is one of 100 Mb",
                    "100 Mbit/s are 12.5 MB/s, for which R would be %.0f %% "
                    "larger; the table is for 10 MB/s",
                    100 * (min - 1));
    CV_PLOT_ADD(result, .x_label = "application",
                .y_label = "R: compute time over send time", .labels = true,
                CV_CURVES({ "as printed", PRINTED, CV_LINE_MARKS, -0.12 },
                          { "10 MB/s", TEN, CV_LINE_MARKS, 0 },
                          { "12.5 MB/s", TWELVE, CV_LINE_MARKS, 0.12 }));
}

const struct cv_figure cv_figure_umr_table1 = {
    .title = "Compute time over send time of four applications",
    .source = "Yang and Casanova, Multi-round algorithms, Table 1",
    .says = "Divisible applications have R from 6.7 to 78 on a 100 Mb network.",
    .make = make_table1,
};

/* --- Figure 5: rounds of UMR against both latencies --------------------------------- */

/* Yang and Casanova, multi-round algorithms, Figure 5: N = R = 5, 2000 units, speed 1, so
 * that N S = B. Equation 9 as printed has an N too many under the root for this case:
 * setting the derivatives of the expected time to zero gives
 * 
 *     M = sqrt(2 W / (B (3 alpha + N beta))). */

enum { FIG5_MOST = 10, BETAS = FIG5_MOST + 1 };

static const double RATIO = 5;

/* Equation 9. */
static double rounds_for(double ratio, double alpha, double beta)
{
    const struct cleave_worker worker = { .speed_ups = 1,
                                          .compute_latency_s = alpha,
                                          .bandwidth_ups = ratio,
                                          .latency_s = beta };
    struct cv_umr_sums sums = { 0 };
    struct cv_umr_line line = { 1, 0 };

    for (int i = 0; i < FEW; i++)
        sums = cv_umr_add(&sums, &worker, &line);
    return cv_umr_real_rounds(&sums, LOAD);
}

static double real_rounds(double alpha, double beta)
{
    return rounds_for(RATIO, alpha, beta);
}

static double printed_rounds(double alpha, double beta)
{
    return sqrt(2 * FEW * LOAD / (RATIO * (3 * alpha + FEW * beta)));
}

static double whole(double rounds)
{
    return ceil(rounds - 1e-9);
}

static void judge_fig5(struct cv_figure_result *result)
{
    double min = INFINITY, max = 0, half = whole(real_rounds(0.5, 0));
    unsigned rises = 0;

    for (int a = 1; a <= FIG5_MOST; a++)
        for (int b = 1; b <= FIG5_MOST; b++) {
            const double rounds = whole(real_rounds(a, b));

            min = fmin(min, rounds);
            max = fmax(max, rounds);
            rises += real_rounds(a, b) >= real_rounds(a - 1, b) ||
                     real_rounds(a, b) >= real_rounds(a, b - 1);
        }
    cv_figure_claim(result, min == 4 && max == 10, "UMR takes between 4 and 10 rounds",
                    "%.0f to %.0f for latencies from 1 to 10 s, rounded up", min, max);
    cv_figure_claim(result, half <= 10, "latencies vary between 0 and 10",
                    "1 and more: at 0.5 and 0 s there are already %.0f rounds, at 0 and "
                    "0 without end",
                    half);
    cv_figure_claim(result, rises == 0,
                    "there are fewer rounds when either latency grows",
                    "%u of %d steps go the other way", rises, FIG5_MOST * FIG5_MOST);
    cv_figure_claim(
        result, fabs(printed_rounds(1, 1) / real_rounds(1, 1) - 1) < 1e-9,
        "equation 9 for N S = B has 2 N W under the root",
        "it would give %.1f to %.1f rounds where the figure has %.1f to %.1f; 2 W is "
        "right",
        printed_rounds(FIG5_MOST, FIG5_MOST), printed_rounds(1, 1),
        real_rounds(FIG5_MOST, FIG5_MOST), real_rounds(1, 1));
}

static void make_fig5(struct cv_figure_result *result)
{
    cv_figure_table(
        result, "alpha",
        "beta 0|1|2|3|4|5|6|7|8|9|10|real 0|real 1|real 2|real 3|real 4|real 5|real 6|"
        "real 7|real 8|real 9|real 10",
        "Rounds, rounded up, by the latency of computing (rows) and the latency of a "
        "message (columns), in seconds; before rounding: in the CSV file.");
    result->nshown = BETAS;
    for (int a = 0; a <= FIG5_MOST; a++) {
        double *values = cv_figure_row(result, "%d", a);

        for (int b = 0; b <= FIG5_MOST; b++) {
            const double rounds = real_rounds(a, b);

            values[b] = isfinite(rounds) ? whole(rounds) : NAN;
            values[BETAS + b] = isfinite(rounds) ? rounds : NAN;
        }
    }
    CV_PLOT_ADD(result, .kind = CV_PLOT_MAP,
                .title = "Rounds of UMR (N = R = 5, 2000 units)",
                .x_label = "β, latency of a message (s)",
                .y_label = "α, latency of computing (s)", .ncolumns = BETAS);
    judge_fig5(result);
}

const struct cv_figure cv_figure_umr_fig5 = {
    .title = "Rounds of UMR against the latencies of computing and of messages",
    .source = "Yang and Casanova, Multi-round algorithms, Figure 5 and section 6.2.1",
    .says = "Between 4 and 10 rounds, fewer when either latency grows.",
    .make = make_fig5,
};

/* --- Figure 6: rounds of UMR against bandwidth over speed --------------------------- */

/* Yang and Casanova, multi-round algorithms, Figure 6: N = 5, 2000 units, three pairs of
 * latencies. The curve for alpha = 0 only comes out with a limit that equation 9 does not
 * have, a first chunk of at least Delta, as the text of section 6.2.2 asks for. */

enum { CURVES = 3, LEAST = 6, FIG6_MOST = 80 };
enum { COMPUTE, LINK, BOTH, EQUATION };

static const struct {
    double alpha, beta;
} latencies[CURVES] = { { 5, 0 }, { 0, 5 }, { 5, 5 } };

static double rounds_at(double ratio, int curve, struct cv_arena *arena)
{
    struct cleave_worker workers[FEW];
    struct cv_umr plan;

    for (int i = 0; i < FEW; i++)
        workers[i] = (struct cleave_worker){ .speed_ups = 1,
                                             .compute_latency_s = latencies[curve].alpha,
                                             .bandwidth_ups = ratio,
                                             .latency_s = latencies[curve].beta };
    CV_MUST(cv_umr_plan(workers, FEW, LOAD, MOST_ROUNDS, 0, arena, &plan, err));
    return plan.rounds;
}

static void judge_fig6(struct cv_figure_result *result)
{
    const struct cv_figure_row *rows = result->rows; /* from R = 6 */
    const int count = FIG6_MOST - LEAST + 1;
    const double *first = rows[0].values, *last = rows[count - 1].values;
    const double *but_one = rows[count - 2].values;
    unsigned wrong[CURVES] = { 0 };
    int top = 0, at = 0;

    for (int r = 1; r < count; r++) {
        const double *now = rows[r].values, *before = rows[r - 1].values;

        wrong[COMPUTE] += now[COMPUTE] > before[COMPUTE];
        wrong[LINK] += now[LINK] < before[LINK];
        if (now[BOTH] > rows[top].values[BOTH])
            top = r;
        if (now[BOTH] == rows[top].values[BOTH])
            at = r;
    }
    for (int r = 1; r < count; r++)
        wrong[BOTH] += r <= top ? rows[r].values[BOTH] < rows[r - 1].values[BOTH]
                                : rows[r].values[BOTH] > rows[r - 1].values[BOTH];
    cv_figure_claim(result,
                    wrong[COMPUTE] == 0 && first[COMPUTE] == 6 && last[COMPUTE] == 2,
                    "alpha 5, beta 0: from 6 rounds down to 2 as R grows",
                    "from %.0f at R = 6 to %.0f at R = 80, %u steps up", first[COMPUTE],
                    last[COMPUTE], wrong[COMPUTE]);
    cv_figure_claim(
        result, wrong[LINK] == 0 && first[LINK] == 2 && but_one[LINK] == 14,
        "alpha 0, beta 5: from 2 rounds up to 14 as R grows",
        "from %.0f at R = 6 to %.0f at R = 79 (%.0f at R = 80), %u steps down",
        first[LINK], but_one[LINK], last[LINK], wrong[LINK]);
    cv_figure_claim(
        result, fabs(first[EQUATION] - first[LINK]) < 1,
        "equation 9 gives the number of rounds",
        "alone it would ask for %.1f rounds at R = 6 with alpha 0, beta 5, where a first "
        "chunk of at least Delta, as section 6.2.2 wants it, allows %.0f; %.1f at R = 80",
        first[EQUATION], first[LINK], last[EQUATION]);
    cv_figure_claim(result, wrong[BOTH] == 0 && top > 0 && fabs(LEAST + at - 10.0) <= 2,
                    "alpha 5, beta 5: first more rounds, then fewer from R = 10 on",
                    "%.0f at R = 6, %.0f from R = %d to %d, then down to %.0f",
                    first[BOTH], rows[top].values[BOTH], LEAST + top, LEAST + at,
                    last[BOTH]);
}

static void make_fig6(struct cv_figure_result *result)
{
    cv_figure_table(result, "R",
                    "alpha 5, beta 0|alpha 0, beta 5|alpha 5, beta 5|0, 5: equation 9",
                    "Rounds of UMR on 5 workers, 2000 units, latencies in seconds.");
    for (int r = LEAST; r <= FIG6_MOST; r++) {
        double *values;

        result->file_only = r > 12 && r % 10 != 0;
        values = cv_figure_row(result, "%d", r);
        for (int c = 0; c < CURVES; c++)
            values[c] = rounds_at(r, c, &result->arena);
        values[EQUATION] = rounds_for(r, 0, latencies[LINK].beta);
    }
    judge_fig6(result);
    CV_PLOT_ADD(result, .x_label = "R = bandwidth over speed", .y_label = "rounds of UMR",
                .y_from = 0, .y_to = 16,
                CV_CURVES({ "α = 5 s, β = 0", COMPUTE, CV_LINE_STEPS, 0 },
                          { "α = 0, β = 5 s", LINK, CV_LINE_STEPS, 0 },
                          { "α = β = 5 s", BOTH, CV_LINE_STEPS, 0 }));
}

const struct cv_figure cv_figure_umr_fig6 = {
    .title = "Rounds of UMR against bandwidth over speed, for three pairs of latencies",
    .source = "Yang and Casanova, Multi-round algorithms, Figure 6 and section 6.2.2",
    .says = "From 6 rounds down to 2 when only computing has a latency, from 2 up to 14 "
            "when only messages have one, up and then down from R = 10 on with both.",
    .make = make_fig6,
};

/* --- Figure 7: UMR on unequal workers, with and without selection ------------------- */

/* Yang and Casanova, multi-round algorithms, Figure 7: 10 workers whose speeds,
 * bandwidths and latencies differ by up to a factor `het`, 2000 units; makespan over the
 * ideal W / sum of speeds, mean over samples. The printed interval of the samples has (1
 * - h) twice; it is (1 - h) to (1 + h) times the mean. The paper does not say how
 * negative chunks are treated without selection: here they are dropped, and the other
 * chunks are scaled to the load. Beyond the paper: umr-plus. */

enum { HETS = 10, MOST_CHUNKS = 640 };
enum { SELECTED, SORTED, LISTED, PLUS, WAYS, WORST = WAYS, FIG7_COLUMNS };

static const double hets[HETS] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000 };

struct samples {
    uint64_t each;        /* samples per heterogeneity */
    double (*over)[WAYS]; /* makespan over the ideal   */
};

static void try_ways(const struct cleave_worker *workers, struct cv_arena *arena,
                     double over[WAYS])
{
    static const uint32_t listed[WORKERS] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    const uint32_t *sorted = cv_bandwidth_order(workers, WORKERS, arena);
    struct cv_umr_plus plus;
    struct cv_umr umr, all;
    double speed = 0;

    if (sorted == NULL)
        cv_figure_no_memory("a figure");
    CV_MUST(cv_umr_plan(workers, WORKERS, LOAD, MOST_ROUNDS, 0, arena, &umr, err));
    over[SELECTED] = umr.makespan_s;
    CV_MUST(cv_umr_unselected(workers, sorted, WORKERS, LOAD, MOST_ROUNDS, 0, arena, &all,
                              err));
    over[SORTED] = all.workers > 0 ? all.makespan_s : NAN;
    CV_MUST(cv_umr_unselected(workers, listed, WORKERS, LOAD, MOST_ROUNDS, 0, arena, &all,
                              err));
    over[LISTED] = all.workers > 0 ? all.makespan_s : NAN;
    CV_MUST(cv_umr_plus_plan(workers, WORKERS, LOAD, MOST_CHUNKS,
                             cv_umr_plus_effort(WORKERS), arena, &plus, err));
    over[PLUS] = plus.makespan_s;
    for (int i = 0; i < WORKERS; i++)
        speed += workers[i].speed_ups;
    for (int way = 0; way < WAYS; way++)
        over[way] /= LOAD / speed;
}

static void one_sample(void *context, const struct cv_turn *turn)
{
    const struct samples *samples = context;
    struct cleave_platform *platform;
    struct cv_generate wanted;

    cv_generate_preset(&wanted);
    wanted.workers = WORKERS;
    wanted.heterogeneity = hets[turn->number / samples->each];
    wanted.seed = turn->number;
    CV_MUST(cv_generate_platform(&wanted, &platform, err));
    try_ways(cleave_platform_workers(platform), turn->arena, samples->over[turn->number]);
    cleave_platform_free(platform);
}

static void judge_fig7(struct cv_figure_result *result)
{
    double max = 0, single = 0, least_gain = INFINITY, plus = 0, last_gain = 0;

    for (int h = 0; h < HETS; h++) {
        const double *values = result->rows[h].values;

        max = fmax(max, values[SELECTED]);
        single = fmax(single, values[WORST]);
        last_gain = values[SORTED] / values[SELECTED] - 1;
        if (h > 0)
            least_gain = fmin(least_gain, last_gain);
        plus = fmax(plus, values[SELECTED] / values[PLUS] - 1);
    }
    cv_figure_claim(result, max < 1.3,
                    "with selection within 30 % of the ideal up to a factor of 1000",
                    "%.1f %% over it at most on average; single samples up to "
                    "%.0f %%",
                    100 * (max - 1), 100 * (single - 1));
    cv_figure_claim(result, least_gain >= -1e-3 && last_gain > 0.1,
                    "choosing among the workers is effective",
                    "without it %.0f %% longer at a factor of 1000, served by bandwidth",
                    100 * last_gain);
    cv_figure_claim(result, plus > 0, "beyond the paper: umr-plus is shorter still",
                    "umr takes up to %.1f %% longer on average", 100 * plus);
}

static void make_fig7(struct cv_figure_result *result)
{
    struct samples samples = { .each = result->job->quick ? 10 : 400 };
    const uint64_t count = HETS * samples.each;

    samples.over = cv_figure_alloc(result, count, sizeof *samples.over);
    cv_figure_parallel(result->job, count, 4, one_sample, &samples);
    cv_figure_table(result, "heterogeneity",
                    "with selection|without, by bandwidth|without, as listed|umr-plus|"
                    "worst with selection",
                    "Makespan over load / sum of speeds, mean over 400 samples (10 if "
                    "quick) of 10 workers.");
    for (int h = 0; h < HETS; h++) {
        double *values = cv_figure_row(result, "%g", hets[h]);

        for (int way = 0; way < FIG7_COLUMNS; way++)
            values[way] = 0;
        for (uint64_t i = 0; i < samples.each; i++) {
            const double *over = samples.over[(uint64_t)h * samples.each + i];

            for (int way = 0; way < WAYS; way++)
                values[way] += over[way] / (double)samples.each;
            values[WORST] = fmax(values[WORST], over[SELECTED]);
        }
    }
    judge_fig7(result);
    CV_PLOT_ADD(result, .x_label = "most that two workers differ by",
                .y_label = "mean makespan over the ideal", .log_x = true,
                .ncurves = WAYS);
}

const struct cv_figure cv_figure_umr_fig7 = {
    .title = "UMR on workers that differ, with and without choosing among them",
    .source = "Yang and Casanova, Multi-round algorithms, Figure 7 and section 6.3",
    .says = "Within 30 % of the ideal even where workers and links differ by a factor of "
            "1000; choosing among the workers is effective.",
    .make = make_fig7,
};
