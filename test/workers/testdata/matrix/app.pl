# app.js in Perl, which starts in milliseconds, but its job lasts until the FIFO $END is opened
# to write. See app.js for the other variables.
use strict;
use Errno ();
use Fcntl;
use Time::HiRes ();

my ($ended, $signal);

sub record {
	open my $f, ">>", $ENV{RECORD} or die "$ENV{RECORD}: $!";
	syswrite $f, sprintf("%s %.3f\n", "@_", Time::HiRes::time());
}

sub leave {
	return unless $ended && $signal;
	exit($ENV{STATUS} // 0) unless ($ENV{STATUS} // "") eq "raise";
	$SIG{$signal} = "DEFAULT";
	kill $signal => $$;
}

for my $name (($ENV{CATCH} // "SIGTERM,SIGINT") =~ /SIG(\w+)/g) {
	$SIG{$name} = sub {
		record("signalled SIG$name");
		exit 1 if $signal && $ENV{TWICE};
		$signal = $name;
		leave();
	};
}
$SIG{$1} = sub { } if ($ENV{IGNORE} // "") =~ /SIG(\w+)/;

# A read finds no byte, and no end once there is a writer.
sub look {
	sysopen my $f, $ENV{END}, O_RDONLY | O_NONBLOCK or die "$ENV{END}: $!";
	return !defined sysread($f, my $byte, 1) && $!{EAGAIN};
}

if ($ENV{COMPUTE}) {
	require threads;
	threads->create(sub { setpriority 0, 0, 19; 1 while 1 })->detach;
}
record("begin");
if ($ENV{CHATTY} || $ENV{TICK}) {
	open my $written, ">", "written";
	for (my $n = 1; !look(); $n++) {
		syswrite $_, sprintf("working %05d\n", $n) for $ENV{CHATTY} ? (*STDOUT, $written) : ();
		select undef, undef, undef, ($ENV{TICK} || 20) / 1000;
	}
} else {
	my $f;
	until (open $f, "<", $ENV{END}) { die "$ENV{END}: $!" unless $!{EINTR} } # a handler ran
}
record("done");
$ended = 1;
leave();
select undef, undef, undef, ($ENV{TICK} || 20) / 1000 while 1; # it would wait for the next job
