/* piece_file.c -- write one file, as it is or compressed. SPDX-License-Identifier: MIT
 *
 * Bytes of a file are copied by the kernel. What is compressed is in parts that are decoded alone
 * (piece_file.h), so that it can be cut again. */
#include "run/pieces/piece_file.h"

#include <bzlib.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <linux/magic.h>
#include <lz4frame.h>
#include <lzma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zstd.h>
#include "base/fail.h"
#include "base/file_target.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/write_all.h"
#include "run/common/lazy_reader.h"
#include "run/common/pack.h"
#include "run/common/writer_thread.h"

struct cv_pack_form {
    const char *ending;  /* of names, as ".gz" */
    size_t part;         /* bytes of a part, before compression */
    void *(*open)(void); /* NULL: no memory */
    void (*close)(void *state);
    size_t (*bound)(size_t length); /* most bytes that a part may have */
    /* Bytes that were made of `length` others, which may be 0; 0: it failed. */
    size_t (*pack)(void *state, const char *bytes, size_t length, char *out, size_t room);
    /* What stands at the end of the file; of none, a part of no bytes. */
    const char *end;
    size_t end_bytes;
    /* Add what the table at the end of the file says of a part, and make that table of all of
     * it; NULL: it has none. */
    void (*note)(struct cv_packer *table, size_t packed, size_t length);
    void (*tell)(struct cv_packer *table, size_t parts);
};

/* --- forms that files can be compressed to ----------------------------------------- */

static void *open_nothing(void)
{
    static char nothing;

    return &nothing;
}

static void close_nothing(void *state)
{
    (void)state;
}

/* --- BGZF ----------------------------------------------------------------------------------- */

enum {
    GZIP_PART =
        0xff00, /* as bgzip has it: with all around it, a block has 64 KiB at most */
    GZIP_MOST = 0x10000,
    GZIP_HEAD = 18,
    GZIP_TAIL = 8,
    GZIP_LEVEL = 6,
};

/* A block of no bytes says that nothing is missing. */
static const char gzip_end[] =
    "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0"
    "\0\0\0";

static void *open_gzip(void)
{
    return libdeflate_alloc_compressor(GZIP_LEVEL);
}

static void close_gzip(void *state)
{
    libdeflate_free_compressor(state);
}

static size_t bound_gzip(size_t length)
{
    (void)length;
    return GZIP_MOST;
}

static void put_little(char *out, uint32_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (char)(number >> (8 * i) & 0xff);
}

static size_t pack_gzip(void *state, const char *bytes, size_t length, char *out,
                        size_t room)
{
    const size_t packed =
        libdeflate_deflate_compress(state, bytes, length, out + GZIP_HEAD,
                                    room - GZIP_HEAD - GZIP_TAIL);
    const size_t all = GZIP_HEAD + packed + GZIP_TAIL;

    if (packed == 0)
        return 0;
    memcpy(out, gzip_end, GZIP_HEAD);
    put_little(out + 16, (uint32_t)all - 1, 2);
    put_little(out + all - 8, libdeflate_crc32(0, bytes, length), 4);
    put_little(out + all - 4, (uint32_t)length, 4);
    return all;
}

/* --- zstd ----------------------------------------------------------------------------------- */

static void *open_zstd(void)
{
    return ZSTD_createCCtx();
}

static void close_zstd(void *state)
{
    ZSTD_freeCCtx(state);
}

static size_t pack_zstd(void *state, const char *bytes, size_t length, char *out,
                        size_t room)
{
    const size_t packed =
        ZSTD_compressCCtx(state, out, room, bytes, length, ZSTD_CLEVEL_DEFAULT);

    return ZSTD_isError(packed) ? 0 : packed;
}

/* The table of the seekable format, which 'cleave run' and others read instead of walking from
 * frame to frame: in a frame to be skipped, bytes of each frame before and after decoding. */
enum { TABLE_HEAD = 8, TABLE_FOOT = 9 };

static void note_zstd(struct cv_packer *table, size_t packed, size_t length)
{
    char row[8];

    if (table->length == 0)
        cv_pack_raw(table, "\x5e\x2a\x4d\x18....", TABLE_HEAD);
    put_little(row, (uint32_t)packed, 4);
    put_little(row + 4, (uint32_t)length, 4);
    cv_pack_raw(table, row, sizeof row);
}

static void tell_zstd(struct cv_packer *table, size_t parts)
{
    char foot[TABLE_FOOT] = { 0 };

    put_little(foot, (uint32_t)parts, 4);
    put_little(foot + 5, 0x8F92EAB1, 4);
    cv_pack_raw(table, foot, sizeof foot);
    if (!table->failed)
        put_little((char *)table->bytes + 4, (uint32_t)(table->length - TABLE_HEAD), 4);
}

/* --- xz ------------------------------------------------------------------------------------- */

static size_t bound_xz(size_t length)
{
    return lzma_stream_buffer_bound(length);
}

static size_t pack_xz(void *state, const char *bytes, size_t length, char *out,
                      size_t room)
{
    size_t packed = 0;

    (void)state;
    return lzma_easy_buffer_encode(LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64, NULL,
                                   (const uint8_t *)bytes, length, (uint8_t *)out,
                                   &packed, room) == LZMA_OK
               ? packed
               : 0;
}

/* --- bzip2 ---------------------------------------------------------------------------------- */

static size_t bound_bzip2(size_t length)
{
    return length + length / 100 + 600;
}

static size_t pack_bzip2(void *state, const char *bytes, size_t length, char *out,
                         size_t room)
{
    unsigned packed = (unsigned)room;

    (void)state;
    return BZ2_bzBuffToBuffCompress(out, &packed, (char *)bytes, (unsigned)length, 9, 0,
                                    0) == BZ_OK
               ? packed
               : 0;
}

/* --- lz4 ------------------------------------------------------------------------------------ */

static LZ4F_preferences_t lz4_how(size_t length)
{
    return (LZ4F_preferences_t){ .frameInfo = { .blockSizeID = LZ4F_max4MB,
                                                .contentChecksumFlag =
                                                    LZ4F_contentChecksumEnabled,
                                                .contentSize = length } };
}

static size_t bound_lz4(size_t length)
{
    const LZ4F_preferences_t how = lz4_how(length);

    return LZ4F_compressFrameBound(length, &how);
}

static size_t pack_lz4(void *state, const char *bytes, size_t length, char *out,
                       size_t room)
{
    const LZ4F_preferences_t how = lz4_how(length);
    const size_t packed = LZ4F_compressFrame(out, room, bytes, length, &how);

    (void)state;
    return LZ4F_isError(packed) ? 0 : packed;
}

/* --- all of them ---------------------------------------------------------------------------- */

static const struct cv_pack_form forms[] = {
    { ".gz", GZIP_PART, open_gzip, close_gzip, bound_gzip, pack_gzip, gzip_end,
      sizeof gzip_end, NULL, NULL },
    { ".bgz", GZIP_PART, open_gzip, close_gzip, bound_gzip, pack_gzip, gzip_end,
      sizeof gzip_end, NULL, NULL },
    { ".zst", 4 << 20, open_zstd, close_zstd, ZSTD_compressBound, pack_zstd, NULL, 0,
      note_zstd, tell_zstd },
    { ".xz", 16 << 20, open_nothing, close_nothing, bound_xz, pack_xz, NULL, 0, NULL,
      NULL },
    { ".bz2", 4 << 20, open_nothing, close_nothing, bound_bzip2, pack_bzip2, NULL, 0,
      NULL, NULL },
    { ".lz4", 4 << 20, open_nothing, close_nothing, bound_lz4, pack_lz4, NULL, 0, NULL,
      NULL },
};

/* The form that a name asks for; NULL: none. */
static const struct cv_pack_form *pack_form_of(const char *name)
{
    const size_t length = strlen(name);

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t end = strlen(forms[i].ending);

        if (length > end && strcmp(name + length - end, forms[i].ending) == 0)
            return &forms[i];
    }
    return NULL;
}

/* --- bytes of one file into another, by the kernel --------------------------------- */

/* File systems that can share bytes between files, or copy them at the other end of a network, are
 * asked to by copy_file_range. ext4 can only copy. There that call, and sendfile, move 64 KiB at a
 * time, and the file system finds room, folio by folio, for no more than that at once. Written from
 * a window of the input in memory, it is as much as a folio can hold, and the bytes are copied
 * once, too. This process never looks into the window itself: of an input that becomes shorter the
 * kernel finds nothing there and says so, where it would send SIGBUS to who looks. 250 MB into 40
 * files by two threads, all of it in memory, on cores with other work: 0.094 s of processors, 0.085
 * with room asked for first; through a wide pipe 0.106, through a buffer 0.113, by copy_file_range
 * 0.129. */

enum {
    STEP = 16 << 20,    /* copied by one call                          */
    WINDOW = 8 << 20,   /* mapped at a time                            */
    WORTH = 256 * 1024, /* of less, mapping it would take as long      */
};

static size_t next_step(const struct cv_copying *copying, size_t max)
{
    const uint64_t left = copying->end - (uint64_t)copying->at;

    return left < max ? (size_t)left : max;
}

/* --- ext4: through windows ------------------------------------------------------------------ */

static bool only_copies(int fd)
{
    struct statfs info;

    return fstatfs(fd, &info) == 0 && info.f_type == EXT4_SUPER_MAGIC;
}

/* Room that is found in one go is found faster than block by block. Where there is too little of
 * it, or no such call, writing tells. */
static void ask_for_room(const struct cv_copying *copying)
{
    const off_t at = lseek(copying->to, 0, SEEK_CUR);

    if (at >= 0)
        (void)fallocate(copying->to, FALLOC_FL_KEEP_SIZE, at,
                        (off_t)copying->end - copying->at);
}

/* What is in a window: 0, or why it could not be written, EFAULT if it could not be read. */
static int write_window(struct cv_copying *copying, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t got = write(copying->to, bytes, length);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : EIO;
        copying->at += got;
        bytes += got;
        length -= (size_t)got;
    }
    return 0;
}

/* False: the next window cannot be mapped, or not be read; another way tells why. */
static bool next_window(struct cv_copying *copying, int *error)
{
    const size_t skip = (size_t)copying->at % (size_t)sysconf(_SC_PAGESIZE);
    const off_t begin = copying->at - (off_t)skip;
    const size_t length = skip + next_step(copying, WINDOW);
    char *window;

    /* From a disk, it comes in long reads, not as pages are missed. */
    (void)posix_fadvise(copying->from, begin, (off_t)length, POSIX_FADV_WILLNEED);
    window =
        mmap(NULL, length, PROT_READ, MAP_SHARED | MAP_POPULATE, copying->from, begin);
    if (window == MAP_FAILED)
        return false;
    *error = write_window(copying, window + skip, length - skip);
    munmap(window, length);
    return *error != EFAULT;
}

/* As far as it goes; others do the rest. */
static enum cv_copied copy_windows(struct cv_copying *copying)
{
    int error = 0;

    if (copying->end - (uint64_t)copying->at < WORTH || !only_copies(copying->to))
        return CV_COPY_DONE;
    ask_for_room(copying);
    while ((uint64_t)copying->at < copying->end && error == 0)
        if (!next_window(copying, &error))
            return CV_COPY_DONE;
    errno = error;
    return error == 0 ? CV_COPY_DONE : CV_COPY_REFUSED;
}

/* --- others -------------------------------------------------------------------------------- */

static enum cv_copied copy_range(struct cv_copying *copying)
{
    bool by_range = true;

    while ((uint64_t)copying->at < copying->end) {
        const size_t step = next_step(copying, STEP);
        ssize_t got;

        errno = 0;
        got = by_range ? copy_file_range(copying->from, &copying->at, copying->to, NULL,
                                         step, 0)
                       : sendfile(copying->to, copying->from, &copying->at, step);
        if (got > 0 || (got < 0 && errno == EINTR))
            continue;
        if (!by_range)
            return got < 0 && errno != EIO ? CV_COPY_REFUSED : CV_COPY_SHORT;
        by_range = false; /* another file system, or one that does not know how */
    }
    return CV_COPY_DONE;
}

enum cv_copied cv_piece_copy(struct cv_copying *copying)
{
    const enum cv_copied copied = copy_windows(copying);

    return copied == CV_COPY_DONE ? copy_range(copying) : copied;
}

/* --- write one file, as it is or compressed ---------------------------------------- */

enum { POUR = 64 * 1024 }; /* read of a decoder at a time */

struct cv_piece_writer {
    struct cv_new_file file;
    char *name;                      /* owned */
    const struct cv_pack_form *form; /* NULL: as it is */
    void *state;                     /* owned: of the form */
    char *part, *room; /* owned: bytes to be compressed, and what comes of it */
    size_t held, room_bytes;
    struct cv_packer table; /* of the parts, if the form has one */
    size_t parts;
};

static enum cleave_status cannot(const char *name, const char *why,
                                 struct cleave_error *err)
{
    char shown[200];

    return cv_fail(err, CLEAVE_EENGINE, "cannot write '%s': %s",
                   cv_shown(name, strlen(name), shown, sizeof shown), why);
}

/* --- beginning ---------------------------------------------------------------------------- */

/* A file of that name cannot be made, or must not. */
static enum cleave_status refuse(const char *name, const struct cleave_error *why,
                                 struct cleave_error *err)
{
    const bool exists = why->status == CLEAVE_EREFUSED;

    (void)cannot(name, exists ? "it exists; use --force to replace it" : why->text, err);
    if (err != NULL)
        err->status = CLEAVE_EINPUT;
    return CLEAVE_EINPUT;
}

/* Folders of its name that are not there are made. */
static enum cleave_status make_folders(const char *name, struct cleave_error *err)
{
    struct cleave_error why;

    return cv_folders_make(name, &why) == CLEAVE_OK ? CLEAVE_OK : refuse(name, &why, err);
}

/* A file that is an input would be replaced before it has been read. */
static enum cleave_status check_inputs(const struct cv_source *source, const char *name,
                                       struct cleave_error *err)
{
    struct cv_file_identity identity;

    cv_file_identify(name, &identity);
    for (size_t i = 0; identity.known && i < cv_source_inputs(source); i++) {
        const struct cv_input input = cv_source_input(source, i);

        if (identity.name[0] == '\0' && (uint64_t)identity.device == input.device &&
            (uint64_t)identity.number == input.inode)
            return refuse(name, &(struct cleave_error){ .text = "it is an input" }, err);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_piece_check(const struct cv_source *source, const char *name,
                                  bool force, struct cleave_error *err)
{
    struct cleave_error why;

    CV_TRY(make_folders(name, err));
    CV_TRY(check_inputs(source, name, err));
    return cv_new_file_check(name, force ? 0 : CV_NEW_FILE_ONLY, &why) == CLEAVE_OK
               ? CLEAVE_OK
               : refuse(name, &why, err);
}

static enum cleave_status open_form(struct cv_piece_writer *writer,
                                    struct cleave_error *err)
{
    writer->room_bytes = writer->form->bound(writer->form->part);
    writer->state = writer->form->open();
    writer->part = malloc(writer->form->part);
    writer->room = malloc(writer->room_bytes);
    return writer->state == NULL || writer->part == NULL || writer->room == NULL
               ? cv_fail_memory(err, "a file that is compressed")
               : CLEAVE_OK;
}

enum cleave_status cv_piece_writer_open(const struct cv_source *source, const char *name,
                                        bool force, struct cv_piece_writer **out,
                                        struct cleave_error *err)
{
    struct cv_piece_writer *writer;
    struct cleave_error why;
    enum cleave_status status;

    CV_TRY(make_folders(name, err));
    CV_TRY(check_inputs(source, name, err));
    writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return cv_fail_memory(err, "a file");
    writer->file.fd = -1;
    writer->name = strdup(name);
    status = writer->name == NULL ? cv_fail_memory(err, "a file") : CLEAVE_OK;
    if (status == CLEAVE_OK) {
        status =
            cv_new_file_open(name, force ? 0 : CV_NEW_FILE_ONLY, &writer->file, &why);
        if (status != CLEAVE_OK)
            status = refuse(name, &why, err);
    }
    writer->form = pack_form_of(name);
    if (status == CLEAVE_OK && writer->form != NULL)
        status = open_form(writer, err);
    if (status == CLEAVE_OK)
        *out = writer;
    else
        cv_piece_writer_drop(writer);
    return status;
}

/* --- bytes -------------------------------------------------------------------------------- */

static enum cleave_status put(struct cv_piece_writer *writer, const char *bytes,
                              size_t length, struct cleave_error *err)
{
    const int error = cv_write_all(writer->file.fd, bytes, length);

    return error == 0 ? CLEAVE_OK : cannot(writer->name, strerror(error), err);
}

static enum cleave_status end_part(struct cv_piece_writer *writer,
                                   struct cleave_error *err)
{
    const size_t length = writer->form->pack(writer->state, writer->part, writer->held,
                                             writer->room, writer->room_bytes);

    if (writer->form->note != NULL)
        writer->form->note(&writer->table, length, writer->held);
    writer->parts++;
    writer->held = 0;
    return length == 0 ? cannot(writer->name, "it could not be compressed", err)
                       : put(writer, writer->room, length, err);
}

static enum cleave_status ended_early(const struct cv_part *part, uint64_t at,
                                      struct cleave_error *err)
{
    const struct cv_place place = { part->name, 0, 0, NULL };

    return cv_fail_at(err, &place, "cannot read at byte %" PRIu64 ": %s", at,
                      errno != 0 ? strerror(errno) : "it has become shorter");
}

/* Collect parts. */
static enum cleave_status compress(struct cv_piece_writer *writer,
                                   const struct cv_part *part, struct cleave_error *err)
{
    for (uint64_t at = part->begin; at < part->end;) {
        ssize_t got;

        errno = 0;
        got = cv_part_read(part, at, writer->part + writer->held,
                           writer->form->part - writer->held);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ended_early(part, at, err);
        at += (uint64_t)got;
        writer->held += (size_t)got;
        if (writer->held == writer->form->part)
            CV_TRY(end_part(writer, err));
    }
    return CLEAVE_OK;
}

static enum cleave_status copy(struct cv_piece_writer *writer, const struct cv_part *part,
                               struct cleave_error *err)
{
    struct cv_copying copying = { .from = part->fd,
                                  .to = writer->file.fd,
                                  .at = (off_t)part->begin,
                                  .end = part->end };

    switch (cv_piece_copy(&copying)) {
    case CV_COPY_DONE:
        return CLEAVE_OK;
    case CV_COPY_REFUSED:
        return cannot(writer->name, strerror(errno), err);
    default:
        return ended_early(part, (uint64_t)copying.at, err);
    }
}

/* Bytes that were decoded. */
static enum cleave_status take(struct cv_piece_writer *writer, const char *bytes,
                               size_t length, struct cleave_error *err)
{
    return writer->form == NULL
               ? put(writer, bytes, length, err)
               : compress(writer, &(struct cv_part){ .bytes = bytes, .end = length },
                          err);
}

/* What comes out of a flow. */
static enum cleave_status write_from_thread(struct cv_piece_writer *writer,
                                            const struct cv_part *part,
                                            struct cv_writer_thread *threaded,
                                            struct cleave_error *err)
{
    char bytes[POUR];

    for (uint64_t at = part->begin; at < part->end;) {
        const uint64_t left = part->end - at;
        const ssize_t got = read(cv_writer_thread_fd(threaded), bytes,
                                 left < sizeof bytes ? left : sizeof bytes);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            CV_TRY(cv_writer_thread_end(threaded, err));
            errno = 0;
            return ended_early(part, at, err);
        }
        CV_TRY(take(writer, bytes, (size_t)got, err));
        at += (uint64_t)got;
    }
    return CLEAVE_OK;
}

static enum cleave_status copy_from_thread(struct cv_piece_writer *writer,
                                           const struct cv_part *part,
                                           struct cleave_error *err)
{
    struct cv_writer_thread *threaded;
    enum cleave_status status;

    CV_TRY(
        part->well->threaded(part->well, part->begin, part->end, NULL, &threaded, err));
    status = write_from_thread(writer, part, threaded, err);
    part->well->stop(threaded);
    return status;
}

enum cleave_status cv_piece_writer_add(struct cv_piece_writer *writer,
                                       const struct cv_part *part,
                                       struct cleave_error *err)
{
    if (part->end <= part->begin)
        return CLEAVE_OK;
    if (part->bytes == NULL && part->well != NULL)
        return copy_from_thread(writer, part, err);
    if (writer->form != NULL)
        return compress(writer, part, err);
    return part->bytes != NULL
               ? put(writer, part->bytes, (size_t)(part->end - part->begin), err)
               : copy(writer, part, err);
}

/* --- the end ------------------------------------------------------------------------------ */

/* Where the parts are, for who looks for them; of one part there is nothing to find. */
static enum cleave_status put_table(struct cv_piece_writer *writer,
                                    struct cleave_error *err)
{
    if (writer->form->tell == NULL || writer->parts < 2)
        return CLEAVE_OK;
    writer->form->tell(&writer->table, writer->parts);
    return writer->table.failed ? cv_fail_memory(err, "the table of a file")
                                : put(writer, (const char *)writer->table.bytes,
                                      writer->table.length, err);
}

enum cleave_status cv_piece_writer_place(struct cv_piece_writer *writer,
                                         struct cleave_error *err)
{
    struct cleave_error why;
    enum cleave_status status = CLEAVE_OK;

    /* A file without bytes is one part of none, rather than none at all. */
    if (writer->form != NULL &&
        (writer->held > 0 ||
         (writer->form->end == NULL && cv_new_file_size(&writer->file) == 0)))
        status = end_part(writer, err);
    if (status == CLEAVE_OK && writer->form != NULL && writer->form->end != NULL)
        status = put(writer, writer->form->end, writer->form->end_bytes, err);
    if (status == CLEAVE_OK && writer->form != NULL)
        status = put_table(writer, err);
    if (status == CLEAVE_OK && cv_new_file_place(&writer->file, &why) != CLEAVE_OK)
        status = refuse(writer->name, &why, err);
    if (status == CLEAVE_OK && cv_new_file_close(&writer->file, &why) != CLEAVE_OK)
        status = cannot(writer->name, why.text, err);
    cv_piece_writer_drop(writer);
    return status;
}

void cv_piece_writer_drop(struct cv_piece_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->file.fd >= 0)
        cv_new_file_drop(&writer->file);
    if (writer->state != NULL)
        writer->form->close(writer->state);
    cv_pack_done(&writer->table);
    free(writer->part);
    free(writer->room);
    free(writer->name);
    free(writer);
}
