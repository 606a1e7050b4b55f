//! A page in Chromium without a screen, over TCP alone and through `windfall proxy`, as one report.
//!
//! It runs on request only: `WINDFALL_TEST_BROWSER=FOLDER cargo test -p windfall-cli --test cli
//! a_page_in_a_browser -- --nocapture` leaves `report.html` in the folder, one file that needs no
//! other.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use windfall_media::{Jpeg, Picture, landscape};
use windfall_report::{Table, escape, statistics};

use crate::live::office::office;
use crate::live::{Folder, WINDFALL, require, windfall};

/// The pictures of the page, and how often it is loaded by each way.
const PICTURES: u32 = 50;
const LOADS: usize = 3;
/// The time between two pictures of a strip, in milliseconds, and how many there are at most.
const STEP: u64 = 200;
const LONGEST: u64 = 40;
/// The ways, as the report names them.
const WAYS: [&str; 2] = ["TCP", "proxy"];
/// The distances in the office of paper 000, in metres; the link without an office is the fourth.
const OFFICES: [f64; 3] = [2.0, 8.0, 12.2];
const LINK: &str = "--link wifi-g --distance 10";

const STYLE: &str = "<style>
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif }
body { max-width: 76rem; margin: 1.5rem auto; padding: 0 1rem }
table { border-collapse: collapse } th, td { padding: .2rem .7rem; text-align: left }
tr { border-bottom: 1px solid #8884 } .number { text-align: right }
.strip { overflow-x: auto } .strip td, .strip th { padding: 2px; vertical-align: top }
.strip tr { border: 0 } .strip img { display: block; width: 130px; border: 1px solid #8886 }
.strip th { font: 12px system-ui; white-space: nowrap }
.pair { display: flex; gap: 1rem; flex-wrap: wrap } figure { margin: 0; flex: 1 1 20rem }
figure img { width: 100%; border: 1px solid #8886 }
</style>";

/// Loads the page by the way `$2` into the file `$3`; `$4` is the program that films.
const FILM: &str = "
    if [ $2 = proxy ]; then
        $1 proxy --log $3.log 2>$3.ready & p=$!
        for i in $(seq 600); do grep -q proxy $3.ready && break; sleep 0.05; done
        by=http://127.0.0.1:3128
    fi
    timeout 120 python3 $4 $5 $3 \"$by\"
    test -z \"$p\" || kill $p";

/// Writes a page with pictures, style and a script: the sample picture from different places and at
/// different hours.
fn gallery(folder: &Path) {
    const WIDE: u32 = 384;
    let ppm = landscape().to_ppm();
    let colors = &ppm[ppm.len() % (3 * WIDE as usize)..];
    for number in 0..PICTURES {
        let picture = Picture::draw(480, 320, |x, y| {
            let at = 3 * (y * 3 / 5 * WIDE + x * 3 / 5 + number * 96 / PICTURES) as usize;
            let light = |i: u32| 60 + (number * 37 + i * 20) % 41;
            [0, 1, 2].map(|i| (u32::from(colors[at + i as usize]) * light(i) / 100) as u8)
        });
        let jpeg = Jpeg::encode(&picture.expect("it fits"), 85).expect("it encodes").to_bytes();
        std::fs::write(folder.join(format!("{number}.jpg")), jpeg).expect("a file");
    }
    let images: String =
        (0..PICTURES).map(|it| format!("<img src=/{it}.jpg width=180 height=120>")).collect();
    let head =
        "<!doctype html><link rel=stylesheet href=/style.css><script src=/script.js></script>";
    std::fs::write(folder.join("index.html"), format!("{head}{images}")).expect("a file");
    std::fs::write(folder.join("style.css"), "body { margin: 8px }\n".repeat(500)).expect("a file");
    std::fs::write(folder.join("script.js"), "var a = 1;\n".repeat(900)).expect("a file");
}

/// One load of the page.
struct Load {
    /// The times, the screenshots and the replies of the browser.
    film: Value,
    /// The log of the proxy.
    log: String,
}

impl Load {
    /// Returns the seconds until the last picture has come.
    fn seconds(&self) -> f64 {
        self.film["ms"].as_f64().expect("a number") / 1e3
    }

    fn decoded(&self) -> u64 {
        self.film["decoded"].as_u64().expect("a number")
    }

    /// Returns the path, the mark and the line of the proxy's log of each reply that is marked.
    fn marks(&self) -> Vec<[&str; 3]> {
        let replies = self.film["replies"].as_array().expect("a list").iter();
        let marked = replies.filter_map(|it| Some((it["path"].as_str()?, it["mark"].as_str()?)));
        let with_log = marked.map(|(path, mark)| {
            let line = self.log.lines().find(|line| line.contains(&format!("{path} HTTP")));
            let said = line.and_then(|line| line.split('"').rfind(|it| it.starts_with("sap: ")));
            [path, mark, said.unwrap_or_else(|| panic!("{path} is not in {}", self.log))]
        });
        with_log.collect()
    }
}

/// Loads the page, and checks that through the proxy every picture decodes, and that only it marks
/// any. Over TCP, whose checksum is weak, some may not decode where damaged packets are passed up.
fn load(folder: &Folder, run: &[&str], way: &str) -> Load {
    let file = folder.path().join("load.json");
    let _ = std::fs::remove_file(file.with_extension("json.log"));
    let near = if run.contains(&"--scenario") { "10.77.0.1" } else { "10.77.0.2" };
    let site = folder.path().join("site");
    let output = windfall("run -q --wait-port 8080")
        .args(run)
        .args(["--far", &format!("exec {WINDFALL} serve -q {}", site.display())])
        .args(["--", "sh", "-c", FILM, "sh", WINDFALL, way])
        .args([&file, &folder.path().join("film.py")])
        .arg(format!("http://{near}:8080/"))
        .output()
        .expect("it runs");
    let film = std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("{output:?}"));
    let film: Value = serde_json::from_str(&film).expect("JSON");
    std::fs::remove_file(&file).expect("it is there");
    let log = std::fs::read_to_string(file.with_extension("json.log")).unwrap_or_default();
    let load = Load { film, log };
    assert!(way == "tcp" || load.decoded() == u64::from(PICTURES), "{run:?}");
    assert!(way == "proxy" || load.marks().is_empty(), "{way}, {run:?}");
    load
}

/// The loads of the page across one link, by each way.
struct Series {
    name: String,
    loads: [Vec<Load>; 2],
}

/// Returns the median of the loads' times and their range.
fn times(loads: &[Load]) -> (f64, String) {
    let seconds: Vec<f64> = loads.iter().map(Load::seconds).collect();
    let median = statistics::median(&seconds).expect("several");
    let (least, most) = statistics::range(&seconds).expect("several");
    (median, format!("{median:.2} ({least:.2} to {most:.2}) s"))
}

/// Returns the load of median time.
fn middle(loads: &[Load]) -> &Load {
    let mut sorted: Vec<&Load> = loads.iter().collect();
    sorted.sort_by(|one, other| one.seconds().total_cmp(&other.seconds()));
    sorted[loads.len() / 2]
}

impl Series {
    fn row(&self) -> [String; 6] {
        let [(tcp, of_tcp), (proxy, of_proxy)] = self.loads.each_ref().map(|it| times(it));
        let marks: usize = self.loads[1].iter().map(|load| load.marks().len()).sum();
        let of = PICTURES as usize * LOADS;
        let decoded = self.loads.each_ref().map(|it| it.iter().map(Load::decoded).sum::<u64>());
        let decoded = format!("{} and {} of {of}", decoded[0], decoded[1]);
        let ratio = format!("{:.2}", tcp / proxy);
        [self.name.clone(), of_tcp, of_proxy, ratio, decoded, format!("{marks} of {of}")]
    }

    /// The films of both ways, one above the other, and how the page looks at the end.
    fn strip(&self) -> String {
        let films = self.loads.each_ref().map(|it| middle(it));
        let shots = films.map(|film| film.film["shots"].as_array().expect("a list"));
        let slot = |shot: &Value| shot["at"].as_u64().expect("a number").div_ceil(STEP);
        let last = shots.iter().filter_map(|it| it.last().map(slot)).max().unwrap_or(1);
        let slots = 1..=last.min(LONGEST);
        let mut page = format!("<h2>{}</h2><div class=strip><table><tr><th>", escape(&self.name));
        slots.clone().for_each(|it| _ = write!(page, "<th>{:.1} s", (it * STEP) as f64 / 1e3));
        for ((way, film), shots) in WAYS.iter().zip(films).zip(shots) {
            let _ = write!(page, "<tr><th>{way}<br>{:.2} s", film.seconds());
            for at in slots.clone() {
                let ended = shots.last().is_none_or(|it| slot(it) < at);
                let shot = shots.iter().rev().find(|it| slot(it) <= at).filter(|_| !ended);
                let image = shot.map(|it| image(&it["jpeg"], way)).unwrap_or_default();
                let _ = write!(page, "<td>{image}");
            }
        }
        page += "</table></div><h3>When the last picture is there</h3><div class=pair>";
        for (way, film) in WAYS.iter().zip(films) {
            let image = image(&film.film["last"], way);
            let marks = film.marks().len();
            let text = format!("{way}: {:.2} s, {marks} pictures are marked", film.seconds());
            let _ = write!(page, "<figure>{image}<figcaption>{text}</figcaption></figure>");
        }
        page + "</div>"
    }

    /// The pictures that are damaged, as the network panel and the proxy's log have them.
    fn marks(&self) -> String {
        let mut table = Table::new(["Picture", "X-SAP-Damage in the network panel", "Proxy's log"]);
        middle(&self.loads[1]).marks().into_iter().for_each(|mark| table.push(mark));
        let table = table.to_html();
        format!("<details><summary>Marks of damage: {}</summary>{table}</details>", self.name)
    }
}

fn image(jpeg: &Value, way: &str) -> String {
    let jpeg = jpeg.as_str().expect("a screenshot");
    format!("<img alt=\"the page over {way}\" src=\"data:image/jpeg;base64,{jpeg}\">")
}

fn report(series: &[Series]) -> String {
    let columns = ["Link", "TCP", "Proxy", "TCP / proxy", "Decoded by each", "Marked as damaged"];
    let mut table = Table::new(columns);
    series.iter().for_each(|it| table.push(it.row()));
    let strips: String = series.iter().map(Series::strip).collect();
    let marks: String = series.iter().map(Series::marks).collect();
    let title = "A page of fifty pictures over TCP and through windfall proxy";
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>
<meta name=viewport content=\"width=device-width\">{STYLE}<h1>{title}</h1>
<p>Time until the last picture has come, in Chromium without a screen: the median of {LOADS} loads,
and the shortest and the longest. The strips show the load of median time, a screenshot each
{STEP} ms; a load that has ended shows nothing more.</p>{}{strips}
<h2>Pictures that are marked as damaged</h2>{marks}</html>\n",
        table.to_html()
    )
}

#[test]
fn a_page_in_a_browser_is_filmed_by_both_ways() {
    let Some(out) = std::env::var_os("WINDFALL_TEST_BROWSER") else { return };
    require!("chromium", "python3");
    let out = std::path::absolute(out).expect("a folder");
    let folder = Folder::new("browser");
    for made in [&out, &folder.path().join("site")] {
        std::fs::create_dir_all(made).expect("a folder");
    }
    let site = folder.path().join("site");
    gallery(&site);
    let length = |name: &str| std::fs::metadata(site.join(name)).expect("a file").len();
    let of_pictures = (0..PICTURES).map(|it| length(&format!("{it}.jpg"))).sum::<u64>();
    println!("{of_pictures} bytes of pictures");
    std::fs::write(folder.path().join("film.py"), include_str!("film.py")).expect("a file");
    let scenario = folder.file("office.toml");
    let mut series = Vec::new();
    for metres in OFFICES.map(Some).into_iter().chain([None]) {
        let (name, run) = match metres {
            Some(metres) => {
                std::fs::write(&scenario, office(metres, 54)).expect("a file");
                (format!("{metres} m in the office"), vec!["--scenario", &scenario])
            }
            None => (LINK.to_owned(), LINK.split(' ').collect()),
        };
        let loads = ["tcp", "proxy"];
        // By turns, so that what else the machine does meets both.
        let mut by_way = [Vec::new(), Vec::new()];
        for _ in 0..LOADS {
            for (way, into) in loads.iter().zip(&mut by_way) {
                into.push(load(&folder, &run, way));
            }
        }
        series.push(Series { name, loads: by_way });
        println!("{}", series.last().expect("one").row().join("  "));
    }
    std::fs::write(out.join("report.html"), report(&series)).expect("a file");
    let shot = format!("--screenshot={}", out.join("report.png").display());
    let drawn = std::process::Command::new("chromium")
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", &shot])
        .args(["--window-size=1250,620", "--force-device-scale-factor=0.7"])
        .arg(out.join("report.html"))
        .output();
    assert!(drawn.expect("it runs").status.success());
}
