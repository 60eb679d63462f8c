"use strict";

// How numbers are written for people.

function formatShare(part, whole) {
  if (!whole) return "0%";
  const share = 100 * part / whole;
  if (part < whole && share > 99.9) return "99.9%";
  if (part > 0 && share < 0.001) return "<0.001%";
  return (share >= 0.1 || !part ? share.toFixed(1) : share.toPrecision(1)) + "%";
}

function formatStep(value, steps) {
  let [unit, size] = steps[0];
  for (const step of steps) {
    if (value >= step[1]) [unit, size] = step;
  }
  const scaled = value / size;
  const digits = scaled < 10 ? 2 : scaled < 100 ? 1 : 0;
  return scaled.toLocaleString("en", {maximumFractionDigits: digits}) + " " + unit;
}

const timeSteps = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
const byteSteps = [["B", 1], ["KiB", 1024], ["MiB", 1048576], ["GiB", 1073741824], ["TiB", 1099511627776]];

// formatCount writes a count of a metric, and what it stands for if that is more.
function formatCount(count, metric) {
  const number = count.toLocaleString("en") + (metric.type === "samples" ? count === 1 ? " sample" : " samples" : "");
  const scaled = count * metric.scale;
  if (metric.unit === "nanoseconds") {
    const time = formatStep(scaled, timeSteps);
    return metric.scale > 1 ? number + ", " + time : time;
  }
  if (metric.unit === "bytes") return formatStep(scaled, byteSteps);
  return metric.scale > 1 ? scaled.toLocaleString("en") : number;
}

// pathLength returns how much of a function's name is the path of its package:
// of "example.com/a/b.Read" what is before "b.Read".
function pathLength(name) {
  const stop = name.search(/[(<[]/);
  const path = (stop < 0 ? name : name.slice(0, stop)).lastIndexOf("/") + 1;
  return name.includes(".", path) ? path : 0; // "kworker/0:1" has no path
}

// clipName makes a name fit: first without its path, which the names around it
// share, then without its end.
function clipName(name, letters) {
  if (name.length <= letters) return name;
  const short = name.slice(pathLength(name));
  return short.length <= letters ? short : short.slice(0, letters - 1) + "…";
}
