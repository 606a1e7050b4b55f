/* One listener, several clients, one thread that polls; then the ways in which a connection fails. */
#include "check.h"
#include <errno.h>
#include <poll.h>
#include <sap.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <time.h>

enum { CLIENTS = 3, PATIENCE = 30000 };

static int readable(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    return poll(&wait, 1, PATIENCE) == 1;
}

static int clients(void)
{
    sap_sock_t *listener = sap_socket(), *here[CLIENTS], *there[CLIENTS];
    char text[64], address[64];
    uint16_t port = 0;
    sap_set_nonblocking(listener, 1);
    CHECK(!sap_bind(listener, "127.0.0.1", 0));
    CHECK(!sap_accept(listener) && errno == EAGAIN);
    for (int i = 0; i < CLIENTS; i++) {
        here[i] = sap_socket();
        CHECK(!sap_connect(here[i], "127.0.0.1", sap_port(listener)));
        CHECK(readable(sap_fd(listener)));
        CHECK((there[i] = sap_accept(listener)));
        /* It has the settings of the listener: it does not wait. */
        CHECK(sap_recv(there[i], text, sizeof text, NULL) == -1 && errno == EAGAIN);
        CHECK(!sap_peer(there[i], address, sizeof address, &port));
        CHECK(!strcmp(address, "127.0.0.1") && port == sap_port(here[i]));
        CHECK(sap_peer(there[i], address, 4, NULL) == -1 && errno == ENOBUFS);
    }
    for (int i = CLIENTS - 1; i >= 0; i--) {
        sap_send(here[i], &"abc"[i], 1);
        CHECK(!sap_flush(here[i]));
        CHECK(readable(sap_fd(there[i])));
        CHECK(sap_recv(there[i], text, 1, NULL) == 1 && text[0] == "abc"[i]);
        CHECK(sap_silence(here[i]) == 0 && sap_round_trip(here[i]) > 0);
        CHECK(sap_max_whole(here[i]) >= 1000 && sap_max_message(here[i]) == 1 << 20);
        CHECK(sap_close_reason(here[i]) == SAP_OPEN);
    }
    /* A sender that does not wait learns when there is room again. */
    static char data[60000];
    long sent = 0, got = 0;
    sap_set_nonblocking(here[0], 1);
    CHECK(sap_room_fd(here[0]) >= 0);
    while (sap_send(here[0], data, sizeof data) > 0)
        sent++;
    CHECK(errno == EAGAIN && sent > 10);
    sap_set_nonblocking(there[0], 0);
    while (got < sent && sap_recv(there[0], data, sizeof data, NULL) == sizeof data)
        got++;
    CHECK(got == sent && readable(sap_room_fd(here[0])));
    struct sap_buffer messages[] = {{"one", 3}, {"two", 3}, {"", 0}};
    sap_set_nonblocking(here[0], 0);
    CHECK(sap_send_messages(here[0], messages, 3) == 3);
    CHECK(sap_recv(there[0], text, 3, NULL) == 3 && !memcmp(text, "one", 3));
    CHECK(sap_recv(there[0], text, 3, NULL) == 3 && !memcmp(text, "two", 3));
    CHECK(sap_recv(there[0], text, 3, NULL) == 0 && !sap_is_finished(there[0]));
    for (int i = 0; i < CLIENTS; i++) {
        CHECK(!sap_close(here[i]));
        sap_set_timeout(there[i], 0);
        sap_close(there[i]);
    }
    CHECK(!sap_close(listener));
    return 0;
}

/* Approximate messages, newest first: the sender never waits, the receiver reads the newest. */
static int newest_first(void)
{
    sap_sock_t *here = sap_socket(), *there, *listener = sap_socket();
    int last = 0, number;
    sap_set_newest_first(here, 1);
    sap_set_newest_first(listener, 1);
    sap_set_timeout(listener, PATIENCE);
    CHECK(!sap_bind(listener, "127.0.0.1", 0));
    CHECK(!sap_connect(here, "127.0.0.1", sap_port(listener)));
    CHECK((there = sap_accept(listener)));
    sap_set_mode(here, SAP_APPROX, sizeof number);
    for (number = 1; number <= 5; number++)
        CHECK(sap_send(here, &number, sizeof number) > 0 && !sap_flush(here));
    sap_set_mode(here, SAP_PRECISE, 0);
    /* Everything sent before has arrived when this is acknowledged. */
    CHECK(sap_send(here, "end", 3) == 3 && !sap_flush(here));
    for (int left = 6; left > 0; left--) {
        struct sap_info info;
        CHECK(sap_recv(there, &number, sizeof number, &info) > 0);
        if (info.kind == SAP_KIND_PRECISE) continue;
        CHECK(!last || number < last);
        last = number;
    }
    CHECK(last == 1);
    sap_set_timeout(there, 0);
    sap_close(there);
    sap_set_linger(here, 1);
    sap_close(here);
    return sap_close(listener);
}

static int failures(void)
{
    sap_sock_t *listener = sap_socket(), *sock = sap_socket();
    CHECK(!sap_bind(listener, "127.0.0.1", 0));
    uint16_t port = sap_port(listener);
    CHECK(!sap_close(listener));
    /* The library lets go of the port in the background. */
    for (int i = 0; i < 100 && sap_close_reason(sock) != SAP_PORT_CLOSED; i++)
        CHECK(sap_connect(sock, "127.0.0.1", port) && errno == ECONNREFUSED);
    CHECK(sap_close_reason(sock) == SAP_PORT_CLOSED);
    CHECK(strstr(sap_strerror(sock), "no program receives"));

    uint8_t key[32] = {1};
    listener = sap_socket();
    CHECK(!sap_set_key(listener, key) && !sap_bind(listener, "127.0.0.1", 0));
    CHECK(sap_connect(sock, "127.0.0.1", sap_port(listener)) && errno == EKEYREJECTED);
    CHECK(sap_close_reason(sock) == SAP_REFUSED);
    sap_close(sock);
    return sap_close(listener);
}

/* The timeout of a socket is that of its connecting too: ten attempts without an answer do not take
 * the five seconds each that they have by default. */
static int impatient(void)
{
    struct sockaddr_in silent = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof silent;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    sap_sock_t *sock = sap_socket();
    time_t start = time(NULL);
    CHECK(!bind(fd, (struct sockaddr *)&silent, len));
    CHECK(!getsockname(fd, (struct sockaddr *)&silent, &len));
    CHECK(!sap_set_timeout(sock, 50));
    for (int i = 0; i < 10; i++)
        CHECK(sap_connect(sock, "127.0.0.1", ntohs(silent.sin_port)) && errno == ETIMEDOUT);
    CHECK(sap_close_reason(sock) == SAP_NO_ANSWER && time(NULL) - start < 25);
    return sap_close(sock);
}

int main(void)
{
    int failed = clients();
    if (!failed) failed = newest_first();
    if (!failed) failed = failures();
    if (!failed) failed = impatient();
    if (!failed) puts("each client has its own socket");
    return failed ? 1 : 0;
}
