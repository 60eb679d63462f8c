// Calls one, two and three, which take a sixth, a third and half of the time, below eleven calls of down.
let sink = 0;
function burn(n, s) {
  if (n <= 0) return s;
  s = burn(n - 1, (s * 31 + n) | 0);
  return s + 1;
}
function one() { return burn(50, 1); }
function two() { return burn(50, 1) + burn(50, 2); }
function three() { return burn(50, 1) + burn(50, 2) + burn(50, 3); }
function down(n) {
  if (n === 0) {
    sink += one();
    sink += two();
    sink += three();
    return sink;
  }
  return down(n - 1) + 1;
}
function rounds(n) { for (let i = 0; i < n; i++) down(10); }
rounds(Number(process.argv[2]));
