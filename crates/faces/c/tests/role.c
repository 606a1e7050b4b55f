/* A socket connects or listens: what it is keeps it from becoming the other, and the error says
 * which it is. */
#include "check.h"
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sap.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Whether a call failed with this errno and text. */
static int refused(sap_sock_t *sock, int result, int number, const char *text)
{
    int seen = errno;
    if (result == -1 && seen == number && strstr(sap_strerror(sock), text))
        return 1;
    fprintf(stderr, "%d, errno %d: %s\n", result, seen, sap_strerror(sock));
    return 0;
}

/* A socket that connects to a port of this host. */
struct end {
    sap_sock_t *sock;
    uint16_t port;
    int result;
};

static void *connects(void *end)
{
    struct end *it = end;
    it->result = sap_connect(it->sock, "127.0.0.1", it->port);
    return NULL;
}

int main(void)
{
    sap_sock_t *listener = sap_socket(), *here = sap_socket(), *other = sap_socket();
    CHECK(!sap_bind(listener, "127.0.0.1", 0) && !sap_bind(other, "127.0.0.1", 0));
    uint16_t port = sap_port(listener), elsewhere = sap_port(other);

    /* One that listens does not connect, nor listen twice. */
    CHECK(refused(listener, sap_connect(listener, "127.0.0.1", elsewhere), EINVAL, "listens"));
    CHECK(refused(listener, sap_bind(listener, "127.0.0.1", 0), EINVAL, "listens"));
    CHECK(refused(listener, sap_listen(listener, "127.0.0.1", 0), EINVAL, "listens"));
    CHECK(sap_port(listener) == port);

    /* One that is connected does not listen, nor connect twice: the other listener hears nothing. */
    CHECK(!sap_connect(here, "127.0.0.1", port));
    sap_sock_t *accepted = sap_accept(listener);
    CHECK(accepted);
    for (int turn = 0; turn < 2; turn++) {
        sap_sock_t *end = turn ? accepted : here;
        uint16_t own = sap_port(end);
        CHECK(refused(end, sap_bind(end, "127.0.0.1", 0), EISCONN, "connected"));
        CHECK(refused(end, sap_listen(end, "127.0.0.1", 0), EISCONN, "connected"));
        CHECK(refused(end, sap_connect(end, "127.0.0.1", elsewhere), EISCONN, "connected"));
        CHECK(sap_port(end) == own);
    }
    sap_set_timeout(other, 0);
    CHECK(!sap_accept(other) && (errno == EAGAIN || errno == ETIMEDOUT));

    /* What was refused has changed nothing. */
    CHECK(sap_send(here, "still", 5) == 5);
    char got[5];
    CHECK(sap_recv(accepted, got, sizeof got, NULL) == 5 && !memcmp(got, "still", 5));
    CHECK(!sap_close(here) && !sap_close(accepted) && !sap_close(listener) && !sap_close(other));

    /* One that failed to do either can do both. */
    sap_sock_t *again = sap_socket();
    CHECK(sap_connect(again, "127.0.0.1", 0) == -1 && sap_bind(again, "a..b", 1) == -1);
    CHECK(!sap_bind(again, "127.0.0.1", 0) && !sap_close(again));
    /* While one thread connects, to what never answers, another does not. */
    int silent = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    CHECK(!bind(silent, (struct sockaddr *)&at, len));
    CHECK(!getsockname(silent, (struct sockaddr *)&at, &len));
    struct end busy = {.sock = sap_socket(), .port = ntohs(at.sin_port)};
    sap_set_timeout(busy.sock, 2000);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, connects, &busy));
    /* Its first datagram is there. */
    CHECK(recv(silent, &(char){0}, 1, 0) == 1);
    CHECK(refused(busy.sock, sap_connect(busy.sock, "127.0.0.1", 9), EALREADY, "another"));
    CHECK(refused(busy.sock, sap_bind(busy.sock, "127.0.0.1", 0), EALREADY, "another"));
    CHECK(!pthread_join(thread, NULL) && busy.result == -1);
    CHECK(!sap_bind(busy.sock, "127.0.0.1", 0) && !sap_close(busy.sock));
    close(silent);
    puts("one or the other");
    return 0;
}
