//! Things in their states: what stands on the surface at the origin, some 260 wide.

pub mod vessels;
pub mod bits;
pub mod produce;
pub mod pieces;
pub mod vegetables;
pub mod bowlfuls;
pub mod dishes;
pub mod timber;
pub mod panel;
pub mod joinery;
pub mod stool;
pub mod wood;
pub mod earth;
pub mod greens;
pub mod plants;
pub mod furniture;
pub mod crops;

use super::brush::Brush;
use super::look::Look;
use crate::vocabulary::{Kind, State};

/// Draws a thing in a state, alone on the surface.
pub fn draw(b: &mut Brush, look: &Look, kind: Kind, state: State) {
    use Kind::*;
    match kind {
        Onion | Tomato | Lettuce | Cucumber | Carrot | Pepper | Avocado | Lime | Cheese
        | Berries | Potato | Apple | Courgette | Beetroot | Mushroom | Pumpkin | Aubergine => {
            vegetables::draw(b, look, kind, state);
        }
        Mince | BlackBeans | Tortilla | TortillaChips | Nachos | Taco | Dressing | Salad
        | Batter | Butter | Pancake | Syrup => dishes::draw(b, look, kind, state),
        Board | Panel | Leg | Seat | Birdhouse | Stool | Bookshelf | PlanterBox => {
            wood::draw(b, look, kind, state);
        }
        Crate | Bench | Tray | Table | Frame | Ladder | Chest | Chair | Gate => {
            furniture::draw(b, look, kind, state);
        }
        Sunflower | PepperPlant | BeanPlant | StrawberryPlant | Marigold | PumpkinPlant
        | ChilliPlant => crops::draw(b, look, kind, state, 0.35),
        Soil | Pot | GardenBed | Compost | TomatoSeeds | TomatoPlant | BasilSeeds | Basil
        | LettuceSeedling | Rose | Straw | Fertiliser => plants::draw(b, look, kind, state),
    }
}

/// Draws a thing that stands beside the work: loose food in a small bowl, the rest as it is.
pub fn draw_beside(b: &mut Brush, look: &Look, kind: Kind, state: State) {
    if pieces::is_loose(kind, state) {
        let ware = if (kind as usize).is_multiple_of(2) { look.ware } else { look.ware2 };
        vessels::bowl(b, look, ware, 150.0, 96.0, |b| {
            pieces::heap(b, look, kind, state, 128.0, 1.0)
        });
    } else {
        draw(b, look, kind, state);
    }
}
