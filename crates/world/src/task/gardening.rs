//! The garden's lessons and the four crops grown by them.

use super::{Lesson, Part, Task, thing};
use crate::vocabulary::Domain::Gardening;
use crate::vocabulary::Kind::*;
use crate::vocabulary::State::*;
use crate::vocabulary::Verb;

const FILL_POT: Lesson = Lesson {
    verb: Verb::Fill,
    things: &[thing(Pot, Empty, Filled), thing(Soil, Flat, Flat)],
    told: [
        "fill the pot with soil",
        "scoop potting soil into the pot",
        "fill the pot up to the rim with earth",
        "put fresh compost soil in the empty pot",
        "take the trowel and fill the flower pot with soil",
        "shovel some loose soil into the pot",
    ],
    asked: ["put potting soil in a pot", "fill a flower pot with earth"],
};

const SOW_TOMATO: Lesson = Lesson {
    verb: Verb::Sow,
    things: &[thing(TomatoSeeds, Seed, Sown), thing(Pot, Filled, Sown)],
    told: [
        "sow the tomato seeds in the pot",
        "drop a few tomato seeds onto the soil",
        "press the tomato seeds a little way into the soil",
        "scatter the tomato seeds on top of the pot",
        "put three tomato seeds in the soil",
        "sow your tomato seeds about a centimetre deep",
    ],
    asked: ["plant tomato seeds in a pot", "drop tomato seeds into the soil"],
};

const SOW_BASIL: Lesson = Lesson {
    verb: Verb::Sow,
    things: &[thing(BasilSeeds, Seed, Sown), thing(Pot, Filled, Sown)],
    told: [
        "sow the basil seeds in the pot",
        "scatter the basil seeds over the soil",
        "sprinkle a pinch of basil seeds on top",
        "drop the tiny basil seeds onto the soil",
        "sow plenty of basil seeds in the pot",
        "spread the basil seeds evenly on the earth",
    ],
    asked: ["plant basil seeds in a pot", "sprinkle basil seeds onto soil"],
};

const WATER_POT: Lesson = Lesson {
    verb: Verb::Water,
    things: &[thing(Pot, Sown, Watered)],
    told: [
        "water the pot gently",
        "give the pot some water with the watering can",
        "water the sown seeds in the pot with a fine rose",
        "pour a little water over the soil in the pot",
        "moisten the soil in the pot",
        "water the pot until the soil is dark and damp",
    ],
    asked: ["moisten the pot with a watering can", "give the sown seeds some water"],
};

const SPROUT_TOMATO: Lesson = Lesson {
    verb: Verb::Sprout,
    things: &[thing(TomatoPlant, Seed, Seedling), thing(Pot, Watered, Watered)],
    told: [
        "let the tomato seeds sprout in the sun",
        "wait a week until the tomato seedling comes up",
        "keep the pot warm until the tomato sprouts",
        "watch the little tomato plant come out of the soil",
        "leave the tomato in the light until it has its first leaves",
        "give the tomato seedling ten days to grow",
    ],
    asked: ["wait for the tomato seeds to germinate", "let a tomato seedling grow in the light"],
};

const SPROUT_BASIL: Lesson = Lesson {
    verb: Verb::Sprout,
    things: &[thing(Basil, Seed, Seedling), thing(Pot, Watered, Watered)],
    told: [
        "let the basil sprout on the window sill",
        "wait until the basil seedlings come up",
        "keep the basil in the sun until it sprouts",
        "watch the basil push out of the soil",
        "leave the pot in the light until the basil has leaves",
        "give the basil a week or two to grow",
    ],
    asked: ["wait for the basil seeds to germinate", "let the basil seedlings grow in the sun"],
};

const TRANSPLANT_TOMATO: Lesson = Lesson {
    verb: Verb::Transplant,
    things: &[thing(TomatoPlant, Seedling, Planted)],
    told: [
        "transplant the tomato seedling into the garden",
        "set the young tomato plant into the hole",
        "move the tomato seedling to its new place",
        "plant out the tomato seedling, deep in the soil",
        "lift the tomato out of the pot and plant it in the ground",
        "put the tomato plant in the earth and press it down",
    ],
    asked: ["plant out the tomato seedling", "set a young tomato plant in the ground"],
};

const STAKE_TOMATO: Lesson = Lesson {
    verb: Verb::Stake,
    things: &[thing(TomatoPlant, Planted, Staked)],
    told: [
        "tie the tomato plant to a stake",
        "push a stick in the ground and tie the tomato to it",
        "support the tomato plant with a stake and string",
        "stake the tomato so it grows straight",
        "fasten the tomato stem to the stick with string",
        "put a stake next to the tomato and tie it loosely",
    ],
    asked: ["support the tomato plant with a stick", "tie up the tomato plant"],
};

const HARVEST_TOMATO: Lesson = Lesson {
    verb: Verb::Harvest,
    things: &[thing(TomatoPlant, Ripe, Harvested)],
    told: [
        "pick the ripe tomatoes into the basket",
        "harvest the red tomatoes",
        "gather the ripe tomatoes from the plant",
        "pick every tomato that is red and ripe",
        "twist the tomatoes off and put them in the basket",
        "harvest your tomatoes when they are deep red",
    ],
    asked: ["gather ripe tomatoes in a basket", "pick the tomatoes from the plant"],
};

const FEED_BASIL: Lesson = Lesson {
    verb: Verb::Feed,
    things: &[thing(Basil, Seedling, Fed), thing(Fertiliser, Whole, Whole)],
    told: [
        "feed the basil with a scoop of fertiliser",
        "give the basil seedlings some plant food",
        "sprinkle a little fertiliser around the basil",
        "add fertiliser to the basil pot",
        "feed the young basil so it gets bushy",
        "put a spoon of fertiliser on the soil of the basil",
    ],
    asked: ["fertilise the basil", "give plant food to the basil"],
};

const HARVEST_BASIL: Lesson = Lesson {
    verb: Verb::Harvest,
    things: &[thing(Basil, Ripe, Harvested)],
    told: [
        "pick the basil leaves into the basket",
        "harvest the basil from the top",
        "pinch off the big basil leaves",
        "gather a handful of basil",
        "pick the fresh basil leaves",
        "harvest your basil when it is full and green",
    ],
    asked: ["gather basil leaves", "pick fresh basil from the plant"],
};

const DIG_BED: Lesson = Lesson {
    verb: Verb::Dig,
    things: &[thing(GardenBed, Flat, Dug)],
    told: [
        "dig a hole in the garden bed",
        "take the spade and dig over the bed",
        "dig up the soil of the bed with the spade",
        "dig the planting hole in the bed, nice and deep",
        "loosen the bed and dig a hole",
        "dig out some earth from the garden bed",
    ],
    asked: ["make a planting hole with a spade", "dig a hole into the bed"],
};

const MIX_COMPOST: Lesson = Lesson {
    verb: Verb::MixIn,
    things: &[thing(GardenBed, Dug, Enriched), thing(Compost, Separate, Mixed)],
    told: [
        "mix the compost into the soil of the bed",
        "fork some compost into the garden bed",
        "work a barrow of compost into the soil",
        "turn the dark compost under with the fork",
        "spread compost on the bed and mix it in",
        "add compost to the bed and fork it through",
    ],
    asked: ["work compost into the bed", "enrich the soil with compost"],
};

const TRANSPLANT_LETTUCE: Lesson = Lesson {
    verb: Verb::Transplant,
    things: &[thing(LettuceSeedling, Seedling, Planted)],
    told: [
        "plant the lettuce seedlings in the bed",
        "set the young lettuce into the soil",
        "transplant the lettuce seedling into the raised bed",
        "put the lettuce plants in the earth a hand apart",
        "plant out the little lettuce and press the soil down",
        "move the lettuce seedlings into the bed",
    ],
    asked: ["plant out lettuce seedlings", "set young lettuce plants in the bed"],
};

const MULCH_BED: Lesson = Lesson {
    verb: Verb::Mulch,
    things: &[thing(GardenBed, Enriched, Mulched), thing(Straw, Spread, Spread)],
    told: [
        "mulch the bed with straw",
        "spread straw over the garden bed",
        "cover the soil of the bed with a layer of straw",
        "lay straw all around in the bed",
        "put a thick mulch of straw on the bed",
        "scatter straw on the bed to keep the soil moist",
    ],
    asked: ["cover the bed with straw mulch", "lay a straw mulch on the soil of the bed"],
};

const WATER_LETTUCE: Lesson = Lesson {
    verb: Verb::Water,
    things: &[thing(LettuceSeedling, Planted, Watered)],
    told: [
        "water the lettuce with the watering can",
        "give the young lettuce plenty of water",
        "water the lettuce plants right away",
        "pour water around the lettuce",
        "water the new lettuce gently from above",
        "soak the lettuce seedlings with the can",
    ],
    asked: ["give the lettuce plants water", "sprinkle water over the young lettuce"],
};

const TRANSPLANT_ROSE: Lesson = Lesson {
    verb: Verb::Transplant,
    things: &[thing(Rose, Seedling, Planted)],
    told: [
        "plant the rose in the hole",
        "set the rose bush into the ground",
        "lower the young rose into the hole and fill it up",
        "put the rose in its new place and press the soil down",
        "transplant the rose into the flower bed",
        "plant the rose bush a little deeper than before",
    ],
    asked: ["plant a rose bush", "set the young rose in the ground"],
};

const FEED_ROSE: Lesson = Lesson {
    verb: Verb::Feed,
    things: &[thing(Rose, Planted, Fed), thing(Fertiliser, Whole, Whole)],
    told: [
        "feed the rose with fertiliser",
        "sprinkle rose food around the stem",
        "give the rose a scoop of fertiliser",
        "add a handful of fertiliser to the rose",
        "feed the rose so it flowers all summer",
        "put some fertiliser on the soil around the rose",
    ],
    asked: ["fertilise the rose", "give plant food to the rose bush"],
};

const PRUNE_ROSE: Lesson = Lesson {
    verb: Verb::Prune,
    things: &[thing(Rose, Overgrown, Pruned)],
    told: [
        "prune the rose with the secateurs",
        "cut back the long stems of the rose",
        "prune the overgrown rose to a few strong stems",
        "snip the rose just above a bud",
        "take the secateurs and cut the rose back",
        "trim the rose bush into shape",
    ],
    asked: ["cut back the rose bush", "trim the rose's long stems"],
};

const MULCH_ROSE: Lesson = Lesson {
    verb: Verb::Mulch,
    things: &[thing(Rose, Pruned, Mulched), thing(Straw, Spread, Spread)],
    told: [
        "mulch the rose with straw",
        "spread straw around the foot of the rose",
        "cover the soil around the rose with mulch",
        "lay a ring of straw around the rose",
        "put a layer of straw mulch under the rose bush",
        "tuck straw around the rose to keep the weeds down",
    ],
    asked: ["cover the ground around the rose with straw", "lay mulch around the rose bush"],
};

const WATER_ROSE: Lesson = Lesson {
    verb: Verb::Water,
    things: &[thing(Rose, Mulched, Watered)],
    told: [
        "water the rose well",
        "give the rose a full can of water",
        "water the rose at the foot, not on the leaves",
        "pour plenty of water around the rose",
        "take the watering can and water the rose bush",
        "soak the rose with water",
    ],
    asked: ["give the rose bush water", "pour a can of water on the rose"],
};

/// The crops.
pub(super) const TASKS: [Task; 4] = [
    Task {
        name: "tomatoes from seed",
        slug: "tomatoes-from-seed",
        domain: Gardening,
        titles: &[
            "Tomatoes from Seed",
            "Grow Your Own Tomatoes",
            "From Seed to Tomato",
            "Balcony Tomatoes",
        ],
        parts: &[
            Part::needed(FILL_POT),
            Part::needed(SOW_TOMATO),
            Part::needed(WATER_POT),
            Part::needed(SPROUT_TOMATO),
            Part::sometimes(DIG_BED),
            Part::after(TRANSPLANT_TOMATO, &[4]),
            Part::needed(STAKE_TOMATO),
            Part::sometimes(HARVEST_TOMATO),
        ],
    },
    Task {
        name: "a pot of basil",
        slug: "basil-pot",
        domain: Gardening,
        titles: &[
            "A Pot of Basil",
            "Basil on the Window Sill",
            "Grow Basil at Home",
            "Endless Basil",
        ],
        parts: &[
            Part::needed(FILL_POT),
            Part::needed(SOW_BASIL),
            Part::needed(WATER_POT),
            Part::needed(SPROUT_BASIL),
            Part::sometimes(FEED_BASIL),
            Part::needed(HARVEST_BASIL),
        ],
    },
    Task {
        name: "raised bed lettuce",
        slug: "raised-bed-lettuce",
        domain: Gardening,
        titles: &[
            "Lettuce in a Raised Bed",
            "Raised Bed Lettuce",
            "Plant a Salad Bed",
            "My First Raised Bed",
        ],
        parts: &[
            Part::needed(DIG_BED),
            Part::needed(MIX_COMPOST),
            Part::after(TRANSPLANT_LETTUCE, &[1]),
            Part::after(MULCH_BED, &[2]),
            Part::needed(WATER_LETTUCE),
        ],
    },
    Task {
        name: "roses",
        slug: "roses",
        domain: Gardening,
        titles: &[
            "Roses Made Easy",
            "Plant and Care for a Rose",
            "A Rose for the Front Garden",
            "Happy Roses",
        ],
        parts: &[
            Part::needed(DIG_BED),
            Part::sometimes(MIX_COMPOST),
            Part::after(TRANSPLANT_ROSE, &[0, 1]),
            Part::sometimes(FEED_ROSE),
            Part::needed(PRUNE_ROSE),
            Part::needed(MULCH_ROSE),
            Part::needed(WATER_ROSE),
        ],
    },
];
