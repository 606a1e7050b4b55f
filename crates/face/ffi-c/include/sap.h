/* SAP: sockets whose messages are precise or approximate. See sap(3). */
#ifndef SAP_H
#define SAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A socket. Several threads may use one, but only one may close it. */
typedef struct sap_sock sap_sock_t;

enum sap_mode { SAP_PRECISE = 0, SAP_APPROX = 1 };
/* How the protocol works: with a window, or as in the paper that SAP comes from. */
enum sap_profile { SAP_STANDARD = 0, SAP_PAPER = 1 };

/* What a message is, and what is known of the bytes that are not protected. */
enum sap_kind { SAP_KIND_PRECISE = 0, SAP_KIND_APPROX = 1, SAP_KIND_REPAIR = 2 };
enum sap_integrity { SAP_INTACT = 0, SAP_UNKNOWN = 1, SAP_SUSPECT = 2 };

struct sap_info {
    enum sap_kind kind;
    enum sap_integrity integrity;
    uint32_t number;      /* among the messages of its stream and kind; a gap is loss */
    uint16_t stream;
    size_t exact;         /* so many bytes at the front are certainly right */
    size_t suspect_start; /* with SAP_SUSPECT: the wrong bits lie in this range */
    size_t suspect_end;
};

/* All functions that return int return 0, or -1 with errno set; sap_strerror says more. Without a
 * socket (NULL) they set errno to EINVAL. */

/* A new socket, precise; NULL without memory. */
sap_sock_t *sap_socket(void);
/* Asks a listener for a connection, and waits for its answer. No address (NULL) and port 0 are
 * EINVAL, and a name that no host has is ENXIO. */
int sap_connect(sap_sock_t *sock, const char *addr, uint16_t port);
/* Waits for one connection; port 0 takes a free one. addr may be NULL for any. */
int sap_listen(sap_sock_t *sock, const char *addr, uint16_t port);
/* The same in two steps: sap_bind returns at once, and sap_port says which port it is. */
int sap_bind(sap_sock_t *sock, const char *addr, uint16_t port);
int sap_accept(sap_sock_t *sock);
uint16_t sap_port(const sap_sock_t *sock);
/* How the next messages travel; with SAP_APPROX so many bytes at the front are exact. */
int sap_set_mode(sap_sock_t *sock, enum sap_mode mode, size_t protected_bytes);
/* How long a call may wait, in milliseconds; -1 without limit. */
int sap_set_timeout(sap_sock_t *sock, int milliseconds);
/* Encrypts the connection with a key of 32 random bytes that both ends share; before sap_connect,
 * sap_bind or sap_listen: afterwards it is refused with EISCONN, or EINVAL on a listener. NULL takes
 * it back. */
int sap_set_key(sap_sock_t *sock, const uint8_t key[32]);
/* Of which profile connections are, and what carries their datagrams: "kernel", "raw" or "udp", the
 * same at both ends, NULL for "udp"; both before sap_connect, sap_bind or sap_listen, as a key. */
int sap_set_profile(sap_sock_t *sock, enum sap_profile profile);
int sap_set_carrier(sap_sock_t *sock, const char *carrier);
/* In which stream the next messages travel, and of which sap_repair speaks; 0 at first. Precise
 * messages keep their order within a stream, and no stream waits for another. */
int sap_set_stream(sap_sock_t *sock, uint16_t stream);
/* What the application can bear, in place of a mode: a rate of bit errors up to 0.5, loss, and
 * whether messages must keep their order; so many bytes at the front are exact all the same. */
int sap_set_tolerance(sap_sock_t *sock, double bit_errors, int loss, int in_order,
                      size_t protected_bytes);
/* Sends one message; returns its length, or -1, with EMSGSIZE if it is too long. */
long sap_send(sap_sock_t *sock, const void *data, size_t len);
/* Receives one message; returns its length (the rest is cut if it is longer than len), 0 at the
 * end or for an empty message (sap_is_finished tells which), or -1. info may be NULL. */
long sap_recv(sap_sock_t *sock, void *data, size_t len, struct sap_info *info);
int sap_is_finished(const sap_sock_t *sock);
/* Asks for bytes start to end (not included) of approximate message number again: they come exact,
 * as a message of kind SAP_KIND_REPAIR with the same number, empty if the sender has forgotten it. */
int sap_repair(sap_sock_t *sock, uint32_t number, size_t start, size_t end);
/* Says that nothing more will be sent, and waits until the other end knows, as long as something gets
 * on: ETIMEDOUT when no message was acknowledged or went out for three seconds, whatever
 * sap_set_timeout says. sap_strerror says how much was not delivered. */
int sap_send_fin(sap_sock_t *sock);
/* A descriptor that can be polled for reading while a message waits, or the end. It belongs to the
 * socket. */
int sap_fd(sap_sock_t *sock);
/* The longest message that the path carries now. */
size_t sap_max_message(const sap_sock_t *sock);
/* What went wrong last on this socket, in whichever thread; never NULL, and good until the calling
 * thread ends or calls sap_strerror again, whatever other threads do. */
const char *sap_strerror(const sap_sock_t *sock);
/* Ends the connection and frees the socket; NULL is allowed. It does not wait: what has not gone out
 * goes out in the background, unless the program ends before; sap_send_fin waits for that. */
void sap_close(sap_sock_t *sock);

#ifdef __cplusplus
}
#endif
#endif
