//! P: every clip of the library with its text and clip features.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::clip::{Clip, ClipId, VideoId};
use crate::features::{Features, Rows, similarity};
use crate::shortlist::Shortlist;
use crate::words::Rarity;

/// All (r', v') pairs; row i of both feature matrices belongs to clip i. The clips of a video stand together, in
/// its order, and videos in the order of their numbers.
#[derive(Clone, Debug)]
pub struct Pool {
    clips: Vec<Clip>,
    text: Arc<dyn Rows>,
    clip: Arc<dyn Rows>,
    appearance: Option<Arc<dyn Rows>>,
    shortlist: Option<Arc<dyn Shortlist>>,
    agreement: Agreement,
    rarity: OnceLock<Rarity>,
}

/// A moment of a clip whose appearance is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Its first second.
    First,
    /// The mean of its seconds.
    Mean,
    /// Its last second.
    Last,
}

impl Moment {
    /// In the order of a clip's rows.
    pub const ALL: [Self; 3] = [Self::First, Self::Mean, Self::Last];
}

/// The parts of a pool do not belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{clips} clips need as many rows, not {text} of text and {clip} of clip features")]
pub struct PoolError {
    pub clips: usize,
    pub text: usize,
    pub clip: usize,
}

impl Pool {
    /// With rows in memory.
    pub fn new(clips: Vec<Clip>, text: Features, clip: Features) -> Result<Self, PoolError> {
        Self::of_rows(clips, Arc::new(text), Arc::new(clip))
    }

    /// With rows that may be in a file.
    pub fn of_rows(
        clips: Vec<Clip>,
        text: Arc<dyn Rows>,
        clip: Arc<dyn Rows>,
    ) -> Result<Self, PoolError> {
        let sizes = PoolError { clips: clips.len(), text: text.len(), clip: clip.len() };
        if sizes.text != sizes.clips || sizes.clip != sizes.clips {
            return Err(sizes);
        }
        let (appearance, shortlist, agreement, rarity) = Default::default();
        Ok(Self { clips, text, clip, appearance, shortlist, agreement, rarity })
    }

    /// Three rows for each clip, in the order of [`Moment::ALL`]; zero rows where nothing is known.
    pub fn with_appearance(self, appearance: Arc<dyn Rows>) -> Self {
        assert_eq!(appearance.len(), Moment::ALL.len() * self.len(), "a row for every moment");
        Self { appearance: Some(appearance), ..self }
    }

    /// The same with all rows in memory, for work that reads every row many times.
    pub fn in_memory(self) -> Self {
        let read = |rows: Arc<dyn Rows>| -> Arc<dyn Rows> { Arc::new(rows.to_features()) };
        let appearance = self.appearance.map(read);
        Self { text: read(self.text), clip: read(self.clip), appearance, ..self }
    }

    /// M scores exactly only what this does not rule out.
    pub fn with_shortlist(self, shortlist: Arc<dyn Shortlist>) -> Self {
        Self { shortlist: Some(shortlist), ..self }
    }

    pub fn shortlist(&self) -> Option<&dyn Shortlist> {
        self.shortlist.as_deref()
    }

    /// How rare words are among the clips' texts; counted once.
    pub fn rarity(&self) -> &Rarity {
        self.rarity.get_or_init(|| Rarity::of(&self.clips))
    }

    pub fn agreeing(self, agreement: Agreement) -> Self {
        Self { agreement, ..self }
    }

    /// Of no pairs where nobody has counted.
    pub fn agreement(&self) -> Agreement {
        self.agreement
    }

    pub fn len(&self) -> usize {
        self.clips.len()
    }

    pub fn is_empty(&self) -> bool {
        self.clips.is_empty()
    }

    pub fn clips(&self) -> &[Clip] {
        &self.clips
    }

    pub fn clip(&self, id: ClipId) -> &Clip {
        &self.clips[id.row()]
    }

    /// The rows of the clips of a video.
    pub fn of_video(&self, video: VideoId) -> Range<usize> {
        let first = self.clips.partition_point(|clip| clip.video < video);
        let rows = self.clips[first..].partition_point(|clip| clip.video == video);
        first..first + rows
    }

    /// Sentence features of the clips' step texts.
    pub fn text_features(&self) -> &dyn Rows {
        &*self.text
    }

    /// F_M's features of the clips' pictures.
    pub fn clip_features(&self) -> &dyn Rows {
        &*self.clip
    }

    /// What a clip looks like at one of its moments; none where its video was indexed without it.
    pub fn appearance(&self, clip: ClipId, moment: Moment) -> Option<Cow<'_, [f32]>> {
        let row = self.appearance.as_ref()?.row(Moment::ALL.len() * clip.row() + moment as usize);
        row.iter().any(|x| *x != 0.0).then_some(row)
    }

    /// The rows of [`Self::with_appearance`].
    pub fn appearance_features(&self) -> Option<&Arc<dyn Rows>> {
        self.appearance.as_ref()
    }
}

/// How well text and clip features agree in a library: for how many ordered pairs of clips of one video the
/// first clip's text is more similar to its own frames than to the second's. Tells how far vision can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Pairs that agree.
    pub suits: u64,
    /// All pairs.
    pub of: u64,
}

impl Agreement {
    /// Of one video: row i of `words` is F_M's text feature of clip i.
    pub fn of_video(words: &Features, clips: &Features) -> Self {
        let pairs = words.rows().zip(clips.rows()).enumerate().flat_map(|(own, (words, clip))| {
            let suits = similarity(words, clip);
            let others = clips.rows().enumerate().filter(move |(other, _)| *other != own);
            others.map(move |(_, other)| similarity(words, other) < suits)
        });
        pairs.fold(Self::default(), |sum, suits| sum + Self { suits: u64::from(suits), of: 1 })
    }

    /// The share of pairs that agree, smoothed by `PRIOR_PAIRS` pairs of which the share `expected` agrees.
    pub fn share(self, expected: f32) -> f32 {
        /// Chosen by hand.
        const PRIOR_PAIRS: f32 = 50.0;
        (self.suits as f32 + PRIOR_PAIRS * expected) / (self.of as f32 + PRIOR_PAIRS)
    }
}

impl std::ops::Add for Agreement {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { suits: self.suits + other.suits, of: self.of + other.of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::{Span, VideoId};

    #[test]
    fn each_clip_has_its_own_moments_and_a_zero_row_is_none() {
        let rows = |data: &[f32]| Features::new(2, data.to_vec()).unwrap();
        let span = Span::new(0, 1000).unwrap();
        let clip = Clip { video: VideoId(1), span, text: String::new() };
        let two = rows(&[1.0, 0.0, 0.0, 1.0]);
        let pool = Pool::new(vec![clip; 2], two.clone(), two).unwrap();
        assert_eq!(pool.appearance(ClipId(0), Moment::First), None);
        let moments = [0.0; 6].into_iter().chain([1.0, 0.0, 0.6, 0.8, 0.0, 1.0]);
        let pool = pool.with_appearance(Arc::new(rows(&moments.collect::<Vec<_>>())));
        assert_eq!(
            Moment::ALL.map(|moment| pool.appearance(ClipId(0), moment)),
            [const { None }; 3]
        );
        let seen = Moment::ALL.map(|moment| pool.appearance(ClipId(1), moment).unwrap());
        assert_eq!(seen.each_ref().map(|row| &**row), [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]);
    }

    #[test]
    fn agreement_counts_the_pairs_whose_words_suit_their_own_clip() {
        let rows = |data: &[f32]| Features::new(2, data.to_vec()).unwrap();
        let clips = rows(&[1.0, 0.0, 0.0, 1.0, 0.7, 0.7]);
        let agrees = |words: &[f32]| Agreement::of_video(&rows(words), &clips);
        assert_eq!(agrees(&[1.0, 0.0, 0.0, 1.0, 0.7, 0.7]), Agreement { suits: 6, of: 6 });
        // the texts of the first two are swapped
        assert_eq!(agrees(&[0.0, 1.0, 1.0, 0.0, 0.7, 0.7]), Agreement { suits: 2, of: 6 });
        assert_eq!(Agreement::default().share(0.7), 0.7);
        assert!(Agreement { suits: 950, of: 1000 }.share(0.7) > 0.93);
    }
}
