//! Which evaluator is measured: the one that was named, or the one in the store for these features.

use std::path::Path;

use stitch_engine::encoder::EncoderId;
use stitch_engine::evaluator::{Config, Evaluator, SHIPPED, Shipped};
use stitch_engine::models::Store;
use stitch_engine::scorer::Scorer;

/// The evaluator in this folder; its features must have the length of these.
pub fn named(folder: &Path, encoder: &EncoderId) -> Result<Box<dyn Scorer>, String> {
    let found = Evaluator::load(folder).map_err(|error| error.to_string())?;
    // Who names an evaluator may know that features of another name are the same ones.
    match found.config().encoder.dim == encoder.dim {
        true => Ok(Box::new(found)),
        false => {
            found.check_encoder(encoder).map_err(|error| error.to_string())?;
            Ok(Box::new(found))
        }
    }
}

/// The evaluator in the store that was trained on features of this encoder, for the domain where one
/// is asked for and there is such a one.
pub fn stored(
    store: &Store,
    encoder: &EncoderId,
    domain: Option<&str>,
) -> Result<Box<dyn Scorer>, String> {
    let config = |folder: &Path| {
        let text = std::fs::read_to_string(folder.join("config.json")).ok()?;
        serde_json::from_str::<Config>(&text).ok()
    };
    let fits = |folder: &Path| config(folder).filter(|config| config.encoder == *encoder);
    let mut found: Vec<_> =
        store.folders().into_iter().filter_map(|f| Some((fits(&f)?, f))).collect();
    let other = |config: &Config| domain.is_some_and(|d| !config.domain.eq_ignore_ascii_case(d));
    found.sort_by_key(|(config, folder)| (other(config), folder.clone()));
    match found.first() {
        Some((config, folder)) if !other(config) || shipped(encoder, domain).is_none() => {
            named(folder, encoder)
        }
        _ => shipped(encoder, domain).ok_or_else(|| none(encoder)).and_then(|shipped| {
            let found = shipped.load().map_err(|error| error.to_string())?;
            Ok(Box::new(found) as Box<dyn Scorer>)
        }),
    }
}

/// The one that comes with the program for this encoder; where no domain is asked for, the first.
fn shipped(encoder: &EncoderId, domain: Option<&str>) -> Option<&'static Shipped> {
    let fits = |config: Config| {
        config.encoder == *encoder && domain.is_none_or(|d| config.domain.eq_ignore_ascii_case(d))
    };
    SHIPPED.iter().find(|shipped| shipped.config().is_ok_and(fits))
}

fn none(encoder: &EncoderId) -> String {
    format!(
        "there is none for {encoder}; train one with `stitch train`, or name its folder with \
         --evaluator"
    )
}
