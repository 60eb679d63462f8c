// What the user does, and what the page answers.

const element = (id) => document.getElementById(id);
const model = new Model(JSON.parse(element("profile").textContent));
const canvas = element("canvas");
const graph = new Graph(model, canvas, element("scroll"), element("height"));
const functions = new Functions(model, element("functions"), element("more"), (name) => search(`"${name}"`));

// describe returns the lines that tell about node i.
function describe(i) {
  const level = model.levels[model.level[i]];
  const kind = {kernel: "kernel", inlined: "inlined", unknown: "no symbol", process: "process"}[level.kind];
  const place = [level.kind === "kernel" ? "" : model.objects[level.object], level.file].filter(Boolean).join(", ");
  const shares = [formatShare(model.total[i], model.total[0]) + " of all"];
  if (graph.focus > 0 && i >= graph.focus) {
    shares.push(formatShare(model.total[i], model.total[graph.focus]) + " of what is zoomed to");
  }
  return {
    name: level.name,
    place: [kind, place].filter(Boolean).join(" · "),
    count: formatCount(model.total[i], model.metric),
    shares: shares.join(", "),
  };
}

function tell(i) {
  const d = describe(i);
  element("status").textContent = [d.name, d.place, d.count, d.shares].filter(Boolean).join(" · ");
}

// Zoom.

function zoom(i) {
  hover(-1); // what is under the pointer goes away from it
  graph.zoom(i);
  zoomed();
}

function zoomed() {
  const path = model.path(graph.focus);
  // The ends of a long way matter: where it starts and where it has come to.
  const shown = path.length > 9 ? [...path.slice(0, 3), -1, ...path.slice(-5)] : path;
  element("crumbs").replaceChildren(...shown.map((i) => {
    if (i < 0) return Object.assign(document.createElement("span"), {textContent: "…"});
    const crumb = document.createElement("button");
    crumb.type = "button";
    crumb.textContent = model.name(i);
    crumb.title = model.name(i);
    if (i === graph.focus) crumb.setAttribute("aria-current", "location");
    crumb.addEventListener("click", () => zoom(i));
    return crumb;
  }));
  showMatched();
}

// Search.

let test = null;

function search(text) {
  const field = element("search");
  if (field.value !== text) field.value = text;
  try {
    test = searchTest(text);
    field.removeAttribute("aria-invalid");
  } catch (error) {
    test = null;
    field.setAttribute("aria-invalid", "true");
    element("matched").textContent = error.message;
    mark(null);
    return;
  }
  showMatched();
}

function mark(levels) {
  graph.matched = levels;
  graph.redraw();
  functions.mark(levels);
}

function showMatched() {
  if (!test) {
    if (!element("search").hasAttribute("aria-invalid")) element("matched").textContent = "";
    mark(null);
    return;
  }
  const all = model.matches(test, 0);
  let text = `${formatShare(all.sum, model.total[0])} matched`;
  if (graph.focus > 0) {
    text += `, ${formatShare(model.matches(test, graph.focus).sum, model.total[graph.focus])} of what is zoomed to`;
  }
  element("matched").textContent = text;
  mark(all.levels);
}

// Metric, direction, theme.

function selectMetric(metric) {
  model.select(metric);
  element("total").textContent = formatCount(model.total[0], model.metric);
  graph.jump(model.total[graph.focus] > 0 ? graph.focus : 0);
  functions.show();
  zoomed();
}

function flip() {
  graph.setFlame(!graph.flame);
  element("flip").textContent = graph.flame ? "Icicle" : "Flame";
}

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  element("theme").textContent = dark ? "Light" : "Dark";
  graph.setTheme(dark);
}

// Pointer.

canvas.addEventListener("mousemove", (event) => {
  hover(graph.nodeAt(event.offsetX, event.offsetY));
  placeTip(event.clientX, event.clientY);
});

canvas.addEventListener("mouseleave", () => hover(-1));

canvas.addEventListener("click", (event) => {
  const i = graph.nodeAt(event.offsetX, event.offsetY);
  if (i < 0) return;
  graph.selected = -1;
  zoom(i);
  tell(i);
});

function hover(i) {
  if (i === graph.hovered) return;
  graph.hovered = i;
  graph.redraw();
  canvas.style.cursor = i < 0 ? "default" : "pointer";
  const tip = element("tip");
  tip.hidden = i < 0;
  if (i < 0) return;
  const d = describe(i);
  tip.replaceChildren(...["name", "place", "count", "shares"].filter((key) => d[key]).map((key) =>
    Object.assign(document.createElement("div"), {className: key, textContent: d[key]})));
}

function placeTip(x, y) {
  const tip = element("tip");
  const left = Math.min(x + 14, innerWidth - tip.offsetWidth - 8);
  const top = y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18;
  tip.style.left = Math.max(left, 8) + "px";
  tip.style.top = Math.max(top, 8) + "px";
}

// Keys.

// neighbour returns the node beside i in a direction of the screen, or i.
function neighbour(i, key) {
  const parent = model.parent[i];
  if (key === "ArrowLeft" || key === "ArrowRight") {
    if (parent < 0) return i;
    const siblings = model.children(parent);
    return siblings[siblings.indexOf(i) + (key === "ArrowLeft" ? -1 : 1)] ?? i;
  }
  if ((key === "ArrowUp") === graph.flame) { // away from the root: to the widest
    return model.children(i).reduce((best, c) => best === i || model.total[c] > model.total[best] ? c : best, i);
  }
  return parent < 0 ? i : parent;
}

function choose(i) {
  graph.selected = i;
  graph.reveal(i);
  graph.redraw();
  tell(i);
}

canvas.addEventListener("keydown", (event) => {
  const from = graph.selected < 0 ? graph.focus : graph.selected;
  if (event.key.startsWith("Arrow")) {
    choose(graph.selected < 0 ? from : neighbour(from, event.key));
  } else if (event.key === "Enter") {
    zoom(from);
    tell(from);
  } else {
    return;
  }
  event.preventDefault();
});

canvas.addEventListener("blur", () => {
  graph.selected = -1;
  graph.redraw();
});

function goBack() {
  if (element("search").value) search("");
  else if (graph.focus > 0) zoom(0);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || element("keys").open) return;
  const typing = event.target.matches("input, select");
  if (event.key === "Escape") {
    goBack();
    if (typing) canvas.focus();
  } else if (typing) {
    return;
  } else if (event.key === "/") {
    element("search").focus();
  } else if (event.key === "f") {
    flip();
  } else if (event.key === "?") {
    element("keys").showModal();
  } else {
    return;
  }
  event.preventDefault();
});

element("search").addEventListener("input", (event) => search(event.target.value));
element("metric")?.addEventListener("change", (event) => selectMetric(Number(event.target.value)));
element("reset").addEventListener("click", () => {
  search("");
  zoom(0);
});
element("flip").addEventListener("click", flip);
element("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
element("help").addEventListener("click", () => element("keys").showModal());
prefersDark.addEventListener("change", (event) => setTheme(event.matches));

setTheme(prefersDark.matches);
if (element("metric")) element("metric").value = model.metrics.indexOf(model.metric);
element("total").textContent = formatCount(model.total[0], model.metric);
if (model.total[0] === 0) element("status").textContent = "Nothing was counted.";
zoomed();
