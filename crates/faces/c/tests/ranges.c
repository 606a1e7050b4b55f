/* Approximate messages over a path that damages and loses: the receiver is told which bytes. */
#define _GNU_SOURCE
#include "check.h"
#include <sap.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 1000, LONG = 200000 };
static volatile int damage, lose;

/* The path: inverts a bit of the last byte and of the 600th from the end of a datagram while damage
 * is set, and loses the second long one from now on while lose is. */
int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    static char copy[1 << 16];
    static volatile int number;
    struct msghdr *first = &messages->msg_hdr;
    size_t len = 0;
    for (size_t i = 0; i < first->msg_iovlen; len += first->msg_iov[i++].iov_len)
        memcpy(copy + len, first->msg_iov[i].iov_base, first->msg_iov[i].iov_len);
    if (damage && len > SIZE) {
        struct iovec whole = {copy, len};
        struct msghdr changed = *first;
        copy[len - 1] ^= 1;
        copy[len - 600] ^= 4;
        changed.msg_iov = &whole;
        changed.msg_iovlen = 1;
        return sendmsg(fd, &changed, flags) < 0 ? -1 : 1;
    }
    if (lose && len > SIZE && ++number == 2) return 1;
    return (int)syscall(SYS_sendmmsg, fd, messages, count > 0, flags);
}

static int is(const struct sap_range *range, size_t start, size_t end)
{
    return range->start == start && range->end == end;
}

static enum sap_decision decide(void *context, const sap_message_t *message,
                                struct sap_range *ranges, size_t *count)
{
    size_t len;
    const char *text = sap_message_data(message, &len);
    ++*(int *)context;
    if (len == 4 && !memcmp(text, "drop", 4)) return SAP_DISCARD;
    if (len != 6) return SAP_ACCEPT;
    ranges[0] = (struct sap_range){1, 3};
    *count = 1;
    return SAP_REPAIR;
}

static int damaged(sap_sock_t *here, sap_sock_t *there)
{
    static char data[SIZE];
    const struct sap_range exact[] = {{0, 4}, {500, 510}};
    struct sap_range found[8];
    struct sap_info info;
    size_t len;
    memset(data, 'x', SIZE);
    CHECK(!sap_set_ranges(here, exact, 2));
    damage = 1;
    CHECK(sap_send(here, data, SIZE) == SIZE);
    sap_message_t *message = sap_recv_message(there, &info);
    damage = 0;
    CHECK(message && info.kind == SAP_KIND_APPROX && info.integrity == SAP_SUSPECT);
    const char *bytes = sap_message_data(message, &len);
    CHECK(len == SIZE && bytes[SIZE - 1] == ('x' ^ 1) && bytes[390] == ('x' ^ 4));
    CHECK(sap_message_ranges(message, SAP_RANGES_EXACT, found, 8) == 2);
    CHECK(is(&found[0], 0, 4) && is(&found[1], 500, 510));
    /* The blocks of 256 bytes that are not exact: one lies on both sides of the second range. */
    CHECK(sap_message_ranges(message, SAP_RANGES_SUSPECT, found, 8) == 3);
    CHECK(is(&found[0], 260, 500) && is(&found[1], 510, 526) && is(&found[2], 782, SIZE));
    CHECK(info.suspect_start == 260 && info.suspect_end == SIZE && !info.missing);
    CHECK(sap_message_ranges(message, SAP_RANGES_SUSPECT, NULL, 0) == 3);
    CHECK(sap_message_ranges(message, SAP_RANGES_MISSING, found, 8) == 0);
    sap_message_free(message);
    return 0;
}

static int lost(sap_sock_t *here, sap_sock_t *there)
{
    static char data[LONG];
    struct sap_range hole[8];
    struct sap_info info;
    size_t len, sum = 0;
    memset(data, 'y', LONG);
    CHECK(!sap_set_mode(here, SAP_APPROX, 0));
    lose = 1;
    CHECK(sap_send(here, data, LONG) == LONG);
    sap_message_t *message = sap_recv_message(there, &info);
    lose = 0;
    CHECK(message && info.missing > 0 && info.missing < LONG);
    const char *bytes = sap_message_data(message, &len);
    size_t holes = sap_message_ranges(message, SAP_RANGES_MISSING, hole, 8);
    CHECK(len == LONG && holes >= 1 && holes <= 8);
    for (size_t i = 0; i < holes; sum += hole[i].end - hole[i].start, i++)
        CHECK(bytes[hole[i].start] == 0 && bytes[hole[i].end - 1] == 0);
    CHECK(sum == info.missing && hole[0].start > 0 && bytes[hole[0].start - 1] == 'y');
    sap_message_free(message);
    return 0;
}

static int judged(sap_sock_t *here, sap_sock_t *there)
{
    char text[8];
    int calls = 0;
    CHECK(!sap_set_check(there, decide, &calls));
    CHECK(sap_send(here, "drop", 4) == 4 && sap_send(here, "keep", 4) == 4);
    CHECK(sap_recv(there, text, sizeof text, NULL) == 4 && !memcmp(text, "keep", 4) && calls == 2);
    CHECK(sap_send(here, "mended", 6) == 6);
    CHECK(sap_recv(there, text, sizeof text, NULL) == 6 && !memcmp(text, "mended", 6));
    return sap_set_check(there, NULL, NULL);
}

/* The header of an array of NumPy is exact, and nothing of a file of no known kind. */
static int structured(void)
{
    struct sap_range found[2];
    char array[] = "\x93NUMPY\x01\x00\x04\x00{ } 0123456789";
    CHECK(sap_exact_ranges(array, sizeof array - 1, found, 2) == 1 && is(&found[0], 0, 14));
    CHECK(sap_exact_ranges(array, sizeof array - 1, NULL, 0) == 0);
    /* A text is exact as a whole, and other bytes may arrive damaged. */
    CHECK(sap_exact_ranges("0123456789", 10, found, 2) == 1 && is(&found[0], 0, 10));
    CHECK(sap_exact_ranges("\x01\x02\x03\x04", 4, found, 2) == 0);
    return sap_exact_ranges(NULL, 0, found, 2) != 0;
}

/* A body is announced, and nothing follows one that its plan has room for. */
static int body(sap_sock_t *here, sap_sock_t *there)
{
    static const uint8_t token[16] = "0123456789abcde";
    char data[SIZE], text[] = "\x93NUMPY\x01\x00\x04\x00{ } 0123456789";
    size_t len = sizeof text - 1;
    struct sap_info info;
    FILE *file = tmpfile();
    CHECK(file && fwrite(text, 1, len, file) == len && !fflush(file));
    int fd = fileno(file);
    CHECK(sap_send_body(here, 9, token, -1, len, SAP_APPROX));
    CHECK(sap_send_body(here, 9, NULL, fd, len, SAP_APPROX));
    CHECK(sap_send_body(here, 9, token, fd, len, (enum sap_mode)2));
    CHECK(!sap_send_body(here, 9, token, fd, len, SAP_APPROX));
    /* A short body is exact, and all of it is in its plan. */
    CHECK(sap_recv(there, data, SIZE, &info) == 37 + (ssize_t)len && data[0] == 3 && data[2] == 9);
    CHECK(info.kind == SAP_KIND_PRECISE && info.stream == 9);
    CHECK(!memcmp(data + 3, token, 16) && data[26] == (char)len);
    CHECK(data[28] == 1 && data[32] == 0 && data[36] == (char)len);
    CHECK(!memcmp(data + 37, text, len));
    /* Of a file that has become shorter the client learns that there is nothing. */
    CHECK(!sap_send_body(here, 9, token, fd, len + 1, SAP_APPROX));
    CHECK(sap_recv(there, data, SIZE, &info) == 3 && data[0] == 2 && data[2] == 9);
    /* A part is one of the file, and exact. */
    CHECK(sap_send_part(here, 9, token, fd, UINT64_MAX, 2, SAP_APPROX));
    CHECK(!sap_send_part(here, 9, token, fd, 3, len - 3, SAP_APPROX));
    CHECK(sap_recv(there, data, SIZE, &info) == 37 + (ssize_t)len - 3 && data[0] == 3);
    CHECK(data[26] == (char)len - 3 && !memcmp(data + 37, text + 3, len - 3));
    return fclose(file);
}

int main(void)
{
    sap_sock_t *here = sap_socket(), *there, *listener = sap_socket();
    sap_set_timeout(listener, 30000);
    CHECK(!sap_bind(listener, "127.0.0.1", 0));
    CHECK(!sap_connect(here, "127.0.0.1", sap_port(listener)) && (there = sap_accept(listener)));
    if (damaged(here, there) || lost(here, there) || judged(here, there)) return 1;
    if (structured() || body(here, there)) return 1;
    sap_set_timeout(here, 0);
    sap_set_timeout(there, 0);
    sap_close(here);
    sap_close(there);
    sap_close(listener);
    puts("damage is where it was put");
    return 0;
}
