/* platform.c -- workers, their names and costs, in flat arrays.
 * SPDX-License-Identifier: MIT
 *
 * Platforms of ten million workers are meant to fit: names are packed into one block, and
 * duplicates are sought among groups, never among workers. A worker of a group of several
 * is called base.number, so its name belongs to one base only; it can clash with a group
 * of the same base, or with a single worker that is called exactly so. */
#include "base/argument.h"
#include "model/platform/platform_internal.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/quantity.h"
#include "base/text.h"

#define AT(member) offsetof(struct cleave_worker, member)

/* clang-format off */
const struct cv_worker_field cv_worker_fields[CV_WORKER_FIELDS] = {
    /* name, like, offset, quantity, listed, required, positive */
    { "speed",            NULL,        AT(speed_ups),            CV_RATE,    3, true,  true },
    { "compute_latency",  NULL,        AT(compute_latency_s),    CV_SECONDS, 4, false, false },
    { "bandwidth",        NULL,        AT(bandwidth_ups),        CV_RATE,    2, true,  true },
    { "latency",          NULL,        AT(latency_s),            CV_SECONDS, 1, false, false },
    { "return_bandwidth", "bandwidth", AT(return_bandwidth_ups), CV_RATE,    0, false, true },
    { "return_latency",   "latency",   AT(return_latency_s),     CV_SECONDS, 0, false, false },
};
/* clang-format on */

_Static_assert(sizeof(struct cleave_worker) == CV_WORKER_FIELDS * sizeof(double),
               "every cost of a worker has a row");

const struct cv_worker_field *cv_worker_field_like(const struct cv_worker_field *field)
{
    for (size_t i = 0; field->like != NULL && i < CV_WORKER_FIELDS; i++)
        if (strcmp(cv_worker_fields[i].name, field->like) == 0)
            return &cv_worker_fields[i];
    return NULL;
}

const struct cv_worker_field *cv_worker_field_listed(unsigned place)
{
    for (size_t i = 0; place > 0 && i < CV_WORKER_FIELDS; i++)
        if (cv_worker_fields[i].listed == place)
            return &cv_worker_fields[i];
    return NULL;
}

const char *cleave_port_name(enum cleave_port port)
{
    static const char *const names[] = {
        [CLEAVE_PORT_ONE] = "one",
        [CLEAVE_PORT_DUPLEX] = "duplex",
        [CLEAVE_PORT_MULTI] = "multi",
    };

    return (size_t)port < sizeof names / sizeof *names ? names[port] : "unknown";
}

bool cv_worker_name_fits(const char *name, size_t length)
{
    return length > 0 && length <= CV_WORKER_NAME_MOST &&
           cv_printable(name, length, false);
}

enum cleave_status cv_worker_name_check(const char *name, const char *what,
                                        struct cleave_error *err)
{
    const size_t length = strlen(name);
    char shown[64];

    if (cv_worker_name_fits(name, length))
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected %s of 1 to %d bytes without spaces, got '%s'", what,
                   CV_WORKER_NAME_MOST, cv_shown(name, length, shown, sizeof shown));
}

enum cleave_port cleave_platform_port(const struct cleave_platform *platform)
{
    return platform->port;
}

uint32_t cleave_platform_nworkers(const struct cleave_platform *platform)
{
    return platform->nworkers;
}

const struct cleave_worker *
cleave_platform_workers(const struct cleave_platform *platform)
{
    return platform->workers;
}

const char *cleave_platform_worker_name(const struct cleave_platform *platform,
                                        uint32_t index)
{
    return platform->names[index];
}

const struct cleave_step *cleave_platform_profile(const struct cleave_platform *platform,
                                                  uint32_t index, uint32_t *out_n)
{
    const struct cv_group *group;

    *out_n = 0;
    if (platform->group_of == NULL)
        return NULL;
    group = &platform->groups[platform->group_of[index]];
    *out_n = group->nsteps;
    return group->steps;
}

double cleave_platform_memory(const struct cleave_platform *platform, uint32_t index)
{
    const struct cv_group *group;

    if (platform->group_of == NULL)
        return INFINITY;
    group = &platform->groups[platform->group_of[index]];
    return group->memory > 0 ? group->memory : INFINITY;
}

bool cv_platform_costs(const struct cleave_platform *platform)
{
    for (uint32_t g = 0; platform->group_of != NULL && g < platform->ngroups; g++)
        if (platform->groups[g].cost > 0)
            return true;
    return false;
}

double cleave_platform_cost(const struct cleave_platform *platform, uint32_t index)
{
    return platform->group_of != NULL ? platform->groups[platform->group_of[index]].cost
                                      : 0;
}

void cleave_platform_free(struct cleave_platform *platform)
{
    if (platform == NULL)
        return;
    free(platform->workers);
    free(platform->names);
    free(platform->letters);
    free(platform->groups);
    free(platform->group_of);
    cv_arena_done(&platform->arena);
    cv_arena_done(&platform->tree_arena);
    free(platform);
}

/* The first number that cannot be used; *out_value is that number. */
static const char *find_fault(const struct cleave_worker *worker,
                              const char **out_expected, double *out_value)
{
    for (size_t i = 0; i < CV_WORKER_FIELDS; i++) {
        const struct cv_worker_field *field = &cv_worker_fields[i];
        const double value = cv_worker_cost_of(worker, field);

        if (isfinite(value) && (field->positive ? value > 0 : value >= 0))
            continue;
        *out_expected = field->positive ? "expected a positive number"
                                        : "expected a number of at least 0";
        *out_value = value;
        return field->name;
    }
    return NULL;
}

static enum cleave_status check_worker(const struct cleave_worker *worker, uint32_t index,
                                       struct cleave_error *err)
{
    const char *expected, *name;
    char field[64], number[CV_NUMBER_SIZE];
    double value;

    name = find_fault(worker, &expected, &value);
    if (name == NULL)
        return CLEAVE_OK;
    snprintf(field, sizeof field, "workers[%u].%s", (unsigned)index, name);
    return cv_fail_at(err, &(struct cv_place){ .field = field }, "%s, got '%s'", expected,
                      cv_number_short(value, number));
}

static enum cleave_status check_count(uint64_t count, struct cleave_error *err)
{
    if (count == 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected at least one worker, got none");
    if (count > CLEAVE_MAX_WORKERS)
        return cv_fail(err, CLEAVE_EINPUT, "expected at most %u workers in all, got %llu",
                       CLEAVE_MAX_WORKERS, (unsigned long long)count);
    return CLEAVE_OK;
}

/* An empty platform with room for `count` workers and `letters` bytes of names. */
static struct cleave_platform *grow_array(enum cleave_port port, uint32_t count,
                                          uint64_t letters)
{
    struct cleave_platform *platform = calloc(1, sizeof *platform);

    if (platform == NULL)
        return NULL;
    cv_arena_init(&platform->arena);
    cv_arena_init(&platform->tree_arena);
    platform->port = port;
    platform->nworkers = count;
    platform->workers = malloc(count * sizeof *platform->workers);
    platform->names = malloc(count * sizeof *platform->names);
    if ((size_t)letters == letters)
        platform->letters = malloc((size_t)letters);
    if (platform->workers != NULL && platform->names != NULL && platform->letters != NULL)
        return platform;
    cleave_platform_free(platform);
    return NULL;
}

static unsigned count_digits(uint32_t number)
{
    unsigned digits = 1;

    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

/* Write stem, number and the closing 0; returns the place after them. */
static char *write_name(char *to, const char *stem, size_t length, uint32_t number)
{
    unsigned digits = count_digits(number);

    memcpy(to, stem, length);
    to += length;
    for (unsigned i = digits; i-- > 0; number /= 10)
        to[i] = (char)('0' + number % 10);
    to[digits] = '\0';
    return to + digits + 1;
}

/* Bytes that `count` names of a stem and a number take, closing 0 included. */
static uint64_t measure_names(size_t stem, uint32_t count)
{
    uint64_t bytes = (uint64_t)count * (stem + 2);

    for (uint64_t from = 10; from < count; from *= 10)
        bytes += count - from;
    return bytes;
}

/* A way back that was left out is as the way out. */
static void fill_way_back(struct cleave_worker *worker)
{
    for (size_t i = 0; i < CV_WORKER_FIELDS; i++)
        if (cv_worker_fields[i].like != NULL &&
            cv_worker_cost_of(worker, &cv_worker_fields[i]) != 0)
            return;
    for (size_t i = 0; i < CV_WORKER_FIELDS; i++) {
        const struct cv_worker_field *like = cv_worker_field_like(&cv_worker_fields[i]);

        if (like != NULL)
            *cv_worker_cost(worker, &cv_worker_fields[i]) =
                cv_worker_cost_of(worker, like);
    }
}

enum cleave_status cleave_platform_new(enum cleave_port port,
                                       const struct cleave_worker *workers,
                                       uint32_t nworkers, struct cleave_platform **out,
                                       struct cleave_error *err)
{
    struct cleave_platform *platform;
    char *letters;

    CV_EXPECT_ENUM(port, CLEAVE_PORT_MULTI + 1, err, "port");
    CV_EXPECT_POINTER(out, err, "out");
    CV_TRY(check_count(nworkers, err));
    CV_EXPECT_POINTER(workers, err, "workers");
    platform = grow_array(port, nworkers, measure_names(1, nworkers));
    if (platform == NULL)
        return cv_fail_memory(err, "a platform");
    letters = platform->letters;
    for (uint32_t i = 0; i < nworkers; i++) {
        struct cleave_worker worker = workers[i];
        enum cleave_status status;

        fill_way_back(&worker);
        status = check_worker(&worker, i, err);
        if (status != CLEAVE_OK) {
            cleave_platform_free(platform);
            return status;
        }
        platform->workers[i] = worker;
        platform->names[i] = letters;
        letters = write_name(letters, "w", 1, i);
    }
    *out = platform;
    return CLEAVE_OK;
}

struct named {
    const char *name;
    uint32_t group;
    bool several;
};

static int compare_keys(const void *left, const void *right)
{
    const struct named *a = left, *b = right;

    return cv_order(CV_COMPARE(a->several, b->several), strcmp(a->name, b->name), 0);
}

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left, *b = right;

    return cv_order(compare_keys(left, right), CV_COMPARE(a->group, b->group), 0);
}

/* If `name` is base.number as write_name would put it: number and length of base. */
static bool split_name(const char *name, uint32_t *out_number, size_t *out_base)
{
    const char *dot = strrchr(name, '.');
    uint64_t number = 0;

    if (dot == NULL || dot[1] == '\0' || (dot[1] == '0' && dot[2] != '\0'))
        return false;
    for (const char *c = dot + 1; *c != '\0'; c++) {
        if (*c < '0' || *c > '9')
            return false;
        number = number * 10 + (uint64_t)(*c - '0');
        if (number > CLEAVE_MAX_WORKERS)
            return false;
    }
    *out_number = (uint32_t)number;
    *out_base = (size_t)(dot - name);
    return true;
}

/* The group of several whose workers include one called `name`, or NULL. */
static const struct named *find_owner(const struct named *sorted, uint32_t count,
                                      const struct cv_group *groups, const char *name)
{
    char base[256];
    struct named key = { .name = base, .several = true };
    const struct named *found;
    uint32_t number;
    size_t length;

    if (!split_name(name, &number, &length) || length >= sizeof base)
        return NULL;
    memcpy(base, name, length);
    base[length] = '\0';
    found = bsearch(&key, sorted, count, sizeof *sorted, compare_keys);
    return found != NULL && number < groups[found->group].count ? found : NULL;
}

/* Find the clash whose second group comes first in the file. */
static bool find_clash(const struct named *sorted, uint32_t count,
                       const struct cv_group *groups, uint32_t out[2])
{
    bool found = false;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t group = sorted[i].group, other;
        const struct named *owner;

        if (i > 0 && compare_keys(&sorted[i - 1], &sorted[i]) == 0)
            other = sorted[i - 1].group;
        else if (!sorted[i].several &&
                 (owner = find_owner(sorted, count, groups, sorted[i].name)) != NULL)
            other = owner->group;
        else
            continue;
        if (!found || (group > other ? group : other) < out[1]) {
            out[0] = group < other ? group : other;
            out[1] = group < other ? other : group;
            found = true;
        }
    }
    return found;
}

static enum cleave_status check_names(const struct cv_group *groups, uint32_t ngroups,
                                      uint32_t reterr_groups[2], struct cleave_error *err)
{
    struct named *sorted = calloc(ngroups, sizeof *sorted);
    uint32_t clash[2] = { 0, 0 };
    bool found;

    if (sorted == NULL)
        return cv_fail_memory(err, "the names of workers");
    for (uint32_t g = 0; g < ngroups; g++)
        sorted[g] = (struct named){ groups[g].name, g, groups[g].count > 1 };
    qsort(sorted, ngroups, sizeof *sorted, compare_named);
    found = find_clash(sorted, ngroups, groups, clash);
    free(sorted);
    if (!found)
        return CLEAVE_OK;
    if (reterr_groups != NULL)
        memcpy(reterr_groups, clash, sizeof clash);
    /* The name that base and base.number share is base.number. */
    return cv_fail(err, CLEAVE_EINPUT, "duplicate name '%s'",
                   groups[clash[groups[clash[1]].count == 1]].name);
}

/* Replace the steps of a group by a copy that the platform owns. */
static bool copy_steps(struct cleave_platform *platform, struct cv_group *group)
{
    struct cleave_step *steps;

    if (group->nsteps == 0) {
        group->steps = NULL;
        return true;
    }
    steps = cv_array(&platform->arena, group->nsteps, sizeof *steps);
    if (steps != NULL)
        group->steps = memcpy(steps, group->steps, group->nsteps * sizeof *steps);
    return steps != NULL;
}

/* Lay out workers and names of group g, whose `first` is set. Returns the place after the names written at `letters`. */
static char *fill_group(struct cleave_platform *platform, uint32_t g,
                        const struct cleave_worker *kind, char *letters)
{
    struct cv_group *group = &platform->groups[g];
    size_t length = strlen(group->name);
    char *name = letters;

    memcpy(name, group->name, length + 1);
    group->name = name;
    letters += length + 1;
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t worker = group->first + i;

        platform->workers[worker] = *kind;
        if (platform->group_of != NULL)
            platform->group_of[worker] = g;
        if (group->count == 1) {
            platform->names[worker] = name;
            continue;
        }
        platform->names[worker] = letters;
        memcpy(letters, name, length);
        letters[length] = '.';
        letters = write_name(letters + length + 1, "", 0, i);
    }
    return letters;
}

static enum cleave_status fill(struct cleave_platform *platform,
                               const struct cleave_worker *kinds,
                               const struct cv_group *groups, uint32_t ngroups,
                               struct cleave_error *err)
{
    char *letters = platform->letters;
    uint32_t first = 0;
    bool special = false;

    platform->groups = malloc(ngroups * sizeof *groups);
    if (platform->groups == NULL)
        return cv_fail_memory(err, "a platform");
    platform->ngroups = ngroups;
    memcpy(platform->groups, groups, ngroups * sizeof *groups);
    for (uint32_t g = 0; g < ngroups; g++)
        special =
            special || groups[g].nsteps > 0 || groups[g].memory > 0 || groups[g].cost > 0;
    if (special) {
        platform->group_of = malloc(platform->nworkers * sizeof *platform->group_of);
        if (platform->group_of == NULL)
            return cv_fail_memory(err, "a platform");
    }
    for (uint32_t g = 0; g < ngroups; g++) {
        platform->groups[g].first = first;
        first += groups[g].count;
        if (!copy_steps(platform, &platform->groups[g]))
            return cv_fail_memory(err, "a platform");
        letters = fill_group(platform, g, &kinds[g], letters);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_platform_build(enum cleave_port port,
                                     const struct cleave_worker *kinds,
                                     const struct cv_group *groups, uint32_t ngroups,
                                     struct cleave_platform **out,
                                     uint32_t reterr_groups[2], struct cleave_error *err)
{
    struct cleave_platform *platform;
    enum cleave_status status;
    uint64_t count = 0, letters = 0;

    for (uint32_t g = 0; g < ngroups; g++) {
        size_t length = strlen(groups[g].name);

        CV_TRY(check_worker(&kinds[g], g, err));
        if (groups[g].count == 0)
            return cv_fail(err, CLEAVE_EINPUT, "expected at least one worker, got none");
        count += groups[g].count;
        letters += length + 1;
        if (groups[g].count > 1)
            letters += measure_names(length + 1, groups[g].count);
    }
    CV_TRY(check_count(count, err));
    CV_TRY(check_names(groups, ngroups, reterr_groups, err));
    platform = grow_array(port, (uint32_t)count, letters);
    if (platform == NULL)
        return cv_fail_memory(err, "a platform");
    status = fill(platform, kinds, groups, ngroups, err);
    if (status != CLEAVE_OK) {
        cleave_platform_free(platform);
        return status;
    }
    *out = platform;
    return CLEAVE_OK;
}

/* Differences are reported in this order: rates, times, the way back. */
enum { RATES, TIMES, WAY_BACK, NTURNS };

static int turn_of(const struct cv_worker_field *field)
{
    return field->like != NULL ? WAY_BACK : field->quantity == CV_RATE ? RATES : TIMES;
}

static const char *first_difference(const struct cleave_worker *a,
                                    const struct cleave_worker *b, bool way_back)
{
    for (int turn = 0; turn < (way_back ? NTURNS : WAY_BACK); turn++)
        for (size_t i = 0; i < CV_WORKER_FIELDS; i++) {
            const struct cv_worker_field *field = &cv_worker_fields[i];

            if (turn_of(field) == turn &&
                cv_worker_cost_of(a, field) != cv_worker_cost_of(b, field))
                return field->name;
        }
    return NULL;
}

bool cv_workers_equal(const struct cleave_worker *workers, uint32_t nworkers,
                      bool way_back, uint32_t *out_other, const char **out_what)
{
    for (uint32_t i = 1; i < nworkers; i++) {
        const char *what = first_difference(&workers[0], &workers[i], way_back);

        if (what == NULL)
            continue;
        if (out_other != NULL)
            *out_other = i;
        if (out_what != NULL)
            *out_what = what;
        return false;
    }
    return true;
}
