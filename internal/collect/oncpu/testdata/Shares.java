/** Shares calls one, two and three, which take a sixth, a third and half of its time, below eleven calls of down. */
public class Shares {
    static volatile long sink;

    static long burn(int n, long s) {
        if (n <= 0) return s;
        s = burn(n - 1, s * 31 + n);
        return s + 1;
    }

    static long one() { return burn(50, 1); }
    static long two() { return burn(50, 1) + burn(50, 2); }
    static long three() { return burn(50, 1) + burn(50, 2) + burn(50, 3); }

    static long down(int n) {
        if (n == 0) {
            sink += one();
            sink += two();
            sink += three();
            return sink;
        }
        return down(n - 1) + 1;
    }

    public static void main(String[] args) {
        int rounds = Integer.parseInt(args[0]);
        for (int i = 0; i < rounds; i++) down(10);
    }
}
