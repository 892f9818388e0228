//! The report of synthetic titrations: what is shown, what is left out, and that pages of many sites stay small.

use super::*;
use crate::evaluation::pka::{Options, evaluate};
use crate::output::series::LambdaSeries;
use crate::output::sites::SitesFile;
use crate::record::{FormRecord, SiteRecord, UntitratedRecord};
use lambda::analysis::counted::Resampling;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Frames of a run.
const FRAMES: usize = 400;

fn site(name: &str, pks: &[f64]) -> SiteRecord {
    let form = |(k, &pk): (usize, &f64)| FormRecord {
        name: format!("F{k}"),
        protons_lost: k.min(1) as u32,
        pk,
        ..FormRecord::default()
    };
    let forms = pks.iter().enumerate().map(form).collect();
    SiteRecord { name: name.into(), coordinate: "linear".into(), forms, ..SiteRecord::default() }
}

/// A run at a pH whose sites are drawn anew in every fifth frame; λ is 0.02 and 0.98, so that most bins of a histogram are empty.
fn run(ph: f64, sites: &[SiteRecord], random: &mut ChaCha8Rng) -> Run {
    let mut lambda = Vec::new();
    for site in sites {
        let weights: Vec<f64> =
            site.forms.iter().map(|form| 10f64.powf(f64::from(form.protons_lost) * ph - form.pk)).collect();
        let (mut state, mut states) = (0, Vec::new());
        for _ in 0..FRAMES {
            if random.random::<f64>() < 0.2 {
                let mut left = random.random::<f64>() * weights.iter().sum::<f64>();
                state = weights
                    .iter()
                    .position(|w| {
                        left -= w;
                        left < 0.0
                    })
                    .unwrap_or(0);
            }
            states.push(state);
        }
        let first = usize::from(site.forms.len() == 2);
        lambda.extend(
            (first..site.forms.len())
                .map(|form| states.iter().map(|&state| if state == form { 0.98 } else { 0.02 }).collect::<Vec<f64>>()),
        );
    }
    let columns: Vec<String> = sites.iter().flat_map(SiteRecord::columns).collect();
    let time = (0..FRAMES).map(|k| k as f64).collect();
    let series = LambdaSeries {
        time,
        dvdl: vec![vec![0.0; FRAMES]; columns.len()],
        sites: columns,
        lambda,
        ..LambdaSeries::default()
    };
    let sites =
        SitesFile { ph: Some(ph), temperature: 300.0, smoothed: true, sites: sites.to_vec(), ..SitesFile::default() };
    Run { folder: format!("pH_{ph:.2}").into(), ph, sites, series, warnings: Vec::new() }
}

fn evaluation(sites: &[SiteRecord], ph: &[f64]) -> Evaluation {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let runs = ph.iter().map(|&ph| run(ph, sites, &mut random)).collect();
    let resampling = Resampling { draws: 20, seed: 1 };
    evaluate(runs, &Options { resampling, parquet: false, ..Options::default() }).unwrap()
}

fn page(evaluation: &Evaluation) -> String {
    report(evaluation, &plots::all(evaluation), None, false)
}

/// The section under a heading.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let from = page.find(&format!("<h2>{heading}</h2>")).unwrap_or_else(|| panic!("no section {heading}"));
    page[from..].split("</section>").next().unwrap()
}

const PH: [f64; 5] = [3.0, 3.75, 4.5, 5.25, 6.0];

#[test]
fn every_svg_says_what_it_is_and_no_name_is_used_twice() {
    let page = page(&evaluation(&[site("GLU 2", &[0.0, 4.4]), site("HIS 5", &[0.0, 4.9, 4.5])], &PH));
    let count = |what: &str| page.matches(what).count();
    assert!(count("<svg") >= 10, "{}", count("<svg"));
    for what in ["role=\"img\"", "aria-labelledby=", "</desc>"] {
        assert_eq!(count(what), count("<svg"), "{what}");
    }
    let mut ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
    // Text and ground follow the reader's choice of light or dark.
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("prefers-color-scheme:dark"));
    assert!(
        ["Titration curves", "Populations of the forms", "Convergence", "Distribution of λ", "λ against time"]
            .iter()
            .all(|heading| !section(&page, heading).is_empty())
    );
}

/// Protects the reader from spikes: most bins are empty, and a line that fell to the axis and back would have many points.
#[test]
fn empty_bins_interrupt_the_histogram() {
    let near = [3.9, 4.4, 4.9];
    let page = page(&evaluation(&[site("GLU 2", &[0.0, 4.4])], &near));
    let histogram = section(&page, "Distribution of λ");
    // Two bins at each pH hold frames, and both are short dashes; wide and narrow.
    assert_eq!(histogram.matches("h3\"").count(), 2 * near.len());
    assert_eq!(histogram.matches("h3M").count(), 2 * near.len());
    assert!(near.iter().all(|ph| histogram.contains(&format!("pH {ph:.2}</text>"))));
}

#[test]
fn what_is_not_known_is_no_headline_and_what_does_not_titrate_is_listed() {
    let sites = [site("GLU 2", &[0.0, 4.4])];
    assert!(page(&evaluation(&sites, &PH)).contains("<section class=\"headline\">"));
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut mixed = run(4.0, &sites, &mut random);
    mixed.series.lambda[0].fill(0.5);
    let reason = "it has no atom HE2";
    mixed.sites.untitrated = vec![UntitratedRecord { name: "GLU 9".into(), reason: reason.into() }];
    let resampling = Resampling { draws: 20, seed: 1 };
    let options = Options { resampling, parquet: false, ..Options::default() };
    let page = page(&evaluate(vec![mixed.clone(), mixed], &options).unwrap());
    assert!(!page.contains("class=\"headline\""));
    let section = section(&page, "Groups that do not titrate");
    assert!(section.contains("GLU 9") && section.matches(reason).count() == 1, "{section}");
}

#[test]
fn a_single_ph_has_no_curve_and_what_is_not_determined_has_no_panel() {
    // Far below both pKa nothing is determined.
    let evaluation = evaluation(&[site("GLU 2", &[0.0, 14.0]), site("GLU 3", &[0.0, 14.0])], &[3.0]);
    let page = page(&evaluation);
    for heading in ["Titration curves", "Convergence"] {
        let section = section(&page, heading);
        assert!(section.contains("class=\"missing\"") && !section.contains("<svg"), "{section}");
    }
    assert!(section(&page, "Distribution of λ").contains("GLU 3"));
    // Of two sites one is determined: the other has no panel.
    let evaluation = self::evaluation(&[site("GLU 2", &[0.0, 4.5]), site("GLU 3", &[0.0, 14.0])], &PH);
    let page = self::page(&evaluation);
    let convergence = section(&page, "Convergence");
    assert!(convergence.contains("GLU 2") && !convergence.contains("GLU 3"));
}

#[test]
fn files_of_plots_are_complete_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    let evaluated = evaluation(&[site("GLU 2", &[0.0, 4.5])], &PH);
    write(&evaluated, folder.path(), None).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name));
    assert!(
        ["titration.svg", "convergence.svg", "lambda.svg"].iter().all(|name| read(name).unwrap().contains("</svg>"))
    );
    let titration = read("titration.svg").unwrap();
    assert!(titration.contains("role=\"img\"") && titration.contains("prefers-color-scheme:dark"));
    // Evaluated again without what they show, they are gone.
    write(&evaluation(&[site("GLU 2", &[0.0, 14.0])], &[3.0]), folder.path(), None).unwrap();
    assert!(read("titration.svg").is_err() && read("convergence.svg").is_err() && read("lambda.svg").is_ok());
}

#[test]
fn the_report_links_the_page_of_an_exchange_if_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let evaluation = evaluation(&[site("GLU 2", &[0.0, 4.5])], &PH);
    let report = || {
        write(&evaluation, folder.path(), None).unwrap();
        std::fs::read_to_string(folder.path().join(REPORT)).unwrap()
    };
    assert!(!report().contains("exchange.html"));
    std::fs::write(folder.path().join(exchange::PAGE), "").unwrap();
    assert!(report().contains("<a href=\"exchange.html\">"));
}

/// Protects browsers and phones: sixty sites at eleven pH values.
#[test]
fn a_page_of_many_sites_stays_small() {
    let sites: Vec<SiteRecord> = (0..60).map(|k| site(&format!("GLU-A {k} of the big dimer"), &[0.0, 4.0])).collect();
    let ph: Vec<f64> = (0..11).map(|k| 2.0 + 0.5 * f64::from(k)).collect();
    let evaluation = evaluation(&sites, &ph);
    let plots = plots::all(&evaluation);
    for plot in &plots {
        if let Some(figure) = &plot.figure {
            let size = figure.standalone("", "").len();
            assert!(size < 140_000, "{}: {size}", plot.heading);
        }
    }
    let page = page(&evaluation);
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert_eq!(section(&page, "Titration curves").matches("Titration curve: ").count(), 60);
    assert_eq!(section(&page, "Distribution of λ").matches("pH 2.00</text>").count(), 2);
    assert!(page.contains("<summary>λ against time: 60 sites</summary>"));
    assert!(section(&page, "Correlation between sites").contains("12 of 60 sites"));
}
