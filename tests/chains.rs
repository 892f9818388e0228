//! Two chains with equal numbers, from the topology to the table of pKa values: no site may count for another.

use lambda::site::Selection;
use octitrate::config::Config;
use octitrate::system;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The peptide of the reference energies twice, without water, 4 nm apart.
pub fn two_chains(folder: &Path) {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference");
    let read = |name: &str| std::fs::read_to_string(reference.join(name)).unwrap();
    let (gro, top) = (read("peptide.gro"), read("peptide.top"));
    let atoms: Vec<&str> = gro.lines().skip(2).take_while(|line| !line[5..10].contains("SOL")).collect();
    let shifted = |line: &&str| {
        let y: f64 = line[28..36].trim().parse().unwrap();
        format!("{}{:8.3}{}", &line[..28], y + 4.0, &line[36..44])
    };
    let first = atoms.iter().map(|line| line[..44].to_string());
    let lines: Vec<String> = first.chain(atoms.iter().map(shifted)).collect();
    let gro = format!("two chains\n{}\n{}\n   0.0 0.0 0.0\n", lines.len(), lines.join("\n"));
    std::fs::write(folder.join("two.gro"), gro).unwrap();
    let (before, _) = top.split_once("[ molecules ]").unwrap();
    std::fs::write(folder.join("two.top"), format!("{before}[ molecules ]\nProtein_chain_A 2\n")).unwrap();
}

fn job(folder: &Path, sites: &[&str], rest: &str) -> PathBuf {
    let sites: String = sites.iter().map(|site| format!("[[titration.site]]\nresidue = \"{site}\"\n")).collect();
    let text = format!(
        "[system]\nstructure = \"two.gro\"\ntopology = \"two.top\"\n\n[electrostatics]\nboundary = \"open\"\norder = 4\n\n\
         [dynamics]\nsteps = 40\ntime_step = \"0.5 fs\"\n\n[minimise]\nsteps = 20\n\n[thermostat]\ntemperature = \"300 K\"\n\n\
         [output]\nenergy = \"0 ps\"\nlambda = \"0.5 fs\"\ntrajectory = \"0 ps\"\n\n[titration]\nallow_uncalibrated = true\nallow_mismatch = [\"boundary\", \"water\"]\n{rest}\n{sites}"
    );
    let path = folder.join("job.toml");
    std::fs::write(&path, text).unwrap();
    path
}

fn octitrate(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_octitrate")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The chains of an entry need not be called A and B, nor have the numbers of the topology.
#[test]
fn measured_values_are_found_by_the_places_of_the_entry() {
    let folder = temp_dir::TempDir::new().unwrap();
    two_chains(folder.path());
    let path = job(folder.path(), &["2:LYS 4\"\nplace = \"P 104", "1:LYS 4\"\nplace = \"Q 4A", "1:CYS 8"], "ph = 7.0");
    let out = folder.path().join("out");
    octitrate(&["run", path.to_str().unwrap(), "--output", out.to_str().unwrap(), "--quiet", "--device", "cpu"]);
    let sites = std::fs::read_to_string(out.join("sites.toml")).unwrap();
    assert!(sites.contains("place = \"P 104\"") && sites.matches("place = ").count() == 2, "{sites}");
    let table = folder.path().join("measured.csv");
    std::fs::write(&table, "residue,chain,number,pKa\nLYS,P,104,10.1\nLYS,Q,4A,10.2\nLYS,A,4,9.9\nCYS,A,8,8.8\n")
        .unwrap();
    let words = ["pka", out.to_str().unwrap(), "--draws", "10", "--equilibration", "0 ps", "--compare"];
    octitrate(&[&words[..], &[table.to_str().unwrap()]].concat());
    let rows = std::fs::read_to_string(out.join("comparison.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(rows.as_bytes());
    let mut column = |name: &str| reader.headers().unwrap().iter().position(|one| one == name).unwrap();
    let (site, measured) = (column("site"), column("measured"));
    let pairs: BTreeSet<(String, String)> = csv::Reader::from_reader(rows.as_bytes())
        .records()
        .map(|row| row.map(|row| (row[site].to_string(), row[measured].to_string())).unwrap())
        .collect();
    let expected = [("2:LYS 4", "10.1000"), ("1:LYS 4", "10.2000"), ("1:CYS 8", "8.8000")];
    assert_eq!(pairs, expected.map(|(site, measured)| (site.to_string(), measured.to_string())).into());
}

#[test]
fn a_place_that_is_none_or_of_many_residues_is_refused() {
    let folder = temp_dir::TempDir::new().unwrap();
    two_chains(folder.path());
    let refused = |site: &str| Config::load(job(folder.path(), &[site], "ph = 7.0")).unwrap_err().to_string();
    let message = refused("LYS\"\nplace = \"A 4");
    assert!(
        message.contains("titration.site.0.place: \"A 4\" is the place of one residue, and \"LYS\" names all"),
        "{message}"
    );
    let message = refused("1:LYS 4\"\nplace = \"A");
    assert!(message.contains("\"A\" is no place of a residue: write \"A 35\", chain and number"), "{message}");
}

#[test]
fn every_site_of_two_equal_chains_has_its_own_pka_and_name() {
    let folder = temp_dir::TempDir::new().unwrap();
    two_chains(folder.path());
    let all = ["1:LYS 4", "1:CYS 8", "2:LYS 4", "2:CYS 8"];
    let path = job(folder.path(), &["LYS", "CYS"], "ph = 7.0");
    let out = folder.path().join("out");
    octitrate(&["run", path.to_str().unwrap(), "--output", out.to_str().unwrap(), "--quiet", "--device", "cpu"]);
    octitrate(&["pka", out.to_str().unwrap(), "--draws", "10", "--equilibration", "0 ps"]);

    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let sites: BTreeSet<String> =
        read("pka.csv").lines().skip(1).map(|line| line.split(',').next().unwrap().to_string()).collect();
    assert_eq!(sites, all.map(String::from).into());
    let unique = |names: Vec<String>| assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    unique(read("lambda.csv").lines().next().unwrap().split(',').map(String::from).collect());
    let reader = SerializedFileReader::new(std::fs::File::open(out.join("lambda.parquet")).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema().clone();
    let names: Vec<String> = schema.get_fields().iter().map(|field| field.name().to_string()).collect();
    assert!(all.iter().all(|site| names.iter().any(|name| name.contains(site))), "{names:?}");
    unique(names);
    let report = read("report.html");
    assert!(all.iter().all(|site| report.contains(site)), "the report does not tell the chains apart");

    // Every name that is shown is a request for that site.
    let config = Config::load(&path).unwrap();
    let (topology, library) =
        (system::read(&config).unwrap().topology, octitrate::titration::library(&config).unwrap());
    for name in all {
        let found = lambda::find_sites(&topology, &library, Selection::Residues(&[name.parse().unwrap()])).unwrap();
        assert_eq!(found[0].name, name);
    }
    let config = Config::load(job(folder.path(), &["LYS 4"], "ph = 7.0")).unwrap();
    let message = octitrate::Simulation::new(&config).err().unwrap().to_string();
    assert!(message.contains("\"1:LYS 4\" (in Protein_chain_A), \"2:LYS 4\" (in Protein_chain_A)"), "{message}");
}
