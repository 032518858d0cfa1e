/* fuzz_platform.c -- any bytes as a platform file. SPDX-License-Identifier: MIT
 *
 * An accepted file must survive being written and read again, to the last bit; a refused
 * one must have a message. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cleave/platform.h>
#include "io/platform_file.h"
#include "fuzz_target.h"

static const struct cv_platform_view master = { .as = NULL };

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void check_written(const struct cv_platform_file *read, struct cv_arena *arena)
{
    const struct cleave_platform *platform = read->platform;
    uint32_t n = cleave_platform_nworkers(platform);
    struct cv_platform_file file = { NULL, NULL };
    struct cleave_platform *again;
    size_t length = 0;
    char *text = NULL;
    FILE *stream = open_memstream(&text, &length);

    require(stream != NULL);
    require(cv_platform_write(platform, read->hosts, "fuzz", stream, NULL) == CLEAVE_OK);
    fclose(stream);
    require(cv_platform_parse_as("again", text, length, &master, arena, &file, NULL) ==
            CLEAVE_OK);
    again = file.platform;
    for (uint32_t g = 0; g < platform->ngroups; g++)
        require(is_same(read->hosts[g].ssh, file.hosts[g].ssh) &&
                is_same(read->hosts[g].command, file.hosts[g].command) &&
                read->hosts[g].slots == file.hosts[g].slots &&
                read->hosts[g].gpus == file.hosts[g].gpus);
    require(cleave_platform_nworkers(again) == n);
    require(cleave_platform_port(again) == cleave_platform_port(platform));
    require(memcmp(cleave_platform_workers(again), cleave_platform_workers(platform),
                   n * sizeof(struct cleave_worker)) == 0);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t steps, steps_again;
        const struct cleave_step *at = cleave_platform_profile(platform, i, &steps);
        const struct cleave_step *at_again =
            cleave_platform_profile(again, i, &steps_again);

        require(strcmp(cleave_platform_worker_name(again, i),
                       cleave_platform_worker_name(platform, i)) == 0);
        require(steps == steps_again);
        require(steps == 0 || memcmp(at, at_again, steps * sizeof *at) == 0);
    }
    cleave_platform_free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_platform_file file = { NULL, NULL };
    struct cleave_error err;
    struct cv_arena arena;
    bool read;

    cv_arena_init(&arena);
    read = cv_platform_parse_as("fuzz", (const char *)data, size, &master, &arena, &file,
                                &err) == CLEAVE_OK;
    /* Large counts are for other tests. */
    if (read && cleave_platform_nworkers(file.platform) <= 10000)
        check_written(&file, &arena);
    cleave_platform_free(file.platform);
    cv_arena_done(&arena);
    if (read)
        return 0;
    require(file.platform == NULL && err.status == CLEAVE_EINPUT);
    require(err.text[0] != '\0' && strchr(err.text, '\n') == NULL);
    return 0;
}
