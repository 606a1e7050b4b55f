//! Honest clients of a server that hostile ones attack, and the memory of that server.
//!
//! Everything runs in a network namespace; the server is a process of its own.
#![expect(clippy::disallowed_methods, reason = "the attack lasts as long as it is asked to")]

mod hostile;
mod wire;

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use windfall_socket::{SapError, SapListener, SapSocket};

/// The duration in seconds; 5 without it. From [`LONG`] on the memory must not grow.
const SECONDS: &str = "WINDFALL_TEST_ADVERSARIES";
/// The time after which connections of vanished clients end as fast as others begin.
const LONG: Duration = Duration::from_secs(90);
/// The variable that marks the process of the server.
const SERVE: &str = "WINDFALL_TEST_SERVE";
/// The name of the test.
const NAME: &str = "adversary::honest_clients_are_served_beside_hostile_ones";
/// The bytes that an honest client asks for, and its time for all of it.
const WANTED: usize = 1 << 20;
const BOUND: Duration = Duration::from_secs(20);
/// The most that a client may ask for, and the most clients at once.
const MOST: usize = 4 << 20;
const CLIENTS: usize = 512;
/// The memory that the server may have at any time.
const MEMORY: usize = 512 << 20;

/// The state that honest and hostile clients share.
struct Attack {
    server: SocketAddrV4,
    began: Instant,
    ended: AtomicBool,
    /// Addresses of honest clients, which the hostile ones know.
    honest: Mutex<Vec<SocketAddr>>,
    /// Datagrams that hostile clients have sent.
    sent: AtomicU64,
    rounds: AtomicUsize,
    failures: Mutex<Vec<String>>,
    slowest: Mutex<Duration>,
}

impl Attack {
    fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

#[test]
fn honest_clients_are_served_beside_hostile_ones() {
    if std::env::var_os(SERVE).is_some() {
        return serve();
    }
    crate::namespace::run(NAME, "ip link set lo up", inside);
}

/// Sends each client as many bytes as it asks for, and returns everything else.
fn serve() {
    let listener = SapListener::bind("127.0.0.1:0").expect("a free port");
    println!("serving {}", listener.local_addr().expect("bound").port());
    let clients = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        while let Ok((socket, _)) = listener.accept() {
            if clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS {
                clients.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let clients = &clients;
            scope.spawn(move || {
                // How a hostile client ends does not matter.
                let _ = answer(&socket);
                drop(socket);
                clients.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
}

fn answer(socket: &SapSocket) -> Result<(), SapError> {
    socket.set_timeout(Some(windfall_socket::Duration::from_secs(30)));
    socket.set_linger(windfall_socket::Duration::from_secs(2));
    while let Some(message) = socket.recv()? {
        match message.data.first_chunk::<4>() {
            Some(wanted) if message.data.len() == 4 => {
                let wanted = (u32::from_be_bytes(*wanted) as usize).min(MOST);
                pattern(wanted).chunks(1 << 16).try_for_each(|part| socket.send(part))?;
            }
            _ => socket.send(&message.data)?,
        }
    }
    Ok(())
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

fn start() -> (Child, SocketAddrV4) {
    let mut command = Command::new(std::env::current_exe().expect("a test knows its file"));
    command.args(["--exact", NAME, "--nocapture"]).env(SERVE, "1").stdout(Stdio::piped());
    let mut server = command.spawn().expect("it ran before");
    let output = server.stdout.take().expect("it is a pipe");
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    let port = lines.find_map(|line| line.strip_prefix("serving ").and_then(|it| it.parse().ok()));
    // The harness says more after a minute, and ends if that is not read.
    std::thread::spawn(move || lines.for_each(drop));
    (server, SocketAddrV4::new(Ipv4Addr::LOCALHOST, port.expect("it serves")))
}

fn inside() {
    let asked = std::env::var(SECONDS).ok().and_then(|seconds| seconds.parse().ok());
    let span = Duration::from_secs(asked.unwrap_or(5));
    let (mut server, address) = start();
    let attack = Attack {
        server: address,
        began: Instant::now(),
        ended: AtomicBool::new(false),
        honest: Mutex::default(),
        sent: AtomicU64::new(0),
        rounds: AtomicUsize::new(0),
        failures: Mutex::default(),
        slowest: Mutex::default(),
    };
    let mut memory = Vec::new();
    std::thread::scope(|scope| {
        let attack = &attack;
        hostile::ALL.iter().for_each(|begin| drop(scope.spawn(|| begin(attack))));
        (0..2).for_each(|_| drop(scope.spawn(|| honest(attack))));
        let began = Instant::now();
        while began.elapsed() < span && server.try_wait().is_ok_and(|status| status.is_none()) {
            std::thread::sleep(Duration::from_millis(250));
            memory.push((began.elapsed(), resident(server.id())));
        }
        attack.ended.store(true, Ordering::Relaxed);
    });
    let alive = server.try_wait().expect("it is a child").is_none();
    let _ = server.kill();
    let _ = server.wait();
    let failures = attack.failures.into_inner().expect("not poisoned");
    let rounds = attack.rounds.into_inner();
    println!(
        "{rounds} honest rounds, {} failed, the slowest {:?}; {} hostile datagrams",
        failures.len(),
        attack.slowest.into_inner().expect("not poisoned"),
        attack.sent.into_inner(),
    );
    assert!(alive, "the server has ended");
    assert!(failures.is_empty(), "{failures:?}");
    assert!(rounds > 0, "not a single transfer");
    judge(&memory, span);
}

/// Asks for a megabyte again and again, and has a message returned.
fn honest(attack: &Attack) {
    while !attack.is_over() {
        let began = Instant::now();
        let result = fetch(attack);
        let took = began.elapsed();
        let mut failures = attack.failures.lock().expect("not poisoned");
        let at = attack.began.elapsed();
        match result {
            Err(error) => failures.push(format!("at {at:?}: {error} after {took:?}")),
            Ok(Some(fault)) => failures.push(format!("at {at:?}: {fault}")),
            Ok(None) if took > BOUND => failures.push(format!("at {at:?}: {took:?}")),
            Ok(None) => {}
        }
        drop(failures);
        attack.rounds.fetch_add(1, Ordering::Relaxed);
        let mut slowest = attack.slowest.lock().expect("not poisoned");
        *slowest = took.max(*slowest);
        drop(slowest);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns what did not come back as it should.
fn fetch(attack: &Attack) -> Result<Option<String>, SapError> {
    let socket = SapSocket::connect(attack.server)?;
    let mut known = attack.honest.lock().expect("not poisoned");
    known.push(socket.local_addr());
    if known.len() > 4 {
        known.remove(0);
    }
    drop(known);
    socket.set_timeout(Some(windfall_socket::Duration::from_secs(20)));
    socket.send(&(WANTED as u32).to_be_bytes())?;
    let mut got = Vec::new();
    while got.len() < WANTED
        && let Some(message) = socket.recv()?
    {
        got.extend_from_slice(&message.data);
    }
    if got.len() < WANTED {
        return Ok(Some(format!("the connection ended after {} bytes", got.len())));
    }
    if got != pattern(WANTED) {
        return Ok(Some("wrong bytes".into()));
    }
    socket.send(&got[..50_000])?;
    let fault = match socket.recv()? {
        Some(back) if back.data == got[..50_000] => None,
        Some(_) => Some("wrong bytes were returned".into()),
        None => Some("the connection ended before its message was returned".into()),
    };
    socket.close()?;
    Ok(fault)
}

/// Returns the resident memory of a process in bytes.
fn resident(process: u32) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kilobytes = line.split_whitespace().next().and_then(|number| number.parse::<usize>().ok());
    kilobytes.unwrap_or_default() << 10
}

/// Requires that the memory has a bound, and that it does not grow in a long run.
fn judge(memory: &[(Duration, usize)], span: Duration) {
    let most = |from: Duration, until: Duration| {
        let within = memory.iter().filter(|(at, _)| (from..until).contains(at));
        within.map(|(_, bytes)| *bytes).max().unwrap_or_default()
    };
    for tenth in 0..10 {
        let from = span * tenth / 10;
        let until = span * (tenth + 1) / 10;
        println!("{:4} s: at most {} MB", until.as_secs(), most(from, until) >> 20);
    }
    assert!(most(Duration::ZERO, Duration::MAX) < MEMORY, "the server's memory has no bound");
    if span < 2 * LONG {
        return;
    }
    let middle = LONG + (span - LONG) / 2;
    let first = most(LONG, middle);
    let second = most(middle, Duration::MAX);
    // Samples of a level that fluctuates with the clients that are connected at the time.
    assert!(second < first + first / 4 + (16 << 20), "{first} bytes have grown to {second}");
}
