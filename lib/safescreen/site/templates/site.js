// Filters of the ledger and of the names: hide what does not match; everything shows without this file.
for (const form of document.querySelectorAll("form[data-filter]")) {
  const items = [...document.getElementById(form.dataset.filter).querySelectorAll("article, tr")];
  const groups = document.querySelectorAll("[data-group]");
  const update = () => {
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const item of items) {
      const text = item.textContent.toLowerCase();
      const wanted = ["paper", "status"].every((key) => !form.elements[key]?.value || form.elements[key].value === item.dataset[key]);
      item.hidden = !(wanted && words.every((word) => text.includes(word)));
      shown += !item.hidden;
    }
    for (const group of groups) group.hidden = !group.querySelector("article:not([hidden]), tr:not([hidden])");
    form.querySelector("output").textContent = shown === items.length ? "" : `${shown} of ${items.length}`;
  };
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  update();
}
// Links into a folded or filtered place, and the current line of the contents, come into view.
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "center" });
if (!location.hash) window.scrollTo(0, 0);
