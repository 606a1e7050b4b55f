"""Writes scripts of BBR's phases from a model of its own: draft-ietf-ccwg-bbr in Python.

The model follows the pseudo-code of the draft, not the engine: a sender that always has data, a
link that carries one segment after the other and keeps those that wait, and a receiver that
acknowledges each. What leaves when, and the window in each phase, is what the engine has to do when
it is given the same acknowledgments.

    python3 bbr.py FOLDER

What the draft leaves to chance, the wait until the next probe, is decided by the rounds of Reno on
this path (section 5.3.3.5.2), less one of `COINS`, the one bit of chance in them.
"""

import heapq
import pathlib
import sys

MSS = 1000
INITIAL = 10 * MSS
LEAST = 4 * MSS
STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(7)
NAMES = ["STARTUP", "DRAIN", "PROBE_BW_DOWN", "PROBE_BW_CRUISE", "PROBE_BW_REFILL"]
NAMES += ["PROBE_BW_UP", "PROBE_RTT"]
PACING_GAIN = [2.77, 0.5, 0.9, 1.0, 1.0, 1.25, 1.0]
WINDOW_GAIN = [2.0, 2.0, 2.0, 2.0, 2.0, 2.25, 0.5]
# Whether a round fewer passes before the next probe, for each in turn.
COINS = [0, 1, 0, 0]
INFINITE = float("inf")
QUICKEST = 0.0001


class Sample:
    """What an acknowledgment tells of the segment that it answers (section 4.1)."""

    def __init__(self, packet, now, sender):
        self.round_trip = now - packet["sent"]
        self.delivered_before = packet["delivered"]
        send = packet["sent"] - packet["first_sent"]
        ack = now - packet["delivered_at"]
        self.rate = (sender.delivered - packet["delivered"]) / max(send, ack)
        if max(send, ack) < sender.bbr.least_round_trip:
            self.rate = 0.0
        self.newly = MSS
        self.in_flight_when_sent = packet["in_flight"]
        self.app_limited = packet["app_limited"]


class Bbr:
    """Sections 5.2 to 5.6 for a path without losses."""

    def __init__(self, coins):
        self.coins = iter(coins)
        self.phase = STARTUP
        self.bandwidths = [0.0, 0.0]
        self.cycle = 0
        self.least_round_trip = INFINITE
        self.least_at = 0.0
        self.recent_round_trip = INFINITE
        self.recent_at = 0.0
        self.round_ends = 0
        self.round_start = False
        self.rounds = 0
        self.rounds_since_probe = 0
        self.full_reached = self.full_now = False
        self.full = 0.0
        self.full_count = 0
        self.window = INITIAL
        self.prior_window = 0
        self.pacing = 0.0
        self.began = 0.0
        self.ending_probe = False
        self.done_at = None
        self.round_done = False
        self.extra_since = 0.0
        self.extra_delivered = 0
        self.extra = []

    # 5.2.1
    def handshake(self, round_trip):
        self.pacing = PACING_GAIN[STARTUP] * INITIAL / round_trip

    def bandwidth(self):
        return max(self.bandwidths)

    # 5.6.4.2
    def path(self, gain):
        if self.least_round_trip == INFINITE:
            return INITIAL
        return self.bandwidth() * self.least_round_trip * gain

    def quantize(self, inflight):
        quantum = min(max(self.pacing * 0.001, 2 * MSS), 65536)
        inflight = max(inflight, 3 * quantum, LEAST)
        return inflight + (2 * MSS if self.phase == UP else 0)

    def inflight(self, gain):
        return self.quantize(self.path(gain))

    def start_round(self, sender):
        self.round_ends = sender.delivered

    def update(self, now, sample, sender):
        # 5.5.1: rounds.
        self.round_start = sample.delivered_before >= self.round_ends
        if self.round_start:
            self.start_round(sender)
            self.rounds += 1
            self.rounds_since_probe += 1
        # 5.5.5: the greatest bandwidth of this cycle and of the one before.
        if sample.rate >= self.bandwidth() or not sample.app_limited:
            self.bandwidths[1] = max(self.bandwidths[1], sample.rate)
        self.aggregate(now, sample)
        self.check_full(sample)
        if self.phase == STARTUP and self.full_reached:
            self.phase = DRAIN
        if self.phase == DRAIN and sender.in_flight <= self.inflight(1.0):
            self.go_down(now, sender)
        if self.full_reached:
            self.cycle_phase(now, sample, sender)
        self.round_trips(now, sample, sender)
        self.control(sample, sender)

    # 5.5.9
    def aggregate(self, now, sample):
        expected = self.bandwidth() * (now - self.extra_since)
        if self.extra_delivered <= expected:
            self.extra_delivered, self.extra_since, expected = 0, now, 0
        self.extra_delivered += sample.newly
        extra = min(self.extra_delivered - expected, self.window)
        life = 10 if self.full_reached else 1
        self.extra = [it for it in self.extra if it[0] >= self.rounds - life]
        self.extra.append((self.rounds, extra))

    # 5.3.1.2
    def check_full(self, sample):
        if self.full_now or not self.round_start or sample.app_limited:
            return
        if sample.rate >= self.full * 1.25:
            self.reset_full(sample)
            return
        self.full_count += 1
        self.full_now = self.full_count >= 3
        self.full_reached = self.full_reached or self.full_now

    def reset_full(self, sample):
        self.full, self.full_count, self.full_now = sample.rate, 0, False

    # 5.3.3.6
    def cycle_phase(self, now, sample, sender):
        if self.ending_probe and self.round_start:
            self.ending_probe = False
            if self.phase in (DOWN, CRUISE, REFILL, UP) and not sample.app_limited:
                self.bandwidths = [self.bandwidths[1], 0.0]
        if self.phase == DOWN:
            if not self.is_time_to_probe(now, sender) and sender.in_flight <= self.inflight(1.0):
                self.phase = CRUISE
        elif self.phase == CRUISE:
            self.is_time_to_probe(now, sender)
        elif self.phase == REFILL and self.round_start:
            self.start_round(sender)
            self.reset_full(sample)
            self.began = now
            self.phase = UP
        elif self.phase == UP and self.full_now:
            self.go_down(now, sender)

    def go_down(self, now, sender):
        self.rounds_since_probe = next(self.coins)
        self.began = now
        self.ending_probe = True
        self.start_round(sender)
        self.phase = DOWN

    # 5.3.3.5: the wait of 2 to 3 s is longer than Reno's rounds on this path.
    def is_time_to_probe(self, now, sender):
        rounds = int(min(self.inflight(1.0), self.window) / MSS)
        assert now - self.began < 2.0
        if self.rounds_since_probe < min(rounds, 63):
            return False
        self.start_round(sender)
        self.phase = REFILL
        return True

    # 5.3.4.3
    def round_trips(self, now, sample, sender):
        expired = now > self.recent_at + 5.0
        if sample.round_trip < self.recent_round_trip or expired:
            self.recent_round_trip, self.recent_at = sample.round_trip, now
        if self.recent_round_trip < self.least_round_trip or now > self.least_at + 10.0:
            self.least_round_trip, self.least_at = self.recent_round_trip, self.recent_at
        if self.phase != PROBE_RTT and expired:
            self.phase = PROBE_RTT
            self.prior_window = self.window
            self.done_at = None
            self.ending_probe = True
            self.start_round(sender)
        if self.phase != PROBE_RTT:
            return
        sender.app_limited_until = sender.delivered + sender.in_flight
        if self.done_at is None and sender.in_flight <= self.probe_window():
            self.done_at = now + 0.2
            self.round_done = False
            self.start_round(sender)
        elif self.done_at is not None:
            self.round_done = self.round_done or self.round_start
            if self.round_done and now > self.done_at:
                self.recent_at = now
                self.window = max(self.window, self.prior_window)
                self.go_down(now, sender)
                self.phase = CRUISE

    def probe_window(self):
        return max(self.path(0.5), LEAST)

    # 5.6
    def control(self, sample, sender):
        rate = PACING_GAIN[self.phase] * self.bandwidth() * 0.99
        if self.full_reached or rate > self.pacing:
            self.pacing = rate
        extra = max(it[1] for it in self.extra)
        most = self.quantize(self.path(WINDOW_GAIN[self.phase]) + extra)
        if self.full_reached:
            self.window = min(self.window + sample.newly, most)
        elif self.window < most or sender.delivered < INITIAL:
            self.window += sample.newly
        self.window = max(self.window, LEAST)
        if self.phase == PROBE_RTT:
            self.window = min(self.window, self.probe_window())


class Sender:
    """A sender over one link, and the script of what it does."""

    def __init__(self, rate, delay, coins):
        self.bbr = Bbr(coins)
        self.serialize, self.delay = MSS / rate, delay
        self.now = 0.0
        self.sent = self.delivered = self.in_flight = 0
        self.delivered_at = self.first_sent = 0.0
        self.app_limited_until = 0
        self.departure = self.link_free = 0.0
        self.events = []
        self.count = 0
        self.lines = []
        self.phase = None

    def run(self, until):
        # Where the handshake ends.
        self.bbr.handshake(self.delay)
        while True:
            self.send()
            if self.now > until or not self.events:
                return self.lines
            self.now, _, packet = heapq.heappop(self.events)
            if packet is not None:
                self.acknowledge(packet)

    def at(self, time, packet):
        self.count += 1
        heapq.heappush(self.events, (time, self.count, packet))

    # 5.6.2
    def send(self):
        while self.in_flight + MSS <= self.bbr.window:
            if self.departure > self.now + 1e-9:
                # The next one that wakes asks again.
                self.at(self.departure, None)
                return
            self.transmit()
            self.departure = max(self.departure, self.now) + MSS / self.bbr.pacing

    def transmit(self):
        if self.in_flight == 0:
            self.first_sent = self.delivered_at = self.now
        self.in_flight += MSS
        packet = {
            "end": self.sent + MSS,
            "sent": self.now,
            "first_sent": self.first_sent,
            "delivered": self.delivered,
            "delivered_at": self.delivered_at,
            "in_flight": self.in_flight,
            "app_limited": self.app_limited_until > self.delivered,
        }
        self.sent += MSS
        start = max(self.link_free, self.now)
        self.link_free = start + self.serialize
        arrival = self.link_free + self.delay - self.serialize
        # The first acknowledgment is the quickest: noise below this makes no new least round trip.
        later = QUICKEST if self.sent > MSS else 0.0
        self.at(round(arrival + later, 6), packet)
        self.line(f"> . {self.sent - MSS + 1}:{self.sent + 1}({MSS}) ack 1")

    def acknowledge(self, packet):
        self.line(f"< . 1:1(0) ack {packet['end'] + 1} win 60000")
        self.in_flight -= MSS
        self.delivered += MSS
        self.delivered_at = self.now
        sample = Sample(packet, self.now, self)
        self.first_sent = packet["sent"]
        self.bbr.update(self.now, sample, self)
        if self.bbr.phase != self.phase:
            self.phase = self.bbr.phase
            window = int(self.bbr.window) // MSS
            self.lines.append((self.now, f"// {NAMES[self.phase]}, {window} segments"))
            self.lines.append((self.now, f"%{{ assert tcpi_snd_cwnd == {window} }}%"))

    def line(self, text):
        self.lines.append((self.now, text))


HEAD = """\
// BBR: {note}.
// Written by bbr.py, a model of draft-ietf-ccwg-bbr, not by the engine. The link carries a segment
// in {serialize:.1f} ms, the round trip takes {delay:.0f} ms, and every segment is acknowledged.
--tolerance_usecs=200
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, "bbr", 3) = 0
+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0 > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 9>
+{delay_s:.6f} < S. 0:0(0) ack 1 win 60000 <mss 1000,sackOK,nop,wscale 7>
+0 > . 1:1(0) ack 1
+0 write(3, ..., 900000) = 900000
"""


def script(rate, delay, coins, until, note):
    """Returns the text of a script that ends at a time in seconds after the handshake."""
    sender = Sender(rate * MSS, delay, coins)
    lines = sender.run(until)
    head = HEAD.format(note=note, serialize=1e3 / rate, delay=1e3 * delay, delay_s=delay)
    body = []
    for at, line in lines:
        body.append(line if line.startswith("//") else f"{at + delay:.6f} {line}")
    return head + "\n".join(body) + "\n"


SCRIPTS = {
    "cycle": (80, 0.1, COINS, 6.5, "startup, drain, rounds of down, cruise, refill and up, and the probe of the round trip"),
}

if __name__ == "__main__":
    for name, arguments in SCRIPTS.items():
        folder = pathlib.Path(sys.argv[1])
        folder.joinpath(f"{name}.pkt").write_text(script(*arguments))
