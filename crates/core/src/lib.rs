//! The method of Stitch-a-Demo, pure: from a written procedure and a pool of clips to the cuts
//! of one video that demonstrates it.
//!
//! The modules stand in the order in which the method uses them, and import only upward:
//!
//! | module | the paper's symbol | what it holds |
//! |---|---|---|
//! | [`procedure`] | R | the query: an ordered list of step texts |
//! | [`clip`] | v' | a span of a video and the step text it shows |
//! | [`features`] | F_M(·) | rows of unit vectors and their similarities |
//! | [`words`] | | rare words that a step and a clip's text share |
//! | [`belief`] | r ~ r' | how likely a clip shows a step, by what the senses say |
//! | [`shortlist`] | | which clips may be among the best of a step |
//! | [`pool`] | P | every clip of the library with its text and clip features |
//! | [`align`] | F_T | Drop-DTW: where in a video is each step? |
//! | [`scenes`] | | stretches that look alike, for videos without words |
//! | [`map`] | M | for each step of the query the clips that may show it |
//! | [`cover`] | V'_R | candidate sequences: few sources that together show every step |
//! | [`parts`] | | which clips show the actions of one step |
//! | [`timeline`] | V_R | the chosen sequence as cuts |
//!
//! Nothing here reads files, starts threads, looks at the clock or prints.
//!
//! # Example
//!
//! Two videos; the second step is shown by both, and staying with the first saves a change.
//!
//! ```
//! use stitch_core::belief::{Belief, Logit};
//! use stitch_core::clip::{Clip, Span, VideoId};
//! use stitch_core::cover::{KBestOptions, k_best};
//! use stitch_core::features::Features;
//! use stitch_core::map::{Steps, map};
//! use stitch_core::pool::Pool;
//! use stitch_core::procedure::Procedure;
//! use stitch_core::timeline::{Room, TimelineOptions, timeline};
//!
//! let procedure = Procedure::new("Tea", ["Boil water", "Steep the leaves", "Add honey"])?;
//!
//! // What encoders would give: here boiling is x, steeping is y, and nothing shows honey.
//! let steps = Features::new(3, vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])?;
//! let clips = [(0, 5_000, "Boil the water"), (0, 20_000, "Let it steep"), (1, 3_000, "Steep")];
//! let clips = clips.map(|(video, start, text)| Clip {
//!     video: VideoId(video),
//!     span: Span::new(start, start + 8_000).unwrap(),
//!     text: text.to_string(),
//! });
//! let rows = Features::new(3, vec![1.0, 0.0, 0.0, 0.1, 0.9, 0.0, 0.0, 1.0, 0.0])?;
//! let pool = Pool::new(clips.to_vec(), rows.clone(), rows)?;
//!
//! let logit = Logit { bias: -5.0, text: 5.0, words: 1.0, clip: 5.0, ..Logit::default() };
//! let query = Steps { texts: procedure.steps(), text: &steps, clip: &steps, context: None };
//! let belief = Belief { both: logit, text: logit, clip: logit, ..Belief::default() };
//! let mut step_map = map(&query, &pool, |_, _| true, &belief, 10)?;
//!
//! // Nothing shows "Add honey": its best clip is unlikely, so the step is a gap.
//! step_map.steps.iter_mut().for_each(|found| found.retain(|m| m.probability() > 0.5));
//! assert_eq!(step_map.gaps(), [2]);
//!
//! let costs = KBestOptions { switch_cost: 0.5, order_cost: 0.2 };
//! let candidates = k_best(&step_map, &pool, 5, &costs);
//! let room = Room { length_ms: 60_000, ..Room::default() };
//! let clips: Vec<_> = candidates[0].shown().collect();
//! let cuts = timeline(&clips, &pool, |_| room.clone(), &TimelineOptions::default());
//! assert!(cuts.iter().all(|cut| cut.video == VideoId(0)));
//! assert_eq!(cuts.iter().map(|cut| cut.step).collect::<Vec<_>>(), [0, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod format;
pub mod random;
pub mod procedure;
pub mod clip;
pub mod features;
pub mod words;
pub mod belief;
pub mod shortlist;
pub mod pool;
pub mod align;
pub mod scenes;
pub mod map;
pub mod cover;
pub mod gaps;
pub mod parts;
pub mod timeline;
pub mod fit;
