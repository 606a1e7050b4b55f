//! Sends over one QUIC stream as fast as it can, or receives and says how fast: the peer of the
//! bench `goodput`.
//!
//! `quic far CERTIFICATE ADDRESS SECONDS` prints megabits a second, `quic near` with the same
//! arguments sends; the certificate is a file that the far end writes.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::{ClientConfig, Endpoint, ServerConfig};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::time::{Instant, timeout_at};

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [end, certificate, address, seconds] = &arguments[..] else {
        return Err("quic far|near CERTIFICATE ADDRESS SECONDS".into());
    };
    let address = address.parse()?;
    let span = Duration::from_secs(seconds.parse()?);
    match end.as_str() {
        "far" => far(certificate, address, span).await,
        _ => near(certificate, address, span).await,
    }
}

async fn far(certificate: &str, address: SocketAddr, span: Duration) -> Outcome {
    let made = rcgen::generate_simple_self_signed(vec!["far".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
    let endpoint = Endpoint::server(config, address)?;
    std::fs::write(certificate, made.cert.der())?;
    let connection = endpoint.accept().await.ok_or("closed")?.await?;
    let mut stream = connection.accept_uni().await?;
    let end = Instant::now() + span;
    let mut arrived = 0;
    while let Ok(Ok(Some(chunk))) = timeout_at(end, stream.read_chunk(usize::MAX, true)).await {
        arrived += chunk.bytes.len();
    }
    println!("goodput {}", arrived as f64 * 8.0 / 1e6 / span.as_secs_f64());
    Ok(())
}

async fn near(certificate: &str, address: SocketAddr, span: Duration) -> Outcome {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(certificate)?))?;
    let config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    let endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
    let connection = endpoint.connect_with(config, address, "far")?.await?;
    let mut stream = connection.open_uni().await?;
    let end = Instant::now() + span;
    let data = vec![0x5a; 1 << 16];
    while let Ok(Ok(())) = timeout_at(end, stream.write_all(&data)).await {}
    Ok(())
}
