/* test_run_worker_health.c -- a journal that another user made, or could have.
 * SPDX-License-Identifier: MIT
 *
 * Nothing in the file is run, only the tables of a journal are read, and rows that others
 * could write are not used as finished chunks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "resume_check.h"
#include "run/journal/journal_internal.h"

static struct image whole;

static int make_journal(void **state)
{
    struct cleave_error err;

    if (make_folder(state) != 0 || run_command("cat", false, &err) != CLEAVE_OK)
        return 1;
    whole = read_image(database);
    return got.chunks > 5 ? 0 : 1;
}

static int forget_journal(void **state)
{
    free(whole.bytes);
    return remove_folder(state);
}

static void refused(const char *what, const char *expected)
{
    struct cleave_error err;

    if (run_command("cat", true, &err) != CLEAVE_EINPUT ||
        strstr(err.text, expected) == NULL)
        fail_msg("%s: expected '%s', got '%s'", what, expected, err.text);
    assert_string_equal(err.file, database);
}

/* --- what it holds ---------------------------------------------------------------------- */

static void other_schemas(void **state)
{
    static const char *const changes[] = {
        "CREATE TABLE more (x)",
        "CREATE VIEW more AS SELECT * FROM chunk",
        "CREATE TRIGGER t AFTER INSERT ON chunk BEGIN DELETE FROM output; END",
        "CREATE TRIGGER t AFTER INSERT ON input BEGIN DELETE FROM output; END",
        "CREATE INDEX i ON chunk (file)",
        "CREATE INDEX i ON chunk (abs(file))",
        "CREATE VIRTUAL TABLE more USING fts5(x)",
        "ALTER TABLE chunk RENAME TO r; CREATE VIEW chunk AS SELECT * FROM r",
        "ALTER TABLE output RENAME TO r; CREATE VIEW output AS SELECT * FROM r",
        "DROP TABLE run; CREATE VIEW run AS SELECT 0, 'cat', 'lines', 0, 0, 0, '', ''",
        "ALTER TABLE chunk ADD COLUMN more",
        "ALTER TABLE chunk ADD COLUMN more AS (abs(id))",
        "ALTER TABLE chunk DROP COLUMN seal",
        "DROP TABLE chunk; CREATE TABLE chunk (id INTEGER PRIMARY KEY)",
        "DROP TABLE output",
        "ANALYZE",
    };
    char expected[] = "expected the tables of a journal and nothing else, got others";

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        write_image(&whole);
        change(changes[i]);
        refused(changes[i], expected);
    }
}

/* The words are right, but the pages belong to another database. */
static void other_pages(void **state)
{
    static const char *const roots[][2] = { { "chunk", "output" }, { "output", "chunk" },
                                            { "chunk", "run" },    { "run", "chunk" },
                                            { "input", "output" }, { "chunk", "input" } };

    (void)state;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        struct cleave_error err;
        char sql[300];

        write_image(&whole);
        snprintf(sql, sizeof sql,
                 "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage ="
                 " (SELECT rootpage FROM sqlite_master WHERE name = '%s')"
                 " WHERE name = '%s'",
                 roots[i][1], roots[i][0]);
        change(sql);
        if (run_command("cat", true, &err) == CLEAVE_OK) {
            struct image lines = read_image(input);

            assert_int_equal(got.n, lines.n);
            assert_memory_equal(got.bytes, lines.bytes, got.n);
            assert_true(got.notes > 0 || got.resumed == 0);
            free(lines.bytes);
        } else {
            assert_true(err.text[0] != '\0');
        }
    }
}

static const struct cv_journal_run cat_lines = { .command = "sh -c cat",
                                                 .splitter = "lines" };

/* A byte is done once: of two overlapping chunks neither is used. */
static void overlaps(void **state)
{
    static const uint64_t ranges[][2] = { { 0, 40 },    { 30, 50 },   { 40, 45 },
                                          { 50, 60 },   { 70, 80 },   { 70, 75 },
                                          { 100, 200 }, { 110, 120 }, { 150, 160 } };
    enum { N = sizeof ranges / sizeof *ranges };
    struct cv_splitter *splitter = parse("lines");
    const struct cv_source_options options = { .splitter = splitter };
    const int fd = memfd_create("output", MFD_CLOEXEC);
    const char *names[] = { input };
    struct cv_source *source = NULL;
    struct cv_journal *journal = NULL;
    struct cv_journal_chunk chunk;
    uint64_t of = 0;
    size_t count;

    (void)state;
    remove_journal();
    assert_ok(cv_source_open(names, 1, &options, &source, &err));
    assert_ok(
        cv_journal_open(database, CV_JOURNAL_NEW, &cat_lines, source, &journal, &err));
    for (size_t i = 0; i < N; i++) {
        chunk = (struct cv_journal_chunk){ .begin = ranges[i][0], .end = ranges[i][1] };
        assert_ok(cv_journal_add(journal, &chunk, fd, 0, 0, &err));
    }
    cv_journal_close(journal);
    assert_ok(
        cv_journal_open(database, CV_JOURNAL_RESUME, &cat_lines, source, &journal, &err));
    assert_ok(cv_journal_load(journal, &count, &err));
    assert_int_equal(count, 1);
    chunk = journal->rows[0].chunk;
    assert_true(chunk.begin == 50 && chunk.end == 60);
    assert_int_equal(cv_journal_damaged(journal, &of), N - 1);
    assert_int_equal(of, N);
    cv_journal_close(journal);
    cv_source_free(source);
    cv_splitter_free(splitter);
    close(fd);
}

static enum cleave_status open_as(enum cv_journal_mode mode, struct cleave_error *why)
{
    struct cv_splitter *splitter = parse("lines");
    const struct cv_source_options options = { .splitter = splitter };
    const char *names[] = { input };
    struct cv_source *source = NULL;
    struct cv_journal *journal = NULL;
    enum cleave_status status;

    assert_ok(cv_source_open(names, 1, &options, &source, &err));
    status = cv_journal_open(database, mode, &cat_lines, source, &journal, why);
    cv_journal_close(journal);
    cv_source_free(source);
    cv_splitter_free(splitter);
    return status;
}

static void other_formats(void **state)
{
    struct cleave_error why;

    (void)state;
    write_image(&whole);
    change("PRAGMA user_version = 1");
    refused("format 1", "expected a journal of format 4, got format 1, which another "
                        "version of cleave has written");
    assert_ok(open_as(CV_JOURNAL_OVERWRITE, &err));
    assert_int_equal(run_command("cat", true, &why), CLEAVE_OK);
    assert_int_equal(got.resumed, 0);
}

/* Every remainder of a journal can be overwritten. */
static void overwritten_wreck(void **state)
{
    struct image wreck = { malloc(whole.n), whole.n };
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 5, 0, 0, 0);
    for (size_t turn = 0; turn < 20; turn++) {
        memcpy(wreck.bytes, whole.bytes, whole.n);
        for (size_t i = turn < 10 ? 100 : 8192; i < whole.n; i++)
            if (below(&random, 3) == 0)
                wreck.bytes[i] = (char)cv_random_bits(&random);
        wreck.n = turn % 2 == 0 ? whole.n : whole.n / 2 + 77;
        write_image(&wreck);
        assert_ok(open_as(CV_JOURNAL_OVERWRITE, &err));
        assert_ok(open_as(CV_JOURNAL_RESUME, &err));
    }
    free(wreck.bytes);
}

/* --- whose file it is ------------------------------------------------------------------- */

static mode_t mode_of(const char *suffix)
{
    struct stat facts;
    char path[100];

    snprintf(path, sizeof path, "%s%s", database, suffix);
    return stat(path, &facts) == 0 ? facts.st_mode & 07777 : 07777;
}

static void modes(void **state)
{
    struct cv_splitter *splitter = parse("lines");
    const struct cv_source_options options = { .splitter = splitter };
    const char *names[] = { input };
    struct cv_source *source = NULL;
    struct cv_journal *journal = NULL;
    const mode_t before = umask(0);

    (void)state;
    assert_ok(cv_source_open(names, 1, &options, &source, &err));
    for (int there = 0; there < 2; there++) {
        remove_journal();
        if (there)
            write_file(database, "", 0); /* 0666 */
        assert_ok(cv_journal_open(database, CV_JOURNAL_NEW, &cat_lines, source, &journal,
                                  &err));
        assert_int_equal(mode_of(""), 0600);
        assert_int_equal(mode_of("-wal"), 0600);
        assert_int_equal(mode_of("-shm"), 0600);
        cv_journal_close(journal);
    }
    umask(before);
    cv_source_free(source);
    cv_splitter_free(splitter);
}

static void other_outputs_may_be_written(void **state)
{
    struct cleave_error err;

    (void)state;
    write_image(&whole);
    assert_int_equal(chmod(database, 0620), 0);
    refused("mode 620", "others may write to the journal (mode 620)");
    assert_int_equal(chmod(database, 0602), 0);
    refused("mode 602", "others may write to the journal (mode 602)");
    assert_int_equal(chmod(database, 0644), 0);
    assert_int_equal(run_command("cat", true, &err), CLEAVE_OK);
    if (geteuid() != 0) {
        print_message("skipped: only root can give files away\n");
        return;
    }
    assert_int_equal(chown(database, 12345, (gid_t)-1), 0);
    refused("another owner", "the journal belongs to user 12345, not to you");
}

static void links(void **state)
{
    char target[100], log[100];
    struct cleave_error err;

    (void)state;
    remove_journal();
    snprintf(target, sizeof target, "%s/target", folder);
    snprintf(log, sizeof log, "%s-wal", database);
    assert_int_equal(symlink(target, database), 0);
    refused("a link to nothing", "got a symbolic link");
    assert_int_equal(access(target, F_OK), -1);
    write_file(target, whole.bytes, whole.n);
    refused("a link", "got a symbolic link");
    unlink(database);
    assert_int_equal(mkfifo(database, 0600), 0);
    refused("a FIFO", "that is not a regular file");
    write_image(&whole);
    assert_int_equal(symlink(target, log), 0);
    refused("a link beside it", "got one with -wal that is not a regular file");
    unlink(target);
    unlink(log);
    unlink(database);
    assert_int_equal(mkdir(database, 0700), 0);
    refused("a folder", "cannot open the journal: Is a directory");
    assert_int_equal(rmdir(database), 0);
    write_image(&whole);
    assert_int_equal(run_command("cat", true, &err), CLEAVE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_schemas),
        cmocka_unit_test(other_pages),
        cmocka_unit_test(overlaps),
        cmocka_unit_test(other_formats),
        cmocka_unit_test(overwritten_wreck),
        cmocka_unit_test(modes),
        cmocka_unit_test(other_outputs_may_be_written),
        cmocka_unit_test(links),
    };

    return cmocka_run_group_tests(tests, make_journal, forget_journal);
}
