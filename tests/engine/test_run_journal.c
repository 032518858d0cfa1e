/* test_run_journal.c -- finished chunks of a run are found again, after every fault.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <xxhash.h>

#include "run/journal/journal_internal.h"
#include "run_check.h"

static char folder[] = "/tmp/cleave-journal-XXXXXX";
static char input[64], database[128]; /* paths in it */

static void remove_journal(void)
{
    char path[144];

    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", database,
                 (const char *const[]){ "", "-wal", "-shm" }[i]);
        unlink(path);
    }
}

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(input, sizeof input, "%s/input", folder);
    snprintf(database, sizeof database, "%s/journal.db", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    remove_journal();
    unlink(input);
    return rmdir(folder);
}

/* A source of lines from the file `input`. */
static struct cv_source *open_lines(struct cv_splitter **splitter)
{
    struct cv_source_options options = { .splitter = NULL };
    struct cv_source *source = NULL;
    const char *name = input;

    options.splitter = *splitter = parse("lines");
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    return source;
}

static void close_lines(struct cv_source *source, struct cv_splitter *splitter)
{
    cv_source_free(source);
    cv_splitter_free(splitter);
}

static const struct cv_journal_run cat_lines = { .command = "cat", .splitter = "lines" };

static struct cv_journal *open_journal(enum cv_journal_mode mode,
                                       const struct cv_journal_run *run,
                                       const struct cv_source *source)
{
    struct cv_journal *journal = NULL;

    assert_ok(cv_journal_open(database, mode, run, source, &journal, &err));
    return journal;
}

/* --- hashes ------------------------------------------------------------------------------- */

static void hashes(void **state)
{
    enum { SIZE = 900000 };
    char *bytes = malloc(SIZE), text[CV_CONTENT_HASH_TEXT];
    struct cv_content_hasher *hasher = NULL;
    struct cv_content_hash hash, again;
    struct cleave_error why;
    struct cv_random random;
    const int fd = memfd_create("hash", MFD_CLOEXEC);

    (void)state;
    assert_true(bytes != NULL && fd >= 0);
    cv_random_at(&random, 1, 0, 0, 0);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)cv_random_bits(&random);
    assert_int_equal(write(fd, bytes, SIZE), SIZE);
    assert_ok(cv_content_hasher_new(&hasher, &err));
    cv_content_hash_text(cv_content_hasher_finish(hasher), text);
    assert_string_equal(text, "99aa06d3014798d86001c324468d497f"); /* hash of nothing */
    for (size_t turn = 0; turn < 50; turn++) {
        const size_t begin = below(&random, SIZE),
                     end = begin + below(&random, SIZE - begin);
        const size_t middle = begin + (end - begin) / 3;
        const XXH128_hash_t expected = XXH3_128bits(bytes + begin, end - begin);

        assert_ok(cv_content_hasher_add(hasher, "x", fd, begin, middle, &err));
        assert_ok(cv_content_hasher_add(hasher, "x", fd, middle, end, &err));
        hash = cv_content_hasher_finish(hasher);
        assert_true(hash.high == expected.high64 && hash.low == expected.low64);
        cv_content_hash_text(hash, text);
        assert_true(cv_content_hash_parse(text, &again));
        assert_true(cv_content_hash_equal(hash, again));
    }
    text[7] = 'g';
    assert_false(cv_content_hash_parse(text, &again));
    assert_false(cv_content_hash_parse("99aa06d3014798d86001c324468d497", &again));
    assert_false(cv_content_hash_parse("99aa06d3014798d86001c324468d497f0", &again));
    assert_int_equal(cv_content_hasher_add(hasher, "x", fd, 5, SIZE + 1, &why),
                     CLEAVE_EINPUT);
    assert_string_equal(why.text,
                        "expected bytes up to 900001, got only 900000: has the file been "
                        "cut meanwhile?");
    cv_content_hasher_free(hasher);
    close(fd);
    free(bytes);
}

/* --- there and back ----------------------------------------------------------------------- */

/* Byte i of the output of chunk k. */
static char output_byte(size_t k, size_t i)
{
    return (char)(k * 31 + i / 7 + i);
}

static void fill_output(char *bytes, size_t k, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = output_byte(k, i);
}

static void there_and_back(void **state)
{
    static const size_t sizes[] = { 5, 0, 1 << 20, (1 << 20) + 1, 3500000 };
    enum { N = sizeof sizes / sizeof *sizes, ROOM = 4000000, AHEAD = 1000 };
    char *bytes = malloc(ROOM);
    struct text text = { malloc(ROOM), 0, ROOM };
    struct cv_splitter *splitter;
    struct cv_source *source;
    struct cv_journal *journal;
    struct cv_journal_chunk chunk;
    size_t count = 0;
    bool kept = false;
    const int fd = memfd_create("output", MFD_CLOEXEC);

    (void)state;
    assert_true(bytes != NULL && text.bytes != NULL && fd >= 0);
    write_file(input, "x\n", 2);
    source = open_lines(&splitter);
    journal = open_journal(CV_JOURNAL_NEW, &cat_lines, source);
    /* An unreadable output leaves nothing in the journal. */
    chunk = (struct cv_journal_chunk){ .begin = 0, .end = 10 };
    assert_int_equal(cv_journal_add(journal, &chunk, fd, 0, 5, NULL), CLEAVE_EENGINE);
    for (size_t i = N; i-- > 0;) { /* not in order */
        chunk = (struct cv_journal_chunk){ .file = i / 3,
                                           .begin = 10 * i,
                                           .end = 10 * i + 10,
                                           .hash = { i, ~i },
                                           .status = (int)i,
                                           .seconds = 0.5 * (double)i };
        snprintf(chunk.worker, sizeof chunk.worker, "w%zu", i);
        fill_output(bytes, i, sizes[i]);
        assert_int_equal(pwrite(fd, bytes, sizes[i], AHEAD), sizes[i]);
        assert_ok(cv_journal_add(journal, &chunk, fd, AHEAD, AHEAD + sizes[i], &err));
    }
    cv_journal_close(journal);
    journal = open_journal(CV_JOURNAL_RESUME, &cat_lines, source);
    assert_ok(cv_journal_load(journal, &count, &err));
    assert_int_equal(count, N);
    for (size_t i = 0; i < N; i++) {
        char worker[8];

        chunk = journal->rows[i].chunk;
        assert_int_equal(chunk.id, i);
        assert_int_equal(chunk.file, i / 3);
        assert_int_equal(chunk.begin, 10 * i);
        assert_int_equal(chunk.end, 10 * i + 10);
        assert_true(chunk.hash.high == i && chunk.hash.low == ~(uint64_t)i);
        assert_int_equal(chunk.status, i);
        assert_true(chunk.seconds == 0.5 * (double)i);
        snprintf(worker, sizeof worker, "w%zu", i);
        assert_string_equal(chunk.worker, worker);
        assert_int_equal(chunk.output_bytes, sizes[i]);
        text.n = 0;
        assert_ok(cv_journal_output(journal, chunk.id, outputs, &text, &kept, &err));
        assert_true(kept);
        fill_output(bytes, i, sizes[i]);
        assert_int_equal(text.n, sizes[i]);
        assert_memory_equal(text.bytes, bytes, text.n);
    }
    cv_journal_close(journal);
    close_lines(source, splitter);
    close(fd);
    free(bytes);
    free(text.bytes);
    remove_journal();
}

static void add_one(struct cv_journal *journal, uint64_t begin, uint64_t end)
{
    const struct cv_journal_chunk chunk = { .begin = begin, .end = end, .worker = "w" };
    const int fd = memfd_create("output", MFD_CLOEXEC);

    assert_int_equal(write(fd, "out\n", 4), 4);
    assert_ok(cv_journal_add(journal, &chunk, fd, 0, 4, &err));
    close(fd);
}

/* Outputs in other files: by a descriptor, and by size and hash. */
static void outputs_outside(void **state)
{
    struct text text = { (char[100]){ 0 }, 0, 100 };
    struct cv_splitter *splitter;
    struct cv_source *source;
    struct cv_journal *journal;
    struct cv_journal_chunk chunk = { .end = 10, .outside = true }, got;
    const int fd = memfd_create("output", MFD_CLOEXEC);
    bool same = false;
    size_t count = 0;

    (void)state;
    assert_int_equal(write(fd, "output", 6), 6);
    write_file(input, "x\n", 2);
    source = open_lines(&splitter);
    journal = open_journal(CV_JOURNAL_NEW, &cat_lines, source);
    assert_ok(cv_journal_add(journal, &chunk, fd, 0, 6, &err));
    add_one(journal, 30, 40); /* its bytes are in the journal */
    cv_journal_close(journal);
    journal = open_journal(CV_JOURNAL_RESUME, &cat_lines, source);
    assert_ok(cv_journal_load(journal, &count, &err));
    assert_ok(cv_journal_output_is(journal, 0, fd, &same, &got, &err));
    assert_true(same && got.output_bytes == 6 && got.end == 10);
    got.begin = 10;
    got.end = 20;
    assert_ok(cv_journal_add(journal, &got, -1, 0, 0, &err));
    assert_ok(cv_journal_load(journal, &count, &err));
    assert_int_equal(count, 3);
    for (uint64_t id = 0; id < count; id++) {
        assert_ok(cv_journal_output_is(journal, id, fd, &same, &got, &err));
        assert_int_equal(same, id < 2);
    }
    /* Other bytes, another size, and no file. */
    assert_int_equal(pwrite(fd, "O", 1, 0), 1);
    assert_ok(cv_journal_output_is(journal, 0, fd, &same, &got, &err));
    assert_false(same);
    assert_int_equal(pwrite(fd, "output+", 7, 0), 7);
    assert_ok(cv_journal_output_is(journal, 0, fd, &same, &got, &err));
    assert_false(same);
    assert_ok(cv_journal_output(journal, 1, outputs, &text, &same, &err));
    assert_false(same);
    cv_journal_close(journal);
    close_lines(source, splitter);
    close(fd);
    remove_journal();
}

/* --- whose it is -------------------------------------------------------------------------- */

static void refused(enum cv_journal_mode mode, const struct cv_journal_run *run,
                    const struct cv_source *source, const char *expected)
{
    struct cv_journal *journal = NULL;
    struct cleave_error why;

    assert_int_equal(cv_journal_open(database, mode, run, source, &journal, &why),
                     CLEAVE_EINPUT);
    assert_null(journal);
    assert_string_equal(why.file, database);
    if (strstr(why.text, expected) == NULL)
        fail_msg("expected '%s', got '%s'", expected, why.text);
}

static void change(const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void other_runs(void **state)
{
    struct cv_journal_run other = cat_lines;
    struct cv_splitter *splitter, *lines = parse("lines");
    const struct cv_source_options options = { .splitter = lines };
    struct cv_source *source, *elsewhere = NULL;
    struct cv_journal *journal;
    char second[64], text[256];
    const char *names[] = { input, second };
    size_t count = 0;

    (void)state;
    snprintf(second, sizeof second, "%s/second", folder);
    write_file(input, "a\nb\n", 4);
    write_file(second, "c\n", 2);
    source = open_lines(&splitter);
    /* A journal without finished chunks belongs to no run. */
    cv_journal_close(open_journal(CV_JOURNAL_RESUME, &cat_lines, source));
    other.command = "tac";
    cv_journal_close(open_journal(CV_JOURNAL_NEW, &other, source));
    journal = open_journal(CV_JOURNAL_NEW, &cat_lines, source);
    add_one(journal, 0, 2);
    cv_journal_close(journal);

    refused(CV_JOURNAL_NEW, &cat_lines, source,
            "expected a new journal, got one with 1 finished chunk of this run");
    refused(CV_JOURNAL_NEW, &other, source, "expected the command cat, got tac");
    refused(CV_JOURNAL_RESUME, &other, source,
            "the journal belongs to another run: expected the command cat, got tac");
    other = (struct cv_journal_run){ "cat", "csv", false, false, false, NULL };
    refused(CV_JOURNAL_RESUME, &other, source,
            "expected the splitter 'lines', got 'csv'");
    other = (struct cv_journal_run){ "cat", "lines", true, false, false, NULL };
    refused(CV_JOURNAL_RESUME, &other, source, "expected a header: 'no', got 'yes'");
    other = (struct cv_journal_run){ "cat", "lines", false, true, false, NULL };
    refused(CV_JOURNAL_RESUME, &other, source, "expected pairs: 'no', got 'yes'");
    other = (struct cv_journal_run){ "cat", "lines", false, false, true, NULL };
    refused(CV_JOURNAL_RESUME, &other, source,
            "expected a persistent command: 'no', got 'yes'");

    assert_ok(cv_source_open(names + 1, 1, &options, &elsewhere, &err));
    snprintf(text, sizeof text, "expected the input '%s', got '%s'", input, second);
    refused(CV_JOURNAL_RESUME, &cat_lines, elsewhere, text);
    cv_source_free(elsewhere);
    /* One more input, and then one less. */
    assert_ok(cv_source_open(names, 2, &options, &elsewhere, &err));
    cv_journal_close(open_journal(CV_JOURNAL_RESUME, &cat_lines, elsewhere));
    cv_source_free(elsewhere);
    refused(CV_JOURNAL_RESUME, &cat_lines, source, "second', got 'nothing'");
    /* The same file under another name. */
    assert_int_equal(rename(second, input), 0);
    write_file(second, "c\n", 2);
    journal = open_journal(CV_JOURNAL_OVERWRITE, &cat_lines, source);
    assert_ok(cv_journal_load(journal, &count, &err));
    assert_int_equal(count, 0);
    cv_journal_close(journal);
    close_lines(source, splitter);
    cv_splitter_free(lines);
    unlink(second);
    remove_journal();
}

static void other_files(void **state)
{
    struct cv_splitter *splitter;
    struct cv_source *source;
    struct cv_journal *journal = NULL;
    struct cleave_error why;
    char kept[8] = "";
    int fd;

    (void)state;
    write_file(input, "a\n", 2);
    source = open_lines(&splitter);
    write_file(database, "precious", 8);
    refused(CV_JOURNAL_OVERWRITE, &cat_lines, source,
            "expected a journal or a new file, got a file of another kind");
    fd = open(database, O_RDONLY);
    assert_int_equal(read(fd, kept, 8), 8);
    assert_memory_equal(kept, "precious", 8);
    close(fd);
    unlink(database);
    change("CREATE TABLE notes (text)");
    refused(CV_JOURNAL_OVERWRITE, &cat_lines, source, "a database of another program");
    unlink(database);
    journal = open_journal(CV_JOURNAL_NEW, &cat_lines, source);
    add_one(journal, 0, 2);
    cv_journal_close(journal);
    change("PRAGMA user_version = 9");
    refused(CV_JOURNAL_RESUME, &cat_lines, source,
            "expected a journal of format 4, got format 9");
    journal = NULL;
    assert_int_equal(cv_journal_open("/nowhere/j", CV_JOURNAL_NEW, &cat_lines, source,
                                     &journal, &why),
                     CLEAVE_EINPUT);
    assert_string_equal(why.text, "cannot open the journal: No such file or directory");
    close_lines(source, splitter);
    remove_journal();
}

/* A process started just before a kill holds the lock for a moment longer. */
static void journal_waits_for_an_ending_run(void **state)
{
    const struct timespec moment = { .tv_nsec = 60000000 };
    struct cv_splitter *splitter;
    struct cv_source *source;
    struct cv_journal *journal;
    pid_t child;

    (void)state;
    write_file(input, "a\n", 2);
    source = open_lines(&splitter);
    journal = open_journal(CV_JOURNAL_NEW, &cat_lines, source);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        nanosleep(&moment, NULL);
        _exit(0);
    }
    cv_journal_close(journal);
    cv_journal_close(open_journal(CV_JOURNAL_RESUME, &cat_lines, source));
    assert_int_equal(waitpid(child, NULL, 0), child);
    close_lines(source, splitter);
    remove_journal();
}

static void one_at_a_time(void **state)
{
    struct cv_splitter *splitter;
    struct cv_source *source;
    struct cv_journal *journal;
    pid_t child;
    int status;

    (void)state;
    write_file(input, "a\n", 2);
    source = open_lines(&splitter);
    journal = open_journal(CV_JOURNAL_NEW, &cat_lines, source);
    refused(CV_JOURNAL_RESUME, &cat_lines, source,
            "expected a journal that is free, got one that another run is using");
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct cv_journal *mine = NULL;

        _exit(cv_journal_open(database, CV_JOURNAL_OVERWRITE, &cat_lines, source, &mine,
                              NULL) != CLEAVE_EINPUT);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    add_one(journal, 0, 2);
    /* Any process may read. */
    change("SELECT count(*) FROM chunk");
    add_one(journal, 2, 4);
    cv_journal_close(journal);
    cv_journal_close(open_journal(CV_JOURNAL_RESUME, &cat_lines, source));
    close_lines(source, splitter);
    remove_journal();
}

/* --- killed at any moment ----------------------------------------------------------------- */

static size_t killed_size(size_t k)
{
    return k % 5 == 4 ? (k * 7919) % 3000000 : (k * 7919) % 3000;
}

/* Adds chunk after chunk, and reports each, until it is killed. */
static void add_for_ever(const struct cv_source *source, int tell)
{
    static char bytes[3000000];
    struct cv_journal *journal = NULL;
    const int fd = memfd_create("output", MFD_CLOEXEC);
    uint64_t next = 0;

    if (fd < 0 ||
        cv_journal_open(database, CV_JOURNAL_RESUME, &cat_lines, source, &journal,
                        NULL) != CLEAVE_OK ||
        cv_journal_load(journal, &next, NULL) != CLEAVE_OK)
        _exit(1);
    for (;; next++) {
        const size_t n = killed_size(next);
        const struct cv_journal_chunk chunk = {
            .begin = next, .end = next + 1, .hash = { next, n }, .worker = "w"
        };

        fill_output(bytes, next, n);
        if (pwrite(fd, bytes, n, 0) != (ssize_t)n ||
            cv_journal_add(journal, &chunk, fd, 0, n, NULL) != CLEAVE_OK ||
            write(tell, &next, sizeof next) != sizeof next)
            _exit(2);
    }
}

static int whole(void *context, int columns, char **values, char **names)
{
    (void)names;
    assert_int_equal(columns, 1);
    assert_string_equal(values[0], "ok");
    *(bool *)context = true;
    return 0;
}

/* The journal is sound and has all chunks up to `least`, maybe one more, from `since` on
 * compared byte by byte. */
static uint64_t check_killed(const struct cv_source *source, uint64_t since, uint64_t min)
{
    static char bytes[3000000], read_back[3000000];
    struct cv_journal *journal = open_journal(CV_JOURNAL_RESUME, &cat_lines, source);
    struct text text = { read_back, 0, sizeof read_back };
    struct cv_journal_chunk chunk;
    size_t n = 0, count;
    bool kept = false, sound = false;
    sqlite3 *db = NULL;

    assert_ok(cv_journal_load(journal, &count, &err));
    for (; n < count; n++) {
        chunk = journal->rows[n].chunk;
        assert_int_equal(chunk.begin, n);
        assert_true(chunk.hash.high == n && chunk.hash.low == killed_size(n));
        assert_int_equal(chunk.output_bytes, killed_size(n));
        if (n < since)
            continue;
        text.n = 0;
        assert_ok(cv_journal_output(journal, chunk.id, outputs, &text, &kept, &err));
        assert_true(kept);
        fill_output(bytes, n, killed_size(n));
        assert_int_equal(text.n, killed_size(n));
        assert_memory_equal(read_back, bytes, text.n);
    }
    assert_true(n >= min && n <= min + 1);
    cv_journal_close(journal);
    assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA integrity_check", whole, &sound, NULL),
                     SQLITE_OK);
    assert_true(sound);
    sqlite3_close(db);
    return n;
}

static void killed(void **state)
{
    struct cv_splitter *splitter;
    struct cv_source *source;
    struct cv_random random;
    uint64_t chunks = 0;

    (void)state;
    write_file(input, "a\n", 2);
    source = open_lines(&splitter);
    cv_random_at(&random, 4, 0, 0, 0);
    for (int turn = 0; turn < 50; turn++) {
        const struct timespec pause = { 0, (long)below(&random, 3000000) };
        const size_t wait_for = below(&random, 8); /* 0: while it opens the journal */
        uint64_t told = 0, min = chunks;
        int pipes[2], status;
        pid_t child;

        assert_int_equal(pipe(pipes), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0)
            add_for_ever(source, pipes[1]);
        close(pipes[1]);
        for (size_t i = 0; i < wait_for; i++) {
            assert_int_equal(read(pipes[0], &told, sizeof told), sizeof told);
            min = told + 1;
        }
        nanosleep(&pause, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        while (read(pipes[0], &told, sizeof told) == sizeof told)
            min = told + 1;
        close(pipes[0]);
        chunks = check_killed(source, chunks, min);
    }
    assert_true(chunks > 50);
    close_lines(source, splitter);
    remove_journal();
}

/* --- how fast workers were ---------------------------------------------------------------- */

static void add_of(struct cv_journal *journal, const char *worker, uint64_t begin,
                   uint64_t bytes, double seconds, double start_s)
{
    struct cv_journal_chunk chunk = {
        .begin = begin, .end = begin + bytes, .seconds = seconds, .start_s = start_s
    };
    const int fd = memfd_create("output", MFD_CLOEXEC);

    strncpy(chunk.worker, worker, sizeof chunk.worker - 1);
    assert_ok(cv_journal_add(journal, &chunk, fd, 0, 0, &err));
    close(fd);
}

static struct cv_journal_costs read_costs(struct cv_journal *journal,
                                          const char *const *names, uint32_t count)
{
    static double speeds_ups[3], starts_s[3];
    struct cv_journal_costs costs = { .speed_ups = speeds_ups, .start_s = starts_s };
    size_t chunks;

    assert_ok(cv_journal_load(journal, &chunks, &err));
    assert_ok(cv_journal_speeds(journal, names, count, &costs, &err));
    return costs;
}

static bool is_near(double value, double expected)
{
    return fabs(value - expected) < 1e-9;
}

/* A start takes 2 s, a has 10 bytes a second and b 5. */
static void speeds(void **state)
{
    static const char *const names[] = { "a", "b", "c" };
    struct cv_splitter *splitter;
    struct cv_source *source;
    struct cv_journal *journal;
    struct cv_journal_costs costs;

    (void)state;
    write_file(input, "x\n", 2);
    source = open_lines(&splitter);
    journal = open_journal(CV_JOURNAL_NEW, &cat_lines, source);
    costs = read_costs(journal, names, 2);
    assert_false(costs.known || costs.starts_known);
    add_of(journal, "a", 0, 1, 2, 0);
    add_of(journal, "a", 1, 100, 12, 0);
    add_of(journal, "b", 101, 50, 12, 0);
    add_of(journal, "gone", 151, 50, 3, 0);
    costs = read_costs(journal, names, 2);
    assert_true(costs.known && costs.differ && !costs.starts_known);
    assert_true(is_near(costs.speed_ups[0], 10) && is_near(costs.speed_ups[1], 5));
    assert_false(read_costs(journal, names, 3).known); /* c has no measurements */
    add_of(journal, "c", 201, 100, 12, 0);
    assert_true(read_costs(journal, names, 3).differ);
    add_of(journal, "b", 301, 250, 22, 0); /* now it is as fast as the others */
    costs = read_costs(journal, names, 3);
    assert_true(costs.known && !costs.differ);
    assert_true(costs.speed_ups[0] == costs.speed_ups[1]);
    cv_journal_close(journal);
    close_lines(source, splitter);
    remove_journal();
}

/* Open chunks give start times: 4 s and 6 s for a, none for b. */
static void starts(void **state)
{
    static const char *const names[] = { "a", "b" };
    struct cv_splitter *splitter;
    struct cv_source *source;
    struct cv_journal *journal;
    struct cv_journal_costs costs;

    (void)state;
    write_file(input, "x\n", 2);
    source = open_lines(&splitter);
    journal = open_journal(CV_JOURNAL_NEW, &cat_lines, source);
    add_of(journal, "a", 0, 100, 14, 4);
    add_of(journal, "a", 100, 100, 16, 6);
    add_of(journal, "b", 200, 100, 24, 0);
    costs = read_costs(journal, names, 2);
    assert_true(costs.known && costs.starts_known);
    assert_true(is_near(costs.start_s[0], 5) && is_near(costs.start_s[1], 5));
    assert_true(is_near(costs.speed_ups[0], 10));
    assert_true(is_near(costs.speed_ups[1], 10)); /* without the shortest chunk, 14 s */
    cv_journal_close(journal);
    close_lines(source, splitter);
    remove_journal();
}

/* --- a full disk -------------------------------------------------------------------------- */

/* Add until it fails; added chunks exist, and it continues when there is room again. In a
 * separate process, which ends with 0 on success. */
static int fill_up(const struct cv_source *source, const char *expected,
                   void (*grow_array)(void))
{
    static char bytes[100000];
    const int fd = memfd_create("output", MFD_CLOEXEC);
    struct cv_journal_chunk chunk = { .worker = "w" };
    struct cv_journal *journal = NULL;
    struct cleave_error why = { .text = "" };
    size_t count = 0;

    if (write(fd, bytes, sizeof bytes) != sizeof bytes ||
        cv_journal_open(database, CV_JOURNAL_NEW, &cat_lines, source, &journal, &why) !=
            CLEAVE_OK)
        return 1;
    for (; chunk.begin < 1000; chunk.begin++) {
        chunk.end = chunk.begin + 1;
        if (cv_journal_add(journal, &chunk, fd, 0, sizeof bytes, &why) != CLEAVE_OK)
            break;
    }
    if (chunk.begin < 2 || chunk.begin == 1000)
        return 2;
    if (strncmp(why.text, expected, strlen(expected)) != 0) {
        fprintf(stderr, "expected '%s', got '%s'\n", expected, why.text);
        return 3;
    }
    if (cv_journal_load(journal, &count, &why) != CLEAVE_OK || count != chunk.begin)
        return 4;
    grow_array();
    if (cv_journal_add(journal, &chunk, fd, 0, sizeof bytes, &why) != CLEAVE_OK)
        return 5;
    cv_journal_close(journal);
    if (cv_journal_open(database, CV_JOURNAL_RESUME, &cat_lines, source, &journal,
                        &why) != CLEAVE_OK ||
        cv_journal_load(journal, &count, &why) != CLEAVE_OK || count != chunk.begin + 1)
        return 6;
    cv_journal_close(journal);
    return 0;
}

static void raise_limit(void)
{
    struct rlimit limit;

    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static char disk[64];

static void enlarge_disk(void)
{
    mount("none", disk, "tmpfs", MS_REMOUNT, "size=64m");
}

static int with_limit(const struct cv_source *source)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 700000;
    setrlimit(RLIMIT_FSIZE, &limit);
    return fill_up(source, "cannot write the journal: ", raise_limit);
}

/* A small separate disk, if permitted. */
static int on_small_disk(const struct cv_source *source)
{
    if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", disk, "tmpfs", 0, "size=1m") != 0)
        return 77;
    snprintf(database, sizeof database, "%s/journal.db", disk);
    return fill_up(source, "cannot write the journal: no space left on the disk",
                   enlarge_disk);
}

static void full_disk(void **state)
{
    struct cv_splitter *splitter;
    struct cv_source *source;

    (void)state;
    write_file(input, "a\n", 2);
    source = open_lines(&splitter);
    snprintf(disk, sizeof disk, "%s/disk", folder);
    assert_int_equal(mkdir(disk, 0777), 0);
    for (int turn = 0; turn < 2; turn++) {
        const pid_t child = fork();
        int status;

        assert_true(child >= 0);
        if (child == 0)
            _exit(turn == 0 ? with_limit(source) : on_small_disk(source));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (turn == 1 && WEXITSTATUS(status) == 77)
            print_message("skipped: mounting a small disk is not allowed here\n");
        else
            assert_int_equal(WEXITSTATUS(status), 0);
    }
    rmdir(disk);
    close_lines(source, splitter);
    remove_journal();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(outputs_outside),
        cmocka_unit_test(other_runs),
        cmocka_unit_test(other_files),
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(journal_waits_for_an_ending_run),
        cmocka_unit_test(killed),
        cmocka_unit_test(speeds),
        cmocka_unit_test(starts),
        cmocka_unit_test(full_disk),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
