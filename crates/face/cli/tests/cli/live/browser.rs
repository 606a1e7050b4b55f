//! A gallery in Chromium without a screen, over TCP alone and through `windfall proxy`.
//!
//! It runs on request only: `WINDFALL_TEST_BROWSER=FOLDER cargo test -p windfall-cli --test cli
//! browser -- --nocapture` leaves the screenshots and the browser's network logs in the folder.

use std::path::Path;

use windfall_media::{Jpeg, Picture};

use crate::live::office::office;
use crate::live::{Folder, WINDFALL, require, windfall};

/// The pictures of the gallery.
const PICTURES: u32 = 50;
/// Distances in metres, at 54 Mb/s.
const DISTANCES: [u32; 3] = [2, 8, 12];

/// The page tells the server's log how many pictures have decoded, and when the last one came.
const PAGE: &str = "<script>onload = () => {
    const ok = [...document.images].filter(it => it.naturalWidth == 480).length;
    const ends = performance.getEntriesByType('resource').map(it => it.responseEnd);
    const told = new XMLHttpRequest();
    told.open('GET', '/told.txt?ok=' + ok + '&ms=' + Math.round(Math.max(...ends)), false);
    told.send();
};</script>";

/// Visits the page by the way `$2`, and leaves what the browser says in files named `$3`.
const VISIT: &str = "
    if [ $2 = proxy ]; then
        $1 proxy --log $3.proxy.log 2>$3.ready & p=$!
        for i in $(seq 600); do grep -q proxy $3.ready && break; sleep 0.05; done
        by=--proxy-server=http://127.0.0.1:3128
    fi
    timeout 120 chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --no-first-run --user-data-dir=$4 --disable-background-networking \
        --disable-component-update $by --log-net-log=$3.netlog.json --window-size=1300,1100 \
        --timeout=100000 --screenshot=$3.png http://10.77.0.2:8080/ >$3.err 2>&1
    test -z \"$p\" || kill $p";

/// Films the page by the way `$2`; `$4` is the program that does.
const FILM: &str = "
    if [ $2 = proxy ]; then
        $1 proxy -q 2>$3.ready & p=$!
        for i in $(seq 600); do grep -q proxy $3.ready && break; sleep 0.05; done
        by=http://127.0.0.1:3128
    fi
    timeout 120 python3 $4 http://10.77.0.1:8080/ $3 \"$by\"
    test -z \"$p\" || kill $p";

/// Writes a page with pictures, style and a script.
fn gallery(folder: &Path) {
    for number in 0..PICTURES {
        let wave = |x: u32, y: u32, of: u32| ((x * (of + 3) + y * (number + 5)) / 7 % 256) as u8;
        let picture = Picture::draw(480, 320, |x, y| [wave(x, y, 0), wave(y, x, 1), wave(x, x, 2)]);
        let jpeg = Jpeg::encode(&picture.expect("it fits"), 80).expect("it encodes").to_bytes();
        std::fs::write(folder.join(format!("{number}.jpg")), jpeg).expect("a file");
    }
    let images: String =
        (0..PICTURES).map(|it| format!("<img src=/{it}.jpg width=180 height=120>")).collect();
    let head =
        "<!doctype html><link rel=stylesheet href=/style.css><script src=/script.js></script>";
    std::fs::write(folder.join("index.html"), format!("{head}{PAGE}{images}")).expect("a file");
    std::fs::write(folder.join("style.css"), "body { margin: 8px }\n".repeat(500)).expect("a file");
    std::fs::write(folder.join("script.js"), "var a = 1;\n".repeat(900)).expect("a file");
    std::fs::write(folder.join("told.txt"), "told").expect("a file");
}

/// Returns the number of pictures that decoded, and the milliseconds until the last one came.
fn told(log: &str) -> (u32, u32) {
    let line = log.lines().find(|line| line.contains("/told.txt?")).expect("the page loaded");
    let number = |name: &str| {
        let value = line.split(name).nth(1).expect("a number");
        value.chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect("digits")
    };
    (number("ok="), number("ms="))
}

#[test]
fn every_picture_of_a_gallery_decodes_and_damaged_ones_are_marked() {
    let Some(out) = std::env::var_os("WINDFALL_TEST_BROWSER") else { return };
    require!("chromium");
    let out = std::path::absolute(out).expect("a folder");
    std::fs::create_dir_all(&out).expect("a folder");
    let folder = Folder::new("browser");
    gallery(folder.path());
    println!("distance  way    last picture  marked as damaged");
    for distance in DISTANCES {
        for way in ["tcp", "proxy"] {
            let name = out.join(format!("{way}-{distance}m"));
            let log = out.join(format!("{way}-{distance}m.server.log"));
            let _ = std::fs::remove_file(&log);
            let serve = format!("exec {WINDFALL} serve -q {}", folder.path().display());
            let status = windfall("run -q --link wifi-g --rate 54 --accept-damaged")
                .args(["--distance", &distance.to_string(), "--wait-port", "8080", "--far"])
                .arg(format!("{serve} --log {}", log.display()))
                .args(["--", "sh", "-c", VISIT, "sh", WINDFALL, way])
                .arg(&name)
                .arg(folder.path().join(format!("profile-{way}-{distance}")))
                .status();
            assert!(status.expect("it runs").success(), "{way} at {distance} m");
            let (decoded, time) = told(&std::fs::read_to_string(&log).expect("a log"));
            let netlog = std::fs::read(name.with_extension("netlog.json")).expect("a log");
            let netlog = String::from_utf8_lossy(&netlog).into_owned();
            let marks = netlog.matches("x-sap-damage: ").count();
            println!("{distance:6} m  {way:5}  {time:9} ms  {marks:7}");
            assert_eq!(decoded, PICTURES, "{way} at {distance} m");
            assert!(way == "proxy" || marks == 0, "{way} at {distance} m");
        }
    }
}

/// Returns a page with the screenshots of each film in a row, one each 400 ms.
fn strip(out: &Path, films: &[String]) -> String {
    let files: Vec<String> = std::fs::read_dir(out)
        .expect("a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let mut page = "<body style='font: 12px sans-serif'><table>".to_owned();
    for film in films {
        let time = |file: &String| -> Option<u32> {
            file.strip_prefix(film)?.strip_prefix('-')?.strip_suffix(".png")?.parse().ok()
        };
        let mut shots: Vec<_> = files.iter().filter_map(|it| Some((time(it)?, it))).collect();
        shots.sort();
        page += &format!("<tr><td>{film}");
        for until in (0..10).map(|number| 300 + 400 * number) {
            let shot = shots.iter().rev().find(|(time, _)| *time <= until);
            let shot = shot.map(|(time, file)| format!("<img src={file} width=140><br>{time} ms"));
            page += &format!("<td>{}", shot.unwrap_or_default());
        }
    }
    page
}

/// A film of the page in the office of paper 000, by the same switch as the test above.
#[test]
fn film_strips_of_the_browser() {
    let Some(out) = std::env::var_os("WINDFALL_TEST_BROWSER") else { return };
    require!("chromium", "python3");
    let out = std::path::absolute(out).expect("a folder");
    std::fs::create_dir_all(&out).expect("a folder");
    let folder = Folder::new("film");
    gallery(folder.path());
    let program = folder.path().join("film.py");
    std::fs::write(&program, include_str!("film.py")).expect("a file");
    let mut films = Vec::new();
    for metres in [2.0, 8.0, 12.2] {
        let scenario = folder.path().join("office.toml");
        std::fs::write(&scenario, office(metres, 54)).expect("a file");
        for way in ["tcp", "proxy"] {
            let film = format!("{way}-{metres}");
            let output = windfall("run -q --wait-port 8080 --scenario")
                .arg(&scenario)
                .args(["--far", &format!("exec {WINDFALL} serve -q {}", folder.path().display())])
                .args(["--", "sh", "-c", FILM, "sh", WINDFALL, way])
                .args([&out.join(&film), &program])
                .output()
                .expect("it runs");
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            println!("{way:5} {metres:4} m: milliseconds, pictures: {}", said.trim());
            assert!(said.trim().ends_with(&format!(" {PICTURES}")), "{said} {output:?}");
            films.push(film);
        }
    }
    std::fs::write(out.join("film.html"), strip(&out, &films)).expect("a file");
    let shot = format!("--screenshot={}", out.join("film.png").display());
    let drawn = std::process::Command::new("chromium")
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"])
        .args(["--hide-scrollbars", "--window-size=1600,800", &shot])
        .arg(out.join("film.html"))
        .output();
    assert!(drawn.expect("it runs").status.success());
}
