/* compare.h -- orders for qsort and bsearch. SPDX-License-Identifier: MIT */
#ifndef CV_COMPARE_H
#define CV_COMPARE_H
#include <stdint.h>

/* Below 0, 0 or above 0, as x is less than y, equal or more. */
#define CV_COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

/* The first of three results of CV_COMPARE that is not 0. */
static inline int cv_order(int first, int second, int third)
{
    return first != 0 ? first : second != 0 ? second : third;
}

static inline int cv_compare_doubles(const void *a, const void *b)
{
    return CV_COMPARE(*(const double *)a, *(const double *)b);
}

static inline int cv_compare_doubles_down(const void *a, const void *b)
{
    return cv_compare_doubles(b, a);
}

/* Define `name`, an order of elements *x and *y. */
#define CV_ORDER(name, type, order)                      \
    static inline int name(const void *a, const void *b) \
    {                                                    \
        const type *x = a, *y = b;                       \
                                                         \
        return order;                                    \
    }
/* Ascending by `member`. */
#define CV_ORDER_BY(name, type, member) \
    CV_ORDER(name, type, CV_COMPARE(x->member, y->member))
/* Ascending by `member`, then by `next`. */
#define CV_ORDER_BY_TWO(name, type, member, next)                                     \
    CV_ORDER(name, type,                                                              \
             cv_order(CV_COMPARE(x->member, y->member), CV_COMPARE(x->next, y->next), \
                      0))
/* Descending by `member`, then ascending by `next`. */
#define CV_ORDER_DOWN_BY(name, type, member, next)                                    \
    CV_ORDER(name, type,                                                              \
             cv_order(CV_COMPARE(y->member, x->member), CV_COMPARE(x->next, y->next), \
                      0))

/* A number and its place in an array, to sort places. */
struct cv_ranked {
    double value;
    uint32_t index;
};

/* Ascending or descending by value, equal values by place. */
CV_ORDER_BY_TWO(cv_rank_up, struct cv_ranked, value, index)
CV_ORDER_DOWN_BY(cv_rank_down, struct cv_ranked, value, index)

#endif
