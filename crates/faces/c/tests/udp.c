/* Sends the readings of a sensor to a receiver, which adds them up. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int receiver = socket(AF_INET, SOCK_DGRAM, 0);
    int sender = socket(AF_INET, SOCK_DGRAM, 0);
    bind(receiver, (struct sockaddr *)&at, len);
    getsockname(receiver, (struct sockaddr *)&at, &len);
    connect(sender, (struct sockaddr *)&at, len);
    int sum = 0, reading = 0;
    for (int i = 1; i <= 10; i++)
        send(sender, &i, sizeof i, 0);
    for (int i = 1; i <= 10; i++) {
        recv(receiver, &reading, sizeof reading, 0);
        sum += reading;
    }
    printf("%d\n", sum);
    close(sender);
    close(receiver);
    return 0;
}
