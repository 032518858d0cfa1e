/* fuzz_split.c -- any bytes cut by any splitter. SPDX-License-Identifier: MIT
 *
 * The first byte names the splitter, the next two the sizes of pieces and chunks. Cuts of
 * a file and of a stream must be at the boundaries that the definition gives, be the
 * first ones at or after the offset asked for, and cover the input.
 *
 * Decisions depend on bytes near a boundary, so that inputs are short: longer ones are
 * only slower. */
#include "../unit/split_check.h"
#include "fuzz_target.h"

enum { MOST_QUALITY_LINES = 16, MOST_LAST_RECORD = 64 * MOST_QUALITY_LINES };
enum {
    MOST_BYTES = 192, /* bytes of an input */
    CUTS = 12,        /* cuts of a file, one after the other */
    PIECES = 24,      /* in which a stream comes                    */
};

/* FASTQ records by instruction: lines of sequence, and of quality with any first byte.
 * This few lines of quality cannot read as a row of records. */
static size_t make_fastq(const uint8_t *data, size_t size, char *out)
{
    size_t n = 0, at = 0;

    while (at < size) {
        const size_t lines = data[at] % MOST_QUALITY_LINES, widths = at + 1;
        const char *newline = data[at] & 0x80 ? "\r\n" : "\n";

        at += 1 + lines;
        n += (size_t)sprintf(out + n, "@%s", newline);
        for (size_t pass = 0; pass < 2; pass++) {
            for (size_t i = 0; i < lines; i++) {
                const uint8_t how = widths + i < size ? data[widths + i] : 0;
                const size_t width = how % 4;

                for (size_t k = 0; k < width; k++)
                    out[n++] = pass == 1 && k == 0 ? "@+AI"[how / 4 % 4] : 'A';
                n += (size_t)sprintf(out + n, "%s", newline);
            }
            n += pass == 0 ? (size_t)sprintf(out + n, "+%s", newline) : 0;
        }
    }
    return n;
}

static void check_all(const struct split_input *input, size_t piece, size_t wanted,
                      size_t near)
{
    const size_t stride = input->n / CUTS + 1;

    if (piece < input->n / PIECES + 1)
        piece = input->n / PIECES + 1;
    check_file(input, 4096, stride);
    if (near > 0) {
        check_file(input, near, input->n > CUTS ? stride : 0);
        check_file(input, near, wanted % CUTS + stride);
    }
    check_stream(input, piece, wanted);
    check_stream(input, input->n + 1, wanted);
    check_stream(input, piece, input->n);
}

/* One file in memory for all inputs. */
static void open_input(struct split_input *input, const struct cv_splitter *splitter,
                       const char *bytes, size_t n)
{
    static int file = -1;

    if (file < 0)
        file = memfd_create("input", MFD_CLOEXEC);
    *input =
        (struct split_input){ splitter, bytes, n, calloc(n + 1, sizeof(bool)), file };
    SPLIT_REQUIRE(input->is != NULL && file >= 0 && ftruncate(file, (off_t)n) == 0);
    SPLIT_REQUIRE(pwrite(file, bytes, n, 0) == (ssize_t)n);
}

static void check_bad_fastq(const struct split_input *input, size_t piece)
{
    struct cv_cut_window window;
    struct cv_cut_file file;
    struct cleave_error err;
    uint64_t at;
    size_t cut;

    cv_cut_file_init(&file, input->splitter, "input", input->fd, input->n);
    for (size_t i = 0; i <= input->n; i += input->n / 50 + 1)
        SPLIT_REQUIRE(cv_cut_file_at(&file, i, &at, &err) == CLEAVE_OK
                          ? at >= i && at <= input->n
                          : err.text[0] != '\0');
    cv_cut_file_done(&file);
    cv_cut_window_init(&window, input->splitter);
    for (size_t end = piece; end < input->n; end += piece)
        if (cv_cut_window_find(&window, input->bytes, end, false, end, &cut, &err) !=
            CLEAVE_OK)
            break;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct reference_case *test;
    struct cv_splitter *splitter = NULL;
    struct split_input input;
    size_t piece, wanted, n;
    bool made;
    char *bytes;

    if (size < 3)
        return 0;
    made = data[0] % 32 == 31;
    test = &reference_cases[made ? 5 : data[0] % 32 % REFERENCE_CASES];
    piece = data[1] + 1U;
    wanted = data[2];
    data += 3;
    size = size - 3 < MOST_BYTES ? size - 3 : MOST_BYTES;
    if (made && size > MOST_BYTES / 4) /* each byte of instruction makes several */
        size = MOST_BYTES / 4;
    bytes = malloc(made ? 16 * size + MOST_LAST_RECORD : size + 1);
    SPLIT_REQUIRE(bytes != NULL);
    if (made) {
        n = make_fastq(data, size, bytes);
    } else {
        memcpy(bytes, data, size);
        n = size;
    }
    /* Not kept for the next one: what expressions remember would look like a leak. */
    SPLIT_REQUIRE(cv_splitter_parse(test->splitter, &splitter, NULL) == CLEAVE_OK);
    open_input(&input, splitter, bytes, n);
    /* Near cuts of FASTQ rely on qualities that do not read as a row of records. */
    if (test->reference(bytes, n, input.is))
        check_all(&input, piece, wanted,
                  made || test->reference != reference_fastq ? 1 + wanted % 40 : 0);
    else
        check_bad_fastq(&input, piece);
    free(input.is);
    cv_splitter_free(splitter);
    free(bytes);
    return 0;
}
