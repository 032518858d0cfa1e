/* platform_internal.h -- whether all workers are alike. SPDX-License-Identifier: MIT */
#ifndef CV_PLATFORM_INTERNAL_H
#define CV_PLATFORM_INTERNAL_H
#include <cleave/platform.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/quantity.h"

/* Whether all costs are the same for all workers, those of the way back only if that is
 * asked for: where nothing comes back it makes no difference. If not, *out_other is the
 * first worker that differs from worker 0 and *out_what the cost it differs in (static).
 * Both may be NULL. */
bool cv_workers_equal(const struct cleave_worker *workers, uint32_t nworkers,
                      bool way_back, uint32_t *out_other, const char **out_what);

struct cv_worker_field {
    const char *name; /* as platform files spell it                                    */
    const char *like; /* of the way back: the field of the way out that it follows when
                         it is left out or when that one is swept; NULL: 0 if left out */
    size_t offset;    /* of a double in struct cleave_worker                           */
    enum cv_quantity quantity;
    unsigned listed; /* its place, from 1, in the list of what can be swept; 0: not    */
    bool required;   /* a platform file has to say it                                  */
    bool positive;   /* above 0; others are 0 or more                                  */
};

/* In the order in which files list them. Traces list costs in this order without names, so
 * a new one comes last. */
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
/* The field at a place of the list of what can be swept; NULL: there is none. */
const struct cv_worker_field *cv_worker_field_listed(unsigned place);

enum { CV_WORKER_NAME_MOST = 64 }; /* bytes */
#define CV_GPUS_AUTO UINT32_MAX    /* as many GPUs as there are */

/* Whether a worker may be called so: 1 to CV_WORKER_NAME_MOST bytes without spaces. */
bool cv_worker_name_fits(const char *name, size_t length);
/* Refused otherwise; `what` says what is expected to be so: "a name". */
enum cleave_status cv_worker_name_check(const char *name, const char *what,
                                        struct cleave_error *err);

/* Workers that were declared together: `count` alike, from worker `first` on. */
struct cv_group {
    const char *name;
    uint32_t first, count;
    const struct cleave_step *steps; /* NULL: constant                        */
    double memory; /* units of the largest chunk that one can take; 0: any */
    double cost;   /* of one, per second                                     */
    uint32_t nsteps;
    uint32_t slots;            /* how to reach them in a real run: 0 or */
    const char *ssh, *command; /* NULL when the file does not say       */
    uint32_t gpus;             /* ... one for each slot instead of slots */
    double led;                /* workers behind each of them: leaders.h */
};

/* All pointers are owned by the platform, those in groups too. */
struct cleave_platform {
    enum cleave_port port;
    uint32_t nworkers, ngroups;
    struct cleave_worker *workers;
    const char **names;
    char *letters;           /* all names, one after the other                       */
    struct cv_group *groups; /* in worker order; none if made by cleave_platform_new */
    uint32_t *group_of;      /* worker -> group; NULL: none has steps, memory or cost */
    struct cv_arena arena;   /* steps and texts of the groups                        */
};

/* Whether anybody costs anything. */
bool cv_platform_costs(const struct cleave_platform *platform);
/* Workers that are behind others: leaders.h. */
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
