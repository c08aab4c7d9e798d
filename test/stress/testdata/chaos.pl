# A tree of processes by a plan, for the chaos test. Each line of the plan is one
# process: its name, its parent's (- for the first), and what it does:
#
#	catch=TERM,INT ignore=... block=...   the others of @signals are default
#	own=session, own=group                leads one
#	at=MS, at=stop       started so long after its parent's start, or when that is signalled to stop
#	life=MS:WHAT         does that by itself, so long after its start
#	react=MS:WHAT        does that when it was first signalled to stop
#
# WHAT is exit:N, die:SIG, stop (itself), exec (something that sleeps), linger, relay:N (pass the
# signal on to its children, wait for them, exit N) or leave:N (pass it on and exit N at once).
# Each says what becomes of it: "NAME TIME born PID", "got SIG SENDER", "stops", "execs", "ends exit N".
# A process that says how it ends is open to no signal any more but KILL.
use strict;
use warnings;
use POSIX ();
use Time::HiRes qw(clock_gettime setitimer CLOCK_MONOTONIC ITIMER_REAL);

my @signals = qw(TERM INT HUP TSTP CONT WINCH);
my %number  = map { no strict "refs"; $_ => &{"POSIX::SIG$_"}() } grep { $_ ne "WINCH" } @signals, qw(ALRM CHLD USR2 PIPE KILL STOP);
$number{WINCH} = 28;
my $longest = 120;    # seconds: what outlives its drainit ends at last

my (%plan, %below);
for (split /\n/, $ARGV[0]) {
	my ($name, $parent, @does) = split ' ';
	$plan{$name} = { catch => "", ignore => "", block => "", map { split /=/, $_, 2 } @does };
	push @{$below{$parent}}, $name;
}

my $everything = POSIX::SigSet->new;
$everything->fillset;
my ($name, $stopped_by, %children, @due, @got, $open);

sub now    { clock_gettime(CLOCK_MONOTONIC) }
sub report { syswrite STDOUT, sprintf("%s %.6f %s\n", $name, now(), join " ", @_) }
sub set    { POSIX::SigSet->new(map { $number{$_} } @_) }
sub later  { my ($ms, $do) = @_; @due = sort { $a->[0] <=> $b->[0] } @due, [now() + $ms / 1000, $do] }

# Signals are taken in sigsuspend alone, so that Perl need not defer them and
# knows the sender.
sub handle {
	my ($signal, $info) = @_;
	return if $signal eq "ALRM" || $signal eq "CHLD";
	report("got", $signal, $info->{pid});
	push @got, $signal;
}

sub become {
	my $plan;
	($name, $stopped_by) = ($_[0], undef);
	$plan = $plan{$name};
	%children = @due = @got = ();
	setitimer(ITIMER_REAL, 0);
	POSIX::setsid()         if ($plan->{own} // "") eq "session";
	POSIX::setpgid(0, 0)    if ($plan->{own} // "") eq "group";
	my @catch = (split(/,/, $plan->{catch}), "ALRM", "CHLD");
	my %how = (map({ $_ => "DEFAULT" } @signals), map({ $_ => "IGNORE" } split /,/, $plan->{ignore}), map({ $_ => \&handle } @catch));
	for (keys %how) { POSIX::sigaction($number{$_}, POSIX::SigAction->new($how{$_}, $everything, ref $how{$_} ? POSIX::SA_SIGINFO() : 0)) }
	$open = set(split /,/, $plan->{block});
	POSIX::sigprocmask(POSIX::SIG_SETMASK(), set(@catch, split /,/, $plan->{block}));
	report("born", $$);
	later($longest * 1000, sub { finish("exit", 99) });
	act($plan->{life}) if $plan->{life};
	for my $child (@{$below{$name}}) {
		my $at = $plan{$child}{at} // 0;
		if    ($at eq "stop") { }
		elsif ($at)           { later($at, sub { spawn($child) }) }
		else                  { spawn($child) }
	}
}

sub spawn {
	my $pid = fork // return;
	if ($pid) { $children{$pid} = 1 }
	else      { become($_[0]); live() }
}

sub act {
	my ($ms, $what, $how) = split /:/, $_[0];
	later($ms, sub { finish($what, $how) });
}

sub finish {
	my ($what, $how) = @_;
	POSIX::sigprocmask(POSIX::SIG_SETMASK(), $everything) if $what =~ /^(exit|die)$/;
	if ($what eq "exit") { report("ends exit", $how); POSIX::_exit($how) }
	if ($what eq "die") {
		report("ends died", $number{$how});
		POSIX::sigaction($number{$how}, POSIX::SigAction->new("DEFAULT")) if $how ne "KILL";
		kill $how => $$;
		$everything->delset($number{$how});
		POSIX::sigsuspend($everything) while 1;
	}
	if ($what eq "stop") { report("stops"); kill STOP => $$; report("continued") }
	if ($what eq "exec") {
		report("execs");
		setitimer(ITIMER_REAL, 0);
		POSIX::sigprocmask(POSIX::SIG_SETMASK(), $open);
		exec "sleep", $longest;
	}
	if ($what eq "leave") { kill $stopped_by => keys %children; finish("exit", $how) }
	if ($what eq "relay") { kill $stopped_by => keys %children; $what = "wait" }
	if ($what eq "wait")  { %children ? later(10, sub { finish("wait", $how) }) : finish("exit", $how) }
}

sub signalled {
	return if defined $stopped_by;
	$stopped_by = $_[0];
	for (@{$below{$name}}) { spawn($_) if ($plan{$_}{at} // "") eq "stop" }
	act($plan{$name}{react}) if $plan{$name}{react};
}

sub live {
	while (1) {
		while ((my $pid = waitpid(-1, POSIX::WNOHANG())) > 0) { delete $children{$pid} }
		while (my $signal = shift @got) { signalled($signal) if $signal =~ /^(TERM|INT)$/ }
		if ($due[0][0] <= now()) { (shift @due)->[1]->(); next }
		my $wait = $due[0][0] - now();
		setitimer(ITIMER_REAL, $wait > 0.0005 ? $wait : 0.0005);
		POSIX::sigsuspend($open);
	}
}

become($below{"-"}[0]);
live();
