/* compare.h -- orders for qsort and bsearch. SPDX-License-Identifier: MIT */
#ifndef CV_COMPARE_H
#define CV_COMPARE_H

/* Below 0, 0 or above 0, as x is less than y, equal or more. */
#define CV_COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

static inline int cv_compare_doubles(const void *a, const void *b)
{
    return CV_COMPARE(*(const double *)a, *(const double *)b);
}

static inline int cv_compare_doubles_down(const void *a, const void *b)
{
    return cv_compare_doubles(b, a);
}

/* Define `name`, an ascending order by a member. */
#define CV_ORDER_BY(name, type, member)           \
    static int name(const void *a, const void *b) \
    {                                             \
        const type *x = a, *y = b;                \
                                                  \
        return CV_COMPARE(x->member, y->member);  \
    }

/* Ascending by `member`, then by `next`. */
#define CV_ORDER_BY_TWO(name, type, member, next)                 \
    static int name(const void *a, const void *b)                 \
    {                                                             \
        const type *x = a, *y = b;                                \
        const int order = CV_COMPARE(x->member, y->member);       \
                                                                  \
        return order != 0 ? order : CV_COMPARE(x->next, y->next); \
    }

/* Descending by `member`, then ascending by `next`. */
#define CV_ORDER_DOWN_BY(name, type, member, next)                \
    static int name(const void *a, const void *b)                 \
    {                                                             \
        const type *x = a, *y = b;                                \
        const int order = CV_COMPARE(y->member, x->member);       \
                                                                  \
        return order != 0 ? order : CV_COMPARE(x->next, y->next); \
    }

#endif
