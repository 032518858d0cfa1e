/* fuzz_index.c -- any text as an index of a file, with a head and a hash that fit.
 * SPDX-License-Identifier: MIT
 *
 * The index is refused, or all of the file is given out once, in consecutive pieces. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "../unit/split_check.h"
#include "run/input/source.h"
#include "fuzz_target.h"

enum { RECORDS = 40 };

static char folder[] = "/tmp/cleave-fuzz-XXXXXX", path[64], index_path[96];

static void leave(void)
{
    unlink(index_path);
    unlink(path);
    rmdir(folder);
}

/* The file that all of them are of. */
static void prepare(void)
{
    FILE *file;

    if (path[0] != '\0')
        return;
    SPLIT_REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/in", folder);
    snprintf(index_path, sizeof index_path, "%s.cleave-index", path);
    file = fopen(path, "w");
    SPLIT_REQUIRE(file != NULL);
    for (int i = 0; i < RECORDS; i++)
        fprintf(file, "%d,\"a\nb\"\n", i);
    SPLIT_REQUIRE(fclose(file) == 0);
    atexit(leave);
}

static void write_index(const uint8_t *data, size_t size)
{
    struct stat now;
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length), *file;

    SPLIT_REQUIRE(memory != NULL && stat(path, &now) == 0);
    fprintf(memory, "cleave index 1\nsplit csv\nfile %lld %" PRId64 "\n",
            (long long)now.st_size,
            (int64_t)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec);
    fwrite(data, 1, size, memory);
    fflush(memory);
    fprintf(memory, "end %016" PRIx64 "\n", (uint64_t)XXH3_64bits(text, length));
    SPLIT_REQUIRE(fclose(memory) == 0);
    file = fopen(index_path, "w");
    SPLIT_REQUIRE(file != NULL && fwrite(text, 1, length, file) == length);
    SPLIT_REQUIRE(fclose(file) == 0);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *const names[] = { path };
    struct cv_source_options options = { 0 };
    struct cv_splitter *splitter = NULL;
    struct cv_source *source = NULL;
    enum cv_take state = CV_TAKE_PIECE;
    uint64_t at = 0;

    prepare();
    write_index(data, size);
    SPLIT_REQUIRE(cv_splitter_parse("csv", &splitter, NULL) == CLEAVE_OK);
    options.splitter = splitter;
    SPLIT_REQUIRE(cv_source_open(names, 1, &options, &source, NULL) == CLEAVE_OK);
    while (state == CV_TAKE_PIECE) {
        struct cv_piece piece;

        if (cv_source_take(source, 20, &state, &piece, NULL) != CLEAVE_OK)
            break;
        if (state != CV_TAKE_PIECE) {
            SPLIT_REQUIRE(state == CV_TAKE_END && at == cv_source_extent(source));
            break;
        }
        SPLIT_REQUIRE(piece.begin == at && piece.end > at);
        at = piece.end;
        SPLIT_REQUIRE(cv_source_finish(source, &piece, NULL) == CLEAVE_OK);
    }
    cv_source_free(source);
    cv_splitter_free(splitter);
    return 0;
}
