/* chaos_job.c -- a random job: its inputs, its command line and its expected output.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "chaos/chaos.h"

/* --- choosing ----------------------------------------------------------------------------- */

static void choose_places(struct job *job, struct chance *chance)
{
    static const char *const ports[] = { "multi", "multi", "one", "duplex" };

    job->workers = 1 + (uint32_t)chance_below(chance, 3);
    if (!chance_one_in(chance, 3))
        return;
    job->nhosts = 1 + (uint32_t)chance_below(chance, MOST_HOSTS);
    job->place_here = chance_one_in(chance, 3);
    job->port = ports[chance_below(chance, 4)];
    for (uint32_t h = 0; h < job->nhosts; h++)
        job->slots[h] = 1 + (uint32_t)chance_below(chance, 2);
}

static void choose_mode(struct job *job, struct chance *chance)
{
    static const enum reduce reduces[] = { REDUCE_CAT, REDUCE_CAT_FILES, REDUCE_SUM,
                                           REDUCE_SUM };

    switch (chance_below(chance, 8)) {
    case 0:
        job->reduce = reduces[chance_below(chance, 4)];
        job->commutative = job->reduce == REDUCE_SUM && chance_one_in(chance, 2);
        break;
    case 1:
        job->pairs = true;
        break;
    case 2:
        job->persistent = true;
        break;
    case 3:
    case 4:
        job->unordered = true;
        break;
    default:
        break;
    }
}

/* Make the drawn options compatible. */
static void settle(struct job *job)
{
    if (job->reduce == REDUCE_SUM)
        job->kind = LINES;
    if (job->pairs) {
        job->kind = FASTQ;
        job->from = FROM_FILES;
        job->nfiles = 1;
    }
    if (job->flavour != NULL)
        job->from = FROM_FILES;
    if (job->from != FROM_FILES)
        job->nfiles = 1;
    if (job->header && job->kind != LINES && job->kind != CSV && job->kind != JSONL)
        job->header = false;
    /* A record is 40 bytes and more. */
    if (job->block > 0 && job->size / job->block > 60)
        job->block = (uint32_t)(job->size / 60);
}

void job_choose(struct trial *trial)
{
    struct job *job = &trial->job;
    struct chance *chance = &trial->chance;
    static const size_t sizes[] = { 3000,  10000,  10000,  40000,
                                    40000, 100000, 300000, 1000000 };

    job->kind = chance_one_in(chance, 2) ? LINES : (enum kind)chance_below(chance, KINDS);
    job->from = (enum from)chance_below(chance, 3);
    job->nfiles = 1 + (uint32_t)chance_below(chance, MOST_FILES);
    job->size = 1 + chance_below(chance, sizes[chance_below(chance, 8)]);
    if (chance_one_in(chance, 40))
        job->size = 0;
    job->header = chance_one_in(chance, 4);
    choose_mode(job, chance);
    choose_places(job, chance);
    job->block =
        chance_one_in(chance, 2) ? 1000 + (uint32_t)chance_below(chance, 30000) : 0;
    job->to_file = chance_one_in(chance, 2);
    job->journal = chance_one_in(chance, 4);
    job->json = chance_one_in(chance, 2);
    job->joblog = chance_one_in(chance, 6);
    job->keep_failed = chance_one_in(chance, 4);
    job->small_memory = chance_one_in(chance, 6);
    job->retries = chance_one_in(chance, 3) ? (int)chance_below(chance, 3) : 0;
    job->timeout_s = chance_one_in(chance, 6) ? 20 : 0;
    job->sleep_us = chance_one_in(chance, 2) ? (uint32_t)chance_below(chance, 20000) : 0;
    job->feed_stall_us =
        chance_one_in(chance, 3) ? (uint32_t)chance_below(chance, 50000) : 0;
    if (chance_one_in(chance, 4))
        job->backups = chance_one_in(chance, 2) ? "on" : "off";
    if (chance_one_in(chance, 40)) {
        job->flavour = chance_one_in(chance, 2) ? "openmpi" : "mpich";
        job->nhosts = 0;
    }
}

/* --- inputs ------------------------------------------------------------------------------- */

static void make_inputs(struct trial *trial)
{
    struct job *job = &trial->job;
    const uint64_t poisoned = job->poison ? 3 : UINT64_MAX;
    uint64_t number = 0;

    for (uint32_t f = 0; f < job->nfiles; f++) {
        struct bytes *input = &job->input[f];
        const size_t goal = job->size / job->nfiles;

        bytes_add(input, "", 0);
        if (job->header)
            bytes_add(input, HEADER, strlen(HEADER));
        while (input->length < goal || (job->poison && number <= poisoned)) {
            record_add(input, job->kind, number, number == poisoned, &trial->chance);
            if (job->pairs)
                record_add(&job->mates, FASTQ, number, false, &trial->chance);
            number++;
        }
        job->input_bytes += input->length;
    }
    job->records = number;
}

static void make_expected(struct job *job)
{
    struct bytes all = { 0 };

    bytes_add(&job->mates, "", 0);
    bytes_add(&all, "", 0);
    for (uint32_t f = 0; f < job->nfiles; f++) {
        const size_t head = job->header ? strlen(HEADER) : 0;

        bytes_add(&all, job->input[f].at + head, job->input[f].length - head);
    }
    bytes_add(&job->expected, "", 0);
    if (job->silent)
        ;
    else if (job->pairs)
        work_pairs(&all, &job->mates, &job->expected);
    else if (job->reduce == REDUCE_SUM && (all.length > 0 || job->header))
        work_sum(all.at, all.length, &job->expected);
    else if (job->reduce != REDUCE_SUM)
        work_map(all.at, all.length, &job->expected);
    bytes_free(&all);
}

static void make_hosts(const struct trial *trial, const char *path)
{
    const struct job *job = &trial->job;
    struct bytes text = { 0 };

    bytes_print(&text, "port: %s\nworkers:\n", job->port);
    for (uint32_t h = 0; h < job->nhosts; h++) {
        bytes_print(&text, "  - {name: h%u, slots: %u, speed: 1e7, bandwidth: 1e8, ", h,
                    job->slots[h]);
        if (job->link[h][0] == '!')
            bytes_print(&text, "command: '%s'}\n", job->link[h] + 1);
        else
            bytes_print(&text, "command: '%s @relay %s'}\n", setting.self, job->link[h]);
    }
    if (job->place_here)
        bytes_print(&text, "  - {name: here, speed: 1e7, bandwidth: 1e8}\n");
    bytes_write(&text, path);
    bytes_free(&text);
}

void err_name(const struct trial *trial, bool first, char *out, size_t room)
{
    snprintf(out, room, "../%" PRIu64 ".err%s", trial->number, first ? "" : ".2");
}

void job_make(struct trial *trial)
{
    struct job *job = &trial->job;
    char path[2 * WORD];

    settle(job);
    make_inputs(trial);
    make_expected(job);
    if (trial->disk_room > 0)
        disk_begin(trial);
    snprintf(path, sizeof path, "%s/tmp", trial->folder);
    if (mkdir(path, 0755) != 0)
        give_up("%s: %s", path, strerror(errno));
    for (uint32_t f = 0; f < job->nfiles; f++) {
        snprintf(path, sizeof path, "%s/in%u", trial->folder, f);
        bytes_write(&job->input[f], path);
    }
    snprintf(path, sizeof path, "%s/mates", trial->folder);
    if (job->pairs)
        bytes_write(&job->mates, path);
    snprintf(path, sizeof path, "%s/hosts.yaml", trial->folder);
    if (job->nhosts > 0)
        make_hosts(trial, path);
    snprintf(path, sizeof path, "%s/out", trial->folder);
    if (job->to_file) {
        struct bytes old = { 0 };

        bytes_print(&old, "old\n");
        bytes_write(&old, path);
        bytes_free(&old);
    }
}

/* --- the command line --------------------------------------------------------------------- */

struct words {
    struct bytes *store;
    size_t offsets[MOST_WORDS], count;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *words,
                                                      const char *format, ...);

static void add(struct words *words, const char *format, ...)
{
    char text[2 * WORD];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (words->count + 1 >= MOST_WORDS)
        give_up("too many words");
    words->offsets[words->count++] = words->store->length;
    bytes_add(words->store, text, strlen(text) + 1);
}

static void add_places(struct words *words, const struct trial *trial)
{
    const struct job *job = &trial->job;

    if (job->flavour != NULL) {
        add(words, "--mpi");
        return;
    }
    if (job->nhosts == 0) {
        add(words, "-j");
        add(words, "%u", job->workers);
        return;
    }
    add(words, "--hosts");
    add(words, "%s/hosts.yaml", trial->folder);
    if (job->host_timeout_s > 0) {
        add(words, "--host-timeout");
        add(words, "%gs", job->host_timeout_s);
    }
}

static void add_input(struct words *words, const struct trial *trial)
{
    const struct job *job = &trial->job;

    for (uint32_t f = 0; job->from == FROM_FILES && f < job->nfiles; f++) {
        add(words, "-i");
        add(words, "%s/in%u", trial->folder, f);
    }
    if (job->kind != LINES) {
        add(words, "--split");
        add(words, "%s", kind_names[job->kind]);
    }
    if (job->header)
        add(words, "--header");
    else if (job->kind == CSV &&
             (job->reduce != NO_REDUCE || job->nfiles > 1 || job->keep_failed))
        add(words, "--no-header"); /* else the first record is taken for one */
    if (job->pairs) {
        add(words, "--pairs");
        add(words, "%s/mates", trial->folder);
    }
    if (job->block > 0) {
        add(words, "--block");
        add(words, "%u", job->block);
    }
}

static void add_output(struct words *words, const struct trial *trial)
{
    const struct job *job = &trial->job;

    if (job->unordered)
        add(words, "-u");
    if (job->persistent)
        add(words, "--persistent");
    if (job->to_file) {
        add(words, "-o");
        add(words, "%s/out", trial->folder);
    }
    if (job->reduce != NO_REDUCE)
        add(words, "--reduce");
    if (job->reduce == REDUCE_CAT)
        add(words, "cat");
    else if (job->reduce == REDUCE_CAT_FILES)
        add(words, "cat {1} {2}");
    else if (job->reduce == REDUCE_SUM)
        add(words, "%s @work mode=sum", setting.self);
    if (job->commutative)
        add(words, "--commutative");
    if (job->small_memory) {
        add(words, "--memory");
        add(words, "4kB");
    }
    if (job->joblog) {
        add(words, "--joblog");
        add(words, "%s/joblog", trial->folder);
    }
    add(words, job->json ? "--json" : "-q");
}

static void add_failures(struct words *words, const struct trial *trial, bool resume)
{
    const struct job *job = &trial->job;

    if (job->backups != NULL) {
        add(words, "--backups");
        add(words, "%s", job->backups);
    }
    if (job->retries > 0) {
        add(words, "--retries");
        add(words, "%d", job->retries + 1);
    }
    if (job->halt != NULL) {
        add(words, "--halt");
        add(words, "%s", job->halt);
    }
    if (job->timeout_s > 0) {
        add(words, "--timeout");
        add(words, "%gs", job->timeout_s);
    }
    if (job->keep_failed) {
        add(words, "--failed");
        add(words, "%s/failed", trial->folder);
    }
    if (job->journal) {
        add(words, "--journal");
        add(words, "%s/journal", trial->folder);
    }
    if (resume)
        add(words, "--resume");
}

void job_words(const struct trial *trial, bool resume, struct bytes *store,
               char *out[MOST_WORDS])
{
    const struct job *job = &trial->job;
    struct words words = { .store = store };
    char more[WORD];

    if (job->flavour != NULL) {
        add(&words, "mpirun.%s", job->flavour);
        add(&words, "-n");
        add(&words, "%u", job->workers + 1);
    }
    add(&words, "%s", setting.cleave);
    add(&words, "run");
    add_input(&words, trial);
    add_places(&words, trial);
    add_output(&words, trial);
    add_failures(&words, trial, resume);
    add(&words, "--");
    add(&words, "%s", setting.self);
    add(&words, "@work");
    add(&words, "calls=%s/calls", trial->folder);
    add(&words, "mode=%s",
        job->pairs                  ? "pairs"
        : job->reduce == REDUCE_SUM ? "sum"
                                    : "map");
    add(&words, "kind=%d", (int)job->kind);
    if (job->header)
        add(&words, "header=1");
    if (job->persistent)
        add(&words, "persistent=1");
    if (job->sleep_us > 0)
        add(&words, "sleep=%u", job->sleep_us);
    snprintf(more, sizeof more, "%s", job->work);
    for (char *rest = more, *word; (word = strtok_r(rest, " ", &rest)) != NULL;)
        add(&words, "%s", word);
    for (size_t i = 0; i < words.count; i++)
        out[i] = store->at + words.offsets[i];
    out[words.count] = NULL;
}
