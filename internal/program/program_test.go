package program

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// What runs a process, the name that it bears, and its arguments, with blanks between them, tell the kind of
// it, and the name of a launcher.
func TestProgram(t *testing.T) {
	kinds := map[Kind]string{Shell: "shell", Launcher: "launches "}
	for _, tt := range []struct{ name, exe, comm, args, want string }{
		{"sh -c", "dash", "sh", "sh -c app", "shell"},
		{"a script, whose name is its file's", "bash", "start.sh", "/bin/bash ./start.sh", "shell"},
		{"a login shell", "bash", "bash", "-bash", "shell"},
		{"a shell without arguments", "zsh", "zsh", "", "shell"},
		{"a shell that was set aside", "bash.old", "bash", "bash start.sh", "shell"},
		{"busybox by the name of sh", "busybox", "sh", "sh -c app", "shell"},
		{"busybox by a path", "busybox", "start.sh", "/bin/ash ./start.sh", "shell"},
		{"busybox as a login shell", "busybox", "sh", "-sh", "shell"},
		{"busybox that is given its name", "busybox", "busybox", "busybox sh -c app", "shell"},
		{"Alpine's static busybox", "busybox.static", "busybox.static", "/bin/busybox.static sh", "shell"},
		{"toybox", "toybox", "sh", "sh", "shell"},
		{"busybox as another program", "busybox", "httpd", "httpd -f", ""},
		{"busybox as another program with a shell for an argument", "busybox", "nohup", "nohup sh", ""},
		{"busybox alone", "busybox", "busybox", "busybox", ""},
		{"busybox that shows no arguments", "busybox", "sh", "", ""},
		{"a shell that /proc hides", "", "sh", "", "shell"},
		{"a login shell that /proc hides", "", "-bash", "", "shell"},
		{"a script whose shell /proc hides", "", "start.sh", "", ""},
		{"a program that calls itself a shell", "node", "sh", "node sh", ""},
		{"a program with a shell for an argument", "timeout", "timeout", "timeout 9 sh -c app", ""},
		{"fish is not a shell of this kind", "fish", "fish", "fish", ""},
		{"node", "node", "node", "node app.js", ""},
		{"make", "make", "make", "make -s run", "launches make"},
		{"what bears the name of any other", "task", "task", "task run", ""},
		{"composer", "php8.2", "php", "/usr/bin/php /usr/bin/composer run-script app", "launches composer"},
		{"a worker in PHP", "php8.2", "php", "php worker.php", ""},
		{"npm", "node", "npm start", "npm start", "launches npm"},
		{"what is nothing at all", "", "", "", ""},
		{"npm exec, which npx is", "node", "npm exec tsx ap", "npm exec tsx app.ts", "launches npm"},
		{"npm before it has its title", "node", "node", "node /usr/local/bin/npm start", "launches npm"},
		{"npm by its file", "node", "node", "node /usr/lib/node_modules/npm/bin/npm-cli.js start",
			"launches npm"},
		{"npx by its file", "node", "MainThread",
			"/usr/bin/node /usr/lib/node_modules/npm/bin/npx-cli.js app", "launches npm"},
		{"npx", "node", "node", "node /usr/local/bin/npx app", "launches npx"},
		{"yarn 1", "node", "node", "node /opt/yarn/bin/yarn.js start", "launches yarn"},
		{"yarn 4", "node", "node", "node /app/.yarn/releases/yarn-4.5.0.cjs start", "launches yarn"},
		{"yarn 2", "node", "node", "node /app/.yarn/releases/yarn-berry.cjs start", "launches yarn"},
		{"yarn by Debian's name", "node", "node", "node /usr/bin/yarnpkg start", "launches yarnpkg"},
		{"pnpm", "node", "node", "node /usr/local/bin/pnpm start", "launches pnpm"},
		{"pnpx", "node", "node", "node /usr/bin/pnpx app", "launches pnpx"},
		{"behind flags of node", "node", "node",
			"node --no-warnings --max-old-space-size=64 /usr/bin/npm start", "launches npm"},
		{"by Debian's old name of node", "nodejs", "node", "nodejs /usr/bin/npm start", "launches npm"},
		{"by bun", "bun", "node", "bun /usr/bin/npm start", "launches npm"},
		{"that /proc hides", "", "npm start", "", "launches npm"},
		{"a program that /proc hides", "", "make", "make run", "launches make"},
		{"go run", "go", "go", "go run .", "launches go run"},
		{"another verb of go", "go", "go", "go test run", ""},
		{"go alone", "go", "go", "go", ""},
		{"an application", "node", "node", "node app.js npm", ""},
		{"an application with a launcher's name in its own", "node", "node", "node npm-proxy.js", ""},
		{"an application in a launcher's folder", "node", "node", "node /srv/npm/server.js", ""},
		{"an application of a launcher's name", "node", "node", "node /srv/npm.js", ""},
		{"an application of a launcher's name, with #!", "node", "npm", "/usr/bin/node ./npm start", ""},
		{"an application with a title of its own", "node", "npmirror web", "npmirror web", ""},
		{"node alone", "node", "node", "node", ""},
		{"node with flags alone", "node", "node", "node --version", ""},
		{"another program with a launcher for an argument", "timeout", "timeout", "timeout 9 npm start", ""},
		{"a shell script of a launcher's name", "bash", "npm", "/bin/bash /usr/local/bin/npm start", "shell"},
	} {
		p := proc.Process{Comm: tt.comm, Handled: handlers[cmp.Or(tt.exe, tt.comm)],
			Details: proc.Details{Exe: tt.exe, Args: strings.Fields(tt.args)}}
		if got := kinds[Of(&p)] + LauncherName(&p); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A title may be written over the arguments, blanks and all, and an argument may
// be empty or hold anything.
func TestProgramsWithOddArguments(t *testing.T) {
	for _, args := range [][]string{
		{""}, {"", ""}, {"-"}, {"--"}, {"/"}, {"\n"}, {"npm start"}, {"node", ""}, {".npm"}, {"npm."},
		{"\xff", "-npm"}} {
		for _, exe := range []string{"node", "busybox", "go", "", "."} {
			s := proc.Process{Details: proc.Details{Exe: exe, Args: args}}
			if got := Of(&s); got == Shell ||
				got == Launcher && !strings.Contains(strings.Join(args, " "), "npm") {
				t.Errorf("%q of %q is a %v", args, exe, got)
			}
		}
	}
}

// The youngest child, and those that write to what it reads, wherever those stand.
func TestWhatAShellHasInItsForeground(t *testing.T) {
	for name, tt := range map[string]struct {
		starts  []uint64 // of the children 11, 12, …
		writers map[int]int
		want    []int
	}{
		"none":             {nil, nil, nil},
		"the youngest":     {[]uint64{100, 101}, nil, []int{12}},
		"of one tick":      {[]uint64{100, 100}, nil, []int{12}},
		"with a lower pid": {[]uint64{200, 101}, nil, []int{11}},
		"a pipeline": {
			[]uint64{99, 100, 100, 100}, map[int]int{13: 12, 14: 13}, []int{14, 13, 12}},
		"what another writes":      {[]uint64{99, 100}, map[int]int{12: 99}, []int{12}},
		"a pipe in the background": {[]uint64{98, 99, 100}, map[int]int{12: 11}, []int{13}},
	} {
		all := []proc.Process{{ID: proc.ID{PID: 10}, PPID: 1, State: 'S'}}
		for i, start := range tt.starts {
			all = append(all, proc.Process{
				ID: proc.ID{PID: 11 + i, Start: start}, PPID: 10, State: 'S',
				Details: proc.Details{Reads: proc.File{Inode: uint64(11 + i)}}})
		}
		s := proc.New(all)
		for reader, writer := range tt.writers {
			s.AddWriter(proc.File{Inode: uint64(reader)}, writer)
		}
		got := Foreground(s, s.Children(10))
		if !slices.EqualFunc(got, tt.want, func(p *proc.Process, pid int) bool { return p.PID == pid }) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// The output of $( … ) is waited for, and the builtin read is not.
func TestWhetherAShellReadsACommandsOutput(t *testing.T) {
	for _, tt := range []struct {
		exe     string
		call    int
		from    int
		blocked signals.Set
		want    Waiting
	}{
		{"bash", unix.SYS_READ, 3, signals.SetOf(unix.SIGINT), Waits},
		{"rbash", unix.SYS_READ, 3, signals.SetOf(unix.SIGINT), Waits},
		{"bash", unix.SYS_READ, 3, signals.SetOf(unix.SIGCHLD), NotWaiting},
		{"bash", unix.SYS_PSELECT6, 3, signals.SetOf(unix.SIGINT), NotWaiting},
		{"dash", unix.SYS_READ, 3, 0, Waits},
		{"dash", unix.SYS_READ, 2, signals.SetOf(unix.SIGINT), NotWaiting},
		{"busybox.static", unix.SYS_READ, 3, 0, Waits},
		{"busybox.static", unix.SYS_PPOLL, 3, 0, MayWait},
		{"zsh", unix.SYS_READ, 12, signals.SetOf(unix.SIGINT), MayWait},
	} {
		p := proc.Process{Details: proc.Details{
			Exe: tt.exe, Blocked: tt.blocked,
			Call: proc.Call{Sleeps: true, Number: tt.call, Descriptor: tt.from}}}
		if got := WaitingOf(&p); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// What can't be known may be so: the program, the call, or what its number means.
func TestWhetherAShellWaits(t *testing.T) {
	in := func(call int) proc.Call { return proc.Call{Sleeps: true, Number: call, Stack: 7} }
	for exe, by := range map[string]map[proc.Call]Waiting{
		"dash": {in(unix.SYS_WAIT4): Waits, in(unix.SYS_RT_SIGSUSPEND): NotWaiting,
			in(unix.SYS_READ): NotWaiting},
		"busybox.static": {in(unix.SYS_WAIT4): Waits, in(unix.SYS_RT_SIGSUSPEND): NotWaiting},
		"bash": {in(unix.SYS_WAIT4): MayWait, in(unix.SYS_READ): NotWaiting,
			in(unix.SYS_PSELECT6): NotWaiting},
		"mksh": {in(unix.SYS_WAIT4): MayWait, in(unix.SYS_RT_SIGSUSPEND): MayWait},
		"":     {in(unix.SYS_WAIT4): MayWait, in(unix.SYS_READ): MayWait},
	} {
		by[in(-1)], by[in(9999)], by[proc.Call{}] = MayWait, MayWait, NotWaiting
		for call, want := range by {
			if got := WaitingOf(&proc.Process{Details: proc.Details{Exe: exe, Call: call}}); got != want {
				t.Errorf("%q in %+v: %v, want %v", exe, call, got, want)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	// 1 - 2 - 3 - 4
	//   |   \ 5 - 6
	//   \ 7
	var all []proc.Process
	for pid, ppid := range map[int]int{1: 0, 2: 1, 3: 2, 4: 3, 5: 2, 6: 5, 7: 1} {
		all = append(all, proc.Process{ID: proc.ID{PID: pid}, PPID: ppid, State: 'S'})
	}
	family := proc.New(all)
	for _, tt := range []struct {
		name    string
		root    int
		handles []int
		want    []int
	}{
		{"root alone if it handles it", 2, []int{2, 3, 4, 6}, []int{2}},
		{"nothing below one that handles it", 2, []int{3, 4}, []int{3}},
		{"one on each way", 2, []int{3, 6}, []int{3, 6}},
		{"the lowest on a way if it is the first", 2, []int{4, 6}, []int{4, 6}},
		{"none beside root", 2, []int{1, 7}, nil},
		{"no root", 99, []int{3}, nil},
	} {
		got := Nearest(family, tt.root,
			func(p proc.Process) bool { return slices.Contains(tt.handles, p.PID) })
		if !slices.EqualFunc(got, tt.want, func(p proc.Process, pid int) bool { return p.PID == pid }) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Masks as the kernel shows them for programs without a handler of their own, but for TERM: of Go 1.26,
// OpenJDK 17, PHP 8.2, Python with faulthandler, nginx and Ruby.
func TestHandlersThatMayBeTheRuntimes(t *testing.T) {
	for exe, tt := range map[string]struct {
		handled signals.Set
		want    []unix.Signal
	}{
		"app":     {0xfffffffd7fc1feff, []unix.Signal{unix.SIGQUIT, unix.SIGPWR, 37}},
		"java":    {0x2000000101005ccf, nil}, // it writes a dump on QUIT, and runs on
		"php8.2":  {0x0000000004004a07, []unix.Signal{unix.SIGQUIT, unix.SIGINT}},
		"php-fpm": {0x0000000004004a07, nil},
		"python3": {0x00000000000044ee, nil}, // with a handler of QUIT
		"nginx":   {0x0000000018016a07, nil},
		"ruby":    {0x0000000042017e4f, nil},
	} {
		p := proc.Process{Handled: tt.handled, Details: proc.Details{Exe: exe}}
		var got []unix.Signal
		for _, sig := range []unix.Signal{
			unix.SIGHUP, unix.SIGQUIT, unix.SIGINT, unix.SIGUSR1, unix.SIGPWR, 37} {
			if MayBeRuntimes(&p, sig) {
				got = append(got, sig)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", exe, got, tt.want)
		}
	}
}
