/* run_hosts.c -- workers and hosts from a platform file. SPDX-License-Identifier: MIT
 *
 * A worker with `ssh:` or `slots:` is another machine, or stands for one: its slots are
 * workers of the run, count times slots of them, over one connection. The others are
 * places on this machine, with `command:` before each command. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/companion.h"
#include "base/text.h"
#include "cli/kit/output.h"
#include "cli/run/run_hosts.h"
#include "cli/run/run_options.h"
#include "cli/run/run_slurm.h"
#include "model/platform/platform_internal.h"
#include "run/kit/gpus.h"

enum { MOST_WORDS = 256 };

/* Words to be put together. */
struct words {
    const char *items[MOST_WORDS];
    size_t count;
    struct cv_arena *arena;
    bool failed;
};

static void add_word(struct words *words, const char *word)
{
    const char *copy = cv_arena_text(words->arena, word);

    if (copy == NULL || words->count + 1 >= MOST_WORDS)
        words->failed = true;
    else
        words->items[words->count++] = copy;
}

static void add_words(struct words *words, const char *text)
{
    char *copy = text != NULL ? cv_arena_text(words->arena, text) : NULL, *rest;

    if (copy == NULL) {
        words->failed = true;
        return;
    }
    for (char *word = strtok_r(copy, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest))
        add_word(words, word);
}

/* ssh with its options, up to the host. */
static void ssh_words(const struct cv_group *group, const struct cv_reach *reach,
                      struct words *words)
{
    char timeout[64];

    add_words(words, reach->ssh != NULL ? reach->ssh : "ssh");
    snprintf(timeout, sizeof timeout, "ConnectTimeout=%.0f",
             reach->connect_timeout_s >= 1 ? reach->connect_timeout_s : 1);
    add_words(words, "-T -o BatchMode=yes -o");
    add_word(words, timeout);
    add_word(words, "--");
    add_word(words, group->ssh);
}

/* One word that the shell over there takes apart. */
static void add_line(struct words *words, struct cv_text *line)
{
    if (line->failed)
        words->failed = true;
    else
        add_word(words, line->bytes);
    cv_text_done(line);
}

/* What stands before `cleave worker`; srun is told to pass on what comes as it comes. */
static const char *runner_of(const struct cv_group *group, struct cv_arena *arena)
{
    const char *command = group->command != NULL ? group->command : "", *rest;
    struct cv_text text = { NULL, 0, 0, false };

    if (!cv_is_srun(command, &rest))
        return command;
    cv_text_add(&text, "%.*s --unbuffered%s", (int)(rest - command), command, rest);
    command = text.failed ? NULL : cv_arena_text(arena, text.bytes);
    cv_text_done(&text);
    return command;
}

static void connect_by_ssh(const struct cv_group *group, const struct cv_reach *reach,
                           struct words *words)
{
    const char *runner = runner_of(group, words->arena);
    struct cv_text line = { NULL, 0, 0, false };

    words->failed = words->failed || runner == NULL;
    if (words->failed)
        return;
    ssh_words(group, reach, words);
    if (reach->push)
        cv_text_add(&line,
                    "p=\"$HOME/.cache/cleave/%s/cleave\"; [ -x \"$p\" ] || exit %d; "
                    "exec %s \"$p\" worker --hash %s",
                    reach->hash, CLEAVE_HOST_LACKS, runner, reach->hash);
    else
        cv_text_add(&line, "exec %s %s worker", runner,
                    reach->program != NULL ? reach->program : "cleave");
    if (group->gpus > 0)
        cv_text_add(&line, " --gpus %u", group->gpus);
    if (reach->pin != NULL)
        cv_text_add(&line, " --pin %s", reach->pin);
    add_line(words, &line);
}

/* Standard input becomes the program there, if all of it has come. */
static void push_by_ssh(const struct cv_group *group, const struct cv_reach *reach,
                        struct words *words)
{
    struct cv_text line = { NULL, 0, 0, false };

    add_words(words, reach->ssh != NULL ? reach->ssh : "ssh");
    add_words(words, "-C -T -o BatchMode=yes --");
    add_word(words, group->ssh);
    cv_text_add(&line,
                "umask 077; d=\"$HOME/.cache/cleave/%s\"; mkdir -p \"$d\" && "
                "cat >\"$d/new.$$\" && [ \"$(wc -c <\"$d/new.$$\")\" -eq %lld ] && "
                "chmod 700 \"$d/new.$$\" && mv \"$d/new.$$\" \"$d/cleave\" || "
                "{ rm -f \"$d/new.$$\"; exit 1; }",
                reach->hash, reach->size);
    add_line(words, &line);
}

static void command_words(const struct cv_group *group, const struct cv_reach *reach,
                          struct words *words)
{
    char self[4096];
    const bool known = cv_own_program(self, sizeof self);
    const char *rest;

    if (known && group->command != NULL && cv_is_srun(group->command, &rest)) {
        add_word(words, self);
        add_words(words, "worker --through");
    }
    add_words(words, runner_of(group, words->arena));
    if (reach->program == NULL && known) {
        add_word(words, self);
    } else {
        add_words(words, reach->program != NULL ? reach->program : "cleave");
    }
    add_word(words, "worker");
    if (reach->pin != NULL) {
        add_word(words, "--pin");
        add_word(words, reach->pin);
    }
}

static enum cleave_status keep_words(const struct words *words, const char *host,
                                     const char *const **out, struct cleave_error *err)
{
    const char **kept = cv_array(words->arena, words->count + 1, sizeof *kept);

    if (kept == NULL || words->failed)
        return cv_fail(err, CLEAVE_ENOMEM,
                       "out of memory, or too many words, for host %s", host);
    memcpy(kept, words->items, words->count * sizeof *kept);
    *out = kept;
    return CLEAVE_OK;
}

enum cleave_status cv_host_describe(const struct cv_group *group,
                                    const struct cv_reach *reach, uint32_t first,
                                    uint32_t slots, struct cv_arena *arena,
                                    struct cleave_host *out, struct cleave_error *err)
{
    struct words words = { .arena = arena }, push = { .arena = arena };

    *out = (struct cleave_host){ .name = cv_arena_text(arena, group->name),
                                 .link = -1,
                                 .first = first,
                                 .slots = slots };
    if (out->name == NULL)
        return cv_fail_memory(err, "the hosts");
    if (group->ssh != NULL)
        connect_by_ssh(group, reach, &words);
    else
        command_words(group, reach, &words);
    CV_TRY(keep_words(&words, group->name, &out->connect, err));
    if (group->ssh == NULL || !reach->push)
        return CLEAVE_OK;
    push_by_ssh(group, reach, &push);
    out->push_file = reach->file;
    return keep_words(&push, group->name, &out->push, err);
}

static bool is_host(const struct cv_group *group)
{
    return group->ssh != NULL || group->slots > 0;
}

static uint32_t members(const struct cv_group *group)
{
    const uint32_t each = group->slots > 0 ? group->slots : group->gpus;

    return group->count * (each > 0 ? each : 1);
}

/* How many GPUs there are, where the file leaves it open. */
static enum cleave_status count_gpus(const char *path, struct cv_group *group,
                                     struct cleave_error *err)
{
    if (group->gpus != CV_GPUS_AUTO)
        return CLEAVE_OK;
    if (group->ssh != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: host '%s': gpus: auto counts those of this machine; expected "
                       "how many the host has: ssh %s nvidia-smi -L",
                       path, group->name, group->ssh);
    group->gpus = cv_gpus_count("/dev");
    return group->gpus > 0 ? CLEAVE_OK
                           : cv_fail(err, CLEAVE_EINPUT,
                                     "%s: worker '%s': gpus: auto finds no GPU on this "
                                     "machine: neither /dev/nvidia0 nor nvidia-smi, or "
                                     "CUDA_VISIBLE_DEVICES lists none",
                                     path, group->name);
}

/* The same with a worker for every slot. */
static enum cleave_status expand(const char *path, const struct cleave_platform *file,
                                 struct cv_arena *arena, struct cleave_platform **out,
                                 struct cleave_error *err)
{
    struct cv_group *groups = cv_array(arena, file->ngroups, sizeof *groups);
    struct cleave_worker *kinds = cv_array(arena, file->ngroups, sizeof *kinds);

    if (groups == NULL || kinds == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t g = 0; g < file->ngroups; g++) {
        groups[g] = file->groups[g];
        if (groups[g].led > 0)
            return cv_fail(err, CLEAVE_EINPUT,
                           "%s: worker '%s' leads others (via:), which plans and "
                           "simulations know: in a run the master reaches all of them "
                           "itself; leave via: out",
                           path, groups[g].name);
        CV_TRY(count_gpus(path, &groups[g], err));
        groups[g].count = members(&groups[g]);
        kinds[g] = file->workers[file->groups[g].first];
    }
    return cv_platform_build(file->port, kinds, groups, file->ngroups, out, NULL, err);
}

/* What stands before the commands of worker `index` of those alike on this machine. */
static enum cleave_status words_here(const struct cv_group *group, uint32_t index,
                                     struct cv_arena *arena, const char **out,
                                     struct cleave_error *err)
{
    struct cv_text text = { NULL, 0, 0, false };
    char gpu[256];

    *out = group->command;
    if (group->gpus == 0)
        return CLEAVE_OK;
    CV_TRY(cv_gpu_name(index % group->gpus, gpu, sizeof gpu, err));
    cv_text_add(&text, "env CUDA_VISIBLE_DEVICES=%s %s", gpu,
                group->command != NULL ? group->command : "");
    *out = text.failed ? NULL : cv_arena_text(arena, text.bytes);
    cv_text_done(&text);
    return *out != NULL ? CLEAVE_OK : cv_fail_memory(err, "the workers");
}

static enum cleave_status fill_crew(const char *path, const struct cv_reach *reach,
                                    struct cv_arena *arena, struct cv_crew *out,
                                    struct cleave_error *err)
{
    const struct cleave_platform *platform = out->platform;
    const char **prefixes =
        cv_array(arena, cleave_platform_nworkers(platform), sizeof *prefixes);

    out->hosts = cv_array(arena, platform->ngroups, sizeof *out->hosts);
    if (prefixes == NULL || out->hosts == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t g = 0; g < platform->ngroups; g++) {
        const struct cv_group *group = &platform->groups[g];

        if (group->ssh != NULL && group->ssh[0] == '-')
            return cv_fail(err, CLEAVE_EINPUT,
                           "%s: host '%s': expected ssh: NAME, got '%s'", path,
                           group->name, group->ssh);
        if (is_host(group))
            CV_TRY(cv_host_describe(group, reach, group->first, group->count, arena,
                                    &out->hosts[out->nhosts++], err));
        else
            for (uint32_t i = 0; i < group->count; i++)
                CV_TRY(words_here(group, i, arena, &prefixes[group->first + i], err));
    }
    out->prefixes = prefixes;
    return CLEAVE_OK;
}

enum cleave_status cv_crew_open(const char *path, const struct cv_reach *reach,
                                struct cv_arena *arena, struct cv_crew *out,
                                struct cleave_error *err)
{
    struct cleave_platform *file;
    enum cleave_status status;

    *out = (struct cv_crew){ .platform = NULL };
    CV_TRY(cleave_platform_load(path, &file, err));
    status = expand(path, file, arena, &out->platform, err);
    cleave_platform_free(file);
    if (status == CLEAVE_OK)
        status = fill_crew(path, reach, arena, out, err);
    return status;
}

/* --- what is pushed ----------------------------------------------------------------------- */

/* The program to be copied: one that needs no libraries, if there is one beside this. */
static bool find_program(char *out, size_t size)
{
    static const char portable[] = "-portable";
    const ssize_t length = readlink("/proc/self/exe", out, size - sizeof portable);

    if (length <= 0)
        return false;
    memcpy(out + length, portable, sizeof portable);
    if (access(out, R_OK | X_OK) != 0)
        out[length] = '\0';
    return true;
}

int cv_reach_open(struct cv_reach *reach, struct cv_arena *arena)
{
    struct cv_content_hasher *hasher = NULL;
    struct cleave_error err = { .text = "it cannot be found" };
    char path[4096];
    int fd = -1;
    bool good;

    if (!reach->push)
        return CV_EXIT_DONE;
    if (find_program(path, sizeof path))
        fd = open(path, O_RDONLY | O_CLOEXEC);
    reach->size = fd >= 0 ? (long long)lseek(fd, 0, SEEK_END) : -1;
    good = reach->size > 0 && cv_content_hasher_new(&hasher, &err) == CLEAVE_OK &&
           cv_content_hasher_add(hasher, path, fd, 0, (uint64_t)reach->size, &err) ==
               CLEAVE_OK;
    if (good) {
        cv_content_hash_text(cv_content_hasher_finish(hasher), reach->hash);
        reach->file = cv_arena_text(arena, path);
    }
    cv_content_hasher_free(hasher);
    if (fd >= 0)
        close(fd);
    if (!good || reach->file == NULL)
        return cv_complain(CV_EXIT_FAILED, "--push: cannot read this program: %s",
                           err.text);
    return CV_EXIT_DONE;
}

int cv_crew_load(const char *path, const struct cv_reach *reach, struct cv_arena *arena,
                 struct cv_crew *out)
{
    struct cleave_error err;

    return cv_crew_open(path, reach, arena, out, &err) == CLEAVE_OK
               ? CV_EXIT_DONE
               : cv_complain_error(&err);
}
