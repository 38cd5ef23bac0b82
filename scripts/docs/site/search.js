/** Finds pages and headings that hold every word; what it shows is text. */
const field = document.querySelector("#search");
const list = document.querySelector("#found");
const LIMIT = 12;
let pages;

const load = async () => (pages ??= await (await fetch("index.json")).json());

function find(words) {
  const holds = (text) => words.every((word) => text.toLowerCase().includes(word));
  return pages.flatMap(({ address, title, headings, text }) => {
    const inside = headings.filter((heading) => holds(heading.text));
    if (inside.length > 0)
      return inside.map(({ id, text: heading }) => ({ href: `${address}#${id}`, label: `${title}: ${heading}` }));
    return holds(text) ? [{ href: address, label: title }] : [];
  });
}

async function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  await load();
  const found = words.length === 0 ? [] : find(words).slice(0, LIMIT);
  const items = found.map(({ href, label }) => {
    const link = Object.assign(document.createElement("a"), { href, textContent: label });
    const item = document.createElement("li");
    item.append(link);
    return item;
  });
  if (words.length > 0 && items.length === 0)
    items.push(Object.assign(document.createElement("li"), { textContent: "Nothing found" }));
  list.replaceChildren(...items);
  list.hidden = words.length === 0;
}

field.addEventListener("input", () => void search());
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  }
});
