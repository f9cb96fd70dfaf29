//! Access control of requests: the Host header against DNS rebinding, the Origin against cross-site requests,
//! a token where other machines can reach the server; and the security headers of responses.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;
use crate::settings::Settings;
use crate::state::SharedState;

/// Only files of this server, no inline script or style, no embedding in frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    media-src 'self'; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

const COOKIE: &str = "stitch_token";

/// Passes a request on, or refuses it.
pub async fn guard(State(state): State<SharedState>, request: Request, next: Next) -> Response {
    let mut response = match check(&state.settings, &request) {
        Ok(()) => next.run(request).await,
        Err(response) => *response,
    };
    add_security_headers(response.headers_mut());
    response
}

fn check(settings: &Settings, request: &Request) -> Result<(), Box<Response>> {
    let refuse = |status, error: &str| Err(Box::new(ApiError::new(status, error).into_response()));
    let headers = request.headers();
    let host = text(headers, header::HOST).unwrap_or_default();
    if !settings.hosts.iter().any(|known| known.eq_ignore_ascii_case(without_port(host))) {
        let error =
            "this host name is not allowed; start the server with --host-name NAME to allow it";
        return refuse(StatusCode::MISDIRECTED_REQUEST, error);
    }
    if is_cross_site(request.method(), headers, host) {
        return refuse(StatusCode::FORBIDDEN, "cross-site requests are not allowed");
    }
    match &settings.token {
        None => Ok(()),
        Some(token) => check_token(token, request),
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// The host of a Host header; an IPv6 address keeps its brackets.
fn without_port(host: &str) -> &str {
    match host.rfind(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// Whether another site caused the request, by its Origin and Sec-Fetch headers. Links from other sites to
/// pages are allowed.
fn is_cross_site(method: &Method, headers: &HeaderMap, host: &str) -> bool {
    let ours = |origin: &str| {
        let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        name.is_some_and(|name| name.eq_ignore_ascii_case(host))
    };
    let safe = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let value = |name: &'static str| text(headers, HeaderName::from_static(name));
    let is_link = safe && value("sec-fetch-mode") == Some("navigate");
    let foreign_site = matches!(value("sec-fetch-site"), Some("cross-site" | "same-site"));
    let foreign_origin =
        headers.contains_key(header::ORIGIN) && !text(headers, header::ORIGIN).is_some_and(ours);
    foreign_origin || foreign_site && !is_link
}

/// Accepts the token as a header, as a cookie, or in the URL, which sets the cookie.
fn check_token(token: &str, request: &Request) -> Result<(), Box<Response>> {
    let headers = request.headers();
    let bearer = text(headers, header::AUTHORIZATION).and_then(|a| a.strip_prefix("Bearer "));
    let cookies = text(headers, header::COOKIE).unwrap_or_default();
    let cookie = cookies.split(';').find_map(|c| c.trim().strip_prefix(COOKIE)?.strip_prefix('='));
    if [bearer, cookie].into_iter().flatten().any(|given| same(given, token)) {
        return Ok(());
    }
    let in_url = query_value(request.uri(), "token").is_some_and(|given| same(given, token));
    if in_url && request.method() == Method::GET {
        return Err(Box::new(set_cookie(token, request.uri())));
    }
    let error = "open the URL that the server printed, which contains the token";
    Err(Box::new(ApiError::new(StatusCode::UNAUTHORIZED, error).into_response()))
}

fn query_value<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// Sets the cookie and redirects to the same page without the token in its URL.
fn set_cookie(token: &str, uri: &Uri) -> Response {
    let cookie = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000");
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let parts = [(header::SET_COOKIE, cookie.as_str()), (header::LOCATION, uri.path())];
    for (name, value) in parts {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Compares two secrets in a time that does not depend on where they differ.
fn same(given: &str, secret: &str) -> bool {
    let differing = given.bytes().zip(secret.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == secret.len() && differing == 0
}

fn add_security_headers(headers: &mut HeaderMap) {
    let values = [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("x-frame-options", "DENY"),
    ];
    for (name, value) in values {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_without_ports() {
        let table = [
            ("localhost:80", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
            ("", ""),
        ];
        for (host, name) in table {
            assert_eq!(without_port(host), name, "{host}");
        }
    }

    #[test]
    fn cross_site_requests() {
        let check = |method: Method, pairs: &[(&'static str, &'static str)], expected: bool| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            let found = is_cross_site(&method, &headers, "localhost:80");
            assert_eq!(found, expected, "{method} {pairs:?}");
        };
        check(Method::POST, &[], false); // no browser
        check(Method::POST, &[("origin", "http://localhost:80")], false);
        check(Method::POST, &[("origin", "http://localhost:3000")], true);
        check(Method::POST, &[("origin", "http://evil.example")], true);
        check(Method::POST, &[("origin", "null")], true);
        check(Method::POST, &[("sec-fetch-site", "cross-site")], true);
        let link = ("sec-fetch-mode", "navigate");
        check(Method::GET, &[("sec-fetch-site", "cross-site"), link], false);
        check(Method::POST, &[("sec-fetch-site", "cross-site"), link], true);
        check(Method::GET, &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")], true);
        check(Method::GET, &[("sec-fetch-site", "same-origin")], false);
    }
}
