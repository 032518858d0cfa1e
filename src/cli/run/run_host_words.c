/* run_host_words.c -- workers of hosts that were named in words. SPDX-License-Identifier: MIT
 *
 * Nothing is known of their costs, so all are thought to be alike until they have been
 * measured. A host that does not say how many slots it has is asked for its cores when it is
 * reached; until then one worker stands for it. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/run/run_hosts.h"
#include "io/input.h"
#include "model/platform/nominal.h"
#include "run/kit/usable_cores.h"

enum { MOST_BYTES = 16 * 1024 * 1024 }; /* of a file of hosts */

#define HERE "here" /* what workers of this machine are called */

/* --- which ones --------------------------------------------------------------------------- */

bool cv_hosts_are_file(const char *text)
{
    static const char *const ends[] = { ".yaml", ".yml", ".json" };
    const size_t length = strlen(text);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length > strlen(ends[i]) &&
            strcmp(text + length - strlen(ends[i]), ends[i]) == 0)
            return true;
    return cv_hosts_are_text(text) || strchr(text, '/') != NULL ||
           strcmp(text, "-") == 0 || access(text, F_OK) == 0;
}

const char *cv_hosts_file(const struct cv_run_options *values)
{
    const char *path = values->hosts_file != NULL ? values->hosts_file
                       : values->hosts != NULL && cv_hosts_are_file(values->hosts)
                           ? values->hosts
                           : NULL;
    struct stat facts;

    return path != NULL && stat(path, &facts) == 0 && S_ISREG(facts.st_mode) ? path
                                                                             : NULL;
}

/* Whether it is the file in which PBS says what it has granted. */
static bool is_granted(const char *path)
{
    const char *granted = getenv("PBS_NODEFILE");

    return granted != NULL && strcmp(granted, path) == 0;
}

static enum cleave_status read_file(const char *path, struct cv_arena *arena,
                                    struct cv_host_words *out, struct cleave_error *err)
{
    char *text = NULL;
    size_t length;
    enum cleave_status status;

    CV_TRY(cv_input_read(path, MOST_BYTES, &text, &length, err));
    status = strlen(text) == length
                 ? cv_host_lines_add(text, cv_input_name(path), arena, out, err)
                 : cv_fail(err, CLEAVE_EINPUT, "%s: expected lines of text, got a byte 0",
                           cv_input_name(path));
    free(text);
    if (status == CLEAVE_OK && out->count == 0)
        return cv_fail(err, CLEAVE_EINPUT, "%s: expected hosts, got none",
                       cv_input_name(path));
    return status;
}

static enum cleave_status read_words(const struct cv_run_options *values,
                                     struct cv_arena *arena, struct cv_host_words *out,
                                     struct cleave_error *err)
{
    if (values->hosts_file != NULL)
        CV_TRY(read_file(values->hosts_file, arena, out, err));
    if (values->hosts != NULL)
        CV_TRY(
            cv_host_words_add(values->hosts, CV_HOSTS_PLAIN, "--hosts", arena, out, err));
    for (size_t i = 0; i < values->logins.count; i++)
        CV_TRY(cv_host_words_add(values->logins.items[i], CV_HOSTS_PARALLEL, "--sshlogin",
                                 arena, out, err));
    return cv_host_words_settle(
        out, values->hosts_file != NULL && is_granted(values->hosts_file), "hosts", err);
}

/* --- their workers ------------------------------------------------------------------------ */

static uint32_t slots_of(const struct cv_host_word *word, uint32_t usual)
{
    const uint32_t said = word->slots > 0 ? word->slots : usual;

    return said > 0 || word->name != NULL ? said : (uint32_t)cv_usable_cores();
}

/* A worker for every slot that is known of, and one for a host of which it is not. */
static enum cleave_status build(const struct cv_host_words *words, uint32_t usual,
                                struct cv_arena *arena, struct cleave_platform **out,
                                struct cleave_error *err)
{
    struct cv_group *groups = cv_array(arena, words->count, sizeof *groups);
    struct cleave_worker *kinds = cv_array(arena, words->count, sizeof *kinds);

    if (groups == NULL || kinds == NULL)
        return cv_fail_memory(err, "the workers");
    for (size_t i = 0; i < words->count; i++) {
        const struct cv_host_word *word = &words->items[i];
        const uint32_t slots = slots_of(word, usual);

        groups[i] = (struct cv_group){ .name = word->name != NULL ? word->name : HERE,
                                       .count = slots > 0 ? slots : 1,
                                       .ssh = word->login };
        CV_TRY(cv_worker_name_check(groups[i].name, "a host", err));
        kinds[i] =
            cv_nominal_worker(word->name != NULL ? CV_NOMINAL_RANK : CV_NOMINAL_HERE);
    }
    return cv_platform_build(CLEAVE_PORT_MULTI, kinds, groups, (uint32_t)words->count,
                             out, NULL, err);
}

enum cleave_status cv_crew_of_words(const struct cv_host_words *words, uint32_t slots,
                                    const struct cv_reach *reach, struct cv_arena *arena,
                                    struct cv_crew *out, struct cleave_error *err)
{
    *out = (struct cv_crew){ .platform = NULL };
    CV_TRY(build(words, slots, arena, &out->platform, err));
    out->hosts = cv_array(arena, words->count, sizeof *out->hosts);
    if (out->hosts == NULL)
        return cv_fail_memory(err, "the hosts");
    for (uint32_t i = 0; i < words->count; i++) {
        const struct cv_group *group = &out->platform->groups[i];
        struct cv_reach own = *reach;

        if (words->items[i].name == NULL)
            continue;
        if (words->items[i].ssh != NULL)
            own.ssh = words->items[i].ssh;
        CV_TRY(cv_host_describe(group, &own, group->first,
                                slots_of(&words->items[i], slots), arena,
                                &out->hosts[out->nhosts++], err));
    }
    return CLEAVE_OK;
}

/* -j beside hosts: what each has that does not say. */
static enum cleave_status read_usual(const char *text, uint32_t *out,
                                     struct cleave_error *err)
{
    char *end;
    unsigned long number;

    *out = 0;
    if (text == NULL || strcmp(text, "100%") == 0)
        return CLEAVE_OK;
    number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number < 1 ||
        number > CV_HOST_SLOTS_MOST)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--workers: beside hosts expected the slots of each, 1 to %d, or "
                       "100%%, got '%s'",
                       (int)CV_HOST_SLOTS_MOST, text);
    *out = (uint32_t)number;
    return CLEAVE_OK;
}

enum cleave_status cv_crew_find(const struct cv_run_options *values,
                                const struct cv_reach *reach, struct cv_arena *arena,
                                struct cv_crew *out, struct cleave_error *err)
{
    struct cv_host_words words = { NULL, 0, 0 };
    enum cleave_status status;
    uint32_t usual;

    *out = (struct cv_crew){ .platform = NULL };
    if (values->hosts != NULL && cv_hosts_are_file(values->hosts)) {
        if (values->hosts_file != NULL || values->logins.count > 0)
            return cv_fail(err, CLEAVE_EINPUT,
                           "--hosts %s is a platform file: expected neither --hosts-file "
                           "nor --sshlogin",
                           values->hosts);
        if (values->workers != NULL)
            return cv_fail(err, CLEAVE_EINPUT, "expected --workers or --hosts, got both");
        return cv_crew_open(values->hosts, reach, arena, out, err);
    }
    if (values->as != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--as needs --hosts FILE, a platform file with a worker '%s'",
                       values->as);
    CV_TRY(read_usual(values->workers, &usual, err));
    status = read_words(values, arena, &words, err);
    if (status == CLEAVE_OK)
        status = cv_crew_of_words(&words, usual, reach, arena, out, err);
    free(words.items);
    return status;
}
