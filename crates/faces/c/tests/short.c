/* Messages and datagrams that are longer than the caller's buffer: what is said to be stored is what
 * was stored, and the whole length is known. A repair may ask for everything to the end. */
#include "check.h"
#include <errno.h>
#include <sap.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 5000, ROOM = 64 };

static int repaired(sap_sock_t *here, sap_sock_t *there, const char *data)
{
    struct sap_info info;
    char got[SIZE], *part = malloc(SIZE);
    size_t came = 0;
    CHECK(!sap_set_mode(here, SAP_APPROX, 0) && sap_send(here, data, SIZE) == SIZE);
    CHECK(sap_recv(there, part, ROOM, &info) == ROOM && info.length == SIZE);
    CHECK(sap_repair(there, info.number, 10, 9) == -1 && errno == EINVAL);
    CHECK(!sap_repair(there, info.number, 0, SIZE_MAX));
    while (came < SIZE) {
        sap_message_t *message = sap_recv_message(there, &info);
        struct sap_range ranges[8];
        size_t len, count = sap_message_ranges(message, SAP_RANGES_EXACT, ranges, 8);
        const char *bytes = sap_message_data(message, &len);
        CHECK(info.kind == SAP_KIND_REPAIR && count > 0 && count <= 8);
        for (size_t i = 0; i < count; i++) {
            CHECK(ranges[i].end <= SIZE);
            size_t some = ranges[i].end - ranges[i].start;
            memcpy(got + ranges[i].start, bytes, some);
            bytes += some;
            came += some;
        }
        sap_message_free(message);
    }
    CHECK(came == SIZE && !memcmp(got, data, SIZE));
    free(part);
    return 0;
}

static int datagrams(const char *data)
{
    udplite_sock_t *here = udplite_socket("127.0.0.1", 0, "udp");
    udplite_sock_t *there = udplite_socket("127.0.0.1", 0, "udp");
    struct rtp_header header = {.number = 1, .type = 96, .source = 7}, seen;
    char *room = malloc(ROOM);
    size_t length = 0;
    CHECK(here && there && !udplite_connect(here, "127.0.0.1", udplite_port(there)));
    udplite_set_timeout(there, 30000);
    CHECK(udplite_send(here, data, 200) == 200 && udplite_send_rtp(here, &header, data, 100) == 100);
    CHECK(udplite_recvfrom(there, room, ROOM, NULL, 0, NULL, &length) == ROOM && length == 200);
    CHECK(udplite_recv_rtp(there, &seen, room, ROOM, &length) == ROOM && length == 100);
    CHECK(!memcmp(room, data, ROOM) && !udplite_close(here) && !udplite_close(there));
    free(room);
    return 0;
}

int main(void)
{
    sap_sock_t *here = sap_socket(), *listener = sap_socket(), *there;
    struct sap_info info;
    char data[SIZE], *room = malloc(ROOM);
    for (int i = 0; i < SIZE; i++) data[i] = (char)(i * 7 + i / 251);
    CHECK(!sap_bind(listener, "127.0.0.1", 0));
    CHECK(!sap_connect(here, "127.0.0.1", sap_port(listener)) && (there = sap_accept(listener)));
    sap_set_timeout(there, 30000);
    CHECK(sap_send(here, data, 100) == 100 && sap_send(here, data, 10) == 10);
    CHECK(sap_send(here, data, 20) == 20);
    CHECK(sap_recv(there, room, ROOM, &info) == ROOM && info.length == 100);
    CHECK(!memcmp(room, data, ROOM));
    CHECK(sap_recv(there, room, ROOM, &info) == 10 && info.length == 10);
    CHECK(sap_recv(there, NULL, ROOM, &info) == 0 && info.length == 20 && !sap_is_finished(there));
    if (repaired(here, there, data) || datagrams(data)) return 1;
    sap_close(here);
    sap_close(there);
    sap_close(listener);
    free(room);
    puts("what was cut off is known");
    return 0;
}
