# SPDX-License-Identifier: GPL-2.0-or-later
# Word counts, sorting, forks with pipes, sprintf and regular expressions. ARGV: file, forks.
use strict;
use warnings;
use POSIX ();
my ($file, $forks) = @ARGV;
my (%count, %length);
open(my $in, '<', $file) or die "cannot open $file: $!";
while (<$in>) {
	$count{lc $1}++ while /([A-Za-z]+)/g;
	$length{length $_}++;
}
close $in;
my @top = sort { $count{$b} <=> $count{$a} or $a cmp $b } keys %count;
printf "%-12s %6d\n", $_, $count{$_} for @top[0 .. 9];
printf "line of %d: %d\n", $_, $length{$_} for sort { $a <=> $b } keys %length;
for my $number (1 .. $forks) {
	pipe(my $reader, my $writer) or die "pipe: $!";
	my $pid = fork();
	if ($pid == 0) {
		close $reader;
		print {$writer} join(',', map { $_ * $number } 1 .. 20), "\n";
		close $writer;
		POSIX::_exit($number);
	}
	close $writer;
	print "child $number says ", scalar <$reader>;
	waitpid($pid, 0);
	print "child $number ended with ", $? >> 8, "\n";
}
local $SIG{ALRM} = sub { print "alarm\n" };
alarm(1);
select(undef, undef, undef, 30);
print `echo from a shell | tr a-z A-Z`;
