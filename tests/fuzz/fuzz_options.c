/* fuzz_options.c -- any words after any verb, and any parameters of any policy.
 * SPDX-License-Identifier: MIT
 *
 * The first byte names the verb, or the policy; newlines separate words. Nothing is run:
 * words are parsed, and plans are made with the view of policies. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/output.h"
#include "cli/common/job_options.h"
#include "cli/run/run_parts.h"
#include "cli/verbs.h"
#include "engine/driver.h"
#include "model/platform/generate.h"
#include "model/reduce/reduce_costs.h"
#include "fuzz_target.h"

enum { WORDS = 64, POLICY = 0x80 };

#define require(truth) require_at(truth, #truth, __LINE__)

/* Messages go to `stderr`, which is discarded here; findings go to the real one. */
static FILE *told;

static void require_at(int truth, const char *text, int line)
{
    if (truth)
        return;
    if (told != NULL)
        fprintf(told, "fuzz_options.c:%d: %s\n", line, text);
    abort();
}

static void hush(void)
{
    if (told != NULL)
        return;
    told = stderr;
    stderr = fopen("/dev/null", "w");
    if (stderr == NULL)
        abort();
}

/* --- words ---------------------------------------------------------------------------------- */

static void read_more(const struct cv_run_options *values, struct cv_arena *arena)
{
    struct cleave_execution execution = { .command = NULL };
    struct cv_worker_list workers = { .platform = NULL };

    if (values->halt != NULL)
        cv_halt_read(values->halt, &execution.failures);
    require(execution.failures.halt_share >= 0 && execution.failures.halt_share <= 1);
    if (cv_crew_read(values->workers, arena, &workers) == CV_EXIT_DONE)
        require(cleave_platform_nworkers(workers.platform) > 0);
    cleave_platform_free(workers.platform);
}

static void read_options(const struct cv_verb *verb, char **words, int count)
{
    const struct cv_typed typed = { count, words, verb->command, verb->foreign };
    struct cv_parsed parsed = { .operands = NULL };
    struct cv_arena arena;
    /* A block of the exact size lets a sanitizer detect missing fields. */
    void *values = calloc(1, verb->values_size > 0 ? verb->values_size : 1);
    int status;

    require(values != NULL);
    if (verb->presets != NULL)
        memcpy(values, verb->presets, verb->values_size);
    cv_arena_init(&arena);
    status = cv_options_parse(verb->groups, &typed, &arena, values, &parsed);
    require(status == CV_EXIT_DONE || status == CV_EXIT_USAGE);
    if (status == CV_EXIT_DONE && !parsed.help) {
        require(parsed.noperands <= (size_t)count);
        for (size_t i = 0; i < parsed.noperands; i++)
            require(parsed.operands[i] != NULL);
        if (strcmp(verb->name, "run") == 0)
            read_more(values, &arena);
    }
    cv_arena_done(&arena);
    free(values);
}

/* --- parameters ------------------------------------------------------------------------------ */

/* A requested long search would run long: skip it. */
static bool takes_long(const struct cv_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->items[i].key, "effort") == 0 &&
            strtod(settings->items[i].value, NULL) > 1e3)
            return true;
    return false;
}

static void plan_load(const struct cleave_policy *policy,
                      const struct cv_settings *settings)
{
    static struct cleave_platform *platform;
    struct cleave_error err = { .text = "" };
    struct cv_planned planned;

    if (takes_long(settings))
        return;
    if (platform == NULL)
        require(cv_nominal_platform(CV_NOMINAL_HERE, NULL, 3, &platform, &err) ==
                CLEAVE_OK);
    if (cv_planned_init(&planned, policy, settings->items, settings->count, platform,
                        cleave_platform_workers(platform),
                        &(struct cleave_view){ .units_total = 1e6 }, NULL, NULL,
                        &err) == CLEAVE_OK)
        cv_planned_done(&planned);
    else
        require(err.text[0] != '\0');
}

static void plan_reduction(const struct cleave_policy *policy,
                           const struct cv_settings *settings)
{
    const struct cv_reduce_costs costs = { .nodes = 6,
                                           .transfer = cv_distribution_constant(1),
                                           .compute = cv_distribution_constant(2) };
    struct cleave_error err = { .text = "" };
    struct cv_planned planned;

    if (cv_planned_reduce_costs(&planned, policy, settings->items, settings->count,
                                &costs, 1, &err) == CLEAVE_OK)
        cv_planned_done(&planned);
    else
        require(err.text[0] != '\0');
}

static void read_params(const struct cleave_policy *policy, char **words, int count)
{
    const struct cv_strings params = { (const char **)words, (size_t)count };
    struct cv_settings settings;
    struct cv_arena arena;

    cv_arena_init(&arena);
    if (cv_settings_open(&settings, &params, 0, &arena) == CV_EXIT_DONE) {
        if (policy->task == CLEAVE_TASK_LOAD)
            plan_load(policy, &settings);
        else if (policy->task == CLEAVE_TASK_REDUCE)
            plan_reduction(policy, &settings);
    }
    cv_arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text, *rest, *words[WORDS + 1];
    int count = 0;

    if (size < 1)
        return 0;
    hush();
    text = malloc(size);
    require(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    for (char *word = strtok_r(text, "\n", &rest); word != NULL && count < WORDS;
         word = strtok_r(NULL, "\n", &rest))
        words[count++] = word;
    words[count] = NULL;
    if (data[0] < POLICY)
        read_options(cv_verbs.items[data[0] % cv_verbs.count], words, count);
    else
        read_params(cleave_policy_at((size_t)(data[0] - POLICY) % cleave_policy_count()),
                    words, count);
    free(text);
    return 0;
}
