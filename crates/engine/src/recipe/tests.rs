//! Procedures as people write them, and files that are none.

use proptest::prelude::*;

use super::*;

/// By rules alone.
fn read_procedure(name: &str, bytes: &[u8]) -> Result<Reading, RecipeError> {
    super::read_procedure(name, bytes, None)
}

/// Title and steps, a line each.
fn read(name: &str, text: &str) -> String {
    match read_procedure(name, text.as_bytes()) {
        Ok(Reading { procedure, .. }) => {
            format!("{} | {}", procedure.title(), procedure.steps().join(" | "))
        }
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn lines_that_are_no_steps_are_told() {
    let text = "Taco\nServes 4\n\nIngredients\n- 2 onions\n\nMethod\n1. Chop.\n2. Fry.\n\nEnjoy!";
    let reading = read_procedure("r.txt", text.as_bytes()).unwrap();
    assert_eq!(reading.left_out, ["Serves 4", "Ingredients", "- 2 onions", "Method", "Enjoy!"]);
}

/// Labels sentences by what they begin with, after their list mark.
struct ByFirstWord;

impl Labeller for ByFirstWord {
    fn label(&self, lines: &[Vec<&str>]) -> Option<Vec<Vec<Label>>> {
        let label = |sentence: &&str| {
            let words = lines::item(sentence).map_or(*sentence, |(_, text)| text);
            match words.trim_start_matches(['#', ' ']).split_whitespace().next()? {
                "Soup" => Some(Label::Title),
                "Chop" | "Fry" | "Stir" => Some(Label::Step),
                "until" | "Twice." => Some(Label::More),
                "illegible" => None,
                _ => Some(Label::Other),
            }
        };
        lines.iter().map(|line| line.iter().map(label).collect()).collect()
    }
}

#[test]
fn labels_decide_where_there_are_any() {
    let cases = [
        ("Soup\nNice. Chop it. Twice. Good. Fry it.", "Soup | Chop it. Twice. | Fry it."),
        ("# Soup of mine\nFry it\nuntil **done**\n", "Soup of mine | Fry it until done"),
        ("Chop it.\nTwice. Twice.\nFry\nTwice.", " | Chop it. | Twice. Twice. | Fry | Twice."),
        // A list is steps or not as a whole, and an item is one step.
        ("1. Chop it. Fry it.\n2. Onions\n3. Stir", " | Chop it. Fry it. | Onions | Stir"),
        ("- Chop\n- salt\n- oil\n\nFry it", " | Fry it"),
        ("- salt\n- oil\n1. Chop\n2. Fry\n3. Serve", " | Chop | Fry | Serve"),
        ("- salt\n- oil\nuntil warm\n- soap\n\nFry it", " | Fry it"),
        // Every labelled line is a step, also in small letters.
        ("Soup\nStir onions\nStir it\nand stir", "Soup | Stir onions | Stir it"),
        ("Heat it to 180. Chop it to 5. Fry it.", " | Chop it to 5. | Fry it."),
        ("Soup\nChop all:\n- Chop one\n- Fry two\n- Stir", "Soup | Chop one | Fry two | Stir"),
        (
            "Fry it. Chop all:\n- Chop one\n- Fry two\n- Stir",
            " | Fry it. | Chop one | Fry two | Stir",
        ),
        // An item is one step with the lines that go on with it, and never part of another.
        ("1. Chop it.\n2. Nice. Fry it.", " | Chop it. | Fry it."),
        ("1. Chop it.\n   Twice.\n2. Fry", " | Chop it. Twice. | Fry"),
        // Markup is no part of a step.
        ("## Chop\n## Fry", " | Chop | Fry"),
        (
            "---\ntitle: T\n---\n**1.** Chop\n```\nFry\n```\n> 2. Stir\n3. Fry",
            "T | Chop | Stir | Fry",
        ),
        ("## Step 1: Chop\n## Step 2: Fry\n| Stir | it |", " | Chop | Fry"),
        // Where nothing is labelled as a step, the rules read a numbered list and nothing else.
        ("1. Nice words\n2. Warm words", " | Nice words | Warm words"),
        // Without a labelled title the rules find one; without labels they find all.
        ("Pea stew\n\nWarm words.\nFry it", "Pea stew | Fry it"),
        ("1. Chop\n2. illegible", " | Chop | illegible"),
    ];
    for (text, expected) in cases {
        let reading = super::read_procedure("r.txt", text.as_bytes(), Some(&ByFirstWord)).unwrap();
        let steps = reading.procedure.steps().join(" | ");
        assert_eq!(format!("{} | {steps}", reading.procedure.title()), expected, "{text}");
    }
}

#[test]
fn a_text_without_steps_is_an_error() {
    let poem = b"Roses are red\nViolets are blue";
    let error = super::read_procedure("r.txt", poem, Some(&ByFirstWord)).unwrap_err();
    assert!(matches!(error, RecipeError::NoSteps { .. }), "{error}");
}

#[test]
fn a_line_of_blanks_costs_no_more_than_another() {
    let text = format!("Chop it.{}Fry it.", " ".repeat(10 << 20));
    let reading = super::read_procedure("r.txt", text.as_bytes(), Some(&ByFirstWord)).unwrap();
    assert_eq!(reading.procedure.steps(), ["Chop it.", "Fry it."]);
}

#[test]
fn another_language_is_told() {
    let german = "Die Zwiebeln schälen und in kleine Würfel schneiden.\nDas Öl in einer großen Pfanne \
        erhitzen und die Zwiebeln darin anbraten.";
    let reading = read_procedure("r.txt", german.as_bytes()).unwrap();
    assert_eq!(reading.language, Some("German"));
    let english = "Peel the onions and cut them into small dice.\nHeat the oil in a large pan and fry \
        the onions in it.";
    assert_eq!(read_procedure("r.txt", english.as_bytes()).unwrap().language, None);
}

#[test]
fn text_from_right_to_left_and_in_two_languages_is_read() {
    let cases = [
        ("حساء البصل\n\n1. قطّع البصل.\n2. سخّن الزيت.", "حساء البصل | قطّع البصل. | سخّن الزيت."),
        ("١. قطّع البصل\n٢. سخّن الزيت", " | قطّع البصل | سخّن الزيت"),
        ("\u{200f}1. לחתוך את הבצל\n\u{200f}2. לטגן את הבצל", " | לחתוך את הבצל | לטגן את הבצל"),
        (
            "Zwiebelsuppe\n\n1. Die Zwiebeln schälen.\n2. Fry the onions in butter.\n3. Mit Wasser ablöschen.",
            "Zwiebelsuppe | Die Zwiebeln schälen. | Fry the onions in butter. | Mit Wasser ablöschen.",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read("r.txt", text), expected);
    }
}

#[test]
fn plain_text_in_every_form() {
    let cases = [
        ("Chop the onion\nFry it\nServe", " | Chop the onion | Fry it | Serve"),
        ("Chop the onion\n\nFry it\n\nServe", " | Chop the onion | Fry it | Serve"),
        ("Vegan taco\n\nChop the onion\nFry it", "Vegan taco | Chop the onion | Fry it"),
        ("Vegan taco\n1. Chop\n2. Fry", "Vegan taco | Chop | Fry"),
        (
            "A Stool That Lasts meets Shelves for Your Books meets a Box for Small Things\n\nChop\nFry",
            "A Stool That Lasts meets Shelves for Your Books meets a Box for Small Things | Chop | Fry",
        ),
        (
            "In a wide bowl mix the flour with all the eggs and the milk\n\nFry\n\nServe",
            " | In a wide bowl mix the flour with all the eggs and the milk | Fry | Serve",
        ),
        ("1) Chop\r\n2) Fry\r\n", " | Chop | Fry"),
        ("(1) Chop\n(2) Fry", " | Chop | Fry"),
        ("Step 1: Chop\nStep 2 - Fry\nStep three: Eat", " | Chop | Fry | Eat"),
        ("STEP 1\nChop the onion.\nKeep it.\n\nSTEP 2\nFry.", " | Chop the onion. Keep it. | Fry."),
        ("a) Chop\nb) Fry", " | Chop | Fry"),
        ("- Chop\n- Fry", " | Chop | Fry"),
        ("• Chop\n• Fry", " | Chop | Fry"),
        ("☐ Chop\n☐ Fry", " | Chop | Fry"),
        ("1. Chop the onion\n   very finely\n2. Fry", " | Chop the onion very finely | Fry"),
        ("1. Chop\n\n2. Fry. Then rest.\n\nEnjoy!", " | Chop | Fry. Then rest."),
        ("Chop the onion. Fry it. Serve.", " | Chop the onion. | Fry it. | Serve."),
        ("Chop the onion. Keep it.\nFry.", " | Chop the onion. Keep it. | Fry."),
        (
            "Taco\nServes 4\nPrep time: 10 min\n\nIngredients\n2 onions\n1 lime\n\nMethod\nChop.\nFry.\n\nNotes\nGood.",
            "Taco | Chop. | Fry.",
        ),
        (
            "Taco\n\nINGREDIENTS:\n- 2 onions\n- 1 lime\n\nDIRECTIONS:\n1. Chop\n2. Fry",
            "Taco | Chop | Fry",
        ),
        ("2 onions\n200 g flour\n½ lime\nChop the onions\nFry", " | Chop the onions | Fry"),
        ("Method:\nFor the sauce:\nChop.\nFry.\nFor the rest:\nBake.", " | Chop. | Fry. | Bake."),
        (
            "Take a large onion and peel it with a knife until the\nskin is off. Then chop it as finely as you can into\nsmall pieces.",
            " | Take a large onion and peel it with a knife until the skin is off. | Then chop it as finely as you can into small pieces.",
        ),
        ("Add the potatoes\n1.5 L water\nBoil", " | Add the potatoes | Boil"),
        (
            "Zwiebeln schneiden\nin Öl braten\nmit Salz würzen",
            " | Zwiebeln schneiden | in Öl braten | mit Salz würzen",
        ),
        (
            "Soup\n\nMy aunt's.\n\nChop.\nFry.\nStir.\n\nIn a pan, melt it.\n\nStir.\nPour.\nEat.\n\nLovely.",
            "Soup | Chop. | Fry. | Stir. | In a pan, melt it. | Stir. | Pour. | Eat.",
        ),
        ("Add 1.5 l of water\n1.5 l more\nBoil", " | Add 1.5 l of water | Boil"),
        ("Add 1 tbsp. Sugar is fine too. Stir.", " | Add 1 tbsp. Sugar is fine too. | Stir."),
        ("Zwiebel schneiden\nBraten", " | Zwiebel schneiden | Braten"),
        ("Guacamole\nMash it.\nSalt it.", "Guacamole | Mash it. | Salt it."),
        (
            "# Beans\n10 Mar: 9 cm pots, filled\n12 Mar: 3 per pot\n2 May: all six out",
            "Beans | 10 Mar: 9 cm pots, filled | 12 Mar: 3 per pot | 2 May: all six out",
        ),
        ("Tomato notes\nChop them.\nFry them.", "Tomato notes | Chop them. | Fry them."),
        ("Planter (notes)\n- mark\n- saw", "Planter (notes) | mark | saw"),
        ("4.1 Cheese is grated.\n4.2 Onions are cut.", " | Cheese is grated. | Onions are cut."),
        (
            "Slaw\n\nA picnic dish.\n\nShred it.\nMix it.\nChill it.\n\nBetter the next day.",
            "Slaw | Shred it. | Mix it. | Chill it.",
        ),
        (
            "Salad\n3 tomatoes, in wedges then halved\n1 cucumber, thick slices\ncrumble feta over",
            "Salad | 3 tomatoes, in wedges then halved | 1 cucumber, thick slices | crumble feta over",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read("r.txt", text), expected, "{text}");
    }
}

#[test]
fn markdown() {
    let text = "---\ntitle: Front\ntags: [a]\n---\n# Vegan *taco*\n\nA story about my [aunt](http://x).\n\n\
        ![taco](t.png)\n\n## Ingredients\n\n- 2 onions\n- salt\n\n## Instructions\n\n### Filling\n\n\
        1. **Chop** the [onion](http://o).\n2. Fry in `oil`,\n   gently.\n\n### Finish\n\n1. Serve.\n\n\
        ## Notes\n\n- Keeps well.\n";
    assert_eq!(read("r.md", text), "Vegan taco | Chop the onion. | Fry in oil, gently. | Serve.");
    assert_eq!(read("r.txt", text), read("r.md", text));
    assert_eq!(read("r.md", "**Method**\n* Chop\n* Fry_it_up"), " | Chop | Fry_it_up");
    assert_eq!(read("r.md", "Taco\n====\n\nChop it\n\nFry it"), "Taco | Chop it | Fry it");
    assert_eq!(read("r.md", "---\ntitle: \"Taco\"\n---\n- Chop\n- Fry"), "Taco | Chop | Fry");
}

#[test]
fn json_in_every_shape() {
    let cases = [
        (r#"{"title": "T", "steps": ["Chop", "Fry"]}"#, "T | Chop | Fry"),
        (r#"{"title": "T", "steps": [{"text": "Chop"}, {"text": "Fry"}]}"#, "T | Chop | Fry"),
        (r#"["Chop", "Fry"]"#, " | Chop | Fry"),
        (
            r#"{"@type": "Recipe", "name": "T", "recipeInstructions": "Chop it.\nFry it."}"#,
            "T | Chop it. | Fry it.",
        ),
        (
            r#"{"@type": "Recipe", "name": "T", "recipeInstructions": "<p>Chop it. Fry &amp; eat.</p>"}"#,
            "T | Chop it. | Fry & eat.",
        ),
        (
            r#"{"@type": ["Thing", "http://schema.org/Recipe"], "recipeInstructions": ["1. Chop", "2. Fry"]}"#,
            " | Chop | Fry",
        ),
        (
            r#"{"@graph": [{"@type": "WebSite", "name": "W"}, {"@type": "Recipe", "name": "T",
                "recipeInstructions": [{"@type": "HowToSection", "name": "Sauce", "itemListElement":
                [{"@type": "HowToStep", "name": "Chop", "text": "Chop it."}]},
                {"@type": "HowToStep", "text": "Fry."}]}]}"#,
            "T | Chop it. | Fry.",
        ),
        (
            r#"[{"@type": "HowTo", "name": "T", "step": [{"@type": "HowToStep", "itemListElement":
                [{"@type": "HowToDirection", "text": "Saw."}, {"@type": "HowToTip", "text": "Careful"},
                 {"@type": "HowToDirection", "text": "Sand."}]}]}]"#,
            "T | Saw. Sand.",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read("r.json", text), expected, "{text}");
    }
}

#[test]
fn whole_pages() {
    let linked = r#"<!DOCTYPE html><html><head><title>Site</title><script type="application/ld+json">
        {"@context": "https://schema.org", "@type": "Recipe", "name": "Taco &amp; lime",
         "recipeInstructions": [{"@type": "HowToStep", "text": "Chop
         it."}, {"@type": "HowToStep", "text": "Fry."}]}</script></head>
        <body><ol><li>Home<li>About<li>More</ol></body></html>"#;
    assert_eq!(read("r.html", linked), "Taco & lime | Chop it. | Fry.");
    let disagreeing = r#"<html><head><script type="application/ld+json">{"@type": "Recipe", "name": "Taco",
        "recipeInstructions": ["Chop it.", "Fry."]}</script></head><body><h1>Soup</h1><h2>Method</h2>
        <ol><li>Boil water.<li>Stir.<li>Serve.</ol></body></html>"#;
    assert_eq!(
        read("r.html", disagreeing),
        "Taco | Chop it. | Fry.",
        "linked data wins over prose"
    );
    let micro = "<html><body><div itemscope itemtype='http://schema.org/Recipe'><h1 itemprop=name>Taco</h1>\
        <ul><li itemprop=recipeIngredient>2 onions</ul>\
        <div itemprop='recipeInstructions'><ol><li>Chop <b>it</b>.<li>Fry.</ol></div></div></body></html>";
    assert_eq!(read("page", micro), "Taco | Chop it. | Fry.");
    let headed = "<html><body><nav><ol><li>Home<li>Recipes<li>Blog<li>Shop</ol></nav><h1>Taco</h1><p>My story.\
        <h2>Ingredients</h2><ul><li>2 onions</ul><h2>Method</h2><ol><li>Chop.<li>Fry.</ol><h2>Comments</h2>\
        <ol><li>Nice!<li>Yum</ol></body></html>";
    assert_eq!(read("page.htm", headed), "Taco | Chop. | Fry.");
    let none = "<html><body><p>Hello there, nothing to see.</p></body></html>";
    assert!(read("x.html", none).contains("web page without recipe data"));
}

#[test]
fn says_what_was_found_and_what_to_do() {
    let mut said: Vec<String> =
        ["", " \n\n", "---", "{\"a\": ", "{\"a\": 1}", "<html></html>", "Serves 4"]
            .iter()
            .map(|text| read("r", text))
            .collect();
    let many: String = (0..501).map(|i| format!("{i}. Step number {i}\n")).collect();
    said.push(read("r", &many.replace("0. ", "1. ")));
    said.push(read_procedure("r.pdf", b"%PDF-1.7").unwrap_err().to_string());
    said.push(read_procedure("r", &vec![b'a'; (20 << 20) + 1]).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_shopping_list_and_a_program_are_no_procedures() {
    for list in ["2 eggs\n1 onion\n200 g flour", "- 2 eggs\n- 1 onion\n- 200 g flour"] {
        assert!(read("r", list).contains("was found, but no steps"), "{list}");
    }
    let program: Vec<u8> = (0..2000).map(|i| (i * 37 % 251) as u8).collect();
    let error = read_procedure("r", &program).unwrap_err();
    assert!(matches!(error, RecipeError::NotText { found: "a binary file" }), "{error}");
}

#[test]
fn pronouns_alone_are_steps_as_they_stand() {
    let text = "Take it.\nPut that on them.\nTurn it over.\nServe those.";
    assert_eq!(read("r", text), " | Take it. | Put that on them. | Turn it over. | Serve those.");
}

/// Rules cannot tell a poem from notes, a labeller can; they make nothing up.
#[test]
fn of_a_poem_the_rules_read_lines() {
    let poem = "The rain is soft\nupon the hill\nand every bird\nis sleeping still";
    let procedure = read_procedure("r", poem.as_bytes()).unwrap().procedure;
    for step in procedure.steps() {
        assert!(poem.lines().any(|line| line == step), "{step}");
    }
}

#[test]
fn two_recipes_are_read_in_order_with_a_warning() {
    let soup = "Ingredients\n- 2 leeks\n\nMethod\n1. Chop.\n2. Fry.\n";
    let cake = "Ingredients\n- 3 eggs\n\nMethod\n1. Whisk.\n2. Bake.\n";
    let plain = format!("Leek soup\n\n{soup}\nEgg cake\n\n{cake}");
    let headings = |text: &str| text.replace("Ingr", "## Ingr").replace("Meth", "## Meth");
    let markdown = format!("# Leek soup\n\n{}\n# Egg cake\n\n{}", headings(soup), headings(cake));
    for text in [plain, markdown] {
        assert_eq!(read("r", &text), "Leek soup | Chop. | Fry. | Whisk. | Bake.");
        let reading = read_procedure("r", text.as_bytes()).unwrap();
        assert!(reading.left_out.iter().any(|line| line.ends_with("Egg cake")), "{text}");
        let warnings = reading.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("2 recipes"), "{warnings:?}");
    }
    let one = read_procedure("r", format!("Leek soup\n\nTools\n- pan\n\n{soup}").as_bytes());
    assert_eq!(one.unwrap().warnings(), [""; 0]);
}

#[test]
fn several_languages_in_one_text_are_kept_in_order() {
    let text = "Chop the onion.\nDie Zwiebel anbraten.\nServir caliente.\n洗胡萝卜。";
    assert_eq!(
        read("r", text),
        " | Chop the onion. | Die Zwiebel anbraten. | Servir caliente. | 洗胡萝卜。"
    );
}

#[test]
fn text_from_right_to_left_is_read_as_any_other() {
    let marked = "\u{200f}1. לקצוץ את הבצל\n\u{200f}2. לטגן את הבצל\n\u{200f}3. להגיש\u{202c}";
    assert_eq!(read("r", marked), " | לקצוץ את הבצל | לטגן את הבצל | להגיש");
    let lines = "قطع البصل.\nاقل البصل في الزيت.\nقدم الطبق.";
    assert_eq!(read("r", lines), " | قطع البصل. | اقل البصل في الزيت. | قدم الطبق.");
}

#[test]
fn three_hundred_steps_are_kept() {
    let text: String = (1..=300).map(|i| format!("{i}. Chop onion number {i}\n")).collect();
    let procedure = read_procedure("long.txt", text.as_bytes()).unwrap().procedure;
    assert_eq!(procedure.steps().len(), 300);
    assert_eq!(procedure.steps()[299], "Chop onion number 300");
}

#[test]
fn encodings() {
    let text = "1. Crème schlagen\n2. Servieren";
    let utf16: Vec<u8> =
        std::iter::once(0xfeff_u16).chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    let latin = encoding_rs::WINDOWS_1252.encode(text).0.into_owned();
    for bytes in [utf16, latin, text.into()] {
        assert_eq!(read_procedure("r", &bytes).unwrap().procedure.steps()[0], "Crème schlagen");
    }
}

fn list(text: &str) -> String {
    match read_step_list(text.as_bytes()) {
        Ok(list) => {
            let step = |s: &GivenStep| format!("{:?}-{:?} {}", s.start_ms, s.end_ms, s.text);
            let steps: Vec<String> = list.steps.iter().map(step).collect();
            format!("{} | {}", list.title, steps.join(" | ")).replace("Some", "")
        }
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn step_lists_with_times() {
    let cases = [
        (
            r#"{"title": "T", "steps": [{"text": "Chop", "start": 1.5, "end": "0:10"}, {"text": "Fry"}]}"#,
            "T | (1500)-(10000) Chop | None-None Fry",
        ),
        (
            r#"{"@type": "HowTo", "name": "T", "step": [{"@type": "HowToStep", "text": "Chop",
                "video": {"@type": "Clip", "startOffset": 3, "endOffset": "PT1M"}}]}"#,
            "T | (3000)-(60000) Chop",
        ),
        (
            r##"{"@type": "Recipe", "name": "T", "recipeInstructions": [
                {"@type": "HowToStep", "text": "Fry", "video": {"@id": "#b"}},
                {"@type": "HowToStep", "text": "Chop", "video": {"@id": "#a"}}],
                "video": {"@type": "VideoObject", "hasPart": [
                {"@type": "Clip", "@id": "#a", "name": "a", "startOffset": 1, "endOffset": 2},
                {"@type": "Clip", "@id": "#b", "name": "b", "startOffset": 3, "endOffset": 4}]}}"##,
            "T | (3000)-(4000) Fry | (1000)-(2000) Chop",
        ),
        (
            r#"{"@type": "HowTo", "video": {"hasPart": [{"name": "Saw", "startOffset": 1, "endOffset": 2}]}}"#,
            " | (1000)-(2000) Saw",
        ),
        (
            "Stool\n0:05 Saw the legs\n1:00 - Sand",
            "Stool | (5000)-(60000) Saw the legs | (60000)-None Sand",
        ),
        (
            "[0:05-0:10] Saw\n[1:00:00-1:00:05] Sand",
            " | (5000)-(10000) Saw | (3600000)-(3605000) Sand",
        ),
        ("1. Saw\n2. Sand", " | None-None Saw | None-None Sand"),
    ];
    for (text, expected) in cases {
        assert_eq!(list(text), expected, "{text}");
    }
    insta::assert_snapshot!(
        [
            r#"{"steps": [{"text": "Chop", "start": 9, "end": 3}]}"#,
            r#"{"steps": [{"text": "Chop", "end": 3}]}"#,
            r#"{"steps": [{"text": "Chop"}, {"text": "Fry", "start": "soon"}]}"#,
            r#"{"steps": []}"#,
            "0:10-0:05 Chop",
            "",
        ]
        .map(list)
        .join("\n")
    );
}

/// Text made of the pieces that recipes are made of.
fn recipe_like() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "1. ",
        "2) ",
        "- ",
        "* ",
        "# ",
        "\n",
        "\n\n",
        "Method",
        ":",
        "Ingredients",
        "Chop it",
        "Step 3",
        "a) ",
        "[",
        "](",
        ")",
        "**",
        "`",
        "```\n",
        "---\n",
        "title: x",
        "<p>",
        "<ol><li>",
        "</ol>",
        "<html>",
        "&amp;",
        "{",
        "}",
        "\"steps\"",
        "\"text\":",
        "[",
        "]",
        ",",
        "\"@type\": \"Recipe\"",
        "é",
        "1️⃣",
        "\t",
        "  ",
        "0:10-",
        "½",
        "<!--",
        "-->",
        "<script type='application/ld+json'>",
        "\\",
        "_",
        "|",
        "Serves 4",
        ".",
    ]);
    proptest::collection::vec(piece, 0..50).prop_map(|pieces| pieces.concat())
}

fn is_sound(steps: &[String]) -> bool {
    !steps.is_empty() && steps.iter().all(|step| step.chars().any(char::is_alphanumeric))
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for name in ["a.txt", "a.md", "a.html", "a.json"] {
            if let Ok(Reading { procedure, .. }) = read_procedure(name, &bytes) {
                prop_assert!(is_sound(procedure.steps()));
            }
        }
        let _ = read_step_list(&bytes);
    }

    #[test]
    fn anything_like_a_recipe_is_read_or_refused(text in recipe_like()) {
        for name in ["a.txt", "a.md", "a.html"] {
            if let Ok(Reading { procedure, .. }) = read_procedure(name, text.as_bytes()) {
                prop_assert!(is_sound(procedure.steps()));
            }
        }
        if let Ok(list) = read_step_list(text.as_bytes()) {
            prop_assert!(list.steps.iter().all(|s| s.end_ms.is_none() || s.start_ms < s.end_ms));
        }
    }

    #[test]
    fn numbered_lines_come_back_as_they_are(
        steps in proptest::collection::vec("[A-Z][a-z]{2,8}( [a-z]{1,8}){1,6}", 1..300)
    ) {
        let text: String = steps.iter().enumerate().map(|(i, s)| format!("{}. {s}\n", i + 1)).collect();
        let procedure = read_procedure("r.txt", text.as_bytes()).unwrap().procedure;
        prop_assert_eq!(procedure.steps(), &steps[..]);
    }
}

/// As many steps as clips, none of which refers to another.
fn steps_and_clips(count: usize) -> String {
    let list = |kind: &str| -> Vec<String> {
        let step = |i| format!(r#"{{"@type": "HowToStep", "text": "Chop", "url": "{kind}{i}"}}"#);
        (0..count).map(step).collect()
    };
    let (steps, clips) = (list("step").join(","), list("clip").join(","));
    format!(r#"{{"@type": "HowTo", "step": [{steps}], "video": {{"hasPart": [{clips}]}}}}"#)
}

/// Sizes at which time by their square would be minutes.
#[test]
fn hostile_sizes_take_no_time() {
    let large = [
        "[".repeat(1 << 20),
        "<ol><li>".repeat(1 << 15),
        "<div>".repeat(1 << 15),
        "&".repeat(1 << 20),
        "<".repeat(1 << 20),
        "a.\n".repeat(1 << 18),
        "**[a](".repeat(1 << 17),
        format!("{{\"steps\": {}", "[".repeat(1 << 20)),
        "<div></x>".repeat(200_000),
        "<div/>".repeat(200_000),
        "<span><div></span></div>".repeat(100_000),
        format!("{}{}", "<i>".repeat(250), "</x>".repeat(100_000)),
        "<div itemprop=step>".repeat(250) + &"<p>Chop it.</p>".repeat(100_000),
        format!("1. Chop\n{}", "and on\n".repeat(1_000_000)),
        format!("{}{}", "\n".repeat(500_000), "Notes:\n".repeat(500_000)),
        format!("a{}](", "[".repeat(1 << 19)),
        steps_and_clips(100_000),
    ];
    for text in large {
        for name in ["a.txt", "a.md", "a.html"] {
            let _ = read_procedure(name, text.as_bytes());
        }
    }
    let blank = format!("Chop:\n{}", "\n".repeat(1_000_000));
    let _ = super::read_procedure("a.txt", blank.as_bytes(), Some(&ByFirstWord));
}

#[test]
fn a_page_is_refused_for_its_depth_whatever_it_closes() {
    let page = |depth: usize| {
        format!("{}<ol><li>Chop.<li>Fry.<li>Eat.</ol>", "<span><div></span></div>".repeat(depth))
    };
    assert_eq!(read("a.html", &page(250)), " | Chop. | Fry. | Eat.");
    assert!(read("a.html", &page(310)).contains("web page without recipe data"));
}

#[test]
fn the_text_of_nested_steps_is_read_once() {
    let page = "<html><body><div itemprop=recipeInstructions><div itemprop=step><p>Chop.</p></div>\
        <div itemprop=step><p>Fry.</p></div></div></body></html>";
    assert_eq!(read("a.html", page), " | Chop. | Fry.");
    let list =
        "<html><body><ol itemprop=step><li>Chop <ol><li>onions<li>garlic</ol></ol></body></html>";
    assert_eq!(read("a.html", list), " | Chop onions garlic");
}
