/* run_fault.h -- real runs in which something fails. For one file of a program.
 * SPDX-License-Identifier: MIT
 *
 * Every trial runs in a separate process. A run must end with OK and the right output, or
 * with a message and a correct prefix of the output, in order; it must not crash, hang,
 * keep descriptors or memory, or leave a process running. A run that failed with a
 * journal is resumed without faults and must then come out right.
 *
 * The program defines what fails: */
#ifndef CV_RUN_FAULT_H
#define CV_RUN_FAULT_H
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cleave/execute.h>
#include <cleave/platform.h>
#include <cleave/policy.h>
#include "run/decode/decode_ahead.h"
#include "run/worker/worker_serve.h"

static void arm(long n);  /* the n-th from now on fails, counted from 0             */
static bool disarm(void); /* end of failures; whether any happened */
static const char *fault(void); /* the failed call */
static long kept_blocks(void);  /* memory blocks, or 0 if unknown */

enum { LINES = 300, BLOCK = 1200, HANGS_S = 60, ROOM = 12 << 20 };

struct scenario {
    const char *name;
    const char *const *command; /* NULL: the input is decoded only, by 4 threads */
    const char *reduce;
    const char *split;  /* NULL: fastq                                          */
    const char *packed; /* the file of tests/packed that the input is made of   */
    unsigned copies;    /* copies of it */
    bool unordered, journal, resume, stream, pairs, header, persistent, hosts, there,
        spill, open;
};

static const char *const cat[] = { "cat", NULL };
static const char *const join[] = { "paste", "-d:", "-", "/dev/fd/3", NULL };
static const char *const body[] = { "tail", "-n", "+2", NULL };

static const struct scenario scenarios[] = {
    { .name = "plain", .command = cat },
    { .name = "unordered", .command = cat, .unordered = true },
    { .name = "spilled", .command = cat, .spill = true },
    { .name = "header", .command = body, .header = true },
    { .name = "pairs", .command = join, .pairs = true },
    { .name = "persistent", .command = cat, .persistent = true },
    { .name = "reduce", .command = cat, .reduce = "cat" },
    { .name = "reduce files", .command = cat, .reduce = "cat {1} {2}" },
    { .name = "stream", .command = cat, .stream = true },
    { .name = "stream and journal", .command = cat, .stream = true, .journal = true },
    { .name = "journal", .command = cat, .journal = true },
    { .name = "resume", .command = cat, .journal = true, .resume = true },
    { .name = "open", .command = cat, .open = true },
    { .name = "open pairs", .command = join, .open = true, .pairs = true },
    { .name = "open stream", .command = cat, .open = true, .stream = true },
    { .name = "hosts", .command = cat, .hosts = true },
    { .name = "hosts that stay", .command = cat, .hosts = true, .persistent = true },
    { .name = "in a worker", .command = cat, .hosts = true, .there = true },
    { .name = "csv", .command = cat, .split = "csv" },
    { .name = "json", .command = cat, .split = "json" },
    { .name = "xml", .command = cat, .split = "xml:r" },
    { .name = "gzip", .command = cat, .split = "lines", .packed = "gz", .copies = 2 },
    { .name = "BGZF", .command = cat, .split = "lines", .packed = "bgz", .copies = 2 },
    { .name = "zstd", .command = cat, .split = "lines", .packed = "zst", .copies = 2 },
    { .name = "xz", .command = cat, .split = "lines", .packed = "xz", .copies = 2 },
    { .name = "bzip2", .command = cat, .split = "lines", .packed = "bz2", .copies = 2 },
    { .name = "lz4 stream",
      .command = cat,
      .split = "lines",
      .packed = "lz4",
      .copies = 2,
      .stream = true },
    /* Copies for several jobs of a decoder, or pieces of one member. */
    { .name = "decode gzip", .packed = "gz" },
    { .name = "decode gzip stream", .packed = "gz", .copies = 40, .stream = true },
    { .name = "decode BGZF", .packed = "bgz", .copies = 72 },
    { .name = "decode zstd", .packed = "zst", .copies = 100 },
    { .name = "decode xz", .packed = "xz", .copies = 20 },
    { .name = "decode bzip2", .packed = "bz2", .copies = 20 },
    { .name = "decode bzip2 stream", .packed = "bz2", .copies = 20, .stream = true },
    { .name = "decode lz4", .packed = "lz4", .copies = 40 },
};

enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

/* --- files ------------------------------------------------------------------------------ */

static char folder[64] = "/dev/shm/cleave-fault-XXXXXX";
static char paths[5][96];
enum { INPUT, MATES, OUTPUT, JOURNAL, IMAGE };

struct bytes {
    char bytes[ROOM];
    size_t n;
};

static struct bytes expected, got;

static void give_up(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static void read_file(const char *path, struct bytes *out)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, out->bytes, sizeof out->bytes);

    out->n = n < 0 ? 0 : (size_t)n;
    if (fd >= 0)
        close(fd);
}

static void copy_file(const char *from, const char *to)
{
    static struct bytes all;
    int fd;

    read_file(from, &all);
    fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, all.bytes, all.n) != (ssize_t)all.n)
        give_up(to);
    close(fd);
}

static void remove_journal(void)
{
    static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
    char path[110];

    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", paths[JOURNAL], suffixes[i]);
        unlink(path);
    }
}

/* One member of gzip that is long enough for several threads. */
static void write_long_member(FILE *to)
{
    static char text[ROOM], packed[ROOM];
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(1);
    unsigned number = 1;
    size_t n = 0;

    while (n < 11 << 20) {
        number = number * 1664525u + 1013904223u;
        n += (size_t)snprintf(text + n, ROOM - n, "%u\n", number);
    }
    fwrite(packed, 1, libdeflate_gzip_compress(compressor, text, n, packed, ROOM), to);
    libdeflate_free_compressor(compressor);
}

/* The input of a scenario, and the mates of the records of fastq. */
static void make_input(const struct scenario *scenario)
{
    FILE *input = fopen(paths[INPUT], "w"), *mates = fopen(paths[MATES], "w");
    const char *split = scenario->split != NULL ? scenario->split : "fastq";
    static struct bytes packed;
    char path[512];

    if (input == NULL || mates == NULL)
        give_up(folder);
    if (scenario->packed != NULL) {
        snprintf(path, sizeof path, "%s/tests/packed/seq.%s", CLEAVE_SOURCE_DIR,
                 scenario->packed);
        read_file(path, &packed);
        for (unsigned i = 0; i < scenario->copies; i++)
            fwrite(packed.bytes, 1, packed.n, input);
        if (scenario->copies == 0)
            write_long_member(input);
    } else if (strcmp(split, "json") == 0) {
        fputs("[", input);
    } else if (strcmp(split, "xml:r") == 0) {
        fputs("<a>", input);
    }
    for (int i = 0; i < LINES / 4 && scenario->packed == NULL; i++)
        if (strcmp(split, "fastq") == 0) {
            fprintf(input, "@read number %d\nACGT0ACGT\n+\nIIII0IIII\n", i);
            fprintf(mates, "@read number %d\nACGT1ACGT\n+\nIIII1IIII\n", i);
        } else if (strcmp(split, "csv") == 0) {
            fprintf(input, "%d,\"two\nlines, one field\",and another one\n", i);
        } else if (strcmp(split, "json") == 0) {
            fprintf(input, "%s{\"number\": %d, \"more\": [1, 2, \"}\"]}",
                    i > 0 ? "," : "", i);
        } else {
            fprintf(input, "<r n=\"%d\"><b>some text in it</b></r>", i);
        }
    if (scenario->packed == NULL && split[0] != 'f' && split[0] != 'c')
        fputs(split[0] == 'j' ? "]\n" : "</a>\n", input);
    fclose(input);
    fclose(mates);
}

static void make_files(void)
{
    static const char *const names[] = { "input", "mates", "output", "journal", "image" };

    if (mkdtemp(folder) == NULL) {
        snprintf(folder, sizeof folder, "/tmp/cleave-fault-XXXXXX");
        if (mkdtemp(folder) == NULL)
            give_up(folder);
    }
    for (size_t i = 0; i < 5; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
}

static void remove_files(void)
{
    remove_journal();
    for (size_t i = 0; i < 5; i++)
        unlink(paths[i]);
    rmdir(folder);
}

/* --- a run ------------------------------------------------------------------------------ */

static void no_note(void *context, const char *text)
{
    (void)context;
    (void)text;
}

/* Standard input is a pipe with all of the input in it. */
static void writer(void)
{
    static struct bytes all;
    int ends[2];

    read_file(paths[INPUT], &all);
    if (pipe(ends) != 0 || fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) < 0 ||
        write(ends[1], all.bytes, all.n) != (ssize_t)all.n || dup2(ends[0], 0) != 0)
        give_up("standard input");
    close(ends[0]);
    close(ends[1]);
}

/* Commands that wait for their units, in parts; some start without work. */
static void open_decide(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        for (uint32_t w = 0; w < view->nworkers; w++)
            cleave_order_open(orders, w, w == 0 ? BLOCK : 0);
    else if (event->kind == CLEAVE_DONE && view->units_left > 0)
        cleave_order_open(orders, event->worker, BLOCK);
    else if (event->kind == CLEAVE_DRAINED ||
             (event->kind == CLEAVE_SENT && event->units <= 0))
        cleave_order_extend(orders, event->worker, BLOCK);
    else if (event->kind == CLEAVE_EXTENDED && event->units <= 0)
        cleave_order_close(orders, event->worker);
    else if (event->kind == CLEAVE_EXTENDED)
        cleave_order_recall(orders, event->worker, BLOCK / 4.0);
}

static const struct cleave_policy open_policy = { .name = "opens",
                                                  .decide = open_decide,
                                                  .takes_streams = true,
                                                  .gets_losses = true,
                                                  .opens_chunks = true };

static struct bytes decoded;

/* Decode the input. With n < 0, nothing fails. */
static enum cleave_status decode(const struct scenario *scenario, long n,
                                 struct cleave_error *err)
{
    static const char *const names[][2] = { { "gz", "gzip" },   { "bgz", "bgzf" },
                                            { "zst", "zstd" },  { "xz", "xz" },
                                            { "bz2", "bzip2" }, { "lz4", "lz4" } };
    const int fd = scenario->stream ? 0 : open(paths[INPUT], O_RDONLY | O_CLOEXEC);
    struct cv_decode_thread_options options = { .name = "input", .fd = fd, .cores = 4 };
    struct cv_decode_thread *decoding = NULL;
    enum cleave_status status;
    ssize_t some = 1;
    bool torn;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], scenario->packed) == 0)
            options.codec = cv_codec_named(names[i][1]);
    if (fd < 0 || options.codec == NULL)
        give_up(scenario->name);
    decoded.n = 0;
    if (n >= 0)
        arm(n);
    status = cv_decode_thread_start(&options, &decoding, err);
    while (status == CLEAVE_OK && some != 0) {
        some = cv_decode_thread_read(decoding, decoded.bytes + decoded.n,
                                     ROOM - decoded.n, ROOM);
        if (some < 0 && errno != EAGAIN && errno != EINTR)
            give_up("cv_decode_thread_read");
        if (some < 0)
            usleep(100);
        decoded.n += some > 0 ? (size_t)some : 0;
    }
    if (status == CLEAVE_OK)
        status = cv_decode_thread_end(decoding, &torn, err);
    cv_decode_thread_free(decoding);
    if (!scenario->stream)
        close(fd);
    return status;
}

/* With n < 0, nothing fails. */
static enum cleave_status execute(const struct scenario *scenario, bool resume, long n,
                                  struct cleave_execution_result **out,
                                  struct cleave_error *err)
{
    static const char platform_text[] =
        "port: multi\nworkers:\n  - {name: w, count: 2, speed: 1e8, bandwidth: 1e9}\n";
    static const char *const connect[] = { "/proc/self/exe", "worker", NULL };
    static const struct cleave_host host = {
        .name = "w.1", .connect = connect, .first = 0, .slots = 1
    };
    const char *const files[] = { paths[INPUT] };
    const int fd =
        scenario->command == NULL
            ? -1
            : open(paths[OUTPUT], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct cleave_execution request = {
        .command = scenario->command,
        .persistent = scenario->persistent,
        .input = { .files = files,
                   .count = scenario->stream ? 0 : 1,
                   .split = scenario->split != NULL ? scenario->split : "fastq",
                   .header = scenario->header,
                   .pairs = scenario->pairs ? paths[MATES] : NULL },
        .output = { .descriptor = fd,
                    .name = "output",
                    .unordered = scenario->unordered,
                    .memory = scenario->spill ? 1000 : 0,
                    .directory = folder },
        .workers = { .count = 2, .unguarded = true },
        .policy = { .own = scenario->open ? &open_policy : NULL,
                    .block = scenario->open ? 0 : BLOCK },
        .reduce.command = scenario->reduce,
        .journal = { .path = scenario->journal ? paths[JOURNAL] : NULL,
                     .resume = resume },
        .listener.note = no_note,
    };
    struct cleave_platform *platform = NULL;
    enum cleave_status status;

    if (scenario->command == NULL)
        return decode(scenario, n, err);
    if (fd < 0)
        give_up(paths[OUTPUT]);
    if (scenario->hosts) {
        if (cleave_platform_parse("p", platform_text, sizeof platform_text - 1, &platform,
                                  NULL) != CLEAVE_OK)
            give_up("platform");
        request.workers.platform = platform;
        request.hosts.list = &host;
        request.hosts.count = 1;
    }
    if (n >= 0)
        arm(n);
    status = cleave_execute(&request, out, err);
    cleave_platform_free(platform);
    close(fd);
    return status;
}

static size_t open_descriptors(void)
{
    DIR *list = opendir("/proc/self/fd");
    size_t n = 0;

    if (list == NULL)
        give_up("/proc/self/fd");
    while (readdir(list) != NULL)
        n++;
    closedir(list);
    return n;
}

/* --- a trial ---------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of a text in some order that depends on nothing else. */
static void sort_lines(struct bytes *text)
{
    static char *lines[LINES + 8], copy[1 << 20];
    size_t n = 0, at = 0;

    if (text->n == 0 || text->n >= sizeof copy)
        return;
    memcpy(copy, text->bytes, text->n);
    copy[text->n] = '\0';
    for (char *line = strtok(copy, "\n"); line != NULL && n < LINES + 8;
         line = strtok(NULL, "\n"))
        lines[n++] = line;
    qsort(lines, n, sizeof *lines, by_bytes);
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text->bytes + at, ROOM - at, "%s\n", lines[i]);
}

static void read_output(const struct scenario *scenario)
{
    if (scenario->command == NULL)
        memcpy(got.bytes, decoded.bytes, got.n = decoded.n);
    else
        read_file(paths[OUTPUT], &got);
    if (scenario->unordered)
        sort_lines(&got);
}

static bool output_right(void)
{
    return got.n == expected.n && memcmp(got.bytes, expected.bytes, got.n) == 0;
}

static bool output_begins_right(const struct scenario *scenario)
{
    return scenario->unordered || scenario->reduce != NULL ||
           (got.n <= expected.n && memcmp(got.bytes, expected.bytes, got.n) == 0);
}

/* The defect of the end of a run, or NULL. */
static const char *judge(const struct scenario *scenario, enum cleave_status status,
                         const struct cleave_execution_result *result,
                         const struct cleave_error *err)
{
    read_output(scenario);
    if (status == CLEAVE_OK && result == NULL && scenario->command != NULL)
        return "OK, but no result";
    if (status == CLEAVE_OK &&
        (result == NULL || (result->failed == 0 && result->bad_ends == 0)) &&
        !output_right())
        return "OK, but the output is wrong";
    if (status != CLEAVE_OK && err->text[0] == '\0')
        return "an error without a word";
    if (status != CLEAVE_OK && !output_begins_right(scenario))
        return "the output does not begin right";
    if (scenario->reduce != NULL && got.n > 0 && !output_right())
        return "part of a reduction was written";
    return NULL;
}

/* Runs in a separate process, and ends it: with 0, 1, or 2 if nothing has failed. */
static void try_run(const struct scenario *scenario, long n)
{
    struct cleave_execution_result *result = NULL;
    struct cleave_error err = { .text = "" };
    const size_t before = open_descriptors();
    const char *wrong;
    enum cleave_status status;
    char text[24];
    bool failed;
    long kept;

    alarm(HANGS_S);
    if (scenario->stream)
        writer();
    snprintf(text, sizeof text, "%ld", n);
    if (scenario->there)
        setenv("CLEAVE_TEST_FAULT", text, 1);
    kept = kept_blocks();
    status = execute(scenario, scenario->resume, scenario->there ? -1 : n, &result, &err);
    failed = disarm() || scenario->there;
    wrong = judge(scenario, status, result, &err);
    cleave_execution_free(result);
    if (wrong == NULL && open_descriptors() != before)
        wrong = "descriptors are kept";
    if (wrong == NULL && kept_blocks() != kept)
        wrong = "memory is kept";
    if (wrong == NULL && status != CLEAVE_OK && scenario->journal) {
        struct cleave_error again = { .text = "" };

        if (scenario->stream)
            writer();
        if (execute(scenario, true, -1, &result, &again) != CLEAVE_OK) {
            wrong = "cannot be resumed";
            err = again;
        } else {
            read_output(scenario);
            wrong = output_right() ? NULL : "the resumed output is wrong";
        }
    }
    if (wrong != NULL)
        fprintf(stderr, "%s, %s %ld: %s (%s: '%s')\n", scenario->name, fault(), n, wrong,
                cleave_status_text(status), err.text);
    _exit(wrong != NULL ? 1 : failed ? 0 : 2);
}

/* Processes that the trial has left behind end soon, or are a fault. */
static bool somebody_left(void)
{
    for (int i = 0; i < 30000; i++) {
        const pid_t pid = waitpid(-1, NULL, WNOHANG);

        if (pid < 0)
            return false;
        if (pid == 0)
            usleep(1000);
    }
    return true;
}

/* False after the last n that does something. */
static bool try_one(const struct scenario *scenario, long n, int *out_bad)
{
    pid_t child;
    int ended;

    remove_journal();
    if (scenario->resume)
        copy_file(paths[IMAGE], paths[JOURNAL]);
    fflush(NULL);
    child = fork();
    if (child < 0)
        give_up("fork");
    if (child == 0)
        try_run(scenario, n);
    if (waitpid(child, &ended, 0) != child)
        give_up("waitpid");
    if (WIFSIGNALED(ended)) {
        fprintf(stderr, "%s, %s %ld: %s\n", scenario->name, fault(), n,
                WTERMSIG(ended) == SIGALRM ? "it hangs" : strsignal(WTERMSIG(ended)));
        ++*out_bad;
    } else if (WEXITSTATUS(ended) == 1) {
        ++*out_bad;
    }
    if (somebody_left()) {
        fprintf(stderr, "%s, %s %ld: a process is left\n", scenario->name, fault(), n);
        ++*out_bad;
    }
    return WIFSIGNALED(ended) || WEXITSTATUS(ended) != 2;
}

/* --- all of them ------------------------------------------------------------------------ */

/* The journal of a run that was killed half way. */
static void make_image(void)
{
    const struct scenario scenario = { .name = "image", .command = cat, .journal = true };
    struct cleave_execution_result *result = NULL;
    struct cleave_error err;
    sqlite3 *db = NULL;

    make_input(&scenario);
    remove_journal();
    if (execute(&scenario, false, -1, &result, &err) != CLEAVE_OK ||
        sqlite3_open(paths[JOURNAL], &db) != SQLITE_OK ||
        sqlite3_exec(db,
                     "DELETE FROM output WHERE chunk % 2 = 0;"
                     "DELETE FROM chunk WHERE id % 2 = 0",
                     NULL, NULL, NULL) != SQLITE_OK)
        give_up("the journal of a run that was killed");
    sqlite3_close(db);
    cleave_execution_free(result);
    copy_file(paths[JOURNAL], paths[IMAGE]);
    remove_journal();
}

static long how_many(const struct scenario *scenario);
/* Numbers that found a defect once. */
static void try_known(const struct scenario *scenario, int *out_bad);

/* The output without failures; also loads and sets up everything. */
static void warm_up(const struct scenario *scenario)
{
    struct cleave_execution_result *result = NULL;
    struct cleave_error err = { .text = "" };

    make_input(scenario);
    if (scenario->stream)
        writer();
    remove_journal();
    if (execute(scenario, false, -1, &result, &err) != CLEAVE_OK ||
        (result != NULL && result->failed > 0)) {
        fprintf(stderr, "%s: %s\n", scenario->name, err.text);
        exit(1);
    }
    cleave_execution_free(result);
    read_output(scenario);
    expected = got;
    if (expected.n < 2000)
        give_up(scenario->name);
}

/* CLEAVE_FAULTS: "all", or how many of each scenario (`some` by default); after a blank the only
 * scenario, and after a comma the only n: "all decode xz,17". */
static int try_all(long some)
{
    const char *wanted = getenv("CLEAVE_FAULTS");
    char only[64] = "";
    long just = -1, total = 0;
    int bad = 0;

    if (wanted != NULL) {
        const char *blank = strchr(wanted, ' '), *comma = strchr(wanted, ',');

        some = strncmp(wanted, "all", 3) == 0 ? 0 : strtol(wanted, NULL, 10);
        if (blank != NULL)
            snprintf(only, sizeof only, "%.*s", (int)strcspn(blank + 1, ","), blank + 1);
        just = comma != NULL ? strtol(comma + 1, NULL, 10) : -1;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    make_files();
    make_image();
    for (size_t s = 0; s < SCENARIOS; s++) {
        const struct scenario *scenario = &scenarios[s];
        long count, step, tried = 0;

        if (only[0] != '\0' && strcmp(only, scenario->name) != 0)
            continue;
        warm_up(scenario);
        count = how_many(scenario);
        step = some > 0 && count > some ? count / some : 1;
        while (step > 1 && (step % 2 == 0 || step % 3 == 0)) /* all kinds of faults */
            step++;
        for (long n = step > 1 ? (long)s % step : 0;; n += step) {
            if (just >= 0)
                n = just;
            if (!try_one(scenario, n, &bad) || (scenario->there && n >= count) ||
                just >= 0)
                break;
            tried++;
        }
        try_known(scenario, &bad);
        printf("%-20s %4ld of %ld\n", scenario->name, tried, count);
        total += tried;
    }
    remove_files();
    printf("%ld faults, %d of them not borne\n", total, bad);
    return bad == 0 && total > 0 ? 0 : 1;
}

/* The other end of a link, in this same program. */
static int serve(void)
{
    const char *text = getenv("CLEAVE_TEST_FAULT");
    struct cleave_error err;

    if (text != NULL)
        arm(strtol(text, NULL, 10));
    return cv_worker_serve(&(struct cv_worker_options){ .in = 0, .out = 1 }, &err) ==
                   CLEAVE_OK
               ? 0
               : 1;
}

#endif
