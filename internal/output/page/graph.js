// The canvas. It is as large as what is seen of it: the element behind it has
// the height of the whole graph and scrolls, so that neither depth nor number
// of frames costs memory, and only boxes in sight are drawn.

const rowHeight = 18;
const font = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

class Graph {
  constructor(model, canvas, scroll, height) {
    this.model = model;
    this.canvas = canvas;
    this.scroll = scroll;
    this.height = height;
    this.context = canvas.getContext("2d");
    this.flame = true; // root at the bottom
    this.focus = 0;
    this.selected = -1;
    this.hovered = -1;
    this.matched = null; // by level, while something is searched
    this.from = 0;
    this.to = model.total[0];
    this.setTheme(false);
    // How far the root is scrolled out of sight. A browser moves scrollTop by itself
    // when the window grows, so it cannot be computed from that later.
    this.below = 0;
    scroll.addEventListener("scroll", () => {
      if (scroll.clientHeight === this.seen) this.below = this.full - this.seen - scroll.scrollTop;
      this.redraw();
    }, {passive: true});
    new ResizeObserver(() => this.resize()).observe(scroll);
  }

  setTheme(dark) {
    this.ink = dark ? ink.dark : ink.light;
    this.fills = palette(this.model, dark);
    this.redraw();
  }

  setFlame(flame) {
    this.flame = flame;
    this.resize();
    this.reveal(this.focus);
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.scroll.clientWidth;
    this.seen = this.scroll.clientHeight;
    this.full = Math.max(this.model.rows.length * rowHeight, this.seen);
    this.height.style.height = this.full + "px";
    this.canvas.style.width = this.width + "px";
    this.canvas.style.height = this.seen + "px";
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.seen * ratio);
    // The root's end of what is seen stays where it is.
    if (this.flame) this.scroll.scrollTop = this.full - this.seen - this.below;
    this.draw();
  }

  // top returns the y of a depth in the whole graph.
  top(depth) {
    return this.flame ? this.full - (depth + 1) * rowHeight : depth * rowHeight;
  }

  // reveal scrolls as little as brings node i into sight.
  reveal(i) {
    const y = this.top(this.model.depth[i]);
    if (y < this.scroll.scrollTop) this.scroll.scrollTop = y;
    else if (y + rowHeight > this.scroll.scrollTop + this.seen) this.scroll.scrollTop = y + rowHeight - this.seen;
  }

  // zoom makes node i as wide as the canvas, in a fifth of a second.
  zoom(i) {
    this.focus = i;
    const {start, total} = this.model;
    const from = this.from, to = this.to;
    const goalFrom = start[i], goalTo = start[i] + total[i];
    this.reveal(i);
    cancelAnimationFrame(this.moving);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.from = goalFrom;
      this.to = goalTo;
      this.redraw();
      return;
    }
    const began = performance.now();
    const step = (now) => {
      const t = Math.min(Math.max((now - began) / 200, 0), 1);
      const eased = 1 - (1 - t) ** 3;
      this.from = t === 1 ? goalFrom : from + (goalFrom - from) * eased;
      this.to = t === 1 ? goalTo : to + (goalTo - to) * eased;
      this.draw();
      if (t < 1) this.moving = requestAnimationFrame(step);
    };
    this.moving = requestAnimationFrame(step);
  }

  // jump shows node i at once; for another metric, where widths have changed.
  jump(i) {
    cancelAnimationFrame(this.moving);
    this.focus = i;
    this.from = this.model.start[i];
    this.to = this.from + this.model.total[i];
    this.redraw();
  }

  redraw() {
    this.pending ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    if (!this.width) return;
    const c = this.context, ratio = this.canvas.width / this.width;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.seen);
    c.font = font;
    c.textBaseline = "middle";
    this.letter ||= c.measureText("m").width;
    for (let depth = 0; depth < this.model.rows.length; depth++) {
      const y = this.top(depth) - this.scroll.scrollTop;
      if (y > -rowHeight && y < this.seen) this.drawRow(depth, y);
    }
    this.outline(this.hovered, 1);
    this.outline(this.selected, 2);
  }

  drawRow(depth, y) {
    const {start, total, level} = this.model;
    const row = this.model.rows[depth];
    const scale = this.width / (this.to - this.from);
    // Neighbours too narrow to see are painted as one: a run of one colour,
    // and whatever shares a pixel, where a match wins.
    let dust = null;
    for (let n = this.model.firstAfter(row, this.from); n < row.length; n++) {
      const i = row[n];
      if (start[i] >= this.to) break;
      if (total[i] === 0) continue;
      const left = Math.max((start[i] - this.from) * scale, 0);
      const right = Math.min((start[i] + total[i] - this.from) * scale, this.width);
      if (right - left >= 1) {
        this.drawBox(i, level[i], left, y, right - left);
        continue;
      }
      const fill = this.fillOf(i, level[i], true);
      if (dust && (dust.fill === fill ? left - dust.right < 1 : right - dust.left < 1)) {
        dust.right = right;
        if (fill === this.ink.matched) dust.fill = fill;
        continue;
      }
      if (dust) this.drawDust(dust, y);
      dust = {left, right, fill};
    }
    if (dust) this.drawDust(dust, y);
  }

  drawDust({left, right, fill}, y) {
    this.context.fillStyle = fill;
    this.context.fillRect(left, y, Math.max(right - left, 0.5), rowHeight - 1);
  }

  // faint tells whether node i stands back: beside a match, or below the frame
  // that is zoomed to.
  faint(i, level) {
    return this.matched ? !this.matched[level] : i < this.focus && this.model.end[i] > this.focus;
  }

  fillOf(i, level, dust) {
    if (this.matched?.[level]) return this.ink.matched;
    const fill = dust ? this.fills[level].dust : this.fills[level];
    return this.faint(i, level) ? fill.beside : fill.plain;
  }

  drawBox(i, level, x, y, width) {
    const c = this.context;
    c.fillStyle = this.fillOf(i, level, false);
    c.fillRect(x, y, width > 3 ? width - 1 : width, rowHeight - 1);
    const letters = Math.floor((width - 8) / this.letter);
    if (letters < 3) return;
    const text = clipName(this.model.levels[level].name, letters);
    c.fillStyle = this.faint(i, level) ? this.ink.faint : this.ink.text;
    c.fillText(text, x + 4, y + rowHeight / 2, width - 8);
  }

  outline(i, width) {
    if (i < 0) return;
    const box = this.box(i);
    if (box.right <= 0 || box.left >= this.width) return;
    const c = this.context;
    const left = Math.max(box.left, 0), right = Math.min(box.right, this.width);
    c.strokeStyle = this.ink.outline;
    c.lineWidth = width;
    c.strokeRect(left + width / 2, box.top + width / 2, Math.max(right - left - 1 - width, 1), rowHeight - 1 - width);
  }

  // box returns where node i is in the canvas; it may be out of sight.
  box(i) {
    const scale = this.width / (this.to - this.from);
    const left = (this.model.start[i] - this.from) * scale;
    return {
      left,
      right: left + this.model.total[i] * scale,
      top: this.top(this.model.depth[i]) - this.scroll.scrollTop,
    };
  }

  // nodeAt returns the node at a point of the canvas, or -1.
  nodeAt(x, y) {
    const fromTop = y + this.scroll.scrollTop;
    const depth = Math.floor((this.flame ? this.full - fromTop : fromTop) / rowHeight);
    return this.model.at(depth, this.from + x * (this.to - this.from) / this.width);
  }
}
