//! A procedure at a web address: one page, within limits of time, size and kind.

use std::io::{self, Read};
use std::net::IpAddr;
use std::time::Duration;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use super::source::MAX_BYTES;

const MAX_TIME: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: u32 = 5;

/// Why an address gives no page.
#[derive(Debug, thiserror::Error)]
#[error("{url}: {reason}; check the address, or save the page and give the file")]
pub struct DownloadError {
    pub url: String,
    pub reason: String,
}

/// Whether the text is a web address rather than the name of a file.
pub fn is_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    })
}

/// The text at an address and a file name that tells its form.
pub fn download(url: &str) -> Result<(String, Vec<u8>), DownloadError> {
    let failed = |reason: String| DownloadError { url: url.into(), reason };
    let response = agent(url).get(url).call().map_err(|error| failed(error.to_string()))?;
    let status = response.status();
    if !status.is_success() {
        return Err(failed(format!("the server answered {status}")));
    }
    let kind = response.body().mime_type().unwrap_or_default().to_lowercase();
    let extension = extension(&kind).ok_or_else(|| failed(format!("it is {kind}, not a text")))?;
    let mut bytes = Vec::new();
    let body = response.into_body().into_with_config().limit(u64::MAX).reader();
    // One byte more than may be read tells that there are too many.
    let read = body.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed(error.to_string()))?;
    Ok((format!("page{extension}"), bytes))
}

/// The file extension for a media type; none if it is no text. Servers that name no type are believed.
fn extension(kind: &str) -> Option<&'static str> {
    match kind {
        "text/html" | "application/xhtml+xml" => Some(".html"),
        "text/markdown" => Some(".md"),
        "" => Some(""),
        kind if kind.starts_with("text/") || kind.ends_with("json") => Some(""),
        _ => None,
    }
}

fn agent(url: &str) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(MAX_TIME))
        .max_redirects(MAX_REDIRECTS)
        .user_agent(concat!("stitch/", env!("CARGO_PKG_VERSION")))
        .http_status_as_error(false)
        .build();
    let typed = url.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
    let resolver = TypedOrPublic { typed, default: DefaultResolver::default() };
    ureq::Agent::with_parts(config, DefaultConnector::default(), resolver)
}

/// Finds the addresses of hosts. A server on the web must not send us to one of the user's own network; the user and
/// their proxy may.
#[derive(Debug)]
struct TypedOrPublic {
    /// The host that the user named.
    typed: Option<String>,
    default: DefaultResolver,
}

impl Resolver for TypedOrPublic {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.default.resolve(uri, config, timeout)?;
        let proxy = config.proxy().map(|proxy| proxy.host());
        let is_trusted = [self.typed.as_deref(), proxy].contains(&uri.host());
        if is_trusted || found.iter().all(|address| is_public(address.ip())) {
            return Ok(found);
        }
        let host = uri.host().unwrap_or_default();
        let reason = format!("it leads to {host}, which is not on the public web");
        Err(io::Error::new(io::ErrorKind::PermissionDenied, reason).into())
    }
}

fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let carrier = v4.octets()[0] == 100 && v4.octets()[1] & 0xc0 == 64;
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_unspecified()
                || carrier)
        }
        IpAddr::V6(v6) => {
            let is_own = v6.is_unique_local() || v6.is_unicast_link_local();
            !(v6.is_loopback() || v6.is_unspecified() || is_own)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    /// Serves these answers, one for each connection, and returns the address.
    fn serve(answers: Vec<String>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for answer in answers {
                let mut stream = listener.accept().unwrap().0;
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                lines.map_while(Result::ok).find(String::is_empty);
                // A client that has read enough closes early.
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        format!("http://127.0.0.1:{port}")
    }

    fn answer(status: &str, headers: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\n{headers}Connection: close\r\n\r\n{body}")
    }

    fn refused(answers: Vec<String>) -> String {
        download(&format!("{}/soup", serve(answers))).unwrap_err().to_string()
    }

    #[test]
    fn a_page_is_read_also_after_a_redirect() {
        let html =
            answer("200 OK", "Content-Type: text/html; charset=utf-8\r\n", "<ol><li>Chop</ol>");
        let moved = answer("302 Found", "Location: /new\r\nContent-Length: 0\r\n", "");
        let url = format!("{}/soup", serve(vec![moved, html]));
        let page = b"<ol><li>Chop</ol>".to_vec();
        assert_eq!(download(&url).unwrap(), ("page.html".into(), page));
        let text = answer("200 OK", "", "Chop the onion");
        assert_eq!(
            download(&serve(vec![text])).unwrap(),
            ("page".into(), b"Chop the onion".into())
        );
    }

    #[test]
    fn what_is_no_text_within_the_limits_is_refused_with_the_reason() {
        let error = refused(vec![answer("404 Not Found", "", "")]);
        assert!(error.contains("answered 404") && error.contains("save the page"), "{error}");
        let error = refused(vec![answer("200 OK", "Content-Type: video/mp4\r\n", "x")]);
        assert!(error.contains("it is video/mp4, not a text"), "{error}");
        let again = answer("302 Found", "Location: /soup\r\nContent-Length: 0\r\n", "");
        let error = refused(vec![again; MAX_REDIRECTS as usize + 1]);
        assert!(error.contains("redirect"), "{error}");
        assert!(download("http://127.0.0.1:1/").is_err());
        assert!(download("https:///").is_err());
    }

    #[test]
    fn a_page_that_is_too_large_is_read_no_further_than_the_limit() {
        let huge = answer("200 OK", "", &"x".repeat(MAX_BYTES + 100_000));
        let (_, bytes) = download(&serve(vec![huge])).unwrap();
        assert_eq!(bytes.len(), MAX_BYTES + 1, "what reads it then says that it is too large");
    }

    #[test]
    fn a_server_cannot_send_us_into_the_own_network() {
        let moved = "Location: http://localhost:1/secret\r\nContent-Length: 0\r\n";
        let error = refused(vec![answer("302 Found", moved, "")]);
        assert!(error.contains("leads to localhost"), "{error}");
        let own = [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "::1",
            "fe80::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "0.0.0.0",
        ];
        assert!(own.iter().all(|address| !is_public(address.parse().unwrap())));
        let public = ["93.184.216.34", "100.128.0.1", "2606:2800::1"];
        assert!(public.iter().all(|address| is_public(address.parse().unwrap())));
    }

    #[test]
    fn addresses_are_told_from_files() {
        assert!(is_address("https://example.org/soup") && is_address("HTTP://example.org"));
        assert!(
            !is_address("soup.txt") && !is_address("file:///soup") && !is_address("https:soup")
        );
    }
}
