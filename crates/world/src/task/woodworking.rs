//! The bench's lessons and the four pieces made of them.

use super::{Lesson, Part, Task, thing};
use crate::vocabulary::Domain::Woodworking;
use crate::vocabulary::Kind::*;
use crate::vocabulary::State::*;
use crate::vocabulary::Verb;

const MEASURE_BOARD: Lesson = Lesson {
    verb: Verb::Measure,
    things: &[thing(Board, Plain, Marked)],
    told: [
        "measure the board and mark it with a pencil",
        "mark the cutting lines on the board",
        "lay the tape along the board and mark the lengths",
        "measure the plank and draw the cut lines",
        "take the tape measure and pencil and mark out the board",
        "mark the board where it will be cut",
    ],
    asked: ["draw cut lines on a board with tape and pencil", "mark out the plank for cutting"],
};

const SAW_BOARD: Lesson = Lesson {
    verb: Verb::Saw,
    things: &[thing(Board, Marked, Cut)],
    told: [
        "saw the board along the pencil lines",
        "cut the board to length with the hand saw",
        "saw through the plank at the marks",
        "take the saw and cut the marked board into pieces",
        "saw the board with long even strokes",
        "cut the wood along the line you have drawn",
    ],
    asked: ["cut the marked plank with a hand saw", "saw the board to size"],
};

const SAND_BOARD: Lesson = Lesson {
    verb: Verb::Sand,
    things: &[thing(Board, Cut, Sanded)],
    told: [
        "sand the cut board until it is smooth",
        "rub the boards down with sandpaper",
        "sand the boards with the grain",
        "smooth the sawn board with the sanding block",
        "go over the board with sandpaper, to and fro",
        "sand the rough edges off the board",
    ],
    asked: ["smooth the boards with sandpaper", "rub down the sawn boards"],
};

const DRILL_PANEL: Lesson = Lesson {
    verb: Verb::Drill,
    things: &[thing(Panel, Plain, Drilled)],
    told: [
        "drill the entrance hole in the front panel",
        "drill a round hole through the panel for the birds",
        "take the drill and bore the doorway in the front panel",
        "bore a large hole in the middle of the panel",
        "drill the opening into the front of the house",
        "drill slowly through the panel to make the entrance",
    ],
    asked: [
        "bore the entrance hole in the panel",
        "make a round opening in the front panel with a drill",
    ],
};

const GLUE_PANEL: Lesson = Lesson {
    verb: Verb::Glue,
    things: &[thing(Panel, Drilled, Glued)],
    told: [
        "run a bead of glue along the edge of the panel",
        "spread wood glue on the edges of the panel",
        "glue the edge of the front panel",
        "squeeze a line of glue down the side of the panel",
        "put glue along the panel where the walls will go",
        "apply wood glue to the drilled panel",
    ],
    asked: ["put wood glue on the panel's edge", "lay a line of glue on the panel"],
};

const NAIL_BIRDHOUSE: Lesson = Lesson {
    verb: Verb::Nail,
    things: &[thing(Birdhouse, Parts, Built)],
    told: [
        "nail the birdhouse together",
        "hammer the walls and the roof of the birdhouse together",
        "put the parts together and nail the birdhouse",
        "drive the nails in to hold the birdhouse",
        "nail the sides, the bottom and the roof in place",
        "take the hammer and nail the little house together",
    ],
    asked: ["hammer the birdhouse parts together", "assemble the birdhouse with nails"],
};

const PAINT_BIRDHOUSE: Lesson = Lesson {
    verb: Verb::Paint,
    things: &[thing(Birdhouse, Built, Painted)],
    told: [
        "paint the birdhouse in a bright colour",
        "brush a coat of paint on the birdhouse",
        "paint the walls and the roof of the birdhouse",
        "give the birdhouse a fresh coat of paint",
        "take the brush and paint the finished birdhouse",
        "cover the birdhouse with outdoor paint",
    ],
    asked: ["put a coat of paint on the birdhouse", "colour the birdhouse with a brush"],
};

const SAW_LEG: Lesson = Lesson {
    verb: Verb::Saw,
    things: &[thing(Leg, Plain, Cut)],
    told: [
        "saw the legs to the same length",
        "cut the stool legs with the hand saw",
        "saw the leg off the long round stick",
        "take the saw and cut each leg to length",
        "saw through the leg with steady strokes",
        "cut all the legs of the stool to size",
    ],
    asked: ["cut the legs to length with a saw", "saw the stool's legs to size"],
};

const SAND_SEAT: Lesson = Lesson {
    verb: Verb::Sand,
    things: &[thing(Seat, Rough, Sanded)],
    told: [
        "sand the seat until it feels like silk",
        "smooth the round seat with the sanding block",
        "rub the rough seat down with sandpaper",
        "sand the top of the stool nice and smooth",
        "sand the seat in circles, then with the grain",
        "take the sandpaper and smooth the seat",
    ],
    asked: ["smooth the stool's seat with sandpaper", "rub down the rough seat"],
};

const DRILL_SEAT: Lesson = Lesson {
    verb: Verb::Drill,
    things: &[thing(Seat, Sanded, Drilled)],
    told: [
        "drill the holes for the legs into the seat",
        "bore the leg holes in the seat",
        "drill holes into the bottom of the seat",
        "take the drill and make the holes in the seat",
        "drill the seat where the legs will go",
        "bore into the seat at a slight angle",
    ],
    asked: ["bore holes in the seat for the legs", "make leg holes in the seat with a drill"],
};

const GLUE_LEG: Lesson = Lesson {
    verb: Verb::Glue,
    things: &[thing(Leg, Cut, Glued)],
    told: [
        "put glue on the ends of the legs",
        "squeeze some wood glue on each leg",
        "glue the legs before they go into the seat",
        "run a little glue around the top of the leg",
        "spread glue on the leg ends",
        "apply wood glue to the legs of the stool",
    ],
    asked: ["add wood glue to the stool legs", "brush the leg ends with glue"],
};

const CLAMP_STOOL: Lesson = Lesson {
    verb: Verb::Clamp,
    things: &[thing(Stool, Glued, Clamped)],
    told: [
        "clamp the stool until the glue is dry",
        "tighten the clamps around the stool",
        "hold the glued stool together with clamps",
        "put the clamps on the stool and tighten them",
        "clamp everything tight so the stool dries straight",
        "screw the clamps down until the glue squeezes out",
    ],
    asked: ["fix the stool with clamps while it dries", "press the glued stool together in clamps"],
};

const VARNISH_STOOL: Lesson = Lesson {
    verb: Verb::Varnish,
    things: &[thing(Stool, Clamped, Varnished)],
    told: [
        "varnish the stool with a soft brush",
        "brush clear varnish over the whole stool",
        "give the stool a coat of varnish",
        "finish the stool with varnish until it shines",
        "wipe the varnish onto the stool",
        "take the brush and varnish the seat and the legs",
    ],
    asked: ["coat the stool with varnish", "apply a shiny finish to the stool"],
};

const SCREW_BOOKSHELF: Lesson = Lesson {
    verb: Verb::Screw,
    things: &[thing(Bookshelf, Parts, Built)],
    told: [
        "screw the bookshelf together",
        "screw the shelves to the sides",
        "drive the screws in to join the bookshelf",
        "put the sides and the shelves together with screws",
        "take the screwdriver and assemble the bookshelf",
        "fix every shelf with two screws on each side",
    ],
    asked: ["join the bookshelf's parts with screws", "assemble the shelves with a screwdriver"],
};

const VARNISH_BOOKSHELF: Lesson = Lesson {
    verb: Verb::Varnish,
    things: &[thing(Bookshelf, Built, Varnished)],
    told: [
        "varnish the bookshelf from top to bottom",
        "brush varnish on the shelves",
        "give the bookshelf two coats of varnish",
        "finish the bookshelf with a clear varnish",
        "varnish the shelves to bring out the grain",
        "take the brush and varnish the whole bookshelf",
    ],
    asked: ["coat the bookshelf with varnish", "apply a clear finish to the shelves"],
};

const SCREW_PLANTER: Lesson = Lesson {
    verb: Verb::Screw,
    things: &[thing(PlanterBox, Parts, Built)],
    told: [
        "screw the planter box together",
        "screw the four sides and the bottom of the planter together",
        "drive screws into the corners of the planter box",
        "take the screwdriver and assemble the planter",
        "join the boards of the planter box with screws",
        "fix the sides of the planter with screws",
    ],
    asked: ["assemble the planter box with screws", "join the planter's sides with a screwdriver"],
};

const DRILL_PLANTER: Lesson = Lesson {
    verb: Verb::Drill,
    things: &[thing(PlanterBox, Built, Drilled)],
    told: [
        "drill drain holes into the planter box",
        "bore a few holes in the planter so water can run out",
        "drill the drainage holes in the bottom of the planter",
        "take the drill and make holes in the planter box",
        "drill some holes in the box so the roots do not drown",
        "bore drain holes through the planter's bottom",
    ],
    asked: [
        "make drainage holes in the planter with a drill",
        "bore holes in the planter box for drainage",
    ],
};

const PAINT_PLANTER: Lesson = Lesson {
    verb: Verb::Paint,
    things: &[thing(PlanterBox, Drilled, Painted)],
    told: [
        "paint the planter box",
        "brush a coat of paint on the planter",
        "paint the outside of the planter in a cheerful colour",
        "give the planter box a coat of outdoor paint",
        "take the brush and paint all the sides of the planter",
        "cover the planter box with paint",
    ],
    asked: ["put a coat of paint on the planter box", "colour the planter with a brush"],
};

/// The pieces.
pub(super) const TASKS: [Task; 4] = [
    Task {
        name: "birdhouse",
        slug: "birdhouse",
        domain: Woodworking,
        titles: &[
            "A Simple Birdhouse",
            "Build a Birdhouse",
            "Birdhouse in an Afternoon",
            "A Home for the Tits",
        ],
        parts: &[
            Part::needed(MEASURE_BOARD),
            Part::needed(SAW_BOARD),
            Part::sometimes(SAND_BOARD),
            Part::needed(DRILL_PANEL),
            Part::sometimes(GLUE_PANEL),
            Part::after(NAIL_BIRDHOUSE, &[1, 2, 3, 4]),
            Part::needed(PAINT_BIRDHOUSE),
        ],
    },
    Task {
        name: "three-legged stool",
        slug: "stool",
        domain: Woodworking,
        titles: &[
            "A Three-Legged Stool",
            "Make a Stool",
            "The Workshop Stool",
            "A Stool That Lasts",
        ],
        parts: &[
            Part::needed(SAW_LEG),
            Part::needed(SAND_SEAT),
            Part::needed(DRILL_SEAT),
            Part::needed(GLUE_LEG),
            Part::after(CLAMP_STOOL, &[2, 3]),
            Part::needed(VARNISH_STOOL),
        ],
    },
    Task {
        name: "bookshelf",
        slug: "bookshelf",
        domain: Woodworking,
        titles: &[
            "A Small Bookshelf",
            "Build a Bookshelf",
            "Shelves for Your Books",
            "The Weekend Bookshelf",
        ],
        parts: &[
            Part::needed(MEASURE_BOARD),
            Part::needed(SAW_BOARD),
            Part::needed(SAND_BOARD),
            Part::after(SCREW_BOOKSHELF, &[2]),
            Part::needed(VARNISH_BOOKSHELF),
        ],
    },
    Task {
        name: "planter box",
        slug: "planter-box",
        domain: Woodworking,
        titles: &[
            "A Wooden Planter Box",
            "Planter Box for the Balcony",
            "Build a Planter",
            "My Planter Box",
        ],
        parts: &[
            Part::needed(MEASURE_BOARD),
            Part::needed(SAW_BOARD),
            Part::sometimes(SAND_BOARD),
            Part::after(SCREW_PLANTER, &[1, 2]),
            Part::needed(DRILL_PLANTER),
            Part::needed(PAINT_PLANTER),
        ],
    },
];
