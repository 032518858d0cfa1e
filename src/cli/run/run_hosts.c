/* run_hosts.c -- workers and hosts from a platform file. SPDX-License-Identifier: MIT
 *
 * A worker with `ssh:` or `slots:` is another machine, or stands for one: its slots are
 * workers of the run, count times slots of them, over one connection. The others are
 * places on this machine, with `command:` before each command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/helper_program.h"
#include "cli/common/output.h"
#include "cli/run/run_hosts.h"
#include "cli/run/run_slurm.h"
#include "io/input.h"
#include "io/platform_file.h"
#include "run/common/gpus.h"

enum { PLATFORM_MOST = 256 * 1024 * 1024 };

/* ssh with its options, up to the host. */
static void ssh_words(const struct cv_host_fields *host, const struct cv_reach *reach,
                      struct cv_words *words)
{
    char timeout[64];

    cv_words_split(words, reach->ssh != NULL ? reach->ssh : "ssh");
    snprintf(timeout, sizeof timeout, "ConnectTimeout=%.0f",
             reach->connect_timeout_s >= 1 ? reach->connect_timeout_s : 1);
    cv_words_split(words, "-T -o BatchMode=yes -o");
    cv_words_add(words, timeout);
    cv_words_add(words, "--");
    cv_words_add(words, host->ssh);
}

/* What stands before `cleave worker`; srun is told to pass on what comes as it comes. */
static const char *runner_of(const struct cv_host_fields *host, struct cv_arena *arena)
{
    const char *command = host->command != NULL ? host->command : "", *rest;
    struct cv_text text = { NULL, 0, 0, false };

    if (!cv_is_srun(command, &rest))
        return command;
    cv_text_add(&text, "%.*s --unbuffered%s", (int)(rest - command), command, rest);
    return cv_text_take(&text, arena);
}

static void connect_by_ssh(const struct cv_host_fields *host,
                           const struct cv_reach *reach, const char *const *led,
                           struct cv_words *words)
{
    const char *runner = runner_of(host, words->arena);
    struct cv_text line = { NULL, 0, 0, false };

    words->failed = words->failed || runner == NULL;
    if (words->failed)
        return;
    ssh_words(host, reach, words);
    if (reach->push)
        cv_copies_words(&reach->copies, runner, &line);
    else
        cv_text_add(&line, "exec %s %s worker", runner,
                    reach->program != NULL ? reach->program : "cleave");
    if (host->gpus > 0 && led == NULL)
        cv_text_add(&line, " --gpus %u", host->gpus);
    if (reach->pin != NULL && led == NULL)
        cv_text_add(&line, " --pin %s", reach->pin);
    if (led != NULL)
        cv_lead_line(host, reach, led, words->arena, &line);
    if (reach->push) /* a damaged one says that it is, but not which one it was to be */
        cv_text_add(&line, "; s=$?; [ $s -ne %d ] || s=$l; exit $s", CLEAVE_HOST_LACKS);
    cv_script_add(words, &line);
}

static void command_words(const struct cv_host_fields *host, const struct cv_reach *reach,
                          const char *const *led, struct cv_words *words)
{
    char self[4096];
    const bool known = cv_own_program(self, sizeof self);
    const char *rest;

    if (known && host->command != NULL && cv_is_srun(host->command, &rest)) {
        cv_words_add(words, self);
        cv_words_split(words, "worker --through");
    }
    cv_words_split(words, runner_of(host, words->arena));
    if (reach->program == NULL && known) {
        cv_words_add(words, self);
    } else {
        cv_words_split(words, reach->program != NULL ? reach->program : "cleave");
    }
    cv_words_add(words, "worker");
    if (led != NULL) {
        cv_lead_words(host, reach, led, words);
    } else if (reach->pin != NULL) {
        cv_words_add(words, "--pin");
        cv_words_add(words, reach->pin);
    }
}

enum cleave_status cv_host_describe(const struct cv_host_fields *host,
                                    const struct cv_reach *reach, const char *const *led,
                                    uint32_t first, uint32_t slots,
                                    struct cv_arena *arena, struct cleave_host *out,
                                    struct cleave_error *err)
{
    struct cv_words words = { .arena = arena };

    *out = (struct cleave_host){ .name = cv_arena_text(arena, host->name),
                                 .link = -1,
                                 .first = first,
                                 .slots = slots,
                                 .leads = led != NULL };
    if (out->name == NULL)
        return cv_fail_memory(err, "the hosts");
    if (host->ssh != NULL)
        connect_by_ssh(host, reach, led, &words);
    else
        command_words(host, reach, led, &words);
    out->connect = cv_words_done(&words);
    if (out->connect == NULL)
        return cv_fail_memory(err, "the hosts");
    return host->ssh != NULL && reach->push
               ? cv_copies_offer(host, reach, arena, out, err)
               : CLEAVE_OK;
}

static bool is_host(const struct cv_host_fields *host)
{
    return host->ssh != NULL || host->slots > 0;
}

static uint32_t members(const struct cv_group *group, const struct cv_host_fields *host)
{
    const uint32_t each = host->slots > 0 ? host->slots : host->gpus;

    return group->count * (each > 0 ? each : 1);
}

/* How many GPUs there are, where the file leaves it open. */
static enum cleave_status count_gpus(const char *path, struct cv_host_fields *host,
                                     struct cleave_error *err)
{
    if (host->gpus != CV_GPUS_AUTO)
        return CLEAVE_OK;
    if (host->ssh != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: host '%s': gpus: auto counts those of this machine; expected "
                       "how many the host has: ssh %s nvidia-smi -L",
                       path, host->name, host->ssh);
    host->gpus = cv_gpus_count("/dev");
    return host->gpus > 0 ? CLEAVE_OK
                          : cv_fail(err, CLEAVE_EINPUT,
                                    "%s: worker '%s': gpus: auto finds no GPU on this "
                                    "machine: neither /dev/nvidia0 nor nvidia-smi, or "
                                    "CUDA_VISIBLE_DEVICES lists none",
                                    path, host->name);
}

/* One that leads others is a machine, and one worker to this run. */
static enum cleave_status check_leader(const char *path, const struct cv_group *group,
                                       const struct cv_host_fields *host,
                                       struct cleave_error *err)
{
    if (group->count > 1)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "%s: worker '%s' leads others (via:) and has count: %u: in a run a "
            "leader is one machine; write each by itself, with those behind it",
            path, group->name, group->count);
    if (!is_host(host))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "%s: worker '%s' leads others (via:): in a run it has to be a host, "
            "with ssh: or slots:",
            path, group->name);
    return CLEAVE_OK;
}

/* The same with a worker for every slot. */
static enum cleave_status expand(const char *path, const struct cleave_platform *file,
                                 struct cv_host_fields *hosts, struct cv_arena *arena,
                                 struct cleave_platform **out, struct cleave_error *err)
{
    struct cv_group *groups = cv_array(arena, file->ngroups, sizeof *groups);
    struct cleave_worker *kinds = cv_array(arena, file->ngroups, sizeof *kinds);

    if (groups == NULL || kinds == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t g = 0; g < file->ngroups; g++) {
        groups[g] = file->groups[g];
        if (groups[g].led > 0)
            CV_TRY(check_leader(path, &groups[g], &hosts[g], err));
        CV_TRY(count_gpus(path, &hosts[g], err));
        groups[g].count = groups[g].led > 0 ? 1 : members(&groups[g], &hosts[g]);
        kinds[g] = file->workers[file->groups[g].first];
    }
    return cv_platform_build(file->port, kinds, groups, file->ngroups, out, NULL, err);
}

/* What stands before the commands of worker `index` of those alike on this machine. */
static enum cleave_status words_here(const struct cv_host_fields *host, uint32_t index,
                                     struct cv_arena *arena, const char **out,
                                     struct cleave_error *err)
{
    struct cv_text text = { NULL, 0, 0, false };
    char gpu[256];

    *out = host->command;
    if (host->gpus == 0)
        return CLEAVE_OK;
    CV_TRY(cv_gpu_name(index % host->gpus, gpu, sizeof gpu, err));
    cv_text_add(&text, "env CUDA_VISIBLE_DEVICES=%s %s", gpu,
                host->command != NULL ? host->command : "");
    *out = cv_text_take(&text, arena);
    return *out != NULL ? CLEAVE_OK : cv_fail_memory(err, "the workers");
}

static enum cleave_status add_host(const char *path, const char *text,
                                   const struct cv_group *group,
                                   const struct cv_host_fields *host,
                                   const struct cv_reach *reach, struct cv_arena *arena,
                                   struct cv_worker_list *out, struct cleave_error *err)
{
    const char *const *led = NULL;

    if (group->led > 0)
        CV_TRY(cv_leads_of_file(path, text, host, reach, arena, &out->behind[out->nhosts],
                                &led, err));
    return cv_host_describe(host, reach, led, group->first, group->count, arena,
                            &out->hosts[out->nhosts++], err);
}

static enum cleave_status fill_crew(const char *path, const char *text,
                                    const struct cv_reach *reach, struct cv_arena *arena,
                                    struct cv_worker_list *out, struct cleave_error *err)
{
    const struct cleave_platform *platform = out->platform;
    const char **prefixes =
        cv_array(arena, cleave_platform_nworkers(platform), sizeof *prefixes);

    out->hosts = cv_array(arena, platform->ngroups, sizeof *out->hosts);
    out->behind = cv_array(arena, platform->ngroups, sizeof *out->behind);
    if (prefixes == NULL || out->hosts == NULL || out->behind == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t g = 0; g < platform->ngroups; g++) {
        const struct cv_group *group = &platform->groups[g];
        const struct cv_host_fields *host = &out->fields[g];

        if (host->ssh != NULL && host->ssh[0] == '-')
            return cv_fail(err, CLEAVE_EINPUT,
                           "%s: host '%s': expected ssh: NAME, got '%s'", path,
                           host->name, host->ssh);
        if (is_host(host))
            CV_TRY(add_host(path, text, group, host, reach, arena, out, err));
        else
            for (uint32_t i = 0; i < group->count; i++)
                CV_TRY(words_here(host, i, arena, &prefixes[group->first + i], err));
    }
    out->prefixes = prefixes;
    return CLEAVE_OK;
}

bool cv_hosts_are_text(const char *text)
{
    return text[0] == '{' ||
           (strchr(text, '\n') != NULL && strstr(text, "workers:") != NULL);
}

/* All of a platform file, or the text itself. *out is for free(). */
static enum cleave_status read_platform(const char *path, char **out, size_t *length,
                                        struct cleave_error *err)
{
    if (!cv_hosts_are_text(path))
        return cv_input_read(path, PLATFORM_MOST, out, length, err);
    *out = strdup(path);
    *length = strlen(path);
    return *out != NULL ? CLEAVE_OK : cv_fail_memory(err, "the hosts");
}

enum cleave_status cv_crew_open(const char *path, const struct cv_reach *reach,
                                struct cv_arena *arena, struct cv_worker_list *out,
                                struct cleave_error *err)
{
    const char *name = cv_hosts_are_text(path) ? "--hosts" : cv_input_name(path);
    struct cv_platform_file file = { NULL, NULL };
    enum cleave_status status;
    size_t length;
    char *text;

    *out = (struct cv_worker_list){ .platform = NULL };
    CV_TRY(read_platform(path, &text, &length, err));
    status = cv_platform_parse_as(name, text, length, &reach->view, arena, &file, err);
    if (status == CLEAVE_OK)
        status = expand(name, file.platform, file.hosts, arena, &out->platform, err);
    cleave_platform_free(file.platform);
    out->fields = file.hosts;
    if (status == CLEAVE_OK)
        status = fill_crew(name, text, reach, arena, out, err);
    free(text);
    return status;
}

int cv_crew_load(const char *path, const struct cv_reach *reach, struct cv_arena *arena,
                 struct cv_worker_list *out)
{
    struct cleave_error err;

    return cv_crew_open(path, reach, arena, out, &err) == CLEAVE_OK
               ? CV_EXIT_DONE
               : cv_print_status(&err);
}
