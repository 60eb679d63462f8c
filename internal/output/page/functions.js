// The table of functions beside the graph.

const shownFunctions = 200;

class Functions {
  constructor(model, body, more, pick) {
    this.model = model;
    this.body = body;
    this.more = more;
    this.order = "self";
    this.down = true;
    this.matched = null;
    this.buttons = {};
    for (const order of ["self", "total", "name"]) {
      const button = this.buttons[order] = document.getElementById("by-" + order);
      button.addEventListener("click", () => this.sort(order));
    }
    body.addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      if (row) pick(row.querySelector("button").textContent);
    });
    this.show();
  }

  sort(order) {
    this.down = order === this.order ? !this.down : order !== "name";
    this.order = order;
    this.show();
  }

  mark(matched) {
    this.matched = matched;
    for (const row of this.body.rows) row.classList.toggle("matched", Boolean(matched?.[row.dataset.level]));
  }

  show() {
    const {order, down} = this;
    const byName = (a, b) => a.level.name < b.level.name ? -1 : a.level.name > b.level.name ? 1 : a.id - b.id;
    const sorted = [...this.model.functions].sort((a, b) => {
      const by = order === "name" ? byName(a, b) : a[order] - b[order];
      return (down ? -by : by) || byName(a, b);
    });
    this.body.replaceChildren(...sorted.slice(0, shownFunctions).map((sum) => this.row(sum)));
    const left = sorted.length - shownFunctions;
    this.more.textContent = left > 0 ? `and ${left.toLocaleString("en")} more` : "";
    for (const [name, button] of Object.entries(this.buttons)) {
      const head = button.parentElement;
      if (name === order) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    this.mark(this.matched);
  }

  row({id, level, self, total}) {
    const row = document.createElement("tr");
    row.dataset.level = id;
    for (const count of [self, total]) {
      const cell = row.insertCell();
      cell.className = "share";
      cell.textContent = formatShare(count, this.model.total[0]);
      cell.title = formatCount(count, this.model.metric);
      cell.style.setProperty("--share", 100 * count / this.model.total[0] + "%");
    }
    const button = document.createElement("button");
    button.type = "button";
    // Where the column is too narrow the path goes first.
    const path = pathLength(level.name);
    for (const part of [level.name.slice(0, path), level.name.slice(path)]) {
      button.append(Object.assign(document.createElement("span"), {textContent: part}));
    }
    const cell = row.insertCell();
    cell.className = level.kind;
    cell.title = [level.name, this.model.objects[level.object], level.file].filter(Boolean).join("\n");
    cell.append(button);
    return row;
  }
}
