package ociruntime

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness/rows"
)

// parsed is a text as a node. It must be valid.
func parsed(t *testing.T, text string) node {
	t.Helper()
	n, valid := readJSON([]byte(text))
	if !valid {
		t.Fatalf("no JSON: %s", text)
	}
	return n
}

func TestCalls(t *testing.T) {
	for _, row := range rows.Read(t, "testdata/calls.tsv", 4) {
		got := readCall(append([]string{"/opt/drainit/drainit-runtime"}, strings.Fields(row[0])...))
		if want := (call{Name, row[1], row[2], row[3] != ""}); got != want {
			t.Errorf("%s: %+v, want %+v", row[0], got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"drainit-runtime": true, "/opt/x/drainit-runtime-default": true,
		"drainit": false, "/drainit": false, "": false, "./drainit-runtimes": false} {
		if Is(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestWhichContainersGetIt(t *testing.T) {
	rows.Compare(t, "testdata/asked.tsv", 4, func(row []string) any {
		return call{name: row[0]}.wants(parsed(t, row[1]), strings.Fields(row[2]))
	})
}

func TestGrace(t *testing.T) {
	check := func(value string) error {
		if value == "25x" {
			return fmt.Errorf("refused %q", value)
		}
		return nil
	}
	rows.Compare(t, "testdata/grace.tsv", 4, func(row []string) any {
		notes := map[string]string{}
		for i, key := range []string{"io.kubernetes.pod.terminationGracePeriod",
			"io.kubernetes.container.preStopHandler", "drainit/grace"} {
			if row[i] != "" {
				notes[key] = row[i]
			}
		}
		text, _ := json.Marshal(notes)
		grace, err := graceOf(parsed(t, string(text)), check)
		if err != nil {
			return "! " + err.Error()
		}
		return grace
	})
}

func TestSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runtime.json")
	if s, err := readSettings(file); err != nil || !reflect.DeepEqual(s, settings{}) {
		t.Errorf("no file: %+v, %v", s, err)
	}
	const runc = "/usr/sbin/runc"
	for text, want := range map[string]struct {
		settings
		err string
	}{
		`{}`: {},
		`{"runtime": "/usr/sbin/runc", "namespaces": ["a", "b"]}`: {settings{runc, []string{"a", "b"}}, ""},
		`{"namespaces": []}`:                  {},
		``:                                    {err: "invalid JSON: want {"},
		`["jobs"]`:                            {err: "invalid JSON: want {"},
		`{"runtime": "runc"}`:                 {err: `invalid runtime "runc": want the path of runc or crun`},
		`{"runtime": "/opt/drainit-runtime"}`: {err: `invalid runtime "/opt/drainit-runtime"`},
		`{"runtime": 1}`:                      {err: `invalid runtime ""`},
		`{"namespaces": "jobs"}`:              {err: `invalid namespaces: want a list`},
		`{"runtime": "/usr/sbin/runc", "namespace": [1]}`: {settings{runtime: runc},
			`no setting is called "namespace"`},
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := readSettings(file)
		if !reflect.DeepEqual(s, want.settings) || (err == nil) != (want.err == "") ||
			err != nil && !strings.HasPrefix(err.Error(), file+": "+want.err) {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
}

// inserted checks that a text has become another by these pieces alone.
func inserted(t *testing.T, was, is []byte, pieces ...string) {
	t.Helper()
	for _, piece := range pieces {
		if n := bytes.Count(is, []byte(piece)); n != 1 {
			t.Errorf("%s is there %d times", piece, n)
		}
		is = bytes.Replace(is, []byte(piece), nil, 1)
	}
	if !bytes.Equal(was, is) {
		t.Errorf("else the text is no longer\n%s\nbut\n%s", was, is)
	}
}

const (
	theMount = `{"destination":"/drainit","type":"bind","source":"/opt/drainit/drainit",` +
		`"options":["bind","ro","nosuid","nodev","rprivate"]}`
	theCommand = `"/drainit","--",`
	theEnv     = `"DRAINIT_SECOND_STOP=ignore",` + leaves
	leaves     = `"DRAINIT_FORWARD=handlers"`
)

func anyGrace(string) error { return nil }

// recorded are what engines write, recorded in testdata/configs, and what comes of it: the grace period of
// one that gets drainit, or why it does not. That of CRI-O is written by its source.
var recorded = map[string]struct{ grace, why string }{
	"containerd":         {"27s", ""},
	"containerd-sandbox": {"", "not asked for"},
	"crio":               {"12.6s", ""},
	"docker":             {},
	"docker-host-pid":    {"", "it has no PID namespace of its own"},
	"podman":             {},
	"podman-pod":         {"", "it has no PID namespace of its own"},
}

// All stays byte for byte but for three pieces.
func TestRecordedConfigs(t *testing.T) {
	for name, want := range recorded {
		was, err := os.ReadFile("testdata/configs/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		b := bundle{"/b", parsed(t, string(was)), "/opt/drainit/drainit"}
		if !(call{name: Name}).wants(b.spec.get("annotations"), nil) {
			err = errors.New("not asked for")
		} else {
			err = cmp.Or(b.checkCommand(), b.checkPIDs(), b.checkRoom())
		}
		if err != nil || want.why != "" {
			if err == nil || err.Error() != want.why {
				t.Errorf("%s: %v, want %q", name, err, want.why)
			}
			continue
		}
		env := "," + theEnv
		if want.grace != "" {
			env = `,"DRAINIT_GRACE=` + want.grace + `"` + env
		}
		is, err := b.changed(anyGrace)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		inserted(t, was, is, ","+theMount, theCommand, env)
	}
}

// Arrays that are missing are made. What a program of Go's would write anew stays: a number of 64 bits, an
// order, a character that need not be escaped.
func TestChanged(t *testing.T) {
	env := `"env":[` + theEnv + "]"
	for was, pieces := range map[string][]string{
		`{"process":{"args":["a"]}}`: {`"mounts":[` + theMount + `],`, env + ","},
		` { "z" : 18446744073709551615, "mounts" : [ ] , "process" : { "env" : [ ] ,` +
			` "args" : [ "a<" ] } , "z" : 1e400 } `: {theMount, theEnv},
		`{"process":{"env":["A"],"args":["a"]},"mounts":[1]}`: {
			"," + theMount, "," + theEnv},
		`{"process":{"args":["a"],"env":["DRAINIT_SECOND_STOP=force"]},"mounts":[]}`: {
			theMount, "," + leaves},
	} {
		is, err := bundle{"/b", parsed(t, was), "/opt/drainit/drainit"}.changed(anyGrace)
		if err != nil {
			t.Errorf("%s: %v", was, err)
		}
		inserted(t, []byte(was), is, append(pieces, theCommand)...)
	}
	const was = `{"process":{"args":["a"],"env":null},"mounts":null}`
	is, err := bundle{"/b", parsed(t, was), "/opt/drainit/drainit"}.changed(anyGrace)
	want := `{"process":{"args":[` + theCommand + `"a"],"env":[` + theEnv + `]},"mounts":[` + theMount + `]}`
	if err != nil || string(is) != want {
		t.Errorf("%s, %v, want %s", is, err, want)
	}
	if is, err := (bundle{"/b", parsed(t, was), "/\xff"}).changed(anyGrace); err == nil {
		t.Errorf("a path that is no text: %s", is)
	}
}

// bundleOf makes a bundle with this config.json, and the folders that leftalone.tsv names.
func bundleOf(t *testing.T, config string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var errs []error
	for _, folder := range []string{"rootfs", "with-folder/drainit", "with-link"} {
		errs = append(errs, os.MkdirAll(filepath.Join(dir, folder), 0o755))
	}
	errs = append(errs, os.Symlink("bin", filepath.Join(dir, "with-link/drainit")),
		os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return dir
}

// given is what becomes of a config.json.
func given(t *testing.T, config string) (is string, err error) {
	t.Helper()
	dir := bundleOf(t, config)
	err = call{name: Name, bundle: dir}.give(nil, func(value string) error {
		if value == "25x" {
			return errors.New(`invalid duration "25x": want 25s, 25 (seconds), 0 (kill at once) or infinity`)
		}
		return nil
	})
	text, failed := os.ReadFile(filepath.Join(dir, "config.json"))
	if left, _ := filepath.Glob(filepath.Join(dir, "config.json?*")); failed != nil || left != nil {
		t.Errorf("%v, and left over: %q", failed, left)
	}
	if mode := statOf(t, filepath.Join(dir, "config.json")).Mode; mode != unix.S_IFREG|0o600 {
		t.Errorf("its mode has become %o", mode)
	}
	return string(text), err
}

// Package platform has this with the built program, and what the system refuses.
func TestLeftAlone(t *testing.T) {
	good, err := os.ReadFile("testdata/good.json")
	if err != nil {
		t.Fatal(err)
	}
	if is, err := given(t, string(good)); err != nil || !strings.Contains(is, theCommand) {
		t.Fatalf("the good one: %v\n%s", err, is)
	}
	for _, row := range rows.Read(t, "testdata/leftalone.tsv", 3) {
		was := strings.Replace(string(good), row[0], row[1], 1)
		is, err := given(t, was)
		matches := err != nil && row[2] != "" && regexp.MustCompile(row[2]+`\z`).MatchString(err.Error())
		if is != was || was == string(good) || matches != (row[2] != "") || (err == nil) != (row[2] == "") {
			t.Errorf("%q: %v\n%s", row, err, is)
		}
	}
}

// A program that is not for all users, or that has gone.
func TestOwnFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "drainit")
	const not = "not every user may read and execute it (chmod 755)"
	for mode, want := range map[os.FileMode]string{0: "no such file or directory", 0o755: "<nil>",
		0o555: "<nil>", 0o751: not, 0o754: not} {
		if mode != 0 {
			if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(file, mode)); err != nil {
				t.Fatal(err)
			}
		}
		err := bundle{self: file}.checkSelf()
		if got := strings.TrimPrefix(fmt.Sprint(err), file+": "); !strings.HasPrefix(got, want) {
			t.Errorf("%o: %v, want %s", mode, err, want)
		}
		_ = os.Remove(file)
	}
}

func statOf(t *testing.T, file string) (is unix.Stat_t) {
	t.Helper()
	if err := unix.Stat(file, &is); err != nil {
		t.Fatal(err)
	}
	return is
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	file, uid, gid := filepath.Join(dir, "file"), os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 1234, 5678
	}
	if err := replace(file, []byte("long enough"), 0o646, uid, gid); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if is := statOf(t, file); string(text) != "long enough" || err != nil || is.Mode != unix.S_IFREG|0o646 ||
		int(is.Uid) != uid || int(is.Gid) != gid {
		t.Errorf("%q, %+v, %v", text, is, err)
	}
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{folder: ": is a directory",
		dir + "/none/file": ": no such file"} {
		err := replace(file, nil, 0o600, uid, gid)
		if err == nil || !strings.Contains(err.Error(), file+want) {
			t.Errorf("%v, want %s%s", err, file, want)
		}
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) != 2 {
		t.Errorf("left over: %q", left)
	}
}

func TestInstall(t *testing.T) {
	dir := t.TempDir()
	if err := Install(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Name, DefaultName} {
		if to, _ := os.Readlink(dir + "/" + name); to != "drainit" {
			t.Errorf("%s leads to %q", name, to)
		}
	}
	self, _ := os.Executable()
	is := statOf(t, dir+"/drainit")
	if is.Mode != unix.S_IFREG|0o755 || is.Size != statOf(t, self).Size || int(is.Uid) != os.Getuid() {
		t.Errorf("%+v", is)
	}
	if err := Install(dir + "/none"); err == nil {
		t.Error("into a folder that is not there")
	}
}

func TestSay(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	for _, asJSON := range []bool{false, true} {
		call{name: Name, log: log, logJSON: asJSON}.say("warning", errors.New("a \"b\"\n"))
	}
	text, err := os.ReadFile(log)
	want := `\Atime="[^"]+" level=warning msg="drainit-runtime: a \\"b\\"\\\\n"\n` +
		`{"level":"warning","msg":"drainit-runtime: a \\"b\\"\\\\n","time":"[^"]+"}\n\z`
	if err != nil || !regexp.MustCompile(want).Match(text) {
		t.Errorf("%v: %s", err, text)
	}
	for file, want := range map[string]bool{log: true, log + "/none": false, "/dev/full": false} {
		if (call{log: file}).appendToLog("x") != want {
			t.Errorf("%s takes a line: %v, want %v", file, !want, want)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/a:" + dir + "/b"
	make := func(name string, mode os.FileMode) {
		file := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, mode))
		if err != nil {
			t.Fatal(err)
		}
	}
	make("a/runc", 0o644)
	make("b/crun", 0o755)
	if err := os.MkdirAll(dir+"/c/runc", 0o755); err != nil {
		t.Fatal(err)
	}
	if got := find(dir + "/c:" + path); strings.HasPrefix(got, dir) && got != dir+"/b/crun" {
		t.Errorf("found %q", got)
	}
	make("b/runc", 0o755)
	if got := find(path); got != dir+"/b/runc" {
		t.Errorf("found %q", got)
	}
}

func TestOwnVariablesAreKept(t *testing.T) {
	const was = `{"annotations":{"io.kubernetes.pod.terminationGracePeriod":"30"},"process":{"args":["a"],` +
		`"env":["DRAINIT_GRACE=5s","DRAINIT_SECOND_STOP=","DRAINIT_FORWARD=auto"]},"mounts":[]}`
	is, err := bundle{"/b", parsed(t, was), "/opt/drainit/drainit"}.changed(anyGrace)
	if err != nil {
		t.Error(err)
	}
	inserted(t, []byte(was), is, theMount, theCommand)
}

func TestFault(t *testing.T) {
	err := guarded(func() error { var none []int; _ = none[len(none)]; return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "a fault of drainit: runtime error: ") {
		t.Errorf("%v", err)
	}
	if want := errors.New("x"); guarded(func() error { return want }) != want {
		t.Error("an error is lost")
	}
}

// Whatever a text has, a change adds the same as a program that decodes all.
func FuzzChange(f *testing.F) {
	f.Add([]byte(` {"mounts": null, "process": {"args": ["\/a\\\/", "\"]"], "env": []}, "x": [{}, []]} `))
	f.Add([]byte(`{"annotations":{"io.kubernetes.pod.terminationGracePeriod":"30"},` +
		`"process":{"args":["a"],"env":["A=1"]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		spec, valid := readJSON(text)
		if valid != json.Valid(text) {
			t.Fatalf("valid is %v", valid)
		}
		b := bundle{"/b", spec, "/opt/drainit/drainit"}
		if len(b.args()) == 0 || hasTwoOfOneKey(spec) {
			return
		}
		changed, err := b.changed(anyGrace)
		if err != nil { // an array is something else
			return
		}
		want, got := decoded(t, text), decoded(t, changed)
		added(want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nbecame\n%s", text, changed)
		}
	})
}

// hasTwoOfOneKey: encoding/json joins those.
func hasTwoOfOneKey(n node) (two bool) {
	seen := make(map[string]bool)
	n.each(func(key, value node) {
		two = two || n.is('{') && seen[key.string()] || hasTwoOfOneKey(value)
		seen[key.string()] = true
	})
	return two
}

func decoded(t *testing.T, text []byte) (spec map[string]any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&spec); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return spec
}

// added does to a decoded text what drainit does to the text.
func added(spec map[string]any) {
	process := spec["process"].(map[string]any)
	process["args"] = append([]any{"/drainit", "--"}, process["args"].([]any)...)
	var m any
	_ = json.Unmarshal([]byte(theMount), &m)
	mounts, _ := spec["mounts"].([]any)
	spec["mounts"] = append(slices.Clone(mounts), m)
	env, _ := process["env"].([]any)
	isSet := func(name string) bool {
		return slices.ContainsFunc(env, func(v any) bool {
			s, _ := v.(string)
			return strings.HasPrefix(s, name+"=")
		})
	}
	grace := ""
	if notes, is := spec["annotations"].(map[string]any); is {
		text, _ := json.Marshal(maps.Collect(maps.All(notes)))
		n, _ := readJSON(text)
		grace, _ = graceOf(n, anyGrace)
	}
	if grace != "" && !isSet("DRAINIT_GRACE") {
		env = append(env, "DRAINIT_GRACE="+grace)
	}
	if !isSet("DRAINIT_SECOND_STOP") {
		env = append(env, "DRAINIT_SECOND_STOP=ignore")
	}
	if !isSet("DRAINIT_FORWARD") {
		env = append(env, "DRAINIT_FORWARD=handlers")
	}
	if len(env) > 0 {
		process["env"] = env
	}
}
