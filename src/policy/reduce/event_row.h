/* event_row.h -- the earliest of a few pending times. SPDX-License-Identifier: MIT
 *
 * A sorted row of keys, for some dozens of them: taking the first costs nothing, adding
 * one moves what is earlier to the left, into the place of the one taken, without a branch
 * that depends on the data. A key is a time whose lowest bits have been replaced by a small
 * number that says what happens; times are not negative, so keys order as times do. Who
 * takes a key must look at the next: if they differ in nothing but that number, the times
 * themselves have to be asked. */
#ifndef CV_EVENT_ROW_H
#define CV_EVENT_ROW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    CV_ROW_STEP = 4, /* keys are moved so many at a time                        */
    CV_ROW_GAP = 16, /* free places in front when the row is laid out anew      */
    CV_ROW_SPARE = CV_ROW_GAP + CV_ROW_STEP,
};
#define CV_ROW_END 0x7ff0000000000000u /* infinity: stands behind the last key  */

/* Keys are in an array that has room for CV_ROW_SPARE more than at most. */
struct cv_event_row {
    uint32_t head, tail; /* the keys are those from head to before tail */
};

static inline uint64_t cv_row_key(double time_s, uint32_t number, unsigned bits)
{
    uint64_t key;

    time_s += 0.0; /* no negative zero */
    memcpy(&key, &time_s, sizeof key);
    return key >> bits << bits | number;
}

static inline void cv_row_swap_if(uint64_t *low, uint64_t *high)
{
    const uint64_t a = *low, b = *high;

    *low = a < b ? a : b;
    *high = a < b ? b : a;
}

/* Two places to be compared. */
struct cv_row_pair {
    uint16_t low, high;
};

/* Two keys at a time: vectors as gcc and clang have them. */
typedef int64_t cv_two __attribute__((vector_size(16)));

static inline cv_two cv_two_load(const uint64_t *from)
{
    cv_two two;

    memcpy(&two, from, sizeof two);
    return two;
}

/* Compare two keys at `low` with two at `high`; these may be the same. */
static inline void cv_row_swap_two_if(uint64_t *low, uint64_t *high)
{
    const cv_two a = cv_two_load(low), b = cv_two_load(high), is_less = a < b;
    const cv_two less = (a & is_less) | (b & ~is_less), more = a ^ b ^ less;

    memcpy(low, &less, sizeof less);
    memcpy(high, &more, sizeof more);
}

/* List the comparisons that sort `count` keys, the same for all data, or count them if
 * `out` is NULL: Batcher's merge exchange (Knuth, vol. 3, 5.2.2, algorithm M). The first
 * *out_wide compare the keys behind as well. Both numbers are multiples of CV_ROW_STEP,
 * filled up with comparisons of the first key with itself. An odd key has the end of the
 * row beside it. */
size_t cv_row_network(uint32_t count, struct cv_row_pair *out, size_t *out_wide);

/* Lay out `count` keys, which stand at keys[CV_ROW_GAP] in any order. */
static inline void cv_row_sort(struct cv_event_row *row, uint64_t *keys, uint32_t count,
                               const struct cv_row_pair *network, size_t wide,
                               size_t size)
{
    size_t i = 0;

    keys += CV_ROW_GAP;
    row->head = CV_ROW_GAP;
    row->tail = CV_ROW_GAP + count;
    for (uint32_t end = 0; end < CV_ROW_STEP; end++)
        keys[count + end] = CV_ROW_END;
    for (; i < wide; i += CV_ROW_STEP) {
        const struct cv_row_pair *pair = &network[i];

        cv_row_swap_two_if(&keys[pair[0].low], &keys[pair[0].high]);
        cv_row_swap_two_if(&keys[pair[1].low], &keys[pair[1].high]);
        cv_row_swap_two_if(&keys[pair[2].low], &keys[pair[2].high]);
        cv_row_swap_two_if(&keys[pair[3].low], &keys[pair[3].high]);
    }
    for (; i < size; i += CV_ROW_STEP) {
        const struct cv_row_pair *pair = &network[i];

        cv_row_swap_if(&keys[pair[0].low], &keys[pair[0].high]);
        cv_row_swap_if(&keys[pair[1].low], &keys[pair[1].high]);
        cv_row_swap_if(&keys[pair[2].low], &keys[pair[2].high]);
        cv_row_swap_if(&keys[pair[3].low], &keys[pair[3].high]);
    }
}

/* place[i] becomes the earlier of place[i + 1] and the later of place[i] and the key: in a
 * sorted row, what is earlier than the key moves to the left, then comes the key. */
static inline void cv_row_meet(uint64_t *place, cv_two key)
{
    const cv_two here = cv_two_load(place), behind = cv_two_load(place + 1);
    const cv_two is_later = here > key, later = (here & is_later) | (key & ~is_later);
    const cv_two is_earlier = behind < later;
    const cv_two result = (behind & is_earlier) | (later & ~is_earlier);

    memcpy(place, &result, sizeof result);
}

static inline void cv_row_add(struct cv_event_row *row, uint64_t *keys, uint64_t key)
{
    const cv_two both = { (int64_t)key, (int64_t)key };
    uint64_t *place, *end;

    if (row->head == 0) {
        memmove(keys + CV_ROW_GAP, keys, (row->tail + CV_ROW_STEP) * sizeof *keys);
        row->head += CV_ROW_GAP;
        row->tail += CV_ROW_GAP;
    }
    end = keys + row->tail - 1;
    place = keys + --row->head;
    *place = 0; /* earlier than all */
    for (; place < end; place += CV_ROW_STEP) {
        cv_row_meet(place, both);
        cv_row_meet(place + 2, both);
    }
    *place = *place < key ? key : *place;
}

/* Add a key that is earlier than all. */
static inline void cv_row_add_first(struct cv_event_row *row, uint64_t *keys,
                                    uint64_t key)
{
    if (row->head == 0)
        cv_row_add(row, keys, key);
    else
        keys[--row->head] = key;
}

#endif
