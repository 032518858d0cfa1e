/* weight_index.h -- the weights of the records of an input, by address. SPDX-License-Identifier: MIT
 *
 * All sums are multiples of `grain`, a power of two that is 2^-20 of a mean weight, so that they are
 * exact in any order. A record weighs at least one grain, so that a range with records has a weight. Memory: 16
 * bytes per record, 8 more to take heavy records first, and 8 for each key. */
#ifndef CV_WEIGHT_INDEX_H
#define CV_WEIGHT_INDEX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

struct cv_weighed_record {
    uint64_t end; /* address after its last byte */
    double sum;   /* weights of all records up to this one */
};

/* For one thread at a time. Members other than `grain` and `heaviest` are for the functions of this header. */
struct cv_weight_index {
    double grain; /* 0: not known yet */
    double heaviest;
    struct cv_weighed_record *records; /* owned: in the order of addresses */
    size_t count, capacity;
    size_t settled; /* records whose sums are final; later ones have weights */
    unsigned nkeys; /* keys of each record; set before the first one is added */
    uint64_t *keys; /* owned: the keys of each record; 0: the record has no key */
    size_t keys_capacity;
    uint32_t *by_weight; /* owned: the heaviest record first; NULL: not sorted */
    uint32_t *rank;      /* owned: place of each record in that order */
    uint64_t *pending;   /* owned: a bit per rank: the record can be taken */
};

void cv_weight_index_done(struct cv_weight_index *index);
/* Add a record, which ends after all others. `keys`: nkeys of them; NULL: it has none. */
enum cleave_status cv_weight_index_add(struct cv_weight_index *index, uint64_t end,
                                       double weight, const uint64_t *keys,
                                       struct cleave_error *err);
/* Change the weight of a record that was added since the last call of _settle. */
void cv_weight_index_set(struct cv_weight_index *index, size_t record, double weight);
/* Sum up the new records. */
void cv_weight_index_settle(struct cv_weight_index *index);

/* The weight of the records that end in (begin, end]. */
double cv_weight_index_between(const struct cv_weight_index *index, uint64_t begin,
                               uint64_t end);
/* The number of these records. */
uint64_t cv_weight_index_count(const struct cv_weight_index *index, uint64_t begin,
                               uint64_t end);
/* The end of this many records from `begin`, a boundary. UINT64_MAX: fewer are known. */
uint64_t cv_weight_index_after(const struct cv_weight_index *index, uint64_t begin,
                               uint64_t records);
double cv_weight_index_total(const struct cv_weight_index *index);
/* A boundary: the records from `begin`, another one, up to it weigh at most `wanted`, or are one.
 * UINT64_MAX: all known records weigh less. */
uint64_t cv_weight_index_cut(const struct cv_weight_index *index, uint64_t begin,
                             double wanted);
/* The start of the last records of [begin, end) that weigh at most `wanted` together. */
uint64_t cv_weight_index_cut_last(const struct cv_weight_index *index, uint64_t begin,
                                  uint64_t end, double wanted);
/* The keys of the records that end in (begin, end], nkeys for each of *count; borrowed until a record
 * is added or forgotten. */
const uint64_t *cv_weight_index_keys(const struct cv_weight_index *index, uint64_t begin,
                                     uint64_t end, uint64_t *count);
/* The first records of [begin, end), which are boundaries, whose keys `allows` lets pass. *out_end is
 * UINT64_MAX if these are the last known ones. False: there are none. */
bool cv_weight_index_find_allowed(
    const struct cv_weight_index *index, uint64_t begin, uint64_t end,
    bool (*allows)(const void *context, const uint64_t *keys), const void *context,
    uint64_t *out_begin, uint64_t *out_end);
/* Forget the records of [begin, end), except its last boundary. */
void cv_weight_index_forget(struct cv_weight_index *index, uint64_t begin, uint64_t end);

/* Sort all records. From now on all of them are pending. */
enum cleave_status cv_weight_index_sort(struct cv_weight_index *index,
                                        struct cleave_error *err);
/* The records of [begin, end) can be taken, or were. */
void cv_weight_index_note(struct cv_weight_index *index, uint64_t begin, uint64_t end,
                          bool pending);
/* The start of the heaviest pending record, which weighs at most `wanted` unless `any`, or else of the
 * lightest; the first of equal ones. False: none, or they are light next to `wanted`. */
bool cv_weight_index_pick(const struct cv_weight_index *index, double wanted, bool any,
                          uint64_t *out);

#endif
