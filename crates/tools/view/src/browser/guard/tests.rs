use hyper::Request;

use super::*;

const TOKEN: &str = "000102030405060708090a0b0c0d0e0f";

fn guard() -> Guard {
    Guard::new(AccessToken::new(core::array::from_fn(|at| at as u8)), 4000)
}

fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).expect("a request")
}

fn status(method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
    let outcome = guard().check(&request(method, path, headers)).map(str::to_owned);
    outcome.map_or_else(|(status, _)| status.as_u16(), |_| 200)
}

#[test]
fn the_browser_of_whoever_has_the_address_gets_in() {
    let path = format!("/{TOKEN}/view?since=3");
    for host in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000", "[::1]:4000"] {
        let get = request("GET", &path, &[("host", host), ("sec-fetch-site", "same-origin")]);
        assert_eq!(guard().check(&get), Ok("view"));
    }
    let typed = [("host", "localhost:4000"), ("sec-fetch-site", "none")];
    assert_eq!(status("GET", &format!("/{TOKEN}/"), &typed), 200);
    let from_mail = [("host", "localhost:4000"), ("sec-fetch-site", "cross-site")];
    assert_eq!(status("GET", &format!("/{TOKEN}/"), &from_mail), 200);
    let post = [
        ("host", "localhost:4000"),
        ("origin", "http://localhost:4000"),
        ("content-type", "application/json"),
    ];
    assert_eq!(status("POST", &format!("/{TOKEN}/set"), &post), 200);
    assert_eq!(status("POST", &format!("/{TOKEN}/set"), &[post[0], post[2]]), 200);
}

#[test]
fn other_users_and_other_pages_do_not() {
    let own = ("host", "127.0.0.1:4000");
    let json = ("content-type", "application/json");
    let set = format!("/{TOKEN}/set");
    let short = &set[..20];
    let wrong = set.replace("0e0f", "0e0e");
    for path in ["/", "/set", "//set", short, wrong.as_str()] {
        assert_eq!(status("GET", path, &[own]), 403, "{path}");
        assert_eq!(status("POST", path, &[own, json]), 403, "{path}");
    }
    for host in ["evil.example:4000", "127.0.0.1", "127.0.0.1:4001", "", "127.0.0.1:4000.evil"] {
        assert_eq!(status("POST", &set, &[("host", host), json]), 403, "{host}");
    }
    assert_eq!(status("POST", &set, &[json]), 403);
    assert_eq!(status("POST", &set, &[own, own, json]), 403);
    assert_eq!(status("POST", &format!("http://evil.example{set}"), &[own, json]), 403);
    for origin in ["http://evil.example", "null", "https://127.0.0.1:4000", "http://127.0.0.1"] {
        assert_eq!(status("POST", &set, &[own, json, ("origin", origin)]), 403, "{origin}");
        assert_eq!(status("GET", &set, &[own, ("origin", origin)]), 403, "{origin}");
    }
    for site in ["cross-site", "same-site"] {
        assert_eq!(status("POST", &set, &[own, json, ("sec-fetch-site", site)]), 403);
        let view = format!("/{TOKEN}/view");
        assert_eq!(status("GET", &view, &[own, ("sec-fetch-site", site)]), 403);
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        assert_eq!(status("POST", &set, &[own, ("content-type", kind)]), 415, "{kind}");
    }
    assert_eq!(status("POST", &set, &[own]), 415);
}
