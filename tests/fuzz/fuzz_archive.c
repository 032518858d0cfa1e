/* fuzz_archive.c -- inputs of tar, BAM and pcap made by instruction, and damaged.
 * SPDX-License-Identifier: MIT
 *
 * Random bytes never have the sums and lengths that these need. The first byte selects
 * the format, the next two the sizes of pieces and chunks, the next two the position and
 * kind of a changed byte; the rest are members, or records. Cuts must be where the
 * definition has them; bytes that it calls damaged may be an error, and nothing worse. */
#include "../unit/split_check.h"
#include "fuzz_target.h"

enum { HEAD = 5, MOST_PARTS = 12, BLOCK = 512, ROOM = (MOST_PARTS + 4) * 3 * BLOCK };

static void put_sum(char *head)
{
    unsigned sum = 0;

    memset(head + 148, ' ', 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
}

static size_t make_tar(const uint8_t *data, size_t size, char *out)
{
    static const char types[] = "00125LKxg7";
    size_t n = 0;

    for (size_t i = 0; i < size && i < MOST_PARTS; i++) {
        const size_t bytes = (size_t)(data[i] >> 4) * 64;
        const char type = types[data[i] % (sizeof types - 1)];

        if (data[i] == 0xff) { /* run of zeros */
            n += BLOCK;
            continue;
        }
        snprintf(out + n, 100, "name");
        snprintf(out + n + 124, 12, "%011zo", bytes);
        out[n + 156] = type;
        put_sum(out + n);
        n += BLOCK;
        if (type >= '1' && type <= '6')
            continue;
        memset(out + n, data[i], bytes);
        n += (bytes + BLOCK - 1) / BLOCK * BLOCK;
    }
    return n;
}

static size_t put_number(char *out, size_t number)
{
    for (unsigned i = 0; i < 4; i++)
        out[i] = (char)(number >> (8 * i));
    return 4;
}

static size_t make_bam(const uint8_t *data, size_t size, char *out)
{
    const size_t text = size > 0 ? data[0] : 0, names = size > 1 ? data[1] % 4 : 0;
    static const char magic[4] = { 'B', 'A', 'M', 1 };
    size_t n = 4;

    memcpy(out, magic, sizeof magic);
    n += put_number(out + n, text);
    n += text;
    n += put_number(out + n, names);
    for (size_t i = 0; i < names; i++) {
        n += put_number(out + n, i);
        n += i + 4;
    }
    for (size_t i = 2; i < size && i < MOST_PARTS; i++) {
        n += put_number(out + n, 32U + data[i]);
        n += 32U + data[i];
    }
    return n;
}

static size_t make_pcap(const uint8_t *data, size_t size, char *out)
{
    const bool big = size > 0 && data[0] % 2 == 1;
    static const uint8_t magics[2][4] = { { 0x4d, 0x3c, 0xb2, 0xa1 },
                                          { 0xa1, 0xb2, 0xc3, 0xd4 } };
    size_t n = 24;

    memcpy(out, magics[big], sizeof magics[big]);
    for (size_t i = 1; i < size && i < MOST_PARTS; i++) {
        out[n + (big ? 11 : 8)] = (char)data[i];
        n += 16U + data[i];
    }
    return n;
}

/* For all bytes: the walk ends, and cuts continue. */
static void check_damaged(const struct split_input *input, size_t piece)
{
    struct cv_cut_window window;
    struct cv_cut_file file;
    uint64_t cut = 0, header;
    size_t start = 0, end = 0;

    cv_cut_file_init(&file, input->splitter, "input", input->fd, input->n);
    for (size_t at = 0; at <= input->n; at += 300)
        if (cv_cut_file_at(&file, at, &cut, NULL) == CLEAVE_OK)
            SPLIT_REQUIRE(cut >= at && cut <= input->n);
    (void)cv_cut_file_header(&file, &header, NULL);
    cv_cut_file_done(&file);
    cv_cut_window_init(&window, input->splitter);
    while (end < input->n) {
        size_t taken = 0;

        end = input->n - end < piece ? input->n : end + piece;
        if (cv_cut_window_find(&window, input->bytes + start, end - start,
                               end == input->n, 1, &taken, NULL) != CLEAVE_OK)
            break;
        SPLIT_REQUIRE(taken <= end - start);
        cv_cut_window_take(&window, taken);
        start += taken;
    }
}

static const struct {
    const char *name;
    size_t (*make)(const uint8_t *data, size_t size, char *out);
    reference *truth;
} kinds[] = {
    { "tar", make_tar, reference_tar },
    { "bam", make_bam, reference_bam },
    { "tar", make_tar, reference_tar },
    { "pcap", make_pcap, reference_pcap },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t kind = size > 0 ? data[0] % 4U : 0;
    struct cv_splitter *splitter = NULL;
    struct split_input input;
    char *bytes;
    size_t n;

    if (size < HEAD)
        return 0;
    bytes = calloc(1, ROOM);
    SPLIT_REQUIRE(bytes != NULL);
    n = kinds[kind].make(data + HEAD, size - HEAD, bytes);
    if (n > 0)
        bytes[(data[3] * 256U + data[4]) % n] ^= (char)(data[0] >> 1);
    SPLIT_REQUIRE(cv_splitter_parse(kinds[kind].name, &splitter, NULL) == CLEAVE_OK);
    split_input_open(&input, splitter, bytes, n);
    if (kinds[kind].truth(bytes, n, input.is)) {
        check_file(&input, 4096, n / 12 + 1);
        check_file(&input, 1 + data[2] % 40U, n / 12 + 1);
        check_stream(&input, n / 24 + 1 + data[1], (size_t)data[2] * 8);
    } else {
        check_damaged(&input, n / 24 + 1 + data[1]);
    }
    split_input_close(&input);
    cv_splitter_free(splitter);
    free(bytes);
    return 0;
}
