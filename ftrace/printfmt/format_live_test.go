package printfmt

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

// listed are the events of known kernels whose print formats can't be followed,
// and why.
var listed = map[string]string{
	"kvmmmu:kvm_mmu_get_page":         "reads bit fields of a union that only the kernel's headers know",
	"kvmmmu:kvm_mmu_sync_page":        "the same",
	"kvmmmu:kvm_mmu_unsync_page":      "the same",
	"kvmmmu:kvm_mmu_prepare_zap_page": "the same",

	"intel_iommu:prq_report":              "calls functions of the kernel",
	"nvme:nvme_complete_rq":               "the same",
	"nvme:nvme_setup_cmd":                 "the same",
	"nvme:nvme_sq":                        "the same",
	"xen:xen_mc_batch":                    "the same, or names constants that the kernel does not tell",
	"xen:xen_mc_entry":                    "the same",
	"xen:xen_mc_extend_args":              "the same",
	"xen:xen_mc_flush_reason":             "the same",
	"xen:xen_mc_issue":                    "the same",
	"xen:xen_mmu_ptep_modify_prot_commit": "the same",
	"xen:xen_mmu_ptep_modify_prot_start":  "the same",
	"xen:xen_mmu_set_p4d":                 "the same",
	"xen:xen_mmu_set_pmd":                 "the same",
	"xen:xen_mmu_set_pte":                 "the same",
	"xen:xen_mmu_set_pud":                 "the same",

	"fs_dax:dax_insert_pfn_mkwrite":                     "names a constant that BTF has, which this test does not read (Linux 7)",
	"fs_dax:dax_insert_pfn_mkwrite_no_entry":            "the same",
	"fs_dax:dax_load_hole":                              "the same",
	"fs_dax:dax_pmd_fault":                              "the same",
	"fs_dax:dax_pmd_fault_done":                         "the same",
	"fs_dax:dax_pmd_load_hole":                          "the same",
	"fs_dax:dax_pmd_load_hole_fallback":                 "the same",
	"fs_dax:dax_pte_fault":                              "the same",
	"fs_dax:dax_pte_fault_done":                         "the same",
	"landlock:landlock_add_rule_path_beneath":           "calls functions of the kernel (Linux 7)",
	"landlock:landlock_check_rule_inode":                "the same",
	"landlock:landlock_check_rule_net_port":             "the same",
	"landlock:landlock_deny_access_fs":                  "the same",
	"landlock:landlock_deny_ptrace":                     "the same",
	"landlock:landlock_deny_scope_abstract_unix_socket": "the same",
	"landlock:landlock_deny_scope_signal":               "the same",
}

func TestLiveEveryEventsFormatIsUnderstood(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracefs is readable by root only")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	events, err := tracefs.Events()
	if err != nil || len(events) < 100 {
		t.Fatalf("%d events, %v; a kernel with tracing has hundreds", len(events), err)
	}
	// Those of the tracers can't be turned on, and none of them ever goes: see FS.Events.
	paths, err := filepath.Glob(tracefs.Dir() + "/events/ftrace/*/format")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		events = append(events, ftrace.EventName{System: "ftrace", Name: filepath.Base(filepath.Dir(path))})
	}
	understood := 0
	for _, e := range events {
		event, system := e.Name, e.System
		f, err := tracefs.Format(system, event)
		if err != nil {
			if !tracefs.Has(filepath.Join("events", system, event)) {
				continue // another's probe
			}
			t.Error(err)
			continue
		}
		if f.Name != event {
			t.Errorf("%s:%s calls itself %s", system, event, f.Name)
		}
		id, err := tracefs.EventID(system, event)
		if err == nil && int(id) != f.ID && system != "ftrace" {
			t.Errorf("%s:%s has the number %d in its format, %d in its id", system, event, f.ID, id)
		}
		checkFields(t, f)
		p, err := New(f, Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		if err := p.Fallback(); err != nil && listed[system+":"+event] == "" {
			t.Error(err)
			continue
		}
		understood++
	}
	t.Logf("%d of %d formats", understood, len(events))
}

// checkFields checks what holds for the fields of any event: they follow each
// other without overlapping, and the common ones are where they always are.
func checkFields(t *testing.T, f *ftrace.Format) {
	t.Helper()
	end := 0
	for _, field := range f.Fields {
		if field.Offset < end {
			t.Errorf("%s:%s: field %s at %d begins before the one before it ends, at %d", f.System, f.Name, field.Name, field.Offset, end)
		}
		end = field.Offset + field.Size
		if field.Type == "" || field.ElemSize <= 0 && field.Size > 0 {
			t.Errorf("%s:%s: field %+v", f.System, f.Name, field)
		}
	}
	for _, want := range commonFields() {
		if got := f.Field(want.Name); got == nil || *got != want {
			t.Errorf("%s:%s: %s is %+v, in every kernel so far %+v", f.System, f.Name, want.Name, got, want)
		}
	}
}

// commonFields are those that every record starts with.
func commonFields() []ftrace.Field { return ftrace.UprobeFormat("", "", false).Fields[:4:4] }
