/* SAP: sockets whose messages are precise or approximate. See sap(3). */
#ifndef SAP_H
#define SAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A socket: new, listening or connected. Several threads may use one at a time, but no call may follow sap_close. */
typedef struct sap_sock sap_sock_t;

/* The mode of a message: exact, in order and retransmitted, or sent once and perhaps damaged. */
enum sap_mode { SAP_PRECISE = 0, SAP_APPROX = 1 };
/* The sender's protocol: with a window, or stop and wait as in the paper on SAP. */
enum sap_profile { SAP_STANDARD = 0, SAP_PAPER = 1 };

/* The kind of a received message, and the state of its unprotected bytes. */
enum sap_kind { SAP_KIND_PRECISE = 0, SAP_KIND_APPROX = 1, SAP_KIND_REPAIR = 2 };
enum sap_integrity { SAP_INTACT = 0, SAP_UNKNOWN = 1, SAP_SUSPECT = 2 };

struct sap_info {
    enum sap_kind kind;
    enum sap_integrity integrity;
    uint32_t number;      /* within its stream and kind; a gap is a loss */
    uint16_t stream;
    size_t exact;         /* the number of bytes at the front that are exact */
    size_t suspect_start; /* with SAP_SUSPECT: from the first bit error to the last */
    size_t suspect_end;
    size_t missing;       /* the number of bytes that did not arrive, and are zeros */
    size_t length;        /* of the message: if it is more than sap_recv returns, its end was cut off */
};

/* The bytes from start to end, exclusive. */
struct sap_range {
    size_t start;
    size_t end;
};
/* The ranges of a message: exact, those that hold a bit error each, those that did not arrive. */
enum sap_ranges { SAP_RANGES_EXACT = 0, SAP_RANGES_SUSPECT = 1, SAP_RANGES_MISSING = 2 };

/* A received message. */
typedef struct sap_message sap_message_t;

/* The bytes of a message to send. */
struct sap_buffer {
    const void *data;
    size_t len;
};

/* The decision of an application on an approximate message. */
enum sap_decision { SAP_ACCEPT = 0, SAP_DISCARD = 1, SAP_REPAIR = 2 };
/* Decides on a message before it is received. For SAP_REPAIR it stores ranges to request again, at
 * most *count, and sets *count to their number; the message is received once they have arrived. It
 * may be called by every thread that receives from the socket, and may send on it, but must not
 * receive from it or free it. */
typedef enum sap_decision (*sap_check_t)(void *context, const sap_message_t *message,
                                         struct sap_range *ranges, size_t *count);

/* Why a connection has ended, or could not be made. */
enum sap_reason {
    SAP_OPEN = 0,            /* it has not ended */
    SAP_CLOSED = 1,          /* both ends have finished, or this end has closed */
    SAP_CLOSED_BY_PEER = 2,  /* the peer closed before this end had finished */
    SAP_NO_ANSWER = 3,       /* the peer did not answer sap_connect */
    SAP_SILENT = 4,          /* the peer sent nothing for too long */
    SAP_REFUSED = 5,         /* the peer refused the connection */
    SAP_UNREACHABLE = 6,     /* the system reports the peer as unreachable */
    SAP_PORT_CLOSED = 7,     /* no program receives at the peer's port */
    SAP_VIOLATION = 8,       /* the peer has broken the protocol */
    SAP_DISPLACED = 9        /* this end has reset it, idle or not accepted, for a new one */
};

/* All functions that return int return 0, or -1 with errno set; sap_strerror describes the error.
 * Without a socket (NULL) they set errno to EINVAL. */

/* Creates a socket in precise mode; returns NULL without memory. */
sap_sock_t *sap_socket(void);
/* Connects to a listener and waits for its answer. An address of NULL and port 0 are EINVAL, an
 * unknown host name is ENXIO.
 * A socket connects or listens, once: on one that is connected sap_connect, sap_bind and sap_listen
 * fail with EISCONN, on one that listens with EINVAL, and with EALREADY while another thread is in
 * sap_connect or sap_bind. */
int sap_connect(sap_sock_t *sock, const char *addr, uint16_t port);
/* Listens on an address and returns at once; port 0 chooses a free port, which sap_port returns,
 * and addr NULL stands for all IPv4 addresses. */
int sap_bind(sap_sock_t *sock, const char *addr, uint16_t port);
/* Waits for the next connection to a listening socket, which stays as it is: many can be accepted.
 * Returns a new socket with the settings of the listening one, or NULL with errno set. */
sap_sock_t *sap_accept(sap_sock_t *sock);
/* Waits for one connection, which this socket becomes; others are refused. */
int sap_listen(sap_sock_t *sock, const char *addr, uint16_t port);
/* Returns the local port, or 0. */
uint16_t sap_port(const sap_sock_t *sock);
/* Stores the address of the peer as text that ends with a zero, and its port; either may be NULL.
 * Fails with ENOBUFS if the text is longer than len. */
int sap_peer(const sap_sock_t *sock, char *addr, size_t len, uint16_t *port);
/* Sets the mode of the following messages; SAP_APPROX protects a number of bytes at the front. */
int sap_set_mode(sap_sock_t *sock, enum sap_mode mode, size_t protected_bytes);
/* Makes the following messages approximate, exact in these ranges: at most eight. */
int sap_set_ranges(sap_sock_t *sock, const struct sap_range *ranges, size_t count);
/* Sets the longest time that a call waits, in milliseconds; -1, the default, is no limit. */
int sap_set_timeout(sap_sock_t *sock, int milliseconds);
/* Lets sap_accept, sap_send and sap_recv fail with EAGAIN instead of waiting; 0 by default. */
int sap_set_nonblocking(sap_sock_t *sock, int on);
/* Sets how long sap_close and sap_send_fin wait without progress, in milliseconds; 60 000 by
 * default. */
int sap_set_linger(sap_sock_t *sock, int milliseconds);
/* Sends and receives approximate messages newest first: sap_send drops the oldest that wait instead
 * of waiting for room, and sap_recv returns the newest that has arrived. 0 by default. */
int sap_set_newest_first(sap_sock_t *sock, int on);
/* Encrypts the connection with a key of 32 random bytes that both ends share; NULL removes the key.
 * Call it before sap_connect, sap_bind or sap_listen: afterwards it fails with EISCONN, or with
 * EINVAL on a listener. */
int sap_set_key(sap_sock_t *sock, const uint8_t key[32]);
/* Set the profile, and the carrier of the datagrams: "kernel", "raw" or "udp", the same at both
 * ends, NULL for "udp". Call them before sap_connect, sap_bind or sap_listen, as sap_set_key. */
int sap_set_profile(sap_sock_t *sock, enum sap_profile profile);
int sap_set_carrier(sap_sock_t *sock, const char *carrier);
/* Sets the stream of the following messages and of sap_repair; 0 by default. Precise messages keep
 * their order within a stream, and streams do not block each other. */
int sap_set_stream(sap_sock_t *sock, uint16_t stream);
/* Sets the damage that the application tolerates, in place of a mode: a bit error rate up to 0.5,
 * loss, and whether messages must keep their order; a number of bytes at the front stays exact. */
int sap_set_tolerance(sap_sock_t *sock, double bit_errors, int loss, int in_order,
                      size_t protected_bytes);
/* Sets the check of the application on a connected socket; NULL removes it. */
int sap_set_check(sap_sock_t *sock, sap_check_t check, void *context);
/* Sends one message; returns its length, or -1, with EMSGSIZE if it is too long. */
long sap_send(sap_sock_t *sock, const void *data, size_t len);
/* Sends several messages, which takes less time than one by one; returns how many were sent, or -1.
 * Fewer than count only if the socket does not wait. */
long sap_send_messages(sap_sock_t *sock, const struct sap_buffer *messages, size_t count);
/* Receives one message. Returns the number of bytes stored, which is at most len: the rest of a longer
 * message is lost, and info->length tells its length. Returns 0 at the end and for an empty message
 * (sap_is_finished tells which), or -1. info may be NULL. */
long sap_recv(sap_sock_t *sock, void *data, size_t len, struct sap_info *info);
int sap_is_finished(const sap_sock_t *sock);
/* Receives one message without a copy: its bytes, their number in *len, and its ranges are valid
 * until it is freed. Returns NULL at the end (sap_is_finished) and on errors. info and len may be
 * NULL. sap_message_ranges stores at most room ranges and returns the number of all. */
sap_message_t *sap_recv_message(sap_sock_t *sock, struct sap_info *info);
const void *sap_message_data(const sap_message_t *message, size_t *len);
size_t sap_message_ranges(const sap_message_t *message, enum sap_ranges which,
                          struct sap_range *ranges, size_t room);
void sap_message_free(sap_message_t *message);
/* Requests the bytes from start to end (exclusive) of approximate message number again. They arrive
 * exact, as messages of kind SAP_KIND_REPAIR with the same number, one of which is empty if the sender
 * no longer has the message. An end beyond that of the message, such as SIZE_MAX, means its end. No
 * other bytes than those requested arrive, and each of them arrives once. */
int sap_repair(sap_sock_t *sock, uint32_t number, size_t start, size_t end);
/* Waits until everything precise is acknowledged and everything else sent. */
int sap_flush(sap_sock_t *sock);
/* Finishes this direction and waits until the peer has acknowledged everything. Fails with ETIMEDOUT
 * after the time of sap_set_linger without progress, that is if no message was acknowledged or sent
 * for the first time, or when the timeout of sap_set_timeout expires; sap_strerror tells what was
 * not delivered. */
int sap_send_fin(sap_sock_t *sock);
/* Return a descriptor for poll with POLLIN: sap_fd one that is readable while a message or the end
 * can be received, or while a listening socket can accept; sap_room_fd one that becomes readable
 * when the send buffer has room again, after sap_send has failed with EAGAIN. They belong to the
 * socket, and are not to be read. */
int sap_fd(sap_sock_t *sock);
int sap_room_fd(sap_sock_t *sock);
/* Return the length of the longest message, and of the longest that goes in one datagram now: each
 * part of a longer one is a datagram of its own. */
size_t sap_max_message(const sap_sock_t *sock);
size_t sap_max_whole(const sap_sock_t *sock);
/* Returns for how many milliseconds the peer has been silent although data wait for its answer; 0
 * while it answers, -1 without a connection. */
long sap_silence(const sap_sock_t *sock);
/* Returns the smoothed round-trip time in microseconds, or -1 if it is not known yet. */
long sap_round_trip(const sap_sock_t *sock);
/* Returns why the connection has ended, or why the last sap_connect failed. */
enum sap_reason sap_close_reason(const sap_sock_t *sock);
/* Stores the ranges of a file that must be exact for programs to read it, such as its headers, in
 * order and not touching: at most room, of which the closest are joined if there are more. Returns
 * how many; 0 for a kind of file that it does not know. It knows JPEG, BMP with its colour profile,
 * PBM, PGM, PPM and PAM, MP4, Ogg, FLAC, WAV and its relatives, AIFF, AU, Core Audio, .npy, and
 * texts, which are exact as a whole. */
size_t sap_exact_ranges(const void *data, size_t len, struct sap_range *ranges, size_t room);

/* Sends the first len bytes of a file as the body of a reply of HTTP, as `windfall serve` does
 * (docs/reference/web.md): as the transfer of this number and token, precisely or approximately, then with
 * what programs need to read the file exact. Returns once all is under way. It reads the descriptor
 * from the start of the file, and does not move its position. Neither the mode nor the stream of the socket
 * matters, and several threads may send bodies on one at the same time. After an approximate body the
 * connection keeps no messages for sap_repair: clients of HTTP ask for ranges. If the file cannot be
 * read, the client learns that, and the call succeeds. */
int sap_send_body(sap_sock_t *sock, uint16_t transfer, const uint8_t token[16], int fd, size_t len,
                  enum sap_mode mode);
/* Does the same with len bytes of a file from a position on. Those that do not begin with the file
 * are precise, since only its first bytes tell what programs need exact. */
int sap_send_part(sap_sock_t *sock, uint16_t transfer, const uint8_t token[16], int fd,
                  uint64_t start, size_t len, enum sap_mode mode);

/* Files in parts of which the front must be exact: a stream of H.264, an array of NumPy, a JPEG. */

/* The parts of a file, and those that have arrived. */
typedef struct sap_parts sap_parts_t;
typedef struct sap_restorer sap_restorer_t;

/* Cuts a file into parts of at most longest bytes, 128 to 65000. Returns NULL with errno set: EINVAL
 * if the file is of no known kind or malformed, ENOMEM without memory; sap_strerror(NULL) says more. */
sap_parts_t *sap_protect(const void *data, size_t len, size_t longest);
size_t sap_parts_count(const sap_parts_t *parts);
/* Returns the bytes of a part, their number in *len, and in *exact how many at the front must be
 * exact: all of a part that is to be sent precisely. They are valid until the parts are freed; NULL
 * if there is no such part. */
const void *sap_parts_get(const sap_parts_t *parts, size_t index, size_t *len, size_t *exact);
void sap_parts_free(sap_parts_t *parts);
/* Creates a receiver of parts; returns NULL without memory. */
sap_restorer_t *sap_restorer(void);
/* Takes a part as it arrived, in any order. Fails with EINVAL if it is none, or of another file. */
int sap_restorer_push(sap_restorer_t *restorer, const void *data, size_t len);
/* Makes the file of the parts that arrived: returns its bytes, valid until the next call, their
 * number in *len, and how many parts are missing and damaged; any of these may be NULL. Returns NULL
 * with EINVAL if nothing arrived, or not the head of an array or a picture, or less than an eighth of
 * it: the file has at most eight bytes for each byte that arrived. */
const void *sap_restorer_file(sap_restorer_t *restorer, size_t *len, size_t *missing,
                              size_t *damaged);
void sap_restorer_free(sap_restorer_t *restorer);

/* Describes the last error of this socket in any thread; of NULL the last failure in this thread of
 * sap_protect, sap_restorer_push or sap_restorer_file, which have no socket. Never NULL; valid until
 * the calling thread ends or calls sap_strerror again. */
const char *sap_strerror(const sap_sock_t *sock);
/* Limits the memory of the messages that all sockets of this process hold, in bytes; 256 MB by
 * default. Once half of it is taken, each connection has an equal share of the other half. */
void sap_limit_memory(size_t bytes);
/* Closes the connection or the listener, and frees the socket; NULL is allowed. Waits as sap_send_fin does, so that
 * messages sent just before arrive although the program ends. Returns 0, or -1 if they were not all
 * acknowledged, with errno as of sap_send_fin; the socket is freed in both cases. When the timeout
 * of sap_set_timeout expires, at once if it is 0, delivery continues in the background while the
 * program runs. */
int sap_close(sap_sock_t *sock);

/* UDP-Lite: datagrams whose checksum covers as much as the sender asks. */

/* A UDP-Lite socket; threads may share it. */
typedef struct udplite_sock udplite_sock_t;

/* Linux's options: the coverage of what is sent, 0 for everything, and the least to accept; the
 * eight bytes of the header count. */
enum udplite_option { UDPLITE_SEND_COVERAGE = 10, UDPLITE_RECEIVE_COVERAGE = 11 };

/* Creates a socket that is bound to an address, NULL for all IPv4 addresses, and a port, 0 for a
 * free one, over a carrier: "kernel", "raw", "udp", or NULL for the first that this host permits.
 * Returns NULL with errno set. */
udplite_sock_t *udplite_socket(const char *addr, uint16_t port, const char *carrier);
/* Connects to a peer, once: only its datagrams are received then, and udplite_send leads to it. */
int udplite_connect(udplite_sock_t *sock, const char *addr, uint16_t port);
/* Sets an option as setsockopt does at the level of UDP-Lite. */
int udplite_set_option(udplite_sock_t *sock, int name, int value);
/* Sets the longest time that a call waits, in milliseconds; -1, the default, is no limit, and 0
 * does not wait. Calls fail with EAGAIN when it expires. */
int udplite_set_timeout(udplite_sock_t *sock, int milliseconds);
/* Send one datagram; return its length, or -1. */
long udplite_send(udplite_sock_t *sock, const void *data, size_t len);
long udplite_sendto(udplite_sock_t *sock, const void *data, size_t len, const char *addr,
                    uint16_t port);
/* Receives one datagram whose checksum is correct. Returns the number of bytes stored, which is at
 * most len, stores the length of the datagram, unless length is NULL, and its sender as sap_peer
 * does. */
long udplite_recvfrom(udplite_sock_t *sock, void *data, size_t len, char *addr, size_t addr_len,
                      uint16_t *port, size_t *length);
/* The header of a packet of RTP (RFC 3550): its number, the type of its payload, whether it ends a
 * picture, the instant of its sampling in ticks of the media, and its source. */
struct rtp_header {
    uint16_t number;
    uint8_t type;
    uint8_t marker;
    uint32_t timestamp;
    uint32_t source;
};
/* Sends one packet of RTP to the connected peer; returns the length of its payload, or -1, with EINVAL
 * if the type is not 0 to 127. */
long udplite_send_rtp(udplite_sock_t *sock, const struct rtp_header *header, const void *data,
                      size_t len);
/* Waits for one packet of RTP, and refuses what is none. Stores its header, unless that is NULL, and
 * its payload and the length of that as udplite_recvfrom does. */
long udplite_recv_rtp(udplite_sock_t *sock, struct rtp_header *header, void *data, size_t len,
                      size_t *length);
/* Datagrams of a socket and their bytes behind the header of UDP-Lite. Refused are those whose
 * checksum is wrong and what is no RTP where that was asked for, but not what the kernel drops.
 * Lost are those of RTP that are missing between the numbers of the first source. */
struct udplite_counts {
    uint64_t sent, sent_bytes, received, received_bytes, refused, rtp_lost;
};
/* Stores the counts since the socket was made. Returns 0, or -1. */
int udplite_counts(const udplite_sock_t *sock, struct udplite_counts *counts);
/* Return the local port, the name of the carrier, and the descriptor for poll, which is readable
 * while datagrams wait. */
uint16_t udplite_port(const udplite_sock_t *sock);
const char *udplite_carrier(const udplite_sock_t *sock);
int udplite_fd(const udplite_sock_t *sock);
/* Describes the last error of this socket, as sap_strerror does. */
const char *udplite_strerror(const udplite_sock_t *sock);
/* Closes and frees the socket; NULL is allowed. */
int udplite_close(udplite_sock_t *sock);

#ifdef __cplusplus
}
#endif
#endif
