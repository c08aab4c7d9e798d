package proc

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// figures are those of one mapping, of which some pages were written to where anonymous is
// not 0.
func figures(anonymous string) string {
	return "Size:                1428 kB\nRss:                 1424 kB\nAnonymous:             " + anonymous + " kB\nVmFlags: rd ex mr mw me\n"
}

func TestFileMappingsAreThoseThatCanBeReadAgain(t *testing.T) {
	const text, read = "00400000-00565000 r-xp 00000000 fe:00 9978727    /drainit\n", "00565000-006fd000 r--p 00165000 fe:00 9978727    /drainit\n"
	for _, tt := range []struct {
		name, smaps string
		want        []Mapping
	}{
		{"a program's text and constants", text + figures("0") + read + figures("0"), []Mapping{{0x400000, 0x565000}, {0x565000, 0x6fd000}}},
		{"constants that were relocated", text + figures("0") + read + figures("8"), []Mapping{{0x400000, 0x565000}}},
		{"data", "006fd000-0070f000 rw-p 002fd000 fe:00 9978727    /drainit\n" + figures("0"), nil},
		{"memory of no file", "7ffff7fc0000-7ffff7fc4000 r--p 00000000 00:00 0    [vvar]\n" + figures("0"), nil},
		{"a file that is shared", strings.Replace(text, "r-xp", "r-xs", 1) + figures("0"), nil},
		{"one that may not be read", strings.Replace(text, "r-xp", "---p", 1) + figures("0"), nil},
		{"a name with a colon", strings.Replace(text, "/drainit", "/a: b", 1) + figures("0"), []Mapping{{0x400000, 0x565000}}},
		{"none", "", nil},
		{"no addresses", "x r-xp 0 fe:00 1 /drainit\n" + figures("0"), nil},
		{"a line that is cut", "00400000-00565000 r\n" + figures("0"), nil},
	} {
		if got := parseSmaps([]byte(tt.smaps)); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %x, want %x", tt.name, got, tt.want)
		}
	}
}

// This test's own program is among them, and nothing that it has written to.
func TestOwnFileMappings(t *testing.T) {
	all, err := FileMappings()
	if err != nil {
		t.Fatal(err)
	}
	has := func(at uintptr) bool {
		for _, m := range all {
			if m.Start <= at && at < m.End {
				return true
			}
		}
		return false
	}
	if at := reflect.ValueOf(TestOwnFileMappings).Pointer(); !has(at) {
		t.Errorf("the code at %x is not in %x", at, all)
	}
	for name, at := range map[string]uintptr{"a variable": uintptr(unsafe.Pointer(&wasOurs)), "the heap": uintptr(unsafe.Pointer(&all[0]))} {
		if has(at) {
			t.Errorf("%s at %x is in %x", name, at, all)
		}
	}
}

func FuzzParseSmaps(f *testing.F) {
	f.Add("00400000-00565000 r-xp 00000000 fe:00 9978727    /drainit\n" + figures("0"))
	if own, err := os.ReadFile("/proc/self/smaps"); err == nil {
		f.Add(string(own))
	}
	f.Fuzz(func(t *testing.T, smaps string) {
		if clean := parseSmaps([]byte(smaps)); len(clean) > strings.Count(smaps, "Anonymous:") {
			t.Errorf("%d mappings", len(clean))
		}
	})
}
