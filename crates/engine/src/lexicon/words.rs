//! A sentence as words: small letters, contractions taken apart, what each is good for.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it was said, punctuation removed.
    pub text: String,
    pub low: String,
    /// The punctuation after it, if any.
    pub mark: Option<char>,
}

/// The words of a sentence; `we're` is two words, `don't` is one.
pub fn words(sentence: &str) -> Vec<Word> {
    let sentence = sentence.replace(['’', '‘'], "'");
    sentence.split_whitespace().flat_map(split).collect()
}

fn split(token: &str) -> Vec<Word> {
    let mark = token.chars().last().filter(|c| ".,;:!?…—–".contains(*c));
    let keep =
        |c: char| c.is_alphanumeric() || matches!(c, '\'' | '%' | '°' | '½' | '¼' | '¾' | '/');
    let bare = token.trim_matches(|c: char| !keep(c));
    if bare.is_empty() {
        return Vec::new();
    }
    let word = |text: &str, mark| Word { text: text.to_string(), low: text.to_lowercase(), mark };
    const TAILS: [&str; 5] = ["'m", "'re", "'ll", "'ve", "'d"];
    let cut = TAILS.iter().find_map(|tail| {
        let at = bare.len().checked_sub(tail.len())?;
        (at > 0 && bare.get(at..)?.eq_ignore_ascii_case(tail)).then_some(at)
    });
    match cut {
        Some(at) => vec![word(&bare[..at], None), word(&bare[at..], mark)],
        None => vec![word(bare, mark)],
    }
}

pub fn join(words: &[Word]) -> String {
    let mut text = String::new();
    for (i, word) in words.iter().enumerate() {
        if !text.is_empty() && !word.text.starts_with('\'') {
            text.push(' ');
        }
        text.push_str(&word.text);
        if word.mark == Some(',') && i + 1 < words.len() {
            text.push(',');
        }
    }
    text
}

/// "a", "b" and "c".
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// Whether the word names something (is no function word).
pub fn is_content(word: &str) -> bool {
    let binds = [
        is_lead,
        is_subject,
        is_auxiliary,
        is_negation,
        is_subordinator,
        is_determiner,
        is_pronoun,
        is_preposition,
        is_empty,
        is_filler,
        is_talking,
        is_state,
    ];
    word.len() > 2 && !binds.iter().any(|list| list(word))
}

macro_rules! word_lists {
    ($($(#[$doc:meta])* $name:ident = $words:literal;)*) => {
        $($(#[$doc])* pub fn $name(word: &str) -> bool {
            const WORDS: &str = $words;
            WORDS.split_ascii_whitespace().any(|w| w == word)
        })*
    };
}

word_lists! {
    /// Words that open a clause and say nothing about it.
    is_lead = "so now then and ok okay alright right next first second third finally lastly also well \
        again just simply gently carefully slowly quickly please always basically here there anyway \
        afterwards meanwhile but or um uh yeah yes great perfect good once_more again actually";
    /// Who does it.
    is_subject = "i we you he she they let's";
    /// What may stand between who does it and what is done.
    is_auxiliary = "'m am are 're is 'll will can could should would must 've have has 'd going to gonna gotta \
        want wanna need needs like start starting begin by go ahead and just also then now first actually \
        simply basically gently carefully slowly quickly probably really be trying try continue keep over \
        here in there again all guys always even kind of still next only usually today finally together \
        definitely off at point stage lightly finely thinly roughly evenly";
    /// Forms of to be that make a gerund an action.
    is_being = "'m am are 're be is start starting keep continue by going go";
    /// Forms of to have that make it a thing done.
    is_having = "'ve have has had";
    /// Words that turn a clause into its opposite.
    is_negation = "not don't never won't can't cannot didn't doesn't isn't wouldn't shouldn't couldn't haven't \
        without no n't";
    /// Words that open a clause which is not what is done now.
    is_subordinator = "if when because since until while as after before once that which who whose how why \
        where what unless although though cause 'cause whenever whether than";
    /// Words that end what is said of an action.
    is_clause_break = "because 'cause cause which who since although though but if unless so";
    /// Words before a thing.
    is_determiner = "the a an my your our his her their some this that these those each every all both any \
        another more half one two three four five six seven eight nine ten twelve twenty couple few little enough \
        about around";
    /// Words that stand for a thing.
    is_pronoun = "it them this that these those everything";
    /// Words that begin where, with what or how long.
    is_preposition = "in into on onto to from with of for at by over under through around about off out up \
        down across between until till inside against along back together aside away as like without on top \
        all right straight directly";
    /// Words that carry nothing as an object.
    is_empty = "it them this that these those there here up down in out on off over so and or then now just \
        really very a an the to of for with my your our i we you is are be go ahead back well again like \
        bit little some any all more one right away at by as too something anything stuff thing things \
        that's it's";
    /// Verbs of talk and thought, and others that hands do not do.
    is_talking = "have had has love hate like want need know knew think thought see saw seen mean meant say said \
        tell told ask call hear heard feel felt find found remember forget hope wish believe guess enjoy prefer buy \
        bought owe mind thank miss show become became seem look meet met read wait win won eat ate visit own cost \
        learn teach promise play try did does got been such even what plus than near toward despite beside per \
        inside outside during same whole quite rather only most many much maybe done help require control create \
        notice post resist protect live recommend suggest happen deserve";
    /// Words after which it is told how something is.
    is_state = "is are was were has isn't aren't looks smells tastes 's 're";
    /// Sounds between words.
    is_filler = "um uh uhm er erm just really basically actually literally obviously simply";
    /// Words that "the" replaces.
    is_replaced = "a an my your our some this these those that the his her their";
    /// Words that say nothing at the end of an order.
    is_dangling = "and then so now here today okay ok right but or guys there also to the a we 're 'm 'll \
        going just with of please alright basically is are gonna that again you 've by go ahead want can need \
        will first next if when because as start";
    /// Measures, which chatter seldom has.
    is_measure = "cup cups teaspoon teaspoons tablespoon tablespoons tsp tbsp ounce ounces gram grams pound \
        pounds inch inches minute minutes hour hours degrees degree heat pinch clove cloves millimetres \
        millimeters centimetres centimeters litre liter pan bowl oven pot skillet board tray";
    /// Lengths of time.
    is_time_unit = "second seconds sec secs minute minutes min mins hour hours hr hrs h day days night nights \
        week weeks month months";
    /// Numbers in words, and what stands for one.
    is_number_word = "a an one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty \
        forty fifty sixty ninety few several half couple";
    /// What may stand before the number of a time.
    is_time_lead = "good for after about around another further every in at least most up to or approximately approx \
        roughly of within nearly over more";
    /// Words whose full stop ends no sentence.
    is_abbreviation = "min mins sec secs hr hrs approx tbsp tsp oz lb cm mm";
    /// Words that open a condition.
    is_conditional = "if unless when whenever once";
    /// Words after which "if" opens a question, or makes no condition.
    is_asking = "check see test know tell decide ask as matter even";
    /// After these a verb is no order.
    is_modal = "to can could will would should must may might 'll cannot not don't never";
    /// Verbs that name a tool or a dish where they end a list.
    is_tool = "chisel hammer rake hoe drill clamp plane lathe spoon ladle pipe grill staple bolt rivet brush whisk \
        sieve screw roast stew";
    /// Verbs that are as often nouns, but orders where they stand first or after "then".
    is_bare_order = "serve cook cool rest dry brown steam finish proof taste plate clean top coat dress line stuff \
        seal";
    /// Words that belong to the verb before them.
    is_particle = "up off out away down back";
    /// Verbs with which "in" and "on" are such words: "stir in the beans".
    takes_particle = "stir mix fold beat whisk rub work screw glue nail";
    /// What things are put in and on.
    is_vessel = "griddle grill rack plate plates board bench sheet fridge freezer sun shade pan pot bowl jug skillet oven tin dish tray wok jar saucepan casserole mixer blender processor";
    /// How something is done.
    is_manner = "well again too first now then together aside apart through twice once lengthwise crosswise home \
        alone later";
    /// How something is in the end, where it follows the thing: "wipe the bench clean".
    is_result = "low high hard damp soft thin thick fine pale hot cold cool clean dry smooth open shut closed tight flat firm warm dark moist steady still level upright";
    /// Verbs that make one thing of several.
    is_mixing = "mix combine stir toss blend whisk fold beat knead incorporate";
    /// Verbs whose object may follow "over", "on" and "in": "scatter over the nuts".
    is_spreading = "scatter sprinkle drizzle spoon pour brush dot dollop spread tie dig tuck press push";
    /// Verbs that need no object.
    is_intransitive = "wait go start repeat continue keep let allow make take use get give watch run work check \
        preheat measure rise turn switch hold";
    /// Verbs whose object is a tool, or nothing that later steps work on.
    is_preparing = "repeat continue check preheat use measure watch";
    /// What stands between the article and the thing.
    is_quantity = "cm mm m inch inches metres spoonful spoonfuls knob dab splash glass half couple few more another pinch handful cup cups tablespoon tablespoons tbsp teaspoon \
        teaspoons tsp g kg ml litre litres gram grams ounce ounces oz pound pounds lb clove cloves slice slices \
        piece pieces bunch can tin bit lot rest plenty little enough all both each every any extra other remaining \
        of";
    /// Words that name nothing without the steps before.
    is_vague = "times rest mixture side sides one ones same ditto";
    is_irregular_plural = "feet children people teeth";
    /// Words that may open a title without naming what is made.
    is_title_lead = "how to easy best quick simple my our your homemade perfect the a an recipe basic classic making \
        make";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contractions_come_apart_and_together() {
        let words = words("Now we’re going to chop it, don't we?");
        let low: Vec<&str> = words.iter().map(|w| w.low.as_str()).collect();
        assert_eq!(low, ["now", "we", "'re", "going", "to", "chop", "it", "don't", "we"]);
        assert_eq!(join(&words), "Now we're going to chop it, don't we");
    }
}
