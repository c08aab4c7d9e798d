# On TERM it dies of SIGSEGV.
sub note { open F, ">>", $ENV{RECORD}; syswrite F, "$_[0] " . time . "\n" }
$SIG{TERM} = sub { kill SEGV => $$; sleep 9 };
note("begin");
sleep 1 while 1;
