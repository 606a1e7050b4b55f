//! Files that commands write, and inputs without anything in them: errors with the file and 2.

use std::process::{Output, Stdio};

use crate::support::Folder;

/// A stream of two pictures that no decoder needs to understand.
const STREAM: [u8; 12] = [0, 0, 0x80, 2, 0x1c, 0xa8, 0, 0, 0x80, 2, 0x1c, 0xa8];

/// A log with a packet from `near` to `far`.
const LOG: &str = "\
{\"ev\":\"header\",\"t\":0,\"format\":1,\"elements\":[\"air/near\",\"air/far\",\"air\"]}
{\"ev\":\"packet.queued\",\"t\":0.1,\"at\":\"air/near\",\"tag\":0,\"len\":40}
{\"ev\":\"packet.delivered\",\"t\":0.2,\"at\":\"air/far\",\"tag\":0,\"len\":40}
";

fn run(folder: &Folder, line: &str) -> (Output, String) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = folder.windfall(&words).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

/// Runs a command that is to end with 2 and to say `part`.
fn refused(folder: &Folder, line: &str, part: &str) {
    let (output, said) = run(folder, line);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{line}: {said}");
    assert!(said.contains(part) && said.lines().count() == 1, "{line}: {said}");
}

#[test]
fn files_that_cannot_be_written_are_named() {
    let folder = Folder::new("outputs");
    folder.write("clip.h263", STREAM);
    folder.write("blocks.losses", "0\n1\n0\n");
    folder.write("file", "no folder");
    refused(&folder, "video send clip.h263 127.0.0.1 --sdp none/a.sdp", "cannot write none/a.sdp");
    refused(&folder, "wsim clip.h263 blocks.losses --out file", "cannot write file: ");
    let receive = "video receive --port 1 --out none/a";
    let cannot = "cannot write none/a";
    refused(&folder, receive, cannot);
    // What is written when all is measured is tried before anything is.
    let reproduce = "reproduce S3.fig5 --out out";
    refused(&folder, &format!("{reproduce} --junit none/a.xml"), "cannot write none/a.xml");
    refused(&folder, &format!("{reproduce} --page file/a.html"), "cannot write file/a.html");
    refused(&folder, &format!("{reproduce} --page a --junit a"), "this is the file of --page");
    refused(&folder, "demo --out file", "cannot write file: ");
    refused(&folder, "camera compare --rate 1Mbps --out file", "cannot write file: ");
    assert!(!folder.path().join("out").exists());
}

#[test]
fn schemes_of_one_name_are_refused_before_a_stream_is_sent() {
    let folder = Folder::new("schemes");
    for (schemes, name) in [
        ("--scheme a=--arq=1 --scheme arq --scheme a=udplite", "a-2=udplite"),
        ("--scheme arq --scheme blocks --scheme arq", "arq-2=udp --arq 6"),
    ] {
        let line = format!("camera compare --rate 1Mbps {schemes} --out out");
        let called = &name[..name.find('-').expect("a name")];
        refused(&folder, &line, &format!("two schemes are called \"{called}\""));
        refused(&folder, &line, &format!("'{name}'"));
    }
    assert!(!folder.path().join("out").exists());
}

#[test]
fn devices_take_what_files_take() {
    let folder = Folder::new("outputs-devices");
    folder.write("clip.h263", STREAM);
    folder.write("a.log", LOG);
    for line in [
        "dump a.log --view /dev/null",
        "trace synth --frames 5 -o /dev/null",
        "video send clip.h263 127.0.0.1 --sdp /dev/null",
    ] {
        let (output, said) = run(&folder, line);
        assert!(output.status.success(), "{line}: {said}");
    }
}

#[test]
fn a_drawing_is_known_by_its_ending_and_a_sender_by_its_link() {
    let folder = Folder::new("outputs-dump");
    folder.write("a.log", LOG);
    for (name, begin) in [("A.SVG", "<svg"), ("a.html", "<!")] {
        let (output, said) = run(&folder, &format!("dump a.log --view {name}"));
        assert!(output.status.success(), "{said}");
        let text = String::from_utf8(folder.read(name)).expect("text");
        assert!(text.contains(begin) && text.starts_with('<'), "{name}: {text}");
        assert_eq!(text.starts_with("<svg") || text.starts_with("<?xml"), name == "A.SVG");
    }
    for sender in ["air", "circuit"] {
        let line = format!("dump a.log --view a.svg --sender {sender}");
        refused(&folder, &line, "choose from air/near, air/far");
    }
}

//= S1.57
#[test]
fn what_holds_no_picture_is_not_sent() {
    let folder = Folder::new("outputs-junk");
    for name in ["junk.264", "junk.h263"] {
        folder.write(name, "nothing that begins as a picture does");
        for option in ["", " --adapt"] {
            let line = format!("video send {name} 127.0.0.1{option}");
            refused(&folder, &line, "there is no picture in it");
        }
    }
}

#[test]
fn tune_tells_of_the_user_s_options_and_of_the_version_of_a_log() {
    let folder = Folder::new("outputs-tune");
    folder.write("old.log", LOG.replace("\"format\":1", "\"format\":7"));
    refused(&folder, "tune old.log", "the log has format 7; this program reads format 1");
    let fast = "tune office --rate 100Gbps --size 40";
    refused(&folder, fast, "100Gbps in datagrams of 40 bytes is more than one each 10 ns");
    let slow = "tune office --rate 1bps --size 1400 --deadline none";
    refused(&folder, slow, "1bps is less than one datagram of 1400 bytes in ten minutes");
}

#[test]
fn options_of_no_effect_on_a_video_are_refused() {
    let folder = Folder::new("outputs-effect");
    folder.write("clip.h263", STREAM);
    folder.write("clip.264", "\0\0\0\x01\x65abc");
    for (options, part) in [
        ("clip.h263 127.0.0.1 --codec h263", "remove --codec, or add --recode or --adapt"),
        ("clip.h263 127.0.0.1 --size 352x288", "remove --size, or add --recode or --adapt"),
        ("clip.h263 127.0.0.1 --bit-rate 9000", "sent as it stands: remove --bit-rate, or add"),
        ("clip.264 127.0.0.1 --repeat", "H.264 has none: remove it"),
        ("clip.h263 127.0.0.1 --coverage 30", "--coverage is an option of UDP-Lite: remove it"),
        ("clip.h263 127.0.0.1 --carrier udp", "--carrier is an option of UDP-Lite: remove it"),
    ] {
        refused(&folder, &format!("video send {options}"), part);
    }
    refused(&folder, "video receive --carrier raw", "--carrier is an option of UDP-Lite");
    let (output, said) = run(&folder, "video send clip.h263 127.0.0.1 --size 352x288 --sdp a.sdp");
    assert!(output.status.success(), "{said}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a packet needs time to arrive")]
fn a_receiver_of_video_that_is_interrupted_writes_what_came_and_no_empty_file() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = Folder::new("outputs-interrupted");
    folder.write("clip.h263", STREAM);
    let port = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port").local_addr();
    let port = port.expect("bound").port() & !1;
    for (signal, code, sends) in [(Signal::INT, 130, true), (Signal::TERM, 143, false)] {
        let line = format!("video receive --on 127.0.0.1 --port {port} --out arrived.h263");
        let words: Vec<&str> = line.split(' ').collect();
        let mut receiver = folder.windfall(&words);
        let receiver = receiver.stdout(Stdio::piped()).spawn().expect("the program");
        let number = format!("0100007F:{:04X}", port + 1);
        while !std::fs::read_to_string("/proc/net/udp").expect("sockets").contains(&number) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        // The next picture would come after ten seconds.
        let line = format!("video send clip.h263 127.0.0.1 --port {port} --rate 0.1");
        let words: Vec<&str> = line.split(' ').collect();
        let sender = sends.then(|| {
            let mut sender = folder.windfall(&words);
            let mut sender = sender.stderr(Stdio::piped()).spawn().expect("the program");
            drop(crate::support::first_line(sender.stderr.take()));
            sender
        });
        std::thread::sleep(std::time::Duration::from_millis(500));
        kill_process(Pid::from_child(&receiver), signal).expect("it runs");
        let output = receiver.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(code));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let arrived = folder.path().join("arrived.h263");
        if let Some(mut sender) = sender {
            sender.kill().expect("it runs");
            sender.wait().expect("it ends");
            assert!(said.contains("1 packets received, 0 lost; 1 of 1 pictures whole"), "{said}");
            let stream = std::fs::read(&arrived).expect("a file");
            assert!(!stream.is_empty() && STREAM.starts_with(&stream), "{stream:?}");
            std::fs::remove_file(&arrived).expect("it is there");
        }
        assert!(!arrived.exists(), "an empty file stayed");
    }
}
