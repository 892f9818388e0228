// The slider of the pH, the structure and the buttons of a report. Everything it needs is in the page.
"use strict";
(function () {
  const find = (id) => document.getElementById(id);
  const parse = (id) => (find(id) ? JSON.parse(find(id).textContent) : null);
  const root = document.documentElement;
  const data = parse("data");
  const slider = find("ph");
  root.classList.add("scripted");

  // A value between those of a table; at its ends that of the end.
  function between(x, y, at) {
    if (!x.length) return NaN;
    let next = x.findIndex((one) => one >= at);
    if (next < 0) next = x.length - 1;
    if (next === 0 || x[next] < at) return y[next];
    const t = (at - x[next - 1]) / (x[next] - x[next - 1]);
    return y[next - 1] + t * (y[next] - y[next - 1]);
  }

  // Populations of the forms of a site at a pH, the share of its protons, its charge and its most likely form.
  function stateOf(site, ph) {
    const populations = site.populations.map((form) => between(site.ph, form, ph));
    const lost = site.forms.map((form) => form.lost);
    const least = Math.min(...lost);
    const span = Math.max(1, Math.max(...lost) - least);
    const sum = (value) => populations.reduce((total, p, form) => total + p * value(form), 0);
    return {
      share: 1 - sum((form) => lost[form] - least) / span,
      charge: sum((form) => site.forms[form].charge),
      likely: populations.indexOf(Math.max(...populations)),
    };
  }

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  function colour(share) {
    const ramp = data.colours[dark.matches && !printing ? 1 : 0];
    return Number.isFinite(share) ? ramp[Math.round((1 - share) * (ramp.length - 1))] : "#888888";
  }
  const percent = (share) => (Number.isFinite(share) ? Math.round(100 * share) + " %" : "–");

  let viewer = null;
  let focused = null;
  const rows = Array.from(document.querySelectorAll(".protonation tbody tr"));

  function draw(ph) {
    if (!viewer) return;
    const night = dark.matches && !printing;
    const ribbon = night ? "#6c7782" : "#c3cad1";
    viewer.setBackgroundColor(night ? "#1a1f25" : "#ffffff", 1);
    viewer.setStyle({}, { cartoon: { color: ribbon, thickness: 0.3 } });
    viewer.setStyle({ hetflag: true }, { stick: { radius: 0.12, color: ribbon } });
    if (!viewer.hasBackbone) viewer.setStyle({}, { stick: { radius: 0.12, color: ribbon } });
    viewer.removeAllLabels();
    const labels = find("labels").value;
    data.sites.forEach((site, index) => {
      if (!site.atoms) return;
      const state = stateOf(site, ph);
      const there = new Set(site.hydrogens[state.likely] || []);
      const moving = new Set(site.hydrogens.flat());
      const all = [];
      for (let k = site.atoms[0]; k < site.atoms[1]; k++) if (!moving.has(k) || there.has(k)) all.push(k);
      const wide = index === focused;
      const shown = { stick: { radius: wide ? 0.3 : 0.2, color: colour(state.share) } };
      viewer.addStyle({ index: all }, shown);
      const partly = state.share > 0.05 && state.share < 0.95;
      if (labels === "all" || (labels === "partly" && partly) || wide) {
        const atom = viewer.tips[index];
        viewer.addLabel(site.label + " · " + percent(state.share), {
          position: { x: atom.x, y: atom.y, z: atom.z },
          fontSize: 12, fontColor: "#ffffff", backgroundColor: "#20262d", backgroundOpacity: 0.8, inFront: true, borderThickness: 0,
        });
      }
    });
    viewer.render();
  }

  function update() {
    const ph = Number(slider.value);
    let charge = 0;
    data.sites.forEach((site, index) => {
      const state = stateOf(site, ph);
      if (Number.isFinite(state.charge)) charge += state.charge;
      const row = rows[index];
      row.querySelector(".percent").textContent = percent(state.share);
      const bar = row.querySelector(".bar span");
      bar.style.width = (100 * (state.share || 0)).toFixed(0) + "%";
      bar.style.backgroundColor = colour(state.share);
      row.classList.toggle("focused", index === focused);
    });
    find("ph-now").textContent = ph.toFixed(1);
    slider.setAttribute("aria-valuetext", "pH " + ph.toFixed(1));
    find("charge").textContent = (charge < 0 ? "−" : "+") + Math.abs(charge).toFixed(1);
    draw(ph);
  }

  // Shows a site in the structure; the whole of it for null.
  function focus(index) {
    focused = index;
    update();
    if (!viewer) return;
    const site = index === null ? null : data.sites[index];
    if (site && !site.atoms) return;
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    // The site with what lies within 0.8 nm of it.
    const near = () => ({ within: { distance: 8, sel: { index: Array.from({ length: site.atoms[1] - site.atoms[0] }, (_, k) => site.atoms[0] + k) } } });
    viewer.zoomTo(site ? near() : {}, calm ? 0 : 400);
    viewer.render();
  }

  function hasWebGL() {
    try {
      const canvas = document.createElement("canvas");
      return Boolean(canvas.getContext("webgl2") || canvas.getContext("webgl"));
    } catch (_) {
      return false;
    }
  }

  // 3Dmol finds bonds by residue, and misses the one to a cap at the end of a chain.
  function join(atoms) {
    atoms.forEach((carbon, k) => {
      if (carbon.atom !== "C") return;
      const next = atoms.slice(k + 1, k + 40).find((atom) => atom.atom === "N" && atom.chain === carbon.chain);
      if (!next || carbon.bonds.includes(next.index)) return;
      if (Math.hypot(next.x - carbon.x, next.y - carbon.y, next.z - carbon.z) > 2) return;
      for (const [one, other] of [[carbon, next], [next, carbon]]) {
        one.bonds.push(other.index);
        one.bondOrder.push(1);
      }
    });
  }

  function build() {
    const box = find("viewer");
    const pdb = parse("solute");
    if (!box || pdb === null || !hasWebGL() || typeof $3Dmol === "undefined") return;
    try {
      box.classList.add("alive");
      viewer = $3Dmol.createViewer(box, { backgroundColor: "#ffffff", antialias: true });
      const model = viewer.addModel(pdb, "pdb", { keepH: true });
      const atoms = model.selectedAtoms({});
      join(atoms);
      viewer.hasBackbone = atoms.filter((atom) => atom.atom === "CA").length > 3;
      // The label of a site stands at the end of its side chain: by the atom that is farthest from its first.
      viewer.tips = data.sites.map((site) => {
        if (!site.atoms) return null;
        const own = atoms.slice(site.atoms[0], site.atoms[1]).filter((atom) => atom.elem !== "H");
        const far = (atom) => Math.hypot(atom.x - own[0].x, atom.y - own[0].y, atom.z - own[0].z);
        return own.reduce((best, atom) => (far(atom) > far(best) ? atom : best), own[0]);
      });
      viewer.zoomTo();
      find("no-viewer").hidden = true;
      find("tools").hidden = false;
      // A page that scrolls past the structure must not be caught by it.
      box.addEventListener("wheel", (event) => { if (!event.ctrlKey) event.stopPropagation(); }, { capture: true });
      box.addEventListener("keydown", (event) => {
        const turns = { ArrowLeft: [-8, "y"], ArrowRight: [8, "y"], ArrowUp: [-8, "x"], ArrowDown: [8, "x"] };
        const zooms = { "+": 1.15, "=": 1.15, "-": 1 / 1.15 };
        if (turns[event.key]) viewer.rotate(...turns[event.key]);
        else if (zooms[event.key]) viewer.zoom(zooms[event.key]);
        else if (event.key === "0") focus(null);
        else return;
        event.preventDefault();
        viewer.render();
      });
      find("whole").addEventListener("click", () => focus(null));
      find("labels").addEventListener("change", update);
      new ResizeObserver(() => { viewer.resize(); }).observe(box);
      root.dataset.viewer = "alive";
    } catch (error) {
      viewer = null;
      box.classList.remove("alive");
      find("no-viewer").hidden = false;
      root.dataset.viewer = "failed: " + error;
    }
  }

  if (data && slider) {
    build();
    slider.addEventListener("input", update);
    dark.addEventListener("change", update);
    document.querySelectorAll(".results a[data-site]").forEach((link) => {
      link.addEventListener("click", () => focus(Number(link.dataset.site)));
    });
    rows.forEach((row, index) => {
      const button = row.querySelector("button");
      if (button) button.addEventListener("click", () => focus(focused === index ? null : index));
    });
    update();
  }

  // The paragraph for a paper, with its references.
  const copy = find("copy");
  if (copy) {
    copy.addEventListener("click", () => {
      const works = Array.from(document.querySelectorAll("#works li"), (item, k) => "[" + (k + 1) + "] " + item.textContent);
      const text = find("paragraph").textContent + "\n\n" + works.join("\n") + "\n";
      const said = (words) => { find("copied").textContent = words; };
      const byHand = () => {
        const area = document.body.appendChild(document.createElement("textarea"));
        area.value = text;
        area.select();
        const done = document.execCommand("copy");
        area.remove();
        said(done ? "Copied." : "The browser does not let it be copied: select the text.");
      };
      if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(text).then(() => said("Copied."), byHand);
      else byHand();
    });
  }

  // On paper warnings are unfolded, and the structure is a picture.
  window.addEventListener("beforeprint", () => {
    printing = true;
    document.querySelectorAll(".warnings details:not([open])").forEach((one) => { one.open = true; one.dataset.unfolded = ""; });
    if (data && slider) update();
    if (viewer) {
      const picture = viewer.pngURI();
      find("printed").src = picture;
      find("printed").hidden = picture.length < 100;
    }
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    document.querySelectorAll("details[data-unfolded]").forEach((one) => { one.open = false; delete one.dataset.unfolded; });
    if (find("printed")) find("printed").hidden = true;
    if (data && slider) update();
  });
  root.dataset.script = "done";
})();
