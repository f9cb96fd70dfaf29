//! Access control of requests: the Host header against DNS rebinding, the Origin against cross-site requests,
//! a token against other users of this machine and of the network; and the security headers of responses.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{DOCTYPE, html};

use crate::error::ApiError;
use crate::state::{SharedState, State as ServerState};

/// Only files of this server, no inline script or style, no embedding in frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    media-src 'self'; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

/// What a request may use, by its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    All,
    /// The pages of raters, without the exports of all answers.
    Study,
    /// What a link shows, which its page checks.
    Link,
}

/// Passes a request on with its access as an extension, or refuses it.
pub async fn guard(State(state): State<SharedState>, mut request: Request, next: Next) -> Response {
    let mut response = match check(&state, &request) {
        Ok(access) => {
            request.extensions_mut().insert(access);
            next.run(request).await
        }
        Err(response) => *response,
    };
    add_security_headers(response.headers_mut());
    response
}

fn check(state: &ServerState, request: &Request) -> Result<Access, Box<Response>> {
    let refuse = |status, error: &str| Err(Box::new(ApiError::new(status, error).into_response()));
    let headers = request.headers();
    let host = text(headers, header::HOST).unwrap_or_default();
    if !state.settings.hosts.iter().any(|known| known.eq_ignore_ascii_case(without_port(host))) {
        let error =
            "this host name is not allowed; start the server with --host-name NAME to allow it";
        return refuse(StatusCode::MISDIRECTED_REQUEST, error);
    }
    if is_cross_site(request.method(), headers, host) {
        return refuse(StatusCode::FORBIDDEN, "cross-site requests are not allowed");
    }
    let path = request.uri().path();
    // The assets are the same in every copy of the program.
    let open = ["/shared/", "/assets/"].iter().any(|start| path.starts_with(start));
    let open = open || path == "/health";
    if open && request.method().is_safe() {
        return Ok(Access::Link);
    }
    let Some(token) = &state.settings.token else { return Ok(Access::All) };
    let study_token = state.study.as_ref().map(|study| study.token.as_str());
    let access = |given: &str| match given {
        given if same(given, token) => Some(Access::All),
        given if is_for_raters(path) && study_token.is_some_and(|token| same(given, token)) => {
            Some(Access::Study)
        }
        _ => None,
    };
    let cookie = cookie_name(host);
    if let Some(access) = given_tokens(headers, &cookie).find_map(access) {
        return Ok(access);
    }
    let in_url = query_value(request.uri(), "token").filter(|given| access(given).is_some());
    match in_url.filter(|_| request.method() == Method::GET) {
        Some(token) => Err(Box::new(set_cookie(&cookie, token, path, headers))),
        None => refuse(
            StatusCode::UNAUTHORIZED,
            "open the URL that the server printed, which contains the token",
        ),
    }
}

fn is_for_raters(path: &str) -> bool {
    path == "/study" || ["/study/", "/api/study/raters"].iter().any(|start| path.starts_with(start))
}

/// The name of the token's cookie. Browsers send a host's cookies to all of its ports, so the port tells
/// the cookies of several servers apart.
fn cookie_name(host: &str) -> String {
    let port = host[without_port(host).len()..].trim_start_matches(':');
    port.parse::<u16>().map_or("stitch_token".into(), |port| format!("stitch_token_{port}"))
}

/// The tokens in a request's headers: as a bearer token, and as a cookie of this name.
fn given_tokens<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let bearer = text(headers, header::AUTHORIZATION).and_then(|a| a.strip_prefix("Bearer "));
    let cookies = text(headers, header::COOKIE).unwrap_or_default().split(';');
    let cookie = cookies.filter_map(move |c| c.trim().strip_prefix(name)?.strip_prefix('='));
    bearer.into_iter().chain(cookie)
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

fn query_value<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// Sets the cookie and leads to the same page without the token in its URL. Browsers send no strict cookie
/// along a redirect from another site, such as a link in a web mail: there a page reloads itself.
fn set_cookie(name: &str, token: &str, path: &str, headers: &HeaderMap) -> Response {
    let cookie = format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000");
    let cookie = [(header::SET_COOKIE, cookie)];
    if text(headers, HeaderName::from_static("sec-fetch-site")) != Some("cross-site") {
        return (cookie, Redirect::to(path)).into_response();
    }
    let reload = html! { (DOCTYPE) meta http-equiv="refresh" content={ "0; url=" (path) }; };
    (cookie, Html(reload.into_string())).into_response()
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
    fn the_cookies_name_has_the_port() {
        let table = [
            ("localhost:80", "stitch_token_80"),
            ("[::1]:7878", "stitch_token_7878"),
            ("localhost", "stitch_token"),
            ("localhost:a; Domain=b", "stitch_token"),
        ];
        for (host, name) in table {
            assert_eq!(cookie_name(host), name, "{host}");
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
