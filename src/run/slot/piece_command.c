/* piece_command.c -- the command of one piece: what it is told, and for an item its words.
 * SPDX-License-Identifier: MIT */
#include "run/slot/piece_command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/execute.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/slot/slot_kind.h"

static void forget(struct cv_piece_command *tailored)
{
    while (tailored->ntold > 0)
        free(tailored->told[--tailored->ntold]);
}

void cv_tailored_done(struct cv_piece_command *tailored)
{
    forget(tailored);
    if (tailored->argv_room > 0) {
        free(tailored->command.argv);
        free(tailored->command.script);
    }
    free(tailored->command.environment);
    free(tailored->words);
    *tailored = (struct cv_piece_command){ .words = NULL };
}

enum cleave_status cv_copy_open(int fd, int *out, struct cleave_error *err)
{
    *out = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return *out >= 0 ? CLEAVE_OK
                     : cv_fail(err, CLEAVE_EENGINE, "cannot pass the output on: %s",
                               strerror(errno));
}

/* The words of the prefix, then those of the item. */
static enum cleave_status put_words(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_piece_command *own = &slot->tailored;
    const struct cv_command *base = slot->base;
    size_t nwords = 0, count;
    char **argv, **script;

    while (own->words[nwords] != NULL)
        nwords++;
    count = slot->nprefix + nwords;
    if (!CV_ROOM(own->command.argv, &own->argv_room, count + 1) ||
        !CV_ROOM(own->command.script, &own->script_room, count + 2))
        return cv_fail_memory(err, "a command");
    argv = own->command.argv;
    script = own->command.script;
    memcpy(argv, base->argv, slot->nprefix * sizeof *argv);
    memcpy(argv + slot->nprefix, own->words, (nwords + 1) * sizeof *argv);
    script[0] = base->script[0];
    script[1] = base->path;
    memcpy(script + 2, argv + 1, count * sizeof *script);
    return CLEAVE_OK;
}

/* --- variables ---------------------------------------------------------------------------- */

/* Whether a string of the environment is one of ours: of a run that this one is part of. */
static bool is_ours(const char *text)
{
    static const char *const names[CV_TOLD] = { "CHUNK=", "SLOT=",   "BEGIN=",
                                                "END=",   "RECORD=", "INPUT=" };

    if (strncmp(text, "CLEAVE_", 7) != 0)
        return false;
    for (size_t i = 0; i < CV_TOLD; i++)
        if (strncmp(text + 7, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* All variables but ours, once: they stay the same. */
static enum cleave_status keep_variables(struct cv_piece_command *own,
                                         const struct cv_command *base,
                                         struct cleave_error *err)
{
    if (own->command.environment != NULL)
        return CLEAVE_OK;
    own->command.environment =
        calloc(base->nenvironment + CV_TOLD + 1, sizeof *own->command.environment);
    if (own->command.environment == NULL)
        return cv_fail_memory(err, "the environment of a command");
    for (size_t i = 0; i < base->nenvironment; i++)
        if (!is_ours(base->environment[i]))
            own->command.environment[own->nkept++] = base->environment[i];
    return CLEAVE_OK;
}

/* Put together by hand: this is done for every start, and takes a third of asprintf. */
static enum cleave_status tell(struct cv_piece_command *own, const char *name,
                               const char *text, struct cleave_error *err)
{
    char *variable = malloc(strlen("CLEAVE_=") + strlen(name) + strlen(text) + 1);

    if (variable == NULL)
        return cv_fail_memory(err, "the environment of a command");
    stpcpy(stpcpy(stpcpy(stpcpy(variable, "CLEAVE_"), name), "="), text);
    own->told[own->ntold++] = variable;
    return CLEAVE_OK;
}

static enum cleave_status tell_number(struct cv_piece_command *own, const char *name,
                                      uint64_t number, struct cleave_error *err)
{
    char text[24];
    size_t at = sizeof text - 1;

    text[at] = '\0';
    do {
        text[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return tell(own, name, text + at, err);
}

/* Of a part of an input, as far as it is known. */
static enum cleave_status tell_part(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_piece_command *own = &slot->tailored;
    const struct cv_piece *piece = &slot->piece;
    uint64_t first = 0, count;

    if (piece->begin == piece->end) /* it gets its bytes later */
        return CLEAVE_OK;
    CV_TRY(tell_number(own, "BEGIN", piece->body.begin, err));
    CV_TRY(tell(own, "INPUT", piece->name, err));
    if (!slot->open.on)
        CV_TRY(tell_number(own, "END", piece->body.end, err));
    if (slot->numbers != NULL)
        CV_TRY(cv_source_records(slot->numbers, piece, &first, &count, err));
    return first > 0 ? tell_number(own, "RECORD", first, err) : CLEAVE_OK;
}

/* What another machine says of it. */
static enum cleave_status tell_given(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_piece_command *own = &slot->tailored;

    for (size_t i = 0; i < CV_TOLD && slot->told[i] != NULL; i++) {
        char *variable = strdup(slot->told[i]);

        if (variable == NULL)
            return cv_fail_memory(err, "the environment of a command");
        own->told[own->ntold++] = variable;
    }
    return CLEAVE_OK;
}

static enum cleave_status tell_piece(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_piece_command *own = &slot->tailored;

    if (slot->told != NULL)
        return tell_given(slot, err);
    CV_TRY(tell_number(own, "CHUNK",
                       slot->items != NULL ? slot->piece.begin + 1 : slot->number + 1,
                       err));
    CV_TRY(tell_number(own, "SLOT", (uint64_t)slot->worker + 1, err));
    return slot->items == NULL ? tell_part(slot, err) : CLEAVE_OK;
}

enum cleave_status cv_slot_tell(struct cv_slot *slot, struct cleave_error *err)
{
    forget(&slot->tailored);
    return tell_piece(slot, err);
}

static enum cleave_status tell_all(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_piece_command *own = &slot->tailored;

    CV_TRY(keep_variables(own, slot->base, err));
    CV_TRY(cv_slot_tell(slot, err));
    memcpy(own->command.environment + own->nkept, own->told,
           own->ntold * sizeof *own->told);
    own->command.nenvironment = own->nkept + own->ntold;
    own->command.environment[own->command.nenvironment] = NULL;
    return CLEAVE_OK;
}

enum cleave_status cv_item_piece_words(const struct cleave_items *items,
                                       const struct cv_piece *piece, uint32_t place,
                                       char ***out, struct cleave_error *err)
{
    return items->max > 1 ? items->several(items->context, piece->begin,
                                           piece->end - piece->begin, place, out, err)
                          : items->words(items->context, piece->begin, place, out, err);
}

enum cleave_status cv_slot_build_command(struct cv_slot *slot, struct cleave_error *err)
{
    struct cv_piece_command *own = &slot->tailored;
    const struct cleave_items *items = slot->items;
    char **words;

    own->command.path = slot->base->path;
    own->command.elf = slot->base->elf;
    own->command.cpus = slot->base->cpus;
    if (items != NULL) {
        CV_TRY(cv_item_piece_words(items, &slot->piece, slot->worker + 1, &words, err));
        free(own->words);
        own->words = words;
        CV_TRY(put_words(slot, err));
    } else {
        own->command.argv = slot->base->argv;
        own->command.script = slot->base->script;
    }
    CV_TRY(tell_all(slot, err));
    slot->command = &own->command;
    return CLEAVE_OK;
}
