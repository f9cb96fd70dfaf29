//! `stitch doctor`: what is missing on this machine, and the command that mends it.

use serde_json::json;
use stitch_engine::media::doctor::{Finding, examine};

use crate::failure::Failure;
use crate::setup::Setup;

/// Runs the command.
pub fn run(setup: &Setup) -> Result<u8, Failure> {
    let mut findings = examine();
    findings.push(sentence_model(setup));
    let missing = findings.iter().filter(|finding| finding.needed && !finding.well).count();
    for finding in &findings {
        if setup.json {
            println!("{}", json!(finding));
        } else {
            print(finding);
        }
    }
    match missing {
        0 => Ok(0),
        _ => Err(Failure::new(
            "something that stitch needs is missing; the lines above say how to get it",
        )),
    }
}

fn print(finding: &Finding) {
    let mark = match (finding.well, finding.needed) {
        (true, _) => "ok      ",
        (false, true) => "missing ",
        (false, false) => "optional",
    };
    println!("{mark}  {:<18} {}", finding.what, finding.detail);
    if let Some(mend) = finding.mend.as_ref().filter(|_| !finding.well) {
        println!("          {:<18} → {mend}", "");
    }
}

fn sentence_model(setup: &Setup) -> Finding {
    let folder = setup.store().path(&setup.sentence_model);
    Finding {
        what: setup.sentence_model.clone(),
        well: folder.is_ok(),
        needed: true,
        detail: match folder {
            Ok(folder) => folder.display().to_string(),
            Err(_) => "the sentence encoder is not on this machine".into(),
        },
        mend: Some(format!("stitch models pull {}", setup.sentence_model)),
    }
}
