//! The kitchen's lessons and the four dishes made of them.

use super::{Lesson, Part, Task, thing};
use crate::vocabulary::Domain::Cooking;
use crate::vocabulary::Kind::*;
use crate::vocabulary::State::*;
use crate::vocabulary::Verb;

const CHOP_ONION: Lesson = Lesson {
    verb: Verb::Chop,
    things: &[thing(Onion, Whole, Chopped)],
    told: [
        "chop the onion into small pieces",
        "dice the onion nice and fine",
        "take the onion and chop it finely",
        "cut the peeled onion into little cubes",
        "finely chop one large onion",
        "chop up the onion on the board",
    ],
    asked: ["dice one onion", "cut an onion into fine pieces"],
};

const CHOP_TOMATO: Lesson = Lesson {
    verb: Verb::Chop,
    things: &[thing(Tomato, Whole, Chopped)],
    told: [
        "chop the tomato into small chunks",
        "dice the ripe tomato on the board",
        "cut the tomato into little cubes",
        "chop up a juicy red tomato",
        "take the tomato and chop it into pieces",
        "roughly chop the tomato with a sharp knife",
    ],
    asked: ["dice a tomato", "cut up the tomato into cubes"],
};

const GRATE_CHEESE: Lesson = Lesson {
    verb: Verb::Grate,
    things: &[thing(Cheese, Whole, Grated)],
    told: [
        "grate the cheese on the box grater",
        "grate a good heap of cheddar cheese",
        "take the block of cheese and grate it",
        "run the cheese down the grater until there is a big pile",
        "coarsely grate the cheese",
        "grate plenty of cheese onto the board",
    ],
    asked: ["grate some cheddar", "make a pile of grated cheese"],
};

const FRY_MINCE: Lesson = Lesson {
    verb: Verb::Fry,
    things: &[thing(Mince, Raw, Cooked), thing(Onion, Chopped, Chopped)],
    told: [
        "fry the minced beef with the onion until it is brown",
        "brown the mince in a hot pan with the chopped onion",
        "cook the ground beef and onion in the pan",
        "fry the mince and the onion, stirring all the time",
        "put the minced beef in the frying pan and brown it well",
        "fry the beef mince until no pink is left",
    ],
    asked: ["brown the ground beef in a frying pan", "pan-fry the mince with onions"],
};

const WARM_TORTILLA: Lesson = Lesson {
    verb: Verb::Warm,
    things: &[thing(Tortilla, Raw, Cooked)],
    told: [
        "warm the tortilla in a dry pan",
        "heat the tortilla in the pan until it gets brown spots",
        "toast the tortilla in a hot dry pan on both sides",
        "warm up the tortillas, turning them with the tongs",
        "lay the tortilla in the hot pan and warm it through",
        "heat the corn tortilla until it is soft and spotted",
    ],
    asked: ["heat a tortilla in a dry skillet", "toast the tortillas until soft"],
};

const FILL_TACO: Lesson = Lesson {
    verb: Verb::Fill,
    things: &[
        thing(Taco, Empty, Filled),
        thing(Mince, Cooked, Cooked),
        thing(Cheese, Grated, Grated),
    ],
    told: [
        "fill the taco with the beef and the cheese",
        "spoon the mince into the taco shell and add cheese",
        "pile the meat and the grated cheese into the taco",
        "stuff the taco with the cooked beef and cheese",
        "fill the shell with spoonfuls of mince, then cheese",
        "load up the taco with beef and grated cheese",
    ],
    asked: ["stuff the taco shell with the filling", "spoon the filling into the taco"],
};

const SQUEEZE_LIME: Lesson = Lesson {
    verb: Verb::Squeeze,
    things: &[thing(Lime, Whole, Squeezed), thing(Taco, Filled, Filled)],
    told: [
        "squeeze the lime over the taco",
        "squeeze fresh lime juice on top of the taco",
        "cut the lime in half and squeeze it over the taco",
        "finish the taco with a good squeeze of lime",
        "press the juice of half a lime over the filled taco",
        "squeeze a little lime juice over everything",
    ],
    asked: ["add a squeeze of lime juice", "drip the juice of a lime on top"],
};

const SPREAD_CHIPS: Lesson = Lesson {
    verb: Verb::Spread,
    things: &[thing(TortillaChips, Raw, Spread)],
    told: [
        "spread the tortilla chips on the tray",
        "lay out the tortilla chips in one layer on a baking tray",
        "tip the tortilla chips onto the tray and spread them out",
        "cover the baking sheet with tortilla chips",
        "scatter the corn chips evenly over the tray",
        "spread a bag of tortilla chips across the oven tray",
    ],
    asked: ["arrange tortilla chips on a baking sheet", "put the chips on a tray in a layer"],
};

const SIMMER_BEANS: Lesson = Lesson {
    verb: Verb::Simmer,
    things: &[thing(BlackBeans, Raw, Cooked)],
    told: [
        "simmer the black beans in a pot",
        "cook the black beans gently until they are soft",
        "let the black beans simmer over a low flame",
        "put the black beans in the pot and simmer them",
        "heat the black beans in the pot, stirring now and then",
        "simmer the beans until they are thick and steaming",
    ],
    asked: ["cook black beans in a pot", "gently boil the black beans until tender"],
};

const MASH_AVOCADO: Lesson = Lesson {
    verb: Verb::Mash,
    things: &[thing(Avocado, Whole, Mashed)],
    told: [
        "mash the avocado in a bowl",
        "crush the avocado with a fork until it is smooth",
        "scoop out the avocado and mash it",
        "mash the ripe avocado to a chunky guacamole",
        "press the avocado with the masher until it is creamy",
        "take a soft avocado and mash it with the fork",
    ],
    asked: ["crush a ripe avocado to a paste", "make guacamole by mashing the avocado"],
};

const CHOP_PEPPER: Lesson = Lesson {
    verb: Verb::Chop,
    things: &[thing(Pepper, Whole, Chopped)],
    told: [
        "chop the pepper into small pieces",
        "dice the bell pepper finely",
        "cut the pepper into little squares",
        "take the sweet pepper and chop it up",
        "chop one bell pepper on the board",
        "seed the pepper and chop it into cubes",
    ],
    asked: ["dice a bell pepper", "cut a sweet pepper into bits"],
};

const BAKE_NACHOS: Lesson = Lesson {
    verb: Verb::Bake,
    things: &[thing(Nachos, Raw, Cooked), thing(Cheese, Grated, Melted)],
    told: [
        "bake the nachos in the oven until the cheese melts",
        "slide the nachos into the oven and bake them",
        "put the tray of nachos in the hot oven until the cheese bubbles",
        "bake the nachos with cheese until golden",
        "let the nachos bake until the cheese runs",
        "pop the cheesy nachos in the oven for ten minutes",
    ],
    asked: [
        "oven-bake the nachos until the cheese has melted",
        "melt the cheese on the nachos in the oven",
    ],
};

const TOP_NACHOS: Lesson = Lesson {
    verb: Verb::Top,
    things: &[
        thing(Nachos, Cooked, Topped),
        thing(Avocado, Mashed, Mashed),
        thing(Pepper, Chopped, Chopped),
    ],
    told: [
        "top the nachos with the avocado and the pepper",
        "spoon the guacamole on the nachos and scatter the pepper",
        "drop the mashed avocado and chopped pepper over the nachos",
        "finish the nachos with avocado and bits of pepper",
        "put dollops of avocado and the pepper on top of the nachos",
        "dress the hot nachos with guacamole and chopped pepper",
    ],
    asked: [
        "garnish the nachos with guacamole and peppers",
        "add avocado and pepper on top of the nachos",
    ],
};

const WASH_LETTUCE: Lesson = Lesson {
    verb: Verb::Wash,
    things: &[thing(Lettuce, Whole, Washed)],
    told: [
        "wash the lettuce under cold water",
        "rinse the lettuce in the colander",
        "give the lettuce a good wash under the tap",
        "hold the lettuce under running water and rinse it well",
        "wash the whole head of lettuce",
        "rinse the lettuce leaves until they are clean",
    ],
    asked: ["rinse a head of lettuce", "clean the lettuce under the tap"],
};

const SHRED_LETTUCE: Lesson = Lesson {
    verb: Verb::Shred,
    things: &[thing(Lettuce, Washed, Shredded)],
    told: [
        "shred the lettuce into thin ribbons",
        "cut the lettuce into strips",
        "slice the washed lettuce into fine ribbons",
        "take the clean lettuce and shred it on the board",
        "finely shred the lettuce with the knife",
        "shred the lettuce leaves nice and thin",
    ],
    asked: ["cut lettuce into thin strips", "slice the lettuce leaves into shreds"],
};

const SLICE_CUCUMBER: Lesson = Lesson {
    verb: Verb::Slice,
    things: &[thing(Cucumber, Whole, Sliced)],
    told: [
        "slice the cucumber into thin rounds",
        "cut the cucumber into even slices",
        "take the cucumber and slice it thinly",
        "slice up the whole cucumber",
        "cut the cucumber crosswise into coins",
        "thinly slice one crisp cucumber",
    ],
    asked: ["cut a cucumber into discs", "make thin cucumber slices"],
};

const GRATE_CARROT: Lesson = Lesson {
    verb: Verb::Grate,
    things: &[thing(Carrot, Whole, Grated)],
    told: [
        "grate the carrot on the coarse side",
        "grate a sweet carrot into a heap",
        "take the peeled carrot and grate it",
        "run the carrot down the grater",
        "coarsely grate one large carrot",
        "grate the carrot into orange shreds",
    ],
    asked: ["shred a carrot on a grater", "make a heap of grated carrot"],
};

const WHISK_DRESSING: Lesson = Lesson {
    verb: Verb::Whisk,
    things: &[thing(Dressing, Separate, Mixed)],
    told: [
        "whisk the oil and vinegar into a dressing",
        "whisk the salad dressing in a small bowl",
        "beat the oil, vinegar and mustard together for the dressing",
        "mix the dressing with the whisk until it is smooth",
        "stir oil and vinegar together to make the dressing",
        "whisk up a quick vinaigrette",
    ],
    asked: [
        "make a vinaigrette by whisking oil and vinegar",
        "blend the salad dressing with a whisk",
    ],
};

const TOSS_SALAD: Lesson = Lesson {
    verb: Verb::Toss,
    things: &[thing(Salad, Separate, Mixed), thing(Dressing, Mixed, Mixed)],
    told: [
        "toss the salad with the dressing",
        "mix everything in the big bowl with two spoons",
        "pour on the dressing and toss the salad",
        "toss all the vegetables together in the bowl",
        "turn the salad over and over until it is coated with dressing",
        "toss the salad gently in the large bowl",
    ],
    asked: ["mix the salad and dressing in a large bowl", "toss the vegetables to coat them"],
};

const WHISK_BATTER: Lesson = Lesson {
    verb: Verb::Whisk,
    things: &[thing(Batter, Separate, Mixed)],
    told: [
        "whisk the flour, eggs and milk into a batter",
        "whisk the pancake batter until it is smooth",
        "beat the eggs, milk and flour together in a bowl",
        "mix the batter with the whisk until there are no lumps",
        "stir everything to a smooth pancake batter",
        "whisk up the batter in the mixing bowl",
    ],
    asked: ["make a smooth batter of flour, eggs and milk", "beat the pancake mix in a bowl"],
};

const MELT_BUTTER: Lesson = Lesson {
    verb: Verb::Melt,
    things: &[thing(Butter, Whole, Melted)],
    told: [
        "melt the butter in the pan",
        "let a knob of butter melt in the frying pan",
        "put the butter in the hot pan until it foams",
        "melt a piece of butter over a gentle flame",
        "heat the pan and melt the butter in it",
        "slide the butter around until it has melted",
    ],
    asked: ["heat some butter in a frying pan until liquid", "let the butter melt in a skillet"],
};

const POUR_PANCAKE: Lesson = Lesson {
    verb: Verb::Pour,
    things: &[thing(Pancake, Empty, Raw), thing(Batter, Mixed, Mixed)],
    told: [
        "pour the batter into the pan",
        "ladle some batter into the hot pan",
        "pour a round of pancake batter in the middle of the pan",
        "tip a ladle of batter into the frying pan",
        "pour in enough batter for one pancake",
        "let the batter run into the buttered pan",
    ],
    asked: ["ladle pancake batter into a hot skillet", "pour batter for one pancake in the pan"],
};

const FLIP_PANCAKE: Lesson = Lesson {
    verb: Verb::Flip,
    things: &[thing(Pancake, Raw, Cooked)],
    told: [
        "flip the pancake with the spatula",
        "turn the pancake over when you see bubbles",
        "flip the pancake and cook the other side until golden",
        "turn over the pancake in the pan",
        "slide the spatula under the pancake and flip it",
        "flip it over so the pancake browns on both sides",
    ],
    asked: ["turn the pancake to brown the second side", "flip the pancake in the skillet"],
};

const WASH_BERRIES: Lesson = Lesson {
    verb: Verb::Wash,
    things: &[thing(Berries, Whole, Washed)],
    told: [
        "wash the berries in the colander",
        "rinse the berries under cold water",
        "give the strawberries and blueberries a quick rinse",
        "wash a handful of fresh berries under the tap",
        "rinse the berries and let them drain",
        "hold the berries under running water to clean them",
    ],
    asked: ["rinse fresh berries", "clean the berries under the tap"],
};

const TOP_PANCAKE: Lesson = Lesson {
    verb: Verb::Top,
    things: &[thing(Pancake, Cooked, Topped), thing(Berries, Washed, Washed)],
    told: [
        "top the pancakes with the berries",
        "scatter the berries over the pancake",
        "drop the washed berries on top of the pancakes",
        "put a good handful of berries on the pancake stack",
        "decorate the pancake with fresh berries",
        "pile the berries on the warm pancake",
    ],
    asked: ["garnish the pancakes with berries", "put fresh berries on the pancake"],
};

const DRIZZLE_SYRUP: Lesson = Lesson {
    verb: Verb::Drizzle,
    things: &[thing(Syrup, Whole, Spread), thing(Pancake, Topped, Topped)],
    told: [
        "drizzle the syrup over the pancakes",
        "pour a thin stream of maple syrup over the top",
        "drizzle maple syrup all over the pancake and berries",
        "finish the pancakes with a drizzle of syrup",
        "let the syrup run over the pancake stack",
        "drizzle plenty of syrup on the pancakes",
    ],
    asked: ["pour maple syrup over the pancakes", "add a drizzle of syrup"],
};

/// The dishes.
pub(super) const TASKS: [Task; 4] = [
    Task {
        name: "beef tacos",
        slug: "beef-tacos",
        domain: Cooking,
        titles: &["Beef Tacos", "Easy Taco Night", "My Favourite Beef Tacos", "Tacos in No Time"],
        parts: &[
            Part::needed(CHOP_ONION),
            Part::sometimes(CHOP_TOMATO),
            Part::needed(GRATE_CHEESE),
            Part::needed(FRY_MINCE),
            Part::needed(WARM_TORTILLA),
            Part::after(FILL_TACO, &[1, 4]),
            Part::needed(SQUEEZE_LIME),
        ],
    },
    Task {
        name: "bean nachos",
        slug: "bean-nachos",
        domain: Cooking,
        titles: &["Loaded Bean Nachos", "Nachos for Friends", "Oven Nachos", "Cheesy Bean Nachos"],
        parts: &[
            Part::needed(SPREAD_CHIPS),
            Part::needed(SIMMER_BEANS),
            Part::needed(MASH_AVOCADO),
            Part::needed(GRATE_CHEESE),
            Part::needed(CHOP_PEPPER),
            Part::sometimes(CHOP_TOMATO),
            Part::after(BAKE_NACHOS, &[0, 1]),
            Part::after(TOP_NACHOS, &[5]),
        ],
    },
    Task {
        name: "garden salad",
        slug: "garden-salad",
        domain: Cooking,
        titles: &[
            "A Crisp Garden Salad",
            "Garden Salad",
            "The Big Bowl Salad",
            "Fresh Summer Salad",
        ],
        parts: &[
            Part::needed(WASH_LETTUCE),
            Part::needed(SHRED_LETTUCE),
            Part::sometimes(SLICE_CUCUMBER),
            Part::sometimes(GRATE_CARROT),
            Part::sometimes(CHOP_TOMATO),
            Part::needed(WHISK_DRESSING),
            Part::after(TOSS_SALAD, &[1, 2, 3, 4]),
        ],
    },
    Task {
        name: "berry pancakes",
        slug: "berry-pancakes",
        domain: Cooking,
        titles: &[
            "Berry Pancakes",
            "Sunday Pancakes",
            "Fluffy Pancakes with Berries",
            "Pancake Morning",
        ],
        parts: &[
            Part::needed(WHISK_BATTER),
            Part::sometimes(MELT_BUTTER),
            Part::after(POUR_PANCAKE, &[1]),
            Part::needed(FLIP_PANCAKE),
            Part::needed(WASH_BERRIES),
            Part::needed(TOP_PANCAKE),
            Part::sometimes(DRIZZLE_SYRUP),
        ],
    },
];
