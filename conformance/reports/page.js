"use strict";
for (const form of document.querySelectorAll("form.filters")) {
  const checks = document.getElementById(form.dataset.of);
  const rows = [...checks.querySelectorAll("tbody tr")];
  const show = () => {
    const words = form.words.value.trim().toLowerCase();
    const filters = Boolean(form.scheme.value || form.outcome.value || words);
    let shown = 0;
    for (const row of rows) {
      const wanted =
        (!form.scheme.value || row.dataset.scheme === form.scheme.value) &&
        (!form.outcome.value || row.dataset.outcome === form.outcome.value) &&
        (!words || row.textContent.toLowerCase().includes(words));
      row.hidden = !wanted;
      shown += wanted;
    }
    for (const table of checks.querySelectorAll("table")) {
      const none = !table.querySelector("tbody tr:not([hidden])");
      const passed = table.closest("details");
      (passed || table).hidden = none;
      if (passed) passed.open = filters && !none;
    }
    form.querySelector("output").textContent = `${shown} of ${rows.length} checks`;
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
}
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details.passed:not([open])")];
  for (const passed of closed) passed.open = true;
});
addEventListener("afterprint", () => {
  for (const passed of closed) passed.open = false;
});
for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code").textContent;
    try {
      await navigator.clipboard.writeText(code);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(button.parentElement.querySelector("code"));
      button.textContent = "selected: press Ctrl+C";
    }
  });
}
