// Package program finds which program a process runs, and what is known of that program: whether it is a
// shell or a launcher, how far it passes a signal on, whether a handler is its runtime's, whether a shell
// waits for a command, the marks of a command in the background, and whether it idles.
//
// It owns the names of programs, but for those of helpers (package diag). It must never read anything: it
// goes by what a snapshot shows.
package program

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Kind is what a process runs.
type Kind uint8

// The kinds.
const (
	Other    Kind = iota // its own business: a worker, a relay, anything not known
	Shell                // without a trap it dies of TERM and signals none; on INT it waits for its child
	Launcher             // a runner of scripts or tasks: of signals it heeds TERM at most
)

var (
	shells = strings.Fields("sh bash dash ash hush zsh ksh ksh93 mksh oksh lksh yash posh rbash")

	shellsWithHandlers = strings.Fields("mksh lksh oksh posh") // for TERM, without a trap
	shellsWithMarks    = strings.Fields("bash rbash dash busybox ksh ksh93 mksh lksh posh yash")

	multicall = []string{"busybox", "toybox"} // one program that is many, by the name it was called

	// interpreters are the programs that run a script, by their names without a version.
	interpreters = map[string]string{
		"node": "node", "nodejs": "node", "MainThread": "node", "bun": "node", "php": "php",
		"python": "python", "pypy": "python", "ruby": "ruby", "perl": "perl",
	}
)

// Of returns what a process runs. It knows a shell and a launcher by their executable or, if that may not be
// read, by the name that the process bears. Arguments alone prove nothing.
func Of(p *proc.Process) Kind {
	switch {
	case slices.Contains(shells, shellName(p)):
		return Shell
	case LauncherName(p) != "":
		return Launcher
	}
	return Other
}

// shellName returns the name by which a process would be known as a shell (calledAs). If the executable is
// hidden, the command name of the process stands for it.
func shellName(p *proc.Process) string {
	if p.Exe == "" {
		return strings.TrimPrefix(p.Comm, "-")
	}
	name, _ := calledAs(p)
	return name
}

// calledAs returns the name of a program and its arguments: that of its executable, or the name by which
// busybox or toybox was called.
func calledAs(p *proc.Process) (name string, args []string) {
	isMulticall := func(name string) bool { return slices.Contains(multicall, withoutSuffix(name)) }
	name, args = withoutSuffix(p.Exe), p.Args
	if isMulticall(name) && isMulticall(commandName(args, 0)) {
		args = args[1:] // busybox sh
	}
	if isMulticall(name) {
		name = commandName(args, 0)
	}
	return name, args[min(1, len(args)):]
}

// HandlesWithoutTrap reports whether a process is a shell that handles TERM without any trap, and acts
// upon it only after its child has ended.
func HandlesWithoutTrap(p *proc.Process) bool {
	return slices.Contains(shellsWithHandlers, shellName(p))
}

// InterruptEnds reports whether the handler of a process for INT may be that of its runtime, which ends it.
func InterruptEnds(p *proc.Process) bool {
	return slices.Contains([]string{"python", "pypy", "php"}, withoutVersion(p.Exe))
}

// InBackground reports whether a child bears the mark of a background command, whose shell the parent is or
// was: a shell without job control has such a command ignore INT and QUIT (POSIX, Asynchronous Lists). The
// command may have set a handler for one of the two since. But a shell that ignores QUIT and handles INT
// bears no mark, since every interactive shell is so. If the parent itself ignores both, the child has that
// from it, and bears no mark either.
func InBackground(child, parent *proc.Process) bool {
	quit, int := child.Ignores(unix.SIGQUIT), child.Ignores(unix.SIGINT)
	handlesINT := child.Handles(unix.SIGINT) && Of(child) != Shell
	marked := quit && (int || handlesINT) || int && child.Handles(unix.SIGQUIT)
	return marked && !(parent.Ignores(unix.SIGINT) && parent.Ignores(unix.SIGQUIT))
}

// WasInBackground reports whether a child bears a mark of a command in the background of a shell, in whose
// place its parent runs now. A program that sets its signals to their defaults keeps only the other mark: the
// shell has made /dev/null its input.
func WasInBackground(child, parent *proc.Process) bool {
	return InBackground(child, parent) || resetsSignals(child.Exe) && child.Input == proc.NullInput
}

// InForeground reports whether a shell without job control waits for a child, so that it runs no trap before
// that has ended. A command in the background bears one of two marks: it ignores INT and QUIT, or it has
// another input. That is so for all forms in seven shells. zsh sets one mark alone, which a program may take
// away. In bash a loop or an if with <&0 & bears none, and neither does a subshell in the foreground, so that
// a fork of bash proves nothing. In the line ( a ) & ( b ) & the command b bears no mark, but a has another
// input. Five forms of bash have no mark, and look like the foreground (docs/signals.md, Limits).
//
// A program that handles QUIT, or sets all signals to their defaults, may hide the first mark. The second may
// be missing while another command is in the background. On the left of a pipe it is missing, too, unless the
// process that reads the pipe has it.
func InForeground(s *proc.Snapshot, child, shell *proc.Process) bool {
	if isBash(withoutSuffix(shell.Exe)) && child.IsForkOf(shell) {
		return false
	}
	isBeside := child.PGID == shell.PGID && child.Input == proc.ParentsInput
	if !HasMarks(shell) || !isBeside || !child.MasksKnown() || shell.Ignores(unix.SIGINT) ||
		child.Ignores(unix.SIGINT) || child.Ignores(unix.SIGQUIT) && Of(child) != Shell {
		return false
	}
	hidden := child.Handles(unix.SIGQUIT) || resetsSignals(child.Exe)
	shows := func(p *proc.Process) bool { // that the child may be in the background
		marked, unlike := InBackground(p, shell), p.Input == proc.NullInput || p.Input == proc.UnknownInput
		isPipeline := slices.Contains(s.WritersTo(p.PID), child.PID)
		return isPipeline && marked || unlike && (hidden || !marked)
	}
	return !(hidden && s.IsRead(child.PID)) && !slices.ContainsFunc(s.Children(shell.PID), shows)
}

// HasMarks reports whether the commands in the background of a shell bear both marks.
func HasMarks(shell *proc.Process) bool {
	return slices.Contains(shellsWithMarks, withoutSuffix(shell.Exe))
}

// Foreground returns what a shell with these children has in its foreground, if it has anything. That is its
// youngest child, and each child that writes to a pipe that one of these reads.
func Foreground(s *proc.Snapshot, children []*proc.Process) (these []*proc.Process) {
	if len(children) == 0 {
		return nil
	}
	these = []*proc.Process{slices.MaxFunc(children, func(a, b *proc.Process) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})}
	for at := 0; at < len(these); at++ {
		for _, p := range children {
			if slices.Contains(s.WritersTo(these[at].PID), p.PID) && !slices.Contains(these, p) {
				these = append(these, p)
			}
		}
	}
	return these
}

// MayTrap reports whether a shell may have set a trap: the commands of its option -c have one, or are in a
// file. It misses a trap in a file that the commands of -c read.
func MayTrap(shell *proc.Process) bool {
	commands, known := commandsOf(shell)
	return !known || strings.Contains(commands, "trap")
}

// EndsWith claims that a command of a shell is the last one of its option -c.
func EndsWith(shell, command *proc.Process) bool {
	commands, _ := commandsOf(shell)
	return strings.HasSuffix(strings.TrimSpace(commands), strings.Join(command.Args, " "))
}

// commandsOf returns the commands of a shell's option -c. known is false if they are in a file.
func commandsOf(shell *proc.Process) (commands string, known bool) {
	i := slices.IndexFunc(shell.Args, func(arg string) bool { // -c, -ec, -lc
		return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, "c")
	})
	if i < 0 || i+1 >= len(shell.Args) {
		return "", false
	}
	return shell.Args[i+1], true
}

// Waiting is whether a shell waits for a command in its foreground: until that has ended it
// runs no trap.
type Waiting uint8

// What can be known of that.
const (
	NotWaiting Waiting = iota
	MayWait            // in the foreground, or in the builtin wait, which a trap interrupts
	Waits
)

// WaitingOf returns whether a shell waits for a command, by the system call that it sleeps in. dash and
// busybox's ash sleep in wait4(2) for a command in the foreground, and in rt_sigsuspend(2) for the others.
// bash is in wait4 for both, and mksh in rt_sigsuspend. A shell may wait if its program or the call can't be
// read, or the call is none of these, as by another architecture's numbers.
func WaitingOf(p *proc.Process) Waiting {
	exe := withoutSuffix(p.Exe)
	certain := exe == "dash" || exe == "busybox"
	idles := slices.Contains([]int{unix.SYS_RT_SIGSUSPEND, unix.SYS_READ, unix.SYS_PSELECT6}, p.Call.Number)
	switch {
	case !p.Call.Sleeps:
		return NotWaiting
	case certain && p.Call.Number == unix.SYS_WAIT4, substitutes(p):
		return Waits
	case idles && (certain || isBash(exe)):
		return NotWaiting
	}
	return MayWait
}

// substitutes reports whether a shell reads the output of $( … ), and so runs no trap before that ends. In
// the builtin read it would run one at once: there dash and busybox read from standard input, or poll, and
// bash does not block INT (subst.c, command_substitute). It is wrong about a bash that was started with INT
// blocked.
func substitutes(p *proc.Process) bool {
	exe := withoutSuffix(p.Exe)
	reads := p.Call.Number == unix.SYS_READ
	if isBash(exe) {
		return reads && p.Blocked.Has(unix.SIGINT)
	}
	return reads && (exe == "dash" || exe == "busybox") && p.Call.Descriptor > 2
}

func isBash(exe string) bool { return exe == "bash" || exe == "rbash" }

// Nearest returns the first processes on each way down from root for which the function (is) returns true. If
// it does so for root, Nearest returns root alone. Such a process sees to the processes below it.
func Nearest(s *proc.Snapshot, root int, is func(proc.Process) bool) (nearest []proc.Process) {
	p, ok := s.Process(root)
	if ok && is(p) {
		return []proc.Process{p}
	}
	for _, child := range s.Children(root) {
		nearest = append(nearest, Nearest(s, child.PID, is)...)
	}
	return nearest
}

// resetsSignals reports whether a program sets all signals to their defaults when it starts.
func resetsSignals(exe string) bool {
	return slices.Contains([]string{"node", "php"}, interpreters[withoutVersion(exe)])
}

// withoutVersion makes php of php8.2.
func withoutVersion(file string) string { return strings.TrimRight(withoutSuffix(file), "0123456789") }

// withoutSuffix makes busybox of busybox.static and bash of bash.old.
func withoutSuffix(file string) string {
	name, _, _ := strings.Cut(file, ".")
	return name
}

// commandName is the file name of an argument, without a login shell's dash.
func commandName(args []string, i int) string {
	if i < 0 || i >= len(args) {
		return ""
	}
	return strings.TrimPrefix(path.Base(args[i]), "-")
}
