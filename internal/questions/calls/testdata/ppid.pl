use strict;
use warnings;
no warnings 'recursion';

sub burn {
    my $n = shift;
    my $x = 0;
    for (my $i = 0; $i < $n; $i++) {
        $x += $i * $i % 7;
    }
    return $x;
}

sub one {
    my $x = getppid();
    return $x;
}

sub two {
    my $x = getppid() + getppid();
    return $x;
}

sub three {
    my $x = getppid() + getppid() + getppid();
    return $x;
}

sub down {
    my ($depth, $n) = @_;
    if ($depth > 0) {
        my $x = down($depth - 1, $n);
        return $x;
    }
    one();
    burn($n);
    two();
    burn($n);
    three();
    return burn($n);
}

$| = 1;
print "ready\n";
<STDIN>;
down(10, $ARGV[1]) for 1 .. $ARGV[0];
print "done\n";
<STDIN>;
