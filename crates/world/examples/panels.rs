//! Draws scenes on one sheet, to look at while changing `drawing`:
//! `panels OUT.png DOMAIN SEEDS ITEM...`, where SEEDS is `0,1,2` and ITEM is `title`, `chatter`,
//! or `verb:kind:before:after[+kind:before:after...]`. Every item is drawn at three moments per seed.

use serde::de::DeserializeOwned;
use std::error::Error;
use stitch_world::drawing::{Place, draw};
use stitch_world::vocabulary::{Action, Domain, Scene, Thing};
use tiny_skia::{Pixmap, PixmapPaint, Transform};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [out, domain, seeds, items @ ..] = arguments.as_slice() else {
        return Err("usage: panels OUT.png DOMAIN SEEDS ITEM...".into());
    };
    let width: u32 = std::env::var("WIDTH").ok().and_then(|w| w.parse().ok()).unwrap_or(640);
    let moments = std::env::var("MOMENTS").unwrap_or("0.12,0.5,0.99".into());
    let moments: Vec<f32> = moments.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let domain: Domain = word(domain)?;
    let mut panels = Vec::new();
    for item in items {
        for seed in seeds.split(',') {
            let place = Place::new(domain, seed.parse()?);
            let scene = scene(item)?;
            for progress in &moments {
                let mut panel = Pixmap::new(width, width * 9 / 16).ok_or("bad size")?;
                draw(&place, &scene, *progress, progress * 7.0, &mut panel);
                panels.push(panel);
            }
        }
    }
    let columns =
        std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).unwrap_or(moments.len() as u32);
    write(out, &panels, columns)
}

fn write(out: &str, panels: &[Pixmap], columns: u32) -> Result<(), Box<dyn Error>> {
    let first = panels.first().ok_or("nothing to draw")?;
    let (w, h) = (first.width() + 6, first.height() + 6);
    let mut sheet =
        Pixmap::new(w * columns, h * (panels.len() as u32).div_ceil(columns)).ok_or("too large")?;
    for (i, panel) in panels.iter().enumerate() {
        let (x, y) = (i as u32 % columns * w, i as u32 / columns * h);
        sheet.draw_pixmap(
            x as i32,
            y as i32,
            panel.as_ref(),
            &PixmapPaint::default(),
            Transform::identity(),
            None,
        );
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, sheet.width(), sheet.height());
    encoder.set_color(png::ColorType::Rgba);
    encoder.write_header()?.write_image_data(sheet.data())?;
    Ok(std::fs::write(out, bytes)?)
}

fn scene(item: &str) -> Result<Scene, Box<dyn Error>> {
    match item {
        "title" => Ok(Scene::Title {
            title: "Three bean tacos at home".into(),
            subtitle: "Dinner in half an hour".into(),
        }),
        "chatter" => Ok(Scene::Chatter),
        _ => {
            let (verb, things) = item.split_once(':').ok_or("verb:kind:before:after")?;
            let things = things.split('+').map(thing).collect::<Result<_, _>>()?;
            Ok(Scene::Step(Action { verb: word(verb)?, things }))
        }
    }
}

fn thing(text: &str) -> Result<Thing, Box<dyn Error>> {
    let parts: Vec<&str> = text.split(':').collect();
    let [kind, before, after] = parts[..] else { return Err("kind:before:after".into()) };
    Ok(Thing { kind: word(kind)?, before: word(before)?, after: word(after)? })
}

fn word<T: DeserializeOwned>(text: &str) -> Result<T, Box<dyn Error>> {
    Ok(serde_json::from_value(serde_json::Value::String(text.to_string()))?)
}
