//! The evaluators that come with the program: one for each domain, for the encoder that comes with it,
//! trained by `recipes/evaluator`.

use super::{Config, Evaluator, EvaluatorError, EvaluatorNetwork};
use crate::models::{Card, NnError, Weights};

/// An evaluator that is part of the program.
pub struct Shipped {
    name: &'static str,
    config: &'static [u8],
    weights: &'static [u8],
    card: &'static [u8],
}

macro_rules! shipped {
    ($name:literal) => {
        Shipped {
            name: $name,
            config: include_bytes!(concat!("../../../../models/", $name, "/config.json")),
            weights: include_bytes!(concat!("../../../../models/", $name, "/model.safetensors")),
            card: include_bytes!(concat!("../../../../models/", $name, "/card.json")),
        }
    };
}

/// Decides queries.
pub const ANSWER: Shipped = shipped!("evaluator");

/// Rank sequences by features alone, one for each domain.
pub const SHIPPED: [Shipped; 3] = [
    shipped!("evaluator-cooking"),
    shipped!("evaluator-gardening"),
    shipped!("evaluator-woodworking"),
];

impl Shipped {
    pub fn config(&self) -> Result<Config, NnError> {
        serde_json::from_slice(self.config).map_err(|error| NnError::Config {
            path: format!("{}/{}", self.name, Config::FILE).into(),
            reason: error.to_string(),
        })
    }

    pub fn card(&self) -> Option<Card> {
        serde_json::from_slice(self.card).ok()
    }

    pub fn load(&self) -> Result<Evaluator, EvaluatorError> {
        let config = self.config()?;
        config.check(self.name.as_ref())?;
        let weights = Weights::from_bytes(self.name, self.weights)?;
        let network = EvaluatorNetwork::read(config.network(), &weights)?;
        Ok(Evaluator { config, network })
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::files::hex;

    #[test]
    fn each_is_whole_and_is_what_its_card_says() {
        for shipped in &SHIPPED {
            let (config, card) = (shipped.config().unwrap(), shipped.card().unwrap());
            assert_eq!(format!("evaluator-{}", config.domain), shipped.name);
            assert_eq!((card.name.as_str(), config.encoder.name.as_str()), (shipped.name, "mini"));
        }
        for shipped in SHIPPED.iter().chain([&ANSWER]) {
            let card = shipped.card().unwrap();
            for (file, bytes) in [(Config::FILE, shipped.config), (Weights::FILE, shipped.weights)]
            {
                let hash = hex(&Sha256::digest(bytes));
                assert_eq!(card.sha256.get(file), Some(&hash), "{} {file}", shipped.name);
            }
            let evaluator = shipped.load().unwrap();
            assert!(evaluator.network.parameters.iter().all(|number| number.is_finite()));
        }
        assert!(ANSWER.config().unwrap().channels.answer, "it decides");
    }

    #[test]
    fn all_are_for_the_same_encoder() {
        let encoders = SHIPPED.map(|shipped| shipped.config().unwrap().encoder);
        assert!(encoders.windows(2).all(|two| two[0] == two[1]));
    }
}
