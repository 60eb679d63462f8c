// Colours of boxes: the same function has the same one on every page. The hue
// tells whose code it is, the lightness tells neighbours apart.

// hashText returns a number in [0, 1) (FNV-1a).
function hashText(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  }
  // The last characters of short names reach the high bits only by mixing.
  h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d);
  return ((h ^ h >>> 13) >>> 0) / 4294967296;
}

// hueOf returns the hue and the saturation, from 0 to 1, of a level.
function hueOf(level, objects) {
  switch (level.kind) {
    case "kernel": return [205 + 15 * hashText(level.name), 0.75];
    case "inlined": return [140 + 25 * hashText(level.name), 0.5];
    case "user": return [6 + 36 * hashText(objects[level.object] ?? "") + 16 * (8 * hashText(level.name) % 1), 0.9];
  }
  return [230, 0.08]; // the root, processes, unknown and cut
}

// tone returns a fill in a theme, plain and beside the matches of a search.
// Shade, from 0 to 1, is how light it is.
function tone(hue, saturation, shade, dark) {
  const s = saturation * (dark ? 50 : 85);
  const light = dark ? 24 + 7 * shade : 68 + 12 * shade;
  return {
    plain: `hsl(${hue.toFixed(0)} ${s.toFixed(0)}% ${light.toFixed(1)}%)`,
    beside: `hsl(${hue.toFixed(0)} ${(s / 5).toFixed(0)}% ${dark ? 20 : 88}%)`,
  };
}

// palette returns the tone of each level, and as its dust the one tone that
// all narrow boxes of its kind have.
function palette(model, dark) {
  const dust = {
    user: tone(30, 0.9, 0.6, dark),
    kernel: tone(212, 0.75, 0.6, dark),
    inlined: tone(152, 0.5, 0.6, dark),
  };
  const grey = tone(230, 0.08, 0.6, dark);
  return model.levels.map((level) => {
    const [hue, saturation] = hueOf(level, model.objects);
    return {...tone(hue, saturation, hashText(level.name), dark), dust: dust[level.kind] ?? grey};
  });
}

const ink = {
  light: {text: "#17171c", faint: "#50505c", matched: "hsl(292 85% 76%)", outline: "#17171c"},
  dark: {text: "#f4f4f6", faint: "#b4b4c0", matched: "hsl(292 60% 38%)", outline: "#ffffff"},
};
