//! `windfall serve`, `get`, `proxy` and `gateway` across a radio that damages frames.

use serde_json::Value;
use windfall_media::{Jpeg, landscape};

use windfall_testkit::skip;

use crate::live::{Folder, WINDFALL, require, run, until, windfall};

/// An office where a part of the frames of 54 Mb/s arrives damaged.
const OFFICE: &str = "--link wifi-g --distance 12 --rate 54 --power -4 --accept-damaged";

/// A folder with a picture and a page.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    std::fs::create_dir(folder.path().join("site")).expect("a folder");
    let picture = Jpeg::encode(&landscape(), 95).expect("it encodes").to_bytes();
    std::fs::write(folder.path().join("site/a.jpg"), picture).expect("a file");
    let page = "<p>precise ".repeat(1_000);
    std::fs::write(folder.path().join("site/a.html"), page).expect("a file");
    folder
}

/// Runs a line of the shell at the near end of a link, in the folder, beside a server at the far
/// end; returns what it prints.
fn beside_a_server(folder: &Folder, options: &str, serve: &str, line: &str) -> String {
    let output = windfall(&format!("run -q {options} --wait-port 8080"))
        .args(["--far", &format!("exec {WINDFALL} {serve} -q")])
        .args(["--", "sh", "-c", line, WINDFALL])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn whoever_asks_for_nothing_approximate_gets_identical_bytes() {
    require!("curl", "wget");
    let folder = folder("web-identical");
    let line = "u=http://10.77.0.2:8080; set -e
        for f in a.jpg a.html; do
          curl -sS -o curl.$f $u/$f; wget -q -O wget.$f $u/$f; $0 get -o get.$f $u/$f >get.log
          $0 get --force-precise -o precise.$f $u/$f >>get.log
          $0 get --force-precise --client-opens -o opened.$f $u/$f >>get.log
          curl -sS -r 1000-1999 $u/$f | cmp - part.$f
          for way in curl wget get precise opened; do cmp site/$f $way.$f; done
        done; grep -c SAP get.log";
    for name in ["a.jpg", "a.html"] {
        let bytes = std::fs::read(folder.path().join("site").join(name)).expect("a file");
        let part = folder.path().join(format!("part.{name}"));
        std::fs::write(part, &bytes[1_000..2_000]).expect("a file");
    }
    assert_eq!(beside_a_server(&folder, OFFICE, "serve site", line), "2\n");
}

//= S0.42
#[test]
fn the_server_calls_and_sends_datagrams_of_one_kilobyte() {
    require!("tshark");
    let folder = folder("web-trace");
    let line = "$0 get --profile paper --approx 'image/*' --sap-port 5004 -o a.jpg \
                http://10.77.0.2:8080/a.jpg";
    let options = format!("{OFFICE} --pcap captures");
    let said = beside_a_server(&folder, &options, "serve site --profile paper", line);
    assert!(said.contains("bytes over SAP"), "{said}");
    let capture = folder.path().join("captures/near.pcapng");
    let dump = std::process::Command::new("tshark")
        .args(["-n", "-T", "fields", "-e", "ip.src", "-e", "tcp.dstport", "-e", "tcp.flags.syn"])
        .args(["-e", "udp.dstport", "-e", "udp.length", "-r"])
        .arg(capture)
        .output();
    let trace = String::from_utf8_lossy(&dump.expect("it runs").stdout).into_owned();
    // UDP, UDP-Lite and SAP take 8, 8 and 28 bytes; the rest is a kilobyte of the body.
    let datagram = "10.77.0.2\t\t\t5004\t1068";
    let length = std::fs::metadata(folder.path().join("site/a.jpg")).expect("it is there").len();
    let datagrams = trace.lines().filter(|line| *line == datagram).count() as u64;
    assert!(datagrams > length / 1_024 * 9 / 10, "{datagrams} of {length} bytes:\n{trace}");
    let is_request = |line: &&str| line.starts_with("10.77.0.1\t8080\t");
    assert!(trace.lines().any(|line| is_request(&line)), "{trace}");
}

#[test]
fn a_damaged_picture_is_reported_and_can_be_repaired() {
    require!();
    let folder = folder("web-repair");
    let line = "set -e; u=http://10.77.0.2:8080/a.jpg
        $0 get --approx 'image/*' --json --metadata -o damaged.jpg $u
        $0 get --approx 'image/*' --client-opens --repair all --json -o whole.jpg $u
        cmp whole.jpg site/a.jpg
        head -c 30000 site/a.jpg >rest.jpg
        $0 get -C --approx 'image/*' --repair none --json --metadata -o rest.jpg $u";
    let options = "--rate 10Mbps --ber 3e-5 --accept-damaged";
    let said = beside_a_server(&folder, options, "serve site", line);
    let reports: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [damaged, whole, rest] = &reports[..] else { panic!("{said}") };
    assert_eq!((&damaged["over"], &whole["over"]), (&"sap".into(), &"sap".into()), "{said}");
    assert!(damaged["suspect"].as_u64() > Some(0), "{said}");
    assert!(whole["repaired"].as_u64() > Some(0), "{said}");
    assert_eq!((&whole["suspect"], &whole["missing"]), (&0.into(), &0.into()), "{said}");
    assert!(rest["suspect"].as_u64() > Some(0), "{said}");
    names_each_damaged_byte(&folder, "damaged.jpg", damaged);
    names_each_damaged_byte(&folder, "rest.jpg", rest);
}

/// Checks that every byte of a file that differs from that of the server lies in a range of its
/// report, and that the file beside it says the same.
fn names_each_damaged_byte(folder: &Folder, name: &str, report: &Value) {
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("a file");
    let arrived = read(name);
    let original = read("site/a.jpg");
    assert_eq!(arrived.len(), original.len());
    let ranges = |name: &str| report[name].as_array().expect("a list").clone();
    let known: Vec<(usize, usize)> = [ranges("suspect_ranges"), ranges("missing_ranges")]
        .concat()
        .iter()
        .map(|it| (it[0].as_u64().expect("start") as usize, it[1].as_u64().expect("end") as usize))
        .collect();
    let differ = (0..arrived.len()).filter(|at| arrived[*at] != original[*at]);
    for at in differ {
        assert!(known.iter().any(|(start, end)| (*start..*end).contains(&at)), "{at}: {report}");
    }
    let beside = read(&format!("{name}.damage.json"));
    assert_eq!(serde_json::from_slice::<Value>(&beside).expect("JSON"), *report);
}

#[test]
fn a_body_with_many_damaged_ranges_comes_whole_again() {
    require!();
    let folder = folder("web-whole");
    std::fs::write(folder.path().join("site/many.bin"), vec![7; 1_000_000]).expect("a file");
    for opens in ["", "--client-opens"] {
        let line = format!(
            "set -e; u=http://10.77.0.2:8080/many.bin
            $0 get --approx '*/*' {opens} --repair all --json -o whole.bin $u
            cmp whole.bin site/many.bin"
        );
        let options = "--rate 10Mbps --ber 3e-5 --accept-damaged";
        let said = beside_a_server(&folder, options, "serve site", &line);
        let report: Value = serde_json::from_str(said.trim()).expect("JSON");
        // About 240 bits are wrong, and to ask for each takes many times as long.
        assert_eq!(report["repaired"], 1_000_000, "{said}");
        assert_eq!((&report["over"], &report["suspect"]), (&"sap".into(), &0.into()), "{said}");
    }
}

#[test]
fn a_proxy_marks_what_is_damaged_and_keeps_the_rest_precise() {
    require!("curl");
    let folder = folder("web-proxy");
    let line =
        "set -e; u=http://10.77.0.2:8080; $0 proxy --log proxy.log 2>ready & trap \"kill $!\" EXIT
        for i in $(seq 600); do grep -q proxy ready && break; sleep 0.05; done
        for i in $(seq 600); do curl -sf -o probe $u/a.html && break; sleep 0.05; done
        curl -sS -x http://127.0.0.1:3128 -D head -o a.jpg $u/a.jpg
        curl -sS -x http://127.0.0.1:3128 -o a.html $u/a.html
        cmp a.html site/a.html; cat head proxy.log";
    let options = "--rate 10Mbps --ber 3e-5 --accept-damaged";
    for server in ["serve site", "gateway http://127.0.0.1:8081"] {
        let behind = if server.starts_with("gateway") {
            format!("serve site -q --port 8081 2>/dev/null & exec {WINDFALL} {server}")
        } else {
            server.to_owned()
        };
        let said = beside_a_server(&folder, options, &behind, line);
        assert!(said.to_lowercase().contains("x-sap-damage: suspect="), "{server}: {said}");
        assert!(said.to_lowercase().contains("cache-control: no-store"), "{server}: {said}");
        assert!(
            said.contains("a.jpg HTTP/1.1\" 200") && said.contains("\"sap: "),
            "{server}: {said}"
        );
        let arrived = std::fs::read(folder.path().join("a.jpg")).expect("a file");
        let picture = windfall_media::Picture::read(&arrived);
        assert!(picture.is_ok(), "{server}: {:?}", picture.err());
    }
}

/// Drops what SAP sends to this end after 800 kB, more than a quarter of the body, of each of
/// three connections: of the calls to two ports, and of the connection to the server.
const BREAK: &str = "set -e; nft add table inet t
    nft add chain inet t in '{ type filter hook input priority 0; }'
    nft add rule inet t in udp dport 5004 quota over 800 kbytes drop
    nft add rule inet t in udp dport 5005 quota over 800 kbytes drop
    nft add rule inet t in udp sport 8080 udp dport != 5004-5005 quota over 800 kbytes drop";

#[test]
fn a_body_whose_connection_breaks_in_the_middle_is_completed_over_tcp() {
    require!("nft", "curl");
    let obstacle = run("", BREAK);
    if !obstacle.status.success() {
        skip!("this kernel counts no quota: {}", String::from_utf8_lossy(&obstacle.stderr).trim());
    }
    let folder = folder("web-break");
    let long: Vec<u8> = (0..2_000_000_u32).map(|it| (it.wrapping_mul(it) >> 9) as u8).collect();
    std::fs::write(folder.path().join("site/long.jpg"), long).expect("a file");
    let line = format!(
        "{BREAK}; u=http://10.77.0.2:8080/long.jpg
        $0 proxy --log proxy.log 2>ready & proxy=$!; trap \"kill $proxy\" EXIT
        {}
        $0 get --json --force-precise --sap-port 5004 -o precise.jpg $u & a=$!
        $0 get --json --approx 'image/*' --sap-port 5005 -o approximate.jpg $u & b=$!
        curl -sS -x http://127.0.0.1:3128 -o proxied.jpg $u & c=$!
        wait $a; wait $b; wait $c
        for it in precise approximate proxied; do cmp site/long.jpg $it.jpg; done; cat proxy.log",
        until("-s ready")
    );
    let said = beside_a_server(&folder, "--rate 50Mbps", "serve site", &line);
    let (reports, logged): (Vec<&str>, Vec<&str>) =
        said.lines().partition(|line| line.starts_with('{'));
    assert!(reports.len() == 2 && logged.len() == 1, "{said}");
    for report in reports {
        let report: Value = serde_json::from_str(report).expect("JSON");
        assert_eq!(report["over"], "sap", "{said}");
        let repaired = report["repaired"].as_u64().expect("a number");
        assert!((1_100_000..1_700_000).contains(&repaired), "{said}");
    }
    let way = logged[0].split("\"sap: 0 suspect, 0 missing, ").nth(1).expect("over SAP");
    let repaired = way.split(", ").nth(1).and_then(|it| it.split(' ').next());
    let repaired: u64 = repaired.and_then(|it| it.parse().ok()).expect("a number");
    assert!((1_100_000..1_700_000).contains(&repaired), "{said}");
}
