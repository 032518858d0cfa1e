/* bound_guide.c -- a first guess at what the port's time is worth.
 * SPDX-License-Identifier: MIT
 *
 * The prices come from a schedule: round robin over the n widest links, K chunks, sizes
 * without gaps, the best over n and K. Counted from the end, sizes are affine in the last
 * chunk's time whatever K is, so all K for one n cost one scan. The multipliers of the
 * linear program of that order say how many units a second of the port is worth while
 * each message passes; messages in excess of the pieces wanted are taken together. A bad
 * guess makes a weak bound, never a wrong one. */
#include "model/load/bound_guide.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "model/load/vertex.h"

/* With more workers than this only some numbers n are tried. */
static const uint32_t try_all = 32;
static const double try_ratio = 0.75;
/* Sizes are not trusted when terms this much larger than the load cancel. */
static const double most_cancelled = 1e8;

struct link {
    double bandwidth;
    uint32_t worker;
};

CV_ORDER_DOWN_BY(widest_first, struct link, bandwidth, worker)

struct guide {
    const struct cleave_worker *workers; /* borrowed             */
    double load;
    struct link *links;     /* widest first         */
    struct cv_affine *lead; /* per place in `links` */
    double makespan;        /* best so far          */
    uint32_t n;
    size_t chunks;
};

/* All K for round robin over the first n links. */
static void guide_scan(struct guide *guide, uint32_t n)
{
    struct cv_affine ahead = { 0, 1 }, sum = { 0, 0 };
    const size_t max = 4 * (size_t)n + 256;
    double min = 0, best = INFINITY;
    size_t since = 0;
    uint32_t place = n;

    for (uint32_t i = 0; i < n; i++)
        guide->lead[i] = (struct cv_affine){ 0, 0 };
    for (size_t chunks = 1; chunks <= max && since <= 2 * (size_t)n + 8; chunks++) {
        const struct cleave_worker *w;
        struct cv_affine size;
        double last, makespan;

        place = place > 0 ? place - 1 : n - 1;
        w = &guide->workers[guide->links[place].worker];
        size.offset = w->speed_ups *
                      (ahead.offset - guide->lead[place].offset - w->compute_latency_s);
        size.slope = w->speed_ups * (ahead.slope - guide->lead[place].slope);
        guide->lead[place] = ahead;
        ahead.offset += w->latency_s + size.offset / w->bandwidth_ups;
        ahead.slope += size.slope / w->bandwidth_ups;
        sum.offset += size.offset;
        sum.slope += size.slope;
        min = fmax(min, -size.offset / size.slope);
        last = (guide->load - sum.offset) / sum.slope;
        makespan = ahead.offset + ahead.slope * last;
        if (!isfinite(makespan) || fabs(sum.offset) > most_cancelled * guide->load)
            break;
        if (best < INFINITY)
            since++;
        if (!(last >= min && makespan < best))
            continue;
        best = makespan;
        since = 0;
        if (best < guide->makespan) {
            guide->makespan = best;
            guide->n = n;
            guide->chunks = chunks;
        }
    }
}

/* One piece per group of messages: prices averaged over time, and never rising. */
static void pieces_from(const struct guide *guide, const uint32_t *seq,
                        const double *units, const double *multiplier, uint32_t max,
                        struct cv_prices *out)
{
    const struct cleave_worker *first = &guide->workers[seq[0]];
    const double worth =
        1 / (1 / first->bandwidth_ups + multiplier[0] / first->speed_ups);
    const size_t group = (guide->chunks + max - 2) / (max - 1);
    double now = 0, left = 1, lowest = INFINITY;
    uint32_t k = 0;

    for (size_t i = 0; i < guide->chunks;) {
        double time = 0, cost = 0, gap = 0;
        size_t in = 0;

        for (; in < group && i < guide->chunks; in++, i++) {
            const struct cleave_worker *w = &guide->workers[seq[i]];
            const double message = w->latency_s + units[i] / w->bandwidth_ups;

            time += message;
            cost += message * left * worth;
            gap += w->compute_latency_s + units[i] / w->speed_ups;
            left -= multiplier[i];
        }
        if (time > 0)
            lowest = fmin(lowest, fmax(0, cost / time));
        if (!(time > 0) || !isfinite(lowest))
            continue;
        out->from[k] = now;
        out->price[k] = lowest;
        out->gap[k] = gap / (double)in;
        now += time;
        k++;
    }
    out->from[k] = now;
    out->price[k] = 0;
    out->gap[k] = k > 0 ? out->gap[k - 1] : 0;
    out->pieces = k + 1;
    cv_prices_sum(out);
}

void cv_prices_sum(struct cv_prices *prices)
{
    prices->total[0] = 0;
    for (uint32_t k = 0; k + 1 < prices->pieces; k++)
        prices->total[k + 1] =
            prices->total[k] + prices->price[k] * (prices->from[k + 1] - prices->from[k]);
}

static bool guide_prices(const struct guide *guide, uint32_t nworkers, uint32_t max,
                         struct cv_arena *scratch, struct cv_prices *out)
{
    const size_t chunks = guide->chunks;
    struct cv_vertex_workspace room;
    uint32_t *seq = cv_array(scratch, chunks, sizeof *seq);
    double *units = cv_array(scratch, chunks, sizeof *units);
    double *multiplier = cv_array(scratch, chunks, sizeof *multiplier);
    bool feasible;

    if (seq == NULL || units == NULL || multiplier == NULL ||
        !cv_vertex_room_init(&room, scratch, chunks, nworkers))
        return false;
    for (size_t i = 0; i < chunks; i++)
        seq[chunks - 1 - i] =
            guide->links[guide->n - 1 - (uint32_t)(i % guide->n)].worker;
    cv_vertex_solve(guide->workers, guide->load, seq, chunks, &room, units, &feasible);
    for (size_t i = 0; i < chunks; i++)
        units[i] = fmax(0, units[i]);
    cv_vertex_multipliers(guide->workers, seq, chunks, &room, multiplier);
    pieces_from(guide, seq, units, multiplier, max, out);
    return true;
}

bool cv_price_guide(const struct cleave_worker *workers, uint32_t nworkers, double load,
                    uint32_t most_pieces, struct cv_arena *scratch, struct cv_prices *out,
                    double *out_makespan)
{
    struct guide guide = { .workers = workers, .load = load, .makespan = INFINITY };

    guide.links = cv_array(scratch, nworkers, sizeof *guide.links);
    guide.lead = cv_array(scratch, nworkers, sizeof *guide.lead);
    if (guide.links == NULL || guide.lead == NULL)
        return false;
    for (uint32_t i = 0; i < nworkers; i++)
        guide.links[i] = (struct link){ workers[i].bandwidth_ups, i };
    qsort(guide.links, nworkers, sizeof *guide.links, widest_first);
    for (uint32_t n = nworkers; n >= 1;) {
        guide_scan(&guide, n);
        n = n <= try_all ? n - 1 : (uint32_t)(n * try_ratio);
    }
    *out_makespan = guide.makespan;
    out->pieces = 0;
    if (!isfinite(guide.makespan))
        return true;
    return guide_prices(&guide, nworkers, most_pieces, scratch, out);
}
