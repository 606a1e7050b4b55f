/* A payload type of RTP has seven bits: one that is greater is not sent as another. */
#include "check.h"
#include <errno.h>
#include <sap.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    udplite_sock_t *here = udplite_socket("127.0.0.1", 0, "udp");
    udplite_sock_t *there = udplite_socket("127.0.0.1", 0, "udp");
    struct rtp_header header = {.source = 5}, seen;
    struct udplite_counts counts;
    char got[4];
    CHECK(here && there && !udplite_connect(here, "127.0.0.1", udplite_port(there)));
    udplite_set_timeout(there, 30000);
    for (int type = 0; type < 256; type++) {
        header.type = (uint8_t)type;
        errno = 0;
        long sent = udplite_send_rtp(here, &header, "data", 4);
        if (type > 127) {
            CHECK(sent == -1 && errno == EINVAL && strstr(udplite_strerror(here), "127"));
            continue;
        }
        CHECK(sent == 4 && udplite_recv_rtp(there, &seen, got, 4, NULL) == 4 && seen.type == type);
    }
    CHECK(!udplite_counts(here, &counts) && counts.sent == 128);
    CHECK(!udplite_close(here) && !udplite_close(there));
    puts("seven bits");
    return 0;
}
