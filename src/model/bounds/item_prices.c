/* item_prices.c -- the linear program of items that are divided between workers.
 * SPDX-License-Identifier: MIT
 *
 * Rows are classes of workers and maybe the port; a column is an assignment, with the time
 * that it takes of each row. Most assignments per unit of time: sum q with L q <= 1. Its
 * prices p are those wanted, up to their sum: the value is 1 / sum p. */
#include "model/bounds/item_prices.h"

#include <math.h>
#include <string.h>

#include "base/bisect.h"

enum { STEPS = 400 };

static const double CLOSE = 1e-3;  /* near enough to the best                        */
static const double NOISE = 1e-12; /* pivots smaller than this are rounding errors    */

/* A line over sizes: what an item costs at the prices of a class. */
struct line {
    double start, slope;
    uint32_t of; /* class */
};

struct work {
    const struct cv_item_prices *in;
    uint32_t rows;
    double *inverse;        /* rows x rows: of the basis                              */
    double *value, *gain;   /* by row: of its basic column                            */
    double *price;          /* by row                                                 */
    double *column, *moved; /* loads of an assignment; the same in terms of the basis */
    struct line *lines;     /* those that may be used, and the lowest of them         */
    struct line *lowest;
    double *ends; /* sizes at which somebody can do no larger item          */
};

/* How many sizes are at most `size`. */
static uint64_t count_up_to(const struct cv_item_prices *in, double size)
{
    uint64_t count;

    CV_BISECT(count, in->nitems, i, in->sizes[i] <= size);
    return count;
}

/* --- the items' answer ---------------------------------------------------------------------- */

/* Items [begin, end) go to class c: time of its workers and of the port. Returns what they
 * cost at the prices y. */
static double charge(struct work *work, uint32_t c, uint64_t begin, uint64_t end,
                     const double *y)
{
    const struct cv_worker_class *class = &work->in->classes[c];
    const double count = (double)(end - begin);
    const double units = work->in->sums[end] - work->in->sums[begin];
    const double each_s = (count * class->start_s + units * class->pace_s) / class->count;
    const double port_s = count * class->link_s + units * class->link_pace_s;

    work->column[c] += each_s;
    if (!work->in->port)
        return y[c] * each_s;
    work->column[work->rows - 1] += port_s;
    return y[c] * each_s + y[work->rows - 1] * port_s;
}

/* The lower envelope of lines sorted by falling slope: each is the lowest from where it
 * meets the one before. Returns how many there are. */
static uint32_t envelope(const struct line *lines, uint32_t n, struct line *out)
{
    uint32_t m = 0;

    for (uint32_t i = 0; i < n; i++) {
        while (m > 0) {
            const struct line *a = &out[m - 1], *b = &lines[i];
            const bool never = b->start <= a->start; /* and no steeper */
            const bool hidden =
                m > 1 &&
                (b->start - out[m - 2].start) * (out[m - 2].slope - a->slope) <=
                    (a->start - out[m - 2].start) * (out[m - 2].slope - b->slope);

            if (!never && !hidden)
                break;
            m--;
        }
        if (m > 0 && lines[i].slope >= out[m - 1].slope)
            continue; /* parallel to a lower one */
        out[m++] = lines[i];
    }
    return m;
}

/* Lines of the classes that may do an item of more than `above` units, steepest first. */
static uint32_t gather(struct work *work, double above, const double *y)
{
    const struct cv_item_prices *in = work->in;
    const double port = in->port ? y[work->rows - 1] : 0;
    uint32_t n = 0;

    for (uint32_t c = 0; c < in->nclasses; c++) {
        const struct cv_worker_class *class = &in->classes[c];
        const double price = y[c] / class->count;
        const struct line line = { price * class->start_s + port * class->link_s,
                                   price * class->pace_s + port * class->link_pace_s, c };
        uint32_t at = n;

        if (!(class->max > above))
            continue;
        for (; at > 0 && (work->lines[at - 1].slope < line.slope ||
                          (work->lines[at - 1].slope == line.slope &&
                           work->lines[at - 1].start > line.start));
             at--)
            work->lines[at] = work->lines[at - 1];
        work->lines[at] = line;
        n++;
    }
    return n;
}

/* Items [begin, end), which the same classes may do, each where it costs least. */
static double answer_part(struct work *work, uint64_t begin, uint64_t end, uint32_t n,
                          const double *y)
{
    const uint32_t m = envelope(work->lines, n, work->lowest);
    double cost = 0;

    for (uint32_t k = 0; k < m && begin < end; k++) {
        const struct line *line = &work->lowest[k];
        uint64_t next = end;

        if (k + 1 < m) {
            const struct line *after = &work->lowest[k + 1];
            const double meet =
                (after->start - line->start) / (line->slope - after->slope);

            next = count_up_to(work->in, meet);
            next = next < begin ? begin : next > end ? end : next;
        }
        cost += charge(work, line->of, begin, next, y);
        begin = next;
    }
    return cost;
}

/* The assignment that costs least at prices y: its loads in `column`. Returns the cost;
 * INFINITY if an item fits nobody. */
static double answer(struct work *work, const double *y)
{
    const struct cv_item_prices *in = work->in;
    uint64_t begin = 0;
    double cost = 0, above = -1;

    memset(work->column, 0, work->rows * sizeof *work->column);
    for (uint32_t k = 0; k < in->nclasses && begin < in->nitems; k++) {
        const uint64_t end = count_up_to(in, work->ends[k]);

        if (end > begin) {
            cost += answer_part(work, begin, end, gather(work, above, y), y);
            begin = end;
        }
        above = work->ends[k];
    }
    return begin < in->nitems ? INFINITY : cost;
}

/* --- prices ----------------------------------------------------------------------------- */

static void find_prices(struct work *work)
{
    for (uint32_t j = 0; j < work->rows; j++) {
        work->price[j] = 0;
        for (uint32_t i = 0; i < work->rows; i++)
            work->price[j] += work->gain[i] * work->inverse[i * work->rows + j];
    }
}

/* `column`, whose gain is given, enters the basis. False: it cannot. */
static bool enter(struct work *work, double gain)
{
    const uint32_t n = work->rows;
    uint32_t out = n;
    double pivot;

    for (uint32_t i = 0; i < n; i++) {
        work->moved[i] = 0;
        for (uint32_t j = 0; j < n; j++)
            work->moved[i] += work->inverse[i * n + j] * work->column[j];
        if (work->moved[i] > NOISE && (out == n || work->value[i] * work->moved[out] <
                                                       work->value[out] * work->moved[i]))
            out = i;
    }
    if (out == n)
        return false;
    pivot = work->moved[out];
    work->value[out] /= pivot;
    work->gain[out] = gain;
    for (uint32_t j = 0; j < n; j++)
        work->inverse[out * n + j] /= pivot;
    for (uint32_t i = 0; i < n; i++) {
        if (i == out)
            continue;
        work->value[i] = fmax(0, work->value[i] - work->moved[i] * work->value[out]);
        for (uint32_t j = 0; j < n; j++)
            work->inverse[i * n + j] -= work->moved[i] * work->inverse[out * n + j];
    }
    return true;
}

/* A row whose price is below 0 has time to spare: its slack enters. */
static bool enter_slack(struct work *work)
{
    uint32_t worst = 0;

    for (uint32_t j = 1; j < work->rows; j++)
        if (work->price[j] < work->price[worst])
            worst = j;
    if (!(work->price[worst] < -NOISE))
        return false;
    memset(work->column, 0, work->rows * sizeof *work->column);
    work->column[worst] = 1;
    return enter(work, 0);
}

/* Prices that are right where starts cost nothing: by speed. */
static void first_prices(const struct work *work, double *y)
{
    double sum = 0;

    for (uint32_t c = 0; c < work->in->nclasses; c++) {
        const struct cv_worker_class *class = &work->in->classes[c];

        y[c] = class->count / fmax(class->pace_s, 1e-300);
        sum += y[c];
    }
    for (uint32_t j = 0; j < work->rows; j++)
        y[j] = j < work->in->nclasses ? y[j] / sum : 0;
}

static double search(struct work *work, double enough_s, double *y)
{
    double best = 0, scale = 0;

    first_prices(work, y);
    for (int step = 0; step < STEPS; step++) {
        const double bound = answer(work, y);
        double sum = 0;

        best = fmax(best, bound);
        if (step == 0)
            scale = bound; /* so that loads are about 1 */
        if (best >= enough_s || !(scale > 0))
            break;
        for (uint32_t j = 0; j < work->rows; j++)
            work->column[j] /= scale;
        if (!enter(work, 1))
            break;
        find_prices(work);
        for (uint32_t k = 0; k < work->rows && enter_slack(work); k++)
            find_prices(work);
        for (uint32_t j = 0; j < work->rows; j++)
            sum += work->price[j] = fmax(0, work->price[j]);
        /* No prices can give more than 1 / sum. */
        if (!(sum > 0) || best * sum >= scale * (1 - CLOSE))
            break;
        for (uint32_t j = 0; j < work->rows; j++)
            y[j] = work->price[j] / sum;
    }
    return best;
}

/* Where the set of those who may do an item changes, ascending. */
static void find_ends(struct work *work)
{
    for (uint32_t c = 0; c < work->in->nclasses; c++) {
        const double max = work->in->classes[c].max;
        uint32_t at = c;

        for (; at > 0 && work->ends[at - 1] > max; at--)
            work->ends[at] = work->ends[at - 1];
        work->ends[at] = max;
    }
}

double cv_item_prices_bound(const struct cv_item_prices *prices, double enough_s,
                            struct cv_arena *scratch)
{
    const uint32_t n = prices->nclasses + prices->port;
    struct work work = { .in = prices, .rows = n };
    double *y = cv_array(scratch, n, sizeof *y);

    work.inverse = cv_array(scratch, (size_t)n * n, sizeof *work.inverse);
    work.value = cv_array(scratch, n, sizeof *work.value);
    work.gain = cv_array(scratch, n, sizeof *work.gain);
    work.price = cv_array(scratch, n, sizeof *work.price);
    work.column = cv_array(scratch, n, sizeof *work.column);
    work.moved = cv_array(scratch, n, sizeof *work.moved);
    work.lines = cv_array(scratch, n, sizeof *work.lines);
    work.lowest = cv_array(scratch, n, sizeof *work.lowest);
    work.ends = cv_array(scratch, n, sizeof *work.ends);
    if (y == NULL || work.inverse == NULL || work.value == NULL || work.gain == NULL ||
        work.price == NULL || work.column == NULL || work.moved == NULL ||
        work.lines == NULL || work.lowest == NULL || work.ends == NULL)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        work.inverse[i * n + i] = 1;
        work.value[i] = 1;
    }
    find_ends(&work);
    return search(&work, enough_s, y);
}
