/* platform_internal.h -- the members of struct cleave_platform, and the table of costs.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PLATFORM_INTERNAL_H
#define CV_PLATFORM_INTERNAL_H
#include <cleave/platform.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/quantity.h"

/* Whether all workers have the same costs; costs of returns are compared if `way_back`. If
 * not, *out_other is the first worker that differs from worker 0 and *out_what the name of
 * the cost (static). Both may be NULL. */
bool cv_workers_equal(const struct cleave_worker *workers, uint32_t nworkers,
                      bool way_back, uint32_t *out_other, const char **out_what);

struct cv_worker_field {
    const char *name; /* as platform files spell it                                   */
    const char *like; /* costs of returns: the field that this one equals if it is not
                         given, or if that field is swept; NULL: 0 if not given       */
    size_t offset;    /* offset of a double in struct cleave_worker */
    enum cv_quantity quantity;
    unsigned listed; /* place, from 1, in the list of fields to sweep; 0: not there   */
    bool required;   /* in a platform file                                            */
    bool positive;   /* above 0; other costs are 0 or more                            */
};

/* Platform files list them in this order. Traces list the costs in this order without names,
 * so that a new one must come last. */
enum { CV_WORKER_FIELDS = 6 };
extern const struct cv_worker_field cv_worker_fields[CV_WORKER_FIELDS];

static inline double *cv_worker_cost(struct cleave_worker *worker,
                                     const struct cv_worker_field *field)
{
    return (double *)(void *)((char *)worker + field->offset);
}

static inline double cv_worker_cost_of(const struct cleave_worker *worker,
                                       const struct cv_worker_field *field)
{
    return *(const double *)(const void *)((const char *)worker + field->offset);
}

/* The field that this one is like; NULL: none. */
const struct cv_worker_field *cv_worker_field_like(const struct cv_worker_field *field);
/* The field at a place of the list of fields to sweep; NULL: the list has no such place. */
const struct cv_worker_field *cv_worker_field_listed(unsigned place);

enum { CV_WORKER_NAME_MOST = 64 }; /* bytes */

/* Whether a name is valid: 1 to CV_WORKER_NAME_MOST bytes without spaces. */
bool cv_worker_name_fits(const char *name, size_t length);
/* Fails for a name that is not; the message expects `what`, such as "a name". */
enum cleave_status cv_worker_name_check(const char *name, const char *what,
                                        struct cleave_error *err);

/* `count` equal workers that were declared together; `first` is the number of the first. */
struct cv_group {
    const char *name;
    uint32_t first, count;
    const struct cleave_step *steps; /* NULL: constant                        */
    double memory; /* units of the largest chunk that one can take; 0: any */
    double cost;   /* price of one worker per second */
    uint32_t nsteps;
    double led; /* workers that each of them leads: leaders.h */
};

struct cv_led_tree;

/* All pointers are owned by the platform, those in groups too. */
struct cleave_platform {
    enum cleave_port port;
    uint32_t nworkers, ngroups;
    struct cleave_worker *workers;
    const char **names;
    char *letters;            /* all names, one after the other                       */
    struct cv_group *groups;  /* in worker order; none if made by cleave_platform_new */
    uint32_t *group_of;       /* worker -> group; NULL: none has steps, memory or cost */
    struct cv_led_tree *tree; /* NULL: no worker leads others                          */
    struct cv_arena arena;    /* steps of the groups                                   */
    struct cv_arena tree_arena; /* the tree */
};

/* Whether any worker has a cost per second. */
bool cv_platform_costs(const struct cleave_platform *platform);
/* Number of workers that are led by others: leaders.h. */
double cv_platform_led(const struct cleave_platform *platform);

/* Build from groups: `kinds[g]` describes the workers of group g. A group of one takes
 * its name, a larger one name.0, name.1, ... Everything is copied; `first` is not read
 * but set in the copy. Duplicate names fail with the two groups, the earlier one first,
 * in reterr_groups if that is not NULL; it is left alone by all other failures.
 * O(workers + groups log groups). */
enum cleave_status cv_platform_build(enum cleave_port port,
                                     const struct cleave_worker *kinds,
                                     const struct cv_group *groups, uint32_t ngroups,
                                     struct cleave_platform **out,
                                     uint32_t reterr_groups[2], struct cleave_error *err);

#endif
