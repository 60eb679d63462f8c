package main

// The scripts of workloads: see program. A variable that the session does not have is a
// variable of the shell.
const (
	// hitsProgram calls malloc and free, or a64l, or read, on request, on the last CPU. It has
	// frame pointers, so that the tools that need them find the whole stack.
	hitsProgram = `gcc -O2 -fno-builtin -fno-omit-frame-pointer -fno-optimize-sibling-calls -o $dir/bench-hits $dir/hits.c -ldl &&
exec $dir/bench-hits $last`

	// manyThreads is a process with waiting threads, and one thread that counts on the last CPU.
	manyThreads = `gcc -O2 -pthread -o $dir/threads internal/dev/bench/testdata/threads.c && exec $dir/threads 10000 $last`

	manyGoroutines = `go build -o $dir/goroutines ./internal/dev/bench/testdata/goroutines && exec $dir/goroutines 100000`

	// replay builds the benchmark that replays an hour's profile.
	replay = `go test -c -o $dir/table.test ./internal/collect/table && echo && exec cat`

	// aNode and aJava run a recursive program until the input ends.
	aNode = `
command -v node >/dev/null || { echo "missing: node is not installed"; exit; }
node internal/collect/oncpu/testdata/shares.js 100000000 &` + untilTold
	aJava = `
javac -d $dir internal/collect/oncpu/testdata/Shares.java >&2 || { echo "missing: javac is not installed"; exit; }
java -cp $dir Shares 1000000000 &` + untilTold

	untilTold = `
sleep 1
echo pid=$!
read line
kill $!
wait`

	// smallFiles makes C files and a Makefile.
	smallFiles = `
mkdir -p $dir/small && cd $dir/small || exit
for i in $(seq 60); do echo "int f$i(int a) { return a + $i; }" >f$i.c; done
echo 'all: $(patsubst %.c,%.o,$(wildcard *.c))' >Makefile
command -v make >/dev/null && echo || echo "missing: make is not installed"
exec cat`

	// compiling compiles Go's standard library over and over.
	compiling = `command -v setsid >/dev/null || { echo "missing: setsid is not installed"; exit; }
setsid sh -c 'while :; do rm -rf $dir/cache; GOCACHE=$dir/cache nice -n 5 go build -a -o /dev/null net/http; done' &
echo
read line
kill -- -$!
wait
rm -rf $dir/cache`

	perfBench = `command -v perf >/dev/null && echo || echo "missing: perf is not installed"; exec cat`

	// findDD finds the path of dd(1): bpftrace refuses an ambiguous name.
	findDD = `echo dd=$(command -v dd); exec cat`

	// squeezed is a control group with three programs. Two share CPU 0, which makes pressure.
	// One reads all the time on the last CPU, which makes events.
	squeezed = `
for at in /sys/fs/cgroup /sys/fs/cgroup/unified; do
	[ "$(stat -f -c %T $at 2>/dev/null)" = cgroup2fs ] && root=$at
done
[ "$root" ] || { echo "missing: no cgroup2 file system"; exit; }
mkdir $root/$group || { echo "missing: $root has no place for a control group"; exit; }
for i in 1 2; do
	taskset -c 0 sh -c "while :; do :; done" &
	pids="$pids $!"
	echo $! >$root/$group/cgroup.procs
done
taskset -c $last dd if=/dev/zero of=/dev/null bs=4096 &
echo pid=$! place=$root/$group
read line
kill $pids $!
wait
rmdir $root/$group`

	// pgbench is a database of 500,000 rows in a directory of its own, with a socket there.
	// PostgreSQL's programs refuse to run as root.
	pgbench = `
for at in /usr/lib/postgresql/*/bin; do bin=$at; done
[ -x $bin/postgres ] || { echo "missing: postgresql is not installed"; exit; }
as="runuser -u postgres --"
pg=$(mktemp -d) && cd $pg && chown postgres . &&
$as $bin/initdb -D $pg/data -A trust >/dev/null &&
$as $bin/pg_ctl -D $pg/data -w -l $pg/log -o "-k $pg -c listen_addresses= -c fsync=off" start >/dev/null &&
$as $bin/pgbench -h $pg -q -i -s 5 postgres >/dev/null 2>&1 &&
echo pgbench=$bin/pgbench socket=$pg
read line
$as $bin/pg_ctl -D $pg/data -m fast stop >/dev/null
rm -r $pg`
)
