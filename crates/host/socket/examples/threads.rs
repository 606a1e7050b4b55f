//! Full duplex: a server that answers each connection in a thread of its own, and clients that send
//! in one thread while they receive in another. Connections do not block each other.

use std::thread;

use windfall_socket::{SapError, SapListener, SapSocket};

fn echo(socket: &SapSocket) -> Result<(), SapError> {
    while let Some(message) = socket.recv()? {
        socket.send(&message.data)?;
    }
    socket.finish_and_wait()
}

fn main() -> Result<(), SapError> {
    let listener = SapListener::bind("127.0.0.1:0")?;
    let to = listener.local_addr()?;
    let clients: Vec<_> = (0..3).map(|name| thread::spawn(move || converse(to, name))).collect();
    for _ in 0..3 {
        let (socket, _) = listener.accept()?;
        thread::spawn(move || echo(&socket));
    }
    for client in clients {
        println!("{} answers", client.join().expect("no thread panics")?);
    }
    Ok(())
}

/// Sends and receives at once; returns the number of answers.
fn converse(to: std::net::SocketAddr, name: u8) -> Result<usize, SapError> {
    let socket = SapSocket::connect(to)?;
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..100 {
                if socket.send(&[name, number]).is_err() {
                    break;
                }
            }
            socket.finish();
        });
        let mut answers = 0;
        while let Some(answer) = socket.recv()? {
            assert_eq!(answer.data[0], name, "connections do not mix");
            answers += 1;
        }
        Ok(answers)
    })
}
