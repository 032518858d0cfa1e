/* returns_search_places.c -- the best pair of places for one more worker.
 * SPDX-License-Identifier: MIT
 *
 * All pairs are priced (returns_search_looks.c); then the most promising are looked at
 * first, until one holds that no other can beat (returns_search_port.c on a single port). */
#include "model/returns/returns_search_places.h"

#include "base/heap.h"

/* Of pairs that promise more on a single port this many are looked at. */
enum { MOST_LOOKS = 4000 };

static bool before(const struct cv_place_pair *a, const struct cv_place_pair *b)
{
    return a->promise > b->promise;
}

CV_HEAP(pair, struct cv_place_pair, before)

static bool best_duplex(struct cv_position_search *places, const struct cv_inverse *rest,
                        const struct cv_trip *trip, struct cv_place_pair *out)
{
    uint32_t doubt = rest->m;

    while (places->npairs > 0) {
        const struct cv_place_pair at = pair_pop(places->pairs, places->npairs--);
        const struct cv_position_value look =
            cv_places_look(places, rest, trip, at.s, at.f);

        places->steps += 2.0 * rest->m;
        if (cv_places_positive(places, rest, trip, &look, at.s, at.f, &doubt)) {
            *out = at;
            return true;
        }
    }
    return false;
}

static bool best_single(struct cv_position_search *places, const struct cv_inverse *rest,
                        const struct cv_trip *trip, double min, struct cv_place_pair *out)
{
    bool found = false;

    for (unsigned looks = 0; places->npairs > 0 && looks < MOST_LOOKS; looks++) {
        const struct cv_place_pair at = pair_pop(places->pairs, places->npairs--);
        double work;

        if (at.promise <= min)
            break;
        work = cv_places_single_work(places, rest, trip, &at, min);
        places->steps += 12.0 * rest->m;
        if (work > min) {
            *out = (struct cv_place_pair){ work, at.s, at.f };
            min = work;
            found = true;
        }
    }
    return found;
}

bool cv_places_best(struct cv_position_search *places, const struct cv_inverse *rest,
                    uint32_t x, double min, double port_value, struct cv_place_pair *out)
{
    const struct cv_trip *trip = &rest->returns->trips[x];

    cv_places_collect(places, rest, trip, min, port_value);
    if (places->npairs == 0)
        return false;
    for (size_t i = places->npairs / 2; i-- > 0;)
        pair_sink(places->pairs, places->npairs, i, places->pairs[i]);
    if (!rest->returns->single)
        return best_duplex(places, rest, trip, out);
    cv_places_sum_rows(places, rest);
    return best_single(places, rest, trip, min, out);
}
