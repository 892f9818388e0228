//! The report of synthetic titrations: what is shown, what is left out, and that pages of many sites stay small.

use super::*;
use crate::evaluation::background::{CorrectionRecord, LogFacts, TitrationRecord};
use crate::evaluation::pka::{Neighbour, Neighbours, Options, evaluate};
use crate::evaluation::until::{Check, Looks, SiteCheck, Target};
use crate::output::begun::Begun;
use crate::output::series::LambdaSeries;
use crate::output::sites::SitesFile;
use crate::record::{FormRecord, Kind, SiteRecord, UntitratedRecord};
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
    Run { folder: format!("pH_{ph:.2}").into(), ph, sites, series, ..Run::default() }
}

fn evaluation(sites: &[SiteRecord], ph: &[f64]) -> Evaluation {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let runs = ph.iter().map(|&ph| run(ph, sites, &mut random)).collect();
    let resampling = Resampling { draws: 20, seed: 1 };
    evaluate(runs, &Options { resampling, parquet: false, ..Options::default() }).unwrap()
}

/// pandas takes cells too many for an index and moves all columns, without a word.
#[test]
fn tables_have_as_many_cells_in_every_line() {
    let mut site = site("GLU, 4", &[0.0, 4.0, 4.3]);
    site.forms[1].name = "syn, anti".into();
    let mut evaluation = evaluation(&[site], &[3.0, 4.0, 5.0]);
    let reason = "fewer than 10 transitions at pH 3, 4, 5";
    evaluation.sites[0].diagnostics.reasons = vec![reason.into(), "the error of the pKa is 0.3".into()];
    let folder = temp_dir::TempDir::new().unwrap();
    tables::write(&evaluation, folder.path()).unwrap();
    let mut read = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let mut reader = csv::Reader::from_path(&path).unwrap();
        let head = reader.headers().unwrap().clone();
        for record in reader.records() {
            let record = record.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let of = |name: &str| head.iter().position(|cell| cell == name).map(|column| record[column].to_string());
            assert!(of("site").is_none_or(|name| name == "GLU, 4"), "{record:?}");
            assert!(of("reasons").is_none_or(|reasons| reasons == format!("{reason}; the error of the pKa is 0.3")));
        }
        read += 1;
    }
    assert_eq!(read, 8);
}

fn page(evaluation: &Evaluation) -> String {
    let background = Background::of(evaluation);
    let labels = evaluation.labels();
    report(evaluation, &background, &labels, &plots::all(evaluation, &labels, &[]), Beside::default(), false)
}

/// The section under a heading, folded or not.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let places = [format!("<h2>{heading}</h2>"), format!("<summary>{heading}</summary>")];
    let from = places.iter().find_map(|place| page.find(place)).unwrap_or_else(|| panic!("no section {heading}"));
    page[from..].split("</section>").next().unwrap()
}

const PH: [f64; 5] = [3.0, 3.75, 4.5, 5.25, 6.0];

#[test]
fn every_svg_says_what_it_is_and_no_name_is_used_twice() {
    let page = page(&evaluation(&[site("GLU 2", &[0.0, 4.4]), site("HIS 5", &[0.0, 4.9, 4.5])], &PH));
    let count = |what: &str| page.matches(what).count();
    assert!(count("<svg") >= 10, "{}", count("<svg"));
    // What is not hidden from readers that do not see says what it is; the table beside the hidden ones says the same.
    for svg in page.split("<svg").skip(1) {
        let head = svg.split('>').next().unwrap();
        let said =
            ["role=\"img\"", "aria-labelledby="].iter().all(|what| head.contains(what)) && svg.contains("</desc>");
        assert!(said != head.contains("aria-hidden=\"true\""), "{head}");
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

#[test]
fn what_speaks_against_every_pka_is_said_once() {
    let mut found = evaluation(&[site("GLU 2", &[0.0, 4.4]), site("ASP 5", &[0.0, 4.9])], &PH);
    let of = |sites: [&[&str]; 2], found: &mut Evaluation| {
        for (site, reasons) in found.sites.iter_mut().zip(sites) {
            site.diagnostics.reasons = reasons.iter().map(|reason| reason.to_string()).collect();
        }
        page(found)
    };
    let together = of([&["no round trips", "short"], &["no round trips"]], &mut found);
    let table = section(&together, "pKa values");
    assert!(table.contains("Against each of them: no round trips.</p>") && table.contains("<li>short</li>"));
    assert_eq!(table.matches("no round trips").count(), 1);
    let apart = of([&["short"], &[]], &mut found);
    let table = section(&apart, "pKa values");
    assert!(!table.contains("Against each of them") && table.contains("<li>short</li>"));
}

#[test]
fn ph_values_that_were_added_are_told_with_the_reason() {
    let sites = [site("GLU 2", &[0.0, 4.4])];
    let mut found = evaluation(&sites, &PH);
    let plain = page(&found);
    assert!(!plain.contains("pH values that were added") && !plain.contains("added during the runs"));
    let why = "the pKa 5.9 of GLU 2 lies above 5.25, the highest";
    found.runs[4].begun = Some(Begun {
        time: 120.0,
        from: "pH_5.25/replica_1".into(),
        why: why.into(),
        walker: Some(5),
        from_walker: Some(2),
    });
    let page = page(&found);
    let table = section(&page, "pH values that were added");
    for cell in ["pH_6.00", "120", "pH_5.25/replica_1, walker 2", why] {
        assert!(table.contains(cell), "{cell}: {table}");
    }
    assert!(page.contains("Of these pH values 6 was added during the runs"), "{page}");
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
fn what_is_not_known_is_said_and_what_does_not_titrate_is_listed() {
    let sites = [site("GLU 2", &[0.0, 4.4])];
    let known = page(&evaluation(&sites, &PH));
    assert!(!section(&known, "pKa values").contains("not determined"), "{}", section(&known, "pKa values"));
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut mixed = run(4.0, &sites, &mut random);
    mixed.series.lambda[0].fill(0.5);
    let reason = "it has no atom HE2";
    mixed.sites.untitrated = vec![UntitratedRecord { name: "GLU 9".into(), reason: reason.into() }];
    let resampling = Resampling { draws: 20, seed: 1 };
    let options = Options { resampling, parquet: false, ..Options::default() };
    let mut other = mixed.clone();
    other.series.lambda[0][0] = 0.4;
    let page = page(&evaluate(vec![mixed, other], &options).unwrap());
    assert!(section(&page, "pKa values").contains("<b>1</b> <i aria-hidden=\"true\">○</i> not determined"));
    let section = section(&page, "Groups that do not titrate");
    assert!(section.contains("Glu 9") && section.matches(reason).count() == 1, "{section}");
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
    assert!(section(&page, "Distribution of λ").contains("Glu 3"));
    // Of two sites one is determined: the other has no panel.
    let evaluation = self::evaluation(&[site("GLU 2", &[0.0, 4.5]), site("GLU 3", &[0.0, 14.0])], &PH);
    let page = self::page(&evaluation);
    let convergence = section(&page, "Convergence");
    assert!(convergence.contains("Glu 2") && !convergence.contains("Glu 3"));
}

#[test]
fn files_of_plots_are_complete_or_absent() {
    let folder = temp_dir::TempDir::new().unwrap();
    let evaluated = evaluation(&[site("GLU 2", &[0.0, 4.5])], &PH);
    write(&evaluated, folder.path(), Beside::default()).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name));
    assert!(
        ["titration.svg", "convergence.svg", "lambda.svg"].iter().all(|name| read(name).unwrap().contains("</svg>"))
    );
    let titration = read("titration.svg").unwrap();
    assert!(titration.contains("role=\"img\"") && titration.contains("prefers-color-scheme:dark"));
    // Evaluated again without what they show, they are gone.
    write(&evaluation(&[site("GLU 2", &[0.0, 14.0])], &[3.0]), folder.path(), Beside::default()).unwrap();
    assert!(read("titration.svg").is_err() && read("convergence.svg").is_err() && read("lambda.svg").is_ok());
    // The same of what only some sites have: three forms, and others to be correlated with.
    let several = [site("HIS 3", &[0.0, 6.5, 7.0]), site("GLU 2", &[0.0, 4.5]), site("GLU 4", &[0.0, 4.5])];
    let several = [&several[..], &[site("GLU 5", &[0.0, 4.5])]].concat();
    write(&evaluation(&several, &PH), folder.path(), Beside::default()).unwrap();
    assert!(read("populations.svg").is_ok() && read("correlation.svg").is_ok());
    write(&evaluated, folder.path(), Beside::default()).unwrap();
    assert!(read("populations.svg").is_err() && read("correlation.svg").is_err() && read("titration.svg").is_ok());
    // Whatever is written here is looked for in folders of others before.
    let mut files: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.retain(|file| !RESULTS.contains(&file.as_str()));
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn the_report_links_the_page_of_an_exchange_if_there_is_one() {
    let folder = temp_dir::TempDir::new().unwrap();
    let evaluation = evaluation(&[site("GLU 2", &[0.0, 4.5])], &PH);
    let report = || {
        write(&evaluation, folder.path(), Beside::default()).unwrap();
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
    let labels = evaluation.labels();
    let plots = plots::all(&evaluation, &labels, &[]);
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

/// Protects the reader's way: what they came for first, then what supports it, then how it was done.
#[test]
fn sections_have_their_order_and_the_contents_lead_to_all_of_them() {
    let page = page(&evaluation(&[site("GLU 2", &[0.0, 4.4]), site("HIS 5", &[0.0, 4.9, 4.5])], &PH));
    let wanted = [
        "results",
        "curves",
        "structure",
        "coupling",
        "convergence",
        "exchange",
        "lambda",
        "preparation",
        "method",
        "origin",
    ];
    let links: Vec<&str> = page.split("<a href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(
        &links[..wanted.len().min(links.len())],
        wanted.iter().filter(|id| links.contains(id)).copied().collect::<Vec<_>>()
    );
    let places: Vec<usize> =
        links.iter().map(|id| page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("{id}"))).collect();
    assert!(places.is_sorted() && links.len() >= 9, "{links:?}");
    // Without a structure the page says so, and the numbers at a pH stand there all the same.
    let structure = section(&page, "Protonation in the structure");
    assert!(
        structure.contains("The structure is not shown")
            && structure.contains("type=\"range\"")
            && structure.contains(" %</td>")
    );
    // No site leads to a place in it, and nothing keeps room for it.
    assert!(structure.contains("structure bare") && !structure.contains("<button"), "{structure}");
    assert!(!page.contains("3Dmol-LICENSE") && page.len() < 400_000, "{}", page.len());
}

/// Protects readers from names that are markup, and from pages that call home.
#[test]
fn names_of_sites_are_text_and_nothing_is_fetched() {
    let page = page(&evaluation(&[site("<img src=x> 2", &[0.0, 4.4]), site("GLU 3", &[0.0, 4.4])], &PH));
    assert!(!page.contains("<img src=x>") && page.contains("&lt;img src=x&gt; 2"));
    let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["sites"][0]["name"], "<img src=x> 2");
    assert!(page.contains("default-src 'none'"));
    for loaded in ["src=\"http", "src=\"/", "<link", "@import", "url("] {
        assert!(!page.contains(loaded), "{loaded}");
    }
    // Links to works are links: nobody goes there unasked.
    assert!(page.contains("<a href=\"https://doi.org/10.1021/ct200061r\">"));
}

#[test]
fn measured_values_stand_beside_computed_ones() {
    let evaluation =
        evaluation(&[site("GLU 2", &[0.0, 4.4]), site("GLU 3", &[0.0, 4.4]), site("GLU 4", &[0.0, 4.4])], &PH);
    let value = |site: &str, value: Option<f64>, text: &str| Measured {
        site: site.into(),
        value,
        error: Some(0.1),
        text: text.into(),
    };
    let measured = [value("GLU 2", Some(4.0), "4.00 ± 0.10"), value("GLU 3", None, "> 11")];
    let background = Background::of(&evaluation);
    let labels = evaluation.labels();
    let plots = plots::all(&evaluation, &labels, &measured);
    let page =
        report(&evaluation, &background, &labels, &plots, Beside { measured: &measured, ..Beside::default() }, false);
    let results = section(&page, "pKa values");
    let computed = evaluation.sites[0].titration.macroscopic[0].pka.value().unwrap();
    let difference = format!("{:+.2}", computed - 4.0).replace('-', "−");
    assert!(
        results.contains("4.00 ± 0.10</td>")
            && results.contains("&gt; 11</td>")
            && results.contains(&format!(">{difference}</td>"))
    );
    assert!(results.contains("Against the measured value: mean absolute error"));
    // A dotted line, and an open star, in the curves.
    assert_eq!(section(&page, "Titration curves").matches("stroke-dasharray=\"2 4\"").count(), 2);
    let json = json::text(&evaluation, &background, &labels, &measured, &method::method(&evaluation, &background));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (
            json["sites"][0]["steps"][0]["measured"]["value"].as_f64(),
            json["sites"][1]["steps"][0]["measured"]["text"].as_str()
        ),
        (Some(4.0), Some("> 11"))
    );
    assert!(
        json["sites"][2]["steps"][0]["measured"].is_null()
            && json["method"]["references"][0]["doi"] == "10.1021/ct200061r"
    );
    // Without measured values there are no columns for them.
    assert!(!self::page(&evaluation).contains("difference"));
}

/// Protects readers who know their protein and not the names of the job: charts and tables call a site as the first table does.
#[test]
fn every_section_calls_a_site_by_its_label() {
    let page = page(&evaluation(
        &[site("GL3 2", &[0.0, 4.4]), site("AS3 4", &[0.0, 3.9]), site("HIP 5", &[0.0, 4.9, 4.5])],
        &PH,
    ));
    for heading in [
        "Titration curves",
        "Populations of the forms",
        "Microscopic pK values and tautomers",
        "Correlation between sites",
        "Convergence",
        "Diagnostics",
        "Distribution of λ",
        "λ against time",
        "Deprotonated fractions",
    ] {
        let section = section(&page, heading);
        assert!(["Glu 2", "His 5"].iter().any(|label| section.contains(label)), "{heading}");
        assert!(!["GL3", "AS3", "HIP"].iter().any(|name| section.contains(name)), "{heading}");
    }
    assert!(section(&page, "pKa values").contains("<small>HIP 5</small>"));
    assert!(page.contains("<h1>Titration of Glu 2, Asp 4, His 5</h1>"));
}

/// Protects the same readers at the terminal, who compare it with the page; tables for programs keep the name of the job and have the label beside it.
#[test]
fn the_terminal_calls_a_site_by_its_label() {
    let glu = SiteRecord { place: Some("A 12".parse().unwrap()), ..site("GL3 2", &[0.0, 4.4]) };
    let found = evaluation(&[glu, site("HIP 5", &[0.0, 4.9, 4.5])], &[3.0, 3.2]);
    let shown = tables::summary(&found);
    assert!(!["GL3", "HIP"].iter().any(|name| shown.contains(name)), "{shown}");
    assert!(
        ["\nGlu 12 ", "\n  His 5: ", "\nHis 5: F0", "\nwarning: Glu 12, His 5: "]
            .iter()
            .all(|line| shown.contains(line)),
        "{shown}"
    );
    let table = tables::pka(&found);
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let last = rows.headers().unwrap().len() - 1;
    assert_eq!(&rows.headers().unwrap()[last], "label");
    let names: Vec<[String; 2]> =
        rows.records().map(|row| row.map(|row| [row[0].to_string(), row[last].to_string()]).unwrap()).collect();
    assert_eq!(names, [["GL3 2", "Glu 12"], ["HIP 5", "His 5"]]);
}

#[test]
fn a_reason_of_many_sites_is_said_once() {
    let mut found =
        evaluation(&[site("GLU 2", &[0.0, 4.4]), site("GLU 5", &[0.0, 4.9]), site("ASP 7", &[0.0, 3.9])], &PH);
    let mut say = |reasons: [&[&str]; 3]| {
        for (site, reasons) in found.sites.iter_mut().zip(reasons) {
            site.diagnostics.reasons = reasons.iter().map(|reason| reason.to_string()).collect();
        }
        tables::not_converged(&found.sites, &found.labels())
    };
    assert_eq!(say([&[], &[], &[]]), "");
    assert_eq!(say([&[], &["few", "late"], &[]]), "Glu 5 has not converged:\n  few\n  late\n");
    assert_eq!(say([&[], &["few"], &[]]), "Glu 5 has not converged: few\n");
    let two = say([&["late", "few", "wide"], &["odd", "few"], &[]]);
    assert_eq!(
        two,
        "2 of 3 sites have not converged:\n  Glu 2, Glu 5: few\n  Glu 2: late\n  Glu 2: wide\n  Glu 5: odd\n"
    );
    let all = say([&["late", "few"], &["few"], &["few", "late"]]);
    assert_eq!(all, "3 of 3 sites have not converged:\n  every site: few\n  Glu 2, Asp 7: late\n");
}

/// What `until` found is shown by site and look: when a pKa was known, and what held it up before.
#[test]
fn neighbours_stand_beside_each_form_with_their_shares() {
    let mut found = evaluation(&[site("GL3 2", &[0.0, 4.4]), site("ASP <5>", &[0.0, 4.9])], &PH);
    assert!(!page(&found).contains("What stands beside each group"));
    let near = |residue: &str, atom: &str, shares: [Option<f64>; 2]| Neighbour {
        residue: residue.into(),
        atom: atom.into(),
        shares: shares.into(),
    };
    let atoms = vec![
        near("LYS 8", "NZ", [Some(0.06), Some(0.715)]),
        near("GLY 3", "N", [Some(0.2), Some(0.3)]),
        near("NA", "NA", [Some(0.05), Some(0.07)]),
    ];
    found.sites[0].neighbours = Neighbours { frames: vec![100, 200], atoms };
    found.sites[1].neighbours =
        Neighbours { frames: vec![30, 19], atoms: vec![near("GLY <3>", "N", [Some(0.5), None])] };
    let page = page(&found).replace('\u{a0}', " ");
    let table = section(&page, "What stands beside each group");
    for row in [
        "<td>Glu 2</td><td>Gly 3 N 20 %</td><td>Lys 8 NZ 72 %, Gly 3 N 30 %</td><td>100, 200</td>",
        "<td>ASP &lt;5&gt;</td><td>GLY &lt;3&gt; N 50 %</td><td>too few frames</td><td>30, 19</td>",
    ] {
        assert!(table.contains(row), "{row}: {table}");
    }
    assert!(page.contains("<a href=\"#neighbours\">") && !page.contains("With scaled charges acids"));
    for (charge_scale, is_told) in [(0.75, true), (1.0, false)] {
        let correction = CorrectionRecord {
            entry: "glu3".into(),
            force_field: "charmm36m-ecc".into(),
            charge_scale,
            status: "calibrated",
            reason: None,
            pka: None,
            errors: None,
            made: None,
        };
        let background = Background { corrections: vec![correction], ..Background::of(&found) };
        let mut page = Page::new("", "");
        evidence::neighbours(&mut page, &found, &background, &found.labels());
        assert_eq!(page.html().contains("too low, by 0.3 ± 0.1 for each amide."), is_told, "{charge_scale}");
    }
    found.sites[0].neighbours.atoms.truncate(0);
    assert!(section(&super::tests::page(&found), "What stands beside each group").contains("<td>nothing</td>"));
    found.sites.truncate(1);
    found.sites[0].neighbours.atoms.push(near("LYS 8", "NZ", [Some(0.06), None]));
    let table = tables::neighbours(&found);
    assert_eq!(
        table,
        "site,protons lost,frames,residue,atom,share\nGL3 2,0,100,LYS 8,NZ,0.060\nGL3 2,1,200,LYS 8,NZ,\n"
    );
}

#[test]
fn looks_are_shown_by_site() {
    let found = evaluation(&[site("GLU 2", &[0.0, 4.4])], &PH);
    assert!(!page(&found).contains("When each pKa was known"));
    let site = |name: &str, pka: &str, against: Option<&str>| SiteCheck {
        site: name.into(),
        label: String::new(),
        pka: pka.into(),
        values: vec![4.0],
        error: Some(0.1),
        reasons: against.into_iter().map(str::to_string).collect(),
    };
    let check = |time: f64, other: Option<&str>| Check {
        time,
        sites: vec![site("GLU 2", "4.02 ± 0.05", None), site("ASP <5>", "3.10 ± 0.12", other)],
        outside: Vec::new(),
        reasons: Vec::new(),
        advice: Vec::new(),
        places: Vec::new(),
    };
    let target = Target { error: 0.2, ..Target::default() };
    let shown = |checks: Vec<Check>| {
        let looks = Some(Looks { target: target.clone(), checks });
        let mut page = Page::new("", "");
        let background = Background { looks, ..Background::of(&found) };
        evidence::looks(&mut page, &background, &found.labels());
        section(&page.html(), "When each pKa was known to 0.2").to_string()
    };
    let begun = vec![check(2000.0, Some("a drift & more")), check(2500.0, None)];
    let table = shown(begun.clone());
    for words in [
        "After 2.5 ns of each run 1 of 2 sites are settled.",
        "<th scope=\"col\">2 ns</th><th scope=\"col\">2.5 ns</th>",
        "<td>4.02 ± 0.05 ✓</td><td>4.02 ± 0.05 ✓</td><td>from 2 ns on</td>",
        "<td>ASP &lt;5&gt;</td><td>3.10 ± 0.12 ✗</td><td>3.10 ± 0.12 ✓</td><td>not yet</td>",
        "<li>2 ns: ASP &lt;5&gt; (3.10 ± 0.12): a drift &amp; more</li>",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let table = shown([begun.clone(), vec![check(3150.0, None)]].concat());
    assert!(table.contains("All 2 sites are settled, and the runs ended after 3.15 ns each."), "{table}");
    assert!(table.contains("<td>from 2.5 ns on</td>"), "{table}");
    // The page begins with where it stands.
    let background =
        |checks| Background { looks: Some(Looks { target: target.clone(), checks }), ..Background::of(&found) };
    let page = |background: &Background| results::html(&found, background, &found.labels(), &[]);
    let first = page(&background(begun));
    assert!(
        first.contains(
            "until every pKa is known to 0.2: after 2.5 ns of each run 1 of 2 sites are settled (<a href=\"#looks\">"
        ),
        "{first}"
    );
    assert!(!page(&background(Vec::new())).contains("until every pKa"));
}

/// What a reviewer asks for: force field, size, salt, charge buffers, and how much was left out.
#[test]
fn the_method_says_what_the_system_is_made_of() {
    let mut found = evaluation(&[site("GLU 3", &[0.0, 4.4])], &PH);
    found.runs[0].sites.sites.push(SiteRecord { kind: Kind::Buffer, ..SiteRecord::default() });
    found.left_out = vec![1000.0; found.runs.len()];
    let facts = [
        ("atoms", "13060 in 4171 molecules, 79619.0 u"),
        ("molecules", "1 chain_1, 4145 HOH, 11 NA"),
        ("charge buffer", "5 molecules HOH, 2N + 1 for N = 2 sites whose charge changes"),
    ];
    let facts = facts.map(|(name, value)| (name.to_string(), value.to_string())).to_vec();
    let log = LogFacts { facts, ..LogFacts::default() };
    let correction = CorrectionRecord {
        entry: "glu3".into(),
        force_field: "charmm36m-ecc".into(),
        charge_scale: 0.75,
        status: "calibrated",
        reason: None,
        pka: Some((4.25, "Thurlkill et al. 2006".into())),
        errors: None,
        made: None,
    };
    let background = Background {
        titrations: vec![TitrationRecord { log, ..TitrationRecord::default() }],
        corrections: vec![correction],
        ..Background::of(&found)
    };
    let method = method::method(&found, &background);
    for words in [
        "Charges of the forms are those of CHARMM36m with scaled charges [3], in a system of 13060 atoms (1 chain_1, 4145 HOH, 11 NA).",
        "The charge that the sites release is taken up by 5 molecules HOH that share a coordinate of their own,",
        "without the first 1000 ps of each",
    ] {
        assert!(method.text.contains(words), "{words}: {}", method.text);
    }
    assert_eq!(method.works[2].doi, "10.1038/nmeth.4067");
}
