/* elastic_desk.h -- learn on a small input, told by hand what commands do. SPDX-License-Identifier: MIT
 *
 * The load is 400 records of 7 bytes, which commands are fed in sips of 16 bytes. */
#ifndef ELASTIC_DESK_H
#define ELASTIC_DESK_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "policy/common/orders.h"
#include "policy/common/setup.h"
#include "policy/common/reserved_workers.h"
#include <cleave/policy.h>

enum { MOST_WORKERS = 17, ORDERS = 256, RECORD = 7, RECORDS = 400 };

struct places {
    struct cv_arena arena;
    struct cleave_worker workers[MOST_WORKERS];
    struct cleave_view view;
    struct cleave_order items[ORDERS];
    struct cleave_orders orders;
    const struct cleave_policy *learn;
    char state[4096];
    double given; /* to the first one */
};

static inline void tell(struct places *places, struct cleave_event event)
{
    places->orders.count = 0;
    places->learn->decide(places->state, &places->view, &event, &places->orders);
}

/* The order to that worker of that kind, or NULL. */
static inline const struct cleave_order *
ordered(const struct places *places, enum cleave_order_kind kind, uint32_t worker)
{
    for (size_t i = 0; i < places->orders.count; i++)
        if (places->items[i].kind == kind && places->items[i].worker == worker)
            return &places->items[i];
    return NULL;
}

/* All of `workers` start, the first one on less than a record, of which it is given a whole one. It begins to
 * read after start_s. There is a place for one more. */
static inline void desk_begin(struct places *places, uint32_t workers, double start_s)
{
    struct cleave_setup setup = { .arena = &places->arena };

    *places = (struct places){ .view = { .nworkers = workers + 1,
                                         .port = CLEAVE_PORT_MULTI,
                                         .units_total = RECORDS * RECORD,
                                         .units_left = RECORDS * RECORD,
                                         .real = true,
                                         .opens = true,
                                         .unequal = 4,
                                         .burst_s = 0.16,
                                         .varies = 0.05,
                                         .ahead = 16 } };
    for (uint32_t w = 0; w < workers; w++)
        places->workers[w] = (struct cleave_worker){ 1e8, 1e-3, 1e12, 0, 1e12, 0 };
    places->workers[workers] = cv_reserved_worker();
    places->view.workers = places->workers;
    places->orders = (struct cleave_orders){ .items = places->items,
                                             .capacity = ORDERS,
                                             .units_left = &places->view.units_left };
    assert_int_equal(cleave_policy_find(CLEAVE_TASK_LOAD, "learn", &places->learn, NULL),
                     CLEAVE_OK);
    assert_true(places->learn->state_size <= sizeof places->state);
    assert_int_equal(cv_params_store(places->learn, NULL, 0, places->state, NULL),
                     CLEAVE_OK);
    assert_int_equal(places->learn->start(places->state, &places->view, &setup, NULL),
                     CLEAVE_OK);
    tell(places, (struct cleave_event){ .kind = CLEAVE_START });
    assert_true(ordered(places, CLEAVE_OPEN, 0)->units < RECORD);
    places->given = RECORD;
    tell(places, (struct cleave_event){ .kind = CLEAVE_SENT, .units = RECORD });
    for (uint32_t w = 1; w < workers; w++)
        tell(places, (struct cleave_event){ .kind = CLEAVE_SENT, .worker = w });
    tell(places, (struct cleave_event){ .kind = CLEAVE_STARTED, .time_s = start_s });
    tell(places, (struct cleave_event){
                     .kind = CLEAVE_PROGRESS, .units = RECORD, .time_s = start_s });
}

/* It has read the first record, which shows nothing, and is given two or more of them. */
static inline void desk_read_first(struct places *places, double time_s)
{
    double more;

    tell(places, (struct cleave_event){
                     .kind = CLEAVE_DRAINED, .units = RECORD, .time_s = time_s });
    assert_null(ordered(places, CLEAVE_CLOSE, 0));
    assert_non_null(ordered(places, CLEAVE_EXTEND, 0));
    more = ordered(places, CLEAVE_EXTEND, 0)->units;
    assert_true(more > RECORD && more <= 3 * RECORD);
    places->given += 3 * RECORD;
    tell(places, (struct cleave_event){
                     .kind = CLEAVE_EXTENDED, .units = 3 * RECORD, .time_s = time_s });
}

/* It has read the others, some more where shares are larger, and is closed as a test. */
static inline void desk_read_rest(struct places *places, double time_s)
{
    tell(places, (struct cleave_event){
                     .kind = CLEAVE_DRAINED, .units = places->given, .time_s = time_s });
    while (ordered(places, CLEAVE_EXTEND, 0) != NULL) {
        places->given += 3 * RECORD;
        tell(places, (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                            .units = 3 * RECORD,
                                            .time_s = time_s });
        tell(places, (struct cleave_event){ .kind = CLEAVE_DRAINED,
                                            .units = places->given,
                                            .time_s = time_s });
    }
    if (ordered(places, CLEAVE_QUERY, 0) != NULL)
        tell(places, (struct cleave_event){ .kind = CLEAVE_PROGRESS,
                                            .units = places->given,
                                            .time_s = time_s });
    assert_non_null(ordered(places, CLEAVE_CLOSE, 0));
    for (uint32_t w = 1; w < places->view.nworkers; w++)
        assert_null(ordered(places, CLEAVE_EXTEND, w));
}

static inline void desk_end(struct places *places, double read_s, double time_s)
{
    tell(places, (struct cleave_event){ .kind = CLEAVE_DONE,
                                        .units = places->given,
                                        .read_s = read_s,
                                        .time_s = time_s });
}

#endif
