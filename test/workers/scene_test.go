package workers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
	vars   []string      // $NAME and its value, by turns, for start, script and files
	init   *harness.Init // nil until it has been started
	answer chan string   // what came to a server's client
	notes  string        // the log of a program that keeps one
	redis  string        // the address of the queue
	noted  chan struct{} // closed when noteDone has written its line or sees none to write; nil without
	plain  bool          // the application is app.pl, whose job has no length of its own
	plan   []planned     // of drainit, before the stop
	busy   bool          // it runs all the time, and has its job in hand until it is signalled
	wire   *backend      // of a worker of the Open Job Spec
	peer   bool          // the init is not drainit
	asked  time.Time     // when the platform began to ask for the stop
}

// newScene makes the folder of a run. A worker in it has a home of its own and
// finds the packages of test/node, none of which asks the network for anything.
func newScene(t *testing.T, job time.Duration) *scene {
	t.Helper()
	dir := harness.ShortDir(t)
	s := &scene{dir: dir, record: filepath.Join(dir, "record"), job: job, port: harness.ReservePort(t)}
	harness.Must(t, os.Symlink(harness.Repo("test/node/node_modules"), filepath.Join(dir, "node_modules")))
	port := strconv.Itoa(s.port)
	s.vars = []string{"$DIR", dir, "$PORT", port}
	s.env = []string{
		"RECORD=" + s.record,
		"JOB=" + strconv.FormatFloat(job.Seconds(), 'f', -1, 64),
		"PORT=" + port,
		"HOME=" + dir,
		"PATH=" + harness.Repo("test/node/node_modules/.bin") + ":" + os.Getenv("PATH"),
		// tsx has a socket in /tmp that is named by its pid, which others have too in
		// namespaces of their own.
		"TMPDIR=" + dir,
		"npm_config_offline=true", "npm_config_update_notifier=false", "COREPACK_ENABLE_NETWORK=0",
		"PM2_DISABLE_VERSION_CHECK=true",
		"NX_DAEMON=false", "NX_TUI=false", "NX_NO_CLOUD=true", "NX_ISOLATE_PLUGINS=false",
		"NX_SOCKET_DIR=" + dir, "NX_CACHE_DIRECTORY=" + dir, "NX_WORKSPACE_DATA_DIRECTORY=" + dir,
	}
	if *allBusy {
		s.env = append(s.env, "TICK=20")
	}
	return s
}

// fill puts the scene's values, and its application, into a text.
func (s *scene) fill(text string) string {
	if s.plain {
		text = toPerl.Replace(text)
	}
	return strings.NewReplacer(s.vars...).Replace(text)
}

// write puts a file into the scene's folder, or one below it, and brings what it names. A
// script that names its interpreter can be run.
func (s *scene) write(t *testing.T, name, text string) {
	t.Helper()
	file, mode := filepath.Join(s.dir, name), os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	harness.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	harness.Must(t, os.WriteFile(file, []byte(text), mode))
	s.bring(t, text)
}

var fileNames = regexp.MustCompile(`\b[\w-]+(\.\w+)+\b|\b(npm|yarn|pnpm) (start|exec)\b`)

// bring copies the files of testdata/matrix that a text names into the scene's folder.
func (s *scene) bring(t *testing.T, text string) {
	t.Helper()
	for _, m := range fileNames.FindAllStringSubmatch(text, -1) {
		name, from := m[0], m[0]
		switch {
		case m[2] != "":
			name, from = "package.json", "package.json"
		case strings.HasSuffix(name, ".ts"):
			from = strings.TrimSuffix(name, ".ts") + ".js"
		}
		b, err := os.ReadFile(filepath.Join("testdata/matrix", from))
		if _, there := os.Stat(filepath.Join(s.dir, name)); err != nil || there == nil {
			continue
		}
		program := string(b)
		if s.plain {
			program = toPerl.Replace(program)
		}
		s.write(t, name, program)
	}
}

// lines is the record so far.
func (s *scene) lines() string { return harness.SoFar(s.record) }

// count counts the lines of the record that begin with a word.
func (s *scene) count(word string) int {
	return len(regexp.MustCompile(`(?m)^`+word+` .*\n`).FindAllString(s.lines(), -1))
}

// last is the time in the last line of the record that begins with a word.
func (s *scene) last(word string) (at time.Time) {
	if all := s.times(word); len(all) > 0 {
		at = all[len(all)-1]
	}
	return at
}

// times are those in the lines of the record that begin with a word.
func (s *scene) times(word string) (all []time.Time) {
	lines := regexp.MustCompile(`(?m)^` + word + ` (?:.* )?([\d.]+)$`)
	for _, m := range lines.FindAllStringSubmatch(s.lines(), -1) {
		if seconds, err := strconv.ParseFloat(m[1], 64); err == nil {
			all = append(all, time.UnixMicro(int64(seconds*1e6)))
		}
	}
	return all
}

// note writes a line to the record for a worker that can't do it itself.
func (s *scene) note(words string) {
	f, err := os.OpenFile(s.record, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return // the scene is over, and its folder gone
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %.3f\n", words, float64(time.Now().UnixMilli())/1000)
}

// noteDone writes "done" to the record as soon as that is so, which a program's own log
// may tell and nothing else. It looks for the last time when the init has ended.
func (s *scene) noteDone(t *testing.T, done func() bool) {
	s.noted = make(chan struct{})
	go func() {
		defer close(s.noted)
		for over := false; !over && t.Context().Err() == nil; time.Sleep(5 * time.Millisecond) {
			over = !s.init.Running()
			if done() {
				s.note("done")
				return
			}
		}
	}()
}

// logged is the log of a program that keeps one, so far.
func (s *scene) logged() string { return harness.SoFar(s.notes) }

// input is what an init has as its standard input.
type input struct {
	title string // what the name of a test ends with
	set   func(*testing.T, harness.Launch) harness.Launch
}

// dockers is what a container has in Docker and Kubernetes: /dev/null, open to read and write.
var dockers input

// inputs are the others that matter to a shell: without job control it gives what it starts
// in the background /dev/null, open to read, and the rest its own.
var inputs = []input{
	{", standard input is /dev/null, read only", func(t *testing.T, l harness.Launch) harness.Launch {
		null, err := os.Open(os.DevNull)
		harness.Must(t, err)
		t.Cleanup(func() { null.Close() })
		l.Stdin = null
		return l
	}},
	{", standard input is a pipe", func(t *testing.T, l harness.Launch) harness.Launch {
		l.Stdin, _ = harness.Pipe(t) // to which nothing is written, and which stays open
		return l
	}},
	// There the worker has a process group and no session. Each row ends as it does elsewhere.
	{", standard input is a terminal", harness.OnTerminal},
}

// shells are the programs that are shells or run their command by one.
var shells = regexp.MustCompile(`\b(sh|bash|dash|[ml]ksh|npm|npx|yarn|pnpm|concurrently|rake|nx|lerna|` +
	`runsvdir|mysqld_safe|rabbitmq-server|su|script)\b`)

// otherInputs are those with which the way runs beside Docker's: all where a shell takes
// part.
func (w way) otherInputs() []input {
	if shells.MatchString(w.text(false)) {
		return inputs
	}
	return nil
}

// launch starts the way's worker in the scene under an init.
func (w way) launch(t *testing.T, s *scene, bin string, flags []string) {
	t.Helper()
	command := w.place(t, s)
	l := harness.Launch{Bin: bin, Args: harness.Line(flags, command...), Dir: s.dir, Env: s.env,
		Setup: harness.Setup{Docker: w.confined}}
	if s.input.set != nil {
		l = s.input.set(t, l)
	}
	s.init = harness.Run(t, l)
}

// makeEnd makes the named pipe that the application in Perl waits for.
func (s *scene) makeEnd(t *testing.T) {
	t.Helper()
	end := filepath.Join(s.dir, "end")
	// another user may wait for it
	harness.Must(t, errors.Join(syscall.Mkfifo(end, 0o666), os.Chmod(end, 0o666)))
	s.env = append(s.env, "END="+end)
}
