/* item_read.c -- lists of items that are read. SPDX-License-Identifier: MIT */
#include "run/items/item_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/items/item_stream.h"

enum cleave_status cv_item_read_file(struct cv_item_lists *lists, const char *path,
                                     char mark, struct cleave_error *err)
{
    const bool standard = strcmp(path, "-") == 0;
    const struct cv_place place = { path, 0, 0, NULL };
    FILE *file = standard ? stdin : fopen(path, "re");
    enum cleave_status status = CLEAVE_OK;
    char *line = NULL;
    size_t room = 0;
    ssize_t got;

    if (file == NULL)
        return cv_fail_at(err, &place, "cannot read: %s", strerror(errno));
    errno = 0;
    while (status == CLEAVE_OK && (got = getdelim(&line, &room, mark, file)) >= 0) {
        if (got > 0 && line[got - 1] == mark)
            got--;
        status = cv_item_lists_add_from(lists, standard ? "standard input" : path, line,
                                        (size_t)got, err);
    }
    /* A line that there is no memory for is no error of the file, but no end of it either. */
    if (status == CLEAVE_OK && (ferror(file) || !feof(file)))
        status = cv_fail_at(err, &place, "cannot read: %s", strerror(errno));
    free(line);
    if (!standard)
        fclose(file);
    return status;
}

enum cleave_status cv_item_read_stream(struct cv_item_lists *lists,
                                       struct cv_item_stream *stream,
                                       struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;

    for (bool ended = false; status == CLEAVE_OK && !ended;)
        status = cv_item_stream_read(stream, lists, &ended, err);
    cv_item_stream_free(stream);
    return status;
}
