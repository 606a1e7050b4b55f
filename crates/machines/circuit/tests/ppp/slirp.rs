//! Against Debian's `slirp`, a PPP implementation in user space, over a pseudo-terminal.

#![expect(clippy::disallowed_methods, reason = "another program runs by the clock")]

use core::net::Ipv4Addr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use windfall_base::{Duration, Instant, Seed, Stream};
use windfall_circuit::ppp::{FrameMode, PppConfig, PppEvent, PppLink};
use windfall_testkit::skip;

/// A slirp on a pseudo-terminal; ends with the test.
struct Slirp {
    process: Child,
    terminal: File,
    began: std::time::Instant,
}

impl Drop for Slirp {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Slirp {
    /// `None` if there is no slirp.
    fn start() -> Option<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it is ours");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let open = || {
            let path = name.to_str().expect("a path");
            File::options().read(true).write(true).open(path).expect("the terminal opens")
        };
        let slave = open();
        let mut termios = tcgetattr(&slave).expect("a terminal");
        termios.make_raw();
        tcsetattr(&slave, OptionalActions::Now, &termios).expect("a terminal");
        let output: OwnedFd = slave.try_clone().expect("a descriptor").into();
        let process = Command::new("slirp-fullbolt")
            .args(["ppp", "mtu 1500"])
            .env("HOME", std::env::temp_dir())
            .stdin(Stdio::from(slave))
            .stdout(Stdio::from(output))
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let terminal = File::from(master);
        Some(Self { process, terminal, began: std::time::Instant::now() })
    }

    fn now(&self) -> Instant {
        let elapsed: Duration = self.began.elapsed().into();
        // PPP may find the clock where it was, but never before its last call.
        Instant::START + elapsed
    }

    /// Moves bytes both ways until `is_done` or half a minute has passed; the latter is `false`.
    fn talk(
        &mut self,
        link: &mut PppLink,
        mut damage: impl FnMut(&mut Vec<u8>),
        mut is_done: impl FnMut(&mut PppLink) -> bool,
    ) -> bool {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let mut buffer = [0; 4_096];
        while std::time::Instant::now() < end {
            let mut bytes = link.take_line();
            damage(&mut bytes);
            self.terminal.write_all(&bytes).expect("slirp reads");
            let mut fds = [PollFd::new(&self.terminal, PollFlags::IN)];
            let timeout = rustix::time::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            if poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0) {
                let read = self.terminal.read(&mut buffer).unwrap_or(0);
                let mut bytes = buffer[..read].to_vec();
                damage(&mut bytes);
                link.handle_line(self.now(), &bytes);
            }
            link.handle_timeout(self.now());
            if is_done(link) {
                return true;
            }
        }
        false
    }
}

/// The ones' complement checksum of the internet.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let words =
        bytes.chunks(2).map(|it| u32::from(it[0]) << 8 | it.get(1).map_or(0, |b| u32::from(*b)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// An echo request of ICMP.
fn ping(from: Ipv4Addr, to: Ipv4Addr, sequence: u8) -> Vec<u8> {
    let mut icmp = vec![8, 0, 0, 0, 0, 1, 0, sequence];
    icmp.extend(b"windfall pings slirp over ppp");
    let sum = checksum(&icmp);
    icmp[2..4].copy_from_slice(&sum);
    let mut ip = vec![0x45, 0, 0, (20 + icmp.len()) as u8, 0, sequence, 0, 0, 64, 1, 0, 0];
    ip.extend(from.octets());
    ip.extend(to.octets());
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum);
    [ip, icmp].concat()
}

/// The number of the ping that a packet answers; `None` if it is no such answer.
fn answers(packet: &[u8]) -> Option<u8> {
    (packet.len() > 28 && packet[9] == 1 && packet[20] == 0).then(|| packet[27])
}

/// Comes up against slirp and pings it ten times; `damage` meets every byte of the line.
fn exchange(mode: FrameMode, mut damage: impl FnMut(&mut Vec<u8>)) {
    let Some(mut slirp) = Slirp::start() else {
        skip!("slirp is missing: apt-get install slirp");
    };
    // Slirp asks for an address too; this one stands for its host, and it answers pings itself.
    let gateway = Ipv4Addr::new(10, 0, 2, 2);
    let config = PppConfig { mode, peer: Some(gateway), ..PppConfig::default() };
    let mut link = PppLink::new(config, &Stream::new(Seed(5), "ppp"));
    link.open(slirp.now());
    let mut address = None;
    let up = slirp.talk(&mut link, &mut damage, |link| {
        while let Some(event) = link.poll_event() {
            if let PppEvent::Ipv4Up { local, peer } = event {
                address = Some((local, peer));
            }
        }
        address.is_some()
    });
    assert!(up, "IPCP did not open: {:?}", link.counts());
    let local = Ipv4Addr::new(10, 0, 2, 15);
    assert_eq!(address, Some((local, Some(gateway))), "slirp's choice, and ours");
    let mut answered = 0_u16;
    let mut sent = 0_u32;
    let done = slirp.talk(&mut link, &mut damage, |link| {
        while let Some(packet) = link.poll_packet() {
            if let Some(sequence) = answers(&packet.bytes).filter(|_| !packet.damaged) {
                answered |= 1 << sequence;
            }
        }
        let next = answered.trailing_ones() as u8;
        if next < 10 {
            // Either side may negotiate anew for a moment where an answer was late.
            sent += u32::from(link.send(&ping(local, gateway, next)));
        }
        next >= 10
    });
    assert!(done, "only {answered:b} answered after {sent} pings: {:?}", link.counts());
    link.close(slirp.now());
    let closed = slirp.talk(
        &mut link,
        |_| {},
        |link| std::iter::from_fn(|| link.poll_event()).any(|event| event == PppEvent::Finished),
    );
    assert!(closed, "the link did not close");
}

//= S1.11
#[test]
fn slirp_and_windfall_exchange_pings() {
    exchange(FrameMode::Strict, |_| {});
}

//= S1.11
//= S1.12
#[test]
fn slirp_and_windfall_exchange_pings_over_a_noisy_line() {
    let mut stream = Stream::new(Seed(9), "noise");
    exchange(FrameMode::Lite, |bytes| {
        bytes.iter_mut().for_each(|byte| {
            if stream.unit() < 0.005 {
                *byte ^= 1 << stream.below(8);
            }
        });
    });
}
