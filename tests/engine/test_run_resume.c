/* test_run_resume.c -- a resumed run equals an undisturbed one, and repeats only the
 * necessary chunks. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include "run/journal/journal.h"
#include "run_check.h"
#include "unit/split_check.h"

enum { MOST = 700, LONGER = 2 * MOST };

/* In memory where that can be: every journal that is opened and closed waits for its disk,
 * and here are hundreds. */
static char folder[64] = "/dev/shm/cleave-resume-XXXXXX";
static char input[80], database[80]; /* paths in it */

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        snprintf(folder, sizeof folder, "/tmp/cleave-resume-XXXXXX");
        if (mkdtemp(folder) == NULL)
            return 1;
    }
    snprintf(input, sizeof input, "%s/input", folder);
    snprintf(database, sizeof database, "%s/journal.db", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* Old and new versions, and the boundaries of both. */
struct versions {
    struct split_input old, new;
    char bytes[2][LONGER];
    bool header, stream;
};

/* A run of `cat`: the output of a chunk is the chunk, without a repeated header. */
struct rerun {
    struct cv_splitter *splitter;
    struct cv_source *source;
    struct cv_journal *journal;
    int writer;         /* write end of a stream; -1: it has ended */
    struct text result; /* concatenation of all outputs */
    bool given[LONGER]; /* bytes given out */
    size_t done, kept;  /* pieces                                             */
};

static void open_rerun(struct rerun *rerun, const struct versions *versions,
                       const char *splitter, enum cv_journal_mode mode)
{
    const struct cv_journal_run run = { "cat", splitter, versions->header,
                                        false, false,    NULL };
    struct cv_source_options options = { .header = versions->header, .hold = 300 };
    const struct split_input *now =
        mode == CV_JOURNAL_RESUME ? &versions->new : &versions->old;
    const char *path = input;

    rerun->writer = -1;
    if (versions->stream) {
        assert_int_equal(mkfifo(input, 0666), 0);
        rerun->writer = open(input, O_RDWR | O_CLOEXEC);
        assert_true(rerun->writer >= 0);
    } else {
        write_file(input, now->bytes, now->n);
    }
    options.splitter = rerun->splitter = parse(splitter);
    assert_ok(cv_source_open(&path, 1, &options, &rerun->source, &err));
    assert_ok(
        cv_journal_open(database, mode, &run, rerun->source, &rerun->journal, &err));
    assert_ok(cv_journal_tell(rerun->journal, rerun->source, &err));
}

static void close_rerun(struct rerun *rerun)
{
    cv_journal_close(rerun->journal);
    cv_source_free(rerun->source);
    cv_splitter_free(rerun->splitter);
    unlink(input);
}

static void place_result(struct rerun *rerun, struct cv_range range)
{
    for (uint64_t i = range.begin; i < range.end; i++) {
        assert_false(rerun->given[i]);
        rerun->given[i] = true;
    }
    rerun->result.n = range.begin;
}

/* Do a piece and add it to the journal. */
static void do_piece(struct rerun *rerun, const struct cv_piece *piece)
{
    const struct cv_part body = cv_piece_body(piece);
    struct cv_journal_chunk chunk = { .begin = body.begin, .end = body.end };
    const size_t length = body.end - body.begin;
    char *result = rerun->result.bytes + body.begin;
    const int output = memfd_create("output", MFD_CLOEXEC);

    assert_ok(cv_source_hash(rerun->source, piece, &chunk.hash, &err));
    place_result(rerun, piece->body);
    assert_int_equal(cv_part_read(&body, body.begin, result, length), length);
    assert_int_equal(write(output, result, length), length);
    assert_ok(cv_journal_add(rerun->journal, &chunk, output, 0, length, &err));
    close(output);
    rerun->done++;
}

static bool should_be_kept(const struct versions *versions, struct cv_range range)
{
    const struct split_input *old = &versions->old, *new = &versions->new;
    const size_t header = versions->header && range.begin > 0 ? split_at(old, 1) : 0;

    return range.end <= new->n &&new->is[range.begin] && new->is[range.end] &&
           memcmp(old->bytes + range.begin, new->bytes + range.begin,
                  range.end - range.begin) == 0 &&
           (header == 0 ||
            (header == split_at(new, 1) && memcmp(old->bytes, new->bytes, header) == 0));
}

/* The next chunk of the run before. False if there is none now. */
static bool take_known(struct rerun *rerun, const struct versions *versions)
{
    struct cleave_error note = { .text = "" };
    enum cv_known state;
    struct cv_piece piece;
    struct cv_range place;
    char range[64];
    uint64_t id;
    bool same = false, whole = false;

    assert_ok(cv_source_known(rerun->source, &state, &piece, &id, &err));
    if (state == CV_KNOWN_WAIT || state == CV_KNOWN_END)
        return false;
    place = piece.body;
    assert_ok(cv_journal_confirm(rerun->journal, rerun->source, state, &piece, id, &same,
                                 &note, &err));
    assert_int_equal(same, should_be_kept(versions, place));
    if (same) {
        place_result(rerun, place);
        assert_ok(
            cv_journal_output(rerun->journal, id, outputs, &rerun->result, &whole, &err));
        assert_true(whole);
        assert_int_equal(rerun->result.n, place.end);
        assert_ok(cv_source_finish(rerun->source, &piece, &err));
        rerun->kept++;
        return true;
    }
    snprintf(range, sizeof range, "bytes %zu to %zu", (size_t)place.begin,
             (size_t)place.end);
    assert_non_null(strstr(note.text, range));
    assert_string_equal(note.file, input);
    if (state == CV_KNOWN_PIECE)
        assert_ok(cv_source_put_back(rerun->source, &piece, &err));
    return true;
}

/* Take everything; of the pieces taken, lose all except about one of `every`. */
static void drive(struct rerun *rerun, struct cv_random *random,
                  const struct versions *versions, const struct split_input *now,
                  size_t every)
{
    struct cv_piece piece;
    enum cv_take taken;
    size_t fed = 0;

    do {
        if (rerun->writer >= 0 && fed < now->n) {
            const size_t left = now->n - fed;
            const size_t some = 1 + below(random, left < 99 ? left : 99);

            assert_int_equal(write(rerun->writer, now->bytes + fed, some), some);
            fed += some;
        } else if (rerun->writer >= 0) {
            close(rerun->writer);
            rerun->writer = -1;
        }
        assert_ok(cv_source_pump(rerun->source, &err));
        while (take_known(rerun, versions))
            ;
        assert_ok(
            cv_source_take(rerun->source, 1 + below(random, 70), &taken, &piece, &err));
        if (taken != CV_TAKE_PIECE)
            continue;
        if (below(random, every) == 0)
            do_piece(rerun, &piece);
        assert_ok(cv_source_finish(rerun->source, &piece, &err));
    } while (taken != CV_TAKE_END);
    assert_int_equal(rerun->writer, -1);
}

/* Change an input in one of the ways in which inputs change, or not at all. */
static size_t next_version(const struct reference_case *test, struct cv_random *random,
                           struct versions *versions, size_t n)
{
    const size_t how = below(random, 5);
    size_t length = n;

    memcpy(versions->bytes[1], versions->bytes[0], n);
    if (how == 0 || how == 1) /* grows */
        for (length += 1 + below(random, MOST - 1); n < length; n++)
            versions->bytes[1][n] = test->letters[below(random, test->nletters)];
    if (how == 2 && n > 0) /* shrinks */
        length = below(random, n);
    for (size_t i = 0; how == 3 && n > 0 && i < 3; i++)
        versions->bytes[1][below(random, n)] =
            test->letters[below(random, test->nletters)];
    return length;
}

/* Both runs. Returns how many chunks were kept. */
static size_t run_twice(const struct reference_case *test, struct versions *versions,
                        struct cv_random *random)
{
    struct rerun *rerun = calloc(1, sizeof *rerun);
    const size_t length = versions->new.n;
    char result[LONGER];
    size_t kept;

    assert_non_null(rerun);
    rerun->result = (struct text){ result, 0, sizeof result };
    open_rerun(rerun, versions, test->splitter, CV_JOURNAL_NEW);
    drive(rerun, random, versions, &versions->old, 1 + below(random, 3));
    close_rerun(rerun);

    memset(rerun->given, 0, sizeof rerun->given);
    memset(result, '?', sizeof result);
    open_rerun(rerun, versions, test->splitter, CV_JOURNAL_RESUME);
    drive(rerun, random, versions, &versions->new, 1);
    assert_memory_equal(result, versions->new.bytes, length);
    for (size_t i = 0; i < LONGER; i++)
        assert_int_equal(rerun->given[i], i < length);
    close_rerun(rerun);

    /* Once more: now nothing is left to do. */
    memset(rerun->given, 0, sizeof rerun->given);
    memset(result, '?', sizeof result);
    kept = rerun->kept;
    rerun->done = 0;
    memcpy(versions->bytes[0], versions->bytes[1], sizeof versions->bytes[0]);
    split_input_close(&versions->old);
    split_input_open(&versions->old, versions->new.splitter, versions->bytes[0], length);
    memcpy(versions->old.is, versions->new.is, length + 1);
    open_rerun(rerun, versions, test->splitter, CV_JOURNAL_RESUME);
    drive(rerun, random, versions, &versions->new, 1);
    assert_int_equal(rerun->done, 0);
    assert_memory_equal(result, versions->new.bytes, length);
    close_rerun(rerun);
    free(rerun);
    return kept;
}

static size_t resume(const struct reference_case *test, struct cv_random *random,
                     bool stream)
{
    static struct versions versions;
    struct cv_splitter *splitter = parse(test->splitter);
    const size_t n = below(random, MOST);
    size_t length, kept = 0;

    for (size_t i = 0; i < n; i++)
        versions.bytes[0][i] = test->letters[below(random, test->nletters)];
    length = next_version(test, random, &versions, n);
    versions.header = below(random, 2) == 0;
    versions.stream = stream;
    split_input_open(&versions.old, splitter, versions.bytes[0], n);
    split_input_open(&versions.new, splitter, versions.bytes[1], length);
    if (test->reference(versions.bytes[0], n, versions.old.is) &&
        test->reference(versions.bytes[1], length, versions.new.is))
        kept = run_twice(test, &versions, random);
    unlink(database);
    split_input_close(&versions.old);
    split_input_close(&versions.new);
    cv_splitter_free(splitter);
    return kept;
}

static void all_splitters(void **state)
{
    const size_t before = open_descriptors();
    struct cv_random random;
    size_t kept[2] = { 0, 0 };

    (void)state;
    cv_random_at(&random, 21, 0, 0, 0);
    for (size_t k = 0; k < REFERENCE_CASES; k++)
        for (size_t number = 0; number < 10; number++)
            for (int stream = 0; stream < 2; stream++)
                kept[stream] += resume(&reference_cases[k], &random, stream);
    assert_true(kept[0] > 100 && kept[1] > 100);
    assert_int_equal(open_descriptors(), before);
}

/* A file that grows: only the chunk is done again whose last line was cut short. */
static void grown_file(void **state)
{
    static struct versions versions;
    static const char *const old[] = { "a\nb\nc\nd\n", "a\nb\nc\nd" };
    struct reference_case test = reference_cases[0];
    struct cv_splitter *splitter = parse("lines");

    (void)state;
    assert_string_equal(test.splitter, "lines");
    for (size_t k = 0; k < 2; k++) {
        struct rerun rerun = { .result = { (char[64]){ 0 }, 0, 64 } };
        struct cv_random random;

        cv_random_at(&random, 5, 0, 0, 0);
        snprintf(versions.bytes[0], LONGER, "%s", old[k]);
        snprintf(versions.bytes[1], LONGER, "%se\nf\n", old[k]);
        split_input_open(&versions.old, splitter, versions.bytes[0], strlen(old[k]));
        split_input_open(&versions.new, splitter, versions.bytes[1], strlen(old[k]) + 4);
        test.reference(versions.bytes[0], versions.old.n, versions.old.is);
        test.reference(versions.bytes[1], versions.new.n, versions.new.is);
        open_rerun(&rerun, &versions, "lines", CV_JOURNAL_NEW);
        for (;;) {
            struct cv_piece piece;
            enum cv_take taken;

            assert_ok(cv_source_take(rerun.source, 1, &taken, &piece, &err));
            if (taken == CV_TAKE_END)
                break;
            do_piece(&rerun, &piece);
        }
        assert_int_equal(rerun.done, 4);
        close_rerun(&rerun);
        memset(rerun.given, 0, sizeof rerun.given);
        open_rerun(&rerun, &versions, "lines", CV_JOURNAL_RESUME);
        drive(&rerun, &random, &versions, &versions.new, 1);
        assert_int_equal(rerun.kept, k == 0 ? 4 : 3);
        assert_memory_equal(rerun.result.bytes, versions.bytes[1], versions.new.n);
        close_rerun(&rerun);
        unlink(database);
        split_input_close(&versions.old);
        split_input_close(&versions.new);
    }
    cv_splitter_free(splitter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_splitters),
        cmocka_unit_test(grown_file),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
