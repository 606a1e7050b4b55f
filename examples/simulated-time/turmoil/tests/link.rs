//! TCP and UDP of turmoil-net over seeded links.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout};
use turmoil_net::shim::tokio::net::{TcpListener, TcpStream, UdpSocket};
use windfall_sim_link::{Ecn, SimSettings};
use windfall_turmoil::OverLink;

#[test]
fn a_stream_arrives_whole_over_loss_and_damage_and_a_seed_repeats_it() {
    let run = |seed| {
        let link = SimSettings::new().rate("20Mbps").delay("10ms").loss("2%").ber(1e-6);
        let link = link.accept_damaged().seed(seed).build().expect("a link");
        let (took, counts) = OverLink::new(link)
            .server("server", async {
                let listener = TcpListener::bind("0.0.0.0:4000").await.expect("a port");
                let (mut stream, _) = listener.accept().await.expect("a client");
                let mut data = Vec::new();
                stream.read_to_end(&mut data).await.expect("all of it");
                stream.write_all(&data).await.expect("room");
                drop(stream);
                std::future::pending().await
            })
            .run("client", async {
                let began = Instant::now();
                let data: Vec<u8> = (0..50_000_u32).map(|it| (it * 7 >> 3) as u8).collect();
                let mut stream = TcpStream::connect("server:4000").await.expect("it answers");
                stream.write_all(&data).await.expect("room");
                stream.shutdown().await.expect("it is up");
                let mut back = Vec::new();
                stream.read_to_end(&mut back).await.expect("all of it");
                assert!(back == data, "other bytes came back");
                began.elapsed()
            });
        (took, counts.near(), counts.far())
    };
    let first = run(1);
    assert_eq!(first, run(1));
    assert_ne!(first, run(2));
    assert!(first.0 >= Duration::from_millis(40), "a handshake and two ways: {:?}", first.0);
    assert!(!first.1.dropped.is_empty() || !first.2.dropped.is_empty(), "nothing was lost");
}

#[test]
fn datagrams_arrive_damaged_and_are_marked_and_the_link_changes() {
    let link = SimSettings::new().rate("8Mbps").delay("5ms").ber(1e-5).accept_damaged();
    let link = link.setting("queue", "500,mark:5").build().expect("a link");
    let ((whole, damaged), counts) = OverLink::new(link)
        .ecn(Ecn::Capable0)
        .server("server", async {
            let socket = UdpSocket::bind("0.0.0.0:4000").await.expect("a port");
            let (mut data, mut answer) = ([0; 1500], [0u32; 2]);
            while answer[0] + answer[1] < 150 {
                let next = timeout(Duration::from_secs(5), socket.recv_from(&mut data)).await;
                let Ok(Ok((len, client))) = next else { break };
                if len == 1 {
                    let text = format!("{} {}", answer[0], answer[1]);
                    socket.send_to(text.as_bytes(), client).await.expect("room");
                    continue;
                }
                answer[usize::from(data[..len].iter().any(|byte| *byte != 7))] += 1;
            }
        })
        .run_with("client", |link| async move {
            let socket = UdpSocket::bind("0.0.0.0:0").await.expect("a port");
            for _ in 0..100 {
                socket.send_to(&[7; 1000], "server:4000").await.expect("room");
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            link.set("ber 0").expect("it changes");
            let mut data = [0; 64];
            socket.send_to(&[1], "server:4000").await.expect("room");
            let (len, _) = socket.recv_from(&mut data).await.expect("an answer");
            let text = String::from_utf8_lossy(&data[..len]).into_owned();
            let (whole, damaged) = text.split_once(' ').expect("two");
            (whole.parse::<u32>().expect("one"), damaged.parse::<u32>().expect("one"))
        });
    // Of 8000 bits at 1e-5 one is hit in 7.7 % of the datagrams, some in their headers.
    assert!(damaged > 0 && damaged < 30, "{damaged}");
    assert!(whole >= 60 && whole + damaged <= 100, "{whole} {damaged}");
    let near = counts.near();
    assert!(near.marked > 10 && near.damaged >= u64::from(damaged), "{near:?}");
}
