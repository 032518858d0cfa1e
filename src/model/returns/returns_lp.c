/* returns_lp.c -- the best shares for given orders on a single port.
 * SPDX-License-Identifier: MIT
 *
 * Without fixed costs: most work subject to the rows and to the port, a linear
 * program. The row of a worker without a share follows from the port's, so all rows
 * may stay.
 *
 * With fixed costs: branch and bound over the set of workers. Undecided workers pay
 * nothing, which only loosens rows (and the row of a worker that is left out follows
 * from the port's), so the program is an upper bound, and exact if no undecided worker
 * has both a share and a fixed cost.
 *
 * Variables are scaled so that a worker's own time is 1 and the lifespan is 1. All
 * coefficients and right sides are then between 0 and 1, and the start is feasible. */
#include "model/returns/returns_internal.h"

#include <math.h>
#include <string.h>
#include "model/simplex/simplex.h"

/* If all shares are positive, every row is a sum of positive terms, so that
 * elimination with row pivots leaves an error of a few roundings of the lifespan in
 * each row. */

bool cv_rows_make(struct cv_rows *rows, const struct cv_returns *returns,
                  const uint32_t *send, const uint32_t *back, uint32_t n,
                  double lifespan_s, struct cv_arena *arena)
{
    const bool linear = cv_returns_linear(returns);
    const size_t cells = (size_t)n * n;
    uint32_t *place;

    *rows = (struct cv_rows){ returns, send, n, lifespan_s, NULL, NULL };
    if (!CV_NEW(arena, place, returns->n) || !CV_NEW(arena, rows->units, cells) ||
        (!linear && !CV_NEW(arena, rows->fixed, cells)))
        return false;
    for (uint32_t k = 0; k < n; k++)
        place[back[k]] = k;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            const struct cv_trip *t = &returns->trips[send[j]];
            const bool sent = j <= i, returned = place[send[j]] >= place[send[i]];
            const size_t at = (size_t)i * n + j;

            rows->units[at] = (sent ? t->send_s : 0) + (i == j ? t->compute_s : 0) +
                              (returned ? t->back_s : 0);
            if (!linear)
                rows->fixed[at] = (sent ? t->send_fixed_s : 0) +
                                  (i == j ? t->compute_fixed_s : 0) +
                                  (returned ? t->back_fixed_s : 0);
        }
    return true;
}

double cv_rows_right(const struct cv_rows *rows, uint32_t i, const uint32_t *set,
                     uint32_t count)
{
    double right = rows->lifespan_s;

    for (uint32_t k = 0; rows->fixed != NULL && k < count; k++)
        right -= rows->fixed[(size_t)i * rows->n + set[k]];
    return right;
}

/* Elimination with row pivots, in place; false for a singular matrix. Then solve. */
static bool lu_factor(double *matrix, uint32_t n, uint32_t *pivots)
{
    for (uint32_t k = 0; k < n; k++) {
        double *top = matrix + (size_t)k * n, largest = 0;
        uint32_t pivot = k;

        for (uint32_t i = k; i < n; i++)
            if (fabs(matrix[(size_t)i * n + k]) > largest) {
                largest = fabs(matrix[(size_t)i * n + k]);
                pivot = i;
            }
        if (!(largest > 0) || !isfinite(largest))
            return false;
        pivots[k] = pivot;
        for (uint32_t j = 0; pivot != k && j < n; j++) {
            const double kept = top[j];

            top[j] = matrix[(size_t)pivot * n + j];
            matrix[(size_t)pivot * n + j] = kept;
        }
        for (uint32_t i = k + 1; i < n; i++) {
            double *row = matrix + (size_t)i * n;
            const double factor = row[k] / top[k];

            row[k] = factor;
            for (uint32_t j = k + 1; j < n; j++)
                row[j] -= factor * top[j];
        }
    }
    return true;
}

static void lu_solve(const double *matrix, uint32_t n, const uint32_t *pivots,
                     double *vector)
{
    for (uint32_t k = 0; k < n; k++) {
        const double kept = vector[pivots[k]];

        vector[pivots[k]] = vector[k];
        vector[k] = kept;
    }
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            vector[i] -= matrix[(size_t)i * n + j] * vector[j];
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t j = i + 1; j < n; j++)
            vector[i] -= matrix[(size_t)i * n + j] * vector[j];
        vector[i] /= matrix[(size_t)i * n + i];
    }
}

/* Columns are scaled so that each worker's own time is 1: costs of very different
 * magnitudes do not mislead the choice of pivots. */
bool cv_rows_tight(const struct cv_rows *rows, const uint32_t *set, uint32_t count,
                   double *matrix, double *vector, uint32_t *pivots, double *shares)
{
    double *kept = matrix + (size_t)count * count, *rest = vector + count;

    for (uint32_t i = 0; i < count; i++) {
        const double *row = rows->units + (size_t)set[i] * rows->n;

        for (uint32_t j = 0; j < count; j++)
            matrix[(size_t)i * count + j] =
                row[set[j]] / rows->units[(size_t)set[j] * rows->n + set[j]];
        vector[i] = cv_rows_right(rows, set[i], set, count);
    }
    memcpy(kept, matrix, (size_t)count * count * sizeof *matrix);
    memcpy(rest, vector, count * sizeof *vector);
    if (!lu_factor(matrix, count, pivots))
        return false;
    lu_solve(matrix, count, pivots, vector);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++)
            rest[i] -= kept[(size_t)i * count + j] * vector[j];
    lu_solve(matrix, count, pivots, rest);
    for (uint32_t i = 0; i < count; i++) {
        shares[i] =
            (vector[i] + rest[i]) / rows->units[(size_t)set[i] * rows->n + set[i]];
        if (!isfinite(shares[i]))
            return false;
    }
    return true;
}

static bool all_tight(const struct cv_returns *returns, const uint32_t *send,
                      const uint32_t *back, uint32_t n, double lifespan_s,
                      struct cv_arena *arena, double *shares, bool *out_memory)
{
    double *matrix, *vector;
    uint32_t *pivots, *set;
    struct cv_rows rows;

    *out_memory = CV_NEW(arena, matrix, 2 * (size_t)n * n) &&
                  CV_NEW(arena, vector, 2 * (size_t)n) && CV_NEW(arena, pivots, n) &&
                  CV_NEW(arena, set, n) &&
                  cv_rows_make(&rows, returns, send, back, n, lifespan_s, arena);
    if (!*out_memory)
        return false;
    for (uint32_t k = 0; k < n; k++)
        set[k] = k;
    return cv_rows_tight(&rows, set, n, matrix, vector, pivots, shares);
}

enum cleave_status cv_returns_tight(const struct cv_returns *returns,
                                    const uint32_t *send, const uint32_t *back,
                                    uint32_t n, double lifespan_s, struct cv_arena *arena,
                                    struct cv_round_trip *out, struct cleave_error *err)
{
    double *shares, *units;
    enum cv_chain kind;
    bool memory = true, solved = true;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    CV_TRY(cv_returns_check_orders(returns, send, back, n, arena, err));
    if (!CV_NEW(arena, shares, n) || !CV_NEW(arena, units, returns->n))
        return cv_fail_memory(err, "shares");
    if (cv_orders_chain(send, back, n, &kind))
        cv_chain_tight(returns, kind, send, n, lifespan_s, shares);
    else
        solved = all_tight(returns, send, back, n, lifespan_s, arena, shares, &memory);
    if (!memory)
        return cv_fail_memory(err, "rows of the workers");
    for (uint32_t k = 0; k < n; k++) {
        solved = solved && isfinite(shares[k]);
        units[send[k]] = shares[k];
    }
    if (!solved)
        return cv_fail(err, CLEAVE_EINPUT,
                       "these orders leave the shares open when no worker is idle");
    return cv_returns_make(returns, send, back, n, units, lifespan_s, true, arena, out,
                           err);
}

/* Shares of less than this part of the lifespan are 0. */
static const double share_noise = 1e-13;

enum { EXACT_MOST = 16, FEWEST_NODES = 20 };
static const double node_work = 3e8;
/* Steps of a node, times the square of its columns. */
static const double node_steps = 65;

enum choice { OPEN, IN, OUT };

struct program {
    const struct cv_rows *rows;
    enum choice *choice; /* per column of the rows                            */
    uint32_t *cols;      /* not OUT */
    uint32_t *in;        /* that pay fixed costs */
    uint32_t ncols, nin;
    struct cv_tableau tableau; /* ncols + 1 rows (port last), ncols columns   */
    double *matrix, *vector;   /* workspace for the last basis */
    uint32_t *pivots, *tight;
    double *x;    /* per column of the rows, in units of load                 */
    double *best; /* the best schedule so far */
    double best_work;
    uint64_t nodes, most_nodes;
};

static double own_s(const struct program *p, uint32_t col)
{
    return p->rows->units[(size_t)col * p->rows->n + col];
}

static const struct cv_trip *trip_of(const struct program *p, uint32_t col)
{
    return &p->rows->returns->trips[p->rows->send[col]];
}

/* Seconds of program row i (the port after the workers) per unit of a column. */
static double coefficient(const struct program *p, uint32_t i, uint32_t col)
{
    if (i == p->ncols)
        return trip_of(p, col)->send_s + trip_of(p, col)->back_s;
    return p->rows->units[(size_t)p->cols[i] * p->rows->n + col];
}

static double right_side(const struct program *p, uint32_t i)
{
    double right = p->rows->lifespan_s;

    if (i < p->ncols)
        return cv_rows_right(p->rows, p->cols[i], p->in, p->nin);
    for (uint32_t k = 0; k < p->nin; k++)
        right -= trip_of(p, p->in[k])->send_fixed_s + trip_of(p, p->in[k])->back_fixed_s;
    return right;
}

static bool set_up(struct program *p)
{
    struct cv_tableau *tableau = &p->tableau;
    const uint32_t n = p->ncols;
    double largest = 0;

    cv_tableau_resize(tableau, n, n + 1);
    for (uint32_t i = 0; i <= n; i++) {
        double *row = tableau->matrix + (size_t)i * n;

        for (uint32_t j = 0; j < n; j++)
            row[j] = coefficient(p, i, p->cols[j]) / own_s(p, p->cols[j]);
        tableau->simplex.value[i] = right_side(p, i) / p->rows->lifespan_s;
        if (tableau->simplex.value[i] < 0)
            return false;
    }
    for (uint32_t j = 0; j < n; j++)
        largest = fmax(largest, 1 / own_s(p, p->cols[j]));
    for (uint32_t j = 0; j < n; j++)
        tableau->worth[j] = 1 / own_s(p, p->cols[j]) / largest;
    return true;
}

/* Solve the tight rows for the columns in the basis again: the tableau has accumulated
 * rounding errors. */
static bool solve_basis(struct program *p)
{
    uint32_t n = 0, m = 0;

    for (uint32_t j = 0; j < p->ncols; j++)
        if (p->tableau.outside[j] >= p->ncols)
            p->tight[m++] = p->tableau.outside[j] - p->ncols;
    for (uint32_t i = 0; i <= p->ncols; i++)
        if (p->tableau.simplex.basic[i] < p->ncols)
            n++;
    if (n != m)
        return false;
    for (uint32_t r = 0; r < n; r++) {
        uint32_t c = 0;

        for (uint32_t i = 0; i <= p->ncols; i++)
            if (p->tableau.simplex.basic[i] < p->ncols) {
                const uint32_t col = p->cols[p->tableau.simplex.basic[i]];

                p->matrix[(size_t)r * n + c++] =
                    coefficient(p, p->tight[r], col) / own_s(p, col);
            }
        p->vector[r] = right_side(p, p->tight[r]);
    }
    if (!lu_factor(p->matrix, n, p->pivots))
        return false;
    lu_solve(p->matrix, n, p->pivots, p->vector);
    for (uint32_t r = 0; r < n; r++)
        if (!(p->vector[r] >= -1e-9 * p->rows->lifespan_s) || !isfinite(p->vector[r]))
            return false;
    return true;
}

/* Scale all shares until every row holds. */
static void shrink(struct program *p)
{
    double factor = 1;

    for (uint32_t i = 0; i <= p->ncols; i++) {
        const double right = right_side(p, i);
        double sum = 0;

        for (uint32_t j = 0; j < p->ncols; j++)
            sum += coefficient(p, i, p->cols[j]) * p->x[p->cols[j]];
        if (sum > right && right >= 0)
            factor = fmin(factor, right / sum);
    }
    for (uint32_t j = 0; j < p->ncols; j++)
        p->x[p->cols[j]] *= factor;
}

/* The best work with the choices made, shares in p->x; -1 if infeasible. */
static double solve(struct program *p)
{
    const double lifespan_s = p->rows->lifespan_s;
    double work = 0;
    uint32_t c = 0;
    bool fresh;

    p->ncols = p->nin = 0;
    for (uint32_t k = 0; k < p->rows->n; k++) {
        p->x[k] = 0;
        if (p->choice[k] != OUT)
            p->cols[p->ncols++] = k;
        if (p->choice[k] == IN)
            p->in[p->nin++] = k;
    }
    if (p->ncols == 0)
        return 0;
    if (!(lifespan_s > 0) || !set_up(p))
        return -1;
    (void)cv_tableau_run(&p->tableau, NULL);
    cv_step_budget_spend(p->rows->returns->budget, node_steps * p->ncols * p->ncols);
    fresh = solve_basis(p);
    for (uint32_t i = 0; i <= p->ncols; i++)
        if (p->tableau.simplex.basic[i] < p->ncols) {
            const double own =
                fresh ? p->vector[c++] : p->tableau.simplex.value[i] * lifespan_s;
            const uint32_t col = p->cols[p->tableau.simplex.basic[i]];

            p->x[col] = own > share_noise * lifespan_s ? own / own_s(p, col) : 0;
        }
    shrink(p);
    for (uint32_t j = 0; j < p->ncols; j++)
        work += p->x[p->cols[j]];
    return work;
}

static bool pays(const struct program *p, uint32_t col)
{
    return cv_trip_once_s(trip_of(p, col)) > 0;
}

static void keep_if_better(struct program *p, double work)
{
    if (!(work > p->best_work))
        return;
    p->best_work = work;
    memcpy(p->best, p->x, p->rows->n * sizeof *p->best);
}

/* A schedule from the solution of a node: workers with a share pay, and while that is
 * infeasible the one with the least share is left out. Restores the choices. */
static void round_off(struct program *p, enum choice *kept)
{
    const uint32_t n = p->rows->n;

    memcpy(kept, p->choice, n * sizeof *kept);
    for (uint32_t tries = 0; tries <= n; tries++) {
        uint32_t min = UINT32_MAX;
        double work;

        for (uint32_t k = 0; k < n; k++) {
            p->choice[k] = p->x[k] > 0 ? IN : OUT;
            if (p->x[k] > 0 &&
                (min == UINT32_MAX || p->x[k] * own_s(p, k) < p->x[min] * own_s(p, min)))
                min = k;
        }
        if (min == UINT32_MAX)
            break;
        memcpy(p->vector, p->x, n * sizeof *p->x);
        work = solve(p);
        if (work >= 0) {
            uint32_t idle = 0;

            keep_if_better(p, work);
            for (uint32_t k = 0; k < n; k++)
                idle += p->choice[k] == IN && !(p->x[k] > 0);
            if (idle == 0)
                break;
        } else {
            memcpy(p->x, p->vector, n * sizeof *p->x);
            p->x[min] = 0;
        }
    }
    memcpy(p->choice, kept, n * sizeof *kept);
}

/* The undecided worker with a share and the largest fixed cost. */
static uint32_t branch_on(const struct program *p)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t k = 0; k < p->rows->n; k++)
        if (p->choice[k] == OPEN && p->x[k] > 0 && pays(p, k) &&
            (best == UINT32_MAX ||
             cv_trip_once_s(trip_of(p, k)) > cv_trip_once_s(trip_of(p, best))))
            best = k;
    return best;
}

/* False: there were too many nodes. */
static bool search(struct program *p, enum choice *kept)
{
    const bool small = p->rows->n <= EXACT_MOST;
    struct cv_step_budget *budget = p->rows->returns->budget;
    uint32_t col;
    double bound;
    bool complete;

    if (p->nodes++ >= p->most_nodes || (p->nodes > 1 && cv_step_budget_over(budget)))
        return false;
    bound = solve(p);
    if (bound < 0 || bound <= p->best_work * (1 + 1e-13))
        return true;
    col = branch_on(p);
    if (col == UINT32_MAX) {
        keep_if_better(p, bound);
        return true;
    }
    if (!small || p->nodes == 1)
        round_off(p, kept);
    p->choice[col] = IN;
    complete = search(p, kept);
    p->choice[col] = OUT;
    complete = search(p, kept) && complete;
    p->choice[col] = OPEN;
    return complete;
}

bool cv_rows_single(const struct cv_rows *rows, double *shares, bool *out_optimal,
                    struct cv_arena *arena)
{
    struct program p = { .rows = rows };
    const uint32_t size = rows->n;
    const double n = size;
    enum choice *kept;

    if (!CV_NEW(arena, kept, size) || !CV_NEW(arena, p.choice, size) ||
        !CV_NEW(arena, p.matrix, (size_t)size * size) || !CV_NEW(arena, p.vector, size) ||
        !CV_NEW(arena, p.x, size) || !CV_NEW(arena, p.best, size) ||
        !CV_NEW(arena, p.cols, size) || !CV_NEW(arena, p.in, size) ||
        !CV_NEW(arena, p.pivots, size) || !CV_NEW(arena, p.tight, size) ||
        !cv_tableau_init(&p.tableau, size, size + 1, arena))
        return false;
    p.tableau.simplex.noise = 1e-12;
    p.most_nodes = rows->n <= EXACT_MOST
                       ? UINT64_MAX
                       : FEWEST_NODES + (uint64_t)(node_work / (n * n * n));
    *out_optimal = search(&p, kept);
    memcpy(shares, p.best, rows->n * sizeof *shares);
    return true;
}
