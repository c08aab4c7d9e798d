package workers

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// scene is one run of a way.
type scene struct {
	dir    string        // a folder of the run's own: the worker's working directory and home
	record string        // the file in it that $RECORD names
	job    time.Duration // how long the job takes: $JOB, in seconds
	input  input         // Docker's if zero
	port   int           // a free port on the loopback: $PORT
	env    []string
	init   *harness.Init // nil until it has been started
	answer chan string   // what came to a server's client
	notes  string        // the log of a program that keeps one
	redis  string        // the address of the queue
	noted  chan struct{} // closed when noteDone has written its line or sees none to write; nil without
	plain  bool          // the application is app.pl, whose job has no length of its own
	busy   bool          // it runs all the time, and has its job in hand until it is signalled
}

// newScene makes the folder of a run. A worker in it has a home of its own and
// finds the packages of test/node.
func newScene(t *testing.T, job time.Duration) *scene {
	t.Helper()
	// Not t.TempDir, whose names are too long for the sockets that some keep there.
	dir, err := os.MkdirTemp("", "drainit-way-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &scene{dir: dir, record: filepath.Join(dir, "record"), job: job, port: harness.ReservePort(t)}
	if err := os.Symlink(harness.NodePackages(), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		"RECORD=" + s.record,
		"JOB=" + strconv.FormatFloat(job.Seconds(), 'f', -1, 64),
		"PORT=" + strconv.Itoa(s.port),
		"HOME=" + dir,
		"PATH=" + harness.NodePackages(".bin") + ":" + os.Getenv("PATH"),
	}
	if *allBusy {
		s.env = append(s.env, "TICK=20")
	}
	return s
}

// write puts a file into the scene's folder, or one below it. A script that names its
// interpreter can be run.
func (s *scene) write(t *testing.T, name, text string) {
	t.Helper()
	file, mode := filepath.Join(s.dir, name), os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// bring copies a file of testdata/matrix into the scene's folder.
func (s *scene) bring(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "matrix", from))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, to, string(b))
}

// lines is the record so far.
func (s *scene) lines() string {
	b, _ := os.ReadFile(s.record) // none yet is an empty one
	return string(b)
}

// count counts the lines of the record that begin with a word.
func (s *scene) count(word string) int {
	n := 0
	for l := range strings.Lines(s.lines()) {
		if strings.HasPrefix(l, word+" ") && strings.HasSuffix(l, "\n") {
			n++
		}
	}
	return n
}

// last is the time in the last line of the record that begins with a word.
func (s *scene) last(word string) time.Time {
	var at time.Time
	for l := range strings.Lines(s.lines()) {
		f := strings.Fields(l)
		if len(f) < 2 || f[0] != word {
			continue
		}
		if seconds, err := strconv.ParseFloat(f[len(f)-1], 64); err == nil {
			at = time.UnixMicro(int64(seconds * 1e6))
		}
	}
	return at
}

// userWays are the starts as another user, and with a terminal of one's own. What changes
// the user and stays ends its child's work after 2 s: here that child is a shell, which is
// dead by then.
var userWays = []way{
	{name: "`setpriv --reuid=nobody … sh -c 'node app; exit $?'`", programs: []string{"node", "setpriv", "sh"}, status: 7,
		prepare: writable(app(env{"STATUS": "7"}, nil, append(harness.AsNobody, "sh", "-c", "node app.js; exit $?")...))},
	{name: "`runuser -u nobody -- sh -c 'node app; exit $?'`", programs: []string{"node", "runuser", "sh"}, status: 143,
		prepare: writable(app(nil, nil, "runuser", "-u", "nobody", "--", "sh", "-c", "node app.js; exit $?"))},
	{name: "`su nobody -s /bin/sh -c 'node app; exit $?'`", programs: []string{"node", "su", "sh"}, status: 143,
		prepare: writable(app(nil, nil, "su", "nobody", "-s", "/bin/sh", "-c", "node app.js; exit $?"))},
	scriptWay,
	{name: "`unbuffer node app`, HUP handled", programs: []string{"node", "unbuffer"}, status: 143,
		prepare: app(env{"IGNORE": "SIGHUP"}, nil, "unbuffer", "node", "app.js")},
}

// scriptWay has a terminal that goes with script: the kernel sends HUP to the application.
var scriptWay = way{
	name:     "`script -qec 'node app; exit $?' /dev/null`, HUP handled",
	programs: []string{"node", "script"},
	late:     true,
	prepare:  app(env{"IGNORE": "SIGHUP", "SHELL": "/bin/sh"}, nil, "script", "-qec", "node app.js; exit $?", "/dev/null"),
}

// confinedWays are the starts as another user than the init's, which without SYS_PTRACE may
// not look at the files, descriptors and system calls of that user's processes.
var confinedWays = []way{
	{name: "`setpriv --reuid=nobody … sh -c 'node app | tee log'`, no SYS_PTRACE", programs: []string{"node", "sh", "tee"}, status: 7, confined: true,
		prepare: writable(app(env{"STATUS": "7", "CHATTY": "1"}, nil, append(harness.AsNobody, "sh", "-c", "node app.js | tee log")...))},
	{name: "`setpriv --reuid=nobody … timeout 300 sh -c 'node app; exit $?'`, no SYS_PTRACE", programs: []string{"node", "sh", "timeout"}, status: 143, confined: true,
		prepare: writable(app(nil, nil, append(harness.AsNobody, "timeout", "300", "sh", "-c", "node app.js; exit $?")...))},
	{name: "INT to `setpriv --reuid=nobody … ./start.sh`, a bash, no SYS_PTRACE", programs: []string{"node", "bash"}, signal: syscall.SIGINT, status: 7, confined: true,
		prepare: writable(app(env{"STATUS": "7"}, files{"start.sh": "#!/bin/bash\nnode app.js\n"}, append(harness.AsNobody, "./start.sh")...))},
	{name: "`setpriv --reuid=nobody … bash start.sh`: `trap cleanup TERM; node app`, no SYS_PTRACE", programs: []string{"node", "bash"}, status: 7, confined: true,
		prepare: writable(app(env{"STATUS": "7"}, files{"start.sh": trapAndWait + "node app.js\n"}, append(harness.AsNobody, "bash", "start.sh")...)), kept: cleanedUp},
}

// asOthers has each way start its worker as another user, below an init with the
// capabilities that Docker leaves to root.
var asOthers = flag.Bool("as-others", false, "run the matrix with Docker's capabilities and workers of another user")

// limit is the CPU limit that the init and all below it have from the request on.
var limit = flag.Int("limit", 0, "run the matrix under a CPU limit of so many thousandths of a processor, 0 for none")

// forRoot are the programs that need more than those, or folders of root's.
var forRoot = []string{"unshare", "bwrap", "su", "runuser", "setpriv", "rabbitmq-server", "nginx", "go"}

// giveAway makes the scene another user's, which the command is to run as. What only root
// may look into is not in that user's PATH.
func (s *scene) giveAway(t *testing.T, command []string) []string {
	harness.NeedRoot(t)
	harness.GiveToNobody(t, s.dir)
	for i, v := range s.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			dirs := slices.DeleteFunc(strings.Split(path, ":"), func(dir string) bool { return strings.HasPrefix(dir, "/root") })
			s.env[i] = "PATH=" + strings.Join(dirs, ":")
		}
	}
	return append(slices.Clone(harness.AsNobody), command...)
}

// writable prepares a start by root in a folder that other users can write to.
func writable(prepare func(*testing.T, *scene) []string) func(*testing.T, *scene) []string {
	return func(t *testing.T, s *scene) []string {
		harness.NeedRoot(t)
		if err := os.Chmod(s.dir, 0o777); err != nil {
			t.Fatal(err)
		}
		return prepare(t, s)
	}
}
