import java.lang.reflect.Method;
import java.security.MessageDigest;
import java.util.function.LongUnaryOperator;
import java.util.zip.Deflater;

/**
 * Ways calls one, two and three as Shares does, below eleven calls of down. Its first argument says how calls are made,
 * or what the innermost call of burn does. It runs for as many milliseconds as the second one says, and lives on
 * for as many as -Drest says, so that its methods can still be asked for. With a third one it runs in a virtual thread.
 */
public class Ways {
    static volatile long sink;
    static LongUnaryOperator leaf = s -> s, call = n -> down(n);
    static Object[] kept = new Object[1 << 14];
    static int next;
    static Method again;

    static long burn(int n, long s) {
        if (n <= 0) return leaf.applyAsLong(s);
        s = burn(n - 1, s * 31 + n);
        return s + 1;
    }

    static long guarded(long s) {
        try {
            return burn(50, s);
        } catch (IllegalStateException e) {
            return s + 1;
        }
    }

    static long one() { return guarded(1); }
    static long two() { return guarded(1) + guarded(2); }
    static long three() { return guarded(1) + guarded(2) + guarded(3); }

    public static long down(long n) {
        if (n == 0) {
            sink += one();
            sink += two();
            sink += three();
            return sink;
        }
        return call.applyAsLong(n - 1) + 1;
    }

    static synchronized long locked(long n) { return down(n); }

    public static long reflected(long n) { return down(n); }

    static long reflect(long n) {
        try {
            return (Long) again.invoke(null, n);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static long allocate(long s) {
        for (int i = 0; i < 10; i++) kept[next++ % kept.length] = new byte[200];
        return s;
    }

    static long hash(long s) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            return s + digest.digest(new byte[5000])[0] + (long) (Math.sin(s) * 100);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    static final Deflater deflater = new Deflater();

    static long deflate(long s) {
        byte[] in = new byte[3000], out = new byte[4000];
        for (int i = 0; i < in.length; i++) in[i] = (byte) (i * i + s);
        deflater.reset();
        deflater.setInput(in);
        deflater.finish();
        return s + deflater.deflate(out);
    }

    /** Each of its loaders defines this class anew. */
    public static class Unloaded implements LongUnaryOperator {
        public long applyAsLong(long n) {
            for (int i = 0; i < 2000; i++) down(n);
            return n;
        }
    }

    static class Loader extends ClassLoader {
        Loader() { super(Ways.class.getClassLoader()); }

        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("Ways$Unloaded")) return super.loadClass(name, resolve);
            try (java.io.InputStream in = Ways.class.getResourceAsStream("Ways$Unloaded.class")) {
                byte[] b = new byte[10000];
                return defineClass(name, b, 0, in.read(b));
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static long load(long n) {
        try {
            return ((LongUnaryOperator) new Loader().loadClass("Ways$Unloaded").getDeclaredConstructor().newInstance()).applyAsLong(n);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static void forLong(long milliseconds, Runnable body) {
        for (long end = System.nanoTime() + milliseconds * 1000000; System.nanoTime() < end; ) body.run();
    }

    public static void main(String[] args) throws Exception {
        long time = Long.parseLong(args[1]);
        Runnable body = () -> down(10);
        again = Ways.class.getMethod("reflected", long.class);
        switch (args[0]) {
            case "plain": break;
            case "allocate": leaf = Ways::allocate; break;
            case "throw": leaf = s -> { throw new IllegalStateException(); }; break;
            case "reflect": call = Ways::reflect; break;
            case "lock": call = Ways::locked; break;
            case "stubs": leaf = Ways::hash; break;
            case "native": leaf = Ways::deflate; break;
            case "yield": leaf = s -> { Thread.yield(); return s; }; break;
            case "unload": body = () -> { for (int i = 0; i < 20; i++) load(10); System.gc(); }; break;
            default: throw new IllegalArgumentException(args[0]);
        }
        Runnable all = body;
        Runnable run = () -> forLong(time, all);
        if (args.length < 3) run.run();
        else ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, run)).join();
        Thread.sleep(Long.getLong("rest"));
    }
}
