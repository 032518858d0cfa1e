/* fuzz_journal.c -- any bytes as changes to a journal. SPDX-License-Identifier: MIT
 *
 * A good journal is made once. An input is a list of changes to its bytes: four bytes are
 * the position, one is the number of bytes that follow (its lower half), and their use:
 * replacement, xor, or a whole page to be copied there (its upper half). Then the journal
 * is resumed as a run resumes it. For every change, an output that counts as complete
 * must be the one that was added for these bytes of the input. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/journal/journal.h"
#include "fuzz_target.h"

enum { INPUT = 600, CHUNK = 60, LINE = 10, PAGE = 8192, MOST = 1 << 20 };

static char folder[64] = "/dev/shm/cleave-fuzz-XXXXXX", input[80], database[80];
static uint8_t image[MOST], patched[MOST];
static size_t image_size;

/* Chunk k has an output of other bytes than its input. */
static size_t output_size(uint64_t begin)
{
    return begin == UINT64_C(4) * CHUNK ? 20000 : (size_t)(begin % 97) + 1;
}

static char output_byte(uint64_t begin, size_t i)
{
    return (char)(begin / CHUNK * 7 + i);
}

static void remove_files(void)
{
    static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
    char path[100];

    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", database, suffixes[i]);
        unlink(path);
    }
}

static void remove_folder(void)
{
    remove_files();
    unlink(input);
    rmdir(folder);
}

static void write_all(const char *path, const void *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

/* --- a run ------------------------------------------------------------------------------ */

struct rerun {
    struct cv_splitter *splitter;
    struct cv_source *source;
    struct cv_journal *journal;
};

static enum cleave_status open_run(struct rerun *rerun, enum cv_journal_mode mode)
{
    const struct cv_journal_run run = { .command = "cat", .splitter = "lines" };
    struct cv_source_options options = { .splitter = NULL };
    const char *names[] = { input };
    struct cleave_error err = { .text = "" };
    enum cleave_status status;

    rerun->journal = NULL;
    require(cv_splitter_parse("lines", &rerun->splitter, NULL) == CLEAVE_OK);
    options.splitter = rerun->splitter;
    require(cv_source_open(names, 1, &options, &rerun->source, NULL) == CLEAVE_OK);
    status = cv_journal_open(database, mode, &run, rerun->source, &rerun->journal, &err);
    require(status == CLEAVE_OK || err.text[0] != '\0');
    return status;
}

static void close_run(struct rerun *rerun)
{
    cv_journal_close(rerun->journal);
    cv_source_free(rerun->source);
    cv_splitter_free(rerun->splitter);
}

/* Every other chunk with the hash of its bytes is added. */
static void make_image(void)
{
    struct rerun rerun;
    const int fd = memfd_create("output", MFD_CLOEXEC);
    int made;

    require(open_run(&rerun, CV_JOURNAL_NEW) == CLEAVE_OK);
    for (size_t k = 0; k < INPUT / CHUNK; k++) {
        struct cv_journal_chunk chunk = { .worker = "w", .seconds = 0.5 };
        struct cv_piece piece;
        enum cv_take taken;
        size_t size;

        require(cv_source_take(rerun.source, CHUNK, &taken, &piece, NULL) == CLEAVE_OK &&
                taken == CV_TAKE_PIECE);
        chunk.begin = piece.body.begin;
        chunk.end = piece.body.end;
        size = output_size(chunk.begin);
        require(cv_source_hash(rerun.source, &piece, &chunk.hash, NULL) == CLEAVE_OK);
        for (size_t i = 0; i < size; i++) {
            const char byte = output_byte(chunk.begin, i);

            require(pwrite(fd, &byte, 1, (off_t)i) == 1);
        }
        if (k % 3 != 2)
            require(cv_journal_add(rerun.journal, &chunk, fd, 0, size, NULL) ==
                    CLEAVE_OK);
        require(cv_source_finish(rerun.source, &piece, NULL) == CLEAVE_OK);
    }
    close_run(&rerun);
    close(fd);
    made = open(database, O_RDONLY | O_CLOEXEC);
    image_size = (size_t)read(made, image, sizeof image);
    require(made >= 0 && image_size > (size_t)2 * PAGE && image_size < sizeof image);
    close(made);
}

static void prepare(void)
{
    char lines[INPUT + 1];

    if (mkdtemp(folder) == NULL) {
        snprintf(folder, sizeof folder, "/tmp/cleave-fuzz-XXXXXX");
        require(mkdtemp(folder) != NULL);
    }
    snprintf(input, sizeof input, "%s/input", folder);
    snprintf(database, sizeof database, "%s/journal.db", folder);
    for (int i = 0; i < INPUT / LINE; i++)
        snprintf(lines + (size_t)i * LINE, LINE + 1, "line %04u\n", (unsigned)i % 10000);
    write_all(input, lines, INPUT);
    make_image();
    atexit(remove_folder);
}

/* --- resuming --------------------------------------------------------------------------- */

struct heard {
    uint64_t begin;
    size_t n;
    bool differs;
};

static enum cleave_status hear(void *context, const void *bytes, size_t length,
                               struct cleave_error *err)
{
    struct heard *heard = context;

    (void)err;
    for (size_t i = 0; i < length; i++)
        heard->differs |=
            ((const char *)bytes)[i] != output_byte(heard->begin, heard->n + i);
    heard->n += length;
    return CLEAVE_OK;
}

static enum cleave_status use_known(struct rerun *rerun)
{
    for (;;) {
        struct cleave_error note;
        struct heard heard = { .n = 0 };
        struct cv_piece piece;
        enum cv_known state;
        uint64_t id;
        bool same = false, whole = false;

        if (cv_source_known(rerun->source, &state, &piece, &id, NULL) != CLEAVE_OK ||
            state == CV_KNOWN_END)
            return CLEAVE_OK;
        require(cv_journal_confirm(rerun->journal, rerun->source, state, &piece, id,
                                   &same, &note, NULL) == CLEAVE_OK);
        heard.begin = piece.body.begin;
        if (same && cv_journal_output(rerun->journal, id, hear, &heard, &whole, NULL) !=
                        CLEAVE_OK)
            return CLEAVE_EINPUT;
        if (whole) {
            require(!heard.differs && heard.n == output_size(heard.begin));
            require(cv_source_finish(rerun->source, &piece, NULL) == CLEAVE_OK);
        } else if (state == CV_KNOWN_PIECE) {
            require(cv_source_put_back(rerun->source, &piece, NULL) == CLEAVE_OK);
        }
    }
}

/* Left bytes are done again and added. */
static void do_rest(struct rerun *rerun)
{
    const int fd = open(input, O_RDONLY | O_CLOEXEC);
    struct cv_piece piece;
    enum cv_take taken;

    while (cv_source_take(rerun->source, 100, &taken, &piece, NULL) == CLEAVE_OK &&
           taken == CV_TAKE_PIECE) {
        const struct cv_journal_chunk chunk = { .begin = piece.body.begin,
                                                .end = piece.body.end };
        struct cleave_error err = { .text = "" };

        if (cv_journal_add(rerun->journal, &chunk, fd, 0, 50, &err) != CLEAVE_OK) {
            require(err.text[0] != '\0');
            break;
        }
        require(cv_source_finish(rerun->source, &piece, NULL) == CLEAVE_OK);
    }
    close(fd);
}

static size_t patch(const uint8_t *data, size_t size)
{
    memcpy(patched, image, image_size);
    while (size >= 5) {
        const size_t at =
            ((size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % image_size;
        const size_t page = data[3] * (size_t)PAGE % (image_size / PAGE * PAGE);
        const uint8_t how = data[4] >> 4;
        size_t length = data[4] & 15;

        data += 5;
        size -= 5;
        length = length < size ? length : size;
        for (size_t i = 0; i < length && at + i < image_size; i++)
            patched[at + i] = how % 2 == 0 ? data[i] : patched[at + i] ^ data[i];
        if (how == 15)
            memcpy(patched + at / PAGE * PAGE, image + page, PAGE);
        if (how == 14)
            return at;
        data += length;
        size -= length;
    }
    return image_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rerun rerun;
    size_t length;

    if (image_size == 0)
        prepare();
    length = patch(data, size);
    remove_files();
    write_all(database, patched, length);
    if (open_run(&rerun, CV_JOURNAL_RESUME) == CLEAVE_OK) {
        struct cleave_error err = { .text = "" };

        if (cv_journal_tell(rerun.journal, rerun.source, &err) != CLEAVE_OK)
            require(err.text[0] != '\0');
        else if (use_known(&rerun) == CLEAVE_OK)
            do_rest(&rerun);
    }
    close_run(&rerun);
    return 0;
}
