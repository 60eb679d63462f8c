package ftrace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

func TestEventsAreSortedAndWithoutRingtapsOwn(t *testing.T) {
	tracefs := At(t.TempDir())
	text := "syscalls:sys_enter_read\nringtap_17_4711:f\nsched:sched_switch\nringtap_17_4711_2:g\nsched:sched_process_exec\nringtap:mine\n"
	if err := os.WriteFile(filepath.Join(tracefs.Dir(), "available_events"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := tracefs.Events()
	want := []EventName{{"ringtap", "mine"}, {"sched", "sched_process_exec"}, {"sched", "sched_switch"}, {"syscalls", "sys_enter_read"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestLiveEveryEventHasANumber(t *testing.T) {
	tracefs := withUprobes(t)
	group := newGroup(t, tracefs, "uprobe_events")
	if _, err := group.Define(Dynamic{Type: 'p', Event: "e", Place: place}); err != nil {
		t.Fatal(err)
	}
	events, err := tracefs.Events()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(events, EventName{"sched", "sched_switch"}) {
		t.Errorf("sched:sched_switch is not among %d events", len(events))
	}
	for _, event := range events {
		if strings.HasPrefix(event.System, group.Name()) {
			t.Errorf("ringtap's own %v is listed", event)
		}
		// Other programs' dynamic events may be gone by now.
		if _, err := tracefs.EventID(event.System, event.Name); err != nil && tracefs.Has(filepath.Join("events", event.System, event.Name)) {
			t.Error(err)
		}
	}
}

// One reading of available_events lacks events while others go.
func TestLiveEveryEventIsListedWhileOthersComeAndGo(t *testing.T) {
	tracefs := withUprobes(t)
	text, err := os.ReadFile(filepath.Join(tracefs.Dir(), "available_events"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var churn sync.WaitGroup
	defer churn.Wait()
	defer cancel()
	churn.Go(func() {
		for ctx.Err() == nil {
			group, err := tracefs.NewGroup("uprobe_events")
			if err != nil {
				t.Error(err)
				return
			}
			for n := range 4 {
				if _, err := group.Define(Dynamic{Type: 'p', Event: fmt.Sprintf("e%d", n), Place: place}); err != nil {
					t.Error(err)
				}
			}
			if err := group.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	for range testlimit.Calls(50) {
		events, err := tracefs.Events()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			system, name, _ := strings.Cut(strings.TrimSpace(line), ":")
			// Other programs' dynamic events may be gone by now.
			if !slices.Contains(events, EventName{system, name}) && !strings.HasPrefix(system, ownerPrefix) && tracefs.Has(filepath.Join("events", system, name)) {
				t.Fatalf("%s is not among %d events", line, len(events))
			}
		}
	}
}

// symbolNames are symbols and the names that their events get.
var symbolNames = []struct{ name, symbol, want string }{
	{"C", "malloc", "malloc"},
	{"underscores stay", "__libc_start_main_", "__libc_start_main_"},
	{"C++", "ns::T::f(int)", "ns_T_f_int"},
	{"C++ with templates", "std::vector<int, std::allocator<int> >::push_back(int const&)", "std_vector_int_std_allocator_int_push_back_int_const"},
	{"C++ operator", "ns::operator/(A, B)", "ns_operator_A_B"},
	{"C++ anonymous namespace", "(anonymous namespace)::f()", "anonymous_namespace_f"},
	{"C++ mangled", "_Z16dispatch_command19enum_server_commandP3THDPcj", "_Z16dispatch_command19enum_server_commandP3THDPcj"},
	{"Go function", "main.main", "main_main"},
	{"Go method", "github.com/x/y.(*T).m", "y_T_m"},
	{"Go closure", "github.com/x/y.f.func1.2", "y_f_func1_2"},
	{"Go generics", "main.Map[go.shape.int,github.com/x/y.T]", "main_Map_go_shape_int_github_com_x_y_T"},
	{"Go path with a dot", "gopkg.in/yaml%2ev3.Marshal", "yaml_v3_Marshal"},
	{"Rust", "<alloc::vec::Vec<T> as core::ops::Drop>::drop", "alloc_vec_Vec_T_as_core_ops_Drop_drop"},
	{"Rust's hash", "core::fmt::write::h0123456789abcdef", "core_fmt_write"},
	{"a version", "memcpy@@GLIBC_2.14", "memcpy"},
	{"a cold part", "f.cold", "f_cold"},
	{"a clone", "f.constprop.0.isra.1", "f_constprop_0_isra_1"},
	{"a digit at the start", "3dfx", "_3dfx"},
	{"nothing legal", "π≠", "event"},
	{"nothing", "", "event"},
	{"a file of the group's directory", "enable", "enable_"},
	{"another one", "filter", "filter_"},
	{"63 letters", strings.Repeat("f", 63), strings.Repeat("f", 63)},
}

func TestSymbolsGiveReadableNames(t *testing.T) {
	for _, test := range symbolNames {
		t.Run(test.name, func(t *testing.T) {
			if got := EventIdentifier(test.symbol); got != test.want {
				t.Errorf("EventIdentifier(%q) = %q; want %q", test.symbol, got, test.want)
			}
		})
	}
}

func TestLongSymbolsGiveDifferentNamesThatStartAlike(t *testing.T) {
	long := strings.Repeat("f", 10000)
	seen := map[string]bool{}
	for _, n := range []int{63, 64, 65, 1000, 10000} {
		got := EventIdentifier(long[:n])
		if len(got) != 63 || !strings.HasPrefix(got, long[:54]) || seen[got] {
			t.Errorf("%d letters give %s", n, got)
		}
		seen[got] = true
	}
}

func TestLiveTheKernelTakesTheNamesOfSymbols(t *testing.T) {
	group := newGroup(t, withUprobes(t), "uprobe_events")
	defined := map[string]bool{}
	for _, test := range symbolNames {
		for _, symbol := range []string{test.symbol, test.symbol + strings.Repeat("::g", 100)} {
			event := EventIdentifier(symbol)
			if defined[event] {
				continue
			}
			defined[event] = true
			if _, err := group.Define(Dynamic{Type: 'p', Event: event, Place: place}); err != nil {
				t.Errorf("%q: %v", symbol, err)
			}
		}
	}
}

func FuzzEventIdentifier(f *testing.F) {
	fuzzing.Bound(f)
	for _, test := range symbolNames {
		f.Add(test.symbol)
	}
	f.Fuzz(func(t *testing.T, symbol string) {
		got := EventIdentifier(symbol)
		if !isIdentifier(got) || len(got) > 63 {
			t.Errorf("EventIdentifier(%q) = %q, which the kernel refuses", symbol, got)
		}
		if again := EventIdentifier(got); again != got {
			t.Errorf("the name %q gives another one, %q", got, again)
		}
	})
}
