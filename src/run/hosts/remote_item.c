/* remote_item.c -- items on hosts: the message with the command, and the files.
 * SPDX-License-Identifier: MIT */
#include "run/hosts/hosts_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/write_all.h"
#include "run/common/transfer.h"

struct cv_item_message_out {
    struct cv_packer head;
    char **sends, **returns;            /* owned: blocks of local names */
    struct cv_item_message_file *files; /* owned */
    const char **here;                  /* owned: local names of `files` */
    uint64_t nfiles, nbase, body;
    char fault[300];
    size_t open;                  /* 1 + index of the open file; 0: none */
    int fd;                       /* owned; -1 */
    bool bad;                     /* a file was not as announced */
    struct cv_chunk_output *back; /* owned: files that return; or NULL */
};

static size_t count(char *const *names)
{
    size_t n = 0;

    while (names != NULL && names[n] != NULL)
        n++;
    return n;
}

static enum cleave_status look(const char *here, bool shared,
                               struct cv_item_message_file *out, struct cleave_error *err)
{
    int fd;
    struct stat facts;
    enum cleave_status status = CLEAVE_OK;

    CV_TRY(cv_item_transfer_name(here, &out->name, err));
    fd = open(here, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &facts) != 0)
        status = cv_fail(err, CLEAVE_EINPUT, "cannot send '%.160s': %s", here,
                         strerror(errno));
    else if (!S_ISREG(facts.st_mode))
        status = cv_fail(err, CLEAVE_EINPUT,
                         "cannot send '%.160s': it is not a regular file", here);
    if (status == CLEAVE_OK) {
        out->size = (uint64_t)facts.st_size;
        out->mode = facts.st_mode & 0777;
        out->mtime_ns = cv_stat_mtime_ns(&facts);
        out->travels = !shared;
        if (shared)
            status = cv_remote_ends(fd, out->size, here, &out->ends, err);
    }
    if (fd >= 0)
        close(fd);
    return status;
}

enum cleave_status cv_hosts_base(struct cv_hosts *hosts, struct cleave_error *err)
{
    const char *const *names = hosts->terms.base_files;
    struct cv_item_message_file ignored;

    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        CV_TRY(look(names[i], false, &ignored, err));
    return CLEAVE_OK;
}

/* A problem with a file is a fault of the item, which the host reports as any other. */
static enum cleave_status look_at_files(const struct cv_slot *slot,
                                        struct cv_item_message_out *message,
                                        struct cleave_error *err)
{
    struct cv_host *host = slot->remote->host;
    const char *const *base = host->hosts->terms.base_files;
    const size_t nsends = count(message->sends);
    struct cleave_error why;
    const char *there;
    size_t nbase = 0;

    while (!host->based && base != NULL && base[nbase] != NULL)
        nbase++;
    message->files = calloc(nbase + nsends + 1, sizeof *message->files);
    message->here = calloc(nbase + nsends + 1, sizeof *message->here);
    if (message->files == NULL || message->here == NULL)
        return cv_fail_memory(err, "the files of an item");
    for (size_t i = 0; i < nbase; i++)
        message->here[i] = base[i];
    for (size_t i = 0; message->sends != NULL && i < nsends; i++)
        message->here[nbase + i] = message->sends[i];
    for (size_t i = 0; message->here[i] != NULL && message->fault[0] == '\0'; i++) {
        if (look(message->here[i], host->may_share && !host->blind, &message->files[i],
                 &why) != CLEAVE_OK)
            snprintf(message->fault, sizeof message->fault, "%.290s", why.text);
        else
            message->body += message->files[i].travels ? message->files[i].size : 0;
    }
    for (size_t i = 0; message->returns != NULL && message->returns[i] != NULL &&
                       message->fault[0] == '\0';
         i++)
        if (cv_item_transfer_name(message->returns[i], &there, &why) != CLEAVE_OK)
            snprintf(message->fault, sizeof message->fault, "%.290s", why.text);
    message->nbase = nbase;
    message->nfiles = nbase + nsends;
    if (message->fault[0] != '\0') /* nothing is sent */
        message->nbase = message->nfiles = message->body = 0;
    message->body++; /* the byte after the files */
    return CLEAVE_OK;
}

static enum cleave_status pack(struct cv_slot *slot, struct cv_item_message_out *message,
                               char **words, struct cleave_error *err)
{
    const struct cleave_items *items = slot->items;
    const size_t nreturns = count(message->returns);
    const char **there = calloc(nreturns + 1, sizeof *there);
    char chunk[40], place[40];
    const char *told[] = { chunk, place, NULL };
    struct cleave_error ignored;

    if (there == NULL)
        return cv_fail_memory(err, "the files of an item");
    for (size_t i = 0; message->returns != NULL && i < nreturns; i++) {
        there[i] = ""; /* for an item with a fault */
        (void)cv_item_transfer_name(message->returns[i], &there[i], &ignored);
    }
    snprintf(chunk, sizeof chunk, "CLEAVE_CHUNK=%llu",
             (unsigned long long)slot->piece.begin + 1);
    snprintf(place, sizeof place, "CLEAVE_SLOT=%lu", (unsigned long)slot->worker + 1);
    cv_pack_item(&message->head,
                 &(struct cv_item_message){ .item = slot->piece.begin,
                                            .words = (const char *const *)words,
                                            .told = told,
                                            .returns = there,
                                            .files = message->files,
                                            .nfiles = message->nfiles,
                                            .nbase = message->nbase,
                                            .errors = items->errors != NULL,
                                            .fault = message->fault });
    free(there);
    return message->head.failed ? cv_fail_memory(err, "the words of an item") : CLEAVE_OK;
}

enum cleave_status cv_item_pack(struct cv_slot *slot, struct cleave_error *err)
{
    const struct cleave_items *items = slot->items;
    const uint64_t item = slot->piece.begin;
    const uint32_t place = slot->worker + 1;
    struct cv_item_message_out *message = calloc(1, sizeof *message);
    enum cleave_status status = CLEAVE_OK;
    char **words = NULL;

    cv_item_forget(slot);
    slot->remote->message = message;
    if (message == NULL)
        return cv_fail_memory(err, "an item");
    message->fd = -1;
    if (items->sends != NULL)
        status = items->sends(items->context, item, place, &message->sends, err);
    if (status == CLEAVE_OK && items->returns != NULL)
        status = items->returns(items->context, item, place, &message->returns, err);
    if (status == CLEAVE_OK)
        status = look_at_files(slot, message, err);
    if (status == CLEAVE_OK)
        status = cv_item_piece_words(items, &slot->piece, place, &words, err);
    if (status == CLEAVE_OK)
        status = pack(slot, message, words, err);
    free(words);
    if (status == CLEAVE_OK && message->fault[0] == '\0')
        slot->remote->host->based = true;
    return status;
}

uint64_t cv_item_head(const struct cv_slot *slot)
{
    return slot->remote->message != NULL ? slot->remote->message->head.length : 0;
}

uint64_t cv_item_body(const struct cv_slot *slot)
{
    return slot->remote->message != NULL ? slot->remote->message->body : 0;
}

bool cv_item_is_shared(const struct cv_slot *slot)
{
    const struct cv_item_message_out *message = slot->remote->message;

    for (size_t i = 0; message != NULL && i < message->nfiles; i++)
        if (!message->files[i].travels)
            return true;
    return false;
}

/* If bytes are missing, zeros are sent instead: their number was announced. */
static size_t read_file(struct cv_item_message_out *message, size_t which,
                        uint64_t offset, void *out, size_t max)
{
    const uint64_t left = message->files[which].size - offset;
    const size_t wanted = left < max ? (size_t)left : max;
    struct stat facts;
    ssize_t got;

    if (message->open != which + 1) {
        cv_close(&message->fd);
        message->fd = open(message->here[which], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        message->open = which + 1;
        if (message->fd < 0 || fstat(message->fd, &facts) != 0 ||
            (uint64_t)facts.st_size != message->files[which].size)
            message->bad = true;
    }
    got = message->fd >= 0 ? pread(message->fd, out, wanted, (off_t)offset) : -1;
    if (got > 0)
        return (size_t)got;
    message->bad = true;
    memset(out, 0, wanted);
    return wanted;
}

size_t cv_item_read(struct cv_slot *slot, uint64_t at, void *out, size_t max)
{
    struct cv_item_message_out *message = slot->remote->message;
    unsigned char end;

    if (at < message->head.length) {
        const size_t left = message->head.length - (size_t)at;
        const size_t some = left < max ? left : max;

        memcpy(out, message->head.bytes + at, some);
        return some;
    }
    at -= message->head.length;
    for (size_t i = 0; i < message->nfiles; i++) {
        const uint64_t size = message->files[i].travels ? message->files[i].size : 0;

        if (at < size)
            return read_file(message, i, at, out, max);
        at -= size;
    }
    cv_close(&message->fd);
    end = message->bad ? CV_ITEM_BAD : CV_ITEM_GOOD;
    memcpy(out, &end, 1);
    return 1;
}

/* --- files that return -------------------------------------------------------------- */

enum cleave_status cv_item_take_back(struct cv_slot *slot, const void *bytes,
                                     size_t length, struct cleave_error *err)
{
    struct cv_item_message_out *message = slot->remote->message;

    if (message->back == NULL)
        CV_TRY(cv_chunk_output_open(slot->outputs, &message->back, err));
    return cv_chunk_output_write(message->back, bytes, length, err);
}

/* To the descriptor for standard error of the item. */
static enum cleave_status put_errors(const struct cv_slot *slot, int fd, uint64_t at,
                                     uint64_t size, struct cleave_error *err)
{
    const struct cleave_items *items = slot->items;
    int to = -1, reason;

    CV_TRY(items->errors(items->context, slot->piece.begin, &to, err));
    reason = cv_copy_range(fd, at, at + size, to);
    close(to);
    return reason == 0 ? CLEAVE_OK
                       : cv_fail(err, CLEAVE_EENGINE,
                                 "cannot keep its standard error: %s", strerror(reason));
}

/* The first fault is kept. */
static void put_files(const struct cv_slot *slot, const struct cv_item_message_back *back,
                      const struct cv_taken *taken, uint64_t at, bool done, char *fault,
                      size_t size)
{
    char *const *names = slot->remote->message->returns;
    const size_t first = slot->items->errors != NULL;

    for (size_t i = 0; i < back->nfiles; i++) {
        const struct cv_item_message_file *file = &back->files[i];
        enum cleave_status status = CLEAVE_OK;
        struct cleave_error err;

        if (i < first)
            status = put_errors(slot, taken->fd, at, file->size, &err);
        else if (file->travels)
            status = cv_item_transfer_put(names[i - first],
                                          &(struct cv_item_transfer_file){
                                              .fd = taken->fd,
                                              .begin = at,
                                              .end = at + file->size,
                                              .mode = (unsigned)file->mode,
                                              .mtime_ns = file->mtime_ns },
                                          &err);
        else if (done)
            status =
                cv_fail(&err, CLEAVE_EENGINE, "it left no '%.160s'", names[i - first]);
        if (status != CLEAVE_OK && fault[0] == '\0')
            snprintf(fault, size, "did its work, but %.170s", err.text);
        at += file->travels ? file->size : 0;
    }
}

/* The header is valid and fits the request, and all bytes of the files have arrived. */
static bool read_back(const struct cv_slot *slot, const struct cv_taken *taken,
                      struct cv_arena *arena, struct cv_item_message_back *out,
                      uint64_t *out_at)
{
    const uint64_t all = taken->end - taken->begin;
    unsigned char number[8];
    struct cv_unpacker unpacker = { number, sizeof number, false };
    uint64_t length, files = 0;
    unsigned char *head;
    bool good;

    if (all < sizeof number ||
        pread(taken->fd, number, sizeof number, (off_t)taken->begin) != sizeof number)
        return false;
    length = cv_unpack_number(&unpacker);
    if (length > all - sizeof number || length > CV_ITEM_HEAD_MOST)
        return false;
    *out_at = taken->begin + sizeof number + length;
    head = cv_array(arena, (size_t)length + 1, 1);
    good = head != NULL &&
           pread(taken->fd, head, (size_t)length, (off_t)(*out_at - length)) ==
               (ssize_t)length &&
           cv_unpack_back(head, (size_t)length, arena, out) &&
           out->nfiles == count(slot->remote->message->returns) +
                              (slot->items->errors != NULL ? 1 : 0);
    for (uint64_t i = 0; good && i < out->nfiles; i++)
        files += out->files[i].travels ? out->files[i].size : 0;
    return good && files == all - sizeof number - length;
}

bool cv_item_unpack(struct cv_slot *slot, bool done, char *fault, size_t size)
{
    struct cv_chunk_output *store = slot->remote->message->back;
    struct cv_item_message_back back;
    struct cv_arena arena;
    struct cv_taken taken;
    struct cleave_error err;
    uint64_t at = 0;
    bool good;

    if (store == NULL)
        return !done || (count(slot->remote->message->returns) == 0 &&
                         slot->items->errors == NULL);
    if (cv_ordered_output_take(store, &taken, &err) != CLEAVE_OK) {
        slot->events->broke(slot->context, &err);
        return true;
    }
    cv_arena_init(&arena);
    good = read_back(slot, &taken, &arena, &back, &at);
    if (good)
        put_files(slot, &back, &taken, at, done, fault, size);
    cv_arena_done(&arena);
    return good;
}

bool cv_item_is_sound(const struct cv_slot *slot)
{
    const struct cv_item_message_out *message = slot->remote->message;

    return message == NULL || (message->fault[0] == '\0' && !message->bad);
}

void cv_item_forget(struct cv_slot *slot)
{
    struct cv_item_message_out *message = slot->remote->message;

    slot->remote->message = NULL;
    if (message == NULL)
        return;
    if (message->nbase > 0 && !cv_has_arrived(&slot->remote->facts))
        slot->remote->host->based = false; /* these files may not have arrived */
    cv_close(&message->fd);
    cv_chunk_output_drop(message->back);
    cv_pack_done(&message->head);
    free(message->sends);
    free(message->returns);
    free(message->files);
    free(message->here);
    free(message);
}
