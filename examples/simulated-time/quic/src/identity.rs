//! The certificate of the server: always the same, so that a handshake always has the same length.

use std::sync::{Arc, LazyLock};

use quinn_proto::{ClientConfig, ServerConfig, TransportConfig};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// The name of the server.
pub(crate) const NAME: &str = "far";

/// The bytes before a key of Ed25519 in PKCS #8 (RFC 8410, section 7).
const PREFIX: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

fn key() -> PrivatePkcs8KeyDer<'static> {
    // Its signatures have one length, those of ECDSA have not.
    [&PREFIX[..], &[7; 32]].concat().into()
}

static CERTIFICATE: LazyLock<CertificateDer<'static>> = LazyLock::new(|| {
    let key = rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&key(), &rcgen::PKCS_ED25519);
    let parameters = rcgen::CertificateParams::new(vec![NAME.to_owned()]).expect("a name");
    parameters.self_signed(&key.expect("a key")).expect("a certificate").der().clone()
});

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(Some(std::time::Duration::from_secs(120).try_into().expect("short")));
    transport.into()
}

pub(crate) fn server() -> ServerConfig {
    let key = PrivateKeyDer::from(key());
    let config = ServerConfig::with_single_cert(vec![CERTIFICATE.clone()], key);
    let mut config = config.expect("the certificate is of the key");
    config.transport_config(transport());
    config
}

pub(crate) fn client() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CERTIFICATE.clone()).expect("a certificate");
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots)).expect("roots");
    config.transport_config(transport());
    config
}
