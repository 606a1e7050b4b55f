//! The test vectors in docs/vectors: conversations with what each datagram holds, for independent
//! implementations. `WINDFALL_BLESS=1` writes them; `tests/sap/decode.py` reads them.

use std::path::Path;

use windfall_wire_net::sap::{SapAccept, SapAck, SapData, SapPing, flags};

use super::super::*;
use super::network::{A, B, CLEAN, Impairments, Network, SECOND, address};
use crate::handshake::{self, Initiator};
use crate::message::Mode;
use crate::seal::Seal;

const KEY: [u8; 32] = [0x4b; 32];
const SEED: u64 = 1;

/// The names of the ends in the vectors.
const NAMES: [&str; 2] = ["client", "server"];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A conversation of two ends that connect at its beginning.
struct Conversation {
    network: Network,
    ids: [ConnectionId; 2],
    /// The messages that were sent, as lines of JSON.
    messages: Vec<String>,
    numbers: BTreeMap<(usize, u16, bool), u32>,
    sealed: bool,
}

impl Conversation {
    fn begin(config: SapConfig, key: Option<SharedKey>) -> Self {
        let mut network = Network::new(config, CLEAN, SEED);
        for end in &mut network.ends {
            key.into_iter().for_each(|key| end.set_key(key));
        }
        let a = network.ends[A].connect(network.now, address(B));
        network.run(SECOND / 10);
        let b = network.accepted().expect("it was accepted");
        let messages = Vec::new();
        let numbers = BTreeMap::new();
        let sealed = key.is_some();
        Self { network, ids: [a, b], messages, numbers, sealed }
    }

    /// Sends a message of `len` bytes in a pattern of its own.
    fn send(&mut self, end: usize, stream: u16, mode: Mode, len: usize) {
        let count = self.messages.len();
        let data: Bytes = (0..len).map(|at| ((7 * at + 31 * count) % 251) as u8).collect();
        let precise = mode == Mode::Precise;
        let exact = match &mode {
            Mode::Precise => format!("[[0, {len}]]"),
            Mode::Approximate { protected } => format!("[[0, {protected}]]"),
            Mode::Ranges(ranges) => {
                let ranges = ranges.iter().map(|it| format!("[{}, {}]", it.start, it.end));
                format!("[{}]", ranges.collect::<Vec<_>>().join(", "))
            }
        };
        let next = self.numbers.entry((end, stream, precise)).or_default();
        self.messages.push(format!(
            "{{\"from\": \"{}\", \"kind\": \"{}\", \"stream\": {stream}, \"number\": {next}, \
             \"exact\": {exact}, \"data\": \"{}\"}}",
            NAMES[end],
            if precise { "precise" } else { "approximate" },
            hex(&data)
        ));
        *next += 1;
        let message = Message { stream, mode, data };
        self.network.ends[end].send(self.ids[end], &message).expect("there is room");
        self.network.drain();
    }

    /// Both ends finish, and what is left of the connection ends.
    fn end(&mut self) {
        for end in [A, B] {
            self.network.ends[end].finish(self.ids[end]);
        }
        self.network.run(SECOND);
        for end in [A, B] {
            let now = self.network.now;
            self.network.ends[end].close(now, self.ids[end]);
        }
        self.network.run(SECOND * 10);
    }

    /// The keys, and what opens the datagrams of each end.
    fn keys(&self) -> (String, [Option<Seal>; 2]) {
        if !self.sealed {
            return ("null".to_owned(), [None, None]);
        }
        // An end draws its connection id first, and then its ephemeral key.
        let [(offer, client), (answer, server)] = [A, B].map(|end| {
            let mut secret = Secret::new([[1, 2][end] ^ SEED as u8; 32]);
            let id = u32::from_be_bytes(secret.draw());
            assert_eq!(id, self.ids[end].0);
            ((id, SapConfig::standard().max_datagram as u16), secret.draw::<32>())
        });
        let key = SharedKey::new(KEY);
        let (mut initiator, ping) = Initiator::begin(&key, client, offer).expect("it begins");
        let (of_client, accept) =
            handshake::answer(&key, server, (&ping, offer), answer).expect("the keys agree");
        let of_server = initiator.finish(&accept, answer).expect("the keys agree");
        let key = hex(&KEY);
        let client = hex(&client);
        let server = hex(&server);
        let text = format!(
            "{{\"key\": \"{key}\", \"client_ephemeral\": \"{client}\", \
             \"server_ephemeral\": \"{server}\"}}"
        );
        (text, [Some(of_client), Some(of_server)])
    }

    /// The conversation as JSON.
    fn text(&self, about: &str) -> String {
        let (keys, seals) = self.keys();
        let datagrams = self.network.log.iter().map(|(end, datagram)| {
            let bytes = datagram.to_bytes();
            let shown = shown(&bytes, seals[*end].as_ref());
            format!(
                "{{\"from\": \"{}\", \"exact\": {}, \"shows\": \"{shown}\", \"bytes\": \"{}\"}}",
                NAMES[*end],
                datagram.exact,
                hex(&bytes)
            )
        });
        let datagrams: Vec<_> = datagrams.collect();
        format!(
            "{{\n\"about\": \"{about}\",\n\"keys\": {keys},\n\"messages\": [\n{}\n],\n\
             \"datagrams\": [\n{}\n]\n}}\n",
            self.messages.join(",\n"),
            datagrams.join(",\n")
        )
    }
}

/// Returns what a datagram holds, in the words of the specification.
fn shown(bytes: &Bytes, seal: Option<&Seal>) -> String {
    let mut packet = SapPacket::parse(bytes).expect("it is one of ours");
    let header = packet.header;
    if header.flags & flags::SEALED != 0 {
        let open = seal.and_then(|seal| seal.open(header.number.into(), &packet));
        packet = open.expect("it is authentic");
    }
    let body = &packet.body;
    let fields = match header.kind {
        SapKind::Ping => {
            let ping = SapPing::parse(body).expect("a ping");
            let token = hex(&ping.token);
            let handshake = hex(&ping.handshake);
            let SapPing { connection, max_datagram, features, .. } = ping;
            format!(
                "PING {connection:08x} largest {max_datagram} token {token} handshake \
                 {handshake} features {features}"
            )
        }
        SapKind::Accept => {
            let accept = SapAccept::parse(body).expect("an accept");
            let SapAccept { connection, max_datagram, handshake, features } = accept;
            let handshake = hex(&handshake);
            format!(
                "ACCEPT {connection:08x} largest {max_datagram} handshake {handshake} features \
                 {features}"
            )
        }
        SapKind::Retry => format!("RETRY {}", hex(body)),
        SapKind::Refuse => format!("REFUSE {}", body[0]),
        SapKind::Data => format!("DATA {}", head(body, header.flags)),
        SapKind::Ack => acknowledged(&SapAck::parse(body).expect("an acknowledgement")),
        SapKind::Repair => format!("REPAIR {}", head(body, header.flags)),
        SapKind::Probe => format!("PROBE {}", body.len()),
        SapKind::Fin => {
            format!("FIN {}", u32::from_be_bytes([body[0], body[1], body[2], body[3]]))
        }
        SapKind::Reset => format!("RESET {}", body[0]),
        SapKind::Challenge => format!("CHALLENGE {}", hex(&body[..8])),
        SapKind::Response => format!("RESPONSE {}", hex(&body[..8])),
    };
    let connection = header.connection;
    let number = header.number;
    let flags = header.flags;
    format!("to {connection:08x} number {number} flags {flags} {fields}")
}

fn head(body: &Bytes, flags: u8) -> String {
    let data = SapData::parse(body, flags).expect("a head");
    let part = data.part.map(|part| format!(" offset {} of {}", part.offset, part.total));
    let spans: Vec<_> =
        data.spans.iter().map(|span| format!("{}+{}", span.start, span.len)).collect();
    let stream = data.stream;
    let number = data.number;
    let part = part.unwrap_or_default();
    format!("stream {stream} message {number}{part} spans [{}]", spans.join(" "))
}

fn acknowledged(ack: &SapAck) -> String {
    let runs: Vec<_> = ack.runs.iter().map(|(missing, len)| format!("{missing}/{len}")).collect();
    let damaged: Vec<_> = ack.damaged.iter().map(u16::to_string).collect();
    let SapAck { largest, delay, room, .. } = ack;
    format!(
        "ACK {largest} since {delay} room {room} runs [{}] damaged [{}]",
        runs.join(" "),
        damaged.join(" ")
    )
}

fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/vectors").join(name);
    if std::env::var_os("WINDFALL_BLESS").is_some() {
        let folder = path.parent().expect("it lies in a folder");
        std::fs::create_dir_all(folder).expect("the folder can be made");
        std::fs::write(&path, text).expect("it can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).expect("the vectors are there");
    assert!(kept == text, "{} is another: WINDFALL_BLESS=1 writes it", path.display());
}

/// Datagrams of the base size only, which keeps the vectors short.
fn config() -> SapConfig {
    SapConfig { path_discovery: false, ..SapConfig::standard() }
}

const MIXED: Mode = Mode::Approximate { protected: 4 };

/// Messages of each kind, some of them lost and damaged on the way, and repaired.
fn talk(conversation: &mut Conversation) {
    conversation.send(A, 0, Mode::Precise, 40);
    conversation.send(A, 0, MIXED, 600);
    conversation.send(A, 0, Mode::Ranges(vec![0..4, 300..310, 590..600]), 700);
    conversation.send(A, 7, Mode::Precise, 5);
    conversation.send(B, 0, Mode::Precise, 25);
    conversation.send(B, 0, Mode::Approximate { protected: 0 }, 300);
    let network = &mut conversation.network;
    network.run(SECOND / 2);
    let now = network.now;
    let id = conversation.ids[B];
    let received = network.receive(B, id);
    let approximate = received.iter().find(|it| it.data.len() == 600).expect("it arrived");
    let stream = approximate.stream;
    let number = approximate.number;
    network.ends[B].repair(id, stream, number, &[100..110, 200..201]).expect("it is open");
    network.drain();
    network.run(SECOND / 2);
    assert!(network.now > now);
    network.impairments = Impairments { loss: 0.2, damage: 0.3, intact_prefix: HEADER, ..CLEAN };
    for _ in 0..12 {
        conversation.send(A, 0, Mode::Precise, 30);
        conversation.network.run(SECOND / 50);
    }
    conversation.network.run(SECOND);
    conversation.network.impairments = CLEAN;
}

/// The length of the header, which stays intact so that damage is reported.
const HEADER: usize = windfall_wire_net::sap::HEADER_LEN;

#[test]
fn the_vectors_of_a_plain_conversation_are_kept() {
    // A listener that gives nothing away wants a token first.
    let config = SapConfig { free_half_open: 0, ..config() };
    let mut conversation = Conversation::begin(config, None);
    talk(&mut conversation);
    // The client moves.
    conversation.network.outside = SocketAddr::from(([10, 0, 0, 77], 4077));
    conversation.send(A, 0, Mode::Precise, 20);
    conversation.network.run(SECOND * 2);
    conversation.end();
    let text = conversation.text("messages of each kind over a path that loses and damages");
    for kind in ["RETRY", "REPAIR", "CHALLENGE", "RESPONSE", "FIN", "PROBE"] {
        assert!(text.contains(&format!(" {kind}")), "no {kind}");
    }
    assert!(text.lines().any(|line| line.contains("damaged [") && !line.contains("damaged []")));
    compare("plain.json", &text);
}

#[test]
fn the_vectors_of_an_encrypted_conversation_are_kept() {
    let mut conversation = Conversation::begin(config(), Some(SharedKey::new(KEY)));
    talk(&mut conversation);
    conversation.end();
    compare("encrypted.json", &conversation.text("the same, encrypted"));
}

#[test]
fn the_vectors_of_messages_in_parts_are_kept() {
    let mut conversation = Conversation::begin(config(), None);
    conversation.send(A, 0, Mode::Precise, 3000);
    conversation.send(A, 0, Mode::Approximate { protected: 10 }, 2500);
    conversation.send(B, 3, Mode::Ranges(vec![5..20, 1300..1310]), 2000);
    conversation.network.run(SECOND);
    conversation.end();
    compare("parts.json", &conversation.text("messages in parts"));
}

#[test]
fn the_vectors_of_a_refusal_are_kept() {
    let mut network = Network::new(config(), CLEAN, SEED);
    network.ends[B].set_key(SharedKey::new(KEY));
    let a = network.ends[A].connect(network.now, address(B));
    network.run(SECOND);
    let conversation = Conversation {
        network,
        ids: [a; 2],
        messages: Vec::new(),
        numbers: BTreeMap::new(),
        sealed: false,
    };
    let text = conversation.text("a client without the key of the listener");
    assert!(text.contains("REFUSE 3"), "{text}");
    compare("refused.json", &text);
}
