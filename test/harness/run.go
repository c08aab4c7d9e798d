package harness

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// SettingsLine is the line in which drainit -v says all its settings.
func SettingsLine(t *testing.T, args, env []string) string {
	t.Helper()
	env = append([]string{"DRAINIT_LOG_LEVEL=debug", "DRAINIT_LOG_FORMAT=text"}, env...)
	r := RunToEnd(t, Launch{NoPID1: true, Env: env, Args: append(args, "true")})
	if r.Status != 0 || r.Out != "" {
		t.Errorf("exit status %d, stdout %q", r.Status, r.Out)
	}
	line := regexp.MustCompile(`(?m)^drainit: settings: .*$`).FindString(r.Err)
	if line == "" {
		t.Fatalf("no settings in %q", r.Err)
	}
	return line
}

// Settles reports whether the line says that these settings were given, and no others but those of
// SettingsLine.
func Settles(line, given string) bool {
	return strings.Contains(line, strings.TrimSpace("settings: "+given)+" DRAINIT_LOG_FORMAT=text DRAINIT_LOG_LEVEL=debug; pid ")
}

// Ran is what came of an init that has ended.
type Ran struct {
	Status   int
	Out, Err string
}

// RunToEnd launches an init and waits for its end.
func RunToEnd(t *testing.T, l Launch) Ran {
	t.Helper()
	p := Run(t, l)
	status := p.Wait()
	return Ran{status, p.Out(), p.Err()}
}

// WantQuietRun checks that the worker printed just this and ended with 0, and
// that drainit had nothing to say.
func (r Ran) WantQuietRun(t *testing.T, want string) {
	t.Helper()
	if r.Status != 0 || r.Out != want || r.Err != "" {
		t.Errorf("exit status %d\nstdout: %q\nwant:   %q\nstderr: %q", r.Status, r.Out, want, r.Err)
	}
}

// StartBeside starts a program that is not below an init, and ends it with the test.
func StartBeside(t *testing.T, name string, args ...string) (pid int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), newMarker())
	Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// Hiding starts drainit as an ordinary user under a /proc that shows to each
// user only what is its own (hidepid=2, proc(5)).
func Hiding(t *testing.T, flags []string, command ...string) *Init {
	t.Helper()
	Need(t, "setpriv")
	NeedRoot(t)
	user := strconv.Itoa(OwnUID())
	args := append([]string{"-c", `mount -o remount,hidepid=2 /proc && exec setpriv --reuid="$0" --regid="$0" --clear-groups "$@"`, user, DrainitBin},
		Line(flags, command...)...)
	return Run(t, Launch{Bin: "/bin/sh", Args: args})
}

// PerlTree is a worker with plain dispositions and masks, which no Go program
// has, and processes below it. Its argument is a tree such as
//
//	a[TERM=7](b c[TSTP,CONT](d))
//
// where each process has a name, in brackets what it does with signals, and in
// parentheses its children. Each prints "ready NAME PID" when it is, and
// "NAME got SIG" for each signal that it handles. In the brackets stand
//
//	SIG    catch it         SIG=7  and exit 7        -SIG   ignore it
//	~SIG   block it         SIG>   start the children by it, not before
//	SIG*   begin to handle the others by it, not before
//	pgrp   lead a process group, whose TSTP the kernel does not discard
//
// SEGV, BUS, ILL and FPE are not to be handled: perl handles those at once, in the
// middle of whatever it does, and may fault for good after the handler.
const PerlTree = `
use strict; use POSIX ();
my $s = shift;
sub line { syswrite STDOUT, join(" ", @_) . "\n" }
sub parse {
	$s =~ /\G\s*(\w+)(?:\[([^\]]*)\])?/gc or die "bad tree: $s";
	my %n = (name => $1, does => [split /,/, $2 // ""], below => []);
	if ($s =~ /\G\(/gc) { push @{$n{below}}, parse() until $s =~ /\G\s*\)/gc }
	return \%n;
}
sub below { for my $n (@{$_[0]{below}}) { run($n) if !fork } }
sub catches {
	my ($name, $sig, $status) = @_;
	die "perl cannot catch $sig safely" if $sig =~ /^(SEGV|BUS|ILL|FPE)$/;
	$SIG{$sig} = sub { line($name, "got", $sig); exit $status if defined $status };
}
sub run {
	my $n = shift;
	my $name = $n->{name};
	my @does = @{$n->{does}};
	$SIG{$_} = "DEFAULT" for grep { !/^(NUM|RT|KILL|STOP)/ } keys %SIG;
	my @late = grep { /[>*]$/ } @does;
	setpgrp(0, 0) if grep { $_ eq "pgrp" } @does;
	below($n) unless grep { />$/ } @late;
	my $set = sub {
		for (@does) {
			if (/^-(\w+)$/) { $SIG{$1} = "IGNORE" }
			elsif (/^~(\w+)$/) {
				no strict "refs";
				POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(&{"POSIX::SIG$1"}()));
			}
			elsif (/^(\w+)=(\d+)$/) { catches($name, $1, $2) }
			elsif (/^([A-Z]\w+)$/) { catches($name, $1) }
		}
	};
	my $waits;
	for (@late) {
		my ($sig, $how) = /^(\w+)(.)$/;
		$waits = 1 if $how eq "*";
		$SIG{$sig} = $how eq ">" ? sub { below($n) } : sub { $set->(); line("up", $name) };
	}
	$set->() unless $waits;
	line("ready", $name, $$);
	# Perl runs a handler between two operations: one that comes right before
	# the sleep waits until its end.
	select undef, undef, undef, 0.05 while 1;
}
run(parse());
`

// StartTree starts drainit with a PerlTree and waits until the processes that
// ready names are ready. Before the tree stand drainit's flags.
func StartTree(t *testing.T, l Launch, tree, ready string) *Init {
	t.Helper()
	Need(t, "perl")
	l.Args = append(l.Args[:len(l.Args):len(l.Args)], "--", "perl", "-e", PerlTree, tree)
	p := Run(t, l)
	for _, name := range strings.Fields(ready) {
		p.WaitOut(`^ready ` + name + ` `)
	}
	if l.Bin == "" {
		p.WaitTitle("drainit:run") // no signal is lost from then on
	}
	return p
}

// PidOf is the pid, in the test's namespace, of a process of a PerlTree.
func (p *Init) PidOf(name string) int { p.T.Helper(); return p.ReadyPid(`^ready ` + name) }

// WorkerPid is the pid, in the test's namespace, of a `worker listen` that is
// the worker; it is ready.
func (p *Init) WorkerPid() int { p.T.Helper(); return p.ReadyPid(`ready`) }

// ReadyPid is the pid, in the test's namespace, that an output line ends with.
func (p *Init) ReadyPid(pattern string) int {
	p.T.Helper()
	inside, err := strconv.Atoi(p.WaitOut(pattern + ` (\d+)$`)[1])
	Must(p.T, err)
	return p.HostPid(inside)
}

// Gots are the lines in the output that say that a signal arrived, in order.
func Gots(output string) (lines []string) {
	for _, line := range LinesOf(output) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "got ") || strings.Contains(line, " got ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// WantGots compares what arrived, in any order: it is the end of a test, when
// whatever could have arrived has.
func (p *Init) WantGots(want ...string) {
	p.T.Helper()
	got := Gots(p.Out())
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		p.T.Errorf("it got %q, want %q\n%s", got, want, p.printed())
	}
}

// WantNotStopped checks that no process below is stopped.
func (p *Init) WantNotStopped() {
	p.T.Helper()
	for _, pid := range p.Alive() {
		if StateOf(pid) == 'T' {
			p.T.Errorf("process %d is stopped\n%s", pid, p.printed())
		}
	}
}

// Spread puts several signals in a tree or a line that says "@".
func Spread(tree string) string {
	return regexp.MustCompile(`[-~]?@`).ReplaceAllStringFunc(tree, func(at string) string {
		how := strings.TrimSuffix(at, "@")
		return how + strings.Join(PassedOn, ","+how)
	})
}

// PassedOn are signals that mean nothing to drainit, by perl's names.
var PassedOn = []string{"HUP", "USR1", "USR2", "QUIT", "WINCH", "ALRM", "CONT", "TTIN", "TTOU", "VTALRM", "IO"}
