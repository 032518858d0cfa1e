/* run_hosts.c -- workers and hosts that options and platform files name.
 * SPDX-License-Identifier: MIT
 *
 * A worker with `ssh:` or `slots:` is another machine: its slots are workers of the run,
 * over one connection. Other workers are on this machine, with `command:` before each
 * command. Nothing is known of the costs of hosts in lists: all are alike until they are
 * measured. */
#include "cli/run/run_parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file_target.h"
#include "base/helper_program.h"
#include "base/shell_word.h"
#include "cli/task/load_task.h"
#include "engine/rate.h"
#include "io/input.h"
#include "model/platform/generate.h"
#include "run/common/machine.h"
#include "run/hosts/joining.h"
#include "run/hosts/leader_spec.h"

enum {                       /* most bytes */
       LED_MOST = 96 * 1024, /* a text passed as words of a command */
       PLATFORM_MOST = 256 * 1024 * 1024,
};

/* A leader starts a rate again with each chunk. `how`: what makes the host a leader or led by one. */
static enum cleave_status check_rate(const char *host, const char *rate, const char *how,
                                     struct cleave_error *err)
{
    return rate == NULL
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EINPUT,
                         "host '%s' has a rate, which a leader (%s) does not keep: leave "
                         "%s out",
                         host, how, how);
}

/* Words for a worker that leads others: its name, the hosts it leads, and the options
 * of this run. */
static void lead_words(const struct cv_host_fields *host, const struct cv_reach *reach,
                       const char *const *led, struct cv_words *words)
{
    cv_words_split(words, "--lead -- --as");
    cv_words_add(words, host->name);
    for (size_t i = 0; led[i] != NULL; i++)
        cv_words_add(words, led[i]);
    for (size_t i = 0; reach->lead[i] != NULL; i++)
        cv_words_add(words, reach->lead[i]);
}

static void lead_line(const struct cv_host_fields *host, const struct cv_reach *reach,
                      const char *const *led, struct cv_text *line)
{
    struct cv_words words = { .arena = reach->arena };
    const char *const *list;

    lead_words(host, reach, led, &words);
    list = cv_words_done(&words);
    cv_text_add(line, " ");
    if (list != NULL)
        cv_sh_words_add(line, list);
    line->failed = line->failed || list == NULL;
}

/* The words that tell a leader its hosts; *behind: their names. */
static enum cleave_status leads_of_file(const char *path, const char *text,
                                        const struct cv_host_fields *host,
                                        const struct cv_reach *reach,
                                        const char *const **behind,
                                        const char *const **led, struct cleave_error *err)
{
    struct cv_words words = { .arena = reach->arena }, names = words;
    struct cv_platform_view how = reach->view;
    struct cv_platform_file view;
    enum cleave_status status = CLEAVE_OK;

    if (reach->lead == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: worker '%s' leads others (via:), which 'cleave run' can do",
                       path, host->name);
    if (strlen(text) > LED_MOST)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "%s: expected at most %d bytes, which are sent to leaders, got %zu", path,
            (int)LED_MOST, strlen(text));
    cv_words_add(&words, "--hosts");
    cv_words_add(&words, text);
    for (size_t i = 0; i < reach->via.count; i++) {
        cv_words_add(&words, "--via");
        cv_words_add(&words, reach->via.items[i]);
    }
    how.as = host->name;
    CV_TRY(
        cv_platform_parse_as(path, text, strlen(text), &how, reach->arena, &view, err));
    for (uint32_t g = 0; g < view.platform->ngroups; g++) {
        if (strcmp(view.hosts[g].name, host->name) != 0)
            cv_words_add(&names, view.hosts[g].name);
        if (status == CLEAVE_OK)
            status = check_rate(view.hosts[g].name, view.hosts[g].rate, "via:", err);
    }
    cleave_platform_free(view.platform);
    CV_TRY(status);
    *led = cv_words_done(&words);
    *behind = cv_words_done(&names);
    return *led != NULL && *behind != NULL ? CLEAVE_OK : cv_fail_memory(err, "the hosts");
}

int cv_reach_lead(struct cv_reach *reach, const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    struct cv_words words = { .arena = call->arena };

    cv_options_add_words(
        call,
        "--split --header --no-header --records --together --max-record --unordered "
        "--header-out --reduce --commutative --memory --retries --ok --later --nice "
        "--backups --pin --ssh --remote --push --connect-timeout --host-timeout",
        &words);
    reach->view.as = values->as;
    reach->via = values->via;
    reach->lead = cv_words_done(&words);
    return reach->lead != NULL ? CV_EXIT_DONE : cv_no_memory("those who lead others");
}

/* A script that starts the copy for the processor there, or exits with the status of
 * the one that is missing. */
static void copies_words(const struct cv_copies *copies, const char *runner,
                         struct cv_text *line)
{
    cv_text_add(line, "case $(uname -m) in ");
    for (size_t i = 0; i < CV_PROCESSORS; i++)
        if (copies->of[i].file != NULL)
            cv_text_add(line, "%s) h=%s l=%zu;; ", cv_processor_name(i),
                        copies->of[i].hash, CLEAVE_HOST_LACKS + i);
        else
            cv_text_add(line, "%s) exit %zu;; ", cv_processor_name(i),
                        CLEAVE_HOST_LACKS + i);
    cv_text_add(line,
                "*) exit %d;; esac; p=\"$HOME/.cache/cleave/$h/cleave\"; [ -x \"$p\" ] "
                "|| exit $l; %s \"$p\" worker --hash $h",
                CLEAVE_HOST_LACKS + CV_PROCESSORS, runner);
}

/* Add a script for sh as the last word of ssh, for any login shell; `script` is
 * released. */
static void script_add(struct cv_words *words, struct cv_text *script)
{
    struct cv_text line = { NULL, 0, 0, false };

    if (!script->failed)
        cv_login_line_add(&line, script->bytes);
    line.failed = line.failed || script->failed;
    cv_text_done(script);
    cv_words_take(words, &line);
}

/* The program arrives on standard input; an incomplete one is removed. */
static void push_by_ssh(const struct cv_host_fields *host, const struct cv_reach *reach,
                        const struct cv_copy *copy, struct cv_words *words)
{
    struct cv_text line = { NULL, 0, 0, false };

    cv_words_split(words, reach->ssh != NULL ? reach->ssh : "ssh");
    cv_words_split(words, "-C -T -o BatchMode=yes --");
    cv_words_add(words, host->ssh);
    cv_text_add(
        &line,
        "umask 077; d=\"$HOME/.cache/cleave/%s\"; mkdir -p \"$d\" && cat >\"$d/new.$$\" "
        "&& [ \"$(wc -c <\"$d/new.$$\")\" -eq %lld ] && chmod 700 \"$d/new.$$\" && mv "
        "\"$d/new.$$\" \"$d/cleave\" || { rm -f \"$d/new.$$\"; exit 1; }",
        copy->hash, copy->size);
    script_add(words, &line);
}

/* Copies of cleave by processor, with the message for a processor that has none. */
static enum cleave_status copies_offer(const struct cv_host_fields *host,
                                       const struct cv_reach *reach,
                                       struct cleave_host *out, struct cleave_error *err)
{
    struct cleave_copy *copies =
        cv_array(reach->arena, CV_PROCESSORS + 1, sizeof *copies);

    if (copies == NULL)
        return cv_fail_memory(err, "the copies of cleave");
    for (size_t i = 0; i < CV_PROCESSORS; i++) {
        const struct cv_copy *copy = &reach->copies.of[i];
        const char *processor = cv_processor_name(i);
        struct cv_words push = { .arena = reach->arena };

        copies[i].absent =
            cv_arena_print(reach->arena,
                           "--push has no copy for its processor, %s: put one next to "
                           "this program as cleave-%s, or name it with --push-from FILE; "
                           "'make release' makes the copies",
                           processor, processor);
        if (copies[i].absent == NULL)
            return cv_fail_memory(err, "the copies of cleave");
        if (copy->file == NULL)
            continue;
        push_by_ssh(host, reach, copy, &push);
        copies[i].file = copy->file;
        copies[i].push = cv_words_done(&push);
        if (copies[i].push == NULL)
            return cv_fail_memory(err, "the copies of cleave");
    }
    copies[CV_PROCESSORS].absent = "--push does not know its processor (uname -m): "
                                   "install cleave there, and omit --push";
    out->copies = copies;
    out->ncopies = CV_PROCESSORS + 1;
    return CLEAVE_OK;
}

int cv_reach_open(struct cv_reach *reach)
{
    struct cleave_error err;

    reach->push = reach->push || reach->push_from.count > 0;
    if (!reach->push || cv_copies_find(reach->push_from.items, reach->push_from.count,
                                       reach->arena, &reach->copies, &err) == CLEAVE_OK)
        return CV_EXIT_DONE;
    return cv_print_error(err.status == CLEAVE_EINPUT ? CV_EXIT_USAGE : CV_EXIT_FAILED,
                          "--push%s: %s", reach->push_from.count > 0 ? "-from" : "",
                          err.text);
}

static void ssh_words(const struct cv_host_fields *host, const struct cv_reach *reach,
                      struct cv_words *words)
{
    cv_words_split(words, reach->ssh != NULL ? reach->ssh : "ssh");
    cv_words_split(words, "-T -o BatchMode=yes -o");
    cv_words_add(words, cv_arena_print(words->arena, "ConnectTimeout=%.0f",
                                       fmax(reach->connect_timeout_s, 1)));
    cv_words_add(words, "--");
    cv_words_add(words, host->ssh);
}

/* Whether these words begin with srun, whose output has to be unbuffered: else it passes on
 * whole lines only, and frames have none. *rest: the words after srun. */
static bool is_srun(const char *words, const char **rest)
{
    const char *begin = words + strspn(words, " \t");
    const char *end = begin + strcspn(begin, " \t");
    const char *name = end;

    while (name > begin && name[-1] != '/')
        name--;
    *rest = end;
    return end - name == 4 && strncmp(name, "srun", 4) == 0;
}

/* The words before `cleave worker`; srun is told not to buffer. */
static const char *runner_of(const struct cv_host_fields *host, struct cv_arena *arena)
{
    const char *command = host->command != NULL ? host->command : "", *rest;

    if (!is_srun(command, &rest))
        return command;
    return cv_arena_print(arena, "%.*s --unbuffered%s", (int)(rest - command), command,
                          rest);
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
        copies_words(&reach->copies, runner, &line);
    else
        cv_text_add(&line, "exec %s %s worker", runner,
                    reach->program != NULL ? reach->program : "cleave");
    if (host->gpus > 0 && led == NULL)
        cv_text_add(&line, " --gpus %u", host->gpus);
    if (reach->pin != NULL && led == NULL)
        cv_text_add(&line, " --pin %s", reach->pin);
    if (led != NULL)
        lead_line(host, reach, led, &line);
    if (reach->push) /* a damaged copy does not know its processor */
        cv_text_add(&line, "; s=$?; [ $s -ne %d ] || s=$l; exit $s", CLEAVE_HOST_LACKS);
    script_add(words, &line);
}

static enum cleave_status command_words(const struct cv_host_fields *host,
                                        const struct cv_reach *reach,
                                        const char *const *led, struct cv_words *words,
                                        struct cleave_error *err)
{
    char self[4096], tls[4096];
    const bool known = cv_own_program(self, sizeof self);
    const char *rest;

    if (host->command != NULL && is_srun(host->command, &rest)) {
        CV_TRY(cv_tls_program(tls, sizeof tls, err));
        cv_words_add(words, tls);
        cv_words_add(words, "relay");
    }
    cv_words_split(words, runner_of(host, words->arena));
    if (reach->program == NULL && known) {
        cv_words_add(words, self);
    } else {
        cv_words_split(words, reach->program != NULL ? reach->program : "cleave");
    }
    cv_words_add(words, "worker");
    if (led != NULL) {
        lead_words(host, reach, led, words);
    } else if (reach->pin != NULL) {
        cv_words_add(words, "--pin");
        cv_words_add(words, reach->pin);
    }
    return CLEAVE_OK;
}

/* How `group` is reached; its workers are [first, first + slots). `led`: words about
 * the hosts it leads, or NULL. */
static enum cleave_status host_describe(const struct cv_host_fields *host,
                                        const struct cv_reach *reach,
                                        const char *const *led, uint32_t first,
                                        uint32_t slots, struct cleave_host *out,
                                        struct cleave_error *err)
{
    struct cv_words words = { .arena = reach->arena };

    *out = (struct cleave_host){ .name = cv_arena_text(reach->arena, host->name),
                                 .link = -1,
                                 .first = first,
                                 .slots = slots,
                                 .leads = led != NULL };
    if (out->name == NULL)
        return cv_fail_memory(err, "the hosts");
    if (host->ssh != NULL)
        connect_by_ssh(host, reach, led, &words);
    else
        CV_TRY(command_words(host, reach, led, &words, err));
    out->connect = cv_words_done(&words);
    if (out->connect == NULL)
        return cv_fail_memory(err, "the hosts");
    return host->ssh != NULL && reach->push ? copies_offer(host, reach, out, err)
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

/* Count the GPUs of this machine for `gpus: auto`. */
static enum cleave_status count_gpus(const char *path, struct cv_host_fields *host,
                                     struct cleave_error *err)
{
    if (host->gpus != CV_GPUS_AUTO)
        return CLEAVE_OK;
    if (host->ssh != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: host '%s': gpus: auto counts the GPUs of this machine; set "
                       "the number; to count them: ssh %s nvidia-smi -L",
                       path, host->name, host->ssh);
    host->gpus = cv_gpus_count("/dev");
    return host->gpus > 0
               ? CLEAVE_OK
               : cv_fail(
                     err, CLEAVE_EINPUT,
                     "%s: worker '%s': gpus: auto finds no GPU on this machine: neither "
                     "/dev/nvidia0 nor nvidia-smi, or CUDA_VISIBLE_DEVICES lists none",
                     path, host->name);
}

static enum cleave_status check_leader(const char *path, const struct cv_group *group,
                                       const struct cv_host_fields *host,
                                       struct cleave_error *err)
{
    if (group->count > 1)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: worker '%s' leads other workers (via:) and has count: %u; in "
                       "a run a leader is one machine: write one entry per leader",
                       path, group->name, group->count);
    if (!is_host(host))
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: worker '%s' leads others (via:): in a run it has to be a "
                       "host, with ssh: or slots:",
                       path, group->name);
    return CLEAVE_OK;
}

/* A platform with a worker for every slot. */
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

/* The words before commands of worker `index` of a group on this machine. */
static enum cleave_status words_here(const struct cv_host_fields *host, uint32_t index,
                                     struct cv_arena *arena, const char **out,
                                     struct cleave_error *err)
{
    char gpu[256];

    *out = host->command;
    if (host->gpus == 0)
        return CLEAVE_OK;
    CV_TRY(cv_gpu_name(index % host->gpus, gpu, sizeof gpu, err));
    *out = cv_arena_print(arena, "env CUDA_VISIBLE_DEVICES=%s %s", gpu,
                          host->command != NULL ? host->command : "");
    return *out != NULL ? CLEAVE_OK : cv_fail_memory(err, "the workers");
}

/* Add the rates of groups; texts[g] is NULL for a group without one. */
static enum cleave_status fill_rates(const char *path, const char *const *texts,
                                     struct cv_arena *arena, struct cv_worker_list *out,
                                     struct cleave_error *err)
{
    const struct cleave_platform *platform = out->platform;
    struct cleave_rate *rates = cv_array(arena, platform->ngroups + 1, sizeof *rates);

    if (rates == NULL || texts == NULL)
        return cv_fail_memory(err, "the workers");
    out->rates = rates;
    for (uint32_t g = 0; g < platform->ngroups; g++) {
        const struct cv_group *group = &platform->groups[g];
        struct cleave_rate rate = { .first = group->first, .count = group->count };

        if (texts[g] == NULL)
            continue;
        if (!cv_rate_parse(texts[g], &rate) || (!rate.by_weight && rate.amount < 1))
            return cv_fail(err, CLEAVE_EINPUT,
                           "%s: worker '%s': expected a rate such as 60/min or 9000w/h, "
                           "got '%s'",
                           path, group->name, CV_SHOWN(texts[g], 40));
        rates[out->nrates++] = rate;
    }
    return CLEAVE_OK;
}

static enum cleave_status fill_crew(const char *path, const char *text,
                                    const struct cv_reach *reach,
                                    struct cv_worker_list *out, struct cleave_error *err)
{
    const struct cleave_platform *platform = out->platform;
    const char **prefixes =
        cv_array(reach->arena, cleave_platform_nworkers(platform), sizeof *prefixes);
    const char **rates = cv_array(reach->arena, platform->ngroups, sizeof *rates);

    out->hosts = cv_array(reach->arena, platform->ngroups, sizeof *out->hosts);
    out->behind = cv_array(reach->arena, platform->ngroups, sizeof *out->behind);
    if (prefixes == NULL || rates == NULL || out->hosts == NULL || out->behind == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t g = 0; g < platform->ngroups; g++)
        rates[g] = out->fields[g].rate;
    CV_TRY(fill_rates(path, rates, reach->arena, out, err));
    for (uint32_t g = 0; g < platform->ngroups; g++) {
        const struct cv_group *group = &platform->groups[g];
        const struct cv_host_fields *host = &out->fields[g];
        const char *const *led = NULL;

        if (host->ssh != NULL && host->ssh[0] == '-')
            return cv_fail(err, CLEAVE_EINPUT,
                           "%s: host '%s': expected ssh: NAME, got '%s'", path,
                           group->name, host->ssh);
        if (group->led > 0) {
            CV_TRY(check_rate(host->name, host->rate, "via:", err));
            CV_TRY(leads_of_file(path, text, host, reach, &out->behind[out->nhosts], &led,
                                 err));
        }
        if (is_host(host))
            CV_TRY(host_describe(host, reach, led, group->first, group->count,
                                 &out->hosts[out->nhosts++], err));
        else
            for (uint32_t i = 0; i < group->count; i++)
                CV_TRY(
                    words_here(host, i, reach->arena, &prefixes[group->first + i], err));
    }
    out->prefixes = prefixes;
    return CLEAVE_OK;
}

/* Whether --hosts is the text of a platform file and not the name of one. */
static bool hosts_are_text(const char *text)
{
    return text[0] == '{' ||
           (strchr(text, '\n') != NULL && strstr(text, "workers:") != NULL);
}

/* *out is for free(). */
static enum cleave_status read_platform(const char *path, char **out, size_t *length,
                                        struct cleave_error *err)
{
    if (!hosts_are_text(path))
        return cv_input_read(path, PLATFORM_MOST, out, length, err);
    *out = strdup(path);
    *length = strlen(path);
    return *out != NULL ? CLEAVE_OK : cv_fail_memory(err, "the hosts");
}

static enum cleave_status open_platform(const char *path, const struct cv_reach *reach,
                                        struct cv_worker_list *out,
                                        struct cleave_error *err)
{
    const char *name = hosts_are_text(path) ? "--hosts" : cv_input_name(path);
    struct cv_platform_file file = { NULL, NULL };
    enum cleave_status status;
    size_t length;
    char *text;

    *out = (struct cv_worker_list){ .platform = NULL };
    CV_TRY(read_platform(path, &text, &length, err));
    status =
        cv_platform_parse_as(name, text, length, &reach->view, reach->arena, &file, err);
    if (status == CLEAVE_OK)
        status =
            expand(name, file.platform, file.hosts, reach->arena, &out->platform, err);
    cleave_platform_free(file.platform);
    out->fields = file.hosts;
    CV_THEN(status, fill_crew(name, text, reach, out, err));
    free(text);
    return status;
}

int cv_crew_load(const char *path, const struct cv_reach *reach,
                 struct cv_worker_list *out)
{
    CV_CALL(open_platform(path, reach, out, &err));
    return CV_EXIT_DONE;
}

enum { MOST_BYTES = 16 * 1024 * 1024 }; /* a file of hosts */

#define HERE "here" /* names of workers on this machine */

bool cv_hosts_are_file(const char *text)
{
    static const char *const ends[] = { ".yaml", ".yml", ".json" };

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (cv_name_ends_in(text, ends[i]))
            return true;
    return hosts_are_text(text) || strcmp(text, "-") == 0 || access(text, F_OK) == 0 ||
           !cv_host_words_have_slash(text);
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

static enum cleave_status read_file(const char *path, struct cv_arena *arena,
                                    struct cv_host_spec *out, struct cleave_error *err)
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
                                     struct cv_arena *arena, struct cv_host_spec *out,
                                     struct cleave_error *err)
{
    const char *granted = getenv("PBS_NODEFILE");

    if (values->hosts_file != NULL)
        CV_TRY(read_file(values->hosts_file, arena, out, err));
    if (values->hosts != NULL)
        CV_TRY(
            cv_host_words_add(values->hosts, CV_HOSTS_PLAIN, "--hosts", arena, out, err));
    for (size_t i = 0; i < values->logins.count; i++)
        CV_TRY(cv_host_words_add(values->logins.items[i], CV_HOSTS_PARALLEL, "--sshlogin",
                                 arena, out, err));
    return cv_host_words_settle(out,
                                values->hosts_file != NULL && granted != NULL &&
                                    strcmp(granted, values->hosts_file) == 0,
                                "hosts", err);
}

/* The hosts of a run in lists, and their leaders. */
struct roster {
    struct cv_host_spec words; /* its array is owned                                 */
    uint32_t *leader;          /* per host */
    bool *leads;               /* per host */
    uint32_t usual;            /* slots of a host without a number; 0: its cores */
    const struct cv_reach *reach;
};

static bool is_here(const struct roster *roster, const struct cv_host_spec_item *word)
{
    const char *as = roster->reach->view.as;

    return word->name == NULL || (as != NULL && strcmp(word->name, as) == 0);
}

/* Add a host of --via, unless another option has named it. */
static enum cleave_status meet(struct cv_host_spec *words,
                               const struct cv_host_spec_item *host,
                               struct cleave_error *err)
{
    struct cv_host_spec_item *found = words->items;
    const struct cv_host_spec_item *end = words->items + words->count;

    while (found < end && (found->name == NULL || strcmp(found->name, host->name) != 0))
        found++;
    if (found < end && (host->slots > 0 || host->rate != NULL))
        return cv_fail(err, CLEAVE_EINPUT,
                       "--via: '%s' is named elsewhere too: expected its %s there",
                       host->name, host->slots > 0 ? "slots" : "rate");
    if (found < end && host->login != host->name &&
        strcmp(found->login, host->login) != 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--via: host '%s' is named twice and reached in different ways",
                       host->name);
    if (found < end)
        return CLEAVE_OK;
    if (!CV_ROOM(words->items, &words->room, words->count + 1))
        return cv_fail_memory(err, "the hosts");
    words->items[words->count++] = *host;
    return CLEAVE_OK;
}

static enum cleave_status find_leaders(struct roster *roster, struct cleave_error *err)
{
    struct cv_via via;
    const char **names;
    uint32_t n;

    CV_TRY(cv_via_read(roster->reach->via.items, roster->reach->via.count,
                       roster->reach->arena, &via, err));
    for (size_t i = 0; i < via.nhosts; i++)
        CV_TRY(meet(&roster->words, &via.hosts[i], err));
    n = (uint32_t)roster->words.count;
    names = cv_array(roster->reach->arena, n, sizeof *names);
    roster->leader = cv_array(roster->reach->arena, n, sizeof *roster->leader);
    roster->leads = cv_array(roster->reach->arena, n, sizeof *roster->leads);
    if (names == NULL || roster->leader == NULL || roster->leads == NULL)
        return cv_fail_memory(err, "the hosts");
    for (uint32_t i = 0; i < n; i++) {
        roster->leader[i] = CV_NO_LEADER;
        if (!is_here(roster, &roster->words.items[i]))
            names[i] = roster->words.items[i].name;
    }
    CV_TRY(cv_lead_rules_apply(via.rules, via.count,
                               &(struct cv_lead_names){ names, NULL, n }, roster->leader,
                               err));
    for (uint32_t i = 0; i < n; i++)
        if (roster->leader[i] != CV_NO_LEADER)
            roster->leads[roster->leader[i]] = true;
    for (uint32_t i = 0; i < n; i++)
        if (roster->leads[i] || roster->leader[i] != CV_NO_LEADER)
            CV_TRY(check_rate(roster->words.items[i].name, roster->words.items[i].rate,
                              "--via", err));
    return CLEAVE_OK;
}

/* Whether `leader` leads the host, directly or not. */
static bool is_behind(const struct roster *roster, uint32_t host, uint32_t leader)
{
    while (roster->leader[host] != CV_NO_LEADER) {
        host = roster->leader[host];
        if (host == leader)
            return true;
    }
    return false;
}

/* Add a login as lists of hosts have it: IPv6 in brackets. */
static void words_add_host(const char *login, struct cv_text *out)
{
    const char *at = strrchr(login, '@');
    const char *host = at != NULL ? at + 1 : login;

    if (strchr(host, ':') != NULL && strncmp(login, "ssh://", 6) != 0)
        cv_text_add(out, "%.*s[%s]", (int)(host - login), login, host);
    else
        cv_text_add(out, "%s", login);
}

static void add_login(const struct cv_host_spec_item *word, struct cv_text *out)
{
    if (out->length > 0)
        cv_text_add(out, ",");
    if (word->slots > 0)
        cv_text_add(out, "%u/", word->slots);
    if (word->ssh != NULL)
        cv_text_add(out, "%s ", word->ssh);
    words_add_host(word->login, out);
}

static void add_via(const struct roster *roster, uint32_t leader, struct cv_words *out)
{
    struct cv_text text = { NULL, 0, 0, false };
    const char *between = ":";

    cv_words_add(out, "--via");
    words_add_host(roster->words.items[leader].name, &text);
    for (uint32_t i = 0; i < roster->words.count; i++)
        if (roster->leader[i] == leader) {
            cv_text_add(&text, "%s", between);
            words_add_host(roster->words.items[i].name, &text);
            between = ",";
        }
    cv_words_take(out, &text);
}

/* The hosts that a host leads: their names, and the words that tell it. */
static enum cleave_status find_led(const struct roster *roster, uint32_t leader,
                                   const char *const **behind, const char *const **led,
                                   struct cleave_error *err)
{
    const struct cv_host_spec_item *items = roster->words.items;
    struct cv_words names = { .arena = roster->reach->arena }, words = names;
    struct cv_text logins = { NULL, 0, 0, false };

    add_login(&(struct cv_host_spec_item){ .login = items[leader].name,
                                           .slots = items[leader].slots },
              &logins);
    for (uint32_t i = 0; i < roster->words.count; i++) {
        if (roster->leader[i] == leader)
            cv_words_add(&names, items[i].name);
        if (is_behind(roster, i, leader))
            add_login(&items[i], &logins);
        if (roster->leads[i] && is_behind(roster, i, leader))
            add_via(roster, i, &words);
    }
    if (logins.length > LED_MOST) {
        cv_text_done(&logins);
        return cv_fail(err, CLEAVE_EINPUT,
                       "--via: expected at most %d bytes of hosts led by '%s', got %zu",
                       (int)LED_MOST, items[leader].name, logins.length);
    }
    cv_words_add(&words, "--sshlogin");
    cv_words_take(&words, &logins);
    if (roster->usual > 0) {
        cv_words_add(&words, "--workers");
        cv_words_add(&words, cv_arena_print(roster->reach->arena, "%u", roster->usual));
    }
    *behind = cv_words_done(&names);
    *led = cv_words_done(&words);
    return *behind != NULL && *led != NULL ? CLEAVE_OK : cv_fail_memory(err, "the hosts");
}

/* 0: the host reports its cores when it is reached. A leader is one worker. */
static uint32_t slots_of(const struct roster *roster, uint32_t host)
{
    const struct cv_host_spec_item *word = &roster->words.items[host];
    const uint32_t said = word->slots > 0 ? word->slots : roster->usual;

    if (roster->leads[host])
        return 1;
    return said > 0 || !is_here(roster, word) ? said : (uint32_t)cv_usable_cores();
}

/* A worker for every slot, or one if the number is not known yet; *of: the host of
 * each group. */
static enum cleave_status build(const struct roster *roster, uint32_t **of,
                                struct cleave_platform **out, struct cleave_error *err)
{
    const size_t count = roster->words.count;
    struct cv_group *groups = cv_array(roster->reach->arena, count, sizeof *groups);
    struct cleave_worker *kinds = cv_array(roster->reach->arena, count, sizeof *kinds);
    uint32_t n = 0;

    *of = cv_array(roster->reach->arena, count, sizeof **of);
    if (groups == NULL || kinds == NULL || *of == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t i = 0; i < count; i++) {
        const struct cv_host_spec_item *word = &roster->words.items[i];
        const bool here = is_here(roster, word);
        const uint32_t slots = slots_of(roster, i);

        if (roster->leader[i] != CV_NO_LEADER)
            continue;
        groups[n] = (struct cv_group){ .name = word->name != NULL ? word->name : HERE,
                                       .count = slots > 0 ? slots : 1 };
        CV_TRY(cv_worker_name_check(groups[n].name, "a host", err));
        kinds[n] = cv_nominal_worker(here ? CV_NOMINAL_HERE : CV_NOMINAL_RANK);
        (*of)[n++] = i;
    }
    return cv_platform_build(CLEAVE_PORT_MULTI, kinds, groups, n, out, NULL, err);
}

static enum cleave_status words_fill_crew(const struct roster *roster, const uint32_t *of,
                                          struct cv_worker_list *out,
                                          struct cleave_error *err)
{
    const char **rates =
        cv_array(roster->reach->arena, out->platform->ngroups, sizeof *rates);

    for (uint32_t g = 0; rates != NULL && g < out->platform->ngroups; g++)
        rates[g] = roster->words.items[of[g]].rate;
    CV_TRY(fill_rates("hosts", rates, roster->reach->arena, out, err));
    for (uint32_t g = 0; g < out->platform->ngroups; g++) {
        const struct cv_group *group = &out->platform->groups[g];
        const struct cv_host_spec_item *word = &roster->words.items[of[g]];
        const struct cv_host_fields host = { .name = group->name, .ssh = word->login };
        struct cv_reach own = *roster->reach;
        const char *const *led = NULL;

        if (is_here(roster, word))
            continue;
        if (word->ssh != NULL)
            own.ssh = word->ssh;
        if (roster->leads[of[g]])
            CV_TRY(find_led(roster, of[g], &out->behind[out->nhosts], &led, err));
        CV_TRY(host_describe(&host, &own, led, group->first, slots_of(roster, of[g]),
                             &out->hosts[out->nhosts++], err));
    }
    return CLEAVE_OK;
}

static enum cleave_status make_crew(struct roster *roster, struct cv_worker_list *out,
                                    struct cleave_error *err)
{
    const char *as = roster->reach->view.as;
    bool known = as == NULL;
    uint32_t *of;

    for (size_t i = 0; !known && i < roster->words.count; i++)
        known = roster->words.items[i].name != NULL &&
                strcmp(roster->words.items[i].name, as) == 0;
    if (!known)
        return cv_fail(err, CLEAVE_EINPUT, "--as: there is no host '%s' to be", as);
    CV_TRY(find_leaders(roster, err));
    CV_TRY(build(roster, &of, &out->platform, err));
    out->hosts = cv_array(roster->reach->arena, roster->words.count, sizeof *out->hosts);
    out->behind =
        cv_array(roster->reach->arena, roster->words.count, sizeof *out->behind);
    if (out->hosts == NULL || out->behind == NULL)
        return cv_fail_memory(err, "the hosts");
    return words_fill_crew(roster, of, out, err);
}

/* -j with hosts: slots of each host without a number. */
static enum cleave_status read_usual(const char *text, uint32_t *out,
                                     struct cleave_error *err)
{
    char *end;
    unsigned long number;

    *out = 0;
    if (text == NULL || strcmp(text, "100%") == 0)
        return CLEAVE_OK;
    if (strchr(text, '@') != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--workers: with hosts a rate belongs to a host, as in --hosts "
                       "'a:4@60/min', got '%s'",
                       CV_SHOWN(text, 30));
    number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number < 1 ||
        number > CV_HOST_SLOTS_MOST)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--workers: with hosts, expected the slots of each, 1 to %d, or "
                       "100%%, got '%s'",
                       (int)CV_HOST_SLOTS_MOST, text);
    *out = (uint32_t)number;
    return CLEAVE_OK;
}

static enum cleave_status open_file(const struct cv_run_options *values,
                                    const struct cv_reach *reach,
                                    struct cv_worker_list *out, struct cleave_error *err)
{
    struct cv_reach own = *reach;
    struct cv_via via;

    if (strchr(values->hosts, '/') != NULL && !hosts_are_text(values->hosts) &&
        access(values->hosts, F_OK) != 0 && errno == ENOENT)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--hosts: %s: No such file or directory: expected a platform "
                       "file, or hosts as in a,b:4,me@c",
                       values->hosts);
    CV_TRY(
        cv_via_read_names(values->via.items, values->via.count, reach->arena, &via, err));
    own.view.rules = via.rules;
    own.view.nrules = via.count;
    return open_platform(values->hosts, &own, out, err);
}

enum cleave_status cv_crew_find(const struct cv_run_options *values,
                                const struct cv_reach *reach, struct cv_worker_list *out,
                                struct cleave_error *err)
{
    struct roster roster = { .reach = reach };
    enum cleave_status status;

    *out = (struct cv_worker_list){ .platform = NULL };
    if (values->hosts != NULL && cv_hosts_are_file(values->hosts))
        return open_file(values, reach, out, err);
    CV_TRY(read_usual(values->workers, &roster.usual, err));
    status = read_words(values, reach->arena, &roster.words, err);
    if (status == CLEAVE_OK)
        status = make_crew(&roster, out, err);
    free(roster.words.items);
    return status;
}
