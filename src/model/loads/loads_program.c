/* loads_program.c -- fluid programs of several loads. SPDX-License-Identifier: MIT
 *
 * Every program shares intervals among loads: x(j, i, k) units of load k on worker i in
 * interval j, subject to the seconds that the worker and the ports have. The dual is
 * solved, since its simplex starts at 0 and its prices are the x:
 *
 *   most   sum lam W + sum b u - sum s y - sum l z + sum (W / 2R) p
 *   with   lam_k <= e_ik y_ij + c_ik sum z + (m_j / W_k) p_k      for each x(j, i, k)
 *          the prices of a second of time variable v <= its weight
 *
 * lam: a unit; y: a second of worker i in interval j; z: a second of a port
 * between a release and the end of an interval; u: no end before b; p: mean times. */
#include "model/loads/loads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/simplex/simplex.h"

/* Programs with more numbers than this are not solved: a step would take milliseconds. */
#define MOST_CELLS ((size_t)1 << 20)

/* Prices may exceed costs by this part of the scale. */
static const double NUDGE = 1e-10;
/* The optima of a program and of its dual differ by rounding. */
static const double SAME = 1e-8;

/* One program. */
struct program {
    uint32_t parts;       /* intervals */
    const double *end_s;  /* [0 .. parts]: the ends of fixed intervals; NULL: variable */
    const double *from_s; /* releases that ports distinguish: nfrom of them, growing */
    uint32_t nfrom;
    const double *due_s;   /* per load: ends of the intervals that may compute it; NULL */
    const uint32_t *order; /* loads in the order of ends; NULL */
    const bool *idle;      /* per worker: left out; NULL */
    bool latencies, bounded; /* as in the calls */
    bool means;              /* minimise weighted ends by the mean times of units */
};

struct cv_fluid {
    struct cv_tableau tableau;
    size_t cells;           /* numbers in the matrix */
    uint32_t columns, rows; /* most of them */
    uint32_t *row_of;       /* [(j * n + i) * count + k]; UINT32_MAX: no such unit */
    double *due_s, *end_s, *from_s, *price, *weight;
    double *worth, *value; /* per column: gain of a unit, and units */
    double scale_s;        /* numbers of the program are in these seconds */
    uint32_t *rank;
    bool *idle;
};

/* Columns: lam, y, z, then u of each interval or p and q of each load. */
struct columns {
    uint32_t y, z, more, count;
};

static uint32_t nports(const struct cv_loads *loads)
{
    return loads->multi ? loads->n : 1;
}

static struct columns columns_of(const struct cv_loads *loads, uint32_t parts,
                                 uint32_t nfrom)
{
    const uint32_t y = loads->count, z = y + parts * loads->n,
                   more = z + parts * nports(loads) * nfrom;

    return (struct columns){
        y, z, more, more + (parts > 2 * loads->count ? parts : 2 * loads->count)
    };
}

bool cv_fluid_init(const struct cv_loads *loads, uint32_t intervals, bool releases,
                   struct cv_arena *arena, struct cv_fluid **out)
{
    const uint32_t nfrom = releases ? loads->count : 1;
    const size_t units = (size_t)intervals * loads->n * loads->count;
    const double columns = 2.0 * intervals + 2.0 * loads->count + loads->count +
                           (double)intervals * loads->n +
                           (double)intervals * nports(loads) * nfrom;
    struct cv_fluid *fluid;

    *out = NULL;
    if (!(columns * ((double)units + intervals + loads->count) <= (double)MOST_CELLS))
        return true;
    if (!CV_NEW(arena, fluid, 1) || !CV_NEW(arena, fluid->row_of, units) ||
        !CV_NEW(arena, fluid->due_s, loads->count) ||
        !CV_NEW(arena, fluid->end_s, (size_t)intervals + 1) ||
        !CV_NEW(arena, fluid->from_s, loads->count) ||
        !CV_NEW(arena, fluid->rank, loads->count) ||
        !CV_NEW(arena, fluid->idle, loads->n))
        return false;
    fluid->columns = columns_of(loads, intervals, nfrom).count;
    fluid->rows = (uint32_t)units + intervals + loads->count;
    if (!CV_NEW(arena, fluid->price, fluid->rows) ||
        !CV_NEW(arena, fluid->weight, (size_t)intervals + loads->count) ||
        !CV_NEW(arena, fluid->worth, fluid->columns) ||
        !CV_NEW(arena, fluid->value, fluid->columns) ||
        !cv_tableau_init(&fluid->tableau, fluid->columns, fluid->rows, arena))
        return false;
    fluid->tableau.simplex.noise = 1e-9;
    *out = fluid;
    return true;
}

bool cv_phases_init(struct cv_phases *out, const struct cv_loads *loads,
                    uint32_t intervals, struct cv_arena *arena)
{
    out->count = 0;
    return CV_NEW(arena, out->until_s, intervals) &&
           CV_NEW(arena, out->quota, (size_t)intervals * loads->n * loads->count);
}

static bool allows(const struct program *program, const struct cv_loads *loads,
                   const uint32_t *rank, uint32_t j, uint32_t i, uint32_t k)
{
    if (!(loads->units[k] > 0) || (program->idle != NULL && program->idle[i]))
        return false;
    if (program->order != NULL)
        return rank[k] >= j;
    if (program->end_s == NULL)
        return true;
    return (program->due_s == NULL ||
            program->end_s[j + 1] <= program->due_s[k] * (1 + 1e-12)) &&
           (program->nfrom == 1 || program->end_s[j] >= loads->release_s[k]);
}

/* The price of a second of the port of worker i from release a to the end of part b. */
static uint32_t port_column(const struct program *program, const struct cv_loads *loads,
                            const struct columns *at, uint32_t i, uint32_t a, uint32_t b)
{
    const uint32_t g = loads->multi ? i : 0;

    return at->z + (g * program->nfrom + a) * program->parts + b;
}

/* A row for each x. Returns their number. */
static uint32_t add_units(struct cv_fluid *fluid, const struct program *program,
                          const struct cv_loads *loads, const struct columns *at)
{
    double *matrix = fluid->tableau.matrix;
    uint32_t rows = 0;

    for (uint32_t cell = 0; cell < program->parts * loads->n * loads->count; cell++) {
        const uint32_t k = cell % loads->count, i = cell / loads->count % loads->n,
                       j = cell / loads->count / loads->n;
        const double share = loads->units[k] / fluid->scale_s;
        const size_t cost = (size_t)i * loads->count + k;
        double *row = matrix + (size_t)rows * at->count;

        fluid->row_of[cell] = UINT32_MAX;
        if (!allows(program, loads, fluid->rank, j, i, k))
            continue;
        fluid->row_of[cell] = rows;
        /* Not 0, and not equal: the simplex would stay where it is for many steps. */
        fluid->tableau.simplex.value[rows] = NUDGE * (1 + fmod(rows * 0.6180339887, 1));
        rows++;
        row[k] = 1;
        row[at->y + j * loads->n + i] = -loads->e[cost] * share;
        for (uint32_t a = 0; a < program->nfrom; a++)
            for (uint32_t b = j; b < program->parts; b++)
                if (program->nfrom == 1 || program->from_s[a] <= loads->release_s[k])
                    row[port_column(program, loads, at, i, a, b)] =
                        -loads->c[cost] * share;
        if (program->means)
            row[at->more + k] = -program->end_s[j] / fluid->scale_s;
    }
    return rows;
}

/* Rows of time variables with their weights: the length of a phase; the makespan, or a
 * delay of all deadlines; the ends of loads. Returns their number. */
static uint32_t add_times(struct cv_fluid *fluid, const struct program *program,
                          const struct cv_loads *loads, const struct columns *at,
                          uint32_t first)
{
    double *row = fluid->tableau.matrix + (size_t)first * at->count, weight = 0;

    if (program->means) {
        for (uint32_t k = 0; k < loads->count; k++, row += at->count) {
            row[at->more + k] = row[at->more + loads->count + k] = 1;
            fluid->weight[k] = loads->weight[k];
        }
        return loads->count;
    }
    if (program->order == NULL) {
        for (uint32_t column = at->y; column < at->more; column++)
            row[column] = 1;
        fluid->weight[0] = 1;
        return 1;
    }
    for (uint32_t j = program->parts; j-- > 0;) {
        row = fluid->tableau.matrix + (size_t)(first + j) * at->count;
        fluid->weight[j] = weight += loads->weight[program->order[j]];
        for (uint32_t i = 0; i < loads->n; i++)
            row[at->y + j * loads->n + i] = 1;
        for (uint32_t b = j; b < program->parts; b++) {
            for (uint32_t g = 0; g < nports(loads); g++)
                row[port_column(program, loads, at, g, 0, b)] = 1;
            row[at->more + b] = 1;
        }
    }
    return program->parts;
}

/* Latencies before workers first .. end - 1 compute their first unit. */
static double idle_of(const struct program *program, const struct cv_loads *loads,
                      uint32_t first, uint32_t end)
{
    double latency_s = INFINITY, start_s = INFINITY;

    for (uint32_t i = first; i < end; i++)
        if (program->idle == NULL || !program->idle[i]) {
            latency_s = fmin(latency_s, loads->latency_s[i]);
            start_s = fmin(start_s, loads->start_s[i]);
        }
    return isinf(latency_s) ? 0 : latency_s + start_s;
}

static void add_worths(struct cv_fluid *fluid, const struct program *program,
                       const struct cv_loads *loads, const struct columns *at)
{
    double *worth = fluid->tableau.worth;

    for (uint32_t i = 0; program->latencies && i < loads->n; i++)
        worth[at->y + i] = idle_of(program, loads, i, i + 1);
    for (uint32_t g = 0; program->latencies && g < nports(loads); g++)
        worth[at->z + g] =
            loads->multi ? worth[at->y + g] : idle_of(program, loads, 0, loads->n);
    for (uint32_t j = 0; program->end_s != NULL && j < program->parts; j++) {
        for (uint32_t i = 0; i < loads->n; i++)
            worth[at->y + j * loads->n + i] = program->end_s[j] - program->end_s[j + 1];
        for (uint32_t g = 0; g < nports(loads); g++)
            for (uint32_t a = 0; a < program->nfrom; a++)
                worth[port_column(program, loads, at, g, a, j)] =
                    fmin(0, program->from_s[a] - program->end_s[j + 1]);
    }
    for (uint32_t j = 0; program->bounded && j < program->parts; j++)
        worth[at->more + j] =
            loads->release_s[program->order[j]] + loads->alone_s[program->order[j]];
    for (uint32_t k = 0; program->means && k < loads->count; k++) {
        double rate = 0;

        for (uint32_t i = 0; i < loads->n; i++)
            rate += 1 / loads->e[(size_t)i * loads->count + k];
        worth[at->more + k] = loads->units[k] / (2 * rate);
        worth[at->more + loads->count + k] = loads->release_s[k] + loads->alone_s[k];
    }
    for (uint32_t column = at->y; column < at->count; column++)
        worth[column] /= fluid->scale_s;
    for (uint32_t k = 0; k < loads->count; k++)
        worth[k] = loads->units[k] > 0;
}

/* Prices of rows, in seconds and in parts of loads: minus the worth of slacks outside. */
static void read_prices(struct cv_fluid *fluid)
{
    const struct cv_tableau *tableau = &fluid->tableau;

    memset(fluid->price, 0, tableau->m * sizeof *fluid->price);
    for (uint32_t j = 0; j < tableau->n; j++)
        if (tableau->outside[j] >= tableau->n)
            fluid->price[tableau->outside[j] - tableau->n] = fmax(0, -tableau->worth[j]);
}

/* The optimum; NAN: it was not found, or rounding has spoilt it. */
static double solve(struct cv_fluid *fluid, const struct program *program,
                    const struct cv_loads *loads, struct cv_phases *out)
{
    const struct columns at = columns_of(loads, program->parts, program->nfrom);
    const uint32_t width = loads->n * loads->count;
    const size_t most = (size_t)program->parts * width + program->parts + loads->count;
    struct cv_tableau *tableau = &fluid->tableau;
    double optimum = 0, same = 0, until_s = 0;
    uint32_t first, times;

    memset(tableau->matrix, 0, most * at.count * sizeof *tableau->matrix);
    memset(tableau->worth, 0, at.count * sizeof *tableau->worth);
    for (uint32_t j = 0; program->order != NULL && j < program->parts; j++)
        fluid->rank[program->order[j]] = j;
    fluid->scale_s = 0;
    for (uint32_t k = 0; k < loads->count; k++)
        fluid->scale_s += loads->units[k] * loads->e[k];
    first = add_units(fluid, program, loads, &at);
    times = add_times(fluid, program, loads, &at, first);
    add_worths(fluid, program, loads, &at);
    cv_tableau_resize(tableau, at.count, first + times);
    for (uint32_t r = 0; r < times; r++)
        tableau->simplex.value[first + r] = fluid->weight[r];
    memcpy(fluid->worth, tableau->worth, at.count * sizeof *fluid->worth);
    if (!cv_tableau_run(tableau, fluid->value))
        return NAN;
    read_prices(fluid);
    for (uint32_t j = 0; j < at.count; j++)
        optimum += fluid->worth[j] * fluid->value[j] * fluid->scale_s;
    for (uint32_t r = 0; r < times; r++)
        same += fluid->weight[r] * fluid->price[first + r] * fluid->scale_s;
    if (!(fabs(optimum - same) <= SAME * (fabs(same) + fluid->scale_s)))
        return NAN;
    optimum = fmin(optimum, same);
    if (out == NULL)
        return optimum;
    out->count = program->parts;
    for (uint32_t j = 0; j < program->parts; j++) {
        until_s = program->end_s != NULL ? program->end_s[j + 1]
                  : program->order != NULL
                      ? until_s + fluid->price[first + j] * fluid->scale_s
                      : optimum;
        out->until_s[j] = until_s;
        for (uint32_t x = j * width; x < (j + 1) * width; x++)
            out->quota[x] =
                fluid->row_of[x] == UINT32_MAX
                    ? 0
                    : fluid->price[fluid->row_of[x]] * loads->units[x % loads->count];
    }
    return optimum;
}

/* --- programs ------------------------------------------------------------------------ */

/* A worker whose latencies alone last as long as the makespan only delays it: leave it out,
 * until none does. */
double cv_fluid_makespan(struct cv_fluid *fluid, const struct cv_loads *loads,
                         bool latencies, struct cv_phases *out)
{
    const struct program program = {
        .parts = 1, .nfrom = 1, .latencies = latencies, .idle = fluid->idle
    };
    double best = NAN, makespan_s;
    uint32_t left = loads->n;
    bool again = true;

    memset(fluid->idle, 0, loads->n * sizeof *fluid->idle);
    while (again && left > 0) {
        double longest_s = 0;

        makespan_s = solve(fluid, &program, loads, out);
        best = fmin(best, makespan_s);
        for (uint32_t i = 0; i < loads->n; i++)
            if (!fluid->idle[i])
                longest_s = fmax(longest_s, loads->latency_s[i] + loads->start_s[i]);
        again = latencies && longest_s >= makespan_s * (1 - 1e-12);
        for (uint32_t i = 0; again && i < loads->n; i++)
            if (!fluid->idle[i] && loads->latency_s[i] + loads->start_s[i] >= longest_s) {
                fluid->idle[i] = true;
                left--;
            }
    }
    return best;
}

double cv_fluid_order(struct cv_fluid *fluid, const struct cv_loads *loads,
                      const uint32_t *order, bool bounded, struct cv_phases *out)
{
    const struct program program = {
        .parts = loads->count, .nfrom = 1, .order = order, .bounded = bounded
    };

    return solve(fluid, &program, loads, out);
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Sort, and drop values that are equal to the one before. */
static uint32_t distinct(double *values, uint32_t count)
{
    uint32_t kept = 0;

    qsort(values, count, sizeof *values, by_value);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || values[i] > values[kept - 1] * (1 + 1e-12))
            values[kept++] = values[i];
    return kept;
}

/* The releases that ports distinguish. */
static void note_releases(struct cv_fluid *fluid, const struct cv_loads *loads,
                          double from_s, bool releases, struct program *program)
{
    fluid->from_s[0] = from_s;
    program->nfrom = 1;
    if (releases) {
        for (uint32_t k = 0; k < loads->count; k++)
            fluid->from_s[k] = loads->release_s[k];
        program->nfrom = distinct(fluid->from_s, loads->count);
    }
    program->from_s = fluid->from_s;
}

/* The delay of all deadlines that makes them possible is 0. */
bool cv_fluid_due(struct cv_fluid *fluid, const struct cv_loads *loads, double from_s,
                  bool releases, const double *due_s, struct cv_phases *out)
{
    const double LATE = 1e-8;
    struct program program = { .end_s = fluid->end_s, .due_s = due_s };
    uint32_t ends = 0;
    double delay_s;

    fluid->end_s[ends++] = from_s;
    for (uint32_t k = 0; k < loads->count; k++) {
        if (!(loads->units[k] > 0))
            continue;
        if (!(due_s[k] > from_s))
            return false;
        fluid->end_s[ends++] = due_s[k];
        if (releases && loads->release_s[k] > from_s)
            fluid->end_s[ends++] = loads->release_s[k];
    }
    program.parts = distinct(fluid->end_s, ends) - 1;
    if (program.parts == 0)
        return false;
    note_releases(fluid, loads, from_s, releases, &program);
    delay_s = solve(fluid, &program, loads, out);
    return out != NULL ? delay_s <= LATE * fluid->end_s[program.parts]
                       : !(delay_s > LATE * fluid->end_s[program.parts]);
}

/* Find out whether a stretch is possible. */
static bool stretches(struct cv_fluid *fluid, const struct cv_loads *loads, double from_s,
                      bool releases, double stretch, struct cv_phases *out)
{
    for (uint32_t k = 0; k < loads->count; k++)
        fluid->due_s[k] = loads->release_s[k] + stretch * loads->alone_s[k];
    return cv_fluid_due(fluid, loads, from_s, releases, fluid->due_s, out);
}

double cv_fluid_stretch(struct cv_fluid *fluid, const struct cv_loads *loads,
                        double from_s, bool releases, int turns, struct cv_phases *out)
{
    double low = 1, high = 1;

    while (!stretches(fluid, loads, from_s, releases, high, out)) {
        low = high;
        high *= 1.6;
        if (high > 1e12)
            return NAN;
    }
    for (int turn = 0; turn < turns && high > low * (1 + 1e-4); turn++) {
        const double middle = (low + high) / 2;

        *(stretches(fluid, loads, from_s, releases, middle, out) ? &high : &low) = middle;
    }
    if (out == NULL)
        return low;
    return stretches(fluid, loads, from_s, releases, high, out) ? high : NAN;
}

/* --- bounds -------------------------------------------------------------------------- */

enum { MOST_ORDERED = 5, MEAN_PARTS = 24, STRETCH_TURNS = 20 };

/* The largest over releases: a release, and the makespan of all later loads. */
static double makespan_bound(struct cv_fluid *fluid, struct cv_loads *loads,
                             struct cv_arena *scratch)
{
    const double *whole = loads->units;
    double bound = 0, *units = cv_array(scratch, loads->count, sizeof *units);

    if (units == NULL)
        return 0;
    for (uint32_t r = 0; r < loads->count; r++) {
        double makespan_s;

        for (uint32_t k = 0; k < loads->count; k++)
            units[k] = loads->release_s[k] >= loads->release_s[r] ? whole[k] : 0;
        loads->units = units;
        makespan_s = cv_fluid_makespan(fluid, loads, true, NULL);
        loads->units = whole;
        bound = fmax(bound, loads->release_s[r] + makespan_s);
    }
    return bound;
}

/* The least over all orders: `order` from place `from` on is varied. Not finite: one of
 * them was not found. */
static double best_order(struct cv_fluid *fluid, const struct cv_loads *loads,
                         uint32_t *order, uint32_t from)
{
    double best = INFINITY, found;

    if (from + 1 >= loads->count)
        return cv_fluid_order(fluid, loads, order, true, NULL);
    for (uint32_t i = from; i < loads->count; i++) {
        const uint32_t k = order[i];

        order[i] = order[from];
        order[from] = k;
        found = best_order(fluid, loads, order, from + 1);
        best = isnan(found) ? -INFINITY : fmin(best, found);
        order[from] = order[i];
        order[i] = k;
    }
    return best;
}

/* The weighted ends by mean times: intervals of equal length, cut at releases, and one in
 * which all fits that is later. */
static double means_bound(struct cv_fluid *fluid, const struct cv_loads *loads,
                          uint32_t parts)
{
    struct program program = { .end_s = fluid->end_s, .means = true };
    const double all_s = cv_fluid_makespan(fluid, loads, false, NULL) * (1 + 1e-9);
    double last_s = 0;
    uint32_t ends = 0;

    for (uint32_t k = 0; k < loads->count; k++) {
        last_s = fmax(last_s, loads->release_s[k]);
        fluid->end_s[ends++] = loads->release_s[k];
    }
    for (uint32_t j = 0; j <= parts; j++)
        fluid->end_s[ends++] = j * (last_s + all_s) / parts;
    fluid->end_s[ends++] = last_s + 2 * all_s;
    program.parts = distinct(fluid->end_s, ends) - 1;
    note_releases(fluid, loads, 0, true, &program);
    return solve(fluid, &program, loads, NULL);
}

static double weighted_bound(struct cv_fluid *fluid, struct cv_loads *loads,
                             struct cv_arena *scratch, bool orders)
{
    uint32_t *order = cv_array(scratch, loads->count, sizeof *order);

    if (!orders)
        return means_bound(fluid, loads, MEAN_PARTS);
    for (uint32_t k = 0; order != NULL && k < loads->count; k++)
        order[k] = k;
    return order != NULL ? best_order(fluid, loads, order, 0) : 0;
}

/* Every load as if it were alone. */
static double alone_bound(const struct cv_loads *loads, enum cleave_goal goal)
{
    double bound = goal == CLEAVE_GOAL_STRETCH;

    for (uint32_t k = 0; k < loads->count; k++) {
        const double end_s = loads->release_s[k] + loads->alone_s[k];

        if (goal == CLEAVE_GOAL_WEIGHTED)
            bound += loads->weight[k] * end_s;
        else if (goal == CLEAVE_GOAL_MAKESPAN)
            bound = fmax(bound, end_s);
    }
    return bound;
}

size_t cv_loads_bounds(struct cv_loads *loads, enum cleave_goal goal,
                       struct cv_arena *scratch,
                       struct cleave_bound out[CV_MAX_LOADS_BOUNDS], size_t *out_tightest)
{
    static const char *const names[] = { [CLEAVE_GOAL_MAKESPAN] = "fluid",
                                         [CLEAVE_GOAL_WEIGHTED] = "intervals",
                                         [CLEAVE_GOAL_STRETCH] = "intervals" };
    bool released = false, orders;
    struct cv_fluid *fluid;
    double bound;

    for (uint32_t k = 0; k < loads->count; k++) {
        loads->alone_s[k] = cv_loads_alone(loads, k, NULL);
        released = released || loads->release_s[k] > 0;
    }
    orders = goal == CLEAVE_GOAL_WEIGHTED && !released && loads->count <= MOST_ORDERED;
    out[0] = (struct cleave_bound){ "alone", alone_bound(loads, goal) };
    *out_tightest = 0;
    if (!cv_fluid_init(loads,
                       goal == CLEAVE_GOAL_MAKESPAN   ? 1
                       : orders                       ? loads->count
                       : goal == CLEAVE_GOAL_WEIGHTED ? MEAN_PARTS + 1 + loads->count
                                                      : 2 * loads->count,
                       released, scratch, &fluid) ||
        isnan(out[0].value_s))
        return 0;
    if (fluid == NULL)
        return 1;
    bound = goal == CLEAVE_GOAL_MAKESPAN ? makespan_bound(fluid, loads, scratch)
            : goal == CLEAVE_GOAL_WEIGHTED
                ? weighted_bound(fluid, loads, scratch, orders)
                : cv_fluid_stretch(fluid, loads, 0, released, STRETCH_TURNS, NULL);
    if (!isfinite(bound)) /* the simplex gave up */
        return 1;
    out[1] = (struct cleave_bound){ orders ? "phases" : names[goal], bound };
    *out_tightest = out[1].value_s >= out[0].value_s;
    return 2;
}
