package symbols

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// splitSecond is a second unit of the program with paramsC.
const splitSecond = `struct big { long v, w, x, y, z; };
struct only { struct big *big; short here; };
__attribute__((noipa)) long second(struct only *only, int n) { return only->big->z + n; }
`

var splitFunctions = strings.Fields("ints pointers floating structs odd returned others many full variadic second")

// splitRecipe compiles the program.
func splitRecipe(flags ...string) compiled.Recipe {
	return compiled.Recipe{
		Sources:  map[string]string{"params.c": paramsC, "second.c": splitSecond},
		Commands: [][]string{append(append([]string{"gcc", "-o", "program"}, flags...), "params.c", "second.c")},
	}
}

// paramsOfSplit returns the parameters of functions of a program, and the struct that its second unit alone has.
func paramsOfSplit(t *testing.T, f *File, names ...string) (all [][]Param, only *Type, err error) {
	t.Helper()
	offsets := map[string]uint64{}
	functions, loadErr := f.Functions()
	if loadErr != nil {
		t.Fatal(loadErr)
	}
	for _, function := range functions {
		offsets[function.Name] = function.Offset
	}
	for _, name := range names {
		params, err := f.TypedParams(offsets[name])
		if err != nil {
			return nil, nil, err
		}
		all = append(all, params)
	}
	only, _ = f.FindType(offsets[names[0]], "struct only")
	return all, only, nil
}

// openProgram opens a program with the files below root.
func openProgram(t *testing.T, program, root string) *File {
	t.Helper()
	file, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(file, info.Size(), Options{Path: strings.TrimPrefix(program, root), Open: hostFiles(root)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestParametersOfSplitUnitsAreThoseOfWholeOnes(t *testing.T) {
	for _, flags := range [][]string{{"-O0", "-gdwarf-4"}, {"-O0", "-gdwarf-5"}, {"-O2", "-gdwarf-4"}, {"-O2", "-gdwarf-5"}, {"-O2", "-gdwarf-5", "-gz"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			want, only, err := paramsOfSplit(t, openProgram(t, filepath.Join(splitRecipe(flags...).Dir(t), "program"), ""), splitFunctions...)
			if err != nil || only == nil {
				t.Fatal(only, err)
			}
			recipe := splitRecipe(append(flags, "-gsplit-dwarf")...)
			split := filepath.Join(recipe.Dir(t), "program")
			check := func(place string, f *File) {
				t.Helper()
				got, also, err := paramsOfSplit(t, f, splitFunctions...)
				if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(also, only) {
					t.Errorf("%s: %v\n%+v\n%+v\nwant\n%+v\n%+v", place, err, got, also, want, only)
				}
			}
			check("where the compiler wrote them", openProgram(t, split, ""))

			apart := t.TempDir()
			program := filepath.Join(apart, "program")
			copyTo(t, split, program)
			_, _, err = paramsOfSplit(t, openProgram(t, program, apart), splitFunctions...)
			if err == nil || !strings.Contains(err.Error(), "split off to ") || !strings.Contains(err.Error(), "params.dwo") {
				t.Errorf("without the files: %v", err)
			}
			files, err := filepath.Glob(filepath.Join(filepath.Dir(split), "*.dwo"))
			if err != nil || len(files) != 2 {
				t.Fatal(files, err)
			}
			for i, file := range files {
				copyTo(t, files[len(files)-1-i], filepath.Join(apart, filepath.Base(file)))
			}
			if _, _, err = paramsOfSplit(t, openProgram(t, program, apart), splitFunctions...); err == nil || !strings.Contains(err.Error(), "belongs to another build") {
				t.Errorf("with the wrong files: %v", err)
			}
			for _, file := range files {
				copyTo(t, file, filepath.Join(apart, filepath.Base(file)))
			}
			check("beside the program", openProgram(t, program, apart))
		})
	}
}

// splitFirst is a unit beside splitSecond.
const splitFirst = `struct peer { struct peer *next; char name[8]; };
__attribute__((noipa)) int first(const struct peer *peer, unsigned char n) { return peer->next->name[n]; }
int main(void) { struct peer p = {&p, "name"}; return first(&p, 2) != 'm'; }
`

// Of DWARF 5 there are no packages here: dwp of binutils 2.40 crashes, and llvm-dwp 14 does not end.
func TestParametersInPackagesAreThoseOfWholeUnits(t *testing.T) {
	recipe := compiled.Recipe{Sources: map[string]string{"first.c": splitFirst, "second.c": splitSecond}}
	compile := []string{"gcc", "-O2", "-o", "program", "-gdwarf-4", "first.c", "second.c"}
	recipe.Commands = [][]string{compile}
	want, only, err := paramsOfSplit(t, openProgram(t, filepath.Join(recipe.Dir(t), "program"), ""), "first", "second")
	if err != nil || only == nil {
		t.Fatal(only, err)
	}
	recipe.Commands = [][]string{append(compile, "-gsplit-dwarf"), {"dwp", "-e", "program", "-o", "package"}}
	dir, apart := recipe.Dir(t), t.TempDir()
	program := filepath.Join(apart, "program")
	copyTo(t, filepath.Join(dir, "program"), program)
	copyTo(t, filepath.Join(dir, "package"), program+".dwp")
	got, also, err := paramsOfSplit(t, openProgram(t, program, apart), "first", "second")
	if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(also, only) {
		t.Errorf("%v\n%+v\n%+v\nwant\n%+v\n%+v", err, got, also, want, only)
	}
}

// copyTo copies a file.
func copyTo(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
