/* row_lane.h -- the inner loop of many simulated runs of a small reduction, made to have a
 * policy's decisions compiled into it. SPDX-License-Identifier: MIT
 *
 * The rules are those of the native engine. A policy that wants it says
 *
 *     CV_FLATTEN static void mine_go(struct cv_row_lane *lane)
 *     {
 *         cv_lane_go(lane, mine_decide, CV_LANE_TRUSTS);
 *     }
 *
 * and names it as its `go`. Pending times are a sorted row (event_row.h). Costs are not
 * drawn here: a run goes on until something begins, or for as long as `go` likes, and
 * whoever makes the runs (sim/reduce/row_lanes.c) draws for several of them in a row.
 *
 * A policy that finds out by itself what comes next gives a `take` when it starts (setup.h),
 * which is used where combining takes no time. Its lanes have no row; all that begins at
 * the start has its costs in costs_s when `go` is called first. From then on at most one
 * thing begins in a call, and when its cost is there, as costs_s[0], `take` is called. */
#ifndef CV_ROW_LANE_H
#define CV_ROW_LANE_H
#include "policy/reduce/event_row.h"
#include "policy/common/orders.h"
#include "policy/common/setup.h"

enum {
    CV_LANE_NODES = 128, /* at most; with more, a heap is better               */
    CV_LANE_WAKES = 2,   /* a node may have asked for so many                  */
    CV_LANE_KINDS = 4,   /* what can end on a node: see below, two are wakes   */
    CV_LANE_BITS = 9,    /* for node and kind                                  */
    CV_LANE_NUMBERS = 1 << CV_LANE_BITS,
};
enum { CV_LANE_TRANSFER, CV_LANE_COMBINATION, CV_LANE_WAKE };
/* While a node has no partial yet, its last wake is for that. */
enum { CV_LANE_READY = CV_LANE_WAKE + CV_LANE_WAKES - 1 };
#define CV_LANE_NOBODY UINT32_MAX
#define CV_LANE_NONE UINT16_MAX /* in a queue */

/* How `cv_lane_go` is made; constants. */
enum {
    CV_LANE_PLAIN = 1 << 0,  /* transfer and combination are one event          */
    CV_LANE_TRUSTS = 1 << 1, /* orders need no check: tests have seen them all  */
};

#if defined(__GNUC__)
#define CV_ALWAYS_INLINE inline __attribute__((always_inline))
/* All that it calls is compiled into it. */
#if defined(__clang__)
#define CV_FLATTEN __attribute__((flatten, noinline))
#else
#define CV_FLATTEN __attribute__((flatten, noinline, noclone))
#endif
#else
#define CV_ALWAYS_INLINE inline
#define CV_FLATTEN
#endif

/* First come first served; the first is the one under way. */
struct cv_lane_queue {
    uint16_t first, last;
};

/* Small: all of them are copied for every run. */
struct cv_lane_node {
    struct cv_lane_queue port, processor; /* of senders                             */
    uint16_t next;                        /* as a sender: behind it in a queue      */
    uint16_t combinations;                /* begun so far                           */
    uint8_t due;                          /* ordered to be sent here, not combined  */
    bool gone;
    bool asleep[CV_LANE_WAKES];
    bool unready; /* its own partial is to come: until then its last wake is that    */
};

/* Something that begins now and whose cost is to be drawn. */
struct cv_lane_begin {
    uint32_t node, sender, kind, nth;
};

/* One run under way. */
struct cv_row_lane {
    struct cv_event_row row;
    double now_s, length_s;
    uint32_t nbegins, sent;
    bool over;
    bool undecided; /* the row cannot tell what comes first, or the
                                     driver has to say what is wrong                */
    bool compute_is_constant;
    double compute_s; /* then                                           */
    void (*take)(struct cv_row_lane *lane); /* NULL: there is a row; see above        */
    void *state;
    char *memory; /* of the policy, begins with its state; so many bytes are as at the
                     start when a run begins: a loop that changes less may say so   */
    size_t fresh;
    struct cleave_orders orders;
    struct cleave_view view;
    /* Arrays, not pointers to them: the loop has enough pointers to keep. */
    struct cv_lane_begin begins[CV_LANE_NODES];
    double costs_s[CV_LANE_NODES]; /* of what has begun, for `take`                   */
    struct cv_lane_node nodes[CV_LANE_NODES + 2];
    double start_s[CV_LANE_NUMBERS]; /* by node and kind of what is under way       */
    double end_s[CV_LANE_NUMBERS];
    uint64_t keys[CV_LANE_NUMBERS + CV_ROW_SPARE]; /* of the row                    */
};

/* No time passes between an arrival and the end of its combination. */
static inline bool cv_lane_combines_at_once(const struct cv_row_lane *lane)
{
    return lane->compute_is_constant && lane->compute_s == 0;
}

typedef void cv_decide(void *state, const struct cleave_view *view,
                       const struct cleave_event *event, struct cleave_orders *orders);

static inline uint64_t cv_lane_key(struct cv_row_lane *lane, uint32_t node, uint32_t kind,
                                   double end_s)
{
    uint32_t number = node * CV_LANE_KINDS + kind;

    lane->end_s[number] = end_s;
    return cv_row_key(end_s, number, CV_LANE_BITS);
}

/* True if it is the first. */
static inline bool cv_lane_enqueue(struct cv_row_lane *lane, struct cv_lane_queue *queue,
                                   uint32_t sender)
{
    lane->nodes[sender].next = CV_LANE_NONE;
    if (queue->first == CV_LANE_NONE) {
        queue->first = queue->last = (uint16_t)sender;
        return true;
    }
    lane->nodes[queue->last].next = (uint16_t)sender;
    queue->last = (uint16_t)sender;
    return false;
}

static inline uint32_t cv_lane_dequeue(struct cv_row_lane *lane,
                                       struct cv_lane_queue *queue)
{
    return queue->first = lane->nodes[queue->first].next;
}

static inline void cv_lane_begin(struct cv_row_lane *lane, uint32_t node, uint32_t sender,
                                 uint32_t kind)
{
    uint32_t nth = kind == CV_LANE_COMBINATION ? lane->nodes[node].combinations++ : 0;

    lane->start_s[node * CV_LANE_KINDS + kind] = lane->now_s;
    lane->begins[lane->nbegins++] = (struct cv_lane_begin){ node, sender, kind, nth };
}

static inline void cv_lane_begin_transfer(struct cv_row_lane *lane, uint32_t node,
                                          uint32_t sender, unsigned how)
{
    cv_lane_begin(lane, node, sender,
                  how & CV_LANE_PLAIN ? CV_LANE_COMBINATION : CV_LANE_TRANSFER);
}

static inline void cv_lane_begin_combination(struct cv_row_lane *lane, uint32_t node,
                                             uint32_t sender)
{
    uint64_t key;

    if (!lane->compute_is_constant) {
        cv_lane_begin(lane, node, sender, CV_LANE_COMBINATION);
        return;
    }
    lane->start_s[node * CV_LANE_KINDS + CV_LANE_COMBINATION] = lane->now_s;
    key = cv_lane_key(lane, node, CV_LANE_COMBINATION, lane->now_s + lane->compute_s);
    if (key < lane->keys[lane->row.head])
        cv_row_add_first(&lane->row, lane->keys, key);
    else
        cv_row_add(&lane->row, lane->keys, key);
}

static inline void cv_lane_end_transfer(struct cv_row_lane *lane,
                                        struct cleave_event *event, unsigned how)
{
    struct cv_lane_node *to = &lane->nodes[event->worker];
    uint32_t next;

    event->kind = CLEAVE_ARRIVED;
    event->peer = to->port.first;
    next = cv_lane_dequeue(lane, &to->port);
    if (cv_lane_enqueue(lane, &to->processor, event->peer))
        cv_lane_begin_combination(lane, event->worker, event->peer);
    if (next != CV_LANE_NONE)
        cv_lane_begin_transfer(lane, event->worker, next, how);
}

static inline void cv_lane_end_combination(struct cv_row_lane *lane,
                                           struct cleave_event *event, unsigned how)
{
    struct cv_lane_node *to = &lane->nodes[event->worker];
    struct cv_lane_queue *queue = how & CV_LANE_PLAIN ? &to->port : &to->processor;
    uint32_t next;

    event->kind = CLEAVE_COMBINED;
    event->peer = queue->first;
    next = cv_lane_dequeue(lane, queue);
    if (!(how & CV_LANE_TRUSTS))
        to->due--;
    lane->length_s = lane->now_s;
    if (next == CV_LANE_NONE)
        return;
    if (how & CV_LANE_PLAIN)
        cv_lane_begin_transfer(lane, event->worker, next, how);
    else
        cv_lane_begin_combination(lane, event->worker, next);
}

static inline void cv_lane_woken(struct cv_row_lane *lane, uint32_t node, uint32_t kind)
{
    lane->nodes[node].asleep[kind - CV_LANE_WAKE] = false;
}

/* What comes next; the row is not empty. */
static inline void cv_lane_take(struct cv_row_lane *lane, struct cleave_event *event,
                                unsigned how)
{
    const uint64_t *key = &lane->keys[lane->row.head++];
    const uint32_t number = key[0] % CV_LANE_NUMBERS, kind = number % CV_LANE_KINDS;

    lane->now_s = event->time_s = lane->end_s[number];
    event->worker = number / CV_LANE_KINDS;
    event->start_s = lane->start_s[number];
    if ((key[0] ^ key[1]) < CV_LANE_NUMBERS &&
        lane->end_s[key[1] % CV_LANE_NUMBERS] != lane->now_s)
        lane->undecided = true;
    if (kind == CV_LANE_COMBINATION) {
        cv_lane_end_combination(lane, event, how);
    } else if (kind == CV_LANE_TRANSFER) {
        cv_lane_end_transfer(lane, event, how);
    } else {
        const bool ready = kind == CV_LANE_READY && lane->nodes[event->worker].unready;

        event->kind = ready ? CLEAVE_READY : CLEAVE_WAKE;
        event->start_s = event->time_s;
        lane->nodes[event->worker].unready &= !ready;
        lane->length_s = ready ? lane->now_s : lane->length_s;
        cv_lane_woken(lane, event->worker, kind);
    }
}

void cv_lane_sleep_until(struct cv_row_lane *lane, uint32_t node, double time_s);

/* Whether an order may be carried out; if not, the driver will say why. */
static inline bool cv_lane_check(const struct cv_row_lane *lane,
                                 const struct cleave_order *order)
{
    uint32_t n = lane->view.nworkers, to = order->worker, from = order->peer;

    return to < n && (order->kind == CLEAVE_WAKE_AT ||
                      (order->kind == CLEAVE_COMBINE && from < n && to != from &&
                       !lane->nodes[from].gone && !lane->nodes[to].gone &&
                       lane->nodes[from].due == 0));
}

static inline void cv_lane_obey(struct cv_row_lane *lane,
                                const struct cleave_order *order, unsigned how)
{
    if (!(how & CV_LANE_TRUSTS) && !cv_lane_check(lane, order)) {
        lane->undecided = true;
    } else if (order->kind == CLEAVE_WAKE_AT) {
        cv_lane_sleep_until(lane, order->worker, order->time_s);
    } else {
        struct cv_lane_node *to = &lane->nodes[order->worker];

        if (!(how & CV_LANE_TRUSTS)) {
            lane->nodes[order->peer].gone = true;
            to->due++;
        }
        lane->sent++;
        lane->undecided |= to->unready; /* the driver knows what that means */
        if (cv_lane_enqueue(lane, &to->port, order->peer))
            cv_lane_begin_transfer(lane, order->worker, order->peer, how);
    }
}

static inline void cv_lane_decide(struct cv_row_lane *lane,
                                  const struct cleave_event *event, cv_decide *decide,
                                  unsigned how)
{
    lane->orders.count = 0;
    decide(lane->state, &lane->view, event, &lane->orders);
    for (size_t i = 0; i < lane->orders.count; i++)
        cv_lane_obey(lane, &lane->orders.items[i], how);
}

/* For loops that need no events, since no node ever has two things under way: the node on
 * which something ends next. The row is not empty. */
static CV_ALWAYS_INLINE uint32_t cv_lane_next(struct cv_row_lane *lane,
                                              uint32_t *out_kind)
{
    const uint64_t *key = &lane->keys[lane->row.head++];
    const uint32_t number = key[0] % CV_LANE_NUMBERS;

    lane->now_s = lane->end_s[number];
    if ((key[0] ^ key[1]) < CV_LANE_NUMBERS &&
        lane->end_s[key[1] % CV_LANE_NUMBERS] != lane->now_s)
        lane->undecided = true;
    *out_kind = number % CV_LANE_KINDS;
    return number / CV_LANE_KINDS;
}

static CV_ALWAYS_INLINE void cv_lane_send(struct cv_row_lane *lane, uint32_t receiver,
                                          uint32_t sender, uint32_t kind)
{
    lane->sent++;
    lane->begins[0] = (struct cv_lane_begin){ receiver, sender, kind,
                                              lane->nodes[receiver].combinations++ };
    lane->nbegins = 1;
}

/* The first or the second; compilers like to make a branch of a conditional expression. */
static inline uint32_t cv_pick(bool is_first, uint32_t first, uint32_t second)
{
    return second ^ ((first ^ second) & (0 - (uint32_t)is_first));
}

/* Send or nothing, without a branch that cannot be guessed; the receiver may then be
 * one or two past the last node. What is sent is not counted: see below. */
static CV_ALWAYS_INLINE void cv_lane_send_if(struct cv_row_lane *lane, bool sends,
                                             uint32_t receiver, uint32_t sender,
                                             uint32_t kind)
{
    lane->begins[0].node = receiver;
    lane->begins[0].sender = sender;
    lane->begins[0].kind = kind;
    lane->nbegins = sends;
    if (!lane->compute_is_constant) { /* else nobody asks which one it is */
        lane->begins[0].nth = lane->nodes[receiver].combinations;
        lane->nodes[receiver].combinations += (uint16_t)sends;
    }
}

/* The run is over with what ended last: loops that need not count end with one partial. */
static inline void cv_lane_all_sent(struct cv_row_lane *lane)
{
    lane->over = true;
    lane->length_s = lane->now_s;
    lane->sent = lane->view.nworkers - 1;
}

/* A loop of policies with one slot: who is done enters it, or sends to who waits there. */
static CV_ALWAYS_INLINE void cv_lane_go_slot(struct cv_row_lane *lane, uint32_t *slot,
                                             uint32_t kind)
{
    uint32_t waits = *slot;

    while (lane->row.head < lane->row.tail) {
        uint32_t any, node = cv_lane_next(lane, &any);

        lane->length_s = lane->now_s;
        if (waits != CV_LANE_NOBODY) {
            *slot = CV_LANE_NOBODY;
            cv_lane_send(lane, waits, node, kind);
            return;
        }
        waits = node;
    }
    lane->over = true;
}

/* Go on until there are costs to be drawn or the run is over. */
static CV_ALWAYS_INLINE void cv_lane_go(struct cv_row_lane *lane, cv_decide *decide,
                                        unsigned how)
{
    struct cleave_event event = { .kind = CLEAVE_START };

    while (lane->nbegins == 0) {
        if (lane->row.head == lane->row.tail || lane->undecided) {
            lane->over = true;
            return;
        }
        cv_lane_take(lane, &event, how);
        cv_lane_decide(lane, &event, decide, how);
    }
}

#endif
