//! Who may ask: the Host against DNS rebinding, the Origin against other sites' pages, a token where
//! others can reach the server; and what browsers are told about every answer.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::Problem;
use crate::settings::Settings;
use crate::state::Shared;

/// Nothing from elsewhere, no script or style in the page itself, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    media-src 'self'; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

/// The cookie that holds the token.
const COOKIE: &str = "stitch_token";

/// Lets a request pass or answers it.
pub async fn guard(State(state): State<Shared>, request: Request, next: Next) -> Response {
    let mut response = match admit(&state.settings, &request) {
        Ok(()) => next.run(request).await,
        Err(response) => *response,
    };
    label(response.headers_mut());
    response
}

fn admit(settings: &Settings, request: &Request) -> Result<(), Box<Response>> {
    let refuse = |problem: Problem| Box::new(problem.into_response());
    let headers = request.headers();
    let host = text(headers, header::HOST).unwrap_or_default();
    if !settings.hosts.iter().any(|known| known.eq_ignore_ascii_case(without_port(host))) {
        let why =
            "this server is not known by that name; start it with --host-name NAME to allow it";
        return Err(refuse(Problem::new(StatusCode::MISDIRECTED_REQUEST, why)));
    }
    if from_elsewhere(request.method(), headers, host) {
        let why = "pages of other sites may not ask this server";
        return Err(refuse(Problem::new(StatusCode::FORBIDDEN, why)));
    }
    match &settings.token {
        None => Ok(()),
        Some(token) => check_token(token, request),
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// The name in an authority; an IPv6 address keeps its brackets.
fn without_port(host: &str) -> &str {
    match host.rfind(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// Whether another site's page is behind the request: by its origin where it has one, and by what
/// browsers say about how it came to be.
fn from_elsewhere(method: &Method, headers: &HeaderMap, host: &str) -> bool {
    let ours = |origin: &str| {
        let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        name.is_some_and(|name| name.eq_ignore_ascii_case(host))
    };
    let safe = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let said = |name: &'static str| text(headers, HeaderName::from_static(name));
    let followed = safe && said("sec-fetch-mode") == Some("navigate");
    let foreign_site = matches!(said("sec-fetch-site"), Some("cross-site" | "same-site"));
    let foreign_origin =
        headers.contains_key(header::ORIGIN) && !text(headers, header::ORIGIN).is_some_and(ours);
    foreign_origin || foreign_site && !followed
}

/// The token comes as a header, as a cookie, or once in the address, which sets the cookie.
fn check_token(token: &str, request: &Request) -> Result<(), Box<Response>> {
    let headers = request.headers();
    let bearer = text(headers, header::AUTHORIZATION).and_then(|a| a.strip_prefix("Bearer "));
    let cookies = text(headers, header::COOKIE).unwrap_or_default();
    let cookie = cookies.split(';').find_map(|c| c.trim().strip_prefix(COOKIE)?.strip_prefix('='));
    if [bearer, cookie].into_iter().flatten().any(|given| same(given, token)) {
        return Ok(());
    }
    let in_address = query_value(request.uri(), "token").is_some_and(|given| same(given, token));
    if in_address && request.method() == Method::GET {
        return Err(Box::new(remember(token, request.uri())));
    }
    let why = "open the address that the server printed, with its token";
    Err(Box::new(Problem::new(StatusCode::UNAUTHORIZED, why).into_response()))
}

fn query_value<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// Sets the cookie and leads to the same page without the token in its address.
fn remember(token: &str, uri: &Uri) -> Response {
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

/// Whether two secrets are the same, in a time that does not tell how far they agree.
fn same(given: &str, secret: &str) -> bool {
    let differing = given.bytes().zip(secret.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == secret.len() && differing == 0
}

/// What browsers are told about every answer.
fn label(headers: &mut HeaderMap) {
    let labels = [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("x-frame-options", "DENY"),
    ];
    for (name, value) in labels {
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
    fn names_without_ports() {
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
    fn whose_page_asks() {
        let check = |method: Method, pairs: &[(&'static str, &'static str)], expected: bool| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            let found = from_elsewhere(&method, &headers, "localhost:80");
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
