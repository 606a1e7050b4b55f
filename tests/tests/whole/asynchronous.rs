//! SAP sockets under tokio.

use std::time::Duration;

use tokio::time::timeout;
use windfall_socket::asynchronous::{AsyncSapListener, AsyncSapSocket, connect};
use windfall_socket::{MessageKind, Mode, SapConfig, SapError, SapOptions};

/// A time that nothing here takes.
const LONG: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_directions_at_once_and_more_than_the_buffers_hold() -> Result<(), SapError> {
    // A buffer of 32 messages, so that senders wait for room.
    let config = SapConfig::standard().with(|it| it.send_buffer = 32_000);
    let options = SapOptions::default().with(|it| it.config = config);
    let listener = AsyncSapListener::bind("127.0.0.1:0".parse().expect("an address"), options)?;
    let here = connect(listener.local_addr()?, options).await?;
    let (there, _) = timeout(LONG, listener.accept()).await.expect("it connected")?;
    let exchange = async |socket: &AsyncSapSocket| {
        let send = async {
            for number in 0_u32..500 {
                socket.send(&number.to_be_bytes().repeat(200)).await?;
            }
            socket.get_ref().finish();
            Ok::<(), SapError>(())
        };
        let receive = async {
            let mut next = 0_u32;
            while let Some(message) = socket.recv().await? {
                assert_eq!(message.data[..4], next.to_be_bytes());
                next += 1;
            }
            Ok::<u32, SapError>(next)
        };
        let (sent, received) = tokio::join!(send, receive);
        sent.and(received)
    };
    let both = async { tokio::join!(exchange(&here), exchange(&there)) };
    let (one, other) = timeout(LONG, both).await.expect("in time");
    assert_eq!((one?, other?), (500, 500));
    here.close().await
}

#[tokio::test]
async fn a_receiver_that_gives_up_loses_nothing() -> Result<(), SapError> {
    let options = SapOptions::default();
    let listener = AsyncSapListener::bind("127.0.0.1:0".parse().expect("an address"), options)?;
    let here = connect(listener.local_addr()?, options).await?;
    let (there, _) = timeout(LONG, listener.accept()).await.expect("it connected")?;
    assert!(timeout(Duration::from_millis(20), there.recv()).await.is_err(), "nothing is there");
    here.set_mode(Mode::Approximate { protected: 1 });
    here.send(b"now").await?;
    let message = timeout(LONG, there.recv()).await.expect("in time")?.expect("one message");
    assert_eq!((message.kind, &message.data[..]), (MessageKind::Approximate, &b"now"[..]));
    drop(here);
    assert!(timeout(LONG, there.recv()).await.expect("in time")?.is_none());
    Ok(())
}
