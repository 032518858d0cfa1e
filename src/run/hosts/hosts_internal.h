/* hosts_internal.h -- shared by the files of run/hosts. SPDX-License-Identifier: MIT */
#ifndef CV_HOSTS_INTERNAL_H
#define CV_HOSTS_INTERNAL_H
#include "run/hosts/hosts.h"

struct cv_item_message_out;

enum cv_body_source {
    CV_BODY_PLAIN,   /* bytes of the input are sent, or the host reads them */
    CV_BODY_PACKED,  /* bytes of a compressed file are sent, which the host decodes */
    CV_BODY_SEEN,    /* the host reads and decodes the file */
    CV_BODY_FETCHED, /* the host fetches the body */
};

struct cv_remote_packing {
    enum cv_body_source source;
    bool told;          /* the host knows its current extent */
    struct cv_range in; /* range of the compressed file that has the body */
    size_t next;        /* the first block that the host does not know */
};

/* A remote slot: the current piece, or the last one. */
struct cv_remote {
    struct cv_remote_facts facts;
    struct cv_host *host;                   /* borrowed */
    uint32_t seat;                          /* slot of the host */
    struct cv_slot *next_slot, **slot_from; /* list of host->first_slot, doubly linked */
    struct cv_slot_queue *queue;            /* queue of the link or the port; or NULL */
    struct cv_slot *next_sending;           /* in the queue */
    struct cv_item_message_out *message;    /* owned: an item; or NULL */
    struct cv_remote_packing packed;

    uint64_t sent, acked;    /* bytes of header, body and mates, in this order */
    uint64_t sent_sum;       /* sum of the frames with them */
    double stopped_s;        /* when it was told to stop */
    double burst_s;          /* since when bytes are sent without a pause; 0: none are */
    uint64_t burst_from;     /* the first of these bytes */
    struct cv_piece shorter; /* the piece after the cut that was asked for */

    /* An open piece. */
    bool last_sent;   /* the host knows that no more will follow */
    uint64_t dropped; /* bytes that were sent and cut off since */
    uint64_t shown;   /* extent that the host knows, if it reads the input */
    uint64_t fed;     /* bytes that its command was given, by the last report */
    uint64_t drained; /* extent when the command had last read all of it */

    /* The output and the end. */
    bool wanted;         /* output is to be sent while the command runs */
    uint64_t heard;      /* bytes that have arrived */
    uint64_t output_sum; /* sum of the frames with them */
};

/* The host decodes or fetches the body. */
static inline bool cv_is_packed(const struct cv_remote *remote)
{
    return remote->packed.source != CV_BODY_PLAIN;
}

/* --- host_connection.c --- */

void cv_hosts_connect_no_more(struct cv_hosts *hosts);
void cv_host_done(struct cv_host *host);

/* --- host_notes.c --- */

/* The copy of cleave that the exit status of the connection asks for; NULL: none. */
const struct cleave_copy *cv_host_wanted_copy(const struct cv_host *host);
/* Set host->reason. `words` quotes text that arrived instead of frames; `exited`: the command that
 * connects has ended by itself. */
void cv_host_explain(struct cv_host *host, const struct cleave_error *err,
                     const char *words, bool exited);
/* Report that the host was lost, or could not be reached. */
void cv_host_tell_why(struct cv_host *host, bool was_ready);
/* The host is ready: report the text of ssh and login scripts, once it is complete. */
void cv_host_tell_words(struct cv_host *host);
/* The host does not see the input: report it for the first host, and count others. */
void cv_host_tell_blind(const struct cv_host *host, const char *why);
/* The host is ready: report once if another host has the same machine name. */
void cv_host_doubt_machine(const struct cv_host *host);
/* Report the events of a host, and the hosts, that were only counted. */
void cv_host_tell_rest(const struct cv_host *host);
void cv_hosts_tell_rest(struct cv_hosts *hosts);

/* --- host_rules.c --- */

/* The stage of the object that a frame is about; not for frames of partial results. *out_slot is
 * the slot that has the piece, or NULL. */
enum cv_stage cv_host_stage(const struct cv_host *host, const struct cv_frame_head *head,
                            struct cv_slot **out_slot);
/* The slot gives up its piece; its end, or the answer to a cut, will still arrive. */
void cv_host_owes(struct cv_host *host, const struct cv_slot *slot, bool end, bool cut);
/* The frame about a piece that was given up has arrived. */
void cv_host_paid(struct cv_host *host, const struct cv_frame_head *head);

/* --- remote_frames.c --- */

/* A frame of a ready host that is allowed now. The slot is NULL if the piece was given up. */
void cv_remote_frame(struct cv_host *host, struct cv_slot *slot,
                     const struct cv_frame_head *head, const unsigned char *payload);
/* The host is lost, with the pieces of its slots. */
void cv_remote_lose(struct cv_host *host);

/* --- remote_slot.c --- */

/* Send the piece of the slot from its beginning. */
enum cleave_status cv_remote_start(struct cv_slot *slot, struct cleave_error *err);
/* Answer cv_remote_ask_cut, if an answer is due. */
void cv_remote_cut_answered(struct cv_slot *slot, bool done);
void cv_remote_drop_store(struct cv_slot *slot);
/* The seat works on this piece, and not on a piece that was announced before. */
bool cv_remote_has_turn(const struct cv_slot *slot);
/* Limit the time for the piece, for stopping it, or for a persistent command to end. The host is
 * lost if it exceeds the limit. */
void cv_limit_set(struct cv_slot *slot);
void cv_limit_over(struct cv_slot *slot);
/* STARTED, FED, DRAINED or SEEN. */
void cv_remote_open_frame(struct cv_host *host, struct cv_slot *slot,
                          const struct cv_frame_head *head, const unsigned char *payload);
/* An open piece was cut by the host, or could not be: continue to send. */
void cv_remote_open_cut(struct cv_slot *slot, bool done);

/* --- remote_send.c --- */

/* Send a frame about the piece: without payload; with the bytes of a packer, which is released;
 * with bytes of the piece. */
void cv_send_word(struct cv_slot *slot, enum cv_frame_type type);
enum cleave_status cv_send_packed(struct cv_slot *slot, enum cv_frame_type type,
                                  uint64_t value, struct cv_packer *packer,
                                  struct cleave_error *err);
void cv_send_bytes(struct cv_slot *slot, enum cv_remote_part part, bool last,
                   const void *bytes, size_t length);
/* Send PIECE or MORE. */
void cv_send_piece(struct cv_slot *slot, enum cv_frame_type type, uint16_t flags);
/* Send the piece as soon as the port allows. */
void cv_send_ask(struct cv_slot *slot);
/* Stop sending, for now. */
void cv_send_pause(struct cv_slot *slot);
/* The piece has arrived or was given up. */
void cv_send_over(struct cv_slot *slot);
/* More of an open piece may be sent: its command will need it soon. */
bool cv_send_has_room(const struct cv_slot *slot);
/* Bytes of the piece that have to be sent. */
uint64_t cv_remote_whole(const struct cv_slot *slot);
/* Ask for the output while the command runs, now or when the piece is announced. */
void cv_send_want(void *slot);
/* cv_link.more of a host. */
bool cv_send_more(void *context);
/* GOT: the host has `bytes` of the piece. */
void cv_send_got(struct cv_slot *slot, uint64_t bytes);
/* A new connection, or none. */
void cv_send_reset(struct cv_host *host);

/* Decide whether the host decodes or fetches the piece, which has no bytes there. */
void cv_packed_begin(struct cv_slot *slot);
/* The end of the piece has changed. */
void cv_packed_changed(struct cv_slot *slot);
/* Send PACKED or DRAWN, unless the host knows the extent of the piece. */
enum cleave_status cv_packed_tell(struct cv_slot *slot, struct cleave_error *err);
/* Bytes of header and body that the host can decode by now. */
uint64_t cv_packed_there(const struct cv_slot *slot);
/* The end of the part of the body that may be on its way: an offset in the file. */
uint64_t cv_packed_fed(const struct cv_slot *slot);

/* --- remote_item.c --- */

/* Check the files for all items. */
enum cleave_status cv_hosts_base(struct cv_hosts *hosts, struct cleave_error *err);
/* Make the message of the item, before it is announced. */
enum cleave_status cv_item_pack(struct cv_slot *slot, struct cleave_error *err);
/* Bytes of the message; bytes of the files. */
uint64_t cv_item_head(const struct cv_slot *slot);
uint64_t cv_item_body(const struct cv_slot *slot);
/* Some files are not sent, because the host sees them. */
bool cv_item_is_shared(const struct cv_slot *slot);
/* The item can be run: its files were read here, and did not change. */
bool cv_item_is_sound(const struct cv_slot *slot);
/* Read bytes of message and files from `at`; returns their number. */
size_t cv_item_read(struct cv_slot *slot, uint64_t at, void *out, size_t max);
/* Keep bytes of files that return. */
enum cleave_status cv_item_take_back(struct cv_slot *slot, const void *bytes,
                                     size_t length, struct cleave_error *err);
/* Write the files that returned. `fault` gets the first failure. False: the bytes are invalid. */
bool cv_item_unpack(struct cv_slot *slot, bool done, char *fault, size_t size);
/* The item has ended, or is sent again. */
void cv_item_forget(struct cv_slot *slot);

#endif
