package workers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// way is one way to start a worker: a row of the matrix. Its name says how it is started, and
// readName reads the start from it; a row gives what its name does not say.
//
// The worker has a job in hand when the platform asks for the stop, and appends to $RECORD what
// happens to it, each line by one write, SECONDS being Unix time:
//
//	begin SECONDS         the job has begun
//	signalled SIGNAME SECONDS  its handler of the stop signal ran
//	done SECONDS          the job has ended whole
type way struct {
	name        string         // as a user would write it, and the row's name in the table
	start       string         // the command; single quotes hold a word together
	script      string         // start.sh, which bash runs if there is no start
	files       files          // beside those in testdata/matrix that start and script name
	env         string         // added to the environment: "A=1 B=2"
	uses        string         // programs that start and script do not name, and what files start
	flags       string         // drainit's, beside -v and --grace
	dumbInit    string         // dumb-init's, where it can do what those do
	signal      syscall.Signal // what the platform sends; TERM if 0
	status      int            // the exit status under drainit; 7 is the application's own
	workers     int            // how many processes do a job each; 1 if 0
	uncounted   bool           // the worker can't count its handler's runs; drainit's log is asked instead
	tells       int            // how many processes drainit tells; not looked at if 0
	leaves      time.Duration  // how long the program itself takes to leave after its job, by its own code
	grace       time.Duration  // of both runs; 30s for the short job and 16s for the long one if 0
	inTurn      bool           // one of its processes is signalled when another has gone
	late        bool           // one of its processes waits for the last call, even where it rests
	waits       bool           // it waits for over a second before it signals the job, as PM2 with the second
	long        bool           // it takes seconds with the application in Perl, too
	confined    bool           // with Docker's default capabilities, among which SYS_PTRACE is not
	job         time.Duration  // how long its job takes; shortJob if 0
	word        string         // how its job ends where it is not to be done: "handed back"
	again       bool           // the platform sends its signal twice
	disconnects bool           // one of a cluster, which ends after its job once its master is asked to stop
	alone       bool           // the other inits have nothing of the kind
	lost        string         // of TestStopSignalOfAnotherImage: the signals of which its job dies
	deaf        string         // and those by which nothing happens
	verdicts    string         // of TestVerdictsOnAttacks: the verdict without a check; either if empty
	drains      bool           // and the verdict with one
	keeps       bool           // the real stop keeps the job, whatever the verdict
	restless    *restless      // how it goes with an application that never rests; nil: it is not tried

	// prepare sets up the scene.
	prepare func(t *testing.T, s *scene)
	// begin starts the job from outside, by a request or a queued task, once
	// the worker runs; nil where the worker starts it by itself.
	begin func(t *testing.T, s *scene)
	// ask asks for the stop; nil where the platform signals the init.
	ask func(t *testing.T, s *scene)
	// kept reports whether the job's result came whole, which "done" alone does
	// not show: a client has its answer; nil where there is nothing more to ask.
	kept func(t *testing.T, s *scene) bool
}

// files are by name, in the scene's folder.
type files map[string]string

var (
	quoted   = regexp.MustCompile("`([^`]*)`")
	byShell  = regexp.MustCompile("^(bash|dash|busybox sh): `")
	andShows = regexp.MustCompile("^`[^`]*`[^`,]*: `")
)

// asCommands are the words of names that are longer in a command.
var asCommands = strings.NewReplacer(
	"node app", "node app.js", "tsx app", "tsx app.ts", "perl daemon", "perl daemon.pl",
	"setpriv --reuid=nobody …", "setpriv --reuid=nobody --regid=nogroup --clear-groups")

// readName has the start and the script that the way's name says:
//
//	`COMMAND`               the command
//	`COMMAND`: `A; B`       the command, and start.sh, which it runs
//	`A; B` in a script      start.sh, run by bash
//	bash: `A`, `B`          the same, a line for each part; dash, busybox sh
//
// INT to … is sent INT, and where it says so drainit has no SYS_PTRACE.
func (w way) readName() way {
	name, interrupted := strings.CutPrefix(w.name, "INT to ")
	if interrupted {
		w.signal = syscall.SIGINT
	}
	w.confined = strings.HasSuffix(name, ", no SYS_PTRACE")
	var parts []string
	for _, m := range quoted.FindAllStringSubmatch(name, -1) {
		parts = append(parts, asCommands.Replace(m[1]))
	}
	switch shell := byShell.FindStringSubmatch(name); {
	case w.start != "":
	case w.script != "":
		w.start = "bash start.sh"
	case shell != nil:
		w.start, w.script = shell[1]+" start.sh", strings.Join(parts, "\n")
	case strings.Contains(name, "` in a script"):
		w.start, w.script = "bash start.sh", strings.ReplaceAll(parts[0], "; ", "\n")
	case andShows.MatchString(name):
		w.start, w.script = parts[0], parts[1]
	default:
		w.start = parts[0]
	}
	if strings.Contains(w.script, "trap cleanup TERM") {
		w.script = "cleanup() { echo clean >>cleaned; }\n" +
			strings.ReplaceAll(w.script, "trap cleanup TERM; ", "trap cleanup TERM\n")
		w.kept = cleanedUp
	}
	return w
}

// cleanedUp reports whether the trap ran, once: it could when the command had ended. Where
// that has not ended the init hangs, and its job is not lost.
func cleanedUp(t *testing.T, s *scene) bool {
	t.Helper()
	if s.init.Running() {
		return true
	}
	cleaned, err := os.ReadFile(filepath.Join(s.dir, "cleaned"))
	return err == nil && string(cleaned) == "clean\n"
}

// each changes some ways and returns them.
func each(ways []way, change func(w *way)) []way {
	for i := range ways {
		change(&ways[i])
	}
	return ways
}

// toPerl puts the application in Perl where the one in Node stands, and for a job without an
// application a command that waits as long.
var toPerl = strings.NewReplacer("node app.js", "perl app.pl", `"node", "app.js"`, `"perl", "app.pl"`,
	`sleep "$JOB"`, `perl -e 'open my $end, "<", $ENV{END}'`)

// text is all that names the programs of the way.
func (w way) text(plain bool) string {
	text := strings.Join([]string{w.start, w.script, w.uses}, "\n")
	if plain {
		return toPerl.Replace(text)
	}
	return text
}

// programs are those that a way may need, and nodePackages what test/node has for it.
var (
	programs = regexp.MustCompile(`\b(bash|busybox|bwrap|catatonit|celery|dash|dumb-init|foreman|go|` +
		`gunicorn|gzip|java|javac|ksh93|lksh|make|mariadb-install-db|mariadbd|mkfifo|mksh|mysqld_safe|` +
		`nginx|node|npm|npx|perl|pgrep|php|posh|puma|python3|rabbitmq-server|rake|redis-server|rq|ruby|` +
		`runsvdir|runuser|s6-svscan|script|setpriv|setsid|sh|sidekiq|sort|sqlite3|strace|su|supervisord|` +
		`sv|tee|timeout|tini|unbuffer|unshare|xz|yash)\b`)
	nodePackages = regexp.MustCompile(
		`\b(bullmq|concurrently|cross-env|env-cmd|execa|express|fastify|lerna|` +
			`npm|npx|nx|pino-pretty|pm2|pm2-runtime|pnpm|run-p|tsx|yarn)\b`)
	pythonic = regexp.MustCompile(`\b(python3|celery|gunicorn|rq|supervisord)\b`)
)

// need skips the way where something that it needs is missing.
func (w way) need(t *testing.T, plain bool) {
	t.Helper()
	harness.Need(t, programs.FindAllString(w.text(plain), -1)...)
	if nodePackages.MatchString(w.text(plain)) {
		harness.NeedNodePackages(t)
	}
}

// isPlain reports whether the way starts an application in Node, by what needs no Node itself,
// and all rests before the request: then it starts one in Perl as well.
func (w way) isPlain() bool {
	text := w.text(false)
	return w.begin == nil && !w.inTurn && w.leaves == 0 && !nodePackages.MatchString(text) &&
		toPerl.Replace(text) != text
}

// place writes the files of the start to the scene and returns the worker's command.
func (w way) place(t *testing.T, s *scene) (command []string) {
	t.Helper()
	if w.prepare != nil {
		w.prepare(t, s)
	}
	s.env = append(s.env, strings.Fields(w.env)...)
	if w.status == 7 {
		s.env = append(s.env, "STATUS=7")
	}
	if pythonic.MatchString(w.text(false)) {
		s.env = append(s.env, debianPath, "PYTHONPATH="+harness.Repo("test/workers/testdata/matrix", ""),
			"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1")
	}
	if s.plain {
		s.makeEnd(t)
	}
	start := s.fill(w.start)
	s.bring(t, start)
	if w.script != "" {
		s.write(t, "start.sh", s.fill(w.script)+"\n")
	}
	for name, text := range w.files {
		s.write(t, name, s.fill(text))
	}
	if strings.Contains(start, "nobody") {
		harness.NeedRoot(t)
		harness.Must(t, os.Chmod(s.dir, 0o777))
	}
	return harness.Words(start)
}
