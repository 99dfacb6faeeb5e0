// Charts by Observable Plot, from figures that the page's own server gives; the tables beside them say the same.
"use strict";
{
  const styles = getComputedStyle(document.documentElement);
  const colour = (name) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  const base = (box) => ({
    className: "plot", // a fixed name: the policy knows the hash of the style that comes with it
    width: Math.max(280, box.clientWidth), height: 240, marginLeft: 44,
    style: { background: "none", color: colour("--ink-soft"), fontFamily: styles.getPropertyValue("--sans"), fontSize: "11px" },
  });
  const tone = (status) => colour(
    { repaired: "--good", resolved: "--good", unresolved: "--bad", rejected: "--bad", aborted: "--bad" }[status] || "--line-strong");
  const charts = {
    growth: (box, data) => Plot.plot({
      ...base(box), x: { type: "utc", label: null }, y: { grid: true, label: null, zero: true },
      marks: [
        Plot.areaY(data, { x: (d) => new Date(d.month), y: "total", fill: colour("--accent"), fillOpacity: 0.12, curve: "step-after" }),
        Plot.lineY(data, { x: (d) => new Date(d.month), y: "total", stroke: colour("--accent"), strokeWidth: 2, curve: "step-after" }),
        Plot.dot(data, { x: (d) => new Date(d.month), y: "total", fill: colour("--accent"), r: 2.5 }),
        Plot.ruleY([0], { stroke: colour("--line-strong") }),
      ],
    }),
    endings: (box, data) => Plot.plot({
      ...base(box), marginLeft: 120, x: { grid: true, label: null }, y: { label: null },
      marks: [
        Plot.barX(data, { x: "repairs", y: "memory", fill: (d) => tone(d.status), title: (d) => `${d.status}: ${d.repairs}`, insetLeft: 1 }),
        Plot.text(data, Plot.stackX({ x: "repairs", y: "memory", text: (d) => d.status, fill: colour("--paper"), fontWeight: 600 })),
      ],
    }),
    arms: (box, data) => Plot.plot({
      ...base(box), marginLeft: 150, height: 60 + 34 * data.length, x: { grid: true, label: null, domain: [0, 100] }, y: { label: null },
      marks: [
        Plot.barX(data, { x: "value", y: "name", fill: colour("--accent"), insetTop: 5, insetBottom: 5, sort: { y: null } }),
        Plot.ruleX(data, { x1: 0, x: 0, y: "name", stroke: colour("--line-strong") }),
        Plot.link(data, { x1: "low", x2: "high", y1: "name", y2: "name", stroke: colour("--ink-soft"), strokeWidth: 1.5 }),
      ],
    }),
    learning: (box, data) => Plot.plot({
      ...base(box), x: { label: "issues, in time order", tickFormat: (d) => (Number.isInteger(d) ? String(d) : "") },
      color: { range: ["--accent", "--memory", "--issue", "--warn", "--bad", "--good"].map(colour) }, y: { grid: true, label: null, domain: [0, 100] }, marginRight: 110,
      marks: [
        Plot.lineY(data, { x: "number", y: "share", stroke: "name", strokeWidth: 2 }),
        Plot.text(data, Plot.selectLast({ x: "number", y: "share", z: "name", text: "name", textAnchor: "start", dx: 6 })),
      ],
    }),
  };
  const named = (drawing, box) => { // one picture with one name; the tables hold its figures
    for (const part of drawing.querySelectorAll("[aria-label], [aria-description]")) {
      part.removeAttribute("aria-label");
      part.removeAttribute("aria-description");
    }
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", box.closest("figure").querySelector("figcaption").textContent);
    return drawing;
  };
  const draw = async () => {
    for (const part of document.querySelectorAll("[data-charts]")) {
      part.figures ||= await (await fetch(part.dataset.charts)).json();
      for (const box of part.querySelectorAll("[data-chart]")) {
        const data = part.figures[box.dataset.chart] ?? [];
        const empty = document.createElement("p");
        empty.className = "dim";
        empty.textContent = "Nothing to draw yet.";
        box.replaceChildren(data.length ? named(charts[box.dataset.chart](box, data), box) : empty);
      }
    }
  };
  document.addEventListener("DOMContentLoaded", draw);
  document.addEventListener("theme", draw);
  document.addEventListener("htmx:afterSwap", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
