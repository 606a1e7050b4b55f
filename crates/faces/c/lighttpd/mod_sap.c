/* mod_sap: sends the files of lighttpd over SAP to clients that ask for it. See docs/reference/web.md. */
#include "first.h"

#include "array.h"
#include "base.h"
#include "buffer.h"
#include "fdevent.h"
#include "http_header.h"
#include "log.h"
#include "plugin.h"
#include "request.h"
#include "response.h"
#include "stat_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sap.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TRANSFERS = 64,     /* at the same time */
    MEMORY = 512 << 10, /* for all bodies on their way, in KiB */
    ANSWER = 2000,      /* ms in which a client answers a call */
    PROGRESS = 15000,   /* ms without progress after which a transfer is given up */
    UNANSWERED = 4,     /* calls after which an address is called no more */
    FORGET = 15,        /* s after which an unanswered call is forgotten */
    ADDRESSES = 256,    /* that have not answered and are remembered */
    FETCHED = 10,       /* s in which a client that opens a connection comes for its body */
    IDLE = 60000,       /* ms for which a connection of a client may ask for nothing */
    CLIENTS = 256       /* connections of clients, with those that end: that takes some seconds */
};
enum { KIND_ASK = 1, KIND_UNKNOWN = 2 };
enum verdict { UNDECIDED, SENT, DROPPED };

/* A connection that a client has opened, which its thread and the bodies on their way hold. */
struct client {
    sap_sock_t *sock;
    atomic_int holders;
    uint8_t name[16]; /* the token of its first body */
    char peer[NI_MAXHOST]; /* that asked for it: others may have read the token */
    uint8_t used[8192]; /* a bit for each number of a transfer, none of which comes twice */
    struct client *next; /* that has a name */
};

/* A body on its way, which the event loop and the thread that sends it hold together. */
struct transfer {
    request_st *r;       /* the event loop's; NULL once the request has ended */
    enum verdict verdict; /* on the body of a call, guarded by the lock */
    int is_reported;     /* the event loop's */
    int is_counted;      /* its memory is */
    const char *refusal; /* why the body goes over TCP, if it does; set before the report */
    atomic_int holders;
    int fd, report;
    enum sap_mode mode;
    enum sap_profile profile;
    const uint8_t *key;
    struct client *client; /* NULL if it is called, or has not come for the body */
    uint16_t number;       /* of the transfer on its connection */
    struct transfer *next; /* that a client may come for */
    unix_time64_t until;
    char peer[NI_MAXHOST];
    uint16_t port;
    uint8_t token[16];
    uint32_t start, len; /* of a part, if it is one */
    uint32_t of;         /* the length of the file, or 0 if the body is all of it */
};

typedef struct {
    const array *approx, *exclude;
    const buffer *listen;
    const uint8_t *key;
    unsigned int ports, max_size; /* the first and the last port; KiB */
    int etags, no_pathinfo;
    enum sap_profile profile;
} plugin_config;

/* The calls that an address did not answer. */
struct account {
    char peer[NI_MAXHOST];
    int count;
    unix_time64_t since;
};

typedef struct {
    PLUGIN_DATA;
    plugin_config defaults, conf;
    int reports[2]; /* a pipe of pointers to transfers */
    fdnode *fdn;
    fdevents *ev;
    struct account accounts[ADDRESSES];
} plugin_data;

static atomic_long threads, clients, memory; /* memory in KiB */

/* The bodies that clients may come for, their connections, and where they call. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t decided = PTHREAD_COND_INITIALIZER;
static struct transfer *waiting;
static struct client *named;
static sap_sock_t *listener; /* of the process: it outlives a restart of the server */

/* What the thread of a transfer does: it calls, reports, and sends. */

static void release(struct transfer *t)
{
    if (--t->holders > 0) return;
    if (t->is_counted) memory -= t->len >> 10;
    close(t->fd);
    close(t->report);
    free(t);
}

static void leave(struct client *client)
{
    if (--client->holders > 0) return;
    sap_close(client->sock);
    free(client);
    clients--;
}

/* Says whether the body of a call goes over SAP. */
static void decide(struct transfer *t, enum verdict verdict)
{
    pthread_mutex_lock(&lock);
    t->verdict = verdict;
    pthread_cond_broadcast(&decided);
    pthread_mutex_unlock(&lock);
}

/* Calls the client, reports, and tells whether it is to have the body, which the event loop decides
 * once all modules have written into the reply. */
static int call(struct transfer *t, sap_sock_t *sock)
{
    if (!sock)
        t->refusal = "busy";
    else if (sap_set_profile(sock, t->profile) || sap_set_key(sock, t->key)
             || sap_set_timeout(sock, ANSWER) || sap_connect(sock, t->peer, t->port))
        t->refusal = errno == EKEYREJECTED ? "keys-differ" : "no-answer";
    sap_set_timeout(sock, PROGRESS);
    sap_set_linger(sock, PROGRESS);
    while (write(t->report, &t, sizeof t) < 0 && errno == EINTR) { }
    pthread_mutex_lock(&lock);
    while (t->verdict == UNDECIDED) pthread_cond_wait(&decided, &lock);
    int is_sent = t->verdict == SENT;
    pthread_mutex_unlock(&lock);
    return is_sent;
}

/* Closes the connection of a call. It counts as one that ends, no longer as a transfer, as long as
 * there are not too many of those. */
static void end_call(sap_sock_t *sock)
{
    int is_ending = ++clients <= CLIENTS;
    if (is_ending)
        threads--;
    else
        clients--;
    sap_close(sock);
    if (is_ending)
        clients--;
    else
        threads--;
}

/* Sends a body on the connection of its client, or calls the client before. */
static void *run(void *of)
{
    struct transfer *t = of;
    sap_sock_t *sock = t->client ? t->client->sock : sap_socket();
    if (t->client || call(t, sock))
        sap_send_part(sock, t->number, t->token, t->fd, t->start, t->len, t->mode);
    if (t->client) {
        leave(t->client);
        threads--;
    } else {
        end_call(sock);
    }
    release(t);
    return NULL;
}

/* Starts a thread that gets none of the server's signals; returns 0, or an error. */
static int start_thread(void *(*body)(void *), void *of)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int failed = pthread_create(&thread, &attr, body, of);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

/* Starts the thread of a transfer, which then has a holder more; returns 0, or an error. */
static int start_transfer(struct transfer *t)
{
    t->holders++;
    if (threads++ < TRANSFERS && !start_thread(run, t)) return 0;
    t->holders--;
    threads--;
    return -1;
}

/* Removes the body of this token from those that wait, and those that have waited for too long. */
static struct transfer *take_waiting(const uint8_t *token)
{
    struct transfer *found = NULL;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&lock);
    for (struct transfer **at = &waiting; *at;) {
        struct transfer *t = *at;
        int is_it = token && !memcmp(t->token, token, sizeof t->token);
        if (!is_it && t->until > now.tv_sec) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        if (is_it)
            found = t;
        else
            release(t);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Takes a number for a transfer on a connection; returns whether it was free. */
static int take_number(struct client *client, uint16_t number)
{
    int was_free = number && !(client->used[number / 8] >> number % 8 & 1);
    client->used[number / 8] |= (uint8_t)(1 << number % 8);
    return was_free;
}

/* Returns the connection that a transfer names, with a holder more, or NULL. */
static struct client *find_client(const struct transfer *t)
{
    pthread_mutex_lock(&lock);
    struct client *found = named;
    while (found && memcmp(found->name, t->token, sizeof found->name)) found = found->next;
    if (found && (strcmp(found->peer, t->peer) || !take_number(found, t->number))) found = NULL;
    if (found) found->holders++;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Gives a connection the name of its first body. */
static void name_client(struct client *client, const struct transfer *t)
{
    pthread_mutex_lock(&lock);
    memcpy(client->name, t->token, sizeof client->name);
    strcpy(client->peer, t->peer);
    client->next = named;
    named = client;
    pthread_mutex_unlock(&lock);
}

static void forget_client(const struct client *client)
{
    pthread_mutex_lock(&lock);
    for (struct client **at = &named; *at; at = &(*at)->next)
        if (*at == client) {
            *at = client->next;
            break;
        }
    pthread_mutex_unlock(&lock);
}

/* Receives what a client asks for; tells whether it is a body. The threads that send wait as long
 * as a call does here, and give a client up that takes nothing sooner than one that asks for
 * nothing. */
static int receive_ask(const struct client *client, uint8_t *ask, size_t len)
{
    long got = -1;
    errno = ETIMEDOUT;
    for (int waited = 0; got < 0 && errno == ETIMEDOUT && waited < IDLE; waited += PROGRESS)
        got = sap_recv(client->sock, ask, len, NULL);
    return got >= (long)len && ask[0] == KIND_ASK;
}

/* Sends the bodies that a client asks for on the connection that it has opened. */
static void *serve_client(void *of)
{
    struct client *client = of;
    int is_named = 0;
    uint8_t ask[19];
    sap_set_timeout(client->sock, PROGRESS);
    sap_set_linger(client->sock, PROGRESS);
    while (receive_ask(client, ask, sizeof ask)) {
        struct transfer *t = take_waiting(ask + 3);
        uint16_t number = (uint16_t)(ask[1] << 8 | ask[2]);
        pthread_mutex_lock(&lock);
        int failed = !t || !take_number(client, number);
        pthread_mutex_unlock(&lock);
        if (!failed) {
            t->number = number;
            if (!is_named++) name_client(client, t);
            t->client = client;
            client->holders++;
            if ((failed = start_transfer(t))) client->holders--;
        }
        if (t) release(t);
        ask[0] = KIND_UNKNOWN;
        if (failed && sap_send(client->sock, ask, 3) < 0) break;
    }
    forget_client(client);
    leave(client);
    return NULL;
}

static void *accept_clients(void *of)
{
    sap_sock_t *sock;
    while ((sock = sap_accept(of))) {
        struct client *client = ++clients > CLIENTS ? NULL : calloc(1, sizeof *client);
        if (client) *client = (struct client){.sock = sock, .holders = 1};
        if (client && !start_thread(serve_client, client)) continue;
        sap_close(sock);
        free(client);
        clients--;
    }
    return NULL;
}

/* What a request offers. */

static const buffer *header(const request_st *r, const char *name)
{
    return http_header_request_get(r, HTTP_HEADER_OTHER, name, (uint32_t)strlen(name));
}

/* Tells whether a header is there and no text, or has one of these: two of one name are joined by a
 * comma, and those without a value are not there. */
static int is_wrong(const buffer *text, const char *others)
{
    for (const char *at = text ? text->ptr : ""; *at; at++)
        if (((signed char)*at < ' ' && *at != '\t') || *at == 127 || strchr(others, *at)) return 1;
    return 0;
}

/* Tells whether a message must arrive as it is (RFC 9110, section 7.7). */
static int forbids_change(const buffer *cache_control)
{
    return cache_control && http_header_str_contains_token(BUF_PTR_LEN(cache_control),
                                                           CONST_STR_LEN("no-transform"));
}

/* Reads twice as many hexadecimal digits as bytes, which are that. */
static void read_hex(const char *text, uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        sscanf(text + 2 * i, "%2hhx", bytes + i);
}

static int is_token(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!light_isalnum(text[i]) && !strchr("!#$&-^_.+", text[i])) return 0;
    return len > 0;
}

/* Tells whether the type is one of the pattern: 1 if so, -1 if the pattern is none. */
static int matches(const char *pattern, size_t len, const char *type, size_t type_len)
{
    const char *slash = memchr(pattern, '/', len);
    size_t kind = slash ? (size_t)(slash - pattern) : 0, rest = len - kind - 1;
    if (!slash || !rest) return -1;
    int any_rest = rest == 1 && slash[1] == '*', any = kind == 1 && *pattern == '*';
    if (any) return any_rest ? 1 : -1;
    if (!is_token(pattern, kind) || !(any_rest || is_token(slash + 1, rest))) return -1;
    if (any_rest) return type_len > kind && !strncasecmp(pattern, type, kind + 1);
    return len == type_len && !strncasecmp(pattern, type, len);
}

/* Tells the same of a list, in which empty elements and parameters have no meaning. */
static int list_matches(const buffer *list, const char *type, size_t type_len)
{
    int found = 0, count = 0;
    if (buffer_clen(list) > 2048) return -1;
    for (const char *at = list->ptr, *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, ",");
        size_t len = strcspn(at, ",;");
        while (len > 0 && (*at == ' ' || *at == '\t')) at++, len--;
        while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t')) len--;
        if (len == 0) continue;
        int is_this = matches(at, len, type, type_len);
        if (is_this < 0 || ++count > 64) return -1;
        found |= is_this;
    }
    return count > 0 ? found : -1;
}

/* Returns the port that the client may be called at, or 0. */
static uint16_t port_of(const request_st *r, const plugin_config *conf)
{
    const buffer *text = header(r, "X-SAP-Port");
    if (!text || buffer_clen(text) > 5 || strspn(text->ptr, "0123456789") != buffer_clen(text))
        return 0;
    unsigned long port = strtoul(text->ptr, NULL, 10);
    return port >= conf->ports >> 16 && port <= (conf->ports & 0xffff) ? (uint16_t)port : 0;
}

/* Tells whether the client opens the connection, -1 if the header is malformed; finds the one that
 * it has opened and that this body is to come on. */
static int client_opens(const request_st *r, struct transfer *t)
{
    const buffer *text = header(r, "X-SAP-Client-Opens");
    if (!text || !strcmp(text->ptr, "0") || !strcasecmp(text->ptr, "no")
        || !strcasecmp(text->ptr, "false"))
        return 0;
    if (!strcmp(text->ptr, "1") || !strcasecmp(text->ptr, "yes") || !strcasecmp(text->ptr, "true"))
        return 1;
    const char *number = text->ptr + 33;
    size_t digits = buffer_clen(text) > 33 ? strspn(number, "0123456789") : 0;
    if (strspn(text->ptr, "0123456789abcdefABCDEF") != 32 || text->ptr[32] != ' ' || !digits
        || digits > 5 || number[digits] || strtoul(number, NULL, 10) - 1 >= 0xffff)
        return -1;
    read_hex(text->ptr, t->token, sizeof t->token);
    t->number = (uint16_t)strtoul(number, NULL, 10);
    return 1;
}

/* Reads the offer of a request for a file of this type; 0 if there is none that can be taken. */
static int read_offer(const request_st *r, const plugin_config *conf, struct transfer *t)
{
    const buffer *types = header(r, "X-SAP-Approx"), *force = header(r, "X-SAP-Force-Precise");
    const buffer *type = http_header_response_get(r, HTTP_HEADER_CONTENT_TYPE,
                                                  CONST_STR_LEN("Content-Type"));
    size_t len = type ? strcspn(type->ptr, "; ") : 0;
    int is_precise = force && strcmp(force->ptr, "0") && strcasecmp(force->ptr, "no")
                     && strcasecmp(force->ptr, "false");
    t->mode = is_precise ? SAP_PRECISE : SAP_APPROX;
    if (!len || (!types && !is_precise)) return 0;
    if (is_wrong(types, "") || is_wrong(force, ",")) return 0;
    if (types && list_matches(types, type->ptr, len) <= 0) return 0;
    int opens = client_opens(r, t);
    t->port = opens ? 0 : port_of(r, conf);
    if (opens ? opens < 0 || header(r, "X-SAP-Port") || !listener : !t->port) return 0;
    if (is_precise) return 1;
    for (uint32_t i = 0; i < conf->approx->used; i++) {
        const buffer *pattern = &((const data_string *)conf->approx->data[i])->value;
        if (list_matches(pattern, type->ptr, len) > 0) return 1;
    }
    return 0;
}

/* Reads a number before this character; returns what follows it, or NULL if it is none. */
static const char *read_number(const char *at, char before, uint32_t *number)
{
    size_t digits = strspn(at, "0123456789");
    unsigned long long read = strtoull(at, NULL, 10);
    *number = read < UINT32_MAX ? (uint32_t)read : UINT32_MAX;
    return digits && digits < 19 && at[digits] == before ? at + digits + 1 : NULL;
}

/* Finds the part of a file of t->len bytes that a request asks for; returns 0 if lighttpd itself
 * must answer: there are several, or none of these bytes, or the request is none of HTTP/1.1. */
static int read_range(const request_st *r, struct transfer *t)
{
    const buffer *text = http_header_request_get(r, HTTP_HEADER_RANGE, CONST_STR_LEN("Range"));
    const buffer *same = http_header_request_get(r, HTTP_HEADER_IF_RANGE,
                                                 CONST_STR_LEN("If-Range"));
    if (!text) return 1;
    if (!t->len || r->http_version < HTTP_VERSION_1_1 || !r->conf.range_requests
        || strncmp(text->ptr, "bytes=", 6))
        return 0;
    if (same) {
        const buffer *own = *same->ptr == '"'
            ? http_header_response_get(r, HTTP_HEADER_ETAG, CONST_STR_LEN("ETag"))
            : http_header_response_get(r, HTTP_HEADER_LAST_MODIFIED,
                                       CONST_STR_LEN("Last-Modified"));
        if (!own || !buffer_is_equal(same, own)) return 1;
    }
    const char *at = text->ptr + 6;
    uint32_t of = t->len, first, last = of - 1;
    if (*at == '-') {
        if (!read_number(at + 1, 0, &first) || !first) return 0;
        first = first < of ? of - first : 0;
    } else if (!(at = read_number(at, '-', &first)) || (*at && !read_number(at, 0, &last))) {
        return 0;
    }
    if (last > of - 1) last = of - 1;
    if (first > last) return 0;
    t->start = first;
    t->len = last - first + 1;
    t->of = of;
    if (first) t->mode = SAP_PRECISE;
    return 1;
}

/* Stores the address that the request itself came from: no header and no module can change it. */
static int read_peer(const request_st *r, struct transfer *t)
{
    struct sockaddr_storage from;
    struct sockaddr *addr = (struct sockaddr *)&from;
    socklen_t len = sizeof from;
    if (getpeername(r->con->fd, addr, &len) || from.ss_family == AF_UNIX
        || getnameinfo(addr, len, t->peer, sizeof t->peer, NULL, 0, NI_NUMERICHOST))
        return 0;
    if (!strncmp(t->peer, "::ffff:", 7) && strchr(t->peer, '.'))
        memmove(t->peer, t->peer + 7, strlen(t->peer + 7) + 1);
    return 1;
}

/* Tells whether a call would reach this server itself, which would take the body for delivered. */
static int is_own_port(const request_st *r, const struct transfer *t)
{
    struct sockaddr_storage from;
    struct sockaddr *addr = (struct sockaddr *)&from;
    socklen_t len = sizeof from;
    if (!listener || t->port != sap_port(listener) || getpeername(r->con->fd, addr, &len)) return 0;
    /* Only an address of this host can be bound. The port is at one place in both families. */
    ((struct sockaddr_in *)addr)->sin_port = 0;
    int fd = socket(addr->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int is_own = fd >= 0 && !bind(fd, addr, len);
    if (fd >= 0) close(fd);
    return is_own;
}

/* Returns the account of an address, an empty one if it has none, or NULL if there is no room. */
static struct account *account_of(plugin_data *p, const char *peer)
{
    struct account *found = NULL;
    for (struct account *it = p->accounts; it < p->accounts + ADDRESSES; it++) {
        for (; it->count && log_monotonic_secs - it->since >= FORGET; it->since += FORGET)
            it->count--;
        if (it->count && !strcmp(it->peer, peer)) return it;
        if (!it->count) found = it;
    }
    return found;
}

/* What the event loop does: it answers a request once its transfer has reported. */

static void set_header(request_st *r, const char *name, const char *value)
{
    http_header_response_set(r, HTTP_HEADER_OTHER, name, (uint32_t)strlen(name), value,
                             (uint32_t)strlen(value));
}

static handler_t handle_report(void *of, int events)
{
    plugin_data *p = of;
    struct transfer *t;
    UNUSED(events);
    while (read(p->reports[0], &t, sizeof t) == sizeof t) {
        struct account *account = account_of(p, t->peer);
        if (account && t->refusal && !strcmp(t->refusal, "no-answer")) {
            if (!account->count) account->since = log_monotonic_secs;
            if (account->count < UNANSWERED) account->count++;
            strcpy(account->peer, t->peer);
        }
        t->is_reported = 1;
        if (t->r) {
            joblist_append(t->r->con);
        } else {
            decide(t, DROPPED);
            release(t);
        }
    }
    return HANDLER_GO_ON;
}

/* Starts the thread of a transfer, or keeps it until its client asks; returns why it cannot. */
static const char *start(struct transfer *t, plugin_data *p)
{
    const struct account *account = t->port ? account_of(p, t->peer) : NULL;
    take_waiting(NULL);
    if (t->port && (!account || account->count >= UNANSWERED)) return "too-many-calls";
    if (memory + (t->len >> 10) > MEMORY) return "busy";
    memory += t->len >> 10;
    t->is_counted = 1;
    if (t->number && (t->client = find_client(t))) {
        if (!start_transfer(t)) return NULL;
        leave(t->client);
        return "busy";
    }
    t->number = 1;
    if (getrandom(t->token, sizeof t->token, 0) != sizeof t->token) return "busy";
    if (t->port) {
        t->report = fdevent_dup_cloexec(p->reports[1]);
        return t->report < 0 || start_transfer(t) ? "busy" : NULL;
    }
    t->holders++;
    t->until = log_monotonic_secs + FETCHED;
    pthread_mutex_lock(&lock);
    t->next = waiting;
    waiting = t;
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Makes the reply over TCP one that says where the body is. */
static void announce(request_st *r, const struct transfer *t)
{
    static const char no_store[] = "no-store";
    const buffer *own = http_header_response_get(r, HTTP_HEADER_CACHE_CONTROL,
                                                 CONST_STR_LEN("Cache-Control"));
    char text[2 * sizeof t->token + 1];
    for (size_t i = 0; i < sizeof t->token; i++)
        snprintf(text + 2 * i, 3, "%02x", t->token[i]);
    set_header(r, "X-SAP-Token", text);
    snprintf(text, sizeof text, "%u", t->len);
    set_header(r, "X-SAP-Length", text);
    if (t->of) {
        char range[48];
        snprintf(range, sizeof range, "bytes %u-%u/%u", t->start, t->start + t->len - 1, t->of);
        http_header_response_set(r, HTTP_HEADER_CONTENT_RANGE, CONST_STR_LEN("Content-Range"),
                                 range, (uint32_t)strlen(range));
        r->http_status = 206;
    }
    if (!t->port) {
        snprintf(text, sizeof text, "%u", sap_port(listener));
        set_header(r, "X-SAP-Port", text);
    }
    if (own) set_header(r, "X-SAP-Cache-Control", own->ptr);
    http_header_response_set(r, HTTP_HEADER_CACHE_CONTROL, CONST_STR_LEN("Cache-Control"),
                             CONST_STR_LEN(no_store));
    http_response_body_clear(r, 0);
    http_header_response_set(r, HTTP_HEADER_CONTENT_LENGTH, CONST_STR_LEN("Content-Length"),
                             CONST_STR_LEN("0"));
    r->resp_body_finished = 1;
}

/* Takes the offer of a request whose reply over TCP is complete; tells whether that must wait. */
static int take_offer(request_st *r, plugin_data *p)
{
    stat_cache_entry *sce = stat_cache_get_entry_open(&r->physical.path, r->conf.follow_symlink);
    struct transfer *t = sce && sce->fd >= 0 ? calloc(1, sizeof *t) : NULL;
    if (!t) return 0;
    t->fd = t->report = -1;
    t->holders = 1;
    if (!read_offer(r, &p->conf, t) || !read_peer(r, t)) {
        release(t);
        return 0;
    }
    t->profile = p->conf.profile;
    t->key = p->conf.key;
    int is_long = sce->st.st_size > (off_t)p->conf.max_size << 10;
    t->len = (uint32_t)sce->st.st_size;
    if (!is_long && !read_range(r, t)) {
        release(t);
        return 0;
    }
    if (t->mode == SAP_APPROX
        && forbids_change(http_header_request_get(r, HTTP_HEADER_CACHE_CONTROL,
                                                  CONST_STR_LEN("Cache-Control"))))
        t->refusal = "no-transform";
    else if (is_long)
        t->refusal = "too-long";
    else if ((t->fd = fdevent_dup_cloexec(sce->fd)) < 0)
        t->refusal = "busy";
    else if (t->port)
        t->refusal = is_own_port(r, t) ? "no-answer" : start(t, p);
    r->plugin_ctx[p->id] = t;
    t->is_reported = !t->port || t->refusal;
    if (t->is_reported) return 0;
    t->r = r;
    r->handler_module = p->self;
    r->resp_body_finished = 0;
    return 1;
}

SUBREQUEST_FUNC(mod_sap_subrequest)
{
    const struct transfer *t = r->plugin_ctx[((plugin_data *)p_d)->id];
    if (!t->is_reported) return HANDLER_WAIT_FOR_EVENT;
    r->resp_body_finished = 1;
    return HANDLER_FINISHED;
}

/* Makes the reply one of SAP, or says why it is none, after what other modules wrote into it. */
REQUEST_FUNC(mod_sap_response_start)
{
    plugin_data *p = p_d;
    struct transfer *t = r->plugin_ctx[p->id];
    if (!t) return HANDLER_GO_ON;
    r->plugin_ctx[p->id] = NULL;
    const buffer *cache_control = http_header_response_get(r, HTTP_HEADER_CACHE_CONTROL,
                                                           CONST_STR_LEN("Cache-Control"));
    /* What another module has put in the place of the file goes as it is. */
    int is_file = r->http_status == 200 && r->resp_body_finished
                  && !light_btst(r->resp_htags, HTTP_HEADER_CONTENT_ENCODING);
    if (is_file && !t->refusal && t->mode == SAP_APPROX && forbids_change(cache_control))
        t->refusal = "no-transform";
    if (is_file && !t->refusal && !t->port) t->refusal = start(t, p);
    int is_sent = is_file && !t->refusal;
    if (is_sent)
        announce(r, t);
    else if (is_file)
        set_header(r, "X-SAP-Fallback", t->refusal);
    decide(t, is_sent ? SENT : DROPPED);
    release(t);
    return HANDLER_GO_ON;
}

REQUESTDONE_FUNC(mod_sap_reset)
{
    struct transfer *t = r->plugin_ctx[((plugin_data *)p_d)->id];
    r->plugin_ctx[((plugin_data *)p_d)->id] = NULL;
    if (t && t->is_reported) {
        decide(t, DROPPED);
        release(t);
    } else if (t) {
        t->r = NULL;
    }
    return HANDLER_GO_ON;
}

/* The configuration. */

static void merge(plugin_config *conf, const config_plugin_value_t *value)
{
    for (; value->k_id != -1; value++) {
        switch (value->k_id) {
        case 0: conf->approx = value->v.a; break;
        case 1: conf->ports = value->v.u; break;
        case 2: conf->max_size = value->v.u; break;
        case 3: conf->profile = value->v.u; break;
        case 4: conf->key = value->v.v; break;
        case 5: conf->listen = value->v.b; break;
        case 6: conf->exclude = value->v.a; break;
        case 7: conf->etags = (int)value->v.u; break;
        case 8: conf->no_pathinfo = (int)value->v.u; break;
        }
    }
}

static void patch_config(request_st *r, plugin_data *p)
{
    p->conf = p->defaults;
    for (int i = 1; i < p->nconfig; i++)
        if (config_check_cond(r, (uint32_t)p->cvlist[i].k_id))
            merge(&p->conf, p->cvlist + p->cvlist[i].v.u2[0]);
}

/* Reads a key, 64 hexadecimal digits in a file that only its owner can read; NULL if it is none. */
static uint8_t *read_key(const char *path)
{
    char text[66] = "";
    struct stat status;
    static uint8_t key[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 || fstat(fd, &status) || status.st_mode & 077
                      ? -1 : read(fd, text, sizeof text);
    int is_key = (len == 64 || (len == 65 && text[64] == '\n'))
                 && strspn(text, "0123456789abcdefABCDEF") == 64;
    if (fd >= 0) close(fd);
    if (!is_key) return NULL;
    read_hex(text, key, 32);
    return key;
}

/* Returns the port of "ADDRESS:PORT", or 0. */
static uint16_t port_of_address(const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t digits = colon && colon > text ? strspn(colon + 1, "0123456789") : 0;
    unsigned long port = digits && digits <= 5 ? strtoul(colon + 1, NULL, 10) : 0;
    return port && port <= 65535 && !colon[1 + digits] ? (uint16_t)port : 0;
}

/* Reads a value whose text has a form; returns what is wrong with it, or NULL. */
static const char *read_value(config_plugin_value_t *value)
{
    unsigned int first, last;
    char after;
    if (value->k_id == 0) {
        for (uint32_t i = 0; i < value->v.a->used; i++)
            if (list_matches(&((const data_string *)value->v.a->data[i])->value, "", 0) < 0)
                return "sap.approx is a list of media types such as \"image/jpeg\", \"audio/*\"";
    } else if (value->k_id == 1) {
        if (sscanf(value->v.b->ptr, "%5u-%5u%c", &first, &last, &after) != 2 || first < 1024
            || first > last || last > 65535)
            return "sap.port-range is as \"40000-40999\", from 1024 to 65535";
        value->v.u = first << 16 | last;
    } else if (value->k_id == 2 && (value->v.u == 0 || value->v.u > 256 << 10)) {
        return "sap.max-file-size is in KiB, from 1 to 262144";
    } else if (value->k_id == 3) {
        int is_paper = !strcmp(value->v.b->ptr, "paper");
        if (!is_paper && strcmp(value->v.b->ptr, "standard"))
            return "sap.profile is \"standard\" or \"paper\"";
        value->v.u = is_paper ? SAP_PAPER : SAP_STANDARD;
    } else if (value->k_id == 4) {
        value->v.v = read_key(value->v.b->ptr);
        if (!value->v.v)
            return "sap.key-file is a file of windfall sap keygen, which only its owner can read";
    } else if (value->k_id == 5 && !port_of_address(value->v.b->ptr)) {
        return "sap.listen is an address and a port, such as \"0.0.0.0:8080\"";
    }
    return NULL;
}

/* Warns of modules that write into a reply after this one has looked at it. */
static void warn_of_order(const server *srv, const plugin *self)
{
    plugin *const *all = srv->plugins.ptr;
    uint32_t i = 0;
    while (i < srv->plugins.used && all[i] != self) i++;
    for (i++; i < srv->plugins.used; i++)
        if (all[i]->handle_response_start && strcmp(all[i]->name, "deflate"))
            log_error(srv->errh, __FILE__, __LINE__,
                      "mod_sap does not see what mod_%s writes into Cache-Control: let mod_sap come"
                      " after it in server.modules", all[i]->name);
}

SETDEFAULTS_FUNC(mod_sap_set_defaults)
{
    /* Files that mod_staticfile would not send are not sent here either. */
    static const config_plugin_keys_t keys[] = {
        {CONST_STR_LEN("sap.approx"), T_CONFIG_ARRAY_VLIST, T_CONFIG_SCOPE_CONNECTION},
        {CONST_STR_LEN("sap.port-range"), T_CONFIG_STRING, T_CONFIG_SCOPE_CONNECTION},
        {CONST_STR_LEN("sap.max-file-size"), T_CONFIG_INT, T_CONFIG_SCOPE_CONNECTION},
        {CONST_STR_LEN("sap.profile"), T_CONFIG_STRING, T_CONFIG_SCOPE_CONNECTION},
        {CONST_STR_LEN("sap.key-file"), T_CONFIG_STRING, T_CONFIG_SCOPE_SERVER},
        {CONST_STR_LEN("sap.listen"), T_CONFIG_STRING, T_CONFIG_SCOPE_SERVER},
        {CONST_STR_LEN("static-file.exclude-extensions"), T_CONFIG_ARRAY_VLIST,
         T_CONFIG_SCOPE_CONNECTION},
        {CONST_STR_LEN("static-file.etags"), T_CONFIG_BOOL, T_CONFIG_SCOPE_CONNECTION},
        {CONST_STR_LEN("static-file.disable-pathinfo"), T_CONFIG_BOOL, T_CONFIG_SCOPE_CONNECTION},
        {NULL, 0, T_CONFIG_UNSET, T_CONFIG_SCOPE_UNSET}};
    plugin_data *p = p_d;
    if (!config_plugin_values_init(srv, p, keys, "mod_sap")) return HANDLER_ERROR;
    for (int i = !p->cvlist[0].v.u2[1]; i < p->nconfig; i++) {
        for (config_plugin_value_t *it = p->cvlist + p->cvlist[i].v.u2[0]; it->k_id != -1; it++) {
            const char *wrong = read_value(it);
            if (!wrong) continue;
            log_error(srv->errh, __FILE__, __LINE__, "%s", wrong);
            return HANDLER_ERROR;
        }
    }
    p->defaults = (plugin_config){.ports = 1024u << 16 | 65535, .max_size = 256 << 10, .etags = 1};
    if (p->nconfig > 0 && p->cvlist->v.u2[1])
        merge(&p->defaults, p->cvlist + p->cvlist->v.u2[0]);
    warn_of_order(srv, p->self);
    return HANDLER_GO_ON;
}

SUBREQUEST_FUNC(mod_sap_start)
{
    plugin_data *p = p_d;
    if (r->handler_module || r->http_method != HTTP_METHOD_GET || r->con->is_ssl_sock
        || (!header(r, "X-SAP-Approx") && !header(r, "X-SAP-Force-Precise")))
        return HANDLER_GO_ON;
    patch_config(r, p);
    if (!p->conf.approx || (p->conf.no_pathinfo && !buffer_is_blank(&r->pathinfo))
        || (p->conf.exclude && array_match_value_suffix(p->conf.exclude, &r->physical.path)))
        return HANDLER_GO_ON;
    if (!p->conf.etags) r->conf.etag_flags = 0;
    http_response_send_file(r, &r->physical.path, NULL);
    int must_wait = r->http_status == 200 && r->resp_body_finished && take_offer(r, p);
    return must_wait ? HANDLER_GO_ON : HANDLER_FINISHED;
}

/* Listens for clients that open connections; without it they are answered over TCP. */
static void listen_for_clients(server *srv, const plugin_config *conf)
{
    char address[256];
    const char *text = conf->listen ? conf->listen->ptr : "";
    size_t len = conf->listen ? (size_t)(strrchr(text, ':') - text) : 0;
    if (!len || len >= sizeof address || listener) return;
    if (*text == '[' && text[len - 1] == ']') text++, len -= 2;
    memcpy(address, text, len);
    address[len] = 0;
    sap_sock_t *sock = sap_socket();
    if (!sock || sap_set_profile(sock, conf->profile) || sap_set_key(sock, conf->key)
        || sap_bind(sock, address, port_of_address(conf->listen->ptr))
        || start_thread(accept_clients, sock)) {
        log_error(srv->errh, __FILE__, __LINE__, "sap.listen: %s", sap_strerror(sock));
        sap_close(sock);
        return;
    }
    listener = sock;
}

SERVER_FUNC(mod_sap_worker_init)
{
    plugin_data *p = p_d;
    listen_for_clients(srv, &p->defaults);
    if (fdevent_pipe_cloexec(p->reports, 4096) || fdevent_fcntl_set_nb(p->reports[0]))
        return HANDLER_ERROR;
    p->ev = srv->ev;
    p->fdn = fdevent_register(srv->ev, p->reports[0], handle_report, p);
    fdevent_fdnode_event_set(srv->ev, p->fdn, FDEVENT_IN);
    return HANDLER_GO_ON;
}

FREE_FUNC(mod_sap_cleanup)
{
    plugin_data *p = p_d;
    if (!p->fdn) return;
    fdevent_fdnode_event_del(p->ev, p->fdn);
    fdevent_unregister(p->ev, p->fdn);
    close(p->reports[0]);
    close(p->reports[1]);
}

INIT_FUNC(mod_sap_init)
{
    return calloc(1, sizeof(plugin_data));
}

int mod_sap_plugin_init(plugin *p);
int mod_sap_plugin_init(plugin *p)
{
    p->version = LIGHTTPD_VERSION_ID;
    p->name = "sap";
    p->init = mod_sap_init;
    p->set_defaults = mod_sap_set_defaults;
    p->worker_init = mod_sap_worker_init;
    p->cleanup = mod_sap_cleanup;
    p->handle_subrequest_start = mod_sap_start;
    p->handle_subrequest = mod_sap_subrequest;
    p->handle_response_start = mod_sap_response_start;
    p->handle_request_reset = mod_sap_reset;
    return 0;
}
