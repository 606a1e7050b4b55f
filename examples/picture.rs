//! Sends a picture over SAP: its header precise, its pixels approximate.
//!
//! A message of pixels begins with its offset in the picture, which is protected; the rest arrives
//! as it is. Where a message was lost, the picture stays black.

use std::error::Error;
use std::fs;
use std::io::Write as _;

use windfall_socket::{MessageKind, Mode, SapListener, SapSocket};

const USAGE: &str = "usage: picture send FILE ADDRESS:PORT\n       picture receive FILE [PORT]";
/// Bytes in front of the pixels that must be exact.
const OFFSET: usize = 4;
/// Bytes of pixels in a message; every path carries them.
const PIXELS: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["send", path, address] => send(path, address),
        ["receive", path] => receive(path, "0"),
        ["receive", path, port] => receive(path, port),
        _ => Err(USAGE.into()),
    }
}

fn send(path: &str, address: &str) -> Result<(), Box<dyn Error>> {
    let picture = fs::read(path)?;
    let (header, _, _) = header(&picture).ok_or("this is no PPM of the kind P6")?;
    let (header, pixels) = picture.split_at(header);
    let socket = SapSocket::connect(address)?;
    socket.send(header)?;
    socket.set_mode(Mode::Approximate { protected: OFFSET });
    for (number, part) in pixels.chunks(PIXELS).enumerate() {
        let offset = u32::try_from(number * PIXELS)?.to_be_bytes();
        socket.send(&[&offset, part].concat())?;
    }
    socket.finish_and_wait()?;
    Ok(())
}

fn receive(path: &str, port: &str) -> Result<(), Box<dyn Error>> {
    let listener = SapListener::bind(("0.0.0.0", port.parse()?))?;
    println!("port {}", listener.local_addr()?.port());
    std::io::stdout().flush()?;
    let (socket, _from) = listener.accept()?;
    let (mut start, mut pixels, mut arrived) = (Vec::new(), Vec::new(), 0);
    // Pixels may overtake the header.
    let mut waiting = Vec::new();
    while let Some(message) = socket.recv()? {
        if message.kind == MessageKind::Precise {
            let (_, width, height) = header(&message.data).ok_or("this is no header")?;
            pixels = vec![0; 3 * width * height];
            start = message.data.to_vec();
        } else {
            waiting.push(message.data);
        }
        while let Some(data) = (!start.is_empty()).then(|| waiting.pop()).flatten() {
            let (offset, part) = data.split_first_chunk::<OFFSET>().ok_or("no offset")?;
            let offset = u32::from_be_bytes(*offset) as usize;
            let place = pixels.get_mut(offset..offset + part.len()).ok_or("beyond the picture")?;
            place.copy_from_slice(part);
            arrived += part.len();
        }
    }
    fs::write(path, [&start[..], &pixels].concat())?;
    println!("{arrived} of {} bytes of pixels arrived", pixels.len());
    Ok(())
}

/// The length of a PPM's header, the width and the height.
fn header(picture: &[u8]) -> Option<(usize, usize, usize)> {
    let mut numbers = [0; 3];
    let mut at = picture.strip_prefix(b"P6").map(|_| 2)?;
    for number in &mut numbers {
        at += picture[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let digits = picture[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        *number = str::from_utf8(&picture[at..at + digits]).ok()?.parse().ok()?;
        at += digits;
    }
    Some((at + 1, numbers[0], numbers[1]))
}
