// What the test of the page does in the browser; see tests/report.rs.
const errors = [];
window.addEventListener("error", (event) => errors.push(event.message));
window.addEventListener("load", () => setTimeout(() => {
  const slider = document.getElementById("ph");
  const percent = () => Array.from(document.querySelectorAll(".percent"), (cell) => cell.textContent).join(",");
  const note = (key, value) => { document.body.setAttribute("data-" + key, value); };
  const at = (ph) => { slider.value = ph; slider.dispatchEvent(new Event("input")); return percent(); };
  note("low", at("2.5"));
  note("high", at("8.5"));
  document.querySelector(".results a[data-site='1']").click();
  note("chosen", document.querySelector(".protonation .focused button").textContent);
  note("said", slider.getAttribute("aria-valuetext"));
  note("wide", String(document.documentElement.scrollWidth - document.documentElement.clientWidth));
  // Drawings of a row stand under their scale, which is seen at every width.
  const places = Array.from(document.querySelectorAll(".results .forest svg"), (drawing) => drawing.getBoundingClientRect());
  note("scale", String(Math.max(...places.map((place) => Math.abs(place.left - places[0].left) + Math.abs(place.width - places[0].width))) + " " + (places[0].width > 0)));
  note("fetched", String(performance.getEntriesByType("resource").length));
  const seen = (element) => element.checkVisibility({ visibilityProperty: true });
  const name = (element) => element.tagName.toLowerCase() + (element.id ? "#" + element.id : "." + element.className);
  const doing = Array.from(document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")).filter(seen);
  const lost = doing.filter((element) => {
    element.focus({ focusVisible: true });
    const style = getComputedStyle(element);
    return document.activeElement !== element || (style.outlineStyle === "none" && style.boxShadow === "none");
  });
  note("keyboard", doing.length + " " + lost.map(name).join(" "));
  const view = document.getElementById("viewer");
  const taken = (key) => !view.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true, bubbles: true }));
  note("keys", ["ArrowLeft", "ArrowUp", "+", "0", "Tab", "a"].map(taken).join(" "));
  const print = Array.from(document.styleSheets).flatMap((sheet) => Array.from(sheet.cssRules)).filter((rule) => rule.media && rule.media.mediaText === "print");
  const paper = document.head.appendChild(document.createElement("style"));
  paper.textContent = print.flatMap((rule) => Array.from(rule.cssRules, (one) => one.cssText)).join("\n");
  window.dispatchEvent(new Event("beforeprint"));
  const grey = (colour) => { const [r, g, b, a] = colour.match(/[\d.]+/g).map(Number); return a === 0 || (r === g && g === b); };
  const words = Array.from(document.querySelectorAll("main *:not(svg *)")).filter((element) => seen(element) && element.closest("#viewer") === null);
  const coloured = words.filter((element) => element.innerText && !grey(getComputedStyle(element).color));
  const cut = words.filter((element) => ["auto", "scroll", "hidden"].includes(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth + 1);
  const folded = words.filter((element) => element.matches(".warnings details:not([open])"));
  note("paper", print.length + " " + [coloured, cut, folded].map((list) => Array.from(new Set(list.map(name))).join(",")).join(" / "));
  note("picture", String(!document.getElementById("printed").hidden && document.getElementById("printed").src.length > 1000));
  window.dispatchEvent(new Event("afterprint"));
  note("errors", errors.join("; "));
  if (parent !== window) parent.postMessage([window.innerWidth, document.body.dataset.wide, document.body.dataset.scale].join(" "), "*");
}, 100));
