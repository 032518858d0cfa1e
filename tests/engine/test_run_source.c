/* test_run_source.c -- inputs handed out in pieces, against a model of taken ranges.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include "run/input/source.h"
#include "own_folder.h"
#include "run_check.h"
#include "unit/split_check.h"

enum { MOST = 1200, FILES = 3, HANDS = 5 };

/* --- a model ------------------------------------------------------------------------------ */

/* An input of up to three files, or of one stream, with expected properties. */
struct model {
    struct split_input files[FILES];
    size_t nfiles;
    size_t base[FILES + 1];
    char owner[FILES * MOST]; /* state of each byte: waiting, taken, finished */
    bool header, stream, numbers;
    struct cv_source *source;
    struct cv_piece hands[HANDS]; /* pieces taken */
    size_t nhands;
    int writer; /* the pipe into a stream; -1: closed */
    size_t fed;
};

enum { WAITING = 0, TAKEN, FINISHED };

static void set_owner(struct model *model, const struct cv_piece *piece, char from,
                      char to)
{
    for (uint64_t i = piece->begin; i < piece->end; i++) {
        assert_int_equal(model->owner[i], from);
        model->owner[i] = to;
    }
}

/* The bytes before each piece of an array of JSON but the first. */
static size_t frame_of(const struct split_input *file)
{
    size_t head = 0;
    bool found;

    if (!cv_splitter_frames(file->splitter))
        return 0;
    assert_ok(cv_splitter_head(file->splitter, file->bytes, file->n, true, &found, &head,
                               NULL));
    return head;
}

/* Where it is in the input. */
static struct cv_range place_of(const struct cv_piece *piece)
{
    return (struct cv_range){ piece->body.begin - piece->skip, piece->body.end };
}

/* Bytes required after the last record of a file when another file with bytes follows. */
static enum cv_closing closing_of(const struct model *model, const struct cv_piece *piece)
{
    const struct split_input *file = &model->files[piece->file];
    const char *how = cv_splitter_text(file->splitter);
    const char last = file->bytes[file->n - 1];
    size_t back = file->n - 1;

    if (frame_of(file) > 0 && piece->body.end < file->n)
        return cv_splitter_has_tail(file->splitter) ? CV_CLOSING_TEXT : CV_CLOSING_ARRAY;
    if (piece->body.end < file->n ||
        model->base[piece->file + 1] == model->base[model->nfiles] ||
        strncmp(how, "fixed", 5) == 0)
        return CV_CLOSING_NONE;
    if (strcmp(how, "nul") == 0)
        return last == '\0' ? CV_CLOSING_NONE : CV_CLOSING_ZERO;
    if (strcmp(how, "paragraph") != 0)
        return last == '\n' ? CV_CLOSING_NONE : CV_CLOSING_LINE;
    if (last != '\n')
        return CV_CLOSING_EMPTY;
    if (back > 0 && file->bytes[back - 1] == '\r')
        back--;
    return back == 0 || file->bytes[back - 1] == '\n' ? CV_CLOSING_NONE : CV_CLOSING_LINE;
}

/* The bytes that a piece gives to a command agree with the model. */
static void check_piece(struct model *model, const struct cv_piece *piece)
{
    const struct split_input *file = &model->files[piece->file];
    const struct cv_range place = place_of(piece);
    const struct cv_part body = cv_piece_body(piece), first = cv_piece_header(piece);
    const size_t frame = frame_of(file);
    const size_t header = place.begin == 0 ? 0
                          : model->header  ? split_at(file, 1)
                                           : frame;
    char bytes[MOST];
    ssize_t n;

    assert_true(place.begin < place.end && place.end <= file->n);
    assert_true(file->is[place.begin] && file->is[place.end]);
    assert_int_equal(piece->begin, model->base[piece->file] + place.begin);
    assert_int_equal(piece->end - piece->begin, place.end - place.begin);
    assert_int_equal(piece->skip, frame > 0 && place.begin > 0 &&
                                      !cv_splitter_has_tail(file->splitter));
    assert_int_equal(piece->header.begin, 0);
    assert_int_equal(piece->header.end, header);
    n = cv_part_read(&body, body.begin, bytes, sizeof bytes);
    assert_int_equal(n, piece->body.end - piece->body.begin);
    assert_memory_equal(bytes, file->bytes + piece->body.begin, (size_t)n);
    assert_int_equal(cv_part_read(&first, 0, bytes, sizeof bytes), header);
    assert_memory_equal(bytes, file->bytes, header);
    assert_int_equal(piece->mate_fd, -1);
    assert_int_equal(piece->closing, closing_of(model, piece));
}

static void check_numbers(struct model *model, const struct cv_piece *piece)
{
    const struct split_input *file = &model->files[piece->file];
    const struct cv_range place = place_of(piece);
    uint64_t first = 77, count = 77;

    assert_ok(cv_source_records(model->source, piece, &first, &count, &err));
    assert_int_equal(count, split_records(file, place.begin, place.end));
    if (model->stream && !model->numbers)
        assert_int_equal(first, 0);
    else
        assert_int_equal(first, 1 + split_records(file, 0, place.begin));
}

/* The pipe gets a little more, or is closed. */
static void feed_some(struct model *model, struct cv_random *random)
{
    const size_t left = model->files[0].n - model->fed;
    const size_t length = left > 0 ? 1 + below(random, left < 60 ? left : 60) : 0;

    if (!model->stream || model->writer < 0)
        return;
    if (length == 0) {
        close(model->writer);
        model->writer = -1;
        return;
    }
    assert_int_equal(write(model->writer, model->files[0].bytes + model->fed, length),
                     length);
    model->fed += length;
}

/* The first byte that waits, as a place in its file. */
static bool first_waiting(const struct model *model, size_t *file, size_t *offset)
{
    for (size_t i = 0; i < model->base[model->nfiles]; i++)
        if (model->owner[i] == WAITING) {
            for (*file = 0; i >= model->base[*file + 1];)
                ++*file;
            *offset = i - model->base[*file];
            return true;
        }
    return false;
}

/* A piece of about `wanted` bytes is new. */
static void keep(struct model *model, const struct cv_piece *piece, size_t wanted)
{
    const struct split_input *file = &model->files[piece->file];
    const size_t begin = place_of(piece).begin;
    size_t max = split_at(file, begin + (wanted > 0 ? wanted : 1));

    if (model->header && begin == 0 && split_at(file, 1) >= max)
        max = split_at(file, max + 1);
    assert_true(piece->body.end <= max);
    check_piece(model, piece);
    set_owner(model, piece, WAITING, TAKEN);
    model->hands[model->nhands++] = *piece;
}

static void take(struct model *model, size_t wanted)
{
    struct cv_piece piece;
    enum cv_take state;
    size_t file = 0, offset = 0;
    const bool any = first_waiting(model, &file, &offset);

    assert_ok(cv_source_take(model->source, wanted, &state, &piece, &err));
    if (state != CV_TAKE_PIECE) {
        assert_true(state == CV_TAKE_END ? !any : model->stream);
        return;
    }
    assert_true(any);
    assert_int_equal(piece.file, file);
    assert_int_equal(place_of(&piece).begin, offset);
    keep(model, &piece, wanted);
}

/* From the largest range, with or without room behind the piece. */
static void take_largest(struct model *model, size_t wanted, bool last, size_t room)
{
    struct cv_piece piece;
    enum cv_take state;
    uint64_t begin;

    if (!cv_source_largest(model->source, &begin))
        return;
    assert_ok(
        cv_source_take_largest(model->source, wanted, last, room, &state, &piece, &err));
    if (state != CV_TAKE_PIECE)
        return;
    assert_true(last ? piece.begin >= begin : piece.begin == begin);
    for (uint64_t i = begin; i < piece.begin; i++)
        assert_int_equal(model->owner[i], WAITING);
    keep(model, &piece, wanted);
}

static void give_away(struct model *model, size_t unread, bool finish)
{
    const struct cv_piece piece = model->hands[unread];

    if (finish)
        assert_ok(cv_source_finish(model->source, &piece, &err));
    else
        assert_ok(cv_source_put_back(model->source, &piece, &err));
    set_owner(model, &piece, TAKEN, finish ? FINISHED : WAITING);
    model->hands[unread] = model->hands[--model->nhands];
}

static void part(struct model *model, size_t unread, struct cv_random *random)
{
    const struct cv_piece piece = model->hands[unread];
    const struct split_input *file = &model->files[piece.file];
    const size_t begin = piece.body.begin, end = piece.body.end;
    const size_t from = begin + below(random, end - begin + 2);
    struct cv_piece head, tail;
    size_t cut = split_at(file, from > begin ? from : begin + 1);

    if (model->header && begin == 0 && cut <= split_at(file, 1))
        cut = split_at(file, split_at(file, 1) + 1);
    if (cut > end)
        cut = end;
    assert_ok(cv_source_part(model->source, &piece, from, &head, &tail, &err));
    assert_int_equal(head.body.begin, begin);
    assert_int_equal(head.body.end, cut);
    assert_int_equal(place_of(&tail).begin, cut);
    assert_int_equal(tail.body.end, end);
    assert_int_equal(tail.begin, head.end);
    assert_int_equal(tail.end, piece.end);
    check_piece(model, &head);
    model->hands[unread] = head;
    if (cut < end) {
        check_piece(model, &tail);
        model->hands[model->nhands++] = tail;
        give_away(model, model->nhands - 1, false);
    }
}

static void one_step(struct model *model, struct cv_random *random, bool empties)
{
    const size_t unread = model->nhands > 0 ? below(random, model->nhands) : 0;
    const size_t what = below(random, 8);

    if (model->stream) {
        feed_some(model, random);
        if (cv_source_wants(model->source))
            assert_ok(cv_source_pump(model->source, &err));
    }
    if (what < 2 && model->nhands < HANDS - 1)
        take_largest(model, below(random, 40), below(random, 2) == 0, below(random, 90));
    else if (what < 4 && model->nhands < HANDS - 1)
        take(model, below(random, 40));
    else if (model->nhands == 0)
        return;
    else if (what == 4)
        give_away(model, unread, false);
    else if (what == 5)
        part(model, unread, random);
    else
        give_away(model, unread, true);
    if (model->nhands > 0 && !empties && below(random, 4) == 0)
        check_numbers(model, &model->hands[model->nhands - 1]);
}

static void play(struct model *model, struct cv_random *random, bool empties)
{
    const size_t total = model->base[model->nfiles];
    size_t finished = 0;

    for (unsigned turn = 0; finished < total; turn++) {
        assert_true(turn < 100000);
        one_step(model, random, empties);
        finished = 0;
        for (size_t i = 0; i < total; i++)
            finished += model->owner[i] == FINISHED;
    }
    while (model->writer >= 0)
        feed_some(model, random);
    assert_ok(cv_source_pump(model->source, &err));
    take(model, 1); /* finds that it is the end */
    assert_true(cv_source_left(model->source) == 0);
    assert_true(cv_source_total(model->source) == (double)total);
    assert_int_equal(model->nhands, 0);
}

/* Make an input of random letters, open it, take it apart. */
static void try_input(const struct reference_case *test, struct cv_random *random,
                      bool stream)
{
    const size_t before = open_descriptors();
    struct cv_splitter *splitter = parse(test->splitter);
    struct cv_source_options options = { .splitter = splitter };
    struct model *model = calloc(1, sizeof *model);
    char bytes[FILES][MOST], paths[FILES][128];
    const char *names[FILES];
    bool good = true;
    int pipes[2];

    assert_non_null(model);
    model->nfiles = stream ? 1 : 1 + below(random, FILES);
    model->writer = -1;
    model->stream = stream;
    model->header = options.header =
        below(random, 2) == 0 && !cv_splitter_frames(splitter);
    model->numbers = options.numbers = below(random, 2) == 0;
    options.hold = 1 + below(random, 200);
    options.shares = (unsigned)below(random, 4);
    for (size_t k = 0; k < model->nfiles; k++) {
        const size_t n = below(random, below(random, 2) == 0 ? 20 : MOST);

        for (size_t i = 0; i < n; i++)
            bytes[k][i] = test->letters[below(random, test->nletters)];
        split_input_open(&model->files[k], splitter, bytes[k], n);
        good = test->reference(bytes[k], n, model->files[k].is) && good;
        model->base[k + 1] = model->base[k] + n;
        names[k] = paths[k];
        snprintf(paths[k], sizeof paths[k], "%s/%zu", folder, k);
        write_file(paths[k], bytes[k], n);
    }
    if (stream) {
        assert_int_equal(pipe(pipes), 0);
        model->writer = pipes[1];
        snprintf(paths[0], sizeof paths[0], "/dev/fd/%d", pipes[0]);
    }
    if (good) {
        assert_ok(cv_source_open(names, model->nfiles, &options, &model->source, &err));
        if (stream)
            close(pipes[0]);
        play(model, random, strcmp(test->splitter, "fastq") == 0);
        cv_source_free(model->source);
    } else if (stream) {
        close(pipes[0]);
        close(pipes[1]);
    }
    for (size_t k = 0; k < model->nfiles; k++) {
        split_input_close(&model->files[k]);
        snprintf(paths[k], sizeof paths[k], "%s/%zu", folder, k);
        unlink(paths[k]);
    }
    free(model);
    cv_splitter_free(splitter);
    assert_int_equal(open_descriptors(), before);
}

static void any_order(void **state)
{
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 11, 0, 0, 0);
    for (size_t k = 0; k < REFERENCE_CASES; k++)
        for (size_t number = 0; number < 40; number++) {
            try_input(&reference_cases[k], &random, false);
            try_input(&reference_cases[k], &random, true);
        }
}

/* --- files -------------------------------------------------------------------------------- */

/* More files than descriptors; small ones are a piece each. */
static void many_files(void **state)
{
    enum { MANY = 300 };
    struct cv_splitter *splitter = parse("csv");
    const struct cv_source_options options = { .splitter = splitter, .header = true };
    static char paths[MANY][128];
    const char *names[MANY];
    struct cv_source *source = NULL;
    struct cv_piece pieces[2], piece;
    struct rlimit limit, few;
    enum cv_take taken;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/f%zu", folder, i);
        write_file(paths[i], "a,b\n1,2\n3,4\n", i % 3 == 2 ? 0 : 12);
        names[i] = paths[i];
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    few.rlim_cur = 40;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_ok(cv_source_open(names, MANY, &options, &source, &err));
    for (;; n++) {
        assert_ok(cv_source_take(source, 5, &taken, &piece, &err));
        if (taken == CV_TAKE_END)
            break;
        assert_int_equal(piece.file % 3 == 2, 0);
        /* Never the header alone. */
        assert_int_equal(piece.body.begin, n % 2 == 0 ? 0 : 8);
        assert_int_equal(piece.header.end, n % 2 == 0 ? 0 : 4);
        if (n >= 2) {
            assert_ok(cv_source_check(source, &pieces[n % 2], &err));
            assert_ok(cv_source_finish(source, &pieces[n % 2], &err));
        }
        pieces[n % 2] = piece;
    }
    assert_int_equal(n, 2 * (MANY - MANY / 3));
    assert_true(cv_source_left(source) == 0);
    cv_source_free(source);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (size_t i = 0; i < MANY; i++)
        unlink(paths[i]);
    cv_splitter_free(splitter);
}

static void changed_file(void **state)
{
    struct cv_splitter *splitter = parse("lines");
    const struct cv_source_options options = { .splitter = splitter };
    struct cv_source *source = NULL;
    struct cleave_error why;
    struct cv_piece one, two;
    enum cv_take taken;
    char paths[2][128];
    const char *names[] = { path_of(paths[0], "one"), path_of(paths[1], "two") };
    const struct timespec times[2] = { { 1, 0 }, { 1, 0 } };

    (void)state;
    write_file(paths[0], "1\n2\n3\n", 6);
    write_file(paths[1], "1\n2\n3\n", 6);
    assert_ok(cv_source_open(names, 2, &options, &source, &err));
    assert_int_equal(cv_source_take(source, 2, &taken, &one, &why), CLEAVE_OK);
    assert_int_equal(cv_source_check(source, &one, &why), CLEAVE_OK);
    write_file(paths[0], "1\n2\n3\n4\n", 8);
    assert_int_equal(cv_source_check(source, &one, &why), CLEAVE_EINPUT);
    assert_string_equal(why.file, paths[0]);
    assert_string_equal(why.text, "changed while it was in use: 6 bytes at first, now 8");
    write_file(paths[0], "1\n2\n9\n", 6);
    assert_int_equal(utimensat(AT_FDCWD, paths[0], times, 0), 0);
    assert_int_equal(cv_source_check(source, &one, &why), CLEAVE_EINPUT);
    assert_string_equal(why.text, "changed while it was in use: written to");
    /* The second one is replaced before it is opened again. */
    assert_int_equal(cv_source_take(source, 9, &taken, &two, &why), CLEAVE_OK);
    write_file(paths[0], "1\n2\n3\n", 6);
    assert_int_equal(rename(paths[0], paths[1]), 0);
    assert_int_equal(cv_source_take(source, 9, &taken, &two, &why), CLEAVE_EINPUT);
    assert_string_equal(why.file, paths[1]);
    assert_string_equal(why.text, "changed while it was in use: now another file");
    cv_source_free(source);
    unlink(paths[1]);
    cv_splitter_free(splitter);
}

/* A cut just past 4 GiB, in a record that lies across. */
static void large_file(void **state)
{
    const off_t four = (off_t)1 << 32;
    struct cv_splitter *splitter = parse("lines");
    const struct cv_source_options options = { .splitter = splitter, .header = true };
    struct cv_source *source = NULL;
    struct cv_piece one, two;
    enum cv_take taken;
    char path[128];
    const char *name = path_of(path, "large");
    const int fd = open(path, O_WRONLY | O_CREAT, 0666);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "head\n", 5, 0), 5);
    assert_int_equal(pwrite(fd, "\n", 1, four - 3), 1);
    assert_int_equal(pwrite(fd, "\n", 1, four + 5000), 1);
    assert_int_equal(ftruncate(fd, four + 9000), 0);
    close(fd);
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    assert_ok(cv_source_take(source, (uint64_t)four - 2, &taken, &one, &err));
    assert_int_equal(one.end, four - 2);
    assert_ok(cv_source_take(source, 10, &taken, &two, &err));
    assert_int_equal(two.begin, four - 2);
    assert_int_equal(two.end, four + 5001);
    assert_int_equal(two.header.end, 5);
    assert_ok(cv_source_put_back(source, &one, &err));
    assert_true(cv_source_left(source) == (double)(four - 2 + 3999));
    cv_source_free(source);
    unlink(path);
    cv_splitter_free(splitter);
}

static struct cv_piece largest_of(struct cv_source *source, uint64_t wanted, bool last,
                                  uint64_t room)
{
    struct cv_piece piece = { .fd = -1 };
    enum cv_take taken;

    assert_ok(cv_source_take_largest(source, wanted, last, room, &taken, &piece, &err));
    assert_int_equal(taken, CV_TAKE_PIECE);
    return piece;
}

static void expect_piece(struct cv_piece piece, uint64_t begin, uint64_t end)
{
    assert_int_equal(piece.begin, begin);
    assert_int_equal(piece.end, end);
}

/* 100 lines of 10 bytes; then one of 700 at the end. */
static void largest_range(void **state)
{
    struct cv_splitter *splitter = parse("lines"), *csv = parse("csv");
    struct cv_source_options options = { .splitter = splitter };
    struct cv_source *source = NULL;
    struct cv_piece first;
    char bytes[1000], path[128];
    const char *name = path_of(path, "largest");
    uint64_t begin;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i % 10 == 9 ? '\n' : 'x';
    write_file(path, bytes, sizeof bytes);
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    assert_true(cv_source_largest(source, &begin));
    assert_int_equal(begin, 0);
    first = largest_of(source, 50, false, 0);
    expect_piece(first, 0, 50);
    assert_true(cv_source_extends(source, &first, 50));
    expect_piece(largest_of(source, 50, true, 300), 700, 750);
    assert_true(cv_source_largest(source, &begin)); /* 50 to 700, 750 to 1000 */
    assert_int_equal(begin, 50);
    expect_piece(largest_of(source, 50, true, 0), 650, 700);
    expect_piece(largest_of(source, 500, true, 900), 150, 650);
    assert_true(cv_source_largest(source, &begin)); /* 50 to 150, 750 to 1000 */
    assert_int_equal(begin, 750);
    assert_false(cv_source_extends(source, &first, begin));
    cv_source_free(source);
    /* No line begins in what is wanted. */
    memset(bytes + 300, 'x', 699);
    write_file(path, bytes, sizeof bytes);
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    expect_piece(largest_of(source, 50, true, 0), 0, 50);
    cv_source_free(source);
    /* Where records begin is not known without what is before them. */
    options.splitter = csv;
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    assert_false(cv_source_largest(source, &begin));
    cv_source_free(source);
    unlink(path);
    cv_splitter_free(splitter);
    cv_splitter_free(csv);
}

/* --- pairs -------------------------------------------------------------------------------- */

static size_t add_record(char *bytes, size_t number, size_t width)
{
    size_t n = (size_t)sprintf(bytes, "@%zu\n", number);

    for (int line = 0; line < 2; line++) {
        memset(bytes + n, line == 0 ? 'A' : 'I', width);
        n += width;
        n += (size_t)sprintf(bytes + n, line == 0 ? "\n+\n" : "\n");
    }
    return n;
}

static long number_at(int fd, uint64_t offset)
{
    char bytes[16] = "";

    assert_true(pread(fd, bytes, sizeof bytes - 1, (off_t)offset) > 1);
    assert_int_equal(bytes[0], '@');
    return strtol(bytes + 1, NULL, 10);
}

static void mates(void **state)
{
    enum { RECORDS = 3000, RECORD_MOST = 150 };
    struct cv_splitter *splitter = parse("fastq");
    char paths[2][128], *bytes[2];
    const char *name = path_of(paths[0], "1.fastq");
    const struct cv_source_options options = { .splitter = splitter,
                                               .pairs = path_of(paths[1], "2.fastq") };
    struct cv_source *source = NULL;
    struct cv_random random;
    struct cv_piece piece, head, tail;
    struct cleave_error why;
    enum cv_take taken;
    size_t n[2] = { 0, 0 }, last = 0;
    uint64_t at[2] = { 0, 0 };

    (void)state;
    cv_random_at(&random, 9, 0, 0, 0);
    for (int k = 0; k < 2; k++) {
        bytes[k] = malloc((size_t)RECORDS * RECORD_MOST);
        assert_non_null(bytes[k]);
        for (size_t i = 0; i < RECORDS; i++) {
            last = n[k];
            n[k] += add_record(bytes[k] + n[k], i, 1 + below(&random, 60));
        }
        write_file(paths[k], bytes[k], n[k]);
    }
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    assert_int_equal(cv_source_inputs(source), 2);
    while (at[0] < n[0]) {
        assert_ok(cv_source_take(source, 1 + below(&random, 9000), &taken, &piece, &err));
        assert_int_equal(taken, CV_TAKE_PIECE);
        assert_int_equal(piece.body.begin, at[0]);
        assert_int_equal(piece.mate.begin, at[1]);
        assert_int_equal(number_at(piece.fd, at[0]), number_at(piece.mate_fd, at[1]));
        assert_ok(cv_source_part(source, &piece, piece.body.begin + below(&random, 9000),
                                 &head, &tail, &err));
        assert_int_equal(head.mate.begin, at[1]);
        assert_int_equal(head.mate.end, tail.mate.begin);
        assert_int_equal(tail.mate.end, piece.mate.end);
        assert_ok(cv_source_put_back(source, &tail, &err));
        assert_ok(cv_source_finish(source, &head, &err));
        at[0] = head.body.end;
        at[1] = head.mate.end;
    }
    assert_int_equal(at[1], n[1]);
    cv_source_free(source);
    /* The second file is one record short. */
    write_file(paths[1], bytes[1], last);
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    assert_int_equal(cv_source_take(source, n[0], &taken, &piece, &why), CLEAVE_EINPUT);
    assert_non_null(strstr(why.text, "expected 3000 records, as many as "));
    assert_true(cv_source_left(source) == (double)n[0]);
    cv_source_free(source);
    for (int k = 0; k < 2; k++) {
        unlink(paths[k]);
        free(bytes[k]);
    }
    cv_splitter_free(splitter);
}

/* --- the end and what is wrong ------------------------------------------------------------ */

static void check_torn(const char *how, const char *text, bool stream,
                       const char *expected)
{
    struct cv_splitter *splitter = parse(how);
    const struct cv_source_options options = { .splitter = splitter };
    struct cleave_error note = { .text = "" };
    struct cv_source *source = NULL;
    struct cv_piece piece;
    enum cv_take taken;
    char path[128];
    const char *name = path;
    int pipes[2];

    if (stream) {
        assert_int_equal(pipe(pipes), 0);
        assert_int_equal(write(pipes[1], text, strlen(text)), strlen(text));
        close(pipes[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", pipes[0]);
    } else {
        write_file(path_of(path, "torn"), text, strlen(text));
    }
    assert_ok(cv_source_open(&name, 1, &options, &source, &err));
    do {
        assert_ok(cv_source_pump(source, &err));
        assert_ok(cv_source_take(source, 1, &taken, &piece, &err));
        if (taken == CV_TAKE_PIECE)
            assert_ok(cv_source_finish(source, &piece, &err));
    } while (taken != CV_TAKE_END);
    assert_int_equal(cv_source_check_end(source, &note),
                     expected != NULL ? CLEAVE_EINPUT : CLEAVE_OK);
    if (expected != NULL) {
        assert_string_equal(note.text, expected);
        assert_string_equal(note.file, path);
    }
    cv_source_free(source);
    if (stream)
        close(pipes[0]);
    else
        unlink(path);
    cv_splitter_free(splitter);
}

static void torn_ends(void **state)
{
    (void)state;
    for (int stream = 0; stream < 2; stream++) {
        check_torn("csv", "a,b\n1,\"2\n3\n", stream,
                   "the last record, from byte 4 on, is cut short by the end");
        check_torn("csv", "a\n\"", stream,
                   "the last record, from byte 2 on, is cut short by the end");
        check_torn("csv", "a,b\n1,2", stream, NULL);
        check_torn("lines", "a\nb", stream, NULL);
        check_torn("fastq", "@1\nA\n+\nI\n@2\nAC\n+\nI", stream,
                   "the last record, from byte 9 on, is cut short by the end");
        check_torn("fastq", "@1\nA\n+\nI\n", stream, NULL);
    }
}

static void refused(const char *const *paths, size_t n,
                    const struct cv_source_options *options, const char *expected)
{
    struct cv_source *source = NULL;
    struct cleave_error err;
    char text[512];

    assert_int_equal(cv_source_open(paths, n, options, &source, &err), CLEAVE_EINPUT);
    assert_null(source);
    cleave_error_format(&err, text, sizeof text);
    assert_string_equal(text, expected);
}

static void wrong_inputs(void **state)
{
    const size_t before = open_descriptors();
    struct cv_splitter *splitter = parse("lines"), *fastq = parse("fastq");
    struct cv_source_options options = { .splitter = splitter };
    char path[128];
    const char *names[] = { path_of(path, "a"), "/dev/zero" };

    (void)state;
    write_file(path, "a\n", 2);
    refused((const char *[]){ "/nowhere/x" }, 1, &options,
            "/nowhere/x: cannot read: No such file or directory");
    refused((const char *[]){ "/tmp" }, 1, &options,
            "/tmp: expected a file, got a directory");
    refused(names, 2, &options,
            "/dev/zero: expected regular files or one stream, got 2 inputs, and this one "
            "is not a regular file: 'cat A B | cleave ...' makes one stream of them");
    options.pairs = "/dev/null";
    refused(names, 1, &options,
            "/dev/null: expected a regular file for pairs, got a stream");
    refused((const char *[]){ "/dev/zero" }, 1, &options,
            "/dev/null: expected pairs of one regular file and another, got a stream");
    options.pairs = path;
    refused(names, 1, &options, "expected the splitter 'fastq' for pairs, got 'lines'");
    options.splitter = fastq;
    options.pairs = "/nowhere/y";
    refused(names, 1, &options, "/nowhere/y: cannot read: No such file or directory");
    unlink(path);
    cv_splitter_free(splitter);
    cv_splitter_free(fastq);
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order),     cmocka_unit_test(many_files),
        cmocka_unit_test(changed_file),  cmocka_unit_test(large_file),
        cmocka_unit_test(largest_range), cmocka_unit_test(mates),
        cmocka_unit_test(torn_ends),     cmocka_unit_test(wrong_inputs),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
