package rollout

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

func TestTable(t *testing.T) {
	t.Parallel()
	rows := []row{
		{contenders[0], modes[0], counts{jobs: 150, done: 150}, 12 * time.Second, 16 * time.Second,
			exitCodes("a \na 0\nb 137\na 0\nc 0\nd \n")},
		{contenders[2], modes[3], counts{jobs: 151, done: 150, interrupted: 9, twice: 3}, 11 * time.Second,
			12 * time.Second, "143 ×9"},
	}
	want := `
| one | drainit | 150 | 150 | 0 | 0 | 0 | 12 s, 16 s | 0 ×2, 137 ×1 |
| four-lease | tini | 151 | 150 | 9 | 1 | 3 | 11 s, 12 s | 143 ×9 |
`
	if got := table(rows); !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant at its end:%s", got, want)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	tried := func(init string, c counts) row {
		return row{init: contender{name: init},
			mode: modes[0], counts: c}
	}
	good := tried("drainit", counts{jobs: 150, done: 150})
	for _, tt := range []struct {
		rows []row
		want string
	}{
		{nil, "no init or no mode has such a name"},
		{[]row{good, tried("tini", counts{jobs: 150, done: 141, interrupted: 9})}, "<nil>"},
		{[]row{good, tried("drainit-readme", counts{jobs: 150, done: 150, interrupted: 1})},
			"drainit-readme, one: 1 jobs interrupted, 0 never done"},
		{[]row{tried("drainit", counts{jobs: 150, done: 149}), good},
			"drainit, one: 0 jobs interrupted, 1 never done"},
	} {
		if got := fmt.Sprint(verdict(tt.rows)); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.rows, got, tt.want)
		}
	}
}

// A patch for another container's name would add a container.
func TestManifestsHaveTheContainerThatIsPatched(t *testing.T) {
	t.Parallel()
	field := regexp.MustCompile(`(?m)^ {8}- name: (.*)|^ {10}command: .*`)
	for _, c := range contenders {
		yaml, patch, err := manifest(c, modes[1], "n", "/d")
		harness.Must(t, err)
		found := field.FindAllStringSubmatch(yaml+patch, -1)
		if len(found) != 3 || found[0][1] != "worker" || found[1][1]+found[2][1] != "worker" ||
			strings.Contains(patch, "@") {
			t.Errorf("%s: %q, want one container worker in each, and one command\n%s\n%s", c.name,
				found, yaml, patch)
		}
	}
}

func TestImage(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(harness.DrainitBin)
	harness.Must(t, writeImage(dir, "/bin/sh"))
	unpack := "cd $0 && tar -xf image.tar && sha256sum <base.tar && sha256sum <drainit.tar && " +
		"cat localhost*.json manifest.json && echo && tar -tf base.tar && tar -tf drainit.tar"
	text := harness.OutputOf(t, exec.Command("sh", "-c", unpack, dir))
	lines := strings.SplitN(text, "\n", 3)
	base, drainit := strings.Fields(lines[0])[0], strings.Fields(lines[1])[0]
	for want, times := range map[string]int{`["sha256:` + base + `"]`: len(images),
		`["sha256:` + base + `","sha256:` + drainit + `"]`: 1, `["` + image + `"]`: 1,
		`["localhost/tini:1"]`:                   1,
		`"Entrypoint":["tini","--","/start.sh"]`: 1, "\nbin/sh\n": 1, "\nstart.sh\n": 1, "worker.js\n": 1} {
		if got := strings.Count(text, want); got != times {
			t.Errorf("%q is there %d times, want %d:\n%s", want, got, times, text)
		}
	}
	if !strings.HasSuffix(text, "\ndrainit") {
		t.Errorf("drainit is not in a layer of its own:\n%s", text)
	}
}

// An image that is left as it is gets no command, unless a manifest must repeat its own.
func TestManifestsOfImages(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		yaml, patch, err := manifest(way, images[2], "n", "/d")
		harness.Must(t, err)
		if strings.Contains(patch, "@") || !strings.Contains(patch, "image: localhost/tini:1\n") {
			t.Errorf("%s: %s", way.name, patch)
		}
		if got, want := strings.Contains(patch, "runtimeClassName: drainit\n"), way.class != ""; got != want {
			t.Errorf("%s: a class is %v, want %v\n%s", way.name, got, want, patch)
		}
		repeats := strings.Contains(patch, `args: ["tini","--","/start.sh"]`+"\n")
		if want := way.file != ""; repeats != want || strings.Contains(yaml, "command:") != want ||
			strings.Contains(yaml, image) != want {
			t.Errorf("%s: it has a command: %v, want %v\n%s\n%s", way.name, repeats, want, yaml, patch)
		}
	}
}

// The stanzas are those of the pages, and a second one for the default runtime.
func TestStanzas(t *testing.T) {
	t.Parallel()
	got := onNode()
	for want, times := range map[string]int{".runtimes.drainit]\n": 1, ".runtimes.drainit-default]\n": 1,
		`BinaryName = "/opt/drainit/drainit-runtime"` + "\n": 1, "SystemdCgroup = false": 2,
		`BinaryName = "/opt/drainit/drainit-runtime-default"` + "\n": 1} {
		if n := strings.Count(got, want); n != times {
			t.Errorf("%q is there %d times, want %d:\n%s", want, n, times, got)
		}
	}
}

func TestModuleOfKubernetesHasNoFolders(t *testing.T) {
	t.Parallel()
	theirs := "module k8s.io/kubernetes\n\ngo 1.24.0\n\nreplace (\n\tk8s.io/api => " +
		"./staging/src/k8s.io/api\n\tk8s.io/mount-utils => ./staging/src/k8s.io/mount-utils\n)\n"
	want := "module rollout\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes v1.33.5\n\nreplace k8s.io/api => " +
		"k8s.io/api v0.33.5\nreplace k8s.io/mount-utils => k8s.io/mount-utils v0.33.5\n"
	if got := withoutStaging(theirs); got != strings.ReplaceAll(want, "33.5", kubernetes) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestTraces(t *testing.T) {
	t.Parallel()
	harness.Need(t, "iptables-save")
	harness.NeedRoot(t)
	if got := since([]string{"mount /", "interface lo"}, []string{"interface lo", "interface pods0",
		"mount /"}); !slices.Equal(got, []string{"interface pods0"}) {
		t.Errorf("%q is new, want the interface pods0", got)
	}
	dir := t.TempDir()
	for name, cmd := range map[string]*exec.Cmd{
		"cmdline": exec.Command("sh", "-c", "read line", dir),
		"environ": {Path: "/bin/sh", Args: []string{"sh", "-c", "read line"},
			Env: []string{"FOLDER=" + dir + "/kubeconfig"}},
	} {
		before, err := traces(dir)
		stdin, err2 := cmd.StdinPipe()
		harness.Must(t, errors.Join(err, err2, cmd.Start()))
		isListed := func() bool {
			after, err := traces(dir)
			return err == nil && slices.Contains(since(before, after),
				fmt.Sprintf("process /proc/%d/%s", cmd.Process.Pid, name))
		}
		harness.WaitUntil(t, name, isListed)
		stdin.Close()
		_ = cmd.Wait() // it has read nothing
		if isListed() {
			t.Errorf("%s: listed after its end", name)
		}
	}
}

// A run that was killed has left its folder. The next one removes it, and neither that of a run that
// lives nor what is no run's. It is not parallel: what another test forks has the lock until it executes
// a program.
func TestFolderOfAKilledRunIsRemoved(t *testing.T) {
	in := t.TempDir()
	killed, lock, err := makeFolder(in)
	file, link := filepath.Join(in, "drainit-rollout-file"), filepath.Join(in, "drainit-rollout-link")
	err2 := errors.Join(os.WriteFile(filepath.Join(killed, "image.tar"), nil, 0o600),
		os.WriteFile(file, nil, 0o600), os.Symlink(t.TempDir(), link))
	if err := errors.Join(err, err2, lock.Close()); err != nil { // closed, as by the kernel
		t.Fatal(err)
	}
	lives, lock, err := makeFolder(in)
	_, third, err2 := makeFolder(in)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	defer third.Close()
	there, err := filepath.Glob(filepath.Join(in, "*"))
	if want := slices.Sorted(slices.Values([]string{file, lives, link, third.Name()})); err != nil ||
		!slices.Equal(there, want) {
		t.Errorf("there are %q, %v, want %q", there, err, want)
	}
}

func TestWhatTheClusterWouldNotSee(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, to := range hiding {
		link := filepath.Join(dir, filepath.Base(to))
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{to, link} {
			err := hidden(map[string]string{"the cache": path})
			if err == nil || !strings.Contains(err.Error(), "the cache is in "+to+", and must not be below "+
				to) {
				t.Errorf("%s: %v", path, err)
			}
		}
		if !strings.Contains(file("stage.sh"), " "+to) {
			t.Errorf("stage.sh hides no %s", to)
		}
	}
	if err := hidden(map[string]string{"the root": "/", "a program": "/bin/sh"}); err != nil {
		t.Error(err)
	}
}
