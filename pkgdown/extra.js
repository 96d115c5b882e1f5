// What the pages do: contents at the side, buttons that copy code, search. It needs no library and no network.
document.addEventListener("DOMContentLoaded", () => {
  contents(document.getElementById("toc"));
  document.querySelectorAll("div.sourceCode").forEach(addCopyButton);
  const input = document.getElementById("search-input");
  if (input) addSearch(input);
});

function element(tag, attributes, ...children) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
}

// Headings of the page as links, those of the second level indented.
function contents(toc) {
  if (!toc) return;
  const list = element("ul", { className: "contents" });
  const links = new Map();
  for (const heading of document.querySelectorAll("main h2, main h3")) {
    const id = heading.id || heading.parentElement.id;
    if (!id || heading.hasAttribute("data-toc-skip")) continue;
    const link = element("a", { href: "#" + id, textContent: heading.textContent.trim() });
    links.set(heading, link);
    list.append(element("li", { className: heading.tagName === "H3" ? "nested" : "" }, link));
  }
  if (!links.size) {
    toc.remove();
    return;
  }
  toc.append(list);

  // The heading that was passed last is the one that is read.
  const mark = () => {
    let current = null;
    for (const [heading, link] of links) {
      if (heading.getBoundingClientRect().top < 100) current = link;
      link.classList.remove("active");
    }
    if (current) current.classList.add("active");
  };
  document.addEventListener("scroll", mark, { passive: true });
  mark();
}

// Copies code without its output.
function addCopyButton(block) {
  if (!navigator.clipboard) return;
  const code = block.querySelector("code");
  if (!code) return;
  const button = element("button", { type: "button", className: "copy", textContent: "Copy" });
  button.addEventListener("click", async () => {
    const lines = code.textContent.split("\n").filter((line) => !line.startsWith("#>"));
    await navigator.clipboard.writeText(lines.join("\n").trim() + "\n");
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.classList.add("has-copy");
  block.append(button);
}

// The index, search.js, is read when the field is first used: a script, because pages on a disk cannot fetch.
function addSearch(input) {
  const root = input.dataset.searchIndex.replace(/search\.json$/, "");
  const results = element("ul", { className: "search-results", hidden: true });
  input.parentElement.classList.add("search");
  input.parentElement.addEventListener("submit", (event) => event.preventDefault());
  input.setAttribute("aria-label", "Search");
  input.after(results);

  input.addEventListener("focus", () => {
    document.head.append(element("script", { src: root + "search.js", onload: show }));
  }, { once: true });
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    const first = results.querySelector("a");
    if (event.key === "Enter" && first) first.click();
    if (event.key === "Escape") results.hidden = true;
  });
  document.addEventListener("click", (event) => {
    if (!input.parentElement.contains(event.target)) results.hidden = true;
  });

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter((word) => word.length > 1);
    results.hidden = !words.length || !window.searchIndex;
    if (results.hidden) return;
    const found = [];
    for (const entry of window.searchIndex) {
      const heading = (entry.title + " " + entry.what).toLowerCase();
      const text = heading + " " + (entry.text + " " + entry.code).toLowerCase();
      if (!words.every((word) => text.includes(word))) continue;
      const score = (word) => (heading.includes(word) ? 10 : 0) + Math.min(text.split(word).length - 1, 5);
      const place = 1 + ["articles", "reference"].indexOf(entry.path.split("/")[1]);
      found.push([words.map(score).reduce((a, b) => a + b, place), entry]);
    }
    // best first, two of a page at most; a word in a heading counts more than its times in the text
    const times = {};
    const best = found.sort((a, b) => b[0] - a[0]).filter(([, entry]) => {
      times[entry.path] = (times[entry.path] || 0) + 1;
      return times[entry.path] <= 2;
    });
    results.replaceChildren(...best.slice(0, 15).map(([, entry]) => element("li", {}, element("a", {
      href: root + entry.path.replace(/^\//, "") + (entry.id ? "#" + entry.id : ""),
      textContent: entry.title === entry.what ? entry.title : entry.title + ": " + entry.what
    }))));
    if (!found.length) results.append(element("li", { textContent: "Nothing found." }));
  }
}
