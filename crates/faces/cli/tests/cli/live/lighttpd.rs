//! lighttpd of Debian with `mod_sap`, asked by `windfall get` and by plain HTTP.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use windfall_media::{Jpeg, landscape};
use windfall_testkit::built;

use crate::live::{Folder, LONG, WINDFALL, require, windfall};

pub(super) const CONFIGURATION: &str = r#"
server.modules = ( "mod_sap" )
server.errorlog = "error.log"
static-file.exclude-extensions = ( ".php" )
mimetype.assign = ( ".jpg" => "image/jpeg", ".html" => "text/html", ".php" => "text/plain",
                    ".bin" => "application/octet-stream" )
sap.approx = ( "image/*" )
sap.port-range = "5000-65535"
sap.max-file-size = 1024
"#;

/// Returns the module of this build, or why there is none.
pub(super) fn module() -> &'static Result<PathBuf, String> {
    static MODULE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    MODULE.get_or_init(|| {
        let libraries = built::workspace();
        if !libraries.join("libsap.a").exists() {
            return Err("this build made no static library".to_owned());
        }
        let module = libraries.join("mod_sap.so");
        let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../c/lighttpd/build");
        let output = Command::new(build).env("LIBRARIES", &libraries).env("OUT", &module).output();
        let output = output.map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        assert!(!said.contains("mod_sap.c:"), "it does not compile: {said}");
        if output.status.success() { Ok(module) } else { Err(said) }
    })
}

/// Skips the test where lighttpd or its source is missing.
macro_rules! built_module {
    () => {
        match crate::live::lighttpd::module() {
            Ok(module) => module,
            Err(missing) => windfall_testkit::skip!("{missing}"),
        }
    };
}
pub(super) use built_module;

/// Makes a folder with files, and with lighttpd's modules and this one.
pub(super) fn folder(name: &str, module: &Path) -> Folder {
    let folder = Folder::new(name);
    for inner in ["site", "modules"] {
        std::fs::create_dir(folder.path().join(inner)).expect("a folder");
    }
    let picture = Jpeg::encode(&landscape(), 95).expect("it encodes").to_bytes();
    let any: Vec<u8> = (0..500_000_u32).map(|it| (it.wrapping_mul(it) >> 7) as u8).collect();
    let long = vec![7; 1_100_000];
    let files: [(&str, &[u8]); 6] = [
        ("a.jpg", &picture),
        ("a.bin", &any),
        ("a.html", b"<p>precise"),
        ("long.jpg", &long),
        ("empty.jpg", b""),
        ("a.php", b"<?php secret"),
    ];
    for (name, bytes) in files {
        std::fs::write(folder.path().join("site").join(name), bytes).expect("a file");
    }
    let modules = folder.path().join("modules");
    let installed = std::fs::read_dir("/usr/lib/lighttpd").expect("where Debian has them");
    for entry in installed.flatten() {
        std::os::unix::fs::symlink(entry.path(), modules.join(entry.file_name())).expect("a link");
    }
    let ours = modules.join("mod_sap.so");
    let _ = std::fs::remove_file(&ours);
    std::os::unix::fs::symlink(module, ours).expect("a link");
    folder
}

/// Writes a configuration with a port and more lines; returns the command that runs it.
fn lighttpd(folder: &Folder, port: u16, configuration: &str) -> String {
    let file = format!("{port}.conf");
    let lines = format!("server.document-root = \"site\"\nserver.port = {port}\n{configuration}");
    let root = format!("\"{}/", folder.path().display());
    let lines = lines.replace("\"site\"", &format!("{root}site\""));
    std::fs::write(folder.path().join(&file), lines.replace("\"error", &format!("{root}error")))
        .expect("a file");
    format!("PATH=$PATH:/usr/sbin exec lighttpd -D -f {file} -m modules")
}

/// lighttpd on loopback, killed when dropped.
pub(super) struct Lighttpd {
    child: Child,
    port: u16,
}

impl Drop for Lighttpd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Lighttpd {
    pub(super) fn start(folder: &Folder, configuration: &str) -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = free.local_addr().expect("its address").port();
        drop(free);
        let bound = format!("server.bind = \"127.0.0.1\"\n{configuration}");
        let child = Command::new("sh")
            .args(["-c", &lighttpd(folder, port, &bound)])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .spawn();
        let server = Self { child: child.expect("it starts"), port };
        for _ in 0..600 {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return server;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{:?}", std::fs::read_to_string(folder.path().join("error.log")));
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn at(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Sends a request and returns the reply.
    fn ask(&self, method: &str, path: &str, headers: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("it listens");
        stream.set_read_timeout(Some(LONG)).expect("a time");
        let head = format!("{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n");
        write!(stream, "{head}{headers}\r\n").expect("it reads");
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).expect("it answers");
        reply
    }

    /// Returns the reply to an offer, and the reason for which the body came over TCP.
    fn offer(&self, path: &str, port: u16) -> (Vec<u8>, Option<String>) {
        let headers = format!("X-SAP-Approx: image/jpeg\r\nX-SAP-Port: {port}\r\n");
        let reply = self.ask("GET", path, &headers);
        let head = String::from_utf8_lossy(&reply).into_owned();
        let reason = head.lines().find_map(|line| line.strip_prefix("X-SAP-Fallback: "));
        let reason = reason.map(str::to_owned);
        (reply, reason)
    }

    /// Fetches a file with `windfall get`; returns its report.
    fn get(&self, folder: &Folder, options: &str, file: &str) -> Value {
        let output = windfall(&format!("get --json {options} -o arrived"))
            .arg(format!("http://127.0.0.1:{}/{file}", self.port))
            .current_dir(folder.path())
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read = |name: &str| std::fs::read(folder.path().join(name)).expect("a file");
        assert_eq!(read("arrived"), read(&format!("site/{file}")), "{file}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

/// Returns a reply without the line that tells the time.
fn undated(reply: &[u8]) -> Vec<u8> {
    let lines = reply.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| !line.starts_with(b"Date: ")).flatten().copied().collect()
}

/// The configuration without the module.
fn plain() -> String {
    let lines = CONFIGURATION.lines().filter(|line| !line.contains("sap"));
    lines.map(|it| format!("{it}\n")).collect()
}

/// A page that shows the SHA-256 of files as a browser gets them.
const HASHES: &str = r#"<!doctype html><body><script>(async () => {
  for (const name of ["a.jpg", "a.bin", "long.jpg"]) {
    const bytes = await (await fetch("/" + name)).arrayBuffer();
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const digits = [...hash].map(it => it.toString(16).padStart(2, "0")).join("");
    document.body.append(`${digits}  site/${name}\n`);
  }
})();</script>"#;

#[test]
fn curl_wget_and_a_browser_get_the_same_bytes_with_and_without_the_module() {
    require!("curl", "wget", "chromium");
    let folder = folder("lighttpd-clients", built_module!());
    std::fs::write(folder.path().join("site/hashes.html"), HASHES).expect("a file");
    let run = |script: &str, server: &Lighttpd| {
        let mut command = Command::new("sh");
        command.args(["-ec", script, "sh", &format!("http://{}", server.at())]);
        let output = command.current_dir(folder.path()).stdin(Stdio::null()).output();
        let output = output.expect("a shell");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    for configuration in [CONFIGURATION, &plain()] {
        let server = Lighttpd::start(&folder, configuration);
        run(
            "for f in a.jpg a.bin a.html long.jpg empty.jpg; do
                 curl -sS -o curl $1/$f; cmp curl site/$f; wget -q -O wget $1/$f; cmp wget site/$f
             done",
            &server,
        );
        let shown = run(
            "chromium --headless=new --no-sandbox --disable-gpu --user-data-dir=browser \
             --virtual-time-budget=60000 --dump-dom $1/hashes.html",
            &server,
        );
        for line in run("sha256sum site/a.jpg site/a.bin site/long.jpg", &server).lines() {
            assert!(shown.contains(line), "{line} is not in {shown}");
        }
    }
}

#[test]
fn lighttpd_with_the_module_answers_ordinary_requests_as_without() {
    let folder = folder("lighttpd-plain", built_module!());
    let with = Lighttpd::start(&folder, CONFIGURATION);
    let without = Lighttpd::start(&folder, &plain());
    let approx = "X-SAP-Approx: image/*\r\nX-SAP-Port: 5004\r\n";
    for (method, path, headers) in [
        ("GET", "/a.jpg", ""),
        ("GET", "/a.bin", ""),
        ("HEAD", "/a.jpg", approx),
        ("GET", "/a.jpg", "Range: bytes=100-199\r\n"),
        // Parts that only lighttpd itself knows.
        ("GET", "/a.jpg", &format!("{approx}Range: bytes=100-199,300-399\r\n")),
        ("GET", "/a.jpg", &format!("{approx}Range: bytes=999999999-\r\n")),
        ("GET", "/a.jpg", &format!("{approx}Range: bytes=9-5\r\n")),
        ("GET", "/a.jpg", &format!("{approx}Range: bytes=-0\r\n")),
        ("GET", "/a.jpg", &format!("{approx}Range: lines=1-2\r\n")),
        ("GET", "/a.html", approx),
        ("GET", "/a.bin", "X-SAP-Approx: */*\r\nX-SAP-Port: 5004\r\n"),
        ("GET", "/a.jpg", "X-SAP-Approx: image\r\nX-SAP-Port: 5004\r\n"),
        ("GET", "/a.jpg", "X-SAP-Approx: image/*\r\n"),
        ("GET", "/a.jpg", "X-SAP-Approx: image/*\r\nX-SAP-Port: 5004x\r\n"),
        ("GET", "/a.jpg", "X-SAP-Approx: image/*\r\nX-SAP-Port: 4999\r\n"),
        ("GET", "/a.jpg", "X-SAP-Approx: image/*\r\nX-SAP-Client-Opens: 1\r\n"),
        ("GET", "/a.jpg", "If-Modified-Since: Thu, 01 Jan 2099 00:00:00 GMT\r\n"),
        ("GET", "/a.php", "X-SAP-Approx: */*\r\nX-SAP-Port: 5004\r\n"),
        ("GET", "/empty.jpg", approx),
        ("GET", "/missing.jpg", approx),
        ("POST", "/a.jpg", &format!("{approx}Content-Length: 0\r\n")),
    ] {
        let [with, without] = [&with, &without].map(|it| undated(&it.ask(method, path, headers)));
        let shown = String::from_utf8_lossy(&with[..with.len().min(400)]).into_owned();
        assert!(with == without, "{method} {path} {headers}: {shown}");
    }
}

//= S0.39
//= S0.40
//= S0.41
#[test]
fn lighttpd_calls_the_client_or_falls_back_to_tcp() {
    let folder = folder("lighttpd-offers", built_module!());
    let server = Lighttpd::start(&folder, CONFIGURATION);
    for (options, file, over) in [
        ("--approx image/*", "a.jpg", "sap"),
        ("--force-precise", "a.jpg", "sap"),
        ("--force-precise", "a.bin", "sap"),
        ("--approx image/*", "a.html", "tcp"),
        ("--approx */*", "a.bin", "tcp"),
        ("", "a.jpg", "tcp"),
        ("--approx image/* --client-opens", "a.jpg", "tcp"),
    ] {
        let report = server.get(&folder, options, file);
        assert_eq!(report["over"], over, "{options} {file}: {report}");
    }
    let whole = undated(&server.ask("GET", "/a.jpg", ""));
    let (_, reason) = server.offer("/long.jpg", 5_004);
    assert_eq!(reason.as_deref(), Some("too-long"));
    let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let port = silent.local_addr().expect("its address").port();
    std::thread::scope(|scope| {
        let offer = scope.spawn(|| server.offer("/a.jpg", port));
        // While the call waits for its answer, other requests do not.
        silent.set_read_timeout(Some(LONG)).expect("a time");
        silent.recv(&mut [0; 2_000]).expect("a call");
        assert_eq!(undated(&server.ask("GET", "/a.jpg", "")), whole);
        let was_waiting = !offer.is_finished();
        let (reply, reason) = offer.join().expect("it ends");
        assert_eq!(reason.as_deref(), Some("no-answer"));
        let head = b"X-SAP-Fallback: no-answer\r\n";
        let at = reply.windows(head.len()).position(|it| it == head).expect("it is there");
        let bare = [&reply[..at], &reply[at + head.len()..]].concat();
        assert_eq!(undated(&bare), whole);
        assert!(was_waiting, "the server waited for a client");
    });
    let reasons: Vec<_> = (0..4).filter_map(|_| server.offer("/a.jpg", port).1).collect();
    assert_eq!(reasons.last().map(String::as_str), Some("too-many-calls"), "{reasons:?}");
}

/// Browsers ask for films and sound by range; `windfall get -C` for the rest of a file.
#[test]
fn lighttpd_sends_parts_over_sap() {
    require!("curl");
    let folder = folder("lighttpd-parts", built_module!());
    let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = free.local_addr().expect("its address").port();
    drop(free);
    let listen = format!("sap.listen = \"127.0.0.1:{port}\"\n");
    let server = Lighttpd::start(&folder, &format!("{CONFIGURATION}{listen}"));
    let whole = std::fs::read(folder.path().join("site/a.jpg")).expect("a file");
    for opens in ["", "--client-opens"] {
        std::fs::write(folder.path().join("arrived"), &whole[..1_000]).expect("a file");
        let report = server.get(&folder, &format!("-C --approx image/* {opens}"), "a.jpg");
        assert_eq!(report["over"], "sap", "{report}");
    }
    let mut proxy = windfall("proxy --port 0 --log proxy.log");
    proxy.current_dir(folder.path());
    let (_proxy, at) = crate::web::served(proxy);
    let end = whole.len() - 1;
    for (range, part, over) in [
        ("0-", &whole[..], true),
        ("0-99", &whole[..100], true),
        ("100-", &whole[100..], true),
        ("-500", &whole[whole.len() - 500..], true),
        (&format!("{end}-99999999"), &whole[end..], true),
        ("99999999-", &[], false),
    ] {
        let output = Command::new("curl")
            .args(["-sf", "-x", &at, "-r", range])
            .arg(format!("http://{}/a.jpg", server.at()))
            .output()
            .expect("it runs");
        assert!(output.stdout == part, "{range}: {} bytes", output.stdout.len());
        let log = std::fs::read_to_string(folder.path().join("proxy.log")).expect("a log");
        let last = log.lines().last().expect("a line");
        assert_eq!(last.contains("\"sap: "), over, "{range}: {last}");
    }
}

#[test]
fn lighttpd_serves_clients_that_open_encrypted_connections() {
    let folder = folder("lighttpd-sealed", built_module!());
    let key = folder.file("sap.key");
    assert!(windfall(&format!("sap keygen {key}")).status().expect("it runs").success());
    let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = free.local_addr().expect("its address").port();
    drop(free);
    let listen = format!("sap.listen = \"127.0.0.1:{port}\"\nsap.key-file = \"{key}\"\n");
    let server = Lighttpd::start(&folder, &format!("{CONFIGURATION}{listen}"));
    for (options, file, over) in [
        ("--approx image/* --client-opens", "a.jpg", "sap"),
        ("--force-precise --client-opens", "a.bin", "sap"),
        ("--approx image/* --client-opens", "a.bin", "tcp"),
        ("--approx image/*", "a.jpg", "sap"),
        ("--force-precise", "a.bin", "sap"),
    ] {
        let report = server.get(&folder, &format!("{options} --key {key}"), file);
        assert_eq!(report["over"], over, "{options} {file}: {report}");
    }
    // The key is the server's: whoever has none refuses the call, and is called again.
    for _ in 0..6 {
        let report = server.get(&folder, "--approx image/* --key none", "a.jpg");
        assert_eq!(report["over"], "tcp", "{report}");
        assert_eq!(report["fallback"], "keys-differ", "{report}");
    }
    // The reply that only names the body is followed by another request on its connection.
    let report = server.get(&folder, "--approx image/* --client-opens --key none", "a.jpg");
    assert_eq!(report["over"], "tcp", "{report}");
    // Both bodies on one connection.
    let urls = ["a.jpg", "a.bin"].map(|file| format!("http://127.0.0.1:{}/{file}", server.port));
    let options = format!("get --json --force-precise --client-opens --key {key}");
    let output = windfall(&options).args(&urls).current_dir(folder.path()).output();
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.matches("\"over\":\"sap\"").count(), 2, "{said}");
    for file in ["a.jpg", "a.bin"] {
        let read = |name: &str| std::fs::read(folder.path().join(name)).expect("a file");
        assert_eq!(read(file), read(&format!("site/{file}")), "{file}");
    }
}

/// The bodies of a page come on one connection, at once, and each ends behind its last piece.
#[test]
fn lighttpd_sends_the_bodies_of_a_page_on_one_connection() {
    require!("curl");
    let folder = folder("lighttpd-page", built_module!());
    for number in 0..12 {
        let picture = folder.path().join("site/a.jpg");
        std::fs::copy(picture, folder.path().join(format!("site/{number}.jpg"))).expect("a file");
    }
    let log = "server.modules += ( \"mod_accesslog\" )\naccesslog.filename = \"/dev/null\"
        sap.listen = \"0.0.0.0:8080\"\naccesslog.format = \"%U %{X-SAP-Token}o\"\n";
    let log = log.replace("/dev/null", &folder.file("access.log"));
    let far = lighttpd(&folder, 8_080, &format!("{CONFIGURATION}{log}"));
    // The first and the rest, and all at the same time.
    let line = "u=http://10.77.0.2:8080; $0 proxy --log proxy.log 2>ready & trap \"kill $!\" EXIT
        for i in $(seq 600); do test -s ready && break; sleep 0.05; done
        get() { curl -sS -x http://127.0.0.1:3128 -o $1 -D $1.head $u/$1; }
        for i in 0 1 2 3 4 5; do get $i.jpg & all=\"$all $!\"; done; wait $all
        for i in 6 7 8; do get $i.jpg; done
        all=; for i in 9 10 11; do get $i.jpg & all=\"$all $!\"; done; wait $all
        for i in $(seq 0 11); do cmp $i.jpg site/a.jpg || cat $i.jpg.head; done";
    let output = windfall("run -q --rate 10Mbps --delay 20ms --loss 2% --wait-port 8080 --far")
        .args([&far, "--", "sh", "-c", line, WINDFALL])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    // Whatever differs is marked.
    let said = String::from_utf8_lossy(&output.stdout).to_lowercase();
    let differ = said.matches(" differ: ").count();
    assert_eq!(said.matches("x-sap-damage: ").count(), differ, "{said}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a log");
    let asked = read("access.log");
    let proxied = read("proxy.log");
    assert_eq!(proxied.matches("\"sap: ").count(), 12, "{proxied}");
    // The first ones have tokens of their own, the later ones the name of the connection. Ranges
    // that are repaired come without one.
    let tokens = asked.lines().filter_map(|line| line.split(' ').nth(1));
    let tokens: Vec<&str> = tokens.filter(|token| *token != "-").collect();
    assert_eq!(tokens.len(), 12, "{asked}");
    let (first, later) = tokens.split_at(6);
    let name = later.first().expect("twelve of them");
    assert!(first.contains(name) && later.iter().all(|token| token == name), "{asked}");
}

#[test]
fn lighttpd_keeps_nothing_of_transfers_that_have_ended() {
    let folder = folder("lighttpd-many", built_module!());
    let server = Lighttpd::start(&folder, CONFIGURATION);
    let open = || {
        let of = |what: &str| format!("/proc/{}/{what}", server.child.id());
        let count = |what: &str| std::fs::read_dir(of(what)).expect("it runs").count();
        (count("fd"), count("task"))
    };
    server.get(&folder, "--approx image/*", "a.jpg");
    for _ in 0..30 {
        server.get(&folder, "--approx image/*", "a.jpg");
    }
    // A client that goes away while it is called.
    let mut gone = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).expect("it listens");
    let request = "GET /a.jpg HTTP/1.1\r\nHost: a\r\nX-SAP-Approx: */*\r\nX-SAP-Port: 5004\r\n\r\n";
    gone.write_all(request.as_bytes()).expect("it reads");
    drop(gone);
    let few = || open().0 < 25 && open().1 < 5;
    for _ in 0..1_200 {
        if few() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(few(), "{:?}", open());
    server.get(&folder, "", "a.jpg");
}

//= S0.42
#[test]
fn lighttpd_sends_a_damaged_picture_that_can_be_repaired() {
    require!();
    let folder = folder("lighttpd-link", built_module!());
    let far = lighttpd(&folder, 8_080, CONFIGURATION);
    let line = "set -e; u=http://10.77.0.2:8080/a.jpg
        $0 get --approx 'image/*' --json -o damaged.jpg $u
        $0 get --approx 'image/*' --repair all --json -o whole.jpg $u
        cmp whole.jpg site/a.jpg; $0 get --force-precise --json -o exact.jpg $u
        cmp exact.jpg site/a.jpg";
    let output = windfall("run -q --rate 10Mbps --ber 3e-5 --accept-damaged --wait-port 8080")
        .args(["--far", &far, "--", "sh", "-c", line, WINDFALL])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let reports: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(reports.len() == 3 && reports.iter().all(|it| it["over"] == "sap"), "{said}");
    assert!(reports[0]["suspect"].as_u64() > Some(0), "{said}");
    let arrived = std::fs::read(folder.path().join("damaged.jpg")).expect("a file");
    assert!(windfall_media::Picture::read(&arrived).is_ok(), "its structure is exact");
}
