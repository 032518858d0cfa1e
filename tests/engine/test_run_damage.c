/* test_run_damage.c -- a journal that is damaged gives the right output or an error, never
 * a wrong output. SPDX-License-Identifier: MIT
 *
 * CLEAVE_DAMAGES is how many random damages of each kind are tried, 40 unless told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "resume_check.h"

/* Every output is known, and one of them has several parts. */
static const char command[] =
    "awk '{print} /^77 /{for(i=0;i<120000;i++)print \"long\" i; fflush()}'";

static struct image whole;    /* a journal of all chunks            */
static struct image expected; /* the output                         */
static uint64_t finished;     /* chunks in the journal              */

static int make_journal(void **state)
{
    struct cleave_error err;

    if (make_folder(state) != 0)
        return 1;
    if (run_command(command, false, &err) != CLEAVE_OK)
        return 1;
    finished = got.chunks;
    whole = read_image(database);
    expected = (struct image){ malloc(got.n), got.n };
    memcpy(expected.bytes, got.bytes, got.n);
    return finished > 8 && expected.n > 1200000 ? 0 : 1;
}

static int forget_journal(void **state)
{
    free(whole.bytes);
    free(expected.bytes);
    return remove_folder(state);
}

static void right_output(const char *what)
{
    if (got.n != expected.n || memcmp(got.bytes, expected.bytes, got.n) != 0)
        fail_msg("wrong output after %s: %zu bytes instead of %zu", what, got.n,
                 expected.n);
}

/* --- rows ------------------------------------------------------------------------------- */

/* One chunk was changed: it is reported and done again. */
static void one_again(const char *sql)
{
    char note[200];
    struct cleave_error err;

    write_image(&whole);
    change(sql);
    if (run_command(command, true, &err) != CLEAVE_OK)
        fail_msg("%s: %s", sql, err.text);
    right_output(sql);
    snprintf(note, sizeof note,
             "%s: the journal is damaged: 1 of its %d finished chunks is not as written "
             "and is done again",
             database, (int)finished);
    if (strcmp(got.note, note) != 0 || got.notes != 1)
        fail_msg("%s: expected '%s', got %zu notes, last '%s'", sql, note, got.notes,
                 got.note);
    assert_int_equal(got.resumed, finished - 1);
    /* Now the journal is good again. */
    assert_int_equal(run_command(command, true, &err), CLEAVE_OK);
    right_output("the second run");
    assert_int_equal(got.notes, 0);
    assert_int_equal(got.chunks, 0);
}

static void every_column(void **state)
{
    static const char *const changes[] = {
        "UPDATE chunk SET id = 1000 WHERE id = 4",
        "UPDATE chunk SET file = 1 WHERE id = 4",
        "UPDATE chunk SET file = -1 WHERE id = 4",
        "UPDATE chunk SET first_byte = first_byte - 1 WHERE id = 4",
        "UPDATE chunk SET first_byte = -first_byte WHERE id = 4",
        "UPDATE chunk SET end_byte = end_byte + 1 WHERE id = 4",
        "UPDATE chunk SET end_byte = 9223372036854775807 WHERE id = 4",
        "UPDATE chunk SET hash = replace(hash, substr(hash, 1, 1), 'z') WHERE id = 4",
        "UPDATE chunk SET hash = (SELECT hash FROM chunk WHERE id = 5) WHERE id = 4",
        "UPDATE chunk SET hash = x'00' WHERE id = 4",
        "UPDATE chunk SET status = 1 WHERE id = 4",
        "UPDATE chunk SET status = 4294967296 WHERE id = 4",
        "UPDATE chunk SET seconds = seconds + 1 WHERE id = 4",
        "UPDATE chunk SET worker = 'somebody' WHERE id = 4",
        "UPDATE chunk SET worker = hex(zeroblob(1000000)) WHERE id = 4",
        "UPDATE chunk SET output_bytes = output_bytes - 1 WHERE id = 4",
        "UPDATE chunk SET output_bytes = -1 WHERE id = 4",
        "UPDATE chunk SET output_bytes = 'many' WHERE id = 4",
        "UPDATE chunk SET output_hash = seal WHERE id = 4",
        "UPDATE chunk SET seal = (SELECT seal FROM chunk WHERE id = 5) WHERE id = 4",
        "UPDATE chunk SET seal = '' WHERE id = 4",
        "UPDATE output SET bytes = zeroblob(length(bytes)) WHERE chunk = 4",
        "UPDATE output SET bytes = cast(bytes AS TEXT) WHERE chunk = 4",
        "UPDATE output SET bytes = x'' WHERE chunk = 4",
        "UPDATE output SET bytes = bytes || x'00' WHERE chunk = 4",
        "UPDATE output SET bytes = zeroblob(60000000) WHERE chunk = 4",
        "UPDATE output SET bytes = (SELECT min(bytes) FROM output) WHERE chunk = 4",
        /* Which chunk is done as the fourth, and so whether it has a second part, is chance. */
        "UPDATE output SET part = part + 5 WHERE chunk = 4",
        "INSERT INTO output SELECT 4, max(part) + 1, 'more' FROM output WHERE chunk = 4",
        "DELETE FROM output WHERE chunk = 4",
        "DELETE FROM output WHERE part = 1",
        "UPDATE output SET part = 2 WHERE part = 1",
        "UPDATE output SET bytes = zeroblob(length(bytes)) WHERE part = 1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        one_again(changes[i]);
}

/* Damage is counted, however often it happens. */
static void every_chunk(void **state)
{
    char note[200];
    struct cleave_error err;

    (void)state;
    write_image(&whole);
    change("UPDATE output SET bytes = zeroblob(length(bytes)) WHERE chunk % 2 = 0;"
           "UPDATE chunk SET status = 7 WHERE id % 2 = 1");
    assert_int_equal(run_command(command, true, &err), CLEAVE_OK);
    right_output("damage to every chunk");
    snprintf(note, sizeof note, "%d of its %d finished chunks are not as written",
             (int)finished, (int)finished);
    assert_non_null(strstr(got.note, note));
    assert_int_equal(got.notes, 1);
    assert_int_equal(got.resumed, 0);
}

/* Damage to the rows of the run and its inputs cannot be repaired. */
static void run_and_inputs(void **state)
{
    static const char *const changes[] = {
        "UPDATE run SET key = key + 1",
        "UPDATE run SET command = command || ' '",
        "UPDATE run SET command = x'636174'",
        "UPDATE run SET splitter = 'csv'",
        "UPDATE run SET header = 1",
        "UPDATE run SET header = 2",
        "UPDATE run SET pairs = 1",
        "UPDATE run SET persistent = 1",
        "UPDATE run SET started = ''",
        "UPDATE run SET seal = ''",
        "DELETE FROM run",
        "INSERT INTO run SELECT * FROM run",
        "UPDATE input SET file = 1",
        "UPDATE input SET path = '/nowhere'",
        "UPDATE input SET device = device + 1",
        "UPDATE input SET inode = 'x'",
        "UPDATE input SET size = size + 1",
        "UPDATE input SET mtime_ns = 0",
        "UPDATE input SET seal = 'z'",
        "DELETE FROM input",
    };

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct cleave_error err;

        write_image(&whole);
        change(changes[i]);
        if (run_command(command, true, &err) != CLEAVE_EINPUT ||
            strstr(err.text, "the journal is damaged: the notes about its ") == NULL ||
            strstr(err.text, "use journal.overwrite") == NULL)
            fail_msg("%s: got '%s'", changes[i], err.text);
        assert_string_equal(err.file, database);
    }
}

/* Rows of another run in the same file, as a page that was never written leaves behind. */
static void rows_of_another_run(void **state)
{
    char sql[300], other[90];
    struct cleave_error err;

    (void)state;
    remove_journal();
    assert_int_equal(run_command("tr a-z A-Z", false, &err), CLEAVE_OK);
    snprintf(other, sizeof other, "%s/other.db", folder);
    assert_int_equal(rename(database, other), 0);
    write_image(&whole);
    snprintf(sql, sizeof sql,
             "ATTACH '%s' AS other; DELETE FROM chunk; DELETE FROM output;"
             "INSERT INTO chunk SELECT * FROM other.chunk;"
             "INSERT INTO output SELECT * FROM other.output",
             other);
    change(sql);
    assert_int_equal(run_command(command, true, &err), CLEAVE_OK);
    right_output("rows of another run");
    assert_int_equal(got.resumed, 0);
    unlink(other);
}

/* --- bytes ------------------------------------------------------------------------------ */

static size_t damages_wanted(void)
{
    const char *text = getenv("CLEAVE_DAMAGES");
    const long n = text != NULL ? strtol(text, NULL, 10) : 0;

#ifdef __SANITIZE_ADDRESS__
    return n > 0 ? (size_t)n : 15;
#else
    return n > 0 ? (size_t)n : 40;
#endif
}

/* A place that is more likely in the small tables than such a small part of the file. */
static size_t some_place(struct cv_random *random)
{
    const size_t pages = whole.n / 8192, page = below(random, 2) ? below(random, 8) : 0;

    return below(random, 2) == 0 && pages > 8
               ? (page < pages ? page : 0) * 8192 + below(random, 8192)
               : below(random, whole.n);
}

enum kind { FLIP, OVERWRITE, ZERO_PAGE, COPY_PAGE, TRUNCATE, TEXT, KINDS };

static void damage(struct image *image, enum kind kind, struct cv_random *random)
{
    const size_t at = some_place(random), from = below(random, image->n);
    const size_t length = 1 + below(random, 40);

    if (kind == FLIP)
        image->bytes[at] = (char)(image->bytes[at] ^ (1 << below(random, 8)));
    for (size_t i = at; kind == OVERWRITE && i < at + length && i < image->n; i++)
        image->bytes[i] = (char)cv_random_bits(random);
    if (kind == ZERO_PAGE)
        memset(image->bytes + at / 8192 * 8192, 0, 8192);
    if (kind == COPY_PAGE)
        memmove(image->bytes + at / 8192 * 8192, image->bytes + from / 8192 * 8192, 8192);
    if (kind == TRUNCATE)
        image->n = from;
    if (kind == TEXT) { /* a digit in an output */
        char *place = memmem(image->bytes + from, image->n - from, "long", 4);

        if (place != NULL)
            place[4] ^= 1;
    }
}

static void any_byte(void **state)
{
    const size_t before = open_descriptors(), wanted = damages_wanted();
    struct image image = { malloc(whole.n), whole.n };
    size_t right = 0, refused = 0, noticed = 0;
    struct cv_random random;

    (void)state;
    assert_non_null(image.bytes);
    cv_random_at(&random, 77, 0, 0, 0);
    for (size_t i = 0; i < wanted * KINDS; i++) {
        const enum kind kind = (enum kind)(i % KINDS);
        char what[64];
        struct cleave_error err;

        snprintf(what, sizeof what, "damage %zu of kind %d", i, (int)kind);
        memcpy(image.bytes, whole.bytes, whole.n);
        image.n = whole.n;
        damage(&image, kind, &random);
        write_image(&image);
        if (run_command(command, true, &err) == CLEAVE_OK) {
            right_output(what);
            right++;
            noticed += got.notes > 0;
        } else {
            if (err.text[0] == '\0' || strcmp(err.file, database) != 0)
                fail_msg("%s: an error without a word: '%s'", what, err.text);
            refused++;
        }
    }
    print_message("%zu damages: %zu right (%zu with a note), %zu errors\n",
                  wanted * KINDS, right, noticed, refused);
    assert_true(right > wanted && noticed > 10 && refused > 10);
    assert_int_equal(open_descriptors(), before);
    free(image.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column),   cmocka_unit_test(every_chunk),
        cmocka_unit_test(run_and_inputs), cmocka_unit_test(rows_of_another_run),
        cmocka_unit_test(any_byte),
    };

    return cmocka_run_group_tests(tests, make_journal, forget_journal);
}
