package program

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Reach is the largest set of processes, besides itself, that a program signals when it gets a stop signal. A
// KILL that follows does not count.
type Reach uint8

// The reaches.
const (
	Unknown   Reach = iota // it may signal any process
	NoProcess              // no other process
	Forks                  // each process that it has forked, of its own program
	Children               // each process that it has started
	Group                  // a process group: its own, or that of a child
)

// OnlyChildren reports whether a program is known to signal no process but its own children, if any.
func (r Reach) OnlyChildren() bool { return NoProcess <= r && r <= Children }

// command is a program whose source was read: how to recognise a process that runs it (runtime, name, signs),
// and how far it passes on TERM and INT.
type command struct {
	runtime string // what runs its script; "" for a program of its own
	name    string // with | between several, for a script as namesOf has them
	term    Reach
	int     Reach
	traits  trait
	signs   signals.Set // it handles or blocks these, and another program of its name does not; 0 for any
}

// trait is what else is known of a program.
type trait uint8

// The traits.
const (
	launcher trait = 1 << iota // a runner of scripts or tasks, which heeds TERM at most
	spreads                    // it signals more than its child, or that twice, or ends it soon after
	bears                      // a second signal does it no harm
)

// allSignals are all below 32 but KILL and STOP. goSignals are those that a Go program handles.
const allSignals, goSignals signals.Set = 0x7ffbfeff, 0x7fc1feff

// commands are what the named versions do, by the named source. Of two rows of one name the first has a
// flag, a verb or more signs. TestReach in test/workers signals most of them, and counts their calls of
// kill(2). The signs are as /proc/PID/status shows them while a child runs (SigCgt, SigBlk), without those
// that the program gives up when it gets them.
//
// Not here:
//   - what runs a user's code or hooks within: rake, sidekiq, uwsgi, a single puma, PM2's daemon, nodemon;
//   - what execs: env, nohup, setpriv, nice, gosu, chpst, cargo run, busybox timeout;
//   - what has no handler, which its masks show: xargs, setsid, unshare;
//   - what signals each process below it, of which nothing follows: concurrently;
//   - what has neither signs nor a package: task, which is anybody's name.
var commands = []command{
	// npm 6: npm-lifecycle/index.js; npm 7 to 11: @npmcli/run-script/lib/signal-manager.js
	{"node", "npm|npx|npm/|npm ", Children, Children, launcher, 0},
	// yarn 1.22: lib/cli.js; yarn 3 and 4: @yarnpkg/shell/sources/pipe.ts
	{"node", "yarn|yarnpkg|yarn/", Children, NoProcess, launcher, 0},
	// pnpm 7 to 10: @pnpm/npm-lifecycle; pnpm 12 is a program whose child leads a group
	{"node", "pnpm|pnpx|pnpm/", Children, Children, launcher, 0},
	{"", "pnpm|pnpx", Group, Group, spreads, 0x4443},
	// composer 2.5: Util/ProcessExecutor.php
	{"php", "composer|composer.phar", NoProcess, NoProcess, launcher, 0},
	// make 4.3: src/commands.c, fatal_error_signal
	{"", "make|gmake", Children, NoProcess, launcher, 0x1810200},
	// just 1.57: src/signal_handler.rs
	{"", "just", Children, NoProcess, launcher, 0x4447},
	// go 1.26: cmd/go/internal/base/signal_unix.go
	{"", "go run", NoProcess, NoProcess, launcher, goSignals},
	// npm-run-all 4.1 and npm-run-all2 9.0 have no handler but Node's, which ends them
	{"node", "npm-run-all|run-p|run-s|npm-run-all/|npm-run-all2/", NoProcess, NoProcess, 0, 0},
	// cross-env 10.1: dist/index.js; dotenv-cli 11.0: cli.js; env-cmd 11.0: dist/signal-termination.js
	{"node", "cross-env|dotenv|env-cmd|cross-env/|dotenv-cli/|env-cmd/", Children, Children, 0, 0},
	// pm2 7.0: lib/binaries/CLI.js; its daemon has another title
	{"node", "pm2 start", NoProcess, NoProcess, 0, 0},
	// foreman 3.0 of Node: lib/proc.js; foreman 0.87 of Ruby: lib/foreman/engine.rb, kill_children
	{"node", "nf|foreman/", NoProcess, Children, 0, 0},
	{"ruby", "foreman|foreman: ", Children, Children, 0, 0},
	// lerna 9.0: execa lib/kill.js
	{"node", "lerna exec|lerna/ exec", Children, Children, 0, 0},
	// gunicorn 20.1: arbiter.py; celery 5.2: apps/worker.py, and billiard 4.1: pool.py; puma 5.6:
	// cluster.rb. Their workers, which run a user's code, lack one of the signs.
	{"python", "gunicorn|gunicorn: ", Children, Children, 0, 0x8314a07},
	{"python", "celery", Children, Children, 0, 0x4207},
	{"ruby", "puma ", Children, Children, 0, 0x300002},
	// nginx 1.22: src/os/unix/ngx_process_cycle.c, ngx_signal_worker_processes, on QUIT, too
	{"", "nginx", Forks, Forks, 0, 0x18016a07},
	// supervisor 4.2: process.py, each child, or its group with stopasgroup, which no process shows; honcho
	// 1.1: manager.py, only read
	{"python", "supervisord|honcho", Group, Group, 0, 0},
	// runit 2.1.2: src/runsvdir.c, which at HUP alone signals each runsv; src/runsv.c
	{"", "runsvdir", NoProcess, NoProcess, bears, 0x16001},
	{"", "runsv", Children, Children, 0, 0x14000},
	// s6 2.11: src/supervision/s6-svscan.c, s6-supervise.c
	{"", "s6-svscan", Children, Children, 0, 0x28017a27},
	{"", "s6-supervise", Children, Group, 0, 0x15007},
	// util-linux 2.38: login-utils/su-common.c, term-utils/script.c. With a terminal of theirs, whose end
	// sends the group HUP, they block ALRM.
	{"", "runuser|su|script", Group, Group, spreads, allSignals},
	{"", "runuser|su", Children, Children, spreads, allSignals &^ 0x2000},
	// strace 6.1: src/strace.c, cleanup
	{"", "strace", Children, Children, 0, 0x7007},
	// coreutils 9.1: src/timeout.c
	{"", "timeout --foreground", Children, Children, 0, 0x12001},
	{"", "timeout", Group, Group, spreads, 0x12001},
	// dumb-init 1.2.5: dumb-init.c
	{"", "dumb-init -c|dumb-init --single-child", Children, Children, 0, allSignals},
	{"", "dumb-init -r|dumb-init --rewrite", Unknown, Unknown, 0, allSignals},
	{"", "dumb-init", Group, Group, spreads, allSignals},
	// tsx 4.23: dist/cli.mjs; nx 23.1: dist/bin/nx.js
	{"node", "tsx|nx", Unknown, Unknown, spreads, 0},
	// GNU parallel 20221122: src/parallel, wait_and_exit and kill_sleep_seq
	{"perl", "parallel", Group, Group, 0, 0},
}

// Signals returns how far a program passes on TERM, INT or, if it is runsvdir, HUP. It returns Unknown for
// other signals, and if the executable may not be read: a name alone proves nothing.
func Signals(p *proc.Process, sig unix.Signal) Reach {
	c := commandOf(p)
	switch {
	case p.Exe == "":
	case sig == unix.SIGTERM, c.term == Forks:
		return c.term
	case sig == unix.SIGINT:
		return c.int
	case sig == unix.SIGHUP && c.name == "runsvdir":
		return Children
	}
	return Unknown
}

// LauncherName returns the launcher's own name, "npm" or "go run", and "" for any other program.
func LauncherName(p *proc.Process) string {
	if c := commandOf(p); c.traits&launcher != 0 {
		return strings.TrimRight(c.name, "/ ")
	}
	return ""
}

// PassesNothingOn reports whether a process is a launcher that passes TERM on to no process below it. TERM is
// the only stop signal that a launcher is sent.
func PassesNothingOn(p *proc.Process) bool {
	c := commandOf(p)
	return c.traits&launcher != 0 && c.term == NoProcess
}

// BearsTwo reports whether a program is known to take no harm from a second signal.
func BearsTwo(p *proc.Process) bool { return commandOf(p).traits&bears != 0 }

// Spreads reports whether a program is known to pass a signal on to more than its child, or twice, or to end
// its child soon after it.
func Spreads(p *proc.Process) bool { return commandOf(p).traits&spreads != 0 }

// TakesTERM reports whether a process is to be sent TERM in place of INT, because no job gets INT from it.
// It is a launcher, or it is known to pass INT to its own children, one of which takes TERM itself, or is a
// shell without a trap, which waits for its command.
func TakesTERM(s *proc.Snapshot, p *proc.Process) bool {
	takesTERM := func(child *proc.Process) bool {
		return Of(child) == Shell && !MayTrap(child) || TakesTERM(s, child)
	}
	return LauncherName(p) != "" ||
		Signals(p, unix.SIGINT) == Children && slices.ContainsFunc(s.Children(p.PID), takesTERM)
}

// commandOf returns the row of the table commands for a process's program, the zero command if there is none.
// A name alone proves nothing: a script must also show its package, and a program the signals that it
// handles.
func commandOf(p *proc.Process) command {
	runtime, hidden := interpreters[withoutVersion(p.Exe)], p.Exe == ""
	binary, script := withFlags(cmp.Or(p.Exe, p.Comm), p.Args[min(1, len(p.Args)):]), namesOf(p)
	for _, c := range commands {
		if c.runtime != runtime && !(hidden && c.runtime != "") || !shows(p, c.signs) {
			continue
		}
		names := binary
		if c.runtime != "" {
			names = script
		}
		for name := range strings.SplitSeq(c.name, "|") {
			if slices.Contains(names, name) {
				c.name = name
				return c
			}
		}
	}
	return command{}
}

// shows reports whether a process handles or blocks all of these signals. A Go program handles them all, and
// counts only where STKFLT is one of them. Any program blocks them all for a moment, as in raise(3).
func shows(p *proc.Process, signs signals.Set) bool {
	const goAlone = unix.SIGSTKFLT
	set := p.Handled | p.Awaited | p.Blocked
	return set&signs == signs && (signs == 0 || signs.Has(goAlone) || !p.Handled.Has(goAlone))
}

// withFlags returns a name with each of its flags, the name with its verb, and the name alone. The verb is
// the first argument that is neither a flag nor a number. It ends the search, since it may be a flag's value:
// a flag behind it is missed. So of two rows for one program, the row with the flag must be the one that is
// certain.
func withFlags(name string, args []string) (names []string) {
	for _, arg := range args {
		names = append(names, name+" "+arg)
		if arg == "--" || !strings.HasPrefix(arg, "-") && strings.Trim(arg, "0123456789.:smhd") != "" {
			break
		}
	}
	return append(names, name)
}

// namesOf returns the names by which a script that a runtime runs is known for certain:
//
//	npm    of the command …/bin/npm, as a package installs it
//	npm/   of a file of the package npm
//	npm    with a blank behind it, of a title such as "npm start", which has replaced the arguments
func namesOf(p *proc.Process) (names []string) {
	const modules = "/node_modules/"
	if len(p.Args) == 0 {
		title, _, _ := strings.Cut(p.Comm, " ")
		return []string{title + " "}
	}
	title, _, _ := strings.Cut(p.Args[0], " ")
	names = append(names, title+" ")
	i := slices.IndexFunc(p.Args, func(arg string) bool {
		return !strings.HasPrefix(arg, "-") && interpreters[withoutVersion(path.Base(arg))] == ""
	})
	if i < 0 {
		return names
	}
	file := path.Clean("/" + p.Args[i])
	dir, name := path.Split(file)
	at := strings.LastIndex(file, modules)
	inBin := strings.HasSuffix(dir, "/bin/") || strings.HasSuffix(dir, "/.bin/")
	isYarn := name == "yarn.js" && inBin && strings.Contains(dir, "/yarn")
	switch {
	case inBin && !strings.Contains(name, "."), strings.HasSuffix(name, ".phar"):
	case at >= 0:
		name, _, _ = strings.Cut(file[at+len(modules):], "/")
		name += "/"
	case isYarn, strings.HasSuffix(dir, "/.yarn/releases/"):
		name = "yarn/"
	default:
		return names
	}
	return append(names, withFlags(name, p.Args[i+1:])...)
}
