// Package record writes what a session records to a file that perf reads: perf.data.
//
//	perf's words (-e cycles:u,sched:sched_switch), probes ─ ParseEvents ─ Event
//	                                                                        │
//	rings ─ engine ─ sink ─┬─ samples: stacks unwound to callchains ────────┼─ perfdata.Writer
//	                       └─ mappings, names, births and exits             │
//	/proc, kallsyms ─ what there was before the recording ──────────────────┘
//
// By default a sample's registers and copy of the stack are unwound while the recording goes on, by
// the code that live reports use. The file has the callchain in their place, with the addresses that
// the kernel's own walk would have found if all code kept frame pointers. It is a tenth or less of
// the size of the copies, and its reader needs neither the programs nor their unwind tables to know
// who called whom. Functions of Python, Java and other runtimes get addresses of their own: see
// perfdata.RuntimeSymbols.
//
//	events, err := record.ParseEvents("cpu-clock", fs)
//	result, err := record.Run(ctx, record.Options{Target: perfevent.System(), Events: events,
//		Frequency: 99, Stacks: stack.Stacks{User: true, Kernel: true, Unwind: stack.Auto},
//		Create: func(events []perfdata.Event, opts perfdata.WriteOptions) (*perfdata.Writer, error) {
//			return perfdata.Create("perf.data", events, opts)
//		}})
package record
