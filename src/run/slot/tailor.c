/* tailor.c -- the command of one piece, where not all have the same.
 * SPDX-License-Identifier: MIT */
#include "run/slot/tailor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cleave/execute.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/slot/slot_kind.h"

void cv_tailored_done(struct cv_tailored *tailored)
{
    free(tailored->command.argv);
    free(tailored->command.script);
    free(tailored->words);
    *tailored = (struct cv_tailored){ .words = NULL };
}

enum cleave_status cv_null_open(int *out, struct cleave_error *err)
{
    /* Above 2, as with pipes (process.c). */
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int higher = fd >= 0 && fd <= 2 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : fd;

    if (higher < 0)
        cv_fail(err, CLEAVE_EENGINE, "cannot open /dev/null: %s", strerror(errno));
    if (higher != fd && fd >= 0)
        close(fd);
    *out = higher;
    return higher >= 0 ? CLEAVE_OK : CLEAVE_EENGINE;
}

/* The words of the prefix, then those of the item. */
static enum cleave_status put_words(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_tailored *own = &slot->tailored;
    const struct cv_command *base = slot->base;
    size_t nwords = 0, count;
    char **argv = own->command.argv, **script = own->command.script;

    while (own->words[nwords] != NULL)
        nwords++;
    count = slot->nprefix + nwords;
    if (count + 1 > own->argv_room)
        argv = cv_grow(argv, &own->argv_room, count + 1, sizeof *argv);
    if (argv == NULL)
        return cv_fail_memory(err, "a command");
    own->command.argv = argv;
    if (count + 2 > own->script_room)
        script = cv_grow(script, &own->script_room, count + 2, sizeof *script);
    if (script == NULL)
        return cv_fail_memory(err, "a command");
    own->command.script = script;
    memcpy(argv, base->argv, slot->nprefix * sizeof *argv);
    memcpy(argv + slot->nprefix, own->words, (nwords + 1) * sizeof *argv);
    script[0] = base->script[0];
    script[1] = base->path;
    memcpy(script + 2, argv + 1, count * sizeof *script);
    return CLEAVE_OK;
}

enum cleave_status cv_slot_tailor(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_tailored *own = &slot->tailored;
    const struct cleave_items *items = slot->items;
    char **words;

    CV_TRY(
        items->words(items->context, slot->piece.begin, slot->worker + 1, &words, err));
    free(own->words);
    own->words = words;
    CV_TRY(put_words(slot, err));
    own->command.path = slot->base->path;
    own->command.environment = slot->base->environment;
    own->command.nenvironment = slot->base->nenvironment;
    slot->command = &own->command;
    return CLEAVE_OK;
}
