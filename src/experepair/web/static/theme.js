// The reader's choice of theme, before the first paint; without one the system's holds.
"use strict";
{
  const root = document.documentElement;
  const names = { "": "as the system", light: "light", dark: "dark" };
  const signs = { "": "◐", light: "☀", dark: "☾" };
  const order = ["", "light", "dark"];
  let chosen = "";
  try { chosen = localStorage.getItem("theme") || ""; } catch { /* storage is switched off */ }
  const show = () => {
    if (chosen) root.dataset.theme = chosen; else delete root.dataset.theme;
    const button = document.getElementById("theme");
    if (!button) return;
    button.textContent = signs[chosen];
    button.setAttribute("aria-label", "Theme: " + names[chosen]);
    button.title = "Theme: " + names[chosen];
  };
  show();
  document.addEventListener("DOMContentLoaded", () => {
    show();
    document.getElementById("theme").addEventListener("click", () => {
      chosen = order[(order.indexOf(chosen) + 1) % order.length];
      try { localStorage.setItem("theme", chosen); } catch { /* it holds for this page */ }
      show();
      document.dispatchEvent(new Event("theme"));
    });
  });
}
