//! `stitch doctor`: what is missing on this machine, and the command that installs it.

use stitch_engine::media::doctor::{Finding, examine};

use crate::failure::Failure;
use crate::setup::Setup;

pub fn run(setup: &Setup) -> Result<u8, Failure> {
    let findings = findings(setup);
    setup.print_all(&findings, || findings.iter().for_each(print));
    match missing(&findings) {
        None => Ok(0),
        Some(_) => Err(Failure::new(
            "something that stitch needs is missing; the lines above say how to install it",
        )),
    }
}

/// How many things are there, if none is missing that stitch needs.
pub fn check(setup: &Setup) -> Result<((), String), Failure> {
    let findings = findings(setup);
    let Some(Finding { what, mend, .. }) = missing(&findings) else {
        let there = findings.iter().filter(|finding| finding.well).count();
        return Ok(((), format!("{there} of {} are there", findings.len())));
    };
    let mend = mend.as_deref().unwrap_or("stitch doctor");
    Err(Failure::new(format!("{what} is missing; run: {mend}")))
}

fn findings(setup: &Setup) -> Vec<Finding> {
    let mut findings = examine();
    findings.extend([sentence_model(setup), encoder(setup)]);
    findings
}

fn missing(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|finding| finding.needed && !finding.well)
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
    let folder = setup.home.sentence_folder();
    Finding {
        what: setup.home.sentence_model.clone(),
        well: folder.as_ref().is_ok_and(|folder| folder.is_dir()),
        needed: true,
        detail: match folder {
            Ok(folder) => folder.display().to_string(),
            Err(_) => "the sentence encoder is not installed".into(),
        },
        mend: Some(format!("stitch models pull {}", setup.home.sentence_model)),
    }
}

/// Whether there is a stronger encoder than the one inside the program.
fn encoder(setup: &Setup) -> Finding {
    let models = setup.store().list().into_iter();
    let pulled = models.filter(|model| model.encoder.is_some() && model.path.is_some());
    let pulled: Vec<String> = pulled.map(|model| model.card.name).collect();
    Finding {
        what: "stronger encoder".into(),
        well: !pulled.is_empty(),
        needed: false,
        detail: match pulled.is_empty() {
            true => "none; `mini` sees single frames, no motion, and is weak at real footage of tools and repair".into(),
            false => pulled.join(", "),
        },
        mend: Some(
            "stitch models pull clip, then stitch index --from LIBRARY --encoder clip --library NEW"
                .into(),
        ),
    }
}
