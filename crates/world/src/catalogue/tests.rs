//! Every entry of the data files is checked; a bad one is reported with its file and key.

use std::collections::{HashMap, HashSet};

use super::*;
use crate::truth::flow_problem;

/// What is wrong with a set's catalogue, each with the file and the key.
fn problems(files: &SetFiles, catalogue: &Catalogue) -> Vec<String> {
    let mut found = Vec::new();
    let mut slugs = HashSet::new();
    let mut keys = HashSet::new();
    let mut wordings = HashSet::new();
    let mut actions = HashSet::new();
    for (data, (file, _)) in catalogue.domains.iter().zip(files.domains) {
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
        for (name, family) in &data.families {
            let key = format!("families.{name}");
            wording_problems(&key, &[&family.narrations], &mut wordings, &mut report);
            wording_problems(&key, &[&family.contextual], &mut wordings, &mut report);
            let of = |step: &&StepData| step.family.as_ref() == Some(name);
            if data.steps.values().filter(of).count() < 2 {
                report(key, "has fewer than two steps");
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
    found.extend(procedure_problems(files, catalogue));
    found.extend(speech_problems(&catalogue.speech));
    found.extend(people_problems(files, &catalogue.people));
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
    let own: Vec<&[String]> = match step.family {
        Some(_) => vec![&step.queries],
        None => vec![&step.queries, &step.narrations, &step.contextual],
    };
    if step.family.is_some() && step.contextual.is_empty() {
        report(format!("{key}.contextual"), "is empty");
    }
    wording_problems(key, &own, wordings, report);
}

fn wording_problems<'a>(
    key: &str,
    lists: &[&'a [String]],
    wordings: &mut HashSet<&'a str>,
    report: &mut impl FnMut(String, &str),
) {
    for words in lists.iter().copied().flatten() {
        let key = format!("{key}: {words:?}");
        if !wordings.insert(words) {
            report(key.clone(), "is used twice");
        }
        if !words.starts_with(char::is_lowercase) || words.ends_with('.') {
            report(key.clone(), "must begin with a small letter and end without a full stop");
        }
        if !(2..=14).contains(&words.split(' ').count()) {
            report(key, "must have 2 to 14 words");
        }
    }
}

fn procedure_problems(files: &SetFiles, catalogue: &Catalogue) -> Vec<String> {
    let known = |name: &String| catalogue.step(name).is_some();
    let unknown = |procedure: &ProcedureData| {
        let name = procedure.steps.iter().find(|name| !known(name))?;
        let (file, title) = (files.procedures.0, &procedure.title);
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
    found
}

fn people_problems(files: &SetFiles, people: &People) -> Vec<String> {
    let unknown =
        |presenter: &&Presenter| people.voices.get(&presenter.voice).is_none_or(Vec::is_empty);
    let report = |presenter: &Presenter| {
        format!("{}: presenters.{}.voice: there is no such voice", files.people.0, presenter.name)
    };
    people.presenters.iter().filter(unknown).map(report).collect()
}

#[test]
fn every_entry_is_valid() {
    for files in &FILES {
        let catalogue = read(files).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(problems(files, &catalogue), Vec::<String>::new());
    }
}

#[test]
fn a_bad_entry_is_reported_with_its_file_and_key() {
    let reported = |at: usize, from: &str, to: &str| {
        let files = TaskSet::Demonstration.files();
        let (file, text) = files.domains[at];
        assert!(text.contains(from), "{from}");
        let mut catalogue = read(files).unwrap();
        match read_domain((file, text.replacen(from, to, 1).leak())) {
            Ok(data) => catalogue.domains[at] = data,
            Err(error) => return error,
        }
        problems(files, &catalogue).join("\n")
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
        (1, "\"saw the board to size\"", "\"Saw it.\"", ["steps.saw_board", "small letter"]),
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
fn fifteen_tasks_a_domain_or_more_four_of_them_in_the_demonstration() {
    for domain in 0..3 {
        let count = |set| catalogue(set).domains[domain].tasks.len();
        assert_eq!(count(TaskSet::Demonstration), 4);
        assert!(TaskSet::ALL.map(count).iter().sum::<usize>() >= 15);
    }
}

/// Everything that must not be in two sets.
fn belongings(set: TaskSet) -> Vec<String> {
    let data = catalogue(set);
    let tasks = data.tasks().flat_map(|(_, task)| [task.name.clone(), task.slug.clone()]);
    let words = |step: &StepData| [&step.narrations[..], &step.queries, &step.contextual].concat();
    let steps = data.steps().flat_map(|(_, step)| words(step));
    let chatter = data.domains.iter().flat_map(|domain| domain.chatter.clone());
    let presenters = data.people.presenters.iter().map(|presenter| presenter.name.clone());
    let voices = data.people.voices.values().flatten().cloned();
    tasks.chain(steps).chain(chatter).chain(presenters).chain(voices).collect()
}

#[test]
fn sets_share_no_task_wording_presenter_or_voice() {
    let mut owners: HashMap<String, TaskSet> = HashMap::new();
    for set in TaskSet::ALL {
        for each in belongings(set) {
            let owner = *owners.entry(each.clone()).or_insert(set);
            assert_eq!(owner, set, "{each:?}");
        }
    }
}

#[test]
fn sets_that_are_held_apart_share_no_place() {
    let [_, apart @ ..] = TaskSet::ALL.map(TaskSet::place_seeds);
    assert!(apart.windows(2).all(|pair| pair[0].end <= pair[1].start));
}

#[test]
fn every_held_apart_set_has_three_families_a_domain_each_with_variants_in_different_tasks() {
    for set in &TaskSet::ALL[1..] {
        for data in &catalogue(*set).domains {
            assert!(data.families.len() >= 3, "{set:?} {:?}", data.domain);
            for name in data.families.keys() {
                let variants: HashSet<Action> = data
                    .steps
                    .values()
                    .filter(|step| step.family.as_ref() == Some(name))
                    .map(StepData::action)
                    .collect();
                let in_family =
                    |step: &TaskStep| data.steps[&step.step].family.as_ref() == Some(name);
                let tasks =
                    data.tasks.iter().filter(|task| task.steps.iter().any(in_family)).count();
                assert!(variants.len() >= 2 && tasks >= 2, "{set:?} {name}");
            }
        }
    }
}

#[test]
fn what_the_test_families_show_is_not_learnt() {
    let shown = |set| -> HashSet<Action> {
        let steps = catalogue(set).steps().filter(|(_, step)| step.family.is_some());
        steps.map(|(_, step)| Action { verb: step.verb, things: vec![step.things[0]] }).collect()
    };
    assert!(shown(TaskSet::Test).is_disjoint(&shown(TaskSet::Training)));
}

#[test]
fn what_shares_a_thing_keeps_its_order() {
    let (cooking, tacos) = catalogue(TaskSet::Demonstration).tasks().next().unwrap();
    assert!(cooking.must_precede(tacos, 0, 3)); // the onion is chopped before it is fried
    assert!(!cooking.must_precede(tacos, 3, 0));
    assert!(!cooking.must_precede(tacos, 0, 4)); // tortillas may be warmed at any time
    assert!(cooking.must_precede(tacos, 4, 5)); // but before they are filled
}
