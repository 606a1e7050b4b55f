/* Two UDP-Lite sockets inside UDP and a plain UDP socket that repeats a datagram with damage. */
#include "check.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sap.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEADER = 8, SIZE = 100 };

int main(void)
{
    char data[SIZE] = "exact, and the rest is not", got[SIZE], address[64];
    uint16_t port;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in to = at;
    socklen_t len = sizeof at;
    udplite_sock_t *here = udplite_socket("127.0.0.1", 0, "udp");
    udplite_sock_t *there = udplite_socket("127.0.0.1", 0, "udp");
    CHECK(here && there && !strcmp(udplite_carrier(here), "udp"));
    CHECK(!udplite_socket("127.0.0.1", 0, "pigeon") && errno == EINVAL);
    CHECK(udplite_send(here, data, SIZE) == -1 && errno == ENOTCONN);
    CHECK(udplite_set_option(here, 99, 0) == -1 && strstr(udplite_strerror(here), "99"));
    CHECK(!udplite_set_option(here, UDPLITE_SEND_COVERAGE, HEADER + 5));

    udplite_set_timeout(there, 0);
    CHECK(udplite_recvfrom(there, got, SIZE, NULL, 0, NULL, NULL) == -1 && errno == EAGAIN);
    udplite_set_timeout(there, 30000);
    CHECK(udplite_sendto(here, data, SIZE, "127.0.0.1", udplite_port(there)) == SIZE);
    struct pollfd wait = {.fd = udplite_fd(there), .events = POLLIN};
    CHECK(poll(&wait, 1, 30000) == 1);
    CHECK(udplite_recvfrom(there, got, SIZE, address, sizeof address, &port, NULL) == SIZE);
    CHECK(!memcmp(got, data, SIZE) && port == udplite_port(here) && !strcmp(address, "127.0.0.1"));

    /* A plain socket takes what is on the wire and sends it back: the sum is the same both ways. */
    int plain = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(!bind(plain, (struct sockaddr *)&at, sizeof at));
    CHECK(!getsockname(plain, (struct sockaddr *)&at, &len));
    CHECK(!udplite_connect(here, "127.0.0.1", ntohs(at.sin_port)));
    CHECK(udplite_connect(here, "127.0.0.1", 1) == -1 && errno == EISCONN);
    CHECK(udplite_send(here, data, SIZE) == SIZE);
    char wire[HEADER + SIZE];
    CHECK(recv(plain, wire, sizeof wire, 0) == (long)sizeof wire);
    to.sin_port = htons(udplite_port(here));
    wire[HEADER + 50] ^= 1;
    CHECK(sendto(plain, wire, sizeof wire, 0, (struct sockaddr *)&to, sizeof to) > 0);
    udplite_set_timeout(here, 30000);
    CHECK(udplite_recvfrom(here, got, SIZE, NULL, 0, NULL, NULL) == SIZE && got[50] == (data[50] ^ 1));
    wire[HEADER + 2] ^= 1;
    CHECK(sendto(plain, wire, sizeof wire, 0, (struct sockaddr *)&to, sizeof to) > 0);
    udplite_set_timeout(here, 200);
    CHECK(udplite_recvfrom(here, got, SIZE, NULL, 0, NULL, NULL) == -1 && errno == EAGAIN);
    close(plain);

    /* What the socket tells of itself: two datagrams sent, one received, one refused. */
    struct udplite_counts counts;
    CHECK(!udplite_counts(here, &counts) && counts.sent == 2 && counts.sent_bytes == 2 * SIZE);
    CHECK(counts.received == 1 && counts.received_bytes == SIZE && counts.refused == 1);
    CHECK(udplite_counts(here, NULL) == -1 && errno == EFAULT);

    /* RTP: number 8 is missing, and what is no packet is refused. */
    udplite_sock_t *camera = udplite_socket("127.0.0.1", 0, "udp");
    struct rtp_header header = {.number = 7, .type = 96, .timestamp = 90000, .source = 5}, seen;
    CHECK(udplite_send_rtp(camera, &header, data, SIZE) == -1 && errno == ENOTCONN);
    CHECK(!udplite_connect(camera, "127.0.0.1", udplite_port(there)));
    CHECK(udplite_send_rtp(camera, NULL, data, SIZE) == -1 && errno == EFAULT);
    CHECK(udplite_send_rtp(camera, &header, data, SIZE) == SIZE);
    CHECK(udplite_send(camera, "no packet", 9) == 9);
    header = (struct rtp_header){.number = 9, .type = 96, .marker = 1, .source = 5};
    CHECK(udplite_send_rtp(camera, &header, data, 1) == 1);
    CHECK(udplite_recv_rtp(there, &seen, got, SIZE, NULL) == SIZE && !memcmp(got, data, SIZE));
    CHECK(seen.number == 7 && seen.type == 96 && !seen.marker && seen.timestamp == 90000);
    CHECK(udplite_recv_rtp(there, &seen, got, SIZE, NULL) == 1 && seen.number == 9 && seen.marker);
    CHECK(!udplite_counts(there, &counts) && counts.refused == 1 && counts.rtp_lost == 1);
    CHECK(!udplite_close(camera));
    CHECK(!udplite_close(here) && !udplite_close(there) && !udplite_close(NULL));
    puts("the checksum covers what it should");
    return 0;
}
