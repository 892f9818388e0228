#!/usr/bin/env python3
"""Double precision in the kernels of a step: how much of it there is, by kernel, and what it takes on a GPU with little of it. Needs no GPU.

    cargo test --release --no-run --test integration
    CXX=$PWD/benchmarks/scripts/count_f64.py OCTITRATE_COUNTS=FOLDER TMPDIR=OTHER target/release/deps/integration-… --exact \\
        device::a_run_in_pieces_is_bit_for_bit_the_run_in_one
    benchmarks/scripts/count_f64.py FOLDER --steps 59 --atoms 1171 [--architecture sm_89] [--disassembler nvdisasm]

The second line makes 59 steps on the emulator of a GPU. In the place of its C++ compiler this script exchanges the type double for one that counts
operations: by thread, and by warp as its busiest thread, because a warp is taken to need the time of 32 threads whichever of them work. A sum one
of whose terms is the product made just before counts as one fused operation, as the compiler for a GPU has it. OTHER is an empty folder, so that
all kernels are compiled.

The third line has NVRTC (.tools/nvrtc, or NVRTC=FILE) compile what the second has met, and short kernels of one operation each, which say what
a division, a root, a sine are made of; nvdisasm (PyPI: nvidia-cuda-nvdisasm) reads them. Times (µs in a step) are instructions over the rate of
the double precision units, with all multiprocessors at work, or those of the dearest block alone if that is longer; nothing else: a lower bound.
"""

import argparse
import collections
import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Operations, and the instructions of the double precision unit for each: what `costs` finds on sm_86, sm_89, sm_90 and sm_120 with NVRTC 13.0.
COSTS = dict(
    ADD=1, MUL=1, FMA=1, COMPARE=1, FROM_FLOAT=1, TO_FLOAT=1, FROM_INT=1, TO_INT=1, ROUND=1, DIV=8, SQRT=8, RSQRT=5,
    SIN=19, COS=19, EXP=18, LOG=30, ATAN2=39, ERFC=63, CBRT=15,
)
KINDS = list(COSTS)
# One operation of each kind, for the compiler of GPUs: x, y double, f float, i int.
SAMPLES = {
    "ADD": "x + y", "MUL": "x * y", "FMA": "fma(x, y, y)", "COMPARE": "x < y ? f : 2.0f", "FROM_FLOAT": "(double)f", "TO_FLOAT": "(float)x",
    "FROM_INT": "(double)i", "TO_INT": "__double2ll_rn(x)", "ROUND": "rint(x)", "DIV": "x / y", "SQRT": "sqrt(x)", "RSQRT": "rsqrt(x)",
    "SIN": "sin(x)", "COS": "cos(x)", "EXP": "exp(x)", "LOG": "log(x)", "ATAN2": "atan2(x, y)", "ERFC": "erfc(x)", "CBRT": "cbrt(x)",
}
# Instructions of the double precision unit, and conversions from and to 64-bit types, which have the same rate (CUDA C++ Programming Guide,
# "Arithmetic Instructions").
UNIT = re.compile(r"^(D(ADD|MUL|FMA|SETP|MNMX)|F2F\S*64|I2F\S*F64|F2I\S*F64|FRND\S*F64)")
# Multiprocessors, double precision results of one in a clock, GHz (boost). NVIDIA's whitepapers of GA102, AD102, GB202 and GH100.
CARDS = {"RTX 3090": (82, 2, 1.70), "RTX 4090": (128, 2, 2.52), "RTX 5090": (170, 2, 2.41), "H200": (132, 64, 1.98)}

COUNTED = r"""
namespace counting {
enum { KINDS };
static const int N = sizeof(NAMES) / sizeof(NAMES[0]);
static long long counts[N];
static double recent[8];
static bool waits[8];
static unsigned newest;
inline void note(int kind) { counts[kind]++; }
inline void product(double v) {
    note(MUL);
    recent[newest % 8] = v, waits[newest % 8] = true;
    newest++;
}
// A sum with a product that has just been made is one operation with it.
inline void sum(double a, double b) {
    for (int i = 0; i < 8; i++) {
        const double v = recent[i];
        if (waits[i] && (v == a || v == b || v == -b || v == -a)) {
            waits[i] = false;
            counts[MUL]--;
            return note(FMA);
        }
    }
    note(ADD);
}
} // namespace counting
#define KNOWN(x) __builtin_constant_p(x)
#define ALWAYS __attribute__((always_inline)) constexpr
#define RUNS(...) if (!__builtin_is_constant_evaluated() && !(__VA_ARGS__)) counting::
struct Counted {
    double v;
    Counted() = default;
    ALWAYS Counted(double x) : v(x) {}
    ALWAYS Counted(float x) : v(x) { RUNS(KNOWN(x)) note(counting::FROM_FLOAT); }
    template <class T, class = typename std::enable_if<std::is_integral<T>::value>::type> ALWAYS Counted(T x) : v((double)x) {
        RUNS(KNOWN(x)) note(counting::FROM_INT);
    }
    ALWAYS explicit operator float() const { RUNS(KNOWN(v)) note(counting::TO_FLOAT); return (float)v; }
    ALWAYS explicit operator bool() const { return v != 0.0; }
    template <class T, class = typename std::enable_if<std::is_integral<T>::value>::type> ALWAYS explicit operator T() const {
        RUNS(KNOWN(v)) note(counting::TO_INT);
        return (T)v;
    }
    ALWAYS Counted operator-() const { return Counted(-v); }
    ALWAYS Counted operator+() const { return *this; }
};
ALWAYS Counted operator+(Counted a, Counted b) { RUNS(KNOWN(a.v) && KNOWN(b.v)) sum(a.v, b.v); return Counted(a.v + b.v); }
ALWAYS Counted operator-(Counted a, Counted b) { RUNS(KNOWN(a.v) && KNOWN(b.v)) sum(a.v, b.v); return Counted(a.v - b.v); }
ALWAYS Counted operator*(Counted a, Counted b) { RUNS(KNOWN(a.v) && KNOWN(b.v)) product(a.v * b.v); return Counted(a.v * b.v); }
ALWAYS Counted operator/(Counted a, Counted b) { RUNS(KNOWN(a.v) && KNOWN(b.v)) note(counting::DIV); return Counted(a.v / b.v); }
#define ASSIGNING(op) template <class T> ALWAYS Counted &operator op##=(Counted &a, T b) { return a = a op Counted(b); }
ASSIGNING(+) ASSIGNING(-) ASSIGNING(*) ASSIGNING(/)
#define COMPARING(op) ALWAYS bool operator op(Counted a, Counted b) { RUNS(KNOWN(a.v) && KNOWN(b.v)) note(counting::COMPARE); return a.v op b.v; }
COMPARING(<) COMPARING(>) COMPARING(<=) COMPARING(>=) COMPARING(==) COMPARING(!=)
#define CALLED(name, kind) inline Counted name(Counted a) { counting::note(counting::kind); return Counted(name(a.v)); }
CALLED(sqrt, SQRT) CALLED(rsqrt, RSQRT) CALLED(sin, SIN) CALLED(cos, COS) CALLED(exp, EXP) CALLED(log, LOG) CALLED(erfc, ERFC) CALLED(cbrt, CBRT)
CALLED(floor, ROUND) CALLED(rint, ROUND) CALLED(round, ROUND) CALLED(ceil, ROUND)
inline Counted atan2(Counted a, Counted b) { counting::note(counting::ATAN2); return Counted(atan2(a.v, b.v)); }
inline void sincospi(Counted a, Counted *sine, Counted *cosine) {
    counting::note(counting::SIN), counting::note(counting::COS);
    sincospi(a.v, &sine->v, &cosine->v);
}
inline Counted fma(Counted a, Counted b, Counted c) { counting::note(counting::FMA); return Counted(fma(a.v, b.v, c.v)); }
inline Counted fabs(Counted a) { return Counted(fabs(a.v)); }
inline Counted copysign(Counted a, Counted b) { return Counted(copysign(a.v, b.v)); }
#define CHOOSING(name, of) inline Counted name(Counted a, Counted b) { counting::note(counting::COMPARE); return Counted(of(a.v, b.v)); }
CHOOSING(fmin, fmin) CHOOSING(fmax, fmax)
inline long long __double2ll_rn(Counted a) { counting::note(counting::TO_INT); return __double2ll_rn(a.v); }
inline long long __double2ll_rd(Counted a) { counting::note(counting::TO_INT); return __double2ll_rd(a.v); }
inline int __double2int_rn(Counted a) { counting::note(counting::TO_INT); return __double2int_rn(a.v); }
inline long long __double_as_longlong(Counted a) { return __double_as_longlong(a.v); }
inline int __double2hiint(Counted a) { return int(__double_as_longlong(a.v) >> 32); }
inline int __double2loint(Counted a) { return int(__double_as_longlong(a.v)); }
namespace counting {
struct Totals {
    long long launches = 0, blocks = 0, threads = 0, by_thread[N] = {}, by_warp[N] = {};
    // Cost of the dearest block of this launch, and of each launch before.
    long long dearest = 0, all_dearest = 0;
};
static std::vector<std::pair<const char *, Totals>> kernels;
static Totals *kernel;
static std::vector<long long> of_thread;
inline void begin(const char *name) {
    kernel = nullptr;
    for (auto &known : kernels) {
        if (!strcmp(known.first, name)) kernel = &known.second;
    }
    if (!kernel) kernels.push_back({name, Totals()}), kernel = &kernels.back().second;
    kernel->launches++;
    kernel->all_dearest += kernel->dearest;
    kernel->dearest = 0;
}
// What a thread did until it waits.
inline void run(unsigned thread, unsigned n) {
    if (of_thread.size() < n * size_t(N)) of_thread.assign(n * size_t(N), 0);
    long long before[N];
    memcpy(before, counts, sizeof before);
    emulator::enter();
    for (int k = 0; k < N; k++) of_thread[thread * size_t(N) + k] += counts[k] - before[k];
}
inline void end_block(unsigned n) {
    kernel->threads += n;
    kernel->blocks++;
    long long cost = 0;
    for (unsigned first = 0; first < n; first += 32) {
        for (int k = 0; k < N; k++) {
            long long most = 0;
            for (unsigned i = first; i < n && i < first + 32; i++) {
                const long long own = of_thread[i * size_t(N) + k];
                kernel->by_thread[k] += own;
                most = own > most ? own : most;
            }
            kernel->by_warp[k] += 32 * most;
            cost += 32 * most * COSTS[k];
        }
    }
    kernel->dearest = cost > kernel->dearest ? cost : kernel->dearest;
    of_thread.assign(of_thread.size(), 0);
}
struct Report {
    ~Report() {
        FILE *file = fopen(REPORT, "a");
        if (!file) return;
        for (const auto &known : kernels) {
            const Totals &t = known.second;
            fprintf(file, "{\"source\": \"%s\", \"kernel\": \"%s\", \"launches\": %lld, \"blocks\": %lld, \"threads\": %lld, \"dearest\": %lld",
                    SOURCE, known.first, t.launches, t.blocks, t.threads, t.all_dearest + t.dearest);
            for (int k = 0; k < N; k++) fprintf(file, ", \"%s\": [%lld, %lld]", NAMES[k], t.by_thread[k], t.by_warp[k]);
            fprintf(file, "}\n");
        }
        fclose(file);
    }
};
static Report report;
} // namespace counting
"""
LITERAL = re.compile(r"(?<![\w.])(\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?![\w.])")


def compile_counted(arguments):
    """The compiler of the emulator, with a double that counts."""
    places = [i for i, a in enumerate(arguments) if a.endswith(".cpp")]
    if not places:
        return subprocess.call(["c++", *arguments])
    place = pathlib.Path(arguments[places[0]])
    folder = pathlib.Path(os.environ["OCTITRATE_COUNTS"])
    folder.mkdir(exist_ok=True)
    # The header of the emulator, which counts too, in the text itself and not made ahead.
    include = arguments.index("-include")
    shim = pathlib.Path(arguments[include + 1]).read_text()
    arguments = arguments[:include] + arguments[include + 2 :]
    body, launches = place.read_text().split('\nextern "C" int emulate_', 1)
    name = place.stem.rsplit("-", 2)[0]
    (folder / f"{name}.cu").write_text(body)
    names = ", ".join(f'"{k}"' for k in KINDS)
    head = f'#define SOURCE "{name}"\n#define REPORT "{folder.resolve()}/counts.jsonl"\nstatic const char *const NAMES[] = {{{names}}};\n'
    head += f"static const long long COSTS[] = {{{', '.join(str(c) for c in COSTS.values())}}};\n"
    counted = COUNTED.replace("enum { KINDS };", "enum { " + ", ".join(KINDS) + " };")
    before, block = shim.split("static int run_block(unsigned n) {", 1)
    declared = "} // namespace emulator\nnamespace counting { void run(unsigned, unsigned); void end_block(unsigned); }\nnamespace emulator {\n"
    declared = declared.replace("void", "inline void")
    block = block.replace("            enter();", "            counting::run(current, n);", 1)
    block = block.replace("if (done) return 0;", "if (done) return counting::end_block(n), 0;", 1)
    lines = [l if "constexpr" in l else LITERAL.sub(r"Counted(\1)", l) for l in body.replace("volatile ", "").splitlines()]
    launches = re.sub(r"emulate_(\w+)\((.*?)\) \{", r'emulate_\1(\2) { counting::begin("\1");', 'extern "C" int emulate_' + launches)
    place.write_text(
        head + before + declared + "static int run_block(unsigned n) {" + block + counted + "#define double Counted\n" + "\n".join(lines)
        + "\n#undef double\n" + launches
    )
    return subprocess.call(["c++", *["-O2" if a == "-O1" else a for a in arguments]])


def nvrtc():
    file = pathlib.Path(os.environ.get("NVRTC", ROOT / ".tools/nvrtc/libnvrtc.so"))
    # NVRTC looks for its other half by name; what has been loaded is found.
    for other in sorted(file.parent.glob("libnvrtc-builtins.so*")):
        ctypes.CDLL(str(other), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(file))


def machine_code(library, text, architecture, options=()):
    """Machine code of a text of kernels."""
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", *options]
    failed = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    if failed:
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    library.nvrtcGetCUBIN(program, code)
    return code.raw


def instructions(code, disassembler, folder):
    """Instructions by kernel, before its last EXIT and behind it, where the rare cases of divisions and roots are."""
    file = folder / "kernels.cubin"
    file.write_bytes(code)
    kernels, name = collections.OrderedDict(), None
    for line in subprocess.run([disassembler, "-c", str(file)], capture_output=True, text=True, check=True).stdout.splitlines():
        found = re.match(r"\s*\.section\s+\.text\.(\w+)", line)
        if found:
            name = kernels.setdefault(found[1], [])
        found = re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?(\S+)", line)
        if found and name is not None:
            name.append(found[1].rstrip(";"))
    return kernels


def before_subroutines(of_kernel):
    """Without what lies behind the last EXIT but the final loop: subroutines for denormal and infinite numbers."""
    ends = [i for i, op in enumerate(of_kernel) if op.startswith("EXIT")]
    return of_kernel[: ends[-1]] if ends else of_kernel


def costs(library, architecture, disassembler, folder):
    """Instructions of the double precision unit for one operation of each kind."""
    kernels = [
        f'extern "C" __global__ void of_{kind}(double *a, float *b, int *c, long long *d) {{ double x = a[1], y = a[2]; float f = b[1]; int i = c[1]; '
        f"auto v = {sample}; *({'float' if kind in ('COMPARE', 'TO_FLOAT') else 'long long' if kind == 'TO_INT' else 'double'} *)a = v; }}"
        for kind, sample in SAMPLES.items()
    ]
    code = machine_code(library, "\n".join(kernels), architecture)
    found = instructions(code, disassembler, folder)
    return {kind: sum(bool(UNIT.match(op)) for op in before_subroutines(found[f"of_{kind}"])) for kind in KINDS}


def main():
    if any(a.endswith(".cpp") or a == "--version" for a in sys.argv[1:]):
        sys.exit(compile_counted(sys.argv[1:]))
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=float, required=True)
    parser.add_argument("--atoms", type=float, required=True)
    parser.add_argument("--architecture", default="sm_89")
    parser.add_argument("--disassembler", default="nvdisasm")
    given = parser.parse_args()
    library = nvrtc()
    cost = costs(library, given.architecture, given.disassembler, given.folder)
    if cost != COSTS:
        print("instructions of an operation here:", {k: n for k, n in cost.items() if n != COSTS[k]})
    static = {}
    for file in sorted(given.folder.glob("*.cu")):
        code = machine_code(library, file.read_text(), given.architecture, [b"--ftz=true"] if file.stem.split("-")[0] in ("list", "lennard_jones") else [])
        for kernel, ops in instructions(code, given.disassembler, given.folder).items():
            static[file.stem, kernel] = (len(ops), sum(bool(UNIT.match(op)) for op in ops))
    rows = [json.loads(line) for line in (given.folder / "counts.jsonl").read_text().splitlines()]
    for row in rows:
        row["warps"] = sum(COSTS[k] * row[k][1] for k in KINDS)
    rows.sort(key=lambda row: -row["warps"])
    print("| kernel | launches in a step | blocks × threads | instructions in the code (double) | in a step, per atom | " + " | ".join(CARDS) + " | operations in a step |")
    print("|---" * (6 + len(CARDS)) + "|")
    all_times, total = collections.Counter(), 0.0
    for row in rows:
        if not row["warps"]:
            continue
        size, unit = static[row["source"], row["kernel"]]
        launches, blocks = row["launches"], row["blocks"] / row["launches"]
        times = {}
        for card, (processors, lanes, clock) in CARDS.items():
            # All multiprocessors at once, but none faster than through its dearest block.
            busy = max(row["warps"] / processors, row["dearest"])
            times[card] = busy / lanes / clock / 1e3 / given.steps
        all_times.update(times)
        total += row["warps"] / given.steps
        mix = " ".join(f"{k} {row[k][1] / given.steps:.0f}" for k in KINDS if row[k][1] / given.steps >= 0.5)
        print(
            f"| {row['kernel']} | {launches / given.steps:.2f} | {blocks:.0f} × {row['threads'] / row['blocks']:.0f} | {size} ({unit})"
            f" | {row['warps'] / given.steps / given.atoms:.1f} | " + " | ".join(f"{t:.2f}" for t in times.values()) + f" | {mix} |"
        )
    print(f"| all | | | | {total / given.atoms:.1f} | " + " | ".join(f"{t:.1f}" for t in all_times.values()) + " | |")


if __name__ == "__main__":
    main()
