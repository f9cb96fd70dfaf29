//! Jobs: followed, cancelled, continued after a restart, each run once.

use std::fs::FileTimes;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::json;
use stitch_engine::library::Library;
use stitch_server::jobs::{JobKind, JobStatus, Task};
use stitch_server::worker;

use crate::site::{Site, try_open};

#[test]
fn events_tell_a_job_to_its_end() {
    let site = Site::indexed();
    let question = json!({"procedure": {"steps": ["Chop the onion"]}});
    let job = site.post("/api/demonstrations", &question).json()["job"]["id"].as_i64().unwrap();
    let state = site.state.clone();
    let worker = std::thread::spawn(move || worker::run_next(&state, JobKind::Make));
    let events = site.get(&format!("/api/jobs/{job}/events"));
    worker.join().unwrap().unwrap();
    assert_eq!(events.header("content-type"), "text/event-stream");
    let last = events.text().trim().lines().last().unwrap().to_owned();
    assert!(last.starts_with("data: ") && last.contains("\"done\""), "{}", events.text());
}

#[test]
fn what_waits_can_be_called_off_and_is_never_begun() {
    let site = Site::indexed();
    let question = json!({"procedure": {"steps": ["Chop the onion"]}});
    let begun = site.post("/api/demonstrations", &question).json();
    let job = format!("/api/jobs/{}", begun["job"]["id"]);
    assert_eq!(site.delete(&job).json()["status"], "cancelled");
    assert!(!worker::run_next(&site.state, JobKind::Make).unwrap());
    assert_eq!(site.delete("/api/jobs/999").status, 404);
}

#[test]
fn what_was_running_goes_on_after_a_restart() {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion"]);
    let job = site.post(&format!("/api/demonstrations/{id}/renders"), &json!({})).json();
    // Claimed, and then the power went.
    site.state.jobs.claim(JobKind::Render).unwrap().unwrap();
    let site = site.restarted();
    let path = format!("/api/jobs/{}", job["id"]);
    assert_eq!(site.get(&path).json()["status"], "queued");
    assert!(worker::run_next(&site.state, JobKind::Render).unwrap());
    let done = site.get(&path).json();
    assert_eq!((&done["status"], &done["runs"]), (&json!("done"), &json!(2)));
    assert_eq!(site.get(&format!("{path}/video")).status, 200);
}

#[test]
fn a_job_that_twice_ended_the_server_fails_and_is_not_run_again() {
    let mut site = Site::new();
    let job = site.post("/api/index", &json!({"folder": site.path("videos")})).json();
    for _ in 0..2 {
        site.state.jobs.claim(JobKind::Index).unwrap().unwrap();
        site = site.restarted();
    }
    let failed = site.get(&format!("/api/jobs/{}", job["id"])).json();
    assert_eq!(failed["status"], "failed");
    assert!(failed["message"].as_str().unwrap().contains("twice"), "{failed}");
    assert!(!worker::run_next(&site.state, JobKind::Index).unwrap());
}

#[test]
fn a_job_may_stop_with_the_server_any_number_of_times() {
    let mut site = Site::new();
    let id = site.post("/api/index", &json!({"folder": site.path("videos")})).json()["id"].clone();
    for _ in 0..3 {
        site.state.jobs.claim(JobKind::Index).unwrap().unwrap();
        site.state.jobs.end(id.as_i64().unwrap(), JobStatus::Queued, None).unwrap();
        site = site.restarted();
    }
    let job = site.get(&format!("/api/jobs/{id}")).json();
    assert_eq!((&job["status"], &job["runs"]), (&json!("queued"), &json!(0)));
}

#[test]
fn beyond_the_budget_a_video_that_nobody_watched_is_removed_and_its_job_says_so() {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion"]);
    let render = || {
        let job = site.post(&format!("/api/demonstrations/{id}/renders"), &json!({})).json();
        assert!(worker::run_next(&site.state, JobKind::Render).unwrap());
        job["id"].as_i64().unwrap()
    };
    let jobs = [render(), render()];
    for job in jobs {
        let file = std::fs::File::open(site.state.render_file(job)).unwrap();
        let yesterday = SystemTime::now() - Duration::from_secs(24 * 3600);
        file.set_times(FileTimes::new().set_accessed(yesterday)).unwrap();
    }
    let video = |site: &Site, job: i64| site.get(&format!("/api/jobs/{job}/video")).status.as_u16();
    assert_eq!(video(&site, jobs[1]), 200, "watched now");
    let site = site.restarted_with(|settings| settings.render_budget = 0);
    assert!(!site.state.render_file(jobs[0]).exists());
    assert_eq!([video(&site, jobs[0]), video(&site, jobs[1])], [409, 200]);
    let removed = site.get(&format!("/api/jobs/{}", jobs[0])).json();
    assert!(removed["message"].as_str().unwrap().contains("render it again"), "{removed}");
}

#[test]
fn a_second_server_leaves_the_jobs_of_the_first_alone() {
    let site = Site::new();
    let job = site.post("/api/index", &json!({"folder": site.path("videos")})).json();
    site.state.jobs.claim(JobKind::Index).unwrap().unwrap();
    let refused = try_open(site.folder.path(), site.state.settings.clone());
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains(&format!("process {} serves", std::process::id())), "{refused}");
    let job = site.get(&format!("/api/jobs/{}", job["id"])).json();
    assert_eq!(job["status"], "running");
}

#[test]
fn an_index_job_beside_another_writer_fails_and_says_who_writes() {
    let site = Site::new();
    let other = Library::open(&site.path("library")).unwrap();
    let lock = other.lock_writer().unwrap();
    let job = site.post("/api/index", &json!({"folder": site.path("videos")})).json();
    worker::run_next(&site.state, JobKind::Index).unwrap();
    let failed = site.get(&format!("/api/jobs/{}", job["id"])).json();
    assert_eq!(failed["status"], "failed");
    assert!(failed["message"].as_str().unwrap().contains("is writing to the library"), "{failed}");
    drop(lock);
    site.index();
}

#[test]
fn many_hands_do_every_job_once() {
    let site = Site::indexed();
    let question = json!({"procedure": {"steps": ["Chop the onion", "Sand the board"]}});
    for _ in 0..20 {
        assert_eq!(site.post("/api/demonstrations", &question).status, 202);
    }
    let state = site.state.clone();
    let hands: Vec<_> = (0..4)
        .map(|_| {
            let state = Arc::clone(&state);
            std::thread::spawn(move || {
                let mut done = 0;
                while worker::run_next(&state, JobKind::Make).unwrap() {
                    done += 1;
                }
                done
            })
        })
        .collect();
    assert_eq!(hands.into_iter().map(|hand| hand.join().unwrap()).sum::<usize>(), 20);
    let jobs = site.get("/api/jobs").json();
    let made: Vec<_> =
        jobs.as_array().unwrap().iter().filter(|job| job["kind"] == "make").collect();
    assert!(made.iter().all(|job| job["status"] == "done" && job["runs"] == 1), "{jobs}");
}

#[test]
fn the_queue_has_an_end() {
    let site = Site::with(|settings| settings.max_jobs = 2);
    let question = json!({"procedure": {"steps": ["Chop the onion"]}});
    let post = || site.post("/api/demonstrations", &question).status.as_u16();
    assert_eq!([post(), post(), post()], [202, 202, 429]);
    assert_eq!(
        site.get("/api/demonstrations").json().as_array().unwrap().len(),
        2,
        "nothing is left of it"
    );
}

#[test]
fn a_job_of_something_gone_fails_and_says_so() {
    let site = Site::indexed();
    let task = Task::Make { demonstration: 77 };
    let job = site.state.jobs.enqueue(&task).unwrap();
    worker::run_next(&site.state, JobKind::Make).unwrap();
    let failed = site.get(&format!("/api/jobs/{}", job.id)).json();
    assert_eq!(failed["status"], "failed");
    assert!(failed["message"].as_str().unwrap().contains("no such demonstration"));
}

#[test]
fn a_job_of_another_version_hides_no_other() {
    let site = Site::indexed();
    let add = "PRAGMA ignore_check_constraints = ON;
        INSERT INTO jobs (kind, work, status, warnings, created_ms)
        VALUES ('polish', '{}', 'paused', 'none', 0);";
    site.state.database.lock().execute_batch(add).unwrap();
    let jobs = site.get("/api/jobs").json();
    assert_eq!(jobs.as_array().unwrap().len(), 2, "{jobs}");
    assert_eq!((&jobs[0]["status"], &jobs[0]["warnings"]), (&json!("failed"), &json!([])));
    assert_eq!(site.get("/").status, 200);
}
