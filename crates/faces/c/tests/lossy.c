/* A lossy path: every fifth datagram that this process sends is lost, and all of them while
 * path_is_dead. Linked or preloaded, it takes the place of the system's sendmmsg. */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

volatile int path_is_dead;

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    static unsigned number;
    if (count > 0 && (path_is_dead || __sync_add_and_fetch(&number, 1) % 5 == 0))
        return 1;
    return (int)syscall(SYS_sendmmsg, fd, messages, count > 0, flags);
}
