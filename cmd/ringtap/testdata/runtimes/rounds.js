// Does a round for each byte that it reads; see rounds.go.
const fs = require('fs');
const zero = fs.openSync('/dev/zero');
const bytes = Buffer.alloc(4096);
const nobody = new Int32Array(new SharedArrayBuffer(4));

function readIt() {
	for (let i = 0; i < 100; i++)
		if (fs.readSync(zero, bytes, 0, bytes.length, 0) !== bytes.length)
			throw new Error('a short read');
}

function napHere() {
	for (let i = 0; i < 5; i++)
		Atomics.wait(nobody, 0, 0, 5);
}

process.stdin.on('data', (asked) => {
	for (let i = 0; i < asked.length; i++) {
		readIt();
		const begin = process.hrtime.bigint(); // all that is below napHere lies between
		napHere();
		fs.writeSync(1, process.hrtime.bigint() - begin + '\n');
	}
});
