//! SIGINT and SIGKILL during a command, then the same command again: the same result, nothing lost.

mod common;

use common::Home;

/// A library large enough to be interrupted in the middle of.
fn many_videos() -> Home {
    let home = Home::with_videos();
    for number in 3..8 {
        home.video(&format!("videos/video {number}.mp4"), number, &["Mix the flour.", "Bake it."]);
    }
    home
}

#[test]
fn an_interrupted_index_goes_on_and_ends_the_same() {
    let whole = many_videos();
    whole.run(&["index", "videos"]).success();
    let whole = whole.library_content().1;
    for signal in ["-INT", "-KILL"] {
        let home = many_videos();
        let ended = home.interrupt(&["index", "videos"], "indexing", signal);
        // A run that was quick enough to end well is no failure of this test.
        assert!(ended.code().is_none_or(|code| [0, 130].contains(&code)), "{ended}");
        home.run(&["index", "videos"]).success();
        assert_eq!(home.library_content().1, whole, "after {signal}");
    }
}

#[test]
fn an_interrupted_make_goes_on_and_ends_the_same() {
    let home = Home::indexed();
    home.write("soup.txt", "Chop the onion\nBoil the carrot\nPaint the board\nSand the board\n");
    let arguments = ["make", "soup.txt", "--threshold=0", "--size", "160x90", "-o", "soup.mp4"];
    home.run(&arguments).success();
    let whole = std::fs::read(home.path("soup.mp4")).unwrap();
    for signal in ["-INT", "-KILL"] {
        std::fs::remove_file(home.path("soup.mp4")).unwrap();
        std::fs::remove_dir_all(home.path("home/cache")).unwrap();
        home.interrupt(&arguments, "encoding", signal);
        home.run(&arguments).success();
        assert!(std::fs::read(home.path("soup.mp4")).unwrap() == whole, "after {signal}");
    }
}
