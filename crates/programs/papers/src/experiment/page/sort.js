for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const sort = (column) => {
    const falls = heads[column].getAttribute("aria-sort") === "ascending";
    const text = (row) => row.cells[column].textContent.trim();
    const value = (it) => parseFloat(it.replace("\u2212", "-").replace("\u221e", "Infinity"));
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = falls ? [text(b), text(a)] : [text(a), text(b)];
      const difference = value(x) - value(y);
      return Number.isNaN(difference) ? x.localeCompare(y) : difference;
    });
    body.append(...rows);
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", falls ? "descending" : "ascending");
  };
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    head.classList.add("sortable");
    head.tabIndex = 0;
    head.onclick = () => sort(column);
    head.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort(column);
    };
  });
}
