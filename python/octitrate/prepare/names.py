"""What residues are called, and what is known about them without a force field.

Heavy atoms are those of the amino acids in the chemical component dictionary of the wwPDB; names of modified residues and of what crystals are grown
from are its names as well.
"""

from __future__ import annotations

import string

BACKBONE = ("N", "CA", "C", "O")

CHAINS = string.ascii_uppercase + string.ascii_lowercase + string.digits
"""Names of chains that fit into the one column of a PDB file."""

SIDE_CHAINS: dict[str, tuple[str, ...]] = {
    "ALA": ("CB",),
    "ARG": ("CB", "CG", "CD", "NE", "CZ", "NH1", "NH2"),
    "ASN": ("CB", "CG", "OD1", "ND2"),
    "ASP": ("CB", "CG", "OD1", "OD2"),
    "CYS": ("CB", "SG"),
    "GLN": ("CB", "CG", "CD", "OE1", "NE2"),
    "GLU": ("CB", "CG", "CD", "OE1", "OE2"),
    "GLY": (),
    "HIS": ("CB", "CG", "ND1", "CE1", "NE2", "CD2"),
    "ILE": ("CB", "CG1", "CG2", "CD1"),
    "LEU": ("CB", "CG", "CD1", "CD2"),
    "LYS": ("CB", "CG", "CD", "CE", "NZ"),
    "MET": ("CB", "CG", "SD", "CE"),
    "PHE": ("CB", "CG", "CD1", "CE1", "CZ", "CE2", "CD2"),
    "PRO": ("CB", "CG", "CD"),
    "SER": ("CB", "OG"),
    "THR": ("CB", "OG1", "CG2"),
    "TRP": ("CB", "CG", "CD1", "NE1", "CE2", "CZ2", "CH2", "CZ3", "CE3", "CD2"),
    "TYR": ("CB", "CG", "CD1", "CE1", "CZ", "OH", "CE2", "CD2"),
    "VAL": ("CB", "CG1", "CG2"),
}
"""Heavy atoms of the side chains of the twenty amino acids, in the order of AMBER: rings go around. OpenMM writes improper dihedrals by the order of atoms, and those
of all rings by that of the first ring that it meets; a correction of the library knows its force field by them."""

CAPS: dict[str, tuple[str, ...]] = {"ACE": ("C", "O", "CH3"), "NME": ("N", "C")}
"""Heavy atoms of the caps."""

METHYLAMIDE = {"NME", "NMA", "NAC"}
"""What programs call the cap at the end of a chain, if it has a nitrogen and a carbon and nothing else; its carbon is C in the PDB and CH3 or CA in others."""

LETTERS = {
    "A": "ALA", "R": "ARG", "N": "ASN", "D": "ASP", "C": "CYS", "Q": "GLN", "E": "GLU", "G": "GLY", "H": "HIS", "I": "ILE",
    "L": "LEU", "K": "LYS", "M": "MET", "F": "PHE", "P": "PRO", "S": "SER", "T": "THR", "W": "TRP", "Y": "TYR", "V": "VAL",
}  # fmt: skip

SAME = {
    "HID": "HIS", "HIE": "HIS", "HIP": "HIS", "HSD": "HIS", "HSE": "HIS", "HSP": "HIS", "ASH": "ASP", "ASPP": "ASP", "AS3": "ASP",
    "HISA": "HIS", "HISB": "HIS", "HISD": "HIS", "HISE": "HIS", "HISH": "HIS", "HIS1": "HIS", "HIS2": "HIS", "ASPH": "ASP", "GLUH": "GLU", "LYSH": "LYS",
    "CYSH": "CYS", "CYS1": "CYS", "ARGN": "ARG", "GLH": "GLU", "GLUP": "GLU", "GL3": "GLU", "LYN": "LYS", "LSN": "LYS", "CYX": "CYS", "CYM": "CYS", "CYS2": "CYS", "CYD": "CYS", "TYM": "TYR", "ARN": "ARG",
}  # fmt: skip
"""Names by which programs call a residue with another number of protons; protons are placed anew."""

IN_DISULFIDE = {"CYX", "CYS2", "CYD"}
"""Those of them that mean a cysteine in a disulfide."""


def known_as(name: str) -> str:
    """The name in the PDB of a residue that programs call otherwise: `HID` is HIS, and so are `NHID` and `ZHIP` at ends of chains."""
    inner = name[1:] if len(name) == 4 and name[0] in "NCZ" and (name[1:] in SIDE_CHAINS or name[1:] in SAME) else name
    return SAME.get(inner, ION_SAME.get(inner, inner))


ATOM_SAME = {"OT1": "O", "OT": "O", "O1": "O", "OC1": "O", "OT2": "OXT", "O2": "OXT", "OC2": "OXT"}
"""Other names of atoms at ends of chains, of CHARMM and GROMACS."""

WATER = {"HOH", "WAT", "SOL", "TIP3", "TIP", "TP3", "H2O", "DOD", "D3O", "OPC", "SPC", "T3P", "TIP4", "T4P", "TP4", "TIP5", "T5P", "TP5"}

ION_SAME = {"NA+": "NA", "CL-": "CL", "K+": "K", "CAL": "CA", "ZN2": "ZN"}
"""Ions as AMBER and CHARMM call them."""

REPLACED = {"MSE": ("MET", {"SE": "SD"})}
"""Residues that are there for crystallography alone: what they stand for, and atoms that change their name."""

MODIFIED = {
    "SEP": ("phosphoserine", "SER"), "TPO": ("phosphothreonine", "THR"), "PTR": ("phosphotyrosine", "TYR"), "CSO": ("S-hydroxycysteine", "CYS"),
    "CSD": ("cysteine sulfinic acid", "CYS"), "OCS": ("cysteine sulfonic acid", "CYS"), "CME": ("a cysteine bound to mercaptoethanol", "CYS"),
    "KCX": ("carboxylated lysine", "LYS"), "MLY": ("dimethyllysine", "LYS"), "M3L": ("trimethyllysine", "LYS"), "MLZ": ("methyllysine", "LYS"),
    "ALY": ("acetyllysine", "LYS"), "HYP": ("hydroxyproline", "PRO"), "PCA": ("pyroglutamic acid", "GLU"), "CGU": ("carboxyglutamic acid", "GLU"),
    "SME": ("methionine sulfoxide", "MET"), "FME": ("formylmethionine", "MET"), "AYA": ("acetylalanine", "ALA"), "SAC": ("acetylserine", "SER"), "CAS": ("a cysteine bound to dimethylarsenic", "CYS"),
    "CSX": ("S-oxycysteine", "CYS"), "ASX": ("Asn or Asp, which the experiment did not tell apart", "ASN"), "GLX": ("Gln or Glu, which the experiment did not tell apart", "GLN"), "TYS": ("sulfotyrosine", "TYR"), "LLP": ("a lysine bound to pyridoxal phosphate", "LYS"), "SEC": ("selenocysteine", "CYS"),
    "S1P": ("phosphoserine", "SER"), "T1P": ("phosphothreonine", "THR"), "Y1P": ("phosphotyrosine", "TYR"), "NEP": ("phosphohistidine", "HIS"), "PHD": ("aspartyl phosphate", "ASP"),
    "BFD": ("aspartate with beryllium trifluoride", "ASP"), "IAS": ("isoaspartate", "ASP"), "CSS": ("S-mercaptocysteine", "CYS"), "SMC": ("S-methylcysteine", "CYS"),
    "YCM": ("carbamidomethylcysteine", "CYS"), "SNC": ("S-nitrosocysteine", "CYS"), "MHS": ("methylhistidine", "HIS"), "HIC": ("methylhistidine", "HIS"), "AGM": ("methylarginine", "ARG"),
    "CIR": ("citrulline", "ARG"), "2MR": ("dimethylarginine", "ARG"), "DA2": ("dimethylarginine", "ARG"), "NLE": ("norleucine", "LEU"), "AIB": ("aminoisobutyric acid", "ALA"),
    "ABA": ("aminobutyric acid", "ALA"), "SAR": ("sarcosine", "GLY"), "ORN": ("ornithine", "LYS"), "NLN": ("an asparagine bound to a glycan", "ASN"), "OLS": ("a serine bound to a glycan", "SER"),
    "OLT": ("a threonine bound to a glycan", "THR"), "UNK": ("an amino acid that the experiment did not tell", "ALA"),
}  # fmt: skip
"""Modified amino acids that are frequent: what they are, and the amino acid that they are made from."""

BLOCKED = {"PCA", "FME", "AYA", "SAC"}
"""Those of them whose nitrogen is an amide without a bond to another residue: a lactam, formylated, acetylated."""

D_FORMS = {
    "DAL": "ALA", "DAR": "ARG", "DSG": "ASN", "DAS": "ASP", "DCY": "CYS", "DGN": "GLN", "DGL": "GLU", "DHI": "HIS", "DIL": "ILE", "DLE": "LEU", "DLY": "LYS", "MED": "MET",
    "DPN": "PHE", "DPR": "PRO", "DSN": "SER", "DTH": "THR", "DTR": "TRP", "DTY": "TYR", "DVA": "VAL",
}  # fmt: skip
"""D amino acids, and the name of the L one."""

NUCLEOTIDES = {"DA": "DNA", "DC": "DNA", "DG": "DNA", "DT": "DNA", "DU": "DNA", "DI": "DNA", "A": "RNA", "C": "RNA", "G": "RNA", "U": "RNA", "I": "RNA"}

BASES = {"ADE": "A", "GUA": "G", "CYT": "C", "THY": "T", "URA": "U"}
"""What CHARMM calls nucleotides, DNA and RNA alike."""


def nucleotide(name: str, is_ribose: bool) -> str:
    """The name in the PDB of a nucleotide of AMBER (`DA5` is DA, `RU3` is U) or CHARMM; any other name as it is. `is_ribose`: whether its sugar has an oxygen at C2'."""
    if name in BASES:
        return BASES[name] if is_ribose else f"D{BASES[name]}"
    inner = name[:-1] if name[-1:] in "35N" and len(name) > 1 else name
    inner = inner[1:] if inner[:1] == "R" else inner
    return inner if inner in NUCLEOTIDES else name


LIPIDS = frozenset("POPC POPE POPS POPG DOPC DOPE DOPS DPPC DPPE DMPC DLPC DSPC POPA POPI PSM CHL1 CHL PC PE PS PGR PA OL LAL MY ST".split())  # noqa: SIM905
"""Names of lipids in the force fields of CHARMM and AMBER (whose residues are heads and tails), the frequent ones."""

LIPIDS_OF_PDB = frozenset("PC1 PCW POV PX4 CDL PEE PEF PEV PTY PGT PGV PGW LHG P5S PIO PIZ SPH CLR CHS Y01 OLC OLA PLM MYR STE PEX DGA D10 D12 HEX UND C14 R16 LMT".split())  # noqa: SIM905
"""Names of lipids, and of parts of them that were seen, in the PDB."""

MARKS = "DUM"
"""What OPM marks the faces of a membrane with."""

SUGARS = {
    "BGLC", "BGLN", "AMAN", "BMAN", "AFUC", "BGAL", "AGAL", "ANE5",  # CHARMM
    "0YB", "4YB", "UYB", "0MA", "2MA", "VMB", "0FA",  # GLYCAM
    "NAG", "NDG", "BMA", "MAN", "FUC", "FUL", "GAL", "GLA", "GLC", "BGC", "SIA", "XYS", "XYP", "A2G", "NGA", "FRU", "SUC", "GCU", "IDS", "SGN", "BDP",
}  # fmt: skip

ADDITIVES = {
    "SO4": "sulfate", "PO4": "phosphate", "2HP": "phosphate", "PI": "phosphate", "NO3": "nitrate", "NH4": "ammonium", "SCN": "thiocyanate", "AZI": "azide",
    "GOL": "glycerol", "EDO": "ethylene glycol", "PGO": "propanediol", "PEG": "diethylene glycol", "PGE": "triethylene glycol", "PG4": "tetraethylene glycol",
    "1PE": "pentaethylene glycol", "P6G": "hexaethylene glycol", "PE4": "polyethylene glycol", "MPD": "methylpentanediol", "MRD": "methylpentanediol",
    "IPA": "isopropanol", "EOH": "ethanol", "MOH": "methanol", "ACT": "acetate", "ACY": "acetic acid", "FMT": "formate", "FLC": "citrate", "CIT": "citrate",
    "TLA": "tartrate", "MLI": "malonate", "OXL": "oxalate", "SIN": "succinate", "TRS": "Tris", "EPE": "HEPES", "MES": "MES", "BTB": "Bis-Tris",
    "CAC": "cacodylate", "IMD": "imidazole", "DMS": "dimethyl sulfoxide", "DMF": "dimethylformamide", "ACN": "acetone", "DTT": "dithiothreitol",
    "BME": "mercaptoethanol", "BOG": "octyl glucoside", "LDA": "a detergent", "UNX": "unknown atom", "POL": "propanol", "1BO": "butanol", "BCT": "bicarbonate",
    "CO3": "carbonate", "PER": "peroxide",
}  # fmt: skip
"""What crystals are grown from and frozen in: it is left out, and said."""


def heavy_atoms(name: str) -> tuple[str, ...] | None:
    """Heavy atoms of an amino acid inside a chain, or of a cap; `None` for anything else."""
    if name in CAPS:
        return CAPS[name]
    side = SIDE_CHAINS.get(name)
    return None if side is None else BACKBONE + side
