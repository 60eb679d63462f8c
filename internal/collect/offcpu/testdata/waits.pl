use strict;
use warnings;
no warnings 'recursion';
use POSIX ();

# Time::HiRes is in no perl-base.
my $nanosleep = (POSIX::uname())[4] eq 'aarch64' ? 101 : 35;

sub nap {
    my ($depth, $us) = @_;
    if ($depth > 0) {
        my $x = nap($depth - 1, $us);
        return $x;
    }
    my $time = pack('qq', int($us / 1e6), $us % 1e6 * 1000);
    syscall($nanosleep, $time, 0);
    return 1;
}

sub hold {
    my ($depth, $us) = @_;
    if ($depth > 0) {
        my $x = hold($depth - 1, $us);
        return $x;
    }
    select(undef, undef, undef, $us / 1e6);
    return 1;
}

for (1 .. $ARGV[0]) {
    nap(10, $ARGV[1]);
    hold(10, $ARGV[1]);
}
