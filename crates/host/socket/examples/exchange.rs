//! Two programs that exchange precise and approximate messages without any privilege:
//! `exchange receive 127.0.0.1:4000` in one terminal, `exchange send 127.0.0.1:4000` in another.

use windfall_socket::{Mode, SapError, SapListener, SapSocket};

fn main() -> Result<(), SapError> {
    let mut words = std::env::args().skip(1);
    match (words.next().as_deref(), words.next()) {
        (Some("receive"), Some(address)) => {
            let (socket, from) = SapListener::bind(address)?.accept()?;
            println!("from {from}");
            while let Some(message) = socket.recv()? {
                println!("{:?} {:?}: {:?}", message.kind, message.integrity, message.data);
            }
        }
        (Some("send"), Some(address)) => {
            let socket = SapSocket::connect(address)?;
            socket.send(b"exact, in order, acknowledged")?;
            socket.set_mode(Mode::Approximate { protected: 4 });
            socket.send(b"now, and exact in its first four bytes")?;
            socket.close()?;
        }
        _ => println!("usage: exchange receive|send ADDRESS:PORT"),
    }
    Ok(())
}
