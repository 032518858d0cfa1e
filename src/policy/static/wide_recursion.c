/* wide_recursion.c -- the chunk recursion of xmi.h with twice the digits.
 * SPDX-License-Identifier: MIT
 *
 * A sum and a product of two doubles are given exactly by two doubles (T. J. Dekker, A
 * floating-point technique for extending the available precision, 1971). */
#include "policy/static/wide_recursion.h"

#include <math.h>

/* Beyond this part of the sum even these digits do not say what is negative. */
static const double cancellation = 1e-22;

static struct cv_wide_number sum_of(double a, double b)
{
    const double high = a + b, part = high - a;

    return (struct cv_wide_number){ high, (a - (high - part)) + (b - part) };
}

static struct cv_wide_number product_of(double a, double b)
{
    const double split = 134217729, high = a * b; /* 2^27 + 1 */
    const double a_high = split * a - (split * a - a), a_low = a - a_high;
    const double b_high = split * b - (split * b - b), b_low = b - b_high;

    return (struct cv_wide_number){
        high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low
    };
}

static struct cv_wide_number add(struct cv_wide_number a, struct cv_wide_number b)
{
    const struct cv_wide_number high = sum_of(a.high, b.high), low = sum_of(a.low, b.low);
    const struct cv_wide_number once = sum_of(high.high, high.low + low.high);

    return sum_of(once.high, once.low + low.low);
}

static struct cv_wide_number minus(struct cv_wide_number a)
{
    return (struct cv_wide_number){ -a.high, -a.low };
}

static struct cv_wide_number times(struct cv_wide_number a, struct cv_wide_number b)
{
    struct cv_wide_number product = product_of(a.high, b.high);

    product.low += a.high * b.low + a.low * b.high;
    return sum_of(product.high, product.low);
}

static struct cv_wide_number over(struct cv_wide_number a, struct cv_wide_number b)
{
    const double first = a.high / b.high;
    const struct cv_wide_number rest =
        add(a, minus(times(b, (struct cv_wide_number){ first, 0 })));

    return sum_of(first, rest.high / b.high);
}

static struct cv_wide_number quotient(double a, double b)
{
    return over((struct cv_wide_number){ a, 0 }, (struct cv_wide_number){ b, 0 });
}

bool cv_wide_init(struct cv_wide_recursion *recursion, struct cv_arena *arena,
                  size_t chunks, uint32_t workers)
{
    *recursion = (struct cv_wide_recursion){ 0 };
    recursion->time = cv_array(arena, chunks, sizeof *recursion->time);
    recursion->tail = cv_array(arena, workers, sizeof *recursion->tail);
    return recursion->time != NULL && recursion->tail != NULL;
}

void cv_wide_start(struct cv_wide_recursion *r, const struct cleave_worker *worker,
                   uint32_t n)
{
    const struct cv_wide_affine none = { { 0, 0 }, { 0, 0 } };

    r->workers = n;
    r->latency_s = worker->latency_s;
    r->drift_s = add(product_of(n, worker->latency_s),
                     (struct cv_wide_number){ -worker->compute_latency_s, 0 });
    r->ratio = quotient(worker->speed_ups, worker->bandwidth_ups);
    r->count = 0;
    r->place = 0;
    r->head = r->sum = none;
    r->min = none.slope;
}

static struct cv_wide_affine both(struct cv_wide_affine a, struct cv_wide_affine b)
{
    return (struct cv_wide_affine){ add(a.slope, b.slope), add(a.offset, b.offset) };
}

static struct cv_wide_number value(const struct cv_wide_affine *line,
                                   struct cv_wide_number at)
{
    return add(line->offset, times(line->slope, at));
}

void cv_wide_step(struct cv_wide_recursion *r)
{
    const struct cv_wide_number one = { 1, 0 };
    struct cv_wide_affine *time = &r->time[r->count];
    struct cv_wide_affine window = r->head;

    if (r->count >= r->workers)
        window = both(window, r->tail[r->place]);
    time->slope = times(r->ratio, window.slope);
    time->offset = times(r->ratio, window.offset);
    if (r->count < r->workers) {
        time->slope = add(time->slope, one);
        time->offset = add(time->offset, product_of((double)r->count, r->latency_s));
    } else {
        time->offset = add(time->offset, r->drift_s);
    }
    if (value(time, r->min).high < 0)
        r->min = over(minus(time->offset), time->slope);
    r->head = both(r->head, *time);
    r->sum = both(r->sum, *time);
    r->count++;
    if (++r->place < r->workers)
        return;
    r->tail[r->workers - 1] = *time;
    for (uint32_t i = r->workers - 1; i-- > 0;)
        r->tail[i] = both(r->tail[i + 1], *--time);
    r->place = 0;
    r->head = (struct cv_wide_affine){ { 0, 0 }, { 0, 0 } };
}

bool cv_wide_feasible(const struct cv_wide_recursion *r, double units, double speed_ups)
{
    const struct cv_wide_number total_s = quotient(units, speed_ups);

    return add(value(&r->sum, r->min), minus(total_s)).high <= 0 &&
           fabs(r->sum.offset.high) * cancellation <= total_s.high &&
           isfinite(r->sum.slope.high) && isfinite(r->sum.offset.low);
}

struct cv_wide_number cv_wide_last(const struct cv_wide_recursion *r, double units,
                                   double speed_ups)
{
    return over(add(quotient(units, speed_ups), minus(r->sum.offset)), r->sum.slope);
}

double cv_wide_time(const struct cv_wide_recursion *r, size_t i,
                    struct cv_wide_number last)
{
    return value(&r->time[i], last).high;
}
