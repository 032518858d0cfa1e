/* request_check.c -- which members of a request exclude each other. SPDX-License-Identifier: MIT */
#include "run/common/request_check.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/argument.h"
#include "base/fail.h"
#include "model/platform/argument_check.h"
#include "run/common/machine.h"

/* --- exclusions ----------------------------------------------------------------------- */

/* Members of struct cleave_execution, and when they count as given. */
#define MEMBERS(X)                                                                    \
    X(OUTPUT_LINES, "output.lines", output.lines)                                     \
    X(OUTPUT_EARLY, "output.early", output.early)                                     \
    X(OUTPUT_DIRECT, "output.direct", output.direct)                                  \
    X(OUTPUT_UNORDERED, "output.unordered", output.unordered)                         \
    X(OUTPUT_HEADER, "output.header", output.header != NULL)                          \
    X(OUTPUT_ONCE, "output.header_once", output.header_once)                          \
    X(OUTPUT_KEEP, "output.keep", output.keep != NULL)                                \
    X(OUTPUT_SHARED, "output.shared", output.shared != NULL)                          \
    X(OUTPUT_DESCRIPTOR, "output.descriptor", output.descriptor > 0)                  \
    X(REDUCE, "reduce.command", reduce.command != NULL)                               \
    X(JOURNAL, "journal.path", journal.path != NULL)                                  \
    X(RETRIES, "failures.retries", failures.retries > 0)                              \
    X(ISOLATE, "failures.isolate", failures.isolate)                                  \
    X(FAILED_INPUTS, "failures.directory", failures.directory != NULL)                \
    X(TIMEOUT_SHARE, "failures.timeout_share", failures.timeout_share > 0)            \
    X(PERSISTENT, "command.persistent", persistent)                                   \
    X(WINDOW, "command.window", window > 0)                                           \
    X(HOSTS, "hosts.list", hosts.count > 0)                                           \
    X(INPUT_FILES, "input.files", input.count > 0)                                    \
    X(INPUT_FETCH, "input.fetch", input.fetch != NULL)                                \
    X(INPUT_WEIGHT, "input.weight", input.weight != NULL)                             \
    X(INPUT_WEIGHT_DEFAULT, "input.weight_default", input.weight_default != 0)        \
    X(INPUT_LIMITS, "input.limits", input.nlimits > 0)                                \
    X(INPUT_RECORDS, "input.records", input.records > 0)                              \
    X(INPUT_EXACT, "input.exact", input.exact)                                        \
    X(INPUT_SIZE, "input.size", input.size != NULL)                                   \
    X(INPUT_PAIRS, "input.pairs", input.pairs != NULL)                                \
    X(INPUT_HEADER, "input.header", input.header)                                     \
    X(POLICY, "policy.name", policy.name != NULL || request->policy.own != NULL)      \
    X(BLOCK, "policy.block", policy.block != 0)                                       \
    X(BACKUPS, "policy.backups", policy.backups == CLEAVE_BACKUPS_ON)                 \
    X(ITEMS, "items", items.words != NULL)                                            \
    X(ITEMS_SEVERAL, "items.several", items.max > 1)                                  \
    X(ITEMS_SINGLE, "items.words",                                                    \
      items.words != NULL && request->items.max <= 1 && request->items.sizes == NULL) \
    X(ITEMS_SIZES, "items.sizes", items.sizes != NULL)                                \
    X(ITEMS_LIMITS, "items.limits", items.nlimits > 0)                                \
    X(ITEMS_MORE, "items.more", items.more != NULL)                                   \
    X(ITEMS_ERRORS, "items.errors", items.errors != NULL)                             \
    X(ITEMS_KEEP, "items.keep", items.keep != NULL)                                   \
    X(ITEMS_TAG, "items.tag", items.tag != NULL)                                      \
    X(ITEMS_SENDS, "items.sends", items.sends != NULL)                                \
    X(ITEMS_RETURNS, "items.returns", items.returns != NULL)

enum member {
#define X(id, name, given) id,
    MEMBERS(X)
#undef X
};

static const char *const names[] = {
#define X(id, name, given) name,
    MEMBERS(X)
#undef X
};
enum { NMEMBERS = sizeof names / sizeof *names };

#define BIT(member) (UINT64_C(1) << (member))

/* Output that was written cannot be taken back. */
#define DONE_AGAIN                                                                   \
    (BIT(REDUCE) | BIT(JOURNAL) | BIT(OUTPUT_HEADER) | BIT(RETRIES) | BIT(ISOLATE) | \
     BIT(PERSISTENT) | BIT(OUTPUT_DIRECT))

/* If `member`, and `with` unless that is 0, are given, `needs` must be, and `excludes` must not. */
static const struct rule {
    enum member member;
    uint64_t with, needs, excludes;
} rules[] = {
    { OUTPUT_EARLY, 0, BIT(OUTPUT_DESCRIPTOR),
      DONE_AGAIN | BIT(ITEMS) | BIT(OUTPUT_LINES) | BIT(OUTPUT_UNORDERED) },
    { OUTPUT_LINES, 0, BIT(OUTPUT_DESCRIPTOR), BIT(REDUCE) | BIT(JOURNAL) },
    { OUTPUT_LINES, BIT(ITEMS), 0, BIT(ITEMS_KEEP) },
    { OUTPUT_DIRECT, 0, BIT(OUTPUT_DESCRIPTOR) | BIT(ITEMS),
      BIT(REDUCE) | BIT(JOURNAL) | BIT(ITEMS_KEEP) | BIT(ITEMS_TAG) | BIT(HOSTS) },
    { OUTPUT_ONCE, 0, 0, BIT(OUTPUT_HEADER) | BIT(ITEMS) },
    { OUTPUT_KEEP, 0, 0,
      BIT(OUTPUT_LINES) | BIT(OUTPUT_EARLY) | BIT(OUTPUT_HEADER) | BIT(OUTPUT_ONCE) |
          BIT(REDUCE) | BIT(ITEMS) },
    { OUTPUT_SHARED, 0, BIT(OUTPUT_KEEP), 0 },
    { BACKUPS, 0, 0, BIT(OUTPUT_DIRECT) | BIT(OUTPUT_LINES) },
    { TIMEOUT_SHARE, 0, BIT(ITEMS), BIT(HOSTS) },
    { ITEMS, 0, 0,
      BIT(PERSISTENT) | BIT(INPUT_FILES) | BIT(INPUT_FETCH) | BIT(INPUT_PAIRS) |
          BIT(INPUT_HEADER) | BIT(FAILED_INPUTS) },
    { ITEMS_LIMITS, 0, BIT(ITEMS), BIT(ITEMS_MORE) | BIT(ITEMS_SEVERAL) },
    { ITEMS_MORE, 0, 0, BIT(ITEMS_SIZES) | BIT(JOURNAL) },
    { ITEMS_SIZES, BIT(ITEMS), 0, BIT(BLOCK) },
    { ITEMS_SEVERAL, BIT(ITEMS), 0,
      BIT(ITEMS_SIZES) | BIT(ITEMS_ERRORS) | BIT(ITEMS_KEEP) | BIT(ITEMS_TAG) |
          BIT(ITEMS_SENDS) | BIT(ITEMS_RETURNS) | BIT(JOURNAL) | BIT(TIMEOUT_SHARE) },
    { ITEMS_SINGLE, 0, BIT(BLOCK), BIT(POLICY) },
    { INPUT_SIZE, 0, BIT(INPUT_FETCH), 0 },
    { INPUT_WEIGHT, 0, 0, BIT(ITEMS) | BIT(INPUT_FETCH) },
    { INPUT_LIMITS, 0, 0, BIT(ITEMS) | BIT(INPUT_FETCH) | BIT(INPUT_RECORDS) },
    { INPUT_WEIGHT_DEFAULT, 0, BIT(INPUT_WEIGHT), 0 },
    { INPUT_EXACT, 0, BIT(INPUT_WEIGHT), 0 },
    { INPUT_EXACT, 0, BIT(INPUT_RECORDS), 0 },
    { WINDOW, 0, BIT(PERSISTENT), BIT(BACKUPS) },
};

static uint64_t given_members(const struct cleave_execution *request)
{
    uint64_t given = 0;

#define X(id, name, test) given |= (request->test) ? BIT(id) : 0;
    MEMBERS(X)
#undef X
    return given;
}

static const char *first_name(uint64_t members)
{
    for (unsigned i = 0; i < NMEMBERS; i++)
        if ((members & BIT(i)) != 0)
            return names[i];
    return "";
}

static enum cleave_status check_rule(const struct rule *rule, uint64_t given,
                                     struct cleave_error *err)
{
    const struct cv_place place = { .field = names[rule->member] };

    if ((given & BIT(rule->member)) == 0 || (given & rule->with) != rule->with)
        return CLEAVE_OK;
    if ((rule->needs & ~given) != 0)
        return cv_fail_at(err, &place, "expected %s as well",
                          first_name(rule->needs & ~given));
    if ((rule->excludes & given) != 0)
        return cv_fail_at(err, &place, "cannot be combined with %s",
                          first_name(rule->excludes & given));
    return CLEAVE_OK;
}

/* --- values --------------------------------------------------------------------------- */

static enum cleave_status check_texts(const char *const *texts, size_t count,
                                      const char *field, struct cleave_error *err)
{
    char member[64];

    if (count > 0)
        CV_EXPECT_POINTER(texts, err, field);
    for (size_t i = 0; i < count; i++) {
        snprintf(member, sizeof member, "%s[%zu]", field, i);
        CV_EXPECT(texts[i] != NULL, err, member, "a text, got NULL");
    }
    return CLEAVE_OK;
}

static enum cleave_status check_limits(const struct cleave_execution *request,
                                       struct cleave_error *err)
{
    const struct cleave_items *items = &request->items;

    for (size_t i = 0; i < request->input.nlimits; i++)
        CV_EXPECT(request->input.limits[i].max > 0, err, "input.limits",
                  "a limit above 0, got 0");
    for (size_t i = 0; request->input.nlimits > 0 && i < request->hosts.count; i++)
        CV_EXPECT(!request->hosts.list[i].leads, err, "input.limits",
                  "no host that leads others, which would share a chunk, got '%s'",
                  request->hosts.list[i].name);
    for (size_t i = 0; i < items->nlimits; i++) {
        const struct cleave_limit *limit = &items->limits[i];

        CV_EXPECT(limit->max > 0, err, "items.limits", "a limit above 0, got 0");
        for (uint64_t k = 0; k < items->count; k++)
            CV_EXPECT(limit->keys[k] < limit->nkeys, err, "items.limits",
                      "keys below %u, got %u", limit->nkeys, limit->keys[k]);
    }
    return CLEAVE_OK;
}

/* The first item that is heavier than the rate of a window allows. */
static enum cleave_status check_weights(const struct cleave_items *items,
                                        const struct cleave_rate *rate,
                                        struct cleave_error *err)
{
    for (uint64_t i = 0; i < items->count; i++)
        CV_EXPECT(items->sizes[i] <= rate->amount, err, "workers.rates",
                  "at least %g in %g s, which item %llu weighs, got %g", items->sizes[i],
                  rate->period_s, (unsigned long long)i + 1, rate->amount);
    return CLEAVE_OK;
}

static enum cleave_status check_rates(const struct cleave_execution *request,
                                      struct cleave_error *err)
{
    const struct cleave_worker_list *workers = &request->workers;
    const uint32_t count = workers->platform != NULL
                               ? cleave_platform_nworkers(workers->platform)
                           : workers->count > 0 ? workers->count
                                                : (uint32_t)cv_usable_cores();

    CV_EXPECT(workers->nrates == 0 || request->input.fetch == NULL, err, "input.fetch",
              "an input whose records workers.rates can count, got a command");
    for (size_t i = 0; i < workers->nrates; i++) {
        const struct cleave_rate *rate = &workers->rates[i];

        CV_EXPECT_ABOVE(rate->amount, err, "workers.rates");
        CV_EXPECT_ABOVE(rate->period_s, err, "workers.rates");
        CV_EXPECT(rate->first < count && rate->count <= count - rate->first, err,
                  "workers.rates", "workers below %u, got %u of them from %u on", count,
                  rate->count, rate->first);
        CV_EXPECT(rate->by_weight || rate->amount >= 1, err, "workers.rates",
                  "at least one start in a period, got %g", rate->amount);
        CV_EXPECT(!rate->by_weight || request->items.sizes != NULL ||
                      (request->input.weight != NULL && request->input.weight[0] != '\0'),
                  err, request->items.words != NULL ? "items.sizes" : "input.weight",
                  "weights for the 'w' in workers.rates, got none");
        for (size_t k = 0; k < i; k++)
            CV_EXPECT(rate->first >= workers->rates[k].first + workers->rates[k].count ||
                          workers->rates[k].first >= rate->first + rate->count,
                      err, "workers.rates", "no worker in two rates, got %u in both",
                      rate->first);
        if (rate->by_weight && request->items.words != NULL)
            CV_TRY(check_weights(&request->items, rate, err));
    }
    return CLEAVE_OK;
}

/* Numbers and values of enums, whatever else is given. */
static enum cleave_status check_numbers(const struct cleave_execution *request,
                                        struct cleave_error *err)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        { "workers.delay_s", request->workers.delay_s },
        { "workers.max_load", request->workers.max_load },
        { "hosts.connect_timeout_s", request->hosts.connect_timeout_s },
        { "hosts.timeout_s", request->hosts.timeout_s },
        { "policy.block", request->policy.block },
        { "input.weight_default", request->input.weight_default },
        { "failures.timeout_s", request->failures.timeout_s },
        { "failures.timeout_share", request->failures.timeout_share },
        { "failures.halt_share", request->failures.halt_share },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        CV_EXPECT_SIZE(numbers[i].value, err, numbers[i].name);
    CV_EXPECT(!isnan(request->hosts.notice_s), err, "hosts.notice_s",
              "a number, got NAN");
    CV_EXPECT_ENUM(request->workers.pin, CLEAVE_PIN_NODES + 1, err, "workers.pin");
    CV_EXPECT_ENUM(request->policy.backups, CLEAVE_BACKUPS_OFF + 1, err,
                   "policy.backups");
    CV_EXPECT_ENUM(request->failures.halt, CLEAVE_HALT_NOW + 1, err, "failures.halt");
    CV_EXPECT_ENUM(request->failures.halt_on, CLEAVE_HALT_ON_LATER + 1, err,
                   "failures.halt_on");
    CV_EXPECT(request->window <= CLEAVE_WINDOW_MOST, err, "command.window",
              "at most %d, got %u", (int)CLEAVE_WINDOW_MOST, request->window);
    CV_EXPECT(request->workers.count <= CLEAVE_MAX_WORKERS, err, "workers.count",
              "at most %u, got %u", CLEAVE_MAX_WORKERS, request->workers.count);
    return CLEAVE_OK;
}

static enum cleave_status check_hosts(const struct cleave_execution *request,
                                      struct cleave_error *err)
{
    const struct cleave_platform *platform = request->workers.platform;
    const uint32_t n = platform != NULL ? cleave_platform_nworkers(platform) : 0;

    if (request->hosts.count == 0)
        return CLEAVE_OK;
    CV_EXPECT_POINTER(request->hosts.list, err, "hosts.list");
    CV_EXPECT_POINTER(platform, err, "workers.platform");
    for (size_t i = 0; i < request->hosts.count; i++) {
        const struct cleave_host *host = &request->hosts.list[i];
        const uint32_t slots = host->slots > 0 ? host->slots : 1;
        char member[64];

        snprintf(member, sizeof member, "hosts.list[%zu].name", i);
        CV_EXPECT(host->name != NULL, err, member, "a text, got NULL");
        snprintf(member, sizeof member, "hosts.list[%zu].first", i);
        CV_EXPECT(host->first < n && slots <= n - host->first, err, member,
                  "%u of %u workers, got those from %u on", slots, n, host->first);
        snprintf(member, sizeof member, "hosts.list[%zu].connect", i);
        CV_EXPECT(host->connect == NULL || host->connect[0] != NULL, err, member,
                  "a command, got no word");
        snprintf(member, sizeof member, "hosts.list[%zu].link", i);
        CV_EXPECT(host->connect != NULL || host->channel != NULL ||
                      fcntl(host->link, F_GETFD) >= 0,
                  err, member, "an open socket, got %d", host->link);
        snprintf(member, sizeof member, "hosts.list[%zu].copies", i);
        CV_EXPECT(host->ncopies == 0 || host->copies != NULL, err, member,
                  "a pointer, got NULL");
    }
    return CLEAVE_OK;
}

static enum cleave_status check_values(const struct cleave_execution *request,
                                       struct cleave_error *err)
{
    const int sink = request->output.descriptor;
    const int flags = fcntl(sink, F_GETFL);

    CV_EXPECT(request->command != NULL && request->command[0] != NULL, err, "command",
              "a command, got no word");
    CV_TRY(check_texts(request->input.files, request->input.count, "input.files", err));
    CV_EXPECT(flags >= 0 || request->output.keep != NULL, err, "output.descriptor",
              "an open descriptor, got %d", sink);
    CV_EXPECT((flags & O_ACCMODE) != O_RDONLY || request->output.keep != NULL, err,
              "output.descriptor",
              "a descriptor to write to, got %d, which is open for reading", sink);
    CV_EXPECT(request->output.shared == NULL || request->output.shared[0] == '/', err,
              "output.shared", "an absolute path, got '%.100s'", request->output.shared);
    CV_TRY(check_numbers(request, err));
    CV_TRY(check_hosts(request, err));
    for (uint64_t i = 0; request->items.sizes != NULL && i < request->items.count; i++)
        CV_EXPECT_SIZE(request->items.sizes[i], err, "items.sizes");
    CV_TRY(check_rates(request, err));
    CV_TRY(check_limits(request, err));
    CV_EXPECT(request->items.max <= 1 || request->items.words != NULL, err, "items.words",
              "a function, as items.max is above 1, got NULL");
    CV_EXPECT((request->items.more == NULL) == (request->items.comes == NULL), err,
              "items.comes", "a function next to items.more, and none without it");
    return cv_check_settings(request->policy.settings, request->policy.nsettings,
                             "policy.settings", err);
}

enum cleave_status cv_request_check(const struct cleave_execution *request,
                                    struct cleave_error *err)
{
    const struct cv_place several = { .field = "items.several" };
    const uint64_t given = given_members(request);

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        CV_TRY(check_rule(&rules[i], given, err));
    /* Lines of chunks are written as they come; items may be done again in any case. */
    if (request->output.lines && (given & BIT(ITEMS)) == 0)
        CV_TRY(check_rule(&(struct rule){ OUTPUT_LINES, 0, 0, DONE_AGAIN }, given, err));
    if ((given & BIT(ITEMS_SINGLE)) != 0 && request->policy.block != 1)
        return cv_fail_at(err, &(struct cv_place){ .field = "policy.block" },
                          "expected 1: items are done one at a time");
    if ((given & BIT(ITEMS_SEVERAL)) != 0 && request->items.several == NULL)
        return cv_fail_at(err, &several, "expected a function, as items.max is above 1");
    return check_values(request, err);
}

/* --- open chunks ---------------------------------------------------------------------- */

/* Whether the prefix of a worker gives it a GPU, by the variables of CUDA, ROCm and oneAPI. */
static bool has_gpu(const char *words)
{
    static const char *const shown[] = { "_VISIBLE_DEVICES=", "ZE_AFFINITY_MASK=" };

    for (size_t i = 0; words != NULL && i < sizeof shown / sizeof *shown; i++) {
        const char *found = strstr(words, shown[i]);

        if (found != NULL)
            return isalnum((unsigned char)found[strlen(shown[i])]) != 0;
    }
    return false;
}

/* Workers without a GPU may be hundreds of times slower than those with one. Open chunks are
 * sized before this is known, and to correct each of them costs the fast worker a start. */
static bool has_gpus_and_cores(const struct cleave_execution *request, uint32_t nworkers)
{
    const char *const *words = request->workers.prefixes;

    for (uint32_t w = 1; words != NULL && w < nworkers; w++)
        if (has_gpu(words[w]) != has_gpu(words[0]))
            return true;
    return false;
}

/* A leader gives its pieces to persistent commands. */
static bool has_leaders(const struct cleave_execution *request)
{
    for (size_t i = 0; i < request->hosts.count; i++)
        if (request->hosts.list[i].leads)
            return true;
    return false;
}

bool cv_request_may_open(const struct cleave_execution *request, uint32_t nworkers,
                         bool framed)
{
    /* A command may read its mates to the end first, and an open chunk has no end yet. A policy of
     * the caller may know better, but not about hosts. */
    if (request->input.pairs != NULL &&
        (request->policy.own == NULL || request->hosts.count > 0))
        return false;
    /* A fetched range has an end from the start. */
    if (request->input.fetch != NULL || has_gpus_and_cores(request, nworkers) ||
        has_leaders(request) || request->input.weight != NULL)
        return false;
    /* The end of a frame can only be written when the chunk is complete. */
    return !request->persistent && !request->tell_records &&
           request->items.words == NULL && !framed;
}
