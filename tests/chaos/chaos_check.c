/* chaos_check.c -- conditions after a run, for every fault. SPDX-License-Identifier: MIT
 *
 * - Status 0: the output is right, to the byte.
 * - Another status: it has a message, it is documented, and the file holds a part of the
 * right output, or the old content.
 * - Nothing is left: no process, no file. */
#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "chaos/chaos.h"

bool wrong(struct trial *trial, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(trial->reason, sizeof trial->reason, format, list);
    va_end(list);
    return false;
}

/* --- files -------------------------------------------------------------------------------- */

static bool same(const struct job *job, const struct bytes *out)
{
    if (job->unordered)
        return are_among(out, &job->expected, job->kind, true);
    return out->length == job->expected.length &&
           memcmp(out->at, job->expected.at, out->length) == 0;
}

static bool read_in(const struct trial *trial, const char *name, struct bytes *bytes)
{
    char path[FOLDER + WORD];

    snprintf(path, sizeof path, "%s/%.600s", trial->folder, name);
    return bytes_read(bytes, path);
}

/* The temporary file of an output. */
static bool is_part(const char *name)
{
    return strncmp(name, ".out.part-", 10) == 0;
}

static bool known_name(const struct trial *trial, const char *name)
{
    static const char *const names[] = { ".",    "..",        "in0",    "in1",
                                         "in2",  "in3",       "mates",  "out",
                                         "err",  "err.2",     "json",   "calls",
                                         "once", "joblog",    "failed", "journal",
                                         "tmp",  "hosts.yaml" };
    const bool cut_short = trial->file_size > 0 || trial->disk_room > 0 || trial->killed;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    if (is_part(name))
        return trial->may_leave_part;
    if (strncmp(name, ".joblog.part-", 13) == 0)
        return trial->killed;
    /* SQLite takes these away when it can. */
    return cut_short &&
           (strcmp(name, "journal-wal") == 0 || strcmp(name, "journal-shm") == 0 ||
            strcmp(name, "journal-journal") == 0);
}

/* The first file that should not be there. */
static bool check_files(struct trial *trial, const char *below, bool any)
{
    char path[2 * WORD], found[256] = "";
    DIR *folder;

    snprintf(path, sizeof path, "%s%s", trial->folder, below);
    folder = opendir(path);
    for (const struct dirent *entry;
         folder != NULL && (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;

        if (any ? known_name(trial, name) : name[0] == '.')
            continue;
        /* Folders of mpirun. */
        if (trial->job.flavour != NULL &&
            (strncmp(name, "ompi.", 5) == 0 || strncmp(name, "pmix", 4) == 0))
            continue;
        snprintf(found, sizeof found, "%s", name);
    }
    if (folder != NULL)
        closedir(folder);
    return found[0] == '\0' || wrong(trial, "left a file%s/%s", below, found);
}

bool check_rest(struct trial *trial)
{
    return check_files(trial, "", true) && check_files(trial, "/tmp", false);
}

/* --- what was said ------------------------------------------------------------------------ */

/* The number after "KEY": in JSON, or -1. */
static double number_of(const struct bytes *json, const char *key)
{
    char text[80];
    const char *at;

    snprintf(text, sizeof text, "\"%s\": ", key);
    at = strstr(json->at, text);
    return at != NULL ? strtod(at + strlen(text), NULL) : -1;
}

/* The bytes of the ranges after "KEY": in JSON. */
static double ranges_of(const struct bytes *json, const char *key)
{
    char text[80];
    const char *at, *end;
    double sum = 0;

    snprintf(text, sizeof text, "\"%s\": [", key);
    at = strstr(json->at, text);
    end = at != NULL ? strchr(at, ']') : NULL;
    while (end != NULL && (at = strstr(at, "\"begin\": ")) != NULL && at < end) {
        const unsigned long long begin = strtoull(at + 9, NULL, 10);

        /* {"input": ..., "begin": 0, "end": 10} */
        at = strstr(at, "\"end\": ");
        if (at == NULL)
            break;
        sum += (double)(strtoull(at + 7, NULL, 10) - begin);
    }
    return end != NULL ? sum : -1;
}

static void find_json(const struct trial *trial, const struct bytes *said,
                      struct bytes *json)
{
    bytes_add(json, "", 0);
    if (trial->job.to_file)
        read_in(trial, "json", json);
    else
        bytes_add(json, said->at, said->length);
}

/* Every byte was done, failed or left. */
static bool check_account(struct trial *trial, const struct bytes *said)
{
    const struct job *job = &trial->job;
    const int status = WEXITSTATUS(trial->status);
    struct bytes json = { 0 };
    double done, left;
    bool good = true;

    if (!job->json || trial->reader_leaves)
        return true;
    find_json(trial, said, &json);
    done = number_of(&json, "input_bytes");
    left = ranges_of(&json, "left");
    /* Without a summary the line on stderr is all there is. */
    if (done >= 0 && number_of(&json, "exit_status") != status)
        good = wrong(trial, "status %d, and says exit_status %.0f", status,
                     number_of(&json, "exit_status"));
    else if (done >= 0 && job->from == FROM_FILES &&
             done + left != (double)job->input_bytes)
        good = wrong(trial, "says %.0f done or failed and %.0f left of %zu", done, left,
                     job->input_bytes);
    bytes_free(&json);
    return good;
}

static bool check_json(struct trial *trial, const struct bytes *said,
                       const struct bytes *out)
{
    const struct job *job = &trial->job;
    struct bytes json = { 0 };
    bool good = true;

    if (!job->json)
        return true;
    find_json(trial, said, &json);
    if (number_of(&json, "input_bytes") != (double)job->input_bytes)
        good = wrong(trial, "says input_bytes %.0f, there are %zu",
                     number_of(&json, "input_bytes"), job->input_bytes);
    else if (number_of(&json, "output_bytes") != (double)out->length)
        good = wrong(trial, "says output_bytes %.0f, there are %zu",
                     number_of(&json, "output_bytes"), out->length);
    else if (ranges_of(&json, "failed") != 0 || ranges_of(&json, "left") != 0)
        good = wrong(trial, "status 0, and says failed or left");
    bytes_free(&json);
    return good;
}

/* With --failed, input missing in the output is in its files. */
static bool check_failed(struct trial *trial, const struct bytes *out)
{
    const struct job *job = &trial->job;
    struct bytes all = { 0 }, one = { 0 };
    char path[2 * WORD];
    DIR *folder;
    bool good;

    if (!job->poison || !job->keep_failed || job->halt != NULL ||
        job->reduce != NO_REDUCE)
        return true;
    bytes_add(&all, out->at, out->length);
    snprintf(path, sizeof path, "%s/failed", trial->folder);
    folder = opendir(path);
    for (const struct dirent *entry;
         folder != NULL && (entry = readdir(folder)) != NULL;) {
        size_t head;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "failed/%s", entry->d_name);
        read_in(trial, path, &one);
        head = job->header && strncmp(one.at, HEADER, strlen(HEADER)) == 0
                   ? strlen(HEADER)
                   : 0;
        work_map(one.at + head, one.length - head, &all);
    }
    if (folder != NULL)
        closedir(folder);
    good = are_among(&all, &job->expected, job->kind, true);
    bytes_free(&all);
    bytes_free(&one);
    return good || wrong(trial, "the output and --failed together are not all there was");
}

/* --- a run -------------------------------------------------------------------------------- */

/* A rank or mpirun was struck: the status, and much of the text, comes from mpirun. */
static bool says_mpirun(const struct trial *trial, bool first)
{
    return first && trial->struck && trial->job.flavour != NULL &&
           (trial->victim == A_RANK || trial->victim == THE_MASTER);
}

static bool allowed_status(const struct trial *trial, bool first, int status)
{
    if (says_mpirun(trial, first))
        return true;
    if (status == 1 || status == 3)
        return true;
    if (trial->grow_input || trial->cut_input)
        return status == 2;
    if (!first)
        return status == 2 && trial->damage_journal;
    if (trial->strikes && trial->victim == THE_MASTER && trial->sign > 0)
        return status == 128 + trial->sign;
    if (trial->reader_leaves)
        return status == 141;
    return false;
}

static bool check_partial(struct trial *trial, const struct bytes *out)
{
    const struct job *job = &trial->job;

    if (trial->grow_input || trial->cut_input)
        return true;
    if (job->reduce == REDUCE_SUM) {
        return out->length == 0 ||
               (out->at[0] == '=' && strtoull(out->at + 1, NULL, 10) <= job->records) ||
               wrong(trial, "failed, and wrote no result of a part");
    }
    if (job->unordered ? !are_among(out, &job->expected, job->kind, false)
                       : !is_part_of(out, &job->expected, job->kind))
        return wrong(trial, "failed, and what it wrote is no part of the right output");
    return check_failed(trial, out);
}

/* The old file is unchanged, and the partial file next to it is named. */
static bool check_old(struct trial *trial, bool first, const struct bytes *said,
                      const struct bytes *out)
{
    struct bytes part = { 0 };
    char name[256] = "";
    DIR *folder = opendir(trial->folder);
    bool good = true;

    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (is_part(entry->d_name))
            snprintf(name, sizeof name, "%s", entry->d_name);
    if (folder != NULL)
        closedir(folder);
    trial->may_leave_part = true;
    if (strcmp(out->at, "old\n") != 0 && !same(&trial->job, out))
        return wrong(trial, "failed, and the old file has gone");
    if (name[0] == '\0')
        return true;
    if (first && trial->round == 0 && WIFEXITED(trial->status) &&
        !says_mpirun(trial, first) && strstr(said->at, name) == NULL)
        good = wrong(trial, "left %s without a word", name);
    read_in(trial, name, &part);
    good = good && check_partial(trial, &part);
    bytes_free(&part);
    return good;
}

/* A persistent command that is killed after its work: a note, and nothing lost. */
static bool ended_late(const struct trial *trial, const struct bytes *said,
                       const struct bytes *out)
{
    return trial->struck && trial->job.persistent &&
           strstr(said->at, "after its last chunk") != NULL && same(&trial->job, out);
}

static bool check_ended(struct trial *trial, bool first, const struct bytes *said,
                        const struct bytes *out)
{
    const int status = WEXITSTATUS(trial->status);
    const bool must_work = first ? trial->expect == MUST_WORK : !trial->damage_journal;

    trial->killed = trial->killed || says_mpirun(trial, first);
    if (WIFSIGNALED(trial->status)) {
        if (first && trial->struck && trial->victim == THE_MASTER &&
            WTERMSIG(trial->status) == trial->sign)
            /* A signal that comes when all is done but the last of the writing ends it as
             * it ends any program. */
            return (trial->killed = true) &&
                   (trial->job.to_file ? check_old(trial, first, said, out)
                                       : check_partial(trial, out));
        return wrong(trial, "signal %d ended it", WTERMSIG(trial->status));
    }
    if (status == 1 && ended_late(trial, said, out))
        return true;
    if (status != 0 && must_work)
        return wrong(trial, "status %d, this should have worked: %.300s", status,
                     said->at);
    if (status == 0 && first && trial->expect == MUST_FAIL)
        return wrong(trial, "status 0, this cannot have worked");
    /* The mpirun of MPICH may forget the status of ranks that it has ended by a signal. */
    if (status == 0 && says_mpirun(trial, first) &&
        strstr(said->at, "stopped by") != NULL)
        return trial->job.to_file ? check_old(trial, first, said, out)
                                  : check_partial(trial, out);
    if (status == 0 && !(first && trial->reader_leaves) && !same(&trial->job, out))
        return wrong(trial, "status 0 and a wrong output: %zu bytes, %zu expected",
                     out->length, trial->job.expected.length);
    if (status == 0)
        return !first || trial->round > 0 || trial->reader_leaves ||
               check_json(trial, said, out);
    if (!allowed_status(trial, first, status))
        return wrong(trial, "status %d: %.300s", status, said->at);
    if (said->length == 0 && status != 141 && !says_mpirun(trial, first))
        return wrong(trial, "status %d without a word", status);
    if (first && trial->round == 0 && !says_mpirun(trial, first) &&
        !check_account(trial, said))
        return false;
    if (first && (trial->full_output || trial->reader_leaves))
        return true;
    return trial->job.to_file ? check_old(trial, first, said, out)
                              : check_partial(trial, out);
}

bool check_run(struct trial *trial, bool first)
{
    static const char *const never[] = { "Sanitizer", "runtime error", "ssertion" };
    struct bytes said = { 0 }, out = { 0 };
    char name[64];
    bool good = true;

    err_name(trial, first, name, sizeof name);
    read_in(trial, name, &said);
    read_in(trial, "out", &out);
    if (trial->timed_out)
        good =
            wrong(trial, "did not end in %.0f s: %.400s", setting.limit_s, trial->left);
    else if (trial->left[0] != '\0')
        good = wrong(trial, "left a process: %.400s", trial->left);
    for (size_t i = 0; i < sizeof never / sizeof *never && good; i++)
        if (strstr(said.at, never[i]) != NULL)
            good = wrong(trial, "says: %.400s", said.at);
    good = good && check_ended(trial, first, &said, &out);
    if (setting.verbose)
        printf("%s%.3000s", said.length > 0 ? "stderr: " : "", said.at);
    bytes_free(&said);
    bytes_free(&out);
    return good;
}
