# Drains for a second from its first TERM on, and records each.
#
# usage: perl child.pl RECORD
use strict;
use warnings;

open my $record, '>>', $ARGV[0] or die "cannot open the record: $!";
sub say { syswrite $record, "$_[0] $$\n" }

my $drains;
$SIG{ALRM} = sub { exit 0 };
$SIG{TERM} = sub {
	say('signalled');
	alarm 1 unless $drains++;
};
say('ready');
sleep 1000 while 1;
