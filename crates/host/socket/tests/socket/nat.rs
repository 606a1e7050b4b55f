//! SAP through a router whose nftables masquerade: the mapping is lost, and a lid is closed.
//!
//! The client stands in this network namespace, router and server in two others.
#![expect(clippy::disallowed_methods, reason = "lids are closed for a while")]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use windfall_socket::{SapError, SapListener, SapSocket, SharedKey};

/// `full` closes the lid for 30 s in place of 3 s.
const VARIABLE: &str = "WINDFALL_TEST_NAT";
/// The variable that marks the process of the server, and tells whether it has a key.
const SERVE: &str = "WINDFALL_TEST_SERVE";
const SERVER: &str = "10.9.2.2:7000";
/// Messages of each stage, and the bytes of each.
const COUNT: u32 = 60;
const LEN: usize = 3_000;

/// A network namespace, as long as its process sleeps.
struct Namespace(Child);

impl Namespace {
    fn new() -> Self {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", "ip link set lo up && echo ready && exec sleep 600"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it ran before");
        let mut ready = [0; 6];
        let mut output = child.stdout.take().expect("it is a pipe");
        std::io::Read::read_exact(&mut output, &mut ready).expect("it says that it is ready");
        Self(child)
    }

    /// A program inside.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.0.id().to_string(), "--", program]);
        command
    }

    fn shell(&self, script: &str) {
        let status = self.command("sh").args(["-c", script]).status().expect("it can start");
        assert!(status.success(), "{script}");
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shell(script: &str) {
    let status = Command::new("sh").args(["-c", script]).status().expect("it can start");
    assert!(status.success(), "{script}");
}

/// The server's program, which ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn cross(name: &str, key: Option<SharedKey>) {
    if std::env::var_os(SERVE).is_some() {
        return serve(key);
    }
    let nft = Command::new("nft").arg("--version").stdout(Stdio::null()).status();
    if !nft.is_ok_and(|status| status.success()) {
        windfall_testkit::skip!("nft is not installed");
    }
    crate::namespace::run(name, "ip link set lo up", || inside(name, key));
}

/// Returns each message, and before it the client's address as it is seen here.
fn serve(key: Option<SharedKey>) {
    let options = windfall_socket::SapOptions::default().with(|it| it.key = key);
    let listener: SapListener = options.listen(SERVER).expect("a free port");
    let (socket, _) = listener.accept().expect("it connects");
    while let Ok(Some(message)) = socket.recv() {
        let seen = socket.peer_addr().to_string();
        if [seen.as_bytes(), &message.data].into_iter().any(|it| socket.send(it).is_err()) {
            return;
        }
    }
}

fn connect(key: Option<SharedKey>) -> Result<SapSocket, SapError> {
    let options = windfall_socket::SapOptions::default().with(|it| it.key = key);
    options.connect(SERVER)
}

/// Client, router and server in a row.
fn lay() -> (Namespace, Namespace) {
    let router = Namespace::new();
    let server = Namespace::new();
    shell(&format!(
        "ip link add out type veth peer name in netns {} && \
         ip address add 10.9.1.2/24 dev out && ip link set out up && \
         ip route add default via 10.9.1.1 2>/dev/null || true",
        router.0.id()
    ));
    router.shell(&format!(
        "ip address add 10.9.1.1/24 dev in && ip link set in up && \
         ip link add wan type veth peer name lan netns {} && \
         ip address add 10.9.2.1/24 dev wan && ip link set wan up && \
         echo 1 > /proc/sys/net/ipv4/ip_forward && \
         nft 'add table ip nat; \
              add chain ip nat post {{ type nat hook postrouting priority 100; }}; \
              add rule ip nat post oifname wan masquerade random'",
        server.0.id()
    ));
    server.shell("ip address add 10.9.2.2/24 dev lan && ip link set lan up");
    shell("ip route replace default via 10.9.1.1");
    (router, server)
}

fn inside(name: &str, key: Option<SharedKey>) {
    let (router, server) = lay();
    let me = std::env::current_exe().expect("a test knows its file");
    let mut command = server.command(&me.to_string_lossy());
    command.args(["--exact", name, "--nocapture"]).env(SERVE, "1");
    let _server = Server(command.spawn().expect("it ran before"));
    let began = Instant::now();
    let socket = loop {
        match connect(key) {
            Ok(socket) => break socket,
            Err(error) => assert!(began.elapsed() < Duration::from_secs(30), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    socket.set_timeout(Some(windfall_socket::Duration::from_secs(120)));
    let full = std::env::var(VARIABLE).is_ok_and(|value| value == "full");
    let lid = Duration::from_secs(if full { 30 } else { 3 });
    // An interface that goes down takes the mappings of its masquerade with it.
    let forget = "ip link set wan down && ip link set wan up";
    let first = talk(&socket, 0, || {});
    assert!(first.ends_with(|last: char| last.is_ascii_digit()) && first.starts_with("10.9.2.1:"));
    // The kernel forgets them at its own time: a busy one may do so after all has been said.
    let elsewhere = |before: &str, stages: core::ops::Range<u8>, disturb: &(dyn Fn() + Sync)| {
        let found = stages.map(|stage| talk(&socket, stage, disturb)).find(|it| it != before);
        found.expect("the router takes another port")
    };
    let second = elsewhere(&first, 1..10, &|| router.shell(forget));
    elsewhere(&second, 10..20, &|| {
        shell("ip link set out down");
        router.shell(forget);
        std::thread::sleep(lid);
        shell("ip link set out up && ip route replace default via 10.9.1.1");
    });
    socket.close().expect("the server has everything");
}

/// Sends the messages of one stage, does something in the middle, and requires all of them back;
/// returns this end's address as the server sees it at the end.
fn talk(socket: &SapSocket, stage: u8, disturb: impl FnOnce() + Send) -> String {
    let message = |number: u32| -> Vec<u8> {
        std::iter::once(stage).chain((1..LEN).map(|at| (at + number as usize) as u8)).collect()
    };
    let send = |from, until| {
        for number in from..until {
            socket.send(&message(number)).expect("it is open");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let mut seen = String::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            send(0, COUNT / 2);
            disturb();
            send(COUNT / 2, COUNT);
        });
        for number in 0..COUNT {
            let next = || socket.recv().expect("it is open").expect("no end").data;
            seen = String::from_utf8_lossy(&next()).into_owned();
            assert!(next() == message(number), "message {number} of stage {stage}");
        }
    });
    seen
}

#[test]
fn everything_arrives_through_a_masquerade_that_forgets_and_a_closed_lid() {
    cross("nat::everything_arrives_through_a_masquerade_that_forgets_and_a_closed_lid", None);
}

#[test]
fn everything_encrypted_arrives_through_a_masquerade_that_forgets_and_a_closed_lid() {
    let name =
        "nat::everything_encrypted_arrives_through_a_masquerade_that_forgets_and_a_closed_lid";
    cross(name, Some(SharedKey::new([7; 32])));
}
