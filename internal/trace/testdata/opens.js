const fs = require('fs');

function burn(n) {
  let x = 0;
  for (let i = 0; i < n; i++) x += i * i % 7;
  return x;
}

function attempt(path) {
  try {
    fs.openSync(path, 'r');
  } catch (e) {
    burn(Number(process.argv[3]));
  }
}

function one() {
  attempt('/nonexistent/one');
}

function two() {
  attempt('/nonexistent/two');
}

function down(depth) {
  if (depth > 0) {
    down(depth - 1);
    return;
  }
  one();
  two();
  two();
}

console.log('ready');
fs.readSync(0, Buffer.alloc(1));
for (let i = 0; i < Number(process.argv[2]); i++) {
  down(10);
}
