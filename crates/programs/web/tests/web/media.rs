//! Parts of films and sound, texts under their types, and what a damaged reply says of itself.

use windfall_testkit::folder::Folder;
use windfall_web::{Gateway, HeaderMap, RANGE, SapDirection, Site};

use crate::support::{Running, delivery, fetch_with, fetcher, noise, put, run, site};

/// A film in all that its structure needs: its description comes after its samples.
fn film(length: usize) -> Vec<u8> {
    let boxed = |name: &[u8; 4], content: &[u8]| {
        [&(content.len() as u32 + 8).to_be_bytes()[..], name, content].concat()
    };
    let samples = boxed(b"mdat", &noise(length, 60));
    [boxed(b"ftyp", b"isom"), samples, boxed(b"moov", &noise(5_000, 61))].concat()
}

#[test]
fn parts_of_a_film_travel_over_sap_and_are_those_of_the_file() {
    let folder = Folder::new("web-parts");
    let film = film(400_000);
    put(&folder, "a.mp4", &film);
    put(&folder, "a.mp3", &noise(90_000, 62));
    let server = site(&folder);
    let origin = Running::start(|_| Site::new(folder.path(), None).expect("a folder"));
    let gateway = Running::start(|_| Gateway::new(&origin.uri("/"), delivery()).expect("HTTP"));
    let length = film.len();
    for (way, at) in [
        (SapDirection::ClientOpens, &server),
        (SapDirection::ServerCalls(0), &server),
        (SapDirection::ClientOpens, &gateway),
    ] {
        for (range, part) in [
            ("bytes=0-".to_owned(), 0..length),
            ("bytes=100000-".to_owned(), 100_000..length),
            ("bytes=0-99999".to_owned(), 0..100_000),
            (format!("bytes={}-", length - 4_000), length - 4_000..length),
            ("bytes=-77".to_owned(), length - 77..length),
        ] {
            for is_precise in [false, true] {
                let got = run(async {
                    let client = fetcher("video/*, audio/*", is_precise, way);
                    let headers = HeaderMap::from_iter([(RANGE, range.parse().expect("a value"))]);
                    fetch_with(&client, &at.uri("/a.mp4"), &headers).await
                });
                assert!(got.over_sap, "{way:?} {range}: {:?}", got.fallback);
                assert!(got.bytes == film[part.clone()] || got.is_damaged, "{way:?} {range}");
                let first = part.start;
                let last = part.end - 1;
                let named = format!("bytes {first}-{last}/{length}");
                assert_eq!(got.headers["content-range"], named[..]);
                assert_eq!(got.headers["content-length"], part.len().to_string());
            }
        }
    }
}

#[test]
fn several_ranges_and_those_that_are_none_come_as_before() {
    let folder = Folder::new("web-no-parts");
    let film = film(50_000);
    put(&folder, "a.mp4", &film);
    let server = site(&folder);
    run(async {
        let client = fetcher("video/*", false, SapDirection::ClientOpens);
        for range in ["bytes=0-9,20-29", "bytes=999999-", "lines=1-2"] {
            let headers = HeaderMap::from_iter([(RANGE, range.parse().expect("a value"))]);
            let got = fetch_with(&client, &server.uri("/a.mp4"), &headers).await;
            assert!(!got.headers.contains_key("x-sap-token"), "{range}");
        }
    });
}

#[test]
fn texts_under_the_types_of_sound_and_films_are_exact() {
    use windfall_bodies::{Content, Parcel};
    let playlist = "#EXTM3U\n#EXTINF:10,\nsegment.ts\n".repeat(3_000);
    let parcel = Parcel {
        token: [0; 16],
        content: Content::Memory(playlist.clone().into()),
        is_precise: false,
        exact: None,
    };
    assert_eq!(parcel.content.len(), playlist.len());
    let folder = Folder::new("web-texts");
    for name in ["a.m3u8", "a.m3u", "a.pls", "a.ram", "a.ts", "a.mp4"] {
        put(&folder, name, playlist.as_bytes());
    }
    let server = site(&folder);
    run(async {
        let client = fetcher("audio/*, video/*, application/*", false, SapDirection::ClientOpens);
        for name in ["a.m3u8", "a.m3u", "a.pls", "a.ram", "a.ts", "a.mp4"] {
            let got =
                fetch_with(&client, &server.uri(&format!("/{name}")), &HeaderMap::new()).await;
            // Nothing of it is approximate, whatever the path loses.
            assert!(got.bytes == playlist.as_bytes() && !got.is_damaged, "{name}");
        }
    });
}
