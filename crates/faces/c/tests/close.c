/* Messages sent just before sap_close arrive, although the path is lossy and the sending process
 * ends at once. */
#include <errno.h>
#include <sap.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern volatile int path_is_dead;

enum { COUNT = 500, SIZE = 1000 };

/* Sends messages and closes the socket; the process ends then. */
static int send_and_close(uint16_t port)
{
    static const char data[SIZE];
    sap_sock_t *sock = sap_socket();
    if (sap_connect(sock, "127.0.0.1", port))
        return 10;
    for (int i = 0; i < COUNT; i++)
        if (sap_send(sock, data, SIZE) != SIZE)
            return 11;
    return sap_close(sock) ? 12 : 0;
}

/* With a timeout of 0 a close does not wait, and delivery continues in the background. */
static int close_without_waiting(void)
{
    sap_sock_t *here = sap_socket(), *listener = sap_socket();
    if (sap_bind(listener, "127.0.0.1", 0) || sap_connect(here, "127.0.0.1", sap_port(listener)))
        return 20;
    sap_set_timeout(here, 0);
    path_is_dead = 1;
    if (sap_send(here, "a", 1) != 1 || sap_close(here) != -1 || errno != ETIMEDOUT)
        return 21;
    path_is_dead = 0;
    char data;
    sap_sock_t *there = sap_accept(listener);
    if (!there || sap_recv(there, &data, 1, NULL) != 1 || data != 'a')
        return 22;
    sap_close(listener);
    /* Its last acknowledgement may be lost, which costs the close three seconds and no message. */
    sap_set_timeout(there, 0);
    sap_close(there);
    return 0;
}

int main(void)
{
    static char data[SIZE];
    uint16_t port;
    int ports[2], status, received = 0;
    if (sap_close(NULL) || sap_close(sap_socket()) || pipe(ports))
        return 1;
    pid_t child = fork();
    if (child < 0)
        return 2;
    if (child == 0)
        _exit(read(ports[0], &port, sizeof port) == sizeof port ? send_and_close(port) : 13);

    sap_sock_t *listener = sap_socket(), *sock;
    sap_set_timeout(listener, 60000);
    if (sap_bind(listener, "127.0.0.1", 0))
        return 3;
    port = sap_port(listener);
    if (write(ports[1], &port, sizeof port) != sizeof port || !(sock = sap_accept(listener)))
        return 4;
    while (sap_recv(sock, data, SIZE, NULL) == SIZE)
        received++;
    if (received != COUNT || !sap_is_finished(sock)) {
        fprintf(stderr, "%d of %d: %s\n", received, COUNT, sap_strerror(sock));
        return 5;
    }
    /* The sender ends first: it may retransmit its last packet until then. */
    if (waitpid(child, &status, 0) != child || status)
        return 6;
    sap_set_timeout(sock, 0);
    sap_close(sock);
    sap_close(listener);
    status = close_without_waiting();
    if (!status)
        puts("all messages arrived");
    return status;
}
