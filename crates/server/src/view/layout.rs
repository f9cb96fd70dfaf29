//! The layout of every page, and parts that several pages share.

use std::sync::LazyLock;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use crate::error::ApiError;
use crate::guard::Access;
use crate::state::State;

pub const STYLE: &str = include_str!("../../assets/page.css");
pub const SCRIPT: &str = include_str!("../../assets/page.js");
pub const ICON: &str = include_str!("../../assets/icon.svg");

/// Part of the assets' URLs, so that browsers cache them until they change.
pub static VERSION: LazyLock<String> = LazyLock::new(|| {
    let bytes = STYLE.bytes().chain(SCRIPT.bytes()).chain(ICON.bytes());
    // FNV-1a.
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{hash:016x}")
});

/// The entries of the navigation bar; a demonstration has none, and raters see only the study.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NavItem {
    Library,
    New,
    Batch,
    Study,
    StudyOnly,
    /// The page of a link leads nowhere else.
    Link,
    None,
}

impl From<Access> for NavItem {
    fn from(access: Access) -> Self {
        match access {
            Access::All => Self::Study,
            Access::Study => Self::StudyOnly,
            Access::Link => Self::Link,
        }
    }
}

pub fn page(state: &State, current: NavItem, title: &str, content: &Markup) -> Markup {
    let asset = |name: &str| format!("/assets/{}/{name}", *VERSION);
    let for_rater = current == NavItem::StudyOnly;
    let current = if for_rater { NavItem::Study } else { current };
    let here = |item: NavItem| (current == item).then_some("page");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · stitch" }
                link rel="icon" type="image/svg+xml" href=(asset("icon.svg"));
                link rel="stylesheet" href=(asset("page.css"));
                script src=(asset("page.js")) defer {}
            }
            body {
                a.skip href="#main" { "Skip to content" }
                @if current != NavItem::Link { header.top {
                    a.brand href=(if for_rater { "/study" } else { "/" }) { (icon("mark")) "stitch" }
                    nav aria-label="Pages" {
                        @if !for_rater {
                            a href="/" aria-current=[here(NavItem::Library)] { "Library" }
                            a href="/new" aria-current=[here(NavItem::New)] { "New" span.wide { " demonstration" } }
                            a href="/batch" aria-current=[here(NavItem::Batch)] { "Batch" }
                        }
                        @if state.study.is_some() {
                            a href="/study" aria-current=[here(NavItem::Study)] { "Study" }
                        }
                    }
                    button.quiet type="button" data-action="keys" aria-label="Keyboard shortcuts" { "?" }
                } }
                main #main tabindex="-1" { (content) }
                div #toast role="status" aria-live="polite" {}
                (dialogs())
            }
        }
    }
}

/// The player of single clips, and the list of keyboard shortcuts.
fn dialogs() -> Markup {
    let keys = [
        ("Space or K", "play or pause"),
        ("← →", "five seconds back or forward"),
        ("P N", "previous or next step"),
        ("L", "lock or unlock the step"),
        ("B", "ban the clip"),
        ("1 … 8", "use this alternative"),
        ("R", "search again, keeping locked steps"),
        ("U  Shift+U", "undo, redo"),
        ("C  M  F", "captions, mute, full screen"),
        ("/", "search the library"),
    ];
    html! {
        dialog #clip aria-labelledby="clip-title" {
            h2 #clip-title { "Clip" }
            video controls playsinline preload="none" {}
            p.soft #clip-text {}
            form method="dialog" { button autofocus { "Close" } }
        }
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keyboard shortcuts" }
            dl.keys {
                @for (key, what) in keys { dt { kbd { (key) } } dd { (what) } }
            }
            form method="dialog" { button autofocus { "Close" } }
        }
    }
}

/// An icon without meaning of its own: the text beside it says the same.
pub fn icon(name: &str) -> Markup {
    let path = match name {
        "mark" => "M4 7h9a4 4 0 0 1 0 8H9m0 0 3-3m-3 3 3 3",
        "lock" => "M6 11V8a4 4 0 0 1 8 0v3M5 11h10v7H5z",
        "unlock" => "M6 11V8a4 4 0 0 1 7.5-2M5 11h10v7H5z",
        "ban" => "M4.5 15.5l11-11M10 18a8 8 0 1 1 0-16 8 8 0 0 1 0 16z",
        "trim" => "M7 6v12M13 2v12M3 6h10M7 14h10",
        "source" => "M3 5h14v10H3zM8 8l4 2-4 2z",
        "leave" => "M5 5l10 10M15 5 5 15",
        "undo" => "M8 5 4 9l4 4M4 9h8a4 4 0 0 1 0 8H9",
        "redo" => "M12 5l4 4-4 4M16 9H8a4 4 0 0 0 0 8h3",
        "solve" => "M16 10a6 6 0 1 1-2-4.5M16 3v4h-4",
        "warn" => "M10 3 2.5 16.5h15zM10 8v4m0 2.2v.2",
        "up" => "M10 16V4M5 9l5-5 5 5",
        "down" => "M10 4v12M5 11l5 5 5-5",
        "merge" => "M5 4v4q0 3 5 4v5M15 4v4q0 3-5 4",
        "plus" => "M10 4v12M4 10h12",
        "play" => "M6 3.5 16.5 10 6 16.5z",
        "pause" => "M7 4v12M13 4v12",
        "previous" => "M15.5 4 7 10l8.5 6zM4.5 4v12",
        "next" => "M4.5 4l8.5 6-8.5 6zM15.5 4v12",
        "folder" => "M2 5h6l2 2h8v9H2z",
        _ => "",
    };
    html! {
        svg class={ "icon i-" (name) } viewBox="0 0 20 20" aria-hidden="true" focusable="false" { path d=(path) {} }
    }
}

/// The CSS class of a source's colour.
pub fn source_colour(index: usize) -> String {
    format!("hue{}", index % 8)
}

/// The URL of a frame.
pub fn thumbnail(video: u32, at_ms: u64) -> String {
    format!("/api/videos/{video}/picture?at={}", at_ms / 100 * 100)
}

pub fn respond(status: StatusCode, page: Markup) -> Response {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], page.into_string())
        .into_response()
}

/// With a link to a page that the request may open.
pub fn error_page(state: &State, access: Access, error: &ApiError) -> Response {
    let (item, link) = match access {
        Access::All => (NavItem::None, Some(("/", "Go to the library"))),
        Access::Study => (NavItem::StudyOnly, Some(("/study", "Back to the study"))),
        Access::Link => (NavItem::Link, None),
    };
    let content = html! {
        section.narrow {
            h1 { "An error occurred" }
            p.lead { (error.error) }
            @if let Some((url, label)) = link { p { a.button href=(url) { (label) } } }
        }
    };
    respond(error.status, page(state, item, "Error", &content))
}
