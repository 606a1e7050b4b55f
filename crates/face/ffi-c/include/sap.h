/* SAP: sockets whose messages are precise or approximate. See sap(3). */
#ifndef SAP_H
#define SAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A socket. Several threads may use one at a time, but no call may follow sap_close. */
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
    size_t suspect_start; /* with SAP_SUSPECT: the range that holds the bit errors */
    size_t suspect_end;
};

/* All functions that return int return 0, or -1 with errno set; sap_strerror describes the error.
 * Without a socket (NULL) they set errno to EINVAL. */

/* Creates a socket in precise mode; returns NULL without memory. */
sap_sock_t *sap_socket(void);
/* Connects to a listener and waits for its answer. An address of NULL and port 0 are EINVAL, an
 * unknown host name is ENXIO. */
int sap_connect(sap_sock_t *sock, const char *addr, uint16_t port);
/* Waits for one connection; port 0 chooses a free port, addr NULL stands for all addresses. */
int sap_listen(sap_sock_t *sock, const char *addr, uint16_t port);
/* The same in two steps: sap_bind returns at once, sap_port returns the port. */
int sap_bind(sap_sock_t *sock, const char *addr, uint16_t port);
int sap_accept(sap_sock_t *sock);
uint16_t sap_port(const sap_sock_t *sock);
/* Sets the mode of the following messages; SAP_APPROX protects a number of bytes at the front. */
int sap_set_mode(sap_sock_t *sock, enum sap_mode mode, size_t protected_bytes);
/* Sets the longest time that a call waits, in milliseconds; -1, the default, is no limit. */
int sap_set_timeout(sap_sock_t *sock, int milliseconds);
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
/* Sends one message; returns its length, or -1, with EMSGSIZE if it is too long. */
long sap_send(sap_sock_t *sock, const void *data, size_t len);
/* Receives one message. Returns its length, of which at most len bytes are stored, or 0 at the end
 * and for an empty message (sap_is_finished tells which), or -1. info may be NULL. */
long sap_recv(sap_sock_t *sock, void *data, size_t len, struct sap_info *info);
int sap_is_finished(const sap_sock_t *sock);
/* Requests the bytes from start to end (exclusive) of approximate message number again. They arrive
 * exact, as a message of kind SAP_KIND_REPAIR with the same number, which is empty if the sender no
 * longer has the message. */
int sap_repair(sap_sock_t *sock, uint32_t number, size_t start, size_t end);
/* Finishes this direction and waits until the peer has acknowledged everything. Fails with ETIMEDOUT
 * after three seconds without progress, that is if no message was acknowledged or sent for the first
 * time, or when the timeout of sap_set_timeout expires; sap_strerror tells what was not delivered. */
int sap_send_fin(sap_sock_t *sock);
/* Returns a descriptor that is readable while a message or the end can be received. It belongs to
 * the socket. */
int sap_fd(sap_sock_t *sock);
/* Returns the length of the longest message that the path carries now. */
size_t sap_max_message(const sap_sock_t *sock);
/* Describes the last error of this socket in any thread. Never NULL; valid until the calling thread
 * ends or calls sap_strerror again. */
const char *sap_strerror(const sap_sock_t *sock);
/* Closes the connection and frees the socket; NULL is allowed. Waits as sap_send_fin does, so that
 * messages sent just before arrive although the program ends. Returns 0, or -1 if they were not all
 * acknowledged, with errno as of sap_send_fin; the socket is freed in both cases. When the timeout
 * of sap_set_timeout expires, at once if it is 0, delivery continues in the background while the
 * program runs. */
int sap_close(sap_sock_t *sock);

#ifdef __cplusplus
}
#endif
#endif
