//! The same footage under several names, uploaded again or cut out of a longer video: found by what
//! it looks like, and shown to the method once.

use std::collections::{BTreeMap, HashMap};

use stitch_core::clip::{ClipId, VideoId};
use stitch_core::features::similarity;
use stitch_core::map::{Match, StepMap};
use stitch_core::pool::Pool;

use crate::footage::Footage;
use crate::library::Library;

/// Clips below this similarity of features are never the same footage; a cheap look before the
/// close one.
const WORTH_A_LOOK: f32 = 0.8;

/// For each clip that was kept, the others that show the same footage.
#[derive(Debug, Default)]
pub struct Copies(BTreeMap<ClipId, Vec<ClipId>>);

impl Copies {
    /// Where else the footage of this clip is.
    pub fn of(&self, clip: ClipId) -> &[ClipId] {
        self.0.get(&clip).map_or(&[], Vec::as_slice)
    }
}

/// M with one match for each piece of footage: that of the video that can show most steps, so that a
/// copy never makes a source change.
pub fn collapse(step_map: StepMap, pool: &Pool, library: &Library) -> (StepMap, Copies) {
    let mut eyes = Eyes { library, pool, seen: HashMap::new(), known: HashMap::new() };
    let standing = standing(&step_map, pool);
    let mut copies = Copies::default();
    let mut steps = Vec::with_capacity(step_map.steps.len());
    for mut matches in step_map.steps {
        let order = |m: &Match| {
            let video = pool.clip(m.clip).video;
            (std::cmp::Reverse(standing[&video]), video)
        };
        let mut by_standing: Vec<Match> = matches.clone();
        by_standing.sort_by_key(order);
        let mut kept: Vec<ClipId> = Vec::new();
        for m in by_standing {
            match eyes.copy_among(&kept, m.clip) {
                Some(original) => copies.0.entry(original).or_default().push(m.clip),
                None => kept.push(m.clip),
            }
        }
        matches.retain(|m| kept.contains(&m.clip));
        steps.push(matches);
    }
    for others in copies.0.values_mut() {
        others.sort_unstable();
        others.dedup();
    }
    (StepMap { steps }, copies)
}

/// In how many steps each video has a match.
fn standing(step_map: &StepMap, pool: &Pool) -> HashMap<VideoId, usize> {
    let mut standing = HashMap::new();
    for matches in &step_map.steps {
        let mut videos: Vec<VideoId> = matches.iter().map(|m| pool.clip(m.clip).video).collect();
        videos.sort_unstable();
        videos.dedup();
        videos.into_iter().for_each(|video| *standing.entry(video).or_default() += 1);
    }
    standing
}

/// Compares clips by what they look like.
struct Eyes<'a> {
    library: &'a Library,
    pool: &'a Pool,
    seen: HashMap<VideoId, Footage>,
    known: HashMap<(ClipId, ClipId), bool>,
}

impl Eyes<'_> {
    /// Which of these clips shows the same footage.
    fn copy_among(&mut self, clips: &[ClipId], clip: ClipId) -> Option<ClipId> {
        clips.iter().copied().find(|other| self.same(*other, clip))
    }

    fn same(&mut self, one: ClipId, other: ClipId) -> bool {
        let (a, b) = (self.pool.clip(one), self.pool.clip(other));
        let features = self.pool.clip_features();
        let far = similarity(&features.row(one.row()), &features.row(other.row())) < WORTH_A_LOOK;
        if a.video == b.video || far {
            return false;
        }
        let pair = (one.min(other), one.max(other));
        if let Some(known) = self.known.get(&pair) {
            return *known;
        }
        self.look_at(a.video);
        self.look_at(b.video);
        let (x, y) = (&self.seen[&a.video], &self.seen[&b.video]);
        let seconds = |span: stitch_core::clip::Span| {
            (span.start() / 1000) as usize..span.end().div_ceil(1000) as usize
        };
        let same = x.same(seconds(a.span), y, seconds(b.span));
        self.known.insert(pair, same);
        same
    }

    /// A video whose features file is gone is like no other; `stitch library verify` tells of it.
    fn look_at(&mut self, video: VideoId) {
        let library = self.library;
        self.seen.entry(video).or_insert_with(|| {
            library.footage(video).unwrap_or_else(|error| {
                tracing::debug!(%error, "not looked at");
                Footage::default()
            })
        });
    }
}
