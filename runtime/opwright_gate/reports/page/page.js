"use strict";
(function () {
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  const table = document.getElementById("table");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const others = Array.from(document.querySelectorAll("article[data-operator]"));
  const count = document.getElementById("count");

  function fits(element, words) {
    const name = element.dataset.operator.toLowerCase();
    return words.every((word) => name.includes(word));
  }

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const row of rows) {
      const isShown = fits(row, words) && (shown.value === "all" || Number(row.dataset[shown.value]) > 0);
      row.hidden = !isShown;
      left += isShown;
    }
    for (const element of others) element.hidden = !fits(element, words);
    count.textContent = left + " of " + rows.length;
  }

  function compare(first, second) {
    const one = Number(first), other = Number(second);
    return Number.isNaN(one) || Number.isNaN(other) ? (first < second ? -1 : first > second ? 1 : 0) : one - other;
  }

  function sort(heading) {
    const headings = Array.from(heading.parentNode.cells);
    const isUp = heading.getAttribute("aria-sort") !== "ascending";
    for (const each of headings) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", isUp ? "ascending" : "descending");
    const at = headings.indexOf(heading);
    const value = (row) => row.cells[at].dataset.value;
    rows.sort((one, other) => (isUp ? 1 : -1) * compare(value(one), value(other)));
    body.append(...rows);
  }

  function copy(button) {
    const code = button.parentNode.querySelector("pre");
    const done = () => {
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    };
    const select = () => {
      const range = document.createRange();
      range.selectNodeContents(code);
      const selection = getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      if (document.execCommand("copy")) done();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, select);
    else select();
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.classList.contains("sort")) sort(button.closest("th"));
    if (button.classList.contains("copy")) copy(button);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      search.focus();
    }
  });
  search.addEventListener("input", filter);
  shown.addEventListener("change", filter);
  filter();
})();
