# Its job, without a handler.
sub note { open F, ">>", $ENV{RECORD}; syswrite F, "$_[0] " . time . "\n" }
note("begin");
sleep($ENV{JOB} || 3600);
note("done");
