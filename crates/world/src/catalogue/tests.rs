//! Every entry of the data files is checked; a bad one is reported with its file and key.

use std::collections::HashSet;

use super::*;
use crate::truth::flow_problem;

/// What is wrong with a catalogue, each with the file and the key.
fn problems(catalogue: &Catalogue) -> Vec<String> {
    let mut found = Vec::new();
    let mut slugs = HashSet::new();
    let mut keys = HashSet::new();
    let mut wordings = HashSet::new();
    let mut actions = HashSet::new();
    for (data, (file, _)) in catalogue.domains.iter().zip(DOMAINS) {
        let mut report =
            |key: String, problem: &str| found.push(format!("{file}: {key}: {problem}"));
        if data.gerunds.is_empty() {
            report("gerunds".into(), "is empty");
        }
        for task in &data.tasks {
            task_problems(data, task, &mut report);
            if !slugs.insert(&task.slug) {
                report(format!("tasks.{}.slug", task.slug), "is used twice");
            }
        }
        for (name, step) in &data.steps {
            let key = format!("steps.{name}");
            step_problems(&key, step, &mut wordings, &mut report);
            if !keys.insert(name) || !actions.insert(step.action()) {
                report(key.clone(), "its key or action is used twice");
            }
            if !data.tasks.iter().flat_map(|task| &task.steps).any(|each| &each.step == name) {
                report(key, "no task uses it");
            }
        }
    }
    found.extend(procedure_problems(catalogue));
    found.extend(speech_problems(&catalogue.speech));
    found
}

fn task_problems(data: &DomainData, task: &Task, report: &mut impl FnMut(String, &str)) {
    let key = |name: &str| format!("tasks.{}.{name}", task.slug);
    if task.titles.is_empty() {
        report(key("titles"), "is empty");
    }
    for (at, step) in task.steps.iter().enumerate() {
        let key = key(&format!("steps.{}", step.step));
        if !data.steps.contains_key(&step.step) {
            return report(key, "there is no such step");
        }
        let earlier = |name: &String| task.steps[..at].iter().any(|each| &each.step == name);
        if !step.after.iter().all(earlier) {
            report(format!("{key}.after"), "names a step that does not come earlier in the task");
        }
    }
    for left_out in [false, true] {
        let shown = task.steps.iter().filter(|step| !left_out || !step.optional);
        if let Some(problem) = flow_problem(shown.map(|s| data.steps[&s.step].things.as_slice())) {
            report(key("steps"), &problem);
        }
    }
}

fn step_problems<'a>(
    key: &str,
    step: &'a StepData,
    wordings: &mut HashSet<&'a str>,
    report: &mut impl FnMut(String, &str),
) {
    for (name, list) in [
        ("things", step.things.len()),
        ("narrations", step.narrations.len()),
        ("queries", step.queries.len()),
    ] {
        if list == 0 {
            report(format!("{key}.{name}"), "is empty");
        }
    }
    let named = |name, list: &'a [String]| list.iter().map(move |words| (name, words.as_str()));
    for (name, words) in
        named("narrations", &step.narrations).chain(named("queries", &step.queries))
    {
        let key = format!("{key}.{name}: {words:?}");
        if !wordings.insert(words) {
            report(key.clone(), "is used twice");
        }
        if !words.starts_with(char::is_lowercase) || words.ends_with('.') {
            report(key.clone(), "must begin with a small letter and end without a full stop");
        }
        if !(3..=14).contains(&words.split(' ').count()) {
            report(key, "must have 3 to 14 words");
        }
    }
}

fn procedure_problems(catalogue: &Catalogue) -> Vec<String> {
    let known = |name: &String| catalogue.steps().any(|(key, _)| key == name);
    let unknown = |procedure: &ProcedureData| {
        let name = procedure.steps.iter().find(|name| !known(name))?;
        let (file, title) = (PROCEDURES.0, &procedure.title);
        Some(format!("{file}: procedures.{title:?}.steps: there is no step {name:?}"))
    };
    catalogue.procedures.iter().filter_map(unknown).collect()
}

fn speech_problems(speech: &Speech) -> Vec<String> {
    let mut found = Vec::new();
    let mut report =
        |key: &str, problem: &str| found.push(format!("{}: {key}: {problem}", SPEECH.0));
    for (key, list, placeholder) in [
        ("first_step", &speech.first_step, "{}"),
        ("middle_step", &speech.middle_step, "{}"),
        ("last_step", &speech.last_step, "{}"),
        ("remarks", &speech.remarks, ""),
        ("hellos", &speech.hellos, "{presenter}"),
        ("topics", &speech.topics, "{task}"),
        ("chatter", &speech.chatter, ""),
        ("farewells", &speech.farewells, ""),
        ("goodbyes", &speech.goodbyes, ""),
    ] {
        if list.is_empty() {
            report(key, "is empty");
        }
        if let Some(text) = list.iter().find(|text| !text.contains(placeholder)) {
            report(key, &format!("{text:?} has no {placeholder}"));
        }
    }
    for presenter in &speech.presenters {
        if speech.voices.get(&presenter.voice).is_none_or(Vec::is_empty) {
            report(&format!("presenters.{}.voice", presenter.name), "there is no such voice");
        }
    }
    found
}

#[test]
fn every_entry_is_valid() {
    let catalogue = read().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(problems(&catalogue), Vec::<String>::new());
}

#[test]
fn a_bad_entry_is_reported_with_its_file_and_key() {
    let reported = |at: usize, from: &str, to: &str| {
        let (file, text) = DOMAINS[at];
        assert!(text.contains(from), "{from}");
        let mut catalogue = read().unwrap();
        match parse(file, &text.replacen(from, to, 1)) {
            Ok(data) => catalogue.domains[at] = data,
            Err(error) => return error,
        }
        problems(&catalogue).join("\n")
    };
    for (at, from, to, expected) in [
        (0, "verb = \"chop\"", "verb = \"chopp\"", ["cooking.toml", "chopp"]),
        (0, "queries = [", "questions = [", ["cooking.toml", "questions"]),
        (
            1,
            "{ step = \"saw_board\"",
            "{ step = \"saw\"",
            ["woodworking.toml", "birdhouse.steps.saw:"],
        ),
        (1, "after = [\"sand_board\"", "after = [\"varnish_bookshelf\"", ["bookshelf", ".after"]),
        (
            1,
            "\"saw the board to size\"",
            "\"Saw it.\"",
            ["steps.saw_board.queries", "small letter"],
        ),
        (
            2,
            "before = \"dug\"",
            "before = \"flat\"",
            ["gardening.toml: tasks.", "GardenBed was Dug"],
        ),
        (
            2,
            "\"fill the pot with soil\"",
            "\"sow the basil seeds in the pot\"",
            ["steps.", "twice"],
        ),
    ] {
        let report = reported(at, from, to);
        assert!(expected.iter().all(|part| report.contains(part)), "{from}: {report}");
    }
}

#[test]
fn twelve_tasks_four_a_domain() {
    assert!(catalogue().domains.iter().all(|domain| domain.tasks.len() == 4));
    assert_eq!(catalogue().tasks().count(), 12);
}

#[test]
fn what_shares_a_thing_keeps_its_order() {
    let (cooking, tacos) = catalogue().tasks().next().unwrap();
    assert!(cooking.must_precede(tacos, 0, 3)); // the onion is chopped before it is fried
    assert!(!cooking.must_precede(tacos, 3, 0));
    assert!(!cooking.must_precede(tacos, 0, 4)); // tortillas may be warmed at any time
    assert!(cooking.must_precede(tacos, 4, 5)); // but before they are filled
}
