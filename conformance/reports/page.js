"use strict";
for (const form of document.querySelectorAll("form.filters")) {
  const rows = [...document.getElementById(form.dataset.of).tBodies[0].rows];
  const show = () => {
    const words = form.words.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const wanted =
        (!form.scheme.value || row.dataset.scheme === form.scheme.value) &&
        (!form.outcome.value || row.dataset.outcome === form.outcome.value) &&
        (!words || row.textContent.toLowerCase().includes(words));
      row.hidden = !wanted;
      shown += wanted;
    }
    form.querySelector("output").textContent = `${shown} of ${rows.length} checks`;
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
}
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
