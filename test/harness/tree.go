package harness

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

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
	must(p.T, err)
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
