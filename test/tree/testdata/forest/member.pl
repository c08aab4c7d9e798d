# One process of a random tree.
#
#   member.pl ID KIND RHYTHM WORK   in a folder with a file "record", and in "ID.kids" a command line for each child
#
# It writes its pid to "ID.pid", and adds lines to the record, "TIME ID PID EVENT": ready, got (for each TERM), passes, drained. It blocks TERM but
# where it waits (sigsuspend), so that no signal comes between a look and a sleep. Where the rhythm is busy, it wakes 50
# times a second. WORK is how many milliseconds its drain takes. The kinds are those of forest_test.go.
use strict;
use POSIX ();
use Time::HiRes ();

my ($id, $kind, $rhythm, $work, @pids) = @ARGV;
($rhythm, $work) = ($ENV{RHYTHM}, $ENV{WORK}) if $ENV{WORK} && $kind =~ /^job/;
my ($got, $gone, $record) = (0, 0);
my ($TERM, $none) = (POSIX::SigSet->new(POSIX::SIGTERM()), POSIX::SigSet->new());

sub note { syswrite $record, sprintf("%.6f %s %d %s\n", Time::HiRes::time(), $id, $$, "@_") }
sub unblocked { POSIX::sigprocmask(POSIX::SIG_UNBLOCK(), $TERM) }
sub nap { my $end = Time::HiRes::time() + $_[0] / 1000; while ((my $left = $end - Time::HiRes::time()) > 0) { select undef, undef, undef, $left } }
sub pass_on { note("passes $_"), kill TERM => $_ for @pids }
sub pass_to_group { note("passes to its group"); kill TERM => 0 }
sub reap { while (waitpid(-1, 0) > 0 || $!{EINTR}) { } }
sub leave { note("leaves"); POSIX::_exit(0) }
sub stop_one { note("passes $_[0]"); kill TERM => $_[0]; 1 while waitpid($_[0], 0) < 0 && $!{EINTR}; nap(100 + $work) }
sub await_end { nap(50) while kill 0 => $_[0] }

sub jobs_below { # by their pid files
	open my $ids, "<", "$id.jobs" or return;
	my @pids;
	for my $id (split " ", <$ids> // "") {
		open my $file, "<", "$id.pid" or next;
		push @pids, <$file>;
	}
	return @pids;
}

sub stop_jobs_below {
	my @jobs = grep { kill 0 => $_ } jobs_below();
	note("passes $_"), kill TERM => $_ for @jobs;
	await_end($_) for @jobs;
}
sub drain { nap($work); note("drained") }

sub helper { # which signals the others a moment later
	return if fork;
	nap(30);
	pass_on();
	POSIX::_exit(0);
}

my %stop = (
	job => sub { drain(); leave() },
	works => sub { drain(); reap(); leave() },
	relay => sub { pass_on(); reap(); leave() },
	relay_leaves => sub { pass_on(); leave() },
	relay_slow => sub { nap($work); pass_on(); reap(); leave() },
	leaves => sub { leave() },
	guards => sub { $SIG{TERM} = "IGNORE"; nap($work); pass_on(); reap(); leave() },
	guards_group => sub { $SIG{TERM} = "IGNORE"; pass_to_group(); reap(); leave() },
	blocks => sub { POSIX::sigprocmask(POSIX::SIG_BLOCK(), $TERM); pass_to_group(); reap(); leave() },
	group_again => sub { pass_to_group(); reap(); leave() },
	reraises => sub { pass_on(); $SIG{TERM} = "DEFAULT"; kill TERM => $$; nap(1000) },
	steps => sub { stop_one($_) for @pids; leave() },
	steps_to_jobs => sub { stop_one($pids[0]); stop_jobs_below(); pass_on(); reap(); leave() },
	steps_to_group => sub { stop_one($pids[0]); note("passes -$pids[0]"); kill TERM => -$pids[0]; await_end(-$pids[0]); pass_on(); reap(); leave() },
	relay_works => sub { pass_on(); drain(); leave() },
	relay_output => sub { pass_on(); await_end($_) for jobs_below(); reap(); leave() },
	tells_and_leaves => sub { my %all = map { $_ => 1 } $pids[0], jobs_below(); note("passes $_"), kill TERM => $_ for keys %all; leave() },
	polls => sub { pass_on(); reap(); leave() },
	helper => sub { helper(); leave() },
	execs => sub { exec "perl", "member.pl", $id, "ctl", $rhythm, $work, @pids },
	execs_leaves => sub { exec "perl", "member.pl", $id, "ctl_leaves", $rhythm, $work, @pids },
);

open STDERR, ">>", "errors"; # not into drainit.s log
open my $name, ">", "$id.pid";
print $name $$;
close $name;
open $record, ">>", "record" or die "no record: $!";
if ($kind =~ /^ctl/) { # what a handler has become
	nap($work);
	pass_on();
	reap() if $kind eq "ctl";
	leave();
}
if ($kind eq "reader") {
	note("ready reader");
	1 while sysread(STDIN, my $bytes, 4096) || $!{EINTR};
	drain();
	leave();
}
if ($kind eq "server") { # which is asked to stop by a pipe
	note("ready server");
	open my $stop, "<", $pids[0]; # until another opens it
	drain();
	leave();
}
if ($kind eq "job_resets") { # as a program does that wants to be interrupted, wherever it was started
	$SIG{INT} = $SIG{QUIT} = "DEFAULT";
	$kind = "job";
}
POSIX::sigprocmask(POSIX::SIG_BLOCK(), $TERM);
if ($kind eq "ignores") {
	$SIG{TERM} = "IGNORE";
}
elsif (my $handler = $stop{$kind}) {
	$SIG{TERM} = sub {
		note("got");
		unblocked();
		return $handler->() if !$got++;
		if ($kind eq "job" || $kind eq "works") { note("forced"); POSIX::_exit(1) }
	};
}
if (open my $kids, "<", "$id.kids") {
	for my $command (<$kids>) {
		my $pid = fork;
		if (!$pid) {
			$SIG{TERM} = $kind eq "ignores" ? "IGNORE" : "DEFAULT";
			unblocked();
			POSIX::setsid() if $kind eq "steps_to_group" && !@pids;
			exec split " ", $command;
		}
		push @pids, $pid;
	}
}
note("ready $kind");
if ($kind eq "polls") { # it never takes the signal
	my $pending = POSIX::SigSet->new();
	do { nap(500); POSIX::sigpending($pending) } until $pending->ismember(POSIX::SIGTERM());
	note("got");
	$stop{polls}->();
}
$SIG{CHLD} = sub { };
my $blocked = POSIX::SigSet->new(POSIX::SIGCHLD());
POSIX::sigprocmask(POSIX::SIG_BLOCK(), $blocked); # as TERM is
until (@pids && $gone == @pids && $kind ne "works") { # a job has no end of its own
	if ($rhythm eq "critical") { nap(200) } # it takes no signal at times
	if ($rhythm eq "idle") { POSIX::sigsuspend($none) }
	else { unblocked(); nap(20); POSIX::sigprocmask(POSIX::SIG_BLOCK(), $TERM) }
	$gone++ while waitpid(-1, POSIX::WNOHANG()) > 0;
}
leave();
