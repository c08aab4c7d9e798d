# Its job is done only if the process SERVER lives then. It ends on TERM.
sub note { open F, ">>", $ENV{RECORD}; syswrite F, "$_[0] " . time . "\n" }
my $stop;
$SIG{TERM} = sub { $stop = 1 };
note("begin");
my $end = time + ($ENV{JOB} || 0);
select undef, undef, undef, .05 while time < $end;
note("done") if kill 0 => $ENV{SERVER};
select undef, undef, undef, .05 until $stop;
