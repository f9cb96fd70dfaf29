//! What synthetic videos can show: things, the states they pass through, and what is done to them.
//! Tasks and scripts are written in these words, and `drawing` draws them.
//!
//! The order of the variants decides what a seed draws: add new ones at the end of their list.

use serde::{Deserialize, Serialize};

/// A field of work with its own places, things and tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    Cooking,
    Woodworking,
    Gardening,
}

/// What is done in a step. The verb decides the tool, the motion and the sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    // cooking
    Wash,    // under a tap, in a colander
    Chop,    // knife on a board, into small pieces
    Slice,   // knife on a board, into rounds
    Shred,   // knife on a board, into ribbons
    Grate,   // box grater, a heap grows
    Mash,    // fork or masher in a bowl
    Whisk,   // whisk in a bowl
    Fry,     // pan on a flame, spatula
    Simmer,  // pot on a flame, spoon, steam
    Warm,    // dry pan on a flame, turned by tongs
    Melt,    // pan on a flame, butter slides and melts
    Pour,    // from a jug or ladle into a pan
    Flip,    // in the pan with a spatula
    Spread,  // spread out on a tray
    Bake,    // oven with a window, glow, heat
    Fill,    // spoon filling into a shell or soil into a pot
    Top,     // toppings dropped on a dish
    Squeeze, // a citrus half above a dish
    Toss,    // two spoons in a large bowl
    Drizzle, // syrup or dressing over a dish
    // woodworking
    Measure, // tape and pencil, marks appear
    Saw,     // hand saw, dust, the cut grows
    Sand,    // sanding block to and fro
    Drill,   // drill, chips, a hole
    Glue,    // bottle, a bead along an edge
    Clamp,   // clamps tighten, glue squeezes out
    Nail,    // hammer
    Screw,   // screwdriver
    Paint,   // brush, colour spreads
    Varnish, // brush or cloth, sheen and deeper colour spread
    // gardening
    Dig,        // spade or trowel, a hole grows
    MixIn,      // fork turns compost into soil
    Sow,        // seeds drop from a hand
    Water,      // watering can
    Sprout,     // days pass: sun moves, the plant comes up
    Transplant, // plant set into a hole or larger pot
    Stake,      // stick and string
    Prune,      // secateurs, stems fall
    Mulch,      // straw or bark spread around the plant
    Feed,       // a scoop of fertiliser
    Harvest,    // picked into a basket
}

/// A thing that a step acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    // cooking
    Onion,
    Tomato,
    Lettuce,
    Cucumber,
    Carrot,
    Pepper,
    Avocado,
    Cheese,
    Lime,
    Mince,
    BlackBeans,
    Tortilla,
    TortillaChips,
    Nachos,
    Taco,
    Dressing,
    Salad,
    Batter,
    Butter,
    Pancake,
    Berries,
    Syrup,
    // woodworking
    Board,
    Panel,
    Leg,
    Seat,
    Birdhouse,
    Stool,
    Bookshelf,
    PlanterBox,
    // gardening
    Soil,
    Pot,
    GardenBed,
    Compost,
    TomatoSeeds,
    TomatoPlant,
    BasilSeeds,
    Basil,
    LettuceSeedling,
    Rose,
    Straw,
    Fertiliser,
    // more food, drawn by `things/produce.rs`
    Potato,
    Apple,
    Courgette,
    Beetroot,
    Mushroom,
    Pumpkin,
    Aubergine,
    // more furniture, drawn by `things/furniture.rs`
    Crate,
    Bench,
    Tray,
    Table,
    Frame,
    Ladder,
    Chest,
    Chair,
    Gate,
    // more plants, drawn by `things/crops.rs`
    Sunflower,
    PepperPlant,
    BeanPlant,
    StrawberryPlant,
    Marigold,
    PumpkinPlant,
    ChilliPlant,
}

/// The state of a thing. `truth::states_of` has the order in which work moves each kind forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    // cooking
    Whole,
    Washed,
    Sliced,
    Shredded,
    Chopped,
    Grated,
    Mashed,
    Squeezed,
    Separate, // ingredients side by side
    Mixed,
    Raw,
    Melted,
    Cooked,
    Spread,
    Empty,
    Filled,
    Topped,
    // woodworking
    Plain,
    Marked,
    Cut,
    Rough,
    Sanded,
    Drilled,
    Glued,
    Clamped,
    Parts,
    Built,
    Varnished,
    Painted,
    // gardening
    Flat,
    Dug,
    Enriched,
    Seed,
    Sown,
    Watered,
    Sprout,
    Seedling,
    Planted,
    Staked,
    Overgrown,
    Pruned,
    Mulched,
    Fed,
    Ripe,
    Harvested,
    // form and treatment together, where a later step needs both
    CookedWhole,
    CookedSliced,
    CookedChopped,
    CookedGrated,
    SandedParts,
    PaintedParts,
    VarnishedParts,
    SandedBuilt,
    PlantedSprout, // in the bed with its first leaves only
}

/// A thing in a step, and what the step makes of it. The first thing of a step is its subject;
/// the others stand by or go in, in the state given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Thing {
    pub kind: Kind,
    /// Its state when the step begins.
    pub before: State,
    /// Its state when the step ends.
    pub after: State,
}

/// What one step shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Action {
    pub verb: Verb,
    /// What it is done to; never empty, the subject first.
    pub things: Vec<Thing>,
}

/// What the camera sees from one cut to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scene {
    /// The video's title on the place at rest.
    Title {
        title: String,
        subtitle: String,
    },
    /// The presenter talks to the camera; no step is shown.
    Chatter,
    Step(Action),
}

/// What a shot without a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherKind {
    /// The title and the greeting.
    Title,
    Chatter,
    /// The goodbye.
    Outro,
}
