//! How many threads a message wakes, where each connection has one that waits.

#![expect(clippy::disallowed_methods, reason = "the connections come to rest first")]

use std::time::Duration;

use windfall_socket::{SapListener, SapSocket};

/// The connections, and the messages that each returns.
const CONNECTIONS: usize = 300;
const ROUNDS: usize = 2;
/// The name of the threads that wait.
const NAME: &str = "sap-waits";
/// The switches for each message: of the thread that drives, of the one that the message is for,
/// and of one that drives in its place. Before, all threads were woken.
const SWITCHES: usize = 12;

/// Returns how often the waiting threads have slept since they began.
fn slept() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a system with /proc");
    let status = |task: &std::fs::DirEntry| std::fs::read_to_string(task.path().join("status"));
    let texts = tasks.flatten().filter_map(|task| status(&task).ok());
    let ours = texts.filter(|text| text.contains(NAME));
    let count = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|count| count.trim().parse::<usize>().ok()).unwrap_or_default()
    };
    ours.map(count).sum()
}

fn echo(socket: &SapSocket) {
    while let Ok(Some(message)) = socket.recv() {
        if socket.send(&message.data).is_err() {
            return;
        }
    }
}

#[test]
fn a_message_wakes_the_thread_that_waits_for_it() {
    let server = SapListener::bind("127.0.0.1:0").expect("a free port");
    let client = SapListener::bind("127.0.0.1:0").expect("a free port");
    let at = server.local_addr().expect("bound");
    std::thread::scope(|scope| {
        let mut sockets = Vec::new();
        for _ in 0..CONNECTIONS {
            sockets.push(client.connect(at).expect("it listens"));
            let (socket, _) = server.accept().expect("it connected");
            let waits = std::thread::Builder::new().name(NAME.to_owned());
            waits.spawn_scoped(scope, move || echo(&socket)).expect("a thread");
        }
        // They find their places first, and the searches for the paths' sizes end.
        std::thread::sleep(Duration::from_secs(2));
        let before = slept();
        for round in 0..ROUNDS {
            for socket in &sockets {
                socket.send(&[round as u8; 100]).expect("it is open");
                let back = socket.recv().expect("it is open").expect("a message");
                assert_eq!(back.data[..], [round as u8; 100]);
            }
        }
        let messages = CONNECTIONS * ROUNDS;
        let each = (slept() - before) as f64 / messages as f64;
        println!("{each:.1} switches for each message at {CONNECTIONS} connections");
        drop(sockets);
        assert!(each < SWITCHES as f64, "{each} switches for each message");
    });
}
