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
    my $x = burn($_[0]);
    return $x;
}

sub two {
    my $x = burn(2 * $_[0]);
    return $x;
}

sub three {
    my $x = burn(3 * $_[0]);
    return $x;
}

sub down {
    my ($depth, $n) = @_;
    if ($depth > 0) {
        my $x = down($depth - 1, $n);
        return $x;
    }
    one($n);
    two($n);
    three($n);
}

down(10, 1000) for 1 .. $ARGV[0];
