/* ordered_output_internal.h -- structures of src/run/output, for its files and their tests.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ORDERED_OUTPUT_INTERNAL_H
#define CV_ORDERED_OUTPUT_INTERNAL_H
#include "run/output/ordered_output.h"
#include "run/common/poller.h"

/* A file that holds several outputs, one after the other. Its space is freed as a whole. */
struct cv_spill_file {
    int fd;
    bool disk;                             /* else in memory (memfd) */
    uint64_t length;                       /* up to where it is written */
    uint64_t held;                         /* bytes that count as used */
    size_t users;                          /* outputs that are partly in it */
    bool taken;                            /* an output is being filled at its end */
    bool listed;                           /* in the list of files with room */
    struct cv_spill_file *next, *previous; /* list of all files */
    struct cv_spill_file *next_free;       /* list of files with room */
};

struct cv_extent {
    struct cv_spill_file *spill; /* borrowed */
    uint64_t begin, end;
};

enum { CV_BLOCK = 256 * 1024 - 64 }; /* the payload of a frame of 256 KiB */

struct cv_output_block {
    struct cv_output_block *next;
    size_t room, length; /* length: filled bytes */
    unsigned char bytes[];
};

/* An output, or its beginning, in memory of this process. */
struct cv_output_blocks {
    struct cv_output_block *first, *last; /* owned */
    size_t begin;                         /* bytes of `first` that are consumed */
    uint64_t bytes;
};

/* The output of one chunk: blocks, then extents. The part on disk is written after a hole for the
 * bytes in memory, so that both can be joined without moving the larger part.
 *
 * An offered output is written before it is finished, line by line. With options.lines its
 * written bytes are dropped. With options.early they are kept until it is finished, so that the
 * chunk can be repeated; the new output must begin with the same bytes. */
struct cv_chunk_output {
    struct cv_ordered_output *outputs; /* borrowed */
    bool in_blocks;                    /* in blocks as long as there is memory */
    struct cv_output_blocks blocks;
    struct cv_extent extents[2]; /* in memory, on disk; after blocks: on disk */
    size_t nextents;
    bool filling; /* the last extent is at the end of its file, and that is taken */
    bool widened; /* the pipe of the command */
    bool is_head; /* finished: the output of the header alone */
    bool offered;
    uint64_t line_end; /* offset of the end of the last complete line */
    uint64_t passed;   /* bytes written before it was finished, and dropped */
    uint64_t shown;    /* early: bytes written before it was finished, and kept */
    uint64_t looked;   /* early: up to where lines were searched */
    double due_s;      /* early: nothing is written before this time; 0: it has passed */
    void (*call)(void *context); /* early: ask for the output, made elsewhere; or NULL */
    void *caller;
    struct cv_chunk_output *next_offered;
    size_t lent;         /* bytes of blocks that cv_chunk_output_read has returned */
    uint64_t begin, end; /* range of the input, once offered or finished */
    struct cv_unwritten_output input; /* chunk of the output; empty: no chunk */
    struct cv_stored_file file;
    struct cv_chunk_output *next;      /* list of all outputs */
    struct cv_chunk_output *next_free; /* list of unused outputs */
};

enum cv_sink_kind { CV_SINK_NONE, CV_SINK_PIPE, CV_SINK_FILE, CV_SINK_OTHER };

/* Whether all outputs begin with the same line, and whether all have the same few lines. */
struct cv_repeated_header {
    char line[CV_ALIKE]; /* first line of the first output that is not empty */
    uint64_t counted;    /* outputs whose numbers were compared */
    char number;         /* '0' or '1', from which every output counts its lines */
    bool uncounted;      /* not all of them do so */
    uint64_t outputs;    /* that are not empty and were compared */
    bool differ;
    uint32_t lines; /* of the first output that is not empty */
    bool lines_differ;
};

struct cv_ordered_output {
    struct cv_ordered_output_options options;
    struct cv_spill_file *spills;                 /* owned */
    struct cv_spill_file *free_spills[2];         /* with room: in memory, on disk */
    uint64_t memory, disk, most_disk;             /* bytes held */
    struct cv_output_block *spare_blocks;         /* owned: unused, of CV_BLOCK bytes */
    uint64_t spare;                               /* bytes of them */
    struct cv_chunk_output *stores, *free_stores; /* owned */

    struct cv_chunk_output **heap; /* owned: finished outputs by `begin` */
    size_t count, capacity;
    struct cv_chunk_output *writing; /* the output in front, or NULL */
    bool headed;                     /* the header of `writing` was examined */
    struct cv_chunk_output *offered; /* list */
    struct cv_chunk_output *said;    /* failed after bytes of it were written; or NULL */
    struct cv_timer ripens;          /* due_s of the output in front */
    uint64_t position; /* up to here all is written; unordered: outputs written */
    uint64_t finished, written;
    uint64_t cut,
        cut_at; /* bytes written of an output at `cut_at` that was then dropped */
    double blocked_from_s; /* since when the sink accepts nothing; 0: it accepts */
    double blocked_s;      /* how long it accepted nothing before */

    char *head; /* owned: the header of the first output that has one; or NULL */
    size_t head_length;
    bool head_came;        /* the output of the header alone was finished */
    bool lacks_end;        /* the EOF block of BGZF was removed from outputs */
    const char *container; /* the format of an output that was written; NULL */
    char head_goes_on;     /* see struct cv_ordered_output_usage */
    struct cv_repeated_header alike;

    int nowhere; /* owned: the sink with options.keep; else -1 */
    enum cv_sink_kind kind;
    size_t copy_bytes; /* CV_SINK_OTHER: bytes per write */
    bool socket;
    int error; /* errno of the failure of the sink */
    struct cleave_error failure;
    struct cv_poller *poller; /* borrowed, or NULL */
    struct cv_watch watch;
};

/* Whether the sink takes bytes from memory as fast as from a file. */
static inline bool cv_sink_takes_bytes(const struct cv_ordered_output *outputs)
{
    return outputs->kind == CV_SINK_NONE || outputs->kind == CV_SINK_FILE;
}

/* Contiguous bytes of an output, in a block or in a spill file. */
struct cv_output_span {
    const unsigned char *bytes;  /* NULL: in the file */
    struct cv_spill_file *spill; /* borrowed */
    uint64_t begin;              /* in the file */
    uint64_t length;             /* 0: the output has no more bytes */
};

/* Free all outputs with their files and blocks. */
void cv_chunk_outputs_free(struct cv_ordered_output *outputs);
/* The bytes from offset `at`, at most `max`, as far as they are contiguous. */
struct cv_output_span cv_chunk_output_span(const struct cv_chunk_output *store,
                                           uint64_t at, uint64_t max);
/* Copy `length` bytes from offset `at`; false: they cannot be read. */
bool cv_chunk_output_peek(const struct cv_chunk_output *store, uint64_t at, void *out,
                          size_t length);
/* Append bytes and set `line_end`. */
enum cleave_status cv_chunk_output_append_lines(struct cv_chunk_output *store,
                                                const void *bytes, size_t length,
                                                struct cleave_error *err);
void cv_chunk_output_drop_front(struct cv_chunk_output *store, uint64_t bytes);
void cv_chunk_output_drop_back(struct cv_chunk_output *store, uint64_t bytes);
/* With options.lines: the first bytes were written or taken, and are dropped already. */
void cv_chunk_output_note_passed(struct cv_chunk_output *store, uint64_t bytes);
/* With options.early: set `line_end`. */
void cv_chunk_output_find_line(struct cv_chunk_output *store);
/* Drop what cv_chunk_output_read has returned. */
void cv_chunk_output_read_over(struct cv_chunk_output *store);
/* Remove it from the list of offered outputs. */
void cv_chunk_output_take_out(struct cv_chunk_output *store);
/* Bytes of the output were written, and it is dropped or another attempt replaces it. */
void cv_chunk_output_note_cut(const struct cv_chunk_output *store);

/* The output at `begin` need not repeat earlier bytes. */
void cv_streamed_output_forget(struct cv_ordered_output *outputs, uint64_t begin);

#endif
