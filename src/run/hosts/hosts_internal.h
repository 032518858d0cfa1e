/* hosts_internal.h -- shared by the files of run/hosts. SPDX-License-Identifier: MIT */
#ifndef CV_HOSTS_INTERNAL_H
#define CV_HOSTS_INTERNAL_H
#include "run/hosts/hosts.h"

struct cv_item_message_out;

/* A piece that is decoded there (remote_send.h). */
struct cv_remote_packing {
    bool on, told;      /* it is; the host knows what it is now                         */
    bool drawn;         /* nothing of its body is sent: the host fetches it             */
    bool seen;          /* ... or sees the file                                         */
    struct cv_range in; /* of the file: what is sent of its body                        */
    size_t next;        /* the first of its blocks that the host has not been told of   */
};

/* What is known of a piece on another machine. */
struct cv_remote {
    struct cv_host *host; /* borrowed                         */
    uint32_t seat;        /* slot of that machine                                       */
    struct cv_slot *next_slot, **slot_from; /* list of the host, and who points here    */
    struct cv_slot *next_sending;           /* queue of the link or the port */
    uint64_t number;                        /* of the piece, on its link              */
    uint64_t sent, acked; /* bytes of header, body and mates, one behind the other    */
    uint64_t sent_sum, output_sum; /* of the frames with them, and with its output     */
    uint64_t heard;                /* bytes of its output that have come               */
    uint64_t early;                /* ... while its command ran                        */
    /* Of an open piece: bytes that were sent and have been cut off since; how long it is, as
     * far as the host knows, if that reads it itself; how much of it the command has been
     * given, as far as is known here; how long it was when last all of it had been read; and
     * questions how far it is that were not answered. */
    uint64_t dropped, shown, fed, drained;
    uint32_t looks;
    /* What is being sent of it at a time: from and to which byte, and since when; 0: nothing. */
    uint64_t burst_from, burst_to;
    double burst_s;
    double bound_s;   /* when the host had the first byte of it; 0: not yet             */
    double granted_s; /* since then it may be sent                                */
    double arrived_s; /* it was there; of this piece or the one before            */
    double computed_s;    /* its command had ended; the same                          */
    double stopped_s;     /* it was told to stop                                      */
    double compute_s;     /* what the command took, by the clock of that machine      */
    bool waiting, queued; /* for the port, for the link                               */
    bool announced, arrived, computed;
    bool last_sent; /* of an open piece: the word that nothing more of it comes        */
    bool at_work;   /* when it was lost: its command was running                        */
    bool cutting;   /* an answer is due whether it was cut                     */
    bool wanted;    /* its output is, as it comes                                       */
    struct cv_piece shorter; /* what it becomes then                                    */
    bool has_left;           /* the command that stays                                  */
    bool hashed;
    struct cv_content_hash hash; /* of what the command was given                       */
    uint64_t kept;               /* bytes of an output that stays there                 */
    struct cv_remote_packing packed;
    uint64_t given; /* bytes that its command was given, when it has ended */
    struct cv_item_message_out
        *message;                 /* owned: of an item (remote_item.h)                  */
    struct cv_chunk_output *back; /* owned: what comes with its output; NULL: nothing   */
};

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
/* The host is ready: report once if another host has the same machine name. */
void cv_host_doubt_machine(const struct cv_host *host);
/* Report the events of a host, and the hosts, that were only counted. */
void cv_host_tell_rest(const struct cv_host *host);
void cv_hosts_tell_rest(struct cv_hosts *hosts);

/* --- remote_frames.c --- */

/* Where things stand with what the frame is about, but for partial results. *out_slot: the one
 * whose piece that is, NULL if nobody waits for it. */
enum cv_stage cv_host_stage(const struct cv_host *host, const struct cv_frame_head *head,
                            struct cv_slot **out_slot);
/* Something will be heard of a piece that no slot knows any more: its end, or the answer to a
 * cut. */
void cv_host_owes(struct cv_host *host, const struct cv_slot *slot, bool end, bool cut);
/* It has been heard: the head says what. */
void cv_host_paid(struct cv_host *host, const struct cv_frame_head *head);
/* A host that is ready says something that it may (remote_frames.h), of the piece of a slot or of
 * one that nobody waits for (NULL). In remote_frames.c. */
void cv_remote_frame(struct cv_host *host, struct cv_slot *slot,
                     const struct cv_frame_head *head, const unsigned char *payload);
/* The host has gone: so have the pieces of its slots. In remote_frames.c. */
void cv_remote_lose(struct cv_host *host);

/* --- remote_slot.c --- */

/* Send the slot's piece, from its beginning. */
enum cleave_status cv_remote_start(struct cv_slot *slot, struct cleave_error *err);
/* If it was asked whether the piece can be shorter, that is the answer. */
void cv_remote_cut_answered(struct cv_slot *slot, bool done);
void cv_remote_drop_store(struct cv_slot *slot);
/* Hold the host to the time that the piece, which is under way or is being stopped, or the end
 * of a command that stays may take: who does not keep to it is lost. */
void cv_limit_set(struct cv_slot *slot);
void cv_limit_over(struct cv_slot *slot);
/* STARTED, FED, DRAINED or SEEN of its piece. */
void cv_remote_open_frame(struct cv_host *host, struct cv_slot *slot,
                          const struct cv_frame_head *head, const unsigned char *payload);
/* It was cut over there, or could not be: go on with what is to be sent. */
void cv_remote_open_cut(struct cv_slot *slot, bool done);

/* --- remote_send.c --- */

/* Send the piece of a slot as soon as the port allows. */
void cv_send_ask(struct cv_slot *slot);
/* It needs no sending any more: it has arrived or was given up. */
void cv_send_over(struct cv_slot *slot);
/* Send nothing more of it for now. */
void cv_send_pause(struct cv_slot *slot);
/* Whether more of an open piece may be sent: no more is than its command may want before the
 * host has said that it wants more. */
bool cv_send_has_room(const struct cv_slot *slot);
/* Bytes of the piece that are to be sent. */
uint64_t cv_remote_whole(const struct cv_slot *slot);
/* Ask for the output of the slot's piece as it comes, now or when the host knows of the piece. */
void cv_send_want(void *slot);
/* PIECE or MORE: what the piece is. */
void cv_send_piece(struct cv_slot *slot, uint8_t type, uint16_t flags);
/* The next frame for the host; false: nothing may be sent now. */
bool cv_send_more(void *context);
/* The host has so many bytes of the slot's piece: no fewer than before, no more than were
 * sent. */
void cv_send_got(struct cv_slot *slot, uint64_t bytes);
/* Nothing is on its way any more. */
void cv_send_reset(struct cv_host *host);
/* Decide whether the piece of the slot, which was not announced or had no bytes, goes so. */
void cv_packed_begin(struct cv_slot *slot);
/* Its end is another one now. */
void cv_packed_changed(struct cv_slot *slot);
/* Say what it is, if the host does not know. */
enum cleave_status cv_packed_tell(struct cv_slot *slot, struct cleave_error *err);
/* Bytes of header and body that the host can give to its command by now. */
uint64_t cv_packed_there(const struct cv_slot *slot);
/* Up to which byte of the body, an offset in the file, some may be on its way. */
uint64_t cv_packed_fed(const struct cv_slot *slot);

/* --- remote_item.c --- */

/* Look at the files that all items need. */
enum cleave_status cv_hosts_base(struct cv_hosts *hosts, struct cleave_error *err);

/* Make the parcel of the slot's item, which is about to be announced. */
enum cleave_status cv_item_pack(struct cv_slot *slot, struct cleave_error *err);
/* Bytes of the head, and of what follows. */
uint64_t cv_item_head(const struct cv_slot *slot);
uint64_t cv_item_body(const struct cv_slot *slot);
/* Whether it has files that are not sent, as the host is to see them. */
bool cv_item_is_shared(const struct cv_slot *slot);
/* The next bytes of it, from `at` on, of the head or of the body; how many. */
size_t cv_item_read(struct cv_slot *slot, uint64_t at, void *out, size_t max);
/* What it brings back. */
enum cleave_status cv_item_take_back(struct cv_slot *slot, const void *bytes,
                                     size_t length, struct cleave_error *err);
/* Put the files that came back where they belong; what is wrong is the fault of the slot.
 * False: it is something that cannot come. */
bool cv_item_unpack(struct cv_slot *slot, bool done, char *fault, size_t size);
/* It is over, or is sent again. */
void cv_item_forget(struct cv_slot *slot);

#endif
