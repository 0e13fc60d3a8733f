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
// The current line of the contents comes into view without moving the page.
const side = document.querySelector("nav");
const here = side?.querySelector("[aria-current]");
if (here) side.scrollTop = here.getBoundingClientRect().top - side.getBoundingClientRect().top - side.clientHeight / 2;
