package types

// Name returns bpftrace's word for a kind.
func (k Kind) Name() string {
	names := [...]string{
		None: "none", Int: "integer", Bool: "bool", String: "string", Buffer: "buffer", Pointer: "pointer",
		Array: "array", Struct: "record", Tuple: "tuple", Record: "record", KStack: "kstack", UStack: "ustack",
		KSym: "ksym", USym: "usym", Username: "username", Inet: "inet", MAC: "mac_address",
		CgroupPath: "cgroup_path", Timestamp: "timestamp", ProbeName: "probe", Count: "count", Sum: "sum",
		Min: "min", Max: "max", Avg: "avg", Stats: "stats", Hist: "hist", LHist: "lhist", TSeries: "tseries",
	}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}
