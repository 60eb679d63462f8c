'use strict'; //= (anonymous) calls.js:1
// Says of itself who calls whom, and where: "= f" a function f that begins in its line and ends before
// the next one, "- f" one that has this line alone, "> f g" whom the line calls.
let sink = 0;
function spin(n) { //= spin
  let s = n | 0;
  for (let i = 0; i < 200; i++) {
    s = (s * 31 + i) | 0;
  }
  return s;
}
function leaf(n) { //= leaf
  const s = n + 1;
  return spin(s) + 1; //> spin
}
function inlined(n) { //= inlined
  let s = leaf(n); //> leaf
  s ^= spin(n); //> spin
  s ^= middle(s); //> middle
  return s;
}
function middle(n) { //= middle
  const s = n + 2;

  return leaf(s) ^ 3; //> leaf
}
function callbacks(n) { //= callbacks
  const list = [n, n + 1, n + 2];
  list.forEach(function each(x) { sink ^= spin(x); }); //- each //> each spin
  const twice = list.map(function twofold(x) { return leaf(x) * 2; }); //- twofold //> twofold leaf
  twice.sort(function compare(a, b) { return (spin(a) & 7) - (spin(b) & 7); }); //- compare //> compare spin
  return twice.reduce(function add(a, b) { return spin(a) + b; }, 0); //- add //> add spin
}
class Shape {
  constructor(n) { //= Shape
    this.n = n;
    this.s = spin(n); //> spin
  }
  area() { //= area
    return leaf(this.n) * this.s; //> leaf
  }
  static make(n) { //= make
    const made = new Shape(n); //> Shape
    return made.area(); //> area
  }
}
function defaults(a, b, c = leaf(a)) { //= defaults //> leaf
  return spin(c); //> spin
}
function variadic(...all) { //= variadic
  let s = 0;
  for (const one of all) s ^= leaf(one); //> leaf
  return s;
}
function arguments_(n) { //= arguments_
  let s = defaults(n); //> defaults
  s ^= variadic(...[n, s], 4); //> variadic
  s ^= variadic.apply(null, [s]); //> variadic
  s ^= Reflect.apply(leaf, null, [s]); //> leaf
  s ^= bound(); //> leaf
  return s;
}
const bound = leaf.bind(null, 7); //- (anonymous) calls.js:1
function* numbers(n) { //= numbers
  for (let i = 0; i < 3; i++) {
    yield spin(n + i); //> spin
  }
}
function generator(n) { //= generator
  let s = 0;
  for (const one of numbers(n)) s ^= one; //> numbers
  return s;
}
function library(n) { //= library
  let s = JSON.stringify({ toJSON: function plain() { return spin(n); } }).length; //- plain //> plain spin
  s ^= 'a1b2c3'.replace(/[0-9]/g, function digit(d) { return leaf(+d); }).length; //- digit //> digit leaf
  s ^= /(x+x+)+y/.test('xxxxxxxxxxxx') ? 1 : 0;
  s ^= new Proxy({}, { get: function trap() { return spin(n); } }).any; //- trap //> trap spin
  return s;
}
function deep(n) { //= deep
  if (n === 0) {
    return leaf(n); //> leaf
  }
  return deep(n - 1) + 1; //> deep
}
function mixed(x) { //= mixed
  const y = x.n === undefined ? x : x.n;
  return leaf(y); //> leaf
}
function changing(n) { //= changing
  let s = mixed(n); //> mixed
  s ^= mixed(n + 0.5); //> mixed
  s ^= mixed({ n }); //> mixed
  if (n % 50 === 0) s ^= mixed({ n, ['k' + n % 7]: 1 }); //> mixed
  return s;
}
function thrower(n) { //= thrower
  spin(n); //> spin
  throw n;
}
function catcher(n) { //= catcher
  try {
    return thrower(n); //> thrower
  } catch (e) {
    return leaf(e); //> leaf
  }
}
function work(n) { //= work
  sink ^= inlined(n); //> inlined
  sink ^= callbacks(n); //> callbacks
  sink ^= Shape.make(n); //> make
  sink ^= arguments_(n); //> arguments_
  sink ^= generator(n); //> generator
  sink ^= library(n); //> library
  sink ^= deep(9); //> deep
  sink ^= changing(n); //> changing
  sink ^= catcher(n); //> catcher
}
async function later(n) { //= later
  await null;
  sink ^= leaf(n); //> leaf
}
async function main(rounds) { //= main
  for (let i = 0; i < rounds; i++) {
    work(i); //> work
    if (i % 16 === 0) await later(i); //> later
  }
}
main(Number(process.argv[2])); //= (anonymous) calls.js:1 //> main
