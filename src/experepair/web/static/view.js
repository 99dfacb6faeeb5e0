// Copying, and what a page that renews itself must not lose: which parts are open, and the scroll of its boxes.
"use strict";
{
  const fallback = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.querySelector(button.dataset.copy);
    const text = "value" in source ? source.value : source.textContent;
    let done = false;
    try { await navigator.clipboard.writeText(text); done = true; } catch { done = fallback(text); }
    const before = button.dataset.label ||= button.textContent;
    button.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => { button.textContent = before; }, 1500);
  });
  let open = null;
  document.addEventListener("htmx:beforeSwap", () => {
    open = new Map([...document.querySelectorAll("details[id]")].map((one) => [one.id, one.open]));
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const [id, was] of open ?? []) {
      const one = document.getElementById(id);
      if (one) one.open = was;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.key === "ArrowLeft") document.querySelector("a[rel=prev]")?.click();
    if (event.ctrlKey && event.key === "ArrowRight") document.querySelector("a[rel=next]")?.click();
  });
}
