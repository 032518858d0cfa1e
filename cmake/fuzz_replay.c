/* fuzz_replay.c -- run a fuzz target on kept inputs, without libFuzzer.
 * SPDX-License-Identifier: MIT
 *
 * usage: fuzz_NAME FOLDER... -- the empty input first, then every file of each folder;
 * a folder that does not exist has none. A finding is a crash, as under libFuzzer. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LARGEST_INPUT = 1 << 20 };

static int replay_file(const char *folder, const char *name, uint8_t *buffer)
{
    char path[4096];
    uint8_t *input;
    FILE *file;
    size_t size;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    size = fread(buffer, 1, LARGEST_INPUT, file);
    fclose(file);
    /* A block of the exact size lets a sanitizer see reads past the end. */
    input = malloc(size > 0 ? size : 1);
    if (input == NULL)
        return -1;
    memcpy(input, buffer, size);
    fprintf(stderr, "%s: %zu bytes\n", path, size);
    LLVMFuzzerTestOneInput(input, size);
    free(input);
    return 0;
}

static int replay_folder(const char *folder, uint8_t *buffer)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    int status = 0;

    if (entries == NULL)
        return errno == ENOENT ? 0 : -1;
    while (status == 0 && (entry = readdir(entries)) != NULL)
        if (entry->d_name[0] != '.')
            status = replay_file(folder, entry->d_name, buffer);
    closedir(entries);
    return status;
}

int main(int argc, char **argv)
{
    uint8_t *buffer = calloc(LARGEST_INPUT, 1);
    int status = buffer == NULL ? -1 : 0;

    if (status == 0)
        LLVMFuzzerTestOneInput(buffer, 0);
    for (int i = 1; status == 0 && i < argc; i++)
        status = replay_folder(argv[i], buffer);
    free(buffer);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
