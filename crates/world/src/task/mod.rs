//! Tasks as data: what they are made of, in which words, and what must come before what.

mod cooking;
mod woodworking;
mod gardening;

use super::vocabulary::{Action, Domain, Kind, State, Thing, Verb};

/// Something one can be shown: what is done, and the words for it.
#[derive(Clone, Copy, Debug)]
pub struct Lesson {
    /// What is done.
    pub verb: Verb,
    /// To what; the subject first.
    pub things: &'static [Thing],
    /// How videos say it, as imperatives that also stand after "I" and "let's".
    pub told: [&'static str; 6],
    /// How people ask for it; no video ever says it in these words.
    pub asked: [&'static str; 2],
}

impl Lesson {
    /// What the camera sees.
    pub fn action(&self) -> Action {
        Action { verb: self.verb, things: self.things.to_vec() }
    }
}

/// A lesson in its task.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What is shown.
    pub lesson: Lesson,
    /// Whether some videos leave it out; nothing later may need the state it leads to.
    pub optional: bool,
    /// Earlier parts that must be done first although they share no thing with this one.
    pub after: &'static [usize],
}

impl Part {
    const fn needed(lesson: Lesson) -> Self {
        Self { lesson, optional: false, after: &[] }
    }

    const fn sometimes(lesson: Lesson) -> Self {
        Self { lesson, optional: true, after: &[] }
    }

    const fn after(lesson: Lesson, after: &'static [usize]) -> Self {
        Self { lesson, optional: false, after }
    }
}

/// Something that can be made, grown or cooked.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Its name within a sentence.
    pub name: &'static str,
    /// Its name within a file name.
    pub slug: &'static str,
    /// Where it is done.
    pub domain: Domain,
    /// What videos about it are called.
    pub titles: &'static [&'static str],
    /// Its parts, in an order that works.
    pub parts: &'static [Part],
}

impl Task {
    /// Whether part `early` must be done before part `late`: it comes first in the order that works,
    /// and either touches a thing of `late` or is named by it.
    pub fn must_precede(&self, early: usize, late: usize) -> bool {
        let (Some(a), Some(b)) = (self.parts.get(early), self.parts.get(late)) else {
            return false;
        };
        let touches = |kind: Kind| a.lesson.things.iter().any(|thing| thing.kind == kind);
        early < late
            && (b.after.contains(&early) || b.lesson.things.iter().any(|t| touches(t.kind)))
    }
}

/// Every task, domain by domain.
pub fn tasks() -> impl Iterator<Item = &'static Task> {
    cooking::TASKS.iter().chain(&woodworking::TASKS).chain(&gardening::TASKS)
}

/// Every lesson once, in the order of the tasks.
pub fn lessons() -> Vec<&'static Lesson> {
    let mut found: Vec<&'static Lesson> = Vec::new();
    for part in tasks().flat_map(|task| task.parts) {
        if !found.iter().any(|lesson| lesson.told == part.lesson.told) {
            found.push(&part.lesson);
        }
    }
    found
}

const fn thing(kind: Kind, before: State, after: State) -> Thing {
    Thing { kind, before, after }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn twelve_tasks_four_a_domain() {
        for domain in [Domain::Cooking, Domain::Woodworking, Domain::Gardening] {
            assert_eq!(tasks().filter(|task| task.domain == domain).count(), 4);
        }
        let slugs: HashSet<_> = tasks().map(|task| task.slug).collect();
        assert_eq!(slugs.len(), 12);
    }

    #[test]
    fn no_wording_is_used_twice_and_no_question_is_ever_told() {
        let mut seen = HashSet::new();
        for lesson in lessons() {
            for words in lesson.told.iter().chain(&lesson.asked) {
                assert!(seen.insert(*words), "{words:?} is there twice");
                assert!(words.starts_with(char::is_lowercase) && !words.ends_with('.'), "{words}");
                assert!((3..=14).contains(&words.split(' ').count()), "{words}");
            }
        }
    }

    #[test]
    fn no_action_has_two_lessons() {
        let actions: Vec<_> = lessons().iter().map(|lesson| lesson.action()).collect();
        let distinct: HashSet<_> = actions.iter().collect();
        assert_eq!(distinct.len(), actions.len());
    }

    #[test]
    fn what_shares_a_thing_keeps_its_order() {
        let tacos = tasks().next().unwrap();
        assert!(tacos.must_precede(0, 3)); // the onion is chopped before it is fried
        assert!(!tacos.must_precede(3, 0));
        assert!(!tacos.must_precede(0, 4)); // tortillas may be warmed at any time
        assert!(tacos.must_precede(4, 5)); // but before they are filled
    }
}
