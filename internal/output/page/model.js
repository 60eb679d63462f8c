// The tree of stacks and everything that is computed from it. Node 0 is the
// root, "all"; nodes come before their children, siblings from left to right,
// so that the nodes below i are i+1 … end[i]-1.

class Model {
  constructor(data) {
    this.metrics = data.metrics;
    this.objects = data.objects;
    // A level is what nodes of the same function share. The last is the root's.
    this.levels = data.levels.map(([name, object, kind, file]) => ({name, object, kind, file}));
    this.levels.push({name: "all", object: -1, kind: "root", file: ""});
    this.count = data.level.length + 1;
    this.level = new Int32Array(this.count);
    this.depth = new Int32Array(this.count);
    this.parent = new Int32Array(this.count);
    this.end = new Int32Array(this.count);
    this.self = data.self;
    this.hottest = data.functions;
    this.link(data);
    this.select(data.metric);
  }

  link(data) {
    this.level[0] = this.levels.length - 1;
    this.parent[0] = -1;
    const path = [0];
    const rows = [[0]];
    for (let i = 1; i < this.count; i++) {
      for (let up = data.up[i - 1]; up > 0; up--) this.end[path.pop()] = i;
      const depth = path.length;
      this.level[i] = data.level[i - 1];
      this.depth[i] = depth;
      this.parent[i] = path[depth - 1];
      path.push(i);
      (rows[depth] ||= []).push(i);
    }
    for (const i of path) this.end[i] = this.count;
    this.rows = rows.map((row) => Int32Array.from(row)); // by depth, left to right
  }

  // select computes widths and places, in counts of one metric.
  select(metric) {
    this.metric = this.metrics[metric];
    const self = this.self[metric];
    const total = this.total = new Float64Array(this.count);
    for (let i = this.count - 1; i > 0; i--) {
      total[i] += self[i - 1];
      total[this.parent[i]] += total[i];
    }
    const start = this.start = new Float64Array(this.count);
    const next = new Float64Array(this.count); // where the next child begins
    for (let i = 1; i < this.count; i++) {
      const p = this.parent[i];
      start[i] = next[i] = next[p];
      next[p] += total[i];
    }
    this.functions = this.sumFunctions(this.hottest[metric]);
  }

  // sumFunctions returns self and total of each function. In a total, only the
  // outermost node of a recursive function counts.
  sumFunctions(hottest) {
    const sums = this.levels.map((level, id) => ({id, level, self: 0, total: 0}));
    const open = new Int32Array(this.levels.length); // end of the node that counts now
    for (let i = 1; i < this.count; i++) {
      const sum = sums[this.level[i]];
      if (i >= open[this.level[i]]) {
        open[this.level[i]] = this.end[i];
        sum.total += this.total[i];
      }
    }
    for (const [level, count] of hottest) sums[level].self = count;
    return sums.filter(({level, total}) =>
      total > 0 && level.kind !== "process" && level.kind !== "root" && level.kind !== "truncated");
  }

  name(i) { return this.levels[this.level[i]].name; }

  path(i) {
    const path = [];
    for (; i >= 0; i = this.parent[i]) path.unshift(i);
    return path;
  }

  // at returns the node of a depth whose place holds x, or -1.
  at(depth, x) {
    const row = this.rows[depth];
    if (!row) return -1;
    const i = row[this.firstAfter(row, x)];
    return i !== undefined && this.start[i] <= x && this.total[i] > 0 ? i : -1;
  }

  // firstAfter returns the index in a row of the first node that ends after x.
  firstAfter(row, x) {
    let low = 0, high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[row[middle]] + this.total[row[middle]] > x) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  children(i) {
    const children = [];
    for (let c = i + 1; c < this.end[i]; c = this.end[c]) {
      if (this.total[c] > 0) children.push(c);
    }
    return children;
  }

  // matches returns which levels a test of names holds for, and the counts of
  // all stacks that have one of them below the node top.
  matches(test, top) {
    const levels = this.levels.map((level) => level.kind !== "root" && test(level.name));
    let sum = 0;
    for (let i = top; i < this.end[top];) {
      if (levels[this.level[i]]) {
        sum += this.total[i];
        i = this.end[i];
      } else {
        i++;
      }
    }
    return {levels, sum};
  }
}

// searchTest turns what is typed into a test of names; null for nothing typed.
// It throws a SyntaxError for a regular expression that is none.
function searchTest(text) {
  if (text === "") return null;
  const regex = /^\/(.+)\/(i?)$/s.exec(text);
  if (regex) {
    const expression = new RegExp(regex[1], regex[2]);
    return (name) => expression.test(name);
  }
  if (text.length > 2 && text.startsWith('"') && text.endsWith('"')) {
    const whole = text.slice(1, -1);
    return (name) => name === whole;
  }
  const part = text.toLowerCase();
  return (name) => name.toLowerCase().includes(part);
}
