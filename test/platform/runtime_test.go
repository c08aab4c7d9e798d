package platform

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/rows"
)

// node is where drainit is installed as a runtime, above one that prints what it gets and ends with 7.
type node struct {
	t        *testing.T
	dir, opt string
	good     string // the config.json of a container that gets drainit, as near to a limit as it may be
}

// ofPackage is a file that the tests of package ociruntime have, too.
func ofPackage(name string) string { return harness.Repo("internal/ociruntime/testdata", name) }

// fakeRunc shows its arguments, its environment, its descriptors, its limits, and the config.json of the
// bundle.
const fakeRunc = `#!/bin/sh
printf '<%s>\n' "$@"
[ -z "$SHOW" ] || env | grep -vE '^(_|DRAINTEST)=' | sort
readlink /proc/$$/fd/0 /proc/$$/fd/3 /proc/$$/fd/4
ulimit -n
echo config
cat "$BUNDLE/config.json"
exit 7
`

func install(t *testing.T) node {
	t.Helper()
	n := node{t: t, dir: t.TempDir(), good: harness.TextOf(t, ofPackage("good.json"))}
	n.opt = filepath.Join(n.dir, "opt")
	for _, dir := range []string{n.opt, filepath.Join(n.dir, "bin")} {
		harness.Must(t, os.Mkdir(dir, 0o755))
	}
	harness.OutputOf(t, exec.Command(harness.DrainitBin, "--install", n.opt))
	harness.WriteProgram(t, n.dir, "bin/runc", 0o755, fakeRunc)
	return n
}

// bundle makes one with this config.json.
func (n node) bundle(config string) (dir string) {
	dir = filepath.Join(n.dir, "bundle")
	harness.Must(n.t, os.RemoveAll(dir))
	for _, folder := range []string{"rootfs", "with-folder/drainit", "with-link"} {
		harness.Must(n.t, os.MkdirAll(filepath.Join(dir, folder), 0o755))
	}
	harness.Must(n.t, os.Symlink("bin", filepath.Join(dir, "with-link/drainit")))
	harness.WriteFile(n.t, filepath.Join(dir, "config.json"), config)
	return dir
}

// launch is a call of the runtime, by a name of it or of what is below.
func (n node) launch(name string, args ...string) harness.Launch {
	return harness.Launch{NoPID1: true, Bin: filepath.Join(n.opt, name), Args: args, Env: []string{
		"PATH=" + n.dir + "/bin:" + os.Getenv("PATH"), "OPT=" + n.opt, "BUNDLE=" + n.dir + "/bundle"}}
}

// create makes a container by the runtime, and returns what the fake runc has seen of config.json. It checks
// the rest.
func (n node) create(l harness.Launch) (config string, ran harness.Ran) {
	n.t.Helper()
	l.Args = append(l.Args, "create", "--bundle", n.dir+"/bundle", "id")
	ran = harness.RunToEnd(n.t, l)
	seen, config, _ := strings.Cut(ran.Out, "\nconfig\n")
	want := "<create>\n<--bundle>\n<" + n.dir + "/bundle>\n<id>\n"
	if ran.Status != 7 || !strings.Contains(seen, want) {
		n.t.Errorf("%+v, want runc's status 7 and %q", ran, want)
	}
	return config, ran
}

// wantLine checks what the runtime has said: one line, or none.
func (n node) wantLine(text, line string) {
	n.t.Helper()
	if line != "" {
		line = `\Adrainit-runtime: the container starts without drainit: ([^\n"]*/)?` + line + `\n\z`
	}
	if !harness.Matches(line, text) {
		n.t.Errorf("the runtime has said %q, want %q", text, line)
	}
}

func TestRuntimeLeavesConfigAsItIs(t *testing.T) {
	n := install(t)
	n.bundle(n.good)
	if config, ran := n.create(n.launch("drainit-runtime")); config == n.good || ran.Err != "" {
		t.Errorf("the good one is left alone: %+v", ran)
	}
	for _, row := range rows.Read(t, ofPackage("leftalone.tsv"), 3) {
		t.Run(row[0]+" is "+row[1], func(t *testing.T) {
			n := n
			n.t = t
			was := strings.Replace(n.good, row[0], row[1], 1)
			if was == n.good {
				t.Fatal("nothing is replaced")
			}
			n.bundle(was)
			config, ran := n.create(n.launch("drainit-runtime"))
			if config != was {
				t.Errorf("config.json has become %s", config)
			}
			n.wantLine(ran.Err, row[2])
		})
	}
}

// Where the system refuses something, config.json is as it was, and no other file is left beside it.
func TestRuntimeThatFails(t *testing.T) {
	harness.Full(t) // it makes mount namespaces, as the two others with unshare
	harness.NeedRoot(t)
	harness.Need(t, "unshare", "setpriv", "bash")
	settings := func(text string) string {
		return `mount -t tmpfs tmpfs /etc; mkdir /etc/drainit; echo '` + text + `' >/etc/drainit/runtime.json`
	}
	const call = `exec "$OPT/drainit-runtime" "$@"`
	for name, tt := range map[string]struct{ before, call, line string }{
		"no config.json": {`rm $BUNDLE/config.json`, call, "config.json: no such file or directory"},
		"config.json is a folder": {`rm $BUNDLE/config.json; mkdir $BUNDLE/config.json`, call,
			"config.json: is a directory"},
		"read-only bundle": {`mount --bind $BUNDLE $BUNDLE; mount -t tmpfs tmpfs $BUNDLE/rootfs
			mount -o remount,bind,ro $BUNDLE`, call,
			`config.json: read-only file system`},
		"no room": {`cp $BUNDLE/config.json /; mount -t tmpfs -o size=8k tmpfs $BUNDLE; mkdir $BUNDLE/rootfs
			cp /config.json $BUNDLE; rm /config.json
			! dd if=/dev/zero of=$BUNDLE/full bs=4k count=1 2>&-`, call,
			`config.json: no space left on device`},
		"config.json can't be replaced": {`mount --bind $BUNDLE/config.json $BUNDLE/config.json`, call,
			`config.json: device or resource busy`},
		"another user's config.json": {`chown 65534 $BUNDLE/config.json`,
			`exec setpriv --bounding-set -chown "$OPT/drainit-runtime" "$@"`,
			`config.json: operation not permitted`},
		"read-only root": {`mount -t tmpfs -o ro tmpfs $BUNDLE/rootfs`, call,
			`cannot make /drainit in its image: read-only file system`},
		"not for all users": {`mount -t tmpfs tmpfs /mnt; cp -r $OPT /mnt; chmod 750 /mnt/opt/drainit`,
			`exec /mnt/opt/drainit-runtime "$@"`,
			`drainit: not every user may read and execute it \(chmod 755\)`},
		"drainit has gone": {`mount -t tmpfs tmpfs /mnt; cp -r $OPT /mnt
			exec 3</mnt/opt/drainit; rm /mnt/opt/drainit`,
			`exec -a drainit-runtime /proc/self/fd/3 "$@"`, `drainit: no such file or directory`},
		"settings that are no JSON": {settings("{"), call, `runtime.json: invalid JSON: want {"runtime": .*`},
		"settings with a mistake": {settings(`{"namespace": []}`), call,
			`runtime.json: no setting is called "namespace".*`},
		"settings that can't be read": {`mount -t tmpfs tmpfs /etc; mkdir -p /etc/drainit/runtime.json`, call,
			`runtime.json: is a directory`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := install(t)
			n.bundle(n.good)
			l := n.launch("", "-c", "set -e; "+tt.before+"; "+tt.call, "bash")
			l.Bin, l.Under = "bash", []string{"/usr/bin/unshare", "-m"}
			config, ran := n.create(l)
			if want := map[bool]string{true: n.good}[!strings.HasPrefix(name, "no config") &&
				!strings.HasPrefix(name, "config.json is")]; config != want {
				t.Errorf("config.json has become %q", config)
			}
			ours, _, _ := strings.Cut(ran.Err, "cat: ")
			n.wantLine(ours, tt.line)
			if left, _ := filepath.Glob(n.dir + "/bundle/config.json.*"); left != nil {
				t.Errorf("left over: %q", left)
			}
		})
	}
}

// The line goes where an engine looks for runc's, in its form. Where it can't, it goes to standard error, and
// where that takes none, the container starts all the same.
func TestRuntimesLine(t *testing.T) {
	n := install(t)
	bad := strings.Replace(n.good, "/start.sh", "/init", 1)
	const text = `drainit-runtime: the container starts without drainit: /init must be PID 1`
	log := filepath.Join(n.dir, "log.json")
	for format, want := range map[string]string{
		"json": `\Aof runc\n{"level":"warning","msg":"` + text + `","time":"\d{4}-[^"]+Z"}\n\z`,
		"text": `\Aof runc\ntime="\d{4}-[^"]+Z" level=warning msg="` + text + `"\n\z`,
	} {
		harness.WriteFile(t, log, "of runc\n")
		n.bundle(bad)
		_, ran := n.create(n.launch("drainit-runtime", "--log", log, "--log-format", format))
		if got := harness.TextOf(t, log); !harness.Matches(want, got) || ran.Err != "" {
			t.Errorf("%s: the log has %q, and standard error %q", format, got, ran.Err)
		}
	}
	fifo := filepath.Join(n.dir, "fifo")
	harness.Must(t, unix.Mkfifo(fifo, 0o600))
	for _, log := range []string{fifo, n.dir, n.dir + "/none/log", "/dev/full"} {
		_, ran := n.create(n.launch("drainit-runtime", "--log", log))
		n.wantLine(ran.Err, "/init must be PID 1")
	}
	for name, l := range harness.BadStderr(t) {
		call := n.launch("drainit-runtime", "create", "-b", n.dir+"/bundle", "id")
		call.Stderr, call.Setup = l.Stderr, l.Setup
		if status := harness.Run(t, call).Wait(); status != 7 {
			t.Errorf("standard error is %s: status %d", name, status)
		}
	}
}

// Any other call is runc's, with all that it has been given.
func TestRuntimeIsRuncAtOtherCalls(t *testing.T) {
	harness.Need(t, "bash")
	n := install(t)
	n.bundle(n.good)
	for _, args := range []string{"--version", "", "state id", "start id", "kill id TERM",
		"exec -t id run --bundle .", "delete --force create", "--root run list", "restore --bundle . id"} {
		var seen []harness.Ran
		for _, name := range []string{"bin/runc", "opt/drainit-runtime", "opt/drainit-runtime-default"} {
			l := n.launch("", append([]string{"-c", `ulimit -Sn 99; exec "$0" "$@" 3</dev/zero 4</dev/full`,
				n.dir + "/" + name}, strings.Fields(args)...)...)
			l.Bin, l.Dir, l.Env = "bash", n.dir+"/bundle", append(l.Env, "SHOW=1")
			seen = append(seen, harness.RunToEnd(t, l))
		}
		if seen[0] != seen[1] || seen[0] != seen[2] || seen[0].Status != 7 ||
			!strings.Contains(seen[0].Out, "\n/dev/full\n99\n") ||
			!strings.HasSuffix(seen[0].Out, n.good) {
			t.Errorf("%s: runc sees\n%+v\nand below drainit\n%+v\n%+v", args, seen[0], seen[1], seen[2])
		}
	}
}

// The settings name the runtime below, and the namespaces of a node's default runtime.
func TestRuntimesSettings(t *testing.T) {
	harness.Full(t)
	harness.NeedRoot(t)
	harness.Need(t, "unshare")
	goodConfig := harness.TextOf(t, ofPackage("good.json"))
	inNamespace := strings.Replace(goodConfig, `"A":""`, `"io.kubernetes.cri.sandbox-namespace":"jobs"`, 1)
	asked := strings.Replace(goodConfig, `"A":""`, `"drainit/init":"true"`, 1)
	const always, selected = "drainit-runtime", "drainit-runtime-default"
	for name, tt := range map[string]struct {
		settings, runtime, config string
		gets                      bool
	}{
		"each container":        {`{"namespaces": ["mail"]}`, always, goodConfig, true},
		"of a namespace":        {`{"namespaces": ["mail", "jobs"]}`, selected, inNamespace, true},
		"of another namespace":  {`{"namespaces": ["mail"]}`, selected, inNamespace, false},
		"asked for by the pod":  {`{}`, selected, asked, true},
		"of no namespace":       {`{"namespaces": ["jobs"]}`, selected, goodConfig, false},
		"a runtime not in PATH": {`{"runtime": "RUNTIME"}`, always, goodConfig, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := install(t)
			n.bundle(tt.config)
			if strings.Contains(tt.settings, "RUNTIME") {
				harness.Must(t, os.Rename(n.dir+"/bin/runc", n.dir+"/other"))
			}
			l := n.launch("", "-c", `mount -t tmpfs tmpfs /etc && mkdir /etc/drainit
				echo "$1" >/etc/drainit/runtime.json; runtime=$OPT/$2; shift 2; exec "$runtime" "$@"`, "sh",
				strings.Replace(tt.settings, "RUNTIME", n.dir+"/other", 1), tt.runtime)
			l.Bin, l.Under = "/bin/sh", []string{"/usr/bin/unshare", "-m"}
			config, ran := n.create(l)
			if got := config != tt.config; got != tt.gets || ran.Err != "" {
				t.Errorf("has drainit: %v, want %v; standard error %q\n%s", got, tt.gets, ran.Err, config)
			}
		})
	}
}

// The runtime below is found without PATH, too, as podman calls it. Where it can't be executed, the line is
// an error of runc's, which an engine shows.
func TestRuntimeBelow(t *testing.T) {
	harness.Full(t)
	harness.NeedRoot(t)
	harness.Need(t, "unshare", "runc")
	n := install(t)
	harness.Must(t, os.Remove(n.dir+"/bin/runc"))
	log := filepath.Join(n.dir, "log")
	n.bundle(n.good)
	for _, path := range []string{"PATH=", "PATH=/none"} {
		l := n.launch("drainit-runtime", "--version")
		l.Env = []string{path}
		if ran := harness.RunToEnd(t, l); ran.Status != 0 || !strings.HasPrefix(ran.Out, "runc version ") {
			t.Errorf("%s: %+v", path, ran)
		}
	}
	hidden := n.launch("", "-c", `for dir in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin; do
			for name in runc crun; do [ ! -e $dir/$name ] || mount --bind /dev/null $dir/$name; done; done
		exec "$0" "$@"`, n.opt+"/drainit-runtime", "--log", log, "--log-format", "json", "state", "id")
	hidden.Bin, hidden.Under = "/bin/sh", []string{"/usr/bin/unshare", "-m"}
	if status := harness.Run(t, hidden).Wait(); status != 125 {
		t.Errorf("status %d", status)
	}
	if got := harness.TextOf(t, log); !harness.Matches(`\A{"level":"error","msg":"drainit-runtime: found `+
		`neither runc nor crun: write where the runtime is into /etc/drainit/runtime.json, as `+
		`{\\"runtime\\": \\"/usr/sbin/runc\\"}",.*}\n\z`, got) {
		t.Error(got)
	}
	harness.WriteProgram(t, n.dir, "bin/runc", 0o755, "#!/no/interpreter\n")
	ran := harness.RunToEnd(t, n.launch("drainit-runtime", "state", "id"))
	const words = "drainit-runtime: cannot execute the runtime %q: no such file or directory\n"
	want := fmt.Sprintf(words, n.dir+"/bin/runc")
	if ran.Status != 125 || ran.Err != want {
		t.Errorf("%+v, want %q", ran, want)
	}
}

// The mode and the owner of config.json stay, and what the umask takes from a new file.
func TestRuntimeKeepsModeAndOwner(t *testing.T) {
	harness.NeedRoot(t)
	n := install(t)
	file := filepath.Join(n.bundle(n.good), "config.json")
	harness.Must(t, errors.Join(os.Chmod(file, 0o646), os.Chown(file, 1234, 5678)))
	config, _ := n.create(n.launch("drainit-runtime"))
	var is unix.Stat_t
	harness.Must(t, unix.Stat(file, &is))
	if config == n.good || is.Mode != unix.S_IFREG|0o646 || is.Uid != 1234 || is.Gid != 5678 {
		t.Errorf("%+v\n%s", is, config)
	}
}
