"use strict";
// Puts a button behind each command that copies it, and marks the one that was copied last.
// Without it a click takes the whole command.
let copied = null;
for (const code of document.querySelectorAll("code.copied")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", `Copy ${code.textContent}`);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code);
      if (!document.execCommand("copy")) return;
    }
    if (copied) copied.textContent = "Copy";
    copied = button;
    copied.textContent = "Copied";
  });
  (code.closest("pre") ?? code).after(button);
}
// Filters the cards. Without it the page shows all of them.
(() => {
  const form = document.querySelector(".filter");
  if (!form) return;
  const find = document.getElementById("find");
  const kind = document.getElementById("kind");
  const clean = document.getElementById("clean");
  const shown = document.getElementById("shown");
  const cards = [...document.querySelectorAll(".card")];
  const rows = new Map(
    [...document.querySelectorAll("tr[data-for]")].map((row) => [row.dataset.for, row]),
  );
  const update = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const card of cards) {
      const fits =
        (!kind.value || card.dataset.heuristic === kind.value) &&
        !(clean.checked && card.dataset.taint === "yes") &&
        words.every((word) => card.dataset.words.includes(word));
      card.hidden = !fits;
      const row = rows.get(card.id);
      if (row) row.hidden = !fits;
      count += fits ? 1 : 0;
    }
    shown.textContent = `${count} of ${cards.length}`;
  };
  form.hidden = false;
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  update();
})();
