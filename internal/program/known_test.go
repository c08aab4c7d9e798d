package program

import (
	"cmp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/test/harness/rows"
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
// runtime runs, and by no name alone.
func TestSignals(t *testing.T) {
	reaches := map[string]Reach{
		"NoProcess": NoProcess, "Forks": Forks, "Children": Children, "Group": Group,
	}
	for _, row := range rows.Read(t, "testdata/signals.tsv", 5) {
		exe, args, hup := row[0], row[1], Unknown
		p := proc.Process{Handled: handlers[cmp.Or(row[4], exe)],
			Details: proc.Details{Exe: exe, Args: argsOf(args)}}
		if exe == "runsvdir" {
			hup = Children
		}
		for sig, want := range map[unix.Signal]Reach{
			unix.SIGTERM: reaches[row[2]], unix.SIGINT: reaches[row[3]], unix.SIGHUP: hup,
		} {
			if got := Signals(&p, sig); got != want {
				t.Errorf("%s by %q at %v: %v, want %v", args, exe, sig, got, want)
			}
		}
		if c := commandOf(&p); exe != "" && (row[2] == "") != (c == command{}) {
			t.Errorf("%s is %+v", args, c)
		}
	}
	for r, want := range map[Reach]bool{
		Unknown: false, NoProcess: true, Forks: true, Children: true, Group: false} {
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
	if got := Signals(&p, unix.SIGTERM); got != Children {
		t.Errorf("%v", got)
	}
}

// What passes INT on to a launcher, or to a shell that waits for its command, takes TERM.
func TestTakesTERM(t *testing.T) {
	rows.Compare(t, "testdata/takes-term.tsv", 2, func(row []string) any {
		var all []proc.Process
		for i, text := range strings.Split(row[0], " > ") {
			exe, args, _ := strings.Cut(text, "|")
			all = append(all, proc.Process{
				ID: proc.ID{PID: 10 + i}, PPID: 9 + i, State: 'S', Handled: handlers[exe],
				Details: proc.Details{Exe: exe, Args: argsOf(args)}})
		}
		return TakesTERM(proc.New(all), &all[0])
	})
}

// argsOf are the arguments that stand between the blanks of a line, or the one that brackets hold.
func argsOf(line string) []string {
	if title, ok := strings.CutPrefix(line, "["); ok {
		return []string{strings.TrimSuffix(title, "]"), "", ""}
	}
	return strings.Fields(line)
}
