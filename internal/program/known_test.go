package program

import (
	"cmp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// handlers are what the programs of the table handle and block, as the kernel shows it.
var handlers = map[string]signals.Set{
	"make": 0x1814207, "just": 0x4447, "go": 0xfffffffd7fc1feff, "pnpm": 0x100004443,
	"runsvdir": 0x16001, "runsv": 0x14000, "s6-svscan": 0x28017a27, "s6-supervise": 0x15007,
	"timeout": 0x16007, "dumb-init": 0x7ffbfeff, "strace": 0x7007,
	"su": 0xfffffffc7ffbdeff, "script": 0xfffffffc7ffbfeff,
	"runuser": 0xfffffffc7ffbdeff, "runuser --pty": 0xfffffffc7ffbfeff,
	"gunicorn": 0x8314a07, "its worker": 0x8304226, "celery": 0x100004207, "its pool": 0x46806a35,
	"puma": 0x4c317edf, "one puma": 0x14c017edf, "an own one": 0x4003,
}

// What a program signals is known by its executable and its handlers, and by the package of the script that a
// runtime runs, and by no name alone. Arguments stand between blanks, and a title in brackets is one.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		exe, args string
		handlers  string // those of exe if ""
		term, int Reach
	}{
		{"node", "[npm start]", "", OwnChild, OwnChild},
		{"node", "node /usr/bin/npx -c app", "", OwnChild, OwnChild},
		{"node", "node /usr/lib/node_modules/npm/bin/npm-cli.js start", "", OwnChild, OwnChild},
		{"node", "node /opt/yarn-v1.22.22/bin/yarn.js start", "", Children, NoProcess},
		{"node", "node .yarn/releases/yarn-4.5.0.cjs start", "", Children, NoProcess},
		{"node", "node /root/corepack/node_modules/pnpm/bin/pnpm.cjs start", "", Children, Children},
		{"pnpm", "pnpm start", "", Group, Group},
		{"php8.2", "/usr/bin/php /usr/bin/composer run-script app", "", NoProcess, NoProcess},
		{"php8.2", "php composer.phar run-script app", "", NoProcess, NoProcess},
		{"make", "make run", "", Children, NoProcess},
		{"just", "just run", "", Children, NoProcess},
		{"go", "go run .", "", NoProcess, NoProcess},
		{"go", "go test .", "", Unknown, Unknown},
		{"go", "go", "", Unknown, Unknown},
		{"ruby3.1", "[foreman: master]", "", Children, Children},
		{"ruby3.1", "ruby /usr/share/gems/foreman-0.87.2/bin/foreman start", "", Children, Children},
		{"python3.11", "/usr/bin/python3 -sP /usr/bin/supervisord -c x", "", Group, Group},
		{"python3.11", "/usr/bin/python3 /venv/bin/gunicorn app", "gunicorn", Children, Children},
		{"python3.11", "[gunicorn: master [app]]", "gunicorn", Children, Children},
		{"python3.11", "/usr/bin/python3 /venv/bin/gunicorn app", "its worker", Unknown, Unknown},
		{"python3.11", "python3 /usr/bin/celery worker", "celery", Children, Children},
		{"python3.11", "python3 /usr/bin/celery worker", "its pool", Unknown, Unknown},
		{"ruby3.1", "[puma 5.6.5 (tcp://0.0.0.0:80) [app]]", "puma", Children, Children},
		{"ruby3.1", "[puma 5.6.5 (tcp://0.0.0.0:80) [app]]", "one puma", Unknown, Unknown},
		{"ruby3.1", "[puma: cluster worker 0: 7 [app]]", "puma", Unknown, Unknown},
		{"runsvdir", "runsvdir services", "", NoProcess, NoProcess},
		{"runsv", "runsv app", "", OwnChild, OwnChild},
		{"s6-svscan", "s6-svscan services", "", Children, Children},
		{"s6-supervise", "s6-supervise app", "", OwnChild, Group},
		{"timeout", "timeout 300 app --foreground", "", Group, Group},
		{"timeout", "timeout -v --foreground 300 app", "", OwnChild, OwnChild},
		{"timeout", "timeout -k 5 --foreground 300 app", "", OwnChild, OwnChild},
		{"timeout", "timeout -s INT 300 app --foreground", "", Group, Group},
		{"timeout", "", "", Group, Group},
		{"strace", "strace app", "", OwnChild, OwnChild},

		{"node", "node /app/node_modules/.bin/run-p a b", "", NoProcess, NoProcess},
		{"node", "node /app/node_modules/npm-run-all2/bin/run-p/index.js a b", "", NoProcess, NoProcess},
		{"node", "node node_modules/.bin/cross-env A=1 app", "", OwnChild, OwnChild},
		{"node", "node /app/node_modules/.bin/../cross-env/dist/bin/cross-env.js A=1 app", "",
			OwnChild, OwnChild},
		{"node", "node /app/node_modules/.bin/lerna exec -- app", "", Children, Children},
		{"node", "node /app/node_modules/.bin/lerna run exec", "", Unknown, Unknown},
		{"dumb-init", "dumb-init -v -c app", "", OwnChild, OwnChild},
		{"dumb-init", "dumb-init -r 15:3 -c app", "", OwnChild, OwnChild},
		{"dumb-init", "dumb-init app -c", "", Group, Group},
		{"dumb-init", "dumb-init -- 7z -c", "", Group, Group},
		{"node", "node /app/node_modules/.bin/pm2 start app.js", "", NoProcess, NoProcess},
		{"node", "node /app/node_modules/.bin/pm2 logs", "", Unknown, Unknown},
		{"node", "[PM2 v7.0.4: God Daemon (/root/.pm2)]", "", Unknown, Unknown},
		{"node", "node run.js", "", Unknown, Unknown},
		{"runuser", "runuser -u nobody -- sh -c app", "", OwnChild, OwnChild},
		{"runuser", "runuser -u nobody --pty -- app", "runuser --pty", Group, Group},
		{"su", "su nobody -c app", "", OwnChild, OwnChild},
		{"script", "script -qec app log", "", Group, Group},
		{"perl", "/usr/bin/perl /usr/bin/parallel app", "", Group, Group},

		{"bash", "/bin/bash /usr/local/bin/npm start", "", Unknown, Unknown},
		{"perl", "perl make", "", Unknown, Unknown},
		{"node", "node make", "", Unknown, Unknown},
		{"node", "node /app/npm.js", "", Unknown, Unknown},
		{"node", "node /app/bin/yarn.js", "", Unknown, Unknown},
		{"node", "node -r /app/node_modules/dotenv manager.js", "", Unknown, Unknown},
		{"ruby3.1", "ruby bin/foreman.rb", "", Unknown, Unknown},
		{"python3.11", "python3 supervisord", "", Unknown, Unknown},
		{"make", "make run", "an own one", Unknown, Unknown},
		{"make", "./make", "go", Unknown, Unknown},
		{"runsvdir-start", "runsvdir-start", "runsvdir", Unknown, Unknown},
		{"", "[npm start]", "", Unknown, Unknown},
		{"", "runsvdir services", "runsvdir", Unknown, Unknown},
		{"", "", "", Unknown, Unknown},
	} {
		p := proc.Process{Handled: handlers[cmp.Or(tt.handlers, tt.exe)],
			Details: proc.Details{Exe: tt.exe, Args: argsOf(tt.args)}}
		hup := Unknown
		if tt.exe == "runsvdir" {
			hup = Children
		}
		for sig, want := range map[unix.Signal]Reach{
			unix.SIGTERM: tt.term, unix.SIGINT: tt.int, unix.SIGHUP: hup} {
			if got := Signals(&p, sig); got != want {
				t.Errorf("%s by %q at %v: %v, want %v", tt.args, tt.exe, sig, got, want)
			}
		}
		if c := commandOf(&p); tt.exe != "" && (tt.term == Unknown) != (c == command{}) {
			t.Errorf("%s is %+v", tt.args, c)
		}
	}
	for r, want := range map[Reach]bool{
		Unknown: false, NoProcess: true, OwnChild: true, Children: true, Group: false, Tree: false} {
		if got := r.OnlyChildren(); got != want {
			t.Errorf("%v signals its children alone: %t", r, got)
		}
	}
}

// A program of one's own with the name of a known one, in Go, in another language, or a script, is not known
// by that.
func TestNoNameAloneIsKnown(t *testing.T) {
	for _, c := range commands {
		for name := range strings.SplitSeq(c.name, "|") {
			words := strings.Fields(strings.ReplaceAll(name, "/", ""))
			own := strings.TrimSuffix(words[0], ":")
			for _, handled := range []signals.Set{0, 0x2, 0x4000, 0x4003, goSignals} {
				programs := []proc.Process{
					{Details: proc.Details{Exe: own, Args: words}},
					{Comm: own, Details: proc.Details{Args: words}}}
				if c.runtime != "" {
					programs = nil
					for _, file := range []string{
						own, "./" + own, "/app/" + own, "/app/" + own + ".js", "/app/bin/" + own + ".rb",
						"/app/" + own + "/app.js"} {
						programs = append(programs,
							proc.Process{Comm: own, Details: proc.Details{
								Exe: c.runtime, Args: append([]string{c.runtime, file}, words[1:]...)}})
					}
				}
				for _, p := range programs {
					isKnown := c.name == "go run" && handled == goSignals || own == "composer.phar"
					if p.Handled = handled; !isKnown && (commandOf(&p) != command{}) {
						t.Errorf("%q by %q with handlers %#x is %q", p.Args, p.Exe, handled, c.name)
					}
				}
			}
		}
	}
}

// raise(3) blocks all signals for a moment, as timeout does when it dies of its child's signal.
func TestSignsOfOneThatBlocksAll(t *testing.T) {
	p := proc.Process{Handled: 0x12007,
		Details: proc.Details{Exe: "timeout", Args: strings.Fields("timeout --foreground 9 app"),
			Blocked: allSignals}}
	if got := Signals(&p, unix.SIGTERM); got != OwnChild {
		t.Errorf("%v", got)
	}
}

// What passes INT on to a launcher, or to a shell that waits for its command, takes TERM.
func TestTakesTERM(t *testing.T) {
	const crossEnv, npm = "node|node /app/node_modules/.bin/cross-env A=1 app", "node|[npm start]"
	for _, tt := range []struct {
		chain []string // programs, each below the one before
		want  bool
	}{
		{[]string{npm}, true},
		{[]string{crossEnv, npm}, true},
		{[]string{crossEnv, crossEnv, npm}, true},
		{[]string{crossEnv, "dash|sh -c app"}, true},
		{[]string{crossEnv, "bash|bash start.sh"}, false}, // it may have a trap for INT
		{[]string{crossEnv, "app|app"}, false},
		{[]string{crossEnv, "node|node /app/node_modules/.bin/run-p app", npm}, false}, // it dies of INT
		{[]string{"app|app", npm}, false},
		{[]string{"timeout|timeout 9 sh", "dash|sh -c app"}, false},
	} {
		var all []proc.Process
		for i, text := range tt.chain {
			exe, args, _ := strings.Cut(text, "|")
			all = append(all, proc.Process{
				ID: proc.ID{PID: 10 + i}, PPID: 9 + i, State: 'S', Handled: handlers[exe],
				Details: proc.Details{Exe: exe, Args: argsOf(args)}})
		}
		if got := TakesTERM(proc.New(all), &all[0]); got != tt.want {
			t.Errorf("%q: %t", tt.chain, got)
		}
	}
}

// argsOf are the arguments that stand between the blanks of a line, or the one that brackets hold.
func argsOf(line string) []string {
	if title, ok := strings.CutPrefix(line, "["); ok {
		return []string{strings.TrimSuffix(title, "]"), "", ""}
	}
	return strings.Fields(line)
}
