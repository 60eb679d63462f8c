# Completion of ringtap in bash. Made from its flags: go test ./cmd/ringtap -run Manual -update
_ringtap() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options="" i
	if [[ $COMP_CWORD -eq 1 ]]; then
		COMPREPLY=($(compgen -W 'on-cpu off-cpu memleak io readahead llc probe record report annotate flame diff script uprobe kprobe tpoint functrace funcgraph funcslower funccount hist run argdist bashreadline biolatency biosnoop bitesize cachestat capable cpudist dcsnoop drsnoop execsnoop exitsnoop ext4slower filelife fileslower funclatency gethostlatency hardirqs iolatency iosnoop killsnoop mountsnoop offcputime oomkill opensnoop profile runqlat runqslower softirqs sslsniff stackcount statsnoop swapin syscount tcpaccept tcpconnect tcpdrop tcplife tcpretrans tcpstates threadsnoop trace vfsstat wakeuptime writeback stack list check reset completion version help' -- "$word"))
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then # a command to run
			COMPREPLY=($(compgen -cf -- "$word"))
			return
		fi
	done
	case ${COMP_WORDS[1]} in
	on-cpu)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-g|--cgroup) return ;;
		-c|--command) return ;;
		-d|--duration) return ;;
		-i|--interval) return ;;
		-T|--trigger) return ;;
		--before) return ;;
		-f|--frequency) return ;;
		--unwind) COMPREPLY=($(compgen -W 'auto fp dwarf' -- "$word")); return ;;
		--max-memory) return ;;
		--out) COMPREPLY=($(compgen -f -- "$word")); return ;;
		-o|--top) return ;;
		--metric) return ;;
		--color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
		esac
		options='--pid --tree --tid --cgroup --command --all-cpus --duration --interval --trigger --before --frequency --user --kernel --inlines --unwind --jvm --max-memory --out --top --metric --tables --color --verbose --idle --help' ;;
	off-cpu)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-g|--cgroup) return ;;
		-c|--command) return ;;
		-d|--duration) return ;;
		-i|--interval) return ;;
		-T|--trigger) return ;;
		--before) return ;;
		-f|--frequency) return ;;
		--unwind) COMPREPLY=($(compgen -W 'auto fp dwarf' -- "$word")); return ;;
		--max-memory) return ;;
		--out) COMPREPLY=($(compgen -f -- "$word")); return ;;
		-o|--top) return ;;
		--metric) return ;;
		--color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
		--min) return ;;
		esac
		options='--pid --tree --tid --cgroup --command --all-cpus --duration --interval --trigger --before --frequency --user --kernel --inlines --unwind --jvm --max-memory --out --top --metric --tables --color --verbose --min --wakers --help' ;;
	memleak)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-g|--cgroup) return ;;
		-c|--command) return ;;
		-d|--duration) return ;;
		-i|--interval) return ;;
		-T|--trigger) return ;;
		--before) return ;;
		-f|--frequency) return ;;
		--unwind) COMPREPLY=($(compgen -W 'auto fp dwarf' -- "$word")); return ;;
		--max-memory) return ;;
		--out) COMPREPLY=($(compgen -f -- "$word")); return ;;
		-o|--top) return ;;
		--metric) return ;;
		--color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
		--older) return ;;
		--every) return ;;
		esac
		options='--pid --tree --tid --cgroup --command --all-cpus --duration --interval --trigger --before --frequency --user --kernel --inlines --unwind --jvm --max-memory --out --top --metric --tables --color --verbose --missed-frees --older --every --throwing-new --help' ;;
	io)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-g|--cgroup) return ;;
		-c|--command) return ;;
		-d|--duration) return ;;
		-i|--interval) return ;;
		-T|--trigger) return ;;
		--before) return ;;
		-f|--frequency) return ;;
		--unwind) COMPREPLY=($(compgen -W 'auto fp dwarf' -- "$word")); return ;;
		--max-memory) return ;;
		--out) COMPREPLY=($(compgen -f -- "$word")); return ;;
		-o|--top) return ;;
		--metric) return ;;
		--color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
		--by) return ;;
		esac
		options='--pid --tree --tid --cgroup --command --all-cpus --duration --interval --trigger --before --frequency --user --kernel --inlines --unwind --jvm --max-memory --out --top --metric --tables --color --verbose --by --block --help' ;;
	readahead)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-g|--cgroup) return ;;
		-c|--command) return ;;
		-d|--duration) return ;;
		-i|--interval) return ;;
		-T|--trigger) return ;;
		--before) return ;;
		-f|--frequency) return ;;
		--unwind) COMPREPLY=($(compgen -W 'auto fp dwarf' -- "$word")); return ;;
		--max-memory) return ;;
		--out) COMPREPLY=($(compgen -f -- "$word")); return ;;
		-o|--top) return ;;
		--metric) return ;;
		--color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
		esac
		options='--pid --tree --tid --cgroup --command --all-cpus --duration --interval --trigger --before --frequency --user --kernel --inlines --unwind --jvm --max-memory --out --top --metric --tables --color --verbose --help' ;;
	llc)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-g|--cgroup) return ;;
		-c|--command) return ;;
		-d|--duration) return ;;
		-i|--interval) return ;;
		-T|--trigger) return ;;
		--before) return ;;
		-f|--frequency) return ;;
		--unwind) COMPREPLY=($(compgen -W 'auto fp dwarf' -- "$word")); return ;;
		--max-memory) return ;;
		--out) COMPREPLY=($(compgen -f -- "$word")); return ;;
		-o|--top) return ;;
		--metric) return ;;
		--color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
		-P|--period) return ;;
		esac
		options='--pid --tree --tid --cgroup --command --all-cpus --duration --interval --trigger --before --frequency --user --kernel --inlines --unwind --jvm --max-memory --out --top --metric --tables --color --verbose --period --help' ;;
	probe)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-g|--cgroup) return ;;
		-c|--command) return ;;
		-d|--duration) return ;;
		-i|--interval) return ;;
		-T|--trigger) return ;;
		--before) return ;;
		-f|--frequency) return ;;
		--unwind) COMPREPLY=($(compgen -W 'auto fp dwarf' -- "$word")); return ;;
		--max-memory) return ;;
		--out) COMPREPLY=($(compgen -f -- "$word")); return ;;
		-o|--top) return ;;
		--metric) return ;;
		--color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
		--limit) return ;;
		esac
		options='--pid --tree --tid --cgroup --command --all-cpus --duration --interval --trigger --before --frequency --user --kernel --inlines --unwind --jvm --max-memory --out --top --metric --tables --color --verbose --exact --limit --count --hist --help' ;;
	record)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-G|--cgroup) return ;;
		-d|--duration) return ;;
		-e|--event) return ;;
		--filter) return ;;
		-F|--frequency) return ;;
		-c|--sample-period) return ;;
		--call-graph) COMPREPLY=($(compgen -W 'auto fp dwarf none' -- "$word")); return ;;
		-o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		-z|--compression-level) return ;;
		--max-size) return ;;
		esac
		options='--all-cpus --pid --tree --tid --cgroup --duration --event --filter --frequency --sample-period --call-graph --callchains --no-unwind --no-symbols --output --compression-level --max-size --verbose --help' ;;
	report)
		case $before in
		-i|--input) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--symfs) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-C|--cpu) return ;;
		--time) return ;;
		--max-memory) return ;;
		--out) COMPREPLY=($(compgen -f -- "$word")); return ;;
		-o|--top) return ;;
		--metric) return ;;
		--color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
		-s|--sort) return ;;
		-g|--graph) return ;;
		--field-separator) return ;;
		--percent-limit) return ;;
		esac
		options='--input --symfs --pid --tid --cpu --time --user --kernel --inlines --max-memory --out --top --metric --tables --color --verbose --stdio --sort --no-children --graph --show-nr-samples --field-separator --percent-limit --help' ;;
	annotate)
		case $before in
		-i|--input) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--symfs) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-C|--cpu) return ;;
		--time) return ;;
		-M|--disassembler-style) COMPREPLY=($(compgen -W 'att intel' -- "$word")); return ;;
		--metric) return ;;
		-o|--top) return ;;
		--color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
		esac
		options='--input --symfs --pid --tid --cpu --time --all --disassembler-style --metric --top --color --verbose --help' ;;
	flame)
		case $before in
		-i|--input) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--symfs) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-C|--cpu) return ;;
		--time) return ;;
		--max-memory) return ;;
		--out) COMPREPLY=($(compgen -f -- "$word")); return ;;
		-o|--top) return ;;
		--metric) return ;;
		--color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
		esac
		options='--input --symfs --pid --tid --cpu --time --user --kernel --inlines --max-memory --out --top --metric --tables --color --verbose --help' ;;
	diff)
		case $before in
		--symfs) return ;;
		--max-memory) return ;;
		--out) COMPREPLY=($(compgen -f -- "$word")); return ;;
		-o|--top) return ;;
		--metric) return ;;
		--color) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
		esac
		options='--symfs --user --kernel --inlines --max-memory --out --total --all --top --metric --color --verbose --help' ;;
	script)
		case $before in
		-i|--input) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--symfs) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-C|--cpu) return ;;
		--time) return ;;
		-F|--fields) return ;;
		--max-stack) return ;;
		esac
		options='--input --symfs --pid --tid --cpu --time --fields --hide-call-graph --max-stack --inlines --ns --verbose --help' ;;
	uprobe)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-L|--tid) return ;;
		-g|--cgroup) return ;;
		-d|--duration) return ;;
		-n|--max-hits) return ;;
		--max-rate) return ;;
		-l|--list) return ;;
		--limit) return ;;
		--text) COMPREPLY=($(compgen -W 'auto kernel near' -- "$word")); return ;;
		esac
		options='--pid --tree --tid --cgroup --duration --live --max-hits --max-rate --list --demangle --stacks --kernel --exact --limit --text --view --headers --timestamp --verbose --help' ;;
	kprobe)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-L|--tid) return ;;
		-g|--cgroup) return ;;
		-d|--duration) return ;;
		-n|--max-hits) return ;;
		--max-rate) return ;;
		--limit) return ;;
		--way) COMPREPLY=($(compgen -W 'pmu kprobe_events ftrace:function breakpoint' -- "$word")); return ;;
		esac
		options='--pid --tree --tid --cgroup --duration --live --max-hits --max-rate --list --stacks --user --limit --way --view --headers --timestamp --verbose --force --help' ;;
	tpoint)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-L|--tid) return ;;
		-g|--cgroup) return ;;
		-d|--duration) return ;;
		-n|--max-hits) return ;;
		--max-rate) return ;;
		--text) COMPREPLY=($(compgen -W 'auto tracepoint kprobe near memory none' -- "$word")); return ;;
		esac
		options='--pid --tree --tid --cgroup --duration --live --max-hits --max-rate --list --stacks --user --text --view --headers --timestamp --verbose --help' ;;
	functrace)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-L|--tid) return ;;
		-d|--duration) return ;;
		esac
		options='--pid --tree --tid --duration --live --stacks --headers --verbose --help' ;;
	funcgraph)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-L|--tid) return ;;
		-d|--duration) return ;;
		-m|--max-depth) return ;;
		esac
		options='--pid --tree --tid --duration --live --on-cpu --max-depth --no-interrupts --headers --verbose --all-columns --task --times --no-duration --tail --force --help' ;;
	funcslower)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-L|--tid) return ;;
		-d|--duration) return ;;
		esac
		options='--pid --tree --tid --duration --live --on-cpu --headers --verbose --all-columns --task --times --force --help' ;;
	funccount)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-L|--tid) return ;;
		-g|--cgroup) return ;;
		-d|--duration) return ;;
		-i|--interval) return ;;
		--limit) return ;;
		--way) COMPREPLY=($(compgen -W 'auto function kprobe' -- "$word")); return ;;
		-t|--top) return ;;
		esac
		options='--pid --tree --tid --cgroup --duration --interval --limit --way --top --timestamp --verbose --help' ;;
	hist)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-L|--tid) return ;;
		-g|--cgroup) return ;;
		-d|--duration) return ;;
		-i|--interval) return ;;
		--limit) return ;;
		--way) COMPREPLY=($(compgen -W 'auto triggers pairs' -- "$word")); return ;;
		--unit) COMPREPLY=($(compgen -W 'ns us ms' -- "$word")); return ;;
		--linear) return ;;
		-t|--top) return ;;
		esac
		options='--pid --tree --tid --cgroup --duration --interval --by-stack --user --kernel --exact --limit --way --unit --linear --top --timestamp --json --verbose --help' ;;
	run)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-c|--cmd) return ;;
		-e|--program) return ;;
		-I|--include-dir) return ;;
		--include) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--probe-filter) return ;;
		--dialect) COMPREPLY=($(compgen -W 'default 0.17 current' -- "$word")); return ;;
		-o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		-f|--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		-B|--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --cmd --program --list-probes --list --include-dir --include --probe-filter --dialect --unsafe --info --output --format --buffer --raw --quiet --verbose --no-warnings --warnings --dry-run --debug --version --help' ;;
	argdist)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-C|--value-counts) return ;;
		-H|--value-histograms) return ;;
		-i|--interval) return ;;
		-n|--number) return ;;
		-T|--rows) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --value-counts --value-histograms --interval --number --rows --cumulative --output --format --buffer --raw --verbose --print --help' ;;
	bashreadline)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --output --format --buffer --raw --verbose --print --help' ;;
	biolatency)
		case $before in
		-d|--duration) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--duration --pid --queued --disks --kinds --milliseconds --output --format --buffer --raw --verbose --print --help' ;;
	biosnoop)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		--duration) return ;;
		-d|--device) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --device --queue-time --pattern --output --format --buffer --raw --verbose --print --help' ;;
	bitesize)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-b|--sizes) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --sizes --output --format --buffer --raw --verbose --print --help' ;;
	cachestat)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --timestamp --counters --output --format --buffer --raw --verbose --print --help' ;;
	capable)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --unaudited --kernel-stack --user-stack --extra --output --format --buffer --raw --verbose --print --help' ;;
	cpudist)
		case $before in
		-d|--duration) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--duration --offcpu --pid --pids --tids --milliseconds --output --format --buffer --raw --verbose --print --help' ;;
	dcsnoop)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --all-lookups --output --format --buffer --raw --verbose --print --help' ;;
	drsnoop)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-t|--tid) return ;;
		-u|--uid) return ;;
		-n|--name) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --tid --uid --name --relative-time --print-uid --output --format --buffer --raw --verbose --print --help' ;;
	execsnoop)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --relative-time --fails --output --format --buffer --raw --verbose --print --help' ;;
	exitsnoop)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --failed --timestamp --output --format --buffer --raw --verbose --print --help' ;;
	ext4slower)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --csv --output --format --buffer --raw --verbose --print --help' ;;
	filelife)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --output --format --buffer --raw --verbose --print --help' ;;
	fileslower)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --all-files --output --format --buffer --raw --verbose --print --help' ;;
	funclatency)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-i|--interval) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --interval --timestamp --microseconds --milliseconds --function --output --format --buffer --raw --verbose --print --help' ;;
	gethostlatency)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --output --format --buffer --raw --verbose --print --help' ;;
	hardirqs)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --nanoseconds --counts --dist --output --format --buffer --raw --verbose --print --help' ;;
	iolatency)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		--duration) return ;;
		-d|--device) return ;;
		-i|--kind) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --device --kind --queued --timestamp --output --format --buffer --raw --verbose --print --help' ;;
	iosnoop)
		case $before in
		--duration) return ;;
		-d|--device) return ;;
		-i|--kind) return ;;
		-n|--name) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--duration --device --kind --name --pid --queued --start-time --end-time --output --format --buffer --raw --verbose --print --help' ;;
	killsnoop)
		case $before in
		-d|--duration) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-n|--name) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--duration --pid --name --signals --failed --relative-time --output --format --buffer --raw --verbose --print --help' ;;
	mountsnoop)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --output --format --buffer --raw --verbose --print --help' ;;
	offcputime)
		case $before in
		--duration) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		-m|--min-block-time) return ;;
		-M|--max-block-time) return ;;
		--state) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--duration --pid --tid --user-threads-only --kernel-threads-only --user-stacks-only --kernel-stacks-only --delimited --min-block-time --max-block-time --state --output --format --buffer --raw --verbose --print --help' ;;
	oomkill)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --output --format --buffer --raw --verbose --print --help' ;;
	opensnoop)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-L|--tid) return ;;
		-n|--name) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --tid --name --failed --relative-time --output --format --buffer --raw --verbose --print --help' ;;
	profile)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-F|--frequency) return ;;
		-L|--tid) return ;;
		-C|--cpu) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --frequency --tid --cpu --user-stacks-only --kernel-stacks-only --include-idle --output --format --buffer --raw --verbose --print --help' ;;
	runqlat)
		case $before in
		-d|--duration) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--duration --pid --pids --tids --milliseconds --output --format --buffer --raw --verbose --print --help' ;;
	runqslower)
		case $before in
		-d|--duration) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-t|--tid) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--duration --pid --tid --previous --output --format --buffer --raw --verbose --print --help' ;;
	softirqs)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --nanoseconds --counts --dist --output --format --buffer --raw --verbose --print --help' ;;
	sslsniff)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-u|--uid) return ;;
		-c|--comm) return ;;
		--max-buffer-size) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --uid --comm --no-openssl --no-gnutls --no-nss --extra --latency --handshake --hexdump --max-buffer-size --output --format --buffer --raw --verbose --print --help' ;;
	stackcount)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-c|--cpu) return ;;
		-i|--interval) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --cpu --interval --timestamp --perpid --user-stacks-only --kernel-stacks-only --output --format --buffer --raw --verbose --print --help' ;;
	statsnoop)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-n|--name) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --name --failed --relative-time --output --format --buffer --raw --verbose --print --help' ;;
	swapin)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --notime --output --format --buffer --raw --verbose --print --help' ;;
	syscount)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-t|--rows) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --calls --by-pid --failures --rows --output --format --buffer --raw --verbose --print --help' ;;
	tcpaccept)
		case $before in
		-d|--duration) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-P|--port) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--duration --pid --port --ipv4 --ipv6 --timestamp --relative-time --output --format --buffer --raw --verbose --print --help' ;;
	tcpconnect)
		case $before in
		-d|--duration) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-u|--uid) return ;;
		-P|--port) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--duration --pid --uid --port --ipv4 --ipv6 --relative-time --print-uid --lport --flows --output --format --buffer --raw --verbose --print --help' ;;
	tcpdrop)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --ipv4 --ipv6 --no-stack --output --format --buffer --raw --verbose --print --help' ;;
	tcplife)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-L|--localport) return ;;
		-D|--remoteport) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --localport --remoteport --timestamp --output --format --buffer --raw --verbose --print --help' ;;
	tcpretrans)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --ipv4 --ipv6 --kernel-stack --flows --output --format --buffer --raw --verbose --print --help' ;;
	tcpstates)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-L|--localport) return ;;
		-D|--remoteport) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --localport --remoteport --timestamp --output --format --buffer --raw --verbose --print --help' ;;
	threadsnoop)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --output --format --buffer --raw --verbose --print --help' ;;
	trace)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		-L|--tid) return ;;
		--uid) return ;;
		-n|--name) return ;;
		-M|--max-events) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --tid --uid --name --max-events --timestamp --relative-time --print_cpu --kernel-stack --user-stack --output --format --buffer --raw --verbose --print --help' ;;
	vfsstat)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --output --format --buffer --raw --verbose --print --help' ;;
	wakeuptime)
		case $before in
		-d|--duration) return ;;
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-m|--min-block-time) return ;;
		-M|--max-block-time) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--duration --pid --user-threads-only --min-block-time --max-block-time --output --format --buffer --raw --verbose --print --help' ;;
	writeback)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-d|--duration) return ;;
		--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
		--format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
		--buffer) COMPREPLY=($(compgen -W 'line full none' -- "$word")); return ;;
		esac
		options='--pid --duration --empty --output --format --buffer --raw --verbose --print --help' ;;
	stack)
		case $before in
		-p|--pid) COMPREPLY=($(cd /proc && compgen -G '[0-9]*' | grep "^$word")); return ;;
		-g|--cgroup) return ;;
		--watch) return ;;
		esac
		options='--pid --cgroup --tree --watch --deadlock --stop --lines --all --json --verbose --help' ;;
	list)
		case $before in
		-i|--input) COMPREPLY=($(compgen -f -- "$word")); return ;;
		esac
		options='--input --help' ;;
	check)
		case $before in
		esac
		options='--verbose --help' ;;
	reset)
		case $before in
		esac
		options='--help' ;;
	completion)
		case $before in
		esac
		options='--help' ;;
	version)
		case $before in
		esac
		options='--help' ;;
	help) COMPREPLY=($(compgen -W 'on-cpu off-cpu memleak io readahead llc probe record report annotate flame diff script uprobe kprobe tpoint functrace funcgraph funcslower funccount hist run argdist bashreadline biolatency biosnoop bitesize cachestat capable cpudist dcsnoop drsnoop execsnoop exitsnoop ext4slower filelife fileslower funclatency gethostlatency hardirqs iolatency iosnoop killsnoop mountsnoop offcputime oomkill opensnoop profile runqlat runqslower softirqs sslsniff stackcount statsnoop swapin syscount tcpaccept tcpconnect tcpdrop tcplife tcpretrans tcpstates threadsnoop trace vfsstat wakeuptime writeback stack list check reset completion version' -- "$word")); return ;;
	esac
	if [[ $word == -* ]]; then
		COMPREPLY=($(compgen -W "$options" -- "$word"))
	else
		COMPREPLY=($(compgen -f -- "$word"))
	fi
}
complete -o filenames -F _ringtap ringtap
